"""``decode``: from stored features back to the columns they were made from."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from primal._checks import callback, file_path, flag, whole_number
from primal.decoding import Box, Gaussian, Integers
from primal.errors import DataError, PhaseWrapWarning
from primal.pipeline._array_source import ARRAY
from primal.pipeline._blocks import Block
from primal.pipeline._columns import FEATURES
from primal.pipeline._decoder import Decoded, row_decoder
from primal.pipeline._engines import Local
from primal.pipeline._inputs import find_inputs
from primal.pipeline._job import Job, Made, Progress
from primal.pipeline._output import open_output, places
from primal.pipeline._parquet import table_group
from primal.pipeline._recipe import Recipe
from primal.pipeline._rows import column_array
from primal.pipeline._run import make_parts
from primal.pipeline._sources import open_source

STATUS = "status"
_DOUBTFUL = ("ambiguous", "failed")
# Changes with what is written for the same arguments.
_VERSION = 3


@dataclass(frozen=True)
class DecodeReport:
    """The result of a decoding.

    Attributes
    ----------
    path : Path
    rows : int
    statuses : dict of str to int
        How many rows are "unique", "ambiguous", "failed", or "missing" (without features).
    resumed_rows : int
        Rows that an earlier run had finished.
    already_complete : bool
        Whether the output was there and nothing had to be done.
    """

    path: Path
    rows: int
    statuses: dict[str, int]
    resumed_rows: int
    already_complete: bool

    @property
    def doubtful(self) -> int:
        """Rows that are ambiguous or failed: whose x is not known for certain."""
        return sum(self.statuses.get(status, 0) for status in _DOUBTFUL)


def decode(
    src: str | Path,
    dst: str | Path,
    *,
    prior: Box | Gaussian | Integers | None = None,
    noise: str | float | None = None,
    beam: int = 1,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> DecodeReport:
    """Turn stored features back into x, with a verdict on every row.

    Where no phase wrapped when the rows were encoded, the linear inverse is right; where some did,
    the lattice decoder resolves the wraps, with the recorded range of x as its prior. A run that
    was killed resumes when it is called again.

    Parameters
    ----------
    src : path
        An output of :func:`encode`, folder or file, with floats or phases in it; sign bits cannot
        be inverted.
    dst : path
        A folder of parts or one ``.parquet``: the kept columns, those that were encoded, in
        float64, and ``status``. A name that a kept column has gets ``_decoded`` added. ``.npy``:
        x alone, with NaN in every row that is not unique.
    prior : Box, Gaussian or Integers, optional
        What is known of x, for the lattice decoder. By default the recorded range, for up to 128
        inputs: with more, setting up takes minutes, and it has to be asked for.
    noise : str or float, optional
        Standard deviation of a phase in turns, by default that of the type stored.
    beam : int, default=1
        Partial solutions that the lattice decoder keeps.
    overwrite : bool, default=False
    progress : callable, optional
        Called with rows done and rows in all.

    Returns
    -------
    report : DecodeReport

    Raises
    ------
    NotInvertibleError
        For sign bits, or, without a prior, fewer phases than inputs.

    Warns
    -----
    PhaseWrapWarning
        When rows are ambiguous or failed.

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal import pipeline
    >>> x = np.linspace(-1.0, 1.0, 30).reshape(10, 3)
    >>> np.save("points.npy", x)
    >>> _ = pipeline.encode("points.npy", "features", primal.KernelPrime(3, 64, gamma=0.1))
    >>> pipeline.decode("features", "back.npy").statuses
    {'unique': 10}
    >>> bool(np.abs(np.load("back.npy") - x).max() < 1e-5)
    True
    """
    target, folder = places(dst)
    flag("overwrite", overwrite)
    callback("progress", progress)
    record, paths = open_output(file_path("src", src), target)
    recipe = Recipe.from_json(record.about)
    files = find_inputs([str(path) for path in paths], target)
    decoder = row_decoder(recipe, record.extent, prior=prior, noise=noise, beam=beam)
    about = {
        "decode": _VERSION,
        "of": record.run,
        "prior": None if prior is None else str(prior),
        "noise": noise if noise is None or isinstance(noise, str) else float(noise),
        "beam": whole_number("beam", beam, least=1),
    }
    stored = open_source(files[0]).schema
    kept = pa.schema([stored.field(name) for name in recipe.keep])
    empty = Decoded(np.empty((0, recipe.map.d)), np.empty(0, bool), np.empty(0, "<U9"))
    job = _DecodeJob(
        files,
        tuple([ARRAY] if paths[0].suffix == ".npy" else [*recipe.keep, FEATURES]),
        recipe.rows_per_part,
        str(folder.absolute()),
        about,
        _table(kept.empty_table(), empty, recipe).schema,
        recipe,
        decoder,
    )
    outcome = make_parts(job, target, Local(), overwrite=overwrite, progress=progress)
    made = outcome.record
    report = DecodeReport(
        target, made.rows, made.statuses, outcome.resumed_rows, outcome.already_complete
    )
    if report.doubtful:
        counts = ", ".join(f"{report.statuses.get(one, 0)} {one}" for one in _DOUBTFUL)
        shown = "they are NaN" if target.suffix == ".npy" else f"see the column {STATUS!r}"
        warnings.warn(
            f"{report.doubtful} of {report.rows} rows are not known for certain ({counts}): "
            f"{shown}. A narrower prior (--box, --gaussian, --integers) can tell more, or encode "
            "with more features or a smaller scale.",
            PhaseWrapWarning,
            stacklevel=2,
        )
    return report


@dataclass(frozen=True)
class _DecodeJob(Job):
    decoder: Callable[[pa.Table], Decoded]

    def make(self, block: Block) -> Made:
        if block.table is None:
            raise DataError(block.failure)
        table = block.table.rename_columns([*self.recipe.keep, FEATURES])
        decoded = self.decoder(table)
        groups = (table_group(_table(table, decoded, self.recipe)),) if len(decoded.x) else ()
        statuses = dict(Counter(decoded.status.tolist()))
        return Made(groups, len(decoded.x), statuses=statuses)

    def npy_rows(self, table: pa.Table) -> np.ndarray:
        """Return x from the table of a part, with NaN in every row that is not unique."""
        *columns, status = (column_array(table, name) for name in table.column_names)
        x = np.full((table.num_rows, self.recipe.map.d), np.nan)
        values = columns[len(self.recipe.keep) :]
        if len(values) == x.shape[1]:
            for j, column in enumerate(values):
                x[:, j] = column.to_numpy(zero_copy_only=False)
        else:
            valid = values[0].is_valid().to_numpy(zero_copy_only=False)
            x[valid] = values[0].drop_null().flatten().to_numpy().reshape(-1, x.shape[1])
        x[np.array(status.to_pylist(), dtype=object) != "unique"] = np.nan
        return x


def _table(table: pa.Table, made: Decoded, recipe: Recipe) -> pa.Table:
    """Return kept columns, decoded ones in the shape that they were read from, and the verdict."""
    columns, names = [table.column(name) for name in recipe.keep], list(recipe.keep)
    if len(recipe.columns) == made.x.shape[1]:
        by_column = (pa.array(np.ascontiguousarray(x), mask=~made.valid) for x in made.x.T)
        decoded = [*zip(recipe.columns, by_column, strict=True)]
    else:
        values, mask = pa.array(made.x.reshape(-1)), None
        mask = None if made.valid.all() else pa.array(~made.valid)
        lists = pa.FixedSizeListArray.from_arrays(values, made.x.shape[1], mask=mask)
        decoded = [(recipe.columns[0], lists)]
    for name, column in (*decoded, (STATUS, pa.array(made.status))):
        while name in names:
            name = f"{name}_decoded"
        columns.append(column)
        names.append(name)
    return pa.table(columns, names=names)
