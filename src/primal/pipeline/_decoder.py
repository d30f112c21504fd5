"""From stored features to x, with a verdict on every row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from primal.decoding import code_phases, noise_turns, pseudoinverse
from primal.errors import NotInvertibleError, SpecError
from primal.pipeline._columns import FEATURES
from primal.pipeline._recipe import FLOATS, Recipe
from primal.pipeline._record import UNKNOWN, Extent
from primal.pipeline._rows import column_array
from primal.turns import phases_to_turns

# Without being asked, the lattice decoder is set up for at most as many inputs: a matter of
# seconds (100 inputs 5 to 8 s, 128 inputs 13 s, 200 inputs 3 minutes).
_MOST_INPUTS = 128
# How many standard deviations of the noise a decoded row may be from its stored features.
_DEVIATIONS = 6.0

_Codes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Decoded:
    """Rows of a table."""

    x: np.ndarray  # (n, d), NaN where decoding failed or there was nothing to decode
    valid: np.ndarray  # which rows have features
    status: np.ndarray  # "unique", "ambiguous" or "failed"; "missing" without features


def row_decoder(
    recipe: Recipe, extent: Extent | None, *, prior: Any, noise: str | float | None, beam: int
) -> Callable[[pa.Table], Decoded]:
    """Return the function from stored rows to decoded ones.

    `extent` is what was recorded of the rows when they were encoded.
    """
    if recipe.stored == "bits":
        raise NotInvertibleError(
            "sign bits say in which quarter turn each phase lies and no more: encode with "
            "stored = 'uint8-phase' to decode later."
        )
    m = recipe.map
    if getattr(m, "form", "pair") != "pair" or m.D % 2:
        raise NotInvertibleError("offset cosines and an odd D do not determine every phase.")
    if extent is not None and extent.low and not len(extent.low) == len(extent.high) == m.d:
        raise SpecError(f"the range in the file is not one of {m.d} inputs: was it changed?")
    noise = recipe.stored.removesuffix("-phase") if noise is None else noise
    by_codes = _by_codes(recipe, extent, prior, noise, beam)

    def decoded(table: pa.Table) -> Decoded:
        codes, valid = recipe.present(column_array(table, FEATURES))
        if recipe.stored not in FLOATS:
            codes = phases_to_turns(codes)
        x = np.full((len(valid), m.d), np.nan)
        status = np.full(len(valid), "missing", dtype="<U9")
        x[valid], status[valid] = by_codes(codes)
        return Decoded(x, valid, status)

    return decoded


def _by_codes(
    recipe: Recipe, extent: Extent | None, prior: Any, noise: str | float, beam: int
) -> _Codes:
    """Return the decoder of rows that are there: linear where nothing wraps, else the lattice."""
    m, scales = recipe.map, getattr(recipe.map, "input_scales", None)
    if prior is not None:
        plan, scales = m.decode_plan(prior=prior, noise=noise, beam=beam), None
    else:
        linear = _linear(recipe, extent, noise_turns(noise))
        if extent is None or not extent.low or not extent.wraps or m.d > _MOST_INPUTS:
            return linear
        if scales is None:
            plan = m.decode_plan(prior=extent.box, noise=noise, beam=beam)
        else:  # the map behind m takes x times these
            low, high = (tuple((end * scales).tolist()) for end in extent.range)
            plan = m.map.decode_plan(prior=Extent(low, high, True).box, noise=noise, beam=beam)

    def by_lattice(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        result = plan.decode(codes, check=False)  # the verdict on every row is reported
        return result.x if scales is None else result.x / scales, result.status

    return by_lattice


def _linear(recipe: Recipe, extent: Extent | None, noise: float) -> _Codes:
    """Return the linear inverse, each answer of which is encoded again and compared.

    That an answer has the stored features does not prove that no phase had wrapped: another x
    may have them too. What was recorded when the rows were encoded does; without it an answer is
    ambiguous.
    """
    m = recipe.map
    inverse = pseudoinverse(m.basis).T
    if getattr(m, "input_scales", None) is not None:
        inverse = inverse / m.input_scales
    slack = 2.0 * _DEVIATIONS * noise * np.linalg.norm(inverse, axis=0)
    extent = extent or UNKNOWN  # no extent: there are no rows
    low, high = extent.range
    verdict = "ambiguous" if extent.wraps else "unique"

    def by_inverse(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = code_phases(codes, m.basis.n_frequencies, m.layout) @ inverse
        there = np.isfinite(x).all(axis=1)  # features that are erased have no phase
        x[~there] = 0.0
        if recipe.stored in FLOATS:
            off = (codes.astype(np.float64) - m.encode(x)) / getattr(m, "amplitude", 1.0)
            turn = 2.0 * math.pi
        else:
            off, turn = (codes - m.turns(x)).view(np.int32) * 2.0**-32, 1.0
        misfit = np.sqrt(np.square(off).mean(axis=1)) / turn
        agree = there & (misfit <= _DEVIATIONS * noise)
        agree &= ((x >= low - slack) & (x <= high + slack)).all(axis=1)
        x[~agree] = np.nan
        return x, np.where(agree, verdict, "failed")

    return by_inverse
