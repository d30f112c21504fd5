"""Two spirals and handwritten digits, classified in closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figures import HERE, label_ends, panels
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from primal.sklearn import PrimeRidgeClassifier


def spirals(n: int = 600, turns: float = 2.5) -> tuple[np.ndarray, np.ndarray]:
    """Return two interleaved spirals with a little noise, and their labels."""
    generator = np.random.default_rng(0)
    t = np.sqrt(generator.uniform(0.02, 1.0, n)) * turns * 2.0 * np.pi
    y = np.arange(n) % 2
    angle = t + np.pi * y
    X = np.stack([t * np.cos(angle), t * np.sin(angle)], axis=1)
    return X + 0.25 * generator.standard_normal(X.shape), y


def spiral_accuracy(n_components: int) -> float:
    """Return the test accuracy on spirals."""
    X, y = spirals()
    half = len(X) // 2
    model = PrimeRidgeClassifier(n_components, gamma=0.15).fit(X[:half], y[:half])
    return float(model.score(X[half:], y[half:]))


def digits_accuracy(n_components: int) -> float:
    """Return the test accuracy on digits with every default."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    return float(PrimeRidgeClassifier(n_components).fit(X, y).score(X_test, y_test))


def draw(path: Path = HERE / "classification.png", *, quick: bool = False) -> None:
    """Draw the probability of one spiral, and accuracy against the number of features."""
    X, y = spirals()
    sizes = (16, 64) if quick else (16, 32, 64, 128, 256, 512, 1024)
    model = PrimeRidgeClassifier(128, gamma=0.15).fit(X, y)
    side = np.linspace(-18.0, 18.0, 40 if quick else 250)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    probability = model.predict_proba(grid)[:, 1].reshape(len(side), -1)
    with panels(path, 2) as (left, right):
        left.imshow(probability, origin="lower", extent=(-18, 18, -18, 18), cmap="coolwarm")
        left.scatter(*X.T, c=y, s=4, cmap="gray")
        left.set_title("spirals, 128 features: probability of one")
        left.set(xticks=(), yticks=())
        right.plot(sizes, [spiral_accuracy(D) for D in sizes], "s-", label="spirals")
        right.plot(sizes, [digits_accuracy(D) for D in sizes], "o-", label="digits")
        right.set(xscale="log", xlabel="features", title="test accuracy")
        label_ends(right)


if __name__ == "__main__":
    draw()
