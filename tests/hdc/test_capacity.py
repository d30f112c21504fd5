"""Predicted capacities against measured ones, and the properties that predictions must have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primal
from primal import hdc


def measured_accuracy(D, N, n_items, decoder, n_trials):
    """Share of bundled items found, among codes with uniform phases."""
    rng = np.random.default_rng([D, N, n_items])
    shares = []
    for _ in range(n_trials):
        codes = hdc.Codes(rng.integers(0, 2**32, (N, D // 2), dtype=np.uint32))
        items = rng.choice(N, n_items, replace=False)
        found = hdc.decode(hdc.bundle(codes[items]), codes, n_items, decoder=decoder)
        shares.append(np.isin(found.indices, items).mean())
    return np.mean(shares)


@pytest.mark.parametrize(
    ("D", "N", "n_items"),
    [(256, 500, 6), (256, 500, 10), (256, 500, 16), (128, 100, 5), (512, 200, 30)],
)
def test_the_matched_filter_is_as_accurate_as_predicted(D, N, n_items):
    n_trials = 900 // n_items
    predicted = hdc.matched_accuracy(D, N, n_items)
    # 900 items: four standard errors, and 0.01 for phases that are not quite Gaussian noise.
    error = 4 * np.sqrt(predicted * (1 - predicted) / 900) + 0.01
    measured = measured_accuracy(D, N, n_items, "matched", n_trials)
    assert measured == pytest.approx(predicted, abs=error)


@pytest.mark.parametrize(
    ("decoder", "D", "N"),
    [
        ("orthogonal", 128, 250),
        ("orthogonal", 256, 1000),
        ("subspace", 128, 250),
        ("subspace", 256, 1000),
        ("message", 128, 250),
        ("message", 256, 1000),
    ],
)
def test_pursuits_work_below_their_capacity_and_not_above(decoder, D, N):
    predicted = hdc.capacity(D, N, decoder)
    low, high = int(0.75 * predicted), int(1.4 * predicted)
    assert measured_accuracy(D, N, low, decoder, 8) >= 0.985
    if high <= N // 2:  # else those left out are fewer, and easier to name
        assert measured_accuracy(D, N, high, decoder, 8) < 0.985


def test_known_predictions():
    """Numbers measured elsewhere: 20 of 1000 items at D = 512 with 0.9777, 400 at 10000 .9922."""
    assert hdc.matched_accuracy(512, 1000, 20) == pytest.approx(0.9777, abs=0.006)
    assert hdc.matched_accuracy(10_000, 1000, 400) == pytest.approx(0.9922, abs=0.002)
    # Recall of 20 and 40 of 1000 pairs: 0.965 and 0.629 with random codes.
    assert hdc.recall_accuracy(512, 1000, 20) == pytest.approx(0.965, abs=0.02)
    assert hdc.recall_accuracy(512, 1000, 40) == pytest.approx(0.629, abs=0.02)


@given(
    st.integers(32, 300),
    st.integers(2, 500),
    st.sampled_from(["matched", "orthogonal", "subspace"]),
)
def test_capacity_grows_with_dimensions_and_falls_with_items(k, N, decoder):
    here = hdc.capacity(2 * k, N, decoder)
    assert 1 <= here <= N
    assert hdc.capacity(4 * k, N, decoder) >= here
    if 2 * k < N:
        assert hdc.capacity(2 * k, 2 * N, decoder) <= here


@given(st.integers(1, 60), st.integers(61, 400), st.integers(16, 200))
def test_accuracy_falls_with_the_number_of_items(n_items, N, k):
    here = hdc.matched_accuracy(2 * k, N, n_items)
    assert 0.0 <= here <= 1.0
    assert hdc.matched_accuracy(4 * k, N, n_items) >= here - 1e-9
    for form in ("vector", "matrix"):
        pairs = hdc.recall_accuracy(2 * k, N, n_items, form)
        assert hdc.recall_accuracy(2 * k, N, n_items + 5, form) <= pairs + 1e-9


@pytest.mark.parametrize(("D", "N"), [(600, 300), (64, 60), (200, 30), (2000, 100)])
def test_no_smaller_bundle_is_beyond_the_matched_filter(D, N):
    # All N of N items are found whatever the noise, which is no sign of capacity.
    found = [hdc.matched_accuracy(D, N, K) >= 0.99 for K in range(1, N + 1)]
    first_lost = found.index(False) if False in found else N
    assert hdc.capacity(D, N, "matched") == first_lost


def test_the_resonator_counts_factors():
    assert hdc.capacity(512, 32, "resonator") == 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hdc.capacity(511, 10), "even"),
        (lambda: hdc.capacity(512, 1), "N must be at least 2"),
        (lambda: hdc.capacity(512, 10, "lasso"), "got 'lasso'"),
        (lambda: hdc.capacity(512, 10, accuracy=1.0), "strictly between"),
        (lambda: hdc.recall_accuracy(512, 10, 3, "tensor"), "got 'tensor'"),
        *[
            (lambda d=decoder: hdc.capacity(512, 10**400, d), "N must be at most 10")
            for decoder in ("matched", "orthogonal", "subspace", "message", "resonator")
        ],
        (lambda: hdc.capacity(10**400, 100, "resonator"), "D must be at most"),
        (lambda: hdc.matched_accuracy(64, 10**400, 3), "N must be at most"),
        (lambda: hdc.matched_accuracy(64, 100, 10**400), "K must be at most"),
        (lambda: hdc.recall_accuracy(64, 10**400, 3), "N must be at most"),
        (lambda: hdc.recall_accuracy(64, 10, 10**400), "n_pairs must be at most"),
        (lambda: hdc.recall_accuracy(10**400, 10, 4), "D must be at most"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(primal.PrimalError, match=words):
        call()


def test_a_number_of_numpy_is_an_accuracy():
    assert hdc.capacity(512, 1000, "matched", accuracy=np.float32(0.5)) == hdc.capacity(
        512, 1000, "matched", accuracy=0.5
    )


def test_a_memory_far_beyond_its_capacity_recalls_at_random():
    assert 1e-3 < hdc.recall_accuracy(512, 1000, 10_000) < 0.01
