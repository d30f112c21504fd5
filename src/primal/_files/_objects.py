"""One saved object in one file in the format of safetensors, which holds no code.

    8 bytes    length of the header
    header     JSON: {"__metadata__":{"primal_sha256":"<64 digits>","primal":"<spec>"}, ...}
    data       the arrays one after the other, those with the longest numbers first

The digest is that of the whole file with zeros in place of its own 64 hexadecimal digits: every bit
counts. The first bytes show that Primal saved the file; another file is never replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from primal._checks import raised_as, require_memory
from primal._files._reading import LARGEST_JSON, open_regular, parsed_json
from primal._files._writing import disk_errors, written_whole
from primal.errors import DataError, ParameterError, PrimalError

_TYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8")
_NAMES = {t: "BOOL" if t == "|b1" else f"{t[1].upper()}{8 * int(t[2])}" for t in _TYPES}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_START = b'{"__metadata__":{"primal_sha256":"'
_NO_DIGEST = "0" * 64
_DIGEST_PLACE = slice(len(_START), len(_START) + len(_NO_DIGEST))  # in the header


def write_object(
    path: Path,
    document: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray | Sequence[np.ndarray]],
) -> None:
    """Write a spec and arrays; replace a file only if it is such a file, too.

    Several arrays under one name are one array in parts along the first axis.
    """
    with raised_as(ParameterError, "parameters cannot be saved as JSON"):
        text = json.dumps(document, allow_nan=False)
    header: dict[str, Any] = {"__metadata__": {"primal_sha256": _NO_DIGEST, "primal": text}}
    parts, end = [], 0
    named = {name: [a] if isinstance(a, np.ndarray) else list(a) for name, a in arrays.items()}
    for name, pieces in sorted(named.items(), key=lambda item: -item[1][0].itemsize):
        first, dtype = pieces[0], pieces[0].dtype.newbyteorder("<")
        if dtype.str not in _NAMES:
            raise ParameterError(f"{name} has the type {dtype}, which a file cannot hold.")
        begin, end = end, end + sum(piece.nbytes for piece in pieces)
        shape = [sum(map(len, pieces)), *first.shape[1:]] if first.ndim else []
        kind = {"dtype": _NAMES[dtype.str], "shape": shape}
        header[name] = kind | {"data_offsets": [begin, end]}
        parts += [np.ascontiguousarray(piece, dtype=dtype).reshape(-1).data for piece in pieces]
    content = json.dumps(header, separators=(",", ":")).encode()
    content += b" " * (-len(content) % 8)
    if len(content) > LARGEST_JSON:
        raise DataError(f"the header takes {len(content)} bytes, and may have {LARGEST_JSON}.")
    signed = content.replace(_NO_DIGEST.encode(), _digest(content, parts).encode(), 1)
    with disk_errors(path):
        if os.path.lexists(os.path.realpath(path)) and not _is_ours(path):
            raise DataError(
                f"{path} exists and was not saved by primal: choose another name, or remove it."
            )
        with written_whole(path) as stream:
            for part in (len(content).to_bytes(8, "little"), signed, *parts):
                stream.write(part)


def read_object(
    path: Path, kind: str, *, mapped: bool = False, verify: bool = False
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the fields and the arrays of an object of this type; else raise a DataError.

    Arrays are read into memory and compared with the digest. With `mapped` they stay on the disk,
    and are compared with `verify` only.
    """
    document, arrays = _read(path, mapped, verify)
    found, version = document.pop("type", None), document.pop("version", None)
    if found != kind or type(version) is not int or version != 1:
        raise DataError(
            f"{path} must contain a {kind} of version 1, got {found!r:.60} of version "
            f"{version!r:.20}."
        )
    return document, arrays


def object_type(path: Path) -> str | None:
    """Return the type of the object that Primal saved in a file; None for another file."""
    with contextlib.suppress(FileNotFoundError):
        if _is_ours(path):
            return str(_read(path, mapped=False, verify=True)[0].get("type"))
    return None


