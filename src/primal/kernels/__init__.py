"""Kernels: the basis, scale and formula of each, and gamma from data.

A kernel of x - y is the Fourier transform of the law of its frequencies (Bochner's theorem);
:class:`primal.KernelPrime` has the features.
"""

from primal.kernels._basis import COMPOSED as COMPOSED
from primal.kernels._basis import METHODS as METHODS
from primal.kernels._basis import KernelBasis as KernelBasis
from primal.kernels._basis import cannot_grow as cannot_grow
from primal.kernels._basis import chosen_method as chosen_method
from primal.kernels._basis import obstacle as obstacle
from primal.kernels._gamma import column_means as column_means
from primal.kernels._gamma import column_widths as column_widths
from primal.kernels._gamma import dense_rows as dense_rows
from primal.kernels._gamma import median_gamma, scale_gamma
from primal.kernels._gamma import resolved_gamma as resolved_gamma
from primal.kernels._gamma import rounded_up as rounded_up
from primal.kernels._gamma import spread_rows as spread_rows
from primal.kernels._kernel import KERNELS as KERNELS
from primal.kernels._kernel import checked_gamma as checked_gamma
from primal.kernels._kernel import checked_width as checked_width
from primal.kernels._kernel import design_widths as design_widths
from primal.kernels._kernel import gamma_of_length as gamma_of_length
from primal.kernels._kernel import kernel_basis as kernel_basis
from primal.kernels._kernel import resolved_basis as resolved_basis
from primal.kernels._parts import KernelSum, kernel_matrix, on
from primal.kernels._parts import as_kernel as as_kernel
from primal.kernels._parts import checked_sum as checked_sum
from primal.kernels._parts import implied_widths as implied_widths

# The other names are for other subpackages.
__all__ = ["KernelSum", "kernel_matrix", "median_gamma", "on", "scale_gamma"]
