"""Templates: phases of b bits each, packed into bytes, and how alike two of them are."""

from __future__ import annotations

import numpy as np

from primal.errors import DataError
from primal.turns import rounded_phases, waves


def packed(turns: np.ndarray, bits: int) -> np.ndarray:
    """Return uint32 phases (..., k) rounded to b bits, uint8 of shape (..., ceil(k b / 8))."""
    codes = turns if bits == 32 else rounded_phases(turns, bits)
    each = np.unpackbits(codes.astype(">u4")[..., None].view(np.uint8), axis=-1)[..., 32 - bits :]
    return np.packbits(each.reshape(*turns.shape[:-1], -1), axis=-1)


def unpacked(templates: object, k: int, bits: int) -> np.ndarray:
    """Return the phases of templates, uint32 of shape (..., k) in units of 2**-32 turn."""
    n_bytes = -(-k * bits // 8)
    if not isinstance(templates, np.ndarray) or templates.dtype != np.uint8:
        found = templates.dtype if isinstance(templates, np.ndarray) else type(templates).__name__
        raise DataError(f"templates must be an array of uint8, got {found}.")
    if templates.ndim == 0 or templates.shape[-1] != n_bytes:
        raise DataError(
            f"a template of this map has {n_bytes} bytes, got an array of shape {templates.shape}."
        )
    each = np.unpackbits(templates, axis=-1, count=k * bits).reshape(*templates.shape[:-1], k, bits)
    words = np.zeros((*each.shape[:-1], 32), dtype=np.uint8)
    words[..., :bits] = each
    return np.packbits(words, axis=-1).view(">u4")[..., 0].astype(np.uint32)


def unit_waves(turns: np.ndarray) -> np.ndarray:
    """Return [cos | sin] of phases (n, k), scaled to length 1: products are similarities."""
    cos, sin = waves(turns)
    return np.concatenate([cos, sin], axis=-1).astype(np.float64) / np.sqrt(turns.shape[-1])
