"""The NumPy engine: the oracle that every other engine must equal bit for bit.

Work goes in blocks of rows that stay in cache, so memory does not grow with the batch.
"""

from dataclasses import dataclass

import numpy as np

from primal._parallel import matrix_product, row_blocks
from primal.exact._digits import balanced_digits, combine_sums, integer_rows, row_exponents
from primal.exact._hadamard import HadamardTable, Table
from primal.exact._phases import round_turns, static_turns
from primal.exact._table import FrequencyTable
from primal.exact._waves import waves
from primal.exact._word_turns import hadamard_turns, hadamard_words

# Phases of exact sums in one block: they have ten times as many temporaries (in blocks of the
# usual size they take two to four times as long).
_EXACT_PHASES = 1 << 14
# When the error of a matrix product reaches this many units of 2**-32 turn, one phase in ten is
# unsure and the exact sums are the better way.
LARGEST_UNSURE = 0.05
# Between these a sum of squares has neither lost what underflowed nor come near an overflow.
_TINY, _HUGE = 2.0**-900, 2.0**900
# A phase of a whole row costs about this much less than a phase on its own (d = 512), because
# matrix products make it: rows whose phases all lie on a middle took 67 times as long as others.
_ROWS_FASTER_THAN_PAIRS = 32


@dataclass(frozen=True, eq=False)
class Finish:
    """How phases become features: where waves go, their factor, and what is added first.

    Attributes
    ----------
    layout : {"block", "interleaved"}
    amplitude : float or ndarray of shape (k,)
        Factor of every wave, or of both waves of each frequency, rounded to their type; 1 leaves
        every bit as it is.
    offsets : ndarray of shape (k,), dtype=uint32, or None
        Added to the phases, in units of 2**-32 turn.
    """

    layout: str
    amplitude: float | np.ndarray = 1.0
    offsets: np.ndarray | None = None


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
            turns = static_turns(positions[rows], increments)
            turns = round_turns(turns) if out.dtype == np.float32 else turns
            write_features(turns, out[rows], Finish(layout))

    def features(
        self,
        table: Table,
        x: np.ndarray,
        out: np.ndarray,
        finish: Finish,
        *,
        fast: bool = False,
    ) -> None:
        """Write the features of float64 `x` (shape (n, d)) into `out`, in its precision.

        With a Hadamard table x may be float32 as well.
        `out` has from k to 2 k columns: the first (columns - k) frequencies get a sine beside
        their cosine. `fast` takes float32 features from one float64 matrix product as it is.
        """
        for rows in row_blocks(len(x), table.shape[0]):
            part = x[rows].astype(np.float64, copy=False)
            if out.dtype == np.float64:
                turns = exact_turns(table, part)
            elif fast and isinstance(table, FrequencyTable):
                units = _units(matrix_product(part, table.transposed))
                turns = np.rint(units).astype(np.int64).astype(np.uint32)
            else:
                turns = rounded_turns(table, part)
            write_features(turns, out[rows], finish)

    def write_phases(self, phases: np.ndarray, out: np.ndarray, finish: Finish) -> None:
        """Write float32 features of float64 phases in turns, taken as they are, in this thread."""
        turns = np.rint(_units(phases)).astype(np.int64).astype(np.uint32)
        write_features(turns, out, finish)

    def write_turns(self, turns: np.ndarray, out: np.ndarray, finish: Finish) -> None:
        """Write the features of turns (n, k): float32 for uint32, float64 for uint64."""
        for rows in row_blocks(len(turns), turns.shape[1]):
            write_features(turns[rows], out[rows], finish)

    def sum_turns(self, turns: np.ndarray, out: np.ndarray) -> None:
        """Write the sums over n of the interleaved waves of turns (stacks, n, k)."""
        waves_of_all = np.empty((*turns.shape[1:-1], 2 * turns.shape[-1]), out.dtype)
        for stack, total in zip(turns, out, strict=True):
            self.write_turns(stack, waves_of_all, Finish("interleaved"))
            waves_of_all.sum(axis=0, out=total)

    def dynamic_turns(self, table: Table, x: np.ndarray, out: np.ndarray) -> None:
        """Write the phases behind `dynamic` into `out`, uint32 of shape (n, k)."""
        for rows in row_blocks(len(x), table.shape[0]):
            out[rows] = rounded_turns(table, x[rows])

    def adjoint(self, table: HadamardTable, v: np.ndarray, out: np.ndarray) -> None:
        """Write v (n, k) times the frequencies into `out` (n, d), both float32 or float64."""
        for rows in row_blocks(len(v), table.shape[0]):
            out[rows] = table.adjoint(v[rows])


def exact_turns(table: Table, x: np.ndarray) -> np.ndarray:
    """Return the phases of a block of rows by the definition in ``primal.exact._digits``.

    Returns
    -------
    turns : ndarray of shape (n, k), dtype=uint64
        Units of 2**-64 turn.
    """
    if isinstance(table, HadamardTable):
        return hadamard_words(table, x)
    turns = np.empty((len(x), table.shape[0]), dtype=np.uint64)
    for rows in row_blocks(len(x), table.shape[0], _EXACT_PHASES):
        turns[rows] = _exact_block(table, x[rows])
    return turns


