"""From a map to a matrix of features: pairs or offset cosines, scaled, block by block."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primal._lazy import cached_property
from primal.decoding import pseudoinverse
from primal.engines._numpy import Finish, row_blocks
from primal.maps import DynamicPrime
from primal.sklearn._gamma import dense_rows
from primal.turns import increments, static_turns
from primal.turns._phases import round_turns

__all__ = ["FeaturePlan", "amplitude", "encode", "resolved_form"]

# Features made at once, 16 MB of float32: fewer, and starting the engine's threads shows;
# more, and sparse rows made dense take too much memory.
_BLOCK_FEATURES = 1 << 22


def resolved_form(form: str, n_components: int, d: int) -> str:
    """Return "pair" or "offset" for `n_components` features of d inputs.

    A pair of cosine and sine spends two features on one direction of x, an offset cosine
    one. Fewer than d directions cannot see every input, so "auto" takes pairs from 2 d
    features on (where they can also be inverted) and offsets below.
    """
    if form != "auto":
        return form
    return "pair" if n_components >= 2 * d else "offset"


def amplitude(n_components: int) -> float:
    """Return sqrt(2 / D): with it the inner product of two rows approximates the kernel."""
    return math.sqrt(2.0 / n_components)


@dataclass(frozen=True, eq=False)
class FeaturePlan:
    """What turns x into features; rebuilt from a few numbers, never stored.

    Attributes
    ----------
    map : DynamicPrime
        With one frequency for two features ("pair") or for each ("offset").
    form : {"pair", "offset"}
    n_components : int
        Number of features; an odd number of pairs lacks the last sine.
    amplitude : float
        Factor of every cosine and sine.
    column_scales : ndarray of shape (d,) or None
        Factors of the columns of x, when each has its own gamma.
    center : ndarray of shape (d,) or None
        What the offsets are counted from; None for zero.
    """

    map: DynamicPrime
    form: str
    n_components: int
    amplitude: float
    column_scales: np.ndarray | None
    center: np.ndarray | None = None

    @cached_property
    def finish(self) -> Finish:
        """What becomes of the phases; offsets are {i sqrt(p_(d+2))} to 2**-32 turn.

        With frequencies w_i, offsets b_i and a center c the inner product of two rows is

            mean_i cos(w_i (x - y)) + mean_i cos(w_i (x + y - 2 c) + 2 b_i),

        the kernel and a term that should vanish. Around c it does, since the offsets are spread
        evenly; for x + y far from 2 c it is a sum of D unrelated cosines, of size 1 / sqrt(2 D),
        and the same for all rows that are alike.
        """
        if self.form == "pair":
            return Finish(self.map.layout, self.amplitude)
        rows = np.arange(1, self.n_components + 1, dtype=np.uint64)
        turns = static_turns(rows, increments(1, start=self.map.d + 1))[:, 0]
        offsets = round_turns(turns)
        if self.center is not None:
            scales = 1.0 if self.column_scales is None else self.column_scales
            offsets = offsets - self.map.turns(self.center * scales)
        return Finish("block", self.amplitude, offsets)

    @cached_property
    def pseudoinverse(self) -> np.ndarray:
        """Pseudoinverse of the frequencies of whole pairs, float64 of shape (d, D // 2)."""
        basis, k = self.map.basis, self.n_components // 2
        if k < basis.n_frequencies:  # the last sine is missing
            sigma = basis.sigma[:k] if isinstance(basis.sigma, tuple) else basis.sigma
            basis = replace(basis, n_frequencies=k, sigma=sigma)
        return pseudoinverse(basis)


def encode(plan: FeaturePlan, X: Any, dtype: np.dtype) -> np.ndarray:
    """Return the features of every row of X.

    They are computed in float32 whatever the type of the result: equal x give equal values
    in both types, within 1.3e-7 of the real cosine times the amplitude.

    Parameters
    ----------
    plan : FeaturePlan
    X : ndarray or CSR array of shape (n, d)
        Sparse rows are made dense a block at a time.
    dtype : dtype
        float32 or float64.

    Returns
    -------
    Z : ndarray of shape (n, plan.n_components)
    """
    out = np.empty((X.shape[0], plan.n_components), dtype=dtype)
    for rows in row_blocks(len(out), plan.n_components, _BLOCK_FEATURES):
        x = dense_rows(X, rows)
        if plan.column_scales is not None:
            x = x * plan.column_scales
        plan.map.write_features(x, out[rows], plan.finish)
    return out
