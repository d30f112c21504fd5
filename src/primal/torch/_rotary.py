"""Rotary embedding with exact phases: pairs of columns turn by position times increment."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from primal._checks import whole_number
from primal.errors import DataError, ParameterError
from primal.torch import functional as F
from primal.torch._eager import pairs, split_pairs
from primal.torch._inputs import check_device, check_tensor, checked_positions, is_interleaved
from primal.torch._rotary_fused import rotary_by_kernel


def rotary(
    q: Tensor,
    k: Tensor,
    positions: Tensor,
    increments: Tensor,
    *,
    layout: str = "interleaved",
    seq_dim: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return queries and keys turned by their positions (rotary position embedding).

    The dot product of a query at position s and a key at position t then depends on t - s only.

    Parameters
    ----------
    q, k : tensors of shape (..., D)
        One axis has the n positions, the last one D = 2 * len(increments) columns; keys may
        have fewer heads than queries.
    positions : integer tensor
        Shape (n,); or (batch, n), where batch is the first axis of q and k; or one axis for
        each axis of q and k but the last, in their order, of their length or of length 1.
    increments : int64 tensor of shape (D / 2,)
        Units of 2**-64 turn; see :func:`primal.torch.functional.increment_tensor`.
    layout : {"interleaved", "block"}, default="interleaved"
        Which columns make a pair: 2 j and 2 j + 1, or j and j + D/2.
    seq_dim : int, optional
        Axis of the positions: -2 for (..., heads, n, D), -3 for (..., n, heads, D). Needed
        when there are more axes than two, because no shape tells these apart.

    Returns
    -------
    q, k : tensors of the types and shapes of the inputs
        Differentiable. Cosines, sines and products are float32, for float64 tensors float64.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import rotary
    >>> quarter = torch.tensor([2**62])  # a quarter turn for each position
    >>> q = k = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> rotary(q, k, torch.tensor([0, 1]), quarter)[0].int().tolist()
    [[1, 0], [0, 1]]
    """
    D = 2 * len(F.checked_increments(increments))
    for name, x in (("q", q), ("k", k)):
        _check_tensor(x)
        if x.shape[-1:] != (D,):
            raise ParameterError(
                f"{name} must have {D} columns, two for each increment, got shape {_shape(x)}: "
                "slice off columns that stay."
            )
    turned_q, turned_k = turned((q, k), positions, increments, layout=layout, seq_dim=seq_dim)
    return turned_q, turned_k


def turned(
    tensors: tuple[Tensor, ...],
    positions: Tensor,
    increments: Tensor,
    *,
    layout: str,
    seq_dim: int | None,
) -> tuple[Tensor, ...]:
    """Return tensors with their first 2 k columns turned by their positions, others as they are."""
    aligned = [aligned_positions(positions, x, seq_dim) for x in tensors]
    if aligned[0].shape == aligned[-1].shape:
        for x in tensors:
            check_device("increments", increments, x)
            check_device("positions", positions, x)
        interleaved = is_interleaved(layout)
        found = rotary_by_kernel(tensors, aligned[0].long(), increments, interleaved)
        if found is not None:
            return found
    codes: dict[tuple[Any, ...], Tensor] = {}  # mostly all have the same
    results = []
    for x, place in zip(tensors, aligned, strict=True):
        key = (place.shape, x.dtype)
        if key not in codes:
            codes[key] = _codes(place, increments, layout, x.dtype)
        D = codes[key].shape[-1]
        whole = rotate(x[..., :D], codes[key], layout=layout)
        results.append(whole if x.shape[-1] == D else torch.cat((whole, x[..., D:]), dim=-1))
    return tuple(results)


