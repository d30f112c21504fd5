"""Checks and benchmark of the PyTorch layers on a GPU, as one plain script.

    PYTHONPATH=src python3 tests/gpu/run.py            checks on CUDA, eager and Triton
    PYTHONPATH=src python3 tests/gpu/run.py --bench    and the benchmark with its bars

Needs PyTorch, Triton and NumPy, nothing else. Prints one JSON object and exits non-zero when
a check fails. ``--interpret`` runs the kernels on the CPU by Triton's interpreter.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "studies" / "src"), str(ROOT / "tests" / "support")]

import numpy as np  # noqa: E402
import torch  # noqa: E402
from positions_conformance import (  # noqa: E402
    PositionsConformance,
    RotaryConformance,
)
from torch_conformance import TorchConformance, bits, numpy_map  # noqa: E402

import primal  # noqa: E402
import primal.torch as pt  # noqa: E402
from primal._selftest import sample_points  # noqa: E402
from primal.exact._digits import LARGEST_LOG2_TURNS  # noqa: E402


class HadamardKernels:
    """What features do not show: the words behind them, and where they end."""

    device = "cpu"

    def test_words_are_those_of_the_definition(self):
        from hadamard_words import wrong_words

        for scale in (2.0**-25, 1e-6, (2**53 - 1) * 2.0**-80, (2**52 + 1) * 2.0**-70):
            for short in (False, True):
                assert wrong_words(self.device, scale, short) == 0, (scale, short)

    def test_rows_beyond_the_limit_have_no_features(self):
        for sigma in (0.3, 0.6, 0.9):  # float32 would round some of the limits up, others down
            layer = pt.DynamicPrime(3, 8, sigma, basis="hadamard", device=self.device)
            limit = 2.0**LARGEST_LOG2_TURNS / layer.map.basis.table.largest_l1_norm
            x = torch.zeros((2, 3), dtype=torch.float64, device=self.device)
            x[:, 1] = torch.tensor([limit, np.nextafter(limit, np.inf)])
            assert layer(x).isnan().any(dim=1).tolist() == [False, True], sigma


class Interpreted(TorchConformance, HadamardKernels):
    backend = "triton"
    shapes = ((7, 3, 9), (33, 20, 17))
    bases = ("paper", "table", "hadamard")
    kernel_sizes = (6,)
    narrow = (torch.float16,)  # the interpreter cuts bfloat16 where a GPU rounds


class CudaEager(TorchConformance):
    device = "cuda"
    open_rows = 20_000
    backend = "eager"


class CudaTriton(CudaEager, HadamardKernels):
    backend = "triton"

    def test_tiles_do_not_matter(self):
        """Same bits from several tilings, with short lists of open phases and with none."""
        from primal.torch._eager import Request
        from primal.torch._kernel_exact import write_exact
        from primal.torch._kernel_parts import Tile
        from primal.torch._tables import frequency_table

        for basis, sigma in (("paper", 1.0), ("table", 0.3), ("table", 1e5)):
            m = numpy_map(20, 256, sigma, basis=basis)
            x = sample_points(300, 20)
            expected = bits(m.encode(x))
            table = frequency_table(m.basis)
            finish = Request(0, 1.0, False, torch.float32)
            points = self.tensor(x)
            for tile in (Tile(16, 16, 16, 2, 1), Tile(64, 32, 16, 4, 2), Tile(32, 128, 16, 8, 3)):
                for capacity in (1, 64):
                    out = torch.full((300, 256), torch.nan, device=self.device)
                    write_exact(points, table, out, finish, tiling=tile, capacity=capacity)
                    np.testing.assert_array_equal(bits(out), expected)

    def test_compiled_layers_have_the_same_bits(self):
        layer = pt.DynamicPrime(20, 64, 0.3, basis="table", device=self.device)
        x = self.tensor(sample_points(50, 20).astype(np.float32))
        compiled = torch.compile(layer, fullgraph=True)
        np.testing.assert_array_equal(bits(compiled(x)), bits(layer(x)))

    def test_cuda_graphs_meet_a_new_table(self):
        """What is kept of a table must not lie in the memory of the graph that met it first."""
        x = self.tensor(sample_points(50, 20).astype(np.float32))
        for precision in ("exact", "fast"):
            layer = pt.DynamicPrime(20, 64, 0.123, basis="table", precision=precision)
            codes = pt.PrimePositions(64, sigma=0.123)
            torch.compiler.reset()
            compiled = torch.compile(layer, fullgraph=True, mode="reduce-overhead")
            positions = torch.compile(codes, fullgraph=True, mode="reduce-overhead")
            t = torch.arange(50, device=self.device)
            for _ in range(3):
                z, code = compiled(x).clone(), positions(t).clone()
            np.testing.assert_array_equal(bits(z), bits(layer(x)))
            np.testing.assert_array_equal(bits(code), bits(codes(t)))

    def test_tables_are_made_where_the_input_is(self):
        x = sample_points(50, 20).astype(np.float32)
        with torch.device("meta"):
            layer = pt.DynamicPrime(20, 64, 0.3, basis="table")
        expected = primal.DynamicPrime(20, 64, 0.3, basis="table").encode(x)
        np.testing.assert_array_equal(bits(layer(self.tensor(x))), bits(expected))

    def test_nothing_waits_for_the_device(self):
        x = self.tensor(sample_points(50, 20).astype(np.float32))
        x[3] = torch.nan
        for precision in ("exact", "fast"):
            layer = pt.DynamicPrime(20, 64, 0.3, basis="table", precision=precision)
            at = x.clone().requires_grad_()
            layer(at).sum().backward()
            torch.cuda.set_sync_debug_mode("error")
            try:
                layer(at).sum().backward()
            finally:
                torch.cuda.set_sync_debug_mode("default")

    def test_autocast_changes_no_bit(self):
        layer = pt.DynamicPrime(20, 64, 0.3, basis="table", device=self.device)
        x = self.tensor(sample_points(50, 20).astype(np.float32))
        expected = bits(layer(x))
        with torch.autocast("cuda", dtype=torch.float16):
            np.testing.assert_array_equal(bits(layer(x)), expected)

    def test_second_derivatives(self):
        layer = pt.DynamicPrime(3, 8, 0.1, basis="auto", device=self.device, dtype=torch.float64)
        x = self.tensor(sample_points(4, 3)).requires_grad_()
        assert torch.autograd.gradcheck(layer, x)
        assert torch.autograd.gradgradcheck(layer, x)
        narrow = pt.DynamicPrime(3, 8, 0.1, basis="auto", device=self.device)

        def energy(v):
            return narrow(v).pow(3).sum()

        point = x.detach()[0].float()
        found = torch.func.hessian(energy)(point)
        assert torch.isfinite(found).all()
        torch.testing.assert_close(found, found.T, rtol=1e-3, atol=1e-4)


def run(cls: type, names: list[str]) -> dict[str, str]:
    os.environ["PRIMAL_TORCH"] = cls.backend
    outcomes = {}
    for name in sorted(n for n in dir(cls) if n.startswith("test_")):
        if names and name not in names:
            continue
        start = time.perf_counter()
        try:
            getattr(cls(), name)()
            outcome = "ok"
        except Exception:
            outcome = traceback.format_exc(limit=-3)
        outcomes[f"{cls.__name__}.{name}"] = outcome
        seconds = time.perf_counter() - start
        print(f"{outcome[:4]} {cls.__name__}.{name} {seconds:.1f} s", file=sys.stderr)
    os.environ["PRIMAL_TORCH"] = "auto"
    return outcomes


class InterpretedPositions(PositionsConformance, RotaryConformance):
    backend = "triton"
    dtypes = (torch.float32, torch.float16)  # the interpreter cuts bfloat16 where a GPU rounds


class CudaPositionsEager(PositionsConformance):
    device = "cuda"
    backend = "eager"


class CudaPositionsTriton(CudaPositionsEager, RotaryConformance):
    backend = "triton"


class CudaPositionsCompiled(PositionsConformance):
    device = "cuda"
    backend = "auto"

    def cases(self):
        yield pt.PrimePositions(32, layout="interleaved", device=self.device)

    def rotate(self, positions, q, k, places):
        torch.compiler.reset()
        turn = torch.compile(positions.rotary, fullgraph=True)
        return turn(q, k, places, seq_dim=-2)


def main() -> int:
    parser = argparse.ArgumentParser(description="checks of the PyTorch layers")
    parser.add_argument("--interpret", action="store_true", help="on the CPU, interpreted")
    parser.add_argument("--bench", action="store_true", help="measure, too")
    parser.add_argument("names", nargs="*", help="only these tests")
    options = parser.parse_args()
    if options.interpret:
        os.environ.setdefault("TRITON_INTERPRET", "1")
    elif not torch.cuda.is_available():
        print(json.dumps({"error": "no GPU found: use --interpret"}))
        return 2
    report: dict = {"torch": torch.__version__, "checks": {}}
    on_positions = [CudaPositionsEager, CudaPositionsTriton, CudaPositionsCompiled]
    on_cuda = [CudaEager, CudaTriton, *on_positions]
    for cls in [Interpreted, InterpretedPositions] if options.interpret else on_cuda:
        report["checks"] |= run(cls, options.names)
    if options.bench:
        from primal_studies.bench._gpu import report as measure

        report["bench"] = measure()
    print(json.dumps(report, indent=1))
    return 0 if all(outcome == "ok" for outcome in report["checks"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
