"""Choosing gamma: accuracy, kernel error and the range of the inverse, each against gamma."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figures import HERE, SOFT, panels
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from primal.maps import median_gamma, scale_gamma
from primal.sklearn import PrimeFeatures, PrimeRidgeClassifier


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return breast_cancer, standardised."""
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def curves(gammas: np.ndarray, n_components: int) -> dict[str, list[float]]:
    """Return cross-validated accuracy and kernel error for each gamma."""
    X, y = data()
    accuracy, error = [], []
    for gamma in gammas:
        model = PrimeRidgeClassifier(n_components, gamma=gamma)
        accuracy.append(float(cross_val_score(model, X, y, cv=3).mean()))
        error.append(PrimeFeatures(n_components, gamma=gamma).fit(X).kernel_error(X))
    return {"accuracy": accuracy, "kernel error": error}


def draw(path: Path = HERE / "choosing_gamma.png", *, quick: bool = False) -> None:
    """Draw the curves with the three gammas that the library can name."""
    gammas = np.logspace(-5, 0, 4 if quick else 16)
    n_components = 64 if quick else 256
    X, _ = data()
    found = curves(gammas, n_components)
    named = {
        "scale": scale_gamma(X),
        "median": median_gamma(X),
        "safe_gamma_": PrimeFeatures(n_components).fit(X).safe_gamma_,
    }
    with panels(path, 2) as axes:
        for axis, (name, values) in zip(axes, found.items(), strict=True):
            axis.plot(gammas, values, ".-", color=SOFT)
            for place, (label, gamma) in enumerate(named.items()):
                axis.axvline(gamma, color=f"C{place}", linestyle="--", label=label)
            axis.set(xscale="log", xlabel="gamma", ylabel=name)
            axis.set_title(f"breast_cancer: {name} against gamma")
        handles = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(*handles, loc="outside lower center", ncols=3)


if __name__ == "__main__":
    draw()
