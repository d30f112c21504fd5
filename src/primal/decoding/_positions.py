"""A position out of a noisy code without trying all of them.

The phases of position t are t * increment modulo one turn: one whole-number input with many
phases. The lattice of :mod:`primal.decoding._lattice` finds t for any n, in time that grows
with log n. Everything is exact in 64-bit integers; no noise needs to be stated, because the
lattice is made for the largest one at which it works.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from primal._errors import NotInvertibleError
from primal.decoding._lattice import Lattice, Reduced, log_success
from primal.decoding._model import promised_success
from primal.decoding._noise import wrapped
from primal.decoding._priors import short_float
from primal.decoding._reduce import reduce_best
from primal.engines._threads import over_rows

__all__ = ["PositionDecoder", "log2_chance_fits", "position_decoder"]

# A position is named when fewer wrong ones than this are expected to fit as well.
_LARGEST_LOG2_DOUBT = -10.0
_MOST_ROWS = 48
_BEAM = 16
_CHILDREN = 3
# float32 waves have phases this good, and none better is asked for.
_LEAST_NOISE_TURNS = 1e-8
_MOST_NOISE_TURNS = 0.15
_LEAST_ROWS_PER_THREAD = 64


class PositionDecoder:
    """Phases to positions in [0, n), for the increments of one map.

    Parameters
    ----------
    increments : ndarray of shape (k,), dtype=uint64
        Units of 2**-64 turn.
    n : int

    Raises
    ------
    NotInvertibleError
        If not even a float32 code without further noise could be told from all others.
    """

    def __init__(self, increments: np.ndarray, n: int) -> None:
        self._increments, self._n = increments, n
        k = len(increments)
        clean = 2.0 * (math.pi * _LEAST_NOISE_TURNS) ** 2
        doubt = math.log2(n) + float(log2_chance_fits(k, np.array(clean)))
        if doubt >= _LARGEST_LOG2_DOUBT:
            needed = math.ceil((math.log2(n) - _LARGEST_LOG2_DOUBT) / (-doubt + math.log2(n)) * k)
            raise NotInvertibleError(
                f"{k} phases cannot tell {n} positions apart with certainty: use D = {2 * needed} "
                "or more, or a smaller n."
            )
        self._centre = n // 2
        self._n_rows = min(k, _MOST_ROWS)
        self._reduced = self._reduce()
        self._u_float = self._reduced.u.T.astype(np.float64)

    def __call__(self, phases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and whether each is certain.

        Parameters
        ----------
        phases : ndarray of shape (n, k), dtype=float64
            In turns.

        Returns
        -------
        t : ndarray of shape (n,), dtype=int64
            The best position found, somewhere in [0, n).
        certain : ndarray of shape (n,), dtype=bool
            Whether fewer than 2**-10 wrong positions are expected to fit as well.
        """
        t = np.empty(len(phases), dtype=np.int64)
        loss = np.empty(len(phases))

        def work(first: int, last: int) -> None:
            t[first:last], loss[first:last] = self._best(phases[first:last])

        over_rows(len(phases), _LEAST_ROWS_PER_THREAD, work)
        doubt = math.log2(self._n) + log2_chance_fits(len(self._increments), loss)
        return t, doubt < _LARGEST_LOG2_DOUBT

    def _best(self, phases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from primal.decoding._kernels import nearest_plane

        rows, m = len(phases), len(self._u_float)
        centred = wrapped(phases - self._phases_at(np.full(rows, self._centre)))
        target = centred[:, : self._n_rows] @ self._u_float[1:]
        whole, costs = np.empty((rows, _BEAM, m), dtype=np.int64), np.empty((rows, _BEAM))
        nearest_plane(self._reduced.factor, target, _CHILDREN, whole, costs)
        whole[~np.isfinite(costs)] = 0
        # Only the first of the whole numbers is wanted: the steps away from the centre.
        t = self._centre + whole @ self._reduced.v[:, 0]
        t = np.clip(t, 0, self._n - 1)
        losses = np.empty(t.shape)
        for c in range(_BEAM):
            off = phases - self._phases_at(t[:, c])
            losses[:, c] = (2.0 * np.square(np.sin(np.pi * off))).mean(axis=1)
        best = losses.argmin(axis=1)[:, None]
        return np.take_along_axis(t, best, 1)[:, 0], np.take_along_axis(losses, best, 1)[:, 0]

    def _phases_at(self, t: np.ndarray) -> np.ndarray:
        turns = t.astype(np.uint64)[:, None] * self._increments  # wraps: that is the phase
        return np.ldexp(turns.view(np.int64).astype(np.float64), -64)

    def _reduce(self) -> Reduced:
        """Return the reduced lattice for the largest noise that promises success."""
        std = float(short_float(np.array(self._n / math.sqrt(12.0))))
        m = self._n_rows
        high, low = math.log(_MOST_NOISE_TURNS), math.log(_LEAST_NOISE_TURNS)
        for _ in range(40):
            middle = (high + low) / 2.0
            logs = np.array([math.log(std), *[middle] * m])
            high, low = (high, middle) if promised_success(logs) > -1e-4 else (middle, low)
        noise = np.full(m + 1, math.exp(low))
        noise[0] = 0.0
        numerator, denominator = std.as_integer_ratio()
        signed = [int(v) for v in self._increments[:m].view(np.int64)]
        steps = np.array([1 << 64, *signed], dtype=object)[:, None] * numerator
        log2_unit = -64 - (denominator.bit_length() - 1)
        return reduce_best(Lattice.from_integers(noise, steps, log2_unit))

    @property
    def success_probability(self) -> float:
        """Chance of the first try, at the largest noise that the lattice is made for."""
        return math.exp(log_success(np.diag(self._reduced.factor)))


@lru_cache(maxsize=16)
def position_decoder(increments: bytes, n: int) -> PositionDecoder:
    """Return the decoder for increments given as bytes; the last few are kept."""
    return PositionDecoder(np.frombuffer(increments, dtype=np.uint64), n)


def log2_chance_fits(k: int, loss: np.ndarray) -> np.ndarray:
    """Return log2 of a bound on the chance that k unrelated phases fit a code as well.

    Parameters
    ----------
    loss : ndarray
        1 minus the mean cosine of the phase differences.

    Notes
    -----
    Chernoff: a uniform phase has E exp(s cos) = I0(s), so a mean cosine of 1 - loss or more has
    a chance of at most (I0(s) exp(-s (1 - loss)))**k, for the best of many s.
    """
    s = np.geomspace(1e-3, 1e18, 400)
    # log(I0(s) exp(-s)); for large s from its asymptotic series, rounded up.
    small = np.minimum(s, 500.0)
    scaled = np.where(
        s < 500.0,
        np.log(np.i0(small)) - small,
        -0.5 * np.log(2.0 * np.pi * s) + np.log1p(1.0 / (7.0 * s)),
    )
    bounds = scaled + s * np.asarray(loss)[..., None]
    return k * np.minimum(0.0, bounds.min(axis=-1)) / math.log(2.0)
