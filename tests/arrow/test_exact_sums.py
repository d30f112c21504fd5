"""Sums over rows: integers of two words, the same bytes in any order and any parts."""

from fractions import Fraction

import numpy as np
import pytest

from primal import _sums
from primal._sums import ExactSums, rounded
from primal.errors import DataError

RNG = np.random.default_rng(0)
N, D = 120, 4
Q = rounded(RNG.uniform(-1, 1, (N, D)).astype(np.float32))
REAL = RNG.standard_normal((N, 2))
TARGETS = {
    "real": REAL,
    "any size": REAL * 10.0 ** RNG.integers(-300, 300, (N, 2)),
    "subnormal": REAL * 1e-320,
    "largest": np.sign(REAL) * np.finfo(np.float64).max,
    "labels": np.eye(2)[RNG.integers(0, 2, N)],
    "zero": np.zeros((N, 2)),
}


def sums_of(rows, Y, weights=None):
    made = ExactSums(D, Y.shape[1])
    made.add(Q[rows], Y[rows], None if weights is None else weights[rows])
    return made


def nearest(numbers):
    total = sum(numbers, Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return np.inf if total > 0 else -np.inf


@pytest.mark.parametrize("name", TARGETS)
def test_each_sum_is_the_exact_one_rounded_once(name):
    Y = TARGETS[name]
    found = sums_of(slice(None), Y).moments()
    W = np.column_stack([Q, np.ones(N)])
    np.testing.assert_array_equal(found.gram, W.T.astype(int) @ W.astype(int))
    for t in range(2):
        exact = [Fraction(y) for y in Y[:, t]]
        for j in range(D + 1):
            own = nearest(int(w) * y for w, y in zip(W[:, j], exact, strict=True))
            assert found.cross[j, t] == own
        assert found.squares[t] == nearest(y * y for y in exact)


@pytest.mark.parametrize("word_rows", [_sums._WORD_ROWS, 30])
@pytest.mark.parametrize("name", TARGETS)
def test_parts_and_order_change_no_byte(name, word_rows, monkeypatch):
    Y = TARGETS[name]
    expected = sums_of(slice(None), Y).to_bytes()
    monkeypatch.setattr(_sums, "_WORD_ROWS", word_rows)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(N)
        total, added = ExactSums(D, 2), ExactSums(D, 2)
        for i, part in enumerate(np.array_split(order, 7)):
            added.add(Q[part], Y[part])
            one = sums_of(part, Y)
            total.merge(ExactSums.from_bytes(one.to_bytes()) if i % 2 else one)
        assert len(added._gram) == (1 if word_rows > N else 2)
        assert total.to_bytes() == added.to_bytes() == expected
        small = ExactSums(2, 2)
        small.add(Q[order, :2], Y[order])
        assert small.with_features(Q, Y).to_bytes() == expected
        apart = np.insert(Y, 1, 0.0, axis=1)
        assert (
            added.with_targets(3, np.array([0, 2])).to_bytes() == sums_of(order, apart).to_bytes()
        )


def test_counts_are_repeated_rows():
    counts = RNG.integers(0, 4, N).astype(float)
    repeated = np.repeat(np.arange(N), counts.astype(int))
    counted = sums_of(slice(None), REAL, counts)
    assert counted.to_bytes() == sums_of(repeated, REAL).to_bytes()
    assert counted.n_rows == len(repeated)


def test_the_second_word_holds_more_rows_than_64_bits():
    # Every product is the largest, and 2**16 stands for each row.
    rows, weights = np.full((4, D), 2.0**18), np.full(4, 2.0**16)
    total = ExactSums(D, 1)
    total.add(rows, np.full((4, 1), -1.0), weights)
    while total.n_rows < 2**57:
        total.merge(ExactSums.from_bytes(total.to_bytes()))
    assert total.n_rows == 2**57
    found = total.moments()
    assert (found.gram[:D, :D] == 2.0**93).all()
    assert (found.cross[:D] == -(2.0**75)).all()
    assert ExactSums.from_bytes(total.to_bytes()).to_bytes() == total.to_bytes()
    total.merge(ExactSums.from_bytes(total.to_bytes()))
    with pytest.raises(DataError, match="at most 2\\*\\*58 rows, got 576460752303423488"):
        total.merge(total)


def test_large_counts_are_summed_in_small_blocks():
    rows, weights = RNG.integers(-(2**18), 2**18, (40, D)), RNG.integers(1, 65537, 40)
    made = ExactSums(D, 1)
    made.add(rows.astype(float), np.ones((40, 1)), weights.astype(float))
    exact = (rows * weights[:, None]).T @ rows
    np.testing.assert_array_equal(made._gram[0, :D, :D], exact)
    assert made.n_rows == weights.sum()


def test_damaged_bytes_are_refused():
    data = sums_of(slice(None), REAL).to_bytes()
    wrong = b"", data[:31], data[:-1], data + b"\0", b"\xff" * 32, b"\0" * len(data)
    many = ExactSums(D, 2)
    many._gram[0, -1, -1] = -1
    for content in (*wrong, many.to_bytes()):
        with pytest.raises(DataError, match="damaged"):
            ExactSums.from_bytes(content)
