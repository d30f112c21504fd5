"""``PrimeNgrams``: text to vectors, by bundles of n-grams of letters."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from primal._checks import even_dimension, raised_as, whole_number
from primal._hash import stable_position
from primal.engines import row_blocks
from primal.errors import DataError
from primal.turns import (
    N_BLOCKS,
    block_increments,
    require_blocks,
    round_turns,
    static_turns,
    waves,
)

_BLOCK_PHASES = 1 << 22


class PrimeNgrams(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Encode texts as the sum of the codes of their n-grams of letters.

    Every place of an n-gram has its own block of primes, in which a letter has a code; an n-gram
    adds the phases of n of them, a text sums its n-grams. The inner product of two texts then
    approximates the cosine similarity of their counts of n-grams: no vocabulary is learned, and a
    new letter or language changes nothing.

    Parameters
    ----------
    n_components : int, default=2048
        Length of the vector of a text; even.
    n : int, default=3
        Letters of an n-gram, at most 16.

    Examples
    --------
    >>> from primal.sklearn import PrimeNgrams
    >>> texts = ["the cat sat on the mat", "the cat sat on a mat", "der Hund schlief"]
    >>> Z = PrimeNgrams(1024).fit_transform(texts)
    >>> Z.shape, (Z @ Z[0] > 0.7).tolist()
    ((3, 1024), [True, True, False])
    """

    def __init__(self, n_components: int = 2048, *, n: int = 3) -> None:
        self.n_components = n_components
        self.n = n

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters; nothing is learned from X."""
        self._check_parameters()
        _texts(X)
        return self

    def _check_parameters(self) -> None:
        whole_number("n", self.n, least=1, most=N_BLOCKS)
        self._n_features_out = even_dimension(self.n_components, name="n_components")
        require_blocks(self._n_features_out // 2, N_BLOCKS)

    def transform(self, X: Any) -> np.ndarray:
        """Return vectors of length 1, or 0 for texts of fewer than n letters.

        float32 of shape (n_texts, n_components): real parts, then imaginary parts.
        """
        self._check_parameters()
        texts = _texts(X)
        counts, ngrams = _counted(texts, self.n)
        k = self._n_features_out // 2
        Z = np.zeros((len(texts), 2 * k), dtype=np.float32)
        for some in row_blocks(len(ngrams), k, _BLOCK_PHASES):
            cos, sin = waves(self._turns(ngrams[some]))
            Z[:, :k] += counts[:, some] @ cos
            Z[:, k:] += counts[:, some] @ sin
        norms = np.linalg.norm(Z, axis=1, keepdims=True)
        return Z / np.where(norms > 0.0, norms, np.float32(1.0))

    def _turns(self, ngrams: list[str]) -> np.ndarray:
        """Return the phases of every n-gram, uint32 of shape (m, k): its letters', added."""
        letters = sorted(set("".join(ngrams)))
        number = {letter: place for place, letter in enumerate(letters)}
        columns = np.array([[number[letter] for letter in ngram] for ngram in ngrams])
        positions = np.array([stable_position(letter) for letter in letters], dtype=np.uint64)
        turns = np.zeros((len(ngrams), self._n_features_out // 2), dtype=np.uint32)
        for place, column in enumerate(columns.T):
            increments = block_increments(turns.shape[1], place)
            turns += round_turns(static_turns(positions, increments))[column]
        return turns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        tags.no_validation = True
        return tags


def _texts(X: Any) -> list[str]:
    if isinstance(X, str):
        raise DataError("X must be a sequence of texts, got one text: pass [text].")
    if isinstance(X, Iterator) or getattr(X, "ndim", 1) != 1:
        raise DataError(
            f"X must be a sequence of texts, got {type(X).__name__}: pass a list, or one column."
        )
    with raised_as(DataError, "X must be a sequence of texts"):
        texts = list(X)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"X must hold texts, got {type(text).__name__} at place {place}: decode it first."
            )
    return texts


def _counted(texts: list[str], n: int) -> tuple[sparse.csc_array, list[str]]:
    """Return how often each n-gram occurs in each text, and the n-grams, in a fixed order."""
    counts = [Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in texts]
    ngrams = sorted(set().union(*counts))
    column = {ngram: place for place, ngram in enumerate(ngrams)}
    rows = [row for row, found in enumerate(counts) for _ in found]
    columns = [column[ngram] for found in counts for ngram in found]
    values = [value for found in counts for value in found.values()]
    shape = (len(texts), len(ngrams))
    table = sparse.coo_array((np.array(values, dtype=np.float32), (rows, columns)), shape=shape)
    return table.tocsc(), ngrams
