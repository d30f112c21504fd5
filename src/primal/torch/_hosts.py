"""Exact phases inside models of other libraries: their rotary modules, replaced in place."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from primal.errors import DataError, ParameterError
from primal.torch import _operators
from primal.torch._inputs import checked_positions
from primal.torch._positions import PrimePositions

# Frequencies of these depend on the length of each input, which one table cannot follow.
_MOVING = ("dynamic", "longrope")
# A host and its replacement agree at small positions; its own float32 is this good there.
_TOLERANCE = 1e-4
_PROBED = 8


def use_exact_rotary(model: nn.Module, positions: PrimePositions | None = None) -> int:
    """Replace the rotary embeddings of a model in place, so that their phases are exact.

    Knows the modules of transformers (``rotary_emb`` of Llama, Mistral, Qwen, Gemma and others)
    and x-transformers (``rotary_pos_emb``). Each
    replacement is compared with its host at the first positions before it takes its place. Returns
    how many there are.

    Parameters
    ----------
    model : torch.nn.Module
        In float32, or with frequencies kept in float32: replace before a cast to 16 bits.
    positions : PrimePositions, optional
        Frequencies for a model that is yet to be trained, or stretched ones. By default the
        model keeps its own, scaled ones (linear, YaRN, Llama 3) too.

    Returns
    -------
    n_replaced : int

    Examples
    --------
    >>> from primal.torch import PrimePositions, use_exact_rotary
    >>> from x_transformers import Decoder
    >>> model = Decoder(dim=64, depth=2, heads=2, rotary_pos_emb=True)
    >>> use_exact_rotary(model)
    1
    """
    found = []
    for parent in model.modules():
        for name, child in parent.named_children():
            if isinstance(child, _Replacement):
                continue
            for kind in (_Transformers, _XTransformers):
                if kind.takes(child):
                    found.append((parent, name, kind(child, positions).train(child.training)))
                    break
    if not found:
        raise ParameterError(
            f"{type(model).__name__} has no rotary embedding of transformers or x-transformers "
            "that is not exact already: call PrimePositions.rotary on its queries and keys."
        )
    for replacement in found:  # all of them, or none if one cannot be replaced
        setattr(*replacement)
    return len(found)


class _Replacement(nn.Module):
    """A module in the place of a host's, with its buffers, so that saved states still fit."""

    def __init__(self, host: nn.Module, positions: PrimePositions | None) -> None:
        super().__init__()
        for name, buffer in host.named_buffers(recurse=False):
            persistent = name not in host._non_persistent_buffers_set
            self.register_buffer(name, buffer, persistent=persistent)
        self.host_name = type(host).__name__
        self._given = positions

    def _positions(self, radians: Tensor) -> PrimePositions:
        """Return the given positions if they fit, else those of the host's frequencies."""
        D = 2 * radians.shape[0]
        if radians.is_meta:
            raise DataError(
                f"{self.host_name} lies on the meta device: load the weights of the model before "
                "its rotary embeddings are replaced."
            )
        if self._given is not None:
            if self._given.D != D:
                raise ParameterError(
                    f"{self.host_name} turns {D} columns, got positions of D = {self._given.D}."
                )
            return self._given
        if radians.dtype not in (torch.float32, torch.float64):
            raise DataError(
                f"the frequencies of {self.host_name} were rounded to {radians.dtype}: replace "
                "them before the model is cast."
            )
        turns = radians.detach().double().cpu().numpy() / (2.0 * math.pi)
        return PrimePositions(D, frequencies=turns, layout="block")

    def _check(self, ours: Tensor, theirs: Tensor) -> None:
        if self._given is None and (
            ours.shape != theirs.shape or not (ours - theirs).abs().max() < _TOLERANCE
        ):
            raise ParameterError(
                f"{self.host_name} does not compute what its frequencies say: it is not a rotary "
                "embedding that this function knows. Call PrimePositions.rotary instead."
            )

    def extra_repr(self) -> str:
        return f"in place of {self.host_name}"


