"""How every picture of the gallery is drawn: in the style of the library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from primal_studies._pictures import COLORS, SOFT, label_ends, picture

__all__ = ["COLORS", "HERE", "SOFT", "label_ends", "panels"]

HERE = Path(__file__).parent


@contextmanager
def panels(path: Path, n: int, width: float = 4.2, height: float = 3.6) -> Iterator[list[Any]]:
    """Give the axes of n panels in a row, and write the picture."""
    with picture(path, (width * n, height)) as figure:
        yield list(figure.subplots(1, n, squeeze=False)[0])