def _read(path: Path, mapped: bool, verify: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    try:
        with open_regular(path) as stream:
            content, n_bytes = _header(stream, path)
            document, kinds = _parsed(content, n_bytes, path)
            if not mapped:
                require_memory(n_bytes, f"the arrays in {path}")
            arrays = {name: _array(stream, *kind, mapped) for name, kind in kinds.items()}
    except PrimalError:
        raise
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from None
    parts = [array.reshape(-1).data for array in arrays.values()]
    if (verify or not mapped) and _digest(content, parts).encode() != content[_DIGEST_PLACE]:
        raise _damaged(path, "its digest has changed")
    return document, arrays


def _header(stream: BinaryIO, path: Path) -> tuple[bytes, int]:
    """Return the header of a file, and the number of bytes after it."""
    size = os.fstat(stream.fileno()).st_size
    length = int.from_bytes(stream.read(8), "little")
    if size < 8 or length > min(size - 8, LARGEST_JSON):
        raise DataError(f"{path} is cut short, or was not saved by primal.")
    content = stream.read(length)
    if not content.startswith(_START):
        raise DataError(f"{path} was not saved by primal, or by a version without digests.")
    return content, size - 8 - length


def _parsed(
    content: bytes, n_bytes: int, path: Path
) -> tuple[dict[str, Any], dict[str, tuple[str, list[int]]]]:
    """Return the spec in a header, and the type and shape of every array."""
    header = parsed_json(content, f"the header of {path}")
    metadata = header.pop("__metadata__")
    text = metadata.get("primal") if isinstance(metadata, dict) else None
    document = parsed_json(str(text).encode(errors="replace"), f"the spec in {path}")
    if not isinstance(document, dict):
        raise _damaged(path, f"its spec is {text!r:.60}")
    kinds, place = {}, 0
    for name, record in header.items():
        fields = record if isinstance(record, dict) else {}
        dtype, shape = _DTYPES.get(str(fields.get("dtype"))), fields.get("shape")
        if not (
            dtype
            and isinstance(shape, list)
            and len(shape) <= 3
            and all(type(n) is int and 0 <= n < 1 << 40 for n in shape)
        ):
            raise _damaged(path, f"it describes an array as {record!r:.200}")
        begin, place = place, place + math.prod(shape) * np.dtype(dtype).itemsize
        if fields.get("data_offsets") != [begin, place]:
            raise _damaged(path, f"it describes an array as {record!r:.200}")
        kinds[name] = (dtype, shape)
    if place != n_bytes:
        raise _damaged(path, f"its arrays take {place} bytes, and it has {n_bytes}")
    return document, kinds


def _array(stream: BinaryIO, dtype: str, shape: list[int], mapped: bool) -> np.ndarray:
    """Return the array that begins where the stream is, and go to its end."""
    place, n_bytes = stream.tell(), math.prod(shape) * np.dtype(dtype).itemsize
    if mapped and n_bytes:
        array = np.memmap(stream, dtype, "r", place, tuple(shape))
        stream.seek(place + n_bytes)
        return array
    array = np.empty(shape, dtype)
    if stream.readinto(array.reshape(-1).view(np.uint8)) != n_bytes:  # type: ignore[missing-attribute]
        raise OSError("it became shorter while it was read")
    return array


def _digest(content: bytes, parts: list[memoryview]) -> str:
    """Return the digest of a file: its own place in the header counts as zeros."""
    before, after = content[: _DIGEST_PLACE.start], content[_DIGEST_PLACE.stop :]
    digest = hashlib.sha256(len(content).to_bytes(8, "little"))
    for part in (before, _NO_DIGEST.encode(), after, *parts):
        digest.update(part)
    return digest.hexdigest()


def _is_ours(path: Path) -> bool:
    try:
        with open_regular(path) as stream:
            return stream.read(8 + len(_START))[8:] == _START
    except DataError:  # a folder, a pipe or a device
        return False


def _damaged(path: Path, reason: str) -> DataError:
    return DataError(f"{path} is damaged, {reason}: restore a copy of it, or save it again.")
