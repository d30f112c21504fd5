"""Decoding: the paper's shapes, the tight bound, and what wrapping does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primal
from primal import DynamicPrime
from primal._selftest import sample_points
from primal.errors import NotInvertibleError, PhaseWrapWarning
from primal.exact import BASES
from primal_studies.paper import circles, spiral

SHAPES = {"spiral": spiral, "circles": circles}


def worst_corner(m: DynamicPrime, size: float) -> np.ndarray:
    """The corner of the cube |x_j| = size that moves the longest frequency row the most."""
    frequencies = m.basis.frequencies
    longest = np.abs(frequencies).sum(axis=1).argmax()
    return np.where(frequencies[longest] < 0, -size, size)


@pytest.mark.parametrize("layout", ["block", "interleaved"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_paper_shapes_come_back(shape, layout):
    x = SHAPES[shape](1000)
    m = DynamicPrime(2, 4, sigma=0.007, layout=layout)
    assert x.shape == (1000, 2)
    assert m.regime(x).kind == "manifold"
    assert np.square(m.decode(m.encode(x)) - x).mean() <= 1e-10


def test_the_spiral_and_the_circles_have_their_sizes():
    # 780 degrees times the root of the last point's share, 0.9995.
    radius = np.sqrt(0.9995) * 13 * np.pi / 3
    np.testing.assert_allclose(np.linalg.norm(spiral(), axis=1).max(), radius)
    radii = np.linalg.norm(circles(11), axis=1)
    np.testing.assert_allclose(radii, [5.0] * 5 + [10.0] * 6)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize(("d", "D"), [(1, 2), (2, 4), (3, 64), (8, 16), (8, 512)])
@pytest.mark.parametrize("sigma", [1.0, 0.007])
def test_the_bound_is_tight(basis, d, D, sigma):
    m = DynamicPrime(d, D, sigma, basis=basis)
    inside, outside = worst_corner(m, 0.999 * m.bound), worst_corner(m, 1.001 * m.bound)
    assert m.regime(inside).kind == "manifold"
    assert m.regime(outside).kind == "hash"
    assert m.regime(outside).wraps >= 1
    # No other point of the cube does worse than its worst corner.
    others = sample_points(500, d) * 0.999 * m.bound
    assert m.regime(others).kind == "manifold"
    assert m.regime(others).peak_turns <= m.regime(inside).peak_turns


def test_the_bound_is_its_formula():
    # 1 / (2 sigma (sqrt(5) + sqrt(7))), rounded down.
    exact = 0.5 / (0.007 * (np.sqrt(5.0) + np.sqrt(7.0)))
    bound = DynamicPrime(2, 4, 0.007).bound
    assert 0.0 < exact - bound < 1e-11 * exact


@pytest.mark.parametrize(("d", "D"), [(1, 2), (2, 4), (2, 128), (8, 16)])
def test_the_bound_that_the_paper_prints_wraps(d, D):
    sigma = 0.007
    m = DynamicPrime(d, D, sigma)
    largest = np.sqrt(float(primal.primes(d * D // 2)[-1]))
    printed = np.pi / (d * sigma * largest)
    assert m.regime(worst_corner(m, 0.999 * printed)).kind == "hash"
    # Its own phase is 2 pi sigma W x: without that 2 pi the bound would hold.
    assert printed / (2.0 * np.pi) <= m.bound * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("basis", "d", "D"),
    [("paper", 2, 4), ("paper", 2, 16), ("table", 3, 12), ("signed", 8, 16)],
)
def test_decoding_fails_exactly_when_a_phase_wraps(basis, d, D):
    m = DynamicPrime(d, D, 0.05, basis=basis)
    x = sample_points(2000, d) * 3.0 * m.bound
    wrapped = m.regime(x).wraps > 0
    assert 0.05 < wrapped.mean() < 0.95
    phases = np.abs(x @ m.basis.frequencies.T)
    # On the edge itself rounding decides which side a phase falls on.
    clear = (np.abs(phases - 0.5) > 1e-6).all(axis=1)
    errors = np.abs(m.decode(m.encode(x)) - x).max(axis=1)
    # A wrapped phase is off by a whole turn; rounding alone by less than 2**-23 of one.
    largest = np.linalg.norm(np.linalg.pinv(m.basis.frequencies), ord=2) * np.sqrt(D / 2) * 2.0**-23
    np.testing.assert_array_equal(errors[clear] > largest, wrapped[clear])


def test_too_few_outputs_cannot_be_decoded():
    m = DynamicPrime(3, 4)
    with pytest.raises(NotInvertibleError, match=r"D >= 2 d, got D = 4 and d = 3: use D = 6"):
        m.decode(m.encode(np.zeros(3)))


@given(
    basis=st.sampled_from(BASES),
    sigma=st.floats(0.01, 10.0),
    shape=st.sampled_from([(3,), (7, 3), (2, 5, 3), (0, 3)]),
)
def test_the_regime_counts_wrapped_phases(basis, sigma, shape):
    m = DynamicPrime(3, 10, sigma, basis=basis)
    x = sample_points(10, 3).ravel()[: int(np.prod(shape))].reshape(shape)
    regime = m.regime(x)
    sizes = np.abs(np.einsum("...j,ij->...i", x, m.basis.frequencies))
    wraps = (sizes >= 0.5).sum(axis=-1)
    np.testing.assert_array_equal(regime.wraps, wraps)
    assert regime.kind == ("hash" if wraps.any() else "manifold")
    assert regime.n_phases == 5
    assert regime.rows.tolist() == np.flatnonzero(wraps).tolist()
    assert regime.fraction_wrapped == (wraps.sum() / sizes.size if sizes.size else 0.0)
    assert regime.peak_turns == pytest.approx(sizes.max(initial=0.0), rel=1e-14)
    assert regime.margin_turns == 0.5 - regime.peak_turns


def test_the_regime_in_words():
    m = DynamicPrime(1, 2, sigma=1.0)
    x = np.array([[0.1], [1.0], [0.2], [0.3]])
    words = "hash regime: 25.0% of phases wrap, in 1 of 4 rows; largest phase 1.41 turns, margin "
    assert str(m.regime(x)) == words + "-0.914"


def test_checking_warns_of_wraps():
    m = DynamicPrime(1, 2, sigma=1.0)
    x = np.array([[0.1], [1.0], [0.2]])
    with pytest.warns(PhaseWrapWarning) as seen:
        z = m.encode(x, check=True)
    for word in ("1.41 turns", "1 of 3 rows", "factor of 2.83", f"{m.bound:.3g}"):
        assert word in str(seen[0].message)
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(z, m.encode(x))
    # What the advice names does stop the warning.
    DynamicPrime(1, 2, sigma=1.0 / 2.83).encode(x, check=True)
    m.encode(x[x < m.bound][:, None], check=True)


@pytest.mark.parametrize("d", [1, 2, 8, 32, 128])
def test_the_inverse_stays_accurate(d):
    unit = DynamicPrime(d, 2 * d, basis="table").bound
    m = DynamicPrime(d, 2 * d, sigma=0.99 * unit, basis="table")
    x = sample_points(300, d)
    assert m.regime(x).kind == "manifold"
    error = m.decode(m.encode(x)) - x
    # Waves within 1.3e-7 turn a phase by at most sqrt(2) * 1.3e-7 / (2 pi) turn, and the phase
    # itself is within 2**-25: the inverse cannot stretch the sum beyond its norm.
    noise = np.sqrt(2.0) * 1.3e-7 / (2.0 * np.pi) + 2.0**-25
    stretch = np.linalg.norm(np.linalg.pinv(m.basis.frequencies), ord=2)
    assert np.linalg.norm(error, axis=1).max() <= stretch * np.sqrt(d) * noise
    assert np.square(error).mean() <= 1e-9


@pytest.mark.parametrize("basis", ["signed", "table", "kronecker"])
def test_more_outputs_than_needed_average_the_noise(basis):
    x = sample_points(300, 4)
    sigma = DynamicPrime(4, 512, basis=basis).bound
    errors = []
    for D in (8, 512):
        m = DynamicPrime(4, D, sigma, basis=basis)
        assert m.regime(x).kind == "manifold"
        errors.append(np.square(m.decode(m.encode(x)) - x).mean())
    assert errors[1] < errors[0] / 4.0


def test_decoding_takes_any_leading_shape_and_type():
    m = DynamicPrime(2, 8, 0.05)
    x = sample_points(6, 2).reshape(2, 3, 2)
    z = m.encode(x)
    whole = m.decode(z)
    assert whole.dtype == np.float64
    np.testing.assert_allclose(m.decode(z[1, 2]), whole[1, 2], rtol=0, atol=1e-15)
    np.testing.assert_allclose(m.decode(z.tolist()), whole, rtol=0, atol=1e-15)
    np.testing.assert_allclose(m.decode(m.encode(x, dtype="float64")), x, rtol=0, atol=1e-13)
