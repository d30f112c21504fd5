"""Bits, flash, memory and instructions of headers, on this machine and on emulated chips.

    python tools/edge_bars.py bits                 # ten million values on each of six targets
    python tools/edge_bars.py digits               # classifiers, all kinds
    python tools/edge_bars.py digits --emlearn DIR # and emlearn's, from pip install --target DIR
    python tools/edge_bars.py code                 # bytes of code alone
    python tools/edge_bars.py mnist                # needs MNIST: tools/fetch_datasets.sh

Compilers and emulators come from tools/install_targets.sh; emlearn's headers need the C library of
the package libnewlib-arm-none-eabi as well. Instructions are counted by a plugin of QEMU, as the
difference between programs that call 300 and 400 times, less that of programs without the call.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from edge_cases import cases, write_headers
from edge_targets import CHIPS, HOSTS, Target, digest_program

import primal
from primal.edge import SensorMap, SensorModel, as_sensor, export_c
from primal.edge._header import golden_digests

_STANDARDS, _LEVELS = ("c99", "gnu99", "gnu++17"), ("-O0", "-Os", "-O3")
M0, M4 = CHIPS[:2]


@click.group()
def cli() -> None:
    """Measure what headers of primal.edge promise."""


@cli.command()
@click.option("--values", default=10_000_000, show_default=True, help="float32 on each target.")
@click.option("--only", multiple=True, help="Names of targets; all by default.")
def bits(values: int, only: tuple[str, ...]) -> None:
    """Compare digests of every output: the rows are shared out among all options."""
    n_features = sum((c.sensor if isinstance(c, SensorModel) else c).D for c in cases().values())
    options = list(itertools.product(_STANDARDS, _LEVELS))
    n_rows = -(-values // (n_features * len(options)))
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_headers(folder)
        for place, (standard, level) in enumerate(options):
            rows = range(place * n_rows, (place + 1) * n_rows)
            meant = [[0, *golden_digests(source, rows)] for source in cases().values()]
            source = digest_program(list(cases()), rows.start, rows.stop)
            for target in (*HOSTS, *CHIPS):
                if not only or target.name in only:
                    program = target.build(folder, source, f"-std={standard}", level)
                    found = np.frombuffer(target.run(program), "<u4").reshape(-1, 6).tolist()
                    n_wrong = sum(a != b for a, b in zip(found, meant, strict=True))
                    wrong += n_wrong
                    said = f"{n_rows * n_features:,} float32, as many q15, and signs"
                    click.echo(f"{target.name:10} {standard:8} {level}  {said}: {n_wrong} wrong")
    click.echo(f"{wrong} of all digests are wrong; {9 * n_rows * n_features:,} values each")
    sys.exit(wrong > 0)


class Cost(NamedTuple):
    """Of one call on a chip: bytes with -Os, instructions with -Os and with -O2."""

    flash: int
    ram: int
    small: float
    fast: float


def measured(
    folder: Path, include: str, kind: str, n: int, call: str, *libraries: str
) -> tuple[Cost, Cost]:
    """Return what one call takes on M4 and on M0."""

    def program(n_calls: int, body: str) -> str:
        head = f'#include "{include}"' if body == call else ""
        return f"""{head}
int main(void)
{{
    static {kind} x[{n}];
    uint32_t i, j, sum = 0;
    for (i = 0; i < {n_calls}; i++) {{
        for (j = 0; j < {n}; j++)
            x[j] = ({kind})((i + j) % 17);
        __asm__ volatile("" ::: "memory");
        sum += (uint32_t){body};
    }}
    edge_write(&sum, 4);
    return 0;
}}
"""

    def counted(target: Target, level: str, body: str) -> int:
        built = (
            target.build(folder, program(n_calls, body), level, "-std=c99", *libraries)
            for n_calls in (300, 400)
        )
        first, last = (target.instructions(made) for made in built)
        return last - first

    def cost(target: Target) -> Cost:
        sizes = []
        for body in (call, "x[3]"):
            made = target.build(folder, program(1, body), "-Os", "-std=c99", *libraries)
            sizes.append(_sizes(made))
        flash, ram = (max(a - b, 0) for a, b in zip(*sizes, strict=True))  # alignment is not ours
        per_call = [
            (counted(target, level, call) - counted(target, level, "x[3]")) / 100
            for level in ("-Os", "-O2")
        ]
        return Cost(flash, ram, *per_call)

    return cost(M4), cost(M0)


def table_row(name: str, accuracy: float, labels: str, costs: tuple[Cost, Cost], bars: str) -> str:
    """Return a row of the table in docs/edge.md."""
    flash = " / ".join(f"{cost.flash / 1000:.1f}" for cost in costs)
    small = " / ".join(f"{cost.small / 1000:.1f}k" for cost in costs)
    fast = " / ".join(f"{cost.fast / 1000:.1f}k" for cost in costs)
    cells = (name, f"{accuracy:.3f}", labels, f"{flash} KB", f"{costs[0].ram} B", small, fast, bars)
    return f"| {' | '.join(cells)} |"


def missed_bars(kind: str, accuracy: float, same: float, costs: tuple[Cost, Cost]) -> str:
    """Return which bars of the digits with D = 128 a model misses, or "all" for all met."""
    most_flash = 6000 if kind.startswith("hadamard") else 12_000
    bars = {
        "accuracy": accuracy >= 0.965,
        "labels": same >= 0.998,
        "flash": max(cost.flash for cost in costs) <= most_flash,
        "M4": costs[0].fast <= 25_000,
        "M0": costs[1].fast <= 50_000,
    }
    missed = [name for name, met in bars.items() if not met]
    return f"all but {', '.join(missed)}" if missed else "all"


def _sizes(program: Path) -> tuple[int, int]:
    """Flash (code, constants, initial values) and RAM of a linked program."""
    found = subprocess.run(["arm-none-eabi-size", program], capture_output=True, text=True)
    text, data, bss = map(int, found.stdout.splitlines()[1].split()[:3])
    return text + data, data + bss


def sensor_costs(folder: Path, model: SensorModel) -> tuple[Cost, Cost]:
    """Return what a label costs; RAM as the report has it, with scores on the stack."""
    report = export_c(model, folder / "model.h", name="model")
    inputs = f"{model.sensor.inputs}_t"
    first, last = measured(folder, "model.h", inputs, model.sensor.d, "model_predict(x)")
    ram = report.ram_bytes
    return first._replace(ram=ram), last._replace(ram=ram)


@cli.command()
@click.option("--emlearn", type=click.Path(exists=True, file_okay=False, path_type=Path))
def digits(emlearn: Path | None) -> None:
    """Print the table of docs/edge.md: scikit-learn's digits, 70 to 30 split, random_state=0."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from primal.sklearn import PrimeRidgeClassifier

    X, y = load_digits(return_X_y=True)
    split = train_test_split(X, y, test_size=0.3, random_state=0)
    x_train, x_test, y_train, y_test = split
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for D, basis in itertools.product((64, 128, 256), ("table", "hadamard")):
            fitted = PrimeRidgeClassifier(D, basis=basis, form="pair").fit(x_train, y_train)
            kinds = ("lsb16", "lsb32") if basis == "table" else ("hadamard32", "hadamard64")
            for kind in kinds:
                model = as_sensor(fitted, kind=kind, inputs="uint8")
                assert isinstance(model, SensorModel)
                accuracy = (model.predict(x_test.astype(int)) == y_test).mean()
                same = (model.predict(X.astype(int)) == fitted.predict(X)).mean()
                costs = sensor_costs(folder, model)
                bars = missed_bars(kind, accuracy, same, costs) if D == 128 else ""
                labels = f"{100 * same:.1f} %"
                click.echo(table_row(f"D = {D}, `{kind}`", accuracy, labels, costs, bars))
        if emlearn is not None:
            sys.path.append(str(emlearn))
            _emlearn(folder, split)


