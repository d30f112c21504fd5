"""Vocabularies: names and whole numbers to codes, the same ones everywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from primal._checks import one_of, positions, raised_as, require_memory, whole_number
from primal._hash import stable_position
from primal._specs import from_spec, make_spec, spec_fields
from primal.engines import row_blocks
from primal.errors import DataError, ParameterError
from primal.hdc._arrays import listed
from primal.hdc._certificate import SimilarityCertificate, certify, certify_numbers
from primal.hdc._codes import Codes
from primal.hdc._space import Space
from primal.turns import round_turns, static_turns

_BLOCK_PHASES = 1 << 22


@dataclass(frozen=True)
class Vocabulary(ABC):
    """What all vocabularies have: a space, a role in it, and codes of values.

    Parameters
    ----------
    space : Space
    role : str
        One of the roles of the space. Codes of different roles can be bound.
    """

    space: Space
    role: str

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise DataError(f"space must be a Space, got {type(self.space).__name__}.")
        one_of("role", self.role, self.space.roles)

    @abstractmethod
    def encode(self, values: Any, /) -> Codes:
        """Return the codes of values."""

    def grow(self, D: int) -> Self:
        """Return the vocabulary with more dimensions; old codes are prefixes of the new ones."""
        return replace(self, space=self.space.grow(D))

    @property
    def spec(self) -> dict[str, Any]:
        """The JSON values from which :func:`primal.from_spec` rebuilds this."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return make_spec(type(self).__name__, **values | {"space": self.space.spec})

    @classmethod
    def _from_spec(cls, values: Mapping[str, Any]) -> Self:
        made = spec_fields(cls.__name__, values, (f.name for f in fields(cls)))
        return cls(**made | {"space": from_spec(made["space"])})


@dataclass(frozen=True)
class Symbols(Vocabulary):
    """Names to codes, by a stable hash: no table to keep, the same codes in every process.

    A name is hashed to a 63-bit position (the first bits of a SHA-256), and the position has a
    code of the role's block of primes. Whole numbers are hashed too: their codes are unrelated.

    Examples
    --------
    >>> from primal import hdc
    >>> animals = hdc.Space(1024).symbols()
    >>> animals.encode(["cat", "dog"]).shape, animals.encode("cat").shape
    ((2, 512), (512,))
    >>> animals.certificate(["cat", "dog", "owl"]).coherence < 0.1
    True
    """

    def encode(self, names: Any) -> Codes:
        """Return the code of a name, or of every name of several: (k,) or (*shape, k), uint32.

        Names are str, bytes, numbers or None; several are a list, tuple, range or array.
        """
        if isinstance(names, (list, tuple, range)):
            flat, shape = names, (len(names),)
        elif isinstance(names, np.generic) or not hasattr(names, "__array__"):
            flat, shape = [names], ()
        else:  # also of other libraries
            with raised_as(DataError, "names must be an array of names or numbers"):
                array = np.asarray(names)
            flat, shape = array.ravel().tolist(), array.shape
        hashed = np.fromiter(map(stable_position, flat), dtype=np.int64, count=len(flat))
        turns = position_turns(hashed, self.space.increments(self.role))
        return Codes(turns.reshape(*shape, self.space.k))

    def certificate(self, names: Sequence[object]) -> SimilarityCertificate:
        """Return how similar the codes of these names are; compares all pairs."""
        return certify(self.encode(listed("names", names)))


@dataclass(frozen=True)
class Integers(Vocabulary):
    """Whole numbers to codes: similarity depends on the difference alone.

    The product of the codes of s and t is the code of s + t, to the bit. Take them where numbers
    are added: counts, offsets, shifts. As labels of places :class:`Symbols` are better: unrelated
    codes are easier to tell apart in a bundle.

    Examples
    --------
    >>> from primal import hdc
    >>> numbers = hdc.Space(512).integers()
    >>> two, three, five = numbers.encode([2, 3, 5], bits=64)
    >>> two * three == five
    True
    """

    def encode(self, numbers: Any, *, bits: int = 32) -> Codes:
        """Return the codes of whole numbers within [-2**63, 2**63].

        Parameters
        ----------
        numbers : array_like of int, any shape
        bits : {32, 64}, default=32
            64 keeps the exact phases: then encode(s + t) is bind(encode(s), encode(t)).

        Returns
        -------
        codes : Codes of shape (*numbers.shape, k), uint32 or uint64
        """
        if whole_number("bits", bits) not in (32, 64):
            raise ParameterError(f"bits must be 32 or 64, got {bits!r}.")
        array = positions(numbers, "numbers")
        flat = np.ascontiguousarray(array).reshape(-1)
        turns = position_turns(flat, self.space.increments(self.role), wide=bits == 64)
        return Codes(turns.reshape(*array.shape, self.space.k))

    def certificate(self, n: int) -> SimilarityCertificate:
        """Return how similar the codes of 0, ..., n - 1 are, from the n - 1 differences."""
        return certify_numbers(self.space.increments(self.role), n)


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
