"""Bundles of n-grams of letters: similarities of texts, and telling languages apart."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import RidgeClassifierCV
from sklearn.neighbors import NearestCentroid

from primal.errors import MissingPackageError
from primal_studies.hdc import load, ngram_vectors


def test_inner_products_of_texts_approximate_the_cosine_of_their_ngram_counts():
    texts = [
        "a rose is a rose",
        "arise, a rose",
        "thorns have roses",
        "no",
        "une rose est une rose",
    ]
    counts = CountVectorizer(analyzer="char", ngram_range=(3, 3)).fit_transform(texts[:3])
    rows = counts.toarray() / np.sqrt(counts.multiply(counts).sum(axis=1))
    D = 16384
    Z = ngram_vectors(texts, D)
    # Sums over about ten n-grams each, every one with an error of 1 / sqrt(D).
    np.testing.assert_allclose(Z[:3] @ Z[:3].T, np.asarray(rows @ rows.T), atol=5 / np.sqrt(D))
    assert not Z[3].any()  # fewer letters than an n-gram
    assert Z.dtype == np.float32
    np.testing.assert_array_equal(ngram_vectors(texts[1:2], D), Z[1:2])


def test_the_order_of_letters_counts():
    Z = ngram_vectors(["abc", "cba", "bca"], 4096)
    assert np.abs(Z @ Z.T - np.eye(3)).max() < 0.1


@pytest.mark.parametrize("read_out", [NearestCentroid(), RidgeClassifierCV((1e-3, 0.1, 10.0))])
def test_languages_are_told_apart(read_out):
    try:
        X_train, y_train, X_test, y_test = load("languages").split(0)
    except MissingPackageError as error:
        pytest.skip(str(error))
    model = read_out.fit(ngram_vectors(X_train, 1024), y_train)
    assert model.score(ngram_vectors(X_test, 1024), y_test) >= 0.95
