"""Gram statistics, the Toeplitz shortcuts, and the theorems behind them."""

import math

import numpy as np
import pytest

import primal
from primal.codebooks import (
    bounds,
    codebook,
    gram_statistics,
    lag_cosines,
    toeplitz_statistics,
)
from primal.codebooks._toeplitz import lag_products

# N, D, coherence, lag, ratio to Welch, RMS over Welch: StaticPrime on the paper's grid.
GRID = [
    (100, 16, 0.5504, 52, 2.39, 1.071),
    (250, 16, 0.6179, 220, 2.55, 1.003),
    (500, 16, 0.7751, 450, 3.15, 1.002),
    (1000, 16, 0.7751, 450, 3.12, 1.001),
    (2000, 16, 0.7751, 450, 3.11, 1.000),
    (5000, 16, 0.8532, 2133, 3.42, 1.000),
    (10000, 16, 0.8532, 2133, 3.42, 1.000),
    (100, 32, 0.4595, 97, 3.14, 1.059),
    (250, 32, 0.4798, 104, 2.90, 1.006),
    (500, 32, 0.4941, 453, 2.89, 1.002),
    (1000, 32, 0.5626, 657, 3.23, 1.000),
    (2000, 32, 0.6060, 1724, 3.46, 1.000),
    (5000, 32, 0.7739, 4950, 4.39, 1.000),
    (10000, 32, 0.7739, 4950, 4.38, 1.000),
    (100, 64, 0.3229, 24, 4.28, 1.638),
    (500, 64, 0.3229, 24, 2.76, 1.017),
    (1000, 64, 0.4268, 906, 3.53, 1.006),
    (2000, 64, 0.4268, 906, 3.47, 1.001),
    (5000, 64, 0.4669, 4950, 3.76, 1.000),
    (10000, 64, 0.4669, 4950, 3.75, 1.000),
    (250, 128, 0.2004, 195, 3.24, 1.296),
    (500, 128, 0.2477, 487, 3.25, 1.062),
    (1000, 128, 0.2780, 848, 3.37, 1.021),
    (5000, 128, 0.3406, 1167, 3.90, 1.001),
    (10000, 128, 0.3544, 9467, 4.04, 1.000),
    (500, 256, 0.2136, 24, 4.89, 1.298),
    (1000, 256, 0.2136, 24, 3.96, 1.099),
    (2000, 256, 0.2136, 24, 3.66, 1.037),
    (10000, 256, 0.2428, 2133, 3.94, 1.001),
    (1000, 512, 0.1587, 24, 5.14, 1.343),
    (2000, 512, 0.1587, 24, 4.16, 1.101),
    (5000, 512, 0.1655, 2777, 3.95, 1.028),
    (2000, 1024, 0.1265, 24, 5.79, 1.352),
    (10000, 1024, 0.1268, 3211, 4.28, 1.030),
    (5000, 2048, 0.0755, 614, 4.45, 1.268),
    (10000, 2048, 0.0872, 5194, 4.43, 1.094),
    (5000, 4096, 0.0600, 1010, 9.03, 2.332),
    (10000, 4096, 0.0721, 7820, 6.00, 1.284),
]


@pytest.mark.parametrize(("N", "D", "mu", "lag", "ratio", "rms_ratio"), GRID)
def test_static_prime_on_the_grid(N, D, mu, lag, ratio, rms_ratio):
    found = codebook(N, D, kind="static").certificate
    assert found.coherence == pytest.approx(mu, abs=6e-5)
    assert found.lag == lag
    assert found.ratio == pytest.approx(ratio, abs=0.01)
    assert found.rms / found.welch == pytest.approx(rms_ratio, abs=6e-4)


@pytest.mark.parametrize(
    ("N", "D", "rms"),
    [(100, 16, 0.2465547043), (500, 128, 0.0810591045), (10_000, 64, 0.1246123990)],
)
def test_exact_rms(N, D, rms):
    s = primal.StaticPrime(D)
    assert toeplitz_statistics(s.increments, N).rms == pytest.approx(rms, abs=1e-10)


@pytest.mark.parametrize(("N", "D"), [(2, 2), (100, 16), (333, 64), (1100, 32)])
def test_fejer_identity_and_all_lags_equal_the_brute_force_gram(N, D):
    s = primal.StaticPrime(D)
    by_lags = toeplitz_statistics(s.increments, N, bins=40)
    by_pairs = gram_statistics(s.waves(N, dtype="float64"), bins=40)
    assert by_lags.rms == pytest.approx(by_pairs.rms, abs=1e-12)
    assert by_lags.coherence == pytest.approx(by_pairs.coherence, abs=1e-12)
    assert by_lags.pair == by_pairs.pair
    assert np.array_equal(by_lags.counts, by_pairs.counts)
    assert by_pairs.counts.sum() == N * (N - 1) // 2
    assert (by_pairs.density * np.diff(by_pairs.edges)).sum() == pytest.approx(1.0)


