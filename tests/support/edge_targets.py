"""Chips and compilers that headers are tried on: build a program, run it, count instructions."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

_SUPPORT = Path(__file__).parent
_SECONDS = 600


@dataclass(frozen=True)
class Target:
    """A compiler and what runs its programs; `emulator` is empty for this machine itself."""

    name: str
    compiler: str
    flags: tuple[str, ...] = ()
    emulator: tuple[str, ...] = ()

    @property
    def cpp_compiler(self) -> str:
        """The compiler of C++ that goes with it."""
        return self.compiler.replace("gcc", "g++").replace("clang", "clang++")

    @property
    def missing(self) -> str:
        """The first program that is not installed, or nothing."""
        needed = (self.compiler, *(self.emulator[:1] or [self.cpp_compiler]))
        return next((name for name in needed if not shutil.which(name)), "")

    def require(self) -> None:
        """Skip the test, or fail it where the targets have been promised."""
        if self.missing:
            reason = f"{self.missing} is not installed: tools/install_targets.sh"
            if os.environ.get("PRIMAL_REQUIRE_TARGETS"):
                pytest.fail(reason)
            pytest.skip(reason)

    def build(self, folder: Path, source: str, *options: str) -> Path:
        """Compile a program that includes headers of `folder`; with an emulator, bare metal."""
        cpp = any("++" in option for option in options)
        made = folder / f"program-{self.name}"
        path = folder / f"program-{self.name}.{'cpp' if cpp else 'c'}"
        path.write_text(f'#include "edge_runtime.h"\n{source}')
        compiler = self.cpp_compiler if cpp else self.compiler
        bare = ("-ffreestanding", "-nostdlib", "-nostartfiles", "-static", "-fno-pic")
        command = [compiler, *self.flags, *(bare if self.emulator else ()), *options]
        command += [f"-I{_SUPPORT}", f"-I{folder}", str(path), "-o", str(made)]
        command += ["-lgcc"] if self.emulator else []
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        assert (
            not done.stderr.replace("warning: cannot find entry symbol", "").strip()
            or self.emulator
        ), done.stderr
        return made

    def run(self, program: Path, data: bytes = b"", plugin: Path | None = None) -> bytes:
        """Return what a program writes when it reads `data`."""
        folder = program.parent / f"run-{self.name}"
        folder.mkdir(exist_ok=True)
        if not self.emulator:
            done = subprocess.run([program], input=data, capture_output=True, timeout=_SECONDS)
            assert done.returncode == 0, done.stderr.decode()
            return done.stdout
        (folder / "in.bin").write_bytes(data)
        (folder / "out.bin").unlink(missing_ok=True)
        extra = ["-plugin", str(plugin), "-d", "plugin"] if plugin else []
        command = [*self.emulator, *_HEADLESS, *extra, "-kernel", str(program)]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS)
        assert done.returncode == 0, done.stderr.decode()
        return (folder / "out.bin").read_bytes()

    def instructions(self, program: Path) -> int:
        """Return how many instructions a program takes, by a plugin of QEMU."""
        plugin = program.parent / "edge_count.so"
        if not plugin.exists():
            command = ["gcc", "-shared", "-fPIC", "-O2", str(_SUPPORT / "edge_count.c")]
            subprocess.run([*command, "-o", str(plugin)], check=True, timeout=_SECONDS)
        self.run(program, plugin=plugin)
        return int((program.parent / f"run-{self.name}" / "count.txt").read_text())


_HEADLESS = ("-display", "none", "-serial", "null", "-monitor", "none")
_HEADLESS = (*_HEADLESS, "-semihosting-config", "enable=on,target=native")


def _arm(name: str, machine: str, stack: str, *flags: str) -> Target:
    placed = ("-Wl,--section-start=.start=0x0", "-Wl,-Ttext=0x100", "-Wl,-Tbss=0x20000000")
    flags = ("-mthumb", f"-DEDGE_STACK={stack}", *placed, *flags)
    return Target(name, "arm-none-eabi-gcc", flags, ("qemu-system-arm", "-M", machine))


def _riscv(name: str, *flags: str) -> Target:
    placed = ("-Wl,--section-start=.start=0x80000000", "-Wl,-Ttext=0x80000100", "-Wl,--no-relax")
    flags = ("-DEDGE_STACK=0x80400000", "-mcmodel=medany", *placed, *flags)
    emulator = ("qemu-system-riscv32", "-M", "virt", "-bios", "none")
    return Target(name, "riscv64-unknown-elf-gcc", flags, emulator)


HOSTS = [Target("gcc", "gcc"), Target("clang", "clang")]
CHIPS = [
    _arm("cortex-m0", "microbit", "0x20004000", "-mcpu=cortex-m0"),
    _arm("cortex-m4f", "mps2-an386", "0x20080000", "-mcpu=cortex-m4", "-mfloat-abi=hard"),
    _riscv("rv32imc", "-march=rv32imc", "-mabi=ilp32"),
    _riscv("rv32imafc", "-march=rv32imafc", "-mabi=ilp32f"),
]


def digest_program(names: Sequence[str], first: int, last: int) -> str:
    """Return a program that writes the self-test's answer and five digests for each header."""
    lines = [f'#define {name.upper()}_SELFTEST\n#include "{name}.h"' for name in names]
    lines += ["int main(void)", "{", "    uint32_t answer, digests[5];"]
    for name in names:
        lines.append(f"    answer = (uint32_t){name}_selftest();")
        lines.append(f"    {name}_digests({first}u, {last}u, digests);")
        lines.append("    edge_write(&answer, 4);\n    edge_write(digests, 20);")
    return "\n".join([*lines, "    return 0;", "}", ""])


def digests(
    target: Target, folder: Path, names: Sequence[str], n_rows: int, *options: str
) -> list[list[int]]:
    """Return what the program above writes, six numbers for each header in `folder`."""
    program = target.build(folder, digest_program(names, 0, n_rows), *options)
    return np.frombuffer(target.run(program), dtype="<u4").reshape(-1, 6).tolist()


def stream_program(name: str, output: str) -> str:
    """A program that reads rows of inputs and writes features."""
    kinds = {"encode": "float", "encode_q15": "int16_t", "encode_bits": "uint8_t"}
    count = f"{name.upper()}_N_F" + ("REQUENCIES / 4 + 1" if "bits" in output else "EATURES")
    return f"""
#include "{name}.h"
int main(void)
{{
    static {name}_input x[{name.upper()}_N_INPUTS];
    static {kinds[output]} z[{count}];
    while (edge_read(x, sizeof x) == sizeof x) {{
        {name}_{output}(x, z);
        edge_write(z, sizeof z);
    }}
    return 0;
}}
"""
