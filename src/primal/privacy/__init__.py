"""Keyed templates, the audit of stored codes, and sums with differential privacy."""

from primal.privacy._aggregates import NoisyClassifier, release_bundles, release_moments
from primal.privacy._audit import audit
from primal.privacy._evaluate import evaluate
from primal.privacy._keyed import KeyedPrime
from primal.privacy._keys import Key
from primal.privacy._lattice_attacks import inversion
from primal.privacy._noise import Accountant
from primal.privacy._report import Report

__all__ = [
    "Accountant",
    "Key",
    "KeyedPrime",
    "NoisyClassifier",
    "Report",
    "audit",
    "evaluate",
    "inversion",
    "release_bundles",
    "release_moments",
]
