"""``inspect``: what a file of features says about itself, and whether it is true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal._checks import file_path
from primal.decoding import Regime
from primal.errors import DataError
from primal.pipeline._array_source import open_npy
from primal.pipeline._blocks import Block, Span, read_span
from primal.pipeline._inputs import InputFile, find_inputs
from primal.pipeline._job import Job, Rows
from primal.pipeline._manifest import beside, read_manifest
from primal.pipeline._recipe import Recipe
from primal.pipeline._record import Record, read_record
from primal.pipeline._row_groups import FEATURES
from primal.pipeline._rows import column_array
from primal.pipeline._sources import reading

__all__ = ["Inspection", "inspect"]

# Blocks that are encoded again, spread evenly over the file.
_SAMPLED_BLOCKS = 4


@dataclass(frozen=True)
class Inspection:
    """What is known of a file of features.

    Attributes
    ----------
    path : Path
    rows, n_bytes, row_groups : int
    dtype : str
        What is stored of a row.
    spec : dict
        Of the map.
    fingerprint : str
        Of the map, as the file has it.
    fingerprint_ok : bool
        Whether the map rebuilt from the spec has the same.
    kernel : str or None
    gamma : float or None
    amplitude : float
    columns, keep : tuple of str
    shard : (int, int)
    inputs : tuple of (str, int)
        Name and bytes of every input file.
    rejected : int
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
    row_groups: int
    dtype: str
    spec: dict[str, Any]
    fingerprint: str
    fingerprint_ok: bool
    kernel: str | None
    gamma: float | None
    amplitude: float
    columns: tuple[str, ...]
    keep: tuple[str, ...]
    shard: tuple[int, int]
    inputs: tuple[tuple[str, int], ...]
    rejected: int
    regime: dict[str, Any] | None
    sampled_rows: int
    wrong_rows: int

    @property
    def healthy(self) -> bool:
        """False where something that was checked is wrong."""
        return self.fingerprint_ok and self.wrong_rows == 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"path": str(self.path), "healthy": self.healthy}


def inspect(path: str | Path, *, source: Any = None) -> Inspection:
    """Describe a file of features, and encode a sample of its rows again.

    Parameters
    ----------
    path : path
        An output of :func:`encode`.
    source : path, pattern or sequence of paths, optional
        Its input. By default where the manifest says it was, if it is still there unchanged.

    Returns
    -------
    inspection : Inspection

    Raises
    ------
    DataError
        If the file was not made by :func:`encode`, or `source` is not its input.

    Examples
    --------
    >>> import numpy as np
    >>> from primal import pipeline
    >>> np.save("points.npy", np.linspace(-1.0, 1.0, 30).reshape(10, 3))
    >>> _ = pipeline.encode("points.npy", "features.parquet", dim=64, sigma=0.05)
    >>> found = pipeline.inspect("features.parquet")
    >>> found.rows, found.regime["kind"], found.sampled_rows, found.wrong_rows
    (10, 'manifold', 10, 0)
    """
    where = file_path("path", path)
    record = read_record(where)
    files = _known_files(where, record) if source is None else _given_files(source, where, record)
    regime, sampled, wrong = _verify(where, record, files) if files else (None, 0, 0)
    recipe = record.recipe
    return Inspection(
        path=where,
        rows=record.n_rows,
        n_bytes=where.stat().st_size,
        row_groups=sum(rows > 0 for _, _, rows, _ in record.blocks),
        dtype=recipe.dtype,
        spec=recipe.spec,
        fingerprint=record.fingerprint,
        fingerprint_ok=recipe.map.fingerprint == record.fingerprint,
        kernel=recipe.kernel,
        gamma=recipe.gamma,
        amplitude=recipe.amplitude,
        columns=recipe.columns,
        keep=recipe.keep,
        shard=record.shard,
        inputs=record.inputs,
        rejected=record.n_rejected,
        regime=regime,
        sampled_rows=sampled,
        wrong_rows=wrong,
    )


