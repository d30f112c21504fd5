"""Noise has its law, the guarantee's arithmetic is OpenDP's, and what breaks it is refused."""

import copy
import math
import pickle
import threading
from contextlib import suppress

import numpy as np
import pytest

from primal import DynamicPrime, PrimalError
from primal.errors import ParameterError
from primal.privacy import (
    Accountant,
    Key,
    KeyedPrime,
    _aggregates,
    release_bundles,
    release_moments,
)
from primal.privacy._attacks import bundle_membership
from primal.privacy._noise import (
    UNIT,
    _wave_table,
    epsilon_of,
    largest_product_square,
    largest_square,
    noisy,
    opendp,
    whole_features,
)

pytest.importorskip("opendp")


def test_no_row_is_longer_than_the_sensitivity():
    m = KeyedPrime(Key(bytes(32), application="tests"), 3, 20, 1.0)
    rows = np.random.default_rng(0).standard_normal((5000, 3)) * 10.0
    squares = np.square(whole_features(m, rows)).sum(axis=1)
    bound = largest_square(10)
    assert 0.999 * bound < squares.max() <= bound < 10 * (UNIT + 1) ** 2
    # Every phase that there is, and so every row.
    angles = 2.0 * np.pi * np.arange(256) / 256
    expected = np.rint(np.array([np.cos(angles), np.sin(angles)]) * UNIT).astype(int)
    assert largest_square(1) == np.square(expected).sum(axis=0).max()


def test_the_noise_is_a_discrete_gaussian():
    # Scale 2: sensitivity sqrt(8), rho = 8 / (2 * 4) = 1.
    budget = Accountant(20.0, 1e-5)
    drawn, scale = noisy(np.full(8_000, 7, dtype=np.int64), 8, 1.0, budget)
    assert scale == pytest.approx(2.0, rel=1e-8)
    assert drawn.dtype == np.int64
    support = np.arange(-6, 7)
    weights = np.exp(-np.square(np.arange(-60, 61)) / (2.0 * scale**2))
    expected = len(drawn) * np.exp(-np.square(support) / (2.0 * scale**2)) / weights.sum()
    counts = np.array([(drawn - 7 == v).sum() for v in support])
    chi = (np.square(counts - expected) / expected).sum()
    assert chi < 42.0  # exceeded once in 30,000 runs at 13 degrees of freedom
    assert budget.spent == pytest.approx(1.0, rel=1e-6)


def test_the_budget_is_that_of_opendp():
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")

    def made(scale):
        return dp.c.make_fix_delta(
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)), 1e-5
        )

    scale = dp.binary_search_param(made, d_in=1.0, d_out=(1.0, 1e-5))
    budget = Accountant(1.0, 1e-5)
    assert budget.rho == pytest.approx(1.0 / (2.0 * scale**2), rel=2e-6)
    assert budget.rho <= 1.0 / (2.0 * scale**2)
    assert epsilon_of(budget.rho, 1e-5) <= 1.0
    # Of scale 3.731 OpenDP says 1.092, where the analytic Gaussian mechanism has 1.000.
    assert epsilon_of(1.0 / (2.0 * 3.731**2), 1e-5) == pytest.approx(1.0920, abs=1e-3)


def test_releases_add_up_as_opendp_composes_them():
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    parts = [dp.m.make_gaussian(*space, scale=s) for s in (6.0, 9.0)]
    composed = dp.c.make_zCDP_to_approxDP(dp.c.make_composition(parts))
    budget = Accountant(1.0, 1e-5)
    for part in parts:
        budget.spend(part.map(1.0))
    expected = composed.map(1.0).epsilon(1e-5)
    assert epsilon_of(budget.spent, 1e-5) == pytest.approx(expected, rel=1e-6)
    with pytest.raises(PrimalError, match=r"left of .* and this release takes"):
        budget.spend(budget.rho)


