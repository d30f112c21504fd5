"""A position out of a noisy code without trying all of them.

The phases of position t are t * increment modulo one turn: one whole-number input with many
phases. The lattice of :mod:`primal.decoding._lattice` finds t for any n, in time that grows
with log n. Everything is exact in 64-bit integers; no noise needs to be stated, because the
lattice is made for the largest one at which it works, and the fit shows how large it was.
"""

import math
from functools import lru_cache

import numpy as np

from primal._parallel import over_rows
from primal.decoding._lattice import Lattice, Reduced, reduce_lattice
from primal.decoding._model import promised_success
from primal.decoding._phases import wrapped
from primal.decoding._priors import short_float
from primal.errors import NotInvertibleError

# A position is certain when fewer wrong ones than this are expected to fit as well.
_LARGEST_LOG2_DOUBT = -18.0
_MOST_ROWS = 48
_BEAM = 16
_CHILDREN = 3
# Steps to positions with similar codes: how many the lattice looks for, and how many of the
# smallest are tried beside these.
_NEIGHBOR_BEAM = 64
_SMALL_STEPS = 8
# float32 waves have phases this good, and none better is asked for; the loss at this noise.
_LEAST_NOISE_TURNS = 1e-8
_LEAST_LOSS = 2.0 * (math.pi * _LEAST_NOISE_TURNS) ** 2
_MOST_NOISE_TURNS = 0.15
_LEAST_ROWS_PER_THREAD = 64


