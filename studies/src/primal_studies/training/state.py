"""Memory of a rotating state: prime, random, even and S4D-Lin frequencies, equal state size.

    primal study state [--quick] [--device cuda] [--out results]

Capacity: how many past inputs a linear readout finds in a noisy state of n channels, predicted
from the poles, and measured. Tasks: copying, recall of the one marked symbol, and recall of the
first symbols after many others. Every method has the same learning rates and, for the capacity,
the same number of time scales to choose from.
"""

from __future__ import annotations

import sys
from functools import partial

import torch
from torch import Tensor, nn

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
from primal_studies.training._state_cells import CELLS, cell_poles, decayed_sums, make_cell

RATES = (3e-3, 1e-2, 3e-2, 1e-1)
# For the capacity, every cell has these to choose from: times n steps, or the usual time scale.
TIME_SCALES = tuple(2.0**e for e in range(-8, 3))
NOISE_POWER, RECALLED = 1e-4, 0.9
SYMBOLS = 8
BLANK, N_TOKENS = 2 * SYMBOLS, 3 * SYMBOLS + 1
TASKS = {"copy": 16, "selective": 48, "long": 192}
EMBEDDING, HIDDEN = 16, 64
FULL = {"steps": 600, "batch": 16, "eval_batches": 16}
QUICK = {"steps": 2, "batch": 2, "eval_batches": 1}


def main(argv: list[str] | None = None) -> list[Settings]:
    """Measure what is not on file, print the tables, draw if asked."""
    chosen = options(__file__, __doc__, argv, seeds=5)
    quick = chosen.quick
    seeds = 2 if quick else chosen.seeds
    capacities = [
        {"part": "capacity", "cell": cell, "channels": n, "seeds": _draws(cell, seeds)}
        | {"inputs": 1_000 if quick else 20_000, "noise_power": NOISE_POWER}
        for n in ((4, 8) if quick else (8, 16, 32, 64))
        for cell in CELLS
    ]
    tasks = [
        {"part": "task", "task": task, "length": length, "cell": cell, "channels": n}
        | {"seeds": seeds, "rates": list(RATES[:1] if quick else RATES)}
        | (QUICK if quick else FULL)
        for task, length in TASKS.items()
        for n in ((4,) if quick else (16, 32))
        for cell in CELLS
    ]
    runs = run_all("state", chosen, capacities + tasks, partial(measure, device=chosen.device))
    print(report(runs))
    if chosen.draw:
        from primal_studies.training._figures import draw_capacity, draw_tasks

        draw_capacity(select(runs, part="capacity"), chosen.out / "state-capacity.png")
        draw_tasks(select(runs, part="task"), chosen.out / "state-tasks.png")
    return runs


def report(runs: list[Settings]) -> str:
    """Return the capacity table, one table for each task, and what it cost."""
    found = select(runs, part="capacity")
    header = ["cell", "channels", "predicted", "measured", "most possible", "time scale"]
    rows = [
        [
            run["cell"],
            run["channels"],
            mean_spread(run["predicted"], 1),
            mean_spread(run["measured"], 1),
            2 * run["channels"] - 1,
            run["time_scale"],
        ]
        for run in found
    ]
    parts = [f"### capacity: past inputs found to 90 % in a noisy state\n\n{table(header, rows)}"]
    for task in TASKS:
        rows = [
            [
                run["cell"],
                run["channels"],
                mean_spread(run["accuracy"]),
                run["rate"],
                run["parameters"],
                f"{run['seconds']:.0f}",
            ]
            for run in select(runs, part="task", task=task)
        ]
        header = ["cell", "channels", "accuracy", "rate", "parameters", "s"]
        parts.append(f"### {task}, length {TASKS[task]}\n\n{table(header, rows)}")
    return "\n\n".join([*parts, total_seconds(runs)])


def measure(one: Settings, *, device: str) -> Settings:
    """Measure the capacity of one kind of cell, or train it on one task."""
    return capacity(one) if one["part"] == "capacity" else recall(one, device)


