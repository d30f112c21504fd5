"""Positions in transformers of 10 and 30 million parameters, to 16 times the trained length.

    python tools/fetch_text.py text.npz
    primal study positions --data text.npz [--device cuda] [--workers 4] [--out results]
    primal study positions --draw --out results

Causal transformers over bytes, trained at 256 or 512 with the same bytes for every method; see
``_positions_text`` for the two tasks in the text. Each method has the same learning rates to
choose from, by the loss at the trained length with seed 0; further seeds, lengths and sizes take
that rate. Runs are lines of ``<out>/positions.jsonl``; those on file are not measured again. The
order of runs puts first what the conclusions rest on, so that a budget of seconds can cut it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import traceback
from collections.abc import Iterator
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as nnf

from primal_studies.training._common import Settings, machine, study_parser
from primal_studies.training._positions_model import METHODS, Transformer, train
from primal_studies.training._positions_text import (
    N_DIGITS,
    PASSKEY,
    Text,
    copy_rows,
    draws,
    load_text,
    passkey_rows,
)

FACTORS = (1, 2, 4, 8, 16)
RATES = (1e-3, 2e-3)
SEEDS = 5
FULL = {"steps": 2400, "tokens_per_step": 16_384, "eval_tokens": 524_288, "eval_rows": 128}
QUICK = {"steps": 3, "tokens_per_step": 1024, "eval_tokens": 2048, "eval_rows": 2}
QUICK_LENGTH, QUICK_FACTORS = 128, FACTORS[:3]
# Whose models are evaluated with YaRN, too.
STRETCHED = ("rotary", "prime log", "prime log, half", "prime log, three quarters")
# With five seeds, at 512 and with 30M before the others.
MAIN = (*STRETCHED, "ALiBi", "HoPE")
KEY = ("method", "size", "length", "seed", "rate", "steps")


def main(argv: list[str] | None = None) -> list[Settings]:
    """Measure what is not on file within the budget, and print the tables."""
    from primal_studies.training._positions_report import draw, report

    chosen = _options(argv)
    chosen.out.mkdir(parents=True, exist_ok=True)
    path = chosen.out / f"positions{'-quick' if chosen.quick else ''}.jsonl"
    runs = read(path) or [run for old in chosen.resume_from for run in read(old)]
    if not chosen.draw:
        if runs and not path.exists():
            path.write_text("".join(json.dumps(run) + "\n" for run in runs))
        runs += measure_all(chosen, runs, path)
    print(report(runs))
    if chosen.draw:
        from primal_studies.training._figures import draw_nearness

        draw_nearness(chosen.out / "positions-nearness.png")
        draw(runs, chosen.out)
    return runs


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = study_parser(__file__, __doc__)
    parser.add_argument("--data", type=Path, help="text of tools/fetch_text.py")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of the results")
    parser.add_argument(
        "--resume-from", type=Path, nargs="*", default=[], help="results of runs done elsewhere"
    )
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--workers", type=int, default=1, help="processes that train at once")
    parser.add_argument("--budget-seconds", type=float, default=float("inf"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument(
        "--methods", nargs="*", choices=list(METHODS), default=list(METHODS), metavar="METHOD"
    )
    parser.add_argument("--steps", type=int, default=FULL["steps"])
    parser.add_argument("--eager", action="store_true", help="train without torch.compile")
    parser.add_argument("--quick", action="store_true", help="seconds, on Python's own text")
    parser.add_argument("--draw", action="store_true", help="only draw what was measured")
    chosen = parser.parse_args(argv)
    if not (chosen.quick or chosen.draw or chosen.data):
        parser.error("--data is needed: tools/fetch_text.py makes it")
    return chosen


def plan(chosen: argparse.Namespace) -> list[Settings]:
    """Return the runs in their order; ``rate`` None stands for the best rate of the method."""
    if chosen.quick:
        stages = [("tiny", QUICK_LENGTH, range(1), RATES[:1], METHODS)]
        size = QUICK
    else:
        size = FULL | {"steps": chosen.steps}
        best = (None,)
        stages = [
            ("10M", 256, range(1), RATES, METHODS),
            ("10M", 256, range(1, chosen.seeds), best, MAIN),
            ("30M", 256, range(1), best, MAIN),
            ("10M", 512, range(1), best, MAIN),
            ("10M", 256, range(1, chosen.seeds), best, METHODS),
            ("10M", 512, range(1, 2), best, MAIN),
        ]
    return [
        {"method": method, "size": name, "length": length, "seed": seed, "rate": rate} | size
        for name, length, seeds, rates, methods in stages
        for seed in seeds
        for rate in rates
        for method in methods
        if method in chosen.methods
    ]


def best_rate(runs: list[Settings], method: str) -> float | None:
    """Return the rate with the least loss at the trained length, once all were tried."""
    tried = {
        run["rate"]: run["loss"]["1"]
        for run in runs
        if (run["method"], run["size"], run["length"], run["seed"]) == (method, "10M", 256, 0)
    }
    return min(tried, key=tried.__getitem__) if set(tried) >= set(RATES) else None


def next_run(planned: list[Settings], done: list[Settings], taken: set[str]) -> Settings | None:
    """Return the first planned run that nobody has made or begun, its rate chosen; or None."""
    finished = {key_of(run) for run in done}
    for one in planned:
        rate = one["rate"] or best_rate(done, one["method"])
        if rate is None:
            continue
        one = one | {"rate": rate}
        if key_of(one) not in finished | taken:
            return one
    return None


def key_of(run: Settings) -> str:
    """Return what makes two runs the same."""
    return json.dumps([run[name] for name in KEY])


def read(path: Path) -> list[Settings]:
    """Return the runs of a file; a line that an interrupt cut short is dropped."""
    runs = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            runs.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return runs


def measure_all(chosen: argparse.Namespace, runs: list[Settings], path: Path) -> list[Settings]:
    """Train with all workers until nothing is left or the budget is used; return the new runs."""
    planned = plan(chosen)
    deadline = time.monotonic() + chosen.budget_seconds
    finished = {key_of(run) for run in runs}
    n_left = sum(key_of(one) not in finished for one in planned)
    workers = [Worker(chosen) for _ in range(min(chosen.workers, n_left))]
    fresh: list[Settings] = []
    failed: set[str] = set()
    try:
        while True:
            for worker in [worker for worker in workers if worker.run is None]:
                taken = failed | {key_of(other.run) for other in workers if other.run}
                worker.begin(next_run(planned, runs + fresh, taken))
            busy: dict[object, Worker] = {worker.link: worker for worker in workers if worker.run}
            left = deadline - time.monotonic()
            if not busy or left <= 0:
                break
            for link in wait([busy[link].link for link in busy], timeout=min(left, 1e6)):
                one, found = busy[link].finish()
                if found is None:  # another may do better than a process that failed
                    failed.add(key_of(one))
                    workers[workers.index(busy[link])] = Worker(chosen)
                    continue
                fresh.append(found)
                with path.open("a") as file:
                    file.write(json.dumps(found) + "\n")
                print(_line(found, len(runs) + len(fresh), len(planned)), flush=True)
    finally:
        for worker in workers:
            worker.process.terminate()
            worker.process.join()
    if failed:
        raise RuntimeError(f"{len(failed)} runs failed: {sorted(failed)}")
    return fresh


class Worker:
    """A process that trains, and the run that it is at."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        context = multiprocessing.get_context("spawn")
        self.link, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, vars(chosen)), daemon=True)
        self.process.start()
        theirs.close()
        self.run: Settings | None = None

    def begin(self, one: Settings | None) -> None:
        """Start a run, if there is one."""
        if one is not None:
            self.link.send(one)
            self.run = one

    def finish(self) -> tuple[Settings, Settings | None]:
        """Return the run and what it found, or None if it failed, which is printed."""
        one, self.run = self.run, None
        assert one is not None
        try:
            found = self.link.recv()
        except EOFError:
            found = {"error": "the process ended"}
        if "error" not in found:
            return one, found
        print(f"{one} failed:\n{found['error']}", file=sys.stderr, flush=True)
        self.process.terminate()
        self.process.join()
        return one, None


