"""The words that a Triton kernel makes of inputs, beside the definition's."""

from __future__ import annotations

import math

import numpy as np
import torch
import triton
import triton.language as tl
from exact_reference import hadamard_word

from primal.torch._kernel_hadamard import _short_words, _words


@triton.jit
def _kernel(x, out, mantissa, exponent, SHORT: tl.constexpr, N: tl.constexpr):
    places = tl.arange(0, N)
    points = tl.load(x + places).to(tl.float64)
    words = (
        _short_words(points, mantissa, exponent) if SHORT else _words(points, mantissa, exponent)
    )
    tl.store(out + places, words)


def inputs(scale: float, n: int = 4096) -> np.ndarray:
    """Float32 of all sizes up to 2**67 units, many of them half a unit from a whole number."""
    rng = np.random.default_rng(3)
    units = rng.integers(1, 1 << 24, n) * 2.0 ** rng.integers(-60, 44, n)
    units[::2] = rng.integers(0, 1 << 23, n // 2) + 0.5
    units[1::8] = (
        rng.integers(0, 1 << 10, n // 8) + 0.5 + rng.choice([-(2.0**-13), 2.0**-13], n // 8)
    )
    x = (units / (scale * 2.0**64) * rng.choice([-1.0, 1.0], n)).astype(np.float32)
    x[:3] = 0.0, np.float32(1e-45), -np.float32(1e-38)
    return x


def wrong_words(device: str, scale: float, short: bool) -> int:
    """Return how many words of `inputs` differ from those in Python's integers."""
    x = inputs(scale)
    fraction, exponent = math.frexp(scale)
    points = torch.from_numpy(x).to(device)
    found = torch.empty(len(x), dtype=torch.int64, device=device)
    _kernel[(1,)](points, found, int(math.ldexp(fraction, 53)), exponent - 53, short, len(x))
    expected = [hadamard_word(value, scale, 64) % 2**64 for value in x.tolist()]
    return int((found.cpu().numpy().view(np.uint64) != np.array(expected, np.uint64)).sum())
