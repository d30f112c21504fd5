"""The transformer of the study of positions: only its positions differ between methods.

Positions are data of the model: a table of cosines and sines for the rotation of queries and
keys (a rotation by nothing where a method has none), a trained table, or a bias of the scores.
Training is one recorded CUDA graph a step, text and randomness included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as nnf

from primal.exact import increments, spaced_increments
from primal_studies.training._positions_text import Draws, training_rows

__all__ = ["METHODS", "Transformer", "frequencies_of", "train", "yarn"]

SIZES = {"tiny": (32, 2, 2), "10M": (384, 6, 6), "30M": (512, 10, 8)}  # width, layers, heads
VOCABULARY = 256
WEIGHT_DECAY, CLIP, WARM_UP_SHARE = 0.1, 1.0, 0.05
P_OF_P_ROPE = 0.75


def _rotary(k: int, base: float) -> Tensor:
    return base ** (-torch.arange(k, dtype=torch.float64) / k) / (2 * math.pi)


def _of_integers(values) -> Tensor:
    """Return uint64 increments as turns in [-1/2, 1/2), the nearest float64."""
    return torch.from_numpy(values.view("int64")).double() * 2.0**-64


def _with_trained_length(k: int, length: int, seed: int, turning: float = 1.0) -> Tensor:
    return _of_integers(spaced_increments(k, trained_length=length, turning=turning))


def _high_only(k: int, length: int, seed: int) -> Tensor:
    f = _rotary(k, 1e4)
    return torch.where(f * length >= 1, f, 0.0)


def _p_rope(k: int, length: int, seed: int) -> Tensor:
    return torch.where(torch.arange(k) < P_OF_P_ROPE * k, _rotary(k, 1e4), 0.0)


def _random(k: int, length: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(10_000 + seed)
    return torch.rand(k, dtype=torch.float64, generator=generator) - 0.5


# Turns per position of k pairs of columns, from the trained length and the seed of the run.
METHODS: dict[str, Callable[[int, int, int], Tensor]] = {
    "rotary": lambda k, length, seed: _rotary(k, 1e4),
    "prime log, trained length": _with_trained_length,
    "prime log, three quarters": partial(_with_trained_length, turning=0.75),
    "prime log, half": partial(_with_trained_length, turning=0.5),
    "prime log, quarter": partial(_with_trained_length, turning=0.25),
    "random": _random,
    "HoPE": _high_only,
    "rotary, base = length": lambda k, length, seed: _rotary(k, float(length)),
    "ALiBi": lambda k, length, seed: torch.zeros(k, dtype=torch.float64),
    "p-RoPE": _p_rope,
    "rotary, clipped": lambda k, length, seed: _rotary(k, 1e4).clamp(min=1.0 / length),
    "prime raw": lambda k, length, seed: _of_integers(increments(k)),
    "none": lambda k, length, seed: torch.zeros(k, dtype=torch.float64),
    "prime log": lambda k, length, seed: _of_integers(spaced_increments(k)),
    "learned": lambda k, length, seed: torch.zeros(k, dtype=torch.float64),
}


def frequencies_of(method: str, k: int, length: int, seed: int) -> Tensor:
    """Return turns per position of a method, float64 of shape (k,)."""
    return METHODS[method](k, length, seed)


def yarn(frequencies: Tensor, length: int, factor: float) -> tuple[Tensor, float]:
    """Return frequencies of rotary scaled by YaRN to a longer context, and the scale of q and k.

    A frequency with fewer than 1 turn in the trained length is divided by `factor`, one with
    more than 32 turns stays, between them a ramp over the number of turns (its alpha and beta).
    """
    turns = frequencies.abs() * length
    keep = ((turns - 1.0) / (32.0 - 1.0)).clamp(0.0, 1.0)
    scaled = frequencies * keep + frequencies / factor * (1.0 - keep)
    return scaled, 0.1 * math.log(factor) + 1.0 if factor > 1 else 1.0


class Transformer(nn.Module):
    """A causal transformer over bytes with RMS normalization before each part, no biases."""

    def __init__(self, method: str, size: str, length: int, longest: int, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        width, layers, heads = SIZES[size]
        self.method, self.length, self.heads = method, length, heads
        self.embedding = nn.Parameter(0.02 * torch.randn(VOCABULARY, width))
        self.blocks = nn.ModuleList([Block(width, heads, layers) for _ in range(layers)])
        self.norm = nn.RMSNorm(width)
        self.head = nn.Parameter(0.02 * torch.randn(VOCABULARY, width))
        # Last, so that the other weights start alike in all methods.
        self.table = nn.Parameter(0.02 * torch.randn(longest, width)) if _learns(method) else None
        self.frequencies = frequencies_of(method, width // heads // 2, length, seed)

    def codes(self, n: int, factor: float | None = None) -> Tensor:
        """Return (2, n, head width / 2) cosines and sines, float32; with YaRN for a factor."""
        f, scale = self.frequencies, 1.0
        if factor is not None:
            f, scale = yarn(f, self.length, factor)
        turns = torch.outer(torch.arange(n, dtype=torch.float64), f)
        radians = 2 * math.pi * (turns - turns.round())
        return (scale * torch.stack((radians.cos(), radians.sin()))).float().to(self.head.device)

    def bias(self, n: int, dtype: torch.dtype) -> Tensor | None:
        """Return ALiBi's bias of the scores with the causal mask, (1, heads, n, n), or None."""
        if self.method != "ALiBi":
            return None
        device = self.head.device
        slopes = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1, device=device) / self.heads)
        t = torch.arange(n, device=device)
        lag = (t[None, :] - t[:, None]).float()
        return (slopes[:, None, None] * lag).masked_fill(lag > 0, -torch.inf).to(dtype)[None]

    def forward(
        self, tokens: Tensor, codes: Tensor, bias: Tensor | None, dtype: torch.dtype
    ) -> Tensor:
        # A product in place of a lookup: the gradient of a lookup of few rows is slow on a GPU.
        one_hot = tokens[..., None] == torch.arange(VOCABULARY, device=tokens.device)
        x = (one_hot.to(dtype) @ self.embedding.to(dtype)).float()
        if self.table is not None:
            x = x + self.table[: tokens.shape[1]]
        for block in self.blocks:
            # Only training is compiled: every other length would be compiled by itself.
            run = block if self.training else block.forward
            x = run(x, codes, bias, dtype)
        return nnf.linear(self.norm(x).to(dtype), self.head.to(dtype)).float()