def _known_files(path: Path, record: Record) -> tuple[InputFile, ...]:
    """Return the input files that the manifest names, if all are as they were."""
    manifest = read_manifest(beside(path, "manifest.json")) or {}
    listed = manifest.get("request", {}).get("inputs") or manifest.get("inputs", [])
    try:
        files = tuple(InputFile(**one) for one in listed)
        now = find_inputs([file.path for file in files], path) if files else ()
    except (TypeError, ValueError):
        return ()
    return files if files == now and _same(files, record) else ()


def _given_files(source: Any, path: Path, record: Record) -> tuple[InputFile, ...]:
    files = find_inputs(source, path)
    if not _same(files, record):
        expected = ", ".join(f"{name} ({size} bytes)" for name, size in record.inputs[:5])
        found = ", ".join(f"{file.name} ({file.n_bytes} bytes)" for file in files[:5])
        raise DataError(f"{source} is not what {path} was made from: {expected}; found {found}.")
    return files


def _same(files: tuple[InputFile, ...], record: Record) -> bool:
    return tuple((file.name, file.n_bytes) for file in files) == record.inputs


def _verify(
    path: Path, record: Record, files: tuple[InputFile, ...]
) -> tuple[dict[str, Any] | None, int, int]:
    """Return the regime, the rows that were encoded again, and how many of them differ."""
    format = "npy" if path.suffix == ".npy" else "parquet"
    kept = pa.schema([])
    if format == "parquet":
        schema = pq.read_schema(path).remove_metadata()
        kept = pa.schema([schema.field(name) for name in record.recipe.keep])
    job = Job(files, record.recipe, kept, format)
    regimes: list[Regime] = []
    sampled = wrong = 0
    filled = [place for place, block in enumerate(record.blocks) if block[2]]
    spread = np.linspace(0, len(filled) - 1, min(len(filled), _SAMPLED_BLOCKS)).round()
    for place in [filled[int(i)] for i in spread]:
        f, number, rows, _ = record.blocks[place]
        block = _source_block(job, f, number)
        made, stored = job.output_rows(block), _stored(path, record, place)
        sampled += rows
        wrong += rows if len(made.codes) != len(stored) else _n_different(job.recipe, made, stored)
        if block.table is not None:
            regimes.append(job.recipe.map.regime(job.rows(block)[0]))
    return _joined(regimes), sampled, wrong


def _source_block(job: Job, file: int, number: int) -> Block:
    span = Span(file, number, None, None)
    found = next(read_span(job.files, span, job.names, job.recipe.batch_rows), None)
    if found is None:
        raise DataError(
            f"{job.files[file].name} has no block {number}: the description is damaged."
        )
    return found


def _stored(path: Path, record: Record, place: int) -> pa.Array:
    """Return the features of one block as they are in the file."""
    rows = [block[2] for block in record.blocks]
    with reading(str(path)):
        if path.suffix == ".npy":
            tables: Iterator[pa.Table] = open_npy(str(path)).tables(
                ["array"], sum(rows[:place]), rows[place]
            )
            return column_array(next(tables), "array")
        group = sum(n > 0 for n in rows[:place])
        return column_array(pq.ParquetFile(path).read_row_group(group, [FEATURES]), FEATURES)


def _n_different(recipe: Recipe, made: Rows, stored: pa.Array) -> int:
    """Return the number of rows with other bits, or with features on one side only."""
    codes, there = recipe.stored(stored)
    valid = np.ones(len(there), dtype=bool) if made.null is None else ~made.null
    unsigned = f"u{codes.dtype.itemsize}"
    in_both = made.codes[valid & there].view(unsigned), codes[valid[there]].view(unsigned)
    return int((valid != there).sum() + (in_both[0] != in_both[1]).any(axis=1).sum())


def _joined(regimes: list[Regime]) -> dict[str, Any] | None:
    if not regimes:
        return None
    wraps = np.concatenate([regime.wraps for regime in regimes])
    whole = Regime(
        "hash" if wraps.any() else "manifold",
        wraps,
        regimes[0].n_phases,
        max(regime.peak_turns for regime in regimes),
    )
    return {
        "kind": whole.kind,
        "fraction_wrapped": whole.fraction_wrapped,
        "peak_turns": whole.peak_turns,
        "margin_turns": whole.margin_turns,
    }
