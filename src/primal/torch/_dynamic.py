"""``DynamicPrime`` and ``PrimeFeatures``: layers that turn real vectors into features."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from primal._checks import even_dimension, one_of, positive_scale
from primal._errors import DimensionError, OptionError
from primal.bases import Basis
from primal.decoding import pseudoinverse
from primal.torch import functional as F
from primal.torch._local import local
from primal.torch._tables import frequency_rows

__all__ = ["DynamicPrime", "PrimeFeatures"]

PRECISIONS = ("exact", "fast")
SCALES = ("scalar", "input", "frequency")


class DynamicPrime(nn.Module):
    """Features of real vectors: :func:`functional.dynamic_prime` with its frequency table.

    The table is held as integers and rebuilt from the arguments: ``state_dict()`` is empty
    unless something is learned, and no cast of the module can damage a frequency. The type
    of the output follows the module (``.half()``, ``.to(torch.bfloat16)``); the 16-bit types
    are the float32 features, rounded.

    Parameters
    ----------
    d : int
        Number of inputs.
    D : int
        Number of outputs, even; there are k = D / 2 frequencies.
    sigma : float or sequence of k floats, default=1.0
        Scale of the frequencies.
    basis : {"paper", "signed", "table", "kronecker", "orthogonal", "auto"}, default="paper"
        Rule that makes the frequencies from primes.
    layout : {"block", "interleaved"}, default="block"
    precision : {"exact", "fast"}, default="exact"
        ``"exact"``: the bits of :class:`primal.DynamicPrime` on every device. ``"fast"``: one
        float64 product, float32-accurate up to 2**20 turns.
    primes : {"consecutive", "log"}, default="consecutive"
        Which primes the ``paper`` and ``signed`` bases take.
    learnable_scale : {"scalar", "input", "frequency"}, optional
        Adds a parameter ``scale``, at first ones, that multiplies all of x, each input, or
        each frequency. The last one needs ``precision="fast"``.
    learnable_frequencies : bool, default=False
        Adds a parameter ``frequency_shift`` of shape (k, d), at first zeros, that is added to
        the prime frequencies. Needs ``precision="fast"``.
    device : torch.device or str, optional
    dtype : torch.dtype, default=torch.float32
        Of the output and of the parameters: float32, bfloat16, float16 or float64.

    Raises
    ------
    DimensionError, SigmaError, OptionError, MemoryLimitError
        If an argument is out of range.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import DynamicPrime
    >>> layer = DynamicPrime(2, 64, 0.02, basis="auto")
    >>> x = torch.tensor([[3.0, -1.0], [0.5, 4.0]])
    >>> z = layer(x)
    >>> z.shape, len(layer.state_dict())
    (torch.Size([2, 64]), 0)
    >>> torch.allclose(layer.reverse(z), x, rtol=0, atol=1e-5)
    True
    """

    amplitude = 1.0

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
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.basis = Basis(basis, d, even_dimension(D) // 2, sigma, primes)  # type: ignore[arg-type]
        self.layout = one_of("layout", layout, F.LAYOUTS)
        self.precision = one_of("precision", precision, PRECISIONS)
        if learnable_scale is not None:
            one_of("learnable_scale", learnable_scale, SCALES)
        self.learnable_scale = learnable_scale
        self.learnable_frequencies = bool(learnable_frequencies)
        if self.precision == "exact" and (learnable_frequencies or learnable_scale == "frequency"):
            raise OptionError(
                "learned frequencies are floats, so their bits cannot be promised: pass "
                'precision="fast" with learnable_frequencies or learnable_scale="frequency".'
            )
        self.frequency_range = (0, self.basis.n_frequencies)
        # Follows .half() and .to(dtype), so that the output does.
        like_output = torch.empty(0, dtype=F.output_dtype(dtype), device=device)
        self.register_buffer("like_output", like_output, persistent=False)
        for name in _BUFFERS[self.precision]:
            self.register_buffer(name, None, persistent=False)
        self.register_parameter("scale", None)
        self.register_parameter("frequency_shift", None)
        self.reset_buffers()
        self._add_parameters()

    @property
    def d(self) -> int:
        """Number of inputs."""
        return self.basis.d

    @property
    def D(self) -> int:
        """Number of outputs."""
        return 2 * self.basis.n_frequencies

    @property
    def dtype(self) -> torch.dtype:
        """Type of the output."""
        return self.like_output.dtype

    @property
    def frequencies(self) -> Tensor:
        """The frequencies in turns per unit of x, learned parts included, float64 (k, d)."""
        values = self.frequency_bits.view(torch.float64)
        if self.frequency_shift is not None:
            values = values + local(self.frequency_shift).double()
        if self.learnable_scale == "frequency":
            values = values * local(self.scale).double()[:, None]
        return values

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of x (..., d), shape (..., D)."""
        if self.learnable_scale in ("scalar", "input"):
            wide = torch.promote_types(x.dtype, torch.float32)
            x = x.to(wide) * local(self.scale).to(wide)
        if self.precision == "fast":
            return F.dynamic_prime_fast(
                x, self.frequencies, layout=self.layout, dtype=self.dtype, amplitude=self.amplitude
            )
        table = F.TableTensors(
            self.mantissas,
            self.exponents,
            self.frequency_bits.view(torch.float64),
            self.error_bits.view(torch.float64),
            self._x_limit,
        )
        return F.dynamic_prime(
            x, table, layout=self.layout, dtype=self.dtype, amplitude=self.amplitude
        )

    def reverse(self, z: Tensor) -> Tensor:
        """Return x from features, if none of their phases wrapped (the paper's Reverse).

        Parameters
        ----------
        z : tensor of shape (..., D)

        Returns
        -------
        x : tensor of shape (..., d)
            float64 if z is, else float32.

        Raises
        ------
        NotInvertibleError
            If D < 2 d.
        """
        x = F.reverse_prime(z, self._pseudoinverse(z.device), layout=self.layout)
        if self.learnable_scale in ("scalar", "input"):
            x = x / local(self.scale).to(x.dtype)
        return x

    def grow(self, D: int, *, sigma: object = None) -> DynamicPrime:
        """Return the same layer with more outputs; what was learned is copied.

        The old frequencies come first. Only in the interleaved layout are the old features
        a prefix of the new ones.
        """
        k = even_dimension(D) // 2
        if self.frequency_range != (0, self.basis.n_frequencies):
            raise DimensionError("a part of a layer cannot grow: grow it before it is split.")
        grown = self._like(self.basis.grow(k, sigma))
        with torch.no_grad():
            for name, value in self.named_parameters():
                target = grown.get_parameter(name)
                (target[: len(value)] if value.ndim else target).copy_(value)
        return grown

    def reset_buffers(self) -> None:
        """Rebuild the table on the device of the module, as after ``to_empty``."""
        rows = frequency_rows(self.basis, *self.frequency_range)
        table = F.table_tensors(rows, self.like_output.device)
        self._inverse_on: dict[torch.device, Tensor] = {}
        # float64 numbers are held by their bits: .half() leaves integers alone.
        self.frequency_bits = table.frequencies.view(torch.int64)
        if self.precision == "exact":
            self.mantissas, self.exponents = table.mantissas, table.exponents
            self.error_bits = table.errors.view(torch.int64)
            self._x_limit = table.x_limit

    def reset_parameters(self) -> None:
        """Set what is learned back to the prime frequencies."""
        if self.scale is not None:
            nn.init.ones_(self.scale)
        if self.frequency_shift is not None:
            nn.init.zeros_(self.frequency_shift)

    def keep_frequencies(self, first: int, last: int) -> None:
        """Keep frequencies first..last-1 only, for one rank of several."""
        self.frequency_range = (first, last)
        self.reset_buffers()
        self._add_parameters()

    def extra_repr(self) -> str:
        b = self.basis
        sigma = b.sigma if isinstance(b.sigma, float) else f"<{len(b.sigma)} values>"
        text = (
            f"{b.d}, {self.D}, sigma={sigma}, basis={b.name!r}, layout={self.layout!r}, "
            f"precision={self.precision!r}, dtype={self.dtype}"
        )
        if self.learnable_scale:
            text += f", learnable_scale={self.learnable_scale!r}"
        return text + (", learnable_frequencies=True" if self.learnable_frequencies else "")

    def _add_parameters(self) -> None:
        first, last = self.frequency_range
        shapes = {"scalar": (), "input": (self.d,), "frequency": (last - first,)}
        options = {"dtype": self.dtype, "device": self.like_output.device}
        if self.learnable_scale is not None:
            self.scale = nn.Parameter(torch.empty(shapes[self.learnable_scale], **options))
        if self.learnable_frequencies:
            self.frequency_shift = nn.Parameter(torch.empty((last - first, self.d), **options))
        self.reset_parameters()

    def _like(self, basis: Basis) -> DynamicPrime:
        return DynamicPrime(
            basis.d,
            2 * basis.n_frequencies,
            basis.sigma,
            basis=basis.name,
            primes=basis.primes,
            layout=self.layout,
            precision=self.precision,
            learnable_scale=self.learnable_scale,
            learnable_frequencies=self.learnable_frequencies,
            device=self.like_output.device,
            dtype=self.dtype,
        )

    def _pseudoinverse(self, device: torch.device) -> Tensor:
        if self.learnable_frequencies or self.learnable_scale == "frequency":
            return torch.linalg.pinv(self.frequencies)
        if device not in self._inverse_on:
            inverse = pseudoinverse(self.basis)
            self._inverse_on[device] = torch.from_numpy(inverse).to(device)
        return self._inverse_on[device]


