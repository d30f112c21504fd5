"""``DynamicPrime``: a layer that turns real vectors into features."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

import primal.maps
from primal._checks import even_dimension, one_of
from primal.bases import Basis
from primal.errors import ParameterError
from primal.torch import _operators
from primal.torch import functional as F
from primal.torch._layer import PrimeLayer
from primal.torch._local import local
from primal.torch._tables import SharedTable, frequency_table

__all__ = ["DynamicPrime"]

PRECISIONS = ("exact", "fast")
SCALES = ("scalar", "input", "frequency")
Layer = TypeVar("Layer", bound="DynamicPrime")


class DynamicPrime(PrimeLayer):
    """Features of real vectors: :func:`functional.dynamic_prime` with its frequencies.

    The frequencies follow from the arguments and are made where they are needed: the layer has
    no buffers, ``state_dict()`` is empty unless something is learned, and nothing can damage a
    frequency. The output has the type of x, unless `dtype` is given or the layer was cast
    (``.half()``, ``.to(torch.bfloat16)``); the 16-bit types are the float32 features, rounded.

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
        Adds a parameter ``scale``, at first ones, that multiplies all of x (shape (1,)), each
        input, or each frequency. The last one needs ``precision="fast"``.
    learnable_frequencies : bool, default=False
        Adds a parameter ``frequency_shift`` of shape (k, d), at first zeros, that is added to
        the prime frequencies. Needs ``precision="fast"``.
    device : torch.device or str, optional
    dtype : torch.dtype, optional
        Of the output: float32, bfloat16, float16 or float64; by default that of x. Also of the
        parameters, and of the output for integers, by default PyTorch's default type.

    Raises
    ------
    ParameterError, MemoryLimitError
        If an argument is out of range.

    Warns
    -----
    ConditioningWarning
        When the paper's basis is asked for with d > 8.

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
        m = primal.maps.DynamicPrime(d, D, sigma, basis=basis, primes=primes)
        self._begin(
            frequency_table(m.basis),
            layout=layout,
            precision=precision,
            learnable_scale=learnable_scale,
            learnable_frequencies=learnable_frequencies,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def from_frequencies(
        cls: type[Layer],
        frequencies: np.ndarray | Tensor,
        *,
        layout: str | None = None,
        precision: str = "exact",
        learnable_scale: str | None = None,
        learnable_frequencies: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> Layer:
        """Return a layer with given frequencies, in turns per unit of x.

        They are taken as float64 and belong to the layer like its other arguments: a pickle
        holds them, ``state_dict()`` does not. Such a layer cannot grow.

        Parameters
        ----------
        frequencies : array or tensor of shape (k, d)
        layout : {"block", "interleaved"}, optional
            By default that of the class.
        precision, learnable_scale, learnable_frequencies, device, dtype
            As in the class.

        Raises
        ------
        DataError, ParameterError
            If the frequencies are not a matrix of finite numbers up to 1e30, or an option
            does not exist.

        Examples
        --------
        >>> import torch
        >>> from primal.torch import DynamicPrime
        >>> layer = DynamicPrime.from_frequencies(torch.tensor([[0.25, 0.0], [0.0, 0.5]]))
        >>> layer(torch.tensor([1.0, 1.0])).int().tolist()  # a quarter turn, and a half
        [0, -1, 1, 0]
        """
        layer = object.__new__(cls)
        layer._begin(
            frequency_table(frequencies),
            layout=cls._layout if layout is None else layout,
            precision=precision,
            learnable_scale=learnable_scale,
            learnable_frequencies=learnable_frequencies,
            device=device,
            dtype=dtype,
        )
        return layer

    _layout = "block"

    def _begin(
        self,
        table: SharedTable,
        *,
        layout: str,
        precision: str,
        learnable_scale: str | None,
        learnable_frequencies: bool,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        PrimeLayer.__init__(self, device, dtype)
        self.layout = one_of("layout", layout, F.LAYOUTS)
        self.precision = one_of("precision", precision, PRECISIONS)
        if learnable_scale is not None:
            one_of("learnable_scale", learnable_scale, SCALES)
        self.learnable_scale = learnable_scale
        self.learnable_frequencies = bool(learnable_frequencies)
        if self.precision == "exact" and (learnable_frequencies or learnable_scale == "frequency"):
            raise ParameterError(
                "learned frequencies are floats, so their bits cannot be promised: pass "
                'precision="fast" with learnable_frequencies or learnable_scale="frequency".'
            )
        self._table = table
        self.frequency_range = (0, table.shape[0])
        self.D = 2 * table.shape[0]
        self.amplitude = self._amplitude(table.shape[0])
        self.register_parameter("scale", None)
        self.register_parameter("frequency_shift", None)
        self._add_parameters()

    @property
    def d(self) -> int:
        """Number of inputs."""
        return self._table.shape[1]

    @property
    def basis(self) -> Basis | None:
        """The rule behind the frequencies; None if they were given."""
        return self._table.basis

    @property
    def frequencies(self) -> Tensor:
        """The frequencies in turns per unit of x, learned parts included, float64 (k, d)."""
        return self._frequencies_on(self._device)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of x (..., d), shape (..., D)."""
        x = F.checked_points(x, self.d)
        options: dict[str, Any] = {
            "layout": self.layout,
            "dtype": self._output_dtype(x),
            "amplitude": self.amplitude,
        }
        if self.learnable_scale in ("scalar", "input"):
            x = self._scaled(x)
        if self.precision == "fast":
            return F.dynamic_prime_fast(x, self._frequencies_on(x.device), **options)
        return F.dynamic_prime(x, self._table, **options)

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
        z = F.checked_points(z, 2 * self._table.shape[0], "z")
        if self.learnable_frequencies or self.learnable_scale == "frequency":
            inverse = torch.linalg.pinv(self._frequencies_on(z.device))
        else:
            inverse = _operators.inverse_frequencies(self._table.key, device=z.device)
        x = F.reverse_prime(z, inverse, layout=self.layout)
        if self.learnable_scale in ("scalar", "input"):
            scale = local(self.scale)
            F.check_device("scale", scale, x)
            x = x / scale.to(x.dtype)
        return x

    def grow(self: Layer, D: int, *, sigma: object = None) -> Layer:
        """Return the same layer with more outputs; what was learned is copied.

        The old frequencies come first. Only in the interleaved layout are the old features
        a prefix of the new ones.
        """
        k = even_dimension(D) // 2
        if self.basis is None:
            raise ParameterError("frequencies that were given cannot grow: give more of them.")
        if self.frequency_range != (0, self.basis.n_frequencies):
            raise ParameterError("a part of a layer cannot grow: grow it before it is split.")
        grown = object.__new__(type(self))
        grown._begin(
            self._grown_table(k, sigma),
            layout=self.layout,
            precision=self.precision,
            learnable_scale=self.learnable_scale,
            learnable_frequencies=self.learnable_frequencies,
            device=self._device,
            dtype=self._dtype,
        )
        grown._dtype_is_given, grown._first_dtype = self._dtype_is_given, self._first_dtype
        with torch.no_grad():
            for name, value in self.named_parameters():
                grown.get_parameter(name)[: len(value)].copy_(value)
        return grown

    def reset_parameters(self) -> None:
        """Set what is learned back to the prime frequencies."""
        if self.scale is not None:
            nn.init.ones_(self.scale)
        if self.frequency_shift is not None:
            nn.init.zeros_(self.frequency_shift)

    def keep_frequencies(self, first: int, last: int) -> None:
        """Keep frequencies first..last-1 only, for one rank of several."""
        self._table = self._table.part(first, last)
        self.frequency_range = (first, last)
        self._add_parameters()

    def extra_repr(self) -> str:
        text = f"{self.d}, {self.D}, {self._repr_of_basis()}, layout={self.layout!r}"
        text += f", precision={self.precision!r}, dtype={self.dtype}"
        if self.learnable_scale:
            text += f", learnable_scale={self.learnable_scale!r}"
        return text + (", learnable_frequencies=True" if self.learnable_frequencies else "")

    def _repr_of_basis(self) -> str:
        if self.basis is None:
            return "given frequencies"
        sigma = self.basis.sigma
        text = sigma if isinstance(sigma, float) else f"<{len(sigma)} values>"
        return f"sigma={text}, basis={self.basis.name!r}"

    def _amplitude(self, n_frequencies: int) -> float:
        return 1.0

    def _grown_table(self, n_frequencies: int, sigma: object) -> SharedTable:
        assert self.basis is not None
        return frequency_table(self.basis.grow(n_frequencies, sigma))

    def _scaled(self, x: Tensor) -> Tensor:
        scale = local(self.scale)
        F.check_device("scale", scale, x)
        wide = (
            torch.promote_types(x.dtype, torch.float32) if x.is_floating_point() else torch.float64
        )
        return x.to(wide) * scale.to(wide)

    def _frequencies_on(self, device: torch.device) -> Tensor:
        values = _operators.frequencies(self._table.key, device=device)
        if self.frequency_shift is not None:
            shift = local(self.frequency_shift)
            F.check_device("frequency_shift", shift, values)
            values = values + shift.double()
        if self.learnable_scale == "frequency":
            scale = local(self.scale)
            F.check_device("scale", scale, values)
            values = values * scale.double()[:, None]
        return values

    def _add_parameters(self) -> None:
        k, d = self._table.shape
        shapes = {"scalar": (1,), "input": (d,), "frequency": (k,)}
        options: dict[str, Any] = {"dtype": self._dtype, "device": self._device}
        if self.learnable_scale is not None:
            self.scale = nn.Parameter(torch.empty(shapes[self.learnable_scale], **options))
        if self.learnable_frequencies:
            self.frequency_shift = nn.Parameter(torch.empty((k, d), **options))
        self.reset_parameters()
