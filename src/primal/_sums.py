"""Sums over rows that determine a ridge regression, exact in any order and any parts.

Features are rounded to multiples of 2**-18 and targets are split into pieces of 18 bits. Products
of two such integers are below 2**36, and float64 adds 2**16 of them without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from primal._checks import require_memory
from primal.errors import DataError

BITS = 18  # of a rounded feature and of a piece of a target
_BLOCK_ROWS = 1 << 16
_WORD_ROWS = 1 << 26  # sums over so many rows are below 2**62
_MOST_ROWS = 1 << 58
_LOW = 2**32 - 1
_LARGEST_PLACE = 64  # 2**(18 * 64) is beyond float64


def rounded(Z: np.ndarray) -> np.ndarray:
    """Return features in [-1, 1] as integers in units of 2**-18, float64."""
    return np.rint(Z.astype(np.float64) * 2.0**BITS)


class Moments(NamedTuple):
    """Sums over rows of features Q (n, D), in units of 2**-18, and targets Y (n, m), float64.

    With W = [Q, 1], gram is W'W (D + 1, D + 1), whose last entry is the number of rows; cross is
    W'Y (D + 1, m); squares (m,) are those of the targets.
    """

    gram: np.ndarray
    cross: np.ndarray
    squares: np.ndarray


class ExactSums:
    """The sums of `Moments` as integers of up to 95 bits, which hold 2**58 rows.

    A target is a sum of pieces times 2**(18 place), for the places that occur in the rows: the last
    axes of cross (D + 1, m, P) and squares (m, P, P). The first axis of every array, of length 1 or
    2, has the words of a sum, low + 2**32 high; the second word is added after 2**26 rows.
    """

    _kind: ClassVar[Any] = np.int64
    _rounding: ClassVar[float] = 0.0

    def __init__(self, n_features: int, n_targets: int) -> None:
        n = n_features + 1
        require_memory(8 * n * (n + n_targets), f"a regression on {n_features} features")
        self._gram = np.zeros((1, n, n), self._kind)
        self._cross = np.zeros((1, n, n_targets, 1), self._kind)
        self._squares = np.zeros((1, n_targets, 1, 1), self._kind)
        self._lowest = 0  # place of the first piece; place 0 is always there
        self._pending = 0  # rows in the low word

    @property
    def n_features(self) -> int:
        return self._gram.shape[1] - 1

    @property
    def n_targets(self) -> int:
        return self._cross.shape[2]

    @property
    def n_rows(self) -> int:
        return sum(int(word) << 32 * i for i, word in enumerate(self._gram[:, -1, -1]))

    def add(
        self, Q: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None, first: int = 0
    ) -> None:
        """Add rows Q (n, D) of rounded features, finite targets Y (n, m) and counts (n,) of rows.

        Sums over two features before number `first` are left out.
        """
        for rows in _blocks(len(Q), weights):
            E, lowest = self._pieces(Y[rows])
            W = np.concatenate([Q[rows], np.ones((len(E), 1))], axis=1)
            counted, F, n_new = W, E, len(E)
            if weights is not None:
                own = weights[rows]
                counted, F, n_new = W * own[:, None], E * own[:, None, None], own.sum()
            places = self._cover(1, lowest, E.shape[2])
            if self._pending + n_new > _WORD_ROWS:
                self._carry()
            new = (counted.T @ W[:, first:]).astype(self._kind, copy=False)
            new[-1, -1] = n_new  # a product of float64 weights and ones may be rounded otherwise
            self._gram[0, :, first:] += new
            self._gram[0, first:, :first] += new[:first].T
            cross = (counted.T @ E.reshape(len(E), -1)).reshape(-1, *E.shape[1:])
            self._cross[0, :, :, places] += cross.astype(self._kind)
            squares = F.transpose(1, 2, 0) @ E.transpose(1, 0, 2)
            self._squares[0, :, places, places] += squares.astype(self._kind)
            self._pending += n_new

    def merge(self, other: ExactSums) -> None:
        """Add the sums over other rows of the same features and targets."""
        n_rows = self.n_rows + other.n_rows
        if n_rows > _MOST_ROWS:
            raise DataError(f"the sums hold at most 2**58 rows, got {n_rows}: merge fewer.")
        words = len(other._gram)
        places = self._cover(words, other._lowest, other._cross.shape[3])
        if self._pending + other._pending > _WORD_ROWS:
            self._carry()
        self._gram[:words] += other._gram
        self._cross[:words, :, :, places] += other._cross
        self._squares[:words, :, places, places] += other._squares
        self._pending += other._pending

    def with_targets(self, n_targets: int, at: np.ndarray) -> Self:
        """Return the sums with more targets, zero so far; the old ones go to the columns `at`."""
        made = type(self)(self.n_features, n_targets)
        made._cover(len(self._gram), self._lowest, self._cross.shape[3])
        made._gram[:], made._pending = self._gram, self._pending
        made._cross[:, :, at], made._squares[:, at] = self._cross, self._squares
        return made

    def with_features(
        self, Q: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None
    ) -> Self:
        """Return the sums with more features; those over two old ones are kept.

        Q holds all features, old ones first, of the rows that were added before, in any order.
        """
        n, made = self.n_features, type(self)(Q.shape[1], self.n_targets)
        made.add(Q, Y, weights, first=n)
        old = np.append(np.arange(n), -1)
        seen = made._gram[:, -1, old], made._cross[:, old], made._squares
        kept = self._gram[:, -1], self._cross, self._squares
        (means, *others), (own_means, *own) = map(_integers, seen), map(_integers, kept)
        far = np.abs(means - own_means).max() > self._rounding * self.n_rows * 2.0**BITS
        exact = are_counts(weights) and all(map(np.array_equal, others, own))
        if far or not (exact or self._rounding):
            raise DataError(
                "X, y and sample_weight are not the rows that the model was fitted on: growing "
                f"keeps their Gram matrix and needs all {self.n_rows} of them, in any order."
            )
        made._cover(len(self._gram), self._lowest, self._cross.shape[3])
        made._gram[:, :n, :n] = 0
        made._gram[: len(self._gram), :n, :n] = self._gram[:, :n, :n]
        made._pending = max(made._pending, self._pending)
        return made

    def moments(self) -> Moments:
        """Return the sums as float64, each rounded once."""
        gram, cross, squares = map(_integers, (self._gram, self._cross, self._squares))
        shifts = np.array([1 << BITS * i for i in range(cross.shape[2])], dtype=object)
        return Moments(
            gram.astype(np.float64),
            _floats((cross * shifts).sum(axis=2), BITS * self._lowest),
            _floats((squares * shifts * shifts[:, None]).sum(axis=(1, 2)), 2 * BITS * self._lowest),
        )

    def to_bytes(self) -> bytes:
        """Return the sums as bytes, the same for the same rows in any order and parts."""
        upper = [self._gram[:, i, i:] for i in range(self.n_features + 1)]
        parts = [*upper, *(p.reshape(len(p), -1) for p in (self._cross, self._squares))]
        words = np.concatenate(parts, axis=1)
        high = (words[0] >> 32) + (words[1] if len(words) == 2 else 0)
        head = [self.n_features, self.n_targets, self._lowest, self._cross.shape[3]]
        low = (words[0] & _LOW).astype("<u4")
        return np.array(head, "<i8").tobytes() + low.tobytes() + high.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the sums that `to_bytes` wrote."""
        D, m, lowest, P = np.frombuffer(data[:32].ljust(32, b"\xff"), "<i8").tolist()
        n = D + 1
        size = n * (n + 1) // 2 + n * m * P + m * P * P
        inside = min(n, m) >= 0 and -_LARGEST_PLACE <= lowest <= 0 < lowest + P <= _LARGEST_PLACE
        if not inside or len(data) != 32 + 12 * size:
            raise DataError(f"these {len(data)} bytes are not sums over rows: they are damaged.")
        made = cls(D, m)
        made._cover(2, lowest, P)
        low = np.frombuffer(data, "<u4", size, 32).astype(np.int64)
        words = np.stack([low, np.frombuffer(data, "<i8", size, 32 + 4 * size)])
        sizes = [*range(n, 0, -1), n * m * P]
        *upper, cross, squares = np.split(words, np.cumsum(sizes), axis=1)
        for i, row in enumerate(upper):
            made._gram[:, i, i:] = made._gram[:, i:, i] = row
        made._cross[:] = cross.reshape(made._cross.shape)
        made._squares[:] = squares.reshape(made._squares.shape)
        made._pending = 1  # no low word exceeds that of one row
        if not 0 <= made.n_rows <= _MOST_ROWS:
            raise DataError(f"sums over {made.n_rows} rows are damaged.")
        return made

    @staticmethod
    def _pieces(Y: np.ndarray) -> tuple[np.ndarray, int]:
        """Return integers below 2**18, of shape (n, m, P), and the place of the first one."""
        largest = np.abs(Y).max(initial=0.0) or 1.0
        place = (int(np.frexp(largest)[1]) - 1) // BITS
        found, rest = [], Y
        while not found or rest.any():
            found.append(np.trunc(np.ldexp(rest, -BITS * place)))
            rest = rest - np.ldexp(found[-1], BITS * place)
            place -= 1
        return np.stack(found[::-1], axis=2), place + 1

    def _cover(self, n_words: int, lowest: int, n_places: int) -> slice:
        """Append words and places, all zero, if they are missing; return where these places are."""
        words = max(n_words - len(self._gram), 0)
        before = max(self._lowest - lowest, 0)
        after = max(lowest + n_places - self._lowest - self._cross.shape[3], 0)
        if words:
            self._gram = np.pad(self._gram, ((0, words), (0, 0), (0, 0)))
        if words or before or after:
            same, around = (0, 0), (before, after)
            self._cross = np.pad(self._cross, ((0, words), same, same, around))
            self._squares = np.pad(self._squares, ((0, words), same, around, around))
        self._lowest -= before
        return slice(lowest - self._lowest, lowest - self._lowest + n_places)

    def _carry(self) -> None:
        self._cover(2, self._lowest, 0)
        for low, high in (self._gram, self._cross, self._squares):
            high += low >> 32
            low &= _LOW
        self._pending = 1


