"""Kernel error of the default basis on data that nothing was chosen by.

One-hot, sparse, low-rank, heavy-tailed and other rows, drawn here, against the means over ten
seeds of orthogonal random features and of RBFSampler, both written or called in
``docs/gallery/peers.py``:

    python tools/unseen_kernel_error.py --D 256 1024 4096
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "gallery"))
import peers


def datasets(n: int = 300) -> dict[str, np.ndarray]:
    """Return matrices of n rows by name."""
    rng = np.random.default_rng(20)
    centers = rng.standard_normal((12, 100)) * 2.0
    return {
        "one-hot (128)": np.eye(128)[rng.integers(0, 128, n)],
        "three ones (200)": np.stack(
            [np.isin(np.arange(200), rng.choice(200, 3)) for _ in range(n)]
        ).astype(float),
        "sparse, 2 % (300)": rng.standard_normal((n, 300)) * (rng.random((n, 300)) < 0.02),
        "rank 6 (256)": rng.standard_normal((n, 6)) @ rng.standard_normal((6, 256)),
        "Student t, 3 degrees (50)": rng.standard_t(3, (n, 50)),
        "exponential (20)": rng.exponential(size=(n, 20)),
        "clusters (100)": centers[rng.integers(0, 12, n)] + rng.standard_normal((n, 100)),
        "binary (64)": rng.integers(0, 2, (n, 64)).astype(float),
        "sines (33)": np.sin(np.arange(33) * rng.uniform(0.05, 1.0, (n, 1))),
        "Gaussian (16)": rng.standard_normal((n, 16)),
        "Gaussian (512)": rng.standard_normal((n, 512)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--D", type=int, nargs="+", default=[256, 1024])
    arguments = parser.parse_args()
    print(f"{'data (d)':<28}{'D':>6}{'ours':>9}{'/ orthogonal random':>22}{'/ RBFSampler':>15}")
    for name, X in datasets().items():
        for D in arguments.D:
            gamma = peers.gammas(X)["1/m^2"]
            errors = peers.kernel_errors(X, D, gamma)
            ours = errors["PrimeFeatures"]
            print(
                f"{name:<28}{D:>6}{ours:>9.4f}{ours / errors['orthogonal random']:>22.2f}"
                f"{ours / errors['RBFSampler']:>15.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
