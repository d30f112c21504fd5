"""``primal hdc``: hyperdimensional classifiers on public data, against their peers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from primal.cli._common import json_option, progress_bar
from primal.errors import DataError, MissingPackageError, ParameterError

_QUICK_SEEDS = 3
_OUT = click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder for the picture; made if it does not exist.  [default: this one]",
)


@click.group()
def hdc() -> None:
    """Hyperdimensional classifiers: accuracy and time, and learning without forgetting.

    \b
    Examples:
      primal hdc datasets
      primal hdc bench --quick
    """


@hdc.command()
@click.option("--data", default="digits", show_default=True, help="Names, with commas between.")
@click.option("--dims", default="512,2048,10000", show_default=True, help="Dimensions D.")
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True, help="Rounds.")
@click.option("--epochs", type=click.IntRange(1), default=10, show_default=True, help="Passes.")
@click.option("--only", multiple=True, help="Only this contender, such as 'torchhd OnlineHD'.")
@click.option("--quick", is_flag=True, help="D = 512, three rounds.")
@json_option
@_OUT
def bench(
    data: str,
    dims: str,
    seeds: int,
    epochs: int,
    only: tuple[str, ...],
    quick: bool,
    as_json: bool,
    out: Path,
) -> None:
    """Compare classifiers on the same splits with equal D.

    Accuracy is a mean over rounds with its standard error; time is that of fit and predict.
    torchhd's classifiers take part if torchhd is installed. `primal hdc datasets` lists names.

    \b
    Examples:
      primal hdc bench --quick
      primal hdc bench --data digits,wine --dims 512,2048 --only ridge --json
    """
    names = [name.strip() for name in data.split(",")]
    sizes = _sizes("512" if quick else dims)
    if quick:
        seeds = min(seeds, _QUICK_SEEDS)
    from primal_studies.hdc._bench import compare
    from primal_studies.hdc._bench_peers import has_torchhd
    from primal_studies.hdc._bench_plot import plot_scores
    from primal_studies.hdc._datasets import load

    if not has_torchhd():
        click.echo("torchhd is not installed and left out: pip install torch-hd", err=True)
    scores = []
    options: dict[str, Any] = {"n_seeds": seeds, "epochs": epochs, "only": only}
    for dataset in [load(name) for name in names]:
        for D in sizes:
            with progress_bar(f"{dataset.name}, D = {D}") as progress:
                scores += compare(dataset, D, progress=progress, **options)
    picture = out / "primal-hdc-bench.png"
    plot_scores(scores, picture)
    if as_json:
        report = {"scores": [score.as_json() for score in scores], "epochs": epochs}
        click.echo(json.dumps({**report, "picture": str(picture)}, indent=2))
        return
    click.echo(_score_table(scores))
    click.echo(f"\npicture: {picture}")


@hdc.command()
@click.option("--data", default="digits", show_default=True, help="Name of a dataset.")
@click.option("--tasks", type=click.IntRange(1), default=5, show_default=True)
@click.option("--dims", "D", type=int, default=2048, show_default=True, help="Dimensions D.")
@click.option("--only", multiple=True, help="Only this learner, such as 'network, replay'.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Split and networks."
)
@json_option
@_OUT
def continual(
    data: str, tasks: int, D: int, only: tuple[str, ...], seed: int, as_json: bool, out: Path
) -> None:
    """Teach classes task by task and judge on all classes seen, after every task.

    \b
    Examples:
      primal hdc continual
      primal hdc continual --data digits --tasks 5 --only ridge --json
    """
    from primal_studies.hdc._bench_plot import plot_tasks
    from primal_studies.hdc._continual import class_incremental, first_task_standardized
    from primal_studies.hdc._datasets import load

    dataset = load(data)
    if dataset.kind == "text":
        raise ParameterError(
            f"{data!r} holds texts, which these learners do not take: use numbers."
        )
    split = first_task_standardized(dataset.split(seed), dataset.kind, tasks)
    with progress_bar("tasks") as progress:
        rows = class_incremental(
            split, learners=only, n_tasks=tasks, n_components=D, seed=seed, progress=progress
        )
    picture = out / f"primal-hdc-continual-{data}.png"
    plot_tasks(rows, picture, f"{data}, {tasks} tasks, D = {D}")
    if as_json:
        report = {"data": data, "rows": [row.as_json() for row in rows]}
        click.echo(json.dumps({**report, "picture": str(picture)}, indent=2))
        return
    click.echo(_task_table(rows, tasks))
    click.echo(f"\npicture: {picture}")


@hdc.command()
@json_option
def datasets(as_json: bool) -> None:
    """List the datasets, the packages that hold them, and whether those are found.

    \b
    Examples:
      primal hdc datasets
      primal hdc datasets --json
    """
    from primal_studies.hdc._datasets import DATASETS, data_folders, load

    found = {}
    for name in DATASETS:
        try:
            load(name)
            found[name] = "found"
        except MissingPackageError:
            found[name] = "missing"
        except DataError:  # another version of the package
            found[name] = "differs"
    if as_json:
        rows = {
            name: {"about": e.about, "source": e.source, "sha256": e.sha256, "state": found[name]}
            for name, e in DATASETS.items()
        }
        click.echo(json.dumps(rows, indent=2))
        return
    for name, entry in DATASETS.items():
        click.echo(f"{name:<15}{found[name]:<9}{entry.source:<22}{entry.about}")
    if "missing" in found.values():
        folders = ", ".join(str(folder) for folder in data_folders())
        click.echo(f"\nlooked in {folders}")


def _sizes(dims: str) -> list[int]:
    try:
        return [int(size) for size in dims.split(",")]
    except ValueError:
        raise ParameterError(
            f"--dims takes whole numbers with commas between, such as 512,2048, got {dims!r}."
        ) from None


def _score_table(scores: list[Any]) -> str:
    from primal_studies.hdc._bench import OURS

    lines = []
    for data, D in dict.fromkeys((score.data, score.n_components) for score in scores):
        rows = [s for s in scores if (s.data, s.n_components) == (data, D)]
        ours = next((s for s in rows if s.contender == OURS), None)
        lines.append(f"{data}, D = {D}")
        for score in sorted(rows, key=lambda s: -s.accuracy):
            error = f" +- {score.standard_error:.4f}" if len(score.accuracies) > 1 else " " * 10
            line = (
                f"  {score.contender:<22}{score.accuracy:.4f}{error}{score.median_seconds:>10.2f} s"
            )
            if ours is not None and score is not ours:
                line += f"   {score.times(ours):>7.2f} times {OURS}'s"
            lines.append(line)
    return "\n".join(lines)


def _task_table(rows: list[Any], n_tasks: int) -> str:
    heads = "".join(f"{f'task {task}':>9}" for task in range(1, n_tasks + 1))
    lines = ["accuracy on all classes seen, after each task", f"{'':<18}{heads}"]
    for name in dict.fromkeys(row.learner for row in rows):
        found = {row.task: row for row in rows if row.learner == name}
        cells = [
            f"{found[task].accuracy:>9.4f}" if task in found else " " * 9
            for task in range(1, n_tasks + 1)
        ]
        lines.append(f"{name:<18}{''.join(cells)}")
    kept = [row.old_answers_kept for row in rows if row.old_answers_kept is not None]
    if kept:
        answer = "yes, to the bit" if all(kept) else "NO"
        lines.append(f"\nold features give the old answers after growth: {answer}")
    return "\n".join(lines)
