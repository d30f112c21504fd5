"""Count wrong results that the decoders call unique. Within their assumptions there must be none.

    python tools/audit_unique.py                      # 11 million decodes, half an hour
    python tools/audit_unique.py --decodes 20000 --drawn 200000    # a short run
    python tools/audit_unique.py --log audit.jsonl    # resume where an earlier run stopped

Five tables. `inside`: codes as stated, half of them aimed at the edges of the prior, in settings
from easy to just beyond what can be recovered. `drawn`: the same in hundreds of drawn settings of
one to four inputs, of which half have near collisions made on purpose: a shift within the prior
that moves all phases to whole turns but for a few deviations of the noise. `positions`: codes of
integers, from a small sigma to a large one, clean to hopeless. `broken`: codes that break the
assumptions, which may end in a wrong unique result once in 10,000 times and must be warned about,
batch for batch. `rejected`: right codes with the stated noise in their waves, of which the checks
may reject one in a million.

A result is wrong when it lies more than ten of its standard deviations from the truth, at the
noise that the codes really have: no other solution is so near, and noise alone never so far.
Results that are merely less accurate than `x_std` says, because there is more noise than was
stated, are counted as `off`. Erased codes are wrong whatever comes out.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np

import primal
from primal.decoding import Box, DecodePlan, Gaussian, Integers, noise_turns
from primal.exact import pack

BOX = Box(1.0)
WHOLE = "whole"  # one input, with the frequencies 1, 2, 3, ...
# d, D, sigma, basis, prior, noise
SETTINGS = [
    (2, 8, 1.0, "paper", BOX, "float32"),
    (2, 8, 100.0, "paper", BOX, "float32"),
    (2, 8, 150.0, "paper", BOX, "float32"),
    (2, 16, 100.0, "paper", BOX, "float16"),
    (2, 16, 1.0, "table", BOX, 0.02),
    (4, 16, 100.0, "signed", BOX, "float32"),
    (4, 32, 100.0, "paper", BOX, 0.01),
    (4, 16, 30.0, "paper", BOX, 1e-4),
    (4, 128, 0.01, "kronecker", BOX, 0.01),
    (8, 18, 1.0, "paper", BOX, "float32"),
    (8, 20, 1.0, "paper", BOX, "float32"),
    (8, 64, 100.0, "paper", BOX, 0.01),
    (8, 64, 1.0, "kronecker", BOX, 0.02),
    (8, 64, 100.0, "table", BOX, "uint8"),
    (8, 64, 10.0, "paper", Gaussian(1.0, 0.25), 0.02),
    (16, 34, 1.0, "paper", BOX, "float32"),
    (16, 64, 100.0, "paper", BOX, 3e-4),
    (16, 64, 100.0, "paper", BOX, 4e-4),
    (16, 128, 100.0, "paper", BOX, 0.01),
    (16, 128, 100.0, "paper", BOX, "uint8"),
    (16, 128, 1.0, "table", BOX, 0.02),
    (32, 64, 1.0, "paper", BOX, "float32"),
    (32, 66, 1.0, "paper", BOX, "float32"),
    (32, 128, 1.0, "paper", BOX, 0.02),
    (32, 128, 100.0, "paper", BOX, 1e-3),
    (64, 128, 1.0, "paper", BOX, "float32"),
    (64, 130, 1.0, "paper", BOX, "float32"),
    (16, 14, 1.0, "paper", Integers(1.0, 0, 255), "float32"),
    (32, 26, 1.0, "paper", Integers(1.0, 0, 255), "float32"),
    (32, 32, 100.0, "table", Integers(0.5, -8, 8), "float16"),
    (3, 128, 1.0, "paper", Integers(1.0, 0, 9999), 0.02),
    (3, 128, 1.0, "kronecker", Integers(1.0, 0, 999_999), 2.0**-4 / math.sqrt(12.0)),
    (4, 64, 1.0, "hadamard", Integers(1.0, 0, 999_999), "uint8"),
    (4, 256, 1.0, "paper", Integers(1.0, 0, 315), 2.0**-2 / math.sqrt(12.0)),
    (2, 512, 5.0, "kronecker", BOX, 0.031),
    (2, 512, 5.0, "hadamard", BOX, 0.12),
    (2, 512, 5.0, "table", BOX, 0.18),
    (8, 512, 5.0, "signed", BOX, 0.05),
    (8, 512, 5.0, "table", BOX, 0.12),
    (8, 512, 5.0, "kronecker", BOX, 0.12),
    (8, 512, 5.0, "hadamard", Gaussian(0.0, 0.25), 0.08),
    (16, 128, 1.0, "hadamard", BOX, "uint8"),
    (1, 32, WHOLE, "paper", Box(0.5), "float32"),
    (1, 32, WHOLE, "paper", Box(0.5, center=0.25), 1e-4),
    (1, 32, WHOLE, "paper", Gaussian(0.0, 0.01), "float32"),
    (1, 64, WHOLE, "paper", Integers(2.0**-33, -(2**32), 2**32), "float64"),
]
# Where the search hardly ever fails.
EASY = [
    (2, 6, 0.02, "signed", BOX, 1e-8),
    (2, 8, 1.0, "signed", BOX, 1e-8),
    (2, 32, 1.0, "signed", BOX, 1e-3),
    (2, 128, 1.0, "signed", BOX, 0.005),
]
# D, sigma, n, standard deviation of the noise in turns
POSITIONS = [
    (D, sigma, n, std)
    for D, n in ((64, 10**9), (16, 10**9), (128, 10**12), (64, 2**62), (32, 10**5))
    for sigma, stds in (
        (1e-9, (0.0, 1e-6)),
        (1e-6, (0.0, 1e-4, 1e-3)),
        (1e-3, (1e-3, 0.02)),
        (0.01, (0.02, 0.1)),
        (1.0, (0.02, 0.08, 0.11, 0.14)),
    )
    for std in stds
]
BREAKAGES = (
    *("zero", "half erased", "pair erased", "coarse", "permuted columns", "other layout"),
    *("one input outside", "all outside", "10 x noise", "10 x noise in waves"),
)
_CHUNK = 20_000
_DRAWN = 400


def make(setting: tuple) -> tuple[primal.DynamicPrime, DecodePlan]:
    """Return the map and the plan of a setting."""
    d, D, sigma, basis, prior, noise = setting
    if sigma == WHOLE:
        sigma = (np.arange(1, D // 2 + 1) / np.sqrt(primal.primes(D // 2))).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", primal.errors.ConditioningWarning)
        m = primal.DynamicPrime(d, D, sigma, basis=basis)
    return m, m.decode_plan(prior=prior, noise=noise)


def drawn_setting(seed: int) -> tuple[primal.DynamicPrime, DecodePlan, object, float]:
    """Return a map, its plan, a prior and a noise in turns; near collisions where `seed` is odd."""
    rng = np.random.default_rng([2027, seed])
    d = int(rng.integers(1, 5))
    k = int(rng.integers(d, 4 * d + 9))
    noise = float(np.exp(rng.uniform(math.log(1e-7), math.log(0.05))))
    half = float(np.exp(rng.uniform(math.log(0.3), math.log(20.0))))
    kinds = (
        Box(half),
        Gaussian(0.0, half**2 / 3.0),
        Integers(half / 64.0, -64, 64),
        Integers(half / 512.0, -512, 512),
    )
    prior = kinds[int(rng.integers(0, 4))]
    sigma: object = float(np.exp(rng.uniform(math.log(1e-3), math.log(100.0))))
    basis = str(rng.choice(["paper", "signed", "table", "kronecker", "hadamard"]))
    if seed % 2:
        # One input: frequencies i / shift, but for some deviations of the noise in each.
        d, basis = 1, "paper"
        shift = half * float(rng.uniform(0.02, 1.8))
        off = noise * float(np.exp(rng.uniform(math.log(0.1), math.log(30.0))))
        cycles = rng.integers(1, 40, k) + off * rng.normal(size=k)
        sigma = (cycles / shift / np.sqrt(primal.primes(k))).tolist()
    m = primal.DynamicPrime(d, 2 * k, sigma, basis=basis)
    return m, m.decode_plan(prior=prior, noise=noise), prior, noise


def draw(prior: object, d: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n inputs from a prior, shape (n, d)."""
    if isinstance(prior, Integers):
        steps = rng.integers(int(prior.low), int(prior.high) + 1, (n, d))
        return np.asarray(prior.step) * steps
    if isinstance(prior, Gaussian):
        return rng.normal(float(prior.mean), float(prior.cov) ** 0.5, (n, d))
    return float(prior.center) + float(prior.half_width) * rng.uniform(-1.0, 1.0, (n, d))


