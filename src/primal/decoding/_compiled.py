"""The loops of ``_kernels`` by the C core: the same arguments, and bit-identical results."""

import ctypes

import numpy as np

from primal.native import address


def reduce_rows(core, factor, u, v, delta, window, most_steps):
    changes = ctypes.c_int64()
    sizes = len(factor), delta, window, most_steps
    core("reduce_rows", *map(_written, (factor, u, v)), *sizes, ctypes.byref(changes))
    return changes.value


def nearest_plane(core, factor, target, n_children, whole, costs):
    factor, target = map(np.ascontiguousarray, (factor, target))
    n, n_kept, m = whole.shape
    read, written = map(address, (factor, target)), map(_written, (whole, costs))
    core("nearest_plane", *read, n, m, n_kept, n_children, *written)


def closest_points(core, factor, target, radius, most_nodes, whole, costs):
    factor, target, radius = map(np.ascontiguousarray, (factor, target, radius))
    n, n_kept, m = whole.shape
    finished = np.empty(n, dtype=np.bool_)
    read, written = map(address, (factor, target, radius)), map(_written, (whole, costs, finished))
    core("closest_points", *read, n, m, n_kept, most_nodes, *written)
    return finished


def short_vectors(core, factor, radius, most_nodes, listed):
    factor, n_found = np.ascontiguousarray(factor), ctypes.c_int64()
    sizes = radius, most_nodes, *listed.shape
    core("short_vectors", address(factor), *sizes, _written(listed), ctypes.byref(n_found))
    return n_found.value


def add_products(core, rows, matrix, products):
    rows, matrix = map(np.ascontiguousarray, (rows, matrix))
    name = "add_real_products" if rows.dtype == np.float64 else "add_word_products"
    core(name, address(rows), address(matrix), *rows.shape, matrix.shape[1], _written(products))


def _written(array):
    """Return the address of an array that C writes to."""
    assert array.flags.c_contiguous
    assert array.dtype.itemsize in (1, 8)
    return address(array)
