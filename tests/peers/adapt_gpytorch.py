"""GPyTorch's tests of ``RFFKernel``, with our frequencies and our features."""

import math

import gpytorch.kernels
import torch
from gpytorch.kernels import RFFKernel

from primal import Basis
from primal.torch import DynamicPrime

# RFFKernel multiplies x / lengthscale with standard normal weights, in radians.
_SIGMA = 1.0 / (2.0 * math.pi)


class PrimeKernel(RFFKernel):
    def _init_weights(self, num_dims=None, num_samples=None, randn_weights=None):
        if randn_weights is None:
            basis = Basis("auto", num_dims, num_samples, _SIGMA)
            like = self.raw_lengthscale
            radians = torch.from_numpy(2.0 * math.pi * basis.frequencies.T).to(like)
            randn_weights = radians.expand(*self._batch_shape, num_dims, num_samples)
        super()._init_weights(randn_weights=randn_weights)

    def _featurize(self, x, normalize=False):
        layer = DynamicPrime(x.shape[-1], 2 * self.num_samples, _SIGMA, basis="auto", dtype=x.dtype)
        z = layer(x / self.lengthscale)
        return z / math.sqrt(self.num_samples) if normalize else z


gpytorch.kernels.RFFKernel = PrimeKernel
