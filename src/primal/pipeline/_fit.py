"""What a map needs to know of the data before it can be made: the number of inputs, and gamma.

Sums run over pieces of a fixed number of rows, in a fixed order, with IEEE additions only: the
same files give the same gamma whatever the row groups, threads or processor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from primal._checks import callback, one_of
from primal.bases import fold_sum
from primal.errors import DataError
from primal.kernels import KERNELS
from primal.pipeline._blocks import Blocks
from primal.pipeline._inputs import find_inputs
from primal.pipeline._job import complaint
from primal.pipeline._output import Progress
from primal.pipeline._rows import find_columns, matrix

# Values of one piece: 16 MB.
_PIECE_VALUES = 1 << 21


def count_inputs(
    src: str | Path | Sequence[str | Path],
    *,
    columns: Sequence[str] | str | None = None,
    keep: Sequence[str] | str = (),
    on_error: str = "raise",
) -> int:
    """Return how many numbers a row of tables has: the d of a map for them.

    Parameters
    ----------
    src, columns, keep, on_error
        As of :func:`encode`.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from primal import pipeline
    >>> np.save("points.npy", np.zeros((10, 3)))
    >>> pipeline.count_inputs("points.npy")
    3
    """
    return find_columns(find_inputs(src), columns, keep, on_error=on_error)[1]


def scale_gamma(
    src: str | Path | Sequence[str | Path],
    *,
    columns: Sequence[str] | str | None = None,
    kernel: str = "rbf",
    on_error: str = "raise",
    progress: Progress | None = None,
) -> float:
    """Return gamma="scale" of tables: 1 / (d Var x), or 1 / (d Std x) for the Laplacian kernel.

    Parameters
    ----------
    src, columns
        As of :func:`encode`.
    kernel : str, default="rbf"
    on_error : {"raise", "skip", "null"}
        Bad rows are left out unless it is "raise".
    progress : callable, optional
        Called with rows read and rows in all (None where only reading will tell).

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from primal import pipeline
    >>> np.save("points.npy", np.array([[0.0, 2.0], [4.0, 2.0]]))
    >>> pipeline.scale_gamma("points.npy")
    0.25
    """
    one_of("kernel", kernel, KERNELS)
    callback("progress", progress)
    files = find_inputs(src)
    found, d, _ = find_columns(files, columns, on_error=on_error)
    count, mean, squares, n_read = 0, 0.0, 0.0, 0
    blocks = Blocks(files, found, max(256, _PIECE_VALUES // d))
    spans, total = blocks.spans()
    for block in (block for span in spans for block in blocks.read(span)):
        path = files[block.file].path
        try:
            x, problems = matrix(block.table(), found, d, path)
        except DataError:
            if on_error == "raise":
                raise
            continue
        n_read += len(x)
        if progress is not None:
            progress(n_read, total)
        if problems and on_error == "raise":
            raise complaint(path, block.first_row, problems)
        x = np.delete(x, [p.row for p in problems], axis=0).astype(np.float64).reshape(-1)
        if not len(x):
            continue
        with np.errstate(over="ignore", invalid="ignore"):  # rejected below
            own_mean = float(fold_sum(x)) / len(x)
            own_squares = float(fold_sum(np.square(x - own_mean)))
        # Two pieces as one: the pairwise update of Chan, Golub and LeVeque.
        delta, together = own_mean - mean, count + len(x)
        squares += own_squares + delta * delta * (count * len(x) / together)
        mean += delta * (len(x) / together)
        count = together
    if not count:
        raise DataError("gamma = 'scale' needs data, and there is no good row: give a number.")
    variance = squares / count
    if not math.isfinite(variance):
        raise DataError("some values are too large to have a variance: give gamma as a number.")
    if not variance > 0.0:
        return 1.0
    return 1.0 / (d * (math.sqrt(variance) if kernel == "laplacian" else variance))