def test_lag_products_do_not_depend_on_blocks(monkeypatch):
    s = primal.StaticPrime(16)
    whole = lag_cosines(s.increments, 5000)
    monkeypatch.setattr("primal.codebooks._toeplitz._BLOCK_LAGS", 1 << 9)
    parts = np.concatenate([p.real for _, p in lag_products(s.increments, 5000)])
    assert np.abs(parts - whole).max() < 1e-14
    direct = s.waves(5000, dtype="float64")[:, :8].mean(axis=1)
    assert np.abs(whole - direct).max() < 1e-13


def test_exact_similarities():
    for D, lag, g in (
        (64, 24, -0.3229285722),
        (1024, 24, -0.1265367909),
        (1024, 31_453_956, 0.1889513917),
        (128, 20_705_324, 0.5235343443),
        (16, 106_302_567, 0.9925798735),
    ):
        z = primal.StaticPrime(D).encode(lag, dtype="float64")
        assert z[: D // 2].mean() == pytest.approx(g, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("D", "N", "lag", "g"),
    [
        (128, 100_000_000, 20_705_324, 0.5235343443),
        (16, 300_000_000, 106_302_567, 0.9925798735),
    ],
)
def test_worst_lags_of_long_scans(D, N, lag, g):
    found = toeplitz_statistics(primal.StaticPrime(D).increments, N, bins=1)
    assert found.pair == (0, lag)
    assert found.coherence == pytest.approx(g, abs=1e-10)


def test_figures_of_merit():
    found = codebook(1000, 64, kind="kerdock").certificate
    assert found.ratio == pytest.approx(0.125 / bounds.welch(1000, 64))
    assert codebook(10, 64, kind="orthonormal").certificate.ratio == 1.0
    assert codebook(10, 64, kind="static").certificate.ratio == math.inf


def test_gram_statistics_of_a_codebook_and_of_blocks(monkeypatch):
    cb = codebook(300, 16, kind="static")
    whole = gram_statistics(cb)
    monkeypatch.setattr("primal.codebooks._metrics._BLOCK_ROWS", 37)
    parts = gram_statistics(cb)
    assert parts.pair == whole.pair
    assert parts.rms == pytest.approx(whole.rms, abs=1e-13)
    assert np.array_equal(parts.counts, whole.counts)
    assert "certificate" not in vars(cb)  # which may take far longer than a few codes do


def test_gram_statistics_in_float32():
    z = codebook(300, 16, kind="static").encode(range(300), dtype="float64")
    wide, narrow = gram_statistics(z), gram_statistics(z, dtype="float32")
    assert narrow.coherence == pytest.approx(wide.coherence, abs=1e-6)
    assert narrow.rms == pytest.approx(wide.rms, abs=1e-6)
    assert narrow.counts.sum() == wide.counts.sum()
    i, j = narrow.pair
    assert abs(z[i] @ z[j]) == pytest.approx(wide.coherence, abs=1e-6)
    cosines = (z @ z.T)[np.triu_indices(300, 1)]
    assert np.array_equal(wide.counts, np.histogram(cosines, bins=200, range=(-1, 1))[0])
    with pytest.raises(primal.errors.ParameterError, match="got 'float16'"):
        gram_statistics(z, dtype="float16")


def test_gram_statistics_scale_rows_and_take_complex_codes():
    z = np.array([[3.0, 0.0], [1.0, 1.0], [0.0, 0.5]])
    assert gram_statistics(z).coherence == pytest.approx(math.sqrt(0.5))
    assert gram_statistics(z[:2] * 1j).coherence == pytest.approx(math.sqrt(0.5))
    assert gram_statistics(z.astype(int)[:2]).pair == (0, 1)


@pytest.mark.parametrize("row", [[5e-324, 0.0], [1.7e308, 0.0], [1.2e308 + 1.7e308j, 0.0]])
def test_gram_statistics_of_the_smallest_and_largest_floats(row):
    codes = np.array([row, [row[0] / abs(row[0].real), 0.0], [0.0, 1.0]])
    assert gram_statistics(codes).coherence == pytest.approx(1.0, abs=1e-14)
    assert gram_statistics(np.asfortranarray(codes)).pair == (0, 1)


