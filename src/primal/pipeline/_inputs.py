"""Which files are read, in which order, and whether they are still what they were."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from primal.errors import DataError, ParameterError, PrimalError

_FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".csv", ".csv.gz"), "csv"),
    **dict.fromkeys((".arrow", ".arrows", ".ipc", ".feather"), "arrow"),
    ".npy": "npy",
    ".npz": "npz",
}
_HIDDEN = (".", "_")


@dataclass(frozen=True)
class InputFile:
    """One input file as it was when it was listed: its size, and when it last changed."""

    path: str
    format: str
    n_bytes: int
    mtime_ns: int


def find_inputs(src: object, dst: Path | None = None) -> tuple[InputFile, ...]:
    """Return the files that `src` names, in the order of their paths, or of the sequence.

    Folders skip names that start with "." or "_", and follow links; folders and patterns skip what
    lies beside our outputs. The output, `dst`, must be none of the files, and hold none of them.
    """
    given = src if isinstance(src, (list, tuple)) else [src]
    # "" would be the working folder.
    if not given or not all(isinstance(one, (str, Path)) and str(one) for one in given):
        raise ParameterError(f"src must be a path, a pattern or a list of paths, got {src!r}.")
    paths, files, folder = [Path(one) for one in given], [], None
    try:
        if isinstance(src, (str, Path)) and not paths[0].is_file():
            folder = paths[0] if paths[0].is_dir() else None
            paths = _listed(src)
        for path in paths:
            suffix = next((one for one in _FORMATS if path.name.lower().endswith(one)), None)
            if suffix is None:
                raise ParameterError(
                    f"{path} has no known format: its name must end in one of "
                    f"{', '.join(_FORMATS)}."
                )
            found = path.stat()
            if not path.is_file():  # a pipe, for instance, could be read only once
                raise DataError(f"{path} is not a plain file.")
            files.append(InputFile(str(path), _FORMATS[suffix], found.st_size, found.st_mtime_ns))
        if dst is not None:
            target = dst.resolve()
            if folder is not None and folder.resolve() in target.parents:
                raise ParameterError(
                    f"{dst} lies inside of {src}: write the output to another folder."
                )
            if any(target in (one := path.resolve(), *one.parents) for path in paths):
                raise ParameterError(f"{dst} is also an input: write the output elsewhere.")
    except PrimalError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # a name that no disk has
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        named = getattr(error, "filename", None) or src
        raise DataError(f"{named} cannot be read: {reason}.") from None
    if not files:
        raise DataError(f"no input files were found at {src}: check the path.")
    return tuple(files)


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
    """Return the files of a folder or a pattern; a name that is neither stands for itself."""
    folder = Path(src)
    if folder.is_dir():
        found = [path for path in _files_in(folder) if path.name.lower().endswith(tuple(_FORMATS))]
    elif glob.has_magic(str(src)) and not folder.exists():
        found = [Path(one) for one in glob.iglob(str(src), recursive=True)]  # noqa: PTH207
    else:
        return [folder]
    # Neither lists of rejected rows nor what lies in a folder where an output is being made.
    return sorted(
        path
        for path in found
        if not path.name.endswith((".parquet.rejected.csv", ".npy.rejected.csv"))
        and not any(part == "_rejected" or part.endswith(".primal-part") for part in path.parts)
    )


def _files_in(folder: Path) -> Iterator[Path]:
    """Return the files of a folder and its folders, also of linked ones, without hidden names.

    What cannot be listed is an OSError: its rows would be lost in silence.
    """

    def stop(error: OSError) -> None:
        raise error

    for at, folders, names in os.walk(folder, onerror=stop, followlinks=True):
        path = Path(at)
        if path.is_symlink() and path.resolve() in [one.resolve() for one in path.parents]:
            raise DataError(f"{path} is a link to a folder that it lies in: remove it.")
        folders[:] = [name for name in folders if not name.startswith(_HIDDEN)]
        yield from (path / name for name in names if not name.startswith(_HIDDEN))
