"""Positions in a small transformer: primes, rotary, sinusoidal, learned and none.

    primal study positions [--quick] [--device cuda] [--out results]

Three tasks: characters of Python's own documentation, copying, and recall of a value by its key.
Every method has the same number of trained parameters, the same learning rates to choose from
(by validation loss inside the training length) and the same data. Loss and accuracy inside the
training length and beyond it, mean and spread over seeds.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
from functools import cache, partial

import torch
from torch import Tensor, nn

from primal.torch import PrimePositions, rotate
from primal_studies.training._common import (
    Settings,
    mean_spread,
    options,
    run_all,
    select,
    table,
    total_seconds,
)
from primal_studies.training._members import best_members, forward_members, n_trained, train_members

METHODS = ("prime log", "prime raw", "rotary", "sinusoidal", "learned", "none")
RATES = (1e-3, 3e-3, 1e-2)
WIDTH, HEADS, LAYERS = 64, 2, 2
TASKS = {
    "text": {"vocabulary": 97, "length": 64, "measure": "loss"},
    "copy": {"vocabulary": 18, "length": 32, "measure": "accuracy"},
    "recall": {"vocabulary": 32, "length": 32, "measure": "accuracy"},
}
FULL = {"steps": 600, "batch": 16, "factors": [1, 2, 4], "eval_batches": 8}
QUICK = {"steps": 3, "batch": 2, "factors": [1, 2], "eval_batches": 1}
IGNORED = -100


def main(argv: list[str] | None = None) -> list[Settings]:
    """Measure what is not on file, print the table, draw if asked."""
    chosen = options(__doc__, argv)
    size = QUICK if chosen.quick else FULL
    rates = RATES[:1] if chosen.quick else RATES
    settings = [
        {"task": task, "method": method, "seeds": chosen.seeds, "rates": list(rates)} | size
        for task in TASKS
        for method in METHODS
    ]
    runs = run_all("positions", chosen, settings, partial(measure, device=chosen.device))
    print(report(runs))
    if chosen.draw:
        from primal_studies.training._figures import draw_nearness, draw_positions

        draw_nearness(chosen.out / "positions-nearness.png")
        draw_positions(runs, chosen.out / "positions.png")
    return runs


def report(runs: list[Settings]) -> str:
    """Return one table for each task, and what it cost."""
    parts = []
    for task, facts in TASKS.items():
        found = select(runs, task=task)
        if not found:
            continue
        lengths = [facts["length"] * factor for factor in found[0]["factors"]]
        name = "loss (nats)" if facts["measure"] == "loss" else "accuracy"
        header = ["positions", *(f"{name} at {n}" for n in lengths), "rate", "parameters", "s"]
        rows = [
            [
                run["method"],
                *(mean_spread(values) for values in run["values"]),
                run["rate"],
                run["parameters"],
                f"{run['seconds']:.0f}",
            ]
            for run in found
        ]
        parts.append(f"### {task}, trained at length {lengths[0]}\n\n{table(header, rows)}")
    texts = sorted({run["text"] for run in runs if run["text"]})
    parts.append(f"Text: Python's documentation, SHA-256 {', '.join(texts)}.")
    return "\n\n".join([*parts, total_seconds(runs)])


def measure(one: Settings, *, device: str) -> Settings:
    """Train all members of one method on one task and return what they score."""
    task, facts = one["task"], TASKS[one["task"]]
    longest = facts["length"] * max(one["factors"])
    make = partial(Transformer, one["method"], facts["vocabulary"], facts["length"], longest)
    draw = partial(DRAWS[task], one["batch"], facts["length"], "train")
    model, stacked = train_members(
        make,
        draw,
        losses,
        seeds=one["seeds"],
        rates=tuple(one["rates"]),
        steps=one["steps"],
        device=device,
    )
    score = partial(evaluate, model, stacked, task, one, device)
    validation = score("validation", facts["length"], losses)
    rate, members = best_members(validation, one["seeds"], len(one["rates"]))
    metric = losses if facts["measure"] == "loss" else accuracies
    values = [score("test", facts["length"] * factor, metric) for factor in one["factors"]]
    return {
        "rate": one["rates"][rate],
        "values": [[row[m] for m in members] for row in values],
        "validation": validation,
        "parameters": n_trained(model) - getattr(model, "n_untrained"),  # noqa: B009
        # Not a setting: figures are drawn on machines with another version of Python, too.
        "text": text_digest() if task == "text" else None,
    }


@torch.no_grad()
def evaluate(model, stacked, task, one, device, part, length, metric) -> list[float]:
    """Return the mean of a metric for every member, on the same sequences for all of them."""
    generator = torch.Generator().manual_seed({"validation": 1, "test": 2}[part])
    n_members = len(next(iter(stacked.values())))
    total = torch.zeros(n_members, device=device)
    for _ in range(one["eval_batches"]):
        x, y = DRAWS[task](one["batch"], length, part, generator)
        x, y = (v.to(device).expand(n_members, *v.shape) for v in (x, y))
        total += metric(forward_members(model, stacked, x), y)
    return (total / one["eval_batches"]).tolist()


def losses(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of every member, in nats; ignored targets count nothing."""
    known = targets != IGNORED
    picked = logits.log_softmax(-1).gather(-1, targets.clamp(min=0)[..., None])[..., 0]
    return -(picked * known).flatten(1).sum(1) / known.flatten(1).sum(1)