def _line(run: Settings, number: int, total: int) -> str:
    losses = " ".join(f"{v:.3f}" for v in run["loss"].values())
    return (
        f"[{number}/{total}] {run['method']:<26}{run['size']} at {run['length']} seed "
        f"{run['seed']} rate {run['rate']}: {losses}, {run['seconds']:.1f} s "
        f"({run['tokens'] / run['train_seconds'] / 1e6:.2f} M tokens/s)"
    )


def _work(link: Connection, options: dict[str, Any]) -> None:
    """Measure what comes through the pipe, until it closes."""
    torch.set_num_threads(max(1, torch.get_num_threads() // options["workers"]))
    while True:
        try:
            one = link.recv()
        except EOFError:
            return
        try:
            link.send(measure(one, **options))
        except Exception:
            link.send({"error": traceback.format_exc()})
            return


def measure(
    one: Settings, *, data: Path | None, device: str, eager: bool, workers: int, **_: Any
) -> Settings:
    """Train one model and return its settings with what it scores and costs."""
    start = time.perf_counter()
    text, on_device = _loaded(data, device)
    length, longest = one["length"], one["length"] * FACTORS[-1]
    batch = one["tokens_per_step"] // length
    model = Transformer(one["method"], one["size"], length, longest, one["seed"]).to(device)
    drawn = draws(len(on_device), one["steps"], batch, length, 1000 + one["seed"])
    began = time.perf_counter()
    compiled = device.startswith("cuda") and not eager
    losses = train(model, on_device, drawn, one["rate"], compiled=compiled)
    train_seconds = time.perf_counter() - began
    model.eval()
    found = evaluate(model, one, text["validation"], device)
    if one["method"] in STRETCHED:
        yarn = evaluate(model, one, text["validation"], device, with_yarn=True)
        found |= {f"yarn_{name}": values for name, values in yarn.items()}
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    return (
        one
        | found
        | {
            "train_loss": sum(losses[-50:]) / len(losses[-50:]),
            "parameters": sum(p.numel() for p in model.parameters()),
            "tokens": one["steps"] * batch * length,
            "train_seconds": round(train_seconds, 2),
            "seconds": round(time.perf_counter() - start, 2),
            "machine": machine(device),
            "workers": workers,
        }
    )


@cache
def _loaded(data: Path | None, device: str) -> tuple[dict[str, Text], torch.Tensor]:
    text = load_text(data) if data else quick_text()
    return text, text["train"].tokens.to(device)


def quick_text() -> dict[str, Text]:
    """Return the source of modules of Python as a text: for tests."""
    import argparse
    import inspect
    import typing

    parts = [inspect.getsource(module).encode() for module in (argparse, typing)]
    return {
        name: Text(torch.tensor(list(part), dtype=torch.uint8), torch.tensor([len(part)]))
        for name, part in zip(("train", "validation"), parts, strict=True)
    }


@torch.no_grad()
def evaluate(
    model: Transformer, one: Settings, text: Text, device: str, *, with_yarn: bool = False
) -> Settings:
    """Return loss and accuracies by factor of the trained length, and loss by position.

    ``loss``: nats per byte in the second half of windows that long. ``by_position``: of the
    longest windows, mean of each half of a trained length. ``passkey``: share of keys whose
    digits are all right. ``copy``: share of right letters of a string that fills the window.
    """
    found: Settings = {"loss": {}, "passkey": {}, "copy": {}}
    factors = QUICK_FACTORS if one["size"] == "tiny" else FACTORS
    for factor in factors:
        n = one["length"] * factor
        scaled = float(factor) if with_yarn else None
        rows = text.windows(max(1, one["eval_tokens"] // n), n, seed=factor)
        each = _losses(model, rows, device, scaled)
        found["loss"][str(factor)] = float(each[:, n // 2 :].mean())
        if factor == factors[-1]:
            found["by_position"] = each.mean(0).view(-1, one["length"] // 2).mean(1).tolist()
        plain = text.windows(one["eval_rows"], n, seed=100 + factor).long()
        found["passkey"][str(factor)] = _passkey(model, plain, device, scaled, factor)
        found["copy"][str(factor)] = _copy(model, plain, device, scaled, factor)
    return found


def _chunks(model: Transformer, rows: torch.Tensor, device: str, factor: float | None) -> Iterator:
    """Yield tokens and logits of a few rows at a time."""
    n = rows.shape[1] - 1
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    codes, bias = model.codes(n, factor), model.bias(n, dtype)
    for part in rows.split(max(1, 65_536 // n)):
        part = part.to(device).long()
        yield part, model(part[:, :-1], codes, bias, dtype)


def _losses(model, rows, device: str, factor: float | None) -> torch.Tensor:
    parts = [
        nnf.cross_entropy(logits.transpose(1, 2), part[:, 1:], reduction="none")
        for part, logits in _chunks(model, rows, device, factor)
    ]
    return torch.cat(parts).double().cpu()


def _right(model, rows, device: str, factor: float | None) -> torch.Tensor:
    """Return which bytes after the first are the likeliest ones."""
    parts = [
        logits.argmax(-1) == part[:, 1:] for part, logits in _chunks(model, rows, device, factor)
    ]
    return torch.cat(parts).cpu()


def _passkey(model, plain, device: str, factor: float | None, seed: int) -> float:
    """Keys at places spread evenly over the window; digits after a right one see it, as a
    greedy answer would."""
    generator = torch.Generator().manual_seed(seed)
    digits = torch.randint(48, 58, (len(plain), N_DIGITS), generator=generator)
    last = plain.shape[1] - 2 * len(PASSKEY)
    places = torch.linspace(0, last, len(plain)).long()
    right = _right(model, passkey_rows(plain, digits, places), device, factor)
    return float(right[:, -N_DIGITS:].all(1).double().mean())


def _copy(model, plain, device: str, factor: float | None, seed: int) -> float:
    n = plain.shape[1]
    size = (n - 2) // 2
    generator = torch.Generator().manual_seed(seed)
    letters = torch.randint(97, 123, (len(plain), size), generator=generator)
    sizes = torch.full((len(plain),), size)
    right = _right(model, copy_rows(plain, letters, sizes, 0 * sizes), device, factor)
    return float(right[:, -size:].double().mean())


if __name__ == "__main__":
    main(sys.argv[1:])
