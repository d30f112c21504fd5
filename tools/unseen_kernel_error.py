"""Kernel error of the default basis on data that nothing was chosen by.

One-hot, sparse, low-rank, heavy-tailed and other rows, drawn here, against the means over ten
seeds of orthogonal random features and of RBFSampler, both written or called in
``docs/gallery/peers.py``:

    python tools/unseen_kernel_error.py --D 256 1024 4096

With --predicted, ``predicted_error_`` of features that were fitted to half of the rows over the
error on the other half, of these data, of scikit-learn's and of ten laws in few columns:

    python tools/unseen_kernel_error.py --predicted --D 64 256 1024
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np
import sklearn.datasets
from sklearn.datasets import make_classification

from primal.maps import scale_gamma
from primal.sklearn import PrimeFeatures

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "gallery"))
sys.path.insert(0, str(Path(__file__).parent))
import kernel_bars

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


def print_predictions(sizes: list[int]) -> None:
    """Print predicted over measured errors for each data set: least, median and largest."""
    found = {name: X.astype(float) for name, X in datasets(800).items()}
    for name in ("iris", "wine", "breast_cancer", "digits", "diabetes"):
        found[name] = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)[0]
    found["classification (40)"] = make_classification(800, 40, random_state=0)[0]
    for (name, law), d in itertools.product(kernel_bars.LAWS.items(), (1, 2, 3, 5)):
        halves = [law(np.random.default_rng(seed + 100 * d), d) for seed in (1, 2)]
        found[f"{name} ({d})"] = np.concatenate(halves)
    cells = list(itertools.product(("rbf", "matern32", "laplacian"), (0.1, 1.0, 10.0), sizes))
    ratios = {}
    print(f"{'data (d)':<28}{'least':>9}{'median':>9}{'largest':>9}{'within 3':>10}")
    for name, X in found.items():
        X = X[np.random.default_rng(3).permutation(len(X))]
        fitted, other = X[: len(X) // 2], X[len(X) // 2 :]
        ratios[name] = np.array([prediction(fitted, other, *cell) for cell in cells])
        shown = "".join(f"{ratio:9.2f}" for ratio in np.quantile(ratios[name], (0.0, 0.5, 1.0)))
        print(f"{name:<28}{shown}{within(ratios[name]):>10.0%}", flush=True)
    share = np.mean([within(one) >= 0.9 for one in ratios.values()])
    everything = np.concatenate(list(ratios.values()))
    print(f"within a factor of 3: {within(everything):.1%} of {len(everything)} cells")
    print(f"in nine cells of ten or more: {share:.0%} of {len(ratios)} data sets")


def prediction(fitted: np.ndarray, other: np.ndarray, kernel: str, factor: float, D: int) -> float:
    """Return the predicted error over that of other rows, for `factor` times gamma="scale"."""
    gamma = factor * scale_gamma(fitted, kernel)
    features = PrimeFeatures(D, kernel=kernel, gamma=gamma).fit(fitted)
    return features.predicted_error_ / features.kernel_error(other)


def within(ratios: np.ndarray) -> float:
    return float(np.mean((ratios < 3.0) & (ratios > 1.0 / 3.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--D", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--predicted", action="store_true", help="compare predicted errors")
    arguments = parser.parse_args()
    if arguments.predicted:
        print_predictions(arguments.D)
        return
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
