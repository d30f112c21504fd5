"""From tables on disk to features on disk: streaming, safe against kills, in shards or on Ray."""

from primal._extras import require as _require

_require("pyarrow", "primal.pipeline")

from primal.pipeline._decode import DecodeReport as DecodeReport
from primal.pipeline._decode import decode as decode
from primal.pipeline._encode import EncodeReport as EncodeReport
from primal.pipeline._encode import encode as encode
from primal.pipeline._inspect import Inspection as Inspection
from primal.pipeline._inspect import inspect as inspect
from primal.pipeline._merge import merge as merge