class _Transformers(_Replacement):
    """``forward(x, position_ids)`` returns cosines and sines in the type of x."""

    @staticmethod
    def takes(host: nn.Module) -> bool:
        names = [name for name, _ in host.named_buffers(recurse=False)]
        scalings = [n.replace("inv_freq", "attention_scaling") for n in names if "inv_freq" in n]
        return any(hasattr(host, name) for name in scalings)

    def __init__(self, host: Any, positions: PrimePositions | None) -> None:
        super().__init__(host, positions)
        kinds = host.rope_type if isinstance(host.rope_type, dict) else {"": host.rope_type}
        # Of each type of layers: frequencies, and what the host scales cosines and sines by.
        self.tables: dict[str, tuple[PrimePositions, float]] = {}
        for layer, kind in kinds.items():
            if kind in _MOVING:
                raise ParameterError(
                    f"{self.host_name} has frequencies of type {kind!r}, which change with the "
                    "length: use another type of rope_parameters."
                )
            prefix = f"{layer}_" if layer else ""
            radians = getattr(host, f"{prefix}inv_freq")
            scaling = float(getattr(host, f"{prefix}attention_scaling"))
            self.tables[layer] = self._positions(radians), scaling
        self.copies = ""
        layer, (own, _) = next(iter(self.tables.items()))
        extra = (layer,) if layer else ()
        device = next(host.buffers()).device
        x, place = torch.zeros(1, device=device), torch.arange(_PROBED, device=device)[None]
        found = host(x, place, *extra)
        theirs = torch.stack(found) if isinstance(found, tuple) else found[None]
        if theirs.shape[-1] == own.D:
            pairs = torch.equal(theirs[..., 0::2], theirs[..., 1::2])
            self.copies = "pairs" if pairs else "halves"
        self._check(torch.stack(self(x, place, *extra)), theirs)

    @torch.no_grad()
    def forward(
        self, x: Tensor, position_ids: Tensor, layer_type: str | None = None
    ) -> tuple[Tensor, Tensor]:
        positions, scaling = self.tables[layer_type or ""]
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        places = checked_positions(position_ids.to(x.device), "position_ids")
        increments = _operators.increments(positions._key, device=places.device)
        codes = _operators.static_codes(places.long(), increments, False, wide)
        waves = [(wave * scaling).to(x.dtype) for wave in codes.chunk(2, dim=-1)]
        if self.copies == "pairs":
            waves = [wave.repeat_interleave(2, -1) for wave in waves]
        elif self.copies:
            waves = [wave.repeat(1, 1, 2) for wave in waves]
        return waves[0], waves[1]


class _XTransformers(_Replacement):
    """``forward(t)`` returns angles, here within half a turn of 0, and a scale."""

    @staticmethod
    def takes(host: nn.Module) -> bool:
        return hasattr(host, "inv_freq") and hasattr(host, "forward_from_seq_len")

    def __init__(self, host: Any, positions: PrimePositions | None) -> None:
        super().__init__(host, positions)
        if host.scale is not None:
            raise ParameterError("rotary_xpos scales with positions: make the model without it.")
        self.positions = self._positions(host.inv_freq / host.interpolation_factor)
        t = torch.arange(_PROBED, device=host.inv_freq.device)
        ours, theirs = self(t)[0], host(t)[0]
        self._check(
            torch.stack((ours.cos(), ours.sin())), torch.stack((theirs.cos(), theirs.sin()))
        )

    def forward_from_seq_len(self, seq_len: int) -> tuple[Tensor, float]:
        return self(torch.arange(seq_len, device=next(self.buffers()).device))

    def forward(self, t: Tensor, offset: int = 0) -> tuple[Tensor, float]:
        turns = self.positions.turns(t if t.ndim > 1 else t[None])
        radians = turns.double() * (2.0 * math.pi * 2.0**-64)
        return radians.float().repeat_interleave(2, -1), 1.0
