"""Condense the results of all experiments for the page of ``primal reproduce``.

    primal study collect --out results

reads ``results/*.json*`` and writes ``learned.json`` into the package: tables and named facts, with
what they cost and on what machine. The page shows and judges them; it does not train anything.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from primal_studies.training import inr, pinn, sparse
from primal_studies.training._common import Settings, options, select
from primal_studies.training._positions_report import scores
from primal_studies.training.positions import read
from primal_studies.uses.chaos import MORE_FEATURES

# What the page shows of the methods: the usual one, controls, peers, and primes.
POSITIONS = ("rotary", "prime raw", "prime log", "prime log, three quarters", "random", "ALiBi")
TARGET = Path(__file__).parents[1] / "paper" / "experiments" / "learned.json"


def main(argv: Sequence[str] | None = None, target: Path = TARGET) -> dict[str, object]:
    """Write the file, and return the facts."""
    chosen = options(__file__, __doc__, argv)
    runs = {"positions": read(chosen.out / "positions.jsonl")}
    for name in (
        *("inr", "inr-choose", "pinn", "pinn-collocation", "state", "sparse"),
        *("kspace-tuned", "kspace", "chaos-exponents", "chaos-tuned", "chaos"),
        *("split-learning-digits", "split-learning-mnist"),
    ):
        runs[name] = list(json.loads((chosen.out / f"{name}.json").read_text()).values())
    tables, facts = {}, {}
    for part in (positions, signals, equations, states, recovery, images, forecasts, clients):
        part(runs, tables, facts)
    cost = [
        {"experiment": name, "seconds": round(sum(map(_seconds, found))), "machine": machine}
        for name, listed in runs.items()
        for machine, found in _by_machine(listed).items()
    ]
    text = json.dumps({"tables": tables | {"cost": cost}, "facts": facts}, indent=1)
    target.write_text(text + "\n", encoding="utf-8")
    print(f"{len(facts)} facts, {sum(map(len, tables.values()))} rows: {target.name}")
    return facts


def positions(runs: dict, tables: dict, facts: dict) -> None:
    """Losses on text and pass keys found, inside the training length and beyond."""
    rows = tables["positions"] = []
    for task, measure in (("text", "loss"), ("passkey", "passkey")):
        found = scores(runs["positions"], "10M", 256, measure)
        for method in POSITIONS:
            for factor, by_seed in found[method].items():
                values = list(by_seed.values())
                named = {"task": task, "positions": method, "times_the_length": int(factor)}
                rows.append(_row(named, values))
                facts[f"{task}_{_word(method)}_x{factor}"] = _fact(values)


def signals(runs: dict, tables: dict, facts: dict) -> None:
    """Held-out decibels of every first layer, at its best scale and rate."""
    rows = tables["signals"] = []
    for run in runs["inr"]:
        db = inr.scores(run)[-1][inr.best(run)].tolist()
        rows.append(_row({"signal": run["signal"], "first_layer": run["method"]}, db))
        facts[f"db_{run['signal']}_{_word(run['method'])}"] = _fact(db)


def equations(runs: dict, tables: dict, facts: dict) -> None:
    """Relative errors of first layers, trained and by collocation, where the residual is least."""
    rows = tables["equations"] = []
    for run in runs["pinn"]:
        scale, rate = pinn.best(run)
        errors = run["errors"][scale][rate]
        rows.append(_row({"equation": run["problem"], "first_layer": run["method"]}, errors))
        facts[f"error_{_word(run['problem'])}_{_word(run['method'])}"] = _fact(errors)
    rows = tables["collocation"] = []
    solved = runs["pinn-collocation"]
    for name, method in dict.fromkeys((r["problem"], r["method"]) for r in solved):
        mine = select(solved, problem=name, method=method)
        errors = [run["errors"][pinn.chosen_scale(mine)] for run in mine]
        rows.append(_row({"equation": name, "first_layer": method}, errors))
        facts[f"solved_{_word(name)}_{_word(method)}"] = _fact(errors)


def states(runs: dict, tables: dict, facts: dict) -> None:
    """Recall of trained cells, and how many past inputs an untrained state holds."""
    capacity, recall = tables["capacity"], tables["recall"] = [], []
    for run in runs["state"]:
        kind = f"{_word(run['cell'])}_{run['channels']}"
        if run["part"] == "capacity":
            capacity.append(
                _row({"cell": run["cell"], "channels": run["channels"]}, run["measured"])
            )
            facts[f"capacity_{kind}"] = _fact(run["measured"])
        else:
            named = {"task": run["task"], "cell": run["cell"], "channels": run["channels"]}
            recall.append(_row(named, run["accuracy"]))
            facts[f"state_{run['task']}_{kind}"] = _fact(run["accuracy"])


def recovery(runs: dict, tables: dict, facts: dict) -> None:
    """Non-zeros recovered by half of the trials."""
    rows = tables["recovery"] = []
    keys = dict.fromkeys((r["algorithm"], r["dictionary"], r["m"]) for r in runs["sparse"])
    for algorithm, name, m in keys:
        found = select(runs["sparse"], algorithm=algorithm, dictionary=name, m=m)
        points = [sparse.half_point(run) for run in found]
        rows.append(_row({"algorithm": algorithm, "dictionary": name, "measurements": m}, points))
        facts[f"nonzeros_{algorithm}_{_word(name)}_{m}"] = _fact(points)


def images(runs: dict, tables: dict, facts: dict) -> None:
    """Relative errors of the phantom from a share of k-space, for every pattern."""
    rows = tables["kspace"] = []
    for name, share in dict.fromkeys((r["pattern"], r["share"]) for r in runs["kspace"]):
        errors = [run["error"] for run in select(runs["kspace"], pattern=name, share=share)]
        rows.append(_row({"pattern": name, "share": share}, errors))
        facts[f"kspace_{name}_{share:.0%}"] = _fact(errors)


def forecasts(runs: dict, tables: dict, facts: dict) -> None:
    """Valid times in Lyapunov times, the spread over starts (means of all trajectories)."""
    rows = tables["forecasts"] = []
    keys = dict.fromkeys((r["system"], r["features"], r["method"]) for r in runs["chaos"])
    for system, n, method in keys:
        found = select(runs["chaos"], system=system, features=n, method=method)
        starts = [
            statistics.fmean(start) for start in zip(*(r["valid"] for r in found), strict=True)
        ]
        size = "many" if n == MORE_FEATURES else "few"
        rows.append(_row({"system": system, "first_layer": method, "features": n}, starts))
        facts[f"forecast_{_word(system)}_{_word(method)}_{size}"] = _fact(starts)


def clients(runs: dict, tables: dict, facts: dict) -> None:
    """Accuracy of a server on clients' codes, and the error of the best attacker on each."""
    rows = tables["split_learning"] = []
    for data in ("digits", "mnist"):
        listed = runs[f"split-learning-{data}"]
        for client, noise in dict.fromkeys((r["client"], r["noise"]) for r in listed):
            found = select(listed, client=client, noise=noise)
            kind = f"{data}_{_word(client)}_{noise}"
            facts[f"server_{kind}"] = _fact([run["accuracy"] for run in found])
            best = [min(run["errors"].values()) for run in found]
            named = {"data": data, "client": client, "noise_turns": noise}
            named |= {"accuracy": facts[f"server_{kind}"][0]}
            rows.append(_row(named, best))  # the mean is that of the best attacker's error
            facts[f"attack_{kind}"] = _fact(best)


def _row(named: Settings, values: Sequence[float]) -> Settings:
    mean, spread, n = _fact(values)
    return named | {"mean": mean, "spread": spread, "draws": n}


def _fact(values: Sequence[float]) -> list:
    """Return mean, standard deviation and number."""
    numbers = [float(v) for v in values]
    spread = statistics.stdev(numbers) if len(numbers) > 1 else 0.0
    return [statistics.fmean(numbers), spread, len(numbers)]


def _seconds(run: Settings) -> float:
    """Return what a run cost: one of several that shared a card, its part."""
    return run["seconds"] / run.get("workers", 1)


def _by_machine(runs: Iterable[Settings]) -> dict[str, list[Settings]]:
    found: dict[str, list[Settings]] = {}
    for run in runs:
        found.setdefault(run["machine"], []).append(run)
    return found


def _word(name: str) -> str:
    return name.lower().replace(",", "").replace(" ", "_").replace("-", "_")


if __name__ == "__main__":
    main()
