"""Measure what one vector can hold, and how fast codes are bound and cleaned up.

    python tools/hdc_capacity.py bars                 # the bars, about a minute
    python tools/hdc_capacity.py decoders             # every decoder on fuller and fuller bundles
    python tools/hdc_capacity.py consecutive          # scales against runs of positions
    python tools/hdc_capacity.py resonator            # products of three factors
    python tools/hdc_capacity.py pictures             # codes of pixels; needs MNIST
    python tools/hdc_capacity.py speed                # against torchhd, which has to be installed

`bars`, `pictures` and `speed` exit with status 1 if a bar is missed. Speeds are ratios of the
best of interleaved runs in one process.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import click
import numpy as np

from primal import hdc
from primal.codebooks import lag_cosines

D, N = 512, 1000
# Numbers of items around the one that each decoder can find.
DECODERS = {
    "matched": (16, 21),
    "orthogonal": (67, 90),
    "subspace": (143, 191, 257),
    "message": (333, 444),
}


def memories(D: int = D, N: int = N) -> dict[str, hdc.ItemMemory]:
    """Return the same number of items as names and as whole numbers."""
    space = hdc.Space(D)
    return {
        "symbols": hdc.ItemMemory(space.symbols(), list(range(N))),
        "integers": hdc.ItemMemory(space.numbers(), range(N)),
    }


def decoded(memory: hdc.ItemMemory, K: int, decoder: str, n_trials: int) -> np.ndarray:
    """Return the share of bundled items found in each trial."""
    rng = np.random.default_rng(2026)
    shares = np.empty(n_trials)
    for trial in range(n_trials):
        items = rng.choice(len(memory), K, replace=False)
        found = memory.decode(hdc.bundle(memory.codes[items]), K, decoder=decoder)
        shares[trial] = np.isin(found.indices, items).mean()
    return shares


def recalled(keys: hdc.Codes, values: hdc.Codes, n_pairs: int, n_trials: int) -> float:
    """Return the share of values recalled from a bundle of keys times values."""
    rng = np.random.default_rng(2026)
    waves = hdc.phasors(values).view(np.float32).T.copy()
    right = 0
    for _ in range(n_trials):
        i, j = rng.choice(len(keys), n_pairs, replace=False), rng.choice(len(values), n_pairs)
        trace = hdc.bundle(keys[i] * values[j])
        answers = (trace / keys[i]).view(np.float32) @ waves
        right += int((answers.argmax(axis=1) == j).sum())
    return right / (n_trials * n_pairs)


def random_codes(seed: int, n: int, k: int) -> hdc.Codes:
    """Return codes of uniform phases, the usual ones of the field."""
    rng = np.random.default_rng(seed)
    return hdc.Codes(rng.integers(0, 2**32, (n, k), dtype=np.uint32))


@click.group()
def main() -> None:
    """Measure hyperdimensional computing with codes from primes."""


@main.command()
@click.option("--trials", default=50, show_default=True)
def bars(trials: int) -> None:
    """Print the bars of D = 512, N = 1000; exit with status 1 if one is missed."""
    missed = False

    def line(name: str, value: float, bar: float) -> None:
        nonlocal missed
        missed |= value < bar
        print(
            f"{name:<58}{value:>8.4f}  bar {bar:.4f}{'' if value >= bar else '  MISSED'}",
            flush=True,
        )

    found = memories()
    exact = np.mean(decoded(found["symbols"], 180, "subspace", trials) == 1.0)
    line("subspace pursuit, symbols, K = 180, exact sets", exact, 0.95)
    for kind, memory in found.items():
        exact = np.mean(decoded(memory, 180, "message", trials) == 1.0)
        line(f"message passing, {kind}, K = 180, exact sets", exact, 0.95)
        share = decoded(memory, 16, "matched", 8 * trials).mean()
        line(f"matched filter, {kind}, K = 16, items", share, 0.99)
    space = hdc.Space(D, roles=("key", "value"))
    keys, values = (space.numbers(role).encode(np.arange(1, N + 1)) for role in space.roles)
    random = [random_codes(seed, len(keys), keys.k) for seed in range(2)]
    for n_pairs in (10, 20, 40, 60):
        n_trials = max(1, 80 * trials // n_pairs)
        bar = recalled(*random, n_pairs, n_trials) - 0.02
        line(
            f"key-value vector, disjoint blocks, {n_pairs} pairs (random codes less 0.02)",
            recalled(keys, values, n_pairs, n_trials),
            bar,
        )
    sys.exit(int(missed))


@main.command()
@click.option("--trials", default=10, show_default=True)
def decoders(trials: int) -> None:
    """Print the accuracy of every decoder."""
    for kind, memory in memories().items():
        for decoder, sizes in DECODERS.items():
            for K in sizes:
                shares = decoded(memory, K, decoder, trials)
                print(
                    f"{kind:<10}{decoder:<12}K ={K:>4}  items found {shares.mean():.4f}  "
                    f"exact sets {np.mean(shares == 1.0):.2f}",
                    flush=True,
                )


@main.command()
def consecutive() -> None:
    """Print, for several scales, how well runs of consecutive positions are told from others."""
    golden = (math.sqrt(5.0) + 1.0) / 2.0
    scales = {
        "1 (the paper)": 1.0,
        "golden**-1/2 (default)": hdc.Space(2).sigma,
        "1 / golden": 1.0 / golden,
        "1 / (2 pi)": 1.0 / (2.0 * math.pi),
        "1 / e": 1.0 / math.e,
        "pi / 4": math.pi / 4.0,
    }
    roles = tuple(str(i) for i in range(16))
    print("scale                   k    n     energy   inside (mean and least of 16 blocks)")
    for name, sigma in scales.items():
        for k, n in ((256, 40), (1024, 160)):
            space = hdc.Space(2 * k, roles=roles, sigma=sigma)
            runs = [hdc.bundle(space.numbers(role).encode(np.arange(n))) for role in roles]
            energy = np.mean(np.square(np.abs(runs))) / n
            inside = [_inside(space.increments(role), n) for role in roles]
            print(
                f"{name:<22}{k:>5}{n:>5}{energy:>10.2f}{np.mean(inside):>9.3f}{min(inside):>7.2f}",
                flush=True,
            )


@main.command()
@click.option("--trials", default=20, show_default=True)
def resonator(trials: int) -> None:
    """Print how often the factors of a product of three codes are found."""
    rng = np.random.default_rng(2026)
    for k in (128, 256, 512):
        space = hdc.Space(2 * k, roles=("a", "b", "c"))
        for factor in (0.5, 1.0, 4.0):
            n = round((factor * k * k) ** (1 / 3))
            domains = [space.symbols(role).encode(list(range(n))) for role in space.roles]
            right, steps = 0, []
            for _ in range(trials):
                chosen = tuple(int(i) for i in rng.integers(0, n, 3))
                product = hdc.bind([c[i] for c, i in zip(domains, chosen, strict=True)])
                found = hdc.factorize(product, domains)
                right += found.indices == chosen
                steps.append(found.steps)
            print(
                f"k ={k:>4}  {n:>3}**3 = {n**3 / k**2:.2f} k**2 combinations: found "
                f"{right / trials:.2f}, {np.median(steps):.0f} rounds (median)",
                flush=True,
            )


@main.command()
@click.option("--pairs", default=100_000, show_default=True)
@click.option("--rounds", default=5, show_default=True)
def speed(pairs: int, rounds: int) -> None:
    """Print speeds relative to torchhd; exit with status 1 if a bar is missed."""
    import torchhd

    k = 512
    a, b = (random_codes(seed, pairs, k) for seed in range(2))
    ta, tb = hdc.to_fhrr(a), hdc.to_fhrr(b)
    binding = _times(lambda: torchhd.bind(ta, tb), lambda: hdc.bind(a, b), rounds)
    unbinding = _times(lambda: torchhd.bind(ta, torchhd.inverse(tb)), lambda: a / b, rounds)
    both = (binding[0] + unbinding[0]) / (binding[1] + unbinding[1])
    memory = hdc.ItemMemory(hdc.Space(2 * k).numbers(), range(10_000))
    queries = hdc.bundle(memory.codes[np.arange(3000).reshape(1000, 3)])
    items, asked = hdc.to_fhrr(memory.codes), hdc.to_fhrr(queries)
    memory.cleanup(queries[:1])

    def theirs() -> None:
        torchhd.cosine_similarity(asked, items).max(dim=-1)

    cleaning = _times(theirs, lambda: memory.cleanup(queries), rounds)
    missed = False
    for name, ratio, bar in (
        (f"bind {pairs} pairs, D = 1024", binding[0] / binding[1], 0.0),
        (f"unbind {pairs} pairs, D = 1024", unbinding[0] / unbinding[1], 0.0),
        ("bind and unbind together", both, 3.0),
        ("cleanup, 1000 queries, 10,000 items, D = 1024", cleaning[0] / cleaning[1], 1.0),
    ):
        missed |= ratio < bar
        print(f"{name:<50}{ratio:>6.2f} times torchhd{f', bar {bar}' if bar else ''}")
    sys.exit(int(missed))


@main.command()
@click.option("--data", default="mnist", show_default=True, help="mnist, or digits.")
@click.option("--seeds", default=8, show_default=True, help="Of random codes.")
@click.option("--levels", default=8, show_default=True, help="Of gray.")
def pictures(data: str, seeds: int, levels: int) -> None:
    """Print how well pictures are told apart by the codes of their pixels.

    A picture is the bundle of pixel times gray, a class the bundle of its pictures, and the most
    similar class wins. Hashed pixels miss the bar if they do worse than random codes by more than
    a standard deviation.
    """
    from primal_studies.hdc import load

    split = load(data).split(0)
    top = float(split.X_train.max())
    grays = hdc.Space(D, roles=("pixel", "gray")).levels("gray", low=0, high=top, n=levels)
    n_pixels = split.X_train.shape[1]

    def accuracy(pixels: hdc.Codes) -> float:
        classes = np.unique(split.y_train)
        train = _pictures(split.X_train, pixels, grays)
        sums = np.stack([train[split.y_train == label].sum(axis=0) for label in classes])
        sums /= np.linalg.norm(sums, axis=1, keepdims=True)
        answers = (_pictures(split.X_test, pixels, grays) @ sums.conj().T).real
        return float(np.mean(classes[answers.argmax(axis=1)] == split.y_test))

    random = [accuracy(random_codes(seed, n_pixels, D // 2)) for seed in range(seeds)]
    mean, spread = float(np.mean(random)), float(np.std(random, ddof=1))
    hashed = accuracy(grays.space.symbols("pixel").encode(range(n_pixels)))
    whole = accuracy(grays.space.numbers("pixel").encode(np.arange(n_pixels)))
    bar = mean - spread
    print(f"{data}, D = {D}, {levels} levels of gray; share of test pictures that are right")
    print(f"random codes, {seeds} seeds     {mean:.4f}, standard deviation {spread:.4f}")
    print(f"hashed positions (symbols)  {hashed:.4f}{'' if hashed >= bar else '  MISSED'}")
    print(f"integers                    {whole:.4f}")
    sys.exit(int(hashed < bar))


def _pictures(X: np.ndarray, pixels: hdc.Codes, grays: hdc.Levels) -> np.ndarray:
    """Return the bundle of pixel times gray of every row of X, one level after the other."""
    waves = hdc.phasors(pixels).view(np.float32)
    levels = grays.index(X)
    total = np.zeros((len(X), pixels.k), dtype=np.complex64)
    for place, code in enumerate(grays.codes):
        total += ((levels == place).astype(np.float32) @ waves).view(np.complex64) * code
    return total


def _inside(increments: np.ndarray, n: int) -> float:
    """Return the share of the n strongest answers of a bundle of n positions that are inside."""
    cosines = lag_cosines(increments, N)
    shares = []
    for first in (0, 150, 377):
        window = np.arange(first, first + n)
        answers = cosines[np.abs(np.arange(N)[:, None] - window)].sum(axis=1)
        shares.append(np.isin(np.argsort(-answers, kind="stable")[:n], window).mean())
    return float(np.mean(shares))


def _times(
    theirs: Callable[[], object], ours: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Return their best time and ours, measured in turns."""
    best = {theirs: math.inf, ours: math.inf}
    for _ in range(rounds):
        for work in best:
            start = time.perf_counter()
            work()
            best[work] = min(best[work], time.perf_counter() - start)
    return best[theirs], best[ours]


if __name__ == "__main__":
    main()
