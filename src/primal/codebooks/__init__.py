"""Codebooks and how good they are."""

from primal.codebooks._coherence import WorstLag as WorstLag
from primal.codebooks._coherence import worst_lag as worst_lag
