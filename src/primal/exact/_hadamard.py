"""``hadamard``: frequencies without a matrix, by signed Hadamard transforms of whole numbers.

Inputs are scaled to 64-bit words, transformed and scaled again. Only turns modulo one matter, so
the words may wrap: every step is exact, in any order, on any machine. With m a power of two,
H the m x m matrix of +1 and -1 whose entry (i, j) is the parity of i & j, and b = j // m:

    X_i    = sign(x_i) floor(|x_i| c 2**64 + 1/2)      c = sigma / (2**f m); zero for i >= d
    Y      = H S3_b H S2_b (H S1 X)                    mod 2**64
    turn_j = k_j Y_(j mod m)                           mod 2**64, in units of 2**-64 turn

S1, S2_b, S3_b are signs: minus where the fraction of M sqrt(p) is below 1/2, a prime for each. The
first round is the same for all blocks. Rows of H S3 H S2 H S1 are orthogonal and m**1.5 long;
k_j = round(2**f r_j / sqrt(m)) gives them the length r_j of Gaussian vectors in m dimensions, of
which x has d.

Frequencies are whole numbers of c, so some shifts of x, from about 2**f / (8 sigma) on, change
every phase by whole turns: no decoder can tell such inputs apart. More fraction bits f make them
rarer, and the rounding of X larger: it moves a phase by at most 2**-65 m sqrt(d m) k_j turns
(2**-129 with the 128-bit words of float64 features), by less than 2**-36 in the mean square with
f = 28 - ceil(1.5 log2(m)), or 8 if that is more.
"""

from __future__ import annotations

import math

import numpy as np

from primal._checks import require_memory
from primal._lazy import cached_property
from primal.exact._laws import chi_lengths, mixture_scales
from primal.exact._primes import prime_slice
from primal.exact._root_tables import scrambled_fractions
from primal.exact._table import FrequencyTable, Limits

# Degrees of the mixtures whose rows have other lengths, see `mixture_scales`; 0 for the Gaussian
# kernel.
HADAMARD_KERNELS = {
    "hadamard": 0,
    "hadamard-matern12": -1,
    "hadamard-matern32": -3,
    "hadamard-matern52": -5,
    "hadamard-rational12": 1,
    "hadamard-rational1": 2,
    "hadamard-rational2": 4,
}
# With fewer rows there are too few patterns of signs, and the kernel error does not fall.
_LEAST_ROWS = 64
_MINUS, _PLUS = ~np.uint64(0), np.uint64(0)


