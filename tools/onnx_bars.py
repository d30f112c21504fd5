"""Bars of ONNX models in onnxruntime on the CPU: wrong bits, time beside NumPy's engine, bytes.

python tools/onnx_bars.py
"""

from __future__ import annotations

import time

import numpy as np
import onnxruntime

from primal import DynamicPrime
from primal.edge import to_onnx
from primal.exact import Finish, engine

ROWS, D, ROUNDS = 20_000, 512, 3


def measure(basis: str, d: int) -> None:
    m = DynamicPrime(d, D, basis=basis)
    x = np.random.default_rng(d).standard_normal((ROWS, d)).astype(np.float32)
    model = to_onnx(m).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    out, oracle, ratios = np.empty((ROWS, D), dtype=np.float32), engine("numpy"), []
    for _ in range(ROUNDS):
        times = [time.perf_counter()]
        oracle.features(m.basis.table, x.astype(np.float64), out, Finish("block"))
        times.append(time.perf_counter())
        (z,) = session.run(None, {"x": x})
        times.append(time.perf_counter())
        numpy_ms, onnx_ms = 1e3 * np.diff(times)
        ratios.append((onnx_ms / numpy_ms, onnx_ms, numpy_ms))
    wrong = np.count_nonzero(z.view(np.uint32) != out.view(np.uint32))
    ratio, onnx_ms, numpy_ms = sorted(ratios)[ROUNDS // 2]
    print(
        f"{basis:11}d = {d:2}: {onnx_ms:5.0f} ms, NumPy {numpy_ms:5.0f} ms, ratio {ratio:.2f} "
        f"(median of {ROUNDS}), {wrong} wrong of {out.size:,}, model of {len(model):,} B"
    )


if __name__ == "__main__":
    for name in ("table", "hadamard"):
        for n_inputs in (8, 64):
            measure(name, n_inputs)