def _emlearn(folder: Path, split: list[Any]) -> None:
    import emlearn
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier

    x_train, x_test, y_train, y_test = split
    makers: dict[str, Callable[[], Any]] = {
        "MLP 64-32-10": lambda: MLPClassifier((32,), max_iter=1000, random_state=0),
        "MLP 64-64-10": lambda: MLPClassifier((64,), max_iter=1000, random_state=0),
        "RF 10 x depth 10": lambda: RandomForestClassifier(10, max_depth=10, random_state=0),
    }
    libraries = ("-I" + emlearn.includedir, "-Wl,--start-group", "-lm", "-lc", "-lgcc", "-lnosys")
    for name, make in makers.items():
        trees = not name.startswith("MLP")
        # Thresholds of trees become integers: twice the pixels keep the halves.
        factor = 2 if trees else 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make().fit(factor * x_train, y_train)
            converted = emlearn.convert(model, method="inline")
        guess = np.array(converted.predict(factor * x_test))
        converted.save(name="em", file=str(folder / "em.h"))
        kind = "int16_t" if trees else "float"
        costs = measured(folder, "em.h", kind, 64, "em_predict(x, 64)", *libraries)
        labels = f"{model.score(factor * x_test, y_test):.3f} in scikit-learn"
        click.echo(table_row(f"emlearn, {name}", (guess == y_test).mean(), labels, costs, ""))


@cli.command()
def code() -> None:
    """Print the bytes of code of `encode_q15` with 8 inputs, for every kind, M4 and M0."""
    kinds = {"q15": "table", "lsb16": "table", "lsb32": "table"}
    kinds |= dict.fromkeys(("hadamard32", "hadamard64"), "hadamard")
    with tempfile.TemporaryDirectory() as name:
        for kind, basis in kinds.items():
            sensor = SensorMap(primal.DynamicPrime(8, 64, basis=basis), 2.0**-10, kind=kind)
            report = export_c(sensor, Path(name) / "sensor.h")
            sizes = [
                report.code_bytes(target.compiler, *(f for f in target.flags if f[:2] == "-m"))
                for target in (M4, M0)
            ]
            click.echo(f"{kind}: {sizes[0]} B on {M4.name}, {sizes[1]} B on {M0.name}")


@cli.command()
@click.option("--features", default=2048, show_default=True)
def mnist(features: int) -> None:
    """Measure a classifier of MNIST."""
    from primal.sklearn import PrimeRidgeClassifier
    from primal_studies.hdc import load

    data = load("mnist")
    train, test = slice(data.n_train), slice(data.n_train, None)
    fitted = PrimeRidgeClassifier(features, form="pair").fit(
        data.X[train].astype(np.float32), data.y[train]
    )
    model = as_sensor(fitted, kind="hadamard64", inputs="uint8")
    assert isinstance(model, SensorModel)
    guess = model.predict(data.X[test])
    same = (guess == fitted.predict(data.X[test].astype(np.float32))).mean()
    accuracy, labels = (guess == data.y[test]).mean(), f"{100 * same:.2f} %"
    with tempfile.TemporaryDirectory() as name:
        costs = sensor_costs(Path(name), model)
    click.echo(table_row(f"MNIST, D = {features}, `hadamard64`", accuracy, labels, costs, ""))


if __name__ == "__main__":
    cli()
