"""Which reduction to use: our own, or python-flint's where ours does not settle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from primal.decoding._lattice import Lattice, Reduced, reduce_lattice, triangular_factor
from primal.errors import EngineError

__all__ = ["reduce_best", "reduce_with_flint"]


def reduce_best(lattice: Lattice, report: Callable[[float], None] | None = None) -> Reduced:
    """Return the lattice reduced by our own code, or by python-flint if that does not settle.

    Raises
    ------
    EngineError
        If our own reduction does not settle and python-flint is not installed.
    """
    try:
        return reduce_lattice(lattice, report=report)
    except EngineError as error:
        try:
            return reduce_with_flint(lattice)
        except ImportError:
            raise error from None


def reduce_with_flint(lattice: Lattice) -> Reduced:
    """Return the lattice reduced by LLL in exact integers, with the package python-flint.

    Raises ImportError without it, and EngineError if the transform does not fit into 64 bits.
    """
    from flint import fmpz_mat  # type: ignore[import-not-found]

    m = len(lattice.noise_turns)
    noisy = np.flatnonzero(lattice.noise_turns > 0)
    rows = np.zeros((m, len(noisy)), dtype=object)
    for column, row in enumerate(noisy):
        rows[row, column] = round(float(lattice.noise_turns[row]) * 2**lattice.log2_scale)
    rows = np.concatenate([rows, lattice.scaled.astype(object)], axis=1)
    _, transform = fmpz_mat(rows.tolist()).lll(True, 0.999)
    # Its determinant is 1 or -1, and so is what this inverse is divided by.
    inverse = transform.inv(True) * transform.det()
    u = np.array([[int(v) for v in row] for row in transform.tolist()], dtype=object)
    v = np.array([[int(v) for v in row] for row in inverse.tolist()], dtype=object).T
    if max(abs(int(value)) for value in u.ravel()) >= 2**62:
        raise EngineError(f"the transform of {m} phases outgrew 64 bits: state a larger noise.")
    u, v = u.astype(np.int64), _wrap_to_int64(v)
    return Reduced(u, v, triangular_factor(lattice.rows(u)))


def _wrap_to_int64(values: np.ndarray) -> np.ndarray:
    wrapped = [[int(v) & (2**64 - 1) for v in row] for row in values.tolist()]
    return np.array(wrapped, dtype=np.uint64).view(np.int64)
