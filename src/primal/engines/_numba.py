"""The Numba engine: the oracle's operations in compiled loops over cache-sized blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from primal._forks import matrix_product
from primal._parallel import over_rows, single_threaded_blas
from primal.bases import FrequencyTable, HadamardTable
from primal.engines import _numba_hadamard as hadamard
from primal.engines import _numba_kernels as kernels
from primal.engines._numpy import LARGEST_UNSURE, Finish, NumpyEngine, Table, row_blocks
from primal.turns import balanced_digits, digit_units, term_shift

# What kernels take of a Finish: whether the layout is "block", amplitudes (k,), offsets or none.
_KernelFinish = tuple[bool, np.ndarray, np.ndarray]
# Entries of the matrix of sums in one block (eight bytes each): large enough for an efficient
# matrix product, small enough to stay in the second-level cache.
_BLOCK_SUMS = 1 << 18
# Fewer phases than this are not worth a second thread.
_LEAST_PHASES = 1 << 16
# With this many inputs or more, a matrix product takes at least as many rows at once.
_LEAST_ROWS_OF_PRODUCT = 256
# Up to this many inputs the sums are made row by row, without a library's matrix product.
_LARGEST_DIRECT_D = 4
# In float64, up to this many: more products of 62 bits each could pass 128 bits.
_LARGEST_WIDE_DIRECT_D = 7


class NumbaEngine(NumpyEngine):
    """Same contract and same bits as the NumPy engine; float64 output falls back to it."""

    name = "numba"

    def static(
        self, increments: np.ndarray, positions: np.ndarray, out: np.ndarray, layout: str
    ) -> None:
        finish = _kernel_finish(Finish(layout), len(increments), out)
        encode = kernels.static64 if out.dtype == np.float64 else kernels.static

        def work(first: int, last: int) -> None:
            encode(increments, positions[first:last], finish, out[first:last])

        over_rows(len(positions), _least_rows(len(increments)), work)

    def features(
        self,
        table: Table,
        x: np.ndarray,
        out: np.ndarray,
        finish: Finish,
        *,
        fast: bool = False,
    ) -> None:
        wide = out.dtype == np.float64
        if isinstance(table, HadamardTable):
            encode = partial(_wide_transform if wide else _transform, table)
        else:
            few = table.shape[1] <= _LARGEST_DIRECT_D
            exact = _direct if few else _by_products
            encode = partial(_wide if wide else _fast if fast else exact, table)
            _prepare(table)
        numba_finish = _kernel_finish(finish, table.shape[0], out)

        def work(first: int, last: int) -> None:
            encode(x[first:last], out[first:last], numba_finish)

        step = hadamard.ROWS if isinstance(table, HadamardTable) else 1
        with single_threaded_blas():
            over_rows(len(x), _least_rows(table.shape[0], step), work)

    def write_phases(self, phases: np.ndarray, out: np.ndarray, finish: Finish) -> None:
        kernels.fast(phases, _kernel_finish(finish, phases.shape[1], out), out)

    def dynamic_turns(self, table: Table, x: np.ndarray, out: np.ndarray) -> None:
        if isinstance(table, HadamardTable):
            over_rows(
                len(x),
                _least_rows(table.shape[0], hadamard.ROWS),
                lambda first, last: hadamard.turns(
                    *_hadamard_arguments(table, x[first:last]), out[first:last]
                ),
            )
            return

        def work(first: int, last: int) -> None:
            for rows in _blocks(last - first, table):
                out[first:last][rows] = _turns_from_digits(table, x[first:last][rows])

        with single_threaded_blas():
            over_rows(len(x), _least_rows(table.shape[0]), work)

    def adjoint(self, table: HadamardTable, v: np.ndarray, out: np.ndarray) -> None:
        weights, signs = (a.astype(v.dtype) for a in (table.weights, table.float_signs))
        over_rows(
            len(v),
            _least_rows(table.shape[0], hadamard.ROWS),
            lambda first, last: hadamard.adjoint(
                v[first:last], weights, signs, table.skip, out[first:last]
            ),
        )


def _hadamard_arguments(
    table: HadamardTable, x: np.ndarray
) -> tuple[np.ndarray, tuple[np.uint64, np.int64], np.ndarray, np.ndarray, int]:
    """Return what its kernels take: x, the scale in two whole numbers, the table."""
    fraction, exponent = math.frexp(table.scale)
    scale = np.uint64(math.ldexp(fraction, 53)), np.int64(exponent - 53)
    return np.ascontiguousarray(x), scale, table.signs, table.factors, table.skip


def _kernel_finish(finish: Finish, k: int, out: np.ndarray) -> _KernelFinish:
    wide = out.dtype == np.float64
    kind = np.uint64 if wide else np.uint32
    amplitudes = np.empty(k, dtype=out.dtype)
    amplitudes[:] = finish.amplitude
    offsets = np.empty(0, dtype=kind) if finish.offsets is None else finish.offsets.astype(kind)
    offsets <<= kind(32 if wide else 0)
    return finish.layout == "block", amplitudes, offsets


def _transform(table: HadamardTable, x: np.ndarray, out: np.ndarray, finish: _KernelFinish) -> None:
    """Encode rows by signed Hadamard transforms."""
    hadamard.features(*_hadamard_arguments(table, x), table.shape[0], finish, out)


def _wide_transform(
    table: HadamardTable, x: np.ndarray, out: np.ndarray, finish: _KernelFinish
) -> None:
    """Encode rows in float64, by transforms of 128-bit words."""
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.uint64)
    hadamard.wide_features(*_hadamard_arguments(table, bits), table.shape[0], finish, out)


def _fast(table: FrequencyTable, x: np.ndarray, out: np.ndarray, finish: _KernelFinish) -> None:
    """Encode rows by one matrix product, taken as it is."""
    for rows, phases in _phases(table, x):
        kernels.fast(phases, finish, out[rows])


def _direct(table: FrequencyTable, x: np.ndarray, out: np.ndarray, finish: _KernelFinish) -> None:
    """Encode rows of few inputs."""
    kernels.direct(
        x, table.transposed, table.product_errors, table.mantissas, table.exponents, finish, out
    )


def _by_products(
    table: FrequencyTable, x: np.ndarray, out: np.ndarray, finish: _KernelFinish
) -> None:
    """Encode rows by one matrix product, or by several of digits where phases are long."""
    largest_error = float(table.product_errors.max()) * 2.0**32
    lengths = np.empty(len(x))
    kernels.row_lengths(x, lengths)
    for rows, phases in _phases(table, x):
        part = x[rows]
        if lengths[rows].max() * largest_error <= LARGEST_UNSURE:
            kernels.from_phases(
                phases,
                part,
                lengths[rows],
                table.product_errors,
                table.mantissas,
                table.exponents,
                finish,
                out[rows],
            )
        else:
            kernels.write_waves(_turns_from_digits(table, part), finish, out[rows])


def _wide(table: FrequencyTable, x: np.ndarray, out: np.ndarray, finish: _KernelFinish) -> None:
    """Encode rows in float64, by 128-bit sums of few products, else by all products of digits."""
    (k, d), widths = table.shape, table.widths
    if d <= _LARGEST_WIDE_DIRECT_D:
        kernels.wide_direct(x, table.mantissas, table.exponents, finish, out)
        return
    terms = sorted(widths.all)
    positions = np.array([60 + term_shift(widths, term) for term in terms], dtype=np.int64)
    for rows in row_blocks(len(x), k * len(terms), _BLOCK_SUMS):
        n = rows.stop - rows.start
        integers, a = np.empty((n, d), dtype=np.int64), np.empty(n, dtype=np.int64)
        kernels.integer_rows(x[rows], integers, a)
        digits = balanced_digits(integers, widths.x)
        sums = np.empty((len(terms), n, k))
        for number, (i, j) in enumerate(terms):
            matrix_product(digits[i - 1], table.digits[j - 1], out=sums[number])
        kernels.wide_features(sums, positions, a, table.exponents, finish, out[rows])


def _phases(table: FrequencyTable, x: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of rows with their float64 phases, in an array that is used again."""
    k = table.shape[0]
    phases = np.empty((0, k))
    for rows in _blocks(len(x), table):
        n = rows.stop - rows.start
        phases = np.empty((n, k)) if len(phases) < n else phases
        matrix_product(x[rows], table.transposed, out=phases[:n])
        yield rows, phases[:n]


