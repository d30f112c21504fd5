"""``Space`` deals out primes to roles; vocabularies turn names and whole numbers into codes."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from primal._checks import (
    even_dimension,
    instance_of,
    one_of,
    positions,
    positive_scale,
    raised_as,
    reject_lost_values,
    require_memory,
    whole_number,
)
from primal._hash import array_values, stable_position
from primal._parallel import row_blocks
from primal._specs import from_spec, make_spec, spec_fields
from primal.errors import DataError, ParameterError
from primal.exact import (
    BLOCK_SCALE,
    N_BLOCKS,
    block_increments,
    require_blocks,
    round_turns,
    static_turns,
)
from primal.hdc._codes import Codes

if TYPE_CHECKING:
    from primal.hdc import Circular, Levels, Reals

_BLOCK_PHASES = 1 << 22
# Decoders hold phases in float64, and those of the product of 16 such positions to 0.01 turns.
_MOST_POSITIONS = 1 << 40


class Described:
    """What its `__match_args__`, attributes and arguments of the constructor, make again."""

    __match_args__: tuple[str, ...] = ()
    _as_spec: ClassVar[tuple[str, ...]] = ()  # which of them a spec holds as specs only

    @property
    def spec(self) -> dict[str, Any]:
        """The JSON values from which :func:`primal.from_spec` makes something like this.

        With all items of an :class:`ItemMemory`, without pairs and vectors: `save` keeps those.
        """
        values = {name: getattr(self, name) for name in self.__match_args__}
        # A spec is as it was before there was a choice, where none was made.
        made = {name: _spec_value(value) for name, value in values.items() if value is not None}
        return make_spec(type(self).__name__, **made)

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Self:
        default = {name: None for name in cls.__match_args__ if getattr(cls, name, 0) is None}
        found = spec_fields(cls.__name__, default | dict(fields), cls.__match_args__)
        parts = {n: v for n, v in found.items() if isinstance(v, Mapping) or n in cls._as_spec}
        return cls(**found | {name: from_spec(value) for name, value in parts.items()})


@dataclass(frozen=True)
class Space(Described):
    """D real numbers in a vector, k = D / 2 phases, and a block of primes for every role.

    Codes of different roles can be bound; codes do not change when roles are added at the end. The
    primes are distributed over `n_blocks` blocks, the largest number of roles. `sigma` is the scale
    of the frequencies, by default 1 / sqrt(golden ratio); 1.0 is that of the paper.

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
    n_blocks: int = N_BLOCKS
    sigma: float = BLOCK_SCALE

    def __post_init__(self) -> None:
        if isinstance(self.roles, str) or not isinstance(self.roles, Sequence):
            raise DataError(f"roles is a sequence of names, got {self.roles!r}: pass a tuple.")
        roles = tuple(self.roles)
        named = all(isinstance(role, str) for role in roles)
        if not roles or not named or len(set(roles)) != len(roles):
            raise DataError(f"roles must be one or more different names, got {roles!r}.")
        vars(self).update(
            D=even_dimension(self.D),
            roles=roles,
            n_blocks=whole_number("n_blocks", self.n_blocks, least=1),
            sigma=positive_scale("sigma", self.sigma),
        )
        if len(roles) > self.n_blocks:
            raise ParameterError(
                f"{len(roles)} roles need as many blocks of primes, got n_blocks = "
                f"{self.n_blocks}: raise it (that changes every code)."
            )
        require_blocks(self.k, self.n_blocks)

    @property
    def k(self) -> int:
        """Phases of a code."""
        return self.D // 2

    def increments(self, role: str) -> np.ndarray:
        """Return the phase that one step moves every frequency of a role, uint64 of shape (k,)."""
        block = self.roles.index(one_of("role", role, self.roles))
        return block_increments(self.k, block, self.n_blocks, self.sigma)

    def symbols(self, role: str | None = None, *, n_positions: int | None = None) -> Symbols:
        """Return the vocabulary of names in a role, by default the first one."""
        return self._vocabulary("Symbols", role, n_positions)

    def numbers(self, role: str | None = None, *, n_positions: int | None = None) -> Numbers:
        """Return the vocabulary of whole numbers in a role, by default the first one."""
        return self._vocabulary("Numbers", role, n_positions)

    def reals(
        self, role: str | None = None, d: int = 1, *, kernel: str = "rbf", gamma: float = 1.0
    ) -> Reals:
        """Return the vocabulary of vectors of d real numbers in a role, see :class:`Reals`."""
        return self._vocabulary("Reals", role, d, kernel, gamma)

    def levels(
        self, role: str | None = None, *, low: float, high: float, n: int, clip: bool = False
    ) -> Levels:
        """Return the vocabulary of a range of numbers in n steps, see :class:`Levels`."""
        return self._vocabulary("Levels", role, low, high, n, clip)

    def circular(self, role: str | None = None, *, period: float) -> Circular:
        """Return the vocabulary of numbers on a circle, see :class:`Circular`."""
        return self._vocabulary("Circular", role, period)

    def _vocabulary(self, name: str, role: str | None, *options: Any) -> Any:
        from primal import hdc  # its vocabularies need this class

        return getattr(hdc, name)(self, self.roles[0] if role is None else role, *options)

    def grow(self, D: int) -> Space:
        """Return the space with more dimensions; old codes are prefixes of the new ones."""
        if even_dimension(D) < self.D:
            raise ParameterError(f"a space of D = {self.D} cannot grow to {D}: ask for more.")
        return replace(self, D=D)


