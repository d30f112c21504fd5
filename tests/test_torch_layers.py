"""Layers as PyTorch users expect them: derivatives, state, casts, growth, errors."""

from __future__ import annotations

import copy
import pickle
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import primal  # noqa: E402
import primal.torch as pt  # noqa: E402
from primal._selftest import sample_points  # noqa: E402
from primal.torch import functional as F  # noqa: E402


def points(n: int, d: int) -> torch.Tensor:
    return torch.from_numpy(sample_points(n, d))


# PyTorch's forward mode compiles its own helpers with a function that it deprecates.
@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("layout", F.LAYOUTS)
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
    found = torch.func.vmap(F.dynamic_prime_fast, in_dims=(None, 0))(x, tables)
    expected = torch.stack([F.dynamic_prime_fast(x, table) for table in tables])
    assert torch.equal(found, expected)


def test_nothing_is_stored_and_nothing_is_lost():
    layer = pt.DynamicPrime(3, 8, basis="auto")
    assert len(layer.state_dict()) == 0
    x = points(4, 3)
    expected = layer(x)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(twin(x), expected)


def test_half_and_back_gives_the_same_bits():
    x = points(9, 3)
    layer = pt.DynamicPrime(3, 18, 40.0)
    expected = layer(x)
    assert torch.equal(layer.half().bfloat16().float()(x), expected)


def test_meta_initialisation_is_completed_by_reset_buffers():
    with torch.device("meta"):
        layers = [pt.PrimeFeatures(3, 8, learnable_scale="input"), pt.StaticPrime(8)]
    assert all(b.is_meta for layer in layers for b in layer.buffers())
    for layer in layers:
        layer.to_empty(device="cpu").reset_buffers()
    layers[0].reset_parameters()
    x = points(4, 3)
    expected = pt.PrimeFeatures(3, 8, learnable_scale="input")(x)
    assert torch.equal(layers[0](x), expected)
    assert torch.equal(layers[1].waves(5), pt.StaticPrime(8).waves(5))


def test_any_leading_shape():
    layer, codes = pt.DynamicPrime(3, 8), pt.StaticPrime(8)
    for shape in ((), (0,), (5,), (2, 1, 4)):
        assert layer(torch.zeros(*shape, 3)).shape == (*shape, 8)
        assert codes(torch.zeros(shape, dtype=torch.int32)).shape == (*shape, 8)


def test_strided_inputs():
    layer, x = pt.DynamicPrime(3, 8), points(4, 6)
    assert torch.equal(layer(x[:, ::2]), layer(x[:, ::2].clone()))


def test_reverse_undoes_the_layer():
    x = points(20, 3) * 0.5
    for options in ({}, {"learnable_scale": "input"}, {"precision": "fast"}):
        layer = pt.DynamicPrime(3, 16, 0.1, basis="auto", **options)
        if layer.scale is not None:
            torch.nn.init.constant_(layer.scale, 1.25)
        found = layer.reverse(layer(x).detach())
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), x, rtol=0, atol=1e-5)


def test_reverse_of_learned_frequencies():
    layer = pt.DynamicPrime(
        2, 16, 0.1, basis="auto", precision="fast", learnable_frequencies=True, dtype=torch.float64
    )
    torch.nn.init.constant_(layer.frequency_shift, 0.01)
    x = points(5, 2) * 0.5
    torch.testing.assert_close(layer.reverse(layer(x)), x, rtol=0, atol=1e-9)


def test_growth_keeps_features_and_what_was_learned():
    x = points(4, 3)
    for options in (
        {"learnable_scale": "scalar"},
        {"learnable_scale": "frequency", "precision": "fast"},
        {"learnable_frequencies": True, "precision": "fast"},
    ):
        layer = pt.DynamicPrime(3, 8, 0.3, basis="auto", layout="interleaved", **options)
        for parameter in layer.parameters():
            torch.nn.init.constant_(parameter, 0.75)
        assert torch.equal(layer.grow(20)(x)[:, :8], layer(x))
    assert torch.equal(
        pt.StaticPrime(8, layout="interleaved").grow(12).waves(9)[:, :8],
        pt.StaticPrime(8, layout="interleaved").waves(9),
    )
    assert isinstance(pt.PrimeFeatures(3, 8).grow(10), pt.PrimeFeatures)