def rotate(x: Tensor, codes: Tensor, *, layout: str = "interleaved") -> Tensor:
    """Return x with every pair of columns turned by the phase of its code.

    Parameters
    ----------
    x : Tensor of shape (..., n, D)
        Queries or keys, for instance.
    codes : Tensor of shape (n, D), or one that broadcasts to x
        Cosines and sines in the layout of x.
    layout : {"interleaved", "block"}, default="interleaved"
        The order of columns.

    Returns
    -------
    Tensor of the shape of x

    Examples
    --------
    >>> import torch
    >>> from primal.torch import rotate
    >>> rotate(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]))  # a quarter turn
    tensor([[0., 1.]])
    """
    interleaved = is_interleaved(layout)
    _check_tensor(x)
    check_tensor("codes", codes)
    if x.shape[-1:] != codes.shape[-1:]:
        raise ParameterError(
            f"codes of shape {tuple(codes.shape)} and a tensor of shape {tuple(x.shape)} must have "
            "the same columns to turn: slice off columns that stay."
        )
    shared = zip(reversed(codes.shape), reversed(x.shape), strict=False)
    if codes.ndim not in (2, x.ndim) or not all(a in (1, b) for a, b in shared):
        raise DataError(
            f"codes of shape {tuple(codes.shape)} do not fit a tensor of shape {tuple(x.shape)}: "
            f"give {tuple(x.shape[-2:])}, or as many axes as the tensor, of its length or 1."
        )
    check_device("codes", codes, x)
    work = torch.float64 if x.dtype == torch.float64 else torch.float32
    cos, sin = split_pairs(codes.to(work), interleaved)
    a, b = split_pairs(x.to(work), interleaved)
    return pairs(a * cos - b * sin, a * sin + b * cos, interleaved).to(x.dtype)


def sequence_axis(x: Tensor, seq_dim: int | None) -> int:
    """Return the axis of x that has its positions, counted from the first."""
    _check_tensor(x)
    if x.ndim < 2:
        raise DataError(f"a tensor to turn has axes for positions and columns, got {_shape(x)}.")
    if seq_dim is None:
        if x.ndim > 2:
            raise DataError(
                f"the positions of a tensor of shape {_shape(x)} may lie on several axes: pass "
                "seq_dim=-2 for (..., heads, n, D), or seq_dim=-3 for (..., n, heads, D)."
            )
        return 0
    seq_dim = whole_number("seq_dim", seq_dim, least=-x.ndim)
    axis = seq_dim + x.ndim if seq_dim < 0 else seq_dim
    if not 0 <= axis < x.ndim - 1:
        raise DataError(
            f"seq_dim={seq_dim} is no axis of positions of a tensor of shape {_shape(x)}, whose "
            "last axis has the columns."
        )
    return axis


def aligned_positions(positions: Tensor, x: Tensor, seq_dim: int | None) -> Tensor:
    """Return positions with one axis for each axis of x but the last, if they fit in one way."""
    positions = checked_positions(positions)
    axis = sequence_axis(x, seq_dim)
    shape = tuple(x.shape[:-1])
    whole, n = [1] * len(shape), shape[axis]
    if positions.shape in ((), (n,)):
        whole[axis] = positions.numel()
        return positions.reshape(whole)
    if positions.ndim == len(shape) and all(
        a in (1, b) for a, b in zip(positions.shape, shape, strict=True)
    ):
        return positions
    # Two axes are a batch and its positions, never heads and theirs.
    of_batch = axis > 0 and len(shape) > 2
    if of_batch and positions.shape in ((shape[0], n), (1, n)):
        whole[0], whole[axis] = positions.shape
        return positions.reshape(whole)
    batch = f"({shape[0]}, {n}), " if of_batch else ""
    raise DataError(
        f"positions of shape {_shape(positions)} do not fit a tensor of shape {_shape(x)} with "
        f"its positions on axis {axis}: give shape ({n},), {batch}or one axis for each of {shape}, "
        "of that length or 1."
    )


def _codes(positions: Tensor, increments: Tensor, layout: str, dtype: torch.dtype) -> Tensor:
    """Return the codes for tensors of a type: narrower products would lose digits of phases."""
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    return F.static_prime(positions, increments, layout=layout, dtype=wide)


def _check_tensor(x: Tensor) -> None:
    check_tensor("what is rotated", x, "x")
    if not x.is_floating_point():
        raise DataError(f"x must be floating, got {x.dtype}: cast with x.float().")


def _shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)
