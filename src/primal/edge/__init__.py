"""The same bits on a microcontroller: sensor integers to phases, features and labels.

:class:`SensorMap` and :class:`SensorModel` compute in Python what a header of :func:`export_c`
computes on a chip; :func:`as_sensor` makes them from maps and fitted estimators. :func:`to_js` and
:func:`to_onnx` are for browsers and for ONNX runtimes.

_internal
---------
For other subpackages, not for users: `INPUTS`, `KINDS`.
"""

from primal.edge._c import export_c
from primal.edge._fitted import as_sensor
from primal.edge._js import JS_MODULE, to_js
from primal.edge._onnx import to_onnx
from primal.edge._readout import SensorModel
from primal.edge._sensors import INPUTS as INPUTS
from primal.edge._sensors import KINDS as KINDS
from primal.edge._sensors import SensorMap

# The other names are for the command line.
__all__ = [
    "JS_MODULE",
    "SensorMap",
    "SensorModel",
    "as_sensor",
    "export_c",
    "to_js",
    "to_onnx",
]
