"""``PrimeFeatures``: a layer whose dot products approximate a kernel."""

from __future__ import annotations

from typing import Any

from torch import Tensor

import primal.maps
from primal._checks import even_dimension, whole_number
from primal.errors import ParameterError
from primal.maps import KernelSum, gamma_of_length
from primal.torch._dynamic import DynamicPrime


class PrimeFeatures(DynamicPrime):
    """Features whose dot products approximate a kernel of x - y: :class:`primal.KernelPrime`.

    `spec` and `fingerprint` are those of the ``KernelPrime`` with ``form="pair"`` behind the layer,
    whose float32 bits it has.

    Parameters
    ----------
    d, D, kernel, gamma, basis, layout, method, width
        As in :class:`primal.KernelPrime`; D is even.
    lengthscale : float or sequence of d floats, optional
        In place of gamma: the length l in units of x by which the kernel divides x - y. With
        t = (x - y) / l: exp(-|t|**2 / 2), exp(-sum_j |t_j|), prod_j 1 / (1 + t_j**2), or the
        Matern kernel. ``learnable_scale`` divides it by what is learned.
    precision : {"exact", "fast"}, default="exact"
        As in :class:`DynamicPrime`.
    **options
        learnable_scale, learnable_frequencies, device and dtype, as in :class:`DynamicPrime`.

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
    >>> layer.spec["type"], layer.spec["gamma"]
    ('KernelPrime', 0.125)
    """

    map_type = primal.maps.KernelPrime

    def __init__(
        self,
        d: int,
        D: int,
        kernel: str | KernelSum = "rbf",
        gamma: object = None,
        *,
        lengthscale: object = None,
        basis: str = "auto",
        layout: str = "interleaved",
        precision: str = "exact",
        method: str | None = None,
        width: object = None,
        **options: Any,
    ) -> None:
        if lengthscale is not None:
            if gamma is not None:
                raise ParameterError(
                    f"give gamma or lengthscale, one of the two, got {gamma!r} and {lengthscale!r}."
                )
            if isinstance(kernel, KernelSum):
                raise ParameterError(
                    "every part of a kernel has its own gamma, on(columns, kernel, gamma): leave "
                    f"out lengthscale={lengthscale!r:.60}."
                )
            length = _without_gradient(lengthscale)
            gamma = gamma_of_length(kernel, length, whole_number("d", d))
        m = primal.maps.KernelPrime(
            d,
            even_dimension(D),
            kernel,
            1.0 if gamma is None else _without_gradient(gamma),
            basis=basis,
            form="pair",
            layout=layout,
            precision=precision,
            method=method,
            width=_without_gradient(width),
        )
        self._from_map(m, **options)

    def _from_map(self, m: primal.maps.KernelPrime, **options: Any) -> None:
        if m.form != "pair" or m.D % 2:
            raise ParameterError(
                f"a layer has pairs of cosine and sine, got a map with form={m.form!r} and D = "
                f'{m.D}: make it with form="pair" and an even D.'
            )
        self._set(m, **options)
        self.amplitude = m.amplitude
        self._is_weighted = m.is_weighted
        if m.input_scales is not None:
            self._input_scales = tuple(m.input_scales.tolist())


def _without_gradient(value: object) -> object:
    return value.detach() if isinstance(value, Tensor) else value
