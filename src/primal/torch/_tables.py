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
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from primal._checks import one_of, positive_scale, real_array, whole_number
from primal._errors import DataError, NotInvertibleError, SigmaError, SpecError
from primal._primes import prime_slice
from primal.bases import BASIS_VERSION, Basis, FrequencyTable
from primal.bases._roots import _root_table, scrambled_fractions
from primal.torch._spacing import SPACINGS, spaced_increments
from primal.turns._digits import LARGEST_LOG2_TURNS

__all__ = [
    "SharedTable",
    "TableTensors",
    "frequency_rows",
    "frequency_table",
    "increment_tensor",
    "increments_key",
    "n_increments",
    "shared_increments",
    "shared_table",
]

T = TypeVar("T")
# Turns per unit: far beyond any use, and far from where exponents of float64 end.
_LARGEST_FREQUENCY = 1e30
# Tables and increments that are kept although no layer has them: those of exported programs.
_N_RECENT = 8
_N_INCREMENTS = 64
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

    key: str
    basis: Basis | None
    shape: tuple[int, int]

    @property
    def rows(self) -> FrequencyTable:
        """The frequencies as exact integers, made when they are first needed."""
        raise NotImplementedError

    def part(self, first: int, last: int) -> SharedTable:
        """Return the table of frequencies first..last-1."""
        raise NotImplementedError

    @cached_property
    def x_limit(self) -> float:
        """Largest |x_j| for which no phase can pass 2**32 turns."""
        longest = float(self.rows.l1_norms.max(initial=0.0))
        return 2.0**LARGEST_LOG2_TURNS / max(longest, 2.0**-900)

    @cached_property
    def inverse(self) -> np.ndarray:
        """Pseudoinverse of the frequencies in turns, float64 of shape (d, k)."""
        k, d = self.shape
        if k < d:
            raise NotInvertibleError(
                f"decoding needs D >= 2 d, got D = {2 * k} and d = {d}: use D = {2 * d} or more."
            )
        return np.linalg.pinv(self.rows.values, rcond=2.0**-50)

    def on(self, device: torch.device) -> TableTensors:
        """Return the table as tensors on a device, where it stays."""
        if device not in self._on:
            self._on[device] = _apart(lambda: self._tensors(device))
        return self._on[device]

    def _tensors(self, device: torch.device) -> TableTensors:
        rows = self.rows
        errors = np.concatenate([rows.product_errors[None], rows.level_errors])
        arrays = (rows.mantissas, rows.exponents, rows.values, errors)
        return TableTensors(*(torch.from_numpy(array.copy()).to(device) for array in arrays))

    @cached_property
    def _on(self) -> dict[torch.device, TableTensors]:
        return {}

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
        self.key = key
        self._first, self._last = spec.pop("rows")
        self._lengthscales: list[float] | None = spec.pop("lengthscales")
        self.basis = self._basis = Basis(**spec)
        self.shape = (self._last - self._first, self._basis.d)

    @cached_property
    def rows(self) -> FrequencyTable:
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

    basis = None

    def __init__(self, key: str, values: np.ndarray) -> None:
        self.key = key
        self.shape = values.shape  # type: ignore[assignment]
        self._values = values

    @cached_property
    def rows(self) -> FrequencyTable:
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
    DataError, SigmaError
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
            raise SigmaError(
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
        raise SigmaError(
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
        table = _root_table(p, np.asarray(sigma[start:stop] if isinstance(sigma, tuple) else sigma))
        if basis.name == "paper":
            return table
        negative = scrambled_fractions(p) < np.uint64(1 << 63)
        return FrequencyTable(
            np.where(negative, -table.mantissas, table.mantissas), table.exponents
        )
    first = sigma[:stop] if isinstance(sigma, tuple) else sigma
    table = replace(basis, n_frequencies=stop, sigma=first).table
    return FrequencyTable(table.mantissas[start:stop].copy(), table.exponents[start:stop].copy())


def increments_key(
    k: int, spacing: str, *, sigma: float, start: int = 0, base: float = 10000.0
) -> str:
    """Return the key of the increments that :func:`spaced_increments` makes."""
    values = {
        "k": whole_number("k", k),
        "spacing": one_of("spacing", spacing, SPACINGS),
        "sigma": positive_scale("sigma", sigma),
        "start": whole_number("start", start),
        "base": positive_scale("base", base),
        "version": BASIS_VERSION,
    }
    return json.dumps(values)


@lru_cache(maxsize=_N_INCREMENTS)
def shared_increments(key: str, device: torch.device) -> Tensor:
    """Return the increments of a key on a device, int64; nobody may write into them."""
    spec = json.loads(key)
    if spec.pop("version") != BASIS_VERSION:
        raise SpecError(f"a program was made with another version of primal: {key}. Make it again.")
    # A rank of several may have none.
    values = spaced_increments(**spec) if spec["k"] else np.empty(0, dtype=np.uint64)
    return _apart(lambda: increment_tensor(values, device))


def n_increments(key: str) -> int:
    """Return how many increments a key stands for."""
    return json.loads(key)["k"]


def increment_tensor(increments: np.ndarray, device: torch.device | str | None = None) -> Tensor:
    """Return uint64 increments as the int64 tensor with the same bits."""
    return torch.from_numpy(increments.view(np.int64).copy()).to(device)


def _apart(make: Callable[[], T]) -> T:
    """Return make(), called in a thread of its own.

    What is kept must not take on the modes of its first caller: fake tensors, inference mode, a
    default device, the memory pool of a CUDA graph. They all belong to a thread.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(make).result()
