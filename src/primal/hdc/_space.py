"""``Space``: how many dimensions there are, and which primes belong to which role.

Codes of one block of primes form a group: the product of two of them is the code of the sum of
their positions, a valid code that has nothing to do with either. Roles that are bound with each
other therefore take disjoint blocks. Blocks are interleaved, block b of n having the primes number
b, b + n, b + 2 n, ...: a space of fewer dimensions then has a prefix of the codes of a larger one,
which blocks of consecutive primes would not allow, and primes far out in the table, whose roots
lie too close together, are not needed. Within a block the primes are shuffled, the same way for
every D: position j of one block and of the next would otherwise have almost the same frequency.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from primal._checks import (
    even_dimension,
    one_of,
    positive_scale,
    require_memory,
    whole_number,
)
from primal._specs import make_spec, spec_fields
from primal.codebooks import fejer
from primal.errors import DataError, ParameterError
from primal.turns import LARGEST_COUNT, floor_roots, prime_slice

if TYPE_CHECKING:
    from primal.hdc._circular import Circular
    from primal.hdc._levels import Levels, Thermometer
    from primal.hdc._reals import Reals
    from primal.hdc._vocabulary import Integers, Symbols

__all__ = ["SCALE", "Space", "window_energy"]

_GOLDEN = (math.sqrt(5.0) + 1.0) / 2.0
# sigma**2 = 1 / golden ratio; see `window_energy` for the reason.
SCALE = math.sqrt(1.0 / _GOLDEN)
_FIELDS = ("D", "roles", "n_blocks", "sigma")


@dataclass(frozen=True)
class Space:
    """D real numbers in a vector, k = D / 2 phases, and a block of primes for every role.

    Parameters
    ----------
    D : int
        Even.
    roles : sequence of str, default=("item",)
        Names, each with its own block of primes. Codes of different roles can be bound; codes
        do not change when roles are added at the end.
    n_blocks : int, default=16
        Blocks that the primes are dealt out to: the largest number of roles.
    sigma : float, default=SCALE
        Scale of the frequencies; 1.0 is that of the paper.

    Raises
    ------
    ParameterError, DataError
        If an argument is out of range.
    MemoryLimitError
        If the primes of so many dimensions do not fit into this machine's memory.

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("key", "value"))
    >>> space.symbols("key").encode(["name", "age"]).shape
    (2, 256)
    >>> small, large = hdc.Space(512).symbols(), hdc.Space(1024).symbols()
    >>> bool((small.encode("a").turns == large.encode("a").turns[:256]).all())
    True
    """

    D: int
    roles: tuple[str, ...] = ("item",)
    n_blocks: int = 16
    sigma: float = SCALE

    def __post_init__(self) -> None:
        if isinstance(self.roles, str) or not isinstance(self.roles, Sequence):
            raise DataError(f"roles is a sequence of names, got {self.roles!r}: pass a tuple.")
        roles = tuple(self.roles)
        named = all(isinstance(role, str) for role in roles)
        if not roles or not named or len(set(roles)) != len(roles):
            raise DataError(f"roles must be one or more different names, got {roles!r}.")
        object.__setattr__(self, "D", even_dimension(self.D))
        object.__setattr__(self, "roles", roles)
        object.__setattr__(self, "n_blocks", whole_number("n_blocks", self.n_blocks, least=1))
        object.__setattr__(self, "sigma", positive_scale("sigma", self.sigma))
        if len(roles) > self.n_blocks:
            raise ParameterError(
                f"{len(roles)} roles need as many blocks of primes, got n_blocks = "
                f"{self.n_blocks}: raise it (that changes every code)."
            )
        # Shuffled within an octave, the last one may be as far as the next power of two.
        n_primes = self.n_blocks << (self.k - 1).bit_length()
        if n_primes > LARGEST_COUNT:
            raise ParameterError(
                f"D = {self.D} and n_blocks = {self.n_blocks} need {n_primes:,} primes, and there "
                f"are {LARGEST_COUNT:,} below 2**32: use a smaller D."
            )
        # The table of primes while it grows (12 bytes each), and the increments of a role.
        require_memory(12 * n_primes + 40 * self.k, f"the primes of a space of D = {self.D}")

    @property
    def k(self) -> int:
        """Phases of a code."""
        return self.D // 2

    def increments(self, role: str) -> np.ndarray:
        """Return the phase that one step moves every frequency of a role, uint64 of shape (k,)."""
        block = self.roles.index(one_of("role", role, self.roles))
        return block_increments(self.k, block, self.n_blocks, self.sigma)

    def symbols(self, role: str | None = None) -> Symbols:
        """Return the vocabulary of names in a role, by default the first one."""
        from primal.hdc._vocabulary import Symbols

        return Symbols(self, self._role(role))

    def integers(self, role: str | None = None) -> Integers:
        """Return the vocabulary of whole numbers in a role, by default the first one."""
        from primal.hdc._vocabulary import Integers

        return Integers(self, self._role(role))

    def reals(
        self, role: str | None = None, d: int = 1, *, kernel: str = "rbf", gamma: float = 1.0
    ) -> Reals:
        """Return the vocabulary of vectors of d real numbers in a role, see :class:`Reals`."""
        from primal.hdc._reals import Reals

        if isinstance(role, int):  # as this was called before reals had roles
            raise DataError(f"role is a name, got {role}: pass d={role} for vectors of {role}.")
        return Reals(self, self._role(role), d, kernel, gamma)

    def levels(
        self,
        role: str | None = None,
        *,
        low: float,
        high: float,
        n: int,
        clip: bool = False,
        kernel: str = "linear",
        gamma: float | None = None,
    ) -> Levels:
        """Return the vocabulary of a range of numbers in n steps, see :class:`Levels`."""
        from primal.hdc._levels import Levels

        return Levels(self, self._role(role), low, high, n, clip, kernel, gamma)

    def thermometer(
        self, role: str | None = None, *, low: float, high: float, n: int, clip: bool = False
    ) -> Thermometer:
        """Return the vocabulary of a range with opposite ends, see :class:`Thermometer`."""
        from primal.hdc._levels import Thermometer

        return Thermometer(self, self._role(role), low, high, n, clip)

    def circular(self, role: str | None = None, *, period: float) -> Circular:
        """Return the vocabulary of numbers on a circle, see :class:`Circular`."""
        from primal.hdc._circular import Circular

        return Circular(self, self._role(role), period)

    def _role(self, role: str | None) -> str:
        return self.roles[0] if role is None else one_of("role", role, self.roles)

    def grow(self, D: int) -> Space:
        """Return the space with more dimensions; old codes are prefixes of the new ones."""
        if even_dimension(D) < self.D:
            raise ParameterError(f"a space of D = {self.D} cannot grow to {D}: ask for more.")
        return replace(self, D=D)

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.from_spec` rebuilds this space."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        return make_spec("Space", **fields | {"roles": list(self.roles)})

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Space:
        return cls(**spec_fields("Space", fields, _FIELDS))


def window_energy(increments: np.ndarray, n: int) -> float:
    """Return |z_t + ... + z_(t+n-1)|**2 / n, the energy of n consecutive codes in a bundle.

    Parameters
    ----------
    increments : ndarray of shape (k,), dtype=uint64
        Units of 2**-64 turn.
    n : int
        Length of the window; the energy does not depend on where it lies.

    Returns
    -------
    energy : float
        1 for uniformly spread frequencies, give or take sqrt(2 n / (3 k)). It is also the mean
        response, in a matched filter, of the positions inside the window: far below 1 they
        cannot be told from positions outside.

    Notes
    -----
    It is the mean over frequencies of F_n(f) / n, F_n Fejer's kernel: it looks at frequencies
    within about 1 / n of a whole number. With the paper's scale these are missing: sqrt(p) is
    near a whole number m only if the prime p is near the square m**2, and no square is prime.
    The same holds for every scale whose square is rational. :data:`SCALE` has a square that
    rationals approximate worst: p then is near m**2 times the golden ratio, which no arithmetic
    keeps from being prime, and the hole is gone. That is the whole criterion; nothing was tuned.

    Examples
    --------
    >>> from primal.hdc import Space, window_energy
    >>> role = "position"
    >>> paper = Space(2048, roles=(role,), sigma=1.0).increments(role)
    >>> default = Space(2048, roles=(role,)).increments(role)
    >>> [round(window_energy(increments, 200), 1) for increments in (paper, default)]
    [0.4, 1.2]
    """
    n = whole_number("n", n, least=1, most=2**63)
    if not isinstance(increments, np.ndarray) or increments.dtype != np.uint64:
        raise DataError("increments must be a uint64 array, as Space.increments(role) returns it.")
    return float(fejer(increments, n).mean()) / n


@lru_cache(maxsize=64)
def block_increments(k: int, block: int, n_blocks: int, sigma: float) -> np.ndarray:
    """Return the increments of k primes of a block, read-only."""
    places = _shuffled(k, block) * n_blocks + block
    values = floor_roots(prime_slice(0, int(places.max()) + 1)[places], sigma, 64)
    values.flags.writeable = False
    return values


def _shuffled(k: int, block: int) -> np.ndarray:
    """Return the first k of all whole numbers, shuffled within each octave, for every block anew.

    Neighbouring primes have nearly equal roots: without this, number t of one block would be
    similar to number t of the next. An octave 2**m, ..., 2**(m + 1) - 1 is multiplied by an odd
    number near a multiple of the golden ratio, which spreads neighbours far.
    """
    numbers = np.arange(k, dtype=np.int64)
    for m in range(1, max(k - 1, 0).bit_length()):
        size = 1 << m
        factor = int(size * ((block * _GOLDEN) % 1.0)) | 1
        octave = slice(size, min(2 * size, k))
        numbers[octave] = size + (numbers[octave] - size) * factor % size
    return numbers
