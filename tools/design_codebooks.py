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
from primal.codebooks._shadow import Shadow, shipped_design, shipped_lines

STEPS = 120_000
GRID_N = (100, 250, 500, 1000, 2000, 5000, 10_000)
GRID_D = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
PHASORS = ((57, 8), (307, 18), (993, 32), (3541, 60), (16_257, 128))
SIZES = [
    *((N, D, "real") for D in GRID_D for N in GRID_N if N > D),
    *((N, D, "complex") for N, D in PHASORS),
]
HEADER = (
    "# Targets of shadow codebooks: N, D, field, coherence; for unions of cosets P, h, residues.\n"
    "# Made by tools/design_codebooks.py; change the tool, not the numbers.\n"
)


def design(size: tuple[int, int, str]) -> tuple[tuple[float, Shadow], str]:
    """Return the design for one size, and its line of the table."""
    N, D, field = size
    codes = Shadow._design(N, D, field, SearchBudget(STEPS))
    coherence = f"{codes.certificate.coherence:.9f}"
    target = codes.target
    numbers = () if target is None else (target.P, target.h, *target.cosets)
    return (float(coherence), codes), " ".join(map(str, (N, D, field, coherence, *numbers)))


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
        for size, (result, line) in zip(sizes, pool.map(design, sizes), strict=True):
            found[size] = line
            same = result == shipped_design(*size)
            different |= not same
            verdict = "as shipped" if same else "differs from the table"
            click.echo(f"{size}: {result[1].view}, coherence {result[0]:.6f}, {verdict}")
            bar.update(1)
    if write:
        kept = shipped_lines() | found
        lines = [kept[size] for size in SIZES if size in kept]
        path = Path(primal.codebooks.__file__).with_name("designs.txt")
        path.write_text(HEADER + "\n".join(lines) + "\n", encoding="ascii")
        click.echo(f"wrote {path}")
        return
    sys.exit(different)


if __name__ == "__main__":
    main()
