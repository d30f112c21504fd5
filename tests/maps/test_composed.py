"""Kernels made of parts: sums and products on columns, and the periodic kernel."""

import json
import pickle

import numpy as np
import pytest
from c_core import require_core

import primal
from primal.errors import ParameterError
from primal.maps import KernelSum, kernel_matrix, on
from primal.maps._composed import _fourier_weights

X = np.random.default_rng(0).standard_normal((150, 4))
QUASI = on(0, "periodic", 2.0, period=1.5) * on(0, "rbf", 0.1)
# Each with sizes, and the error that the largest has at most.
CASES = {
    "periodic": (on(0, "periodic", 2.0, period=1.5), (4, 8, 16), 1e-6),
    "sharp": (on(3, "periodic", 100.0, period=0.7), (32, 64, 128), 1e-12),
    "two periods": (on([0, 2], "periodic", [1.0, 0.5], period=[2.0, 1.3]), (16, 32, 64), 1e-5),
    "beating": (on(0, "periodic", period=1.0) * on(0, "periodic", period=0.9), (8, 32, 128), 1e-7),
    "quasiperiodic": (QUASI, (32, 128, 512), 1e-7),
    "quasiperiodic Matern": (QUASI * on(1, "matern52", 0.2), (32, 256, 1024), 0.05),
    "groups": (on([0, 1], "rbf", 0.25) * on(2, "matern52", 0.5), (32, 128, 512), 0.01),
    "three": (
        on([0, 1], "matern32", 0.1) * on(2, "laplacian", 0.2) * on(3, "cauchy", 0.1),
        (32, 256, 2048),
        0.05,
    ),
    "sum": (on([0, 1], "rbf", 0.25) + 2.0 * on(2, "rational1", 0.3), (32, 128, 512), 2e-3),
    "sum of all": (on(0) + 0.3 * on([1, 2], "matern12", 0.1) + 0.5 * QUASI, (32, 256, 2048), 0.02),
}


@pytest.mark.parametrize("case", CASES)
def test_features_converge_to_the_kernel_as_predicted(case):
    kernel, sizes, bar = CASES[case]
    maps = [primal.KernelPrime(4, D, kernel, width=1.0) for D in sizes]
    errors = [m.kernel_error(X) for m in maps]
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < bar
    for m, error in zip(maps, errors, strict=True):
        assert error / 3.0 <= m.predicted_error + 1e-14
        assert m.predicted_error <= 3.0 * error
        z = m.encode(X, dtype="float64")
        np.testing.assert_allclose(np.square(z).sum(axis=1), kernel.values(np.zeros(4)), rtol=1e-13)


def test_kernel_functions():
    t = X[0] - X[1]
    periodic = on([0, 2], "periodic", [3.0, 0.5], period=[1.5, 0.7])
    sines = np.square(np.sin(np.pi * t[[0, 2]] / [1.5, 0.7]))
    expected = np.exp(-3.0 * sines[0] - 0.5 * sines[1])
    assert periodic.values(t) == pytest.approx(expected, rel=1e-14)
    kernel = 2.0 * (periodic + on(1, "laplacian", 0.4)) * on(3, "rbf", 0.3)
    expected = 2.0 * (expected + np.exp(-0.4 * abs(t[1]))) * np.exp(-0.3 * t[3] ** 2)
    assert kernel.values(t) == pytest.approx(expected, rel=1e-14)
    assert kernel_matrix(kernel, X)[0, 1] == pytest.approx(expected, rel=1e-14)
    named = kernel_matrix("matern32", X[:, [2, 0]], [0.1, 0.7])
    parts = kernel_matrix(on([2, 0], "matern32", [0.1, 0.7]), X)
    np.testing.assert_allclose(parts, named, rtol=1e-14)


@pytest.mark.parametrize("a", [1e-9, 0.5, 40.0, 5e5])
def test_weights_of_harmonics_are_those_of_bessel_functions(a):
    special = pytest.importorskip("scipy.special")
    found = _fourier_weights(a)
    expected = special.ive(np.arange(len(found)), a)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-16 * expected[0])
    assert expected[-1] < 1e-20 * expected[0]
    assert len(_fourier_weights(a, 5000)) >= 5001


def test_periodic_features_repeat_to_the_bit():
    m = primal.KernelPrime(1, 32, on(0, "periodic", 3.0, period=0.375))
    k = np.sort(m.frequencies[:, 0])
    np.testing.assert_allclose(k, np.arange(16) / 0.375, rtol=1e-15)
    m = primal.KernelPrime(1, 32, on(0, "periodic", 3.0, period=0.25))
    x = np.arange(40)[:, None] / 64.0
    for dtype in ("float32", "float64"):
        moved = m.encode(x + 1e6 * 0.25, dtype=dtype)
        np.testing.assert_array_equal(moved, m.encode(x, dtype=dtype))


def test_a_product_of_gaussian_kernels_is_one_with_a_gamma_for_each_column():
    gammas, width = [0.2, 0.5, 0.9], [1.0, 0.5, 0.7]
    one = primal.KernelPrime(3, 256, gamma=gammas, method="lattice", width=width)
    kernel = on(0, gamma=0.2) * on([1, 2], gamma=[0.5, 0.9])
    two = primal.KernelPrime(3, 256, kernel, width=width)
    np.testing.assert_array_equal(two.basis.weights, one.basis.weights)
    np.testing.assert_allclose(two.frequencies, one.frequencies, rtol=1e-14)
    assert two.predicted_error == one.predicted_error


