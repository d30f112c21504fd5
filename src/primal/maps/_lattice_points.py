"""``lattice_points``: the shortest points of a lattice, from which quadrature nodes are made.

The integers plus a quarter, together with their negatives, are the lattice D_d* (all integers
and all integers plus a half), moved so that no point is its own negative. One of each pair is
a frequency: cosine and sine of it serve both. The sum over such a lattice repeats a kernel at the
points of D_d, the densest lattice for d = 3, 4 and 5, so that the copies lie as far apart as they
can.
"""

import math

import numpy as np


def lattice_points(steps: np.ndarray, k: int) -> np.ndarray:
    """Return the k shortest of the vectors with entries (m_j + 1/4) * steps[j], shortest first.

    Float64 of shape (k, d); equally long ones in the order of their m. Steps (d,) are positive.
    """
    d = len(steps)
    # A ball that should hold k points: a guess, which decides nothing but the work.
    ball = math.pi ** (d / 2.0) / math.gamma(d / 2.0 + 1.0)
    bound = max((k * float(np.prod(steps)) / ball) ** (2.0 / d), float((steps * steps).sum()) / 16)
    while True:
        points, squares = np.zeros((1, 0)), np.zeros(1)
        for step in steps.tolist():
            reach = math.isqrt(int(bound / (step * step))) + 2
            places = np.arange(-reach, reach + 1) + 0.25
            longer = squares[:, None] + (step * places) * (step * places)
            row, place = np.nonzero(longer <= bound)
            points = np.concatenate([points[row], places[place, None]], axis=1)
            squares = longer[row, place]
        if len(points) >= k:
            order = np.lexsort((*points.T[::-1], squares))[:k]
            return points[order] * steps
        bound *= 1.25
