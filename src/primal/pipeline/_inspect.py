"""``inspect``: what an output says about itself, and whether it is true."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal._checks import file_path, raised_as
from primal.errors import DataError, PrimalError
from primal.pipeline._blocks import Blocks, Span
from primal.pipeline._inputs import InputFile, find_inputs
from primal.pipeline._job import EncodeJob, Recipe
from primal.pipeline._output import MANIFEST, open_output
from primal.pipeline._record import Record, beside, read_manifest
from primal.pipeline._rows import FEATURES
from primal.pipeline._sources import ARRAY, open_source, reading

# Parts that are encoded again, spread evenly over the output.
_SAMPLED_PARTS = 4


@dataclass(frozen=True)
class Inspection:
    """What is known of an output of :func:`encode`.

    Attributes
    ----------
    path : Path
    rows, n_bytes, parts, rejected : int
    stored : str
        What is stored of a row.
    columns, keep : tuple of str
    spec : dict
        Of the map.
    fingerprint : str
        Of the map, as the output has it.
    fingerprint_ok : bool
        Whether the map rebuilt from the spec has the same.
    inputs : tuple of str
        Names of the input files, where a manifest says them.
    regime : dict or None
        Of the rows that were sampled from the source: kind, fraction of phases that wrap,
        largest phase in turns.
    sampled_rows : int
        Rows that were encoded again; 0 where there is no source to read.
    wrong_rows : int
        Rows among them whose stored bits differ.
    """

    path: Path
    rows: int
    n_bytes: int
    parts: int
    rejected: int
    stored: str
    columns: tuple[str, ...]
    keep: tuple[str, ...]
    spec: dict[str, Any]
    fingerprint: str
    fingerprint_ok: bool
    inputs: tuple[str, ...]
    regime: dict[str, Any] | None
    sampled_rows: int
    wrong_rows: int

    @property
    def healthy(self) -> bool:
        """False where something that was checked is wrong."""
        return self.fingerprint_ok and self.wrong_rows == 0


def inspect(path: str | Path, *, source: Any = None) -> Inspection:
    """Describe an output, and encode a sample of its rows again.

    Parameters
    ----------
    path : path
        An output of :func:`encode`, folder or file.
    source : path, pattern or sequence of paths, optional
        Its input. By default where the manifest says it was, if it is still there unchanged.

    Returns
    -------
    inspection : Inspection

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal import pipeline
    >>> np.save("points.npy", np.linspace(-1.0, 1.0, 30).reshape(10, 3))
    >>> _ = pipeline.encode("points.npy", "features", primal.KernelPrime(3, 64, gamma=0.1))
    >>> found = pipeline.inspect("features")
    >>> found.rows, found.regime["kind"], found.sampled_rows, found.wrong_rows
    (10, 'manifold', 10, 0)
    """
    where = file_path("path", path)
    record, paths = open_output(where)
    recipe = Recipe.from_json(record.about)
    names, files = _known_inputs(where)
    if source is not None:
        files = find_inputs(source)
    schema = pq.read_schema(paths[0]) if recipe.keep else pa.schema([])
    blocks = Blocks(files, recipe.names, recipe.rows_per_part)
    job = EncodeJob(blocks, where, where, record.about, schema, recipe)
    same = job.run == record.run
    if source is not None and not same:
        raise DataError(f"{source} is not what {path} was made from: names or sizes differ.")
    regime, sampled, wrong = _verify(record, job, paths) if files and same else (None, 0, 0)
    return Inspection(
        path=where,
        rows=record.rows,
        n_bytes=sum(one.stat().st_size for one in paths),
        parts=len(record.parts),
        rejected=sum(part.rejected for part in record.parts),
        stored=recipe.stored,
        columns=recipe.columns,
        keep=recipe.keep,
        spec=recipe.map.spec,
        fingerprint=str(record.about.get("fingerprint")),
        fingerprint_ok=recipe.map.fingerprint == record.about.get("fingerprint"),
        inputs=tuple(names),
        regime=regime,
        sampled_rows=sampled,
        wrong_rows=wrong,
    )


def _known_inputs(path: Path) -> tuple[list[str], tuple[InputFile, ...]]:
    """Return the names of the inputs of an output, and the files if all are as they were."""
    manifest = path / MANIFEST if path.is_dir() else beside(path, "manifest.json")
    names: list[str] = []
    with suppress(PrimalError):
        listed: list[dict[str, Any]] = read_manifest(manifest)["request"]["inputs"]
        with raised_as(DataError, "the manifest is damaged"):
            files = tuple(InputFile(**one) for one in listed)
            names = [Path(file.path).name for file in files]
        if files == find_inputs([file.path for file in files]):
            return names, files
    return names, ()


def _verify(
    record: Record, job: EncodeJob, paths: list[Path]
) -> tuple[dict[str, Any] | None, int, int]:
    """Return the regime, the rows that were encoded again, and how many of them differ."""
    recipe, files = job.recipe, job.blocks.files
    wraps, peaks, sampled, wrong = [], [], 0, 0
    counts = [part.rows for part in record.parts]
    filled = [place for place, n_rows in enumerate(counts) if n_rows]
    spread = np.linspace(0, len(filled) - 1, min(len(filled), _SAMPLED_PARTS)).round()
    for place in [filled[int(i)] for i in spread]:
        f, number, n_rows, *_ = record.parts[place]
        if f >= len(files):
            raise DataError(f"part {number} is of input file {f}, which there is none of.")
        blocks = job.blocks.read(Span(f, number, None))
        block = next((block for block in blocks if block.number == number), None)
        if block is None:
            raise DataError(f"{files[f].path} has no block {number}, and part {number} is of it.")
        made = job.make(block)
        if made.codes is None:
            raise DataError(made.rejected[0][-1])
        # One file of all rows, or one for each part.
        path, first = (paths[0], sum(counts[:place])) if len(paths) == 1 else (paths[place], 0)
        name = ARRAY if path.suffix == ".npy" else FEATURES
        (file,) = find_inputs([path])
        with reading(file.path):
            features = next(open_source(file).batches([name], first, n_rows)).column(name)
        stored, there = recipe.present(features)
        sampled += n_rows
        same = len(made.codes) == len(there)
        wrong += _n_different(made.codes, made.null, stored, there) if same else n_rows
        regime = recipe.map.regime(made.x)
        wraps.append(regime.fraction_wrapped * n_rows)
        peaks.append(regime.peak_turns)
    if not sampled:
        return None, 0, 0
    kind, share = "hash" if max(peaks) >= 0.5 else "manifold", sum(wraps) / sampled
    found = {"kind": kind, "fraction_wrapped": share, "peak_turns": max(peaks)}
    return found, sampled, wrong


def _n_different(
    codes: np.ndarray, null: np.ndarray | None, stored: np.ndarray, there: np.ndarray
) -> int:
    """Return the number of rows with other bits, or with features on one side only."""
    valid = np.ones(len(there), dtype=bool) if null is None else ~null
    unsigned = f"u{stored.dtype.itemsize}"
    made, found = codes[valid & there].view(unsigned), stored[valid[there]].view(unsigned)
    return int((valid != there).sum() + (made != found).any(axis=1).sum())
