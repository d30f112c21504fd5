"""The real-number definition of a phase, in 200-bit arithmetic and shared by several tests."""

import mpmath
import numpy as np

from primal.bases import Basis

PRECISION = 200


def defined_frequencies(basis: Basis) -> list[list[mpmath.mpf]]:
    """sigma * W: from square roots for `paper` and `signed`, else what the table holds."""
    table = basis.table
    k, d = table.shape
    with mpmath.workprec(PRECISION):
        if basis.name not in ("paper", "signed"):
            return [
                [
                    mpmath.ldexp(int(mantissa), int(table.exponents[i]) - 62)
                    for mantissa in table.mantissas[i]
                ]
                for i in range(k)
            ]
        p = first_primes(k * d)
        sigma = basis.sigma if isinstance(basis.sigma, tuple) else (basis.sigma,) * k
        sign = np.where(table.mantissas < 0, -1, 1).tolist()
        return [
            [sign[i][j] * mpmath.mpf(sigma[i]) * mpmath.sqrt(p[i * d + j]) for j in range(d)]
            for i in range(k)
        ]


def exact_phases(basis: Basis, x: np.ndarray) -> list[list[mpmath.mpf]]:
    """sum_j x_j f_ij in turns, for every row of x and every frequency."""
    frequencies = defined_frequencies(basis)
    with mpmath.workprec(PRECISION):
        rows = [[mpmath.mpf(value) for value in row] for row in x.tolist()]
        return [[mpmath.fdot(row, f) for f in frequencies] for row in rows]


def turn_errors(phases: list[list[mpmath.mpf]], turns: np.ndarray) -> np.ndarray:
    """Distance on the circle between exact phases and fixed-point turns, in turns."""
    bits = turns.dtype.itemsize * 8
    return circle_distances(
        phases, [[mpmath.ldexp(int(u), -bits) for u in row] for row in turns]
    )


def circle_distances(phases: list[list[mpmath.mpf]], found: list[list[object]]) -> np.ndarray:
    """Distance on the circle between exact phases and any other numbers, in turns."""
    with mpmath.workprec(PRECISION):
        return np.array(
            [
                [float(abs(_nearest_zero(a - b))) for a, b in zip(*pair, strict=True)]
                for pair in zip(phases, found, strict=True)
            ]
        )


def first_primes(n: int) -> list[int]:
    """Primes by trial division: nothing of the library is used to judge it."""
    found: list[int] = []
    candidate = 2
    while len(found) < n:
        if all(candidate % p for p in found if p * p <= candidate):
            found.append(candidate)
        candidate += 1
    return found


def _nearest_zero(turns: mpmath.mpf) -> mpmath.mpf:
    return turns - mpmath.nint(turns)
