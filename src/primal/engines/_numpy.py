"""The NumPy engine: the oracle that every other engine must equal bit for bit.

Work goes in blocks of rows that stay in cache, so memory does not grow with the batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from primal.bases import FrequencyTable
from primal.turns._digits import Terms, row_exponents, term_shift, x_digits
from primal.turns._phases import round_turns, static_turns
from primal.turns._waves import waves

__all__ = ["NumpyEngine", "wave_columns"]

# Phases in one block; the largest of its few temporaries takes eight bytes for each.
_BLOCK_PHASES = 1 << 16


class NumpyEngine:
    """Encodes checked arrays into caller-given output; one method for each kind of work.

    Arguments are trusted: maps check them. `out` is C-contiguous, of shape (n, D), float32
    or float64; `layout` is "block" or "interleaved".
    """

    name = "numpy"

    def static(
        self, increments: np.ndarray, positions: np.ndarray, out: np.ndarray, layout: str
    ) -> None:
        """Write the codes of integer `positions` (uint64, shape (n,)) into `out`."""
        for rows in row_blocks(len(positions), len(increments)):
            write_waves(static_turns(positions[rows], increments), out[rows], layout)

    def dynamic(self, table: FrequencyTable, x: np.ndarray, out: np.ndarray, layout: str) -> None:
        """Write the exact features of float64 `x` (shape (n, d)) into `out`."""
        deep_only = out.dtype == np.float64
        for rows in row_blocks(len(x), table.shape[0]):
            write_waves(exact_turns(table, x[rows], deep_only=deep_only), out[rows], layout)

    def dynamic_turns(self, table: FrequencyTable, x: np.ndarray, out: np.ndarray) -> None:
        """Write the phases behind `dynamic` into `out`, uint32 of shape (n, k)."""
        for rows in row_blocks(len(x), table.shape[0]):
            out[rows] = round_turns(exact_turns(table, x[rows], deep_only=False))

    def dynamic_fast(
        self, table: FrequencyTable, x: np.ndarray, out: np.ndarray, layout: str
    ) -> None:
        """Write float32 features from one float64 matrix product into `out`."""
        for rows in row_blocks(len(x), table.shape[0]):
            write_waves(fast_turns(x[rows] @ table.transposed), out[rows], layout)

    def worst_lag(self, increments: np.ndarray, first: int, last: int) -> tuple[int, float]:
        """Return the lag l in [first, last) with the largest |g(l)|, and g(l).

        g(l) is the mean of cos(2 pi l f) over the frequencies behind `increments`: the cosine
        similarity of two codes l positions apart. The smallest lag wins among equals.
        """
        blocks = row_blocks(last - first, len(increments))
        return worst_of(
            increments,
            (np.arange(first + b.start, first + b.stop, dtype=np.uint64) for b in blocks),
        )


def worst_of(increments: np.ndarray, parts: Iterable[np.ndarray]) -> tuple[int, float]:
    """Return the lag with the largest |g| among parts of uint64 lags in rising order."""
    worst, value = 0, 0.0
    for lags in parts:
        g = mean_cosines(increments, lags)
        at = int(np.abs(g).argmax())
        if abs(g[at]) > abs(value):
            worst, value = int(lags[at]), float(g[at])
    return worst, value


def mean_cosines(increments: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """Return g(l) for uint64 lags, in float64."""
    return waves(static_turns(lags, increments))[0].mean(axis=1)


def exact_turns(table: FrequencyTable, x: np.ndarray, *, deep_only: bool) -> np.ndarray:
    """Return the phases of a block of rows, in units of 2**-64 turn.

    See ``primal.turns._digits`` for the definition. With `deep_only` every phase has the
    accuracy that float64 output needs.

    Returns
    -------
    turns : ndarray of shape (n, k), dtype=uint64
    """
    a = row_exponents(x)
    levels = table.widths.levels
    if deep_only:
        return sum_of_terms(table, x, a, levels[-1])
    # Number of each phase's level: how many of the shallower ones do not serve it.
    level = (a[:, None] > table.level_row_exponents[:, None]).sum(axis=0)
    turns = np.empty(level.shape, dtype=np.uint64)
    for number in np.unique(level):
        np.copyto(turns, sum_of_terms(table, x, a, levels[number]), where=level == number)
    return turns


def fast_turns(phases: np.ndarray) -> np.ndarray:
    """Return float64 phases (in turns) as uint32 turns, rounded to nearest."""
    fraction = phases - np.rint(phases)
    return np.rint(fraction * 2.0**32).astype(np.int64).astype(np.uint32)


def write_waves(turns: np.ndarray, out: np.ndarray, layout: str) -> None:
    """Write cosines and sines of uint64 or uint32 turns into the columns of `out`."""
    if out.dtype == np.float32 and turns.dtype == np.uint64:
        turns = round_turns(turns)
    cos_out, sin_out = wave_columns(out, layout)
    cos_out[...], sin_out[...] = waves(turns)


def wave_columns(out: np.ndarray, layout: str) -> tuple[np.ndarray, np.ndarray]:
    """Return views of the cosine and of the sine columns of an (n, D) array."""
    k = out.shape[-1] // 2
    if layout == "block":
        return out[..., :k], out[..., k:]
    return out[..., 0::2], out[..., 1::2]


def row_blocks(n_rows: int, n_columns: int, n_entries: int = _BLOCK_PHASES) -> Iterator[slice]:
    """Yield slices of rows that hold about `n_entries` entries each."""
    step = max(1, n_entries // max(1, n_columns))
    for first in range(0, n_rows, step):
        yield slice(first, min(first + step, n_rows))


def sum_of_terms(table: FrequencyTable, x: np.ndarray, a: np.ndarray, terms: Terms) -> np.ndarray:
    """Return the sum of some products of digits as uint64 turns, for rows of exponents `a`."""
    widths = table.widths
    digits = x_digits(x, a, widths.x, max(term[0] for term in terms))
    exponents = a[:, None] + table.exponents
    turns = np.zeros(exponents.shape, dtype=np.int64)
    for term in terms:
        # Exact whatever the order of summation: whole numbers that stay within 2**53.
        products = (digits[term[0] - 1] @ table.digits[term[1] - 1]).astype(np.int64)
        turns += _shifted(products, exponents + term_shift(widths, term))
    return turns.view(np.uint64)


def _shifted(values: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return values * 2**shift modulo 2**64, rounded down, for any sizes of shift."""
    left = np.clip(shift, 0, 63)
    right = np.clip(-shift, 0, 63)
    return np.where(shift > 63, 0, (values << left) >> right)