def draw_edges(
    prior: object, d: int, n: int, x_std: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return n inputs at the edges of a prior: corners, faces, and within the noise of them."""
    x = draw(prior, d, n, rng)
    sign = rng.choice([-1.0, 1.0], (n, d))
    if isinstance(prior, Gaussian):
        # Far out, where the prior still holds: 1 in 1,000 lies further.
        radius = math.sqrt(d) + 2.6
        x = x - float(prior.mean)
        return float(prior.mean) + x * radius * float(prior.cov) ** 0.5 / np.linalg.norm(
            x, axis=1, keepdims=True
        )
    if isinstance(prior, Integers):
        edge = np.where(sign > 0, float(prior.high), float(prior.low)) * float(prior.step)
        inward = np.zeros((n, d))
    else:
        edge = float(prior.center) + float(prior.half_width) * sign
        inward = x_std * rng.exponential(2.0, (n, d)) * rng.choice([0.0, 1.0], (n, 1))
    # All inputs at an edge, or one of them, or each by chance.
    chosen = rng.random((n, d)) < rng.choice([0.1, 0.5, 1.0], (n, 1))
    chosen[np.arange(n), rng.integers(0, d, n)] = True
    return np.where(chosen, edge - sign * inward, x)


def waves(turns: np.ndarray, length: np.ndarray | float = 1.0) -> np.ndarray:
    angles = 2.0 * np.pi * turns
    return np.concatenate([length * np.cos(angles), length * np.sin(angles)], axis=1)


def codes(m: primal.DynamicPrime, x: np.ndarray, noise: object, rng: np.random.Generator):
    """Return codes of x with the stated noise; waves scaled by some factor for each row."""
    if noise == "uint8":
        return pack(m.turns(x), 8)
    scale = rng.choice([1.0, 2.0**-20, 3.7, 1e6], (len(x), 1))
    if noise in ("float32", "float64"):
        return (m.encode(x, dtype=noise) * scale).astype(noise)
    if isinstance(noise, str):
        return m.encode(x).astype(noise)
    turns = m.turns(x) * 2.0**-32 + rng.normal(0.0, noise, (len(x), m.D // 2))
    return scale * waves(turns)


def inside(setting: tuple, n: int, rng: np.random.Generator) -> dict[str, object]:
    """Return what became of n codes that are as stated."""
    if isinstance(setting, int):
        m, plan, prior, noise = drawn_setting(setting)
        d = m.d
    else:
        m, plan = make(setting)
        d, prior, noise = setting[0], setting[4], setting[5]
    names = ("n", "unique", "failed", "wrong", "right", "plain_right", "plain_unique", "warned")
    count = dict.fromkeys(names, 0)
    seconds = 0.0
    for size in chunks(n):
        edges = size // 2
        plain = draw(prior, d, size - edges, rng)
        aimed = draw_edges(prior, d, edges, plan.certificate.x_std, rng)
        for x in (plain, aimed):
            z = codes(m, x, noise, rng)
            start = time.perf_counter()
            result, warned = decoded(plan, z)
            seconds += time.perf_counter() - start
            right = near(result.candidates[:, 0], x, plan.certificate.x_std)
            unique = result.status == "unique"
            add(
                count,
                n=len(x),
                unique=unique,
                failed=result.status == "failed",
                wrong=unique & ~right,
                right=right,
                plain_right=right & (x is plain),
                plain_unique=right & unique & (x is plain),
                # At corners alone the prior does not hold, and more codes fail than predicted.
                warned=warned and x is plain,
            )
    return {
        **count,
        "spurious": plan.certificate.log2_spurious,
        "predicted": plan.certificate.success_probability,
        "rate": n / seconds,
    }


def positions(setting: tuple, n_rows: int, rng: np.random.Generator) -> dict[str, object]:
    """Return what became of codes of positions, some at the ends of the range."""
    D, sigma, n, std = setting
    s = primal.StaticPrime(D, sigma=sigma)
    count = dict.fromkeys(("n", "right", "certain", "wrong"), 0)
    for size in chunks(n_rows):
        t = rng.integers(0, n, size)
        t[: size // 4] = rng.choice([0, 1, 2, n // 2, n - 2, n - 1], size // 4)
        z = s.encode(t, dtype="float64")
        turns = np.arctan2(z[:, D // 2 :], z[:, : D // 2]) / (2.0 * np.pi)
        z = waves(turns + rng.normal(0.0, std, turns.shape)).astype(np.float32)
        found, certain = s.decode(z, n=n, return_certain=True)
        add(count, n=size, right=found == t, certain=certain, wrong=certain & (found != t))
    return count


def broken(setting: tuple, kind: str, n: int, rng: np.random.Generator) -> dict[str, object]:
    """Return what became of n codes that break an assumption."""
    m, plan = make(setting)
    d, prior = setting[0], setting[4]
    k, noise = m.D // 2, plan.noise_turns
    count = dict.fromkeys(("n", "unique", "wrong", "off", "warned"), 0)
    permutation = np.roll(rng.permutation(k), 1)
    while (permutation == np.arange(k)).all():
        permutation = rng.permutation(k)
    for size in chunks(n):
        x = draw(prior, d, size, rng)
        x_std = plan.certificate.x_std
        if kind.endswith("outside"):
            x = moved_outside(prior, x, kind, rng)
        turns = m.turns(x) * 2.0**-32 + rng.normal(0.0, noise, (size, k))
        z = waves(turns)
        if kind == "zero":
            z = np.zeros_like(z)
        elif kind == "half erased":
            z.reshape(size, 2, k)[:, :, : (k + 1) // 2] = 0.0
        elif kind == "pair erased":
            z.reshape(size, 2, k)[np.arange(size), :, rng.integers(0, k, size)] = 0.0
        elif kind == "coarse":  # float16 for a float32 plan, and so on
            step = 4.0 * 2.0 * np.pi * noise * 10.0
            z, x_std = np.rint(z / step) * step, 40.0 * x_std
        elif kind == "permuted columns":
            z = z.reshape(size, 2, k)[:, :, permutation].reshape(size, -1)
        elif kind == "other layout":
            z = z.reshape(size, 2, k).transpose(0, 2, 1).reshape(size, -1)
        elif kind == "10 x noise":
            z, x_std = waves(turns + rng.normal(0.0, 10.0 * noise, turns.shape)), 10.1 * x_std
        elif kind == "10 x noise in waves":
            z = z + rng.normal(0.0, 10.0 * 2.0 * np.pi * noise, z.shape)
            x_std = 10.1 * x_std
        result, warned = decoded(plan, z)
        unique = result.status == "unique"
        erased = kind in ("zero", "half erased", "pair erased")
        wrong = unique & (erased | ~near(result.x, x, x_std))
        off = unique & ~near(result.x, x, plan.certificate.x_std)
        add(count, n=size, unique=unique, wrong=wrong, off=off, warned=warned)
    return count


def rejected(setting: tuple, n: int, rng: np.random.Generator) -> dict[str, object]:
    """Return how many of n codes fail that have the stated noise, in turns and in lengths.

    Those are rejected of which the right x was found, or no phases.
    """
    m, plan = make(setting)
    count = dict.fromkeys(("n", "failed", "rejected"), 0)
    for size in chunks(n):
        x = draw(setting[4], setting[0], size, rng)
        z = waves(m.turns(x) * 2.0**-32)
        z += rng.normal(0.0, 2.0 * np.pi * plan.noise_turns, z.shape)
        result, _ = decoded(plan, z)
        failed = result.status == "failed"
        right = near(result.candidates[:, 0], x, plan.certificate.x_std)
        # A code without phases has no candidate.
        add(count, n=size, failed=failed, rejected=failed & (right | np.isnan(result.residual)))
    return count


def moved_outside(prior: object, x: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return inputs of which one or all lie outside of a prior, from just outside to far off."""
    n, d = x.shape
    chosen = np.ones((n, d), dtype=bool)
    if kind == "one input outside":
        chosen = np.arange(d) == rng.integers(0, d, n)[:, None]
    sign = rng.choice([-1.0, 1.0], (n, d))
    times = np.exp(rng.uniform(math.log(1.01), math.log(10.0), (n, d)))
    if isinstance(prior, Integers):
        half = (float(prior.high) - float(prior.low)) / 2.0
        steps = np.rint((float(prior.high) + float(prior.low)) / 2.0 + sign * times * (half + 1.0))
        return np.where(chosen, float(prior.step) * steps, x)
    if isinstance(prior, Gaussian):
        far = float(prior.mean) + sign * times * (math.sqrt(d) + 5.0) * float(prior.cov) ** 0.5
        return np.where(chosen, far, x)
    far = float(prior.center) + sign * times * float(prior.half_width)
    return np.where(chosen, far, x)


def near(found: np.ndarray, x: np.ndarray, x_std: np.ndarray) -> np.ndarray:
    """Return which rows lie within ten standard deviations; NaN does not."""
    allowed = 10.0 * x_std + 1e-12 * np.abs(x).max(axis=1, keepdims=True) + 1e-9 * x_std.max()
    return (np.abs(found - x) <= allowed).all(axis=1)


def decoded(plan: DecodePlan, z: np.ndarray) -> tuple[object, bool]:
    """Return results, and whether there was a warning about the batch."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", primal.errors.MisfitWarning)
        result = plan.decode(z)
    return result, any(issubclass(w.category, primal.errors.MisfitWarning) for w in caught)


def chunks(n: int) -> Iterator[int]:
    for first in range(0, n, _CHUNK):
        yield min(_CHUNK, n - first)


def add(count: dict[str, int], **values: object) -> None:
    for name, value in values.items():
        count[name] += int(np.sum(value))


def has_power(setting: tuple, kind: str) -> bool:
    """Whether the breakage is one for this setting."""
    noise = setting[-1]
    if kind.startswith("10 x"):
        return noise_turns(noise) <= 0.01  # ten times more leaves no phase at all
    if kind.endswith("outside"):
        return setting[2] != WHOLE  # there every x has its double within the prior
    if kind == "permuted columns":
        return setting[2] != 0.01  # the phases there are hardly longer than the noise
    return kind != "coarse" or noise_turns(noise) < 1e-3


class Log:
    """Results by setting, kept in a file if there is one, so that a run can be resumed."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._found = path, {}
        if path is not None and path.exists():
            self._found = dict(json.loads(line) for line in path.read_text().splitlines())

    def result(self, key: str, make) -> dict:
        if key not in self._found:
            self._found[key] = make()
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps([key, self._found[key]]) + "\n")
        return self._found[key]


