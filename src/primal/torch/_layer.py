"""What every prime layer has: the map behind it, a type, and a device without a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from primal._checks import whole_number
from primal._specs import from_spec
from primal.errors import ParameterError
from primal.torch._inputs import checked_device, output_dtype

Layer = TypeVar("Layer", bound="PrimeLayer")


class PrimeLayer(nn.Module):
    """A module that computes what a core map does; its tables follow from the map's spec.

    It has `D` outputs in an order, its `layout`. `dtype` is the type of parameters, and of the
    output for integers: as made, or as cast since.
    """

    map_type: ClassVar[type]

    def _begin(
        self,
        m: Any,
        D: int,
        layout: str,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        nn.Module.__init__(self)
        self._spec = m.spec
        self.D = self.out_features = D  # by the name of nn.Linear, too
        self.layout = layout
        self._dtype_is_given = dtype is not None
        self.dtype = self._first_dtype = output_dtype(dtype)
        # An empty tensor knows the default device, and the number of a GPU.
        self._device = torch.empty(0, device=checked_device(device)).device

    @classmethod
    def from_map(cls: type[Layer], m: Any, **options: Any) -> Layer:
        """Return the layer of a core map of the type that `spec` names, with the same bits.

        The options are those of the class that say nothing about the map, such as `device`.
        """
        if not isinstance(m, cls.map_type):
            raise ParameterError(
                f"{cls.__name__}.from_map takes a primal.{cls.map_type.__name__}, got a "
                f"{type(m).__name__}."
            )
        layer = cls.__new__(cls)
        layer._from_map(m, **options)
        return layer

    def _from_map(self, m: Any, **options: Any) -> None:
        raise NotImplementedError

    @property
    def spec(self) -> dict[str, Any]:
        """The spec of the core map behind the layer, from which `primal.from_spec` makes the map.

        What is learned is not in it; it is in ``state_dict()``.
        """
        return dict(self._spec)

    @property
    def map(self) -> Any:
        """The core map behind the layer."""
        return from_spec(self.spec)

    @property
    def fingerprint(self) -> str:
        """That of the core map: SHA-256 over its spec and its table."""
        return self.map.fingerprint

    def grow(self: Layer, D: int, **options: Any) -> Layer:
        """Return the same layer with more outputs; what was learned is copied.

        The options are those of the map's own `grow`. Only in the interleaved layout are the old
        outputs a prefix of the new ones.
        """
        grown = self.from_map(self.map.grow(whole_number("D", D), **options), **self._options())
        grown._dtype_is_given, grown._first_dtype = self._dtype_is_given, self._first_dtype
        with torch.no_grad():
            for name, value in self.named_parameters():
                wider = grown.get_parameter(name).requires_grad_(value.requires_grad)
                wider[: len(value)].copy_(value)
        return grown.train(self.training)

    def _options(self) -> dict[str, Any]:
        """Return the options of `from_map` that make such a layer."""
        return {"device": self._device, "dtype": self.dtype}

    def extra_repr(self) -> str:
        shown = self._spec | self._options()
        return ", ".join(
            f"{name}={_shortened(value)}"
            for name, value in shown.items()
            if name not in ("type", "version", "device") and value not in (None, False)
        )

    def reset_parameters(self) -> None:
        """Set what is learned back to its beginning, as after ``to_empty``; tables need nothing."""

    def _apply(self: Layer, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Layer:
        """Follow ``.to()``, ``.half()``, ``.to_empty()`` and the like, as a parameter would."""
        super()._apply(fn, recurse)
        like = torch.empty(0, dtype=self.dtype, device=self._device)
        try:
            moved = fn(like)
        except NotImplementedError:  # nothing can be copied from the meta device: all is there
            moved = fn(torch.empty(0, dtype=self.dtype, device="cpu"))
        self.dtype, self._device = moved.dtype, moved.device
        return self


def _shortened(value: Any) -> Any:
    if isinstance(value, list):
        return f"<{len(value)} values>"
    return from_spec(value) if isinstance(value, dict) else value  # a kernel of parts
