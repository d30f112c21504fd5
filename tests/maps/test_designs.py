"""Frequencies with weights: the lattice, and the rule that chooses."""

import json
import pickle

import numpy as np
import pytest

import primal
from primal.errors import NotInvertibleError, ParameterError
from primal.exact import installed_engines
from primal.maps import KERNELS, kernel_matrix
from primal.maps._closed_form import best_weights, chi_mixture, gaussian, gram, relative_error
from primal.maps._design import _DISTANCES, _judged, _plain_lattice, _weighted, lattice_nodes

LAWS = {
    "normal": lambda rng, n, d: rng.standard_normal((n, d)),
    "uniform": lambda rng, n, d: rng.uniform(-1.0, 1.0, (n, d)),
    "laplace": lambda rng, n, d: rng.laplace(size=(n, d)),
    "clusters": lambda rng, n, d: 3.0 * rng.integers(-1, 2, (n, d)) + rng.standard_normal((n, d)),
    "unequal": lambda rng, n, d: rng.standard_normal((n, d)) * np.geomspace(1.0, 0.1, d),
    "together": lambda rng, n, d: rng.standard_normal((n, 1)) + 0.05 * rng.standard_normal((n, d)),
}


def data(law, d, n=250):
    x = LAWS[law](np.random.default_rng(d), n, d)
    squares = np.square(x[:, None] - x).sum(axis=-1)
    return x, 1.0 / float(np.median(squares[np.triu_indices(n, 1)]))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("d", "D", "bar"), [(1, 64, 1e-9), (2, 256, 3e-5), (3, 1024, 3e-4), (4, 1024, 7e-3)]
)
def test_few_inputs_have_small_errors_that_are_predicted(d, D, bar, law):
    x, gamma = data(law, d)
    for width in (None, x.std(axis=0)):
        m = primal.KernelPrime(d, D, gamma=gamma, method="auto", width=width)
        error = m.kernel_error(x)
        assert m.method == "lattice"
        assert error <= bar
        # By theory for Gaussian data; tails of Laplace's law reach further.
        assert error <= (4.0 if law == "laplace" else 2.0) * m.predicted_error + 1e-14
        if law == "normal" and width is not None and d > 1:
            # The prediction is the largest of several laws; this one is the first of them.
            assert error >= 0.3 * m.basis.nodes.errors[0]


def test_float32_features_reach_float32():
    x, gamma = data("normal", 1)
    z = primal.KernelPrime(1, 64, gamma=gamma, method="lattice").encode(x).astype(np.float64)
    exact = kernel_matrix("rbf", x, gamma)
    assert np.linalg.norm(z @ z.T - exact) <= 1e-6 * np.linalg.norm(exact)


@pytest.mark.parametrize("kernel", ["rbf", "matern52", "cauchy", "rational1"])
@pytest.mark.parametrize("d", [2, 4, 5, 8])
@pytest.mark.parametrize("law", ["laplace", "together"])
@pytest.mark.parametrize("factor", [0.05, 1.0, 30.0])
def test_auto_is_never_much_worse_than_the_growable_map(kernel, d, factor, law):
    x, gamma = data(law, d, 150)
    options = {"d": d, "D": 128, "kernel": kernel, "gamma": factor * gamma}
    auto = primal.KernelPrime(**options, method="auto", width=x.std(axis=0))
    assert auto.kernel_error(x) <= 1.02 * primal.KernelPrime(**options).kernel_error(x)


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "rational1"])
@pytest.mark.parametrize("tau", [(1.5,), (1.0, 0.5)], ids=str)
def test_no_distance_of_copies_has_a_smaller_error_after_weighting(kernel, tau):
    mixture, widths = KERNELS[kernel].mixture(), np.array(tau)
    reach = np.sqrt(1.0 + 2.0 * widths**2)
    lattices = [_plain_lattice(mixture, 64, widths, distance * reach) for distance in _DISTANCES]
    errors = [
        _judged(mixture, _weighted(mixture, nodes, widths), widths).predicted_error
        for nodes in lattices
    ]
    assert lattice_nodes(mixture, 64, widths).predicted_error == min(errors)


