"""Gamma from the data, in one pass over all files.

Sums run over pieces of a fixed number of rows, in a fixed order, with IEEE additions only: the
same files give the same gamma whatever the row groups, threads or processor.
"""

from __future__ import annotations

import math

import numpy as np

from primal.bases import fold_sum
from primal.errors import DataError
from primal.pipeline._blocks import Span, read_span, shard_spans, total_rows
from primal.pipeline._inputs import InputFile
from primal.pipeline._job import Progress, complaint
from primal.pipeline._rows import matrix

__all__ = ["scale_gamma"]

# Values of one piece: 16 MB.
_PIECE_VALUES = 1 << 21


def scale_gamma(
    files: tuple[InputFile, ...],
    columns: tuple[str, ...],
    d: int,
    kernel: str,
    on_error: str,
    progress: Progress | None = None,
) -> float:
    """Return gamma="scale": 1 / (d Var x), or 1 / (d Std x) for the Laplacian kernel.

    Parameters
    ----------
    files : tuple of InputFile
    columns : tuple of str
    d : int
    kernel : str
    on_error : {"raise", "skip", "null"}
        Bad rows are left out unless it is "raise".
    progress : callable, optional
        Called with rows read and rows in all (None where only reading will tell).

    Raises
    ------
    DataError
        If there is no row, or a bad one and `on_error` is "raise".
    """
    count, mean, squares = 0, 0.0, 0.0
    piece_rows = max(256, _PIECE_VALUES // d)
    spans = list(shard_spans(files, list(columns), piece_rows, (0, 1)))
    n_read, total = 0, total_rows(spans)
    for index, file in enumerate(files):
        for block in read_span(files, Span(index, 0, None, None), list(columns), piece_rows):
            if block.table is None:
                if on_error == "raise":
                    raise DataError(block.failure)
                continue
            n_read += block.table.num_rows
            if progress is not None:
                progress(n_read, total)
            x, problems = matrix(block.table, columns, d)
            if problems and on_error == "raise":
                raise complaint(file.path, block.first_row, problems)
            x = np.delete(x, [p.row for p in problems], axis=0).astype(np.float64).reshape(-1)
            if not len(x):
                continue
            with np.errstate(over="ignore", invalid="ignore"):  # told below
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
