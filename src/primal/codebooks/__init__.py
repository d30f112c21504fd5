"""Codebooks: N codes in D dimensions, how similar they can be, and how far that is from the best.

:func:`codebook` makes one with a certificate; :mod:`bounds` says what nobody can beat;
:func:`predict_coherence` estimates the coherence to expect; the metrics measure any codes.

_internal
---------
For other subpackages, not for users: `KINDS`.
"""

from primal.codebooks import bounds
from primal.codebooks._auto import KINDS as KINDS
from primal.codebooks._auto import codebook
from primal.codebooks._codebook import Codebook
from primal.codebooks._metrics import gram_statistics, toeplitz_statistics
from primal.codebooks._predict import predict_coherence
from primal.codebooks._toeplitz import lag_cosines as lag_cosines

__all__ = [
    "Codebook",
    "bounds",
    "codebook",
    "gram_statistics",
    "predict_coherence",
    "toeplitz_statistics",
]
