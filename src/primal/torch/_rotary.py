"""Rotary embedding with exact phases: pairs of columns turn by position times increment."""

from __future__ import annotations

import torch
from torch import Tensor

from primal._checks import one_of
from primal._errors import DataError, DimensionError
from primal.torch import functional as F
from primal.torch._eager import pairs, split_pairs

__all__ = ["PAIRINGS", "code_layout", "rotary", "rotate"]

PAIRINGS = ("half", "interleaved")


def rotary(
    q: Tensor,
    k: Tensor,
    positions: Tensor,
    increments: Tensor,
    *,
    pairing: str = "half",
) -> tuple[Tensor, Tensor]:
    """Return queries and keys turned by their positions (rotary position embedding).

    The dot product of a query at position s and a key at position t then depends on t - s only.

    Parameters
    ----------
    q, k : tensors of shape (..., n, D)
        n positions, D = 2 * len(increments); keys may have fewer heads than queries.
    positions : integer tensor of shape (n,), or one that broadcasts to (..., n)
        Of any size: a phase is the wrapping product of position and increment.
    increments : int64 tensor of shape (D / 2,)
        Units of 2**-64 turn; see :func:`primal.torch.functional.increment_tensor`.
    pairing : {"half", "interleaved"}, default="half"
        Which columns make a pair: j and j + D/2, or 2 j and 2 j + 1.

    Returns
    -------
    q, k : tensors of the types and shapes of the inputs
        Differentiable. Cosines, sines and products are float32 for every narrower type, and
        float64 for float64.

    Raises
    ------
    DataError, DimensionError, PositionError, OptionError
        If shapes do not fit, positions are not integers, or the pairing does not exist.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import rotary
    >>> quarter = torch.tensor([2**62])  # a quarter turn for each position
    >>> q = k = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> rotary(q, k, torch.tensor([0, 1]), quarter)[0].int().tolist()
    [[1, 0], [0, 1]]
    """
    wide = torch.float64 in (q.dtype, k.dtype)
    codes = F.static_prime(
        positions,
        increments,
        layout=code_layout(pairing),
        dtype=torch.float64 if wide else torch.float32,
    )
    return rotate(q, codes, pairing=pairing), rotate(k, codes, pairing=pairing)


def rotate(x: Tensor, codes: Tensor, *, pairing: str = "half") -> Tensor:
    """Return x with every pair of columns turned by the phase of its code.

    Parameters
    ----------
    x : tensor of shape (..., n, D)
    codes : tensor of shape (n, D), or one that broadcasts to x
        Cosines and sines in the layout of the pairing; see :func:`code_layout`.
    """
    interleaved = code_layout(pairing) == "interleaved"
    if not x.is_floating_point():
        raise DataError(f"rotated tensors must be floating, got {x.dtype}: cast with x.float().")
    if x.shape[-1:] != codes.shape[-1:]:
        raise DimensionError(
            f"there are {codes.shape[-1]} columns to turn, and a tensor has shape "
            f"{tuple(x.shape)}: its last axis must have them, so slice off columns that stay."
        )
    if not _broadcasts(codes.shape, x.shape):
        raise DataError(
            f"positions of shape {tuple(codes.shape[:-1])} do not fit a tensor of shape "
            f"{tuple(x.shape)}: they must broadcast to {tuple(x.shape[:-1])}."
        )
    # Narrower products would lose the digits that the phases keep.
    work = torch.float64 if x.dtype == torch.float64 else torch.float32
    cos, sin = split_pairs(codes.to(work), interleaved)
    a, b = split_pairs(x.to(work), interleaved)
    return pairs(a * cos - b * sin, a * sin + b * cos, interleaved).to(x.dtype)


def code_layout(pairing: str) -> str:
    """Return the layout of codes whose cosines and sines lie where the pairing needs them."""
    return "interleaved" if one_of("pairing", pairing, PAIRINGS) == "interleaved" else "block"


def _broadcasts(small: torch.Size, large: torch.Size) -> bool:
    fits = zip(reversed(small), reversed(large), strict=False)
    return len(small) <= len(large) and all(a in (1, b) for a, b in fits)
