"""Rotary embedding on a GPU: the fused kernel beside a copy, the usual formula and peers.

    python -m primal_studies.bench._gpu_rotary

Every method turns the same queries and keys; those that take cosines and sines get them ready
made, ours makes its own from the positions.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from typing import Any

from primal_studies.bench._bars import Bar

__all__ = ["SHAPE", "measure", "patient_timer", "rotary_bars"]

SHAPE = (8, 32, 8192, 128)  # batch, heads, positions, columns
LEAST_SHARE = 0.9


def measure(repeats: int = 100) -> dict[str, Any]:
    """Return milliseconds for q and k of SHAPE in bfloat16, a copy of both being the floor."""
    import torch

    from primal.torch import PrimePositions

    timer = patient_timer(repeats)
    q, k = (torch.randn(SHAPE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    to_q, to_k = torch.empty_like(q), torch.empty_like(k)
    t = torch.arange(SHAPE[2], device="cuda")
    found: dict[str, Any] = {"shape": SHAPE, "dtype": "bfloat16"}
    found["copy ms"] = timer(lambda: (to_q.copy_(q), to_k.copy_(k)))
    for layout in ("block", "interleaved"):
        layer = PrimePositions(SHAPE[3], layout=layout, trained_length=SHAPE[2], device="cuda")
        found[f"primal {layout} ms"] = timer(lambda layer=layer: layer.rotary(q, k, t, seq_dim=-2))
    inputs = q.clone().requires_grad_(), k.clone().requires_grad_()
    layer = PrimePositions(SHAPE[3], layout="block", trained_length=SHAPE[2], device="cuda")
    turned = layer.rotary(*inputs, t, seq_dim=-2)
    found["primal block backward ms"] = timer(
        lambda: torch.autograd.grad(turned, inputs, (q, k), retain_graph=True)
    )
    angles = torch.outer(t.double(), layer.radians).repeat(1, 2)
    cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
    for name, run in (
        ("usual formula", _usual),
        ("usual formula, compiled", torch.compile(_usual)),
    ):
        found[f"{name} ms"] = timer(lambda run=run: run(q, k, cos, sin))
    for name, run in _peers().items():
        try:
            found[f"{name} ms"] = timer(lambda run=run: run(q, k, cos, sin))
        except Exception as error:  # a peer that does not run here says why
            found[f"{name} failed"] = f"{type(error).__name__}: {error}"[:200]
    return found


def patient_timer(repeats: int) -> Callable[[Callable[[], object]], float]:
    """Return a timer of what the card does in a call: median of milliseconds.

    A fill of 4 GB before each call empties the cache and lets Python get ahead of the card.
    """
    import torch

    def milliseconds(run: Callable[[], object]) -> float:
        filled = torch.empty(2**30, device="cuda")
        times = []
        for number in range(repeats + 3):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            filled.zero_()
            start.record()
            run()
            end.record()
            if number >= 3:
                times.append((start, end))
        torch.cuda.synchronize()
        return statistics.median(start.elapsed_time(end) for start, end in times)

    return milliseconds


def rotary_bars(found: dict[str, Any]) -> list[Bar]:
    """Return the shares of the copy bandwidth, forwards and back."""
    names = {"block": "block", "interleaved": "interleaved", "block backward": "backward"}
    return [
        Bar(
            f"rotary of q and k {SHAPE}, {label}: of the copy bandwidth",
            found["copy ms"] / found[f"primal {name} ms"],
            LEAST_SHARE,
            True,
        )
        for name, label in names.items()
    ]


def _usual(q: Any, k: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    """Turn as transformers' Llama does, in the type of q."""
    import torch

    def half_turned(x: Any) -> Any:
        a, b = x.chunk(2, dim=-1)
        return torch.cat((-b, a), dim=-1)

    return q * cos + half_turned(q) * sin, k * cos + half_turned(k) * sin


def _peers() -> dict[str, Callable[..., object]]:
    peers: dict[str, Callable[..., object]] = {}
    try:
        from liger_kernel.ops.rope import LigerRopeFunction  # pyrefly: ignore

        # It writes over its inputs, which costs nothing here: only the time counts.
        peers["liger"] = lambda q, k, cos, sin: LigerRopeFunction.apply(q, k, cos[None], sin[None])
    except ImportError:
        pass
    try:
        from flash_attn.layers.rotary import apply_rotary_emb  # pyrefly: ignore

        def flash(q: Any, k: Any, cos: Any, sin: Any) -> object:
            half = cos.shape[-1] // 2  # it takes (batch, positions, heads, columns)
            return [
                apply_rotary_emb(x.transpose(1, 2), cos[:, :half], sin[:, :half]) for x in (q, k)
            ]

        peers["flash-attn"] = flash
    except ImportError:
        pass
    return peers


def main() -> None:
    found = measure()
    bars = [bar.as_json() for bar in rotary_bars(found)]
    print(json.dumps({"rotary": found, "bars": bars}, indent=1))


if __name__ == "__main__":
    main()
