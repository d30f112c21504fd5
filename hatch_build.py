"""Build hook: compiles the C core for a wheel, with the system's compiler or with ziglang.

`PRIMAL_TARGET` is the target of a wheel for another machine, a key of `TARGETS`, or ``pure`` for a
wheel without the core. Where there is no compiler and no ziglang, the wheel is pure too: NumPy
computes the same bits, and ``primal doctor`` says so.
"""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "src" / "primal" / "native"))
import build as core

ZIG = "ziglang==0.15.2"
TARGETS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "x86_64-linux-musl": "musllinux_1_2_x86_64",
    "aarch64-linux-musl": "musllinux_1_2_aarch64",
    "x86_64-windows-gnu": "win_amd64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
}


class CoreHook(BuildHookInterface):
    def dependencies(self) -> list[str]:
        target = os.environ.get("PRIMAL_TARGET", "")
        needs_zig = target in TARGETS or not (target or core.compiler())
        return [ZIG] if needs_zig and sys.platform != "emscripten" else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        target = os.environ.get("PRIMAL_TARGET", "")
        if target == "pure":
            return
        in_place = version == "editable"
        folder = core.SOURCES if in_place else Path(tempfile.mkdtemp())
        try:
            path = core.build(folder, target=target)
        except (FileNotFoundError, RuntimeError) as error:
            if target:
                raise
            self.app.display_warning(f"the C core is not built, NumPy computes instead: {error}")
            return
        if not in_place:
            build_data["force_include"][str(path)] = f"primal/native/{path.name}"
        local = sysconfig.get_platform().replace("universal2", platform.machine())
        tag = TARGETS[target] if target else local.replace("-", "_").replace(".", "_")
        build_data.update(pure_python=False, tag=f"py3-none-{tag}")
