"""The same bits on a microcontroller: sensor integers to phases, features and labels.

:class:`SensorMap` and :class:`SensorModel` compute in Python what a header of :func:`export_c`
computes on a chip; :func:`as_sensor` makes them from maps and fitted estimators. :func:`to_js` and
:func:`to_onnx` are for browsers and for ONNX runtimes, :func:`register_skl2onnx` for pipelines
with steps of others.
"""

from primal.edge._c import HeaderReport, export_c
from primal.edge._fitted import as_sensor
from primal.edge._js import JS_MODULE, to_js
from primal.edge._onnx import to_onnx
from primal.edge._q15 import waves_q15
from primal.edge._readout import SensorModel
from primal.edge._sensors import INPUTS, KINDS, SensorMap
from primal.edge._skl2onnx import register_skl2onnx

__all__ = [
    "HeaderReport",
    "INPUTS",
    "JS_MODULE",
    "KINDS",
    "SensorMap",
    "SensorModel",
    "as_sensor",
    "export_c",
    "register_skl2onnx",
    "to_js",
    "to_onnx",
    "waves_q15",
]
