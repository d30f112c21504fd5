"""One rank of ``tests/torch/test_parallel.py``: prints what it found as JSON."""

from __future__ import annotations

import json
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from primal._selftest import sample_points
from primal.torch import PrimeFeatures


def sharded(mesh) -> dict[str, bool]:
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
    print(json.dumps(sharded(mesh)))
    sys.stdout.flush()
    dist.barrier()  # a rank that leaves early can abort the other at teardown
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
