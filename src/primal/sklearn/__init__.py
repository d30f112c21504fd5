"""Estimators for scikit-learn: features, codes, and models that can be continued and grown."""

from primal._extras import require as _require

_require("sklearn", "primal.sklearn")

from primal.sklearn._columns import HashCertificate, PrimeHasher, PrimePositions
from primal.sklearn._features import PrimeFeatures
from primal.sklearn._gaussian_process import PrimeGaussianProcessRegressor
from primal.sklearn._inverse import InverseCertificate
from primal.sklearn._ngrams import PrimeNgrams
from primal.sklearn._prototypes import PrimeCentroidClassifier
from primal.sklearn._ridge import PrimeRidgeClassifier, PrimeRidgeRegressor

# fmt: off
__all__ = [
    "HashCertificate", "InverseCertificate", "PrimeCentroidClassifier",
    "PrimeFeatures", "PrimeGaussianProcessRegressor", "PrimeHasher", "PrimeNgrams",
    "PrimePositions", "PrimeRidgeClassifier", "PrimeRidgeRegressor",
]
# fmt: on
