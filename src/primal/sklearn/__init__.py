"""Estimators for scikit-learn: deterministic, invertible, growable feature maps."""

from primal._extras import require as _require

_require("sklearn", "primal.sklearn")

from primal.sklearn._classifier import PrimeRidgeClassifier as PrimeRidgeClassifier
from primal.sklearn._dictionary import PrimeDictionary as PrimeDictionary
from primal.sklearn._features import PrimeFeatures as PrimeFeatures
from primal.sklearn._hasher import HashCertificate as HashCertificate
from primal.sklearn._hasher import PrimeHasher as PrimeHasher
from primal.sklearn._hasher import stable_position as stable_position
from primal.sklearn._inverse import InverseCertificate as InverseCertificate
from primal.sklearn._positions import PrimePositions as PrimePositions
from primal.sklearn._regressor import PrimeRidgeRegressor as PrimeRidgeRegressor
