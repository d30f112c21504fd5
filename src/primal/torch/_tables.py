"""Tables of frequencies that are rebuilt from a key: what layers and graphs hold of them.

A layer, a compiled graph and an exported program hold a key, which is a spec in JSON. The numbers
are made from it where an operator needs them, once in a process and once on a device. So there
is no memory of a module that could be undefined, cast or stored by mistake.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from primal._checks import positive_scale, real_array
from primal.bases import BASIS_VERSION, Basis, FrequencyTable, root_table, scrambled_fractions
from primal.errors import DataError, NotInvertibleError, ParameterError, SpecError
from primal.turns import LARGEST_LOG2_TURNS, prime_slice

__all__ = [
    "SharedTable",
    "TableTensors",
    "apart",
    "frequency_rows",
    "frequency_table",
    "shared_table",
]

T = TypeVar("T")
# Turns per unit: far beyond any use, and far from where exponents of float64 end.
_LARGEST_FREQUENCY = 1e30
# Tables that are kept although no layer has them: those of exported programs.
_N_RECENT = 8
_GIVEN = "given "


class TableTensors(NamedTuple):
    """A table of k frequencies for d inputs: exact integers, and what kernels need of them.

    Attributes
    ----------
    mantissas : int64 tensor of shape (k, d)
        Frequency (i, j) is ``mantissas[i, j] * 2**(exponents[i] - 62)`` turns per unit of x.
    exponents : int64 tensor of shape (k,)
    frequencies : float64 tensor of shape (k, d)
        The same rounded to float64.
    errors : float64 tensor of shape (3, k)
        In turns: of a float64 product with a row of length one, and of two levels of digit
        sums with a row of |x_j| < 1.
    """

    mantissas: Tensor
    exponents: Tensor
    frequencies: Tensor
    errors: Tensor


class SharedTable:
    """The table behind a key, one object for all layers of a process that have the key.

    Copies of a layer share it, and a pickle holds the key alone.

    Attributes
    ----------
    key : str
    basis : Basis or None
        None if the frequencies were given.
    shape : tuple of int
        Numbers k of frequencies and d of inputs.
    """

    def __init__(self, key: str, shape: tuple[int, int], basis: Basis | None) -> None:
        self.key, self.shape, self.basis = key, shape, basis
        self._made: dict[Any, Any] = {}

    def _make_rows(self) -> FrequencyTable:
        raise NotImplementedError

    def part(self, first: int, last: int) -> SharedTable:
        """Return the table of frequencies first..last-1."""
        raise NotImplementedError

    @property
    def rows(self) -> FrequencyTable:
        """The frequencies as exact integers."""
        return self._once("rows", self._make_rows)

    @property
    def x_limit(self) -> float:
        """Largest |x_j| for which no phase can pass 2**32 turns."""
        return self._once("x_limit", self._make_limit)

    @property
    def inverse(self) -> np.ndarray:
        """Pseudoinverse of the frequencies in turns, float64 of shape (d, k)."""
        return self._once("inverse", self._make_inverse)

    def on(self, device: torch.device) -> TableTensors:
        """Return the table as tensors on a device, where it stays."""
        return self._once(device, lambda: apart(lambda: self._make_tensors(device)))

    def _once(self, name: Any, make: Callable[[], T]) -> T:
        """Return what `make` makes, on first use; without a lock that a fork could leave taken."""
        if name not in self._made:
            self._made.setdefault(name, make())
        return self._made[name]

    def _make_limit(self) -> float:
        longest = float(self.rows.l1_norms.max(initial=0.0))
        return 2.0**LARGEST_LOG2_TURNS / max(longest, 2.0**-900)

    def _make_inverse(self) -> np.ndarray:
        k, d = self.shape
        if k < d:
            raise NotInvertibleError(
                f"decoding needs D >= 2 d, got D = {2 * k} and d = {d}: use D = {2 * d} or more."
            )
        return np.linalg.pinv(self.rows.values, rcond=2.0**-50)

    def _make_tensors(self, device: torch.device) -> TableTensors:
        rows = self.rows
        errors = np.concatenate([rows.product_errors[None], rows.level_errors])
        arrays = (rows.mantissas, rows.exponents, rows.values, errors)
        return TableTensors(*(torch.from_numpy(array.copy()).to(device) for array in arrays))

    def __copy__(self) -> SharedTable:
        return self

    def __deepcopy__(self, memo: dict) -> SharedTable:
        return self


class _PrimeTable(SharedTable):
    """Some rows of a basis; with a lengthscale for each input, its columns are divided by them."""

    def __init__(self, key: str) -> None:
        spec = json.loads(key)
        if spec.pop("version") != BASIS_VERSION:
            raise SpecError(
                f"this version of primal knows basis_version {BASIS_VERSION}, and a program was "
                f"made with another: {key}. Make it again."
            )
        self._first, self._last = spec.pop("rows")
        self._lengthscales: list[float] | None = spec.pop("lengthscales")
        self._basis = Basis(**spec)
        super().__init__(key, (self._last - self._first, self._basis.d), self._basis)

    def _make_rows(self) -> FrequencyTable:
        table = frequency_rows(self._basis, self._first, self._last)
        if self._lengthscales is None:
            return table
        return _table_from_floats(table.values / np.array(self._lengthscales))

    def part(self, first: int, last: int) -> SharedTable:
        rows = (self._first + first, self._first + last)
        return frequency_table(self._basis, rows=rows, lengthscales=self._lengthscales)

    def __reduce__(self) -> tuple[Callable, tuple]:
        return shared_table, (self.key,)


class _GivenTable(SharedTable):
    """A matrix of frequencies; its key is a digest, so the matrix lives with its layers."""

    def __init__(self, key: str, values: np.ndarray) -> None:
        k, d = values.shape
        super().__init__(key, (k, d), None)
        self._values = values

    def _make_rows(self) -> FrequencyTable:
        return _table_from_floats(self._values)

    def part(self, first: int, last: int) -> SharedTable:
        return frequency_table(self._values[first:last])

    def __reduce__(self) -> tuple[Callable, tuple]:
        return frequency_table, (self._values,)


_live: WeakValueDictionary[str, SharedTable] = WeakValueDictionary()


@lru_cache(maxsize=_N_RECENT)
def shared_table(key: str) -> SharedTable:
    """Return the table of a key: of a living layer, or made again."""
    found = _live.get(key)
    if found is not None:
        return found
    if key.startswith(_GIVEN):
        raise SpecError(
            "a compiled or exported program needs a frequency matrix that was given to a layer, "
            "and no such layer exists in this process: make one with the same matrix first."
        )
    return _live.setdefault(key, _PrimeTable(key))


def frequency_table(
    source: Basis | np.ndarray | Tensor,
    *,
    rows: tuple[int, int] | None = None,
    lengthscales: Sequence[float] | None = None,
) -> SharedTable:
    """Return the table of a basis, or of a matrix of frequencies.

    Parameters
    ----------
    source : Basis, or array or tensor of shape (k, d)
        A matrix is in turns per unit of x, and is taken as float64.
    rows : tuple of int, optional
        The first frequency of the basis and the one after the last; all by default.
    lengthscales : sequence of d floats, optional
        Divisors of the columns.

    Raises
    ------
    DataError, ParameterError
        If a matrix is not one of finite numbers, or a lengthscale is not positive.

    Examples
    --------
    >>> import primal
    >>> from primal.torch import functional as F
    >>> F.frequency_table(primal.Basis("paper", 2, 3)).shape
    (3, 2)
    """
    if not isinstance(source, Basis):
        return _given(source)
    spec: dict[str, Any] = {field.name: getattr(source, field.name) for field in fields(source)}
    first, last = rows or (0, source.n_frequencies)
    spec |= {"rows": (first, last), "lengthscales": None, "version": BASIS_VERSION}
    if lengthscales is not None:
        if len(lengthscales) != source.d:
            raise ParameterError(
                f"lengthscale must be one number or one for each of the {source.d} inputs, got "
                f"{len(lengthscales)}."
            )
        spec["lengthscales"] = [
            positive_scale(f"lengthscale[{j}]", value) for j, value in enumerate(lengthscales)
        ]
    return shared_table(json.dumps(spec, sort_keys=True))


def _given(matrix: np.ndarray | Tensor) -> SharedTable:
    if isinstance(matrix, Tensor):
        matrix = matrix.detach().double().cpu().numpy()
    values = real_array("frequencies", matrix).astype(np.float64)  # a copy: it may be changed
    if values.ndim != 2 or values.shape[1] == 0:
        raise DataError(
            "frequencies must be a matrix with a row for each frequency and a column for each "
            f"input, got shape {values.shape}."
        )
    _check_size(values)
    digest = hashlib.sha256(repr(values.shape).encode() + values.astype("<f8").tobytes())
    key = _GIVEN + digest.hexdigest()
    values.flags.writeable = False
    return _live.setdefault(key, _GivenTable(key, values))


def _table_from_floats(values: np.ndarray) -> FrequencyTable:
    _check_size(values)
    return FrequencyTable.from_floats(values)


def _check_size(values: np.ndarray) -> None:
    largest = float(np.abs(values).max(initial=0.0))
    if largest > _LARGEST_FREQUENCY:
        raise ParameterError(
            f"frequencies must be at most {_LARGEST_FREQUENCY:.0e} turns per unit of x, got "
            f"{largest:.3g}: scale x instead."
        )


def frequency_rows(basis: Basis, start: int, stop: int) -> FrequencyTable:
    """Return rows start..stop-1 of the basis' table, bit for bit.

    The rows of ``paper`` and ``signed`` come from the primes at their own offset; of the other
    bases the rows before are made and dropped.
    """
    if (start, stop) == (0, basis.n_frequencies):
        return basis.table
    sigma = basis.sigma
    if basis.name in ("paper", "signed") and basis.primes == "consecutive":
        p = prime_slice(start * basis.d, stop * basis.d).reshape(stop - start, basis.d)
        table = root_table(p, np.asarray(sigma[start:stop] if isinstance(sigma, tuple) else sigma))
        if basis.name == "paper":
            return table
        negative = scrambled_fractions(p) < np.uint64(1 << 63)
        return FrequencyTable(
            np.where(negative, -table.mantissas, table.mantissas), table.exponents
        )
    first = sigma[:stop] if isinstance(sigma, tuple) else sigma
    table = replace(basis, n_frequencies=stop, sigma=first).table
    return FrequencyTable(table.mantissas[start:stop].copy(), table.exponents[start:stop].copy())


def apart(make: Callable[[], T]) -> T:
    """Return make(), called in a thread of its own.

    What is kept must not take on the modes of its first caller: fake tensors, inference mode, a
    default device, the memory pool of a CUDA graph. They all belong to a thread.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(make).result()
