"""The Numba engine: the oracle's operations in compiled loops over cache-sized blocks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from primal.bases import FrequencyTable
from primal.engines import _numba_coherence as coherence
from primal.engines import _numba_kernels as kernels
from primal.engines._numpy import NumpyEngine, row_blocks, worst_of
from primal.engines._threads import over_rows, single_threaded_blas
from primal.turns._digits import term_shift

__all__ = ["NumbaEngine"]

# Entries of the matrix of sums in one block (eight bytes each): large enough for an efficient
# matrix product, small enough to stay in the second-level cache.
_BLOCK_SUMS = 1 << 18
# Fewer phases than this are not worth a second thread.
_LEAST_PHASES = 1 << 14
# Up to this many inputs the sums are made row by row, without a library's matrix product.
_LARGEST_DIRECT_D = 4
# Lags kept by the coherence screen at first; it grows when they are too many.
_SURVIVORS = 1 << 12
_NO_ROW = np.int64(-(2**62))
_ANY_ROW = np.int64(2**62)


class NumbaEngine(NumpyEngine):
    """Same contract and same bits as the NumPy engine; float64 output falls back to it."""

    name = "numba"

    def static(
        self, increments: np.ndarray, positions: np.ndarray, out: np.ndarray, layout: str
    ) -> None:
        if out.dtype != np.float32:
            super().static(increments, positions, out, layout)
            return
        block = layout == "block"

        def work(first: int, last: int) -> None:
            kernels.static(increments, positions[first:last], out[first:last], block)

        over_rows(len(positions), _least_rows(len(increments)), work)

    def dynamic(self, table: FrequencyTable, x: np.ndarray, out: np.ndarray, layout: str) -> None:
        if out.dtype != np.float32:
            super().dynamic(table, x, out, layout)
            return
        block = layout == "block"
        near = _near_serves(table, x)
        direct = near and table.shape[1] <= _LARGEST_DIRECT_D
        encode = _direct_near if direct else _by_products

        def work(first: int, last: int) -> None:
            encode(table, x[first:last], out[first:last], block)

        _prepare(table, near)
        with single_threaded_blas():
            over_rows(len(x), _least_rows(table.shape[0]), work)

    def dynamic_turns(self, table: FrequencyTable, x: np.ndarray, out: np.ndarray) -> None:
        def work(first: int, last: int) -> None:
            for rows, a, digits in _first_digits(table, x[first:last]):
                out[first:last][rows] = _mixed_turns(table, x[first:last][rows], a, digits)

        _prepare(table, near=False)
        with single_threaded_blas():
            over_rows(len(x), _least_rows(table.shape[0]), work)

    def dynamic_fast(
        self, table: FrequencyTable, x: np.ndarray, out: np.ndarray, layout: str
    ) -> None:
        k, d = table.shape
        block = layout == "block"
        frequencies = table.transposed

        def direct(first: int, last: int) -> None:
            kernels.direct_fast(x[first:last], frequencies, out[first:last], block)

        def by_products(first: int, last: int) -> None:
            phases = np.empty((0, k))
            for rows in row_blocks(last - first, k, _BLOCK_SUMS):
                n = rows.stop - rows.start
                phases = np.empty((n, k)) if len(phases) < n else phases
                np.matmul(x[first:last][rows], frequencies, out=phases[:n])
                kernels.fast(phases[:n], out[first:last][rows], block)

        with single_threaded_blas():
            over_rows(len(x), _least_rows(k), direct if d <= _LARGEST_DIRECT_D else by_products)

    def worst_lag(self, increments: np.ndarray, first: int, last: int) -> tuple[int, float]:
        margin = np.float32(2.0 * coherence.screen_error(len(increments)))
        survivors: list[np.ndarray] = []

        def work(start: int, stop: int) -> None:
            size = _SURVIVORS
            while True:
                lags, values = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.float32)
                n = coherence.screen(increments, first + start, first + stop, margin, lags, values)
                if n >= 0:
                    survivors.append(lags[:n])
                    return
                size *= 8

        over_rows(last - first, _LEAST_PHASES // len(increments) + 1, work)
        lags = np.sort(np.concatenate(survivors)).astype(np.uint64)
        blocks = row_blocks(len(lags), len(increments))
        return worst_of(increments, (lags[rows] for rows in blocks))


def _direct_near(table: FrequencyTable, x: np.ndarray, out: np.ndarray, block: bool) -> None:
    """Encode rows of few inputs that the near level serves."""
    widths = table.widths
    first_shift, second_shift = (term_shift(widths, term) for term in widths.levels[0])
    kernels.direct_near(
        x, widths.x, table.near_digits, table.exponents, first_shift, second_shift, out, block
    )


def _by_products(table: FrequencyTable, x: np.ndarray, out: np.ndarray, block: bool) -> None:
    """Encode rows by matrix products of digits, block by block."""
    widths = table.widths
    first_shift, second_shift = (term_shift(widths, term) for term in widths.levels[0])
    sums = np.empty((0, 2 * table.shape[0]))
    for rows, a, digits in _first_digits(table, x):
        if a.max() > table.level_row_exponents[0].min():
            kernels.write_waves(_mixed_turns(table, x[rows], a, digits), out[rows], block)
            continue
        n = len(digits)
        sums = np.empty((n, sums.shape[1])) if len(sums) < n else sums
        np.matmul(digits, table.near_digits, out=sums[:n])
        kernels.near(sums[:n], a, table.exponents, first_shift, second_shift, out[rows], block)


def _first_digits(
    table: FrequencyTable, x: np.ndarray
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield blocks of rows with their exponents and first digits, in reused arrays."""
    k, d = table.shape
    exponents, digits = np.empty(0, dtype=np.int64), np.empty((0, d))
    for rows in row_blocks(len(x), 2 * k, _BLOCK_SUMS):
        n = rows.stop - rows.start
        if len(digits) < n:
            exponents, digits = np.empty(n, dtype=np.int64), np.empty((n, d))
        kernels.first_digits(x[rows], table.widths.x, exponents[:n], digits[:n])
        yield rows, exponents[:n], digits[:n]