def rows_of(kind: str, settings: list, decodes: int, log: Log, work) -> Iterator[tuple]:
    each = -(-decodes // max(1, len(settings)))
    for number, setting in enumerate(settings):
        rng = np.random.default_rng([2026, len(kind), number])  # of its own: order is free
        key = f"{kind} {each} {setting}"
        yield setting, log.result(key, lambda s=setting, r=rng: work(s, each, r))


def print_inside(rows: Iterator[tuple]) -> tuple[int, int, int]:
    """Print one line for each setting; return decodes, wrong ones, and settings that are too shy.

    `sure` is the share of the right ones that are called unique, of x drawn from the prior: at its
    edges an x may have a true double.
    """
    print(
        "  d    D  sigma basis      prior    noise     spurious predicted   right  unique   sure"
        "  failed wrong warned    rate/s"
    )
    total = wrong = shy = 0
    for (d, D, sigma, basis, prior, noise), r in rows:
        sure = r["plain_unique"] / max(1, r["plain_right"])
        print(
            f"{d:>3}{D:>5}{sigma!s:>7} {basis:<11}{type(prior).__name__:<9}{noise!s:<8}"
            f"{r['spurious']:>10.1f}{r['predicted']:>10.4f}{r['right'] / r['n']:>9.4f}"
            f"{r['unique'] / r['n']:>8.3f}{sure:>7.3f}{r['failed'] / r['n']:>8.3f}{r['wrong']:>6}"
            f"{r['warned']:>7}{r['rate']:>10.0f}",
            flush=True,
        )
        total, wrong = total + r["n"], wrong + r["wrong"]
        shy += r["spurious"] < -40.0 and sure < 0.99
    return total, wrong, shy


def print_drawn(rows: Iterator[tuple]) -> tuple[int, int]:
    """Print one line for settings as they come, and one for those with near collisions."""
    sums = [dict.fromkeys(("n", "right", "unique", "failed", "wrong"), 0) for _ in range(2)]
    for seed, r in rows:
        add(sums[seed % 2], **{name: r[name] for name in sums[0]})
    print("\ndrawn settings            codes   right  unique  failed  wrong")
    for name, r in zip(("as they come", "near collisions"), sums, strict=True):
        n = max(1, r["n"])
        shares = "".join(f"{r[key] / n:>8.3f}" for key in ("right", "unique", "failed"))
        print(f"{name:<20}{r['n']:>11}{shares}{r['wrong']:>7}", flush=True)
    return sum(r["n"] for r in sums), sum(r["wrong"] for r in sums)


def print_positions(rows: Iterator[tuple]) -> tuple[int, int]:
    print("\n   D    sigma                   n    noise   right certain wrong")
    total = wrong = 0
    for (D, sigma, n, std), r in rows:
        print(
            f"{D:>4}{sigma:>9g}{n:>20}{std:>9g}{r['right'] / r['n']:>8.4f}"
            f"{r['certain'] / r['n']:>8.4f}{r['wrong']:>6}",
            flush=True,
        )
        total, wrong = total + r["n"], wrong + r["wrong"]
    return total, wrong


def print_broken(rows: Iterator[tuple]) -> bool:
    """Print one line for each breakage, over all settings; return whether all are within bounds."""
    print("\nbreakage                 codes  unique   wrong     off  batches warned about")
    sums: dict[str, dict[str, int]] = {}
    for (_, kind), r in rows:
        batches = -(-r["n"] // _CHUNK)
        total = sums.setdefault(kind, dict.fromkeys((*r, "batches"), 0))
        add(total, **r, batches=batches)
    for kind, r in sums.items():
        print(
            f"{kind:<22}{r['n']:>8}{r['unique']:>8}{r['wrong']:>8}{r['off']:>8}"
            f"{r['warned']:>10} of {r['batches']}",
            flush=True,
        )
    return all(r["wrong"] <= 1e-4 * r["n"] for r in sums.values())


def print_rejected(rows: Iterator[tuple]) -> bool:
    """Print one line for each setting; return whether no more fail than noise explains."""
    print("\n  d    D    noise     codes  failed  rejected")
    sound = True
    for (d, D, _, _, _, noise), r in rows:
        print(f"{d:>3}{D:>5}{noise:>9g}{r['n']:>10}{r['failed']:>8}{r['rejected']:>10}", flush=True)
        expected = 1e-6 * r["n"]
        sound &= r["rejected"] <= expected + 4.0 * math.sqrt(expected) + 1.0
    return sound


@click.command()
@click.option("--decodes", default=1_000_000, show_default=True, help="Codes as stated, in all.")
@click.option("--drawn", default=10_000_000, show_default=True, help="Codes of drawn settings.")
@click.option("--log", "path", type=click.Path(path_type=Path), help="Keep results in this file.")
def main(decodes: int, drawn: int, path: Path | None) -> None:
    """Exit with status 1 if a wrong result is called unique, or too few right ones are."""
    log = Log(path)
    n_positions = decodes // 5
    *codes_found, shy = print_inside(
        rows_of("inside", SETTINGS, decodes - n_positions, log, inside)
    )
    by_chance = print_drawn(
        rows_of("drawn", list(range(_DRAWN if drawn else 0)), drawn, log, inside)
    )
    found = print_positions(rows_of("positions", POSITIONS, n_positions, log, positions))
    cases = [(s, kind) for kind in BREAKAGES for s in SETTINGS if has_power(s, kind)]
    sound = print_broken(
        rows_of("broken", cases, decodes, log, lambda case, n, rng: broken(*case, n, rng))
    )
    sound &= print_rejected(rows_of("rejected", EASY, 10 * decodes, log, rejected))
    total, wrong = (sum(column) for column in zip(codes_found, by_chance, found, strict=True))
    print(f"\n{total} decodes within the assumptions, {wrong} wrong ones called unique")
    print(
        f"{shy} settings with log2_spurious below -40 call less than 0.99 of the right ones unique"
    )
    sys.exit(1 if wrong or shy or not sound else 0)


if __name__ == "__main__":
    main()
