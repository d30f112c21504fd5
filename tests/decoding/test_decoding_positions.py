"""Positions out of noisy codes, without trying all of them."""

import numpy as np
import pytest

from primal import StaticPrime
from primal.decoding._positions import PositionDecoder, log2_chance_fits
from primal.errors import NotInvertibleError


def noisy_codes(s: StaticPrime, t: np.ndarray, std: float) -> np.ndarray:
    z = s.encode(t, dtype="float64")
    k = s.D // 2
    turns = np.arctan2(z[:, k:], z[:, :k]) / (2 * np.pi)
    turns += np.random.default_rng(1).normal(0.0, std, turns.shape)
    return np.concatenate([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], axis=1)


@pytest.mark.parametrize(
    ("D", "n", "std", "share"),
    [
        (8, 10**12, 0.0, 1.0),
        (16, 10**12, 0.001, 1.0),
        (64, 10**12, 0.04, 0.99),
        (128, 10**12, 0.08, 0.95),
        (64, 2**22, 0.05, 1.0),
        (64, 2**62, 0.01, 0.99),
    ],
)
def test_positions_come_back(D, n, std, share):
    s = StaticPrime(D)
    t = np.random.default_rng(2).integers(0, n, 200)
    found = s.decode(noisy_codes(s, t, std), n=n)
    assert np.mean(found == t) >= share
    # What is not found is said so, not guessed.
    assert (found[found != t] == -1).all()


def test_the_ends_of_the_range_come_back():
    s, n = StaticPrime(32), 10**12
    t = np.array([0, 1, n // 2, n - 2, n - 1])
    found, similarity = s.decode(s.encode(t), n=n, return_similarity=True)
    assert found.tolist() == t.tolist()
    np.testing.assert_allclose(similarity, 1.0, atol=1e-6)


@pytest.mark.parametrize("options", [{"layout": "interleaved"}, {"sigma": 0.37}, {"start": 1000}])
def test_other_maps(options):
    s = StaticPrime(32, **options)
    t = np.array([7, 123_456_789_012, 999_999_999_999])
    assert s.decode(5.0 * s.encode(t), n=10**12).tolist() == t.tolist()


def test_scan_and_lattice_agree():
    s = StaticPrime(32)
    t = np.random.default_rng(3).integers(0, 2**20, 50)
    z = noisy_codes(s, t, 0.02)
    assert s.decode(z, n=2**20).tolist() == s.decode(z, n=2**20 + 1).tolist() == t.tolist()


def test_noise_is_not_given_a_position():
    s = StaticPrime(64)
    z = np.random.default_rng(4).normal(size=(100, 64))
    assert (s.decode(z, n=10**12) == -1).all()


def test_a_position_outside_is_not_given_one():
    s = StaticPrime(64)
    assert s.decode(s.encode([10**12 + 5]), n=10**12).tolist() == [-1]


def test_a_code_too_noisy_for_the_lattice_is_scanned_when_that_is_affordable():
    s = StaticPrime(256)
    t = np.array([5, 1_000_000])
    assert s.decode(noisy_codes(s, t, 0.19), n=2**20 + 2).tolist() == t.tolist()


DOUBTFUL = [
    *[(1e-9, 0.0), (1e-9, 1e-6), (1e-6, 1e-3), (1e-3, 0.016), (1e-3, 0.1), (0.01, 0.1)],
    (1.0, 0.12),
]


@pytest.mark.parametrize(
    ("n", "sigma", "std"),
    [*[(n, *noise) for n in (10**4, 10**9, 2**62) for noise in DOUBTFUL], (2**20 + 1, 1e-3, 0.016)],
)
def test_a_wrong_position_is_never_certain(n, sigma, std):
    # Neighbours are nearer to each other than the noise, or the noise is too large for any.
    s = StaticPrime(64, sigma=sigma)
    t = np.random.default_rng(6).integers(0, n, 20 if n == 2**20 + 1 else 200)
    found, certain = s.decode(noisy_codes(s, t, std), n=n, return_certain=True)
    assert not (certain & (found != t)).any()
    assert np.mean(certain) < 0.9
    if n > 2**24:
        np.testing.assert_array_equal(found == -1, ~certain)
    else:
        assert (found >= 0).all()


@pytest.mark.parametrize("n", [1000, 2**21, 10**9])
@pytest.mark.parametrize(("sigma", "std"), [(1e-3, 1e-5), (0.01, 1e-3), (1.0, 0.03)])
def test_what_the_noise_leaves_apart_is_certain(n, sigma, std):
    s = StaticPrime(64, sigma=sigma)
    t = np.random.default_rng(6).integers(0, n, 200)
    found, certain = s.decode(noisy_codes(s, t, std), n=n, return_certain=True)
    assert certain.all()
    np.testing.assert_array_equal(found, t)


def test_with_too_few_phases_a_position_is_a_guess():
    s = StaticPrime(2)
    t = np.arange(1000)
    found, certain = s.decode(s.encode(t), n=1000, return_certain=True)
    np.testing.assert_array_equal(found, t)
    assert not certain.any()


def test_similar_positions_are_known():
    # sqrt(2) and sqrt(3) both come near to whole numbers at 15: 21.213 and 25.981; at 56 they do
    # so more, 79.196 and 96.995.
    decoder = PositionDecoder(StaticPrime(4).increments, 1000)
    expected = 1.0 - np.cos(2 * np.pi * np.outer(np.arange(1, 1000), np.sqrt([2.0, 3.0]))).mean(
        axis=1
    )
    np.testing.assert_allclose(decoder._step_losses[0], expected.min(), rtol=1e-9)
    assert decoder._steps[0] == 1 + expected.argmin()


def test_too_few_phases_are_refused():
    with pytest.raises(NotInvertibleError, match="use D = 6"):
        StaticPrime(2).decode(np.ones(2), n=10**12)


def test_the_chance_to_fit_is_an_upper_bound():
    rng = np.random.default_rng(5)
    for k in (2, 5, 12):
        losses = 1.0 - np.cos(2 * np.pi * rng.random((200_000, k))).mean(axis=1)
        for loss in (0.1, 0.3, 0.5, 0.8):
            bound = 2.0 ** float(log2_chance_fits(k, np.array(loss)))
            # It is close for small losses: allow for four deviations of what is measured.
            assert np.mean(losses <= loss) <= bound + 4.0 * np.sqrt(bound / len(losses))


def test_the_decoder_says_how_good_it_is():
    decoder = PositionDecoder(StaticPrime(64).increments, 10**12)
    assert decoder._reduced.success_probability > 0.99
