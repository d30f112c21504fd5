"""Build the wheels of all platforms, the pure one and the sdist, and check what they contain.

    python tools/build_wheels.py            # into dist/
    python tools/build_wheels.py pure       # one of them

Needs the packages build, hatchling, hatch-fancy-pypi-readme and ziglang; `make wheels` has them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from hatch_build import TARGETS  # noqa: E402

LARGEST = 1 << 20
# How a library of each kind begins, and the number of each machine in it.
MAGIC = {"so": b"\x7fELF", "dll": b"MZ", "dylib": b"\xcf\xfa\xed\xfe"}
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}


def build(target: str) -> Path:
    """Build the wheel of a target and return its path."""
    folder = ROOT / "build" / "wheels" / target
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, ROOT]
    environment = os.environ | {"PRIMAL_TARGET": target}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    (found,) = folder.glob("*.whl")
    return Path(shutil.copy(found, ROOT / "dist"))


def check(target: str, wheel: Path) -> None:
    """Raise unless a wheel is small and holds one library, of its target."""
    if wheel.stat().st_size >= LARGEST:
        raise SystemExit(f"{wheel.name} has {wheel.stat().st_size} bytes, at most {LARGEST}.")
    with zipfile.ZipFile(wheel) as archive:
        found = [n for n in archive.namelist() if n.rpartition(".")[2] in MAGIC]
        expected = [] if target == "pure" else [f"primal/native/primal.core.{suffix_of(target)}"]
        if found != expected:
            raise SystemExit(f"{wheel.name} holds {found}, not {expected}.")
        for name in found:
            head = archive.read(name)[:64]
            magic = MAGIC[suffix_of(target)]
            machine = ELF_MACHINES[target.partition("-")[0]]
            if not head.startswith(magic) or (magic == MAGIC["so"] and head[18] != machine):
                raise SystemExit(f"the library of {wheel.name} is of another target.")
    print(f"{wheel.stat().st_size / 1024:7.0f} kB  {wheel.name}", flush=True)


def suffix_of(target: str) -> str:
    return "dll" if "windows" in target else "dylib" if "macos" in target else "so"


if __name__ == "__main__":
    (ROOT / "dist").mkdir(exist_ok=True)
    for name in sys.argv[1:] or (*TARGETS, "pure"):
        check(name, build(name))
    if not sys.argv[1:]:
        command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", ROOT]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