def are_counts(weights: np.ndarray | None) -> bool:
    """Whether weights are integers, with which float64 sums over a block are exact."""
    if weights is None:
        return True
    return bool((weights == np.rint(weights)).all() and weights.max(initial=0.0) <= _BLOCK_ROWS)


def _blocks(n: int, weights: np.ndarray | None) -> Iterator[slice]:
    """Return the rows in parts of at most `_BLOCK_ROWS`, counted with their weights."""
    if weights is None:
        yield from (slice(first, first + _BLOCK_ROWS) for first in range(0, n, _BLOCK_ROWS))
        return
    first, total = 0, np.cumsum(np.maximum(weights, 1.0))
    while first < n:
        before = total[first - 1] if first else 0.0
        last = max(first + 1, int(np.searchsorted(total, before + _BLOCK_ROWS, side="right")))
        yield slice(first, last)
        first = last


def _integers(words: np.ndarray) -> np.ndarray:
    """Return sums as int64 where they fit, otherwise as Python integers; floats as they are."""
    if len(words) == 1:
        return words[0]
    low, high = words
    wide = object if np.abs(high).max(initial=0) >= 1 << 30 else np.int64
    return low.astype(wide) + high.astype(wide) * 2**32


def _floats(numbers: np.ndarray, exponent: int) -> np.ndarray:
    """Return integers times 2**exponent as float64, each rounded once."""
    up, down = 1 << max(exponent, 0), 1 << max(-exponent, 0)

    def one(number: int) -> float:
        try:
            return number * up / down  # the quotient of Python's integers is correctly rounded
        except OverflowError:
            return math.inf if number > 0 else -math.inf

    return np.array([one(number) for number in numbers.ravel().tolist()]).reshape(numbers.shape)
