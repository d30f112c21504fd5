"""One rank of ``test_torch_parallel.py``: prints what it found as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import RowwiseParallel, parallelize_module

from primal._selftest import sample_points
from primal.torch import DynamicPrime, PrimeFeatures, StaticPrime

# The recipe of the documentation.
_PAGE = Path(__file__).parents[2] / "docs" / "torch.md"
_BLOCKS = _PAGE.read_text(encoding="utf-8").split("```python\n")[1:]
_RECIPE: dict[str, Any] = {}
exec(next(b.split("```")[0] for b in _BLOCKS if "class PrimeParallel" in b), _RECIPE)
PrimeParallel = _RECIPE["PrimeParallel"]


def split(mesh, rank: int) -> dict[str, bool]:
    """Columns of the whole layer, bit for bit, and the whole gradient of x."""
    x = torch.from_numpy(sample_points(5, 3)).float().requires_grad_()
    whole = DynamicPrime(3, 12, 0.3, basis="signed", layout="interleaved")
    part = parallelize_module(
        DynamicPrime(3, 12, 0.3, basis="signed", layout="interleaved"), mesh, PrimeParallel()
    )
    columns = slice(6 * rank, 6 * rank + 6)
    expected = whole(x)
    found = part(x)
    (of_whole,) = torch.autograd.grad(expected.square().sum() + expected.sum(), x)
    (of_part,) = torch.autograd.grad(found.square().sum() + found.sum(), x)
    codes = parallelize_module(StaticPrime(12, layout="interleaved"), mesh, PrimeParallel())
    t = torch.tensor([3, 10**12])
    return {
        "features": torch.equal(found, expected[:, columns]),
        "gradient": torch.allclose(of_part, of_whole, rtol=1e-5, atol=1e-5),
        "codes": torch.equal(codes(t), StaticPrime(12, layout="interleaved")(t)[:, columns]),
        "own rows only": part.frequencies.shape == (3, 3),
        "whole frequencies": torch.equal(part.frequencies, whole.frequencies[3 * rank :][:3]),
    }


def learned(mesh, rank: int) -> dict[str, bool]:
    """A network with a split feature layer has the loss and gradients of the whole one."""

    def network():
        torch.manual_seed(0)
        options = {"precision": "fast", "learnable_scale": "input", "learnable_frequencies": True}
        made = nn.Sequential(PrimeFeatures(3, 12, **options), nn.Linear(12, 2, bias=False))
        with torch.no_grad():  # as if trained before it is split
            for parameter in made[0].parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        return made

    x = torch.from_numpy(sample_points(5, 3)).float()
    whole = network()
    plan = {"0": PrimeParallel(), "1": RowwiseParallel()}
    part = parallelize_module(network(), mesh, plan)
    losses = [model(x).square().sum() for model in (whole, part)]
    for loss in losses:
        loss.backward()
    frozen = PrimeFeatures(3, 12, learnable_scale="input")
    frozen.scale.requires_grad_(False)
    frozen = parallelize_module(frozen, mesh, PrimeParallel())
    scale = part[0].scale.grad.full_tensor()
    shift = part[0].frequency_shift.grad.full_tensor()
    return {
        "loss": torch.allclose(*losses, rtol=1e-5),
        "frozen": not frozen.scale.requires_grad,
        "values": torch.equal(part[0].frequency_shift.full_tensor(), whole[0].frequency_shift),
        "scale": torch.allclose(scale, whole[0].scale.grad, rtol=1e-4, atol=1e-6),
        "shift": torch.allclose(shift, whole[0].frequency_shift.grad, rtol=1e-4, atol=1e-6),
    }


def sharded(mesh, rank: int) -> dict[str, bool]:
    """FSDP2 from the meta device, then train."""

    def network():
        return nn.Sequential(PrimeFeatures(3, 16, learnable_scale="input"), nn.Linear(16, 2))

    with torch.device("meta"):
        model = network()
    fully_shard(model[1], mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.to_empty(device="cpu")
    model[0].reset_parameters()
    torch.manual_seed(0)
    model[1].reset_parameters()
    x = torch.from_numpy(sample_points(8, 3)).float()
    target = x[:, :2]
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = (model(x) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    names = sorted(model.state_dict())
    return {
        "training": losses[-1] < 0.5 * losses[0],
        "state": names == ["0.scale", "1.bias", "1.weight"],
    }


def main() -> None:
    rank, store = int(sys.argv[1]), sys.argv[2]
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    report = {scenario.__name__: scenario(mesh, rank) for scenario in (split, learned, sharded)}
    print(json.dumps(report))
    sys.stdout.flush()
    dist.barrier()  # a rank that leaves early can abort the other at teardown
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
