"""Vocabularies of real numbers, whose similarity is a kernel or falls with distance."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import flag, one_of, positive_scale, real_array, require_memory, whole_number
from primal._hash import stable_position
from primal._lazy import cached_property
from primal.errors import DataError
from primal.exact import increments, static_turns
from primal.hdc._codes import Codes
from primal.hdc._vocabulary import Vocabulary, position_turns
from primal.maps import KERNELS, KernelPrime

# Frequencies are permuted again within runs of this length, for every role but the first. Runs of
# the even sequences behind them are even too, so the kernel stays as good as it was; and pairs of
# frequencies of two roles are as good as independent ones (tests/hdc/test_numbers.py).
_RUN = 32
# So many periods on, float64 just holds 2**-32 of one.
_LARGEST_PERIODS = 2.0**20
_MOST_STEPS = 1 << 40
# Phases of levels jump by a quarter of a turn, whose cosine is 0; in units of 2**-32 turn.
_JUMP = 1 << 30


@dataclass(frozen=True)
class Reals(Vocabulary):
    """Vectors of d real numbers to codes whose similarity is a kernel.

    The fractional power of d base codes, taken on the frequencies of :class:`primal.KernelPrime`:
    encode(x + y) is bind(encode(x), encode(y)), and similarity(encode(x), encode(y)) approximates
    kernel(x - y), of which "rbf" is exp(-gamma |x - y|**2). Every role has the frequencies in an
    order of its own: the similarity of products of two roles is the product of the kernels. Codes
    of numbers near 0 are near the identity in every role: bind each with a key before bundling
    several.

    Examples
    --------
    >>> import math
    >>> from primal import hdc
    >>> weight = hdc.Space(2048, roles=("weight",)).reals("weight", gamma=2.0)
    >>> a, b = weight.encode([[0.1], [0.6]])
    >>> bool(abs(hdc.similarity(a, b) - math.exp(-2.0 * 0.5**2)) < 0.01)
    True
    """

    d: int = 1
    kernel: str = "rbf"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        d, gamma = whole_number("d", self.d, least=1), positive_scale("gamma", self.gamma)
        vars(self).update(d=d, gamma=gamma, kernel=one_of("kernel", self.kernel, KERNELS))

    @cached_property
    def map(self) -> KernelPrime:
        """The map behind the codes; those of the first role are its turns."""
        k = self.space.k if self.order is None else -(-self.space.k // _RUN) * _RUN
        return KernelPrime(self.d, 2 * k, self.kernel, self.gamma, form="pair")

    @property
    def frequencies(self) -> np.ndarray:
        """The frequency of every phase, in turns per unit of x, float64 of shape (k, d)."""
        table = self.map.frequencies
        return table if self.order is None else table[self.order]

    def encode(self, x: Any) -> Codes:
        """Return the codes of vectors (..., d), uint32 (..., k); for d = 1 a number will do."""
        if self.d == 1 and isinstance(x, (int, float, np.generic)):
            x = [x]
        turns = self.map.turns(x)
        return Codes(turns if self.order is None else turns[..., self.order])

    @cached_property
    def order(self) -> np.ndarray | None:
        """Which frequency of the map each phase has; None where it is the one of its place."""
        if self.role == self.space.roles[0]:
            return None
        n = -(-self.space.k // _RUN) * _RUN
        runs = self.space.grow(2 * n).increments(self.role).reshape(-1, _RUN)
        order = np.argsort(runs, axis=1, kind="stable") + np.arange(0, n, _RUN)[:, None]
        return order.reshape(-1)[: self.space.k]


@dataclass(frozen=True)
class Levels(Vocabulary):
    """Numbers of a range in n steps: neighbors are alike, the two ends unrelated.

    A number has the code of the nearest step. Similarity falls from 1 to 0 as
    1 - |x - y| / (high - low), exactly but for the few phases that do not divide evenly. Where it
    shall be a kernel, take :class:`Reals`. With `clip` numbers outside of the range count as its
    ends; they are rejected otherwise.

    Notes
    -----
    The phases of the lowest step are those of a name. Going up, phase j jumps by a quarter of a
    turn at the share v_j of the range, where v_j is the fraction of (j + 1) sqrt(2): every stretch
    of the range has its share of jumps, give or take a few, in every prefix of the phases.

    Examples
    --------
    >>> from primal import hdc
    >>> gray = hdc.Space(1024, roles=("pixel", "gray")).levels("gray", low=0, high=255, n=16)
    >>> hdc.similarity(gray.encode(0), gray.encode([0, 51, 102, 255])).round(2).tolist()
    [1.0, 0.8, 0.6, 0.0]
    """

    low: float
    high: float
    n: int
    clip: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = (_number(name, getattr(self, name)) for name in ("low", "high"))
        if not 0.0 < high - low < math.inf:
            raise DataError(
                f"low must be below high, and their distance a float, got low = {low} and high = "
                f"{high}."
            )
        n, clip = whole_number("n", self.n, least=2, most=_MOST_STEPS), flag("clip", self.clip)
        vars(self).update(low=low, high=high, n=n, clip=clip)

    @property
    def values(self) -> np.ndarray:
        """The n steps from low to high, float64."""
        require_memory(24 * self.n, f"{self.n} steps")
        return np.linspace(self.low, self.high, self.n)

    @cached_property
    def codes(self) -> Codes:
        """The codes of all steps, uint32 of shape (n, k)."""
        require_memory(5 * self.n * self.space.k, f"{self.n} codes")
        # Phase j has jumped at step i if v_j < i / (n - 1): in whole numbers, if v_j, in units of
        # 2**-64, is at most the last one below.
        last = [(i * 2**64 - 1) // (self.n - 1) for i in range(1, self.n)]
        jumped = even_fractions(self.space.k) <= np.array(last, dtype=np.uint64)[:, None]
        # Half of the phases jump back: the lowest and the highest step are orthogonal as complex
        # vectors too, not only in the real part.
        jumps = np.where(np.arange(self.space.k) % 2, -_JUMP, _JUMP).astype(np.uint32)
        turns = np.tile(base_turns(self), (self.n, 1))
        turns[1:] += jumped * jumps
        return Codes(turns)

    def encode(self, x: Any) -> Codes:
        """Return the codes of numbers within [low, high], of any shape: (*x.shape, k), uint32."""
        return self.codes[self.index(x)]

    def index(self, x: Any) -> np.ndarray:
        """Return which step each number is nearest to, int64 of the shape of x."""
        array = real_array("x", x).astype(np.float64)
        if self.clip:
            array = np.clip(array, self.low, self.high)
        elif array.size and not (self.low <= array.min() and array.max() <= self.high):
            worst = array.max() if array.max() > self.high else array.min()
            raise DataError(
                f"numbers must lie within [{self.low}, {self.high}], got {worst}: widen the range, "
                "or pass clip=True to take the nearest end."
            )
        share = (array - self.low) / (self.high - self.low)
        return np.rint(share * (self.n - 1)).astype(np.int64)


@dataclass(frozen=True)
class Circular(Vocabulary):
    """Numbers on a circle of length `period`: similarity falls linearly to 0 on the opposite side.

    Phase j of the angle x is m_j x / period turns, m_j a whole number, on top of the phases of a
    name. encode(y) / encode(x) depends on y - x alone, and turns any other code by as much.

    Examples
    --------
    >>> from primal import hdc
    >>> hour = hdc.Space(1024).circular(period=24)
    >>> hdc.similarity(hour.encode(23), hour.encode([23, 1, 5, 11])).round(1).tolist()
    [1.0, 0.8, 0.5, 0.0]
    >>> three_later = hour.encode(3) / hour.encode(0)
    >>> hour.encode(22.5) * three_later == hour.encode(1.5)
    True
    """

    period: float

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self).update(period=positive_scale("period", self.period))

    def encode(self, x: Any) -> Codes:
        """Return the codes of numbers of any shape: (*x.shape, k), uint32."""
        array = real_array("x", x).astype(np.float64)
        if array.size and np.abs(array).max() > self.farthest:
            raise DataError(
                f"numbers must lie within {_LARGEST_PERIODS:.0f} periods of {self.period}, got "
                f"{array.flat[np.abs(array).argmax()]}: take the remainder first."
            )
        periods = array / self.period
        require_memory(4 * array.size * self.space.k, f"{array.size} codes")
        # Rounded to the unit of a phase: everything after is exact.
        places = np.rint((periods - np.floor(periods)) * 2.0**32).astype(np.uint64)
        frequencies, base = self.frequencies
        return Codes(places.astype(np.uint32)[..., None] * frequencies + base)

    @property
    def farthest(self) -> float:
        """The largest number that has a code."""
        return self.period * _LARGEST_PERIODS

    @cached_property
    def frequencies(self) -> tuple[np.ndarray, np.ndarray]:
        """The m_j as uint32, negative ones in two's complement, and the phases of the name."""
        return circular_frequencies(self.space.k).astype(np.uint32), base_turns(self)


