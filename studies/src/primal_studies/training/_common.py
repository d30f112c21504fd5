"""What the experiments share: options, runs that can be interrupted, tables with spread and time.

An experiment lists the settings of its runs and a function that measures one of them. Results go
to one JSON file after every run; what is already in there is not measured again. Figures are
drawn from that file, so that a machine without matplotlib can measure for one that has it:

    primal study positions --device cuda --out results
    primal study positions --draw --out results
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = [
    "Settings",
    "Study",
    "machine",
    "mean_spread",
    "options",
    "run_all",
    "select",
    "study_parser",
    "table",
    "total_seconds",
]

Settings = dict[str, Any]


def study_parser(file: str, description: str | None, **options: Any) -> argparse.ArgumentParser:
    """Return a parser of the options of a study, from its module's file and docstring."""
    about = (description or "").strip().partition("\n")[0]
    prog = f"primal study {Path(file).stem}"
    return argparse.ArgumentParser(prog, description=about, **options)


def options(
    file: str,
    description: str | None,
    argv: Sequence[str] | None = None,
    *,
    seeds: int = 3,
    trains: bool = True,
) -> argparse.Namespace:
    """Return the options that every experiment has: quick, out, seeds, draw.

    One that trains networks has a device.
    """
    parser = study_parser(file, description)
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes")
    if trains:
        parser.add_argument("--device", default="cpu", help="cpu or cuda")
    else:
        parser.set_defaults(device=None)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of the results")
    parser.add_argument(
        "--seeds", type=int, help=f"how many, 1 or more  [default: {seeds}, or 1 if quick]"
    )
    parser.add_argument("--draw", action="store_true", help="only draw what was measured")
    chosen = parser.parse_args(argv)
    if chosen.seeds is None:
        chosen.seeds = 1 if chosen.quick else seeds
    if chosen.seeds < 1:
        parser.error(f"--seeds must be 1 or more, got {chosen.seeds}")
    return chosen


def run_all(
    name: str,
    chosen: argparse.Namespace,
    settings: Iterable[Settings],
    measure: Callable[[Settings], Settings],
) -> list[Settings]:
    """Return settings and results of every run, measuring those that are not on file.

    Parameters
    ----------
    name : str
        Of the experiment; the file is ``<out>/<name>.json``, or ``<name>-quick.json``.
    chosen : argparse.Namespace
        From :func:`options`.
    settings : iterable of dict
        Plain values, everything a result depends on: they are the key under which it is kept.
    measure : callable
        Takes one of them, returns a dict of JSON values. Not called with ``--draw``.

    Returns
    -------
    runs : list of dict
        Settings, results, ``seconds`` of each run and the ``machine`` that made it.
    """
    path = chosen.out / f"{name}{'-quick' if chosen.quick else ''}.json"
    done = json.loads(path.read_text()) if path.exists() else {}
    listed = list(settings)
    if chosen.draw:
        return [done[_key(one)] for one in listed if _key(one) in done]
    for number, one in enumerate(listed, 1):
        label = " ".join(f"{k}={v}" for k, v in one.items() if not isinstance(v, (list, dict)))
        if _key(one) in done:
            print(f"[{number}/{len(listed)}] {label}: on file", file=sys.stderr, flush=True)
            continue
        start = time.perf_counter()
        found = measure(one)
        seconds = time.perf_counter() - start
        cost = {"seconds": round(seconds, 3), "machine": machine(chosen.device)}
        done[_key(one)] = one | found | cost
        _write(path, done)
        print(f"[{number}/{len(listed)}] {label}: {seconds:.1f} s", file=sys.stderr, flush=True)
    return [done[_key(one)] for one in listed]


def select(runs: Iterable[Settings], **values: Any) -> list[Settings]:
    """Return the runs that have these values.

    Examples
    --------
    >>> select([{"a": 1, "b": 2}, {"a": 3, "b": 2}], a=3)
    [{'a': 3, 'b': 2}]
    """
    return [run for run in runs if all(run.get(name) == v for name, v in values.items())]


def mean_spread(values: Iterable[float], digits: int = 3) -> str:
    """Return mean and standard deviation as text; one value has no spread.

    Examples
    --------
    >>> mean_spread([1.0, 2.0, 3.0]), mean_spread([0.5])
    ('2.000 ± 1.000', '0.500')
    """
    numbers = [float(v) for v in values]
    mean = f"{statistics.fmean(numbers):.{digits}f}"
    return mean if len(numbers) < 2 else f"{mean} ± {statistics.stdev(numbers):.{digits}f}"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table.

    Examples
    --------
    >>> print(table(["map", "loss"], [["prime", 0.5]]))
    | map | loss |
    |---|---|
    | prime | 0.5 |
    """
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in [header, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def total_seconds(runs: Iterable[Settings]) -> str:
    """Return what all runs cost together and on what, as a sentence."""
    listed = list(runs)
    machines = ", ".join(sorted({run["machine"] for run in listed}))
    seconds = sum(run["seconds"] for run in listed)
    return f"{len(listed)} runs took {seconds:.0f} s on {machines or 'no machine'}."


class Study:
    """One command from its options to its picture: parts that resume, tables, what it cost.

    Parameters
    ----------
    file, description : str
        File and docstring of the study's module.
    argv : sequence of str, optional
        Its options, as for :func:`options`; those of the command line if left out.
    seeds : int
        How many, unless the options say otherwise.
    trains : bool
        It trains networks, and so has a device.
    """

    def __init__(
        self,
        file: str,
        description: str | None,
        argv: Sequence[str] | None,
        *,
        seeds: int = 5,
        trains: bool = False,
    ) -> None:
        self.chosen = options(file, description, argv, seeds=seeds, trains=trains)
        self.runs: list[Settings] = []

    def run(
        self,
        name: str,
        settings: Iterable[Settings],
        measure: Callable[[Settings], Settings],
    ) -> list[Settings]:
        """Return settings and results of one part, as :func:`run_all` does."""
        found = run_all(name, self.chosen, settings, measure)
        self.runs += found
        return found

    def finish(self, tables: Iterable[str], draw: Callable[[Path], None]) -> list[Settings]:
        """Print the tables and the cost, draw into the folder, and return all runs."""
        for text in tables:
            print(text, end="\n\n")
        print(total_seconds(self.runs))
        if not self.runs:
            return []
        with suppress(ImportError):  # a machine may measure for one that has Matplotlib
            draw(self.chosen.out)
        return self.runs


def _key(settings: Settings) -> str:
    return json.dumps(settings, sort_keys=True)


def _write(path: Path, results: Settings) -> None:
    """Replace the file whole: an interrupt leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".tmp")
    fresh.write_text(json.dumps(results, indent=1) + "\n")
    fresh.replace(path)


def machine(device: str | None) -> str:
    """Return what a run was measured on, as text."""
    if device is None:
        return f"{platform.machine()} CPU"
    import torch

    if device.startswith("cuda"):
        chip = torch.cuda.get_device_name(device)
    else:
        chip = f"{platform.machine()} CPU, {torch.get_num_threads()} threads"
    return f"{chip}, torch {torch.__version__}"
