"""The loops of ``_kernels`` by the C core: the same arguments, and bit-identical results."""

from __future__ import annotations

import ctypes

import numpy as np

from primal.native import Core, address


def reduce_rows(
    core: Core,
    factor: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    delta: float,
    window: int,
    most_steps: int,
) -> int:
    changes = ctypes.c_int64()
    arrays = _written(factor), _written(u), _written(v)
    sizes = len(factor), delta, window, most_steps
    core("reduce_rows", *arrays, *sizes, ctypes.byref(changes))
    return changes.value


def nearest_plane(
    core: Core,
    factor: np.ndarray,
    target: np.ndarray,
    n_children: int,
    whole: np.ndarray,
    costs: np.ndarray,
) -> None:
    factor, target = map(np.ascontiguousarray, (factor, target))
    n, n_kept, m = whole.shape
    sizes = n, m, n_kept, n_children
    core(
        "nearest_plane", address(factor), address(target), *sizes, _written(whole), _written(costs)
    )


def closest_points(
    core: Core,
    factor: np.ndarray,
    target: np.ndarray,
    radius: np.ndarray,
    most_nodes: int,
    whole: np.ndarray,
    costs: np.ndarray,
) -> np.ndarray:
    factor, target, radius = map(np.ascontiguousarray, (factor, target, radius))
    n, n_kept, m = whole.shape
    finished = np.empty(n, dtype=np.bool_)
    core(
        "closest_points",
        *map(address, (factor, target, radius)),
        *(n, m, n_kept, most_nodes),
        *map(_written, (whole, costs, finished)),
    )
    return finished


def short_vectors(
    core: Core, factor: np.ndarray, radius: float, most_nodes: int, listed: np.ndarray
) -> int:
    factor, n_found = np.ascontiguousarray(factor), ctypes.c_int64()
    sizes = radius, most_nodes, *listed.shape
    core("short_vectors", address(factor), *sizes, _written(listed), ctypes.byref(n_found))
    return n_found.value


def add_products(core: Core, rows: np.ndarray, matrix: np.ndarray, products: np.ndarray) -> None:
    rows, matrix = map(np.ascontiguousarray, (rows, matrix))
    name = "add_real_products" if rows.dtype == np.float64 else "add_word_products"
    core(name, address(rows), address(matrix), *rows.shape, matrix.shape[1], _written(products))


def _written(array: np.ndarray) -> int:
    """Return the address of an array that C writes to."""
    assert array.flags.c_contiguous
    assert array.dtype.itemsize in (1, 8)
    return address(array)
