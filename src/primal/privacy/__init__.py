"""Keyed templates, attacks on what is stored, and reports of what can and cannot be promised."""

from primal.privacy._aggregates import NoisyClassifier, release_bundles, release_moments
from primal.privacy._attacks import (
    attribute_inference,
    bundle_membership,
    learned_inversion,
    model_membership,
)
from primal.privacy._audit import audit
from primal.privacy._estimates import Estimate, Finding
from primal.privacy._evaluate import Evaluation, evaluate
from primal.privacy._keyed import KeyedPrime
from primal.privacy._keys import Key
from primal.privacy._lattice_attacks import (
    data_prior,
    inversion,
    known_pairs,
    pairs_needed,
    template_differences,
)
from primal.privacy._metrics import equal_error_rate, linkability, linkability_floor
from primal.privacy._noise import Accountant
from primal.privacy._report import Report, Subject
from primal.privacy._schemes import biohash, gaussian_features, keyed_scheme, unprotected

__all__ = [
    "Accountant",
    "Estimate",
    "Evaluation",
    "Finding",
    "Key",
    "KeyedPrime",
    "NoisyClassifier",
    "Report",
    "Subject",
    "attribute_inference",
    "audit",
    "biohash",
    "bundle_membership",
    "data_prior",
    "equal_error_rate",
    "evaluate",
    "gaussian_features",
    "inversion",
    "keyed_scheme",
    "known_pairs",
    "learned_inversion",
    "linkability",
    "linkability_floor",
    "model_membership",
    "pairs_needed",
    "release_bundles",
    "release_moments",
    "template_differences",
    "unprotected",
]
