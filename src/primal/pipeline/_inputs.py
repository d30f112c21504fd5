"""Which files are read, in which order, and whether they are still what they were."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from primal.errors import DataError, ParameterError, PrimalError

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".npy": "npy",
    ".npz": "npz",
}


@dataclass(frozen=True)
class InputFile:
    """One input file as it was when it was listed: its size, and when it last changed."""

    path: str
    format: str
    n_bytes: int
    mtime_ns: int


@dataclass(frozen=True)
class Source:
    """An open input file.

    ``tables(names, first_row, n_rows)`` returns columns from a row on, in tables of any size;
    `n_rows` is about how many rows the caller takes at a time. A source that cannot count its
    rows starts at row 0 only.
    """

    schema: pa.Schema
    tables: Callable[[list[str], int, int], Iterator[pa.Table]]
    n_rows: int | None = None  # None where only reading the whole file would tell
    run_rows: int = 1  # best read by one worker: fewer would decode the same bytes twice


def find_inputs(src: object, dst: Path | None = None) -> tuple[InputFile, ...]:
    """Return the files that `src` names, in the order of their paths, or of the sequence.

    Folders skip names that start with "." or "_"; folders and patterns skip what lies beside our
    outputs. The output, `dst`, must be none of the files.
    """
    if not isinstance(src, (str, Path, list, tuple)) or not src:  # "" would be the working folder
        raise ParameterError(f"src must be a path, a pattern or a list of paths, got {src!r}.")
    try:
        paths = [Path(one) for one in src] if isinstance(src, (list, tuple)) else _listed(src)
        files = tuple(_described(path) for path in paths)
        target = None if dst is None else dst.resolve()
        taken = any(path.resolve() == target for path in paths)
        inside = isinstance(src, (str, Path)) and Path(src).is_dir()
        inside = inside and target is not None and Path(str(src)).resolve() in target.parents
    except PrimalError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # a name that no disk has
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise DataError(f"{src} cannot be read: {reason}.") from None
    if not files:
        raise DataError(f"no input files were found at {src}: check the path.")
    if inside:
        raise ParameterError(f"{dst} lies inside of {src}: write the output to another folder.")
    if taken:
        raise ParameterError(f"{dst} is also an input: write the output elsewhere.")
    return files


def check_unchanged(files: tuple[InputFile, ...]) -> None:
    """Raise DataError if a file is no longer what it was when it was listed.

    One that cannot be looked at now is a PrimalError: that may be over soon.
    """
    for file in files:
        try:
            found = Path(file.path).stat()
        except OSError as error:
            raise resumable(f"{file.path} is out of reach: {error.strerror or error}") from error
        if (found.st_size, found.st_mtime_ns) != (file.n_bytes, file.mtime_ns):
            raise DataError(f"{file.path} changed while it was read: run the same command again.")


def resumable(reason: str, kind: type[PrimalError] = PrimalError) -> PrimalError:
    """Return the error for what is no fault of the data: a disk, a network, a cluster."""
    sentence = " ".join(reason.split()).rstrip(".")
    return kind(
        f"{sentence}. Fix that and run the same command again: it resumes where it stopped."
    )


def _listed(src: str | Path) -> list[Path]:
    path = Path(src)
    if path.is_dir():
        found = (one for one in path.rglob("*") if one.is_file() and _format(one))
        shown = [
            one
            for one in found
            if not any(part.startswith((".", "_")) for part in one.relative_to(path).parts)
        ]
        return sorted(one for one in shown if not _is_ours(one))
    if not path.exists() and glob.has_magic(str(src)):
        found = (Path(one) for one in glob.iglob(str(src), recursive=True))  # noqa: PTH207
        return sorted(one for one in found if not _is_ours(one))
    return [path]


def _is_ours(path: Path) -> bool:
    """Whether a file lists rejected rows, or lies in a folder where an output is being made."""
    beside = path.name.endswith((".parquet.rejected.csv", ".npy.rejected.csv"))
    return beside or any(
        part == "_rejected" or part.endswith(".primal-part") for part in path.parts
    )


def _described(path: Path) -> InputFile:
    kind = _format(path)
    if kind is None:
        raise ParameterError(
            f"{path} has no known format: its name must end in one of {', '.join(_FORMATS)}."
        )
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path} cannot be read: {reason}.") from None
    if not path.is_file():  # a pipe, for instance, could be read only once
        raise DataError(f"{path} is not a plain file.")
    return InputFile(str(path), kind, found.st_size, found.st_mtime_ns)


def _format(path: Path) -> str | None:
    name = path.name.lower()
    return next((kind for suffix, kind in _FORMATS.items() if name.endswith(suffix)), None)
