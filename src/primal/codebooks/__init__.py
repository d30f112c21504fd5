"""Codebooks: N codes in D dimensions, how similar they can be, and how far that is from the best.

:func:`codebook` makes one with a certificate; :mod:`bounds` says what nobody can beat;
:func:`predict_coherence` and :func:`capacity` say what to expect; the metrics measure any codes.
"""

from primal.codebooks import bounds as bounds
from primal.codebooks._auto import codebook as codebook
from primal.codebooks._certificate import Certificate as Certificate
from primal.codebooks._certificate import Verification as Verification
from primal.codebooks._codebook import Codebook as Codebook
from primal.codebooks._coherence import WorstLag as WorstLag
from primal.codebooks._coherence import worst_lag as worst_lag
from primal.codebooks._kinds import KINDS as KINDS
from primal.codebooks._metrics import GramStatistics as GramStatistics
from primal.codebooks._metrics import excess_coherence as excess_coherence
from primal.codebooks._metrics import gram_statistics as gram_statistics
from primal.codebooks._metrics import optimality_ratio as optimality_ratio
from primal.codebooks._metrics import toeplitz_statistics as toeplitz_statistics
from primal.codebooks._predict import capacity as capacity
from primal.codebooks._predict import predict_coherence as predict_coherence
from primal.codebooks._toeplitz import fejer as fejer
from primal.codebooks._toeplitz import lag_cosines as lag_cosines
