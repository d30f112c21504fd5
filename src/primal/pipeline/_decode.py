"""``decode``: from stored features back to the columns they were made from."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from primal._checks import callback, file_path, flag, whole_number
from primal.decoding import Box, Gaussian, Integers, LinearInverse, code_phases, noise_turns
from primal.errors import DataError, NotInvertibleError, PhaseWrapWarning, SpecError
from primal.pipeline._blocks import Block
from primal.pipeline._engines import Local, make_parts
from primal.pipeline._inputs import find_inputs
from primal.pipeline._job import FLOATS, Job, Made, Progress, Recipe
from primal.pipeline._output import open_output, places
from primal.pipeline._parquet import table_group
from primal.pipeline._record import UNKNOWN, Extent
from primal.pipeline._rows import FEATURES
from primal.pipeline._sources import ARRAY, empty_batch, open_source
from primal.turns import phases_to_turns

STATUS = "status"
_DOUBTFUL = ("ambiguous", "failed")
# Changes with what is written for the same arguments.
_VERSION = 3
# Without being asked, the lattice decoder is set up for at most as many inputs: a matter of
# seconds (100 inputs 5 to 8 s, 128 inputs 13 s, 200 inputs 3 minutes).
_MOST_INPUTS = 128
# How many standard deviations of the noise a decoded row may be from its stored features.
_DEVIATIONS = 6.0

_Codes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
# x of shape (n, d), NaN where decoding failed or there was nothing to decode; which rows have
# features; and "unique", "ambiguous" or "failed" for each, "missing" without features.
_Decoded = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    beam: int | None = None,
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
    beam : int, optional
        Partial solutions that the lattice decoder keeps, by default as many as pay; as in
        ``DynamicPrime.decode_plan``.
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
        "beam": None if beam is None else whole_number("beam", beam, least=1),
    }
    empty = np.empty((0, recipe.map.d)), np.empty(0, bool), np.empty(0, "<U9")
    job = _DecodeJob(
        files,
        tuple([ARRAY] if paths[0].suffix == ".npy" else [*recipe.keep, FEATURES]),
        str(folder.absolute()),
        about,
        _table(empty_batch(open_source(files[0]).schema), empty, recipe).schema,
        recipe,
        decoder,
    )
    made, resumed, complete = make_parts(
        job, target, Local(), overwrite=overwrite, progress=progress
    )
    report = DecodeReport(target, made.rows, made.statuses, resumed, complete)
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
    decoder: Callable[[pa.RecordBatch], _Decoded]

    def make(self, block: Block) -> Made:
        if block.batch is None:
            raise DataError(block.failure)
        batch = block.batch.rename_columns([*self.recipe.keep, FEATURES])
        decoded = self.decoder(batch)
        groups = (table_group(_table(batch, decoded, self.recipe)),) if len(batch) else ()
        return Made(groups, len(batch), statuses=dict(Counter(decoded[2].tolist())))

    def npy_rows(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return x from rows of a part, with NaN in every one that is not unique."""
        *columns, status = batch.columns
        x = np.full((len(batch), self.recipe.map.d), np.nan)
        values = columns[len(self.recipe.keep) :]
        if len(values) == x.shape[1]:
            for j, column in enumerate(values):
                x[:, j] = column.to_numpy(zero_copy_only=False)
        else:
            valid = values[0].is_valid().to_numpy(zero_copy_only=False)
            x[valid] = values[0].drop_null().flatten().to_numpy().reshape(-1, x.shape[1])
        x[np.array(status.to_pylist(), dtype=object) != "unique"] = np.nan
        return x


def _table(batch: pa.RecordBatch, decoded: _Decoded, recipe: Recipe) -> pa.Table:
    """Return kept columns, decoded ones in the shape that they were read from, and the verdict."""
    columns, names = [batch.column(name) for name in recipe.keep], list(recipe.keep)
    x, valid, status = decoded
    if len(recipe.columns) == x.shape[1]:
        made = [pa.array(np.ascontiguousarray(one), mask=~valid) for one in x.T]
    else:
        mask = None if valid.all() else pa.array(~valid)
        made = [pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), x.shape[1], mask=mask)]
    for name, column in zip((*recipe.columns, STATUS), (*made, pa.array(status)), strict=True):
        while name in names:
            name = f"{name}_decoded"
        columns.append(column)
        names.append(name)
    return pa.table(columns, names=names)