def test_a_sum_has_the_features_of_its_terms_side_by_side():
    a, b = on([0, 1], "rbf", 0.3), 4.0 * on([2, 3], "matern52", 0.3)
    m = primal.KernelPrime(4, 160, a + b, width=1.0)
    parts = [primal.KernelPrime(4, D, term, width=1.0) for D, term in ((32, a), (128, b))]
    expected = np.hstack([part.encode(X, dtype="float64") for part in parts])
    np.testing.assert_allclose(m.encode(X, dtype="float64"), expected, atol=1e-14)
    # A periodic term gets no more than its harmonics.
    m = primal.KernelPrime(4, 512, on(0, "periodic", 0.01, period=1.0) + b, width=1.0)
    assert (m.frequencies[:, 2:].any(axis=1)).sum() > 240
    only = primal.KernelPrime(1, 512, on(0, "periodic", 0.01, period=1.0))
    assert only.basis.n_frequencies == 256
    assert only.kernel_error(X[:, :1]) < 1e-14


def test_algebra():
    a, b, c = on(0), on(1, "cauchy"), on(2, "periodic", period=2.0)
    assert (a + b) * c == a * c + b * c
    assert 2 * (a + b) == a * 2.0 + 2.0 * b
    assert sum([a, b, c]) == a + b + c
    assert repr(0.5 * a * c + b) == (
        "0.5 * on([0], 'rbf', 1.0) * on([2], 'periodic', 1.0, period=2.0) + on([1], 'cauchy', 1.0)"
    )
    assert eval(repr(0.5 * a * c + b)) == 0.5 * a * c + b
    assert primal.KernelPrime(3, 4, a).method == "composed"  # pairs, even of few features


def test_a_composed_map_is_rebuilt_from_its_spec():
    kernel, _, _ = CASES["sum of all"]
    m = primal.KernelPrime(4, 128, kernel, width=[1.0, 0.5, 2.0, 1.0], layout="block")
    again = primal.from_spec(json.loads(json.dumps(m.spec)))
    assert again == m == pickle.loads(pickle.dumps(m))
    assert hash(again) == hash(m)
    assert again.fingerprint == m.fingerprint
    assert primal.from_spec(m.basis.spec) == m.basis
    assert primal.from_spec(json.loads(json.dumps(kernel.spec))) == kernel
    np.testing.assert_array_equal(again.encode(X), m.encode(X))
    cos, sin = np.split(m.encode(X, dtype="float64"), 2, axis=1)
    np.testing.assert_allclose(cos**2 + sin**2, np.tile(m.amplitudes**2, (150, 1)), atol=1e-15)


def test_golden_bits_of_a_composed_map():
    """The same on every machine: a change of one bit needs a new name."""
    m = primal.KernelPrime(3, 64, QUASI * on(1, "matern52", 0.2) + 0.5 * on(2, "laplacian", 0.3))
    assert m.fingerprint[:16] == "b467b895d7948fd3"


def test_engines_agree(monkeypatch):
    require_core()
    m = primal.KernelPrime(4, 96, CASES["sum of all"][0], width=1.0)
    found = []
    for engine in ("numpy", "native"):
        monkeypatch.setenv("PRIMAL_ENGINE", engine)
        found.append(m.encode(X))
    np.testing.assert_array_equal(*found)


def test_narrow_data_decode():
    m = primal.KernelPrime(2, 64, on(0, "rbf", 0.01) + on(1, "matern52", 0.01), width=1.0)
    x = 0.2 * X[:, :2]
    np.testing.assert_allclose(m.decode(m.encode(x, dtype="float64")), x, atol=1e-9)
    with pytest.raises(ParameterError, match="'composed' cannot grow"):
        m.grow(128)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: on(0, "prime"), "kernel must be one of"),
        (lambda: on(0, "arccosine"), "kernel must be one of"),
        (lambda: on([0, 0]), "different ones"),
        (lambda: on([]), "different ones"),
        (lambda: on(-1), "at least 0"),
        (lambda: on(0, "periodic"), "needs a period"),
        (lambda: on(0, "periodic", "scale", period=1.0), "gamma"),
        (lambda: on([0, 1], "periodic", period=[1.0, 0.0]), r"period\[1\]"),
        (lambda: on(0, period=1.0), "has no period"),
        (lambda: on([0, 1], gamma=[1.0, 2.0, 3.0]), "gamma must be one number or one for each"),
        (lambda: on([0, 1]) * on([1, 2], "cauchy"), "column 1 is in two kernels"),
        (lambda: -1.0 * on(0), "must be positive"),
        (lambda: KernelSum(()), "terms must hold"),
        (lambda: KernelSum(((1.0, ()),)), "terms must hold"),
        (lambda: KernelSum("rbf"), "terms must be"),
        (lambda: on(3).values([1.0, 2.0]), "on column 3, and t has 2"),
        (lambda: on(3, "rbf", "scale").resolved(X[:, :2]), "on column 3, and X has 2"),
        (lambda: primal.KernelPrime(2, 64, on(2)), "on column 2, and x has 2"),
        (lambda: primal.KernelPrime(2, 64, on(0), 0.5), "leave out gamma=0.5"),
        (lambda: primal.KernelPrime(2, 64, on(0, "rbf", "scale")), "give numbers"),
        (lambda: primal.KernelPrime(2, 64, on(0), method="growable"), "leave out method"),
        (lambda: primal.KernelPrime(2, 64, method="composed"), "made of parts"),
        (lambda: primal.KernelPrime(2, 63, on(0)), "even D"),
        (lambda: primal.KernelPrime(2, 64, on(0), form="offset"), "form='pair'"),
        (lambda: primal.KernelPrime(2, 64, on(0), basis="table"), "leave out basis"),
        (lambda: primal.KernelPrime(2, 2, on(0) + on(1)), "2 terms needs as many pairs"),
    ],
)
def test_what_cannot_be_made_is_refused(make, said):
    with pytest.raises(ParameterError, match=said):
        make()
