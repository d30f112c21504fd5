"""GPyTorch's tests of ``RFFKernel``, on ``PrimeKernel``."""

import gpytorch.kernels
import torch

from primal.torch.gp import PrimeKernel


class Adapted(PrimeKernel):
    """Their tests hand frequencies from one kernel to another; ours has them by itself."""

    randn_weights = torch.zeros(3, 2)

    def _init_weights(self, randn_weights):
        pass


gpytorch.kernels.RFFKernel = Adapted
