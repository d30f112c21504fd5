"""From tables on disk to features on disk: streaming, safe against kills, in shards or on Ray."""

from primal._extras import require as _require

_require("pyarrow", "primal.pipeline")

from primal.pipeline._decode import DecodeReport, decode, load_index
from primal.pipeline._encode import EncodeReport, encode, merge
from primal.pipeline._engines import Local, Ray
from primal.pipeline._fit import count_inputs, scale_gamma
from primal.pipeline._inspect import Inspection, inspect

__all__ = [
    "DecodeReport",
    "EncodeReport",
    "Inspection",
    "Local",
    "Ray",
    "count_inputs",
    "decode",
    "encode",
    "inspect",
    "load_index",
    "merge",
    "scale_gamma",
]
