"""``primal bench``: speed against what people use, all in one process and in turns."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import click

from primal._extras import require
from primal._parallel import n_threads
from primal.cli._common import json_option, progress_bar
from primal.errors import EngineError
from primal.exact import engine
from primal_studies.bench import (
    GROUPS,
    OURS,
    Bar,
    Result,
    cases,
    contest,
    exponents,
    first_call_seconds,
    judge,
    peak_extra_bytes,
    plot,
)

_PICTURE = "primal-bench.png"


@click.command()
@click.option("--only", type=click.Choice(list(GROUPS)), multiple=True, help="Only this group.")
@click.option("--quick", is_flag=True, help="Few small cases, few rounds: under a minute.")
@click.option("--gpu", is_flag=True, help="Only the PyTorch layers on the GPU, as JSON.")
@click.option("--repeats", type=click.IntRange(3), default=9, show_default=True, help="Rounds.")
@json_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder for the picture; made if it does not exist.  [default: this one]",
)
def bench(
    only: tuple[str, ...], quick: bool, gpu: bool, repeats: int, as_json: bool, out: Path
) -> None:
    """Measure encoding, decoding, primes and coherence against their peers.

    Every case runs all contenders in turns; ratios compare times of the same round. Peers whose
    packages are not installed are left out. The exit status is 0 also when a bar is missed.

    \b
    Examples:
      primal bench --quick
      primal bench --only dynamic --only decode --json
    """
    if gpu:
        _bench_gpu()
        return
    bars: list[Bar] = []
    engine()  # loaded before the first case, however small that is
    results = _measure(only or tuple(GROUPS), quick, 3 if quick else repeats)
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, {n_threads()} threads, {engine().name} engine",
        "results": [result.as_json() for result in results],
    }
    if not only:
        click.echo("growth, memory, first call ...", err=True)
        peaks = peak_extra_bytes(quick)
        first_calls = {n_rows: first_call_seconds(n_rows) for n_rows in (100, 10_000)}
        report["exponents"] = exponents(quick)
        report["peak_extra_bytes"] = {str(n): peak for n, peak in peaks.items()}
        report["first_call_seconds"] = {str(n): seconds for n, seconds in first_calls.items()}
        bars = judge(results, max(peaks.values()), first_calls)
        report["bars"] = [bar.as_json() for bar in bars]
    picture = out / _PICTURE
    report["picture"] = str(picture) if plot(results, picture) else None
    if as_json:
        click.echo(json.dumps(report, indent=2))
        return
    click.echo(f"{report['machine']}\n")
    click.echo(_table(results))
    if not only:
        click.echo(_summary(report, bars))
    if report["picture"]:
        click.echo(f"\npicture: {picture}")


def _bench_gpu() -> None:
    torch = require("torch", "the GPU benchmark")
    if not torch.cuda.is_available():
        raise EngineError("no GPU was found: run this where torch.cuda.is_available() is True.")
    from primal_studies.bench._gpu import report

    click.echo(json.dumps(report(), indent=2))


def _measure(groups: tuple[str, ...], quick: bool, repeats: int) -> list[Result]:
    results = []
    for group in groups:
        with progress_bar(group) as progress:
            progress(0, None)
            # A case holds its data: only one at a time.
            for done, case in enumerate(cases(group, quick=quick), 1):
                results.append(contest(case, repeats=repeats, budget_seconds=20.0))
                progress(done, None)
    return results


def _table(results: list[Result]) -> str:
    lines = []
    for result in results:
        lines.append(result.label)
        for name in result.seconds:
            line = f"  {name:<16}{1e3 * result.median(name):>11.2f} ms"
            if name != OURS:
                low, middle, high = result.ratio(name, OURS)
                line += f"   {middle:>8.2f} times primal's  ({low:.2f} to {high:.2f})"
            lines.append(line)
    return "\n".join(lines)


def _summary(report: dict, bars: list[Bar]) -> str:
    lines = ["", "growth of time (exponent fitted over a range of sizes)"]
    lines += [f"  {name:<22}{value:>6.2f}" for name, value in report["exponents"].items()]
    lines += ["", "extra memory of encode into out=, d = 64, D = 256"]
    lines += [
        f"  N = {n:>9}{peak / 1e6:>9.1f} MB" for n, peak in report["peak_extra_bytes"].items()
    ]
    lines += ["", "bars"]
    for bar in bars:
        sense = "at least" if bar.at_least else "at most"
        mark = "met   " if bar.met else "MISSED"
        lines.append(f"  {mark} {bar.name}: {bar.measured:.3g} ({sense} {bar.limit:g})")
    return "\n".join(lines)
