"""Damage the files of every loader at random: only errors of ours, little memory, no waiting.

    python tools/damaged_files.py                         # 3,000 files, a few minutes
    python tools/damaged_files.py --files 200 --only items

Every file is loaded and used in a process of its own, which may take 200 MB more than one that does
nothing, and ten seconds. Prints one line for each loader, and exits with 1 if anything was found
wrong.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from savers import SAVERS

import primal
from primal import codebooks, hdc
from primal.codebooks import codebook

_MOST_SECONDS = 10.0
_MOST_BYTES = 200 << 20
_MARK = Path(tempfile.gettempdir()) / "primal-pickle-was-run"
_MAP = primal.DynamicPrime(3, 64, 0.2, basis="auto", layout="interleaved")


class _Trap:
    """What a pickle inside a file would do: leave a mark."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(_MARK),)


@dataclass(frozen=True)
class Loader:
    """`make` fills a folder; `use` loads what is in it and does something with it."""

    name: str
    make: Callable[[Path], None]
    use: Callable[[Path], object]
    error: type[Exception] = primal.errors.DataError


def _use_items(folder: Path) -> None:
    memory = hdc.ItemMemory.load(folder / "memory")
    with contextlib.suppress(primal.PrimalError):  # once loaded, any error of ours will do
        memory.cleanup(memory.codes[:2])
        memory.add([10**6])


def _use_pairs(folder: Path) -> None:
    memory = hdc.KeyValueMemory.load(folder / "memory")
    with contextlib.suppress(primal.PrimalError):
        memory.retrieve(memory.space.numbers().encode([1, 2]))
        memory.noise_turns  # noqa: B018


def _make_specs(folder: Path) -> None:
    space = hdc.Space(64, roles=("a", "b"))
    specs = {
        "static": primal.StaticPrime(64).spec,
        "dynamic": _MAP.spec,
        "sigmas": primal.DynamicPrime(2, 8, [0.1, 0.2, 0.3, 0.4]).spec,
        "symbols": space.symbols("b").spec,
        "integers": space.numbers().spec,
        "reals": space.reals(d=2).spec,
        "levels": space.levels(low=0.0, high=1.0, n=5).spec,
        "circular": space.circular(period=7.0).spec,
        **{
            kind: codebook(20, 16, kind=kind).spec
            for kind in ("static", "shadow", "kerdock", "singer")
        },
        "items": hdc.ItemMemory(space.symbols("a"), ["x", 3]).spec,
        "pairs": hdc.KeyValueMemory(space).spec,
        "vectors": hdc.VectorMemory(2, 128).spec,
    }
    for name, spec in specs.items():
        (folder / f"{name}.json").write_text(json.dumps(spec))


