"""Frequency tables as integer tensors: what a module holds, and how a rank builds its part."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from primal._primes import prime_slice
from primal.bases import Basis, FrequencyTable
from primal.bases._roots import _root_table, scrambled_fractions
from primal.turns._digits import LARGEST_LOG2_TURNS

__all__ = ["TableTensors", "frequency_rows", "increment_tensor", "largest_x", "table_tensors"]


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
    x_limit : float
        Largest |x_j| for which no phase can pass 2**32 turns.
    """

    mantissas: Tensor
    exponents: Tensor
    frequencies: Tensor
    errors: Tensor
    x_limit: float


def table_tensors(table: FrequencyTable, device: torch.device | str | None = None) -> TableTensors:
    """Return a table of :mod:`primal.bases` as tensors on `device`.

    Examples
    --------
    >>> import primal
    >>> from primal.torch.functional import table_tensors
    >>> table = table_tensors(primal.Basis("paper", 2, 3).table)
    >>> table.mantissas.shape, table.mantissas.dtype
    (torch.Size([3, 2]), torch.int64)
    """
    errors = np.concatenate([table.product_errors[None], table.level_errors])
    arrays = (table.mantissas, table.exponents, table.values, errors)
    tensors = (torch.from_numpy(array.copy()).to(device) for array in arrays)
    return TableTensors(*tensors, x_limit=largest_x(table))


def increment_tensor(increments: np.ndarray, device: torch.device | str | None = None) -> Tensor:
    """Return uint64 increments as the int64 tensor with the same bits."""
    return torch.from_numpy(increments.view(np.int64).copy()).to(device)


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


def largest_x(table: FrequencyTable) -> float:
    """Return the largest |x_j| for which no phase can pass 2**32 turns."""
    return 2.0**LARGEST_LOG2_TURNS / float(table.l1_norms.max())
