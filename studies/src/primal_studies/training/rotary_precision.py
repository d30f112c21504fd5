"""Error of rotary embeddings against position: usual ways to compute them, a library, and ours.

    primal study rotary_precision [--draw] [--out results]

All get the same frequencies (base 10,000, 128 columns) and the same queries and keys, and are
compared with angles reduced by integers in float64. *Phase*: the largest error of an angle, in
turns. *Scores*: the root mean square error of a dot product of a query at t and a key up to 64
positions before it, as a share of their root mean square.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from primal.torch import PrimePositions
from primal_studies._pictures import PALETTE, picture
from primal_studies.training._common import study_parser, table

D = 128
PLACES = (100, 1000, 10_000, 100_000, 1_000_000, 10**9, 10**12)
_LAGS = 64
_N = 256
_TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_RADIANS = 10000.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
Rotation = Callable[[Tensor, Tensor], Tensor]


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Print the errors at some positions; with --draw also the picture."""
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("results"))
    chosen = parser.parse_args(argv)
    rows = [row for name in WAYS for row in errors(name, PLACES)]
    for what in ("phase", "scores"):
        header = [f"error of {what}", *(f"{t:,}" for t in PLACES)]
        found = {(row["way"], row["t"]): row[what] for row in rows}
        print(table(header, [[n, *(f"{found[n, t]:.0e}" for t in PLACES)] for n in WAYS]), "\n")
    if chosen.draw:
        draw(chosen.out / "rotary-precision.png")
    return rows


def errors(name: str, places: Sequence[int]) -> list[dict]:
    """Return the errors of one way near each of the positions."""
    dtype, rotation = WAYS[name]
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, _N, D, generator=generator).to(dtype)
    # A unit vector in every pair shows the phase.
    unit = torch.cat((torch.ones(D // 2), torch.zeros(D // 2))).to(dtype)
    rows = []
    for t in places:
        later = t + torch.arange(_N) % _LAGS
        at = torch.full_like(later, t)
        shown = rotation(unit.expand(_N, D), later).double()
        cos, sin = shown.chunk(2, dim=-1)
        turns = torch.atan2(sin, cos) / (2 * math.pi) - _exact_turns(later)
        phase = (turns - turns.round()).abs().max()
        found = (rotation(q, later).double() * rotation(k, at).double()).sum(-1)
        true = (
            _turned(q.double(), _exact_turns(later)) * _turned(k.double(), _exact_turns(at))
        ).sum(-1)
        scores = (found - true).square().mean().sqrt() / true.square().mean().sqrt()
        rows.append({"way": name, "t": t, "phase": float(phase), "scores": float(scores)})
    return rows


def _exact_turns(t: Tensor) -> Tensor:
    """Return phases of standard rotary in turns within half a turn of 0: wrapped in integers."""
    return (t[:, None] * _ROTARY.increments).double() * 2.0**-64


def _turned(x: Tensor, turns: Tensor) -> Tensor:
    angle = 2 * math.pi * turns
    a, b = x.chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def _angles_in(position_dtype: torch.dtype) -> Rotation:
    """Return the usual formula, positions and frequencies being in a type."""

    def rotation(x: Tensor, t: Tensor) -> Tensor:
        angle = t.to(position_dtype)[:, None] * _RADIANS.float().to(position_dtype)
        cos, sin = angle.float().cos().to(x.dtype), angle.float().sin().to(x.dtype)
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)

    return rotation


def _rotary_embedding_torch(x: Tensor, t: Tensor) -> Tensor:
    """Its pairs are neighbors, and it is given positions in the type of the queries, as it does."""
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    peer = RotaryEmbedding(dim=D, custom_freqs=_RADIANS.float(), cache_if_possible=False)
    pairs = torch.stack(x.chunk(2, dim=-1), dim=-1).flatten(-2)
    turned = apply_rotary_emb(peer(t.to(x.dtype)), pairs)
    return torch.cat((turned[..., 0::2], turned[..., 1::2]), dim=-1)


def _ours(x: Tensor, t: Tensor) -> Tensor:
    return _ROTARY.rotate(x, t)


_ROTARY = PrimePositions(D, spacing="rotary", layout="block")
# Type of the model, and how it turns. "Angles in float32" is how transformers computes: the
# angle in float32, cosine and sine rounded to the type of the model, products in that type.
WAYS: dict[str, tuple[torch.dtype, Rotation]] = {
    "positions in bfloat16": (torch.bfloat16, _angles_in(torch.bfloat16)),
    "positions in float16": (torch.float16, _angles_in(torch.float16)),
    "rotary-embedding-torch, bfloat16": (torch.bfloat16, _rotary_embedding_torch),
    "angles in float32, bfloat16 model": (torch.bfloat16, _angles_in(torch.float32)),
    "angles in float32, float16 model": (torch.float16, _angles_in(torch.float32)),
    "angles in float32, float32 model": (torch.float32, _angles_in(torch.float32)),
    "primal, bfloat16 model": (torch.bfloat16, _ours),
    "primal, float16 model": (torch.float16, _ours),
    "primal, float32 model": (torch.float32, _ours),
}


def draw(path: Path) -> None:
    """Draw both errors against position, ours as solid lines; needs matplotlib."""
    places = [round(10 ** (e / 4)) for e in range(4, 49)]
    colors = {"bfloat16": PALETTE[1], "float16": PALETTE[2], "float32": PALETTE[0]}
    with picture(path, (8.6, 4.2)) as figure:
        axes = figure.subplots(1, 2)
        for name, (dtype, _) in WAYS.items():
            if name.startswith("rotary-embedding"):
                continue  # lies on the positions in bfloat16
            rows = errors(name, places)
            style = "-" if name.startswith("primal") else ":" if "positions" in name else "--"
            kind = next(key for key, value in _TYPES.items() if value == dtype)
            for axis, what in zip(axes, ("phase", "scores"), strict=True):
                # float16 has no numbers beyond 65,504.
                points = [(row["t"], row[what]) for row in rows if math.isfinite(row[what])]
                x, y = zip(*points, strict=True)
                axis.plot(x, y, style, color=colors[kind], label=name)
        for axis, label in zip(
            axes, ("largest error of a phase, turns", "relative error of scores"), strict=True
        ):
            axis.set(xscale="log", yscale="log", xlabel="position", ylabel=label)
            axis.grid(visible=True, alpha=0.5)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