def test_parts_of_a_table_have_its_bits():
    from primal.torch._tables import frequency_rows

    for name in ("paper", "signed", "kronecker", "orthogonal"):
        for sigma in (0.3, tuple(0.1 * (i + 1) for i in range(9))):
            basis = primal.Basis(name, 4, 9, sigma)
            part = frequency_rows(basis, 3, 7)
            np.testing.assert_array_equal(part.mantissas, basis.table.mantissas[3:7])
            np.testing.assert_array_equal(part.exponents, basis.table.exponents[3:7])


def test_a_parameter_learns():
    layer = pt.PrimeFeatures(2, 32, learnable_scale="scalar")
    x = points(16, 2).float()
    target = pt.PrimeFeatures(2, 32, lengthscale=0.8)(x)
    optimiser = torch.optim.Adam(layer.parameters(), 0.05)
    for _ in range(40):
        optimiser.zero_grad()
        loss = (layer(x) - target).square().sum()
        loss.backward()
        optimiser.step()
    assert abs(float(layer.scale.detach()) - 1.25) < 0.02


def test_representation_names_what_matters():
    text = repr(pt.PrimeFeatures(2, 8, learnable_scale="input", dtype=torch.bfloat16))
    for word in ("2, 8", "kronecker", "interleaved", "exact", "bfloat16", "input", "lengthscale"):
        assert word in text
    assert "start=3" in repr(pt.StaticPrime(4, start=3))
    assert "learnable_frequencies" in repr(
        pt.DynamicPrime(2, 4, precision="fast", learnable_frequencies=True)
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: pt.DynamicPrime(2, 7), "6 or 8"),
        (lambda: pt.DynamicPrime(2, 8, dtype=torch.int32), "bfloat16.*got torch.int32"),
        (lambda: pt.DynamicPrime(2, 8, learnable_scale="all"), "'scalar', 'input', 'frequency'"),
        (lambda: pt.DynamicPrime(2, 8, learnable_frequencies=True), 'precision="fast"'),
        (lambda: pt.DynamicPrime(2, 8)(torch.zeros(3)), r"2 values.*\(3,\)"),
        (lambda: pt.DynamicPrime(2, 8)(torch.zeros(2) == 0), "torch.bool"),
        (lambda: pt.DynamicPrime(2, 8)(torch.tensor([1.0, torch.nan])), "row 0 of x holds nan"),
        (lambda: pt.DynamicPrime(2, 8)(torch.tensor([1e12, 0.0])), r"row 0.*1e\+12.*lower sigma"),
        (
            lambda: pt.DynamicPrime(2, 8, precision="fast")(torch.tensor([1e7, 0.0])),
            r"beyond 2\*\*20",
        ),
        (lambda: pt.StaticPrime(8)(torch.zeros(2)), "t.long()"),
        (lambda: pt.StaticPrime(8).waves(-1), "at least 0, got -1"),
        (lambda: pt.StaticPrime(8).waves(2, offset=2**63), "got 9223372036854775808"),
        (lambda: pt.DynamicPrime(4, 6).reverse(torch.zeros(6)), "D = 8 or more"),
        (lambda: pt.DynamicPrime(2, 8).grow(4), "cannot grow"),
        (lambda: pt.PrimeFeatures(2, 8, lengthscale=0.0), "lengthscale must be positive"),
    ],
)
def test_errors_say_what_to_do(wrong, message):
    with pytest.raises(primal.PrimalError, match=message):
        wrong()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler for Inductor")
@pytest.mark.filterwarnings("ignore")  # Inductor's own
def test_inductor_gives_the_same_bits():
    layer = pt.DynamicPrime(3, 18, 5.0, basis="auto")
    x = points(9, 3).float()
    torch.compiler.reset()
    assert torch.equal(torch.compile(layer, fullgraph=True)(x), layer(x))
