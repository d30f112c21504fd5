"""Writers and readers at the same time, signals, full disks and foreign files, for every saver.

    python tools/save_rounds.py                           # 200 rounds, a few minutes
    python tools/save_rounds.py --rounds 3 --only items

A round has two writers and two readers in processes of their own; every load has to give one whole
version, and at the end nothing but the last one may be there. Prints one line for each saver and
measure, and exits with 1 if anything was found wrong.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from savers import SAVERS, Saver

from primal.errors import DataError

_SAVES = 4
_VERSIONS = 5


@click.command()
@click.option("--rounds", default=200, show_default=True)
@click.option("--only", multiple=True, help="Only this saver.")
@click.option("--seed", default=0, show_default=True)
def main(rounds: int, only: tuple[str, ...], seed: int) -> None:
    random.seed(seed)
    wrong = 0
    for saver in SAVERS:
        if only and saver.name not in only:
            continue
        for measure in (at_the_same_time, after_signals, on_a_full_disk, among_foreign_files):
            with tempfile.TemporaryDirectory() as made:
                problems, summary = measure(saver, Path(made), rounds)
            wrong += len(problems)
            click.echo(f"{saver.name:<14} {measure.__name__:<20} {summary}, {len(problems)} wrong")
            for problem in problems[:5]:
                click.echo(f"    {problem}")
    sys.exit(wrong > 0)


def at_the_same_time(saver: Saver, folder: Path, rounds: int) -> tuple[list[str], str]:
    """Two processes save into one folder while two others load from it."""
    # Forked, as for the other measures: nothing is imported again.
    context = multiprocessing.get_context("fork")
    barrier, at_work, results = context.Barrier(4), context.Value("i", 0), context.Queue()
    workers = [
        context.Process(
            target=_work, args=(saver.name, who, folder, rounds, barrier, at_work, results)
        )
        for who in range(4)
    ]
    for worker in workers:
        worker.start()
    n_loads, problems = 0, []
    for _ in workers:
        loads, found = results.get(timeout=600)
        n_loads += loads
        problems += found
    for worker in workers:
        worker.join(timeout=60)
    return problems, f"{rounds} rounds, {2 * _SAVES * rounds} saves, {n_loads} loads"


def _work(
    name: str, who: int, base: Path, rounds: int, barrier: Any, at_work: Any, results: Any
) -> None:
    saver = _named(name)
    n_loads, problems = 0, []
    try:
        for number in range(rounds):
            folder = base / str(number)
            if who == 0:
                folder.mkdir()
                saver.write(folder, 0)
                at_work.value = 2
            barrier.wait(timeout=60)
            if who < 2:
                for version in range(1, _SAVES + 1):
                    saver.write(folder, 2 * version + who)
                with at_work.get_lock():
                    at_work.value -= 1
            else:
                while at_work.value:
                    n_loads += 1
                    problems += _failure(saver, folder)
            barrier.wait(timeout=60)
            if who == 0:
                problems += _failure(saver, folder) + _left(saver, folder)
    except BaseException as error:
        problems.append(f"worker {who}: {error!r}")
        barrier.abort()
    results.put((n_loads, problems))


def after_signals(saver: Saver, folder: Path, rounds: int) -> tuple[list[str], str]:
    """A process that saves all the time is ended; what it had saved is whole."""
    problems: list[str] = []
    n_left = 0
    signals = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL)
    (folder / "warm").mkdir()
    for version in range(_VERSIONS):  # what is saved is made now, so that children only save
        saver.write(folder / "warm", version)
    for number in range(rounds):
        ending = signals[number % len(signals)]
        place = folder / str(number)
        place.mkdir()
        saver.write(place, 0)
        ready, said = os.pipe()
        child = _forked(lambda place=place, said=said: _save_for_ever(saver, place, said))
        os.read(ready, 1)  # a signal that meets the fork itself would be lost
        os.close(ready)
        os.close(said)
        time.sleep(random.random() * 0.03)
        os.kill(child, ending)
        code = _exit_code(child)
        if code != (1 if ending == signal.SIGINT else -ending):
            problems.append(f"ended with {code} by {ending.name}")
        problems += _failure(saver, place)
        left = _left(saver, place)
        if ending == signal.SIGINT:
            problems += [f"{ending.name}: {one}" for one in left]
        elif left:
            n_left += 1
            saver.write(place, 1)  # which removes the part of the one that was killed
            problems += _failure(saver, place)
            problems += [f"{path.name} is left" for path in place.rglob("*.part")]
    return problems, f"{rounds} endings, {n_left} kills left a part"


def on_a_full_disk(saver: Saver, folder: Path, rounds: int) -> tuple[list[str], str]:
    """A save that finds no room leaves the old version, and nothing else."""
    problems: list[str] = []
    with _small_disk(folder) as (place, kind):
        saver.write(place, 0)
        before = _contents(place)
        size = sum(map(len, before.values()))
        room = range(0, size, max(1, size // min(rounds, 20)))
        for free in room:
            with _full(place, kind, free):
                act = lambda free=free: _save_once(saver, place, kind, free)  # noqa: E731
                code = _exit_code(_forked(act))
            if code not in (0, 3):
                problems.append(f"ended with {code} at {free} bytes of room")
            if code == 3 and _contents(place) != before:
                problems.append(f"changed at {free} bytes of room: {sorted(_contents(place))}")
            problems += _failure(saver, place)
            saver.write(place, 0)
            before = _contents(place)
    return problems, f"{len(room)} saves without room ({kind})"


def among_foreign_files(saver: Saver, folder: Path, rounds: int) -> tuple[list[str], str]:
    """A folder full of other people's files has all of them after saves."""
    digits = "0123456789abcdef" * 2
    names = [
        *("X.npy", "codes.partial.npy", "codes.partial.json", "a.partial.npy", "notes.json"),
        *("memory.json-0", "index.json.partial", "codes-0123456789abcdef.npy", "state-1.npy"),
        *(f"codes-{digits}.npy", f"items-{digits}.npy", f"state-{digits}.npy", "data.npz"),
        *(f".primal-{digits}.part", ".codes.npy.1-2.part", "decoder.json", "x.partial.npy"),
    ]
    place = folder / "shared"
    place.mkdir()
    for name in names:
        (place / name).write_bytes(name.encode())
    (place / "sub").mkdir()
    (place / "sub" / "more.npy").write_bytes(b"more")
    before = _contents(place)
    for version in range(3):
        saver.write(place, version)
    problems = _failure(saver, place)
    now = _contents(place)
    problems += [f"{name} was touched" for name in before if now.get(name) != before[name]]
    return problems, f"{len(before)} foreign files"


