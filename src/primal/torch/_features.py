"""``PrimeFeatures``: a layer whose dot products approximate a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

import primal.maps
from primal._checks import even_dimension, one_of, positive_scale, whole_number
from primal.bases import SPECTRAL_KERNELS, spectral_law
from primal.errors import ParameterError
from primal.torch import functional as F
from primal.torch._dynamic import DynamicPrime
from primal.torch._tables import SharedTable, frequency_table

__all__ = ["PrimeFeatures"]


class PrimeFeatures(DynamicPrime):
    """Features whose dot products approximate a kernel of x - y.

    :class:`DynamicPrime` with frequencies that follow the law of the kernel (Bochner's
    theorem), sigma = 1 / (2 pi lengthscale), and a factor 1 / sqrt(k).

    Parameters
    ----------
    d, D : int
        Numbers of inputs and outputs, D even.
    lengthscale : float or sequence of d floats, default=1.0
        Of the kernel, in units of x; one for each input divides the frequencies of that input
        (automatic relevance determination). ``learnable_scale`` divides it by what is learned.
    kernel : {"rbf", "laplacian", "cauchy", "matern12", "matern32", "matern52"}, default="rbf"
        With t = (x - y) / lengthscale: exp(-|t|**2 / 2), exp(-sum_j |t_j|), prod_j 1 / (1 +
        t_j**2), or the Matern kernel of smoothness 1/2, 3/2 or 5/2.
    basis : {"auto", "table", "kronecker", "orthogonal", "paper", "signed"}, default="auto"
        Rule that makes the frequencies from primes. ``"orthogonal"`` goes with rbf and Matern
        kernels only; the last two have no law of a kernel.
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
    kernel = "rbf"

    def __init__(
        self,
        d: int,
        D: int,
        *,
        lengthscale: float | Sequence[float] | np.ndarray | Tensor = 1.0,
        kernel: str = "rbf",
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
        name, sigma = _law(kernel, basis, d, even_dimension(D) // 2, common)
        m = primal.maps.DynamicPrime(d, D, sigma, basis=name)
        self._begin(
            frequency_table(m.basis, lengthscales=each),
            layout=layout,
            precision=precision,
            learnable_scale=learnable_scale,
            learnable_frequencies=learnable_frequencies,
            device=device,
            dtype=dtype,
        )
        self.lengthscale, self.kernel = each or common, kernel

    def grow(self, D: int, *, sigma: object = None) -> PrimeFeatures:
        """Return the same layer with more outputs; see :meth:`DynamicPrime.grow`.

        The factor 1 / sqrt(k) changes with D: the old features are a prefix up to that factor.
        """
        grown = super().grow(D, sigma=sigma)
        grown.lengthscale, grown.kernel = self.lengthscale, self.kernel
        return grown

    def extra_repr(self) -> str:
        each = self.lengthscale
        text = each if isinstance(each, float) else f"<{len(each)} values>"
        return f"{super().extra_repr()}, lengthscale={text}, kernel={self.kernel!r}"

    def _amplitude(self, n_frequencies: int) -> float:
        return F.feature_amplitude(n_frequencies)

    def _grown_table(self, n_frequencies: int, sigma: object) -> SharedTable:
        assert self.basis is not None
        basis = self.basis
        common, each = (
            (self.lengthscale, None)
            if isinstance(self.lengthscale, float)
            else (1.0, self.lengthscale)
        )
        if sigma is None and isinstance(basis.sigma, tuple):  # factors of the rows, as many as rows
            _, sigma = _law(self.kernel, basis.name, basis.d, n_frequencies, common)
        return frequency_table(basis.grow(n_frequencies, sigma), lengthscales=each)


def _law(
    kernel: str, basis: str, d: int, n_frequencies: int, lengthscale: float
) -> tuple[str, float | tuple[float, ...]]:
    """Return the name of a basis and the sigma that follow the law of a kernel."""
    choices, _ = SPECTRAL_KERNELS[one_of("kernel", kernel, SPECTRAL_KERNELS)]
    sigma = 1.0 / (2.0 * math.pi * lengthscale)
    if kernel == "rbf":
        return basis, sigma
    chosen = choices[0] if basis == "auto" else basis
    if chosen not in choices:
        listed = ", ".join(repr(name) for name in ("auto", *choices))
        raise ParameterError(
            f"basis {basis!r} cannot make the frequencies of kernel {kernel!r}: "
            f"use one of {listed}."
        )
    name, factors = spectral_law(kernel, chosen, whole_number("d", d, least=1), n_frequencies)
    return name, sigma if factors is None else tuple((sigma * factors).tolist())


def _one_for_each(lengthscale: object) -> tuple[float, ...] | None:
    """Return lengthscales of the inputs, or None if there is one for all."""
    if isinstance(lengthscale, (np.ndarray, Tensor)):
        lengthscale = lengthscale.tolist()
    if not isinstance(lengthscale, Sequence) or isinstance(lengthscale, (str, bytes)):
        return None
    return tuple(positive_scale(f"lengthscale[{j}]", v) for j, v in enumerate(lengthscale))