@dataclass(frozen=True)
class Vocabulary(Described, ABC):
    """What all vocabularies have: a space, one of its roles, and codes of values.

    Codes of different roles can be bound.
    """

    space: Space
    role: str
    _as_spec = ("space",)

    def __post_init__(self) -> None:
        instance_of("space", self.space, Space)
        one_of("role", self.role, self.space.roles)

    @abstractmethod
    def encode(self, values: Any, /) -> Codes:
        """Return the codes of values."""

    def grow(self, D: int) -> Self:
        """Return the vocabulary with more dimensions; old codes are prefixes of the new ones."""
        return replace(self, space=self.space.grow(D))


@dataclass(frozen=True)
class Positions(Vocabulary):
    """A vocabulary with a position for every value; `n_positions`, if declared, from 0 on."""

    n_positions: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_positions is not None:
            n = whole_number("n_positions", self.n_positions, least=2, most=_MOST_POSITIONS)
            vars(self).update(n_positions=n)


@dataclass(frozen=True)
class Symbols(Positions):
    """Names to codes, by a stable hash: no table to keep, the same codes in every process.

    A name is hashed to a 63-bit position (the first bits of a SHA-256), and the position has a
    code of the role's block of primes. Whole numbers are hashed too: their codes are unrelated.
    With `n_positions` names are hashed to that many, so that :func:`factorize` can find them in a
    product; two of m names then share a code with a chance of about m**2 / (2 n_positions).

    Examples
    --------
    >>> from primal import hdc
    >>> animals = hdc.Space(1024).symbols()
    >>> animals.encode(["cat", "dog"]).shape, animals.encode("cat").shape
    ((2, 512), (512,))
    """

    def encode(self, names: Any) -> Codes:
        """Return the code of a name, or of every name of several: (k,) or (*shape, k), uint32.

        Names are str, bytes, numbers or None; several are a list, tuple, range or array.
        """
        hashed = self.positions(names)
        turns = position_turns(hashed.reshape(-1), self.space.increments(self.role))
        return Codes(turns.reshape(*hashed.shape, self.space.k))

    def positions(self, names: Any) -> np.ndarray:
        """Return the positions of names, int64 of shape () or that of several."""
        if isinstance(names, (list, tuple, range)):
            flat, shape = names, (len(names),)
        elif isinstance(names, np.generic) or not hasattr(names, "__array__"):
            flat, shape = [names], ()
        else:  # also of other libraries
            reject_lost_values("names", names, as_floats=False)
            with raised_as(DataError, "names must be an array of names or numbers"):
                array = np.asarray(names)
            flat, shape = array_values(array.ravel()), array.shape
        hashed = np.fromiter(map(stable_position, flat), dtype=np.int64, count=len(flat))
        return (hashed if self.n_positions is None else hashed % self.n_positions).reshape(shape)


@dataclass(frozen=True)
class Numbers(Positions):
    """Whole numbers to codes: similarity depends on the difference alone.

    The product of the codes of s and t is the code of s + t, to the bit. Take them where numbers
    are added: counts, offsets, shifts. As labels of places :class:`Symbols` are better: unrelated
    codes are easier to tell apart in a bundle. With `n_positions` only 0 to n_positions - 1 have
    codes, the same ones, and :func:`factorize` finds them in a product.

    Examples
    --------
    >>> from primal import hdc
    >>> numbers = hdc.Space(512).numbers()
    >>> two, three, five = numbers.encode([2, 3, 5], bits=64)
    >>> two * three == five
    True
    """

    def encode(self, numbers: Any, *, bits: int = 32) -> Codes:
        """Return the codes of whole numbers within [-2**63, 2**63], of any shape: (*shape, k).

        uint32 or, for bits=64, uint64: these are the exact phases, with which encode(s + t) is
        bind(encode(s), encode(t)).
        """
        if whole_number("bits", bits) not in (32, 64):
            raise ParameterError(f"bits must be 32 or 64, got {bits!r}.")
        array = positions(numbers, "numbers")
        n = self.n_positions
        if n is not None and array.size and not (array.min() >= 0 and array.max() < n):
            raise DataError(
                f"numbers must be from 0 to {n - 1}, as n_positions = {n} declares, got "
                f"{array.min()} to {array.max()}."
            )
        flat = np.ascontiguousarray(array).reshape(-1)
        turns = position_turns(flat, self.space.increments(self.role), wide=bits == 64)
        return Codes(turns.reshape(*array.shape, self.space.k))


def position_turns(
    numbers: np.ndarray, increments: np.ndarray, *, wide: bool = False
) -> np.ndarray:
    """Return the phases of integers (n,), block by block where they are rounded to 32 bits."""
    k = len(increments)
    require_memory(len(numbers) * k * (8 if wide else 4), f"{len(numbers)} codes")
    wrapped = numbers.astype(np.uint64)
    if wide:
        return static_turns(wrapped, increments)
    turns = np.empty((len(numbers), k), dtype=np.uint32)
    for rows in row_blocks(len(numbers), k, _BLOCK_PHASES):
        turns[rows] = round_turns(static_turns(wrapped[rows], increments))
    return turns


def _spec_value(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [json.loads(line) for line in item_lines(value)]
    return value.spec if hasattr(value, "spec") else value


def item_lines(items: Iterable[Any]) -> list[str]:
    try:
        return [json.dumps(item, default=_plain) for item in items]
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"items are saved as names, numbers or lists of numbers: {error}."
        ) from None


def _plain(value: Any) -> Any:
    """Return what NumPy holds as Python's own; json calls this for what it does not know."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"got {value!r} of type {type(value).__name__}")


def listed(name: str, values: Any) -> list:
    """Return the members of a sequence, an array or another iterable; mappings are rejected."""
    single = isinstance(values, Mapping) or getattr(values, "ndim", 1) == 0
    if isinstance(values, Iterable) and not single:
        return list(values)
    raise DataError(f"{name} must be a sequence, got {type(values).__name__} {values!r}.")
