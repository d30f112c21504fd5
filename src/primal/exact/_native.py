"""The native engine: the operations of the NumPy engine by the C core, split over threads."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from primal import native
from primal._parallel import matrix_product, over_rows, row_blocks
from primal.exact._digits import FREQUENCY_BITS
from primal.exact._hadamard import HadamardTable
from primal.exact._reference import Finish, NumpyEngine, Table
from primal.exact._table import FrequencyTable
from primal.native import address

# Fewer phases than this are not worth a second thread.
_LEAST_PHASES = 1 << 16
# With this many inputs NumPy's matrix product is faster than loops over panels.
_LEAST_PRODUCT_D = 128
# Phases of such a product at once.
_PRODUCT_PHASES = 1 << 20
_PANEL = 16  # WIDE of products.c


class NativeEngine(NumpyEngine):
    """Same contract and same bits as the NumPy engine."""

    name = "native"

    def __init__(self, core: native.Core) -> None:
        self._call = core
        self.level = core.level

    def static(
        self, increments: np.ndarray, positions: np.ndarray, out: np.ndarray, layout: str
    ) -> None:
        form = _Form(Finish(layout), len(increments), out)
        name = "static64" if form.wide else "static32"
        increments, positions = map(np.ascontiguousarray, (increments, positions))
        table, source, target = address(increments), address(positions), address(out)
        stride = out.strides[0]

        def work(first: int, last: int) -> None:
            at = source + 8 * first, last - first, form.pointer, target + stride * first
            self._call(name, table, *at)

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
        form = _Form(finish, table.shape[0], out)
        if isinstance(table, HadamardTable):
            self._transforms(table, x, out, form)
        elif form.wide:
            x, made = np.ascontiguousarray(x, np.float64), _made(table, _TableForm)
            source, target, row, stride = address(x), address(out), x.strides[0], out.strides[0]

            def work(first: int, last: int) -> None:
                at = source + row * first, last - first
                self._call("table64", *at, made.pointer, form.pointer, target + stride * first)

            over_rows(len(x), _least_rows(table), work)
        else:
            self._products(table, x, out, form.pointer, fast=fast)

    def write_phases(self, phases: np.ndarray, out: np.ndarray, finish: Finish) -> None:
        k = phases.shape[1]
        form, shape = _Form(finish, k, out), native.Table(k=k)
        given = None, address(phases), len(phases)
        self._call("table32", *given, ctypes.byref(shape), 1, form.pointer, address(out))

    def write_turns(self, turns: np.ndarray, out: np.ndarray, finish: Finish) -> None:
        turns, k = np.ascontiguousarray(turns), turns.shape[1]
        form, name = _Form(finish, k, out), f"turns{8 * turns.itemsize}"
        source, target, row, stride = address(turns), address(out), turns.strides[0], out.strides[0]

        def work(first: int, last: int) -> None:
            at = source + row * first, last - first
            self._call(name, *at, form.pointer, target + stride * first)

        over_rows(len(turns), max(1, _LEAST_PHASES // k), work)

    def sum_turns(self, turns: np.ndarray, out: np.ndarray) -> None:
        turns, (_, n, k) = np.ascontiguousarray(turns), turns.shape
        source, target, row, stride = address(turns), address(out), turns.strides[0], out.strides[0]
        name = f"sums{8 * turns.itemsize}"

        def work(first: int, last: int) -> None:
            self._call(name, source + row * first, last - first, n, k, target + stride * first)

        over_rows(len(turns), max(1, _LEAST_PHASES // max(1, n * k)), work)

    def dynamic_turns(self, table: Table, x: np.ndarray, out: np.ndarray) -> None:
        if isinstance(table, HadamardTable):
            self._transforms(table, x, out, None)
        else:
            self._products(table, x, out, None, fast=False)

    def adjoint(self, table: HadamardTable, v: np.ndarray, out: np.ndarray) -> None:
        made, v = _made(table, _HadamardForm), np.ascontiguousarray(v)
        weights, wide = address(table.weights), v.dtype == np.float64

        def work(first: int, last: int) -> None:
            rows, source, target = last - first, address(v[first:]), address(out[first:])
            self._call("adjoint", source, wide, rows, made.pointer, weights, target)

        over_rows(len(v), _least_rows(table), work)

    def _transforms(
        self, table: HadamardTable, x: np.ndarray, out: np.ndarray, form: _Form | None
    ) -> None:
        """Write features by Hadamard transforms, or without a form turns."""
        made, wide = _made(table, _HadamardForm), form is not None and form.wide
        x = np.ascontiguousarray(x, np.float64 if wide or x.dtype != np.float32 else None)
        source, target, row, stride = address(x), address(out), x.strides[0], out.strides[0]
        name, kind = ("hadamard64", ()) if wide else ("hadamard32", (x.dtype == np.float64,))
        pointer = None if form is None else form.pointer

        def work(first: int, last: int) -> None:
            at = source + row * first, *kind, last - first
            self._call(name, *at, made.pointer, pointer, target + stride * first)

        over_rows(len(x), _least_rows(table), work)

    def _products(
        self, table: FrequencyTable, x: np.ndarray, out: np.ndarray, pointer: Any, *, fast: bool
    ) -> None:
        """Write float32 features by one product and what it leaves unsure, or turns."""
        k, d = table.shape
        x, made = np.ascontiguousarray(x, np.float64), _made(table, _TableForm)
        row, stride = x.strides[0], out.strides[0]
        large = d >= _LEAST_PRODUCT_D
        blocks = row_blocks(len(x), k, _PRODUCT_PHASES) if large else [slice(0, len(x))]
        for rows in blocks:
            part, target = x[rows], address(out) + stride * rows.start
            phases = matrix_product(part, table.transposed) if large else None
            source, product = address(part), None if phases is None else address(phases)

            def work(
                first: int,
                last: int,
                source: int = source,
                product: int | None = product,
                target: int = target,
            ) -> None:
                own = None if product is None else product + 8 * k * first
                at = source + row * first, own, last - first
                self._call("table32", *at, made.pointer, fast, pointer, target + stride * first)

            over_rows(len(part), _least_rows(table), work)


class _Form:
    """A Finish as C takes it, and the arrays it points to."""

    def __init__(self, finish: Finish, k: int, out: np.ndarray) -> None:
        self.wide = out.dtype == np.float64
        amplitudes = np.empty(k, out.dtype)
        amplitudes[:] = finish.amplitude
        offsets = None
        if finish.offsets is not None:
            offsets = finish.offsets.astype(np.uint64 if self.wide else np.uint32)
            offsets <<= offsets.dtype.type(32 if self.wide else 0)
        self._arrays = amplitudes, offsets
        self._structure = native.Finish(
            finish.layout == "block",
            k,
            out.shape[1] - k,
            address(amplitudes),
            None if offsets is None else address(offsets),
        )
        self.pointer = ctypes.byref(self._structure)


class _TableForm:
    """A FrequencyTable as C takes it."""

    def __init__(self, table: FrequencyTable) -> None:
        k, d = table.shape
        # What the rounding to float64 cut off; a float64 too, because it has few bits.
        rests = table.mantissas - table.mantissas.astype(np.float64).astype(np.int64)
        scaled = np.ldexp(rests.astype(np.float64), (table.exponents - FREQUENCY_BITS)[:, None])
        self._arrays = (
            _panels(table.values),
            _panels(scaled),
            np.ascontiguousarray(table.product_errors),
            np.ascontiguousarray(table.mantissas),
            np.ascontiguousarray(table.exponents, np.int64),
        )
        largest = float(table.product_errors.max(initial=0.0))
        self.pointer = ctypes.byref(native.Table(d, k, *map(address, self._arrays), largest))


class _HadamardForm:
    """A HadamardTable as C takes it; the arrays are the table's own."""

    def __init__(self, table: HadamardTable) -> None:
        fraction, exponent = math.frexp(table.scale)
        k, d = table.shape
        arrays = address(table.signs), address(table.factors)
        scale = int(math.ldexp(fraction, 53)), exponent - 53
        shape = d, table.m, table.n_blocks, table.skip, k
        self.pointer = ctypes.byref(native.Hadamard(*shape, *scale, *arrays))


# Not attributes of tables: those are copied and sent to other processes, addresses are not.
_forms: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _made(table: Any, make: Callable[[Any], Any]) -> Any:
    """Return the form of a table, made once for as long as the table lives."""
    found = _forms.get(table)
    return _forms.setdefault(table, make(table)) if found is None else found


def _panels(values: np.ndarray) -> np.ndarray:
    """Return rows (k, d) as panels of shape (ceil(k / 16), d, 16), zero beyond k."""
    k, d = values.shape
    padded = np.zeros((-(-k // _PANEL) * _PANEL, d))
    padded[:k] = values
    return np.ascontiguousarray(padded.reshape(-1, _PANEL, d).transpose(0, 2, 1))


def _least_rows(table: Table) -> int:
    """Return how many rows are worth a thread: whole tiles of a transform."""
    return -(-max(1, _LEAST_PHASES // table.shape[0]) // 8) * 8


def native_engine(level: str | None = None) -> NativeEngine | None:
    """Return the engine of a level, by default the best one; None without the library."""
    found = native.core(level)
    return None if found is None else NativeEngine(cast(native.Core, found))