def circular_frequencies(k: int) -> np.ndarray:
    """Return k whole numbers: 0 half of the time, else odd, +-m with a share of 4 / (pi m)**2.

    As in the Fourier series 1/2 + 4 / pi**2 (cos t + cos(3 t) / 9 + ...) of 1 - |t| / pi.
    """
    fractions = even_fractions(k) / 2.0**64
    # sqrt(2) keeps fractions below 1 - 0.35 / k, so the table is long enough.
    odd = np.arange(1, 2 * k + 16, 2)
    share = np.cumsum(4.0 / (math.pi * odd) ** 2)  # of 1, 3, 5, ..., with either sign
    found = odd[np.minimum(np.searchsorted(share, fractions - 0.5, side="right"), len(odd) - 1)]
    signs = np.where(np.arange(k) % 2, -1, 1)
    return np.where(fractions < 0.5, 0, signs * found)


def even_fractions(k: int) -> np.ndarray:
    """Return the fractions of sqrt(2), 2 sqrt(2), ..., k sqrt(2), uint64 in units of 2**-64."""
    return static_turns(np.arange(1, k + 1, dtype=np.uint64), increments(1))[:, 0]


def base_turns(vocabulary: Vocabulary) -> np.ndarray:
    """Return phases of shape (k,) that no other vocabulary or role has, uint32."""
    # Without them the low ends of all ranges would have one code, the identity.
    name = b"primal.hdc " + type(vocabulary).__name__.lower().encode()
    place = np.array([stable_position(name)])
    return position_turns(place, vocabulary.space.increments(vocabulary.role))[0]


def _number(name: str, value: Any) -> float:
    number = real_array(name, value)
    if number.ndim:
        raise DataError(f"{name} must be one number, got shape {number.shape}.")
    return float(number)
