"""The definition: primes, fixed-point phases, frequency tables, cosine and sine features.

NumPy is the reference; the C core computes the same bits.

_internal
---------
For other subpackages, not for users: `BASES`, `BASIS_VERSION`, `BLOCK_SCALE`, `DEEP_BITS`,
`ENGINES`, `Finish`, `GRIDS`, `LARGEST_COUNT`, `LARGEST_UNSURE`, `N_BLOCKS`, `Octant32`,
`Octant64`, `SPACINGS`, `USUAL_BASE`, `auto_basis`, `block_increments`, `compiled_core`,
`digit_units`, `digit_widths`, `engine`, `floor_roots`, `mixture_scales`, `prime_entries`,
`require_blocks`, `root_table`, `row_exponents`, `transform`, `wave_columns`, `write_features`.
"""

from primal.exact._basis import BASES as BASES
from primal.exact._basis import BASIS_VERSION as BASIS_VERSION
from primal.exact._basis import Basis
from primal.exact._basis import auto_basis as auto_basis
from primal.exact._digits import DEEP_BITS as DEEP_BITS
from primal.exact._digits import digit_units as digit_units
from primal.exact._digits import digit_widths as digit_widths
from primal.exact._digits import row_exponents as row_exponents
from primal.exact._engine import ENGINES as ENGINES
from primal.exact._engine import compiled_core as compiled_core
from primal.exact._engine import engine as engine
from primal.exact._engine import installed_engines
from primal.exact._hadamard import HadamardTable
from primal.exact._hadamard import transform as transform
from primal.exact._increments import floor_roots as floor_roots
from primal.exact._increments import increments
from primal.exact._laws import mixture_scales as mixture_scales
from primal.exact._laws import prime_entries as prime_entries
from primal.exact._phases import pack, round_turns, static_turns, unpack
from primal.exact._primes import LARGEST_COUNT as LARGEST_COUNT
from primal.exact._primes import primes
from primal.exact._reference import LARGEST_UNSURE as LARGEST_UNSURE
from primal.exact._reference import Finish as Finish
from primal.exact._reference import wave_columns as wave_columns
from primal.exact._reference import write_features as write_features
from primal.exact._root_tables import root_table as root_table
from primal.exact._spacing import BLOCK_SCALE as BLOCK_SCALE
from primal.exact._spacing import GRIDS as GRIDS
from primal.exact._spacing import N_BLOCKS as N_BLOCKS
from primal.exact._spacing import SPACINGS as SPACINGS
from primal.exact._spacing import USUAL_BASE as USUAL_BASE
from primal.exact._spacing import block_increments as block_increments
from primal.exact._spacing import require_blocks as require_blocks
from primal.exact._spacing import spaced_increments
from primal.exact._table import FrequencyTable
from primal.exact._waves import Octant32 as Octant32
from primal.exact._waves import Octant64 as Octant64
from primal.exact._waves import waves

__all__ = [
    "Basis",
    "FrequencyTable",
    "HadamardTable",
    "increments",
    "installed_engines",
    "pack",
    "primes",
    "round_turns",
    "spaced_increments",
    "static_turns",
    "unpack",
    "waves",
]
