"""Keyed templates, attacks on what is stored, and reports of what can and cannot be promised."""

from primal.privacy._keyed import KEYED_BASES as KEYED_BASES
from primal.privacy._keyed import KeyedPrime
from primal.privacy._keys import Key

__all__ = ["Key", "KeyedPrime"]