def accuracies(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the share of right answers of every member."""
    known = targets != IGNORED
    right = (logits.argmax(-1) == targets) & known
    return right.flatten(1).sum(1) / known.flatten(1).sum(1)


class Transformer(nn.Module):
    """A causal transformer with pre-normalisation; only its positions differ."""

    def __init__(self, method: str, vocabulary: int, length: int, longest: int) -> None:
        super().__init__()
        self.method = method
        self.embedding = nn.Embedding(vocabulary, WIDTH)
        # A learned table has `length` trained rows: its feed-forward parts are that much thinner.
        hidden = 4 * WIDTH - (length // (2 * LAYERS) if method == "learned" else 0)
        self.blocks = nn.ModuleList([Block(hidden) for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)
        self.n_untrained = 0
        if method == "learned":
            self.table = nn.Parameter(0.02 * torch.randn(longest, WIDTH))
            self.n_untrained = (longest - length) * WIDTH  # rows that training never reaches
        if method.startswith("prime"):
            self.positions = PrimePositions(
                WIDTH // HEADS, spacing=method.split()[1], layout="block"
            )

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[-1], device=tokens.device)
        x = self.embedding(tokens)
        if self.method == "sinusoidal":
            x = x + angles_to_codes(places, WIDTH)
        elif self.method == "learned":
            x = x + self.table[: len(places)]
        codes = None
        if self.method == "rotary":
            codes = angles_to_codes(places, WIDTH // HEADS)
        elif self.method.startswith("prime"):
            codes = self.positions(places)
        for block in self.blocks:
            x = block(x, codes)
        return self.head(self.norm(x))


class Block(nn.Module):
    """Attention and a feed-forward part."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, hidden, bias=False)
        self.down = nn.Linear(hidden, WIDTH, bias=False)

    def forward(self, x: Tensor, codes: Tensor | None) -> Tensor:
        q, k, v = self.qkv(self.norms[0](x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        if codes is not None:
            q, k = (rotate(x, codes, layout="block") for x in (q, k))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(future, -torch.inf).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).flatten(-2))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


def angles_to_codes(places: Tensor, D: int) -> Tensor:
    """Return [cos | sin] of the usual angles t * 10000**(-2 j / D), in float32."""
    rates = 10000.0 ** (-torch.arange(0, D, 2, device=places.device) / D)
    angles = places[:, None] * rates
    return torch.cat((angles.cos(), angles.sin()), dim=-1)


def draw_text(batch: int, length: int, part: str, generator: torch.Generator):
    """Characters of the documentation: predict the next one; scored in the second half.

    Only the second half of a window counts, so that every scored character has half a window
    of context, whatever the length.
    """
    text = encoded_text()
    first, last = {"train": (0.0, 0.8), "validation": (0.8, 0.9), "test": (0.9, 1.0)}[part]
    low, high = int(first * len(text)), int(last * len(text)) - length - 1
    starts = torch.randint(low, high, (batch,), generator=generator)
    rows = text[starts[:, None] + torch.arange(length + 1)]
    targets = rows[:, 1:].clone()
    if part != "train":
        targets[:, : length // 2] = IGNORED
    return rows[:, :-1], targets


def draw_copy(batch: int, length: int, part: str, generator: torch.Generator):
    """Random symbols, a mark, and the same symbols again: scored where they repeat."""
    half = length // 2
    symbols = torch.randint(2, 18, (batch, half), generator=generator)
    rows = torch.cat((symbols, torch.ones_like(symbols[:, :1]), symbols), dim=1)
    targets = rows[:, 1:].clone()
    targets[:, :half] = IGNORED
    return rows[:, :-1], targets


def draw_recall(batch: int, length: int, part: str, generator: torch.Generator):
    """Pairs of key and value, each key with one value in a sequence: predict what is known.

    Keys repeat, so from the second time on the value follows from the sequence.
    """
    n_pairs = length // 2
    keys = torch.randint(0, 16, (batch, n_pairs), generator=generator)
    values_of = torch.randint(16, 32, (batch, 16), generator=generator)
    values = values_of.gather(1, keys)
    rows = torch.stack((keys, values), dim=-1).flatten(1)
    seen = (keys[:, :, None] == keys[:, None, :]).tril(-1).any(-1)
    targets = torch.full_like(rows, IGNORED)
    targets[:, 0::2] = torch.where(seen, values, IGNORED)
    return rows, targets


DRAWS = {"text": draw_text, "copy": draw_copy, "recall": draw_recall}


@cache
def documentation() -> str:
    """Return text that comes with Python; which text depends on its version."""
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some systems package it apart
        import argparse
        import decimal
        import typing

        return "\n".join(inspect.getsource(module) for module in (argparse, decimal, typing))
    return "\n".join(topics[name] for name in sorted(topics))


@cache
def encoded_text() -> Tensor:
    """Return the text as numbers: newline, printable ASCII, and one for everything else."""
    codes = [ord(c) - 31 if " " <= c <= "~" else 0 if c == "\n" else 96 for c in documentation()]
    return torch.tensor(codes)


def text_digest() -> str:
    """Return what names the text in the results."""
    return hashlib.sha256(documentation().encode()).hexdigest()[:12]


if __name__ == "__main__":
    main(sys.argv[1:])
