"""Kinds ``shadow`` and ``chirp``: primes whose square roots have the fractions of a design.

Common sizes of shadows need no search: ``designs.txt``, made by ``tools/design_codebooks.py``, has
their targets.
"""

import math
from collections.abc import Iterator
from copy import copy
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np

from primal._checks import require_memory
from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import SearchBudget
from primal.codebooks._cyclotomic import Target, coset_options, cyclotomic_target
from primal.codebooks._numbers import largest_order, tightest_shadow
from primal.codebooks._phase_codes import PhaseCodes, PrimeCodes, checked_primes
from primal.codebooks._rational import difference_set, singer_order
from primal.codebooks._toeplitz import dirichlet, phasors
from primal.engines import row_blocks
from primal.errors import ParameterError, PrimalError, SpecError
from primal.turns import floor_roots

# The frequencies are fractions u / P with P >= N and P > D, and searching for them goes through all
# sizes near D.
_LARGEST_N, _LARGEST_D = 2**31, 2**17
# A common shift of the targets, in units of 1 / P. One half would put a target next to the
# fraction 1/2, which only very large primes have.
_SHIFT = 0.382
# Entries of the factors of products of chirps that are multiplied at once.
_BLOCK_ENTRIES = 1 << 20


class Shadow(PrimeCodes):
    """A shipped design, or the better of a Singer and a cyclotomic shadow.

    Giving a budget asks for a new search even if a design is shipped.
    """

    kind, _options = "shadow", ("primes", "view")
    target: Target | None = None  # of cosets, where it was made from them

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> PrimeCodes:
        shipped = shipped_design(N, D, field)
        if shipped is not None and budget.steps is None and budget.seconds is None:
            return copy(shipped[1])
        if N > _LARGEST_N or D > _LARGEST_D:
            raise ParameterError(
                f"kind 'shadow' takes N up to {_LARGEST_N} and D up to {_LARGEST_D}, got {N} and "
                f"{D}: use kind='static'."
            )
        attempts = [lambda: cls.of_singer(N, D, field)]
        if field == "real":
            attempts.append(lambda: cls.of_cosets(N, D, budget))
        found, reasons = [], []
        for attempt in attempts:
            try:
                found.append(attempt())
            except PrimalError as error:
                reasons.append(str(error))
        if not found:
            raise ParameterError(" ".join(reasons))
        return min(found, key=lambda codes: codes._evidence().coherence)

    @classmethod
    def of_cosets(cls, N: int, D: int, budget: SearchBudget) -> Self:
        """Return a shadow of the best union of cyclotomic cosets, one real code for each position.

        When no union has exactly D / 2 frequencies, a slightly smaller one is padded with zeros.
        """
        sizes = range(D - D % 2, max(1, int(0.9 * D) - 1), -2)
        smaller = next((size for size in sizes if coset_options(N, size)), D)
        return cls.of_target(N, D, cyclotomic_target(N, smaller, budget))

    @classmethod
    def of_target(cls, N: int, D: int, target: Target) -> Self:
        """Return the shadow of a union of cosets."""
        frequencies = [u / target.P for u in target.numerators]
        codes = cls(N, D, "real", tightest_shadow(frequencies, N, signed=False), "real")
        codes.target = target
        return codes

    @classmethod
    def of_singer(cls, N: int, D: int, field: str) -> Self:
        """Return a shadow of a perfect difference set: phasors, or real codes z and i z."""
        q = singer_order("shadow", N, D, field)
        modulus = q * q + q + 1
        residues = np.array(difference_set(q))
        offset = _offset_away_from_halves(residues, modulus)
        targets = ((residues + offset) / modulus).tolist()
        n_positions = N if field == "complex" else -(-N // 2)
        primes = tightest_shadow(targets, n_positions, signed=True)
        return cls(N, D, field, primes, "phasor" if field == "complex" else "paired")


class PrimeChirp(PhaseCodes):
    """Codes of two lists of k primes, for the largest prime k that D has room for.

    Position a k + b has the phases a sqrt(p_n) + b sqrt(q_n), where the fractions of sqrt(p_n) and
    sqrt(q_n) shadow n**2 / k and n / k: quadratic chirps. The k**2 phasors then have |inner
    products| close to 1 / sqrt(k) or 0. Real codes are z and i z; the standard basis comes last:
    there are 2 k**2 + 2 k real or k**2 + k complex codes.
    """

    kind, real_view, _options = "chirp", "paired", ("primes_a", "primes_b")

    def __init__(self, N: int, D: int, field: str, primes_a: object, primes_b: object) -> None:
        super().__init__(N, D, field)
        self.primes_a, self.primes_b = (
            np.array(checked_primes(primes, D // self.copies), dtype=np.uint64)
            for primes in (primes_a, primes_b)
        )
        self.k = k = len(self.primes_a)
        if len(self.primes_b) != k or k * k + k < self.n_positions:
            raise SpecError(
                f"a chirp needs two lists of primes of one length, long enough for N = {N}."
            )
        self._f, self._g = (floor_roots(p, 1.0, 64) for p in (self.primes_a, self.primes_b))

    @classmethod
    def _design(cls, N: int, D: int, field: str, budget: SearchBudget) -> Self:
        k = largest_order("chirp", N, D, field, lambda k: k * (k + 1), least=3)
        # What the certificate takes: the frame operator and its factors.
        require_memory(96 * k**2, f"a certificate of chirps of {k} phases")
        squares = [((n * n % k) + _SHIFT) / k for n in range(k)]
        lines = [(n + _SHIFT) / k for n in range(k)]
        primes = tightest_shadow(squares + lines, k, signed=True)
        return cls(N, D, field, primes[:k], primes[k:])

    def turns(self, positions: np.ndarray) -> np.ndarray:
        k = np.uint64(self.k)
        return positions[:, None] // k * self._f + positions[:, None] % k * self._g

    def _write_block(self, indices: np.ndarray, out: np.ndarray) -> None:
        super()._write_block(indices, out)
        positions, quarters = self.split(indices)
        basis = np.flatnonzero(positions >= np.uint64(self.k**2))
        places = positions[basis] - np.uint64(self.k**2)
        out[basis] = 0
        if self.view == "paired":
            places = np.uint64(2) * places + quarters[basis]
        out[basis, places] = 1

    def _evidence(self) -> Evidence:
        k, copies = self.k, self.copies
        coherence, where = self.worst(self._differences())
        pair = None
        if where is not None:
            first_da, at, turned = where
            da, db = first_da + at // (2 * k - 1), at % (2 * k - 1) - (k - 1)
            pair = (copies * max(0, -db) + turned, copies * (da * k + max(0, db)))
        if self.n_positions > k * k and 1.0 / math.sqrt(k) > coherence:
            # Code 0 has all phases zero: its product with a basis vector is 1 / sqrt(k).
            coherence, pair = 1.0 / math.sqrt(k), (0, copies * k * k)
        n_chirps = min(self.n_positions, k * k)
        proof = f"all lags: every (a, b) difference among {n_chirps} positions, in float64"
        return Evidence(coherence, pair, proof)

    def _differences(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the products at differences (da, db) that occur, in rows da = first, ...

        Column c stands for db = c - (k - 1). Differences that no two positions have, and those
        that repeat others with the sign turned, are zero.
        """
        k = self.k
        last_a, last_b = divmod(min(self.n_positions, k * k) - 1, k)
        # As in `lag_products`: one exponential for about sqrt(k) of the differences.
        step = math.isqrt(2 * k)
        coarse = phasors(np.arange(-(k - 1), k, step).astype(np.uint64)[:, None] * self._g)
        fine = np.ascontiguousarray(phasors(np.arange(step, dtype=np.uint64)[:, None] * self._g).T)
        fine /= k
        for rows in row_blocks(last_a + 1, coarse.size, _BLOCK_ENTRIES):
            da = np.arange(rows.start, rows.stop, dtype=np.uint64)
            parts = (phasors(da[:, None] * self._f)[:, None] * coarse).reshape(-1, k) @ fine
            products = parts.reshape(len(da), -1)[:, : 2 * k - 1]
            if rows.start == 0:
                products[0, :k] = 0
            if rows.stop > last_a:
                products[-1, k + last_b :] = 0
            yield rows.start, products

    def energy(self, n_positions: int) -> float:
        # From the frame operator, the sum of z z^H: geometric sums in both indices.
        k = self.k
        n_chirps = min(n_positions, k * k)
        whole, rest = divmod(n_chirps, k)
        f = self._f[:, None] - self._f[None, :]
        g = self._g[:, None] - self._g[None, :]
        total = dirichlet(f, whole) * dirichlet(g, k)
        total += phasors(f * np.uint64(whole)) * dirichlet(g, rest)
        total /= k
        basis = np.arange(n_positions - n_chirps)
        total[basis, basis] += 1.0
        return float(np.square(np.abs(total)).sum())


def _offset_away_from_halves(residues: np.ndarray, modulus: int) -> float:
    """Return the common shift, in units of 1 / P, that keeps targets furthest from 0 and 1/2.

    A shift turns every code by a common phase and changes no |inner product|. Only very large
    primes have square roots next to whole or half numbers.
    """
    shifts = np.arange(modulus) + _SHIFT
    # On a circle of half a turn both are one point; a shift moves it into a gap of the targets.
    circle = modulus / 2
    targets = np.sort(residues % circle)
    around = np.concatenate([targets[-1:] - circle, targets, targets[:1] + circle])
    points = -shifts % circle
    after = np.searchsorted(around, points)
    distance = np.minimum(around[after] - points, points - around[after - 1])

    def nearest(shift: float) -> float:
        turns = 2 * (residues + shift) / modulus
        return float(np.abs(turns - np.rint(turns)).min())

    return max(shifts[distance > distance.max() - 1e-6].tolist(), key=nearest)


@cache
def shipped_design(N: int, D: int, field: str) -> tuple[float, Shadow] | None:
    """Return the design for exactly this size and its coherence, or None."""
    if (N, D, field) not in shipped_lines():
        return None
    coherence, *numbers = shipped_lines()[N, D, field].split()[3:]
    if not numbers:
        return float(coherence), Shadow.of_singer(N, D, field)
    P, h, *cosets = map(int, numbers)
    target = Target(P, h, tuple(cosets), float(coherence))
    return float(coherence), Shadow.of_target(N, D, target)


@cache
def shipped_lines() -> dict[tuple[int, int, str], str]:
    """Return the lines of the table by (N, D, field).

    Each is N, D, field and coherence; then, unless the target is a perfect difference set, P, h
    and a residue of each coset.
    """
    table = Path(__file__).with_name("designs.txt").read_text(encoding="ascii")
    lines = [line for line in table.splitlines() if line[0] != "#"]
    sizes = [line.split(maxsplit=3)[:3] for line in lines]
    keys = [(int(N), int(D), field) for N, D, field in sizes]
    return dict(zip(keys, lines, strict=True))
