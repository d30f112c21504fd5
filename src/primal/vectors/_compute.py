"""The steps that take time: by the C core where it is installed, else by the definition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from primal.exact import engine
from primal.native import Core, address, core
from primal.vectors._definition import Rotated, Rotation, coded, levels_of, rotated, scores

Arrays = tuple[np.ndarray, ...]
_METRICS = ("l2", "cosine", "ip")
# The C core reads whole vectors of so many entries, and queries in groups.
_PADDING, _GROUP = 64, 4
_CHUNK_ENTRIES = 1 << 20


class Query(NamedTuple):
    """Rotated queries: words (n, D); the same for the C core; twice their unit; offsets."""

    words: np.ndarray
    packed: np.ndarray
    twice: np.ndarray
    offsets: np.ndarray


def rotate(x: np.ndarray, turn: Rotation, center: np.ndarray | None, metric: str) -> Rotated:
    """Return the rotated rows of float64 rows."""
    native = _native()
    if native is None:
        return rotated(x, turn, center, metric)
    n, x = len(x), np.ascontiguousarray(x)
    y, exponents = np.empty((n, turn.D), dtype=np.int32), np.empty(n, dtype=np.int32)
    rows = Rotated(y, exponents, np.empty(n, dtype=np.int64), np.empty(n))
    mean, place = center if center is None else address(center), _METRICS.index(metric)
    shape, signs = (n, turn.d, turn.m, turn.r), address(turn.signs)
    native("vectors_rotate", address(x), *shape, signs, mean, place, *map(address, rows))
    return rows


def code(rows: Rotated, bits: int, gain: float) -> Arrays:
    """Return the codes of rotated rows and their factors."""
    native = _native()
    if native is None:
        return coded(rows, bits, gain)
    n, D = rows.y.shape
    found = np.empty((n, D * bits // 8), dtype=np.uint8), np.empty(n, dtype=np.float32)
    native("vectors_code", *map(address, rows[:3]), n, D, gain, bits, *map(address, found))
    return found


def packed(words: np.ndarray, bits: int) -> np.ndarray:
    """Return queries in the order in which the C core reads codes; zeros fill up."""
    groups, columns = 8 // bits, words.shape[1] * bits // 8
    shape = (-len(words) // _GROUP * -_GROUP, groups, -columns // _PADDING * -_PADDING)
    ordered = np.zeros(shape, dtype=np.int16 if bits == 8 else np.int8)
    ordered[: len(words), :, :columns] = words.reshape(-1, columns, groups).transpose(0, 2, 1)
    return ordered


def nearest(query: Query, rows: Arrays, bits: int, k: int) -> Arrays:
    """Return scores and numbers of the k nearest rows of each query, in any order.

    `rows` are codes, factors and offsets.
    """
    n, k, n_queries, native = len(rows[0]), min(k, len(rows[0])), len(query.words), _native()
    if native is not None:
        found = np.full((n_queries, k), np.inf), np.full((n_queries, k), -1)
        queries = address(query.packed), address(query.twice), n_queries, query.packed.shape[2]
        codes, shape = map(address, rows), (n, rows[0].shape[1], bits)
        native("vectors_nearest", *codes, *shape, *queries, k, *map(address, found))
        return found
    found, step = (np.empty((n_queries, 0)),) * 2, max(1, _CHUNK_ENTRIES // query.words.shape[1])
    for first in range(0, n, step):
        codes, factors, offsets = (array[first : first + step] for array in rows)
        values = scores(levels_of(codes, bits), factors, offsets, query.words, query.twice)
        numbers = np.broadcast_to(np.arange(first, first + len(codes)), values.shape)
        found = best([found, (values, numbers)], k)
    return found


def best(found: list[Arrays], k: int) -> Arrays:
    """Return the k smallest scores of each query and their rows, the first ones among equals."""
    values, rows = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    order = np.lexsort((rows, values), axis=1)[:, :k]
    rows = np.take_along_axis(rows, order, axis=1).astype(np.int64)
    return np.take_along_axis(values, order, axis=1), rows


def _native() -> Core | None:
    return core() if engine().name == "native" else None
