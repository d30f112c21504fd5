"""What kernels take from Triton, with types: its own describe neither launches nor constants."""

from __future__ import annotations

from typing import Any

import triton

__all__ = ["jit", "next_power_of_two", "quotient"]

jit: Any = triton.jit


def next_power_of_two(n: int) -> int:
    """Return the smallest power of two of at least n >= 1."""
    return 1 << (n - 1).bit_length()


def quotient(n: int, step: int) -> int:
    """Return n / step rounded up: how many programs cover n."""
    return -(-n // step)
