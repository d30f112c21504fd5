"""Choose the primes of the basis ``kronecker``, without data, and compare with the frozen lists.

    python tools/kronecker_primes.py                  # d = 1..8, about a minute
    python tools/kronecker_primes.py --d 2 --d 3      # some of them

The frequencies of k rows and m columns are omega_ij = normal quantile of {i sqrt(q_j) + 1/2}.
Take differences delta ~ N(0, tau**2 I) with tau**2 = 2 / d: those of standard normal points,
in units of the bandwidth sqrt(d). The mean squared error of the kernel that the first k rows
make, against exp(-|delta|**2 / 2), has the closed form

    J_k = 1 / (2 k**2) sum_ii' [ prod_j exp(-tau**2 (omega_ij - omega_i'j)**2 / 2)
                               + prod_j exp(-tau**2 (omega_ij + omega_i'j)**2 / 2) ]
        - 2 / k sum_i prod_j (1 + tau**2)**-1/2 exp(-tau**2 omega_ij**2 / (2 (1 + tau**2)))
        + (1 + 2 tau**2)**(-m / 2).

Column by column, every unused prime among the first 700 is tried in ascending order, and the
one with the strictly smallest sum over k = 32, 64, 128, 256, 512 of ln max(J_k, 1e-14) stays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise

import click
import numpy as np

import primal
from primal._arithmetic import normal_quantile, unit_fractions
from primal.exact import static_turns
from primal.exact._laws import KRONECKER_PRIMES

ROWS = (32, 64, 128, 256, 512)
POOL_SIZE = 700
SMALLEST_ERROR = 1e-14
_HALF_TURN = np.uint64(1 << 63)


class Columns:
    """The columns chosen so far: their three products, and the score of one more."""

    def __init__(self, tau_squared: float) -> None:
        n = ROWS[-1]
        self.n_columns = 0
        self.tau_squared = tau_squared
        self.minus, self.plus, self.single = np.ones((n, n)), np.ones((n, n)), np.ones(n)

    def score(self, omega: np.ndarray) -> float:
        """Return the sum over k of ln max(J_k, 1e-14) with the column `omega` added."""
        constant = (1.0 + 2.0 * self.tau_squared) ** (-(self.n_columns + 1) / 2)
        single = np.add.accumulate(self.single * self._single_factor(omega))
        bell = self._bell(omega)
        pairs = total = 0.0
        # The sums over pairs are symmetric: each k adds its new rows against all up to k.
        for first, k in pairwise((0, *ROWS)):
            # exp(-(a -+ b)**2 tau**2 / 2) = bell(a) bell(b) exp(+-a b tau**2)
            cross = np.exp(np.outer(self.tau_squared * omega[first:k], omega[:k]))
            tile = self.minus[first:k, :k] * cross + self.plus[first:k, :k] / cross
            sums = bell[first:k] @ tile
            pairs += 2.0 * (sums[:first] @ bell[:first]) + sums[first:] @ bell[first:k]
            error = pairs / (2.0 * k * k) - 2.0 / k * single[k - 1] + constant
            total += np.log(max(error, SMALLEST_ERROR))
        return float(total)

    def append(self, omega: np.ndarray) -> None:
        """Multiply the factors of `omega` into the products."""
        bells = np.outer(self._bell(omega), self._bell(omega))
        cross = np.exp(np.outer(self.tau_squared * omega, omega))
        self.minus *= bells * cross
        self.plus *= bells / cross
        self.single *= self._single_factor(omega)
        self.n_columns += 1

    def _bell(self, omega: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * self.tau_squared * omega * omega)

    def _single_factor(self, omega: np.ndarray) -> np.ndarray:
        shrink = 1.0 + self.tau_squared
        return np.exp(-0.5 * self.tau_squared / shrink * omega * omega) / np.sqrt(shrink)


def candidates() -> tuple[list[int], np.ndarray]:
    """Return the first 700 primes and their columns of frequencies, shape (700, 512)."""
    rows = np.arange(1, ROWS[-1] + 1, dtype=np.uint64)
    turns = static_turns(rows, primal.increments(POOL_SIZE)) + _HALF_TURN
    omegas = normal_quantile(unit_fractions(turns))
    return primal.primes(POOL_SIZE).tolist(), np.ascontiguousarray(omegas.T)


def choose_primes(
    d: int, tried: Callable[[int], None] = lambda _: None, given: tuple[int, ...] = ()
) -> tuple[int, ...]:
    """Return the d primes in the order of their columns.

    Parameters
    ----------
    d : int
        Number of inputs, at least 1.
    tried : callable, optional
        Called with how many candidates were tried since its last call.
    given : tuple of int, optional
        Primes of the first columns, which are not chosen.
    """
    primes, omegas = candidates()
    columns = Columns(2.0 / d)
    chosen = list(given)
    for prime in given:
        columns.append(omegas[primes.index(prime)])
    for _ in range(d - len(given)):
        best, lowest = 0, np.inf
        for index in range(POOL_SIZE):
            if primes[index] not in chosen:
                score = columns.score(omegas[index])
                if score < lowest:
                    best, lowest = index, score
            tried(1)
        chosen.append(primes[best])
        columns.append(omegas[best])
    return tuple(chosen)


@click.command()
@click.option(
    "--d",
    "dimensions",
    type=click.IntRange(1, max(KRONECKER_PRIMES)),
    multiple=True,
    help="Number of inputs; may be given more than once.  [default: every frozen list]",
)
def main(dimensions: tuple[int, ...]) -> None:
    """Choose the primes of the basis kronecker and compare them with the frozen lists."""
    different = False
    for d in dimensions or tuple(KRONECKER_PRIMES):
        with click.progressbar(length=d * POOL_SIZE, label=f"d = {d}", file=sys.stderr) as bar:
            found = choose_primes(d, bar.update)
        same = found == KRONECKER_PRIMES[d]
        different |= not same
        verdict = "as frozen" if same else f"frozen: {KRONECKER_PRIMES[d]}"
        click.echo(f"d = {d}: {found} {verdict}")
    sys.exit(different)


if __name__ == "__main__":
    main()
