"""Outcomes on disk: whole files or none, and a cache from which an interrupted run resumes.

A measurement depends on its code, so the name of an entry holds a hash of all the source code of
this package and the versions of what computes. An entry carries its own checksum; one that cannot
be read back counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import primal
from primal._files import open_regular, written_whole
from primal.errors import DataError
from primal_studies.paper._draws import SEED
from primal_studies.paper._experiment import Fact, Outcome

__all__ = [
    "Measured",
    "as_json",
    "load",
    "packages",
    "plain_outcome",
    "source_digest",
    "store",
    "write_whole",
]

_LARGEST_ENTRY = 1 << 28
# Whose version can change a measured number.
_PACKAGES = ("primal-features", "numpy", "scipy", "scikit-learn", "torch")


@dataclass(frozen=True)
class Measured:
    """An outcome, the seconds that measuring it took, and whether that was in an earlier run."""

    outcome: Outcome
    seconds: float
    kept: bool = False


def load(name: str, quick: bool, seed: int = SEED) -> Measured | None:
    """Return what the cache has for an experiment, or None."""
    path = _entry_path(name, quick, seed)
    if path is None:
        return None
    try:
        with open_regular(path) as stream:
            checksum, _, body = stream.read(_LARGEST_ENTRY).partition(b"\n")
        if checksum.decode() != hashlib.sha256(body).hexdigest():
            return None
        entry = json.loads(body)
        return Measured(_from_plain(entry["outcome"]), float(entry["seconds"]), kept=True)
    except Exception:  # a damaged entry can raise almost anything; measuring again is always right
        return None


def store(name: str, quick: bool, measured: Measured, seed: int = SEED) -> None:
    """Keep an outcome, and drop those of other versions; no error where nothing can be written."""
    path = _entry_path(name, quick, seed)
    if path is None:
        return
    entry = {"seconds": measured.seconds, "outcome": _to_plain(measured.outcome)}
    body = json.dumps(entry).encode()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        entry_name = re.compile(re.escape(_stem(name, quick, seed)) + r"\.[0-9a-f]{64}\.json")
        for other in path.parent.iterdir():
            if other != path and entry_name.fullmatch(other.name):
                other.unlink()


def write_whole(path: Path, content: bytes | str) -> None:
    """Write a file beside its place, then rename it: a file that is there is whole."""
    with written_whole(path, durable=False) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


def plain_outcome(outcome: Outcome) -> Outcome:
    """Return the outcome in plain Python values, exactly as the cache would give it back.

    Raises
    ------
    DataError
        If it holds something else than numbers, strings and booleans.
    """
    try:
        return _from_plain(json.loads(json.dumps(_to_plain(outcome), default=_plain_scalar)))
    except TypeError as error:
        raise DataError(f"an outcome holds plain values only: {error}.") from None


def as_json(value: object) -> str:
    """Return standard JSON; what is not finite becomes the string "nan", "inf" or "-inf"."""
    return json.dumps(_finite(value), indent=1, allow_nan=False) + "\n"


def packages() -> dict[str, str | None]:
    """Return the versions of what computes; None where it is not installed."""
    return {name: _version(name) for name in _PACKAGES}


@cache
def source_digest() -> str:
    """Return SHA-256 over the names and contents of all source files of library and studies."""
    digest = hashlib.sha256()
    for root in (Path(primal.__file__).parent, Path(__file__).parents[1]):
        for path in sorted(root.rglob("*.py")):
            content = path.read_bytes()
            name = path.relative_to(root.parent).as_posix()
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def cache_folder() -> Path | None:
    """Return the folder for outcomes, or None when ``PRIMAL_CACHE_DIR`` is set but empty.

    It is ``PRIMAL_CACHE_DIR``, else ``primal`` in ``XDG_CACHE_HOME``, else ``~/.cache/primal``.
    """
    chosen = os.environ.get("PRIMAL_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) / "reproduce" if chosen else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        root = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:  # no home folder
        return None
    return root / "primal" / "reproduce"


def _entry_path(name: str, quick: bool, seed: int) -> Path | None:
    folder = cache_folder()
    if folder is None:
        return None
    key = json.dumps([name, quick, seed, source_digest(), packages()], sort_keys=True)
    digest = hashlib.sha256(key.encode()).hexdigest()
    return folder / f"{_stem(name, quick, seed)}.{digest}.json"


def _stem(name: str, quick: bool, seed: int) -> str:
    drawn = "" if seed == SEED else f".seed{seed}"
    return f"{name}.{'quick' if quick else 'full'}{drawn}"


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _to_plain(outcome: Outcome) -> dict[str, Any]:
    return {
        "tables": {name: [dict(row) for row in rows] for name, rows in outcome.tables.items()},
        "facts": {name: asdict(fact) for name, fact in outcome.facts.items()},
    }


def _from_plain(plain: Mapping[str, Any]) -> Outcome:
    return Outcome(
        {name: tuple(dict(row) for row in rows) for name, rows in plain["tables"].items()},
        {name: Fact(**fact) for name, fact in plain["facts"].items()},
    )


def _plain_scalar(value: object) -> object:
    """Return a NumPy scalar as Python's own; json calls this for what it does not know."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()  # type: ignore[attr-defined]
    raise TypeError(f"got {value!r} of type {type(value).__name__}")


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return value