class PositionDecoder:
    """Phases to positions in [0, n), for the increments (k,) of one map, in units of 2**-64 turn.

    Rejects an n at which not even a float32 code without further noise stands out from all others.
    """

    def __init__(self, increments: np.ndarray, n: int) -> None:
        self._increments, self._n = increments, n
        k = len(increments)
        doubt = math.log2(n) + float(log2_chance_fits(k, np.array(_LEAST_LOSS)))
        if doubt >= _LARGEST_LOG2_DOUBT:
            needed = math.ceil((math.log2(n) - _LARGEST_LOG2_DOUBT) / (-doubt + math.log2(n)) * k)
            raise NotInvertibleError(
                f"{k} phases cannot tell {n} positions apart with certainty: use D = {2 * needed} "
                "or more, or a smaller n."
            )
        self._center = n // 2
        self._n_rows = min(k, _MOST_ROWS)
        self._reduced = self._reduce()
        self._steps, self._step_losses = self._neighbors()

    def find(self, phases: np.ndarray) -> np.ndarray:
        """Return the best position in [0, n) found for each row of phases (rows, k), in turns."""
        t = np.empty(len(phases), dtype=np.int64)

        def work(first: int, last: int) -> None:
            t[first:last] = self._best(phases[first:last])

        over_rows(len(phases), _LEAST_ROWS_PER_THREAD, work)
        return t

    def certain(self, phases: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return where fewer than 2**-18 other positions are expected to fit as well as t.

        Nearly all positions have codes that are unrelated to that of t; they fit by the chance
        of :func:`log2_chance_fits`. The codes of a few are similar, of all neighbors where
        sigma is small. Noise at the position of such a one, at a distance r from the code, falls
        into the ball around t that reaches to the code, of radius q, with a chance of about
        (q / r)**k / sqrt(pi k) at most, whatever its size. No neighbor may have one of 2**-18.
        """
        k = len(self._increments)
        loss = np.maximum(self._losses(phases, t), _LEAST_LOSS)
        certain = math.log2(self._n) + log2_chance_fits(k, loss) < _LARGEST_LOG2_DOUBT
        if len(self._steps) == 0:
            return certain
        # Losses are squared distances. What that of every neighbor must be:
        log2_ratio = -_LARGEST_LOG2_DOUBT - 0.5 * math.log2(math.pi * k)
        needed = loss * 2.0 ** (2.0 * log2_ratio / k)
        # The triangle inequality settles most rows: codes are at least so far from a neighbor's.
        least = np.maximum(0.0, math.sqrt(self._step_losses[0]) - np.sqrt(loss))
        rows = np.flatnonzero(certain & (np.square(least) < needed))
        for step in self._steps:
            for near in (t[rows] + step, t[rows] - step):
                inside = (near >= 0) & (near < self._n)
                rival = inside & (self._losses(phases[rows], near) < needed[rows])
                certain[rows[rival]] = False
            rows = rows[certain[rows]]
            if len(rows) == 0:
                break
        return certain

    def _best(self, phases: np.ndarray) -> np.ndarray:
        centered = wrapped(phases - self._phases_at(np.full(len(phases), self._center)))
        t = np.clip(self._center + self._nearest_steps(centered, _BEAM), 0, self._n - 1)
        losses = np.stack([self._losses(phases, t[:, c]) for c in range(_BEAM)], axis=1)
        return np.take_along_axis(t, losses.argmin(axis=1)[:, None], 1)[:, 0]

    def _nearest_steps(self, centered: np.ndarray, n_kept: int) -> np.ndarray:
        """Return steps from a position to those that fit phases less its own, (rows, n_kept)."""
        whole, _ = self._reduced.nearest(centered[:, : self._n_rows], n_kept, _CHILDREN)
        # Only the first of the whole numbers is wanted.
        return whole @ self._reduced.v[:, 0]

    def _neighbors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps to the positions of the most similar codes, and their losses."""
        k = len(self._increments)
        found = np.abs(self._nearest_steps(np.zeros((1, k)), _NEIGHBOR_BEAM)[0])
        steps = np.union1d(found, np.arange(1, _SMALL_STEPS + 1))
        steps = steps[(steps > 0) & (steps < self._n)]
        losses = self._losses(np.zeros((len(steps), k)), steps)
        order = np.argsort(losses, kind="stable")
        return steps[order], losses[order]

    def _losses(self, phases: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return 1 minus the mean cosine of the phases less those of positions t."""
        off = phases - self._phases_at(t)
        return (2.0 * np.square(np.sin(np.pi * off))).mean(axis=1)

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
        return reduce_lattice(Lattice(noise, steps, log2_unit))


@lru_cache(maxsize=16)
def position_decoder(increments: bytes, n: int) -> PositionDecoder:
    """Return the decoder for increments given as bytes; the last few are kept."""
    return PositionDecoder(np.frombuffer(increments, dtype=np.uint64), n)


def log2_chance_fits(k: int, loss: np.ndarray) -> np.ndarray:
    """Return log2 of a bound on the chance that k unrelated phases fit a code with this loss.

    Chernoff: a uniform phase has E exp(s cos) = I0(s), so a mean cosine of 1 - loss or more has
    a chance of at most (I0(s) exp(-s (1 - loss)))**k, for the best of many s.

    For a small loss a volume is closer. With u = 2 sin(phase / 2), the loss is the mean of u**2
    / 2, and u has the density 1 / (2 pi sqrt(1 - u**2 / 4)). Over the ball of all u that fit, the
    product of the roots is at least sqrt(1 - k loss / 2), so the chance is at most the volume
    of the ball / (2 pi)**k / sqrt(1 - k loss / 2).
    """
    loss = np.asarray(loss)
    s = np.geomspace(1e-3, 1e18, 400)
    # log(I0(s) exp(-s)); for large s from its asymptotic series, rounded up.
    small = np.minimum(s, 500.0)
    scaled = np.where(
        s < 500.0,
        np.log(np.i0(small)) - small,
        -0.5 * np.log(2.0 * np.pi * s) + np.log1p(1.0 / (7.0 * s)),
    )
    bounds = scaled + s * loss[..., None]
    log_chernoff = k * np.minimum(0.0, bounds.min(axis=-1))
    inside = np.minimum(k * loss / 2.0, 0.9)
    log_ball = k / 2.0 * np.log(inside / np.pi) - math.lgamma(k / 2.0 + 1.0)
    log_ball = np.where(k * loss / 2.0 < 0.9, log_ball - 0.5 * np.log1p(-inside), 0.0)
    return np.minimum(log_chernoff, log_ball) / math.log(2.0)
