"""Kinds ``static``, ``offset``, ``tuned``, ``weighted`` and ``shadow``: square roots of primes.

They differ in which primes they take and in how these are weighted; all are Toeplitz.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from primal._checks import whole_number
from primal.codebooks._certificate import Evidence
from primal.codebooks._codes import PhaseCodes, lag_evidence, unit_amplitudes
from primal.engines import engine
from primal.errors import ParameterError
from primal.turns import floor_roots, prime_slice, static_turns

__all__ = ["PrimeCodes", "consecutive_primes", "n_primes"]


class PrimeCodes(PhaseCodes):
    """Position t has the phases t * sqrt(p), for a list of primes p.

    Parameters
    ----------
    kind : str
    N, D : int
    primes : sequence of int
        Distinct, below 2**32; at most as many as D has room for.
    view : {"real", "phasor", "paired"}, default="real"
    weights : sequence of float, optional
        Squares of the amplitudes, with sum 1.
    start : int, optional
        Index of the first prime when they are consecutive: the spec then needs no list.
    """

    def __init__(
        self,
        kind: str,
        N: int,
        D: int,
        primes: Sequence[int] | np.ndarray,
        *,
        view: str = "real",
        weights: Sequence[float] | np.ndarray | None = None,
        start: int | None = None,
    ) -> None:
        self.kind, self.N, self.D, self.view, self.start = kind, N, D, view, start
        self.field = "complex" if view == "phasor" else "real"
        self.growable = start is not None
        self.primes = np.asarray(primes, dtype=np.uint64)
        self.increments = floor_roots(self.primes, 1.0, 64)
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        self.amplitudes = None if self.weights is None else np.sqrt(self.weights)

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

    def evidence(self) -> Evidence:
        return lag_evidence(self.increments, self.N, self.view, self.weights)

    def options(self) -> dict[str, object]:
        if self.start is not None:
            return {"start": self.start}
        listed: dict[str, object] = {"primes": self.primes.tolist()}
        if self.weights is not None:
            listed["weights"] = self.weights.tolist()
        if self.kind == "shadow":
            listed["view"] = self.view
        return listed


def consecutive_primes(kind: str, N: int, D: int, field: str, *, start: int = 0) -> PrimeCodes:
    """Return codes from the primes number `start`, `start` + 1, ...: ``static`` and ``offset``."""
    k = n_primes(D, field)
    start = whole_number("start", start)
    view = "phasor" if field == "complex" else "real"
    return PrimeCodes(kind, N, D, prime_slice(start, start + k), view=view, start=start)


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
