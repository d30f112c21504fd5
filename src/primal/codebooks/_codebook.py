"""``Codebook``: N codes of D entries, made on demand, with a certificate."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from primal._checks import (
    callback,
    flag,
    one_of,
    raised_as,
    require_memory,
    require_work,
    whole_number,
)
from primal._errors import DimensionError, OptionError, PositionError
from primal._lazy import cached_property
from primal.codebooks._certificate import Certificate, Verification, certificate
from primal.codebooks._codes import Codes, check_sizes
from primal.codebooks._polish import polish_matrix
from primal.codebooks._prime_codes import PrimeCodes, consecutive_primes
from primal.codebooks._stored import Polished
from primal.codebooks._verify import verify

__all__ = ["CODEBOOK_VERSION", "Codebook"]

CODEBOOK_VERSION = 1
_DTYPES = {
    "real": {"float32": np.float32, "float64": np.float64},
    "complex": {"complex64": np.complex64, "complex128": np.complex128},
}


class Codebook:
    """N unit vectors of D entries; made by :func:`primal.codebooks.codebook`.

    Nothing but a few numbers is stored: rows are computed when they are asked for. Real codes
    from phases are interleaved: cosine and sine of the first frequency, then of the second.

    Attributes
    ----------
    kind, N, D, field
        As asked for, or as chosen by ``kind="auto"``.
    reason : str
        Why this kind was chosen; empty when it was asked for.

    Examples
    --------
    >>> from primal.codebooks import codebook
    >>> cb = codebook(2000, 64, kind="kerdock")
    >>> cb[5].shape, cb[10:20].shape, len(cb)
    ((64,), (10, 64), 2000)
    >>> cb.certificate.mu, cb.certificate.exact
    (0.125, True)
    >>> cb.verify(1000).ok
    True
    """

    def __init__(self, codes: Codes, *, reason: str = "") -> None:
        self._codes = codes
        self.reason = reason

    @property
    def kind(self) -> str:
        """Name of the construction."""
        return self._codes.kind

    @property
    def N(self) -> int:
        """Number of codes."""
        return self._codes.N

    @property
    def D(self) -> int:
        """Number of entries of a code: real or complex numbers, as `field` says."""
        return self._codes.D

    @property
    def field(self) -> str:
        """``"real"`` or ``"complex"``."""
        return self._codes.field

    @property
    def bipolar(self) -> bool:
        """Whether every entry is +-1 / sqrt(D); `encode` can then give the signs as int8."""
        return self._codes.bipolar

    @property
    def growable(self) -> bool:
        """Whether :meth:`grow` works."""
        return self._codes.growable

    def encode(self, indices: object, *, dtype: object = None) -> np.ndarray:
        """Return the codes of some indices, in any order and shape.

        Parameters
        ----------
        indices : array_like of int, any shape
            In [0, N).
        dtype : str or dtype, optional
            ``"float32"`` (default) or ``"float64"`` for real codes, ``"complex64"`` (default)
            or ``"complex128"`` for complex ones; ``"int8"`` gives the signs of bipolar codes.

        Returns
        -------
        codes : ndarray of shape (*indices.shape, D)
            Of length 1, up to rounding; of length sqrt(D) as int8.

        Raises
        ------
        PositionError
            If an index is not a whole number in [0, N).
        OptionError
            If the field or the construction does not have this type.
        """
        wanted = self._checked_indices(indices)
        flat = wanted.reshape(-1)
        if dtype is not None and _is_int8(dtype):
            return self._signs(flat).reshape(*wanted.shape, self.D)
        kind = self._output_dtype(dtype)
        require_memory(wanted.size * self.D * kind.itemsize, f"{wanted.size} codes")
        out = np.empty((len(flat), self.D), dtype=kind)
        self._codes.write(flat, out)
        return out.reshape(*wanted.shape, self.D)

    def __getitem__(self, index: object) -> np.ndarray:
        """Return code i, or the codes of a slice."""
        if isinstance(index, slice):
            chosen = range(*index.indices(self.N))
            n = max(0, -((chosen.start - chosen.stop) // chosen.step))
            require_memory(4 * n * self.D, f"{n} codes")
            return self.encode(np.arange(chosen.start, chosen.stop, chosen.step))
        if isinstance(index, (list, np.ndarray)):
            return self.encode(index)
        number = whole_number("index", index, least=-self.N)
        return self.encode(number + self.N if number < 0 else number)

    def __len__(self) -> int:
        return self.N

    @cached_property
    def certificate(self) -> Certificate:
        """Coherence, the pair that attains it, RMS and bounds; computed on first use."""
        return certificate(self.kind, self.N, self.D, self.field, self._codes.evidence())

    def verify(self, n_pairs: int | None = None, *, full: bool = False) -> Verification:
        """Compute cosines of the codes themselves and compare them with the certificate.

        Parameters
        ----------
        n_pairs : int, optional
            How many pairs, the same ones every time; 10,000 by default.
        full : bool, default=False
            All N (N - 1) / 2 pairs instead, in blocks; the work is N**2 D.

        Returns
        -------
        verification : Verification
            Its `ok` is False when a cosine exceeds the certificate (by more than 1e-9), when
            the certified pair does not attain it, or, with `full`, when the largest cosine or
            the RMS differ from the certificate.
        """
        return verify(self, n_pairs, full=flag("full", full))

    def polish(
        self, steps: int = 200, *, progress: Callable[[int, int], None] | None = None
    ) -> Codebook:
        """Return a stored matrix with lower coherence, by alternating projection.

        Parameters
        ----------
        steps : int, default=200
            Eigendecompositions of an N x N matrix, N at most 4000.
        progress : callable, optional
            Told (steps done, steps in all).

        Returns
        -------
        codebook : Codebook
            Of kind ``"polished"``: it keeps N x D numbers, cannot grow, has no spec, and its
            last bits depend on the linear algebra of this machine. Never worse than `self`.
        """
        steps = whole_number("steps", steps, least=1)
        require_work(steps * self.N**3, f"polishing {self.N} codes in {steps} steps")
        callback("progress", progress)
        wide = "complex128" if self.field == "complex" else "float64"
        codes = self.encode(np.arange(self.N), dtype=wide)
        return Codebook(Polished(polish_matrix(codes, steps, progress=progress)))

    def grow(self, *, N: int | None = None, D: int | None = None) -> Codebook:
        """Return a larger codebook that keeps the present codes.

        Codes keep their numbers. A larger D appends primes: the old entries come first, scaled
        by sqrt(old D / new D), since every code has length 1.

        Raises
        ------
        OptionError
            If this kind cannot grow.
        DimensionError
            If N or D would shrink.
        """
        codes = self._codes
        if not isinstance(codes, PrimeCodes) or codes.start is None:
            raise OptionError(
                f"kind {self.kind!r} is made for its N and D and cannot grow: "
                "use codebook(N, D, growable=True)."
            )
        N, D = check_sizes(self.N if N is None else N, self.D if D is None else D)
        for name, old, new in (("N", self.N, N), ("D", self.D, D)):
            if new < old:
                raise DimensionError(f"{name} = {old} cannot grow to {new}: ask for more.")
        return Codebook(consecutive_primes(self.kind, N, D, self.field, start=codes.start))

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.codebooks.from_spec` rebuilds this."""
        return {
            "map": "codebook",
            "codebook_version": CODEBOOK_VERSION,
            "kind": self.kind,
            "N": self.N,
            "D": self.D,
            "field": self.field,
            **self._codes.options(),
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Codebook):
            return NotImplemented
        if "polished" in (self.kind, other.kind):
            return self is other
        return self.spec == other.spec

    def __hash__(self) -> int:
        return hash((self.kind, self.N, self.D, self.field))

    def __repr__(self) -> str:
        return f"Codebook({self.N}, {self.D}, kind={self.kind!r}, field={self.field!r})"

    def _checked_indices(self, indices: object) -> np.ndarray:
        with raised_as(PositionError, "indices must be whole numbers"):
            array = np.asarray(indices)
        if array.size == 0:
            return np.zeros(array.shape, dtype=np.int64)
        if array.dtype.kind not in "iu":
            raise PositionError(
                f"indices must be whole numbers, got {array.dtype}: round or cast them first."
            )
        low, high = operator.index(array.min()), operator.index(array.max())
        if low < 0 or high >= self.N:
            wrong = low if low < 0 else high
            raise PositionError(f"indices must lie in [0, {self.N}), got {wrong}.")
        return array.astype(np.int64)

    def _output_dtype(self, dtype: object) -> np.dtype:
        choices = _DTYPES[self.field]
        if dtype is None:
            return np.dtype(next(iter(choices.values())))
        try:
            name = np.dtype(dtype).name  # type: ignore[call-overload]
        except (TypeError, ValueError):
            name = str(dtype)
        return np.dtype(choices[one_of("dtype", name, choices)])

    def _signs(self, indices: np.ndarray) -> np.ndarray:
        if not self.bipolar:
            raise OptionError(
                f"these codes of kind {self.kind!r} are not bipolar: use dtype='float32', or "
                "kind='kerdock' or 'gold' with D a power of two."
            )
        return self._codes.signs(indices)  # type: ignore[attr-defined]


def _is_int8(dtype: object) -> bool:
    try:
        return np.dtype(dtype) == np.int8  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return False
