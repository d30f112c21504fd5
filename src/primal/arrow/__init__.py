"""Features, codes and exact sums in your own data engine, as functions of Arrow batches."""

from primal._extras import require as _require

_require("pyarrow", "primal.arrow")

from primal.arrow._encoder import Encoder
from primal.arrow._ridge import RidgeSums

__all__ = ["Encoder", "RidgeSums"]