def capacity(one: Settings, *, measured: bool = True) -> Settings:
    """Predict and measure how many past inputs are in the state, at the best time scale."""
    n, noise_power = one["channels"], one["noise_power"]
    found_at = []
    for scale in TIME_SCALES:
        poles = []
        for seed in range(one["seeds"]):
            torch.manual_seed(seed)
            cell = make_cell(one["cell"], 1, n, 1, time_constant=scale * n, step_scale=1 / scale)
            poles.append(cell_poles(cell))
        predicted = [n_recalled(predicted_shares(p, noise_power)) for p in poles]
        found_at.append((predicted, poles, scale))
    predicted, poles, scale = max(found_at, key=lambda found: sum(found[0]))
    found = {"predicted": predicted, "time_scale": scale}
    if measured:
        found["measured"] = [
            n_recalled(measured_shares(p, noise_power, one["inputs"], seed))
            for seed, p in enumerate(poles)
        ]
    return found


def n_recalled(shares: Tensor) -> int:
    """Return how many past inputs are found to RECALLED of their variance or more."""
    return int((shares >= RECALLED).sum())


def predicted_shares(poles: Tensor, noise_power: float) -> Tensor:
    """Return the share of the input of every delay that the best linear readout finds.

    With v_k the state k steps after an input of one, S = sum_k v_k v_k^T its covariance for
    white inputs and e the variance of white noise, that share is v_k^T (S + e)^-1 v_k. All
    shares together are at most the number of coordinates of the state that move (Jaeger 2001):
    2 n - 1, as the imaginary part of the channel that rests stays zero here.
    """
    covariance = state_covariance(poles)
    e = noise_power * covariance.diagonal().mean()
    noisy = covariance + e * torch.eye(len(covariance), dtype=covariance.dtype)
    impulse = torch.zeros(n_delays(poles), dtype=torch.float64)
    impulse[0] = 1.0
    v = run_states(poles, impulse)
    return (v * torch.linalg.solve(noisy, v.T).T).sum(1)


def state_covariance(poles: Tensor) -> Tensor:
    """Return the covariance of [Re h | Im h] for h_t = a h_(t-1) + sqrt(1 - |a|^2) u_t."""
    gain = (1 - poles.abs() ** 2).sqrt()
    scale = gain[:, None] * gain
    # Sums over delays k of a_i^k conj(a_j)^k and of a_i^k a_j^k.
    like = scale / (1 - poles[:, None] * poles.conj())
    unlike = scale / (1 - poles[:, None] * poles)
    real, imaginary = (like + unlike).real / 2, (like - unlike).real / 2
    mixed = (unlike - like).imag / 2  # Re h_i with Im h_j
    return torch.cat((torch.cat((real, mixed), 1), torch.cat((mixed.T, imaginary), 1)))


def measured_shares(poles: Tensor, noise_power: float, n_inputs: int, seed: int) -> Tensor:
    """Return the share of variance that least squares recovers, for every delay.

    The readout is fitted on one half of a run and scored on the other.
    """
    generator = torch.Generator().manual_seed(seed)
    u = torch.randn(n_inputs, generator=generator, dtype=torch.float64)
    states = run_states(poles, u)
    size = (noise_power * state_covariance(poles).diagonal().mean()).sqrt()
    states = states + size * torch.randn(states.shape, generator=generator, dtype=torch.float64)
    delayed = torch.stack([u.roll(k) for k in range(n_delays(poles))], dim=1)
    # The first states have not seen as many inputs as the later ones.
    skip = n_inputs // 5
    half = (skip + n_inputs) // 2
    readout = torch.linalg.lstsq(states[skip:half], delayed[skip:half]).solution
    error = states[half:] @ readout - delayed[half:]
    return 1 - error.var(0) / delayed[half:].var(0)


def n_delays(poles: Tensor) -> int:
    """Return how far back to look: more than the 2 n numbers of the state could hold."""
    return 3 * len(poles)


