"""An index on disk: a small JSON file that names an array of codes beside it.

Codes go into a new file named by their digest; then the JSON file is replaced in one step. A
reader sees the old index or the new one, never half of each.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from primal._errors import DataError, SpecError
from primal._files import written_whole
from primal.engines._numpy import row_blocks
from primal.search._encoder import Encoder
from primal.search._ids import Ids
from primal.search._kinds import KINDS, columns_of

__all__ = ["load", "save"]

_VERSION = 1
_HEADER = "index.json"
_FIELDS = ("version", "codes", "map", "column_scales", "n_rows", "file", "sha256")
# Entries written or read at once.
_BLOCK_ENTRIES = 1 << 22


def save(folder: Path, encoder: Encoder, kind: str, parts: Iterable[np.ndarray], ids: Ids) -> None:
    """Write an index into a folder, in place of one that is there."""
    parts = list(parts)
    shape = (sum(map(len, parts)), columns_of(kind, encoder.n_frequencies))
    digest = _digest(parts)
    header = {
        "version": _VERSION,
        "codes": kind,
        **encoder.spec,
        "n_rows": shape[0],
        "file": f"codes-{digest[:16]}.npy",
        "sha256": digest,
        "next_id": ids.next,
    }
    stored = ids.stored
    folder.mkdir(parents=True, exist_ok=True)
    if stored is not None:
        header["ids"] = f"ids-{_digest([stored])[:16]}.npy"
        with written_whole(folder / str(header["ids"]), durable=True) as stream:
            np.save(stream, stored, allow_pickle=False)
    with written_whole(folder / str(header["file"]), durable=True) as stream:
        description = {"descr": KINDS[kind].str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, description)
        for block in _blocks(parts):
            stream.write(block.tobytes())
    with written_whole(folder / _HEADER, durable=True) as stream:
        stream.write(json.dumps(header, indent=1).encode())
    for old in (*folder.glob("codes-*.npy"), *folder.glob("ids-*.npy")):
        if old.name not in (header["file"], header.get("ids")):
            old.unlink(missing_ok=True)


def load(folder: Path, *, verify: bool) -> tuple[Encoder, str, np.ndarray, Ids]:
    """Return the encoder, the kind, the memory-mapped codes and the ids of a saved index."""
    header = _read_header(folder / _HEADER)
    kind, encoder = str(header["codes"]), Encoder.from_spec(header)
    path = folder / str(header["file"])
    try:
        codes = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"cannot read the codes in {path}: {error}.") from None
    shape = (header["n_rows"], columns_of(kind, encoder.n_frequencies))
    if codes.shape != shape or codes.dtype != KINDS[kind]:
        raise DataError(
            f"{path} holds {codes.dtype} {codes.shape} where {KINDS[kind]} {shape} was saved: "
            "the file was changed or cut short; save the index again."
        )
    if verify and _digest([codes]) != header["sha256"]:
        raise DataError(f"{path} is damaged, its digest has changed: save the index again.")
    return encoder, kind, codes, _read_ids(folder, header, len(codes))


def _read_ids(folder: Path, header: dict[str, Any], n_rows: int) -> Ids:
    name, stored = header.get("ids"), None
    if name is not None:
        path = folder / Path(str(name)).name
        try:
            stored = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"cannot read the ids in {path}: {error}.") from None
        if name != f"ids-{_digest([stored])[:16]}.npy":
            raise DataError(f"{path} is damaged, its digest has changed: save the index again.")
    return Ids.restored(stored, header.get("next_id", n_rows), n_rows)


def _read_header(path: Path) -> dict[str, Any]:
    try:
        header = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path.parent} holds no index: {error}.") from None
    except ValueError as error:
        raise SpecError(f"{path} is not the JSON of an index: {error}.") from None
    if not isinstance(header, Mapping) or header.get("version") != _VERSION:
        raise SpecError(f"{path} is not an index of version {_VERSION}.")
    missing = [field for field in _FIELDS if field not in header]
    if missing or header["codes"] not in KINDS:
        raise SpecError(
            f"{path} is not an index: it lacks {', '.join(missing)}."
            if missing
            else f"{path} holds codes of an unknown kind, {header['codes']!r}."
        )
    if Path(str(header["file"])).name != header["file"]:
        raise SpecError(f"{path} names {header['file']!r}, which is no file beside it.")
    return dict(header)


def _digest(parts: Iterable[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for block in _blocks(parts):
        digest.update(block.tobytes())
    return digest.hexdigest()


def _blocks(parts: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    for part in parts:
        for rows in row_blocks(len(part), part.shape[1], _BLOCK_ENTRIES):
            yield np.ascontiguousarray(part[rows])
