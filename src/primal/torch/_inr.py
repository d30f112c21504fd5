"""``PrimeINR``: a signal as a network of its coordinates, with prime features in front."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from primal._checks import even_dimension, flag, one_of, real_number, require_memory, whole_number
from primal.errors import ParameterError
from primal.torch import functional as F
from primal.torch._dynamic import DynamicPrime
from primal.torch._inputs import checked_device

BODIES = ("relu", "sine")
# Standard deviation of the frequencies as a share of the highest one that the samples carry.
# Chosen once by `primal study inr --choose`, on images that no test of the rule uses.
SHARE_OF_NYQUIST = 0.0625
# SIREN's factor of later layers (Sitzmann and others 2020): one radian of the sine spans 1/30.
_SINE_FACTOR = 30.0


def sampling_sigma(samples_per_unit: float) -> float:
    """Return the sigma, in turns per unit, for a signal sampled so densely along each coordinate.

    Samples carry frequencies up to half their rate; the features get Gaussian frequencies with a
    standard deviation of ``SHARE_OF_NYQUIST`` times that limit.

    Parameters
    ----------
    samples_per_unit : float
        128 samples from -1 to 1 are 64 samples per unit.

    Returns
    -------
    float
        In turns per unit.

    Examples
    --------
    >>> from primal.torch import sampling_sigma
    >>> sampling_sigma(64)
    2.0
    """
    # Within these the sigma that follows is one that a basis takes.
    rate = real_number("samples_per_unit", samples_per_unit, above=1e-90, below=1e90)
    return SHARE_OF_NYQUIST * rate / 2.0


class Sine(nn.Module):
    """sin(30 x), the activation of SIREN."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the sine of the scaled input."""
        return torch.sin(_SINE_FACTOR * x)


class SineLinear(nn.Linear):
    """A dense layer before or after :class:`Sine`, with SIREN's weights."""

    def reset_parameters(self) -> None:
        """Reset the weights."""
        super().reset_parameters()
        # Features have a mean square of 1/2, as the sines of a layer before would.
        limit = math.sqrt(6.0 / self.in_features) / _SINE_FACTOR
        nn.init.uniform_(self.weight, -limit, limit)


class PrimeINR(nn.Module):
    """Map coordinates to values: prime features, then a few dense layers.

    Parameters
    ----------
    d : int
        Number of coordinates: 1 for sound, 2 for an image, 3 for a solid.
    n_outputs : int, default=1
        Values at each point.
    samples_per_unit : float, optional
        How densely the signal is sampled; sigma then comes from :func:`sampling_sigma`.
    sigma : float, optional
        Scale of the frequencies in turns per unit; give this or `samples_per_unit`.
    n_features, width, n_hidden : int, default=256, 256, 2
        Prime features of the first layer, even; units of a hidden layer, and how many there are.
    body : {"relu", "sine"}, default="relu"
        Activation of the hidden layers; ``"sine"`` is SIREN's, with its initialisation.
    basis : str, default="auto"
        Rule that makes the frequencies from primes.
    learnable_frequencies : bool, default=False
        Train the frequencies, too; they start at the primes'.
    device, dtype
        Of the parameters, by default PyTorch's.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import PrimeINR
    >>> image = PrimeINR(2, 3, samples_per_unit=64)
    >>> image(torch.zeros(5, 2)).shape, image.features.basis.sigma
    (torch.Size([5, 3]), 2.0)
    """

    def __init__(
        self,
        d: int,
        n_outputs: int = 1,
        *,
        samples_per_unit: float | None = None,
        sigma: float | None = None,
        n_features: int = 256,
        width: int = 256,
        n_hidden: int = 2,
        body: str = "relu",
        basis: str = "auto",
        learnable_frequencies: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if (samples_per_unit is None) == (sigma is None):
            raise ParameterError(
                f"give samples_per_unit or sigma, one of the two, got {samples_per_unit!r} and "
                f"{sigma!r}."
            )
        learnable_frequencies = flag("learnable_frequencies", learnable_frequencies)
        device = checked_device(device)
        n_hidden = whole_number("n_hidden", n_hidden, least=1)
        width = whole_number("width", width, least=1)
        n_outputs = whole_number("n_outputs", n_outputs, least=1)
        n_features = even_dimension(n_features, name="n_features")
        self.in_features, self.out_features = d, n_outputs
        self.features = DynamicPrime(
            d,
            n_features,
            sampling_sigma(samples_per_unit) if samples_per_unit is not None else sigma,
            basis=basis,
            layout="interleaved",
            precision="fast" if learnable_frequencies else "exact",
            learnable_frequencies=learnable_frequencies,
            device=device,
            dtype=dtype,
        )
        require_memory(
            4 * width * (n_features + n_outputs + (n_hidden - 1) * width),
            f"a network of width = {width}, n_hidden = {n_hidden}, n_outputs = {n_outputs}",
        )
        sine = one_of("body", body, BODIES) == "sine"
        dense = SineLinear if sine else nn.Linear
        sizes = [n_features, *[width] * n_hidden, n_outputs]
        layers: list[nn.Module] = []
        for n_in, n_out in pairwise(sizes):
            layers += [dense(n_in, n_out, device=device, dtype=dtype)]
            layers += [Sine() if sine else nn.ReLU()]
        self.body = nn.Sequential(*layers[:-1])

    def forward(self, x: Tensor) -> Tensor:
        """Return the values at coordinates x, shape (..., d) to (..., n_outputs)."""
        z = self.features(x)
        F.check_device("the layer", self.body[0].weight, z)  # type: ignore[bad-argument-type]
        return self.body(z.to(self.body[0].weight.dtype))

    def reset_parameters(self) -> None:
        """Reset the dense layers and what is learned of the features."""
        for layer in (self.features, *self.body):
            if isinstance(layer, (DynamicPrime, nn.Linear)):
                layer.reset_parameters()
