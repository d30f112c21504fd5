"""Codes of vectors in a few bits per column, and their index: the same in every language."""

from primal.vectors._codes import VectorCodes
from primal.vectors._index import Index, Neighbors

__all__ = ["Index", "Neighbors", "VectorCodes"]
