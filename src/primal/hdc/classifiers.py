"""Classifiers of hyperdimensional computing on prime features; they need scikit-learn."""

from primal._extras import require as _require

_require("sklearn", "primal.hdc.classifiers")

from primal.hdc._class_ngrams import PrimeNgrams as PrimeNgrams
from primal.hdc._class_online import PrimeOnlineClassifier as PrimeOnlineClassifier
from primal.hdc._class_prototypes import PrimeCentroidClassifier as PrimeCentroidClassifier
from primal.sklearn import PrimeRidgeClassifier as PrimeRidgeClassifier
