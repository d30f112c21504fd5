"""``DynamicPrime``: a layer that turns real vectors into features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import primal.maps
from primal._checks import flag, one_of
from primal.decoding import SHORTEST_WAVE
from primal.errors import NotInvertibleError, ParameterError
from primal.exact import Basis
from primal.torch import _derivatives, _hadamard, _operators
from primal.torch._inputs import (
    check_device,
    checked_points,
    checked_waves,
    output_dtype,
    pairs,
    split_pairs,
)
from primal.torch._layer import PrimeLayer
from primal.torch._tables import frequency_table

SCALES = ("scalar", "input", "frequency")


class DynamicPrime(PrimeLayer):
    """Features of real vectors.

    The frequencies follow from the arguments and are made where they are needed: the layer has
    no buffers, and ``state_dict()`` is empty unless something is learned. `spec` and `fingerprint`
    are those of the :class:`primal.DynamicPrime` behind it. The output has the type of x, unless
    `dtype` is given or the layer was cast; 16-bit features are the float32 ones, rounded.

    Parameters
    ----------
    d, D, sigma, basis, layout, primes
        As in :class:`primal.DynamicPrime`, with its errors and warnings; k = D / 2.
    precision : {"exact", "fast"}, default="exact"
        ``"exact"``: the bits of the map on every device. ``"fast"``: one float64 product,
        float32-accurate up to 2**20 turns.
    learnable_scale : {"scalar", "input", "frequency"}, optional
        Adds a parameter ``scale``, at first ones, that multiplies all of x (shape (1,)), each
        input, or each frequency. The last one needs ``precision="fast"``.
    learnable_frequencies : bool, default=False
        Adds a parameter ``frequency_shift`` of shape (k, d), at first zeros, that is added to
        the prime frequencies. Needs ``precision="fast"``.
    device : torch.device or str, optional
    dtype : torch.dtype, optional
        Of the output: float32, bfloat16, float16 or float64; by default that of x. Also of the
        parameters, and of the output for integers, by default PyTorch's default type.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import DynamicPrime
    >>> layer = DynamicPrime(2, 64, 0.02, basis="auto")
    >>> x = torch.tensor([[3.0, -1.0], [0.5, 4.0]])
    >>> z = layer(x)
    >>> z.shape, len(layer.state_dict())
    (torch.Size([2, 64]), 0)
    >>> torch.allclose(layer.decode(z), x, rtol=0, atol=1e-5)
    True
    """

    map_type = primal.maps.DynamicPrime
    _is_weighted = False

    def __init__(
        self,
        d: int,
        D: int,
        sigma: object = 1.0,
        *,
        basis: str = "paper",
        layout: str = "block",
        precision: str = "exact",
        primes: str = "consecutive",
        learnable_scale: str | None = None,
        learnable_frequencies: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        # The map of the core checks the arguments, and warns of the paper's basis.
        options = {"basis": basis, "layout": layout, "precision": precision, "primes": primes}
        m = primal.maps.DynamicPrime(d, D, sigma, **options)
        learned = {
            "learnable_scale": learnable_scale,
            "learnable_frequencies": learnable_frequencies,
        }
        self._from_map(m, **learned, device=device, dtype=dtype)

    def _from_map(self, m: Any, **options: Any) -> None:
        if m.spec["layer_norm"]:
            raise ParameterError(
                "a layer does not normalise its input: make the map without layer_norm and put "
                "torch.nn.LayerNorm(d, elementwise_affine=False) in front."
            )
        self._set(m, **options)

    def _set(
        self,
        m: Any,
        *,
        learnable_scale: str | None = None,
        learnable_frequencies: bool = False,
        **options: Any,
    ) -> None:
        table = frequency_table(m.basis)
        self._begin(m, m.D, m.layout, **options)
        self.precision = m.precision
        if learnable_scale is not None:
            one_of("learnable_scale", learnable_scale, SCALES)
        self.learnable_scale = learnable_scale
        self.learnable_frequencies = flag("learnable_frequencies", learnable_frequencies)
        self._learns_frequencies = learnable_frequencies or learnable_scale == "frequency"
        if self.precision == "exact" and self._learns_frequencies:
            raise ParameterError(
                "learned frequencies are floats, so their bits cannot be promised: pass "
                'precision="fast" with learnable_frequencies or learnable_scale="frequency".'
            )
        self._table, self.amplitude = table, 1.0
        self.d = self.in_features = table.shape[1]  # by the name of nn.Linear, too
        # Factors of the inputs, where a kernel has a scale for each.
        self._input_scales: tuple[float, ...] | None = None
        (k, d), parameters = table.shape, {"dtype": self.dtype, "device": self._device}
        self.register_parameter("scale", None)
        self.register_parameter("frequency_shift", None)
        if learnable_scale is not None:
            n = {"scalar": 1, "input": d, "frequency": k}[learnable_scale]
            self.scale = nn.Parameter(torch.empty(n, **parameters))
        if learnable_frequencies:
            self.frequency_shift = nn.Parameter(torch.empty((k, d), **parameters))
        self.reset_parameters()

    @property
    def basis(self) -> Basis:
        """The rule behind the frequencies."""
        return self._table.basis

    @property
    def frequencies(self) -> Tensor:
        """The frequencies in turns per unit of x, learned parts included, float64 (k, d)."""
        return self._frequencies_on(self._device)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of x (..., d), shape (..., D)."""
        x = checked_points(x, self.d)
        chosen = self._dtype_is_given or self.dtype != self._first_dtype
        own = chosen or not x.is_floating_point()
        dtype = self.dtype if own else output_dtype(x.dtype)
        if not self._is_weighted:
            return self._waves(x, self.amplitude, dtype)
        # Narrow types are float32 features, rounded once, after the weights.
        wide = torch.promote_types(dtype, torch.float32)
        return (self._waves(x, 1.0, wide) * self._column_factors(x.device).to(wide)).to(dtype)

    def _waves(self, x: Tensor, amplitude: float, dtype: torch.dtype) -> Tensor:
        """Return cosines and sines of the phases of x times one amplitude."""
        if dtype != torch.float64:
            amplitude = float(np.float32(amplitude))
        request = amplitude, self.layout == "interleaved", dtype
        x = x if x.is_floating_point() else x.double()
        if self.learnable_scale in ("scalar", "input"):
            wide = torch.promote_types(x.dtype, torch.float32)
            x = x.to(wide) * self._parameter("scale", x).to(wide)
        # Exact features of a transform are made without a matrix, and so faster than others.
        exact = self.precision == "exact" or _operators.transform_columns(self._table.key)
        if self._learns_frequencies or not exact:
            return _derivatives.features(x, self._frequencies_on(x.device), 0, *request)
        if self._input_scales is not None:
            x = x.double() * self._input_scales_on(x.device)
        return _derivatives.features(x, self._table.key, *request)

    def decode(self, z: Tensor) -> Tensor:
        """Return x (..., d) from features (..., D), if no phase wrapped (the paper's Reverse)."""
        z, d = checked_waves(z, self.D), self.d
        if 2 * d > self.D:
            raise NotInvertibleError(
                f"decoding needs D >= 2 d, got D = {self.D} and d = {d}: use D = {2 * d} or more."
            )
        if self._is_weighted:
            factors = self._column_factors(z.device)
            z = z / factors.to(torch.promote_types(z.dtype, torch.float32))
        key = self._table.key
        cos, sin = split_pairs(z.double(), self.layout == "interleaved")
        phases, lengths = torch.atan2(sin, cos) / (2.0 * math.pi), torch.hypot(cos, sin)
        # An erased pair has no phase, though atan2 returns a number.
        erased = lengths.amin(-1, keepdim=True) <= SHORTEST_WAVE * lengths.mean(-1, keepdim=True)
        phases = phases.masked_fill(erased, torch.nan)
        k, m = _operators.transform_columns(key) or (0, 1)
        if self._learns_frequencies:
            x = phases @ torch.linalg.pinv(self._frequencies_on(z.device)).mT
        elif k >= m:  # there is a whole block of a transform
            rows = _operators.transform_rows(key, device=z.device)
            x = _hadamard.inverse(phases, rows, d)
        else:
            x = phases @ _operators.inverse_frequencies(key, device=z.device).mT
        x = x if z.dtype == torch.float64 else x.float()
        if self._input_scales is not None and not self._learns_frequencies:
            x = x / self._input_scales_on(z.device).to(x.dtype)
        if self.learnable_scale in ("scalar", "input"):
            x = x / self._parameter("scale", x).to(x.dtype)
        return x

    def reset_parameters(self) -> None:
        """Set what is learned back to the prime frequencies."""
        if self.scale is not None:
            nn.init.ones_(self.scale)
        if self.frequency_shift is not None:
            nn.init.zeros_(self.frequency_shift)

    def _options(self) -> dict[str, Any]:
        names = ("learnable_scale", "learnable_frequencies")
        return super()._options() | {name: getattr(self, name) for name in names}

    def _frequencies_on(self, device: torch.device) -> Tensor:
        values = _operators.frequencies(self._table.key, device=device)
        if self.frequency_shift is not None:
            values = values + self._parameter("frequency_shift", values).double()
        if self.learnable_scale == "frequency":
            values = values * self._parameter("scale", values).double()[:, None]
        if self._input_scales is not None:
            values = values * self._input_scales_on(device)
        return values

    def _input_scales_on(self, device: torch.device) -> Tensor:
        return torch.tensor(self._input_scales, dtype=torch.float64, device=device)

    def _column_factors(self, device: torch.device) -> Tensor:
        factors = self.amplitude * _operators.root_weights(self._table.key, device=device)
        return pairs(factors, factors, self.layout == "interleaved")

    def _parameter(self, name: str, x: Tensor) -> Tensor:
        """Return a parameter, which has to lie where x does."""
        tensor = getattr(self, name)
        check_device(name, tensor, x)
        return tensor