def _learns(method: str) -> bool:
    return method == "learned"


class Block(nn.Module):
    """Attention and a feed-forward part; products in `dtype`, the residual stream in float32."""

    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.RMSNorm(width), nn.RMSNorm(width)])
        last = 0.02 / math.sqrt(2 * layers)
        self.qkv = nn.Parameter(0.02 * torch.randn(3 * width, width))
        self.out = nn.Parameter(last * torch.randn(width, width))
        self.up = nn.Parameter(0.02 * torch.randn(4 * width, width))
        self.down = nn.Parameter(last * torch.randn(width, 4 * width))

    def forward(self, x: Tensor, codes: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Tensor:
        qkv = nnf.linear(self.norms[0](x).to(dtype), self.qkv.to(dtype))
        q, k, v = qkv.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        q, k = _turned(q, codes), _turned(k, codes)
        mixed = nnf.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=bias is None)
        x = x + nnf.linear(mixed.transpose(1, 2).flatten(-2), self.out.to(dtype)).float()
        hidden = nnf.gelu(nnf.linear(self.norms[1](x).to(dtype), self.up.to(dtype)))
        return x + nnf.linear(hidden, self.down.to(dtype)).float()


def _turned(x: Tensor, codes: Tensor) -> Tensor:
    a, b = x.float().chunk(2, dim=-1)
    cos, sin = codes
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1).to(x.dtype)


def train(
    model: Transformer, tokens: Tensor, drawn: Draws, rate: float, *, compiled: bool
) -> list[float]:
    """Train in place with AdamW, one graph a step on CUDA; return the loss of every step."""
    device = tokens.device
    on_cuda = device.type == "cuda"
    dtype = torch.bfloat16 if on_cuda else torch.float32
    steps, length = len(drawn.starts), model.length
    drawn = Draws(*(v.to(device) for v in drawn))
    codes, bias = model.codes(length), model.bias(length, dtype)
    rates = torch.tensor(_schedule(steps, rate), device=device)
    rate_now = rates[0].clone()
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=rate_now,
        betas=(0.9, 0.95),
        weight_decay=WEIGHT_DECAY,
        capturable=on_cuda,
        fused=on_cuda,
    )
    step = torch.zeros((), dtype=torch.int64, device=device)
    losses = torch.zeros(steps, device=device)

    def advance() -> None:
        rate_now.copy_(rates.gather(0, step[None])[0])
        now = Draws(*(v.index_select(0, step[None])[0] for v in drawn))
        rows = training_rows(tokens, now, length)
        logits = model(rows[:, :-1], codes, bias, dtype)
        loss = nnf.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        losses.index_copy_(0, step[None], loss.detach()[None])
        step.add_(1)

    for block in model.blocks:
        if compiled:
            block.compile(dynamic=False)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    if on_cuda:
        replay = _recorded(advance)
        model.load_state_dict(start)  # the steps before recording count for nothing
        for state in optimizer.state.values():
            for value in state.values():
                value.zero_()
        step.zero_()
    else:
        replay = advance
    for _ in range(steps):
        replay()
    return losses.tolist()


def _recorded(advance: Callable[[], None]) -> Callable[[], None]:
    """Return a step as a CUDA graph; three steps before it find memory and compile kernels."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            advance()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        advance()
    return graph.replay


def _schedule(steps: int, rate: float) -> list[float]:
    """Return rates that rise in a twentieth of the steps and fall along a cosine to a tenth."""
    rise = max(1, round(WARM_UP_SHARE * steps))
    fall = max(1, steps - rise)
    return [
        rate * min((s + 1) / rise, 0.55 + 0.45 * math.cos(math.pi * max(0, s - rise) / fall))
        for s in range(steps)
    ]
