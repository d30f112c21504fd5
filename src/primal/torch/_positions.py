"""``PrimePositions``: positions for transformers, as absolute codes or as rotations."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

import primal.maps
from primal._checks import whole_number
from primal.errors import DataError, ParameterError
from primal.maps import stretched_frequencies
from primal.torch import _operators
from primal.torch._inputs import POSITIONS, check_device, checked_positions
from primal.torch._rotary import aligned_positions, sequence_axis, turned
from primal.torch._static import StaticPrime


class PrimePositions(StaticPrime):
    """Positions from square roots of primes: :class:`StaticPrime` with nearness, and rotations.

    Phases are exact to t * 2**-64 turn at every position t, in models of every type. Absolute
    codes have the bits of ``primal.sklearn.PrimePositions``; `spec` and `fingerprint` are those
    of the :class:`primal.StaticPrime` behind them.

    Parameters
    ----------
    D : int
        Number of columns, even: of the model for absolute codes, of a head for rotations.
    spacing : {"log", "rotary", "raw", "kronecker"}, default="log"
        How frequencies are spread; see :func:`primal.exact.spaced_increments`. ``"rotary"`` has
        the frequencies base**(-2 j / D) of standard rotary embeddings: take it for weights that
        were trained with those.
    sigma : float, default=1.0
        Scale of the frequencies; 0.25 stretches positions four times.
    trained_length : int, optional
        Positions of the sequences that a new model is trained with: beyond them no phase is new
        to it.
    start, base, turning, frequencies
        As in :class:`primal.StaticPrime`; columns that do not turn are a partial rotary embedding.
    layout : {"interleaved", "block"}, default="interleaved"
        Which columns are a pair: 2 j and 2 j + 1, or j and j + D/2 ("rotate half").
    head_dim : int, optional
        Columns of what is rotated, if more than D: the first D turn and the others stay, as in
        models with a partial rotary factor.
    device, dtype
        As in :class:`StaticPrime`; rotations have the type of what is rotated.

    Examples
    --------
    >>> import torch
    >>> from primal.torch import PrimePositions
    >>> positions = PrimePositions(64, trained_length=1024)
    >>> positions(torch.arange(10)).shape
    torch.Size([10, 64])
    >>> q = k = torch.ones(2, 8, 10, 64, dtype=torch.bfloat16)  # batch, heads, positions, D
    >>> q, k = positions.rotary(q, k, seq_dim=-2)
    >>> q.shape, q.dtype
    (torch.Size([2, 8, 10, 64]), torch.bfloat16)
    """

    def __init__(
        self,
        D: int,
        *,
        trained_length: int | None = None,
        turning: float | None = None,
        spacing: str = "log",
        sigma: float = 1.0,
        start: int = 0,
        base: float = 10000.0,
        frequencies: object = None,
        layout: str = "interleaved",
        head_dim: int | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        m = primal.maps.StaticPrime(
            D,
            sigma=sigma,
            start=start,
            layout=layout,
            spacing=spacing,
            base=base,
            trained_length=trained_length,
            turning=turning,
            frequencies=frequencies,
        )
        self._from_map(m, head_dim=head_dim, device=device, dtype=dtype)

    def _from_map(self, m: primal.maps.StaticPrime, **options: Any) -> None:
        head_dim = options.pop("head_dim", None)
        super()._from_map(m, **options)
        self.head_dim = self.D if head_dim is None else whole_number("head_dim", head_dim)
        if self.head_dim < self.D:
            raise ParameterError(f"head_dim must be at least D = {self.D}, got {self.head_dim}.")

    @property
    def radians(self) -> Tensor:
        """Radians per position within [-pi, pi), float64 of shape (D / 2,), for other libraries."""
        return self.increments.double() * (2.0 * math.pi * 2.0**-64)

    def stretched(
        self, factor: float, *, trained_length: int | None = None, method: str = "yarn"
    ) -> PrimePositions:
        """Return positions for contexts `factor` times as long, for weights that stay.

        Parameters
        ----------
        factor, method
            See :func:`primal.maps.stretched_frequencies`.
        trained_length : int, optional
            Of the model; by default the one that these positions were made with.
        """
        length = self.map.trained_length if trained_length is None else trained_length
        if length is None:
            raise ParameterError("trained_length of the model is needed, got None: pass it.")
        given = self.frequencies.cpu().numpy()
        options = {"trained_length": length, "method": method}
        frequencies = stretched_frequencies(given % 1.0, factor, **options)
        m = primal.maps.StaticPrime(self.D, layout=self.layout, frequencies=frequencies)
        return self.from_map(m, **self._options())

    def rotary(
        self,
        q: Tensor,
        k: Tensor,
        positions: Tensor | None = None,
        *,
        seq_dim: int | None = None,
        offset: int | Tensor = 0,
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys turned by their positions (rotary position embedding).

        The dot product of a query at position s and a key at position t then depends on t - s only.
        Types and shapes stay; cosines, sines and products are float32, for float64 tensors float64.

        Parameters
        ----------
        q, k : tensors of shape (..., head_dim)
            One axis has the n positions, the same of both; keys may have fewer heads than queries.
        positions : integer tensor, optional
            By default 0, ..., n - 1. Shape (n,); or (batch, n), where batch is the first axis of q
            and k; or one axis for each axis of q and k but the last, in their order, of their
            length or of length 1.
        seq_dim : int, optional
            Axis of the positions: -2 for (..., heads, n, D), -3 for (..., n, heads, D). Needed
            when there are more axes than two, because no shape tells these apart.
        offset : int or integer tensor, default=0
            Added to all positions: the length of a key-value cache, whose keys are turned
            already. A tensor spares compiled models a compilation for each length.
        """
        axis, axis_of_k = sequence_axis(q, seq_dim), sequence_axis(k, seq_dim)
        if q.shape[axis] != k.shape[axis_of_k]:
            raise DataError(
                f"q has {q.shape[axis]} positions and k has {k.shape[axis_of_k]}, in shapes "
                f"{tuple(q.shape)} and {tuple(k.shape)}: turn each by itself with rotate, which "
                "takes its own positions or offset."
            )
        places = _places(positions, q, axis, offset)
        q, k = self._turned((q, k), (axis, axis_of_k), places)
        return q, k

    def rotate(
        self,
        x: Tensor,
        positions: Tensor | None = None,
        *,
        seq_dim: int | None = None,
        offset: int | Tensor = 0,
    ) -> Tensor:
        """Return one tensor turned by its positions; for the rest see :meth:`rotary`.

        Examples
        --------
        Queries that come after 90 of the 100 keys:

        >>> import torch
        >>> from primal.torch import PrimePositions
        >>> positions = PrimePositions(64)
        >>> q, k = torch.ones(2, 8, 10, 64), torch.ones(2, 8, 100, 64)
        >>> q, k = positions.rotate(q, seq_dim=-2, offset=90), positions.rotate(k, seq_dim=-2)
        >>> torch.equal(q[..., -1, :], k[..., -1, :])
        True
        """
        axis = sequence_axis(x, seq_dim)
        return self._turned((x,), (axis,), _places(positions, x, axis, offset))[0]

    def _options(self) -> dict[str, Any]:
        return super()._options() | ({} if self.head_dim == self.D else {"head_dim": self.head_dim})

    def _turned(
        self, tensors: tuple[Tensor, ...], axes: tuple[int, ...], places: Tensor
    ) -> tuple[Tensor, ...]:
        aligned = []
        for x, axis in zip(tensors, axes, strict=True):
            if x.shape[-1] != self.head_dim:
                raise ParameterError(
                    f"what is rotated must have {self.head_dim} columns, got shape "
                    f"{tuple(x.shape)}: to leave some of them as they are, make the layer with "
                    "head_dim."
                )
            aligned.append(aligned_positions(places, x, axis))
        increments = _operators.increments(self._key, device=places.device)
        return turned(tensors, tuple(aligned), increments, interleaved=self.layout == "interleaved")


def _places(positions: Tensor | None, x: Tensor, axis: int, offset: int | Tensor) -> Tensor:
    if positions is None:
        positions = torch.arange(x.shape[axis], device=x.device)
    else:
        positions = checked_positions(positions, "positions").long()  # narrower sums would wrap
    if isinstance(offset, Tensor):
        shared = zip(reversed(offset.shape), reversed(positions.shape), strict=False)
        if offset.dtype not in POSITIONS or not all(a == b or 1 in (a, b) for a, b in shared):
            raise DataError(
                f"offset must be integers that fit positions of shape {tuple(positions.shape)}, "
                f"got {offset.dtype} of shape {tuple(offset.shape)}."
            )
        if offset.ndim or offset.is_meta:  # a single number may lie on the CPU
            check_device("offset", offset, positions)
    elif isinstance(offset, bool) or not isinstance(offset, int):  # a compiler's symbol is an int
        offset = whole_number("offset", offset, least=-(2**63), most=2**63 - 1)
    elif not -(2**63) <= offset < 2**63:
        raise DataError(f"offset must lie in [-2**63, 2**63), got {offset}.")
    return positions + offset
