"""Fit the polynomials of ``primal.exact.waves`` and those of ``primal.edge``; print coefficients.

    python tools/fit_waves.py

With t in [-1, 1] for an eighth of a turn on either side of a quadrant point,

    cos(pi t / 4) = 1 + t**2 C(t**2),    sin(pi t / 4) = t S(t**2)         in float64,
                                         sin(pi t / 4) = pi t / 4 + t**3 S(t**2) in float32.

float64: S and C are interpolated at Chebyshev points in 60-digit arithmetic, then rounded.
float32: the coefficients are rounded one at a time, lowest first, and the remaining ones
fitted again for the smallest largest error (Lawson's weights), so that they make up for
the rounding of those already fixed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpmath import cos, lu_solve, matrix, mp, mpf, pi, sin, sqrt

from primal.edge._q15 import octant_q15

mp.dps = 60


def chebyshev_coefficients(function: Callable[[mpf], mpf], n: int) -> list[float]:
    """Return the polynomial of n terms through `function` at Chebyshev points of (0, 1)."""
    nodes = [(1 - cos(pi * (2 * i + 1) / (2 * n))) / 2 for i in range(n)]
    rows = [[y**j for j in range(n)] for y in nodes]
    return [float(c) for c in lu_solve(matrix(rows), matrix([function(y) for y in nodes]))]


def rounded_minimax(target: np.ndarray, factor: np.ndarray, n: int) -> list[float]:
    """Return float32 coefficients of `factor` times a polynomial in t**2 near `target`."""
    y = GRID**2
    fixed: list[float] = []
    while len(fixed) < n:
        rest = target - factor * sum(c * y**j for j, c in enumerate(fixed))
        columns = np.stack([factor * y**j for j in range(len(fixed), n)], axis=1)
        weights = np.ones_like(y)
        for _ in range(200):
            root = np.sqrt(weights)
            solution = np.linalg.lstsq(columns * root[:, None], rest * root, rcond=None)[0]
            weights *= np.abs(rest - columns @ solution) + 1e-30
            weights /= weights.sum()
        fixed.append(float(np.float32(solution[0])))
    return fixed


def integer_coefficients(is_sine: bool) -> tuple[list[int], float]:
    """Return coefficients of ``primal.edge._q15.waves_q15`` and their largest error, in its units.

    The best of 4000 steps from Taylor's series. A phase is off by up to half a unit of r
    before the polynomial sees it, which counts.
    """
    r = np.arange(2**16 + 1, dtype=np.uint32)
    edges = [np.clip((r + shift) / 2.0**16, 0, 1) * (np.pi / 4) for shift in (-0.5, 0.0, 0.5)]
    exact = [32767 * (np.sin(angle) if is_sine else np.cos(angle)) for angle in edges]

    def error(tried: tuple[int, ...], step: int = 1) -> float:
        found = octant_q15(r[::step], tried, tried)[is_sine]
        return max(float(np.abs(found - wave[::step]).max()) for wave in exact)

    q = np.pi / 4
    taylor = (
        (q, 8 * q**3 / 6, 8 * q**5 / 120)
        if is_sine
        else (2 * q**2 / 2, 32 * q**4 / 24, 32 * q**6 / 720)
    )
    best = tuple(round(2 * 32767 * c) for c in taylor)
    least = error(best)
    rng = np.random.default_rng(0)
    for _ in range(4000):
        tried = tuple(int(c) for c in best + rng.integers((-4, -30, -30), (5, 31, 31)))
        # Most are worse already at some of the phases.
        if error(tried, 64) < least and error(tried) < least:
            best, least = tried, error(tried)
    return list(best), least


GRID = np.cos(np.linspace(np.pi / 2, 0, 4001))


def main() -> None:
    angle = np.pi / 4 * GRID
    results = {
        "float32 sine": rounded_minimax(np.sin(angle) - angle, GRID**3, 3),
        "float32 cosine": rounded_minimax(np.cos(angle) - 1, GRID**2, 4),
        "float64 sine": chebyshev_coefficients(lambda y: sin(pi / 4 * sqrt(y)) / sqrt(y), 7),
        "float64 cosine": chebyshev_coefficients(lambda y: (cos(pi / 4 * sqrt(y)) - 1) / y, 7),
    }
    for name, coefficients in results.items():
        print(name)
        for coefficient in coefficients:
            print("   ", coefficient.hex())
    for name, is_sine in (("q15 cosine", False), ("q15 sine", True)):
        integers, error = integer_coefficients(is_sine)
        print(f"{name}\n    {integers}, off by at most {error:.3f} units of 1 / 32767")


if __name__ == "__main__":
    main()
