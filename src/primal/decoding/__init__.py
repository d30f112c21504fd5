"""From features back to x, and certificates of when that is possible.

_internal
---------
For other subpackages, not for users: `LinearInverse`, `PositionDecoder`, `SHORTEST_WAVE`,
`chi_squared_limit`, `have_phases`, `least_noise_turns`, `make_plan`, `measure_regime`,
`no_wrap_bound`, `noise_turns`, `phases_of`, `position_decoder`, `promised_chance`.
"""

from primal.decoding._bounds import chi_squared_limit as chi_squared_limit
from primal.decoding._certificate import DecodingCertificate
from primal.decoding._linear import LinearInverse as LinearInverse
from primal.decoding._linear import Regime
from primal.decoding._linear import measure_regime as measure_regime
from primal.decoding._linear import no_wrap_bound as no_wrap_bound
from primal.decoding._matrix import MatrixPlan, plan_matrix
from primal.decoding._model import least_noise_turns as least_noise_turns
from primal.decoding._phases import SHORTEST_WAVE as SHORTEST_WAVE
from primal.decoding._phases import have_phases as have_phases
from primal.decoding._phases import noise_turns as noise_turns
from primal.decoding._phases import phases_of as phases_of
from primal.decoding._plan import DecodePlan
from primal.decoding._plan import make_plan as make_plan
from primal.decoding._plan import promised_chance as promised_chance
from primal.decoding._positions import PositionDecoder as PositionDecoder
from primal.decoding._positions import position_decoder as position_decoder
from primal.decoding._priors import Box, Gaussian, Integers
from primal.decoding._result import DecodeResult, Status

# The other names are for rooms of this package.
__all__ = [
    "Box",
    "DecodePlan",
    "DecodeResult",
    "DecodingCertificate",
    "Gaussian",
    "Integers",
    "MatrixPlan",
    "Regime",
    "Status",
    "plan_matrix",
]
