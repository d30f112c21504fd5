"""``choose_sigma``: the edge of the manifold regime to the last bit, and steps that must show."""

import math

import numpy as np
import pytest

import primal
from primal import DynamicPrime, PrimalError, choose_sigma
from primal.exact import Basis

BASES = ("paper", "signed", "kronecker", "table", "hadamard")


def sample(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def neighbor_steps(x, distance):
    """Steps of a length towards the nearest other row, one for each row."""
    lengths = np.linalg.norm(x[:, None] - x[None], axis=-1)
    np.fill_diagonal(lengths, math.inf)
    nearest = lengths.argmin(axis=1)
    return distance * (x[nearest] - x) / lengths.min(axis=1, keepdims=True)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("margin", [0.0, 0.05, 0.25])
def test_one_unit_in_the_last_place_more_is_too_much(basis, margin):
    x = sample(50, 5)
    found = choose_sigma(x, D=64, basis=basis, margin=margin)

    def peak(sigma):
        m = DynamicPrime(5, 64, sigma, basis=Basis(basis, 5, 32, sigma))
        return m.regime(x).peak_turns

    assert peak(found.sigma) == found.peak_turns < 0.5 - margin
    assert peak(math.nextafter(found.sigma, math.inf)) >= 0.5 - margin
    assert found.basis == Basis(basis, 5, 32, found.sigma)
    assert found.margin_turns == 0.5 - found.peak_turns


def test_an_expectation_by_hand():
    # One input, one frequency: sqrt(2) sigma |x| < 1/2, at |x| = 4.
    found = choose_sigma([[1.0], [-4.0]], D=2, basis="paper", margin=0.0)
    assert found.sigma == pytest.approx(1.0 / (8.0 * math.sqrt(2.0)), rel=1e-15)
    # cos(2 pi sqrt(2) sigma 0.5) = 1/2 at a sixth of a turn.
    found = choose_sigma([[1.0], [-4.0]], "hash", D=2, basis="paper", distance=0.5)
    assert found.sigma == pytest.approx(1.0 / (6.0 * math.sqrt(2.0) * 0.5), rel=1e-14)
    assert (found.similarity, found.n_pairs) == (pytest.approx(0.5, abs=1e-14), 2)


def test_the_chosen_map_decodes_and_a_larger_sigma_does_not():
    x = sample(200, 3)
    found = choose_sigma(x, D=32)
    m = DynamicPrime(3, 32, found.sigma, basis="auto")
    np.testing.assert_allclose(m.decode(m.encode(x)), x, atol=1e-4)
    beyond = DynamicPrime(3, 32, 1.2 * found.sigma, basis="auto")
    assert np.abs(beyond.decode(beyond.encode(x)) - x).max() > 0.01


SHARES = np.linspace(0.01, 0.999, 300)


@pytest.mark.parametrize("basis", ["kronecker", "signed", "hadamard"])
@pytest.mark.parametrize("similarity", [0.5, 0.8])
def test_the_first_sigma_at_which_steps_show(basis, similarity):
    x = sample(40, 3)
    found = choose_sigma(x, "hash", D=256, basis=basis, distance=0.2, similarity=similarity)
    steps = neighbor_steps(x, 0.2)

    def largest_cosine(sigma):
        m = DynamicPrime(3, 256, sigma, basis=basis)
        z, moved = m.encode(x, dtype="float64"), m.encode(x + steps, dtype="float64")
        return float((z * moved).sum(axis=1).max()) / 128

    assert found.n_pairs == 40
    assert largest_cosine(found.sigma) == pytest.approx(similarity, abs=1e-9)
    assert found.similarity <= similarity
    # No smaller one does: a fine scan of all of them.
    turns = found.sigma * (steps @ Basis(basis, 3, 128).frequencies.T)
    cosines = [np.cos(2 * np.pi * share * turns).mean(axis=1).max() for share in SHARES]
    assert cosines[-1] == pytest.approx(largest_cosine(SHARES[-1] * found.sigma), abs=1e-7)
    assert min(cosines) > similarity


def test_a_revival_is_not_taken_for_the_first_crossing():
    """With two steps of very different lengths in phase the short one decides."""
    x = np.array([[0.0, 0.0], [1.0, 0.0], [50.0, 0.0], [50.0, 1.0]])
    found = choose_sigma(x, "hash", D=128, basis="kronecker", distance=1.0, similarity=0.4)
    W = Basis("kronecker", 2, 64).frequencies
    cosines = [np.cos(2 * np.pi * found.sigma * W[:, j]).mean() for j in range(2)]
    assert max(cosines) == pytest.approx(0.4, abs=1e-12)


def test_many_rows_are_compared_by_a_spread_of_them():
    assert choose_sigma(sample(3000, 2), "hash", D=256, distance=0.1).n_pairs == 256


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"regime": "torus"}, "regime must be one of 'manifold', 'hash'"),
        ({"margin": 0.5}, "margin must be a number strictly between"),
        ({"margin": -0.1}, "margin must be"),
        ({"distance": 1.0}, "distance goes with regime='hash'"),
        ({"regime": "hash"}, "needs distance="),
        ({"regime": "hash", "distance": 0.0}, "distance must be positive"),
        ({"regime": "hash", "distance": 1.0, "similarity": 1.0}, "similarity must be"),
        ({"D": 7}, "D must be even"),
        ({"x": [1.0, 2.0]}, "x must have rows and columns"),
        ({"x": np.zeros((3, 2))}, "every phase of x is zero"),
        ({"x": np.ones((3, 2)), "regime": "hash", "distance": 1.0}, "rows of x are all equal"),
        ({"x": [[0.0], [np.nan]]}, "x holds nan"),
        pytest.param(
            {"x": np.full((2, 2), 1e308)},
            r"overflow, its largest value is 1e\+308",
            marks=pytest.mark.filterwarnings("ignore:overflow"),
        ),
        (
            {"x": sample(200, 6), "regime": "hash", "distance": 1.0, "similarity": -0.9, "D": 64},
            "scatter by 1 / sqrt",
        ),
    ],
)
def test_bad_input_is_named(wrong, words):
    arguments = {"x": sample(10, 2), "D": 16} | wrong
    with pytest.raises(PrimalError, match=words):
        choose_sigma(**arguments)


