"""What every prime layer has: a type and a device without a tensor that could be undefined."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from primal.torch import functional as F

__all__ = ["PrimeLayer"]


class PrimeLayer(nn.Module):
    """A module whose tables follow from its arguments: it has no buffers.

    Parameters
    ----------
    device : torch.device or str, optional
        Where parameters live, and results of calls without a tensor.
    dtype : torch.dtype, optional
        Of parameters and of the output; see `dtype`.
    """

    def __init__(self, device: torch.device | str | None, dtype: torch.dtype | None) -> None:
        super().__init__()
        self._dtype_is_given = dtype is not None
        self._dtype = self._first_dtype = F.output_dtype(dtype)
        # An empty tensor knows the default device, and the number of a GPU.
        self._device = torch.empty(0, device=device).device

    @property
    def dtype(self) -> torch.dtype:
        """Type of parameters, and of the output for integers: as made, or as cast since."""
        return self._dtype

    def reset_parameters(self) -> None:
        """Set what is learned back to its beginning, as after ``to_empty``; tables need nothing."""

    def _output_dtype(self, x: Tensor) -> torch.dtype:
        """Return the type of the output: that of x, unless one was given or the layer was cast."""
        chosen = self._dtype_is_given or self._dtype != self._first_dtype
        return self._dtype if chosen or not x.is_floating_point() else F.output_dtype(x.dtype)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> PrimeLayer:
        """Follow ``.to()``, ``.half()``, ``.to_empty()`` and the like, as a parameter would."""
        super()._apply(fn, recurse)
        like = torch.empty(0, dtype=self._dtype, device=self._device)
        try:
            moved = fn(like)
        except NotImplementedError:  # nothing can be copied from the meta device: all is there
            moved = fn(torch.empty(0, dtype=self._dtype, device="cpu"))
        self._dtype, self._device = moved.dtype, moved.device
        return self