def run_states(poles: Tensor, u: Tensor) -> Tensor:
    """Return [Re h | Im h] after every input, for h_t = a h_(t-1) + sqrt(1 - |a|^2) u_t."""
    steps = torch.arange(len(u), dtype=torch.float64)[:, None]
    rotation = torch.polar(torch.ones_like(steps), steps * poles.angle())
    gain = (1 - poles.abs() ** 2).sqrt()
    values = torch.view_as_real(gain * u[:, None] * rotation.conj())
    g = decayed_sums(values.flatten(1), poles.abs().repeat_interleave(2))
    h = torch.view_as_complex(g.view_as(values)) * rotation
    return torch.cat((h.real, h.imag), dim=1)


def recall(one: Settings, device: str) -> Settings:
    """Train all members of one kind of cell on one task and return their accuracy."""
    draw = partial(DRAWS[one["task"]], one["batch"], one["length"])
    n_answers = draw(torch.Generator())[1].shape[-1]
    make = partial(Recaller, one["cell"], one["channels"], one["length"], n_answers)
    model, stacked = train_members(
        make,
        draw,
        losses,
        seeds=one["seeds"],
        rates=tuple(one["rates"]),
        steps=one["steps"],
        device=device,
    )
    validation, accuracy = (
        evaluate(model, stacked, draw, one["eval_batches"], device, seed) for seed in (1, 2)
    )
    rate, members = best_members([-a for a in validation], one["seeds"], len(one["rates"]))
    return {
        "rate": one["rates"][rate],
        "accuracy": [accuracy[m] for m in members],
        "validation": validation,
        "parameters": n_trained(model),
    }


@torch.no_grad()
def evaluate(model, stacked, draw, n_batches: int, device: str, seed: int) -> list[float]:
    """Return the accuracy of every member on the same sequences."""
    generator = torch.Generator().manual_seed(seed)
    n_members = len(next(iter(stacked.values())))
    total = torch.zeros(n_members, device=device)
    for _ in range(n_batches):
        x, y = (v.to(device).expand(n_members, *v.shape) for v in draw(generator))
        total += (forward_members(model, stacked, x).argmax(-1) == y).float().mean((1, 2))
    return (total / n_batches).tolist()


def losses(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of every member."""
    picked = logits.log_softmax(-1).gather(-1, targets[..., None])
    return -picked.flatten(1).mean(1)


class Recaller(nn.Module):
    """Symbols into a cell, its last outputs through one hidden layer to the answers."""

    def __init__(self, cell: str, n_channels: int, length: int, n_answers: int) -> None:
        super().__init__()
        self.n_answers = n_answers
        self.embedding = nn.Embedding(N_TOKENS, EMBEDDING)
        self.cell = make_cell(cell, EMBEDDING, n_channels, HIDDEN, time_constant=2.0 * length)
        self.head = nn.Linear(HIDDEN, SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        y, _ = self.cell(self.embedding(tokens))
        return self.head(nn.functional.gelu(y[..., -self.n_answers :, :]))


def draw_copy(batch: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Symbols, then as many blanks: answer with the symbols in their order."""
    symbols = torch.randint(SYMBOLS, (batch, length), generator=generator)
    return torch.cat((symbols, torch.full_like(symbols, BLANK)), dim=1), symbols


def draw_selective(batch: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Symbols, one of them marked, then a blank: answer with the marked one."""
    symbols = torch.randint(SYMBOLS, (batch, length), generator=generator)
    place = torch.randint(length, (batch, 1), generator=generator)
    marked = symbols.gather(1, place)
    symbols = symbols.scatter(1, place, marked + SYMBOLS)
    return torch.cat((symbols, torch.full_like(marked, BLANK)), dim=1), marked


def draw_long(batch: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Four symbols, many of another kind, then four blanks: answer with the first four."""
    first = torch.randint(SYMBOLS, (batch, 4), generator=generator)
    others = torch.randint(BLANK + 1, N_TOKENS, (batch, length), generator=generator)
    return torch.cat((first, others, torch.full_like(first, BLANK)), dim=1), first


DRAWS = {"copy": draw_copy, "selective": draw_selective, "long": draw_long}


def _draws(cell: str, seeds: int) -> int:
    """Return how many capacities to average: primes have one, drawn poles many."""
    return 2 * seeds if cell in ("random", "S4D-Lin") else 1


if __name__ == "__main__":
    main(sys.argv[1:])
