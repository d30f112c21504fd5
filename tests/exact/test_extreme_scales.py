"""Scales and values at the ends of float64: the same bits from every engine, or a clear error."""

from itertools import product

import numpy as np
import pytest
from exact_reference import defined_turns, rounded

import primal
from primal._selftest import sample_points
from primal.errors import DataError, ParameterError
from primal.exact import BASES, Basis, Finish, engine, installed_engines, static_turns, waves
from primal.exact._laws import LAWS

EXPONENTS = range(-300, 301, 20)
ENGINES = installed_engines()
LARGEST, SMALLEST = np.finfo(np.float64).max, 5e-324


def rows_for(sigma: float, d: int) -> np.ndarray:
    """Zeros of both signs, denormals, and phases from far below a unit to millions of turns."""
    points = sample_points(4, d) / 3.0
    rows = [
        np.zeros((1, d)),
        np.full((1, d), -0.0),
        np.full((1, d), SMALLEST),
        np.where(np.arange(d) % 2, 2.0**-1022, -SMALLEST)[None],
        np.eye(1, d) * 1e-310,
        *(points * (turns / sigma) for turns in (1e-12, 2.0**-33, 0.3, 1e6)),
        points * 1e-200,
    ]
    x = np.concatenate(rows)
    return x[np.abs(x).max(axis=1) * sigma < 1e7]


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("d", [1, 3, 7])
def test_every_engine_has_the_bits_of_the_definition_or_the_map_is_refused(exponent, d):
    sigma = float(f"1e{exponent}")
    if abs(exponent) > 100:
        with pytest.raises(ParameterError, match=r"from 1e-100 to 1e\+100, got 1e.*: scale x"):
            primal.DynamicPrime(d, 10, sigma)
        return
    x = rows_for(sigma, d)
    for name in (*BASES, *LAWS):
        table = Basis(name, d, 5, sigma).table
        expected, wide = defined_turns(table, x), defined_turns(table, x, wide=True)
        for by in ENGINES:
            turns = np.empty((len(x), 5), dtype=np.uint32)
            engine(by).dynamic_turns(table, x, turns)
            np.testing.assert_array_equal(turns, rounded(expected), err_msg=f"{name} {by}")
            for exact, dtype in ((rounded(expected), np.float32), (wide, np.float64)):
                z = np.full((len(x), 10), np.nan, dtype=dtype)
                engine(by).features(table, x, z, Finish("block"))
                found = z.view(np.uint32 if dtype == np.float32 else np.uint64)
                wanted = np.concatenate(waves(exact), axis=1).view(found.dtype)
                np.testing.assert_array_equal(found, wanted, err_msg=f"{name} {by}")


@pytest.mark.parametrize(
    ("name", "sigma"),
    [
        *product(BASES, (1e-100, 1e100)),
        *((name, (1e-100, 1.0, 1e100)) for name in BASES if name != "hadamard"),
    ],
)
def test_the_limits_themselves(name, sigma, monkeypatch):
    m = primal.DynamicPrime(5, 6, sigma, basis=name)
    largest = sigma if isinstance(sigma, float) else max(sigma)
    x = rows_for(largest, 5)
    found = []
    for by in ENGINES:
        monkeypatch.setenv("PRIMAL_ENGINE", by)
        found.append(m.turns(x))
        np.testing.assert_array_equal(found[-1], rounded(defined_turns(m.basis.table, x)))
        # The same refusal from every engine, for values whose phases have no fraction left.
        with pytest.raises(DataError, match=r"row 1 of x holds a value of size 1\.8e\+308"):
            m.encode([[0.0] * 5, [LARGEST] * 5])
    assert all((turns == found[0]).all() for turns in found)


@pytest.mark.parametrize("sigma", [np.nextafter(1e-100, 0), np.nextafter(1e100, 2e100)])
def test_just_beyond_the_limits(sigma):
    with pytest.raises(ParameterError, match="sigma must be from"):
        primal.DynamicPrime(2, 4, sigma)
    with pytest.raises(ParameterError, match="sigma must be from"):
        primal.DynamicPrime(2, 4, [1.0, sigma])


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_codes_of_positions_at_any_scale(exponent):
    # Integer arithmetic throughout: no scale needs to be refused.
    s = primal.StaticPrime(10, sigma=float(f"1e{exponent}"))
    t = np.array([0, 1, 3, 2**40, 2**63], dtype=np.uint64)
    expected = waves(rounded(static_turns(t, s.increments)))
    for by in ENGINES:
        z = np.full((5, 10), np.nan, dtype=np.float32)
        engine(by).static(s.increments, t, z, "block")
        np.testing.assert_array_equal(z, np.concatenate(expected, axis=1))


m = primal.DynamicPrime(2, 4, 1e-20)


@pytest.mark.parametrize(
    "x",
    [
        [[2**53 + 1, 0]],
        [[0, -(2**53) - 1]],
        [[2**53 + 1, 0.5]],  # NumPy alone would round it
        [[2**63, -1]],
        [[2**64, 0]],
        [[10**30, 0]],
        [[np.int64(2**53 + 1), 0.5]],
        np.array([[2**53 + 1, 0]]),
        np.array([[2**64 - 1, 0]], dtype=np.uint64),
    ],
)
def test_integers_that_float64_cannot_hold_are_refused_in_every_guise(x):
    with pytest.raises(DataError, match=r"x holds the integer -?\d+, beyond 2\*\*53"):
        m.encode(x)


def test_a_table_that_mixes_integers_with_floats():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"id": [2**53 + 1, 1], "value": [0.5, 1.0]})
    with pytest.raises(DataError, match=r"x holds the integer 9007199254740993, beyond 2\*\*53"):
        m.encode(table)
    assert m.encode(table.assign(id=[1, 2])).shape == (2, 4)


def test_scikit_learn_refuses_the_same_values():
    pytest.importorskip("sklearn")
    features = primal.sklearn.PrimeFeatures(8, gamma=1e-20).fit([[0.0, 1.0]])
    for x in (np.array([[2**53 + 1, 0]]), [[2**53 + 1, 0.5]]):
        with pytest.raises(DataError, match=r"X holds the integer 9007199254740993, beyond"):
            features.transform(x)
    with pytest.raises(DataError, match="X is masked: 1 of 2 values are missing"):
        features.fit(np.ma.array([[1.0, 2.0]], mask=[[0, 1]]))
    # Positions are integers and stay integers.
    positions = primal.sklearn.PrimePositions(8).fit(np.array([[0], [2**62 + 1]]))
    assert positions.transform(np.array([[2**62 + 1]])).shape == (1, 8)
    with pytest.raises(DataError, match="X is masked"):
        positions.transform(np.ma.array([[1]], mask=True))


def test_large_floats_and_integers_up_to_2_to_the_53_are_taken():
    assert m.encode([[2**53, -(2**53)]]).shape == (1, 4)
    assert m.encode([[1e20, 1.0]]).shape == (1, 4)
    assert m.encode([[2.0**60, 1]]).shape == (1, 4)
