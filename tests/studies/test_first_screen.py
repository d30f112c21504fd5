"""Every number of the report's first screen, recomputed with NumPy alone.

The study's numbers come from quick runs. The recomputation shares no code with the studies: primes,
shapes, codes, bounds and a lattice reduction are written here, and draws are others.
"""

from __future__ import annotations

import json
import math
from functools import cache

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("sklearn")

import primal
from primal_studies.paper import experiments
from primal_studies.paper._findings import CENTRAL, FINDINGS
from primal_studies.paper.experiments import optimality

REACH = 13.6


@cache
def study(name):
    with pytest.MonkeyPatch.context() as patch:
        if name == "optimality":  # Gaussian codes of the two largest D take minutes
            patch.setattr(optimality, "DIMS", optimality.DIMS[:-2])
        return experiments.load(name).experiment.run(True, lambda share: None).facts


def value(name, fact):
    return study(name)[fact].value


def first_primes(n):
    limit = max(20, int(n * (math.log(n + 2) + math.log(math.log(n + 3))) + 20))
    sieve = np.ones(limit, dtype=bool)
    sieve[:2] = False
    for i in range(2, math.isqrt(limit) + 1):
        sieve[i * i :: i] &= not sieve[i]
    return np.flatnonzero(sieve)[:n].astype(float)


