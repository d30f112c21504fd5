"""Target frequencies for real shadows: unions of cyclotomic cosets, found by local search.

Take a prime P >= N, an even h that divides P - 1, and the n = (P - 1) / h cosets of the residues
of order h. A union of D / h cosets is closed under negation, so it gives D / 2 frequencies r / P.
Its similarities are constant on cosets: n numbers tell all lags 1, ..., P - 1, which is what
makes a search possible.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, repeat

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from primal.codebooks._codebook import SearchBudget
from primal.codebooks._numbers import divisors, is_prime, primitive_root, scrambled_order
from primal.codebooks._rational import rational_turns
from primal.codebooks.bounds import welch
from primal.errors import ParameterError
from primal.exact import waves

_LARGEST_COSETS = 900
_LARGEST_OPTIONS = 128
# Lags that are looked at first when candidates are compared.
_PROBES = 12
# Candidates that are compared at all lags at once.
_CHUNK = 24
_DEFAULT_STEPS = 20_000


@dataclass(frozen=True)
class Target:
    """A union of cosets of the residues of order h modulo P, with its coherence over all lags."""

    P: int
    h: int
    cosets: tuple[int, ...]  # one residue of each, rising
    coherence: float

    @property
    def numerators(self) -> list[int]:
        """Numerators of the frequencies u / P, rising."""
        root = pow(primitive_root(self.P), (self.P - 1) // self.h, self.P)
        subgroup = [pow(root, i, self.P) for i in range(self.h)]
        residues = {c * s % self.P for c in self.cosets for s in subgroup}
        return sorted({min(r, self.P - r) for r in residues})


def cyclotomic_target(N: int, D: int, budget: SearchBudget) -> Target:
    """Return the best frequency set found for N real codes in D dimensions, D even.

    The steps are spent in rounds of equal size; after each round the best quarter of the
    pairs (P, h) continues. A search starts from an unordered choice of cosets and exchanges one
    coset for the best other one until no exchange helps, then starts again.
    """
    options = coset_options(N, D)
    if not options:
        sizes = " or ".join(map(str, _sizes_that_work(N, D)))
        raise ParameterError(
            f"no union of cosets serves N = {N} codes in D = {D}: use D = {sizes}, or "
            "kind='static'."
        )
    steps = _DEFAULT_STEPS if budget.steps is None else budget.steps
    end = time.monotonic() + (math.inf if budget.seconds is None else budget.seconds)
    done = 0

    def another_step() -> bool:
        nonlocal done
        if done >= steps or time.monotonic() > end:
            return False
        done += 1
        if done % 64 == 0 or done == steps:
            budget.progress(done, steps)
        return True

    searches = [_Search(P, h, D) for P, h in options]
    n_rounds = (len(options).bit_length() + 1) // 2  # until less than one would be left
    for number in range(n_rounds):
        share = max(1, (steps - done) // (n_rounds - number) // len(searches))
        for search in searches:
            search.run(share, another_step)
        searches.sort(key=lambda search: (search.coherence, search.P, search.h))
        searches = searches[: max(1, len(searches) // 4)]
    return searches[0].target()


def coset_options(N: int, D: int) -> list[tuple[int, int]]:
    """Return the most promising pairs (P, h)."""
    found = []
    for h in divisors(D):
        if h % 2 == 0:
            first = -(-(max(N, D + 1) - 1) // h) * h + 1
            last = min(int(1.6 * N) + 2 * D + 1, _LARGEST_COSETS * h + 1)
            found += [(P, h) for P in range(first, last + 1, h) if is_prime(P)]
    # No set modulo P beats Welch's bound for P codes, and n similarities of Gaussian size would
    # reach sqrt(2 ln(2 n)) times it.
    found.sort(key=lambda o: (welch(o[0], D) * math.sqrt(math.log(2 * (o[0] - 1) // o[1])), o))
    return found[:_LARGEST_OPTIONS]


def _sizes_that_work(N: int, D: int) -> list[int]:
    """Return the nearest even dimensions below and above D that have a pair (P, h)."""
    # N <= P <= 900 h + 1 and h <= d: no smaller d has a pair.
    least = max(2, (N - 1) // _LARGEST_COSETS // 2 * 2)
    below = next((d for d in range(D - D % 2, least - 1, -2) if coset_options(N, d)), None)
    start = max(D + 2 - D % 2, least)
    above = next((d for d in range(start, 4 * max(D, N), 2) if coset_options(N, d)), None)
    return [size for size in (below, above) if size is not None]


class _Search:
    """Local search over unions of cosets for one P and h; keeps its best between runs."""

    def __init__(self, P: int, h: int, D: int) -> None:
        self.P, self.h, self.D = P, h, D
        self.n, self.n_chosen = (P - 1) // h, D // h
        self.generator = primitive_root(P)
        self._restart = 0
        self._walk: Iterator[None] | None = None
        self.coherence, self.best = np.inf, np.zeros(0, dtype=np.int64)

    def run(self, steps: int, another_step: Callable[[], bool]) -> None:
        """Take up to `steps` steps, while there is another one, from where the last run stopped."""
        if self._walk is None:
            self._walk = self._exchanges()
            next(self._walk)
        for _ in range(steps):
            if not another_step():
                return
            if next(self._walk, self) is self:  # nothing is left to try from these starts
                self._walk = None
                return

    def target(self) -> Target:
        """Return the best union found."""
        cosets = tuple(sorted(pow(self.generator, int(j), self.P) for j in self.best))
        return Target(self.P, self.h, cosets, float(self.coherence))

    def _exchanges(self) -> Iterator[None]:
        """Exchange one coset after the other for the best one; yield before every step."""
        table = self._periods()
        while True:
            counter = self._restart << 20
            self._restart += 1
            chosen = scrambled_order(counter, self.n)[: self.n_chosen]
            order = scrambled_order(counter + (1 << 19), self.n_chosen)
            sums = table[chosen].sum(axis=0)
            self._keep(chosen, sums)
            at = unchanged = 0
            while unchanged < self.n_chosen:
                yield
                place = int(order[at % self.n_chosen])
                rest = sums - table[chosen[place]]
                other = _best_exchange(table, rest, chosen, float(np.abs(sums).max()) - 1e-12)
                at, unchanged = at + 1, unchanged + 1
                if other is not None:
                    chosen[place], sums, unchanged = other, rest + table[other], 0
            self._keep(chosen, sums)
            # All rotations of a choice are alike: one exchange has tried every pair of cosets.
            if self.n_chosen <= 2 or self.n_chosen == self.n:
                return

    def _periods(self) -> np.ndarray:
        """Return the periods, row j rotated by j: the sums that coset j adds at every lag."""
        factors = repeat(self.generator, self.P - 2)
        powers = accumulate(factors, lambda a, g: a * g % self.P, initial=1)
        residues = np.fromiter(powers, dtype=np.uint64, count=self.P - 1)
        cosines = waves(rational_turns(residues, self.P))[0]
        periods = cosines.reshape(self.h, self.n).sum(axis=0) / self.D
        return sliding_window_view(np.concatenate([periods, periods]), self.n)[: self.n]

    def _keep(self, chosen: np.ndarray, sums: np.ndarray) -> None:
        value = float(np.abs(sums).max())
        if value < self.coherence - 1e-12:
            self.coherence, self.best = value, chosen.copy()


def _best_exchange(
    table: np.ndarray, rest: np.ndarray, chosen: np.ndarray, limit: float
) -> int | None:
    """Return the coset that brings max |rest + its row| furthest below `limit`, or None."""
    # A few lags at which the rest is large rule out most candidates.
    probes = np.argpartition(-np.abs(rest), min(_PROBES, len(rest) - 1))[:_PROBES]
    peaks = np.abs(table[:, probes] + rest[probes]).max(axis=1)
    peaks[chosen] = np.inf
    best = None
    order = np.argsort(peaks, kind="stable")
    for first in range(0, len(order), _CHUNK):
        rows = order[first : first + _CHUNK]
        rows = rows[peaks[rows] < limit]
        if not len(rows):
            break
        values = np.abs(table[rows] + rest).max(axis=1)
        at = int(values.argmin())
        if values[at] < limit:
            best, limit = int(rows[at]), float(values[at])
    return best
