"""Vocabularies: names, whole numbers and real vectors to codes, the same ones everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from primal._checks import one_of, positions, positive_scale, require_memory, whole_number
from primal._errors import MissingPackageError, SpecError
from primal.hdc._certificate import SimilarityCertificate, certify, certify_numbers
from primal.hdc._space import Space
from primal.maps import DynamicPrime
from primal.turns import round_turns, static_turns

__all__ = ["Integers", "Reals", "Symbols", "from_spec"]

_BLOCK_PHASES = 1 << 22


@dataclass(frozen=True)
class Symbols:
    """Names to codes, by a stable hash: no table to keep, the same codes in every process.

    A name is hashed to a 63-bit position (:func:`primal.sklearn.stable_position`) and the
    position has a code of the role's block of primes.

    Examples
    --------
    >>> from primal import hdc
    >>> animals = hdc.Space(1024).symbols()
    >>> animals.encode(["cat", "dog"]).dtype, animals.encode("cat").shape
    (dtype('uint32'), (512,))
    >>> worst = animals.certificate(["cat", "dog", "owl"]).worst
    >>> bool(worst < 0.1)
    True
    """

    space: Space
    role: str

    def __post_init__(self) -> None:
        one_of("role", self.role, self.space.roles)

    def encode(self, names: Any) -> np.ndarray:
        """Return the code of a name, or of every name of a list.

        Parameters
        ----------
        names : str, number, None, or list, tuple or array of these

        Returns
        -------
        codes : ndarray of shape (k,) or (n, k), dtype=uint32
        """
        hashed = _stable_position()
        if isinstance(names, (list, tuple, np.ndarray)):
            items = names.tolist() if isinstance(names, np.ndarray) else names
            flat = np.array([hashed(name) for name in items], dtype=np.int64)
            return _codes(flat, self.space.increments(self.role))
        return _codes(np.array([hashed(names)]), self.space.increments(self.role))[0]

    def certificate(self, names: Sequence[object]) -> SimilarityCertificate:
        """Return how similar the codes of these names are; compares all pairs."""
        return certify(self.encode(list(names)))

    def grow(self, D: int) -> Symbols:
        """Return the vocabulary with more dimensions."""
        return replace(self, space=self.space.grow(D))

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.hdc.from_spec` rebuilds this."""
        return {"vocabulary": "symbols", "space": self.space.spec, "role": self.role}


