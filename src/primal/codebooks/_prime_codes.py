"""Kind ``static``, and what it shares with ``offset``, ``tuned``, ``weighted`` and ``shadow``.

All are Toeplitz codes of square roots of primes. They differ in which primes they take and in
how these are weighted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from primal._checks import one_of, whole_number
from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import Codebook, check_sizes
from primal.codebooks._phase_codes import VIEWS, PhaseCodes, lag_evidence, unit_amplitudes
from primal.engines import engine
from primal.errors import ParameterError, SpecError
from primal.turns import floor_roots, prime_slice, static_turns

__all__ = ["PrimeCodes", "Static", "checked_primes", "n_primes"]


class PrimeCodes(PhaseCodes):
    """Position t has the phases t * sqrt(p), for a list of primes p.

    Parameters
    ----------
    N, D : int
    field : {"real", "complex"}
    primes : list of int, or ndarray of the primes of a sieve
        Distinct, below 2**32; at most as many as D has room for.
    view : {"real", "phasor", "paired"}, optional
    """

    weights: np.ndarray | None = None  # squares of the amplitudes, with sum 1

    def __init__(self, N: int, D: int, field: str, primes: object, view: str | None = None) -> None:
        super().__init__(N, D, field)
        plain = "phasor" if field == "complex" else "real"
        self.view = plain if view is None else one_of("view", view, VIEWS)
        if (self.view == "phasor") != (field == "complex"):
            raise SpecError(f"codes of field {field!r} have no view {view!r}.")
        if not isinstance(primes, np.ndarray):
            primes = np.array(checked_primes(primes, D if field == "complex" else D // 2))
        self.primes = primes.astype(np.uint64)
        self.increments = floor_roots(self.primes, 1.0, 64)

    @property
    def n_frequencies(self) -> int:
        return len(self.primes)

    def turns(self, positions: np.ndarray) -> np.ndarray:
        return static_turns(positions, self.increments)

    def _write_block(self, indices: np.ndarray, out: np.ndarray) -> None:
        if self.view == "paired":
            super()._write_block(indices, out)
            return
        # The engine writes cosine and sine side by side: a real code, or complex numbers.
        width = 2 * self.n_frequencies
        real = np.dtype(np.float32 if out.dtype in (np.float32, np.complex64) else np.float64)
        codes = np.empty((len(indices), width), dtype=real)
        engine().static(self.increments, indices, codes, "interleaved")
        codes *= np.repeat(unit_amplitudes(self.n_frequencies, self.amplitudes), 2).astype(real)
        flat = codes.view(out.dtype)
        out[:, : flat.shape[1]] = flat
        out[:, flat.shape[1] :] = 0

    def _evidence(self) -> Evidence:
        return lag_evidence(self.increments, self.N, self.view, self.weights)


class Static(PrimeCodes):
    """Consecutive primes from number `start` on: the paper's StaticPrime."""

    kind, _options, growable = "static", ("start",), True

    def __init__(self, N: int, D: int, field: str, start: int = 0) -> None:
        self.start = whole_number("start", start)
        primes = prime_slice(self.start, self.start + n_primes(D, field))
        super().__init__(N, D, field, primes)

    def grow(self, *, N: int | None = None, D: int | None = None) -> Codebook:
        N, D = check_sizes(self.N if N is None else N, self.D if D is None else D)
        for name, old, new in (("N", self.N, N), ("D", self.D, D)):
            if new < old:
                raise ParameterError(f"{name} = {old} cannot grow to {new}: ask for more.")
        return type(self)(N, D, self.field, self.start)


def checked_primes(values: object, most: int) -> list[int]:
    """Return a list of at most so many distinct primes, for instance of a spec."""
    if not isinstance(values, Sequence) or isinstance(values, str) or not 0 < len(values) <= most:
        raise SpecError(f"the primes of a codebook must be a list of at most {most}.")
    numbers = [whole_number("a prime of a codebook", value, least=2) for value in values]
    if len(set(numbers)) != len(numbers) or max(numbers) >= 2**32:
        raise SpecError("the primes of a codebook must be distinct and below 2**32.")
    return numbers


def n_primes(D: int, field: str) -> int:
    """Return how many phases fill a code: D complex numbers, or D / 2 cosines and sines."""
    if field == "complex":
        return D
    if D % 2:
        raise ParameterError(
            f"D must be even (cosines and sines come in pairs), got {D}: use "
            f"{f'{D - 1} or ' if D > 1 else ''}{D + 1}, or kind='auto', which may leave one "
            "entry zero."
        )
    return D // 2
