"""``PrimeFeatures``: a layer whose dot products approximate a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

import primal.maps
from primal._checks import positive_scale
from primal.torch import functional as F
from primal.torch._dynamic import DynamicPrime
from primal.torch._tables import SharedTable, frequency_table

__all__ = ["PrimeFeatures"]


class PrimeFeatures(DynamicPrime):
    """Features whose dot products approximate exp(-|x - y|**2 / (2 lengthscale**2)).

    :class:`DynamicPrime` with a basis that follows a Gaussian law, sigma = 1 / (2 pi
    lengthscale), and a factor 1 / sqrt(k).

    Parameters
    ----------
    d, D : int
        Numbers of inputs and outputs, D even.
    lengthscale : float or sequence of d floats, default=1.0
        Of the kernel, in units of x; one for each input divides the frequencies of that input
        (automatic relevance determination). ``learnable_scale`` divides it by what is learned.
    basis : {"auto", "table", "kronecker", "orthogonal", "paper", "signed"}, default="auto"
    layout : {"block", "interleaved"}, default="interleaved"
    precision, learnable_scale, learnable_frequencies, device, dtype
        As in :class:`DynamicPrime`.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import PrimeFeatures
    >>> layer = PrimeFeatures(2, 1024, lengthscale=2.0)
    >>> x = torch.tensor([[0.0, 0.0], [1.0, 2.0]])
    >>> z = layer(x)
    >>> kernel = torch.exp(-torch.cdist(x, x).square() / (2 * 2.0**2))
    >>> bool((z @ z.T - kernel).abs().max() < 0.01)
    True
    """

    _layout = "interleaved"
    lengthscale: float | tuple[float, ...] = 1.0

    def __init__(
        self,
        d: int,
        D: int,
        *,
        lengthscale: float | Sequence[float] | np.ndarray | Tensor = 1.0,
        basis: str = "auto",
        layout: str = "interleaved",
        precision: str = "exact",
        learnable_scale: str | None = None,
        learnable_frequencies: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        each = _one_for_each(lengthscale)
        common = 1.0 if each else positive_scale("lengthscale", lengthscale)
        m = primal.maps.DynamicPrime(d, D, 1.0 / (2.0 * math.pi * common), basis=basis)
        self._begin(
            frequency_table(m.basis, lengthscales=each),
            layout=layout,
            precision=precision,
            learnable_scale=learnable_scale,
            learnable_frequencies=learnable_frequencies,
            device=device,
            dtype=dtype,
        )
        self.lengthscale = each or common

    def grow(self, D: int, *, sigma: object = None) -> PrimeFeatures:
        """Return the same layer with more outputs; see :meth:`DynamicPrime.grow`.

        The factor 1 / sqrt(k) changes with D: the old features are a prefix up to that factor.
        """
        grown = super().grow(D, sigma=sigma)
        grown.lengthscale = self.lengthscale
        return grown

    def extra_repr(self) -> str:
        each = self.lengthscale
        text = each if isinstance(each, float) else f"<{len(each)} values>"
        return f"{super().extra_repr()}, lengthscale={text}"

    def _amplitude(self, n_frequencies: int) -> float:
        return F.feature_amplitude(n_frequencies)

    def _grown_table(self, n_frequencies: int, sigma: object) -> SharedTable:
        assert self.basis is not None
        each = None if isinstance(self.lengthscale, float) else self.lengthscale
        return frequency_table(self.basis.grow(n_frequencies, sigma), lengthscales=each)


def _one_for_each(lengthscale: object) -> tuple[float, ...] | None:
    """Return lengthscales of the inputs, or None if there is one for all."""
    if isinstance(lengthscale, (np.ndarray, Tensor)):
        lengthscale = lengthscale.tolist()
    if not isinstance(lengthscale, Sequence) or isinstance(lengthscale, (str, bytes)):
        return None
    return tuple(positive_scale(f"lengthscale[{j}]", v) for j, v in enumerate(lengthscale))
