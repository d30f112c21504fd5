"""Codes made of phases, and what the lags of Toeplitz codes tell about all pairs."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from primal._checks import require_work
from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import Codebook
from primal.codebooks._metrics import rms_from_energy
from primal.codebooks._toeplitz import lag_products, phasor_energy, real_energy
from primal.engines import row_blocks
from primal.turns import round_turns, static_turns, waves

# What becomes of the phases of a code: cosines and sines with one code for each position; one
# complex number for each phase; or two real codes for each position, z and i z.
VIEWS = ("real", "phasor", "paired")
_QUARTER_TURN = np.uint64(1 << 62)
_BLOCK_PHASES = 1 << 17


class PhaseCodes(Codebook):
    """Codes made of phases: subclasses say how a position becomes k phases.

    With fewer phases than D allows, the rest of the entries is zero.
    """

    k: int
    real_view: str = "real"
    amplitudes: np.ndarray | None = None  # float64 of shape (k,); by default k**-1/2 each

    def __init__(self, N: int, D: int, field: str) -> None:
        super().__init__(N, D, field)
        self.view = "phasor" if field == "complex" else self.real_view

    @abstractmethod
    def turns(self, positions: np.ndarray) -> np.ndarray:
        """Return uint64 phases of shape (n, k) of uint64 `positions`."""

    @property
    def n_positions(self) -> int:
        """Number of positions that the N codes take."""
        return -(-self.N // 2) if self.view == "paired" else self.N

    def _write(self, indices: np.ndarray, out: np.ndarray) -> None:
        for rows in row_blocks(len(indices), self.k, _BLOCK_PHASES):
            self._write_block(indices[rows].astype(np.uint64), out[rows])

    def _write_block(self, indices: np.ndarray, out: np.ndarray) -> None:
        positions, quarters = split_view(indices, self.view)
        turns = self.turns(positions) + quarters[:, None] * _QUARTER_TURN
        write_phases(turns, out, self.amplitudes)


class ToeplitzCodes(PhaseCodes):
    """Position t has the phases t times the increments, in units of 2**-64 turn."""

    increments: np.ndarray
    weights: np.ndarray | None = None  # squares of the amplitudes, with sum 1

    def turns(self, positions: np.ndarray) -> np.ndarray:
        return static_turns(positions, self.increments)

    def _evidence(self) -> Evidence:
        return lag_evidence(self.increments, self.N, self.view, self.weights)


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

    Weights, squares of the amplitudes, are for the view "real" only.
    """
    n_positions = -(-N // 2) if view == "paired" else N
    require_work(10 * len(increments) ** 2, f"the RMS of codes of {len(increments)} phases")
    coherence, lag, turned, last_row = 0.0, None, False, 0.0
    for first, products in lag_products(increments, n_positions, weights):
        products = products[1:] if first == 0 else products
        if not len(products):
            continue
        last_row += float(np.square(np.abs(products)).sum())
        sizes, imaginary = sizes_in_view(products, view)
        peak = float(sizes.max())
        if peak > coherence + 1e-12:
            at = int(np.argmax(sizes > peak - 1e-12))
            coherence, lag, turned = peak, max(first, 1) + at, bool(imaginary[at])
    if view == "real":
        energy = real_energy(increments, N, weights)
    elif view == "phasor":
        energy = phasor_energy(increments, N)
    else:
        # z and i z together double the frame operator of z; an odd code out adds its own row,
        # whose products are those at every lag.
        energy = 2.0 * phasor_energy(increments, N // 2) if N > 1 else 0.0
        energy += 2.0 * last_row + 1.0 if N % 2 else 0.0
    pair = None
    if lag is not None:
        # <i z_0, z_l> is the imaginary part of <z_0, z_l>.
        pair = (int(turned), 2 * lag) if view == "paired" else (0, lag)
    proof = f"all lags: each of the {n_positions - 1} was computed in float64"
    return Evidence(coherence, pair, rms_from_energy(energy, N), proof, lag)


def sizes_in_view(products: np.ndarray, view: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosine that counts of every product, and where it is the imaginary part."""
    real, imaginary = np.abs(products.real), np.abs(products.imag)
    if view == "paired":
        return np.maximum(real, imaginary), imaginary > real
    return np.abs(products) if view == "phasor" else real, np.zeros(products.shape, dtype=bool)


def bases_rms(N: int, size: int) -> float:
    """Return the RMS cosine of N codes that fill one orthonormal basis of `size` after another."""
    bases, rest = divmod(N, size)
    # The frame operator is `bases` times the identity and a projection of rank `rest`.
    return rms_from_energy(float(bases * bases * size + 2 * bases * rest + rest), N)
