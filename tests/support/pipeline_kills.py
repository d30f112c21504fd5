"""Kill an encoding or a decoding at random moments; the output must be as if never killed.

    python tests/support/pipeline_kills.py --kills 20 --format parquet --verb encode

Every run is a forked process, killed with SIGKILL at a moment drawn evenly from the time that an
uninterrupted run takes. Runs go on with what the last one left; whenever one completes before its
kill, its output is compared with the uninterrupted one and the next run starts from nothing.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

os.environ["PRIMAL_ENGINE"] = "numpy"  # no compiled code to load in every process

import click
import numpy as np

from primal import pipeline


@click.command()
@click.option("--kills", default=20)
@click.option("--seed", default=0)
@click.option("--format", "suffix", default="parquet")
@click.option("--verb", type=click.Choice(["encode", "decode"]), default="encode")
def main(kills: int, seed: int, suffix: str, verb: str) -> None:
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        x = rng.standard_normal((40_000, 6))
        x[rng.integers(0, len(x), 50), 0] = np.nan  # some rows for the side file
        np.save(folder / "in.npy", x)
        if verb == "decode":
            wait(begin(folder, "encoded", "parquet", "encode"))
        (folder / "whole").mkdir()
        (folder / "killed").mkdir()
        start = time.monotonic()
        wait(begin(folder, "whole", suffix, verb))
        seconds = time.monotonic() - start
        expected = contents(folder / "whole")
        done, finished, resumed = 0, 0, 0
        while done < kills or not finished:
            resumed += any((folder / "killed").glob("*.primal-part/journal"))
            child = begin(folder, "killed", suffix, verb)
            if done == kills:  # the last run may end
                wait(child)
            else:
                time.sleep(rng.uniform(0.0, seconds))
                if kill(child):
                    done += 1
                    continue
            finished += 1
            if contents(folder / "killed") != expected:
                sys.exit(f"after {done} kills the output differs")
            if done < kills:
                for path in (folder / "killed").iterdir():
                    path.unlink()
        print(f"{done} kills, {resumed} runs went on, {finished} outputs compared, all equal")


def begin(folder: Path, name: str, suffix: str, verb: str) -> int:
    """Start a run in a process of its own and return its id."""
    child = os.fork()
    if child == 0:
        try:
            target = folder / name / f"out.{suffix}"
            options = {"dim": 32, "sigma": 0.1, "batch_rows": 400, "on_error": "skip"}
            if verb == "encode":
                pipeline.encode(folder / "in.npy", target, **options)
            else:
                pipeline.decode(folder / "encoded" / "out.parquet", target)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return child


def kill(child: int) -> bool:
    """Kill a process; return whether it was still running."""
    ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and status:
        sys.exit("a run failed")
    return os.WIFSIGNALED(status)


def wait(child: int) -> None:
    _, status = os.waitpid(child, 0)
    if status:
        sys.exit("a run failed")


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file by name; the manifest names no folder but that of the input."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


if __name__ == "__main__":
    main()