def test_the_certificate_is_frozen_and_reads_well():
    found = primal.choose_sigma([[3.0, -1.0], [0.5, 12.0]], D=4, basis="paper")
    assert str(found) == "sigma = 0.0136915: manifold, largest phase 0.45 turns"
    with pytest.raises(AttributeError):
        found.peak_turns = 0.1


def test_a_neighbor_whose_distance_has_no_square_is_passed_over():
    near, far = [[0.0, 0.0], [1e-200, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]
    options = {"D": 64, "regime": "hash", "distance": 1.0}
    assert choose_sigma(near, **options).sigma == choose_sigma(far, **options).sigma


@pytest.mark.parametrize("power", [-600, 0, 600])
def test_neighbors_are_found_whatever_the_unit(power):
    x = sample(40, 3)
    expected = choose_sigma(x, "hash", D=128, distance=0.5).sigma
    scaled = choose_sigma(np.ldexp(x, power), "hash", D=128, distance=0.5)
    assert scaled.sigma == expected  # directions have no unit


@pytest.mark.parametrize("power", [-1000, -300, 300, 1000])
def test_a_distance_in_any_unit(power):
    x = sample(40, 3)
    expected = choose_sigma(x, "hash", D=128, distance=0.75)
    distance = math.ldexp(0.75, power)
    if abs(power) < 1000:
        found = choose_sigma(x, "hash", D=128, distance=distance)
        assert found.sigma == math.ldexp(expected.sigma, -power)
        assert found.similarity == expected.similarity
        return
    with pytest.raises(primal.errors.ParameterError, match="sigma must be from 1e-100 to 1e"):
        choose_sigma(x, "hash", D=128, distance=distance)
