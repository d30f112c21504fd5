"""From raw vectors to codes, by the phases of a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from primal._checks import positions, raised_as, real_array
from primal._specs import from_spec
from primal.engines import row_blocks, wave_columns
from primal.errors import DataError, MissingPackageError, ParameterError, SpecError
from primal.maps import DynamicPrime, KernelPrime, StaticPrime
from primal.search._stored import STORED, n_columns
from primal.turns import (
    phases_to_bits,
    phases_to_uint8,
    phases_to_uint16,
    round_turns,
    static_turns,
    waves,
)

__all__ = ["Map", "checked_map", "encoded"]

Map = DynamicPrime | KernelPrime | StaticPrime
# Phases made at once: 16 MB.
_BLOCK_PHASES = 1 << 22
_COMPACT = {
    "bits": phases_to_bits,
    "uint8-phase": phases_to_uint8,
    "uint16-phase": phases_to_uint16,
}


def checked_map(m: Any) -> Map:
    """Return a map whose phases come in pairs of cosine and sine: given, by spec, or fitted."""
    if isinstance(m, Mapping):
        with raised_as(SpecError, "m is not the spec of a map", keep=(MissingPackageError,)):
            rebuilt = from_spec(m)
        if not isinstance(rebuilt, Map):
            raise SpecError(f"an index needs the spec of a map, got that of a {m['type']}.")
        return checked_map(rebuilt)
    m = getattr(m, "map_", m)
    if not isinstance(m, Map):
        raise ParameterError(
            "m must be a map (DynamicPrime, KernelPrime or StaticPrime), its spec, or fitted "
            f"PrimeFeatures, got {type(m).__name__}."
        )
    if isinstance(m, KernelPrime) and (m.form != "pair" or m.D % 2):
        raise ParameterError(
            f"codes are made from pairs of cosine and sine, got {m.D} features of form "
            f"{m.form!r}: use an even number and form='pair'."
        )
    return m


def encoded(m: Map, x: object, stored: str) -> np.ndarray:
    """Return the codes of raw vectors, (n, columns) or (columns,) for one, made block by block."""
    array, single = _rows(m, x)
    k = m.D // 2
    out = np.empty((len(array), n_columns(stored, k)), dtype=STORED[stored])
    for rows in row_blocks(len(array), k, _BLOCK_PHASES):
        if isinstance(m, StaticPrime):
            turns = round_turns(static_turns(array[rows].astype(np.uint64), m.increments))
        else:
            turns = m.turns(array[rows])
        if stored in _COMPACT:
            out[rows] = _COMPACT[stored](turns)
        else:
            cos, sin = wave_columns(out[rows], m.layout)
            cos[...], sin[...] = waves(turns)
    return out[0] if single else out


def _rows(m: Map, x: object) -> tuple[np.ndarray, bool]:
    """Return vectors in rows, and whether x was one vector alone."""
    if isinstance(m, StaticPrime):
        array, wanted, ndim = positions(x), "(n,) or ()", 0
    else:
        array, wanted, ndim = real_array("x", x, last=m.d), f"(n, {m.d}) or ({m.d},)", 1
    if array.ndim not in (ndim, ndim + 1):
        raise DataError(f"x must have shape {wanted}, got {array.shape}.")
    single = array.ndim == ndim
    return array[None] if single else array, single