@pytest.mark.parametrize("k", [1, 3, 40])
def test_the_sensitivity_of_products_is_a_bound_that_is_reached(k):
    cos, sin = _wave_table()
    bound = largest_product_square(k)

    def square(phases):
        z = np.concatenate([cos[phases], sin[phases]]).astype(object)  # Python's long integers
        return sum(z[i] ** 2 * z[j] ** 2 for i in range(2 * k) for j in range(i, 2 * k))

    rng = np.random.default_rng(k)
    found = [square(rng.integers(0, 256, k)) for _ in range(5)]
    reached = max(square(np.full(k, phase)) for phase in range(0, 256, 16))
    assert max(*found, reached) <= bound < 1.001 * reached


def blobs(n=3000, d=4):
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((3, d))
    y = rng.integers(0, 3, n)
    return centers[y] + 0.3 * rng.standard_normal((n, d)), y


@pytest.mark.parametrize(("release", "least"), [(release_bundles, 0.9), (release_moments, 0.85)])
def test_models_learn_from_noisy_sums_and_spend_the_budget(release, least):
    X, y = blobs()
    m = DynamicPrime(4, 64, 0.15, basis="auto")
    budget = Accountant(1.0, 1e-5)
    model = release(m, X[:2000], y[:2000], classes=[0, 1, 2], budget=budget, ids=np.arange(2000))
    assert (model.predict(X[2000:]) == y[2000:]).mean() > least
    assert budget.rho * 0.999 < budget.spent <= budget.rho
    exact = np.array([whole_features(m, X[:2000][y[:2000] == c]).sum(axis=0) for c in range(3)])
    off = (model.sums - exact) / model.noise_scale
    assert 0.8 < off.std() < 1.2  # 192 numbers: 0.05
    with pytest.raises(PrimalError, match="nothing is left of the budget"):
        release(m, X, y, classes=[0, 1, 2], budget=budget)


def test_moments_give_a_ridge_regression_without_noise_and_bundles_where_it_hides_them(monkeypatch):
    X, y = blobs(300)
    m = DynamicPrime(4, 16, 0.15, basis="auto")
    Z = whole_features(m, X).astype(float)
    sums = np.array([Z[y == c].sum(axis=0) for c in range(3)])
    bundles = (sums / np.linalg.norm(sums, axis=1, keepdims=True)).T

    def weights(scale):
        monkeypatch.setattr(_aggregates, "noisy", lambda sums, *_: (sums, scale))
        budget = Accountant(1.0, 1e-5)
        return release_moments(m, X, y, classes=[0, 1, 2], budget=budget).weights

    top = np.linalg.norm(Z, 2) ** 2
    np.testing.assert_allclose(weights(top), bundles, rtol=1e-9)
    scale = 1e-9 * top
    half_edge = np.sqrt(16) * scale
    ridge = np.linalg.solve(Z.T @ Z / half_edge + np.eye(16), bundles)
    np.testing.assert_allclose(weights(scale), ridge, rtol=1e-3, atol=1e-6 * np.abs(ridge).max())


def test_noise_hides_members_of_a_sum():
    X = np.random.default_rng(1).standard_normal((120, 8))
    m = DynamicPrime(8, 256, 1.0, basis="auto")
    bare = bundle_membership(lambda rows: whole_features(m, rows), X[:20], X[20:])
    assert bare.numbers["AUC"].value > 0.99
    model = release_bundles(m, X[:20], np.zeros(20), classes=[0, 1], budget=Accountant(0.5, 1e-5))
    scores = whole_features(m, X) @ model.sums[0]
    hits = (scores[:20, None] > scores[20:]).mean()
    assert abs(hits - 0.5) < 0.3


