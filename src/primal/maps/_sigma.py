"""``choose_sigma``: the scale at which data stays within half a turn, or at which it does not."""

import math
from dataclasses import dataclass

import numpy as np

from primal._checks import even_dimension, one_of, positive_scale, real_matrix, real_number
from primal.decoding import measure_regime
from primal.errors import DataError, ParameterError
from primal.exact import Basis
from primal.maps._common import blocks
from primal.maps._gamma import spread_rows

# Rows whose nearest neighbor gives a direction in which inputs must be told apart.
_MOST_PAIRS = 256
# Where phases of neighbors differ by more than this (root mean square), cosines are chance: a
# Gaussian kernel is at 3e-9 after one turn, the slower ones of the paper's frequencies after four.
_MOST_TURNS = 4.0


@dataclass(frozen=True)
class SigmaCertificate:
    """A scale of the frequencies and the numbers that justify it: from :func:`choose_sigma`.

    Attributes
    ----------
    regime : {"manifold", "hash"}
        What was asked for.
    basis : Basis
        With the sigma that was found.
    peak_turns : float
        Largest phase of the data, in turns; below 0.5 none wraps.
    similarity : float or None
        Of "hash": largest cosine of the codes of two neighbors.
    n_pairs : int or None
        Of "hash": how many neighbors were compared.
    """

    regime: str
    basis: Basis
    peak_turns: float
    similarity: float | None = None
    n_pairs: int | None = None

    @property
    def sigma(self) -> float:
        """The scale of the frequencies."""
        return float(self.basis.sigma)  # type: ignore[arg-type]

    @property
    def margin_turns(self) -> float:
        """Half a turn less the largest phase; negative where phases wrap."""
        return 0.5 - self.peak_turns

    def __str__(self) -> str:
        text = f"sigma = {self.sigma:.6g}: {self.regime}, largest phase {self.peak_turns:.4g} turns"
        if self.similarity is None:
            return text
        return f"{text}, cosine of {self.n_pairs} pairs of neighbors at most {self.similarity:.4f}"


