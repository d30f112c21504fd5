"""One file of JSON text and arrays in the format of safetensors, which holds no code.

Eight bytes with the length of a JSON header, the header, the arrays one after the other.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from primal._files._reading import LARGEST_JSON, open_regular, parsed_json
from primal._files._writing import written_whole
from primal.errors import DataError

_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U64": "<u8", "U8": "|u1", "BOOL": "|b1"}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def write_tensors(path: Path, text: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write text, as the metadatum "primal", and arrays into a file, whole or not at all."""
    header: dict[str, Any] = {"__metadata__": {"primal": text}}
    parts, end = [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        begin, end = end, end + data.nbytes
        kind = {"dtype": _NAMES[data.dtype.str], "shape": list(array.shape)}
        header[name] = kind | {"data_offsets": [begin, end]}
        parts.append(data)
    content = json.dumps(header).encode()
    content += b" " * (-len(content) % 8)
    if len(content) > LARGEST_JSON:
        raise DataError(f"the header takes {len(content)} bytes, and may have {LARGEST_JSON}.")
    with written_whole(path) as stream:
        stream.write(len(content).to_bytes(8, "little") + content)
        for data in parts:
            stream.write(data.data)


def read_tensors(path: Path) -> tuple[str, dict[str, np.ndarray]]:
    """Return the text and the arrays of such a file; anything unexpected is a DataError."""
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            length = int.from_bytes(stream.read(8), "little")
            if size < 8 or length > min(size - 8, LARGEST_JSON):
                raise DataError(f"{path} is cut short, or no safetensors file.")
            header = parsed_json(stream.read(length), f"the header of {path}")
            if not isinstance(header, dict):
                raise DataError(f"the header of {path} must be an object.")
            metadata = header.pop("__metadata__", None)
            text = metadata.get("primal") if isinstance(metadata, dict) else None
            if not isinstance(text, str):
                raise DataError(f"{path} was not written by primal: it has no such metadata.")
            arrays, place = {}, 0
            for name, record in header.items():
                dtype, shape, n_bytes = _checked(record, place, size - 8 - length, path)
                arrays[name] = np.frombuffer(stream.read(n_bytes), dtype).reshape(shape).copy()
                place += n_bytes
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    if place != size - 8 - length:
        raise DataError(f"{path} has {size - 8 - length - place} bytes that belong to no array.")
    return text, arrays


def _checked(record: Any, place: int, n_most: int, path: Path) -> tuple[str, list[int], int]:
    """Return type, shape and bytes of an array that begins at `place`, where the last one ends."""
    fields = record if isinstance(record, dict) else {}
    dtype, shape = _DTYPES.get(str(fields.get("dtype"))), fields.get("shape")
    if (
        dtype
        and isinstance(shape, list)
        and len(shape) <= 3
        and all(type(n) is int and 0 <= n < 1 << 40 for n in shape)
    ):
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if fields.get("data_offsets") == [place, place + n_bytes] and place + n_bytes <= n_most:
            return dtype, shape, n_bytes
    raise DataError(f"{path} describes an array as {str(record)[:200]}, which none is.")
