"""The reduction: exact integers, LLL's conditions in rational arithmetic, known lattices."""

from fractions import Fraction

import numpy as np
import pytest
from c_core import require_core
from hypothesis import given
from hypothesis import strategies as st

import primal
from primal.decoding import Box, Integers
from primal.decoding._lattice import (
    Lattice,
    log_success,
    reduce_lattice,
    triangular_factor,
)
from primal.decoding._model import PhaseModel, row_counts


def phase_lattice(basis: str, d: int, m: int, sigma: float, noise: float) -> Lattice:
    table = primal.Basis(basis, d, m, sigma).table
    return PhaseModel(table, Box(1.0).model(d), noise).lattice(m)


def exact_rows(lattice: Lattice, u: np.ndarray) -> list[list[Fraction]]:
    """u M in rational numbers, by Python's own integers."""
    scaled = u.astype(object) @ lattice.scaled.astype(object)
    unit = Fraction(1, 2**lattice.log2_scale)
    noise = [Fraction(float(v)) for v in lattice.noise_turns]
    return [
        [int(c) * s for c, s in zip(row, noise, strict=True)] + [int(v) * unit for v in spread]
        for row, spread in zip(u.tolist(), scaled, strict=True)
    ]


def gram_schmidt(rows: list[list[Fraction]]) -> tuple[list[Fraction], list[list[Fraction]]]:
    """Squared lengths of the orthogonalised rows, and the coefficients."""
    orthogonal: list[list[Fraction]] = []
    squares: list[Fraction] = []
    coefficients = []
    for row in rows:
        rest, mu = list(row), []
        for other, square in zip(orthogonal, squares, strict=True):
            c = sum((a * b for a, b in zip(row, other, strict=True)), Fraction(0)) / square
            rest = [a - c * b for a, b in zip(rest, other, strict=True)]
            mu.append(c)
        orthogonal.append(rest)
        squares.append(sum((a * a for a in rest), Fraction(0)))
        coefficients.append(mu)
    return squares, coefficients


def reference_lll(rows: list[list[Fraction]], delta: Fraction) -> list[Fraction]:
    """Textbook LLL in rational numbers, everything recomputed at each step; squared lengths."""
    rows = [list(row) for row in rows]
    k = 1
    while k < len(rows):
        for j in range(k - 1, -1, -1):
            q = round(gram_schmidt(rows)[1][k][j])
            rows[k] = [a - q * b for a, b in zip(rows[k], rows[j], strict=True)]
        squares, mu = gram_schmidt(rows)
        if squares[k] >= (delta - mu[k][k - 1] ** 2) * squares[k - 1]:
            k += 1
        else:
            rows[k - 1], rows[k] = rows[k], rows[k - 1]
            k = max(k - 1, 1)
    return gram_schmidt(rows)[0]


LATTICES = [
    ("paper", 2, 4, 100.0, 1e-8),
    ("paper", 3, 5, 1.0, 1e-3),
    ("table", 2, 4, 10.0, 1e-6),
]


@pytest.mark.parametrize(("basis", "d", "m", "sigma", "noise"), LATTICES)
def test_rows_satisfy_llls_conditions_exactly(basis, d, m, sigma, noise):
    lattice = phase_lattice(basis, d, m, sigma, noise)
    reduced = reduce_lattice(lattice)
    squares, mu = gram_schmidt(exact_rows(lattice, reduced.u))
    for k in range(1, m):
        assert all(abs(c) <= Fraction("0.502") for c in mu[k])
        assert squares[k] >= (Fraction("0.998") - mu[k][k - 1] ** 2) * squares[k - 1]
    np.testing.assert_allclose(np.diag(reduced.factor), np.sqrt([float(s) for s in squares]))


@pytest.mark.parametrize(("basis", "d", "m", "sigma", "noise"), LATTICES)
def test_quality_is_that_of_exact_lll_or_better(basis, d, m, sigma, noise):
    lattice = phase_lattice(basis, d, m, sigma, noise)
    rows = exact_rows(lattice, np.eye(m, dtype=np.int64))
    before = gram_schmidt(rows)[0]
    reference = reference_lll(rows, Fraction("0.99"))
    reduced = reduce_lattice(lattice)
    ours = np.diag(reduced.factor)
    # No reduction changes the determinant; a good one makes the lengths equal.
    np.testing.assert_allclose(
        np.log(ours).sum(), 0.5 * sum(np.log(float(s)) for s in before), atol=1e-6
    )
    theirs = np.sqrt([float(s) for s in reference])
    assert ours.max() <= 1.1 * theirs.max()
    assert log_success(ours) >= log_success(theirs) - 0.05


