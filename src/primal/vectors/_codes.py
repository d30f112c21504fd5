"""``VectorCodes``: rows of floats in 1, 2, 4 or 8 bits per column."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from primal._checks import fixed_point, one_of, raised_as, real_array, whole_number
from primal._parallel import over_rows
from primal._specs import Specified, spec_fields
from primal.errors import DataError, ParameterError
from primal.vectors._compute import Query, code, packed, rotate
from primal.vectors._definition import (
    FITS,
    LARGEST_D,
    levels_of,
    rotation,
    short_words,
    unit_rows,
    unrotated,
)

_BLOCK_ENTRIES = 1 << 18  # numbers of a block of rows that one thread encodes


class Rows(NamedTuple):
    """Encoded rows.

    Parameters
    ----------
    codes : ndarray of shape (n, D * bits / 8), dtype=uint8
        Levels of D columns, d or slightly more, the lowest bits first.
    factors : ndarray of shape (n,), dtype=float32
        Make inner products of levels with a query unbiased.
    offsets : ndarray of shape (n,), dtype=float32
        Squared distances from the center; for the metric "ip" less the squared length.
    """

    codes: np.ndarray
    factors: np.ndarray
    offsets: np.ndarray


class VectorCodes(Specified):
    """Codes of 1, 2, 4 or 8 bits per column and two float32 factors for each row.

    Encoding needs no training: a fixed rotation by square roots of primes spreads every row over
    all columns, and each column is rounded to a few levels. All steps are integer or correctly
    rounded, so every implementation writes the same bytes. A code protects no row: :meth:`decode`
    returns an approximation of it.

    Parameters
    ----------
    d : int
        Columns of a row, from 1 to 8192.
    bits : {1, 2, 4, 8}, default=4
        Bits per column.
    metric : {"cosine", "l2", "ip"}, default="cosine"
        Rows are compared by cosine similarity, Euclidean distance or inner product.
    center : array-like of shape (d,), optional
        Subtracted from every row, or from every row of length one for "cosine"; :meth:`fit`
        computes it.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.vectors import VectorCodes
    >>> x = np.sin(np.arange(1200.0)).reshape(100, 12)
    >>> codes = VectorCodes(12, bits=4, metric="l2").fit(x)
    >>> rows = codes.encode(x)
    >>> rows.codes.shape, codes.bytes_per_row
    ((100, 8), 16)
    >>> float(abs(codes.decode(rows) - x).max()) < 0.4
    True
    """

    def __init__(
        self, d: int, bits: int = 4, metric: str = "cosine", *, center: object = None
    ) -> None:
        self.d = whole_number("d", d, least=1, most=LARGEST_D)
        self.bits = whole_number("bits", bits)
        if self.bits not in FITS:
            raise ParameterError(f"bits must be 1, 2, 4 or 8, got {bits}.")
        self.metric = one_of("metric", metric, ("cosine", "l2", "ip"))
        self._rotation = rotation(self.d)
        self._center: np.ndarray | None = None
        if center is not None:
            self._center = _center(np.array(real_array("center", center, last=self.d)))

    @property
    def center(self) -> np.ndarray | None:
        """The center, float32 of shape (d,), read-only; None before `fit`."""
        return self._center

    @property
    def limit(self) -> float:
        """Size of an entry up to which `encode` accepts every row, whatever its other entries."""
        if self.metric == "cosine":
            return sys.float_info.max
        center = 0.0 if self._center is None else float(np.linalg.norm(self._center.astype("f8")))
        longest = 0.999 * math.sqrt(np.finfo(np.float32).max)  # words round rows by up to 2e-4
        return max(0.0, (longest - center) / math.sqrt(self.d))

    @property
    def bytes_per_row(self) -> int:
        """Bytes of a code and its two factors."""
        return self._rotation.D * self.bits // 8 + 8

    def fit(self, x: object) -> Self:
        """Take the mean of rows as the center; returns the object itself.

        Codes of rows whose mean is far from zero, compared with their spread, are more accurate
        with a center. An index keeps a copy of the codes that it was given, so fit them first.

        Parameters
        ----------
        x : array-like of shape (n, d)
            Finite real numbers; a sample of the rows is enough.
        """
        rows = self._matrix("x", x)
        if not len(rows):
            raise DataError(f"x must have at least one row, got shape {rows.shape}.")
        step = max(1, _BLOCK_ENTRIES // self.d)
        blocks = [rows[i : i + step] for i in range(0, len(rows), step)]
        exponent = int(np.frexp(max(np.abs(self._own(block)).max() for block in blocks))[1])
        # Sums of integers do not depend on the order of the rows.
        words = (np.rint(np.ldexp(self._own(block), 30 - exponent)) for block in blocks)
        sums = sum(block.astype(np.int64).sum(axis=0) for block in words)
        self._center = _center(np.ldexp(sums / len(rows), exponent - 30))
        return self

    def encode(self, x: object) -> Rows:
        """Return the codes of rows.

        Parameters
        ----------
        x : array-like of shape (n, d)
            Finite real numbers, converted to float64.

        Returns
        -------
        rows : Rows
            Arrays ``codes``, ``factors`` and ``offsets``.

        Raises
        ------
        DataError
            If x contains NaN or infinity, or a row whose squared length exceeds float32.
        """
        return self._encode(self._matrix("x", x))

    def decode(self, rows: Rows) -> np.ndarray:
        """Return approximate rows, float32 of shape (n, d); those of "cosine" have length one.

        Examples
        --------
        >>> from primal.vectors import VectorCodes
        >>> codes = VectorCodes(4, bits=8, metric="l2")
        >>> codes.decode(codes.encode([[1.0, 2.0, 3.0, 4.0]])).round(1)
        array([[1., 2., 3., 4.]], dtype=float32)
        """
        with raised_as(DataError, "rows must be what these codes encoded"):
            codes = fixed_point("codes", rows.codes, np.uint8, ndim=2)
            levels = levels_of(codes.reshape(-1, self.bytes_per_row - 8), self.bits)
            factors, offsets = (part.astype(np.float64) for part in rows[1:])
            if self.metric == "ip":  # the squared length is not stored, take the mean fit
                scale = factors * (FITS[self.bits] / self._rotation.gain)
            else:
                norms = factors * (levels * levels).sum(axis=1)
                scale = np.divide(offsets, norms, out=np.zeros_like(norms), where=norms > 0)
            x = unrotated(levels, self._rotation) * scale[:, None]
            return (x if self._center is None else x + self._center).astype(np.float32)

    def _fields(self) -> dict[str, Any]:
        center = None if self._center is None else tuple(self._center.tolist())
        return {"d": self.d, "bits": self.bits, "metric": self.metric, "center": center}

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Self:
        return cls(**spec_fields("VectorCodes", fields, ("d", "bits", "metric", "center")))

    def __repr__(self) -> str:
        centered = "" if self._center is None else ", center=..."
        return f"VectorCodes({self.d}, bits={self.bits}, metric={self.metric!r}{centered})"

    def _matrix(self, name: str, x: object) -> np.ndarray:
        array = real_array(name, x, last=self.d)
        if array.ndim != 2:
            raise DataError(f"{name} must have shape (n, {self.d}), got {array.shape}.")
        return array

    def _own(self, rows: np.ndarray) -> np.ndarray:
        rows = rows.astype(np.float64)
        return unit_rows(rows) if self.metric == "cosine" else rows

    def _encode(self, x: np.ndarray, start: int = 0) -> Rows:
        """Return the codes of checked rows; `start` is the number of the first in messages."""
        n, turn = len(x), self._rotation
        codes = np.empty((n, self.bytes_per_row - 8), dtype=np.uint8)
        found = Rows(codes, *np.empty((2, n), dtype=np.float32))
        step = max(1, _BLOCK_ENTRIES // turn.D)

        def work(first: int, last: int) -> None:
            for i in range(first, last, step):
                block = slice(i, min(i + step, last))
                rows = rotate(x[block].astype(np.float64), turn, self._center, self.metric)
                found.offsets[block] = _in_range(rows.offsets, start + i)
                found.codes[block], found.factors[block] = code(rows, self.bits, turn.gain)

        over_rows(n, max(1, step // 16), work)
        return found

    def _query(self, q: np.ndarray) -> Query:
        turn = self._rotation
        rows = rotate(q.astype(np.float64), turn, self._center, self.metric)
        _in_range(rows.offsets, 0)
        words, twice = short_words(rows, self.bits, turn.gain)
        return Query(words, packed(words, self.bits), twice, rows.offsets)


def _center(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        center = values.astype(np.float32)
    if not np.isfinite(center).all() or center.ndim != 1:
        raise DataError("the center must be one row within float32: scale the rows down.")
    center.flags.writeable = False
    return center


def _in_range(offsets: np.ndarray, start: int) -> np.ndarray:
    """Return offsets as float32, or reject the first row that has none."""
    with np.errstate(over="ignore"):
        short = offsets.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(short))
    if len(wrong):
        raise DataError(
            f"row {start + wrong[0]} is too long: squared lengths must be below 3.4e38, the "
            "largest float32: scale the rows down."
        )
    return short