X5, Y5 = np.zeros((5, 2)), [0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"ids": [1, 2, 3, 4, 4]}, "none twice"),
        ({"ids": [1, 2]}, "one for each record"),
        ({"ids": np.arange(5)[:, None]}, "one for each record"),
        ({"ids": np.ma.array(np.arange(5), mask=True)}, "ids is masked"),
        ({"y": np.ma.array(Y5, mask=True)}, "y is masked"),
        ({"m": DynamicPrime}, "m must be a DynamicPrime"),
        ({"classes": [0, 2]}, "a label that is not in classes"),
        ({"classes": [0]}, "two or more"),
        ({"y": np.zeros((5, 2))}, "one label for each of 5 rows"),
        ({"budget": 1.0}, "of type Accountant, got float"),
        ({"m": np.abs}, "m must be a DynamicPrime"),
    ],
)
@pytest.mark.parametrize("release", [release_bundles, release_moments])
def test_what_would_break_the_guarantee_is_refused(release, change, match):
    given = {
        "m": DynamicPrime(2, 8),
        "y": Y5,
        "classes": [0, 1],
        "budget": Accountant(1.0, 1e-5),
        **change,
    }
    with pytest.raises(PrimalError, match=match):
        release(given.pop("m"), X5, given.pop("y"), **given)


@pytest.mark.parametrize("wrong", [(0.0, 1e-5), (1.0, 0.0), (1.0, 1.0), (math.nan, 0.1)])
def test_budgets_without_meaning_are_refused(wrong):
    with pytest.raises(PrimalError, match="must be"):
        Accountant(*wrong)


def test_rows_of_any_leading_shape_have_labels():
    X, y = blobs(300)
    m = DynamicPrime(4, 16, 0.1, basis="auto")
    model = release_bundles(m, X, y, classes=[0, 1, 2], budget=Accountant(1.0, 1e-5))
    found = model.predict(X[:6])
    assert model.predict(X[0]) == found[0]
    np.testing.assert_array_equal(model.predict(X[:6].reshape(2, 3, 4)), found.reshape(2, 3))


@pytest.mark.parametrize("store", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_budget_is_not_copied(store):
    budget = Accountant(1.0, 1e-5)
    with pytest.raises(ParameterError, match="not copied or pickled, because every copy could"):
        store(budget)
    with pytest.raises(ParameterError, match="not copied or pickled"):
        store([budget] if store is not copy.copy else budget)


def test_two_threads_do_not_spend_the_same_budget(monkeypatch):
    budget, left = Accountant(1.0, 1e-5), Accountant.left.fget
    together = threading.Barrier(2, timeout=0.5)

    def met(self):
        found = left(self)
        with suppress(threading.BrokenBarrierError):
            together.wait()  # both have read what is left, unless one waits for the other
        return found

    monkeypatch.setattr(Accountant, "left", property(met))
    share, errors = 0.6 * budget.rho, []

    def spend():
        try:
            budget.spend(share)
        except ParameterError as error:
            errors.append(error)

    threads = [threading.Thread(target=spend) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.spent == share
    assert len(errors) == 1


def test_nothing_but_noisy_sums_is_released():
    X, y = blobs(300)
    m = DynamicPrime(4, 16, 0.1, basis="auto")
    model = release_bundles(m, X, y, classes=[0, 1, 2], budget=Accountant(1.0, 1e-5))
    assert set(vars(model)) == {"map", "classes", "weights", "sums", "noise_scale"}
    other = release_bundles(m, X[:10], y[:10], classes=[0, 1, 2], budget=Accountant(1.0, 1e-5))
    # The scale of the noise says nothing of the records either.
    assert model.noise_scale == other.noise_scale


@pytest.mark.parametrize("epsilon", [1e-200, 1e-12, 1e5, 1e300, np.inf])
def test_an_epsilon_that_has_no_rho_is_rejected(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        Accountant(epsilon, 1e-5)


@pytest.mark.parametrize("epsilon", [1e-8, 9999.0])
@pytest.mark.parametrize("delta", [5e-324, 1e-5, 1.0 - 1e-12])
def test_every_other_has_one(epsilon, delta):
    assert 0.0 < Accountant(epsilon, delta).rho < np.inf