@pytest.mark.parametrize(
    ("basis", "d", "m", "sigma", "noise"),
    [("paper", 16, 24, 100.0, 1e-8), ("paper", 32, 48, 100.0, 1e-8), ("table", 12, 20, 1.0, 1e-4)],
)
def test_transform_and_inverse_multiply_to_one(basis, d, m, sigma, noise):
    reduced = reduce_lattice(phase_lattice(basis, d, m, sigma, noise))
    one = np.eye(m, dtype=np.int64)
    assert np.array_equal(reduced.u @ reduced.v.T, one)
    # Also in unbounded integers: the transform itself fits, and so does its inverse here.
    assert (reduced.u.astype(object) @ reduced.v.T.astype(object) == one).all()


def test_quality_holds_at_dimension_96():
    require_core()
    reduced = reduce_lattice(phase_lattice("paper", 64, 96, 100.0, 1e-8))
    assert np.array_equal(reduced.u @ reduced.v.T, np.eye(96, dtype=np.int64))
    # Plain double precision leaves 1.48 turns at m = 96; LLL with exact restarts 0.09.
    assert np.diag(reduced.factor).max() < 0.06
    assert reduced.success_probability > 0.999999


def test_deep_insertions_flatten_the_profile():
    require_core()
    lattice = phase_lattice("paper", 32, 64, 100.0, 1e-3)
    plain, deep = reduce_lattice(lattice, window=1), reduce_lattice(lattice, window=16)
    assert np.diag(deep.factor).max() < 0.8 * np.diag(plain.factor).max()
    assert deep.success_probability > 5 * plain.success_probability
    np.testing.assert_allclose(deep.adop_turns, plain.adop_turns, rtol=1e-9)


def test_a_lattice_with_known_short_vectors():
    # One input, phases 5 x and 7 x and little noise: 7 times the first less 5 times the second
    # is noise alone. It is the shortest combination, and reduction must find it.
    noise = np.array([1e-6, 1e-6])
    lattice = Lattice(noise, np.array([[5], [7]], dtype=object), 0)
    reduced = reduce_lattice(lattice)
    assert np.abs(reduced.u[0]).tolist() == [7, 5]
    np.testing.assert_allclose(reduced.factor[0, 0], 1e-6 * np.sqrt(74.0))


@given(st.lists(st.integers(-(10**9), 10**9), min_size=3, max_size=6), st.integers(0, 6))
def test_any_integers_reduce_to_a_unimodular_transform(numbers, log10_noise):
    column = np.array([[v] for v in numbers], dtype=object)
    noise = np.full(len(numbers), 10.0**-log10_noise)
    lattice = Lattice(noise, column, -20)
    reduced = reduce_lattice(lattice)
    m = len(numbers)
    assert (reduced.u.astype(object) @ reduced.v.T.astype(object) == np.eye(m, dtype=int)).all()
    before = np.log(np.diag(triangular_factor(lattice.rows(np.eye(m, dtype=np.int64))))).sum()
    np.testing.assert_allclose(np.log(np.diag(reduced.factor)).sum(), before, atol=1e-4)


def test_integers_beyond_64_bits_are_reduced_too():
    column = np.array([[2**80 + 1], [3**50], [7**28 + 12345]], dtype=object)
    lattice = Lattice(np.full(3, 1e-3), column, -10)
    assert lattice.scaled.dtype == object
    reduced = reduce_lattice(lattice)
    assert (reduced.u.astype(object) @ reduced.v.T.astype(object) == np.eye(3, dtype=int)).all()


def test_progress_runs_from_zero_to_below_one():
    seen: list[float] = []
    reduce_lattice(phase_lattice("paper", 4, 8, 100.0, 1e-8), report=seen.append)
    assert seen[0] == 0.0
    assert seen == sorted(seen)
    assert seen[-1] < 1.0


def test_the_lattice_is_the_model():
    model = PhaseModel(primal.Basis("signed", 3, 6, 10.0).table, Box(2.0).model(3), 1e-6)
    one = np.eye(6, dtype=np.int64)
    expected = np.concatenate([1e-6 * one, model.spread[model.order]], axis=1)
    np.testing.assert_allclose(model.lattice(6).rows(one), expected, rtol=0, atol=1e-9)


def test_rows_that_vary_least_come_first():
    basis = primal.Basis("signed", 3, 6, np.geomspace(100.0, 0.1, 6))
    model = PhaseModel(basis.table, Box(2.0).model(3), 1e-6)
    assert model.order.tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("prior", [Box(1.0), Integers(1.0, 0, 255)])
def test_row_counts_rise_to_what_there_is(prior):
    model = PhaseModel(primal.Basis("paper", 8, 16, 1.0).table, prior.model(8), 1e-8)
    counts = list(row_counts(model))
    assert counts == sorted(set(counts))
    assert counts[-1] == 16
