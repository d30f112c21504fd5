"""Measure factors of products by lattice, and vectors in memory, beside their bars.

    python tools/hdc_factors.py products     # 256 bits for each, beside IBM's factorizer
    python tools/hdc_factors.py noise        # phases off by up to a tenth of a turn
    python tools/hdc_factors.py vectors      # retrieved from a full matrix

Each exits with status 1 if a bar is missed. Times are processor time, of all
threads together and the best of three runs, for one product of a batch, without the set-up of a
plan.
"""

from __future__ import annotations

import math
import sys
import time

import click
import numpy as np

from primal import hdc

# Factors, codes of each, share right, iterations: 256 bipolar numbers for a product, arbitrary
# random codes, the best setting of each row. github.com/IBM/in-memory-factorizer (Apache-2.0),
# experiments/300a_assymetric_cb/f3_optimum.csv and f4_optimum.csv, columns max_acc and min_iter.
IBM = (
    (3, 99, 0.9990, 167),
    (3, 463, 1.0000, 1355),
    (3, 999, 0.9971, 27561),
    (4, 100, 1.0000, 8658),
    (4, 261, 0.9980, 372222),
    (4, 316, 0.5449, 5390240),
)
# Factors, positions of each, phases, bits of a phase, most microseconds (no bar: infinite).
LATTICE = (
    (3, 99, 64, 4, 60.0),
    (3, 999, 64, 4, 60.0),
    (3, 3000, 64, 4, 60.0),
    (3, 10**4, 64, 4, 60.0),
    (3, 3 * 10**4, 64, 4, 60.0),
    (3, 10**5, 64, 4, 30.0),
    (3, 10**6, 64, 4, 60.0),
    (4, 316, 32, 8, math.inf),
    (4, 10**6, 32, 8, 30.0),
    (3, 999, 128, 2, math.inf),
    (4, 316, 128, 2, math.inf),
)
NOISE = ((3, 10**6, 128, 0.05, 0.99), (3, 10**4, 256, 0.08, 0.0), (3, 10**4, 256, 0.1, 0.0))
# Numbers in a vector, accuracy.
VECTORS = ((2, 1e-3), (8, 1e-3), (2, 1e-6))


def vocabularies(n_factors: int, n_positions: int, k: int) -> list[hdc.Numbers]:
    """Return the integers of as many roles."""
    space = hdc.Space(2 * k, roles=tuple("abcd"[:n_factors]))
    return [space.numbers(role, n_positions=n_positions) for role in space.roles]


def products(domains: list[hdc.Numbers], n: int) -> tuple[np.ndarray, hdc.Codes]:
    """Return positions (n, F), drawn evenly, and the codes of their products."""
    rng = np.random.default_rng(2026)
    chosen = np.stack([rng.integers(0, d.n_positions, n) for d in domains], axis=1)
    return chosen, hdc.bind([d.encode(chosen[:, f]) for f, d in enumerate(domains)])