def test_masked_codes_and_increments_are_refused():
    codes = np.ma.array(np.eye(3), mask=np.eye(3, k=1))
    with pytest.raises(primal.errors.DataError, match="codes is masked: 2 of 9"):
        gram_statistics(codes)
    increments = np.ma.array(primal.StaticPrime(16).increments, mask=np.arange(8) == 3)
    with pytest.raises(primal.errors.DataError, match="increments is masked: 1 of 8"):
        lag_cosines(increments, 10)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_gram_statistics_of_numbers_whose_squares_are_no_floats(scale):
    codes = np.random.default_rng(1).standard_normal((9, 4))
    for rows in (codes, codes * (1 + 2j)):
        expected, found = gram_statistics(rows), gram_statistics(rows * scale)
        assert found.coherence == pytest.approx(expected.coherence, rel=1e-14)
        assert found.pair == expected.pair


def test_gram_statistics_refuse_what_has_no_directions():
    with pytest.raises(primal.errors.DataError, match="row 1 "):
        gram_statistics(np.array([[1.0, 0.0], [0.0, 0.0]]))
    with pytest.raises(primal.errors.DataError, match="two codes or more, got 1"):
        gram_statistics(np.ones((1, 4)))
    with pytest.raises(primal.errors.DataError, match="matrix of numbers"):
        gram_statistics(["a"])


def test_roots_of_primes_keep_their_distance():
    """Theorem: fractions of sqrt(p) and +-sqrt(q) differ by at least (4 sqrt(p_k) + 1)**-3."""
    increments = primal.increments(200)
    floor = (4 * math.sqrt(int(primal.primes(200)[-1])) + 1) ** -3
    for other in (increments, np.uint64(0) - increments):
        differences = (increments[:, None] - other[None, :]).view(np.int64) * 2.0**-64
        if other is increments:
            np.fill_diagonal(differences, 1.0)
        assert np.abs(differences).min() >= floor


def test_rms_is_between_welch_and_its_proved_bound():
    for N, D in ((10**6, 16), (10**9, 16), (10**12, 64)):
        found = toeplitz_rms(N, D)
        largest = math.sqrt(int(primal.primes(D // 2)[-1]))
        excess = (4 * largest + 1) ** 6 / (4 * N * (N - 1))
        assert bounds.welch(N, D) - 1e-15 <= found
        assert found**2 <= bounds.welch(N, D) ** 2 + excess + 1e-15


def toeplitz_rms(N, D):
    from primal.codebooks._metrics import rms_from_energy
    from primal.codebooks._toeplitz import real_energy

    return rms_from_energy(real_energy(primal.StaticPrime(D).increments, N), N)


def test_coherence_at_fixed_dimension_tends_to_one_with_the_proved_exponent():
    """Theorem: 1 - mu = N**(-4/D + o(1)); the fit over 1e3 <= N <= 1e7 at D = 16."""
    running, edges = 0.0, np.geomspace(1e3, 1e7, 25).astype(int)
    g = np.abs(lag_cosines(primal.StaticPrime(16).increments, int(edges[-1])))
    g[0] = 0.0
    records = []
    for low, high in zip([0, *edges[:-1]], edges, strict=True):
        running = max(running, g[low:high].max())
        records.append(math.log(1.0 - running))
    slope = np.polyfit(np.log(edges), records, 1)[0]
    assert slope == pytest.approx(-4 / 16, abs=0.05)


@pytest.mark.parametrize("k", [8, 64])
def test_values_have_the_law_of_a_mean_of_random_cosines(k):
    """Theorem: variance 1 / D and kurtosis 3 - 3 / (2 k) as N grows."""
    g = lag_cosines(primal.StaticPrime(2 * k).increments, 1_000_000)[1:]
    assert g.var() * 2 * k == pytest.approx(1.0, abs=5e-3)
    assert np.square(np.square(g)).mean() / g.var() ** 2 == pytest.approx(3 - 1.5 / k, abs=0.03)


def test_codes_never_repeat():
    """Theorem: 1 - g(l) >= (8 / k) sum (2 l sqrt(p) + 1)**-2, and the same for -1."""
    roots = np.sqrt(primal.primes(8).astype(float))
    lags = np.array([1, 52, 450, 2133, 362_563])
    g = lag_cosines(primal.StaticPrime(16).increments, int(lags[-1]) + 1)[lags]
    near = np.square(1.0 / (2 * lags[:, None] * roots + 1)).sum(axis=1)
    far = np.square(1.0 / (4 * lags[:, None] * roots + 1)).sum(axis=1)
    assert (1 - g >= near).all()
    assert (1 + g >= far / 4).all()
