"""Which increments a code takes: frequencies spread for positions, and blocks of primes for roles.

Blocks are there so that codes of different roles can be bound. Codes of one block of primes form a
group: the product of two of them is the code of the sum of their positions, a valid code that has
nothing to do with either. Roles that are bound with each other therefore take disjoint blocks.
Blocks are interleaved, block b of n having the primes number b, b + n, b + 2 n, ...: fewer
frequencies are then a prefix of more, which blocks of consecutive primes would not allow, and
primes far out in the table, whose roots lie too close together, are not needed. Within a block the
primes are shuffled, the same way for every number of frequencies: frequency j of one block and of
the next would otherwise be almost the same.
"""

import math
from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np

from primal._checks import one_of, positive_scale, real_number, require_memory, whole_number
from primal.errors import ParameterError
from primal.exact._increments import floor_roots, increments
from primal.exact._primes import LARGEST_COUNT, prime_slice

# Spacings whose frequencies depend on how many there are: codes of these cannot grow.
GRIDS = ("log", "rotary")
SPACINGS = (*GRIDS, "raw", "kronecker")
# Decimal's exp and ln are correctly rounded on every machine. 40 digits leave no doubt about
# the whole numbers below 2**18 that are taken from them; increments of rotary have 20 digits, and
# up to 15 more where sigma is large.
_DIGITS = 40
# Of these the last few may be off. A power of two among the squares of a grid, as with a
# trained length of 64, has to come out as itself.
_SURE = Context(prec=36)
_ROTARY_DIGITS = 48
_LARGEST_ROTARY_SIGMA = 1e15
_PI = Decimal("3.14159265358979323846264338327950288419716939937510")
_LEAST_PRIME = 1 << 16
_LARGEST_LOG_COUNT = 4096
# Enough for all of them to follow one another from 2**18 on: 23,000 primes lie below it.
_N_PRIMES = 28_000
_LARGEST_BASE = 1e15
USUAL_BASE = 10000.0
_USUAL_SHARE = 0.75

N_BLOCKS = 16
_GOLDEN = (math.sqrt(5.0) + 1.0) / 2.0
# At the paper's scale, 1, frequencies near whole numbers are missing: sqrt(p) is near m only if
# the prime p is near the square m**2. Of this scale the square is the number that rationals
# approximate worst, and the hole is gone.
BLOCK_SCALE = math.sqrt(1.0 / _GOLDEN)


def spaced_increments(
    k: int,
    spacing: str = "log",
    *,
    sigma: float = 1.0,
    start: int = 0,
    base: float = USUAL_BASE,
    trained_length: int | None = None,
    turning: float | None = None,
) -> np.ndarray:
    """Return the increments of k frequencies.

    Parameters
    ----------
    k : int
        How many, at least 1.
    spacing : {"log", "rotary", "raw", "kronecker"}, default="log"
        ``"log"``: sigma * sqrt(p_j) * 2**-s_j next to base**(-j / k) radians, the geometric
        grid of rotary embeddings. ``"rotary"``: sigma * base**(-j / k) radians, that grid
        itself, to the nearest 2**-64 turn. ``"raw"``: sigma * sqrt(p_j) turns, consecutive
        primes. ``"kronecker"``: j * sigma * sqrt(p) turns for j = 1..k and one prime p.
    sigma : float, default=1.0
        Scale of all frequencies.
    start : int, default=0
        Index of the first prime for ``"raw"``, of the only one for ``"kronecker"``.
    base : float, default=10000.0
        Ratio of the highest to the lowest frequency of ``"log"`` and ``"rotary"``, roughly.
    trained_length : int, optional
        For ``"log"``, in place of `base`: a geometric grid from half a turn for each position
        to one turn in this many. No frequency is so slow that a model trained at this length
        sees only a part of its turn.
    turning : float, optional
        With `trained_length`: the share of the frequencies that are so, the others being 0 and
        last. By default three quarters: a model that turns all of them has none left for what
        does not depend on positions.

    Returns
    -------
    ndarray of shape (k,), dtype=uint64
        Units of 2**-64 turn.

    Examples
    --------
    >>> from primal.exact import spaced_increments
    >>> (spaced_increments(4) / 2.0**64 * 6.283185).round(5).tolist()
    [1.0, 0.10002, 0.01, 0.001]
    >>> f = spaced_increments(4, trained_length=250)
    >>> (2.0**64 / f[:3]).round(1).tolist(), f[3]  # positions in a turn
    ([2.0, 22.4, 250.0], np.uint64(0))
    """
    k = whole_number("k", k, least=1)
    spacing = one_of("spacing", spacing, SPACINGS)
    sigma = positive_scale("sigma", sigma)
    start = whole_number("start", start)
    ratio = positive_scale("base", base)
    if trained_length is not None and (spacing != "log" or ratio != USUAL_BASE):
        raise ParameterError(
            f'trained_length is for spacing "log", in place of base, got spacing {spacing!r} '
            f"and base {base!r}: leave those out."
        )
    if turning is not None and trained_length is None:
        raise ParameterError(f"turning goes with trained_length, got {turning!r} without it.")
    if spacing not in GRIDS and ratio != USUAL_BASE:
        raise ParameterError(
            f'base spreads the frequencies of spacing "log" and "rotary", got {base!r} with '
            f'"{spacing}", whose frequencies follow from its primes: leave it out.'
        )
    if spacing == "raw":
        return increments(k, start=start, sigma=sigma)
    if spacing == "kronecker":
        require_memory(16 * k, f"k = {k} increments")
        # Multiples wrap as phases do; they are short by less than k * 2**-64 turn.
        return np.arange(1, k + 1, dtype=np.uint64) * increments(1, start=start, sigma=sigma)
    if start:
        raise ParameterError(
            f'start chooses primes for spacing "raw" and "kronecker", got {start} with '
            f'"{spacing}", whose frequencies follow from its grid: leave it out.'
        )
    if not 1.0 < ratio <= _LARGEST_BASE:
        raise ParameterError(
            f"base must lie above 1 and up to 1e15, got {base!r}: for example 1e4."
        )
    if spacing == "rotary":
        return _rotary_increments(k, Decimal(ratio), sigma)
    if trained_length is not None:
        length = Decimal(whole_number("trained_length", trained_length, least=4, most=1 << 48))
        share = _USUAL_SHARE if turning is None else turning
        share = real_number("turning", share, above=0.0, below=math.inf)
        if share > 1.0:
            raise ParameterError(f"turning must be at most 1, a share of all, got {turning!r}.")
        n = max(1, math.floor(share * k + 0.5))
        p, exponents = _grid_primes(n, length / 2, first=Decimal(2), steps=max(1, n - 1))
        values = np.zeros(k, dtype=np.uint64)
        values[:n] = floor_roots(p, np.ldexp(sigma, -exponents), 64)
        return values
    p, exponents = _grid_primes(k, Decimal(ratio))
    return floor_roots(p, np.ldexp(sigma, -exponents), 64)


