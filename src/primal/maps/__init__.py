"""Maps: the two algorithms of the paper, features for a kernel, kernels, and a scale for data.

_internal
---------
For other subpackages, not for users: `KERNELS`, `KernelBasis`, `LAYOUTS`, `METHODS`,
`PRECISIONS`, `SCORED_ROWS`, `as_kernel`, `checked_width`, `column_means`, `column_widths`,
`dense_rows`, `expected_error`, `gamma_of_length`, `obstacle`, `resolved_gamma`, `rounded_up`,
`spread_rows`, `stretched_frequencies`.
"""

from primal.maps._common import LAYOUTS as LAYOUTS
from primal.maps._common import PRECISIONS as PRECISIONS
from primal.maps._dynamic import DynamicPrime
from primal.maps._gamma import column_means as column_means
from primal.maps._gamma import column_widths as column_widths
from primal.maps._gamma import dense_rows as dense_rows
from primal.maps._gamma import median_gamma, scale_gamma
from primal.maps._gamma import resolved_gamma as resolved_gamma
from primal.maps._gamma import rounded_up as rounded_up
from primal.maps._gamma import spread_rows as spread_rows
from primal.maps._kernel import SCORED_ROWS as SCORED_ROWS
from primal.maps._kernel import KernelPrime
from primal.maps._kernel import expected_error as expected_error
from primal.maps._kernel_basis import METHODS as METHODS
from primal.maps._kernel_basis import KernelBasis as KernelBasis
from primal.maps._kernel_basis import obstacle as obstacle
from primal.maps._kernel_sums import KernelSum, kernel_matrix, on
from primal.maps._kernel_sums import as_kernel as as_kernel
from primal.maps._kernels import KERNELS as KERNELS
from primal.maps._kernels import checked_width as checked_width
from primal.maps._kernels import gamma_of_length as gamma_of_length
from primal.maps._sigma import choose_sigma
from primal.maps._static import StaticPrime
from primal.maps._stretch import stretched_frequencies as stretched_frequencies

__all__ = [
    "DynamicPrime",
    "KernelPrime",
    "KernelSum",
    "StaticPrime",
    "choose_sigma",
    "kernel_matrix",
    "median_gamma",
    "on",
    "scale_gamma",
]
