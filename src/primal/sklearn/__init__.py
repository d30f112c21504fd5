"""Estimators for scikit-learn: deterministic, invertible, growable feature maps."""

from primal._extras import require as _require

_require("sklearn", "primal.sklearn")

from primal.sklearn._diagnostics import kernel_matrix as kernel_matrix
from primal.sklearn._dictionary import PrimeDictionary as PrimeDictionary
from primal.sklearn._features import PrimeFeatures as PrimeFeatures
from primal.sklearn._gamma import median_gamma as median_gamma
from primal.sklearn._gamma import scale_gamma as scale_gamma
from primal.sklearn._hasher import HashCertificate as HashCertificate
from primal.sklearn._hasher import PrimeHasher as PrimeHasher
from primal.sklearn._hasher import stable_position as stable_position
from primal.sklearn._inverse import InverseCertificate as InverseCertificate
from primal.sklearn._ngrams import PrimeNgrams as PrimeNgrams
from primal.sklearn._positions import PrimePositions as PrimePositions
from primal.sklearn._prototypes import PrimeCentroidClassifier as PrimeCentroidClassifier
from primal.sklearn._prototypes import PrimeOnlineClassifier as PrimeOnlineClassifier
from primal.sklearn._ridge import PrimeRidgeClassifier as PrimeRidgeClassifier
from primal.sklearn._ridge import PrimeRidgeRegressor as PrimeRidgeRegressor
