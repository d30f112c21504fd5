"""``merge``: shards into one output, bytes copied and nothing read, if all of them are there."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from primal._checks import flag
from primal.errors import DataError, ParameterError
from primal.pipeline._encode import EncodeReport, finish, output_format, report_of
from primal.pipeline._extent import Extent
from primal.pipeline._job import EncodedBlock, Progress, Rejected
from primal.pipeline._manifest import beside, finished_manifest, read_manifest
from primal.pipeline._record import Record, head_bytes, read_record, written_schema
from primal.pipeline._row_groups import row_groups_of
from primal.pipeline._store import Workspace

__all__ = ["merge"]


def merge(
    parts: Sequence[str | Path],
    dst: str | Path,
    *,
    overwrite: bool = False,
    same_inputs: bool = False,
    progress: Progress | None = None,
) -> EncodeReport:
    """Put the shards of one encoding together.

    The result has the bytes of an encoding that was never cut into shards.

    Parameters
    ----------
    parts : sequence of paths
        Every output of ``encode(..., shard=(i, n))`` for one n, in any order.
    dst : path
        Of the same format.
    overwrite : bool, default=False
    same_inputs : bool, default=False
        Merge shards that were made from copies of one file with different times of change,
        which would otherwise be taken for a file that was changed between them.
    progress : callable, optional
        Called with rows done and rows in all.

    Returns
    -------
    report : EncodeReport

    Raises
    ------
    ParameterError
        If parts are missing, given twice, or of different encodings.
    DataError
        If a part cannot be read or is not an output of ``encode``.

    Examples
    --------
    >>> import numpy as np
    >>> from primal import pipeline
    >>> np.save("points.npy", np.linspace(-1.0, 1.0, 300).reshape(100, 3))
    >>> parts = [f"part-{i}.parquet" for i in range(2)]
    >>> for i, part in enumerate(parts):
    ...     _ = pipeline.encode("points.npy", part, dim=8, sigma=0.1, batch_rows=10, shard=(i, 2))
    >>> pipeline.merge(parts, "whole.parquet").rows
    100
    """
    if isinstance(parts, (str, Path)):
        raise ParameterError(f"parts must be a list of paths, got {parts!r}.")
    target, paths = Path(dst), [Path(part) for part in parts]
    format = output_format(target)
    shards = [_Shard(path, read_record(path)) for path in paths]
    _check_together(shards, format)
    if not flag("same_inputs", same_inputs):
        _check_inputs(shards)
    places = sorted(
        ((f, number, ends), rows, shard, place)
        for shard in shards
        for place, (f, number, rows, ends) in enumerate(shard.record.blocks)
    )
    _check_complete(shards[0].record, [key for key, _, _, _ in places])
    order = [(shard, place) for _, _, shard, place in places]
    request = {
        "merge": [[p.name, p.stat().st_size, p.stat().st_mtime_ns] for p in sorted(paths)],
        "fingerprint": shards[0].record.fingerprint,
    }
    done = finished_manifest(target, request, overwrite)
    if done is not None:
        return report_of(target, Record.from_json(done["record"]), already_complete=True)
    with Workspace(target, request, head_bytes(None, None, format), overwrite) as work:
        work.begin({})
        left = _blocks(shards, order[len(work.entries) :], format)
        work.extend(left, sum(shard.record.n_rows for shard in shards), progress)
        first = shards[0].record
        record = replace(
            first,
            shard=(0, 1),
            blocks=tuple((e.file, e.number, e.rows, e.ends_file) for e in work.entries),
            n_rejected=sum(e.n_rejected for e in work.entries),
            extent=Extent.joined(shard.record.extent for shard in shards),
        )
        schema = written_schema(paths[0]) if format == "parquet" else None
        finish(work, record, schema, format, {"inputs": _inputs_of(shards[0])})
    return report_of(target, record)


@dataclass(frozen=True, order=True)
class _Shard:
    path: Path
    record: Record


def _check_together(shards: list[_Shard], format: str) -> None:
    if not shards:
        raise ParameterError("there is nothing to merge: name the parts.")
    first = shards[0]
    for shard in shards:
        if output_format(shard.path) != format:
            raise ParameterError(f"{shard.path} and the output have different formats.")
        for what, mine, other in (
            ("map", first.record.fingerprint, shard.record.fingerprint),
            ("settings", first.record.recipe, shard.record.recipe),
            ("input files", first.record.inputs, shard.record.inputs),
            ("number of shards", first.record.shard[1], shard.record.shard[1]),
        ):
            if mine != other:
                raise ParameterError(
                    f"{first.path} and {shard.path} are not of one encoding: their {what} differ."
                )
    n = first.record.shard[1]
    found = [shard.record.shard[0] for shard in shards]
    twice = sorted({i for i in found if found.count(i) > 1})
    missing = sorted(set(range(n)) - set(found))
    if twice:
        raise ParameterError(f"shard {twice[0]} of {n} is given twice.")
    if missing:
        listed = ", ".join(map(str, missing[:20]))
        raise ParameterError(f"of {n} shards these are missing: {listed}.")


def _check_inputs(shards: list[_Shard]) -> None:
    """Raise if an input file was changed after one shard was made and before another."""
    seen: dict[str, tuple[int, Path]] = {}
    for shard in shards:
        for one in _inputs_of(shard):
            mtime_ns, other = seen.setdefault(one["path"], (one["mtime_ns"], shard.path))
            if mtime_ns != one["mtime_ns"]:
                raise ParameterError(
                    f"{one['path']} changed between the making of {other} and of {shard.path}: "
                    "encode them again; or, if these are copies of one file, pass same_inputs "
                    "(--same-inputs)."
                )


def _inputs_of(shard: _Shard) -> list[dict[str, Any]]:
    """Return the input files as the manifest beside a shard lists them; empty without one."""
    manifest = read_manifest(beside(shard.path, "manifest.json")) or {}
    listed = manifest.get("request", {}).get("inputs", [])
    sound = isinstance(listed, list) and all(
        isinstance(one, dict)
        and isinstance(one.get("path"), str)
        and isinstance(one.get("mtime_ns"), int)
        for one in listed
    )
    return listed if sound else []


def _check_complete(record: Record, keys: list[tuple[int, int, bool]]) -> None:
    """Raise unless every file has its blocks from 0 to the one that ends it."""
    expected = iter(keys)
    for f, (name, _) in enumerate(record.inputs):
        number = 0
        while True:
            found = next(expected, None)
            if found is None or found[:2] != (f, number):
                raise ParameterError(f"block {number} of the input file {name} is in no shard.")
            if found[2]:
                break
            number += 1
    if next(expected, None) is not None:
        raise ParameterError("some blocks are in two shards.")


def _blocks(
    shards: list[_Shard], order: list[tuple[_Shard, int]], format: str
) -> Iterator[EncodedBlock]:
    rejected = {shard.path: _rejected(shard) for shard in shards}
    pieces = {shard.path: _pieces(shard, format) for shard in shards}
    for shard, place in order:
        f, number, rows, ends = shard.record.blocks[place]
        offset, size, description = pieces[shard.path][place]
        with shard.path.open("rb") as opened:
            opened.seek(offset)
            data = opened.read(size)
        if len(data) < size:
            raise DataError(f"{shard.path} ends too early.")
        lost = tuple(rejected[shard.path].get((f, number), ()))
        yield EncodedBlock(f, number, ends, rows, (data,), description, lost)


def _pieces(shard: _Shard, format: str) -> list[tuple[int, int, bytes]]:
    """Return offset, bytes and description of every block of a shard."""
    if format == "parquet":
        with shard.path.open("rb") as opened:
            opened.seek(-8, 2)
            size = int.from_bytes(opened.read(4), "little")
            opened.seek(-8 - size, 2)
            groups = iter(row_groups_of(opened.read(size)))
        return [next(groups) if rows else (0, 0, b"") for _, _, rows, _ in shard.record.blocks]
    recipe = shard.record.recipe
    row_bytes = recipe.width * recipe.feature_type.value_type.bit_width // 8
    pieces, at = [], len(head_bytes(None, None, format))
    for _, _, rows, _ in shard.record.blocks:
        pieces.append((at, rows * row_bytes, b""))
        at += rows * row_bytes
    return pieces


def _rejected(shard: _Shard) -> dict[tuple[int, int], list[Rejected]]:
    """Return the rejected rows of a shard by file and block."""
    if not shard.record.n_rejected:
        return {}
    files: dict[str, list[int]] = {}  # a file may be listed more than once
    for f, one in enumerate(_inputs_of(shard)):
        files.setdefault(one["path"], []).append(f)
    found: dict[tuple[int, int], list[Rejected]] = {}
    try:
        with beside(shard.path, "rejected.csv").open(encoding="utf-8", newline="") as opened:
            lines = [Rejected(*line) for line in csv.reader(opened)][1:]
    except (OSError, TypeError) as error:
        raise DataError(f"the rejected rows of {shard.path} cannot be read: {error}.") from None
    numbers: dict[int, list[int]] = {}
    for f, number, _, _ in shard.record.blocks:
        numbers.setdefault(f, []).append(number)
    seen: set[tuple[int, str]] = set()
    for line in lines:
        number = int(line.row) // shard.record.recipe.batch_rows if line.row else 0
        left = [f for f in files.get(line.file, ()) if f in numbers and (f, line.row) not in seen]
        if not left:
            wanted = beside(shard.path, "manifest.json")
            raise DataError(f"{wanted} is missing or does not fit its part, whose rows it lists.")
        f = next((f for f in left if number in numbers[f]), left[0])
        seen.add((f, line.row))
        # A file that breaks off is reported by a block of its own, after its last rows.
        key = number if number in numbers[f] else numbers[f][-1]
        found.setdefault((f, key), []).append(line)
    return found