class PrimeFeatures(DynamicPrime):
    """Features whose dot products approximate exp(-|x - y|**2 / (2 lengthscale**2)).

    :class:`DynamicPrime` with a basis that follows a Gaussian law, sigma = 1 / (2 pi
    lengthscale), and a factor 1 / sqrt(k).

    Parameters
    ----------
    d, D : int
        Numbers of inputs and outputs, D even.
    lengthscale : float, default=1.0
        Of the kernel, in units of x. ``learnable_scale`` divides it by what is learned.
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

    def __init__(
        self,
        d: int,
        D: int,
        *,
        lengthscale: float = 1.0,
        basis: str = "auto",
        layout: str = "interleaved",
        precision: str = "exact",
        learnable_scale: str | None = None,
        learnable_frequencies: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.lengthscale = positive_scale("lengthscale", lengthscale)
        super().__init__(
            d,
            D,
            1.0 / (2.0 * math.pi * self.lengthscale),
            basis=basis,
            layout=layout,
            precision=precision,
            learnable_scale=learnable_scale,
            learnable_frequencies=learnable_frequencies,
            device=device,
            dtype=dtype,
        )
        self.amplitude = F.feature_amplitude(self.basis.n_frequencies)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, lengthscale={self.lengthscale}"

    def _like(self, basis: Basis) -> PrimeFeatures:
        return PrimeFeatures(
            basis.d,
            2 * basis.n_frequencies,
            lengthscale=self.lengthscale,
            basis=basis.name,
            layout=self.layout,
            precision=self.precision,
            learnable_scale=self.learnable_scale,
            learnable_frequencies=self.learnable_frequencies,
            device=self.like_output.device,
            dtype=self.dtype,
        )


_BUFFERS = {
    "exact": ("mantissas", "exponents", "frequency_bits", "error_bits"),
    "fast": ("frequency_bits",),
}
