"""``Embedding``: a vocabulary as a layer of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from primal._errors import DataError
from primal.hdc._arrays import turn_phasors
from primal.hdc._circular import Circular
from primal.hdc._codes import Codes
from primal.hdc._convert import to_torch
from primal.hdc._levels import Levels, Thermometer
from primal.hdc._reals import Reals
from primal.hdc._vocabulary import Integers, Vocabulary
from primal.torch import DynamicPrime

__all__ = ["Embedding"]


class Embedding(nn.Module):
    """Phasors of what a vocabulary encodes, on any device, with the bits of its codes.

    There is nothing to learn or to store: tables are rebuilt from the vocabulary, and
    ``state_dict()`` is empty. They are integers, which no cast of the module can damage.

    Parameters
    ----------
    vocabulary : Symbols, Integers, Reals, Levels, Thermometer or Circular
    items : sequence, optional
        Values of the vocabulary: inputs are then places in this list, as in
        ``torch.nn.Embedding``. Needed for Symbols, since a tensor holds no names.
    device : torch.device or str, optional

    Notes
    -----
    ``layer(x)`` takes a tensor of places in `items` or of whole numbers (Integers), both integers
    of any shape; of real numbers of any shape (Levels, Thermometer, Circular); or of vectors of
    shape (..., d) (Reals, with gradients). It returns complex64 of shape (..., k), as
    ``phasors(vocabulary.encode(x))`` is. Values that the vocabulary refuses are refused, which on
    a GPU waits for the device.

    Examples
    --------
    >>> import torch
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("pixel", "gray"))
    >>> pixels = hdc.Embedding(space.symbols("pixel"), items=range(64))
    >>> gray = hdc.Embedding(space.levels("gray", low=0, high=16, n=17))
    >>> pictures = torch.zeros(5, 64)
    >>> (pixels(torch.arange(64)) * gray(pictures)).sum(-2).shape
    torch.Size([5, 256])
    """

    turns: Tensor
    increments: Tensor
    frequencies: Tensor
    base: Tensor
    order: Tensor | None

    def __init__(
        self,
        vocabulary: Vocabulary,
        items: Sequence[Any] | None = None,
        *,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(vocabulary, Vocabulary):
            raise DataError(f"an embedding needs a vocabulary, got {type(vocabulary).__name__}.")
        if items is None and not isinstance(
            vocabulary, (Integers, Reals, Levels, Thermometer, Circular)
        ):
            raise DataError("tensors hold no names: pass items=[...] and embed their places.")
        self.vocabulary = vocabulary
        self.items = None if items is None else list(items)
        self.layer: DynamicPrime | None = None
        if items is None and isinstance(vocabulary, Reals):
            basis = vocabulary.map.basis
            self.layer = DynamicPrime(
                basis.d,
                2 * basis.n_frequencies,
                basis.sigma,
                basis=basis.name,
                primes=basis.primes,
                layout="interleaved",
                device=device,
            )
        for name in ("turns", "increments", "frequencies", "base", "order"):
            self.register_buffer(name, None, persistent=False)
        for name, table in self._tables().items():
            setattr(self, name, table.to(device))

    def forward(self, x: Tensor) -> Tensor:
        """Return the phasors of x, complex64 of shape (..., k)."""
        v = self.vocabulary
        if not isinstance(x, Tensor):
            raise DataError(f"an embedding takes a tensor, got {type(x).__name__}.")
        if self.layer is not None:
            pairs = self.layer(x).float().unflatten(-1, (-1, 2))
            z = torch.view_as_complex(pairs.contiguous())
            return z if self.order is None else z[..., self.order]
        if self.items is not None:
            return self._chosen(self._checked(x, 0, len(self.items) - 1, whole=True))
        if isinstance(v, Integers):
            exact = self._checked(x, whole=True)[..., None] * self.increments
            return turn_phasors(((exact + (1 << 31)) >> 32).int())
        if isinstance(v, Circular):
            most = v.period * (2.0**20 - 1.0)
            periods = self._checked(x, -most, most) / v.period
            places = torch.round((periods - periods.floor()) * 2.0**32).long()
            return turn_phasors((places[..., None] * self.frequencies + self.base).int())
        low, high, n = v.low, v.high, v.n  # type: ignore[missing-attribute]
        values = self._checked(x, *(() if v.clip else (low, high)))  # type: ignore[missing-attribute]
        share = (values.clamp(low, high) - low) / (high - low)
        return self._chosen(torch.round(share * (n - 1)).long())

    def reset_parameters(self) -> None:
        """Rebuild the tables on the device of the module, as after ``to_empty``."""
        if self.layer is not None:
            self.layer.reset_buffers()
        for name, table in self._tables().items():
            setattr(self, name, table.to(getattr(self, name).device))

    def extra_repr(self) -> str:
        items = "" if self.items is None else f", {len(self.items)} items"
        return f"{type(self.vocabulary).__name__}, k={self.vocabulary.space.k}{items}"

    def _tables(self) -> dict[str, Tensor]:
        v = self.vocabulary
        if self.items is not None:
            return {"turns": _signed(v.encode(self.items))}
        if isinstance(v, Integers):
            exact = v.space.increments(v.role).view(np.int64)
            return {"increments": torch.from_numpy(exact.copy())}
        if isinstance(v, Circular):
            frequencies, base = v._frequencies
            whole = torch.from_numpy(frequencies.view(np.int32).astype(np.int64))
            return {"frequencies": whole, "base": _signed(Codes(base))}
        if isinstance(v, Reals):
            order = v._order
            return {} if order is None else {"order": torch.from_numpy(order.copy())}
        return {"turns": _signed(v.codes)}  # type: ignore[missing-attribute]

    def _chosen(self, places: Tensor) -> Tensor:
        """Return rows of the table; whichever is less is turned into phasors."""
        if places.numel() < len(self.turns):
            return turn_phasors(self.turns[places])
        return turn_phasors(self.turns)[places]

    def _checked(
        self, x: Tensor, low: float = -torch.inf, high: float = torch.inf, *, whole: bool = False
    ) -> Tensor:
        """Return x as int64 or float64, after a look at its type and its range."""
        is_whole = not (x.is_floating_point() or x.is_complex() or x.dtype == torch.bool)
        if x.is_complex() or (whole and not is_whole):
            raise DataError(f"expected {'whole' if whole else 'real'} numbers, got {x.dtype}.")
        values = x.long() if whole else x.double()
        if whole and high == torch.inf:
            return values
        # Written so that NaN is outside.
        inside = (values >= low) & (values <= high) & (values.abs() < torch.inf)
        if not bool(inside.all()):
            raise DataError(
                f"values must lie within [{low}, {high}], got {values[~inside].flatten()[0]}."
            )
        return values


def _signed(codes: Codes) -> Tensor:
    return to_torch(codes).turns