def _blocks(n_rows: int, table: FrequencyTable) -> Iterator[slice]:
    k, d = table.shape
    # With many inputs the product is only efficient over many rows at a time.
    least = _LEAST_ROWS_OF_PRODUCT if d >= _LEAST_ROWS_OF_PRODUCT else 1
    return row_blocks(n_rows, k, max(_BLOCK_SUMS, least * k))


def _turns_from_digits(table: FrequencyTable, x: np.ndarray) -> np.ndarray:
    """Return uint32 turns from exact sums of digit products, the fewest that leave few unsure."""
    (n, d), k, widths = x.shape, table.shape[0], table.widths
    integers, a = np.empty((n, d), dtype=np.int64), np.empty(n, dtype=np.int64)
    kernels.integer_rows(x, integers, a)
    level = _level(table, int(a.max()))
    total = np.zeros((n, k), dtype=np.int64)
    digit, sums = np.empty((n, d)), np.empty((n, k))
    made = 0
    for term in sorted(widths.levels[level]):
        if term[0] != made:
            made = term[0]
            units = np.array(digit_units(widths.x, made), dtype=np.int64)
            kernels.x_digit(integers, units, digit)
        matrix_product(digit, table.digits[term[1] - 1], out=sums)
        kernels.accumulate(sums, a, table.exponents, term_shift(widths, term), total)
    turns = np.empty((n, k), dtype=np.uint32)
    errors = table.level_errors[level] * 2.0**64
    kernels.from_sums(total, integers, a, errors, table.mantissas, table.exponents, turns)
    return turns


def _level(table: FrequencyTable, largest_exponent: int) -> int:
    """Return the number of the first approximate level that leaves few phases unsure."""
    unsure = np.ldexp(table.level_errors.max(axis=1), 32 + largest_exponent)
    return 0 if unsure[0] <= LARGEST_UNSURE else 1


def _prepare(table: FrequencyTable) -> None:
    """Make the cached arrays of the table once, not in every thread at the same time."""
    for name in ("transposed", "product_errors"):
        getattr(table, name)


def _least_rows(k: int, step: int = 1) -> int:
    """Return how many rows are worth a thread, a multiple of those that a kernel takes at once."""
    return -(-max(1, _LEAST_PHASES // k) // step) * step


ENGINE = NumbaEngine()
