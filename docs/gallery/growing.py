"""Growing a model: new classes and new features without starting again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figures import HERE, panels
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from primal.sklearn import PrimeRidgeClassifier

SETTINGS = {"gamma": 3e-4, "form": "pair", "alpha": 0.01}


def data() -> list[np.ndarray]:
    """Return digits as X, X_test, y, y_test."""
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.4, random_state=0)


def class_by_class(n_components: int) -> tuple[PrimeRidgeClassifier, list[float]]:
    """Return a model that met one digit after the other, and its accuracy on the way."""
    X, X_test, y, y_test = data()
    model, scores = PrimeRidgeClassifier(n_components, **SETTINGS), []
    for digit in range(10):
        model.partial_fit(X[y == digit], y[y == digit])
        known = y_test <= digit
        scores.append(float(model.score(X_test[known], y_test[known])))
    return model, scores


def step_by_step(sizes: tuple[int, ...]) -> tuple[PrimeRidgeClassifier, list[float]]:
    """Return a model that grew from size to size, and its accuracy at each."""
    X, X_test, y, y_test = data()
    model = PrimeRidgeClassifier(sizes[0], **SETTINGS).fit(X, y)
    scores = [float(model.score(X_test, y_test))]
    for D in sizes[1:]:
        model = model.grow(D, X, y)
        scores.append(float(model.score(X_test, y_test)))
    return model, scores


def draw(path: Path = HERE / "growing.png", *, quick: bool = False) -> None:
    """Draw both."""
    sizes = (32, 64) if quick else (32, 64, 128, 256, 512, 1024)
    with panels(path, 2) as (left, right):
        left.plot(range(1, 11), class_by_class(sizes[-1])[1], "o-")
        left.set(xlabel="classes met so far", ylabel="accuracy on these", ylim=(0.9, 1.005))
        left.set_title("digits, one class after the other")
        right.plot(sizes, step_by_step(sizes)[1], "o-")
        right.set(xscale="log", xlabel="features, grown from 32", ylabel="accuracy")
        right.set_title("digits, more and more features")


if __name__ == "__main__":
    draw()
