"""Which files are read, in which order, and how they are told apart."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path

from primal.errors import DataError, ParameterError
from primal.pipeline._passing import passing

__all__ = ["FORMATS", "InputFile", "check_unchanged", "find_inputs"]

# Suffixes, and the format that each stands for.
FORMATS = {
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
    """One input file as it was when it was listed.

    Attributes
    ----------
    path : str
        As it is shown to people.
    format : str
    n_bytes : int
    mtime_ns : int
        Time of the last change, nanoseconds.
    """

    path: str
    format: str
    n_bytes: int
    mtime_ns: int

    @property
    def name(self) -> str:
        return Path(self.path).name


def find_inputs(src: object, dst: Path) -> tuple[InputFile, ...]:
    """Return the files that `src` names, in the order of their paths, or of the sequence.

    Parameters
    ----------
    src : path, pattern or sequence of paths
        A file; a folder, searched with its folders for files of a known format (names that
        start with "." or "_" are passed over); a pattern such as ``data/*.parquet``; or a
        sequence of files, taken in its own order. Folders and patterns pass over lists of
        rejected rows.
    dst : Path
        Output, which must not be among the inputs.

    Raises
    ------
    DataError
        If there is no such file, or it cannot be read.
    ParameterError
        If a file has an unknown format, or the output would become an input of the next run.
    """
    if not isinstance(src, (str, Path, list, tuple)):
        raise ParameterError(f"src must be a path, a pattern or a list of paths, got {src!r}.")
    try:
        paths = _paths(src)  # type: ignore[bad-argument-type]  # checked above
    except (OSError, ValueError, RuntimeError) as error:  # a name that no disk has
        raise DataError(f"{src} cannot be read: {str(error).rstrip('.')}.") from None
    if not paths:
        raise DataError(f"no input files were found at {src}: check the path.")
    files = tuple(_described(path) for path in paths)
    try:
        target = dst.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise ParameterError(f"{dst} cannot be an output: {error}.") from None
    if isinstance(src, (str, Path)) and Path(src).is_dir():
        if Path(src).resolve() in target.parents:
            raise ParameterError(f"{dst} lies inside of {src}: write the output to another folder.")
    elif any(path.resolve() == target for path in paths):
        raise ParameterError(f"{dst} is also an input: write the output to another file.")
    return files


def check_unchanged(files: tuple[InputFile, ...]) -> None:
    """Raise DataError if a file is no longer what it was when it was listed.

    One that cannot be looked at now is a PrimalError: that may pass.
    """
    for file in files:
        try:
            found = Path(file.path).stat()
        except OSError as error:
            raise passing(f"{file.path} is out of reach: {error.strerror or error}") from error
        if (found.st_size, found.st_mtime_ns) != (file.n_bytes, file.mtime_ns):
            raise DataError(f"{file.path} changed while it was read: run the same command again.")


def _paths(src: str | Path | list | tuple) -> list[Path]:
    if isinstance(src, (list, tuple)):
        return [Path(one) for one in src]
    path = Path(src)
    if path.is_dir():
        return sorted(
            found for found in path.rglob("*") if _is_data(found.relative_to(path), found)
        )
    if not path.exists() and glob.has_magic(str(src)):
        found = (Path(one) for one in glob.iglob(str(src), recursive=True))  # noqa: PTH207
        return sorted(one for one in found if not _is_ours(one))
    return [path]


def _is_ours(path: Path) -> bool:
    """Whether a file is one that lies beside an output, or in the folder where one grows."""
    return path.name.endswith((".parquet.rejected.csv", ".npy.rejected.csv")) or any(
        part.endswith(".primal-part") for part in path.parts
    )


def _is_data(relative: Path, path: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in relative.parts)
    return not hidden and not _is_ours(path) and path.is_file() and _format(path) is not None


def _described(path: Path) -> InputFile:
    kind = _format(path)
    if kind is None:
        known = ", ".join(FORMATS)
        raise ParameterError(f"{path} has no known format: its name must end in one of {known}.")
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
    return next((kind for suffix, kind in FORMATS.items() if name.endswith(suffix)), None)
