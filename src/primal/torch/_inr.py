"""``PrimeINR``: a signal as a network of its coordinates, with prime features in front."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from primal._checks import one_of, whole_number
from primal.errors import ParameterError
from primal.torch._dynamic import DynamicPrime

__all__ = ["SHARE_OF_NYQUIST", "PrimeINR", "Sine", "sampling_sigma"]

BODIES = ("relu", "sine")
# Standard deviation of the frequencies as a share of the highest one that the samples carry.
# Chosen once by `primal study inr --choose`, on images that no test of the rule uses.
SHARE_OF_NYQUIST = 0.0625
# SIREN's factor of later layers (Sitzmann and others 2020): one radian of the sine spans 1/30.
_SINE_FACTOR = 30.0


def sampling_sigma(samples_per_unit: float) -> float:
    """Return the sigma for a signal sampled so densely along each coordinate.

    Samples carry frequencies up to half their rate. Natural signals have most of their energy
    far below that, and frequencies above it only fit noise between samples; the features get
    Gaussian frequencies with a standard deviation of ``SHARE_OF_NYQUIST`` times that limit.

    Parameters
    ----------
    samples_per_unit : float
        Samples per unit of a coordinate: 64 for 128 samples from -1 to 1.

    Returns
    -------
    sigma : float
        In turns per unit.

    Examples
    --------
    >>> from primal.torch import sampling_sigma
    >>> sampling_sigma(64)
    2.0
    """
    if not (isinstance(samples_per_unit, (int, float)) and 0 < samples_per_unit < math.inf):
        raise ParameterError(
            f"samples_per_unit must be a positive number, got {samples_per_unit!r}."
        )
    return SHARE_OF_NYQUIST * samples_per_unit / 2.0


class Sine(nn.Module):
    """sin(factor * x), the activation of SIREN."""

    def __init__(self, factor: float = _SINE_FACTOR) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        """Return the sine of the scaled input."""
        return torch.sin(self.factor * x)

    def extra_repr(self) -> str:
        return f"factor={self.factor}"


class SineLinear(nn.Linear):
    """A dense layer before or after :class:`Sine`, with SIREN's weights."""

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
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
    n_features : int, default=256
        Prime features of the first layer, even.
    width : int, default=256
        Units of a hidden layer.
    n_hidden : int, default=2
        Hidden layers.
    body : {"relu", "sine"}, default="relu"
        Activation of the hidden layers; ``"sine"`` is SIREN's, with its initialisation.
    basis : str, default="auto"
        Rule that makes the frequencies from primes.
    learnable_frequencies : bool, default=False
        Train the frequencies, too; they start at the primes'.
    device : torch.device or str, optional
    dtype : torch.dtype, optional
        Of the parameters, by default PyTorch's default type. Features are computed from
        coordinates of any type, and have the type of the dense layers.

    Raises
    ------
    ParameterError
        If an argument is out of range, or not exactly one of `samples_per_unit` and `sigma` is
        given.

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
        n_hidden = whole_number("n_hidden", n_hidden, least=1)
        width = whole_number("width", width, least=1)
        n_outputs = whole_number("n_outputs", n_outputs, least=1)
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
        sine = one_of("body", body, BODIES) == "sine"
        dense = SineLinear if sine else nn.Linear
        layers: list[nn.Module] = []
        n_inputs = n_features
        for _ in range(n_hidden):
            layers += [dense(n_inputs, width, device=device, dtype=dtype)]
            layers += [Sine() if sine else nn.ReLU()]
            n_inputs = width
        layers += [dense(n_inputs, n_outputs, device=device, dtype=dtype)]
        self.body = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Return the values at coordinates x, shape (..., d) to (..., n_outputs)."""
        return self.body(self.features(x).to(self.body[0].weight.dtype))

    def reset_parameters(self) -> None:
        """Draw the dense layers anew, and set what is learned of the features back."""
        for layer in (self.features, *self.body):
            if isinstance(layer, (DynamicPrime, nn.Linear)):
                layer.reset_parameters()
