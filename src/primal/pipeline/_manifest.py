"""What lies beside an output and says how it was made, and whether that answers a request."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from primal._files import open_regular, read_json, written_whole
from primal.errors import DataError, ParameterError

__all__ = [
    "REJECTED_HEADER",
    "beside",
    "finished_manifest",
    "is_rejected_list",
    "locked",
    "read_manifest",
    "refuse_foreign",
    "refuse_other",
    "remove_workspace",
    "write_whole",
]

REJECTED_HEADER = b"file,row,column,value,reason\n"
# Of a run; the journal, which holds the lock, goes last.
WORKSPACE_FILES = ("data", "rejected.csv", "manifest.json", "synced.json", "journal")
# A manifest lists every block of its output.
_LARGEST_MANIFEST = 1 << 26


def beside(dst: Path, what: str) -> Path:
    """Return the path of a file that belongs to an output: ``DST.what``."""
    return dst.with_name(f"{dst.name}.{what}")


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Return the manifest in a file, None where there is none or a damaged one."""
    try:
        found = read_json(path, most_bytes=_LARGEST_MANIFEST)
    except DataError:
        return None
    damaged = [name for name in ("request", "output") if not isinstance(found.get(name, {}), dict)]
    return None if damaged else found


def finished_manifest(dst: Path, request: dict[str, Any], overwrite: bool) -> dict[str, Any] | None:
    """Return the manifest of an output that is already there and answers the same request.

    Raises
    ------
    ParameterError
        If something else is there, unless `overwrite`; or a folder.
    """
    if dst.is_dir():
        raise ParameterError(f"{dst} is a folder: choose another name.")
    if overwrite or not dst.exists():
        return None
    manifest = read_manifest(beside(dst, "manifest.json"))
    if manifest is None:
        raise ParameterError(
            f"{dst} exists and has no manifest beside it: pass overwrite (--overwrite) to replace "
            "it, or choose another name."
        )
    refuse_other(dst, manifest, request, "was made")
    if manifest.get("output", {}).get("bytes") != dst.stat().st_size:
        raise ParameterError(f"{dst} was changed after it was made: pass overwrite (--overwrite).")
    _remove_leftovers(beside(dst, "primal-part"))
    return manifest


def refuse_other(dst: Path, manifest: dict[str, Any], request: dict[str, Any], verb: str) -> None:
    """Raise ParameterError if a manifest answers another request, and say what differs."""
    there = manifest.get("request")
    if there == request:
        return
    old = there if isinstance(there, dict) else {}
    differing = [name for name in request if old.get(name) != request[name]]
    told = "; ".join(
        "the input files changed"
        if name == "inputs"
        else f"{name} = {old.get(name)!r} there, {request[name]!r} asked"
        for name in differing
    )
    raise ParameterError(
        f"{dst} {verb} with other settings ({told}): choose another name, or pass overwrite "
        "(--overwrite)."
    )


def refuse_foreign(dst: Path) -> None:
    """Raise ParameterError if a name beside the output is somebody else's file."""
    rejected, manifest = beside(dst, "rejected.csv"), beside(dst, "manifest.json")
    found = read_manifest(manifest) or {}
    for path, ours in ((rejected, is_rejected_list(rejected)), (manifest, "request" in found)):
        if os.path.lexists(path) and not ours:
            raise ParameterError(
                f"{path} is there and was not written for {dst.name}: choose another name, or pass "
                "overwrite (--overwrite)."
            )


def is_rejected_list(path: Path) -> bool:
    """Whether a file lists rejected rows."""
    try:
        with open_regular(path) as opened:
            return opened.read(len(REJECTED_HEADER)) == REJECTED_HEADER
    except (OSError, DataError):
        return False


def write_whole(
    path: Path, values: dict[str, Any], before: Callable[[], None] | None = None
) -> None:
    """Write values to a file that has either all of them or is as it was.

    `before` is called when they are on the disk and before the file has its name.
    """
    with written_whole(path, durable=False) as stream:
        stream.write(json.dumps(values, indent=1).encode() + b"\n")
        if before is not None:
            stream.flush()
            os.fsync(stream.fileno())
            before()


def remove_workspace(folder: Path) -> None:
    """Remove the files of a run, and their folder if nothing else is in it."""
    parts = [path.name for path in folder.glob(".primal-*.part")]  # of a run that was killed
    for name in (*parts, *WORKSPACE_FILES):
        with contextlib.suppress(OSError):
            (folder / name).unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _remove_leftovers(folder: Path) -> None:
    """Remove the folder of a run that ended after its output was in place, if none is at work."""
    with contextlib.suppress(OSError), (folder / "journal").open("r+b") as journal:
        if locked(journal):
            remove_workspace(folder)


def locked(journal: BinaryIO) -> bool:
    """Take the lock of a run, which goes with the file; False if another process has it."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return True
    try:
        fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network disks know no locks
        return True
    return True
