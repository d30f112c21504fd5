"""From raw vectors to codes, by the phases of a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import positions, real_array
from primal._specs import from_spec
from primal.engines import row_blocks, wave_columns
from primal.errors import DataError, ParameterError, SpecError
from primal.maps import DynamicPrime, StaticPrime
from primal.search._stored import STORED, n_columns
from primal.turns import (
    phases_to_bits,
    phases_to_uint8,
    phases_to_uint16,
    round_turns,
    static_turns,
    waves,
)

__all__ = ["Encoder"]

# Phases made at once: 16 MB.
_BLOCK_PHASES = 1 << 22
_COMPACT = {
    "bits": phases_to_bits,
    "uint8-phase": phases_to_uint8,
    "uint16-phase": phases_to_uint16,
}


@dataclass(frozen=True)
class Encoder:
    """What turns raw vectors into codes: a map, and factors of its inputs where it has some."""

    map: DynamicPrime | StaticPrime
    column_scales: tuple[float, ...] | None = None

    @classmethod
    def of(cls, m: Any, column_scales: object = None) -> Encoder:
        """Return the encoder of a map, a fitted `PrimeFeatures`, or the spec of a map."""
        if isinstance(m, Encoder):
            return m
        if hasattr(m, "map_"):
            m, column_scales = _pairs(m._plan)
        if isinstance(m, Mapping):
            m = from_spec(m)
            if not isinstance(m, (DynamicPrime, StaticPrime)):
                raise SpecError(f"an index needs the spec of a map, got a {type(m).__name__}.")
        if not isinstance(m, (DynamicPrime, StaticPrime)):
            raise ParameterError(
                "m must be a DynamicPrime, a StaticPrime, a fitted PrimeFeatures or a map's spec, "
                f"got {type(m).__name__}."
            )
        if column_scales is None:
            return cls(m)
        d = m.d if isinstance(m, DynamicPrime) else 1
        scales = real_array("column_scales", column_scales, last=d)
        return cls(m, tuple(float(s) for s in scales))

    @property
    def n_frequencies(self) -> int:
        """Number k of frequencies."""
        return self.map.D // 2

    def codes(self, x: object, stored: str) -> np.ndarray:
        """Return the codes of raw vectors, (n, columns) or (columns,), made block by block."""
        array, single = self._rows(x)
        out = np.empty((len(array), n_columns(stored, self.n_frequencies)), dtype=STORED[stored])
        for rows in row_blocks(len(array), self.n_frequencies, _BLOCK_PHASES):
            turns = self._turns(array[rows])
            if stored in _COMPACT:
                out[rows] = _COMPACT[stored](turns)
            else:
                cos, sin = wave_columns(out[rows], self.map.layout)
                cos[...], sin[...] = waves(turns)
        return out[0] if single else out

    def _rows(self, x: object) -> tuple[np.ndarray, bool]:
        """Return vectors in rows, and whether x was one vector alone."""
        if isinstance(self.map, StaticPrime):
            array, wanted, ndim = positions(x), "(n,) or ()", 0
        else:
            d = self.map.d
            array, wanted, ndim = real_array("x", x, last=d), f"(n, {d}) or ({d},)", 1
        if array.ndim not in (ndim, ndim + 1):
            raise DataError(f"x must have shape {wanted}, got {array.shape}.")
        single = array.ndim == ndim
        return array[None] if single else array, single

    def _turns(self, block: np.ndarray) -> np.ndarray:
        if isinstance(self.map, StaticPrime):
            return round_turns(static_turns(block.astype(np.uint64), self.map.increments))
        if self.column_scales is not None:
            block = block * np.array(self.column_scales)
        return self.map.turns(block)


def _pairs(plan: Any) -> tuple[DynamicPrime, object]:
    """Return the map and the column scales of a fitted `PrimeFeatures`."""
    if plan.form != "pair" or plan.n_components % 2:
        raise ParameterError(
            f"codes are made from pairs of cosine and sine, got {plan.n_components} features "
            f"of form {plan.form!r}: use an even number and form='pair'."
        )
    return plan.map, plan.column_scales
