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
from primal.decoding import _cache
from primal.search import Index

__all__ = ["SAVERS", "Saver"]

_SPACE = hdc.Space(512, roles=("position", "item"))
_KEY = "0" * 64


@dataclass(frozen=True)
class Saver:
    name: str
    write: Callable[[Path, int], None]
    read: Callable[[Path], int]
    n_files: int


@cache
def _items(version: int) -> hdc.ItemMemory:
    return hdc.ItemMemory(_SPACE.integers("item"), range(version, version + 200))


def _write_items(folder: Path, version: int) -> None:
    _items(version).save(folder)


def _read_items(folder: Path) -> int:
    found = hdc.ItemMemory.load(folder)
    version = found.items[0]
    assert found.items == _items(version).items
    assert (found.codes == _items(version).codes).all()
    return version


def _write_pairs(folder: Path, version: int) -> None:
    memory = hdc.KeyValueMemory(_SPACE)
    memory.n_pairs, memory.state = version, np.full((512, 512), version, dtype=np.float32)
    memory.save(folder)


def _read_pairs(folder: Path) -> int:
    found = hdc.KeyValueMemory.load(folder)
    assert (found.state == found.n_pairs).all()
    return found.n_pairs


def _write_sequence(folder: Path, version: int) -> None:
    memory = hdc.SequenceMemory(_SPACE.integers("position"), _items(version))
    memory.extend(_items(version).items[:20]).save(folder)


def _read_sequence(folder: Path) -> int:
    found = hdc.SequenceMemory.load(folder)
    version = found.items.items[0]
    expected = hdc.SequenceMemory(_SPACE.integers("position"), _items(version))
    assert np.array_equal(found.state, expected.extend(_items(version).items[:20]).state)
    return version


@cache
def _index(version: int) -> Index:
    x = np.random.default_rng(version).normal(size=(2000 + version, 3))
    return Index.from_vectors(x, primal.DynamicPrime(3, 256, 0.2, basis="auto"))


def _write_index(folder: Path, version: int) -> None:
    _index(version).save(folder)


def _read_index(folder: Path) -> int:
    found = Index.load(folder, verify=True)
    version = len(found) - 2000
    for one, other in zip(found._rows.parts, _index(version)._rows.parts, strict=True):
        assert np.array_equal(one, other)
    return version


@cache
def _book(version: int) -> tuple[primal.codebooks.Codebook, np.ndarray]:
    made = codebook(3000, 32, kind="random-frequency", seed=version)
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


def _write_reduction(folder: Path, version: int) -> None:
    os.environ["PRIMAL_CACHE_DIR"] = str(folder)
    shear, inverse = np.eye(100, dtype=np.int64), np.eye(100, dtype=np.int64)
    shear[0, 1], inverse[1, 0] = version, -version
    _cache.store(_KEY, shear, inverse)


def _read_reduction(folder: Path) -> int:
    os.environ["PRIMAL_CACHE_DIR"] = str(folder)
    found = _cache.load(_KEY, 1, 200)
    assert found is not None
    return int(found[0][0, 1])


SAVERS = (
    Saver("items", _write_items, _read_items, 3),
    Saver("key-value", _write_pairs, _read_pairs, 2),
    Saver("sequence", _write_sequence, _read_sequence, 3),
    Saver("index", _write_index, _read_index, 2),
    Saver("codebook.npy", _write_codes, _read_codes, 1),
    Saver("codebook.json", _write_certificate, _read_certificate, 1),
    Saver("decoder cache", _write_reduction, _read_reduction, 1),
)
