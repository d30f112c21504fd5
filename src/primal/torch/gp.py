"""Prime features for Gaussian processes in GPyTorch and BoTorch; ``import primal.torch.gp``.

:class:`PrimeKernel` takes the place of GPyTorch's ``RFFKernel``. :func:`gen_prime_features` is a
generator of feature maps for BoTorch's pathwise sampling, by its public argument ``map_generator``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from primal._checks import even_dimension, one_of, whole_number
from primal._extras import require as _require
from primal.errors import ParameterError
from primal.maps import KERNELS, checked_width, obstacle, rounded_up
from primal.torch._features import PrimeFeatures
from primal.torch._inputs import check_tensor, checked_points

_require("gpytorch", "primal.torch.gp")

from gpytorch import kernels
from gpytorch.models import exact_prediction_strategies as strategies
from linear_operator.operators import (
    LowRankRootLinearOperator,
    MatmulLinearOperator,
    RootLinearOperator,
)

__all__ = ["PrimeKernel", "gen_prime_features"]

_MATERN = {0.5: "matern12", 1.5: "matern32", 2.5: "matern52"}


class PrimeKernel(kernels.Kernel):
    """The kernel z(x / l) . z(x' / l) of prime features, in the place of GPyTorch's ``RFFKernel``.

    Nothing is drawn and nothing is stored: ``state_dict()`` holds the length scales alone, and a
    model loaded elsewhere, on a GPU too, has the same features to the bit. Length scales have
    gradients, one or one for each input (``ard_num_dims``).

    Parameters
    ----------
    num_samples : int
        Number of frequencies; there are twice as many features.
    num_dims : int, optional
        Number of inputs; by default that of the first x.
    kernel : str, default="rbf"
        As in :class:`primal.KernelPrime`.
    **options
        Of ``gpytorch.kernels.Kernel``: ``ard_num_dims``, ``batch_shape``, ``active_dims``, ...

    Examples
    --------
    >>> import torch
    >>> from primal.torch.gp import PrimeKernel
    >>> kernel = PrimeKernel(512)
    >>> kernel.lengthscale = 2.0
    >>> x = torch.tensor([[0.0, 0.0], [1.0, 2.0]])
    >>> exact = torch.exp(-torch.cdist(x, x).square() / (2 * 2.0**2))
    >>> bool((kernel(x).to_dense() - exact).abs().max() < 0.01)
    True
    """

    has_lengthscale = True

    def __init__(
        self, num_samples: int, num_dims: int | None = None, *, kernel: str = "rbf", **options: Any
    ) -> None:
        super().__init__(**options)
        self.num_samples = whole_number("num_samples", num_samples, least=1)
        self.kernel = one_of("kernel", kernel, KERNELS)
        self._layer = None if num_dims is None else self._new_layer(num_dims)

    def features(self, x: Tensor) -> Tensor:
        """Return the features (..., n, 2 num_samples) of x (..., n, d)."""
        check_tensor("x", x)
        if self._layer is None:
            self._layer = self._new_layer(x.shape[-1] if x.ndim else 0)
        x = checked_points(x, self._layer.d)
        return self._layer(x / self.lengthscale)

    def forward(
        self,
        x1: Tensor,
        x2: Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,
    ) -> Any:
        """Return the kernel of x1 (..., n, d) and x2 (..., m, d) by its factors."""
        if last_dim_is_batch:
            x1, x2 = (x.mT.unsqueeze(-1) for x in (x1, x2))
        z1 = self.features(x1)
        same = x1.shape == x2.shape and torch.equal(x1, x2)
        z2 = z1 if same else self.features(x2)
        if diag:
            return (z1 * z2).sum(-1)
        if not same:
            return MatmulLinearOperator(z1, z2.mT)
        # With fewer features than rows the algebra is that of the features.
        few = z1.shape[-1] < z1.shape[-2]
        return LowRankRootLinearOperator(z1) if few else RootLinearOperator(z1)

    def prediction_strategy(
        self, train_inputs: Any, train_prior_dist: Any, train_labels: Any, likelihood: Any
    ) -> Any:
        """Return GPyTorch's strategy for linear kernels, which works with features."""
        return strategies.LinearPredictionStrategy(
            train_inputs, train_prior_dist, train_labels, likelihood
        )

    def _new_layer(self, d: int) -> PrimeFeatures:
        return PrimeFeatures(d, 2 * self.num_samples, self.kernel, lengthscale=1.0)


class PrimeFeatureMap(nn.Module):
    """The features of a kernel of GPyTorch, as BoTorch's paths take them: sqrt(s) z(x / l).

    Length and output scales are those at the time it is made, in buffers: a path drawn with it
    stays the function it is, whatever becomes of the model and on which device.

    Attributes
    ----------
    num_outputs, batch_shape : int, torch.Size
        Of the features, and of the kernel.
    """

    input_transform = None
    output_transform = None

    def __init__(
        self, kernel: kernels.Kernel, num_inputs: int, num_outputs: int, width: object = None
    ) -> None:
        super().__init__()
        scales, base = [], kernel
        while isinstance(base, kernels.ScaleKernel):
            scales.append(base.outputscale.detach())
            base = base.base_kernel
        name = _kernel_name(base)
        self.num_outputs = even_dimension(num_outputs, name="num_outputs")
        self.batch_shape = kernel.batch_shape
        # GPyTorch looks at those of the outermost kernel alone.
        self.register_buffer("active_dims", kernel.active_dims)
        self.register_buffer("lengthscale", base.lengthscale.detach().clone())
        scale = math.prod(scales, start=torch.ones_like(self.lengthscale[..., 0, 0]))
        self.register_buffer("amplitude", scale.sqrt()[..., None, None])
        n_lengths = self.lengthscale.shape[-1]
        n_active = num_inputs if self.active_dims is None else len(self.active_dims)
        if n_lengths not in (1, n_active):
            raise ParameterError(
                f"the kernel has {n_lengths} length scales and {n_active} inputs: give it one, or "
                "one for each (ard_num_dims)."
            )
        width = checked_width(width, num_inputs)
        if width is not None and self.active_dims is not None:
            width = width[self.active_dims.numpy(force=True)]
        d = num_inputs if self.active_dims is None else len(self.active_dims)
        self.layer = _layer(name, d, self.num_outputs, base.lengthscale, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features (..., n, num_outputs) of x (..., n, d)."""
        if self.active_dims is not None:
            x = x.index_select(-1, self.active_dims)
        return self.amplitude * self.layer(x / self.lengthscale)


def gen_prime_features(
    kernel: kernels.Kernel, num_inputs: int, num_outputs: int, *, width: object = None
) -> PrimeFeatureMap:
    """Return the feature map of a kernel, for ``map_generator=`` of BoTorch's pathwise sampling.

    Parameters
    ----------
    kernel : gpytorch.kernels.Kernel
        ``RBFKernel``, ``MaternKernel`` or ``PrimeKernel``, also in a ``ScaleKernel``.
    num_inputs : int
        Number d of columns of x.
    num_outputs : int
        Number of features, even.
    width : float or sequence of num_inputs floats, optional
        Standard deviation of the x of interest: 0.29 in the unit cube, to which BoTorch asks to
        scale inputs. Up to 8 inputs the features may then be made for it and for the length scales
        of the kernel, with a fraction of the error. Several times as far out they have a larger
        one, and repeat themselves. By default they serve any x.

    Examples
    --------
    >>> import torch
    >>> from gpytorch.kernels import MaternKernel, ScaleKernel
    >>> from primal.torch.gp import gen_prime_features
    >>> kernel = ScaleKernel(MaternKernel(nu=2.5))
    >>> z = gen_prime_features(kernel, num_inputs=3, num_outputs=1024)(torch.ones(5, 3))
    >>> z.shape
    torch.Size([5, 1024])

    BoTorch's ``draw_kernel_feature_paths(..., map_generator=gen_prime_features)`` draws from the
    prior, ``draw_matheron_paths`` from the posterior with a ``functools.partial`` of that as its
    ``prior_sampler``.
    """
    return PrimeFeatureMap(kernel, num_inputs, num_outputs, width)


def _layer(
    kernel: str, d: int, D: int, lengthscale: Tensor, width: np.ndarray | None
) -> PrimeFeatures:
    """Return features of x / lengthscale (..., 1, d), made for x of a width if there is one."""
    if width is None:
        return PrimeFeatures(d, D, kernel, lengthscale=1.0)
    # All of a batch share their frequencies.
    shortest = lengthscale.detach().double().flatten(end_dim=-2).amin(dim=0).cpu().numpy()
    # The last digits of a length scale, which is kept as a root of softplus, must not show.
    options = {"lengthscale": 1.0, "width": rounded_up(width / shortest * (1.0 - 2.0**-20))}
    layer = PrimeFeatures(d, D, kernel, method="auto", **options)
    if layer.map.method == "growable" and not obstacle("lattice", kernel, d, D):
        # These maps never grow, so a smaller gain than that of "auto" is enough.
        lattice = PrimeFeatures(d, D, kernel, method="lattice", **options)
        if lattice.map.predicted_error < 0.6 * layer.map.predicted_error:
            return lattice
    return layer


def _kernel_name(kernel: kernels.Kernel) -> str:
    if type(kernel) is kernels.RBFKernel:
        return "rbf"
    if type(kernel) is kernels.MaternKernel and kernel.nu in _MATERN:
        return _MATERN[kernel.nu]
    if isinstance(kernel, PrimeKernel):
        return kernel.kernel
    raise ParameterError(
        "features are those of an RBFKernel, a MaternKernel with nu = 0.5, 1.5 or 2.5 or a "
        f"PrimeKernel, also in a ScaleKernel, got {type(kernel).__name__}."
    )
