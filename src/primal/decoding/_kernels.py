"""Loops of the lattice decoder: what they compute, in Python; the C core repeats it bit for bit.

[1] A. K. Lenstra, H. W. Lenstra, L. Lovasz, Math. Ann. 261 (1982) 515-534: LLL.
[2] L. Babai, Combinatorica 6 (1986) 1-13: the nearest plane.
[3] C. P. Schnorr, M. Euchner, Math. Programming 66 (1994) 181-199: deep insertions, and the order
    in which a search tries whole numbers.
[4] U. Fincke, M. Pohst, Math. Comp. 44 (1985) 463-471: all short vectors.
[5] P. J. G. Teunissen, J. Geodesy 70 (1995) 65-82: LAMBDA.
[6] X.-W. Chang, X. Yang, T. Zhou, J. Geodesy 79 (2005) 552-565: MLAMBDA.

`factor` is L of the basis B = U M = L Q, Q orthonormal: the vectors of [1] have the lengths
|b*_i| = L_ii and the coefficients mu_ij = L_ij / L_jj. Of [5] and [6], U is Z^T, L L^T is the
covariance Z^T Q Z of the decorrelated ambiguities, and L_ii the deviation of z_i given z_1 ...
z_(i-1); their conditioning runs the other way.

All integer arithmetic is int64 and wraps. That is what makes it exact: the results that are
used are small, and wrapping sums are right modulo 2**64 whatever happened on the way.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from primal.decoding import _compiled
from primal.exact import compiled_core


def _kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let the C core compute a function; without the core Python is hundreds of times slower."""
    compiled = getattr(_compiled, function.__name__, None)
    if compiled is None:
        return function

    @wraps(function)
    def call(*arguments: Any) -> Any:
        core = compiled_core()
        return function(*arguments) if core is None else compiled(core, *arguments)

    return call


def _subtract(factor, u, v, k, j, q):
    """b_k <- b_k - q b_j [1], with v kept the inverse transpose of u."""
    for c in range(j + 1):
        factor[k, c] -= q * factor[j, c]
    whole = np.int64(q)
    for c in range(u.shape[0]):
        u[k, c] -= whole * u[j, c]
        v[j, c] += whole * v[k, c]


def _insert(factor, u, v, k, i):
    """Insert b_k before b_i, i <= k [3]; rotations of columns make L triangular again."""
    m = factor.shape[0]
    for r in range(k, i, -1):
        for c in range(m):
            factor[r, c], factor[r - 1, c] = factor[r - 1, c], factor[r, c]
            u[r, c], u[r - 1, c] = u[r - 1, c], u[r, c]
            v[r, c], v[r - 1, c] = v[r - 1, c], v[r, c]
    for j in range(k, i, -1):
        a, b = factor[i, j - 1], factor[i, j]
        h = math.sqrt(a * a + b * b)
        cosine, sine = a / h, b / h
        # The sign of the second column is free: it keeps the diagonal positive.
        sign = -1.0 if sine > 0.0 else 1.0
        factor[i, j - 1], factor[i, j] = h, 0.0
        for r in range(j, m):
            a, b = factor[r, j - 1], factor[r, j]
            factor[r, j - 1] = cosine * a + sine * b
            factor[r, j] = sign * (cosine * b - sine * a)


