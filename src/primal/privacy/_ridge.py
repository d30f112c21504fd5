"""Ridge regression in NumPy alone, with the penalty chosen by generalised cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_ALPHAS = 10.0 ** np.arange(-8.0, 4.0)


@dataclass(frozen=True, eq=False)
class Ridge:
    """A linear model: (Z - center) @ coef + intercept."""

    center: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray

    @classmethod
    def fit(cls, Z: np.ndarray, Y: np.ndarray) -> Ridge:
        """Fit Y (n, m) to Z (n, D); penalties are relative to the largest singular value."""
        center, intercept = Z.mean(axis=0), Y.mean(axis=0)
        u, s, vt = np.linalg.svd(Z - center, full_matrices=False)
        kept = s > 1e-12 * s.max(initial=1e-300)
        u, s, vt = u[:, kept], s[kept], vt[kept]
        along = u.T @ (Y - intercept)
        total = float(np.square(Y - intercept).sum())
        best, least = np.zeros_like(s), np.inf
        for alpha in _ALPHAS * np.square(s).max(initial=1.0):
            shrink = np.square(s) / (np.square(s) + alpha)
            explained = float(((2.0 * shrink - shrink**2)[:, None] * np.square(along)).sum())
            error = max(0.0, total - explained) / (1.0 - (shrink.sum() + 1.0) / len(Z)) ** 2
            if shrink.sum() + 1.0 < len(Z) and error < least:
                best, least = shrink, error
        weights = np.divide(best, s, out=np.zeros_like(s), where=s > 0.0)
        return cls(center, vt.T @ (weights[:, None] * along), intercept)

    def predict(self, Z: np.ndarray) -> np.ndarray:
        return (Z - self.center) @ self.coef + self.intercept
