"""The Numba engine: the oracle's operations in compiled loops over cache-sized blocks."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import numpy as np

from primal._parallel import matrix_product, over_rows, single_threaded_blas
from primal.bases import FrequencyTable, HadamardTable
from primal.engines import _numba_hadamard as hadamard
from primal.engines import _numba_kernels as kernels
from primal.engines._numpy import LARGEST_UNSURE, Finish, NumpyEngine, Table, row_blocks
from primal.turns import balanced_digits, integer_rows, row_exponents, term_shift

# What kernels take of a Finish: whether the layout is "block", amplitudes (k,), offsets or none.
_KernelFinish = tuple[bool, np.ndarray, np.ndarray]
# Entries of the matrix of sums in one block (eight bytes each): large enough for an efficient
# matrix product, small enough to stay in the second-level cache.
_BLOCK_SUMS = 1 << 18
# Fewer phases than this are not worth a second thread.
_LEAST_PHASES = 1 << 16
# Up to here a library multiplies matrices in one thread anyway, and to tell it so takes longer.
_ONE_THREAD_PRODUCT = 1 << 17
# With this many inputs or more, a matrix product takes at least as many rows at once.
_LEAST_ROWS_OF_PRODUCT = 256
# Up to this many inputs float64 features come from sums of 128 bits, which more products of 62
# bits each could pass.
_LARGEST_WIDE_DIRECT_D = 7


class NumbaEngine(NumpyEngine):
    """Same contract and same bits as the NumPy engine."""

    name = "numba"

    def static(
        self, increments: np.ndarray, positions: np.ndarray, out: np.ndarray, layout: str
    ) -> None:
        finish = _kernel_finish(Finish(layout), len(increments), out)

        def work(first: int, last: int) -> None:
            kernels.static(increments, positions[first:last], finish, out[first:last])

        over_rows(len(positions), max(1, _LEAST_PHASES // len(increments)), work)

    def features(
        self,
        table: Table,
        x: np.ndarray,
        out: np.ndarray,
        finish: Finish,
        *,
        fast: bool = False,
    ) -> None:
        if isinstance(table, HadamardTable):
            encode = partial(_by_transforms, table)
        elif out.dtype == np.float64:
            encode = partial(_wide, table)
        else:
            encode = partial(_by_products, table, fast=fast)
        numba_finish = _kernel_finish(finish, table.shape[0], out)
        _over_rows(x, table, lambda rows: encode(x[rows], out[rows], numba_finish))

    def write_phases(self, phases: np.ndarray, out: np.ndarray, finish: Finish) -> None:
        kernels.fast(phases, _kernel_finish(finish, phases.shape[1], out), out)

    def dynamic_turns(self, table: Table, x: np.ndarray, out: np.ndarray) -> None:
        def work(rows: slice) -> None:
            if isinstance(table, HadamardTable):
                hadamard.turns(*_hadamard_arguments(table, x[rows]), out[rows])
            else:
                _by_products(table, x[rows], out[rows], None)

        _over_rows(x, table, work)

    def adjoint(self, table: HadamardTable, v: np.ndarray, out: np.ndarray) -> None:
        weights, signs = (a.astype(v.dtype) for a in (table.weights, table.float_signs))
        _over_rows(
            v,
            table,
            lambda rows: hadamard.adjoint(v[rows], weights, signs, table.skip, out[rows]),
        )


def _over_rows(x: np.ndarray, table: Table, work: Callable[[slice], None]) -> None:
    """Call work(rows) for parts of x, each worth a thread and whole tiles of a transform."""
    k, transforms = table.shape[0], isinstance(table, HadamardTable)
    if not transforms:
        for name in ("transposed", "product_errors"):  # made once, not in every thread
            getattr(table, name)
    least, tile = max(1, _LEAST_PHASES // k), hadamard.ROWS if transforms else 1
    alone = transforms or x.size * k <= _ONE_THREAD_PRODUCT
    with nullcontext() if alone else single_threaded_blas():
        over_rows(len(x), -(-least // tile) * tile, lambda first, last: work(slice(first, last)))


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


def _by_transforms(
    table: HadamardTable, x: np.ndarray, out: np.ndarray, finish: _KernelFinish
) -> None:
    """Encode rows by signed Hadamard transforms, in float64 by those of 128-bit words."""
    encode = hadamard.features
    if out.dtype == np.float64:
        encode = hadamard.wide_features
        x = np.ascontiguousarray(x, dtype=np.float64).view(np.uint64)
    encode(*_hadamard_arguments(table, x), table.shape[0], finish, out)


def _by_products(
    table: FrequencyTable,
    x: np.ndarray,
    out: np.ndarray,
    finish: _KernelFinish | None,
    *,
    fast: bool = False,
) -> None:
    """Encode rows by one matrix product, or by several of digits where phases are long.

    `fast` takes the product as it is. Without a finish `out` (n, k), uint32, receives the turns.
    """
    k, d = table.shape
    frequencies = table.product_errors, table.mantissas, table.exponents
    lengths, largest_error = np.empty(len(x)), float(table.product_errors.max()) * 2.0**32
    kernels.row_lengths(x, lengths)
    # With many inputs the product is only efficient over many rows at a time.
    least = _LEAST_ROWS_OF_PRODUCT if d >= _LEAST_ROWS_OF_PRODUCT else 1
    room = np.empty((0, k))  # used again for every block
    for rows in row_blocks(len(x), k, max(_BLOCK_SUMS, least * k)):
        part = x[rows]
        if not fast and lengths[rows].max() * largest_error > LARGEST_UNSURE:
            turns = _turns_from_digits(table, part)
            if finish is None:
                out[rows] = turns
            else:
                kernels.write_waves(turns, finish, out[rows])
            continue
        room = room if len(room) >= len(part) else np.empty((len(part), k))
        phases = matrix_product(part, table.transposed, out=room[: len(part)])
        if fast:
            kernels.fast(phases, finish, out[rows])
        elif finish is None:
            kernels.turns_from_phases(phases, part, lengths[rows], *frequencies, out[rows])
        else:
            kernels.from_phases(phases, part, lengths[rows], *frequencies, finish, out[rows])


def _wide(table: FrequencyTable, x: np.ndarray, out: np.ndarray, finish: _KernelFinish) -> None:
    """Encode rows in float64, by 128-bit sums of few products, else by all products of digits."""
    (k, d), widths = table.shape, table.widths
    if d <= _LARGEST_WIDE_DIRECT_D:
        kernels.wide_direct(x, table.mantissas, table.exponents, finish, out)
        return
    terms = sorted(widths.all)
    positions = np.array([60 + term_shift(widths, term) for term in terms], dtype=np.int64)
    for rows in row_blocks(len(x), k * len(terms), _BLOCK_SUMS):
        a = row_exponents(x[rows])
        digits = balanced_digits(integer_rows(x[rows], a), widths.x)
        sums = np.empty((len(terms), len(a), k))
        for number, (i, j) in enumerate(terms):
            matrix_product(digits[i - 1], table.digits[j - 1], out=sums[number])
        kernels.wide_features(sums, positions, a, table.exponents, finish, out[rows])


def _turns_from_digits(table: FrequencyTable, x: np.ndarray) -> np.ndarray:
    """Return uint32 turns from exact sums of digit products, the fewest that leave few unsure."""
    widths, a = table.widths, row_exponents(x)
    integers = integer_rows(x, a)
    digits = balanced_digits(integers, widths.x)
    unsure = np.ldexp(table.level_errors[0].max(), 32 + int(a.max()))
    level = 0 if unsure <= LARGEST_UNSURE else 1
    sums = np.empty((len(x), table.shape[0]))
    total = np.zeros(sums.shape, dtype=np.int64)
    for i, j in sorted(widths.levels[level]):
        matrix_product(digits[i - 1], table.digits[j - 1], out=sums)
        kernels.accumulate(sums, a, table.exponents, term_shift(widths, (i, j)), total)
    turns = np.empty(sums.shape, dtype=np.uint32)
    errors = table.level_errors[level] * 2.0**64
    kernels.from_sums(total, integers, a, errors, table.mantissas, table.exponents, turns)
    return turns


ENGINE = NumbaEngine()