@dataclass(frozen=True)
class Integers:
    """Whole numbers to codes: similarity depends on the difference alone.

    The product of the codes of s and t is the code of s + t, to the bit. Positions and counts
    live here; the space's scale keeps runs of consecutive numbers apart.

    Examples
    --------
    >>> from primal import hdc
    >>> numbers = hdc.Space(512).integers()
    >>> two, three, five = numbers.encode([2, 3, 5])
    >>> int(abs((hdc.bind(two, three) - five).view("int32")).max()) <= 1  # rounded to 32 bits
    True
    """

    space: Space
    role: str

    def __post_init__(self) -> None:
        one_of("role", self.role, self.space.roles)

    def encode(self, numbers: Any, *, bits: int = 32) -> np.ndarray:
        """Return the codes of whole numbers within [-2**63, 2**63].

        Parameters
        ----------
        numbers : array_like of int, any shape
        bits : {32, 64}, default=32
            64 keeps the exact phases: then encode(s + t) is bind(encode(s), encode(t)).

        Returns
        -------
        codes : ndarray of shape (*numbers.shape, k), dtype=uint32 or uint64
        """
        array = positions(numbers)
        flat = np.ascontiguousarray(array).reshape(-1)
        codes = _codes(flat, self.space.increments(self.role), wide=bits == 64)
        return codes.reshape(*array.shape, self.space.k)

    def certificate(self, n: int) -> SimilarityCertificate:
        """Return how similar the codes of 0, ..., n - 1 are, from the n - 1 differences."""
        return certify_numbers(self.space.increments(self.role), n)

    def grow(self, D: int) -> Integers:
        """Return the vocabulary with more dimensions."""
        return replace(self, space=self.space.grow(D))

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.hdc.from_spec` rebuilds this."""
        return {"vocabulary": "integers", "space": self.space.spec, "role": self.role}


@dataclass(frozen=True)
class Reals:
    """Vectors of d real numbers to codes whose similarity is a kernel.

    This is the fractional power of d base codes, taken on the frequencies themselves, as
    :class:`primal.sklearn.PrimeFeatures` makes them: encode(x + y) is
    bind(encode(x), encode(y)), and similarity(encode(x), encode(y)) approximates kernel(x - y).
    Real codes do not use the blocks of the space: bind each with a key to tell several apart.

    Parameters
    ----------
    space : Space
    d : int
        Numbers in a vector.
    kernel : str
        "rbf", "laplacian", "cauchy", "matern12", "matern32", "matern52" or "prime".
    gamma : float
        Scale of the kernel, as in scikit-learn: "rbf" is exp(-gamma |x - y|**2).

    Examples
    --------
    >>> import math
    >>> from primal import hdc
    >>> weight = hdc.Space(2048).reals(gamma=2.0)
    >>> a, b = weight.encode([[0.1], [0.6]])
    >>> bool(abs(hdc.similarity(a, b) - math.exp(-2.0 * 0.5**2)) < 0.01)
    True
    """

    space: Space
    d: int = 1
    kernel: str = "rbf"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", whole_number("d", self.d, least=1))
        object.__setattr__(self, "gamma", positive_scale("gamma", self.gamma))
        one_of("kernel", self.kernel, _kernels().KERNELS)

    @cached_property
    def map(self) -> DynamicPrime:
        """The map behind the codes."""
        kernels = _kernels()
        return kernels.kernel_map(
            self.kernel,
            self.d,
            self.space.k,
            kernels.KERNELS[self.kernel].scale(self.gamma),
            basis=kernels.resolved_basis(self.kernel, "auto", self.d),
            layout="interleaved",
            precision="exact",
        )

    def encode(self, x: Any) -> np.ndarray:
        """Return the codes of vectors of shape (..., d): uint32 of shape (..., k)."""
        return self.map.turns(x)

    def grow(self, D: int) -> Reals:
        """Return the vocabulary with more dimensions."""
        return replace(self, space=self.space.grow(D))

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.hdc.from_spec` rebuilds this."""
        return {
            "vocabulary": "reals",
            "space": self.space.spec,
            "d": self.d,
            "kernel": self.kernel,
            "gamma": self.gamma,
        }


def from_spec(spec: Mapping[str, Any]) -> Symbols | Integers | Reals:
    """Return the vocabulary that a spec describes.

    Raises
    ------
    SpecError
        If a field is missing, extra or unknown.

    Examples
    --------
    >>> from primal import hdc
    >>> numbers = hdc.Space(512).integers()
    >>> hdc.from_spec(numbers.spec) == numbers
    True
    """
    fields = dict(spec)
    kind = fields.pop("vocabulary", None)
    choices = {"symbols": Symbols, "integers": Integers, "reals": Reals}
    if kind not in choices:
        raise SpecError(
            f"a spec's field 'vocabulary' is 'symbols', 'integers' or 'reals', got {kind!r}."
        )
    try:
        return choices[kind](Space.from_spec(fields.pop("space")), **fields)
    except (KeyError, TypeError) as error:
        raise SpecError(f"the spec of {kind} has wrong or missing fields ({error}).") from None


def _codes(numbers: np.ndarray, increments: np.ndarray, *, wide: bool = False) -> np.ndarray:
    """Return the codes of integers (n,), block by block where phases are rounded."""
    k = len(increments)
    require_memory(len(numbers) * k * (8 if wide else 4), f"{len(numbers)} codes")
    wrapped = numbers.astype(np.uint64)
    if wide:
        return static_turns(wrapped, increments)
    codes = np.empty((len(numbers), k), dtype=np.uint32)
    step = max(1, _BLOCK_PHASES // k)
    for first in range(0, len(numbers), step):
        rows = slice(first, first + step)
        codes[rows] = round_turns(static_turns(wrapped[rows], increments))
    return codes


def _stable_position() -> Any:
    try:
        from primal.sklearn._hasher import stable_position
    except ImportError:
        raise _missing("the hash of names") from None
    return stable_position


def _kernels() -> Any:
    try:
        from primal.sklearn import _kernels
    except ImportError:
        raise _missing("the kernels of real vectors") from None
    return _kernels


def _missing(what: str) -> MissingPackageError:
    return MissingPackageError(
        f"{what} come with scikit-learn, which is not installed: "
        "pip install 'primal-features[sklearn]'."
    )
