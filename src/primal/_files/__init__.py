"""Files, written atomically and never trusted when they are read: one way for all."""

from primal._files._objects import object_type, read_object, write_object
from primal._files._reading import open_regular, parsed_json, read_json
from primal._files._writing import disk_errors, npy_header, written_whole

__all__ = [
    "disk_errors",
    "npy_header",
    "object_type",
    "open_regular",
    "parsed_json",
    "read_json",
    "read_object",
    "write_object",
    "written_whole",
]
