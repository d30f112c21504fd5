"""Compile the C core: ``python src/primal/native/build.py`` builds it where it is.

It needs a C compiler and nothing else: ``$CC``, cc, gcc or clang, or the package ziglang, which is
Clang for every target. The build hook of the package and `make wheels` call `build` too.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

SOURCES = Path(__file__).parent
SUFFIXES = {"windows": "dll", "macos": "dylib"}
# No multiplication may be fused with an addition; errno and floating-point traps are not used.
FLAGS = (
    *("-std=c99", "-O3", "-ffp-contract=off", "-fvisibility=hidden"),
    *("-fno-math-errno", "-fno-trapping-math"),
    *("-Wall", "-Wextra", "-Wno-psabi", "-Wno-unknown-pragmas"),
)
_X86 = {
    "base": ("-march=x86-64", "-mcpu=x86_64"),
    "v3": ("-march=x86-64-v3", "-mcpu=x86_64_v3"),
    "v4": ("-march=x86-64-v4", "-mcpu=x86_64_v4"),
}


def compiler() -> list[str]:
    """Return the command of a C compiler; nothing if there is none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    found = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if found is not None:
        return [found]
    return zig() if find_spec("ziglang") else []


def zig() -> list[str]:
    """Return the command of the compiler in the package ziglang."""
    return [sys.executable, "-m", "ziglang", "cc"]


def library_name(target: str = "") -> str:
    """Return the name of the library for a target of zig, or for this machine."""
    system = target.split("-")[1].partition(".")[0] if target else platform.system().lower()
    return f"primal.core.{SUFFIXES.get(system.replace('darwin', 'macos'), 'so')}"


def build(folder: Path = SOURCES, *, target: str = "", flags: tuple[str, ...] = ()) -> Path:
    """Compile the library into a folder and return its path.

    `target` is one of zig's, such as ``aarch64-linux-gnu.2.17``; without it the library is for
    this machine.
    """
    command = [*zig(), "-target", target] if target else compiler()
    if not command:
        raise FileNotFoundError("no C compiler: set CC, or install gcc, clang or ziglang")
    path, is_zig = folder / library_name(target), "ziglang" in command
    command += [*FLAGS, *flags, *([] if path.suffix == ".dll" else ["-fPIC"])]
    with tempfile.TemporaryDirectory() as temporary:
        jobs = [[*command, "-c", str(SOURCES / "level.c"), "-o", f"{temporary}/level.o"]]
        for level, options in _levels(target.partition("-")[0] or platform.machine(), is_zig):
            for source in sorted(SOURCES.glob("*.c")):
                if source.name != "level.c":
                    out = ["-o", f"{temporary}/{source.stem}-{level}.o"]
                    jobs.append([*command, *options, f"-DLEVEL={level}", "-c", str(source), *out])
        with ThreadPoolExecutor(
            len(os.sched_getaffinity(0)) if sys.platform == "linux" else 2
        ) as p:
            list(p.map(_run, jobs))
        linked = Path(temporary) / path.name
        _run([*command, "-shared", "-s", *(job[-1] for job in jobs), "-o", str(linked)])
        fresh = path.with_name(f"{path.name}.{os.getpid()}")  # nobody loads half a library
        shutil.copy(linked, fresh)
        fresh.replace(path)
    return path


def _levels(machine: str, is_zig: bool) -> list[tuple[str, list[str]]]:
    """Return the instruction-set levels of a machine and the options of each."""
    if machine.lower() not in ("x86_64", "amd64"):
        return [("base", [])]
    wide = {"v4": ["-mprefer-vector-width=512"]}
    return [(level, [names[is_zig], *wide.get(level, [])]) for level, names in _X86.items()]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}\n{done.stderr}")


if __name__ == "__main__":
    print(build())