def _use_specs(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        if not path.is_file() or path.stat().st_size > 1 << 20:
            continue  # who reads the file is somebody else
        try:
            spec = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            continue
        made = primal.from_spec(spec)
        if isinstance(made, (primal.StaticPrime, codebooks.Codebook)):
            made.encode([0])


LOADERS = (
    *(
        Loader(saver.name, lambda folder, saver=saver: saver.write(folder, 3), use)
        for saver, use in zip(SAVERS[:2], (_use_items, _use_pairs), strict=True)
    ),
    Loader("specs", _make_specs, _use_specs, primal.PrimalError),
)


@click.command()
@click.option("--files", default=3000, show_default=True)
@click.option("--only", multiple=True, help="Only this loader.")
@click.option("--seed", default=0, show_default=True)
@click.option("--verbose", is_flag=True, help="Print every damage and what became of it.")
def main(files: int, only: tuple[str, ...], seed: int, verbose: bool) -> None:
    random.seed(seed)
    chosen = [loader for loader in LOADERS if not only or loader.name in only]
    wrong = 0
    for loader in chosen:
        with tempfile.TemporaryDirectory() as made:
            wrong += _measure(loader, Path(made), -(-files // len(chosen)), verbose)
    if _MARK.exists():
        click.echo("a pickle was run")
        wrong += 1
    sys.exit(wrong > 0)


def _measure(loader: Loader, folder: Path, n: int, verbose: bool) -> int:
    place, sound = folder / "place", folder / "sound"
    place.mkdir()
    loader.make(place)
    shutil.copytree(place, sound)
    code, said, idle = _in_a_process(loader, place)
    if code != "loaded":
        click.echo(f"{loader.name}: the sound file gives {code}: {said}")
        return 1
    outcomes: Counter[str] = Counter()
    most, wrong = 0, []
    for _ in range(n):
        shutil.rmtree(place)
        shutil.copytree(sound, place)  # the same place, times of files too: some of it is recorded
        change = _damage(place)
        code, said, peak = _in_a_process(loader, place)
        outcomes[code] += 1
        most = max(most, peak - idle)
        if code not in ("loaded", "refused") or peak - idle > _MOST_BYTES:
            wrong.append(f"{change}: {code}, {(peak - idle) >> 20} MB: {said}")
        if verbose:
            click.echo(f"  {change}: {code}: {said}")
    listed = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
    click.echo(
        f"{loader.name:<14} {n} files: {listed}; {most >> 20} MB at most; {len(wrong)} wrong"
    )
    for problem in wrong[:10]:
        click.echo(f"    {problem}")
    return len(wrong)


def _in_a_process(loader: Loader, folder: Path) -> tuple[str, str, int]:
    """Return what became of a folder, what was said, and the peak of memory in bytes."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.write(writing, _outcome(loader, folder).encode(errors="replace")[:4000])
        os._exit(0)
    os.close(writing)
    end = time.monotonic() + _MOST_SECONDS
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.wait4(child, 0)
            os.close(reading)
            return "waited", "", 0
        time.sleep(0.001)
    said = os.read(reading, 4000).decode()
    os.close(reading)
    peak = usage.ru_maxrss * 1024
    if status:
        return f"died of {os.waitstatus_to_exitcode(status)}", said, peak
    code, _, rest = said.partition("|")
    return code, rest, peak


def _outcome(loader: Loader, folder: Path) -> str:
    try:
        loader.use(folder)
    except loader.error as error:
        return f"refused|{error}"
    except BaseException as error:
        return f"raised|{error!r}"
    return "loaded|"


def _damage(folder: Path) -> str:
    """Change one file of a folder and say how."""
    path = random.choice(sorted(p for p in folder.rglob("*") if p.is_file()))
    general = [_flip, _cut, _extend, _empty, _noise, _swap, _special, _sparse, _bomb, _pickle]
    fields = [_field] * 12 + [_raw_json] * 4
    kind = random.choice(general + fields if path.suffix == ".json" else general + [_header] * 4)
    return f"{kind.__name__[1:]} {path.name}: {kind(path)}"


def _flip(path: Path) -> str:
    content = bytearray(path.read_bytes() or b"\0")
    places = [random.randrange(len(content)) for _ in range(random.choice([1, 1, 2, 8]))]
    for place in places:
        content[place] ^= 1 << random.randrange(8)
    path.write_bytes(content)
    return str(places)


def _cut(path: Path) -> str:
    size = random.randrange(path.stat().st_size + 1)
    os.truncate(path, size)
    return str(size)


def _extend(path: Path) -> str:
    with path.open("ab") as stream:
        stream.write(random.randbytes(random.choice([1, 8, 5000])))
    return ""


def _empty(path: Path) -> str:
    path.write_bytes(b"")
    return ""


def _noise(path: Path) -> str:
    path.write_bytes(random.randbytes(random.choice([10, 200, 5000])))
    return ""


def _swap(path: Path) -> str:
    other = random.choice(sorted(p for p in path.parent.iterdir() if p.is_file()))
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)
    return other.name


def _special(path: Path) -> str:
    kind = random.choice(["pipe", "folder", "loop", "missing", "device", "endless", "gone"])
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind != "gone":
        target = {"loop": path.name, "missing": "nothing", "device": "/dev/null"}
        path.symlink_to(target.get(kind, "/dev/zero"))
    return kind


def _sparse(path: Path) -> str:
    size = random.choice([1 << 24, 1 << 31, 1 << 40])
    os.truncate(path, size)
    return str(size)


def _bomb(path: Path) -> str:
    """A zip of 100 MB of zeros in 100 KB, under whatever name."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("u.npy", bytes(100 << 20))
    return ""


def _pickle(path: Path) -> str:
    with path.open("wb") as stream:
        np.save(stream, np.array([_Trap()], dtype=object), allow_pickle=True)
    return ""


def _header(path: Path) -> str:
    shape = random.choice([(2**60, 4), (2**40, 4), (0, 0), (), (-1, 4), (10**30,), (1,) * 200])
    dtype = random.choice(["|O", "<u4", "<f8", "|V1000000", "<U99999999", "nonsense"])
    content = path.read_bytes()
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    if random.random() < 0.2:
        text = "(" * 9000
    head = b"\x93NUMPY\x01\x00" + (len(text) + 1).to_bytes(2, "little") + text.encode() + b"\n"
    path.write_bytes(head + content[128:])
    return text[:80]


_VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        3,
        7,
        3000,
        20_000,
        2**31,
        2**31 + 1,
        2**32,
        2**53,
        2**63,
        2**64,
        10**30,
    ),
    *(10**400, 0.0, -0.5, 1e-300, 1e300, 1e308, float("nan"), float("inf"), "", "x", "../x", "\0"),
    *("\ud800", "a" * 5000, [], {}, [None], [[]], [1, 2, 3], ["a", "a"], [0.5] * 1000, {"a": 1}),
    *([[[[1]]]], list(range(70_000)), {"map": "static"}, "static", "dynamic", "codebook"),
]


def _field(path: Path) -> str:
    """Give a field of any depth another value, or take it away."""
    try:
        document = json.loads(path.read_text())
    except (ValueError, RecursionError):
        return "no JSON"
    holders: list[tuple[Any, Any]] = []

    def collect(value: Any) -> None:
        keys = value.keys() if isinstance(value, dict) else range(len(value))
        for key in list(keys)[:20]:
            holders.append((value, key))
            if isinstance(value[key], (dict, list)):
                collect(value[key])

    if not isinstance(document, (dict, list)) or not document:
        return "nothing to change"
    collect(document)
    holder, key = random.choice(holders)
    value = random.choice(_VALUES)
    if random.random() < 0.15:
        del holder[key]
        change = "removed"
    else:
        holder[key] = value
        change = repr(value)[:60]
    path.write_text(json.dumps(document))
    return f"{key} {change}"


def _raw_json(path: Path) -> str:
    content = path.read_bytes()
    name, changed = random.choice(
        [
            ("deep list", b"[" * 200_000),
            ("deep objects", b'{"a":' * 100_000),
            ("deep and closed", b"[" * 50_000 + b"]" * 50_000),
            ("deep field", b'{"format": ' + b"[" * 3000 + b"]" * 3000 + b"}"),
            ("wide", b"[" + b"[]," * 2_500_000 + b"1]"),
            ("wide objects", b"[" + b"{}," * 2_500_000 + b"1]"),
            ("wide field", content[:-1] + b', "x": [' + b"[]," * 2_500_000 + b"1]}"),
            ("numbers", b'{"x": [' + b"1e5," * 1_900_000 + b"1]}"),
            ("keys", b"{" + b",".join(b'"%d":1' % i for i in range(700_000)) + b"}"),
            ("quotes", b'{"x": "' + b'\\"' * 3_000_000),
            ("open text", b'"' * 5_000_000),
            ("30 MB", b'{"x": "' + b"a" * 30_000_000 + b'"}'),
            ("list", b"[1, 2]"),
            ("number", b"7"),
            ("text", b'"text"'),
            ("null", b"null"),
            ("bom", b"\xef\xbb\xbf" + content),
            ("utf-16", content.decode(errors="replace").encode("utf-16")),
            ("latin", b'{"\xff": 1}'),
            ("long number", b'{"version": ' + b"9" * 100_000 + b"}"),
            ("twice", content + content),
        ]
    )
    path.write_bytes(changed)
    return name


if __name__ == "__main__":
    main()
