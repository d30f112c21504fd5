"""Estimators for scikit-learn: features, codes, and models that can be continued and grown.

_internal
---------
For `primal.arrow`, not for users: `ridge_of_sums`.
"""

from primal._extras import require as _require

_require("sklearn", "primal.sklearn")

from primal.sklearn._columns import PrimeHasher, PrimePositions
from primal.sklearn._features import PrimeFeatures
from primal.sklearn._gaussian_process import PrimeGaussianProcessRegressor
from primal.sklearn._prototypes import PrimeCentroidClassifier
from primal.sklearn._ridge import PrimeRidgeClassifier, PrimeRidgeRegressor
from primal.sklearn._ridge import ridge_of_sums as ridge_of_sums

__all__ = [
    "PrimeCentroidClassifier",
    "PrimeFeatures",
    "PrimeGaussianProcessRegressor",
    "PrimeHasher",
    "PrimePositions",
    "PrimeRidgeClassifier",
    "PrimeRidgeRegressor",
]
