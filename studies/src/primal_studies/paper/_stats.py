"""Small statistics and figure parts that several experiments of the paper share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal_studies._pictures import COLORS
from primal_studies.paper._claim import Verdict
from primal_studies.paper._experiment import Fact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "COLORS",
    "LABELS",
    "column",
    "density",
    "density_peak",
    "fact",
    "grade",
    "log_slope",
    "span",
]

LABELS = {
    "prime": "StaticPrime",
    "gaussian": "Gaussian",
    "random": "random frequencies",
    "sobol": "Sobol frequencies",
    "golden": "golden frequencies",
    "rational": "rational frequencies",
    "roots": "roots of all non-squares",
}


def density(samples: Sequence[float] | np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the Gaussian kernel density estimate with Scott's bandwidth sd * n**(-1/5).

    That is the default of SciPy and seaborn, and so most likely the paper's.
    """
    values = np.asarray(samples, dtype=np.float64)
    width = values.std(ddof=1) * len(values) ** -0.2
    scaled = (at[:, None] - values) / width
    return np.exp(-0.5 * scaled**2).mean(axis=1) / (width * math.sqrt(2.0 * math.pi))


def density_peak(samples: Sequence[float] | np.ndarray) -> float:
    """Return where the kernel density estimate is largest, to 1/4000 of the samples' range."""
    at = np.linspace(np.min(samples), np.max(samples), 4001)
    return float(at[density(samples, at).argmax()])


def log_slope(
    sizes: Sequence[float] | np.ndarray, values: Sequence[float] | np.ndarray
) -> tuple[float, float]:
    """Return the slope of log value against log size by least squares, and its standard error."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(values, float))
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    rest = y - y.mean() - slope * x
    return slope, math.sqrt(float(rest @ rest) / max(len(x) - 2, 1) / float(x @ x))


def fact(values: Sequence[float] | np.ndarray) -> Fact:
    """Return the mean of several draws, with their standard deviation and number."""
    array = np.asarray(values, dtype=np.float64)
    spread = float(array.std(ddof=1)) if len(array) > 1 else 0.0
    return Fact(float(array.mean()), spread, len(array))


def grade(holds: bool, in_part: bool = False) -> Verdict:
    """Return the verdict of a rule with two thresholds."""
    if holds:
        return Verdict.HOLDS
    return Verdict.IN_PART if in_part else Verdict.FAILS


def column(height: float) -> Figure:
    """Return an empty figure that is as wide as a phone: its text needs no zooming."""
    from matplotlib.figure import Figure

    return Figure(figsize=(5.0, height), layout="constrained")


def span(values: Sequence[float], spec: str) -> str:
    """Return the least and the largest of values as text, once where both print the same.

    Examples
    --------
    >>> from primal_studies.paper._stats import span
    >>> span([0.12, 0.84, 0.3], ".0%"), span([1.0, 1.0], ".0%")
    ('12% to 84%', '100%')
    """
    low, high = (format(value, spec) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
