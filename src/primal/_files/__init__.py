"""Files that are written whole and read with suspicion: the one way for every room."""

from primal._files._folders import FolderFormat, locked
from primal._files._reading import open_regular, parsed_json, read_json
from primal._files._tensors import read_tensors, write_tensors
from primal._files._writing import npy_header, written_whole

__all__ = [
    "FolderFormat",
    "locked",
    "npy_header",
    "open_regular",
    "parsed_json",
    "read_json",
    "read_tensors",
    "write_tensors",
    "written_whole",
]
