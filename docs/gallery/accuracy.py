"""Ridge accuracy of PrimeFeatures, RBFSampler and Nystroem at equal numbers of features.

``python docs/gallery/accuracy.py`` takes some minutes and writes ``accuracy.json``. Gamma and
alpha are chosen on a hold-out part of the training set, from the same grid for every map; test
accuracies are over ten splits. Random maps take the number of the split as their seed.
"""

from __future__ import annotations

import json

import classification
import numpy as np
from figures import HERE
from sklearn import datasets
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from primal.maps import scale_gamma
from primal.sklearn import PrimeFeatures

N_SPLITS = 10
SIZES = (64, 256, 1024)
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
ALPHAS = (1e-3, 1e-2, 1e-1)
MAPS = {
    "PrimeFeatures": lambda D, gamma, seed: PrimeFeatures(D, gamma=gamma),
    "RBFSampler": lambda D, gamma, seed: RBFSampler(gamma=gamma, n_components=D, random_state=seed),
    "Nystroem": lambda D, gamma, seed: Nystroem(gamma=gamma, n_components=D, random_state=seed),
}


def sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return X and one-hot y of each dataset."""
    found = {"digits": datasets.load_digits(return_X_y=True), "spirals": _long_spirals()}
    for name in ("wine", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        found[name] = (StandardScaler().fit_transform(X), y)
    X, y = datasets.make_classification(1200, 30, n_informative=12, n_classes=4, random_state=1)
    found["clusters"] = (StandardScaler().fit_transform(X), y)
    return {name: (X, np.eye(y.max() + 1)[y]) for name, (X, y) in found.items()}


def accuracy(name: str, D: int, X: np.ndarray, Y: np.ndarray, split: int) -> float:
    """Return the test accuracy of one map on one split."""
    make = MAPS[name]
    X, X_test, Y, Y_test = train_test_split(X, Y, test_size=0.3, random_state=split)
    A, B, Y_a, Y_b = train_test_split(X, Y, test_size=0.3, random_state=100 + split)
    best = (-1.0, 0.0, 0.0)
    for factor in FACTORS:
        gamma = factor * scale_gamma(X)
        features = make(min(D, len(A)) if name == "Nystroem" else D, gamma, split).fit(A)
        Z_a, Z_b = features.transform(A), features.transform(B)
        for alpha in ALPHAS:
            found = _score(Ridge(alpha=alpha).fit(Z_a, Y_a).predict(Z_b), Y_b)
            best = max(best, (found, gamma, alpha))
    _, gamma, alpha = best
    features = make(min(D, len(X)) if name == "Nystroem" else D, gamma, split).fit(X)
    model = Ridge(alpha=alpha).fit(features.transform(X), Y)
    return _score(model.predict(features.transform(X_test)), Y_test)


def _score(predicted: np.ndarray, Y: np.ndarray) -> float:
    return float((predicted.argmax(axis=1) == Y.argmax(axis=1)).mean())


def _long_spirals() -> tuple[np.ndarray, np.ndarray]:
    return classification.spirals()


if __name__ == "__main__":
    rows = []
    for data, (X, Y) in sets().items():
        for D in SIZES:
            row: dict = {"data": data, "D": D}
            for name in MAPS:
                row[name] = [accuracy(name, D, X, Y, split) for split in range(N_SPLITS)]
            rows.append(row)
            summary = {n: (np.mean(row[n]), np.std(row[n]) / N_SPLITS**0.5) for n in MAPS}
            print(data, D, *(f"{n} {m:.4f}+-{s:.4f}" for n, (m, s) in summary.items()), flush=True)
    (HERE / "accuracy.json").write_text(json.dumps(rows, indent=1) + "\n")
