"""The steps that take time, by the native core where it is installed, else by the definition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from primal.vectors import _definition
from primal.vectors._definition import Rotated, Rotation, levels_of
from primal.vectors._native import address, core

_METRICS = ("l2", "cosine", "ip")
_PADDING = 64  # the native core reads whole vectors of so many bytes
_GROUP = 4  # queries that the native core reads at once
_CHUNK_ENTRIES = 1 << 20


class Query(NamedTuple):
    """Rotated queries: words (n, D); the same for the native core; twice their unit; offsets."""

    words: np.ndarray
    packed: np.ndarray
    twice: np.ndarray
    offsets: np.ndarray


def rotate(x: np.ndarray, turn: Rotation, center: np.ndarray | None, metric: str) -> Rotated:
    """Return the rotated rows of float64 rows."""
    native = core()
    if native is None:
        return _definition.rotated(x, turn, center, metric)
    n, x = len(x), np.ascontiguousarray(x)
    rows = Rotated(
        np.empty((n, turn.D), dtype=np.int32),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty(n),
    )
    shape, signs = (n, turn.d, turn.m, turn.r), address(turn.signs)
    mean = None if center is None else address(center)
    outputs = map(address, rows)
    native("vectors_rotate", address(x), *shape, signs, mean, _METRICS.index(metric), *outputs)
    return rows


def code(rows: Rotated, bits: int, gain: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of rotated rows and their factors."""
    native = core()
    if native is None:
        return _definition.coded(rows, bits, gain)
    n, D = rows.y.shape
    codes, factors = np.empty((n, D * bits // 8), dtype=np.uint8), np.empty(n, dtype=np.float32)
    inputs, outputs = map(address, rows[:3]), (address(codes), address(factors))
    native("vectors_code", *inputs, n, D, gain, bits, *outputs)
    return codes, factors


def packed(words: np.ndarray, bits: int) -> np.ndarray:
    """Return queries in the order in which the native core reads codes; zeros fill up."""
    groups = 8 // bits if bits > 1 else 1
    columns = words.shape[1] // groups
    shape = (-len(words) // _GROUP * -_GROUP, groups, -columns // _PADDING * -_PADDING)
    ordered = np.zeros(shape, dtype=np.int16 if bits == 8 else np.int8)
    ordered[: len(words), :, :columns] = words.reshape(-1, columns, groups).transpose(0, 2, 1)
    return ordered


def nearest(
    query: Query, arrays: tuple[np.ndarray, ...], bits: int, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores and numbers of the k nearest rows of each query, in any order.

    `arrays` are the codes, factors and offsets of rows.
    """
    codes, factors, offsets = arrays
    n, n_queries = len(codes), len(query.words)
    k = min(k, n)
    native = core()
    if native is not None:
        scores, rows = np.full((n_queries, k), np.inf), np.full((n_queries, k), -1)
        inputs, padded = map(address, arrays), query.packed.shape[2]
        queries = address(query.packed), address(query.twice), n_queries, padded
        outputs = address(scores), address(rows)
        native("vectors_nearest", *inputs, n, codes.shape[1], bits, *queries, k, *outputs)
        return scores, rows
    scores, rows = np.empty((n_queries, 0)), np.empty((n_queries, 0), dtype=np.int64)
    step = max(1, _CHUNK_ENTRIES // query.words.shape[1])
    for first in range(0, n, step):
        part = slice(first, min(first + step, n))
        levels = levels_of(codes[part], bits)
        new = [
            _definition.scores(levels, factors[part], offsets[part], *one)
            for one in zip(query.words, query.twice, strict=True)
        ]
        numbers = np.broadcast_to(np.arange(part.start, part.stop), (n_queries, len(levels)))
        scores, rows = best([(scores, rows), (np.array(new), numbers)], k)
    return scores, rows


def best(found: list[tuple[np.ndarray, np.ndarray]], k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k smallest scores of each query and their rows, the first ones among equals."""
    scores, rows = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    order = np.lexsort((rows, scores), axis=1)[:, :k]
    return np.take_along_axis(scores, order, 1), np.take_along_axis(rows, order, 1)