def _exact_block(table: FrequencyTable, x: np.ndarray) -> np.ndarray:
    a = row_exponents(x)
    x_digits = balanced_digits(integer_rows(x, a), table.widths.x)
    # Exact whatever the order of summation: whole numbers that stay within 2**53.
    sums = {
        (i, j): matrix_product(x_digits[i - 1], table.digits[j - 1]) for i, j in table.widths.all
    }
    return combine_sums(sums, a[:, None] + table.exponents, table.widths)


def rounded_turns(table: Table, x: np.ndarray) -> np.ndarray:
    """Return the same phases rounded to 2**-32 turn, mostly by a plain matrix product.

    Returns
    -------
    turns : ndarray of shape (n, k), dtype=uint32
    """
    if isinstance(table, HadamardTable):
        return round_turns(hadamard_turns(table, x))
    errors = np.multiply.outer(row_lengths(x), table.product_errors * 2.0**32)
    if errors.max(initial=0.0) > LARGEST_UNSURE:
        return round_turns(exact_turns(table, x))
    units = _units(matrix_product(x, table.transposed))
    rounded = np.rint(units)
    turns = rounded.astype(np.int64).astype(np.uint32)
    # Sure of the rounding unless the middle between two units is within the error.
    units -= rounded
    is_unsure = np.abs(units, out=units) >= np.subtract(0.5, errors, out=errors)
    if not np.count_nonzero(is_unsure):
        return turns
    unsure = np.nonzero(is_unsure)
    rows = np.unique(unsure[0])
    if len(unsure[0]) * _ROWS_FASTER_THAN_PAIRS > len(rows) * table.shape[0]:
        turns[rows] = round_turns(exact_turns(table, x[rows]))
    else:
        turns[unsure] = round_turns(exact_pairs(table, x, *unsure))
    return turns


def row_lengths(x: np.ndarray) -> np.ndarray:
    """Return the length of each row, without overflow or underflow of its squares."""
    squares = np.einsum("ij,ij->i", x, x)
    if squares.size and squares.min() > _TINY and squares.max() < _HUGE:
        return np.sqrt(squares)
    a = row_exponents(x)
    scaled = np.ldexp(x, -a[:, None])
    return np.ldexp(np.sqrt(np.square(scaled).sum(axis=1)), a)


def exact_pairs(
    table: FrequencyTable, x: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return the exact phases of some pairs of a row of x and a frequency, as uint64 turns."""
    widths = table.widths
    a = row_exponents(x)
    turns = np.empty(len(rows), dtype=np.uint64)
    for block in row_blocks(len(rows), table.shape[1]):
        r, c = rows[block], columns[block]
        x_digits = balanced_digits(integer_rows(x[r], a[r]), widths.x)
        f_digits = balanced_digits(table.mantissas[c], widths.frequency)
        sums = {(i, j): (x_digits[i - 1] * f_digits[j - 1]).sum(axis=1) for i, j in widths.all}
        turns[block] = combine_sums(sums, a[r] + table.exponents[c], widths)
    return turns


def _units(phases: np.ndarray) -> np.ndarray:
    """Return what phases in turns have beyond whole turns, in units of 2**-32 turn."""
    units = phases - np.rint(phases)
    units *= 2.0**32  # exact, as is the difference
    return units


def write_features(turns: np.ndarray, out: np.ndarray, finish: Finish) -> None:
    """Write waves of uint32 or uint64 turns; see `NumpyEngine.features`."""
    if finish.offsets is not None:
        offsets = finish.offsets.astype(turns.dtype)
        turns = turns + (offsets << turns.dtype.type(8 * turns.itemsize - 32))
    cos, sin = waves(turns)
    k = turns.shape[1]
    n_pairs = out.shape[1] - k
    if finish.layout == "block":
        cos_out, sin_out, rest = out[:, :n_pairs], out[:, k:], out[:, n_pairs:k]
    else:
        cos_out, sin_out = wave_columns(out[:, : 2 * n_pairs], "interleaved")
        rest = out[:, 2 * n_pairs :]
    amplitude = np.asarray(finish.amplitude, dtype=cos.dtype)
    if (amplitude != 1.0).any():
        cos *= amplitude
        sin *= amplitude
    cos_out[...], sin_out[...] = cos[:, :n_pairs], sin[:, :n_pairs]
    if n_pairs < k:
        rest[...] = cos[:, n_pairs:]


def wave_columns(out: np.ndarray, layout: str) -> tuple[np.ndarray, np.ndarray]:
    """Return views (..., D / 2) of the cosine and of the sine columns of features (..., D)."""
    k = out.shape[-1] // 2
    if layout == "block":
        return out[..., :k], out[..., k:]
    return out[..., 0::2], out[..., 1::2]
