"""Phases in fixed-point turns: increments, exact sums that wrap, waves, and codes of few bits."""

from primal.turns._digits import FREQUENCY_BITS as FREQUENCY_BITS
from primal.turns._increments import floor_roots as floor_roots
from primal.turns._increments import increments as increments
from primal.turns._phases import round_turns as round_turns
from primal.turns._phases import static_turns as static_turns
from primal.turns._rounding import phases_to_bits as phases_to_bits
from primal.turns._rounding import phases_to_turns as phases_to_turns
from primal.turns._rounding import phases_to_uint8 as phases_to_uint8
from primal.turns._rounding import phases_to_uint16 as phases_to_uint16
from primal.turns._rounding import phases_to_waves as phases_to_waves
from primal.turns._waves import waves as waves

__all__ = [
    "increments",
    "phases_to_bits",
    "phases_to_turns",
    "phases_to_uint8",
    "phases_to_uint16",
    "phases_to_waves",
    "round_turns",
    "static_turns",
    "waves",
]
