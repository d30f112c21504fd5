"""From a map to a matrix of features: pairs or offset cosines, scaled, block by block."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from primal.decoding import pseudoinverse
from primal.engines._numpy import row_blocks
from primal.maps import DynamicPrime
from primal.sklearn._gamma import dense_rows
from primal.turns import increments, static_turns, waves

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
    """

    map: DynamicPrime
    form: str
    n_components: int
    amplitude: float
    column_scales: np.ndarray | None

    @cached_property
    def offset_waves(self) -> tuple[np.ndarray, np.ndarray]:
        """Cosine and sine of the offsets {i sqrt(p_(d+2))}, float32 of shape (D,)."""
        prime_index = self.map.d + 1
        rows = np.arange(1, self.n_components + 1, dtype=np.uint64)
        turns = static_turns(rows, increments(1, start=prime_index))[:, 0]
        cos, sin = waves(turns)
        return cos.astype(np.float32), sin.astype(np.float32)

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
        if plan.form == "offset":
            features = _offset_features(plan, x)
        else:
            features = _pair_features(plan, x, out[rows])
        # A product in float32, then the cast: both types hold the same values.
        features *= np.float32(plan.amplitude)
        if not np.shares_memory(features, out):
            out[rows] = features
    return out


def _pair_features(plan: FeaturePlan, x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return unscaled pairs, written straight into `out` where its memory fits."""
    if out.dtype == np.float32 and plan.n_components % 2 == 0:
        return plan.map.encode(x, out=out)
    return plan.map.encode(x)[:, : plan.n_components]


def _offset_features(plan: FeaturePlan, x: np.ndarray) -> np.ndarray:
    """Return cos(v + b) = cos v cos b - sin v sin b, each operation rounded on its own."""
    cos_offset, sin_offset = plan.offset_waves
    waves_of_x = plan.map.encode(x)  # block layout: all cosines, then all sines
    cos, sin = waves_of_x[:, : plan.n_components], waves_of_x[:, plan.n_components :]
    cos *= cos_offset
    sin *= sin_offset
    cos -= sin
    return cos
