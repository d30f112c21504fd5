"""``register_skl2onnx``: our estimators in the pipelines that skl2onnx converts."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from primal._extras import require
from primal.edge._onnx import OPSET, outputs_of
from primal.edge._onnx_graph import Graph
from primal.errors import ParameterError

_CLASSIFIERS = ("PrimeRidgeClassifier", "PrimeCentroidClassifier", "PrimeOnlineClassifier")


def register_skl2onnx() -> None:
    """Let ``skl2onnx.to_onnx`` convert pipelines with our estimators, among any steps it knows.

    For ``PrimeFeatures``, ``PrimeRidgeRegressor``, ``PrimeRidgeClassifier``,
    ``PrimeCentroidClassifier`` and ``PrimeOnlineClassifier``. Outputs are those of
    :func:`to_onnx`, with the bits of Python for the rows that the steps before them give:
    features ``z``, or ``label`` and ``scores``, these in the type of the inputs. Calling it again
    changes nothing.

    Examples
    --------
    >>> import numpy as np, skl2onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from primal.edge import register_skl2onnx
    >>> from primal.sklearn import PrimeFeatures
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(PrimeFeatures(64), LogisticRegression()).fit(X, y)
    >>> register_skl2onnx()
    >>> made = skl2onnx.to_onnx(pipeline, X[:1].astype(np.float32))
    >>> [output.name for output in made.graph.output]
    ['output_label', 'output_probability']
    """
    skl2onnx = require("skl2onnx", "register_skl2onnx")
    # Beside this room, and loaded when it is asked for: its classes are the keys.
    room = importlib.import_module("primal.sklearn")
    for name in ("PrimeFeatures", "PrimeRidgeRegressor", *_CLASSIFIERS):
        # Scores are arrays; what asks for arrays of all classifiers has to be known to ours.
        options = {"zipmap": [False]} if name in _CLASSIFIERS else {}
        made, alias = getattr(room, name), f"Primal{name}"
        skl2onnx.update_registered_converter(
            made, alias, _set_types, _convert, parser=_parse, options=options
        )


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs; `_set_types` says what they are."""
    types = require("skl2onnx.common.data_types", "register_skl2onnx")
    operator = scope.declare_local_operator(f"Primal{type(model).__name__}", model)
    operator.inputs = inputs
    names = ("scores",) if hasattr(model, "predict") else ("z",)
    for name in ("label", *names) if hasattr(model, "classes_") else names:
        operator.outputs.append(scope.declare_local_variable(name, types.FloatTensorType()))
    return operator.outputs


def _set_types(operator: Any) -> None:
    types = require("skl2onnx.common.data_types", "register_skl2onnx")
    n = operator.inputs[0].get_first_dimension()
    given = types.guess_tensor_type(operator.inputs[0].type)
    for variable, output in zip(operator.outputs, _outputs(operator, Graph()), strict=True):
        if output.name == "label":
            known = {"U": types.StringTensorType, "O": types.StringTensorType}
            known["f"] = types.DoubleTensorType
            kind = known.get(output.dtype.kind, types.Int64TensorType)
        else:
            kind = types.FloatTensorType if output.name == "z" else type(given)
        variable.type = kind([n, *output.shape[1:]])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    if container.target_opset < OPSET:
        raise ParameterError(
            f"prime features need opset {OPSET} or later, got {container.target_opset}: pass "
            f"target_opset={OPSET} to skl2onnx."
        )
    graph = Graph(scope.get_unique_variable_name("primal_"))
    for variable, output in zip(operator.outputs, _outputs(operator, graph), strict=True):
        kind = variable.type.to_onnx_type().tensor_type.elem_type
        graph.add("Cast", output.value, output=variable.full_name, to=kind)
    for constant in graph.constants:
        values = constant if constant.HasField("raw_data") else constant.string_data
        container.add_initializer(constant.name, constant.data_type, constant.dims, values)
    for node in graph.nodes:
        attributes = {a.name: graph.helper.get_attribute_value(a) for a in node.attribute}
        container.add_node(
            node.op_type,
            list(node.input),
            list(node.output),
            op_version=OPSET,
            name=node.name,
            **attributes,
        )


def _outputs(operator: Any, graph: Graph) -> Any:
    columns = [graph.cast(variable.full_name, np.float64) for variable in operator.inputs]
    x = columns[0] if len(columns) == 1 else graph.add("Concat", *columns, axis=1)
    return outputs_of(graph, x, operator.raw_operator)
