"""Time of PyTorch layers on the CPU, as ratios to the NumPy map and to their own forward pass.

    PYTHONPATH=src python tools/torch_cpu.py

Calls of all kinds take turns, so that a busy machine slows all of them; ratios are of medians.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import torch

import primal
from primal.torch import DynamicPrime

SHAPES = ((4096, 8, 512), (4096, 64, 1024), (4096, 2, 256))
N_TURNS = 40


def main() -> None:
    """Print one line for each shape."""
    print("rows, d, D: exact / map, fast / exact, backward / exact; exact / float32 cos and sin")
    for n, d, D in SHAPES:
        print(f"{n}, {d}, {D}:", *(f"{ratio:.2f}" for ratio in ratios(n, d, D)))


def ratios(n: int, d: int, D: int) -> tuple[float, ...]:
    """Return the ratios of one shape."""
    sigma = 1.0 / (2.0 * math.pi * math.sqrt(d))
    m = primal.DynamicPrime(d, D, sigma, basis="auto")
    exact = DynamicPrime(d, D, sigma, basis="auto")
    fast = DynamicPrime(d, D, sigma, basis="auto", precision="fast")
    x = torch.randn(n, d, generator=torch.Generator().manual_seed(0))
    points, at, upstream = x.numpy(), x.clone().requires_grad_(), torch.ones(n, D)
    z = exact(at)
    weights = torch.randn(d, D // 2)

    def plain() -> torch.Tensor:
        phases = x @ weights
        return torch.cat((phases.cos(), phases.sin()), dim=1)

    of_map, of_exact, of_fast, of_backward = medians(
        lambda: m.encode(points),
        lambda: exact(x),
        lambda: fast(x),
        lambda: torch.autograd.grad(z, at, upstream, retain_graph=True),
    )
    # With one thread each: PyTorch's keep spinning for a while, at the cost of who comes next.
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    alone, of_plain = medians(lambda: exact(x), plain)
    torch.set_num_threads(n_threads)
    return of_exact / of_map, of_fast / of_exact, of_backward / of_exact, alone / of_plain


def medians(*calls: Callable[[], object]) -> list[float]:
    """Return the median time of each call; they take turns."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(N_TURNS + 1):
        for call, kept in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            if turn:  # the first turn compiles and warms up
                kept.append(time.perf_counter() - start)
    return [float(np.median(kept)) for kept in times]


if __name__ == "__main__":
    main()
