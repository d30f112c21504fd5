"""From stored features to x, with a verdict on every row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from primal.decoding import Box, Gaussian, Integers, code_phases, noise_turns, pseudoinverse
from primal.errors import NotInvertibleError, SpecError
from primal.pipeline._extent import UNKNOWN, Extent
from primal.pipeline._recipe import FLOATS, Recipe
from primal.pipeline._row_groups import FEATURES
from primal.pipeline._rows import column_array

__all__ = ["Decoded", "row_decoder"]

# Without being asked, the lattice decoder is set up for at most as many inputs: a matter of
# seconds (100 inputs 5 to 8 s, 128 inputs 13 s, 200 inputs 3 minutes).
_MOST_INPUTS = 128
# How many standard deviations of the noise a decoded row may be from its stored features.
_DEVIATIONS = 6.0

_Codes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Decoded:
    """Rows of a table.

    Attributes
    ----------
    x : ndarray of shape (n, d), dtype=float64
        NaN where decoding failed or there was nothing to decode.
    valid : ndarray of n bool
        Which rows have features.
    status : ndarray of n str
        "unique", "ambiguous" or "failed"; "missing" without features.
    """

    x: np.ndarray
    valid: np.ndarray
    status: np.ndarray


def row_decoder(
    recipe: Recipe,
    extent: Extent | None,
    *,
    prior: Box | Gaussian | Integers | None,
    noise: str | float | None,
    beam: int,
) -> Callable[[pa.Table], Decoded]:
    """Return the function from stored rows to decoded ones.

    Parameters
    ----------
    recipe : Recipe
    extent : Extent or None
        What was noted of the rows when they were encoded.
    prior, noise, beam
        As :func:`primal.pipeline.decode` takes them.

    Raises
    ------
    NotInvertibleError
        For sign bits, or, without a prior, fewer phases than inputs.
    """
    if recipe.dtype == "bits":
        raise NotInvertibleError(
            "sign bits say in which quarter turn each phase lies and no more: encode with "
            "dtype = 'uint8-phase' to decode later."
        )
    d = recipe.map.d
    if extent is not None and extent.low and not len(extent.low) == len(extent.high) == d:
        raise SpecError(f"the range in the file is not one of {d} inputs: was it changed?")
    noise = recipe.dtype.removesuffix("-phase") if noise is None else noise
    by_codes = _by_codes(recipe, extent, prior, noise, beam)

    def decoded(table: pa.Table) -> Decoded:
        codes, valid = recipe.stored(column_array(table, FEATURES))
        if recipe.dtype not in FLOATS:  # the stored phase is the nearest one, not a cell
            codes = codes.astype(np.uint32) << np.uint32(32 - 8 * codes.dtype.itemsize)
        x = np.full((len(valid), d), np.nan)
        status = np.full(len(valid), "missing", dtype="<U9")
        x[valid], status[valid] = by_codes(codes)
        return Decoded(x, valid, status)

    return decoded


def _by_codes(
    recipe: Recipe,
    extent: Extent | None,
    prior: Box | Gaussian | Integers | None,
    noise: str | float,
    beam: int,
) -> _Codes:
    """Return the decoder of rows that are there: linear where nothing wraps, else the lattice."""
    m = recipe.map
    if prior is None:
        linear = _linear(recipe, extent, noise_turns(noise))
        if extent is None or not extent.wraps or m.d > _MOST_INPUTS:
            return linear
        prior = extent.box
        if prior is None:
            return linear
    plan = m.decode_plan(prior=prior, noise=noise, beam=beam)

    def by_lattice(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        result = plan.decode(codes, check=False)  # the verdict on every row is reported
        return result.x, result.status

    return by_lattice


def _linear(recipe: Recipe, extent: Extent | None, noise: float) -> _Codes:
    """Return the linear inverse, each answer of which is encoded again and compared.

    That an answer has the stored features does not prove that no phase had wrapped: another x
    may have them too. The note made when the rows were encoded does; without it an answer is
    ambiguous.
    """
    m = recipe.map
    inverse = pseudoinverse(m.basis).T
    slack = 2.0 * _DEVIATIONS * noise * np.linalg.norm(inverse, axis=0)
    extent = extent or UNKNOWN  # no extent: there are no rows
    low, high = extent.range
    verdict = "ambiguous" if extent.wraps else "unique"

    def by_inverse(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = code_phases(codes, m.basis.n_frequencies, m.layout) @ inverse
        there = np.isfinite(x).all(axis=1)  # features that are erased have no phase
        x[~there] = 0.0
        agree = there & (_misfit_turns(recipe, x, codes) <= _DEVIATIONS * noise)
        agree &= ((x >= low - slack) & (x <= high + slack)).all(axis=1)
        x[~agree] = np.nan
        return x, np.where(agree, verdict, "failed")

    return by_inverse


def _misfit_turns(recipe: Recipe, x: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return how far stored features are from those of x: root mean square of a row, in turns."""
    if recipe.dtype in FLOATS:
        off = codes / np.float64(recipe.amplitude) - recipe.map.encode(x)
        return np.sqrt(np.square(off).mean(axis=1)) / (2.0 * math.pi)
    off = (codes - recipe.map.turns(x)).view(np.int32) * 2.0**-32
    return np.sqrt(np.square(off).mean(axis=1))
