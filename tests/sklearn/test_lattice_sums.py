"""Sums and values over a lattice of frequencies: the features themselves are the oracle."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from primal import KernelPrime
from primal.sklearn import PrimeGaussianProcessRegressor
from primal.sklearn import _evidence as evidence_module
from primal.sklearn._lattice import Lattice

RANDOM = np.random.default_rng(0)
SIZES = [(1, 64), (1, 250), (2, 512), (3, 1024), (4, 1024), (5, 1024), (6, 1536), (8, 1024)]


def lattice_and_rows(d, D, layout="interleaved", kernel="rbf"):
    lengths = np.linspace(0.7, 1.4, d)
    options = {"form": "pair", "method": "lattice", "layout": layout}
    m = KernelPrime(d, D, kernel, 0.5, width=np.linspace(0.4, 0.6, d), **options)
    x = RANDOM.uniform(-1.5, 1.5, size=(D, d))
    lattice = Lattice.of(m, lengths)
    assert lattice is not None
    assert lattice.serves(x)
    return lattice, x, m.encode(x / lengths, dtype="float64")


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("layout", ["interleaved", "block"])
@pytest.mark.parametrize(("d", "D"), SIZES)
def test_sums_are_those_of_the_features(d, D, layout, kernel):
    lattice, x, Z = lattice_and_rows(d, D, layout, kernel)
    Y = RANDOM.normal(size=(len(x), 2))
    gram, cross = lattice.sums(x, Y)
    np.testing.assert_allclose(gram, np.triu(Z.T @ Z), rtol=0, atol=1e-14 * np.trace(gram))
    np.testing.assert_allclose(cross, Z.T @ Y, rtol=0, atol=1e-14 * len(x))


@pytest.mark.parametrize("layout", ["interleaved", "block"])
@pytest.mark.parametrize(("d", "D"), SIZES)
def test_values_are_those_of_the_features(d, D, layout):
    lattice, x, Z = lattice_and_rows(d, D, layout)
    weights, root = RANDOM.normal(size=(D, 3)), RANDOM.normal(size=(D, D)) / np.sqrt(D)
    means, squares = lattice.values(x, weights, root.T @ root)
    np.testing.assert_allclose(means, Z @ weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(squares, np.square(Z @ root.T).sum(axis=1), rtol=1e-12)
    alone, nothing = lattice.values(x, weights, None)
    np.testing.assert_allclose(alone, means, rtol=0, atol=1e-13)
    assert nothing.shape == (0,)


@pytest.mark.parametrize("width", [(0.05, 2.0, 0.1), (2.0, 0.05, 0.1)], ids=str)
def test_inputs_of_very_different_widths(width):
    m = KernelPrime(3, 1024, "rbf", 0.5, width=width, form="pair", method="lattice")
    lattice, x = Lattice.of(m, np.ones(3)), RANDOM.normal(size=(1024, 3)) * width
    Z, Y = m.encode(x, dtype="float64"), np.ones((1024, 1))
    gram, cross = lattice.sums(x, Y)
    np.testing.assert_allclose(gram, np.triu(Z.T @ Z), rtol=0, atol=1e-14 * np.trace(gram))
    np.testing.assert_allclose(cross, Z.T @ Y, rtol=0, atol=1e-14 * len(x))
    means, squares = lattice.values(x, cross, np.eye(1024))
    np.testing.assert_allclose(means, Z @ cross, rtol=0, atol=1e-12 * np.abs(cross).sum())
    np.testing.assert_allclose(squares, np.square(Z).sum(axis=1), rtol=1e-12)


def test_blocks_of_rows_change_nothing_but_rounding(monkeypatch):
    lattice, x, _ = lattice_and_rows(2, 512)
    Y = RANDOM.normal(size=(len(x), 1))
    whole = *lattice.sums(x, Y), *lattice.values(x, np.eye(512)[:, :1], np.eye(512))
    monkeypatch.setattr("primal.sklearn._lattice._BLOCK_ROWS", 100)
    parts = *lattice.sums(x, Y), *lattice.values(x, np.eye(512)[:, :1], np.eye(512))
    for found, expected in zip(parts, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_what_does_not_gain_has_no_lattice():
    ones = np.ones(2)
    assert Lattice.of(KernelPrime(2, 512, gamma=0.5), ones) is None
    options = {"gamma": 0.5, "width": 0.5, "form": "pair"}
    assert Lattice.of(KernelPrime(2, 32, method="lattice", **options), ones) is None
    lattice, x, _ = lattice_and_rows(2, 512)
    assert not lattice.serves(x[1:])  # fewer rows than features
    assert not lattice.serves(x * 1e7)  # phases whose fractions float64 does not hold


@pytest.mark.parametrize("kernel", [RBF([0.8, 1.5]), Matern(0.9, nu=2.5)], ids=str)
@pytest.mark.parametrize(("noise", "alpha"), [(0.01, 1e-10), (1e-9, 1e-8)])
@pytest.mark.filterwarnings("ignore:means are about:primal.NumericalWarning")
def test_a_process_is_the_same_with_a_lattice_and_without(kernel, noise, alpha, monkeypatch):
    x, new = RANDOM.uniform(-1, 1, size=(2, 600, 2))
    y = np.stack([np.sin(3.0 * x.sum(axis=1)), 5.0 + x[:, 0] ** 2], axis=1)
    y += noise**0.5 * RANDOM.normal(size=y.shape)
    kernel = 2.0 * kernel + WhiteKernel(noise)
    options = {"n_components": 512, "optimizer": None, "normalize_y": True, "alpha": alpha}

    def results():
        model = PrimeGaussianProcessRegressor(kernel, **options).fit(x, y)
        mean, std = model.predict(new, return_std=True)
        return mean, std, model.predict(new), model.log_marginal_likelihood_value_, model

    encoded = []
    feature_blocks = evidence_module.feature_blocks

    def counted(m, x, lengths):
        encoded.append(len(x))
        return feature_blocks(m, x, lengths)

    monkeypatch.setattr(evidence_module, "feature_blocks", counted)
    *found, model = results()
    n_encoded = sum(encoded)
    monkeypatch.setattr(Lattice, "serves", lambda *_: False)
    *expected, _ = results()
    assert sum(encoded) - n_encoded == 3 * 600
    # Features are made for variances that a sum of signed terms would lose, and for no others.
    posterior, lengths = model._solved(), model.kernel_.k1.k2.length_scale
    spread = posterior.spread(model.map_.encode(new / lengths, dtype="float64"))
    variances = posterior.ratio * np.square(spread).sum(axis=1)
    assert n_encoded == np.count_nonzero(variances < 1e-9)
    if isinstance(kernel.k1.k2, RBF) and not isinstance(kernel.k1.k2, Matern):  # a smooth one
        assert (n_encoded > 0) == (noise < 0.01)
    for values, others in zip(found, expected, strict=True):
        np.testing.assert_allclose(values, others, rtol=1e-5 if noise < 0.01 else 1e-9)