@pytest.mark.parametrize("n_moving", [1, 2, 3])
def test_columns_that_move_together_have_their_own_prediction(n_moving):
    """The mean over differences of that law, of a lattice made for independent columns."""
    m = primal.KernelPrime(3, 64, "matern52", 0.4, method="lattice", width=[0.5, 1.5, 1.0])
    rng, tau = np.random.default_rng(0), np.sqrt(2.0) * np.array(m.width)
    normal = rng.standard_normal((100_000, 3))
    for column in ([], [2], [2, 0])[n_moving - 1]:  # moves as the widest one does
        normal[:, column] = normal[:, 1]
    t = normal * tau
    exact = KERNELS["matern52"].values(np.sqrt(0.4) * t)
    waves = np.cos(2.0 * np.pi * (t @ m.frequencies.T)) @ m.basis.weights
    found = np.sqrt(np.square(waves - exact).mean() / np.square(exact).mean())
    assert found == pytest.approx(m.basis.nodes.errors[n_moving - 1], rel=0.03)
    assert m.basis.nodes.predicted_error == max(m.basis.nodes.errors)
    # What is printed is measured, on points of the first and of the last of these laws.
    expected = max(m.basis.nodes.errors[0], m.basis.nodes.errors[-1])
    assert m.predicted_error == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "prime"])
@pytest.mark.parametrize("method", ["growable", "lattice"])
def test_every_kernel_converges(kernel, method):
    """To the kernel function, which is not the code that made the frequencies."""
    x, gamma = data("uniform", 2)
    errors = [
        primal.KernelPrime(2, D, kernel, gamma, method=method).kernel_error(x)
        for D in (32, 256, 2048)
    ]
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.3 * errors[0]


@pytest.mark.parametrize("kernel", [name for name in KERNELS if name != "prime"])
def test_a_mixture_is_its_kernel(kernel):
    mixture, t = KERNELS[kernel].mixture(), np.linspace(0.0, 4.0, 9)
    values = (mixture.chances * np.exp(-0.5 * mixture.rates * t[:, None] ** 2)).sum(axis=1)
    unit = t / KERNELS[kernel].factor  # at gamma = 1 the length scale is one over the factor
    np.testing.assert_allclose(values, KERNELS[kernel].values(unit[:, None]), atol=2e-6)


@pytest.mark.parametrize("mixture", [gaussian(), chi_mixture(5, inverse=True)])
@pytest.mark.parametrize("each", [False, True])
def test_the_closed_form_is_the_mean_over_gaussian_differences(mixture, each):
    mixture = type(mixture)(mixture.rates, mixture.chances, each)
    tau, frequencies = np.array([0.7, 1.3]), np.random.default_rng(0).standard_normal((6, 2))
    nodes, masses = np.polynomial.hermite_e.hermegauss(240)
    t = tau * np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    chances = np.multiply.outer(masses, masses).reshape(-1) / (2.0 * np.pi)

    def kernel(t):
        squares = t * t if each else np.square(t).sum(axis=1, keepdims=True)
        parts = mixture.chances * np.exp(-0.5 * mixture.rates * squares[..., None])
        return parts.sum(axis=-1).prod(axis=1)

    waves = np.cos(t @ frequencies.T)
    weighted = chances[:, None] * waves
    np.testing.assert_allclose(gram(frequencies, tau), waves.T @ weighted, atol=1e-12)
    found = mixture.overlaps(frequencies, tau)
    np.testing.assert_allclose(found, weighted.T @ kernel(t), atol=1e-5)
    for shift in (np.zeros(2), np.array([0.0, 0.9])):
        mean = chances @ np.square(kernel(t + shift))
        assert mixture.square(tau, shift) == pytest.approx(mean, abs=1e-5)
    assert mixture.square(tau) == mixture.square(tau, np.zeros(2))


def test_best_weights_lower_the_error_and_keep_the_kernel_at_zero():
    rng = np.random.default_rng(2)
    tau, frequencies = np.ones(3), rng.standard_normal((60, 3))
    mixture = gaussian()
    Q, b, c = gram(frequencies, tau), mixture.overlaps(frequencies, tau), mixture.square(tau)
    equal = np.full(60, 1.0 / 60)
    weights = best_weights(Q, b, equal, 40)
    assert weights.min() > 0.0
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)
    assert relative_error(Q, b, c, weights) < 0.6 * relative_error(Q, b, c, equal)


