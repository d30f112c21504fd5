"""Codes made of phases, what the lags of Toeplitz codes tell about all pairs, and simple kinds.

``static``, ``offset``, ``tuned``, ``weighted`` and ``shadow`` are Toeplitz codes of square roots of
primes; they differ in which primes they take and in how these are weighted.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from primal._checks import even_dimension, one_of, require_memory, require_work, whole_number
from primal._lazy import frozen
from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import Codebook, SearchBudget, check_sizes
from primal.codebooks._metrics import rms_from_energy
from primal.codebooks._numbers import is_prime
from primal.codebooks._toeplitz import lag_products, phasor_energy, real_energy
from primal.engines import engine, row_blocks
from primal.errors import ParameterError, SpecError
from primal.turns import floor_roots, prime_slice, round_turns, static_turns, waves

# What becomes of the phases of a code: cosines and sines with one code for each position; one
# complex number for each phase; or two real codes for each position, z and i z.
_VIEWS = ("real", "phasor", "paired")
_QUARTER_TURN = np.uint64(1 << 62)
_BLOCK_PHASES = 1 << 17
# Starts that are compared, and the bytes that each takes meanwhile.
_DEFAULT_OFFSETS = 1000
_BYTES_PER_OFFSET = 100
_BLOCK_ENTRIES = 1 << 20


class PhaseCodes(Codebook):
    """Codes made of phases: subclasses say how a position becomes k phases.

    With fewer phases than D allows, the rest of the entries is zero.
    """

    k: int
    real_view: str = "real"

    def __init__(self, N: int, D: int, field: str) -> None:
        super().__init__(N, D, field)
        self.view = "phasor" if field == "complex" else self.real_view

    @abstractmethod
    def turns(self, positions: np.ndarray) -> np.ndarray:
        """Return uint64 phases of shape (n, k) of uint64 `positions`."""

    @abstractmethod
    def energy(self, n_positions: int) -> float:
        """Return the sum of squares of the Gram matrix of the first positions, one code each."""

    @property
    def copies(self) -> int:
        """Number of codes for each position: z and i z, or one."""
        return 2 if self.view == "paired" else 1

    @property
    def n_positions(self) -> int:
        """Number of positions that the N codes take."""
        return -(-self.N // self.copies)

    def split(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and quarter turns of uint64 indices: code 2 t + 1 is i times 2 t."""
        return np.divmod(indices, np.uint64(self.copies))

    def worst(
        self, blocks: Iterable[tuple[Any, np.ndarray]], most: float = math.inf
    ) -> tuple[float, Any]:
        """Return the largest cosine among products, and where it is, or None where all are zero.

        That is the name of its block, its place there, and 1 if it is the imaginary part. Rounding
        must not decide between equals of a block: the first is taken. `most` ends the scan.
        """
        coherence, where = 0.0, None
        for name, products in blocks:
            sizes = np.abs(products if self.view == "phasor" else products.real).reshape(-1)
            if self.view == "paired":
                sizes = np.maximum(sizes, np.abs(products.imag).reshape(-1))
            peak = float(sizes.max())
            if peak > coherence + 1e-12:
                at = int(np.argmax(sizes > peak - 1e-12))
                turned = self.view == "paired" and sizes[at] > abs(products.reshape(-1)[at].real)
                coherence, where = peak, (name, at, int(turned))
            if coherence > most - 1e-12:
                break
        return coherence, where

    def _rms(self) -> float:
        if self.view != "paired":
            return rms_from_energy(self.energy(self.N), self.N)
        # z and i z have twice the energy of z; an odd code out adds to one of the two only.
        return rms_from_energy(self.energy(self.N // 2) + self.energy(self.n_positions), self.N)

    def _write(self, indices: np.ndarray, out: np.ndarray) -> None:
        for rows in row_blocks(len(indices), self.k, _BLOCK_PHASES):
            self._write_block(indices[rows].astype(np.uint64), out[rows])

    def _write_block(self, indices: np.ndarray, out: np.ndarray) -> None:
        positions, quarters = self.split(indices)
        write_phases(self.turns(positions) + quarters[:, None] * _QUARTER_TURN, out)


class ToeplitzCodes(PhaseCodes):
    """Position t has the phases t times the increments, in units of 2**-64 turn."""

    increments: np.ndarray
    weights: np.ndarray | None = None  # squares of the amplitudes, with sum 1; by default equal

    def turns(self, positions: np.ndarray) -> np.ndarray:
        return static_turns(positions, self.increments)

    def energy(self, n_positions: int) -> float:
        if self.view == "real":
            return real_energy(self.increments, n_positions, self.weights)
        return phasor_energy(self.increments, n_positions)

    def _evidence(self) -> Evidence:
        """Return exact evidence, by looking at every lag."""
        proof = f"all lags: each of the {self.n_positions - 1} was computed in float64"
        coherence, where = self.worst(self._lags())
        if where is None:
            return Evidence(coherence, None, proof)
        first, at, turned = where
        lag = first + at
        # <i z_0, z_l> is the imaginary part of <z_0, z_l>.
        return Evidence(coherence, (turned, self.copies * lag), proof, lag)

    def _lags(self) -> Iterator[tuple[int, np.ndarray]]:
        for first, products in lag_products(self.increments, self.n_positions, self.weights):
            if first == 0:
                products[0] = 0
            yield first, products


class RandomFrequencies(ToeplitzCodes):
    """Toeplitz codes with uniform frequencies: StaticPrime without primes."""

    kind, _options = "random-frequency", ("seed",)

    def __init__(self, N: int, D: int, field: str, seed: object) -> None:
        super().__init__(N, D, field)
        self.seed = checked_seed(self.kind, seed)
        self.k = n_primes(D, field)
        require_memory(16 * self.k, f"{self.k} frequencies")
        rng = np.random.default_rng(self.seed)
        self.increments = rng.integers(0, 2**64, self.k, dtype=np.uint64)


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
            primes = np.array(checked_primes(primes, D if field == "complex" else D // 2))
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
        if self.weights is None:
            codes *= real.type(1.0 / math.sqrt(self.k))
        else:
            codes *= np.repeat(np.sqrt(self.weights), 2).astype(real)
        flat = codes.view(out.dtype)
        out[:, : flat.shape[1]] = flat
        out[:, flat.shape[1] :] = 0


class Static(PrimeCodes):
    """Consecutive primes from number `start` on: the paper's StaticPrime."""

    kind, _options, growable = "static", ("start",), True

    def __init__(self, N: int, D: int, field: str, start: int = 0) -> None:
        self.start = whole_number("start", start)
        primes = prime_slice(self.start, self.start + n_primes(D, field))
        super().__init__(N, D, field, primes)

    def grow(self, *, N: int | None = None, D: int | None = None) -> Codebook:
        N, D = check_sizes(self.N if N is None else N, self.D if D is None else D)
        for name, old, new in (("N", self.N, N), ("D", self.D, D)):
            if new < old:
                raise ParameterError(f"{name} = {old} cannot grow to {new}: ask for more.")
        return type(self)(N, D, self.field, self.start)


class Offset(Static):
    """The start in 0, ..., steps - 1 with the smallest coherence at N.

    A start is chosen for N codes; with many more its advantage is gone. Late starts are bad:
    roots of neighboring primes far out are almost equal.
    """

    kind = "offset"

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> Self:
        n_offsets = _DEFAULT_OFFSETS if budget.steps is None else budget.steps
        k = n_primes(D, field)
        what = f"a search of {n_offsets} starts for {N} codes"
        require_work(10 * N * (n_offsets + k), what)
        require_memory(_BYTES_PER_OFFSET * (n_offsets + k), what)
        # The sums of all starts come from running sums over the primes, so that a thousand starts
        # cost little more than one list of n_offsets + k primes.
        increments = floor_roots(prime_slice(0, n_offsets + k - 1), 1.0, 64)
        worst = np.zeros(n_offsets)
        for rows in row_blocks(N - 1, len(increments), _BLOCK_ENTRIES):
            lags = np.arange(1 + rows.start, 1 + rows.stop, dtype=np.uint64)
            cos, sin = waves(lags[:, None] * increments)
            sums = _window_sums(cos, k)
            values = np.hypot(sums, _window_sums(sin, k)) if field == "complex" else np.abs(sums)
            np.maximum(worst, values.max(axis=0), out=worst)
            budget.progress(1 + rows.stop, N)
        return cls(N, D, field, int(worst.argmin()))


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


def checked_seed(kind: str, seed: object) -> int:
    """Return the seed of a random reference, which needs one."""
    if seed is None:
        raise ParameterError(
            f"kind {kind!r} is a random reference and needs a seed: for instance seed=42."
        )
    return whole_number("seed", seed)


def checked_primes(values: object, most: int) -> list[int]:
    """Return a list of at most so many distinct primes, for instance of a spec."""
    if not isinstance(values, Sequence) or isinstance(values, str) or not 0 < len(values) <= most:
        raise SpecError(f"the primes of a codebook must be a list of at most {most}.")
    numbers = [whole_number("a prime of a codebook", value, least=2) for value in values]
    if len(set(numbers)) != len(numbers) or max(numbers) >= 2**32:
        raise SpecError("the primes of a codebook must be distinct and below 2**32.")
    if composite := [number for number in numbers if not is_prime(number)]:
        raise SpecError(f"the primes of a codebook must be prime, got {composite[0]}.")
    return numbers


def n_primes(D: int, field: str) -> int:
    """Return how many phases fill a code: D complex numbers, or D / 2 cosines and sines."""
    if field == "complex":
        return D
    return even_dimension(D, or_else=", or kind='auto', which may leave one entry zero") // 2


def _window_sums(values: np.ndarray, k: int) -> np.ndarray:
    """Return the sums of k neighbors along the last axis."""
    running = np.cumsum(values, axis=1)
    sums = running[:, k - 1 :].copy()
    sums[:, 1:] -= running[:, :-k]
    return sums
