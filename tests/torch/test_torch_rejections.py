"""What layers cannot do is said in our words, and leaves models as they were."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from primal.errors import DataError, NotInvertibleError, ParameterError
from primal.maps import on
from primal.torch import (
    DynamicPrime,
    PrimeFeatures,
    PrimePositions,
    StaticPrime,
    rotate,
    use_exact_rotary,
)

X = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))


class TestDecoding:
    @pytest.mark.parametrize(
        "layer",
        [
            PrimeFeatures(3, 64, on(0, "rbf", 1e-4) + on(1, "rbf", 1e-4)),
        ],
    )
    def test_an_open_direction_is_not_called_zero(self, layer):
        with pytest.raises(NotInvertibleError, match="leave a direction of x open"):
            layer.decode(layer(X))

    @pytest.mark.parametrize("learned", [False, True])
    def test_too_few_frequencies(self, learned):
        layer = DynamicPrime(
            3, 2, 0.1, basis="auto", precision="fast", learnable_frequencies=learned
        )
        with pytest.raises(NotInvertibleError, match="D = 6 or more"):
            layer.decode(layer(X))

    @pytest.mark.parametrize("dtype", [torch.int8, torch.bool, torch.uint8])
    def test_features_are_floats(self, dtype):
        z = torch.ones(2, 8, dtype=dtype)
        for decode in (
            DynamicPrime(2, 8).decode,
            PrimeFeatures(2, 8).decode,
            PrimeFeatures(2, 8, method="lattice").decode,
            lambda z: StaticPrime(8).decode(z, n=5),
        ):
            with pytest.raises(DataError, match=f"cosines and sines as floats, got {dtype}|real"):
                decode(z)

    def test_the_inverse_is_that_of_the_core(self):
        layer = PrimeFeatures(3, 64, gamma=0.01)
        z = layer(X.double())
        found = layer.decode(z).numpy()
        np.testing.assert_allclose(found, layer.map.decode(z.numpy()), rtol=0, atol=1e-14)


def test_no_positions_beyond_64_bits():
    with pytest.raises(DataError, match="positions must lie"):
        StaticPrime(8).waves(0, offset=2**63)


class TestRotate:
    @pytest.mark.parametrize("shape", [(2, 3), (3,), ()])
    def test_columns_come_in_pairs(self, shape):
        with pytest.raises(ParameterError, match="in pairs"):
            rotate(torch.ones(shape), torch.ones(shape))

    def test_tensors_are_real_and_dense(self):
        ones = torch.ones(2, 2)
        with pytest.raises(DataError, match="codes must be floating"):
            rotate(ones, ones.to(torch.complex64))
        with pytest.raises(DataError, match="x must be dense"):
            rotate(ones.to_sparse(), ones)


class TestHosts:
    def model(self):
        host = pytest.importorskip("x_transformers")
        return torch.nn.ModuleList(
            host.Decoder(dim=64, depth=1, heads=heads, rotary_pos_emb=True) for heads in (2, 2)
        )

    def test_all_are_replaced_or_none(self):
        model = self.model()
        model[1].rotary_pos_emb.half()  # whose frequencies are rounded
        before = [decoder.rotary_pos_emb for decoder in model]
        with pytest.raises(DataError, match="rounded"):
            use_exact_rotary(model)
        assert [decoder.rotary_pos_emb for decoder in model] == before
        assert use_exact_rotary(self.model(), PrimePositions(32)) == 2


class TestKernelsOfParts:
    def test_lengths_are_those_of_the_parts(self):
        with pytest.raises(ParameterError, match=r"leave out lengthscale=2\.0"):
            PrimeFeatures(3, 16, on(0), lengthscale=2.0)

    def test_representation_is_that_of_the_kernel(self):
        kernel = on([0, 1], "rbf", [1.0, 2.0]) + on(2, "periodic", period=2.0)
        assert f"kernel={kernel!r}, " in repr(PrimeFeatures(3, 16, kernel))
