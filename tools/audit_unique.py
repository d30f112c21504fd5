"""Count wrong results that the lattice decoder calls unique. There must be none.

    python tools/audit_unique.py                  # 100,000 decodes, a few minutes
    python tools/audit_unique.py --decodes 20000

The decodes are spread evenly over settings from easy to just beyond what can be recovered. For
each the predicted and the measured chance of success are printed. A result is wrong when it lies
more than ten of its standard deviations from the truth, which never happens by noise alone.
"""

from __future__ import annotations

import sys
import time
import warnings

import click
import numpy as np

import primal
from primal.decoding import Box, Gaussian, Integers, quantise

# d, D, sigma, basis, prior, noise
BOX = Box(1.0)
SETTINGS = [
    (2, 8, 1.0, "paper", BOX, "float32"),
    (2, 8, 100.0, "paper", BOX, "float32"),
    (2, 8, 150.0, "paper", BOX, "float32"),
    (2, 16, 100.0, "paper", BOX, "float16"),
    (2, 16, 1.0, "orthogonal", BOX, 0.02),
    (4, 16, 100.0, "signed", BOX, "float32"),
    (4, 32, 100.0, "paper", BOX, 0.01),
    (4, 16, 30.0, "paper", BOX, 1e-4),
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
    (16, 128, 1.0, "orthogonal", BOX, 0.02),
    (32, 64, 1.0, "paper", BOX, "float32"),
    (32, 66, 1.0, "paper", BOX, "float32"),
    (32, 128, 1.0, "paper", BOX, 0.02),
    (32, 128, 100.0, "paper", BOX, 1e-3),
    (64, 128, 1.0, "paper", BOX, "float32"),
    (64, 130, 1.0, "paper", BOX, "float32"),
    (16, 14, 1.0, "paper", Integers(1.0, 0, 255), "float32"),
    (32, 26, 1.0, "paper", Integers(1.0, 0, 255), "float32"),
    (32, 32, 100.0, "orthogonal", Integers(0.5, -8, 8), "float16"),
]


def draw(prior: object, d: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n inputs from a prior, shape (n, d)."""
    if isinstance(prior, Integers):
        return np.asarray(prior.step) * rng.integers(int(prior.low), int(prior.high) + 1, (n, d))
    if isinstance(prior, Gaussian):
        return rng.normal(float(prior.mean), float(prior.cov) ** 0.5, (n, d))
    return rng.uniform(-1.0, 1.0, (n, d))


def codes(m: primal.DynamicPrime, x: np.ndarray, noise: object, rng: np.random.Generator):
    """Return codes of x with the stated noise."""
    if noise == "uint8":
        return quantise(m.turns(x))
    if isinstance(noise, str):
        return m.encode(x).astype(noise)
    turns = m.turns(x) * 2.0**-32 + rng.normal(0.0, noise, (len(x), m.D // 2))
    return np.concatenate([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], axis=1)


def audit(setting: tuple, n: int, rng: np.random.Generator) -> tuple[int, int]:
    """Print one line and return (unique, wrong and unique)."""
    d, D, sigma, basis, prior, noise = setting
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", primal.ConditioningWarning)
        m = primal.DynamicPrime(d, D, sigma, basis=basis)
    plan = m.decode_plan(prior=prior, noise=noise, cache=False)
    x = draw(prior, d, n, rng)
    start = time.perf_counter()
    result = plan.decode(codes(m, x, noise, rng))
    rate = n / (time.perf_counter() - start)
    allowed = 10.0 * plan.x_std + 1e-6 * np.abs(x).max()
    right = (np.abs(result.candidates[:, 0] - x) <= allowed).all(axis=1)
    unique = result.status == "unique"
    wrong = int((unique & ~right).sum())
    print(
        f"{d:>3}{D:>5}{sigma:>7g} {basis:<11}{type(prior).__name__:<9}{noise!s:<8}"
        f"{plan.log2_spurious:>10.1f}{plan.success_probability:>10.4f}{right.mean():>9.4f}"
        f"{unique.mean():>8.3f}{(result.status == 'failed').mean():>8.3f}{wrong:>6}{rate:>10.0f}",
        flush=True,
    )
    return int(unique.sum()), wrong


@click.command()
@click.option("--decodes", default=100_000, show_default=True, help="Number of decodes in all.")
def main(decodes: int) -> None:
    """Exit with status 1 if a wrong result was called unique."""
    rng = np.random.default_rng(2026)
    each = -(-decodes // len(SETTINGS))
    print(
        "  d    D  sigma basis      prior    noise     spurious predicted   right  unique  failed"
        " wrong    rate/s"
    )
    counts = [audit(setting, each, rng) for setting in SETTINGS]
    unique, wrong = (sum(column) for column in zip(*counts, strict=True))
    print(f"{each * len(SETTINGS)} decodes, {unique} called unique, {wrong} of these wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
