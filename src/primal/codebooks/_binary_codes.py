"""Kinds ``kerdock``, ``gold`` and ``delsarte-goethals``: signs of quadratic forms.

Code number j D' + b has the entries (-1)**(f_j(x) + <b, x>) / sqrt(D') over all x in {0, 1}**m,
D' = 2**m; each form f_j thus gives an orthonormal basis, and the standard basis comes last. How
similar codes of different forms can be follows from the rank of f_i + f_j.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from primal._parallel import row_blocks
from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import Codebook
from primal.codebooks._metrics import bases_energy, rms_from_energy
from primal.errors import ParameterError

# 2**16 dimensions: the largest for which tables stay small and quick to make.
_LARGEST_M = 16


class BinaryCodes(Codebook):
    """Codes from a family of forms on {0, 1}**m, zero-padded from 2**m to D entries."""

    least_m: int  # and every second one from there on
    n_forms: Callable[[int], int]  # by m
    # How many come first whose bases are mutually unbiased: all of Kerdock's.
    n_unbiased: Callable[[int], int] = staticmethod(lambda m: 1 << (m - 1))
    _fields = ("real",)

    def __init__(self, N: int, D: int, field: str = "real") -> None:
        super().__init__(N, D, field)
        sizes = range(self.least_m, _LARGEST_M + 1, 2)
        if 1 << sizes[0] > D:
            raise ParameterError(
                f"kind {self.kind!r} needs D of at least {1 << sizes[0]}, got {D}: "
                f"use D = {1 << sizes[0]}."
            )
        self.m = max(m for m in sizes if 1 << m <= D)
        self.size = 1 << self.m
        held = self.most_codes(self.m)
        if held < N:
            room = next((m for m in sizes if self.most_codes(m) >= N), None)
            more = f", or D = {1 << room}, which holds {self.most_codes(room)}" if room else ""
            raise ParameterError(
                f"kind {self.kind!r} has {held} codes in D = {D}, got N = {N}: "
                f"use N up to {held}{more}."
            )
        self.bipolar = self.size == D and self.n_forms(self.m) * self.size >= N

    @abstractmethod
    def form(self, j: int) -> np.ndarray:
        """Return form number j at every x, as uint8 of shape (2**m,)."""

    @classmethod
    def most_codes(cls, m: int) -> int:
        """Return the largest N: every form, and the standard basis."""
        return (cls.n_forms(m) + 1) << m

    def _signs(self, indices: np.ndarray) -> np.ndarray:
        # Without the entries that are zero, so that codes that are not bipolar have them too.
        x = np.arange(self.size, dtype=np.uint32)
        result = np.empty((len(indices), self.size), dtype=np.int8)
        form = cache(self.form)
        for row, index in enumerate(indices.tolist()):
            j, b = divmod(index, self.size)
            bits = form(j) ^ (np.bitwise_count(x & np.uint32(b)) & np.uint8(1))
            result[row] = 1 - 2 * bits.astype(np.int8)
        return result

    def _write(self, indices: np.ndarray, out: np.ndarray) -> None:
        out[:] = 0
        n_formed = self.n_forms(self.m) * self.size
        scale = out.dtype.type(1.0 / math.sqrt(self.size))
        rows = np.flatnonzero(indices < n_formed)
        for part in row_blocks(len(rows), self.size, 1 << 20):
            block = rows[part]
            out[block, : self.size] = self._signs(indices[block]) * scale
        basis = np.flatnonzero(indices >= n_formed)
        out[basis, indices[basis] - n_formed] = 1

    def _rms(self) -> float:
        return rms_from_energy(bases_energy(self.N, self.size), self.N)

    def _evidence(self) -> Evidence:
        if self.size >= self.N:
            return Evidence(0.0, None, "closed form: one orthonormal basis")
        proof = f"closed form: ranks of {self.kind} forms in {self.m} variables"
        # Sums of forms have at most two sizes above zero: the first large one is the largest.
        n_used = min(-(-self.N // self.size), self.n_forms(self.m))
        for j in range(self.n_unbiased(self.m), n_used):
            for i in range(j):
                spectrum = np.abs(walsh_spectrum(self.form(i) ^ self.form(j)))
                b = int(spectrum.argmax())
                if spectrum[b] > 1.2 * math.sqrt(self.size):
                    pair = (i * self.size + b, j * self.size)
                    return Evidence(float(spectrum[b]) / self.size, pair, proof)
        return Evidence(1.0 / math.sqrt(self.size), (0, self.size), proof)


class Kerdock(BinaryCodes):
    """Every two bases are mutually unbiased: all their cosines are +-1 / sqrt(D')."""

    kind, least_m = "kerdock", 2
    n_forms = staticmethod(lambda m: 1 << (m - 1))

    def form(self, j: int) -> np.ndarray:
        return _kerdock_form(self.m, j)


class Gold(BinaryCodes):
    """Forms Tr(a x**3), m odd: cosines are 0 or +-sqrt(2 / D')."""

    kind, least_m = "gold", 3
    n_forms = staticmethod(lambda m: 1 << m)
    n_unbiased = staticmethod(lambda m: 1)

    def form(self, j: int) -> np.ndarray:
        field = binary_field(self.m)
        return field.trace[field.scaled(j)[field.power(3)]]


class DelsarteGoethals(BinaryCodes):
    """Kerdock forms plus Tr(b y**3), m even: cosines are 0, +-1 / sqrt(D') or +-2 / sqrt(D').

    The Kerdock forms (b = 0) come first, so that few codes are as good as Kerdock's.
    """

    kind, least_m = "delsarte-goethals", 4
    n_forms = staticmethod(lambda m: 1 << (2 * m - 2))

    def form(self, j: int) -> np.ndarray:
        b, a = divmod(j, 1 << (self.m - 1))
        field = binary_field(self.m - 1)
        cubic = field.trace[field.scaled(b)[field.power(3)]]
        return _kerdock_form(self.m, a) ^ np.repeat(cubic, 2)


def walsh_spectrum(bits: np.ndarray) -> np.ndarray:
    """Return sum over x of (-1)**(bits[x] + <b, x>) for every b, int64 of shape (2**m,)."""
    values = 1 - 2 * bits.astype(np.int64)
    half = 1
    while half < len(values):
        a, b = values.reshape(-1, 2, half).swapaxes(0, 1)
        values = np.stack([a + b, a - b], axis=1).reshape(-1)
        half *= 2
    return values


def _kerdock_form(m: int, a: int) -> np.ndarray:
    """Return sum_i Tr((a y)**(1 + 2**i)) + e Tr(a y) at x = (y, e), number 2 y + e."""
    field = binary_field(m - 1)
    quadratic = np.zeros(1 << (m - 1), dtype=np.uint8)
    for i in range(1, (m - 2) // 2 + 1):
        quadratic ^= field.trace[field.power(1 + (1 << i))]
    scaled = field.scaled(a)
    bits = np.empty((1 << (m - 1), 2), dtype=np.uint8)
    bits[:, 0] = quadratic[scaled]
    bits[:, 1] = bits[:, 0] ^ field.trace[scaled]
    return bits.reshape(-1)


class BinaryField(NamedTuple):
    """exp[i] is the i-th power of a primitive element, log its inverse, trace in {0, 1}."""

    exp: np.ndarray  # int64 of shape (2**n - 1,)
    log: np.ndarray  # int64 of shape (2**n,); log[0] is not meaningful
    trace: np.ndarray  # uint8 of shape (2**n,)

    def scaled(self, a: int) -> np.ndarray:
        """Return a * y for every element y, as int64 of shape (2**n,)."""
        product = np.zeros(len(self.log), dtype=np.int64)
        if a:
            product[1:] = self.exp[(self.log[1:] + self.log[a]) % len(self.exp)]
        return product

    def power(self, exponent: int) -> np.ndarray:
        """Return y**exponent for every element y."""
        result = np.zeros(len(self.log), dtype=np.int64)
        result[1:] = self.exp[self.log[1:] * exponent % len(self.exp)]
        return result


@cache
def binary_field(n: int) -> BinaryField:
    """Return the tables of the field of 2**n elements, n >= 1.

    The polynomial is the smallest primitive one, so that the tables are always the same.
    """
    size = 1 << n
    powers = next(found for tail in range(1, size, 2) if (found := _powers(size | tail, size)))
    exp = np.array(powers, dtype=np.int64)
    log = np.zeros(size, dtype=np.int64)
    log[exp] = np.arange(size - 1)
    exp.flags.writeable = log.flags.writeable = False
    # The trace of y is the sum of its conjugates y**(2**i): 0 or 1.
    field = BinaryField(exp, log, np.zeros(size, dtype=np.uint8))
    trace = np.bitwise_xor.reduce([field.power(1 << i) for i in range(n)])
    return field._replace(trace=trace.astype(np.uint8))


def _powers(polynomial: int, size: int) -> list[int]:
    """Return 1, x, x**2, ... modulo a polynomial, or nothing if x is not primitive."""
    powers, element = [], 1
    while len(powers) < size:
        powers.append(element)
        element <<= 1
        if element & size:
            element ^= polynomial
        if element == 1:
            break
    return powers if len(powers) == size - 1 else []
