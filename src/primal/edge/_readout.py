"""``SensorModel``: scores from integer features and 16-bit weights, as a chip computes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from primal._checks import instance_of, positive_scale, raised_as, real_array
from primal._parallel import row_blocks
from primal._specs import from_spec, make_spec, spec_fields
from primal.edge._q15 import ONE
from primal.edge._sensors import SensorMap, column
from primal.errors import DataError, ParameterError, SpecError

_MOST = 2**31 - 1  # of a score
_LARGEST_WEIGHT = 2**15 - 1
# Of the largest weight or bias: far from where float64 over- or underflows.
_SCORE_RANGE = (1e-280, 1e280)
_FIELDS = ("sensor", "weights", "biases", "labels", "score_unit")


class SensorModel:
    """A `SensorMap` with a linear read-out in integers: one score for each class or target.

    Weights are rounded to 16 bits in one common unit, the finest with which no score can leave
    32 bits, whatever the inputs.

    Parameters
    ----------
    sensor : SensorMap
    weights : array_like of shape (n_scores, D)
        Coefficients of the features of ``sensor.map``; the factors of these go into them.
    biases : float or array_like of shape (n_scores,), default=0.0
    labels : sequence of n_scores labels, optional
        Without them the scores are estimates, and there is no `predict`.
    score_unit : float, optional
        What one unit of a score is worth. Where it is given, weights and biases are the integers
        themselves, as attributes and specs have them.

    Attributes
    ----------
    weights : ndarray of shape (n_scores, D), dtype=int16
    biases : ndarray of shape (n_scores,), dtype=int32
    score_unit : float

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from primal.edge import as_sensor
    >>> from primal.sklearn import PrimeRidgeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> fitted = PrimeRidgeClassifier(256).fit(X[:1200], y[:1200])
    >>> model = as_sensor(fitted, inputs="uint8")
    >>> float((model.predict(X[1200:].astype(int)) == fitted.predict(X[1200:])).mean())
    1.0
    """

    def __init__(
        self,
        sensor: SensorMap,
        weights: object,
        biases: object = 0.0,
        labels: Any = None,
        score_unit: float | None = None,
    ) -> None:
        instance_of("sensor", sensor, SensorMap)
        rows = real_array("weights", weights, last=sensor.D).astype(np.float64)
        if rows.ndim != 2 or len(rows) == 0:
            raise DataError(f"weights must have shape (n_scores, {sensor.D}), got {rows.shape}.")
        given = column("biases", biases, len(rows))
        if score_unit is None:
            rows = rows * sensor.factors
            unit = _finest_unit(rows, given)
            rows, given, self.score_unit = rows * unit, given * (unit * ONE), 1.0 / (unit * ONE)
        else:
            self.score_unit = positive_scale("score_unit", score_unit)
            _require_integers(rows, given)
        self.sensor = sensor
        self.weights = np.rint(rows).astype(np.int16)
        self.biases = np.rint(given).astype(np.int32)
        with raised_as(ParameterError, "labels must be a list"):
            self.labels = None if labels is None else np.array(labels)
        if self.labels is not None and self.labels.shape != (len(self.weights),):
            raise ParameterError(
                f"labels must be {len(self.weights)}, one for each score, got {self.labels.shape}."
            )
        self._freeze()

    def _freeze(self) -> None:
        for array in (self.weights, self.biases, self.labels):
            if array is not None:
                array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:  # of a copy, whose arrays are not
        vars(self).update(state)
        self._freeze()

    def scores(self, n: object) -> np.ndarray:
        """Return the scores of sensor integers n (..., d): int32 (..., n_scores)."""
        z = self.sensor.waves_q15(n)
        flat = z.reshape(-1, self.sensor.D)
        scores = np.empty((len(flat), len(self.weights)), dtype=np.int32)
        for rows in row_blocks(len(flat), self.sensor.D):
            scores[rows] = flat[rows].astype(np.int32) @ self.weights.T.astype(np.int32)
        return (scores + self.biases).reshape(*z.shape[:-1], len(self.weights))

    def predict(self, n: object) -> np.ndarray:
        """Return the labels of n (..., d), shape (...): that of the largest score, or the first."""
        if self.labels is None:
            raise ParameterError("a model without labels has scores only: use scores(n).")
        return self.labels[self.scores(n).argmax(axis=-1)]

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.from_spec` rebuilds this model."""
        labels = None if self.labels is None else self.labels.tolist()
        values = (self.sensor.spec, self.weights.tolist(), self.biases.tolist(), labels)
        fields = dict(zip(_FIELDS, (*values, self.score_unit), strict=True))
        return make_spec("SensorModel", **fields)

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> SensorModel:
        given = spec_fields("SensorModel", fields, _FIELDS)
        if given["score_unit"] is None:
            raise SpecError("the score_unit of a SensorModel is a number, got None.")
        return cls(**given | {"sensor": from_spec(given["sensor"])})

    def __repr__(self) -> str:
        return f"SensorModel({self.sensor!r}, {len(self.weights)} scores)"


def _finest_unit(weights: np.ndarray, biases: np.ndarray) -> float:
    """Return the largest factor of weights with which no score can overflow."""
    largest = max(np.abs(weights).max(), np.abs(biases).max())
    if largest == 0.0:
        raise DataError("weights are all zero: there is nothing to read out.")
    if not _SCORE_RANGE[0] <= largest <= _SCORE_RANGE[1]:
        raise DataError(
            f"weights and biases must reach from {_SCORE_RANGE[0]:g} to {_SCORE_RANGE[1]:g} in "
            f"size, got {largest:.3g}: scale them."
        )
    sizes = np.abs(weights).sum(axis=1) + np.abs(biases)
    unit = min(_MOST / ONE / sizes.max(), _LARGEST_WEIGHT / np.abs(weights).max(initial=1e-300))
    while True:
        if _largest_scores(np.rint(weights * unit), np.rint(biases * (unit * ONE))) <= _MOST:
            return float(unit)
        unit *= 1.0 - 2.0**-10


def _require_integers(weights: np.ndarray, biases: np.ndarray) -> None:
    """Raise DataError unless a chip can hold weights and biases (float64), and every score."""
    whole = all((np.rint(values) == values).all() for values in (weights, biases))
    if not whole or np.abs(weights).max() > _LARGEST_WEIGHT or np.abs(biases).max() > _MOST:
        raise DataError("weights must be integers of 16 bits and biases integers of 32 bits.")
    if _largest_scores(weights, biases) > _MOST:
        raise DataError("weights are too large: a score could leave 32 bits.")


def _largest_scores(weights: np.ndarray, biases: np.ndarray) -> float:
    """Return the largest size that any score can reach."""
    return float((ONE * np.abs(weights).sum(axis=1) + np.abs(biases)).max())
