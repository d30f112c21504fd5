"""Accuracy of class bundles and ridge moments with noise, on scikit-learn's digits.

    python tools/privacy_digits.py [--draws 20]
    python tools/privacy_digits.py --mnist --share 0.1  # where shares of the budget were compared

The scale of the map is a number for pixels from 0 to 1, not a fit to the records; try others with
--sigma. Accuracy is that of a fixed third of the digits; sums are released with (epsilon, 1e-5)-
differential privacy, anew for every draw.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_digits

from primal import DynamicPrime
from primal.privacy import Accountant, _aggregates, release_bundles, release_moments
from primal.privacy._noise import whole_features

DELTA = 1e-5


def _mnist() -> tuple[np.ndarray, np.ndarray]:
    from primal_studies.hdc import load

    found = load("mnist")
    pictures = found.X.reshape(-1, 28, 28)[:, 2:26, 2:26].reshape(-1, 8, 3, 8, 3)
    return pictures.mean(axis=(2, 4)).reshape(-1, 64) * (16.0 / 255.0), found.y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--epsilons", default="0.3,1,3,10")
    parser.add_argument("--sigma", type=float, default=0.11)
    parser.add_argument("--mnist", action="store_true", help="As many digits of MNIST, 8 x 8.")
    parser.add_argument("--share", type=float, help="Of the budget of moments, for products.")
    given = parser.parse_args()
    if given.share is not None:
        _aggregates._GRAM_SHARE = given.share
    X, y = _mnist() if given.mnist else load_digits(return_X_y=True)
    X = X / 16.0
    order = np.random.default_rng(0).permutation(len(X))[:1797]
    train, test = order[:1257], order[1257:]
    m = {
        "bundles": DynamicPrime(64, 2048, given.sigma, basis="auto"),
        "moments": DynamicPrime(64, 256, given.sigma, basis="auto"),
    }
    bare = whole_features(m["bundles"], X).astype(float)
    means = np.array([bare[train][y[train] == c].sum(axis=0) for c in range(10)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    right = (bare[test] @ means.T).argmax(axis=1) == y[test]
    print(f"bundles  no noise       {right.mean():.4f}")
    for kind, release in (("bundles", release_bundles), ("moments", release_moments)):
        for epsilon in map(float, given.epsilons.split(",")):
            found = []
            for _ in range(given.draws):
                budget = Accountant(epsilon, DELTA)
                model = release(
                    m[kind], X[train], y[train], classes=range(10), budget=budget, ids=train
                )
                found.append((model.predict(X[test]) == y[test]).mean())
            print(
                f"{kind:8} epsilon {epsilon:<6g} {np.mean(found):.4f} "
                f"({min(found):.4f} to {max(found):.4f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