@_kernel
def reduce_rows(factor, u, v, delta, window, most_steps):
    """Reduce L, U and V = U^-T in place: |mu_kj| <= 1/2, and Lovasz's condition [1, 3].

    `factor` (m, m) has a positive diagonal; its row i is lattice vector i in some orthonormal
    frame. `u` and `v` (m, m), int64, are the unimodular transform so far and its inverse transpose
    modulo 2**64; `delta` is Lovasz's parameter, below 1. A row may move up `window` places at once:
    1 is LLL [1], more are the deep insertions of [3], which give shorter rows and take longer.
    Returns the number of row operations; 0 means that the rows were reduced already.
    """
    m = factor.shape[0]
    changes = 0
    steps = 0
    k = 1
    while k < m and steps < most_steps:
        for j in range(k - 1, -1, -1):
            ratio = factor[k, j] / factor[j, j]
            # A little more than half: at exactly half, rounding would flip it for ever.
            if abs(ratio) > 0.501:
                _subtract(factor, u, v, k, j, np.rint(ratio))
                changes += 1
            if window == 1 and j == k - 1:
                a, b = factor[k, j], factor[k, k]
                if a * a + b * b < delta * factor[j, j] * factor[j, j]:
                    break  # exchanged below: no need to reduce it any further now
        first = max(0, k - window)
        length = 0.0
        for c in range(first, k + 1):
            length += factor[k, c] * factor[k, c]
        place = k
        for i in range(first, k):
            if length < delta * factor[i, i] * factor[i, i]:
                place = i
                break
            length -= factor[k, i] * factor[k, i]
        if place < k:
            _insert(factor, u, v, k, place)
            changes += 1
            steps += 1
            k = max(place, 1)
        else:
            k += 1
    return changes


