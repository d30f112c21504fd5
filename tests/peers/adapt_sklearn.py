"""scikit-learn's tests of ``RBFSampler``, run on ``PrimeFeatures`` as it is."""

import os

import sklearn.kernel_approximation

from primal.sklearn import PrimeFeatures

os.environ["SKLEARN_RUN_FLOAT32_TESTS"] = "1"  # else half of the dtypes are skipped
sklearn.kernel_approximation.RBFSampler = PrimeFeatures
