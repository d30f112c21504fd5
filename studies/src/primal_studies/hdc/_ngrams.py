"""Texts as bundles of the codes of their n-grams of letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from primal._hash import stable_position
from primal.exact import block_increments, round_turns, static_turns, waves

__all__ = ["ngram_vectors"]

_BLOCK_ROWS = 4096


def ngram_vectors(texts: Sequence[str] | np.ndarray, D: int, n: int = 3) -> np.ndarray:
    """Return vectors of length 1, float32 of shape (n_texts, D): real, then imaginary parts.

    Each place of an n-gram has its own block of primes, in which every letter has a code. The
    phases of an n-gram are the sum of the phases of its letters, and a text is the sum of its
    n-grams. So the inner product of two texts approximates the cosine similarity of their counts
    of n-grams. Texts of fewer than n letters have zeros.

    Examples
    --------
    >>> from primal_studies.hdc import ngram_vectors
    >>> texts = ["the cat sat on the mat", "the cat sat on a mat", "der Hund schlief"]
    >>> (ngram_vectors(texts, 1024) @ ngram_vectors(texts, 1024)[0] > 0.7).tolist()
    [True, True, False]
    """
    found = [Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in texts]
    ngrams = sorted(set().union(*found))
    column = {ngram: place for place, ngram in enumerate(ngrams)}
    counts = sparse.lil_array((len(texts), len(ngrams)), dtype=np.float32)
    for row, counted in enumerate(found):
        for ngram, count in counted.items():
            counts[row, column[ngram]] = count
    counts, Z = counts.tocsc(), np.zeros((len(texts), D), dtype=np.float32)
    for first in range(0, len(ngrams), _BLOCK_ROWS):
        some = slice(first, first + _BLOCK_ROWS)
        Z += counts[:, some] @ np.hstack(waves(_turns(ngrams[some], D // 2)))
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(norms > 0.0, norms, np.float32(1.0))


def _turns(ngrams: list[str], k: int) -> np.ndarray:
    """Return the phases of every n-gram, uint32 of shape (m, k): those of its letters, added."""
    letters = sorted(set("".join(ngrams)))
    number = {letter: place for place, letter in enumerate(letters)}
    positions = np.array([stable_position(letter) for letter in letters], dtype=np.uint64)
    turns = np.zeros((len(ngrams), k), dtype=np.uint32)
    for place, of_ngrams in enumerate(zip(*ngrams, strict=True)):
        codes = round_turns(static_turns(positions, block_increments(k, place)))
        turns += codes[[number[letter] for letter in of_ngrams]]
    return turns
