"""Call everything public with hostile arguments: results, errors of ours or TypeErrors, only.

    python tools/fuzz.py                            # 20,000 calls
    python tools/fuzz.py --calls 2000 --seed 3 --only primal.hdc

A call may take ten seconds and 256 MiB. Prints one line for each room and what went wrong, and
exits with 1 if anything did. Values and recipes: tests/support/fuzz_*.py.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import fuzz_recipes as recipes
from fuzz_surface import FINE


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


@click.command()
@click.option("--calls", default=20_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--only", help="One room, such as primal.hdc.")
@click.option("--show", default=100, show_default=True, help="Most faults to print.")
def main(calls: int, seed: int, only: str | None, show: int) -> None:
    """Fuzz the public surface."""
    faulthandler.enable()
    sizes = {room: len(list(recipes.calls(room))) for room in recipes.ROOMS}
    sizes = {room: n for room, n in sizes.items() if n and only in (None, room)}
    total: Counter[str] = Counter()
    slowest, largest, shown, seen = (0.0, ""), (0, ""), 0, set()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for room, n in sizes.items():
            counts: Counter[str] = Counter()
            share = -(-calls * n // sum(sizes.values()))
            for called, outcome in recipes.fuzz(room, share, seed):
                counts[outcome.kind] += 1
                slowest = max(slowest, (outcome.seconds, called))
                largest = max(largest, (outcome.n_bytes, called))
                where = (called.split("(")[0], outcome.kind)
                if outcome.kind not in FINE and where not in seen and shown < show:
                    seen.add(where)
                    shown += 1
                    click.echo(f"  {called}: {outcome.kind}: {_line(outcome.detail)}")
            total += counts
            click.echo(f"{room}, {n} callables: {dict(counts)}")
        os.chdir("/")
    click.echo(f"seed {seed}, {total.total()} calls: {dict(total)}")
    click.echo(f"slowest {slowest[0]:.2f} s: {slowest[1]}")
    click.echo(f"largest {largest[0] / 2**20:.1f} MiB: {largest[1]}")
    sys.exit(any(kind not in FINE for kind in total))


if __name__ == "__main__":
    main()
