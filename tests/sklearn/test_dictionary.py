"""PrimeDictionary: the guarantee of its certificate, the algorithms, pickles, errors."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.decomposition import SparseCoder
from sklearn.linear_model import orthogonal_mp

from primal.errors import ParameterError
from primal.sklearn import PrimeDictionary


def fitted(n_atoms: int, d: int, **options) -> PrimeDictionary:
    return PrimeDictionary(n_atoms, **options).fit(np.zeros((1, d)))


def sparse_rows(n_rows: int, n_atoms: int, sparsity: int, seed: int) -> np.ndarray:
    """Rows with `sparsity` entries whose sizes differ by up to a hundred times."""
    generator = np.random.default_rng(seed)
    rows = np.zeros((n_rows, n_atoms))
    for row in rows:
        at = generator.choice(n_atoms, sparsity, replace=False)
        row[at] = generator.choice([-1, 1], sparsity) * 10.0 ** generator.uniform(-1, 1, sparsity)
    return rows


@pytest.mark.parametrize("kind", ["auto", "static", "shadow"])
@pytest.mark.parametrize(("n_atoms", "d"), [(64, 32), (256, 64), (200, 90)])
def test_rows_up_to_the_guaranteed_sparsity_come_back(n_atoms, d, kind):
    dictionary = fitted(n_atoms, d, kind=kind)
    sparsity = dictionary.guaranteed_sparsity_
    assert sparsity >= 1
    code = sparse_rows(200, n_atoms, sparsity, seed=d)
    found = dictionary.transform(dictionary.inverse_transform(code))
    np.testing.assert_allclose(found, code, atol=1e-9)


def test_the_guarantee_is_the_largest_that_mu_allows():
    for n_atoms, d in itertools.product((5, 40, 300), (4, 30)):
        dictionary = fitted(n_atoms, d, kind="static" if n_atoms > d else "orthonormal")
        atoms = dictionary.components_
        cosines = np.abs(atoms @ atoms.T - np.eye(n_atoms))
        limit = (1 + 1 / max(cosines.max(), 1e-9)) / 2
        s = dictionary.guaranteed_sparsity_
        assert s < limit
        assert s == min(n_atoms, d) or s + 1 >= limit


def test_an_orthonormal_dictionary_recovers_everything():
    dictionary = fitted(16, 16)
    code = np.random.default_rng(0).standard_normal((5, 16))
    assert dictionary.guaranteed_sparsity_ == 16
    np.testing.assert_allclose(dictionary.transform(code @ dictionary.components_), code)


def test_atoms_have_length_one_and_the_certified_cosine():
    dictionary = fitted(256, 64, kind="shadow")
    gram = dictionary.components_ @ dictionary.components_.T
    np.testing.assert_allclose(np.diag(gram), 1.0, rtol=1e-12)
    worst = np.abs(gram - np.eye(256)).max()
    assert worst == pytest.approx(dictionary.certificate_.coherence, abs=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"transform_algorithm": "omp", "transform_n_nonzero_coefs": 5},
        {"transform_algorithm": "lars", "transform_n_nonzero_coefs": 5},
        {"transform_algorithm": "lasso_lars", "transform_alpha": 0.1},
        {"transform_algorithm": "lasso_cd", "transform_alpha": 0.5, "positive_code": True},
        {"transform_algorithm": "threshold", "transform_alpha": 0.3},
    ],
)
def test_codes_are_those_of_scikit_learns_sparse_coder(options):
    X = np.random.default_rng(1).standard_normal((10, 24))
    dictionary = fitted(96, 24, **options)
    peer = SparseCoder(dictionary.components_, **options)
    np.testing.assert_array_equal(dictionary.transform(X), peer.fit(X).transform(X))


def test_matching_pursuit_stops_at_a_given_error():
    X = np.random.default_rng(2).standard_normal((8, 24))
    dictionary = fitted(96, 24, transform_alpha=0.5)
    code = dictionary.transform(X)
    assert (np.square(dictionary.inverse_transform(code) - X).sum(axis=1) <= 0.5).all()
    expected = orthogonal_mp(dictionary.components_.T, X.T, tol=0.5).T
    np.testing.assert_allclose(code, expected, atol=1e-9)


def test_a_pickle_is_small_and_gives_the_same_codes():
    dictionary = fitted(4096, 256, kind="static")
    blob = pickle.dumps(dictionary)
    assert len(blob) < 3000
    again = pickle.loads(blob)
    np.testing.assert_array_equal(again.components_, dictionary.components_)
    assert again.certificate_ == dictionary.certificate_


def test_defaults_and_names():
    dictionary = PrimeDictionary().fit(np.zeros((1, 8)))
    assert dictionary.components_.shape == (32, 8)
    assert dictionary.get_feature_names_out()[-1] == "primedictionary31"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ParameterError, "n_components"),
        ({"kind": "gauss"}, ParameterError, "gauss"),
        ({"transform_algorithm": "best"}, ParameterError, "best"),
        ({"transform_n_nonzero_coefs": 0}, ParameterError, "transform_n_nonzero_coefs"),
        ({"positive_code": True}, ParameterError, "positive_code"),
        ({"n_components": 40, "kind": "orthonormal"}, ParameterError, "at most D = 8"),
    ],
)
def test_bad_parameters_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        PrimeDictionary(**options).fit(np.zeros((1, 8)))


def test_a_code_of_the_wrong_length_is_refused():
    with pytest.raises(ParameterError, match="32 columns, got 5"):
        fitted(32, 8).inverse_transform(np.zeros((1, 5)))
