"""What every construction provides: rows on demand, evidence, and the values of its spec."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from primal._checks import require_memory, require_work, whole_number
from primal.codebooks._certificate import Evidence
from primal.codebooks._metrics import rms_from_energy
from primal.codebooks._toeplitz import lag_products, phasor_energy, real_energy
from primal.turns import round_turns, waves

__all__ = ["VIEWS", "Codes", "PhaseCodes", "check_sizes", "lag_evidence", "unit_amplitudes"]

# What becomes of the phases of a code: cosines and sines with one code for each position; one
# complex number for each phase; or two real codes for each position, z and i z.
VIEWS = ("real", "phasor", "paired")
_QUARTER_TURN = np.uint64(1 << 62)
_BLOCK_PHASES = 1 << 17
# Phases in 64 bits and what becomes of them, while a code is made.
_BYTES_PER_ENTRY = 64


class Codes(ABC):
    """N codes of D entries; subclasses are small and hold no rows.

    Class attributes `kind`, `field` ("real" or "complex"), `bipolar` (entries are +-D**-1/2)
    and `growable` describe the construction.
    """

    kind: str
    field: str = "real"
    bipolar: bool = False
    growable: bool = False
    N: int
    D: int

    @abstractmethod
    def write(self, indices: np.ndarray, out: np.ndarray) -> None:
        """Write the codes of int64 `indices` into `out`, of shape (n, D), any output type."""

    @abstractmethod
    def evidence(self) -> Evidence:
        """Return what is known about all pairs of codes."""

    def coherence(self) -> float:
        """Return the coherence alone, which may cost less than all evidence."""
        return self.evidence().mu

    def options(self) -> dict[str, object]:
        """Return the JSON values that, with N, D and field, rebuild these codes."""
        return {}


class PhaseCodes(Codes):
    """Codes made of phases: subclasses say how a position becomes k phases.

    With fewer phases than D allows, the rest of the entries is zero.
    """

    view: str = "real"
    amplitudes: np.ndarray | None = None  # float64 of shape (k,); by default k**-1/2 each

    @abstractmethod
    def turns(self, positions: np.ndarray) -> np.ndarray:
        """Return uint64 phases of shape (n, k) of uint64 `positions`."""

    @property
    @abstractmethod
    def n_frequencies(self) -> int:
        """Number of phases of one code."""

    def write(self, indices: np.ndarray, out: np.ndarray) -> None:
        step = max(1, _BLOCK_PHASES // self.n_frequencies)
        for first in range(0, len(indices), step):
            rows = slice(first, first + step)
            self._write_block(indices[rows].astype(np.uint64), out[rows])

    def _write_block(self, indices: np.ndarray, out: np.ndarray) -> None:
        positions, quarters = split_view(indices, self.view)
        turns = self.turns(positions) + quarters[:, None] * _QUARTER_TURN
        write_phases(turns, out, self.amplitudes)


def check_sizes(N: object, D: object) -> tuple[int, int]:
    """Return N and D as whole numbers for which a single code can be made.

    Raises
    ------
    ParameterError, MemoryLimitError
        If N is beyond 2**63, or one code does not fit into memory while it is made.
    """
    n = whole_number("N", N, least=1, most=2**63)
    d = whole_number("D", D, least=1)
    require_memory(_BYTES_PER_ENTRY * d, f"a code of D = {d} entries")
    return n, d


def split_view(indices: np.ndarray, view: str) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and quarter turns of uint64 indices: code 2 t + 1 is i times code 2 t."""
    if view == "paired":
        return indices >> np.uint64(1), indices & np.uint64(1)
    return indices, np.zeros_like(indices)


def write_phases(turns: np.ndarray, out: np.ndarray, amplitudes: np.ndarray | None) -> None:
    """Write unit vectors with the given phases into `out`, real or complex, zeros behind."""
    k = turns.shape[1]
    narrow = out.dtype in (np.float32, np.complex64)
    cos, sin = waves(round_turns(turns) if narrow else turns)
    scale = unit_amplitudes(k, amplitudes).astype(cos.dtype)
    if out.dtype.kind == "c":
        out[:, :k].real, out[:, :k].imag = cos * scale, sin * scale
        out[:, k:] = 0
    else:
        out[:, 0 : 2 * k : 2], out[:, 1 : 2 * k : 2] = cos * scale, sin * scale
        out[:, 2 * k :] = 0


def unit_amplitudes(k: int, amplitudes: np.ndarray | None) -> np.ndarray:
    """Return the amplitudes, or k**-1/2 each: either way their squares have the sum 1."""
    return np.full(k, 1.0 / math.sqrt(k)) if amplitudes is None else amplitudes


def lag_evidence(
    increments: np.ndarray, N: int, view: str, weights: np.ndarray | None = None
) -> Evidence:
    """Return exact evidence for N Toeplitz codes, by looking at every lag.

    Parameters
    ----------
    increments : ndarray of shape (k,), dtype=uint64
        Units of 2**-64 turn.
    N : int
        Number of codes.
    view : {"real", "phasor", "paired"}
    weights : ndarray of shape (k,), dtype=float64, optional
        For the view "real" only.
    """
    n_positions = -(-N // 2) if view == "paired" else N
    require_work(10 * len(increments) ** 2, f"the RMS of codes of {len(increments)} phases")
    mu, lag, turned, last_row = 0.0, None, False, 0.0
    for first, products in lag_products(increments, n_positions, weights):
        products = products[1:] if first == 0 else products
        if not len(products):
            continue
        last_row += float(np.square(np.abs(products)).sum())
        sizes, imaginary = _sizes(products, view)
        peak = float(sizes.max())
        if peak > mu + 1e-12:
            at = int(np.argmax(sizes > peak - 1e-12))
            mu, lag, turned = peak, max(first, 1) + at, bool(imaginary[at])
    energy = _energy(increments, N, view, weights, last_row)
    pair = None
    if lag is not None:
        # <i z_0, z_l> is the imaginary part of <z_0, z_l>.
        pair = (int(turned), 2 * lag) if view == "paired" else (0, lag)
    proof = f"all lags: each of the {n_positions - 1} was computed in float64"
    return Evidence(mu, pair, lag, rms_from_energy(energy, N), True, proof)


def _sizes(products: np.ndarray, view: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosine that counts at every lag, and where it is the imaginary part."""
    if view == "phasor":
        return np.abs(products), np.zeros(len(products), dtype=bool)
    real = np.abs(products.real)
    if view == "real":
        return real, np.zeros(len(products), dtype=bool)
    imaginary = np.abs(products.imag)
    return np.maximum(real, imaginary), imaginary > real


def _energy(
    increments: np.ndarray, N: int, view: str, weights: np.ndarray | None, last_row: float
) -> float:
    if view == "real":
        return real_energy(increments, N, weights)
    if view == "phasor":
        return phasor_energy(increments, N)
    # z and i z together double the frame operator of z; an odd code out adds its own row,
    # whose products are those at every lag.
    whole = 2.0 * phasor_energy(increments, N // 2) if N > 1 else 0.0
    return whole + (2.0 * last_row + 1.0 if N % 2 else 0.0)
