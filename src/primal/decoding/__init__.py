"""From features back to x, and certificates of when that is possible."""

from primal.decoding._linear import Regime as Regime
from primal.decoding._linear import measure_regime as measure_regime
from primal.decoding._linear import no_wrap_bound as no_wrap_bound
from primal.decoding._linear import phases_of as phases_of
from primal.decoding._linear import pseudoinverse as pseudoinverse
