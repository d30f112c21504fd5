"""``Space``: how many dimensions there are, and which primes belong to which role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from primal._checks import even_dimension, one_of, positive_scale, whole_number
from primal._specs import make_spec, spec_fields
from primal.errors import DataError, ParameterError
from primal.turns import BLOCK_SCALE, N_BLOCKS, block_increments, require_blocks

if TYPE_CHECKING:
    from primal.hdc import Circular, Integers, Levels, Reals, Symbols, Thermometer

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
    sigma : float, optional
        Scale of the frequencies, by default 1 / sqrt(golden ratio); 1.0 is that of the paper.

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

    def symbols(self, role: str | None = None) -> Symbols:
        """Return the vocabulary of names in a role, by default the first one."""
        return self._vocabulary("Symbols", role)

    def integers(self, role: str | None = None) -> Integers:
        """Return the vocabulary of whole numbers in a role, by default the first one."""
        return self._vocabulary("Integers", role)

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

    def thermometer(
        self, role: str | None = None, *, low: float, high: float, n: int, clip: bool = False
    ) -> Thermometer:
        """Return the vocabulary of a range with opposite ends, see :class:`Thermometer`."""
        return self._vocabulary("Thermometer", role, low, high, n, clip)

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

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.from_spec` rebuilds this space."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        return make_spec("Space", **fields | {"roles": list(self.roles)})

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Space:
        return cls(**spec_fields("Space", fields, _FIELDS))
