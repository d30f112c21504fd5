"""Derivatives of layers: of every order, by x and by what is learned, forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import primal.torch as pt  # noqa: E402
from primal._selftest import sample_points  # noqa: E402
from primal.maps import LAYOUTS  # noqa: E402
from primal.torch._derivatives import features  # noqa: E402


def points(n: int, d: int) -> torch.Tensor:
    return torch.from_numpy(sample_points(n, d))


# PyTorch's forward mode compiles its own helpers with a function that it deprecates.
@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("precision", ["exact", "fast"])
class TestDerivatives:
    def layer(self, layout, precision):
        return pt.DynamicPrime(
            3, 6, 0.2, basis="auto", layout=layout, precision=precision, dtype=torch.float64
        )

    def test_first_and_second(self, layout, precision):
        x = points(2, 3).requires_grad_()
        layer = self.layer(layout, precision)
        assert torch.autograd.gradcheck(layer, x, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(layer, x)

    def test_jacobian_and_hessian_of_torch_func(self, layout, precision):
        layer, x = self.layer(layout, precision), points(1, 3)[0]

        def energy(v):
            return layer(v).pow(3).sum()

        jacobian = torch.func.jacrev(layer)(x)
        torch.testing.assert_close(jacobian, torch.func.jacfwd(layer)(x))
        torch.testing.assert_close(jacobian, torch.autograd.functional.jacobian(layer, x))
        hessian = torch.func.hessian(energy)(x)
        torch.testing.assert_close(hessian, torch.autograd.functional.hessian(energy, x))

    def test_the_third_derivative(self, layout, precision):
        layer = self.layer(layout, precision)
        x = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
        value = layer(torch.stack([x, 0 * x, 0 * x]))[0]
        for _ in range(3):
            (value,) = torch.autograd.grad(value, x, create_graph=True)
        w = 2 * np.pi * float(layer.frequencies[0, 0])
        torch.testing.assert_close(value.detach(), (w**3 * torch.sin(w * x)).detach())


@pytest.mark.parametrize("learned", ["scalar", "input", "frequency", "frequencies"])
def test_what_is_learned_has_gradients_of_two_orders(learned):
    options = {"learnable_frequencies": True} if learned == "frequencies" else {}
    options |= {"learnable_scale": learned} if learned != "frequencies" else {}
    exact = learned in ("scalar", "input")
    layer = pt.DynamicPrime(
        2,
        6,
        0.2,
        basis="auto",
        precision="exact" if exact else "fast",
        dtype=torch.float64,
        **options,
    )
    name, parameter = next(iter(layer.named_parameters()))
    assert list(layer.state_dict()) == [name]
    x = points(2, 2).requires_grad_()

    def call(value, at):
        return torch.func.functional_call(layer, {name: value}, (at,))

    inputs = (parameter.detach().clone().requires_grad_(), x)
    assert torch.autograd.gradcheck(call, inputs)
    assert torch.autograd.gradgradcheck(call, inputs)


def test_vmap_over_frequencies():
    layer = pt.DynamicPrime(2, 6, 0.2, basis="auto", precision="fast")
    tables = torch.stack([layer.frequencies, 2 * layer.frequencies])
    x = points(5, 2)

    def fast(points, table):
        return features(points, table, 0, 1.0, False, torch.float64)

    found = torch.func.vmap(fast, in_dims=(None, 0))(x, tables)
    expected = torch.stack([fast(x, table) for table in tables])
    assert torch.equal(found, expected)


def test_second_derivatives_in_float32():
    layer = pt.DynamicPrime(3, 8, 0.1, basis="auto")
    x = points(1, 3)[0].float()

    def energy(v):
        return layer(v).pow(3).sum()

    found = torch.func.hessian(energy)(x)
    expected = torch.func.hessian(energy)(x.double())
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    at = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(energy(at), at, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), at)
    torch.testing.assert_close(second.double(), expected.sum(0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3)])
@pytest.mark.parametrize(
    "options",
    [{}, {"basis": "hadamard"}, {"precision": "fast"}, {"layout": "interleaved"}],
)
def test_an_empty_batch_has_gradients(options, shape):
    layer = pt.DynamicPrime(3, 8, 0.1, learnable_scale="scalar", **options)
    x = torch.empty(shape, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.shape == shape
    assert layer.scale.grad.tolist() == [0.0]


@pytest.mark.parametrize(("d", "D", "layout"), [(20, 300, "block"), (64, 128, "interleaved")])
def test_a_transform_has_the_derivatives_and_the_inverse_of_its_matrix(d, D, layout):
    layer = pt.DynamicPrime(d, D, 1e-3, basis="hadamard", layout=layout, dtype=torch.float64)
    table = layer.frequencies

    def twin(v):
        return features(v, table, 0, 1.0, layout == "interleaved", torch.float64)

    x, moved = points(5, d), points(10, d)[5:]
    torch.testing.assert_close(layer.decode(layer(x)), x, rtol=0, atol=1e-12)
    found, expected = (torch.func.jvp(f, (x,), (moved,)) for f in (layer, twin))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    gradients = [torch.func.grad(lambda v, f=f: f(v).pow(3).sum())(x) for f in (layer, twin)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)
    # In float32 by one pass over the rows.
    narrow = pt.DynamicPrime(d, D, 1e-3, basis="hadamard", layout=layout)
    at = x.float().requires_grad_()
    narrow(at).pow(3).sum().backward()
    torch.testing.assert_close(at.grad.double(), gradients[1], rtol=0, atol=1e-5)
