"""In place of RBFSampler: the same pipeline, one line changed, the spread over seeds gone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figures import COLORS, HERE, label_ends, panels
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from primal.sklearn import PrimeFeatures

GAMMA = 3e-4


def accuracies(sizes: tuple[int, ...], n_seeds: int) -> dict[str, np.ndarray]:
    """Return test accuracies on digits: RBFSampler (n_sizes, n_seeds), PrimeFeatures (n_sizes,)."""
    X, y = load_digits(return_X_y=True)
    parts = train_test_split(X, y, test_size=0.4, random_state=0)

    def score(features: object) -> float:
        model = make_pipeline(features, RidgeClassifier(alpha=0.01))
        return model.fit(parts[0], parts[2]).score(parts[1], parts[3])

    random = [
        [score(RBFSampler(gamma=GAMMA, n_components=D, random_state=s)) for s in range(n_seeds)]
        for D in sizes
    ]
    ours = [score(PrimeFeatures(D, gamma=GAMMA)) for D in sizes]
    return {"RBFSampler": np.array(random), "PrimeFeatures": np.array(ours)}


def draw(path: Path = HERE / "drop_in.png", *, quick: bool = False) -> None:
    """Draw accuracy against the number of features."""
    sizes = (32, 64) if quick else (32, 64, 128, 256, 512, 1024)
    found = accuracies(sizes, 2 if quick else 10)
    with panels(path, 1, 6.2) as (axis,):
        random = COLORS["gaussian"]
        axis.plot(sizes, found["RBFSampler"], ".", color=random, alpha=0.5)
        axis.plot(sizes, found["RBFSampler"].mean(1), color=random, label="RBFSampler, ten seeds")
        axis.plot(sizes, found["PrimeFeatures"], "o-", color=COLORS["prime"], label="PrimeFeatures")
        axis.set(xscale="log", xlabel="features", title="accuracy on digits")
        label_ends(axis)


if __name__ == "__main__":
    draw()
