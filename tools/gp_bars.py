"""How far Gaussian processes on features are from the exact process.

    python tools/gp_bars.py [distance] [foresight]

Distance: mean and standard deviation at 2,000 points beside scikit-learn's exact process on 2,000
rows drawn from it, as shares of the root mean square of each, with the error of the kernel on the
same rows. The deviation is printed as `predict` returns it, with the noise of a measurement, and
that of the function alone.

Foresight: `posterior_error_` over the error of the mean that it estimates, in cases drawn at random
over kernels, laws, numbers of columns, features and rows, and noise. Beside it how the features in
use compare with growable ones in the same cases: errors of the mean, and the divergence of
predictions from the exact ones.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from unittest import mock

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from primal.errors import NumericalWarning
from primal.sklearn import PrimeGaussianProcessRegressor
from primal.sklearn._posterior_maps import growable_map

NOISE, D = 0.01, 1024


def data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.uniform(-1.0, 1.0, size=(n, d))
    return X, np.sin(3.0 * X.sum(axis=1)) + NOISE**0.5 * random.normal(size=n)


def distance(kernel, d: int, D: int, n: int) -> list[float]:
    """Return the error of the kernel, the distances of mean and both deviations, the estimate."""
    X, new = data(n, d)[0], data(n, d, seed=1)[0]
    random = np.random.default_rng(2)
    K = kernel(X)  # with the noise
    y = linalg.cholesky(K, lower=True) @ random.normal(size=n)
    ours = PrimeGaussianProcessRegressor(kernel, n_components=D, optimizer=None).fit(X, y)
    theirs = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    error = ours.map_.kernel_error(X / kernel.k1.k2.length_scale)
    results = []
    for model in (ours, theirs):
        mean, std = model.predict(new, return_std=True)
        results.append((mean, std, np.sqrt(std**2 - NOISE)))
    pairs = zip(*results, strict=True)
    apart = [float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs]
    return [error, *apart, ours.posterior_error_]


def apart(model, exact, new: np.ndarray) -> tuple[float, float]:
    """Return the error of the mean and the divergence of predictions (Kullback and Leibler)."""
    (mean, std), (exact_mean, exact_std) = (m.predict(new, return_std=True) for m in (model, exact))
    squares, ratio = np.square(mean - exact_mean), std[:, 0] / exact_std[:, 0]
    each = (
        np.log(ratio) - 0.5 + 0.5 * (1.0 + squares.mean(axis=1) / exact_std[:, 0] ** 2) / ratio**2
    )
    return float(np.sqrt(squares.mean())), float(each.mean())


def foresight(n_cases: int) -> None:
    """Print quantiles of estimated over true errors of the mean, and how often warnings are due."""
    random, shares, right, gains = np.random.default_rng(19), [], 0, []
    laws = (random.standard_normal, random.random, random.standard_exponential)
    for _ in range(n_cases):
        d, n = int(random.integers(1, 13)), int(random.integers(100, 1500))
        D, noise = int(2 ** random.integers(5, 11)), 10.0 ** random.uniform(-4.0, 0.0)
        length = np.sqrt(d) * 10.0 ** random.uniform(-0.5, 0.5)
        shape = Matern(length, nu=random.choice([0.5, 1.5, 2.5, np.inf]))
        kernel = 1.0 * shape + WhiteKernel(noise)
        law = laws[random.integers(len(laws))]
        X, new = law(size=(n, d)), law(size=(500, d))
        y = linalg.cholesky(kernel(X), lower=True) @ random.standard_normal((n, 8))
        model = PrimeGaussianProcessRegressor(kernel, n_components=D, optimizer=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalWarning)
            ours = clone(model).fit(X, y)
            with mock.patch("primal.sklearn._gaussian_process.posterior_map", growable_map):
                growable = clone(model).fit(X, y)
        theirs = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
        error, divergence = apart(ours, theirs, new)
        if ours.map_.method != "growable":
            other, other_divergence = apart(growable, theirs, new)
            gains.append((error / other, divergence / other_divergence))
        right += (error > 0.1) == (ours.posterior_error_ > 0.1)
        if error > 1e-3:
            shares.append(ours.posterior_error_ / error)
    least, low, middle, high, most = np.quantile(shares, [0.0, 0.05, 0.5, 0.95, 1.0])
    print(f"posterior_error_ over the error of the mean, {len(shares)} cases above 1e-3 of them:")
    print(
        f"  {least:.2f} at least, 5 % {low:.2f}, median {middle:.2f}, 95 % {high:.2f}, {most:.2f}"
    )
    print(f"  on the right side of 0.1: {right} of {n_cases}")
    print(f"{len(gains)} cases on a lattice, over growable features: 5 %, median, 95 %, most")
    for name, found in zip(("error of the mean", "divergence"), np.transpose(gains), strict=True):
        shown = "  ".join(f"{q:.2g}" for q in np.quantile(found, [0.05, 0.5, 0.95, 1.0]))
        print(f"  {name:<20}{shown}")


def distances() -> None:
    print("exact process on 2,000 rows: error of the kernel; mean, deviation with noise (bar 1 %)")
    print("and of the function alone; posterior_error_")
    cases = [(1, 1.0, D), (1, 0.3, D), (2, 1.0, D), (2, 3.0, D), (4, 3.0, D), (2, 1.0, 4 * D)]
    for nu in (np.inf, 2.5, 1.5):
        for d, length, n_features in cases:
            shape = Matern(length, nu=nu) if nu < np.inf else RBF(length)
            kernel = 1.0 * shape + WhiteKernel(NOISE)
            error, *apart, foreseen = distance(kernel, d, n_features, 2_000)
            shown = "  ".join(f"{share:.2%}" for share in apart)
            name = f"Matern {nu}" if nu < np.inf else "RBF"
            print(
                f"  {name:<11}d = {d}, length {length}, D = {n_features}: {error:.1e}  {shown}  "
                f"{foreseen:.2%}",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="distance, foresight; all by default")
    parser.add_argument("--cases", type=int, default=200, help="of foresight")
    given = parser.parse_args()
    parts = {
        "distance": distances,
        "foresight": partial(foresight, given.cases),
    }
    for part in given.parts or parts:
        parts[part]()
