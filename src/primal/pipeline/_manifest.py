"""What lies beside an output and says how it was made, and whether that answers a request."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any, BinaryIO

from primal._errors import OptionError

__all__ = [
    "beside",
    "finished_manifest",
    "locked",
    "read_manifest",
    "refuse_other",
    "write_whole",
]


def beside(dst: Path, what: str) -> Path:
    """Return the path of a file that belongs to an output: ``DST.what``."""
    return dst.with_name(f"{dst.name}.{what}")


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Return the manifest in a file, None where there is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def finished_manifest(dst: Path, request: dict[str, Any], overwrite: bool) -> dict[str, Any] | None:
    """Return the manifest of an output that is already there and answers the same request.

    Raises
    ------
    OptionError
        If something else is there, unless `overwrite`; or a folder.
    """
    if dst.is_dir():
        raise OptionError(f"{dst} is a folder: choose another name.")
    if overwrite or not dst.exists():
        return None
    manifest = read_manifest(beside(dst, "manifest.json"))
    if manifest is None:
        raise OptionError(
            f"{dst} exists and has no manifest beside it: pass overwrite (--overwrite) to replace "
            "it, or choose another name."
        )
    refuse_other(dst, manifest, request, "was made")
    if manifest.get("output", {}).get("bytes") != dst.stat().st_size:
        raise OptionError(f"{dst} was changed after it was made: pass overwrite (--overwrite).")
    _remove_leftovers(beside(dst, "primal-part"))
    return manifest


def refuse_other(dst: Path, manifest: dict[str, Any], request: dict[str, Any], verb: str) -> None:
    """Raise OptionError if a manifest answers another request, and say what differs."""
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
    raise OptionError(
        f"{dst} {verb} with other settings ({told}): choose another name, or pass overwrite "
        "(--overwrite)."
    )


def write_whole(path: Path, values: dict[str, Any]) -> None:
    """Write values to a file that has either all of them or is as it was."""
    partial = beside(path, "partial")
    partial.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)


def _remove_leftovers(folder: Path) -> None:
    """Remove the folder of a run that ended after its output was in place, if none is at work."""
    with contextlib.suppress(OSError), (folder / "journal").open("r+b") as journal:
        if locked(journal):
            shutil.rmtree(folder, ignore_errors=True)


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
