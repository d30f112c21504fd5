"""How every picture of the gallery is saved."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

HERE = Path(__file__).parent


def panels(n: int, width: float = 4.2, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    """Return a figure with n panels in a row."""
    figure, axes = plt.subplots(
        1, n, figsize=(width * n, height), layout="constrained", squeeze=False
    )
    return figure, list(axes[0])


def save(figure: Figure, path: Path) -> None:
    """Write the picture and forget it."""
    figure.savefig(path, dpi=100)
    plt.close(figure)
