"""Primes, and phases in fixed-point turns: exact sums that wrap, waves, codes of few bits."""

from primal.turns._digits import DEEP_BITS as DEEP_BITS
from primal.turns._digits import FREQUENCY_BITS as FREQUENCY_BITS
from primal.turns._digits import LARGEST_FAST_LOG2_TURNS as LARGEST_FAST_LOG2_TURNS
from primal.turns._digits import LARGEST_LOG2_TURNS as LARGEST_LOG2_TURNS
from primal.turns._digits import DigitWidths as DigitWidths
from primal.turns._digits import balanced_digits as balanced_digits
from primal.turns._digits import combine_sums as combine_sums
from primal.turns._digits import digit_units as digit_units
from primal.turns._digits import digit_widths as digit_widths
from primal.turns._digits import integer_rows as integer_rows
from primal.turns._digits import level_errors as level_errors
from primal.turns._digits import product_error as product_error
from primal.turns._digits import row_exponents as row_exponents
from primal.turns._digits import term_shift as term_shift
from primal.turns._phases import pack, static_turns, unpack
from primal.turns._phases import round_turns as round_turns
from primal.turns._primes import LARGEST_COUNT as LARGEST_COUNT
from primal.turns._primes import prime_slice as prime_slice
from primal.turns._primes import primes
from primal.turns._roots import floor_roots as floor_roots
from primal.turns._roots import increments
from primal.turns._spacing import BLOCK_SCALE as BLOCK_SCALE
from primal.turns._spacing import GRIDS as GRIDS
from primal.turns._spacing import N_BLOCKS as N_BLOCKS
from primal.turns._spacing import SPACINGS as SPACINGS
from primal.turns._spacing import USUAL_BASE as USUAL_BASE
from primal.turns._spacing import block_increments as block_increments
from primal.turns._spacing import require_blocks as require_blocks
from primal.turns._spacing import spaced_increments
from primal.turns._stretch import frequency_increments as frequency_increments
from primal.turns._stretch import stretched_frequencies as stretched_frequencies
from primal.turns._waves import Cosine32 as Cosine32
from primal.turns._waves import Cosine64 as Cosine64
from primal.turns._waves import Sine32 as Sine32
from primal.turns._waves import Sine64 as Sine64
from primal.turns._waves import waves

# The other names are for other subpackages.
__all__ = [
    "increments",
    "pack",
    "primes",
    "spaced_increments",
    "static_turns",
    "unpack",
    "waves",
]
