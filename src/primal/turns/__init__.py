"""Phases in fixed-point turns: increments, exact sums that wrap, and the final waves."""

from primal.turns._blocks import BLOCK_SCALE as BLOCK_SCALE
from primal.turns._blocks import N_BLOCKS as N_BLOCKS
from primal.turns._blocks import block_increments as block_increments
from primal.turns._blocks import require_blocks as require_blocks
from primal.turns._increments import increments as increments
from primal.turns._phases import round_turns as round_turns
from primal.turns._phases import static_turns as static_turns
from primal.turns._waves import waves as waves