def choose_sigma(
    x: object,
    regime: str = "manifold",
    *,
    D: int,
    basis: str = "auto",
    margin: float = 0.05,
    distance: float | None = None,
    similarity: float = 0.5,
) -> SigmaCertificate:
    """Return the sigma that puts data into a regime, with the numbers that show it.

    Parameters
    ----------
    x : array_like of shape (n, d)
        Real and finite.
    regime : {"manifold", "hash"}, default="manifold"
        ``"manifold"``: the largest float64 at which every phase of x stays below 0.5 - `margin`
        turns, so that the linear inverse holds. ``"hash"``: the smallest at which two inputs
        that lie `distance` apart have codes with a cosine of at most `similarity`.
    D : int
        Number of outputs of the map, even.
    basis : str, default="auto"
        As in :class:`primal.DynamicPrime`.
    margin : float, default=0.05
        Turns kept free below half a turn, from 0 to 0.5: room for noise in the features and for
        inputs beyond the data, a tenth by default.
    distance : float
        Needed for ``"hash"`` and for nothing else: the Euclidean length of a step that must show.
        Steps are taken in the directions in which the nearest neighbors of up to 256 rows lie.
    similarity : float, default=0.5
        Of ``"hash"``, above -1 and below 1. Cosines of unrelated codes scatter by 1 / sqrt(D): ask
        for a few times that.

    Returns
    -------
    SigmaCertificate
        ``found.sigma``, and ``found.basis`` with that scale.

    Notes
    -----
    The cosine of the codes of x and x + t is f(sigma) = mean_i cos(2 pi sigma W_i . t), which
    need not fall steadily. Its second derivative is at most M = 4 pi**2 mean_i (W_i . t)**2 in
    size, so above sigma it lies over a parabola; stepping to where the parabola meets
    `similarity`, by the largest such step of all t, passes over no solution.

    Examples
    --------
    >>> import numpy as np, primal
    >>> x = np.array([[3.0, -1.0], [0.5, 12.0]])
    >>> found = primal.choose_sigma(x, D=4, basis="paper")
    >>> print(found)
    sigma = 0.0136915: manifold, largest phase 0.45 turns
    >>> m = primal.DynamicPrime(2, 4, found.sigma)
    >>> bool(np.abs(m.decode(m.encode(x)) - x).max() < 1e-4)
    True
    """
    regime = one_of("regime", regime, ("manifold", "hash"))
    rows = real_matrix("x", x)
    unit = Basis(basis, rows.shape[1], even_dimension(D) // 2)
    if regime == "manifold":
        if distance is not None:
            raise ParameterError(
                f"distance goes with regime='hash', got {distance!r} with 'manifold': leave it out."
            )
        # Just below 0, so that margin=0 is allowed.
        return _below_half_a_turn(
            rows, unit, 0.5 - real_number("margin", margin, above=-1e-300, below=0.5)
        )
    if distance is None:
        raise ParameterError(
            "regime='hash' needs distance=: how far apart two inputs are that must not look alike."
        )
    # In a power of two of its own: no square of a phase over- or underflows.
    fraction, exponent = math.frexp(positive_scale("distance", distance))
    steps = fraction * _neighbor_directions(rows)
    limit = real_number("similarity", similarity, above=-1.0, below=1.0)
    sigma, reached = _first_apart(unit.table.product(steps), limit)
    with np.errstate(over="ignore"):  # the basis says which scales it takes
        chosen = unit._with(sigma=float(np.ldexp(sigma, -exponent)))
    return SigmaCertificate("hash", chosen, _peak_turns(chosen, rows), reached, len(steps))


def _below_half_a_turn(rows: np.ndarray, unit: Basis, limit: float) -> SigmaCertificate:
    peak = _peak_turns(unit, rows)
    if not 0.0 < peak < math.inf:
        raise DataError(
            "every phase of x is zero at any sigma: pass rows that are not all zero."
            if peak == 0.0
            else f"phases of x overflow, its largest value is {np.abs(rows).max():.3g}: scale x."
        )
    sigma = limit / peak
    # Phases are rounded, so this is off by a few units in the last place: walk to the edge.
    while (reached := _peak_turns(unit._with(sigma=sigma), rows)) >= limit:
        sigma = math.nextafter(sigma, 0.0)
    while True:
        larger = math.nextafter(sigma, math.inf)
        if (peak := _peak_turns(unit._with(sigma=larger), rows)) >= limit:
            return SigmaCertificate("manifold", unit._with(sigma=sigma), reached)
        sigma, reached = larger, peak


def _peak_turns(basis: Basis, rows: np.ndarray) -> float:
    parts = (rows[block].astype(np.float64) for block in blocks(len(rows), basis.d))
    return measure_regime(basis, parts).peak_turns


def _neighbor_directions(rows: np.ndarray) -> np.ndarray:
    """Return unit vectors from up to 256 rows, spread evenly, to the nearest row that differs."""
    picked = np.unique(rows[spread_rows(len(rows), _MOST_PAIRS)].astype(np.float64), axis=0)
    if len(picked) < 2:
        raise DataError("the rows of x are all equal: two that differ show where neighbors lie.")
    picked = np.ldexp(picked, -np.frexp(np.abs(picked).max())[1])  # no square overflows
    directions = np.empty_like(picked)
    for i, row in enumerate(picked):
        lengths = np.linalg.norm(picked - row, axis=1)
        lengths[lengths == 0.0] = math.inf  # the row itself, and what squares cannot tell from it
        nearest = int(lengths.argmin())
        directions[i] = (picked[nearest] - row) / lengths[nearest]
    return directions


def _first_apart(phases: np.ndarray, limit: float) -> tuple[float, float]:
    """Return the least sigma at which mean_i cos(2 pi sigma phases_ti) <= limit for every t.

    `phases` (n, k) are in turns at sigma = 1. Returns the largest of the means too.
    """
    radians = 2.0 * math.pi * phases
    curvature = np.square(radians).mean(axis=1)
    if not curvature.min() > 0.0:
        raise DataError("a direction of x moves no phase of this basis: use a larger D.")
    largest = 2.0 * math.pi * _MOST_TURNS / math.sqrt(float(curvature.min()))
    sigma = 0.0
    while sigma <= largest:
        values = np.cos(sigma * radians).mean(axis=1)
        if float(values.max()) <= limit:
            return sigma, float(values.max())
        above = values > limit
        slopes = -(radians[above] * np.sin(sigma * radians[above])).mean(axis=1)
        drops = 2.0 * curvature[above] * (values[above] - limit)
        steps = (slopes + np.sqrt(np.square(slopes) + drops)) / curvature[above]
        sigma = max(sigma + float(steps.max()), math.nextafter(sigma, math.inf))
    raise ParameterError(
        f"no sigma up to {largest:.3g}, where phases of all {len(phases)} neighbors differ by "
        f"{_MOST_TURNS:g} turns, brings all cosines to {limit:g}: those of unrelated codes scatter "
        f"by 1 / sqrt(D) = {(2 * phases.shape[1]) ** -0.5:.2g}. Use a larger D, a larger "
        'similarity, or basis="auto".'
    )