@_kernel
def nearest_plane(factor, target, n_children, whole, costs):
    """Round every row of reduced phases to whole turns, keeping the cheapest few on the way.

    The diagonal of `factor` (m, m) holds conditional standard deviations in turns, `target` (n, m)
    the reduced phases. For each kept start `n_children` whole numbers are tried, the nearest and
    those around it. `whole` (n, n_kept, m), int64, receives the turns to add, cheapest first, and
    `costs` (n, n_kept) squared distances in standard deviations, infinite where fewer were found.
    One kept and one child is Babai's nearest plane [2], the bootstrapping of [5].
    """
    n, n_kept, m = whole.shape
    steps = np.zeros((n_kept, m))
    new_steps = np.zeros((n_kept, m))
    new_whole = np.zeros((n_kept, m), dtype=np.int64)
    child_costs = np.empty(n_kept * n_children)
    child_whole = np.empty(n_kept * n_children)
    child_steps = np.empty(n_kept * n_children)
    found = np.empty(n_kept * n_children, dtype=np.int64)
    found_costs = np.empty(n_kept * n_children)
    for r in range(n):
        n_alive = 1
        costs[r, :] = np.inf
        costs[r, 0] = 0.0
        for i in range(m):
            for a in range(n_alive):
                mean = 0.0
                for j in range(i):
                    mean += factor[i, j] * steps[a, j]
                away = mean - target[r, i]
                nearest = np.rint(away)
                for c in range(n_children):
                    offset = c - n_children // 2
                    step = (nearest + offset - away) / factor[i, i]
                    child = a * n_children + c
                    child_whole[child] = nearest + offset
                    child_steps[child] = step
                    child_costs[child] = costs[r, a] + step * step
            if n_alive * n_children == 1:
                whole[r, 0, i] = np.int64(child_whole[0])
                steps[0, i] = child_steps[0]
                costs[r, 0] = child_costs[0]
                continue
            # As many as are kept cost no more than the dearest of all nearest children.
            most = np.inf
            if n_alive == n_kept:
                most = child_costs[n_children // 2 : n_alive * n_children : n_children].max()
            n_found = 0
            for child in range(n_alive * n_children):
                if child_costs[child] <= most:
                    found[n_found] = child
                    found_costs[n_found] = child_costs[child]
                    n_found += 1
            order = np.argsort(found_costs[:n_found], kind="stable")
            n_next = min(n_found, n_kept)
            for b in range(n_next):
                child = found[order[b]]
                a = child // n_children
                for j in range(i):
                    new_steps[b, j] = steps[a, j]
                    new_whole[b, j] = whole[r, a, j]
                new_steps[b, i] = child_steps[child]
                new_whole[b, i] = np.int64(child_whole[child])
            for b in range(n_next):
                costs[r, b] = found_costs[order[b]]
                for j in range(i + 1):
                    steps[b, j] = new_steps[b, j]
                    whole[r, b, j] = new_whole[b, j]
            n_alive = n_next


def row_products(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return rows (n, k) @ matrix (k, r) with every sum from its first term to its last.

    Both are float64, or int64, which wraps. The sums of a BLAS library depend on the number of
    rows. These do not: a row has the same bits alone and in any batch, compiled or not.
    """
    products = np.zeros((len(rows), matrix.shape[1]), dtype=rows.dtype)
    core = compiled_core()
    if core is not None:
        _compiled.add_products(core, rows, matrix, products)
    else:
        for column, factors in zip(rows.T, matrix, strict=True):
            products += column[:, None] * factors
    return products


@_kernel
def closest_points(factor, target, radius, most_nodes, whole, costs):
    """Search every row of reduced phases for the whole turns nearest to it [3, 6].

    As :func:`nearest_plane`, but depth first and exact: `whole` (n, n_kept, m) receives all turns
    with a squared distance below `radius` (n,), the nearest `n_kept` of them, and `costs`
    (n, n_kept) their distances. Both hold what is known beforehand, nearest first: the more, the
    less is searched; costs are infinite where nothing is. Returns which rows were finished within
    `most_nodes` steps.
    """
    n, n_kept, m = whole.shape
    finished = np.ones(n, dtype=np.bool_)
    away, trial, side = np.empty(m), np.empty(m), np.empty(m)
    step, before = np.empty(m), np.zeros(m + 1)
    for r in range(n):
        bound = min(radius[r], costs[r, n_kept - 1])
        i = 0
        n_nodes = 0
        entering = True
        while True:
            if entering:
                mean = 0.0
                for j in range(i):
                    mean += factor[i, j] * step[j]
                away[i] = mean - target[r, i]
                trial[i] = np.rint(away[i])
                side[i] = 1.0 if away[i] > trial[i] else -1.0
            step[i] = (trial[i] - away[i]) / factor[i, i]
            cost = before[i] + step[i] * step[i]
            n_nodes += 1
            if n_nodes > most_nodes:
                finished[r] = False
                break
            if cost >= bound:
                # Trials move away from the nearest, so none after this one is better.
                if i == 0:
                    break
                i -= 1
            elif i < m - 1:
                before[i + 1] = cost
                i += 1
                entering = True
                continue
            else:
                known = False
                for place in range(n_kept):
                    known |= costs[r, place] < np.inf and (whole[r, place] == trial).all()
                if not known:
                    place = n_kept - 1
                    while place > 0 and costs[r, place - 1] > cost:
                        costs[r, place] = costs[r, place - 1]
                        whole[r, place] = whole[r, place - 1]
                        place -= 1
                    costs[r, place] = cost
                    for j in range(m):
                        whole[r, place, j] = np.int64(trial[j])
                    bound = min(bound, costs[r, n_kept - 1])
            entering = False
            trial[i] += side[i]
            side[i] = -side[i] - (1.0 if side[i] > 0.0 else -1.0)
    return finished


@_kernel
def short_vectors(factor, radius, most_nodes, listed):
    """Write all whole numbers of which the squared length is below `radius`; return how many.

    `listed` (n, m), int64, receives them [4]; lengths are those of
    :func:`closest_points` for a target of zeros. -1 if there are more than n, or it takes more than
    `most_nodes` steps.
    """
    n, m = listed.shape
    step, trial, last = np.zeros(m), np.zeros(m), np.zeros(m)
    before = np.zeros(m + 1)
    n_found, n_nodes, i = 0, 0, 0
    entering = True
    while i >= 0:
        n_nodes += 1
        if n_nodes > most_nodes:
            return -1
        mean = 0.0
        for j in range(i):
            mean += factor[i, j] * step[j]
        if entering:
            reach = factor[i, i] * math.sqrt(max(0.0, radius - before[i]))
            trial[i], last[i] = math.ceil(mean - reach), math.floor(mean + reach)
        else:
            trial[i] += 1.0
        if trial[i] > last[i]:
            i -= 1
            entering = False
            continue
        step[i] = (trial[i] - mean) / factor[i, i]
        before[i + 1] = before[i] + step[i] * step[i]
        entering = i < m - 1
        if entering:
            i += 1
            continue
        if n_found == n:
            return -1
        for j in range(m):
            listed[n_found, j] = np.int64(trial[j])
        n_found += 1
    return n_found
