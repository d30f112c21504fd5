"""``PrimeParallel``: a tensor-parallel style in which each rank builds its own frequencies."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.parallel import ParallelStyle

from primal.errors import ParameterError
from primal.torch._layer import PrimeLayer

__all__ = ["PrimeParallel"]


class PrimeParallel(ParallelStyle):
    """Split the outputs of a prime layer over the ranks of a mesh of one dimension.

    Each rank makes the frequencies of its own columns from primes: nothing is sent. Only the
    interleaved layout keeps cosine and sine of a frequency together and can be split. Use it with
    :func:`torch.distributed.tensor.parallel.parallelize_module`; a ``RowwiseParallel`` linear
    layer can follow.

    Parameters
    ----------
    use_local_output : bool, default=True
        Return this rank's columns as a plain tensor, else a DTensor of placement Shard(-1).
    """

    def __init__(self, *, use_local_output: bool = True) -> None:
        super().__init__()
        self.use_local_output = use_local_output

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        if not isinstance(module, PrimeLayer):
            raise ParameterError(f"PrimeParallel splits prime layers, got {type(module).__name__}.")
        if module.layout != "interleaved":
            raise ParameterError(
                f'PrimeParallel needs layout="interleaved", got {module.layout!r}: in the block '
                "layout the cosine and the sine of a frequency belong to different ranks."
            )
        # Chunks as DTensor cuts them.
        n, rank = module.frequency_range[1], device_mesh.get_local_rank()
        chunk = -(-n // device_mesh.size())
        module.keep_frequencies(min(rank * chunk, n), min((rank + 1) * chunk, n))
        _distribute_parameters(module, device_mesh)
        module.register_forward_pre_hook(lambda _, inputs: (_local_input(inputs[0], device_mesh),))
        module.register_forward_hook(lambda _, __, z: self._output(z, device_mesh))
        return module

    def _output(self, z: Tensor, mesh: DeviceMesh) -> Tensor:
        if self.use_local_output:
            return z
        return DTensor.from_local(z, mesh, [Shard(z.ndim - 1)], run_check=False)


def _distribute_parameters(module: PrimeLayer, mesh: DeviceMesh) -> None:
    for name, parameter in list(module.named_parameters(recurse=False)):
        placement: Any = Shard(0) if name in module._per_frequency else Replicate()
        value = DTensor.from_local(parameter.detach(), mesh, [placement], run_check=False)
        module.register_parameter(name, nn.Parameter(value, parameter.requires_grad))


def _local_input(x: Tensor, mesh: DeviceMesh) -> Tensor:
    if not isinstance(x, DTensor):
        if not torch.is_floating_point(x):
            return x
        x = DTensor.from_local(x, mesh, [Replicate()], run_check=False)
    # Every rank sees part of the features, so the gradients of x add up.
    return x.redistribute(placements=[Replicate()]).to_local(grad_placements=[Partial()])
