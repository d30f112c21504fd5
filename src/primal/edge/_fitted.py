"""From fitted estimators to sensors: scalers go into the table, coefficients into the read-out.

Estimators are known by what they have, so that neither scikit-learn nor its room is imported.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from primal._checks import raised_as
from primal.edge._readout import SensorModel
from primal.edge._sensors import SensorMap, column, positive_column
from primal.errors import ParameterError
from primal.maps import DynamicPrime, KernelPrime

# Rows on which a read-out is compared with its coefficients, and how far float32 may be off, as a
# share of the sizes of all products.
_N_TRIED, _ROUNDING = 8, 1e-4


def as_sensor(
    model: Any,
    scale: object = 1.0,
    zero: object = 0.0,
    *,
    kind: str = "auto",
    inputs: str | None = None,
) -> SensorMap | SensorModel:
    """Return a map or a fitted estimator as it computes on raw sensor integers.

    Parameters
    ----------
    model : DynamicPrime, KernelPrime, or a fitted estimator
        ``PrimeFeatures``; ``PrimeRidgeClassifier``, ``PrimeRidgeRegressor``,
        ``PrimeCentroidClassifier``; or a scikit-learn ``Pipeline`` of
        ``StandardScaler``, ``MinMaxScaler`` or ``MaxAbsScaler`` steps and one of these, where
        ``PrimeFeatures`` may be followed by a linear model.
    scale, zero : float or array_like of shape (d,)
        The numbers that the model was fitted on are ``scale (n - zero)`` for sensor integers n.
        Scalers are folded into them in float64, all else is exact.
    kind, inputs
        As in :class:`SensorMap`.

    Returns
    -------
    sensor : SensorMap or SensorModel

    Examples
    --------
    >>> import primal
    >>> from primal.edge import as_sensor
    >>> sensor = as_sensor(primal.KernelPrime(3, 8, gamma=1.0), scale=0.01, inputs="uint8")
    >>> sensor.encode([[10, 20, 30]]).shape
    (1, 8)
    """
    if isinstance(model, (SensorMap, SensorModel)):
        raise ParameterError("this is a sensor already: scale, zero, kind and inputs are its own.")
    before, m, readout = parts_of(model)
    scales, zeros = positive_column("scale", scale, m.d), column("zero", zero, m.d)
    for step in before:
        scales, zeros = _scaled(step, scales, zeros)
    sensor = SensorMap(m, scales, zeros, kind=kind, inputs=inputs)
    if readout is None:
        return sensor
    if hasattr(readout, "prototypes_"):
        labels = getattr(readout, "classes_", None)
        return SensorModel(sensor, readout.prototypes_, labels=labels)
    return SensorModel(sensor, *linear_parts(readout))


def parts_of(model: Any) -> tuple[list[Any], DynamicPrime | KernelPrime, Any]:
    """Return the steps before the features, the map of these, and the read-out or None."""
    steps, readout = getattr(model, "steps", None), None
    named = steps if isinstance(steps, list) else []
    kept = [step for _, step in named if step is not None and step != "passthrough"]
    *before, last = kept or [model]
    if before and _is_features(before[-1]) and hasattr(last, "coef_"):
        readout, last = last, before.pop()
        _require_linear(readout, last.map_.D)
    m = _map_of(last)
    if readout is None and m is not last and not _is_features(last):
        readout = last
    return before, m, readout


def _require_linear(readout: Any, D: int) -> None:
    """Reject a read-out that answers otherwise than by its coefficients times D features.

    Many have coefficients: of pairs of classes, of centered features, of a logarithm.
    """
    coef, bias, labels = linear_parts(readout)
    # Rows between -1 and 1, as features are; no two alike.
    rows = np.cos(np.arange(1.0, _N_TRIED * D + 1.0)).reshape(_N_TRIED, D)
    what = f"a {type(readout).__name__} does not answer with its coefficients times the features"
    with raised_as(ParameterError, what), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these rows have no names of columns
        answers = readout.predict if labels is None else readout.decision_function
        found = np.asarray(answers(rows)).reshape(_N_TRIED, -1)
        expected, sizes = rows @ coef.T + bias, np.abs(rows) @ np.abs(coef.T) + np.abs(bias)
        if found.shape[1] == 1 and len(coef) == 2:
            expected, sizes = expected[:, 1:] - expected[:, :1], 2.0 * sizes[:, :1]
        same = found.shape == expected.shape
        if not same or not (np.abs(found - expected) <= _ROUNDING * sizes).all():
            raise ParameterError(
                f"{what}, so it cannot be exported: use a linear model, such as "
                "LogisticRegression, LinearSVC or Ridge."
            )


def _is_features(step: Any) -> bool:
    return isinstance(getattr(step, "map_", None), KernelPrime) and hasattr(step, "transform")


def _map_of(step: Any) -> DynamicPrime | KernelPrime:
    for found in (step, getattr(step, "map_", None), getattr(step, "features_", None)):
        if isinstance(found, (DynamicPrime, KernelPrime)):
            return found
        if _is_features(found):
            return found.map_  # type: ignore[union-attr]
    raise ParameterError(
        f"a {type(step).__name__} cannot be exported: pass a map, or a fitted estimator on prime "
        "features."
    )


def _scaled(step: Any, scale: np.ndarray, zero: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scale and zero of what a scaler makes of ``scale (n - zero)``."""
    name = scaler_name(step)
    if name == "StandardScaler":
        spread = 1.0 if step.scale_ is None else step.scale_
        middle = 0.0 if step.mean_ is None or not step.with_mean else step.mean_
        return scale / spread, zero + middle / scale
    if name == "MinMaxScaler":
        return scale * step.scale_, zero - step.min_ / (scale * step.scale_)
    return scale / step.scale_, zero


def scaler_name(step: Any) -> str:
    """Return the class of a fitted step that scales columns by constants; reject others."""
    name, clip = type(step).__name__, getattr(step, "clip", False)
    if not hasattr(step, "n_features_in_"):
        raise ParameterError(f"the {name} of this pipeline is not fitted: call fit first.")
    if name not in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler") or clip:
        raise ParameterError(
            f"a {name} (clip={clip}) in front of the features does not scale columns by constants, "
            "so it cannot be exported: use StandardScaler, MinMaxScaler or MaxAbsScaler."
        )
    return name


def linear_parts(readout: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return coefficients (m, D), biases (m,), and labels where the largest score decides."""
    labels = getattr(readout, "classes_", None)
    if not hasattr(readout, "coef_") or not hasattr(readout, "intercept_"):
        raise ParameterError(f"a {type(readout).__name__} is not a linear read-out.")
    if getattr(readout, "_has_several_labels", False):
        raise ParameterError(
            "a model of several labels for each row has no largest score that decides: export one "
            "model for each label."
        )
    coef = np.atleast_2d(readout.coef_)
    bias = np.broadcast_to(readout.intercept_, len(coef))  # one 0.0 where none was fitted
    if labels is not None and len(labels) == 2 and len(coef) == 1:
        # One difference for two classes, as scikit-learn has it.
        coef, bias = np.concatenate([-coef, coef]) / 2, np.concatenate([-bias, bias]) / 2
    return coef, bias, labels
