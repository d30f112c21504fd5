"""Make the table of shipped shadow designs, or check that it can be made again.

    python tools/design_codebooks.py                     # every design, some 15 minutes
    python tools/design_codebooks.py --only 1000x64      # one of them; may be repeated
    python tools/design_codebooks.py --write             # and replace the table

The sizes are the paper's grid (N > D), and the phasor codes whose numbers fit a difference set.
A search counts steps and uses no clock and no random numbers, so it gives the same primes on
every machine; without ``--write`` the exit status is 1 when any design differs from the table.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click

import primal.codebooks
from primal.codebooks._codebook import SearchBudget
from primal.codebooks._shadow_codes import Design, Shadow, shipped_design

STEPS = 120_000
GRID_N = (100, 250, 500, 1000, 2000, 5000, 10_000)
GRID_D = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
PHASORS = ((57, 8), (307, 18), (993, 32), (3541, 60), (16_257, 128))
SIZES = [
    *((N, D, "real") for D in GRID_D for N in GRID_N if N > D),
    *((N, D, "complex") for N, D in PHASORS),
]
HEADER = (
    "# Primes of shadow codebooks: N, D, field, view, coherence, primes.\n"
    "# Made by tools/design_codebooks.py; change the tool, not the numbers.\n"
)


def design(size: tuple[int, int, str]) -> Design:
    """Return the design for one size."""
    N, D, field = size
    codes = Shadow._design(N, D, field, SearchBudget(STEPS))
    primes = tuple(codes.primes.tolist())
    return Design(N, D, field, codes.view, codes.certificate.coherence, primes)


def line(found: Design) -> str:
    """Return a design as one line of the table."""
    head = f"{found.N} {found.D} {found.field} {found.view} {found.coherence:.9f}"
    return " ".join([head, *map(str, found.primes)])


@click.command()
@click.option("--only", multiple=True, help="A size such as 1000x64 or 57x8.")
@click.option("--write", is_flag=True, help="Replace the table by what was found.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True)
def main(only: tuple[str, ...], write: bool, jobs: int) -> None:
    """Search for every shipped design and compare with the table."""
    sizes = [size for size in SIZES if not only or f"{size[0]}x{size[1]}" in only]
    found, different = {}, False
    with (
        ProcessPoolExecutor(jobs) as pool,
        click.progressbar(length=len(sizes), label="designs", file=sys.stderr) as bar,
    ):
        for result in pool.map(design, sizes):
            size = (result.N, result.D, result.field)
            found[size] = result
            shipped = shipped_design(*size)
            same = shipped is not None and line(result) == line(shipped)
            different |= not same
            verdict = "as shipped" if same else "differs from the table"
            click.echo(f"{size}: {result.view}, coherence {result.coherence:.6f}, {verdict}")
            bar.update(1)
    if write:
        kept = {size: shipped_design(*size) for size in SIZES} | found
        lines = [line(one) for one in kept.values() if one is not None]
        path = Path(primal.codebooks.__file__).with_name("designs.txt")
        path.write_text(HEADER + "\n".join(lines) + "\n", encoding="ascii")
        click.echo(f"wrote {path}")
        return
    sys.exit(different)


if __name__ == "__main__":
    main()
