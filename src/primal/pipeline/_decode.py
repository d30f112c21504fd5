"""``decode``, from stored features back to columns, and ``load_index``, to search among them."""

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
from primal.pipeline._blocks import Block, Blocks
from primal.pipeline._engines import Local, make_parts
from primal.pipeline._inputs import find_inputs
from primal.pipeline._job import FLOATS, Job, Made, Recipe
from primal.pipeline._output import Progress, open_output, places
from primal.pipeline._parquet import table_group
from primal.pipeline._record import UNKNOWN, Extent
from primal.pipeline._rows import FEATURES
from primal.pipeline._sources import ARRAY, empty_batch, open_source
from primal.search import Index
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

# From stored floats or turns to x of shape (n, d), NaN where decoding failed, and "unique",
# "ambiguous" or "failed" for each row.
_Decoder = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


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
    overwrite, progress
        As of :func:`encode`.

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
    # Without rows there is no extent, and nothing to decode.
    extent = record.extent or UNKNOWN
    decoder = _row_decoder(recipe, extent, prior=prior, noise=noise, beam=beam)
    about = {
        "decode": _VERSION,
        "of": record.run,
        "prior": None if prior is None else str(prior),
        "noise": noise if noise is None or isinstance(noise, str) else float(noise),
        "beam": None if beam is None else whole_number("beam", beam, least=1),
    }
    empty, no_rows = empty_batch(open_source(files[0]).schema), np.empty((0, recipe.map.d))
    names = (ARRAY,) if paths[0].suffix == ".npy" else (*recipe.keep, FEATURES)
    job = _DecodeJob(
        Blocks(files, names, recipe.rows_per_part),
        target,
        folder,
        about,
        _table(recipe, empty, no_rows, np.empty(0, bool), np.empty(0, "<U9")).schema,
        recipe,
        decoder,
    )
    made, resumed, complete = make_parts(job, Local(), overwrite=overwrite, progress=progress)
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


def load_index(path: str | Path) -> Index:
    """Return an index of the rows of an output, in memory; their ids count from 0.

    Parameters
    ----------
    path : path
        A complete output of :func:`encode`, folder or file, without rows that lack features.

    Returns
    -------
    index : primal.search.Index

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal import pipeline
    >>> np.save("points.npy", np.arange(30.0).reshape(10, 3))
    >>> m = primal.KernelPrime(3, 64, gamma=0.001)
    >>> _ = pipeline.encode("points.npy", "codes", m, stored="uint8-phase")
    >>> pipeline.load_index("codes").search([6.1, 7.0, 8.0], 2).ids
    array([2, 3])
    """
    record, paths = open_output(file_path("path", path))
    recipe = Recipe.from_json(record.about)
    index = Index(recipe.map, stored=recipe.stored)
    name = ARRAY if paths[0].suffix == ".npy" else FEATURES
    blocks = Blocks(find_inputs(paths), (name,), recipe.rows_per_part)
    # An index keeps waves as they are, without the amplitude of a kernel's features.
    factor = np.float32(1.0 / getattr(recipe.map, "amplitude", 1.0))
    for block in (block for span in blocks.spans()[0] for block in blocks.read(span)):
        codes, valid = recipe.present(block.table().column(name))
        if not valid.all():
            raise DataError(f"{path} has rows without features: encode with on_error = 'skip'.")
        scaled = codes * factor if recipe.stored in FLOATS and factor != 1.0 else codes
        index.add_codes(scaled.astype(codes.dtype, copy=False))
    return index


@dataclass(frozen=True)
class _DecodeJob(Job):
    decoder: _Decoder

    def make(self, block: Block) -> Made:
        recipe = self.recipe
        batch = block.table().rename_columns([*recipe.keep, FEATURES])
        codes, valid = recipe.present(batch.column(FEATURES))
        x = np.full((len(valid), recipe.map.d), np.nan)
        status = np.full(len(valid), "missing", dtype="<U9")
        x[valid], status[valid] = self.decoder(
            codes if recipe.stored in FLOATS else phases_to_turns(codes)
        )
        groups = (table_group(_table(recipe, batch, x, valid, status)),) if len(batch) else ()
        return Made(groups, len(batch), statuses=dict(Counter(status.tolist())))

    def npy_rows(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return x from rows of a part, with NaN in every one that is not unique."""
        *values, status = batch.columns[len(self.recipe.keep) :]
        x = np.full((len(batch), self.recipe.map.d), np.nan)
        if len(values) == x.shape[1]:
            x = np.stack([column.to_numpy(zero_copy_only=False) for column in values], axis=1)
        else:
            valid = values[0].is_valid().to_numpy(zero_copy_only=False)
            x[valid] = values[0].drop_null().flatten().to_numpy().reshape(-1, x.shape[1])
        x[np.array(status.to_pylist(), dtype=object) != "unique"] = np.nan
        return x


def _table(
    recipe: Recipe, batch: pa.RecordBatch, x: np.ndarray, valid: np.ndarray, status: np.ndarray
) -> pa.Table:
    """Return kept columns, decoded ones in the shape that they were read from, and the verdict."""
    columns, names = [batch.column(name) for name in recipe.keep], list(recipe.keep)
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


def _row_decoder(
    recipe: Recipe, extent: Extent, *, prior: Any, noise: str | float | None, beam: int | None
) -> _Decoder:
    """Return the decoder of rows of which `extent` was recorded when they were encoded.

    Linear where nothing wrapped, else the lattice's.
    """
    m, scales = recipe.map, getattr(recipe.map, "input_scales", None)
    if recipe.stored == "bits":
        raise NotInvertibleError(
            "sign bits say in which quarter turn each phase lies and no more: encode with "
            "stored = 'uint8-phase' to decode later."
        )
    if getattr(m, "form", "pair") != "pair" or m.D % 2:
        raise NotInvertibleError("offset cosines and an odd D do not determine every phase.")
    if recipe.stored in FLOATS and getattr(m, "method", "growable") != "growable":
        raise NotInvertibleError(
            f"features of method={m.method!r} have weights, some of them too small to decode: "
            "encode with stored = 'uint16-phase' to decode later."
        )
    if extent.low and not len(extent.low) == len(extent.high) == m.d:
        raise SpecError(f"the range in the file is not one of {m.d} inputs: was it changed?")
    noise = recipe.stored.removesuffix("-phase") if noise is None else noise
    # Phases are of the map behind a kernel's, which takes x times the scales of its inputs.
    behind, options = getattr(m, "map", m), {"noise": noise, "beam": beam}
    factors = 1.0 if scales is None else scales
    if prior is not None:
        plan = (behind if scales is None else m).decode_plan(prior=prior, **options)
    else:
        linear = _linear(recipe, extent, noise_turns(noise), factors)
        if not (extent.low and extent.wraps and m.d <= _MOST_INPUTS):
            return linear
        plan = behind.decode_plan(prior=extent.box(factors), **options)

    def by_lattice(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        result = plan.decode(codes, check=False)  # the verdict on every row is reported
        return result.x / factors, result.status

    return by_lattice


def _linear(recipe: Recipe, extent: Extent, noise: float, scales: np.ndarray | float) -> _Decoder:
    """Return the linear inverse, each answer of which is encoded again and compared.

    That an answer has the stored features does not prove that no phase had wrapped: another x
    may have them too. What was recorded when the rows were encoded does; without it an answer is
    ambiguous.
    """
    m, (low, high) = recipe.map, extent.range
    inverse = LinearInverse(m.basis)
    slack = 2.0 * _DEVIATIONS * noise * inverse.gain / scales
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