def _rotary_increments(k: int, base: Decimal, sigma: float) -> np.ndarray:
    """Return sigma * base**(-j / k) radians in units of 2**-64 turn, the nearest ones."""
    if sigma > _LARGEST_ROTARY_SIGMA:
        raise ParameterError(f'sigma must be at most 1e15 with "rotary", got {sigma!r}: use 1.0.')
    require_memory(64 * k, f"k = {k} increments")  # whole numbers of Python before they are words
    with localcontext() as context:
        context.prec = _ROTARY_DIGITS
        unit = Decimal(sigma) * 2**64 / (2 * _PI)
        logarithm = base.ln()
        exact = (unit * (logarithm * -j / k).exp() for j in range(k))
        return np.array([int(v.to_integral_value()) % 2**64 for v in exact], dtype=np.uint64)


def _grid_primes(
    k: int, ratio: Decimal, *, first: Decimal = 2 * _PI, steps: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the primes p_j and the exponents s_j of a logarithmic grid.

    With g_j = ratio**(-j / steps) / first in turns, steps being k by default, s_j is the whole
    number that brings g_j**2 * 4**s_j into [2**16, 2**18), and p_j the smallest prime above it
    not yet taken.
    """
    if k > _LARGEST_LOG_COUNT:
        raise ParameterError(
            f"a logarithmic grid has at most {_LARGEST_LOG_COUNT} frequencies, got {k} "
            f"(D = {2 * k}): use fewer."
        )
    table = prime_slice(0, _N_PRIMES)
    exponent_of: dict[int, int] = {}  # by place in the table, in the order of j
    with localcontext() as context:
        context.prec = _DIGITS
        logarithm = ratio.ln()
        for j in range(k):
            square = (logarithm * (-2 * j) / (steps or k)).exp() / (first * first)
            square = _SURE.plus(square)
            s = 0
            while square < _LEAST_PRIME:
                square, s = square * 4, s + 1
            place = int(np.searchsorted(table, int(square), side="right"))
            while place in exponent_of:
                place += 1
            exponent_of[place] = s
    return table[list(exponent_of)], np.array(list(exponent_of.values()), dtype=np.int64)


def require_blocks(k: int, n_blocks: int) -> None:
    """Raise ParameterError or MemoryLimitError where there are too few primes or bytes."""
    # Shuffled within an octave, the last one may be as far as the next power of two.
    n_primes = n_blocks << (k - 1).bit_length()
    if n_primes > LARGEST_COUNT:
        raise ParameterError(
            f"D = {2 * k} and n_blocks = {n_blocks} need {n_primes:,} primes, and there are "
            f"{LARGEST_COUNT:,} below 2**32: use a smaller D."
        )
    # The table of primes while it grows (12 bytes each), and the increments of a block.
    require_memory(12 * n_primes + 40 * k, f"the primes of a space of D = {2 * k}")


@lru_cache(maxsize=64)
def block_increments(
    k: int, block: int, n_blocks: int = N_BLOCKS, sigma: float = BLOCK_SCALE
) -> np.ndarray:
    """Return the increments of the first k primes of a block, uint64, read-only."""
    places = _shuffled(k, block) * n_blocks + block
    values = floor_roots(prime_slice(0, int(places.max()) + 1)[places], sigma, 64)
    values.flags.writeable = False
    return values


def _shuffled(k: int, block: int) -> np.ndarray:
    """Return the first k of all whole numbers, shuffled within each octave, for every block anew.

    An octave 2**m, ..., 2**(m + 1) - 1 is multiplied by an odd number near a multiple of the
    golden ratio, which spreads neighbors far.
    """
    numbers = np.arange(k, dtype=np.int64)
    for m in range(1, max(k - 1, 0).bit_length()):
        size = 1 << m
        factor = int(size * ((block * _GOLDEN) % 1.0)) | 1
        octave = slice(size, min(2 * size, k))
        numbers[octave] = size + (numbers[octave] - size) * factor % size
    return numbers
