"""Maps: the two algorithms of the paper, features for a kernel, and a scale for data."""

from primal.maps._choice import FORMS as FORMS
from primal.maps._common import DTYPES as DTYPES
from primal.maps._common import LARGEST_AMPLITUDE as LARGEST_AMPLITUDE
from primal.maps._common import LAYOUTS as LAYOUTS
from primal.maps._common import PRECISIONS as PRECISIONS
from primal.maps._dynamic import DynamicPrime as DynamicPrime
from primal.maps._kernel import SCORED_ROWS as SCORED_ROWS
from primal.maps._kernel import KernelPrime as KernelPrime
from primal.maps._kernel import expected_error as expected_error
from primal.maps._sigma import choose_sigma as choose_sigma
from primal.maps._static import StaticPrime as StaticPrime

# The other names are for other subpackages.
__all__ = ["DynamicPrime", "KernelPrime", "StaticPrime", "choose_sigma"]
