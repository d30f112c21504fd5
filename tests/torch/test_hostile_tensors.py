"""Tensors that few layers expect: nested, sparse and meta ones, results that are written to."""

import math

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from primal import hdc
from primal.errors import DataError, MisfitWarning, ParameterError
from primal.torch import DynamicPrime, Embedding, PrimeFeatures, PrimePositions, StaticPrime, rotate

SPACE = hdc.Space(64, roles=("a",))
LAYERS = {
    "kronecker": DynamicPrime(3, 16, 0.1, basis="auto"),
    "hadamard": DynamicPrime(9, 64, 0.1, basis="hadamard"),
    "fast": DynamicPrime(3, 16, 0.1, basis="auto", precision="fast"),
    "learned": DynamicPrime(
        3, 16, 0.1, precision="fast", learnable_frequencies=True, learnable_scale="input"
    ),
    "kernel": PrimeFeatures(3, 16),
    "weighted": PrimeFeatures(3, 16, method="lattice"),
    "a gamma for each": PrimeFeatures(3, 16, gamma=[1.0, 2.0, 3.0]),
}
POSITIONS = {"static": StaticPrime(16), "positions": PrimePositions(16)}
EMBEDDINGS = {
    "symbols": (Embedding(SPACE.symbols("a"), items=["x", "y"]), torch.int64),
    "integers": (Embedding(SPACE.numbers("a")), torch.int64),
    "levels": (Embedding(SPACE.levels("a", low=0, high=1, n=4)), torch.float32),
    "circular": (Embedding(SPACE.circular("a", period=24)), torch.float32),
    "reals": (Embedding(SPACE.reals("a", d=2)), torch.float32),
}


def nested(d, dtype=torch.float32):
    parts = [torch.ones(n, d, dtype=dtype) for n in (2, 1)]
    return torch.nested.nested_tensor(parts, layout=torch.jagged)


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_points_are_one_dense_tensor(layer):
    with pytest.raises(DataError, match="x must be one tensor, got a nested one: pad it"):
        layer(nested(layer.d))
    with pytest.raises(DataError, match="z must be one tensor, got a nested one"):
        layer.decode(nested(layer.D))


@pytest.mark.parametrize("layer", POSITIONS.values(), ids=POSITIONS)
def test_positions_are_one_dense_tensor(layer):
    with pytest.raises(DataError, match="t must be one tensor, got a nested one"):
        layer(nested(3, torch.int64))
    with pytest.raises(DataError, match=r"t must be dense, got torch\.sparse_coo"):
        layer(torch.tensor([0, 1, 2]).to_sparse())
    with pytest.raises(DataError, match="z must have values, got a tensor on the meta device"):
        layer.decode(torch.ones(2, 16, device="meta"), n=10)


def test_what_is_rotated_is_one_dense_tensor():
    layer = POSITIONS["positions"]
    for x in (nested(16), torch.eye(16).to_sparse()):
        for turn in (lambda x: layer.rotate(x, seq_dim=-2), lambda x: rotate(x, torch.ones(2, 16))):
            with pytest.raises(DataError, match=r"got a nested one|must be dense"):
                turn(x)


@pytest.mark.parametrize("shape", [(), (1,)])
def test_an_offset_lies_where_positions_do(shape):
    offset = torch.ones(shape, dtype=torch.int64, device="meta")
    with pytest.raises(DataError, match="offset on meta and an input tensor on cpu"):
        POSITIONS["positions"].rotate(torch.ones(5, 16), offset=offset)


@pytest.mark.parametrize(("layer", "dtype"), EMBEDDINGS.values(), ids=EMBEDDINGS)
def test_embedded_values_are_one_dense_tensor(layer, dtype):
    with pytest.raises(DataError, match="nested one"):
        layer(nested(2, dtype))
    with pytest.raises(DataError, match="must be dense"):
        layer(torch.eye(2, dtype=dtype).to_sparse())


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("shape", [(4,), (2, 2), ()])
def test_features_can_be_changed_in_place(layer, shape):
    x = torch.randn(*shape, layer.d, generator=torch.Generator().manual_seed(0))
    gradients = []
    for change in (lambda z: z.mul_(2.0).relu_(), lambda z: (2.0 * z).relu()):
        point = x.clone().requires_grad_()
        change(layer(point)).sum().backward()
        gradients.append(point.grad)
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_jacobians_of_many_outputs_at_once(layer):
    """By the older vmap of PyTorch, which knows fewer operations."""
    layer = layer.double() if layer is LAYERS["learned"] else layer
    x = torch.full((2, layer.d), 0.3, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian
    torch.testing.assert_close(jacobian(layer, x, vectorize=True), jacobian(layer, x))


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_erased_features_have_no_inverse(layer):
    """As for the map of the core: without a phase there is no x."""
    z = layer(torch.full((3, layer.d), 0.1, dtype=torch.float64)).detach()
    z[1] = 0.0
    cos, sin = (0, layer.D // 2) if layer.layout == "block" else (0, 1)
    z[2, cos] = z[2, sin] = 0.0
    found = layer.decode(z)
    assert found[0].isfinite().all()
    assert found[1:].isnan().all()
    if layer is not LAYERS["learned"]:
        with pytest.warns(MisfitWarning, match="no phase"):
            expected = layer.map.decode(z.numpy())
        np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-9)


def test_a_kernel_has_a_length_for_each_input():
    gpytorch = pytest.importorskip("gpytorch")
    from primal.torch.gp import gen_prime_features

    with pytest.raises(ParameterError, match="2 length scales and 3 inputs"):
        gen_prime_features(gpytorch.kernels.RBFKernel(ard_num_dims=2), 3, 16)


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_rows_without_phases_are_nan_and_leave_others_alone(layer):
    x = torch.full((5, layer.d), 0.2, dtype=torch.float64)
    expected = layer(x)[0]
    for row, value in enumerate((math.nan, math.inf, -math.inf, 1e300)):
        x[row, row % layer.d] = value
    found = layer(x)
    assert found[:4].isnan().all()
    assert torch.equal(found[4], expected)