def row_decoder(
    recipe: Recipe,
    extent: Extent | None,
    *,
    prior: Any,
    noise: str | float | None,
    beam: int | None,
) -> Callable[[pa.RecordBatch], _Decoded]:
    """Return the function from stored rows to decoded ones.

    `extent` is what was recorded of the rows when they were encoded.
    """
    if recipe.stored == "bits":
        raise NotInvertibleError(
            "sign bits say in which quarter turn each phase lies and no more: encode with "
            "stored = 'uint8-phase' to decode later."
        )
    m = recipe.map
    if getattr(m, "form", "pair") != "pair" or m.D % 2:
        raise NotInvertibleError("offset cosines and an odd D do not determine every phase.")
    if recipe.stored in FLOATS and getattr(m, "method", "growable") != "growable":
        raise NotInvertibleError(
            f"features of method={m.method!r} have weights, some of them too small to decode: "
            "encode with stored = 'uint16-phase' to decode later."
        )
    if extent is not None and extent.low and not len(extent.low) == len(extent.high) == m.d:
        raise SpecError(f"the range in the file is not one of {m.d} inputs: was it changed?")
    noise = recipe.stored.removesuffix("-phase") if noise is None else noise
    # Of rows that are there: linear where nothing wraps, else the lattice.
    plan: Any = None
    linear, scales = plan, getattr(m, "input_scales", None)
    # Phases are of the map behind a kernel's, which takes x times the scales of its inputs.
    behind = getattr(m, "map", m)
    if prior is not None:
        plan = (m if scales is not None else behind).decode_plan(
            prior=prior, noise=noise, beam=beam
        )
    else:
        linear = _linear(recipe, extent, noise_turns(noise))
        if extent is not None and extent.low and extent.wraps and m.d <= _MOST_INPUTS:
            box = extent.box
            if scales is not None:
                low, high = (tuple((end * scales).tolist()) for end in extent.range)
                box = Extent(low, high, True).box
            plan = behind.decode_plan(prior=box, noise=noise, beam=beam)

    def decoded(batch: pa.RecordBatch) -> _Decoded:
        codes, valid = recipe.present(batch.column(FEATURES))
        if recipe.stored not in FLOATS:
            codes = phases_to_turns(codes)
        x = np.full((len(valid), m.d), np.nan)
        status = np.full(len(valid), "missing", dtype="<U9")
        if plan is None:
            x[valid], status[valid] = linear(codes)
        else:
            result = plan.decode(codes, check=False)  # the verdict on every row is reported
            x[valid] = result.x if scales is None else result.x / scales
            status[valid] = result.status
        return x, valid, status

    return decoded


def _linear(recipe: Recipe, extent: Extent | None, noise: float) -> _Codes:
    """Return the linear inverse, each answer of which is encoded again and compared.

    That an answer has the stored features does not prove that no phase had wrapped: another x
    may have them too. What was recorded when the rows were encoded does; without it an answer is
    ambiguous.
    """
    m = recipe.map
    inverse, scales = LinearInverse(m.basis), getattr(m, "input_scales", None)
    scales = 1.0 if scales is None else scales
    slack = 2.0 * _DEVIATIONS * noise * inverse.gain / scales
    extent = extent or UNKNOWN  # no extent: there are no rows
    low, high = extent.range
    verdict = "ambiguous" if extent.wraps else "unique"

    def by_inverse(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = inverse(code_phases(codes, m.basis.n_frequencies, m.layout)) / scales
        there = np.isfinite(x).all(axis=1)  # features that are erased have no phase
        x[~there] = 0.0
        if recipe.stored in FLOATS:
            off = (codes.astype(np.float64) - m.encode(x)) / getattr(m, "amplitude", 1.0)
            turn = 2.0 * math.pi
        else:
            off, turn = (codes - m.turns(x)).view(np.int32) * 2.0**-32, 1.0
        misfit = np.sqrt(np.square(off).mean(axis=1)) / turn
        agree = there & (misfit <= _DEVIATIONS * noise)
        agree &= ((x >= low - slack) & (x <= high + slack)).all(axis=1)
        x[~agree] = np.nan
        return x, np.where(agree, verdict, "failed")

    return by_inverse
