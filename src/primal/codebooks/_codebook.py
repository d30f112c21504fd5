"""``Codebook``: N codes of D entries, made on demand, with a certificate."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import (
    flag,
    one_of,
    raised_as,
    reject_lost_values,
    require_memory,
    require_work,
    whole_number,
)
from primal._lazy import cached_property, frozen
from primal._parallel import row_blocks
from primal._specs import make_spec, spec_fields
from primal.codebooks import bounds
from primal.codebooks._certificate import CodebookCertificate, Evidence, Verification
from primal.codebooks._metrics import gram_statistics
from primal.codebooks._numbers import scrambled
from primal.errors import DataError, ParameterError, SpecError

_DTYPES = {"real": ("float32", "float64"), "complex": ("complex64", "complex128")}
# Phases in 64 bits and what becomes of them, while a code is made.
_BYTES_PER_ENTRY = 64
# A cosine of two codes in float64 differs from the certificate by rounding only.
_TOLERANCE = 1e-9
_BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class SearchBudget:
    """How long kinds that search may do so, and what is called with (done, total) meanwhile."""

    steps: int | None = None
    seconds: float | None = None
    progress: Callable[[int, int], None] = lambda done, total: None


class Codebook(ABC):
    """N unit vectors of D entries; made by :func:`primal.codebooks.codebook`.

    Nothing but a few numbers is stored: rows are computed when they are asked for. Real codes
    from phases are interleaved: cosine and sine of the first frequency, then of the second.

    Parameters
    ----------
    N, D : int
        Number of codes and of entries of a code.
    field : {"real", "complex"}
        Of the entries.

    Attributes
    ----------
    kind, N, D, field
        As asked for, or as chosen by ``kind="auto"``; D counts real or complex numbers.
    bipolar : bool
        Whether every entry is +-1 / sqrt(D), so that `encode` can give signs.
    reason : str
        Why this kind was chosen; empty when it was asked for.

    Examples
    --------
    >>> from primal.codebooks import codebook
    >>> cb = codebook(2000, 64, kind="kerdock")
    >>> cb[5].shape, cb[10:20].shape, len(cb)
    ((64,), (10, 64), 2000)
    >>> cb.certificate.coherence, cb.verify(1000).ok
    (0.125, True)
    """

    # A kind is a subclass. It says over which fields it has codes, and which of its attributes
    # its spec lists beside N, D and field: its constructor takes all of these.
    kind: str
    _fields: tuple[str, ...] = bounds.FIELDS
    _options: tuple[str, ...] = ()
    bipolar: bool = False
    reason: str = ""

    def __init__(self, N: int, D: int, field: str) -> None:
        self.N, self.D, self.field = N, D, field

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> Codebook:
        """Return codes for these sizes; kinds that search for their options do so here."""
        return cls(N, D, field)

    @abstractmethod
    def _write(self, indices: np.ndarray, out: np.ndarray) -> None:
        """Write the codes of int64 `indices` into `out`, of shape (n, D), any output type."""

    @abstractmethod
    def _evidence(self) -> Evidence:
        """Return what is known about the worst of all pairs of codes."""

    @abstractmethod
    def _rms(self) -> float:
        """Return the root mean square of the cosines of all pairs."""

    def encode(self, indices: object, *, dtype: object = None) -> np.ndarray:
        """Return the codes of some indices in [0, N), in any order and shape.

        Parameters
        ----------
        indices : array_like of int, any shape
        dtype : str or dtype, optional
            ``"float32"`` (default) or ``"float64"`` for real codes, ``"complex64"`` (default)
            or ``"complex128"`` for complex ones; ``"int8"`` gives the signs of bipolar codes.

        Returns
        -------
        codes : ndarray of shape (*indices.shape, D)
            Of length 1, up to rounding; of length sqrt(D) as int8.
        """
        wanted = self._checked_indices(indices)
        flat = wanted.reshape(-1)
        choices = _DTYPES[self.field]
        try:
            name = choices[0] if dtype is None else np.dtype(dtype).name  # type: ignore[call-overload]
        except (TypeError, ValueError):
            name = str(dtype)
        if name == "int8":
            if not self.bipolar:
                raise ParameterError(
                    f"these codes of kind {self.kind!r} are not bipolar: use dtype='float32', or "
                    "kind='kerdock' or 'gold' with D a power of two."
                )
            return self._signs(flat).reshape(*wanted.shape, self.D)
        kind = np.dtype(one_of("dtype", name, choices))
        require_memory(wanted.size * self.D * kind.itemsize, f"{wanted.size} codes")
        out = np.empty((len(flat), self.D), dtype=kind)
        self._write(flat, out)
        return out.reshape(*wanted.shape, self.D)

    def _wide(self, indices: np.ndarray) -> np.ndarray:
        """Return codes in double precision."""
        return self.encode(indices, dtype=_DTYPES[self.field][1])

    def __getitem__(self, index: object) -> np.ndarray:
        """Return code i, or the codes of a slice."""
        if isinstance(index, slice):
            with raised_as(ParameterError, f"no codes at {index}"):
                start, stop, step = index.indices(self.N)
            n = max(0, -((start - stop) // step))
            require_memory(4 * n * self.D, f"{n} codes")
            # The end may be 2**63, which is no int64, and the step beyond that.
            return self.encode(start + np.arange(n) * (step if n > 1 else 0))
        if isinstance(index, (list, np.ndarray)):
            return self.encode(index)
        number = whole_number("index", index, least=-self.N)
        return self.encode(number + self.N if number < 0 else number)

    def __len__(self) -> int:
        return self.N

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.encode(i) for i in range(self.N))

    @cached_property
    def certificate(self) -> CodebookCertificate:
        """Coherence, the pair that attains it, RMS and bounds; computed on first use."""
        N, D, field, found = self.N, self.D, self.field, self._evidence()
        welch, best = bounds.welch(N, D), bounds.best(N, D, field)
        ratio = 1.0 if found.coherence < 1e-6 else math.inf
        return CodebookCertificate(
            **found._asdict(),
            # A difference of sums leaves 1e-8 of it where all codes are orthogonal.
            rms=min(self._rms(), found.coherence),
            kind=self.kind,
            N=N,
            D=D,
            field=field,
            welch=welch,
            levenshtein=bounds.levenshtein(N, D, field),
            ratio=found.coherence / welch if welch else ratio,
            best_bound=best.value,
            best_bound_name=best.name,
        )

    def verify(self, n_pairs: int | None = None, *, full: bool = False) -> Verification:
        """Compute cosines of the codes themselves and compare them with the certificate.

        Parameters
        ----------
        n_pairs : int, optional
            How many pairs, the same ones every time; 10,000 by default.
        full : bool, default=False
            All N (N - 1) / 2 pairs instead, in blocks; the work is N**2 D. Then the largest
            cosine and the RMS have to equal those of the certificate, up to 1e-9.
        """
        n_pairs = whole_number("n_pairs", 10_000 if n_pairs is None else n_pairs, least=1)
        if flag("full", full):
            n_pairs = self.N * (self.N - 1) // 2
        claim = self.certificate
        if self.N < 2:
            return Verification(0, full, 0.0, None, claim.coherence == 0.0)
        largest, pair, rms = self._statistics(None if full else n_pairs)
        errors = [largest - claim.coherence]
        if claim.pair is not None:
            (reached,) = self._pair_cosines(*np.array(claim.pair)[:, None])
            errors.append(abs(reached - claim.coherence))
        if full:
            errors += [claim.coherence - largest, abs(rms - claim.rms)]
        # One by one: max would pass over NaN.
        ok = all(error < _TOLERANCE for error in errors)
        return Verification(n_pairs, full, largest, pair, ok)

    def _statistics(self, n_pairs: int | None) -> tuple[float, tuple[int, int], float]:
        """Return the largest |cosine|, its pair and the RMS of some pairs, or by default of all.

        The pairs are the same every time.
        """
        if n_pairs is None:
            found = gram_statistics(self, bins=1)
            return found.coherence, found.pair, found.rms
        require_memory(64 * n_pairs, f"{n_pairs} pairs")
        require_work(4 * n_pairs * self.D, f"{n_pairs} pairs of codes")
        N = np.uint64(self.N)
        first = scrambled(0, n_pairs) % N
        step = scrambled(1 << 40, n_pairs) % (N - np.uint64(1)) + np.uint64(1)
        pairs = np.sort(np.stack([first, (first + step) % N]).astype(np.int64), axis=0)
        cosines = self._pair_cosines(*pairs)
        i, j = pairs[:, cosines.argmax()].tolist()
        return float(cosines.max()), (i, j), float(np.sqrt(np.square(cosines).mean()))

    def _pair_cosines(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return the |cosines| of pairs of codes, float64."""
        found = np.empty(len(i))
        for rows in row_blocks(len(i), self.D, _BLOCK_ENTRIES):
            left, right = self._wide(i[rows]), self._wide(j[rows])
            found[rows] = np.abs(np.einsum("nd,nd->n", left.conj(), right))
        return found

    def grow(self, *, N: int | None = None, D: int | None = None) -> Codebook:
        """Return a larger codebook that keeps the present codes: kind ``"static"`` can grow.

        Codes keep their numbers. A larger D appends primes: the old entries come first, scaled
        by sqrt(old D / new D), since every code has length 1.
        """
        raise ParameterError(
            f"kind {self.kind!r} is made for its N and D and cannot grow: "
            "use codebook(N, D, kind='static')."
        )

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.from_spec` rebuilds this."""
        values = {name: getattr(self, name) for name in self._options}
        listed = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in values.items()}
        return make_spec("Codebook", kind=self.kind, N=self.N, D=self.D, field=self.field, **listed)

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Codebook:
        from primal.codebooks._auto import KINDS

        kind = KINDS[one_of("kind", fields.get("kind"), KINDS)]
        what = f"{kind.kind!r} Codebook"
        fields = spec_fields(what, fields, ("kind", "N", "D", "field", *kind._options))
        N, D = check_sizes(fields["N"], fields["D"])
        if one_of("field", fields["field"], bounds.FIELDS) not in kind._fields:
            raise SpecError(f"a {what} has real codes only, got field {fields['field']!r}.")
        return kind(N, D, fields["field"], **{name: fields[name] for name in kind._options})

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: frozen(value) for name, value in state.items()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Codebook):
            return NotImplemented
        return self.spec == other.spec

    def __hash__(self) -> int:
        return hash((self.kind, self.N, self.D, self.field))

    def __repr__(self) -> str:
        return f"Codebook({self.N}, {self.D}, kind={self.kind!r}, field={self.field!r})"

    def _checked_indices(self, indices: object) -> np.ndarray:
        with raised_as(DataError, "indices must be whole numbers"):
            array = np.asarray(indices)
        reject_lost_values("indices", indices, as_floats=False)
        if array.size == 0:
            return np.zeros(array.shape, dtype=np.int64)
        if array.dtype.kind not in "iu":
            raise DataError(
                f"indices must be whole numbers, got {array.dtype}: round or cast them first."
            )
        low, high = operator.index(array.min()), operator.index(array.max())
        if low < 0 or high >= self.N:
            wrong = low if low < 0 else high
            raise DataError(f"indices must lie in [0, {self.N}), got {wrong}.")
        return array.astype(np.int64)

    def _signs(self, indices: np.ndarray) -> np.ndarray:
        """Return the entries times sqrt(D), int8 of shape (n, D), for kinds that may be bipolar."""
        raise NotImplementedError


def check_sizes(N: object, D: object) -> tuple[int, int]:
    """Return N and D as whole numbers for which a single code can be made in memory."""
    n = whole_number("N", N, least=1, most=2**63)
    d = whole_number("D", D, least=1)
    require_memory(_BYTES_PER_ENTRY * d, f"a code of D = {d} entries")
    return n, d
