"""Prime features as PyTorch layers, with the bits of the NumPy maps on every device."""

from primal._extras import require as _require

_require("torch", "primal.torch")

from primal.torch import functional as functional
from primal.torch._dynamic import DynamicPrime as DynamicPrime
from primal.torch._embedding import Embedding as Embedding
from primal.torch._features import PrimeFeatures as PrimeFeatures
from primal.torch._inr import PrimeINR as PrimeINR
from primal.torch._inr import sampling_sigma as sampling_sigma
from primal.torch._positions import PrimePositions as PrimePositions
from primal.torch._rotary import rotary as rotary
from primal.torch._rotary import rotate as rotate
from primal.torch._state import CellState as CellState
from primal.torch._state import PrimeStateCell as PrimeStateCell
from primal.torch._static import StaticPrime as StaticPrime