def rounded(codes: hdc.Codes, bits: int) -> hdc.Codes:
    """Return codes with phases rounded to so many bits."""
    step = 1 << (32 - bits)
    return hdc.Codes((codes.turns + np.uint32(step // 2)) & np.uint32(2**32 - step))


def report(title: str, domains: list[hdc.Numbers], chosen: np.ndarray, z: hdc.Codes, noise: float):
    """Print what became of products; return the share right and unique, wrong ones, and us."""
    hdc.factorize(z[:2], domains, noise=noise)
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        found = hdc.factorize(z, domains, noise=noise)
        best = min(best, time.process_time() - start)
    right = np.equal(found.indices, chosen).all(axis=1)
    unique = found.status == "unique"
    share, n_wrong = float((right & unique).mean()), int((unique & ~right).sum())
    microseconds = best / len(z) * 1e6
    print(
        f"{title:<38}{right.mean():>8.4f}{unique.mean():>8.4f}{n_wrong:>7}{microseconds:>9.1f}",
        flush=True,
    )
    return share, n_wrong, microseconds


def control(domains: list[hdc.Numbers], z: hdc.Codes, noise: float) -> int:
    """Return how many are called unique of the same phases in another order: no products."""
    rng = np.random.default_rng(7)
    mixed = hdc.Codes(np.ascontiguousarray(rng.permuted(z.turns[:200], axis=1)))
    one_by_one = [hdc.factorize(code, domains, noise=noise).status for code in mixed]
    return one_by_one.count("unique")


@click.group()
def main() -> None:
    """Measure factors and vectors."""


@main.command("products")
@click.option("--trials", default=1000, show_default=True)
def print_products(trials: int) -> None:
    """Print lattice, resonator and IBM's factorizer at 256 bits for a product."""
    print("IBM's factorizer, 256 bipolar numbers    right iterations")
    for F, N, share, n_steps in IBM:
        print(f"{F} x {N:<8}{float(N) ** F:>9.1e} combinations{share:>16.4f}{n_steps:>11}")
    print("\nresonator, 64 phases of 4 bits           right  unique  wrong     ")
    rng = np.random.default_rng(2026)
    for N in (8, 12, 20):
        domains = vocabularies(3, N, 64)
        lists = [d.space.symbols(d.role).encode(range(N)) for d in domains]
        tries = []
        for chosen in rng.integers(0, N, (50, 3)).tolist():
            code = rounded(hdc.bind([c[i] for c, i in zip(lists, chosen, strict=True)])[None], 4)
            found = hdc.factorize(code[0], lists)
            tries.append((found.indices == tuple(chosen), found.status == "unique"))
        right, unique = np.array(tries).T
        title = f"3 x {N:<8}{float(N) ** 3:>9.1e} combinations"
        print(f"{title:<38}{right.mean():>8.4f}{unique.mean():>8.4f}{(unique & ~right).sum():>7}")
    print("\nlattice                                  right  unique  wrong       us")
    missed = 0
    for F, N, k, bits, most in LATTICE:
        domains, noise = vocabularies(F, N, k), 2.0**-bits / math.sqrt(12.0)
        chosen, codes = products(domains, trials)
        z = rounded(codes, bits)
        title = f"{F} x {N:<8}{float(N) ** F:>9.1e}, {k} x {bits} bits"
        share, n_wrong, microseconds = report(title, domains, chosen, z, noise)
        n_false = control(domains, z, noise)
        missed += share < 0.99 or n_wrong > 0 or microseconds > most or n_false > 0
    print("\ncontrol: none of 200 shuffled products of each row may be called unique")
    sys.exit(1 if missed else 0)


@main.command()
@click.option("--trials", default=1000, show_default=True)
def noise(trials: int) -> None:
    """Print how much noise factors stand."""
    print("lattice, noise in turns                  right  unique  wrong       us")
    missed = 0
    for F, N, k, deviation, least in NOISE:
        domains = vocabularies(F, N, k)
        chosen, codes = products(domains, trials)
        off = np.random.default_rng(1).normal(0.0, deviation, codes.shape) * 2.0**32
        z = codes * hdc.Codes(off.astype(np.int64).astype(np.uint32))
        title = f"{F} x {N:<8}{k:>5} phases, {deviation}"
        share, n_wrong, _ = report(title, domains, chosen, z, deviation)
        missed += share < least or n_wrong > 0
    sys.exit(1 if missed else 0)


@main.command()
@click.option("--pairs", default=40, show_default=True)
@click.option("--trials", default=50, show_default=True, help="Full matrices.")
def vectors(pairs: int, trials: int) -> None:
    """Print what is retrieved from full matrices of D = 512, and of keys never stored."""
    print("  d  accuracy  sigma  vectors    right  unique  failed  wrong   error  others unique")
    missed = 0
    rng = np.random.default_rng(2026)
    for d, accuracy in VECTORS:
        memory = hdc.VectorMemory(d, pairs_per_matrix=pairs, accuracy=accuracy)
        x = rng.uniform(-1.0, 1.0, (pairs * trials, d))
        memory.store(range(len(x)), x)
        found = memory.retrieve(range(len(x)))
        others = memory.retrieve(range(len(x), 2 * len(x))).status == "unique"
        off = np.abs(found.x - x).max(axis=1)
        right, unique = off < 6.0 * accuracy, found.status == "unique"
        n_failed, n_wrong = int((found.status == "failed").sum()), int((unique & ~right).sum())
        error = float(np.sqrt(np.square(found.x - x)[right].mean()))
        print(
            f"{d:>3}{accuracy:>10g}{memory.map.sigma:>7g}{len(x):>9}{right.mean():>9.4f}"
            f"{unique.mean():>8.4f}{n_failed:>8}{n_wrong:>7}{error:>8.0e}{others.sum():>15}",
            flush=True,
        )
        missed += (right & unique).mean() < 0.995 or n_failed + n_wrong + int(others.sum()) > 0
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
