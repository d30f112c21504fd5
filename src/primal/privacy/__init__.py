"""Keyed templates, attacks on what is stored, and reports of what can and cannot be promised."""

from primal.privacy._estimates import Estimate, Finding
from primal.privacy._keyed import KeyedPrime
from primal.privacy._keys import Key
from primal.privacy._lattice_attacks import (
    data_prior,
    inversion,
    known_pairs,
    pairs_needed,
    template_differences,
)
from primal.privacy._learned_attacks import attribute_inference, learned_inversion
from primal.privacy._membership import bundle_membership, model_membership

__all__ = [
    "Estimate",
    "Finding",
    "Key",
    "KeyedPrime",
    "attribute_inference",
    "bundle_membership",
    "data_prior",
    "inversion",
    "known_pairs",
    "learned_inversion",
    "model_membership",
    "pairs_needed",
    "template_differences",
]
