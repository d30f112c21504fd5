"""The two algorithms of the paper."""

from primal.maps._dynamic import DynamicPrime as DynamicPrime
from primal.maps._static import StaticPrime as StaticPrime

__all__ = ["DynamicPrime", "StaticPrime"]