def table(d, D):
    """The paper's W."""
    return np.sqrt(first_primes(d * D // 2)).reshape(D // 2, d)


def spiral(n):
    a = np.deg2rad(780.0) * np.sqrt((np.arange(n) + 0.5) / n)
    return np.column_stack([-a * np.cos(a), a * np.sin(a)])


def circles(n):
    a = 2.0 * np.pi * np.linspace(0.0, 1.0, n // 2)
    ring = np.column_stack([np.cos(a), np.sin(a)])
    return np.concatenate([5.0 * ring, 10.0 * ring])


def features(x, W, sigma):
    phases = 2.0 * np.pi * sigma * (x @ W.T)
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1).astype(np.float32)


def linear_inverse(z, W, sigma):
    k = len(W)
    phases = np.arctan2(z[:, k:].astype(float), z[:, :k].astype(float))
    return phases @ np.linalg.pinv(2.0 * np.pi * sigma * W).T


def static_codes(N, D):
    """Codes of StaticPrime of length 1; phases in long double keep t sqrt(p) exact enough."""
    turns = np.outer(
        np.arange(N, dtype=np.longdouble), np.sqrt(np.longdouble(first_primes(D // 2)))
    )
    phases = 2.0 * np.pi * (turns - np.floor(turns)).astype(float)
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1) / math.sqrt(D / 2)


def test_no_card_is_missing_here():
    shown = {CENTRAL, *(name for finding in FINDINGS for name in finding.claims)}
    assert shown == {
        *("one-scalar-switches", "closer-than-gaussian", "besicovitch-repulsion", "one-way"),
        *("exact-low-regime", "recovery-bound", "not-recoverable", "isometric", "superior-to-rff"),
        *("no-seed-storage", "five-hundred-dimensions"),
    }


@pytest.mark.parametrize("D", [4, 16, 128])
def test_the_spiral_at_the_low_scale(D):
    x, W = spiral(int(value("sigma", "points"))), table(2, D)
    wrapped = (np.abs(0.007 * x @ W.T).max(axis=1) >= 0.5).mean()
    assert value("sigma", f"wrapped_{D}") == pytest.approx(wrapped, abs=0.005)
    mse = np.square(linear_inverse(features(x, W, 0.007), W, 0.007) - x).mean()
    if D == 4:
        assert wrapped == 0.0
        assert max(mse, value("sigma", "mse_4")) < 1e-9
    else:
        assert value("sigma", f"mse_{D}") == pytest.approx(mse, rel=0.02)


def test_the_edge_over_sigma_d_and_D():
    rng = np.random.default_rng(123)
    halves, switched = [], 0
    for d in (1, 2, 8, 32):
        x = rng.uniform(-REACH, REACH, (2000, d))
        for D in (4, 16, 128, 1024, 4096):
            peaks = np.abs(x @ table(d, D).T).max(axis=1)
            halves.append(0.5 / np.median(peaks))
            switched += bool((0.007 * peaks < 0.5).all() and (peaks >= 0.5).mean() >= 0.95)
    assert value("sigma", "cells") == len(halves)
    assert value("sigma", "cells_switched") == switched
    assert value("sigma", "lowest_edge") == pytest.approx(min(halves), rel=0.05)
    assert value("sigma", "highest_edge") == pytest.approx(max(halves), rel=0.1)


def test_the_inverse_is_exact_at_the_low_scale():
    W = table(2, 4)
    errors = [
        np.square(linear_inverse(features(x, W, 0.007), W, 0.007) - x).mean()
        for x in (spiral(1000), circles(1000))
    ]
    for shape, error in zip(("spiral", "circles"), errors, strict=True):
        found = value("reconstruction", f"mse, {shape}, noise 0.0, sigma 0.007 D 4")
        assert found < 1e-10
        assert error < 1e-9


def test_the_printed_bound():
    rng = np.random.default_rng(5)
    for d in (1, 2, 4, 8, 32):
        W = table(d, 4 * d)
        printed = math.pi / (d * W.max())
        x = rng.uniform(-printed, printed, (20_000, d))
        wraps = (np.abs(x @ W.T).max(axis=1) >= 0.5).mean()
        name = f"inputs that wrap inside the printed bound, d {d}"
        assert value("regimes", name) == pytest.approx(wraps, abs=0.02)
        corner = printed / (2.0 * math.pi) * W.sum(axis=1).max()
        assert corner <= 0.5
        name = f"inputs that wrap inside the printed bound over 2 pi, d {d}"
        assert value("regimes", name) == 0.0


def reduced(into):
    """Integer rows T such that T @ into is LLL-reduced (delta 0.75)."""
    T = np.eye(len(into), dtype=np.int64)
    k = 1
    while k < len(T):
        for j in range(k - 1, -1, -1):
            R = np.linalg.qr((T[: k + 1] @ into).T)[1]
            T[k] -= round(R[j, k] / R[j, j]) * T[j]
        R = np.linalg.qr((T[: k + 1] @ into).T)[1]
        if R[k, k] ** 2 >= 0.75 * R[k - 1, k - 1] ** 2 - R[k - 1, k] ** 2:
            k += 1
        else:
            T[[k - 1, k]] = T[[k, k - 1]]
            k = max(k - 1, 1)
    return T


def decoded(turns, W, center, half_width, precision):
    """Inputs from wrapped phases, by reducing the lattice of whole turns and Babai's plane.

    Whole turns n must put turns + n into the columns of W, to the precision of the phases, and the
    input into its box.
    """
    d = W.shape[1]
    U, inverse = np.linalg.svd(W)[0][:, d:].T, np.linalg.pinv(W)
    into = np.concatenate([U / precision, inverse / half_width]).T
    T = reduced(into)
    Q, R = np.linalg.qr((T @ into).T)
    found = []
    for row in turns:
        left = Q.T @ (
            row @ into - np.concatenate([np.zeros(len(U)), np.full(d, center / half_width)])
        )
        whole = np.zeros(len(T), dtype=np.int64)
        for i in range(len(T) - 1, -1, -1):
            steps = round(left[i] / R[i, i])
            left -= steps * R[:, i]
            whole -= steps * T[i]
        found.append(np.linalg.lstsq(W, row + whole, rcond=None)[0])
    return np.array(found)


@pytest.mark.parametrize("sigma", [1.0, 100.0])
def test_wrapped_inputs_are_recovered(sigma):
    assert value("hashing", f"recovered, sigma {sigma:g} uint32") == 1.0
    x = np.random.default_rng(9).random((30, 8))
    W = sigma * table(8, 64)[:16]
    turns = x @ W.T
    turns = np.round((turns - np.floor(turns)) * 2.0**32) / 2.0**32
    found = decoded(turns, W, 0.5, 0.5, 2.0**-24)
    assert (np.abs(found - x).max(axis=1) < 1e-4).mean() == 1.0


def test_the_shapes_are_recovered_at_the_high_scale():
    assert value("reconstruction", "least share unique, sigma 1.0 D 128") == 1.0
    assert value("reconstruction", "lattice mse, sigma 1.0 D 128") < 1e-13
    x = np.concatenate([spiral(200), circles(200)])
    W = table(2, 128)[:24]
    z = features(x, W, 1.0)
    turns = np.arctan2(z[:, 24:].astype(float), z[:, :24].astype(float)) / (2.0 * np.pi)
    found = decoded(turns, W, 0.0, 20.0, 1e-7)
    assert np.square(found - x).mean() < 1e-10


def test_the_stretching_of_distances():
    x = spiral(int(value("geometry", "points")))
    phases = 2.0 * np.pi * 0.007 * (x @ table(2, 4).T)
    z = np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
    i, j = np.triu_indices(len(x), 1)
    ratios = np.linalg.norm(z[i] - z[j], axis=1) / np.linalg.norm(x[i] - x[j], axis=1)
    expected = ratios.max() / ratios.min()
    assert value("geometry", "distortion of the spiral, paper") == pytest.approx(expected, rel=1e-3)


def accuracy(Z, y):
    """Ridge classification on the first half, best penalty by the second, chance 0.5."""
    half = len(y) // 2
    Z = np.column_stack([Z, np.ones(len(Z))])
    target = 2.0 * y - 1.0
    best = 0.0
    for alpha in 10.0 ** np.arange(-6.0, 2.0):
        left = Z[:half].T @ Z[:half] + alpha * np.eye(Z.shape[1])
        w = np.linalg.solve(left, Z[:half].T @ target[:half])
        best = max(best, float(((Z[half:] @ w > 0.0) == (y[half:] == 1)).mean()))
    return best


def test_classification_against_random_features():
    rng = np.random.default_rng(77)
    n = 2 * int(value("uses-readout", "class_points"))
    y = rng.integers(0, 2, n)
    a = np.deg2rad(780.0) * np.sqrt(rng.random(n))
    arms = np.column_stack([-a * np.cos(a), a * np.sin(a)]) * np.where(y == 1, -1.0, 1.0)[:, None]
    around = 2.0 * np.pi * rng.random(n)
    rings = np.where(y == 1, 10.0, 5.0)[:, None] * np.column_stack([np.cos(around), np.sin(around)])
    W = table(2, 128)
    gaussian = math.sqrt(2.0 * 0.15) / (2.0 * np.pi) * rng.standard_normal((64, 2))
    for task, clean, tolerance in (("spirals", arms, 0.06), ("circles", rings, 0.01)):
        x = clean + 0.5 * rng.standard_normal((n, 2))
        ours = max(accuracy(features(x, W, s).astype(float), y) for s in (0.007, 0.02, 1.0))
        names = (f"{task}, paper's map, sigma {s} D 128" for s in (0.007, 0.02, 1.0))
        found = max(value("uses-readout", name) for name in names)
        assert found == pytest.approx(ours, abs=tolerance)
        theirs = accuracy(features(x, gaussian, 1.0).astype(float), y)
        assert value("uses-readout", f"{task}, random Fourier, D 128") == pytest.approx(
            theirs, abs=0.03
        )


def test_bytes_of_a_definition():
    assert value("complexity", "static_table_bytes") == 8 * 2048
    spec = primal.StaticPrime(4096).spec
    assert value("complexity", "static_spec_bytes") == len(json.dumps(spec))


def items_held(codes, grid, trials, rng):
    """Items of which 99 % are among the most similar codes to their sum, between grid points."""
    last = (0, 1.0)
    for K in grid:
        hits = []
        for _ in range(trials):
            chosen = rng.permutation(len(codes))[:K]
            best = np.argsort(-(codes @ codes[chosen].sum(axis=0)))[:K]
            hits.append(len(np.intersect1d(best, chosen)) / K)
        score = float(np.mean(hits))
        if score < 0.99:
            return last[0] + (last[1] - 0.99) / (last[1] - score) * (K - last[0])
        last = (K, score)
    return last[0]


def test_items_in_few_and_in_many_dimensions():
    rng = np.random.default_rng(31)
    few = items_held(static_codes(1000, 512), (8, 12, 16, 20, 24, 30), 60, rng)
    assert value("uses-hdc", "items held at 99 %, prime D 512") == pytest.approx(few, rel=0.12)
    gaussian = rng.standard_normal((1000, 10_000)).astype(np.float32)
    gaussian /= np.linalg.norm(gaussian, axis=1, keepdims=True)
    many = items_held(gaussian, (300, 400, 500), 12, rng)
    found = value("uses-hdc", "items held at 99 %, gaussian D 10000")
    assert found == pytest.approx(many, rel=0.05)


def test_coherence_against_gaussian_codes_and_controls():
    """Lag sums for codes of the form e(t f); the law of the largest cosine for Gaussian codes."""
    from scipy.stats import beta, gaussian_kde

    sizes, quotients = (100, 250, 500, 1000, 2000, 5000, 10_000), []
    ratios = {"prime": [], "rational": []}
    rng = np.random.default_rng(8)
    for D in (2**i for i in range(4, 11)):
        frequencies = {
            "prime": np.sqrt(first_primes(D // 2)) % 1.0,
            "rational": (rng.permutation(20_010)[: D // 2] + 1) / 20_011,
        }
        lags = np.arange(1, 10_000)
        worst = {
            name: np.maximum.accumulate(
                np.abs(sum(np.cos(2.0 * np.pi * (lags * f % 1.0)) for f in of)) / (D // 2)
            )
            for name, of in frequencies.items()
        }
        for N in (N for N in sizes if N > D):
            welch = math.sqrt((N - D) / (D * (N - 1)))
            for name in ratios:
                ratios[name].append(worst[name][N - 2] / welch)
            # The median of the largest of N (N - 1) / 2 independent squared cosines.
            pairs = N * (N - 1) / 2
            law = math.sqrt(beta.isf(-math.expm1(math.log(0.5) / pairs), 0.5, (D - 1) / 2))
            quotients.append(math.log(worst["prime"][N - 2] / law))
    assert value("optimality", "cells") == len(quotients)
    expected = math.exp(np.mean(quotients))
    assert value("optimality", "coherence_quotient") == pytest.approx(expected, rel=0.02)
    at = np.linspace(1.0, 12.0, 5001)
    peaks = {name: at[gaussian_kde(found)(at).argmax()] for name, found in ratios.items()}
    found = value("optimality", "prime_ratio_peak")
    assert found == pytest.approx(peaks["prime"], abs=0.02)
    rational = study("optimality")["rational_ratio_peak"]
    assert abs(rational.value - peaks["rational"]) < 3.0 * rational.spread