def _named(name: str) -> Saver:
    return next(saver for saver in SAVERS if saver.name == name)


def _failure(saver: Saver, folder: Path) -> list[str]:
    try:
        saver.read(folder)
    except Exception as error:  # whatever it is, it is what is looked for
        return [f"load: {error!r}"]
    return []


def _left(saver: Saver, folder: Path) -> list[str]:
    files = sorted(path.name for path in folder.rglob("*") if path.is_file())
    return [] if len(files) == saver.n_files else [f"left behind among {files}"]


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _forked(act: Callable[[], int]) -> int:
    """Return the process id of a copy of this process that does something and ends."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    try:
        os._exit(act())
    except BaseException:
        os._exit(1)


def _exit_code(child: int) -> int | None:
    """Return how a process ended, negative for a signal; None for one that has to be killed."""
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _save_for_ever(saver: Saver, folder: Path, said: int) -> int:
    os.write(said, b"1")
    for version in range(1, 1_000_000):
        saver.write(folder, version % _VERSIONS)
    return 0


def _save_once(saver: Saver, folder: Path, kind: str, free: int) -> int:
    if kind == "limited files":
        resource.setrlimit(resource.RLIMIT_FSIZE, (free, free))
    try:
        saver.write(folder, 1)
    except (OSError, DataError):
        return 3
    return 3 if saver.name == "decoder cache" else 0  # which says nothing where it cannot write


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield a folder on a disk of its own, or where that is not allowed any folder."""
    disk, place = folder / "disk", folder / "plain"
    disk.mkdir()
    place.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)]
    if os.geteuid() == 0 and subprocess.run(options, capture_output=True).returncode == 0:
        try:
            (disk / "saved").mkdir()
            yield disk / "saved", "small disk"
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)
    else:
        yield place, "limited files"


@contextlib.contextmanager
def _full(place: Path, kind: str, free: int) -> Iterator[None]:
    """Leave so many bytes of a small disk free while the context lasts."""
    if kind != "small disk":
        yield
        return
    filling = place.parent / "filling"
    status = os.statvfs(place)
    with filling.open("wb") as stream:
        stream.write(b"\0" * max(0, status.f_bavail * status.f_frsize - free))
    try:
        yield
    finally:
        filling.unlink()


if __name__ == "__main__":
    main()