def _mixed_turns(
    table: FrequencyTable, x: np.ndarray, a: np.ndarray, digits: np.ndarray
) -> np.ndarray:
    """Return uint32 turns of a block whose phases may need different levels.

    Each level has all the products of the one before, so one running sum serves all of
    them: every phase is taken from it when the sum has reached its level.
    """
    k = table.shape[0]
    widths = table.widths
    limits = [np.full(k, _NO_ROW), *table.level_row_exponents, np.full(k, _ANY_ROW)]
    x_digits = {1: digits}
    total = np.zeros((len(x), k), dtype=np.int64)
    turns = np.empty((len(x), k), dtype=np.uint32)
    products = np.empty((len(x), k))
    done: set[tuple[int, int]] = set()
    for terms, (above, up_to) in zip(widths.levels, pairwise(limits), strict=True):
        for term in terms:
            if term in done:
                continue
            if term[0] not in x_digits:
                x_digits[2] = digits.copy()
                kernels.second_digits(x, widths.x, a, x_digits[2])
            np.matmul(x_digits[term[0]], table.digits[term[1] - 1], out=products)
            kernels.accumulate(products, a, table.exponents, term_shift(widths, term), total)
            done.add(term)
        kernels.take_level(total, a, above, up_to, turns)
        if a.max() <= up_to.min():
            break
    return turns


def _near_serves(table: FrequencyTable, x: np.ndarray) -> bool:
    """Whether the shallowest level serves every phase of x."""
    if x.size == 0:
        return True
    largest = max(float(x.max()), -float(x.min()))
    return bool(np.frexp(largest)[1] <= table.level_row_exponents[0].min())


def _prepare(table: FrequencyTable, near: bool) -> None:
    """Make the cached arrays of the table once, not in every thread at the same time."""
    names = ("level_row_exponents", "near_digits") if near else ("level_row_exponents", "digits")
    for name in names:
        getattr(table, name)


def _least_rows(k: int) -> int:
    return max(1, _LEAST_PHASES // k)
