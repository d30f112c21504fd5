"""What PyTorch's documentation has users do with a module; every layer's test class inherits this.

The rule is: the right bits, or an exception. Memory that nobody filled is filled with NaN here, so
that a layer that reads it is seen.
"""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from primal._selftest import sample_points


def forget(module: nn.Module) -> nn.Module:
    """Fill all memory of a module with NaN, as `to_empty` might leave it."""
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            assert not is_lazy(tensor)
            tensor.fill_(torch.nan if tensor.is_floating_point() else -(2**31) + 1)
    return module


def on_meta(make) -> nn.Module:
    with torch.device("meta"):
        return make()


class LayerRecipes:
    """Subclasses say which layer, and may say with which input and how it is called."""

    # Results of casts may round parameters; a layer without any has the rounded float32 bits.
    narrow_tolerance = 0.05

    def make(self) -> nn.Module:
        raise NotImplementedError

    def input(self) -> torch.Tensor:
        return torch.from_numpy(sample_points(5, 3)).float()

    def call(self, layer: nn.Module) -> torch.Tensor:
        return layer(self.input())

    def reference(self) -> nn.Module:
        """Return the layer after `reset_parameters`, all draws from one seed."""
        layer = self.make()
        return self.reset(layer)

    def reset(self, layer: nn.Module) -> nn.Module:
        torch.manual_seed(0)
        layer.reset_parameters()
        return layer

    def check(self, layer: nn.Module) -> None:
        assert torch.equal(self.call(layer), self.call(self.reference()))

    def test_there_are_no_buffers(self):
        assert list(self.make().buffers()) == []

    def test_meta_then_to_empty_then_reset_parameters(self):
        layer = forget(on_meta(self.make).to_empty(device="cpu"))
        self.check(self.reset(layer))

    def test_every_module_reset_by_itself(self):
        """The loop of the documentation: parents first, then children."""
        layer = forget(on_meta(self.make).to_empty(device="cpu"))
        expected = self.make()
        for module in (layer, expected):
            torch.manual_seed(0)
            for part in module.modules():
                if hasattr(part, "reset_parameters"):
                    part.reset_parameters()
        assert torch.equal(self.call(layer), self.call(expected))

    def test_meta_then_load_state_dict_by_assignment(self):
        state = self.reference().state_dict()
        layer = on_meta(self.make)
        layer.load_state_dict(state, assign=True)
        self.check(layer)
        self.check(layer.to("cpu"))

    def test_meta_then_to_empty_then_load_state_dict(self):
        layer = forget(on_meta(self.make).to_empty(device="cpu"))
        layer.load_state_dict(self.reference().state_dict())
        self.check(layer)

    def test_nothing_but_meta(self):
        """Without values of its parameters a layer raises; without parameters it is right."""
        layer = on_meta(self.make)
        if list(layer.parameters()):
            with pytest.raises((RuntimeError, ValueError, NotImplementedError)):
                self.call(layer)
        else:
            self.check(layer)
        assert layer.half() is layer

    def test_meta_inputs_have_shapes(self):
        layer = on_meta(self.make)
        with torch.device("meta"):
            found = self.call_on(layer, "meta")
        assert found.is_meta
        assert found.shape == self.call(self.make()).shape

    def call_on(self, layer: nn.Module, device: str) -> torch.Tensor:
        x = self.input().to(device)
        twin = copy.copy(self)
        twin.input = lambda: x
        return twin.call(layer)

    def test_copies_and_pickles(self):
        layer = self.reference()
        file = io.BytesIO()
        torch.save(layer, file)
        file.seek(0)
        for twin in (
            copy.copy(layer),
            copy.deepcopy(layer),
            pickle.loads(pickle.dumps(layer)),
            torch.load(file, weights_only=False),
        ):
            self.check(twin)

    def test_a_pickle_holds_no_table(self):
        layer = self.reference()
        before = len(pickle.dumps(layer))
        self.call(layer)
        assert len(pickle.dumps(layer)) == before

    def test_casts(self):
        expected = self.call(self.reference())
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            layer = self.reference().to(dtype)
            found = self.call(layer)
            assert found.dtype == self.type_after_cast(dtype)
            if list(layer.parameters()):
                error = (found.double() - expected.double()).abs().max()
                assert error < self.narrow_tolerance * expected.abs().max()
            elif dtype != torch.float64:
                assert torch.equal(found, expected.to(found.dtype))
            else:
                torch.testing.assert_close(found.float(), expected, rtol=0, atol=5e-7)
            back = self.reference().to(dtype).float()
            assert self.call(back).dtype == expected.dtype

    def type_after_cast(self, dtype: torch.dtype) -> torch.dtype:
        return dtype

    def test_compiled(self):
        for make in (self.reference, self.loaded_on_meta, lambda: self.reference().half()):
            torch.compiler.reset()
            layer = make()
            compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
            assert torch.equal(self.call(compiled), self.call(layer))

    def loaded_on_meta(self) -> nn.Module:
        layer = on_meta(self.make)
        layer.load_state_dict(self.reference().state_dict(), assign=True)
        return layer

    def test_functional_call(self):
        layer = self.reference()
        values = {name: p.detach().clone() for name, p in layer.named_parameters()}
        forget(layer)

        class Called(nn.Module):
            def forward(_, *arguments):
                return torch.func.functional_call(layer, values, arguments)

        self.check(Called())

    def test_fake_tensors_leave_nothing_behind(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        layer = self.reference()
        expected = self.call(layer)
        with FakeTensorMode(allow_non_fake_inputs=True):
            self.call(self.reference())
        with torch.inference_mode():
            self.call(self.reference())
        assert torch.equal(self.call(self.reference()), expected)

    def test_safetensors(self, tmp_path):
        files = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
        layer = self.reference()
        files.save_model(layer, tmp_path / "model.safetensors")
        other = forget(self.make())
        files.load_model(other, tmp_path / "model.safetensors")
        self.check(other)


class ShardedRecipes(LayerRecipes):
    """The same in a group of one process."""

    def network(self) -> nn.Module:
        """Return the layer and one dense layer after it, which has something to learn."""

        class Network(nn.Module):
            def __init__(own):
                super().__init__()
                own.layer, own.head = self.make(), nn.Linear(self.width(), 2)

            def forward(own, x):
                twin = copy.copy(self)
                twin.input = lambda: x
                return own.head(twin.call(own.layer))

        return Network()

    def width(self) -> int:
        with torch.device("cpu"):  # the network may be made on another one
            return self.call(self.make()).shape[-1]

    def trained(self, network: nn.Module, x: torch.Tensor) -> torch.Tensor:
        """Return the output after one step."""
        optimizer = torch.optim.SGD(network.parameters(), 0.1)
        network(x).float().square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            return network(x)

    def test_fsdp1(self, process_group):
        from torch.distributed.fsdp import FullyShardedDataParallel

        torch.manual_seed(0)
        plain = self.network()
        sharded = FullyShardedDataParallel(
            copy.deepcopy(plain), device_id=torch.device("cpu"), use_orig_params=True
        )
        expected = self.trained(plain, self.input())
        assert torch.equal(self.trained(sharded, self.input()), expected)

    def test_fsdp2_from_the_meta_device(self, process_group):
        from torch.distributed.fsdp import fully_shard

        network = on_meta(self.network)
        fully_shard(network.layer) if list(network.layer.parameters()) else None
        fully_shard(network)
        forget(network.to_empty(device="cpu"))
        plain = self.network()
        for one in (network, plain):
            torch.manual_seed(0)
            one.layer.reset_parameters()
            one.head.reset_parameters()
        expected = self.trained(plain, self.input())
        assert torch.equal(self.trained(network, self.input()), expected)

    def test_fsdp2_in_bfloat16(self, process_group):
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        torch.manual_seed(0)
        network = self.network()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            expected = network(self.input()).float()
        fully_shard(network, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
        found = network(self.input())
        assert found.dtype == torch.bfloat16
        found.float().sum().backward()
        assert torch.isfinite(found).all()
        # 8 bits of x and of weights: the same function, and no more.
        assert (found.float() - expected).abs().max() < 0.1

    def test_distributed_data_parallel(self, process_group):
        torch.manual_seed(0)
        plain = self.network()
        parallel = nn.parallel.DistributedDataParallel(copy.deepcopy(plain))
        expected = self.trained(plain, self.input())
        assert torch.equal(self.trained(parallel, self.input()), expected)
