"""``StaticPrime``: integer positions to codes and back (the paper's Algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, overload

import numpy as np

from primal._checks import (
    even_dimension,
    flag,
    one_of,
    output_array,
    positions,
    positive_scale,
    real_array,
    wave_array,
    whole_number,
)
from primal._lazy import cached_property
from primal._specs import Specified, spec_digest, spec_fields
from primal.decoding import PositionDecoder, have_phases, phases_of, position_decoder
from primal.errors import DataError, NotInvertibleError, ParameterError
from primal.exact import (
    GRIDS,
    LARGEST_COUNT,
    SPACINGS,
    USUAL_BASE,
    engine,
    spaced_increments,
    wave_columns,
)
from primal.maps._common import LAYOUTS, apart, blocks, output_dtype, read_only
from primal.maps._stretch import frequency_increments

_FIELDS = (
    *("D", "sigma", "start", "layout", "spacing", "base", "trained_length", "turning"),
    "frequencies",
)
GIVEN = "given"  # the spacing of frequencies from elsewhere
# Entries of the codes compared at once while decoding, and of their similarities: 4 and 16 MB.
_DECODE_ENTRIES = 1 << 20
_DECODE_SCORES = 1 << 22
# Up to here all positions are tried; beyond, a lattice finds the position. Codes too noisy for
# the lattice are still compared with all positions up to the second number.
_LARGEST_PLAIN_SCAN = 1 << 20
_LARGEST_SCAN = 1 << 24


class StaticPrime(Specified):
    """Give every integer position t a code of D cosines and sines of t * sigma * sqrt(p).

    With sigma = 1 this is Algorithm 2 of the paper, for positions of any size: the phase is
    a wrapping 64-bit product, off by less than t * 2**-64 turn.

    Parameters
    ----------
    D : int
        Number of outputs, even; there are k = D / 2 primes.
    sigma : float, default=1.0
        Scale of the frequencies.
    start : int, default=0
        Index of the first prime; index 0 is the prime 2.
    layout : {"block", "interleaved"}, default="block"
        ``"block"`` is [cos | sin], as the paper prints it; ``"interleaved"`` makes a smaller
        D a prefix of a larger one.
    spacing : {"raw", "kronecker", "log", "rotary"}, default="raw"
        How frequencies are spread; see :func:`primal.exact.spaced_increments`. ``"raw"`` is the
        paper's. ``"log"`` and ``"rotary"`` make near positions similar; their frequencies
        depend on D, so such a map cannot grow.
    base, trained_length, turning : float, int and float, optional
        Of ``"log"``, and `base` of ``"rotary"`` too: the range of their frequencies, as in that
        function.
    frequencies : array_like of shape (D / 2,), optional
        Turns per position, in place of a spacing: those of a model that is there already.

    Examples
    --------
    >>> import primal
    >>> s = primal.StaticPrime(64)
    >>> s.waves(1000).shape
    (1000, 64)
    >>> s.decode(s.encode([12, 345]), n=1000)
    array([ 12, 345])
    """

    def __init__(
        self,
        D: int,
        *,
        sigma: float = 1.0,
        start: int = 0,
        layout: str = "block",
        spacing: str = "raw",
        base: float = USUAL_BASE,
        trained_length: int | None = None,
        turning: float | None = None,
        frequencies: object = None,
    ) -> None:
        self._D = even_dimension(D)
        self._sigma = positive_scale("sigma", sigma)
        self._start = whole_number("start", start)
        self._layout = one_of("layout", layout, LAYOUTS)
        self._spacing = one_of("spacing", spacing, SPACINGS)
        self._base = positive_scale("base", base)
        other_base = None if self._base == USUAL_BASE else self._base
        self._trained_length, self._turning = trained_length, turning
        if trained_length is not None:
            self._trained_length = whole_number("trained_length", trained_length)
        if turning is not None:
            self._turning = positive_scale("turning", turning)
        self._frequencies: tuple[float, ...] | None = None
        if frequencies is not None:
            f = np.asarray(real_array("frequencies", frequencies, last=self._D // 2), np.float64)
            others = (start or None, other_base, trained_length, turning)
            if f.ndim != 1 or any(value is not None for value in others):
                raise ParameterError(
                    f"frequencies must have shape ({self._D // 2},) and come without start, "
                    f"base, trained_length and turning, got shape {f.shape} and {others}."
                )
            self._frequencies, self._spacing = tuple(f.tolist()), GIVEN
            largest = max(map(abs, self._frequencies))
            if not math.isfinite(self._sigma * largest):
                raise ParameterError(
                    f"sigma times a frequency is beyond float64, {self._sigma!r} times "
                    f"{largest!r}: lower sigma."
                )
        options = (other_base, trained_length, turning)
        if self._spacing in GRIDS or any(value is not None for value in options):
            _ = self.increments  # checks what goes together
        elif self._start + self._D // 2 > LARGEST_COUNT:
            raise ParameterError(
                f"start + D / 2 = {self._start + self._D // 2} is beyond the {LARGEST_COUNT:,} "
                "primes below 2**32."
            )

    D = read_only[int]("_D", "Number of outputs.")
    sigma = read_only[float]("_sigma", "Scale of the frequencies.")
    start = read_only[int]("_start", "Index of the first prime.")
    layout = read_only[str]("_layout", "Order of the columns of a code.")
    spacing = read_only[str]("_spacing", "How frequencies are spread.")
    base = read_only[float](
        "_base", "Ratio of the highest to the lowest frequency of a logarithmic spacing."
    )

    trained_length = read_only[int | None](
        "_trained_length", "Positions in which the slowest frequency makes one turn, if given."
    )

    @cached_property
    def increments(self) -> np.ndarray:
        """Phase moved in one step, uint64 of shape (D / 2,), units of 2**-64 turn."""
        if self._frequencies is not None:
            values = frequency_increments(self._sigma * np.array(self._frequencies))
        else:
            values = spaced_increments(
                self._D // 2,
                self._spacing,
                sigma=self._sigma,
                start=self._start,
                base=self._base,
                trained_length=self._trained_length,
                turning=self._turning,
            )
        values.flags.writeable = False
        return values

    def waves(
        self,
        N: int,
        *,
        offset: int = 0,
        dtype: object = "float32",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the codes of positions offset, ..., offset + N - 1 (the paper's GenerateWaves).

        Of shape (N, D), float32 or float64.
        """
        n = whole_number("N", N)
        first = _position("offset", offset)
        _position("offset + N", first + n)
        target = output_array(out, (n, self._D), output_dtype(dtype))
        chosen = engine(n_phases=n * self._D // 2)
        for rows in blocks(n, 1):
            steps = np.arange(rows.start, rows.stop, dtype=np.uint64)
            steps += np.uint64(first & (2**64 - 1))
            chosen.static(self.increments, steps, target[rows], self._layout)
        return target

    def encode(
        self, t: object, *, dtype: object = "float32", out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the codes of integer positions, in any order: shape (*t.shape, D).

        Parameters
        ----------
        t : array_like of integers, any shape
            Within [-2**63, 2**63].
        dtype : {"float32", "float64"}, default="float32"
        out : ndarray of shape (*t.shape, D), optional
            C-contiguous array of that type to write into.
        """
        array = positions(t, "t")
        target = output_array(out, (*array.shape, self._D), output_dtype(dtype))
        steps, flat = apart(array, target).reshape(-1), target.reshape(-1, self._D)
        chosen = engine(n_phases=len(steps) * self._D // 2)
        for rows in blocks(len(steps), 1):
            wrapped = np.ascontiguousarray(steps[rows]).astype(np.uint64)
            chosen.static(self.increments, wrapped, flat[rows], self._layout)
        return target

    @overload
    def decode(self, z: object, *, n: int) -> np.ndarray: ...
    @overload
    def decode(
        self, z: object, *, n: int, return_similarity: bool = ..., return_certain: bool = ...
    ) -> np.ndarray | tuple[np.ndarray, ...]: ...
    def decode(
        self,
        z: object,
        *,
        n: int,
        return_similarity: bool = False,
        return_certain: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, ...]:
        """Return the position in [0, n) whose code is most similar to each row of z.

        Codes may be noisy or scaled. Up to n = 2**20 all positions are tried, a few thousand
        at a time; the smallest wins among equals. For larger n a lattice finds the position
        (see :mod:`primal.decoding`), in time that grows with log n.

        Up to n = 2**24 the answer is the best guess, which with noise, few phases or a small
        sigma may be wrong; `return_certain` says which ones are not guesses. Beyond, no guess is
        made.

        Parameters
        ----------
        z : array_like of shape (..., D)
        n : int
            Number of positions to consider, at least 1.
        return_similarity, return_certain : bool, default=False
            Also return what is listed below.

        Returns
        -------
        t : ndarray of shape (...), dtype=int64
            -1 where some pair (cos, sin) of the code is erased, so that it has no phase; and
            where n is above 2**24 and no position is certain.
        similarity : ndarray of shape (...), dtype=float64
            Cosine similarity of the best position found, NaN for erased codes. It says how noisy
            the code is, not whether another position is as similar.
        certain : ndarray of shape (...), dtype=bool
            Whether fewer than 2**-18 other positions are expected to fit as well: unrelated ones
            by chance, and those with similar codes, such as t + 1 where sigma is small, by how
            much worse they fit.

        Raises
        ------
        NotInvertibleError
            If n is above 2**24 and too large for D / 2 phases, whatever the noise.

        Examples
        --------
        >>> import primal
        >>> s = primal.StaticPrime(64)
        >>> s.decode(s.encode([123456789012]) + 0.2, n=10**12)
        array([123456789012])
        """
        n = whole_number("n", n, least=1)
        _position("n", n)
        extras = (
            flag("return_similarity", return_similarity),
            flag("return_certain", return_certain),
        )
        array = wave_array("z", z, last=self._D)
        queries = array.reshape(-1, self._D)
        best = np.full(len(queries), -1)
        similarity, certain = np.full(len(queries), np.nan), np.zeros(len(queries), dtype=bool)
        decoder = self._decoder(n) if return_certain or n > _LARGEST_PLAIN_SCAN else None
        step = max(1, min(n, _DECODE_ENTRIES // self._D))
        for first in range(0, len(queries), max(1, _DECODE_SCORES // step)):
            rows = slice(first, first + max(1, _DECODE_SCORES // step))
            codes = queries[rows].astype(np.float64)
            read = first + np.flatnonzero(have_phases(*wave_columns(codes, self._layout)))
            units = _unit_codes(codes[read - first])
            best[read], similarity[read], certain[read] = self._search(units, n, step, decoder)
        found = (best, similarity, certain)
        chosen = [found[0], *(f for f, wanted in zip(found[1:], extras, strict=True) if wanted)]
        shaped = tuple(values.reshape(array.shape[:-1]) for values in chosen)
        return shaped if len(shaped) > 1 else shaped[0]

    def grow(self, D: int) -> StaticPrime:
        """Return the same map with more primes appended; in the interleaved layout the old
        code is a prefix of the new one."""
        D = even_dimension(D)
        if D < self._D:
            raise ParameterError(f"a map of D = {self._D} cannot grow to {D}: ask for more.")
        if self._spacing in (*GRIDS, GIVEN):
            raise ParameterError(
                f"frequencies of spacing {self._spacing!r} depend on their number and cannot grow: "
                f"make a new map of D = {D}."
            )
        return self._from_spec({**self._fields(), "D": D})

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the spec and the increments."""
        return spec_digest(self.spec, self.increments)

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> StaticPrime:
        found = spec_fields("StaticPrime", fields, _field_names(fields))
        if "frequencies" in found:
            one_of("spacing of a spec with frequencies", found.pop("spacing"), (GIVEN,))
        return cls(**found)

    def _fields(self) -> dict[str, Any]:
        values = {name: getattr(self, f"_{name}") for name in _FIELDS}
        return {name: values[name] for name in _field_names(values)}

    def __repr__(self) -> str:
        rest = [f"{name}={value!r}" for name, value in self._fields().items() if name != "D"]
        return f"StaticPrime({', '.join([str(self._D), *rest])})"

    def _decoder(self, n: int) -> PositionDecoder | None:
        """Return the lattice for n positions; None when they are few and D is too small for it."""
        try:
            return position_decoder(self.increments.tobytes(), n)
        except NotInvertibleError:
            if n > _LARGEST_SCAN:
                raise
            return None

    def _search(
        self, units: np.ndarray, n: int, step: int, decoder: PositionDecoder | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return positions, their similarities and whether they are certain."""
        if decoder is None:
            return *self._nearest(units, n, step), np.zeros(len(units), dtype=bool)
        phases = phases_of(*wave_columns(units, self._layout))
        if n <= _LARGEST_PLAIN_SCAN:
            best, similarity = self._nearest(units, n, step)
            return best, similarity, decoder.certain(phases, best)
        best = decoder.find(phases)
        certain = decoder.certain(phases, best)
        similarity = (units * self.encode(best)).sum(axis=1, dtype=np.float64)
        doubtful = np.flatnonzero(~certain)
        if n > _LARGEST_SCAN:
            best[doubtful] = -1
        elif len(doubtful):
            best[doubtful], similarity[doubtful] = self._nearest(units[doubtful], n, step)
            certain[doubtful] = decoder.certain(phases[doubtful], best[doubtful])
        return best, similarity, certain

    def _nearest(self, units: np.ndarray, n: int, step: int) -> tuple[np.ndarray, np.ndarray]:
        best = np.zeros(len(units), dtype=np.int64)
        similarity = np.full(len(units), -np.inf)
        for first in range(0, n, step):
            scores = units @ self.waves(min(step, n - first), offset=first).T
            winner = scores.argmax(axis=1)
            score = np.take_along_axis(scores, winner[:, None], axis=1)[:, 0]
            better = score > similarity
            best[better] = first + winner[better]
            similarity[better] = score[better]
        return best, similarity


def _field_names(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the fields that a spec has, by those that are given."""
    common = ("D", "sigma", "start", "layout")
    if fields.get("spacing", "raw") == "raw":  # as before there were others, for its fingerprints
        return common
    if fields.get("frequencies") is not None:
        return (*common, "spacing", "frequencies")
    if fields.get("trained_length") is not None:
        return (*common, "spacing", "trained_length", "turning")
    return (*common, "spacing", "base")


def _unit_codes(codes: np.ndarray) -> np.ndarray:
    """Return rows of float64 with the length that makes their products similarities, float32."""
    # First by the largest entry, so that no square over- or underflows.
    units = codes / np.abs(codes).max(axis=1, keepdims=True)
    # The length of every code is sqrt(k).
    units /= np.sqrt(np.square(units).sum(axis=1, keepdims=True) * (codes.shape[1] / 2))
    return units.astype(np.float32)


def _position(name: str, value: object) -> int:
    number = whole_number(name, value, least=-(2**63))
    if number > 2**63:
        raise DataError(f"{name} must be at most 2**63, got {number}.")
    return number
