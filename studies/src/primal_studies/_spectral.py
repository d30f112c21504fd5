"""Pseudo-spectral solvers of periodic equations: Fourier modes, ETDRK4 in time, NumPy alone.

They are the truth of equations without a closed form, and the peer that networks and features have
to be compared with: for smooth periodic problems nothing simpler is as accurate for its time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["burgers", "etdrk4", "start_flow", "vorticity"]

Spectrum = np.ndarray
N_TIMES = 20  # equal intervals of the time from 0 to 1 at which solutions are kept
# Waves of the stream function at the start: wave numbers, amplitude, phase. They have different
# lengths, so that they drive each other: the flow has no closed form.
WAVES = ((1, 1, 0.4, 0.3), (2, -1, 0.25, 1.1), (0, 2, 0.2, 2.0), (1, 0, 0.5, 0.0))


def etdrk4(
    linear: np.ndarray, bend: Callable[[Spectrum], Spectrum], dt: float
) -> Callable[[Spectrum], Spectrum]:
    """Return a step of v' = linear v + bend(v) by the scheme of Kassam and Trefethen (2005).

    `linear` holds one real number for each mode and broadcasts against v.
    """
    full, half = np.exp(dt * linear), np.exp(dt * linear / 2)
    # Means over a circle, because the formulas lose all digits near linear = 0.
    r = dt * linear[..., None] + np.exp(1j * np.pi * (np.arange(1, 33) - 0.5) / 32)
    q = dt * ((np.exp(r / 2) - 1) / r).mean(axis=-1).real
    f1 = dt * ((-4 - r + np.exp(r) * (4 - 3 * r + r**2)) / r**3).mean(axis=-1).real
    f2 = dt * ((2 + r + np.exp(r) * (r - 2)) / r**3).mean(axis=-1).real
    f3 = dt * ((-4 - 3 * r - r**2 + np.exp(r) * (4 - r)) / r**3).mean(axis=-1).real

    def step(v: Spectrum) -> Spectrum:
        n0 = bend(v)
        a = half * v + q * n0
        na = bend(a)
        b = half * v + q * na
        nb = bend(b)
        c = half * a + q * (2 * nb - n0)
        return full * v + n0 * f1 + 2 * (na + nb) * f2 + bend(c) * f3

    return step


def burgers(points: np.ndarray, viscosity: float, n: int, steps: int) -> np.ndarray:
    """Return u of u_t + u u_y = viscosity u_yy on y from -1 to 1, from -sin(pi y).

    Parameters
    ----------
    points : ndarray of shape (m, 2), dtype=float64
        (y + 1) / 2 and the time, both from 0 to 1; times are multiples of 1 / N_TIMES.
    n, steps : int
        Points of the grid, and steps of time.
    """
    k = math.pi * np.arange(n // 2 + 1)
    slope = np.where(k < 2 / 3 * k[-1], -0.5j * k, 0.0)  # products of kept modes do not alias

    def bend(v: Spectrum) -> Spectrum:
        return slope * np.fft.rfft(np.fft.irfft(v, n) ** 2)

    start = np.fft.rfft(np.sin(2 * math.pi * np.arange(n) / n))
    spectra = _marched(etdrk4(-viscosity * k**2, bend, 1 / steps), start, steps)
    waves = np.exp(2j * math.pi * points[:, :1] * np.arange(n // 2 + 1))
    return np.einsum("mk,mk->m", _doubled(spectra)[_at(points)], waves).real / n


def vorticity(
    points: np.ndarray, viscosity: float, duration: float, n: int, steps: int
) -> np.ndarray:
    """Return w of w_t + v . grad w = viscosity lap w on the periodic square of side 2 pi.

    v is the velocity without divergence whose curl is w; :func:`start_flow` is the start.

    Parameters
    ----------
    points : ndarray of shape (m, 3), dtype=float64
        x and y over 2 pi and the time over `duration`, which is a multiple of 1 / N_TIMES.
    n, steps : int
        Points of the grid on each side, and steps of time.
    """
    kx, ky = np.fft.fftfreq(n, 1 / n)[:, None], np.arange(n // 2 + 1)[None]
    square = kx**2 + ky**2
    inverse = 1 / np.where(square == 0, np.inf, square)
    kept = (np.abs(kx) < n / 3) & (ky < n / 3)  # products of kept modes do not alias

    def bend(v: Spectrum) -> Spectrum:
        psi = inverse * v
        parts = np.stack([1j * ky * psi, -1j * kx * psi, 1j * kx * v, 1j * ky * v])
        across, along, by_x, by_y = np.fft.irfft2(parts, (n, n))
        return -np.fft.rfft2(across * by_x + along * by_y) * kept

    x = 2 * math.pi * np.arange(n) / n
    start = np.fft.rfft2(start_flow(x[:, None], x[None])[0])
    spectra = _marched(etdrk4(-viscosity * square, bend, duration / steps), start, steps)
    found = np.empty(len(points))
    at = _at(points)
    for time, spectrum in enumerate(_doubled(spectra)):
        mine = at == time
        along, across = (
            np.exp(2j * math.pi * points[mine, j : j + 1] * k.ravel())
            for j, k in enumerate((kx, ky))
        )
        found[mine] = np.einsum("mi,ij,mj->m", along, spectrum, across, optimize=True).real
    return found / n**2


def start_flow(x: Any, y: Any, cos: Callable[[Any], Any] = np.cos) -> tuple[Any, Any]:
    """Return vorticity and stream function at the start, from arrays or tensors of radians."""
    waves = [(i * i + j * j, a * cos(i * x + j * y + phase)) for i, j, a, phase in WAVES]
    return sum(square * wave for square, wave in waves), sum(wave for _, wave in waves)


def _marched(step: Callable[[Spectrum], Spectrum], v: Spectrum, steps: int) -> np.ndarray:
    """Return the spectra at all N_TIMES + 1 times."""
    kept = [v]
    for number in range(1, steps + 1):
        v = step(v)
        if number * N_TIMES % steps == 0:
            kept.append(v)
    return np.array(kept)


def _at(points: np.ndarray) -> np.ndarray:
    return np.rint(points[:, -1] * N_TIMES).astype(int)


def _doubled(spectra: np.ndarray) -> np.ndarray:
    """Return spectra whose sum over the last axis, without conjugates, is the real signal."""
    factors = np.full(spectra.shape[-1], 2.0)
    factors[[0, -1]] = 1.0
    return spectra * factors
