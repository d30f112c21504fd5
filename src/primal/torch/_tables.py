"""Tables of frequencies and increments that are rebuilt from a key: what layers and graphs hold.

A layer, a compiled graph and an exported program hold a key, which is a spec in JSON. The numbers
are made from it where an operator needs them, once in a process and once on a device. So there
is no memory of a module that could be undefined, cast or stored by mistake.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

from primal._lazy import cached_property
from primal._specs import from_spec
from primal.errors import NotInvertibleError, SpecError
from primal.exact import BASIS_VERSION, Basis, FrequencyTable, HadamardTable
from primal.maps import KernelBasis
from primal.torch._hadamard import HadamardTensors
from primal.torch._integers import TableTensors

T = TypeVar("T")
# Tables that are kept although no layer has them: those of exported programs.
_N_RECENT = 8
# Keys and devices whose increments are kept; a layer has a few kilobytes of them.
_N_INCREMENTS = 64


class SharedTable:
    """The table behind a key, one object for all layers of a process that have the key.

    Copies of a layer share it, and a pickle holds the `key` alone. Its `shape` (k, d) are the
    numbers of frequencies and of inputs.
    """

    def __init__(self, key: str, basis: Basis) -> None:
        self.key, self.basis, self.shape = key, basis, (basis.n_frequencies, basis.d)
        self._made: dict[tuple[str, torch.device], Any] = {}

    @cached_property
    def rows(self) -> FrequencyTable | HadamardTable:
        """The frequencies as exact integers."""
        return self.basis.table

    @cached_property
    def x_limit(self) -> float:
        """Largest |x_j| for which no phase can pass 2**32 turns."""
        return self.rows.largest_input

    @cached_property
    def transform(self) -> HadamardTable | None:
        """The frequencies as a transform, which the basis ``hadamard`` is."""
        return self.rows if isinstance(self.rows, HadamardTable) else None

    @property
    def frequencies(self) -> np.ndarray:
        """The frequencies in turns, float64 of shape (k, d)."""
        return self.rows.values

    @cached_property
    def inverse_frequencies(self) -> np.ndarray:
        """Their pseudoinverse, float64 of shape (d, k)."""
        left, sizes, right = np.linalg.svd(self.frequencies, full_matrices=False)
        if sizes[-1] <= 2.0**-50 * sizes[0]:
            raise NotInvertibleError(
                f"the {len(left)} frequencies leave a direction of x open, d = {len(sizes)}: use "
                "more of them, or others."
            )
        return (right.T / sizes) @ left.T

    @property
    def root_weights(self) -> np.ndarray:
        """Factors of weighted features beside the common one, float64 of shape (k,)."""
        assert isinstance(self.basis, KernelBasis)  # only layers of weighted frequencies ask
        return self.basis.root_weights

    @property
    def transform_rows(self) -> np.ndarray:
        """S1, then S2, S3 and the weights of each block of ``hadamard``, float64 of m columns."""
        rows = self.transform
        assert rows is not None
        signs, weights = rows.float_signs, rows.weights.reshape(-1, rows.m)
        blocks = zip(signs[1::2], signs[2::2], weights, strict=True)
        return np.concatenate([signs[:1], *(np.stack(block) for block in blocks)])

    def on(self, device: torch.device) -> Any:
        """Return the table as `TableTensors` or `HadamardTensors` on a device, where it stays."""
        rows = self.rows
        if isinstance(rows, HadamardTable):
            return self._kept("table", device, lambda: HadamardTensors.of(rows, device))
        frequencies = self.tensor("frequencies", device)
        return self._kept("table", device, lambda: TableTensors.of(rows, frequencies))

    def tensor(self, name: str, device: torch.device) -> Tensor:
        """Return an array of this table on a device, where it stays; nobody may write into it."""
        return self._kept(
            name, device, lambda: torch.from_numpy(getattr(self, name).copy()).to(device)
        )

    def _kept(self, name: str, device: torch.device, make: Callable[[], T]) -> T:
        if (name, device) not in self._made:  # without a lock that a fork could leave taken
            self._made.setdefault((name, device), _apart(make))
        return self._made[name, device]

    def __reduce__(self) -> tuple[Callable, tuple]:
        """Say how it is made again, by a pickle or a copy: in this process it is the same one."""
        return shared_table, (self.key,)


_live: WeakValueDictionary[str, SharedTable] = WeakValueDictionary()


@lru_cache(maxsize=_N_RECENT)
def shared_table(key: str) -> SharedTable:
    """Return the table of a key: of a living layer, or made again."""
    if (found := _live.get(key)) is not None:
        return found
    spec = json.loads(key)
    if spec.pop("basis_version", None) != BASIS_VERSION:
        raise SpecError(
            f"this version of primal knows basis_version {BASIS_VERSION}, and a program was "
            f"made with another: {key}. Make it again."
        )
    return _live.setdefault(key, SharedTable(key, from_spec(spec)))


def frequency_table(basis: Basis) -> SharedTable:
    """Return the table of a basis, the same object for the same basis.

    Examples
    --------
    >>> import primal
    >>> from primal.torch._tables import frequency_table
    >>> table = frequency_table(primal.Basis("paper", 2, 3))
    >>> table is frequency_table(primal.Basis("paper", 2, 3)), table.shape
    (True, (3, 2))
    """
    own = {"basis_version": BASIS_VERSION}
    return shared_table(json.dumps(basis.spec | own, sort_keys=True))


@lru_cache(maxsize=_N_INCREMENTS)
def shared_increments(key: str, device: torch.device) -> Tensor:
    """Return the increments of a key on a device, int64; nobody may write into them."""
    values = from_spec(json.loads(key)).increments
    return _apart(lambda: torch.from_numpy(values.view(np.int64).copy()).to(device))


def _apart(make: Callable[[], T]) -> T:
    """Return make(), called in a thread of its own.

    What is kept must not take on the modes of its first caller: fake tensors, inference mode, a
    default device, the memory pool of a CUDA graph. They all belong to a thread.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(make).result()
