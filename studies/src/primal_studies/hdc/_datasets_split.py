"""A dataset, its parts for training and test, and one way to bring both to one scale."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from primal._checks import one_of, whole_number
from primal.errors import DataError

__all__ = ["Dataset", "Split", "standardized"]

_TRAIN_SHARE = 2 / 3


class Split(NamedTuple):
    """Rows to learn from and rows to be judged on."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, labels, and how to split them.

    Attributes
    ----------
    name : str
    kind : {"image", "table", "text"}
        Columns of an image share one unit; those of a table each have their own.
    X : ndarray of shape (n, d), or (n,) of str for text
    y : ndarray of shape (n,), dtype=int64
        Numbers of classes, from 0.
    classes : tuple of str
        Their names.
    source : str
        The package that holds the data.
    n_train : int or None
        The first rows are the official training part; None where there is no such thing.
    groups : ndarray of shape (n,), dtype=int64, or None
        Rows of one group never lie on both sides of a split.
    sha256 : str
        Of `X` and `y`, set by :func:`primal_studies.hdc._datasets.load`.
    """

    name: str
    kind: str
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    classes: tuple[str, ...] = field(repr=False)
    source: str
    n_train: int | None = None
    groups: np.ndarray | None = field(default=None, repr=False)
    sha256: str = ""

    def split(self, seed: int = 0) -> Split:
        """Return a training and a test part.

        The official split where there is one, whatever the seed. Otherwise a seeded permutation
        of rows, or of groups, of which two thirds are for training.
        """
        train = self._train_rows(seed)
        return Split(self.X[train], self.y[train], self.X[~train], self.y[~train])

    def _train_rows(self, seed: int) -> np.ndarray:
        n = len(self.y)
        if self.n_train is not None:
            return np.arange(n) < self.n_train
        units = np.arange(n) if self.groups is None else self.groups
        shuffled = np.random.default_rng(seed).permutation(np.unique(units))
        return np.isin(units, shuffled[: round(_TRAIN_SHARE * len(shuffled))])


def standardized(split: Split, kind: str, n_rows: int | None = None) -> Split:
    """Return a split with mean 0 and deviation 1 on its training rows; texts as they are.

    Parameters
    ----------
    split : Split
    kind : {"image", "table", "text"}
        One mean and one deviation for all pixels of an image, one for each column of a table.
    n_rows : int, optional
        Look at the first training rows only, as a stream has to.

    Examples
    --------
    >>> from primal_studies.hdc import load
    >>> from primal_studies.hdc import standardized
    >>> wine = standardized(load("wine").split(), "table")
    >>> bool(abs(wine.X_train.std(axis=0) - 1).max() < 1e-12)
    True
    """
    if not isinstance(split, Split):
        raise DataError(f"split must be a Split, got {split!r}.")
    if one_of("kind", kind, ("image", "table", "text")) == "text":
        return split
    if n_rows is not None:
        n_rows = whole_number("n_rows", n_rows, least=1)
    seen = split.X_train[:n_rows]
    axis = 0 if kind == "table" else None
    mean = seen.mean(axis=axis, dtype=np.float64)
    deviation = np.asarray(seen.std(axis=axis, dtype=np.float64))
    deviation = np.where(deviation > 0.0, deviation, 1.0)
    # Bytes need no more than float32, and sixty thousand images no more memory.
    dtype = np.float32 if split.X_train.dtype == np.uint8 else np.float64
    X_train, X_test = (
        ((X - mean) / deviation).astype(dtype) for X in (split.X_train, split.X_test)
    )
    return Split(X_train, split.y_train, X_test, split.y_test)
