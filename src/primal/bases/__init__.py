"""Frequencies from primes: one `Basis` type and the rules that fill it."""

from primal.bases._arithmetic import LEGENDRE_8 as LEGENDRE_8
from primal.bases._arithmetic import exp as exp
from primal.bases._arithmetic import fold_sum as fold_sum
from primal.bases._arithmetic import log as log
from primal.bases._arithmetic import normal_quantile as normal_quantile
from primal.bases._arithmetic import unit_fractions as unit_fractions
from primal.bases._basis import BASES as BASES
from primal.bases._basis import BASIS_VERSION as BASIS_VERSION
from primal.bases._basis import Basis
from primal.bases._basis import auto_basis as auto_basis
from primal.bases._hadamard import HadamardTable as HadamardTable
from primal.bases._hadamard import Table as Table
from primal.bases._hadamard import transform as transform
from primal.bases._lattice import lattice_points as lattice_points
from primal.bases._laws import mixture_scales as mixture_scales
from primal.bases._laws import prime_entries as prime_entries
from primal.bases._roots import root_table as root_table
from primal.bases._roots import scrambled_fractions as scrambled_fractions
from primal.bases._table import FrequencyTable as FrequencyTable

# The other names are for other subpackages.
__all__ = ["Basis"]
