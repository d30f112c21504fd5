"""PyTorch's documented recipes on every layer: meta device, shards, copies, casts, compilers."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from layer_recipes import ShardedRecipes  # noqa: E402

import primal.torch as pt  # noqa: E402

# PyTorch's own: it deprecates parts of what it documents.
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]


@pytest.fixture
def process_group():
    distributed = torch.distributed
    if not distributed.is_available():
        pytest.skip("PyTorch was built without torch.distributed")
    store = distributed.HashStore()
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


class TestDynamicPrime(ShardedRecipes):
    def make(self):
        return pt.DynamicPrime(3, 8, 0.1, basis="auto")


class TestFastDynamicPrime(ShardedRecipes):
    def make(self):
        return pt.DynamicPrime(3, 8, 0.1, basis="auto", precision="fast")


class TestLearnedFrequencies(ShardedRecipes):
    def make(self):
        return pt.DynamicPrime(
            3, 8, 0.1, basis="auto", precision="fast", learnable_frequencies=True
        )


class TestLearnedScaleOfFrequencies(ShardedRecipes):
    def make(self):
        return pt.DynamicPrime(
            3, 8, 0.1, basis="auto", precision="fast", learnable_scale="frequency"
        )


class TestPrimeFeatures(ShardedRecipes):
    def make(self):
        return pt.PrimeFeatures(3, 8)


class TestPrimeFeaturesOfSeveralLengths(ShardedRecipes):
    def make(self):
        return pt.PrimeFeatures(3, 8, lengthscale=(1.0, 2.0, 3.0))


class TestLearnedScale(ShardedRecipes):
    def make(self):
        return pt.PrimeFeatures(3, 8, learnable_scale="scalar")


class TestLearnedScaleOfInputs(ShardedRecipes):
    def make(self):
        return pt.PrimeFeatures(3, 8, learnable_scale="input")


class TestStaticPrime(ShardedRecipes):
    def make(self):
        return pt.StaticPrime(8)

    def input(self):
        return torch.tensor([[0, 7], [10**12, -3]])

    def test_fsdp2_in_bfloat16(self, process_group):
        """Integers say nothing about the type of codes: it has to be given."""
        with pytest.raises(RuntimeError, match="same dtype"):
            super().test_fsdp2_in_bfloat16(None)
        given = type(self)()
        given.make = lambda: self.make().to(torch.bfloat16)
        ShardedRecipes.test_fsdp2_in_bfloat16(given, None)


class TestPrimePositions(TestStaticPrime):
    def make(self):
        return pt.PrimePositions(8)


class TestStandardRotary(TestStaticPrime):
    def make(self):
        return pt.PrimePositions(8, spacing="rotary")


class _Rotated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = pt.PrimePositions(4, head_dim=6)

    def forward(self, x):
        return self.positions.rotary(x, x, seq_dim=-2)[0]

    def reset_parameters(self):
        self.positions.reset_parameters()


class TestRotations(ShardedRecipes):
    """Rotations have the type of what is rotated, whatever the module was cast to."""

    def make(self):
        return _Rotated()

    def input(self):
        return torch.linspace(-1, 1, 60).reshape(2, 5, 6)

    def type_after_cast(self, dtype):
        return torch.float32
