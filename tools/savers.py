"""Everything that this library saves, in versions that can be told apart; for the other tools.

A version is a small whole number. `write` saves it into a folder, `read` returns the number that
was loaded after comparing every value with what that version has, and `n_files` says how many
files a folder holds when nothing was left behind.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

os.environ["PRIMAL_ENGINE"] = "numpy"  # no compiled code to load in every process

import numpy as np

import primal
from primal import hdc
from primal.cli._codebook import write as write_codebook
from primal.codebooks import codebook

__all__ = ["SAVERS", "Saver"]

_SPACE = hdc.Space(512, roles=("position", "item"))


@dataclass(frozen=True)
class Saver:
    name: str
    write: Callable[[Path, int], None]
    read: Callable[[Path], int]
    n_files: int


@cache
def _items(version: int) -> hdc.ItemMemory:
    return hdc.ItemMemory(_SPACE.numbers("item"), range(version, version + 200))


def _write_items(folder: Path, version: int) -> None:
    _items(version).save(folder / "memory")


def _read_items(folder: Path) -> int:
    found = hdc.ItemMemory.load(folder / "memory")
    version = found.items[0]
    assert found.items == _items(version).items
    assert (found.codes == _items(version).codes).all()
    return version


def _write_pairs(folder: Path, version: int) -> None:
    memory = hdc.KeyValueMemory(_SPACE)
    memory.n_pairs, memory._state = version, np.full((512, 512), version, dtype=np.float32)
    memory.save(folder / "memory")


def _read_pairs(folder: Path) -> int:
    found = hdc.KeyValueMemory.load(folder / "memory")
    assert (found.state == found.n_pairs).all()
    return found.n_pairs


@cache
def _book(version: int) -> tuple[primal.codebooks.Codebook, np.ndarray]:
    made = primal.from_spec(codebook(3000, 32, kind="static").spec | {"start": version})
    return made, made[:]


def _write_codes(folder: Path, version: int) -> None:
    write_codebook(_book(version)[0], {}, folder / "codes.npy")


def _read_codes(folder: Path) -> int:
    found = np.load(folder / "codes.npy")
    return next(v for v in range(1000) if np.array_equal(found, _book(v)[1]))


def _write_certificate(folder: Path, version: int) -> None:
    summary = {"version": version, "filling": [version] * 5000}
    write_codebook(_book(0)[0], summary, folder / "codes.json")


def _read_certificate(folder: Path) -> int:
    found = json.loads((folder / "codes.json").read_text())
    assert found["filling"] == [found["version"]] * 5000
    return found["version"]


SAVERS = (
    Saver("items", _write_items, _read_items, 1),
    Saver("key-value", _write_pairs, _read_pairs, 1),
    Saver("codebook.npy", _write_codes, _read_codes, 1),
    Saver("codebook.json", _write_certificate, _read_certificate, 1),
)
