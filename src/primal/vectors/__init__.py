"""Vectors in a few bits per column, and exact search among them: the same bytes in every language."""

from primal.vectors._codes import VectorCodes
from primal.vectors._index import Index, Neighbors

__all__ = ["Index", "Neighbors", "VectorCodes"]
