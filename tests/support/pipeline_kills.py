"""Kill an encoding or a decoding at random moments; the output must be as if never killed.

    python tests/support/pipeline_kills.py --kills 20 --name out.parquet --verb encode

Every run is a forked process, killed with SIGKILL at a moment drawn evenly from the time that an
uninterrupted run takes. Runs resume with what the last one left; whenever one completes before its
kill, its output is compared with the uninterrupted one and the next run starts from nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

os.environ["PRIMAL_ENGINE"] = "numpy"  # no compiled code to load in every process

import click
import numpy as np

from primal import DynamicPrime, pipeline


@click.command()
@click.option("--kills", default=20)
@click.option("--seed", default=0)
@click.option("--name", default="out.parquet")
@click.option("--verb", type=click.Choice(["encode", "decode"]), default="encode")
def main(kills: int, seed: int, name: str, verb: str) -> None:
    rng = np.random.default_rng(seed)
    # In memory, where there is such a folder: a kill is not about the speed of a disk.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        folder = Path(made)
        x = rng.standard_normal((20_000 if verb == "encode" else 8_000, 6))  # decoding is slower
        x[rng.integers(0, len(x), 50), 0] = np.nan  # some rows for the side file
        np.save(folder / "in.npy", x)
        if verb == "decode":
            wait(begin(folder, "encoded", "out", "encode"))
        (folder / "whole").mkdir()
        (folder / "killed").mkdir()
        start = time.monotonic()
        wait(begin(folder, "whole", name, verb))
        seconds = time.monotonic() - start
        expected = contents(folder / "whole")
        done, finished, resumed = 0, 0, 0
        while done < kills or not finished:
            resumed += any((folder / "killed").rglob("part-*.parquet"))
            child = begin(folder, "killed", name, verb)
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
                shutil.rmtree(folder / "killed")
                (folder / "killed").mkdir()
        print(f"{done} kills, {resumed} runs resumed, {finished} outputs compared, all equal")


def begin(folder: Path, where: str, name: str, verb: str) -> int:
    """Start a run in a process of its own and return its id."""
    child = os.fork()
    if child == 0:
        try:
            target = folder / where / name
            options = {"rows_per_part": 1000, "on_error": "skip"}
            if verb == "encode":
                m = DynamicPrime(6, 32, 0.1, basis="auto", layout="interleaved")
                pipeline.encode(folder / "in.npy", target, m, **options)
            else:
                pipeline.decode(folder / "encoded" / "out", target)
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
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


if __name__ == "__main__":
    main()
