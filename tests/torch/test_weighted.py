"""Layers of weighted frequencies: the bits of the core, derivatives, and what cannot be."""

import copy
import pickle

import numpy as np
import pytest

import primal
from primal.errors import ParameterError
from primal.maps import on

torch = pytest.importorskip("torch")
from primal.torch import PrimeFeatures  # noqa: E402

METHODS = ["lattice", "spectral"]


def points(d=3, n=40):
    return np.random.default_rng(d).standard_normal((n, d))


def core(method="lattice", **options):
    gamma = options.pop("gamma", 0.4)
    return primal.KernelPrime(3, 64, "matern52", gamma, method=method, width=1.0, **options)


@pytest.mark.parametrize("way", ["auto", "eager"])
@pytest.mark.parametrize("layout", ["interleaved", "block"])
@pytest.mark.parametrize("method", METHODS)
def test_same_bits_as_the_core(way, layout, method, monkeypatch):
    monkeypatch.setenv("PRIMAL_TORCH", way)
    m, x = core(method, layout=layout), points()
    layer = PrimeFeatures.from_map(m)
    for dtype in (np.float32, np.float64):
        given = x.astype(dtype)
        found = layer(torch.from_numpy(given)).numpy()
        np.testing.assert_array_equal(found, m.encode(given, dtype=dtype))
    half = layer(torch.from_numpy(x.astype(np.float32))).to(torch.float16)
    cast = PrimeFeatures.from_map(m, dtype=torch.float16)(torch.from_numpy(x.astype(np.float32)))
    assert torch.equal(half, cast)


def test_a_kernel_of_parts_has_the_bits_of_the_core():
    kernel = on(0, "periodic", 2.0, period=1.5) * on(0, "rbf", 0.1) + on([1, 2], "matern52", 0.4)
    m, x = primal.KernelPrime(3, 96, kernel, width=1.0), points().astype(np.float32)
    layer = PrimeFeatures(3, 96, kernel, width=1.0)
    assert layer.map == m
    for made in (layer, PrimeFeatures.from_map(m), pickle.loads(pickle.dumps(layer))):
        np.testing.assert_array_equal(made(torch.from_numpy(x)).numpy(), m.encode(x))
    program = torch.export.export(layer, (torch.from_numpy(x),)).module()
    np.testing.assert_array_equal(program(torch.from_numpy(x)).numpy(), m.encode(x))


def test_one_gamma_for_each_input_and_arguments():
    m = core(gamma=[0.2, 0.4, 0.9])
    layer = PrimeFeatures(
        3, 64, "matern52", [0.2, 0.4, 0.9], method="lattice", width=torch.tensor(1.0)
    )
    x = points().astype(np.float32)
    np.testing.assert_array_equal(layer(torch.from_numpy(x)).numpy(), m.encode(x))
    assert layer.map == m
    # A width is enough: then the rule chooses, and without one the map grows.
    assert PrimeFeatures(2, 64, gamma=0.2, width=1.0).map.method == "lattice"
    assert PrimeFeatures(2, 64, gamma=0.2).map.method == "growable"
    assert layer.fingerprint == m.fingerprint
    x = 0.05 * points()
    np.testing.assert_allclose(layer.decode(layer(torch.from_numpy(x))).numpy(), x, atol=1e-9)


def test_derivatives_and_copies():
    m, x = core(), torch.from_numpy(points(n=4)).requires_grad_()
    layer = PrimeFeatures.from_map(m)
    assert torch.autograd.gradcheck(layer, x)
    assert torch.autograd.gradgradcheck(layer, x)
    for same in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(same(x), layer(x))
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x.detach()), layer(x.detach()))


def test_a_design_does_not_grow():
    with pytest.raises(ParameterError, match="cannot grow"):
        PrimeFeatures.from_map(core()).grow(128)
