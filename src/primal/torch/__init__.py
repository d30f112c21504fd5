"""Prime features as PyTorch layers, with the bits of the NumPy maps on every device."""

from primal._extras import require as _require

_require("torch", "primal.torch")

from primal.torch._dynamic import DynamicPrime
from primal.torch._embedding import Embedding
from primal.torch._features import PrimeFeatures
from primal.torch._hosts import use_exact_rotary
from primal.torch._positions import PrimePositions
from primal.torch._rotary import rotate
from primal.torch._static import StaticPrime

__all__ = [
    "DynamicPrime",
    "Embedding",
    "PrimeFeatures",
    "PrimePositions",
    "StaticPrime",
    "rotate",
    "use_exact_rotary",
]
