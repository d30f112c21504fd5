"""Prime features as PyTorch layers, with the bits of the NumPy maps on every device."""

from primal._extras import require as _require

_require("torch", "primal.torch")

from primal.torch import functional
from primal.torch._dynamic import DynamicPrime
from primal.torch._embedding import Embedding
from primal.torch._features import PrimeFeatures
from primal.torch._hosts import use_exact_rotary
from primal.torch._inr import SHARE_OF_NYQUIST as SHARE_OF_NYQUIST
from primal.torch._inr import PrimeINR, sampling_sigma
from primal.torch._positions import PrimePositions
from primal.torch._rotary import rotate
from primal.torch._state import CellState, PrimeStateCell
from primal.torch._state import decayed_sums as decayed_sums
from primal.torch._static import StaticPrime

# The other names are for the studies.
__all__ = [
    "CellState",
    "DynamicPrime",
    "Embedding",
    "PrimeFeatures",
    "PrimeINR",
    "PrimePositions",
    "PrimeStateCell",
    "StaticPrime",
    "functional",
    "rotate",
    "sampling_sigma",
    "use_exact_rotary",
]
