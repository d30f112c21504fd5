"""Kinds ``static`` and ``offset``, and what they share with ``tuned``, ``weighted``, ``shadow``.

All are Toeplitz codes of square roots of primes. They differ in which primes they take and in
how these are weighted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from primal._checks import one_of, require_work, whole_number
from primal.codebooks._codebook import Codebook, SearchBudget, check_sizes
from primal.codebooks._phase_codes import VIEWS, ToeplitzCodes, unit_amplitudes
from primal.engines import engine, row_blocks
from primal.errors import ParameterError, SpecError
from primal.turns import floor_roots, prime_slice, waves

# Starts that are compared.
_DEFAULT_OFFSETS = 1000
_BLOCK_ENTRIES = 1 << 20


class PrimeCodes(ToeplitzCodes):
    """Position t has the phases t * sqrt(p), for primes p, from a sieve or in a list to be checked.

    The view of a real code may be "paired" too.
    """

    def __init__(self, N: int, D: int, field: str, primes: object, view: str | None = None) -> None:
        super().__init__(N, D, field)
        self.view = self.view if view is None else one_of("view", view, VIEWS)
        if (self.view == "phasor") != (field == "complex"):
            raise SpecError(f"codes of field {field!r} have no view {view!r}.")
        if not isinstance(primes, np.ndarray):
            primes = np.array(checked_primes(primes, D if field == "complex" else D // 2))
        self.primes = primes.astype(np.uint64)
        self.increments, self.k = floor_roots(self.primes, 1.0, 64), len(self.primes)

    def _write_block(self, indices: np.ndarray, out: np.ndarray) -> None:
        if self.view == "paired":
            super()._write_block(indices, out)
            return
        # The engine writes cosine and sine side by side: a real code, or complex numbers.
        real = np.dtype(np.float32 if out.dtype in (np.float32, np.complex64) else np.float64)
        codes = np.empty((len(indices), 2 * self.k), dtype=real)
        engine().static(self.increments, indices, codes, "interleaved")
        codes *= np.repeat(unit_amplitudes(self.k, self.amplitudes), 2).astype(real)
        flat = codes.view(out.dtype)
        out[:, : flat.shape[1]] = flat
        out[:, flat.shape[1] :] = 0


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


class Offset(Static):
    """The start in 0, ..., steps - 1 with the smallest coherence at N.

    A start is chosen for N codes; with many more its advantage is gone. Late starts are bad:
    roots of neighboring primes far out are almost equal.
    """

    kind = "offset"

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> Offset:
        n_offsets = _DEFAULT_OFFSETS if budget.steps is None else budget.steps
        k = n_primes(D, field)
        require_work(10 * N * (n_offsets + k), f"a search of {n_offsets} starts for {N} codes")
        # The sums of all starts come from running sums over the primes, so that a thousand starts
        # cost little more than one list of n_offsets + k primes.
        increments = floor_roots(prime_slice(0, n_offsets + k - 1), 1.0, 64)
        worst = np.zeros(n_offsets)
        for rows in row_blocks(N - 1, len(increments), _BLOCK_ENTRIES):
            lags = np.arange(1 + rows.start, 1 + rows.stop, dtype=np.uint64)
            cos, sin = waves(lags[:, None] * increments)
            sums = _window_sums(cos, k)
            values = np.hypot(sums, _window_sums(sin, k)) if field == "complex" else np.abs(sums)
            np.maximum(worst, values.max(axis=0), out=worst)
            budget.progress(1 + rows.stop, N)
        return cls(N, D, field, int(worst.argmin()))


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


def _window_sums(values: np.ndarray, k: int) -> np.ndarray:
    """Return the sums of k neighbors along the last axis."""
    running = np.cumsum(values, axis=1)
    sums = running[:, k - 1 :].copy()
    sums[:, 1:] -= running[:, :-k]
    return sums
