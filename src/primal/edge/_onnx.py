"""``to_onnx``: maps, fitted estimators and pipelines as one ONNX model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from primal._checks import one_of, raised_as
from primal._extras import require
from primal.edge._fitted import linear_parts, parts_of, scaler_name
from primal.edge._onnx_graph import Graph, Value, dynamic_turns, features, static_turns
from primal.edge._sensors import column_factors
from primal.errors import ParameterError
from primal.exact import Finish
from primal.maps import DynamicPrime, KernelPrime, StaticPrime

_OPSET = 18
_IR_VERSION = 8  # of that opset


class Output(NamedTuple):
    """A result of a graph: the name that users see, that of its node, type and shape."""

    name: str
    value: Value
    dtype: np.dtype
    shape: list[Any]


def to_onnx(model: Any, *, inputs: str = "float32") -> Any:
    """Return a map, a fitted estimator or a scikit-learn pipeline as an ONNX model.

    Features have the bits of Python in onnxruntime's CPU provider: all sums are of whole numbers,
    exact in float64. Rows that Python rejects, with NaN or phases beyond 2**32 turns, give NaN.

    Parameters
    ----------
    model : StaticPrime, or what :func:`as_sensor` takes
        Without `layer_norm`.
    inputs : {"float32", "float64"}, default="float32"
        Type of the input ``x`` (n, d); scalers compute in float64 either way. A StaticPrime takes
        int64 positions ``t`` (n,).

    Returns
    -------
    model : onnx.ModelProto
        Opset 18. Outputs: float32 features ``z`` (n, D) of maps and ``PrimeFeatures``; float64
        ``scores`` (n, m) and, of classifiers, ``label`` (n,).

    Examples
    --------
    >>> import primal
    >>> from primal.edge import to_onnx
    >>> made = to_onnx(primal.StaticPrime(64))
    >>> [made.graph.input[0].name, made.graph.output[0].name]
    ['t', 'z']
    """
    onnx = require("onnx", "to_onnx")
    dtype = np.dtype(one_of("inputs", inputs, ("float32", "float64")))
    graph = Graph()
    if isinstance(model, StaticPrime):
        turns = static_turns(graph, "t", model.increments)
        z = features(graph, turns, model.D, Finish(model.layout), 1.0)
        source = ("t", np.dtype(np.int64), ["n"])
        found = [Output("z", z, np.dtype(np.float32), ["n", model.D])]
    else:
        source = ("x", dtype, ["n", parts_of(model)[1].d])
        found = _outputs(graph, graph.cast("x", np.float64), model)
    for output in found:
        graph.add("Identity", output.value, output=output.name)
    helper = graph.helper
    made = helper.make_graph(
        graph.nodes,
        "primal",
        [_value(helper, *source)],
        [_value(helper, output.name, output.dtype, output.shape) for output in found],
        graph.constants,
    )
    opset = helper.make_opsetid("", _OPSET)
    proto = helper.make_model(made, opset_imports=[opset], producer_name="primal")
    proto.ir_version = _IR_VERSION
    onnx.checker.check_model(proto)
    return proto


def _outputs(graph: Graph, x: Value, model: Any) -> list[Output]:
    """Add a map, a fitted estimator or a pipeline of float64 rows; return its results."""
    before, m, readout = parts_of(model)
    for step in before:
        x = _scaled(x, step)
    z = _map_features(graph, x, m)
    if readout is not None:
        return _read_out(graph, z, readout)
    return [Output("z", z, np.dtype(np.float32), ["n", m.D])]


def _map_features(graph: Graph, x: Value, m: DynamicPrime | KernelPrime) -> Value:
    """Return the float32 features of float64 rows, NaN for those that have none."""
    finish, inner = (m.finish, m.map) if isinstance(m, KernelPrime) else (Finish(m.layout), m)
    if isinstance(m, KernelPrime) and m.input_scales is not None:
        x = x * m.input_scales
    if inner.spec["layer_norm"]:
        raise ParameterError(
            "layer_norm divides by a deviation of every row, which has no exact bits in ONNX: "
            "normalize rows before the model."
        )
    turns, valid = dynamic_turns(graph, x, inner.basis.table)
    factors = column_factors(m) if isinstance(m, KernelPrime) else 1.0
    z = features(graph, turns, m.D, finish, factors)
    return z * graph.add("Where", valid, np.float32(1.0), np.float32(np.nan))


def _scaled(x: Value, step: Any) -> Value:
    """Return what a scaler makes of x, by the operations of scikit-learn."""
    name = scaler_name(step)
    if name == "StandardScaler":
        x = x - _wide(step.mean_) if step.with_mean else x
        return x / _wide(step.scale_) if step.with_std else x
    if name == "MinMaxScaler":
        return x * _wide(step.scale_) + _wide(step.min_)
    return x / _wide(step.scale_)


def _read_out(graph: Graph, z: Value, readout: Any) -> list[Output]:
    """Return the scores of a fitted read-out, in float64, and the labels of a classifier."""
    wide = z.cast(np.float64)
    if hasattr(readout, "prototypes_"):
        labels = readout.classes_
        scores = graph.add("MatMul", wide, _wide(readout.prototypes_.T))
        squares = graph.add("ReduceSum", wide * wide, np.array([1]), keepdims=1)
        scores = scores / graph.add("Sqrt", squares)
        n_scores = len(labels)
    else:
        coef, bias, labels = linear_parts(readout)
        scores = graph.add("MatMul", wide, _wide(coef.T)) + _wide(bias)
        n_scores = len(coef)
    found = [Output("scores", scores, np.dtype(np.float64), ["n", n_scores])]
    if labels is None:
        return found
    kept = np.asarray(labels)
    if kept.dtype.kind in "UO":
        kept = np.array([str(label) for label in kept], dtype=object)
        with raised_as(ParameterError, "a label has no UTF-8 text, which ONNX needs"):
            "".join(kept).encode()
    elif kept.dtype.newbyteorder("=") != kept.dtype:
        kept = kept.astype(kept.dtype.newbyteorder("="))
    best = graph.add("ArgMax", scores, axis=1, keepdims=0)
    label = graph.add("Gather", kept, best)
    return [Output("label", label, kept.dtype, ["n"]), *found]


def _wide(values: Any) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.float64)


def _value(helper: Any, name: str, dtype: np.dtype, shape: list[Any]) -> Any:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)
