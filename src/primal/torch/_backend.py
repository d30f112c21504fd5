"""Which code runs an operator: Triton kernels, the compiled engines, or plain PyTorch.

The environment variable ``PRIMAL_TORCH`` decides: ``auto`` (the default) takes kernels for
CUDA tensors when Triton is installed, and the engines of :mod:`primal.engines` for tensors on
the CPU; ``eager`` takes plain PyTorch for all; ``triton`` takes kernels for all (for tensors on
the CPU this needs Triton's interpreter, ``TRITON_INTERPRET=1``).
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from functools import cache

import torch

from primal.errors import EngineError

BACKENDS = ("auto", "eager", "triton")


def use_kernels(tensor: torch.Tensor) -> bool:
    """Whether Triton kernels take this tensor."""
    wish = _wish()
    if wish == "triton" and not _has_triton():
        raise EngineError(
            "PRIMAL_TORCH is 'triton' and Triton is not installed: pip install triton, or "
            "remove the environment variable."
        )
    return wish == "triton" or (wish == "auto" and tensor.is_cuda and _has_triton())


def use_engines(tensor: torch.Tensor) -> bool:
    """Whether :mod:`primal.engines` takes this tensor."""
    return tensor.device.type == "cpu" and _wish() == "auto"


def on_device(tensor: torch.Tensor) -> contextlib.AbstractContextManager:
    """Return a context in which kernels run on the tensor's device."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else contextlib.nullcontext()


def _wish() -> str:
    wish = os.environ.get("PRIMAL_TORCH") or "auto"
    if wish not in BACKENDS:
        raise EngineError(
            f"PRIMAL_TORCH must be one of {', '.join(BACKENDS)}, got {wish!r}: "
            "correct or remove the environment variable."
        )
    return wish


@cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None
