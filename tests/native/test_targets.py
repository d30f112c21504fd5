"""The C core as a program for another processor, and under sanitizers: the bits of the oracle."""

import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from engine_conformance import basis_of, bits, mixed_rows, points, sample_positions

import primal
from primal import native
from primal.exact import Finish, HadamardTable, engine
from primal.exact._native import _HadamardForm, _TableForm
from primal.native import build

CALLS = Path(__file__).with_name("calls.c")
K = 70


def zig() -> list[str]:
    pytest.importorskip("ziglang", reason="ziglang is not installed: make wheels")
    return build.zig()


def program(folder: Path, compiler: list[str], *flags: str) -> Path:
    sources = [p for p in sorted(build.SOURCES.glob("*.c")) if p.name != "level.c"]
    path = folder / "calls"
    flags = (*build.FLAGS, *flags, "-g", "-DLEVEL=base", f"-I{build.SOURCES}")
    command = [*compiler, *flags, *map(str, sources), str(CALLS), "-o", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def cases():
    """Arguments of a call, and what the NumPy engine computes."""
    numpy = engine("numpy")
    for wide, dtype in enumerate((np.float32, np.float64)):
        out = np.empty((50, 2 * K), dtype)
        positions, increments = sample_positions(50), primal.increments(K)
        numpy.static(increments, positions, out, "block")
        yield wide, [50, 1, K, 2 * K, 1], [0] * 7, [increments, positions], out
        for name, d in (("kronecker", 3), ("table", 20), ("paper", 70)):
            basis = basis_of(name, d, K)
            x = mixed_rows(basis, 50)
            out = np.empty((50, 2 * K), dtype)
            numpy.features(basis.table, x, out, Finish("interleaved"))
            arrays = _TableForm(basis.table)._arrays
            more = [0, 0, 0, 0, 0, 0, arrays[0].nbytes]
            yield 2 + wide, [50, d, K, 2 * K, 0], more, [x, *arrays], out
        for d, given in ((20, np.float32), (600, np.float64)):
            table = HadamardTable.of("hadamard", d, K, 0.3)
            x = points(50, d).astype(np.float64 if wide else given)
            out = np.empty((50, 2 * K), dtype)
            numpy.features(table, x, out, Finish("block"))
            form = _HadamardForm(table).pointer._obj
            is64 = int(x.dtype == np.float64)
            more = [is64, table.m, table.n_blocks, 0, form.whole, form.power, 0]
            yield 4 + wide, [50, d, K, 2 * K, 1], more, [x, table.signs, table.factors], out


def assert_right(command: list[str]) -> None:
    for kind, sizes, more, arrays, expected in cases():
        header = np.array([kind, *sizes, *more, expected.nbytes], dtype=np.int64)
        given = [header, np.ones(K, expected.dtype), *arrays]
        content = b"".join(np.ascontiguousarray(a).tobytes() for a in given)
        done = subprocess.run(command, input=content, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        found = np.frombuffer(done.stdout, expected.dtype).reshape(expected.shape)
        np.testing.assert_array_equal(bits(found), bits(expected), err_msg=f"{kind} {sizes}")


@pytest.mark.slow
def test_aarch64_has_the_same_bits(tmp_path):
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if emulator is None:
        pytest.skip("qemu-aarch64 is not installed")
    path = program(tmp_path, [*zig(), "-target", "aarch64-linux-musl"], "-static")
    assert_right([emulator, str(path)])


@pytest.mark.slow
@pytest.mark.parametrize("level", ["base", "v3", "v4"])
def test_sanitizers_find_nothing(level, tmp_path):
    if shutil.which("gcc") is None or platform.machine() != "x86_64":
        pytest.skip("gcc for x86-64 is not installed")
    if level not in native.levels():
        pytest.skip(f"this processor has no level {level}")
    flags = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    path = program(tmp_path, ["gcc"], build._X86[level][0], *flags)
    assert_right([str(path)])
