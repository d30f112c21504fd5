"""The same bits from every door: core, scikit-learn, PyTorch and hdc."""

import numpy as np
import pytest

import primal
from primal import hdc
from primal.maps import KERNELS, column_widths

DIMENSIONS = [*range(1, 13), 64]
GAMMA, D = 0.37, 48


def points(d):
    return np.random.default_rng(d).standard_normal((9, d)).astype(np.float32)


def core(d, kernel):
    return primal.KernelPrime(d, D, kernel, GAMMA, form="pair")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_scikit_learn(d, kernel):
    sklearn = pytest.importorskip("primal.sklearn")
    x = points(d)
    features = sklearn.PrimeFeatures(D, kernel=kernel, gamma=GAMMA, form="pair").fit(x)
    m = primal.KernelPrime(d, D, kernel, GAMMA, form="pair", width=column_widths(x))
    np.testing.assert_array_equal(features.transform(x), m.encode(x))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_pytorch(d, kernel):
    torch = pytest.importorskip("torch")
    import primal.torch

    x, m = points(d), core(d, kernel)
    layer = primal.torch.PrimeFeatures.from_map(m)
    np.testing.assert_array_equal(layer(torch.from_numpy(x)).numpy(), m.encode(x))
    assert layer.fingerprint == m.fingerprint
    if kernel != "prime":
        scale = 1.0 / KERNELS[kernel].scale(GAMMA)
        named = primal.torch.PrimeFeatures(d, D, kernel=kernel, lengthscale=scale)
        assert named.basis.name == m.basis.name


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_hdc(d, kernel):
    x = points(d)
    codes = hdc.Space(D).reals(d=d, kernel=kernel, gamma=GAMMA).encode(x)
    np.testing.assert_array_equal(codes.turns, core(d, kernel).turns(x))


@pytest.mark.parametrize("d", DIMENSIONS)
def test_one_rule_auto(d):
    pytest.importorskip("torch")
    import primal.torch as torch_room

    names = {
        primal.Basis("auto", d, 4).name,
        primal.DynamicPrime(d, 8, basis="auto").basis.name,
        primal.KernelPrime(d, 8).basis.name,
        torch_room.DynamicPrime(d, 8, basis="auto").basis.name,
        torch_room.PrimeFeatures(d, 8).basis.name,
    }
    assert len(names) == 1
