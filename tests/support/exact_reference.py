"""What a phase is: the real number in 200-bit arithmetic, and the bits in Python integers."""

import math
from fractions import Fraction

import mpmath
import numpy as np

from primal.exact import Basis, FrequencyTable, HadamardTable

PRECISION = 200


def defined_frequencies(basis: Basis) -> list[list[mpmath.mpf]]:
    """sigma * W: from square roots for `paper` and `signed`, else what the table holds."""
    table = basis.table
    k, d = table.shape
    with mpmath.workprec(PRECISION):
        if isinstance(table, HadamardTable):
            return [
                [mpmath.mpf(int(f)) * table.scale for f in row] for row in hadamard_matrix(table)
            ]
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


def defined_turns(
    table: FrequencyTable | HadamardTable, x: np.ndarray, *, wide: bool = False
) -> np.ndarray:
    """The 64-bit turns of every row and frequency, by the definition and nothing else.

    `wide` is for the basis `hadamard`, whose float64 features come from words of 128 bits.
    With 2**a above every |x_j| and frequencies F_j * 2**(g - 62), the phase is
    floor(sum_j X_j F_j * 2**(a + g - 60)) mod 2**64, where X_j is x_j * 2**(62 - a) rounded.
    """
    if isinstance(table, HadamardTable):
        return _hadamard_turns(table, x, 128 if wide else 64)
    F = table.mantissas.astype(object)
    turns = np.empty((len(x), len(F)), dtype=np.uint64)
    for r, row in enumerate(x.tolist()):
        a = math.frexp(max(map(abs, row)))[1]
        # 2**62 times a number below one: whole, or with a fraction that float64 holds.
        X = np.array([round(math.ldexp(value, 62 - a)) for value in row], dtype=object)
        for i, total in enumerate((F * X).sum(axis=1)):
            shift = a + int(table.exponents[i]) - 60
            shifted = int(total) << shift if shift >= 0 else int(total) >> -shift
            turns[r, i] = shifted % 2**64
    return turns


def hadamard_matrix(table: HadamardTable) -> np.ndarray:
    """H S3 H S2 H S1 times the factors of its rows, as one matrix of Python integers."""
    k, d = table.shape
    i = np.arange(table.m)
    H = 1 - 2 * (np.bitwise_count(i[:, None] & i) % 2).astype(np.int64)
    signs = np.where(table.signs == 0, 1, -1)
    blocks = [
        H * signs[2 + 2 * b] @ H * signs[1 + 2 * b] @ H * signs[0] for b in range(table.n_blocks)
    ]
    F = np.concatenate(blocks).astype(object) * table.factors.astype(object)[:, None]
    return F[table.skip : table.skip + k, :d]


def _hadamard_turns(table: HadamardTable, x: np.ndarray, bits: int) -> np.ndarray:
    F, d = hadamard_matrix(table), table.shape[1]
    X = np.array([[hadamard_word(v, table.scale, bits) for v in row] for row in x.tolist()], object)
    half = 1 << (bits - 64) >> 1
    turns = (X.reshape(len(x), d) @ F.T + half) // 2 ** (bits - 64) % 2**64
    return turns.astype(np.uint64)


def hadamard_word(x: float, scale: float, bits: int) -> int:
    """sign(x) floor(|x| scale 2**bits + 1/2), not yet wrapped."""
    size = math.floor(Fraction(abs(x)) * Fraction(scale) * 2**bits + Fraction(1, 2))
    return size if x >= 0 else -size


def rounded(turns: np.ndarray) -> np.ndarray:
    """64-bit turns to the nearest 2**-32 turn, the upper one of two."""
    units = [((u + 2**31) >> 32) % 2**32 for u in turns.ravel().tolist()]
    return np.array(units, dtype=np.uint32).reshape(turns.shape)


def rows_near_the_middle(table: FrequencyTable, x: np.ndarray) -> np.ndarray:
    """Rows like those of x, one phase of each as near as float64 allows to an odd 2**-33 turn.

    There a phase is hardest to round to 2**-32 turn: a rounded product may be on either side.
    """
    k, d = table.shape
    result = x.copy()
    for r, row in enumerate(x.tolist()):
        i = r % k
        unit = Fraction(2) ** (int(table.exponents[i]) - 62)
        f = [int(mantissa) * unit for mantissa in table.mantissas[i]]
        phase = sum(Fraction(value) * frequency for value, frequency in zip(row, f, strict=True))
        middle = Fraction(math.floor(phase * 2**32) * 2 + 1, 2**33)
        j = r % d
        result[r, j] = float(Fraction(row[j]) + (middle - phase) / f[j])
    return result


def turn_errors(phases: list[list[mpmath.mpf]], turns: np.ndarray) -> np.ndarray:
    """Distance on the circle between exact phases and fixed-point turns, in turns."""
    bits = turns.dtype.itemsize * 8
    return circle_distances(phases, [[mpmath.ldexp(int(u), -bits) for u in row] for row in turns])


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
