"""Why `auto` is what it is: the kernel error of bases in closed form, over laws of the data.

For Gaussian differences t = x - y with covariance C, and the kernel exp(-|t|**2 / 2), the mean
square of K(t) - mean_i cos(w_i t) has a closed form for any frequencies w_i. This prints it as a
relative error over that of orthogonal random features (mean of `--draws` draws), for data whose
inputs are independent, correlated, of low rank, or of very different sizes. No data set is used.

    python tools/auto_rule.py --d 4 6 8 9 12 16 --D 256 1024
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from primal.bases import Basis

BASES = ("kronecker", "hadamard", "orthogonal")


def covariances(d: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return covariances of t, of mean square length 2 d / d = 2: those of standardised data."""
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    decay = np.exp(-np.arange(d) * 4.0 / d)
    low = rng.standard_normal((d, max(1, d // 3)))
    found = {
        "independent": np.eye(d),
        "correlated": 0.1 * np.eye(d) + 0.9 * np.ones((d, d)),
        "low rank": low @ low.T + 1e-3 * np.eye(d),
        "decay": np.diag(decay),
        "decay, turned": rotation * decay @ rotation.T,
        "one input": np.diag([1.0, *[1e-2] * (d - 1)]),
    }
    return {name: 2.0 * C / np.trace(C) for name, C in found.items()}


def relative_error(w: np.ndarray, C: np.ndarray) -> float:
    """Return the root of E (K - Khat)**2 over E K**2 for frequencies w in radians, (k, d)."""
    d = w.shape[1]
    # Under K the law of t is Gaussian too, of covariance (C**-1 + I)**-1 and smaller mass.
    once = np.linalg.solve(np.eye(d) + C, C)
    mass_once = 1.0 / math.sqrt(np.linalg.det(np.eye(d) + C))
    mass_twice = 1.0 / math.sqrt(np.linalg.det(np.eye(d) + 2.0 * C))
    crossed = mass_once * np.exp(-0.5 * np.einsum("id,de,ie->i", w, once, w)).mean()
    gram = w @ C @ w.T
    sizes = np.diag(gram)
    middle = -0.5 * (sizes[:, None] + sizes)
    total = 0.5 * (np.exp(middle + gram) + np.exp(middle - gram)).mean()
    return math.sqrt(max(total - 2.0 * crossed + mass_twice, 0.0) / mass_twice)


def orthogonal_random(d: int, k: int, rng: np.random.Generator) -> np.ndarray:
    blocks = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(-(-k // d))]
    return np.concatenate(blocks)[:k] * np.sqrt(rng.chisquare(d, k))[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--d", type=int, nargs="+", default=[3, 4, 5, 6, 7, 8, 9, 10, 12, 16])
    parser.add_argument("--D", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--draws", type=int, default=6)
    arguments = parser.parse_args()
    print(f"{'d':>3} {'D':>5} {'data':<15}" + "".join(f"{name:>12}" for name in BASES))
    for d in arguments.d:
        worst = dict.fromkeys(BASES, 0.0)
        for D in arguments.D:
            rng = np.random.default_rng(d)
            laws = covariances(d, rng)
            draws = [orthogonal_random(d, D // 2, rng) for _ in range(arguments.draws)]
            tables = {name: Basis(name, d, D // 2, 1.0).frequencies for name in BASES}
            for name, C in laws.items():
                peer = np.mean([relative_error(w, C) for w in draws])
                ratios = {b: relative_error(w, C) / peer for b, w in tables.items()}
                worst = {b: max(worst[b], ratios[b]) for b in BASES}
                print(f"{d:>3} {D:>5} {name:<15}" + "".join(f"{r:>12.2f}" for r in ratios.values()))
        print(f"{d:>3}       {'worst':<15}" + "".join(f"{r:>12.2f}" for r in worst.values()))


if __name__ == "__main__":
    main()
