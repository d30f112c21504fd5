"""Codes made of phases t f_m, and kind ``static``.

The cosine of two such codes depends on the distance of their positions alone. Kinds differ in their
frequencies f_m: square roots of consecutive primes, of primes chosen by a design (``_shadow``), or
fractions u / P (``_rational``).
"""

import math
from collections.abc import Sequence

import numpy as np

from primal._checks import even_dimension, one_of, whole_number
from primal._lazy import frozen
from primal._parallel import row_blocks
from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import Codebook, check_sizes
from primal.codebooks._metrics import rms_from_energy
from primal.codebooks._numbers import is_prime
from primal.codebooks._toeplitz import lag_products, phasor_energy, real_energy
from primal.errors import ParameterError, SpecError
from primal.exact import engine, floor_roots, primes, round_turns, static_turns, waves

# What becomes of the phases of a code: cosines and sines with one code for each position; one
# complex number for each phase; or two real codes for each position, z and i z.
_VIEWS = ("real", "phasor", "paired")
_QUARTER_TURN = np.uint64(1 << 62)
_BLOCK_PHASES = 1 << 17


class ToeplitzCodes(Codebook):
    """Position t has the phases t times the k increments, in units of 2**-64 turn.

    With fewer phases than D allows, the rest of the entries is zero.
    """

    k: int
    increments: np.ndarray
    real_view: str = "real"

    def __init__(self, N: int, D: int, field: str) -> None:
        super().__init__(N, D, field)
        self.view = "phasor" if field == "complex" else self.real_view

    def turns(self, positions: np.ndarray) -> np.ndarray:
        """Return uint64 phases of shape (n, k) of uint64 `positions`."""
        return static_turns(positions, self.increments)

    @property
    def copies(self) -> int:
        """Number of codes for each position: z and i z, or one."""
        return 2 if self.view == "paired" else 1

    @property
    def n_positions(self) -> int:
        """Number of positions that the N codes take."""
        return -(-self.N // self.copies)

    def _evidence(self) -> Evidence:
        """Return evidence by looking at every lag."""
        proof = f"all lags: each of the {self.n_positions - 1} was computed in float64"
        coherence, pair, lag = 0.0, None, None
        for first, products in lag_products(self.increments, self.n_positions):
            if first == 0:
                products[0] = 0
            sizes = np.abs(products if self.view == "phasor" else products.real)
            if self.view == "paired":
                # <i z_0, z_l> is the imaginary part of <z_0, z_l>.
                sizes = np.maximum(sizes, np.abs(products.imag))
            peak = float(sizes.max())
            if peak > coherence + 1e-12:
                # Rounding must not decide between equals of a block: the first is taken.
                at = int(np.argmax(sizes > peak - 1e-12))
                turned = self.view == "paired" and sizes[at] > abs(products[at].real)
                coherence, lag = peak, first + at
                pair = (int(turned), self.copies * lag)
        return Evidence(coherence, pair, proof, lag)

    def _rms(self) -> float:
        if self.view == "real":
            return rms_from_energy(real_energy(self.increments, self.N), self.N)
        energy = phasor_energy(self.increments, self.n_positions)
        if self.view == "paired":
            # z and i z have twice the energy of z; an odd code out adds to one of the two only.
            energy += phasor_energy(self.increments, self.N // 2)
        return rms_from_energy(energy, self.N)

    def _write(self, indices: np.ndarray, out: np.ndarray) -> None:
        for rows in row_blocks(len(indices), self.k, _BLOCK_PHASES):
            self._write_block(indices[rows].astype(np.uint64), out[rows])

    def _write_block(self, indices: np.ndarray, out: np.ndarray) -> None:
        # Code 2 t + 1 is i times code 2 t.
        positions, quarters = np.divmod(indices, np.uint64(self.copies))
        write_phases(self.turns(positions) + quarters[:, None] * _QUARTER_TURN, out)


class PrimeCodes(ToeplitzCodes):
    """Position t has the phases t * sqrt(p), for primes p, from a sieve or in a list to be checked.

    The view of a real code may be "paired" too.
    """

    def __init__(self, N: int, D: int, field: str, primes: object, view: str | None = None) -> None:
        super().__init__(N, D, field)
        self.view = self.view if view is None else one_of("view", view, _VIEWS)
        if (self.view == "phasor") != (field == "complex"):
            raise SpecError(f"codes of field {field!r} have no view {view!r}.")
        if not isinstance(primes, np.ndarray):
            primes = np.array(_checked_primes(primes, D if field == "complex" else D // 2))
        self.primes, self.k = frozen(primes.astype(np.uint64)), len(primes)
        self.increments = frozen(floor_roots(self.primes, 1.0, 64))

    def _write_block(self, indices: np.ndarray, out: np.ndarray) -> None:
        if self.view == "paired":
            super()._write_block(indices, out)
            return
        # The engine writes cosine and sine side by side: a real code, or complex numbers.
        real = np.dtype(np.float32 if out.dtype in (np.float32, np.complex64) else np.float64)
        codes = np.empty((len(indices), 2 * self.k), dtype=real)
        chosen = engine(n_phases=len(indices) * self.k)
        chosen.static(self.increments, indices, codes, "interleaved")
        codes *= real.type(1.0 / math.sqrt(self.k))
        flat = codes.view(out.dtype)
        out[:, : flat.shape[1]] = flat
        out[:, flat.shape[1] :] = 0


class Static(PrimeCodes):
    """Consecutive primes from number `start` on: the paper's StaticPrime."""

    kind, _options = "static", ("start",)

    def __init__(self, N: int, D: int, field: str, start: int = 0) -> None:
        self.start = whole_number("start", start)
        own = primes(_n_primes(D, field), start=self.start)
        super().__init__(N, D, field, own)

    def grow(self, *, N: int | None = None, D: int | None = None) -> Codebook:
        N, D = check_sizes(self.N if N is None else N, self.D if D is None else D)
        for name, old, new in (("N", self.N, N), ("D", self.D, D)):
            if new < old:
                raise ParameterError(f"{name} = {old} cannot grow to {new}: ask for more.")
        return type(self)(N, D, self.field, self.start)


def write_phases(turns: np.ndarray, out: np.ndarray) -> None:
    """Write unit vectors with the given phases into `out`, real or complex, zeros behind."""
    k = turns.shape[1]
    narrow = out.dtype in (np.float32, np.complex64)
    cos, sin = waves(round_turns(turns) if narrow else turns)
    scale = cos.dtype.type(1.0 / math.sqrt(k))
    if out.dtype.kind == "c":
        out[:, :k].real, out[:, :k].imag = cos * scale, sin * scale
        out[:, k:] = 0
    else:
        out[:, 0 : 2 * k : 2], out[:, 1 : 2 * k : 2] = cos * scale, sin * scale
        out[:, 2 * k :] = 0


def _checked_primes(values: object, most: int) -> list[int]:
    """Return a list of at most so many distinct primes, for instance of a spec."""
    if not isinstance(values, Sequence) or isinstance(values, str) or not 0 < len(values) <= most:
        raise SpecError(f"the primes of a codebook must be a list of at most {most}.")
    numbers = [whole_number("a prime of a codebook", value, least=2) for value in values]
    if len(set(numbers)) != len(numbers) or max(numbers) >= 2**32:
        raise SpecError("the primes of a codebook must be distinct and below 2**32.")
    if composite := [number for number in numbers if not is_prime(number)]:
        raise SpecError(f"the primes of a codebook must be prime, got {composite[0]}.")
    return numbers


def _n_primes(D: int, field: str) -> int:
    """Return how many phases fill a code: D complex numbers, or D / 2 cosines and sines."""
    if field == "complex":
        return D
    return even_dimension(D, or_else=", or kind='auto', which may leave one entry zero") // 2