class HadamardTable(Limits):
    """What engines need of the basis: signs, row factors and a scale.

    Parameters
    ----------
    shape : tuple of int
        (k, d): numbers of frequencies and of inputs.
    skip : int
        Rows of the first block that come before the first frequency.
    scale : float
        c of the definition.
    signs : ndarray of shape (1 + 2 n_blocks, m), dtype=uint64
        All bits set where the sign is minus; S1, S2_0, S3_0, S2_1, ...; becomes read-only.
    factors : ndarray of shape (n_blocks m,), dtype=uint64
        k_j; zero past the last frequency; becomes read-only.

    Examples
    --------
    >>> from primal.exact import Basis
    >>> table = Basis("hadamard", 100, 256).table
    >>> table.shape, table.m, table.n_blocks
    ((256, 100), 128, 2)
    """

    def __init__(
        self,
        shape: tuple[int, int],
        skip: int,
        scale: float,
        signs: np.ndarray,
        factors: np.ndarray,
    ) -> None:
        self.shape, self.skip, self.scale = shape, skip, scale
        self.signs, self.factors = signs, factors
        self.m, self.n_blocks = signs.shape[1], len(signs) // 2
        signs.flags.writeable = factors.flags.writeable = False

    @classmethod
    def of(cls, name: str, d: int, k: int, sigma: float) -> HadamardTable:
        """Return the table of a basis, of rows from primes."""
        m = max(_LEAST_ROWS, 1 << (d - 1).bit_length())
        n_blocks = -(-k // m)
        fraction_bits = max(8, 28 - math.ceil(1.5 * math.log2(m)))
        fractions = scrambled_fractions(prime_slice(0, (1 + 2 * n_blocks) * m))
        signs = np.where(fractions < np.uint64(1 << 63), _MINUS, _PLUS).reshape(-1, m)
        lengths = chi_lengths(m, k) / np.sqrt(np.float64(m))
        degrees = HADAMARD_KERNELS[name]
        if degrees:
            lengths = lengths * mixture_scales(degrees, k, prime_index=d + 2)
        factors = np.zeros(n_blocks * m, dtype=np.uint64)
        factors[:k] = np.maximum(np.rint(lengths * (1 << fraction_bits)), 1.0)
        return cls((k, d), 0, sigma / (m << fraction_bits), signs, factors)

    def rows(self, first: int, last: int) -> HadamardTable:
        """Return the table of frequencies first..last-1, of the blocks that hold them."""
        begin, end = (self.skip + first) // self.m, -(-(self.skip + last) // self.m)
        signs = np.concatenate([self.signs[:1], self.signs[1 + 2 * begin : 1 + 2 * end]])
        factors = self.factors[begin * self.m : end * self.m]
        shape, skip = (last - first, self.shape[1]), self.skip + first - begin * self.m
        return HadamardTable(shape, skip, self.scale, signs, factors)

    def with_signs(self, minus: np.ndarray) -> HadamardTable:
        """Return the table with other signs: `minus` (1 + 2 n_blocks, m) is true for minus."""
        signs = np.where(minus, _MINUS, _PLUS)
        return HadamardTable(self.shape, self.skip, self.scale, signs, self.factors)

    @property
    def digest_arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays that a fingerprint is taken over."""
        return self.signs & np.uint64(1), self.factors

    def words(self, x: np.ndarray, bits: int = 64) -> tuple[np.ndarray, np.ndarray]:
        """Return X of the definition for float64 rows, as two uint64 arrays: high and low word.

        With 64 bits the high word is X; with 128 they are floor(|x| c 2**128 + 1/2) with its sign.
        """
        fraction, exponent = np.frexp(np.abs(x))
        scale_fraction, scale_exponent = np.frexp(np.float64(self.scale))
        product = _product(
            np.ldexp(fraction, 53).astype(np.uint64), np.uint64(np.ldexp(scale_fraction, 53))
        )
        # The product is in units of 2**(exponents - 106); the bit below the first decides rounding.
        first = 106 - bits - exponent.astype(np.int64) - int(scale_exponent)
        odd = _window(product, first - 1) & np.uint64(1)
        low = _window(product, first) + odd
        if bits == 64:
            high, low = low, np.zeros_like(low)
        else:
            high = _window(product, first + 64) + (low < odd)
        minus = x < 0.0  # two's complement of both words
        low = np.where(minus, ~low + np.uint64(1), low)
        return np.where(minus, ~high + (low == 0), high), low

    @staticmethod
    def word_turns(words: np.ndarray, signs: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Return k_j (H S3 H S2 H S1 X)_j for words X (n, d), of all rows of the blocks.

        All arguments are unsigned integers of the same type, in which sums wrap.
        """
        padded = np.zeros((len(words), signs.shape[1]), dtype=words.dtype)
        padded[:, : words.shape[1]] = words
        first = transform(_signed(padded, signs[0]))[:, None]
        turns = transform(_signed(transform(_signed(first, signs[1::2])), signs[2::2]))
        return turns.reshape(len(words), -1) * factors

    @cached_property
    def float_signs(self) -> np.ndarray:
        """The signs as +1.0 and -1.0."""
        return np.where(self.signs == 0, 1.0, -1.0)

    @cached_property
    def weights(self) -> np.ndarray:
        """k_j c, the factors of the rows of H S3 H S2 H S1, float64; zero outside of k."""
        weights = self.factors * self.scale
        weights[: self.skip] = 0.0
        weights[self.skip + self.shape[0] :] = 0.0
        return weights

    @cached_property
    def inverse_weights(self) -> np.ndarray:
        """What to multiply phases (k,) with to decode them by `adjoint`; zero past whole blocks.

        There is a whole block at least, and no row before it. Rows of a block are orthogonal,
        m**1.5 k_j c long, and x is the mean over the blocks.
        """
        n_whole = self.shape[0] // self.m
        weights = np.zeros(self.shape[0])
        whole = slice(0, n_whole * self.m)
        weights[whole] = 1.0 / (np.square(self.weights[whole]) * (n_whole * float(self.m) ** 3))
        return weights

    def product(self, x: np.ndarray) -> np.ndarray:
        """Return x @ frequencies.T for float64 rows x (n, d), shape (n, k), by the transform."""
        k, d = self.shape
        padded = np.zeros((len(x), self.m))
        padded[:, :d] = x
        return (_rounds(padded, self.float_signs) * self.weights)[:, self.skip : self.skip + k]

    def adjoint(self, v: np.ndarray) -> np.ndarray:
        """Return v @ frequencies for rows v (n, k), float64 of shape (n, d), by the transform."""
        k, d = self.shape
        total = np.zeros((len(v), self.m))
        for b in range(self.n_blocks):
            first, last = b * self.m - self.skip, (b + 1) * self.m - self.skip
            part = np.zeros((len(v), self.m))
            inside = slice(max(first, 0), min(last, k))
            part[:, inside.start - first : inside.stop - first] = v[:, inside]
            part = transform(part * self.weights[b * self.m : (b + 1) * self.m])
            total += transform(part * self.float_signs[2 + 2 * b]) * self.float_signs[1 + 2 * b]
        return transform(total)[:, :d] * self.float_signs[0, :d]

    @cached_property
    def dense(self) -> FrequencyTable:
        """The same frequencies as a matrix, for those who need one."""
        k, d = self.shape
        require_memory(8 * 4 * k * d, f"the matrix of {k} x {d} frequencies")
        rows = np.zeros((d, self.m), dtype=np.int64)
        np.fill_diagonal(rows, 1)
        signs = 1 - 2 * (self.signs & np.uint64(1)).astype(np.int64)
        some = slice(self.skip, self.skip + k)
        # Whole numbers below 2**53 times whole numbers: one rounding by the product, one by c.
        columns = _rounds(rows, signs)[:, some].T.astype(np.float64)
        columns *= self.factors[some, None].astype(np.float64)
        return FrequencyTable.from_floats(columns * self.scale)

    @property
    def values(self) -> np.ndarray:
        """The frequencies as float64, shape (k, d)."""
        return self.dense.values

    @property
    def transposed(self) -> np.ndarray:
        return self.dense.transposed

    @property
    def l1_norms(self) -> np.ndarray:
        return self.dense.l1_norms

    @cached_property
    def largest_l1_norm(self) -> float:  # type: ignore[bad-override]
        """No less than that of any row, without the matrix: rows have length factor m**1.5 c."""
        return math.sqrt(self.shape[1]) * self.m**1.5 * float(self.factors.max()) * self.scale

    @property
    def mantissas(self) -> np.ndarray:
        return self.dense.mantissas

    @property
    def exponents(self) -> np.ndarray:
        return self.dense.exponents


Table = FrequencyTable | HadamardTable


def transform(rows: np.ndarray) -> np.ndarray:
    """Return H times each row of numbers of shape (..., m); a new array, sums of integers wrap."""
    shape, half = rows.shape, 1
    while half < shape[-1]:
        pairs = rows.reshape(-1, 2, half)
        rows = np.empty_like(pairs)
        np.add(pairs[:, 0], pairs[:, 1], out=rows[:, 0])
        np.subtract(pairs[:, 0], pairs[:, 1], out=rows[:, 1])
        half *= 2
    return rows.reshape(shape)


def _signed(words: np.ndarray, signs: np.ndarray) -> np.ndarray:
    return (words ^ signs) - signs


def _rounds(rows: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Return H S3_b H S2_b H S1 of rows (n, m) for all blocks, shape (n, n_blocks m)."""
    first = transform(rows * signs[0])[:, None]
    return transform(transform(first * signs[1::2]) * signs[2::2]).reshape(len(rows), -1)


def _product(a: np.ndarray, b: np.uint64) -> tuple[np.ndarray, np.ndarray]:
    """Return the 128-bit product of numbers below 2**53."""
    shift, mask = np.uint64(32), np.uint64(2**32 - 1)
    a_high, a_low, b_high, b_low = a >> shift, a & mask, b >> shift, b & mask
    low, middle = a_low * b_low, a_high * b_low + a_low * b_high  # below 2**54
    total = low + (middle << shift)
    return a_high * b_high + (middle >> shift) + (total < low), total


def _window(words: tuple[np.ndarray, np.ndarray], start: np.ndarray) -> np.ndarray:
    """Return bits start .. start + 63 of 128-bit numbers (high, low), zeros on both sides."""
    high, low = words
    place, shift = np.divmod(start, 64)
    shift = shift.astype(np.uint64)
    first, second = (
        np.where(at == 0, low, np.where(at == 1, high, np.uint64(0))) for at in (place, place + 1)
    )
    # Two shifts, because one by 64 is not defined.
    return (first >> shift) | ((second << np.uint64(1)) << (np.uint64(63) - shift))