@pytest.mark.parametrize("method", ["lattice", "spectral"])
def test_a_design_is_rebuilt_from_its_spec(method):
    m = primal.KernelPrime(3, 64, gamma=[0.2, 0.4, 1.0], method=method, width=[1.0, 0.5, 2.0])
    again = primal.from_spec(json.loads(json.dumps(m.spec)))
    x = np.random.default_rng(0).standard_normal((5, 3))
    assert again == m == pickle.loads(pickle.dumps(m))
    assert hash(again) == hash(m)
    assert again.fingerprint == m.fingerprint
    assert primal.from_spec(m.basis.spec) == m.basis
    np.testing.assert_array_equal(again.encode(x), m.encode(x))
    z = m.encode(x, dtype="float64")
    np.testing.assert_allclose(np.square(z).sum(axis=1), 1.0, atol=1e-14)


def test_golden_bits_of_designs():
    """The same on every machine: a change of one bit needs a new name."""
    prints = {
        method: primal.KernelPrime(3, 32, "matern52", 0.5, method=method).fingerprint[:16]
        for method in ("lattice", "spectral")
    }
    assert prints == {
        "lattice": "f37905cae38a5bc0",
        "spectral": "00c209781ccee771",
    }


@pytest.mark.parametrize("layout", ["block", "interleaved"])
def test_engines_and_layouts_agree(layout, monkeypatch):
    x = np.random.default_rng(3).standard_normal((700, 2))
    options = {"gamma": 0.7, "method": "lattice", "layout": layout}
    m = primal.KernelPrime(2, 96, **options)
    for dtype in ("float32", "float64"):
        found = []
        for engine in installed_engines():
            monkeypatch.setenv("PRIMAL_ENGINE", engine)
            found.append(m.encode(x, dtype=dtype))
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(m.encode(x[5:6], dtype=dtype), found[0][5:6])


def test_designs_decode_and_do_not_grow():
    m = primal.KernelPrime(3, 128, gamma=0.01, method="lattice", width=1.0)
    x = np.random.default_rng(4).uniform(-0.4, 0.4, (20, 3))
    np.testing.assert_allclose(m.decode(m.encode(x)), x, atol=1e-5)
    with pytest.raises(ParameterError, match="cannot grow"):
        m.grow(256)
    with pytest.raises(ParameterError, match="cannot grow"):
        m.basis.grow(100)
    assert m.grow(128) == m
    with pytest.raises(NotInvertibleError, match=r"m\.map"):
        m.decode_plan(prior=None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"d": 9, "D": 64, "method": "lattice"}, "d up to 8"),
        ({"d": 9, "D": 64, "method": "spectral"}, "d up to 8"),
        ({"d": 2, "D": 33, "method": "lattice"}, "even D"),
        ({"d": 2, "D": 1 << 18, "method": "lattice"}, "even D of 2 to 131072"),
        ({"d": 2, "D": 64, "method": "lattice", "form": "offset"}, "form='pair'"),
        ({"d": 2, "D": 64, "method": "lattice", "basis": "table"}, "leave out basis"),
        ({"d": 2, "D": 64, "method": "lattice", "kernel": "prime"}, "no closed form"),
        ({"d": 2, "D": 64, "method": "nodes"}, "method must be one of"),
        ({"d": 2, "D": 64, "method": "auto", "width": -1.0}, "width"),
    ],
)
def test_what_cannot_be_made_is_refused(options, said):
    with pytest.raises(ParameterError, match=said):
        primal.KernelPrime(**options)


@pytest.mark.parametrize(("d", "D"), [(7, 64), (8, 32)])
def test_a_lattice_far_too_small_for_the_law_knows_it(d, D):
    """Of points so far apart that their kernel matrix is nearly an identity."""
    options = {"d": d, "D": D, "kernel": "laplacian", "gamma": 5.0, "width": 3.0}
    m = primal.KernelPrime(**options, method="lattice")
    assert m.basis.nodes.predicted_error > 1.0
    assert m.predicted_error == 1.0  # no larger error is promised
    assert primal.KernelPrime(**options, method="auto").method == "growable"


@pytest.mark.parametrize("method", ["lattice", "spectral", "auto"])
def test_a_design_may_have_fewer_pairs_than_inputs(method):
    assert primal.KernelPrime(3, 4, method=method).form == "pair"


def test_auto_keeps_what_has_no_design():
    for options in ({"d": 1, "D": 1}, {"d": 30, "D": 64}, {"d": 2, "D": 64, "kernel": "prime"}):
        assert primal.KernelPrime(**options, method="auto").method == "growable"
    plain = primal.KernelPrime(40, 64)
    assert primal.KernelPrime(40, 64, method="auto").spec == plain.spec
    assert "method" not in plain.spec
