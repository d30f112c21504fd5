"""Phases in fixed-point turns: increments, exact sums that wrap, and the final waves."""

from primal.turns._increments import increments as increments
from primal.turns._phases import round_turns as round_turns
from primal.turns._phases import static_turns as static_turns
from primal.turns._waves import waves as waves
