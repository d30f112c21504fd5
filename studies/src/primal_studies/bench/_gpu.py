"""The benchmark on a GPU: layers against the paper's recipe and the ceilings of the card.

Ceilings are measured in the same run: how fast memory can be filled, and the rate of float64
matrix products. The *floor* of a case is the larger of the bytes it writes over the first and
the operations it does over the second; no method of that kind is faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primal.exact import Basis
from primal_studies.bench._bars import Bar
from primal_studies.bench._gpu_rotary import measure as measure_rotary
from primal_studies.bench._gpu_rotary import rotary_bars

__all__ = ["DYNAMIC_SHAPES", "report"]

STATIC_SHAPE = (2**20, 1024)
# N, d, D, the most that `fast` may take, in floors, and the basis hadamard, in fills of the output.
DYNAMIC_SHAPES = (
    (2**18, 2, 1024, 1.15, 0.0),
    (2**18, 16, 2048, 1.4, 2.5),
    (2**17, 64, 4096, 1.6, 1.9),
    (2**16, 512, 4096, 1.3, 4.0),
    (2**15, 4096, 8192, 1.15, 6.0),
)
_GRADIENT_SHAPE = (2**17, 64, 4096)
_LARGEST_ERROR = 2e-7
_CHECKED_ROWS = 256


def report(repeats_ms: int = 60) -> dict[str, Any]:
    """Return medians in milliseconds, ceilings, and every bar; needs CUDA and Triton.

    Raises
    ------
    ModuleNotFoundError
        If PyTorch or Triton is not installed.
    RuntimeError
        If PyTorch finds no GPU.
    """
    import torch

    timer = _timer(repeats_ms)
    ceilings = _ceilings(timer)
    static = _static(timer)
    dynamic = [_dynamic(timer, ceilings, *shape[:3]) for shape in DYNAMIC_SHAPES]
    gradient = _gradient(timer)
    rotary = measure_rotary()
    bars = _bars(ceilings, static, dynamic, gradient) + rotary_bars(rotary)
    return {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "ceilings": ceilings,
        "static": static,
        "dynamic": dynamic,
        "gradient": gradient,
        "rotary": rotary,
        "bars": [bar.as_json() for bar in bars],
    }


def _timer(repeats_ms: int) -> Callable[[Callable[[], object]], float]:
    """Return a function that times a call in milliseconds: median, by events on the device.

    Between calls the cache is cleared, which also lets the card cool: the same kernels back to
    back from a CUDA graph took up to 7 % longer on an H200 when they are bound by arithmetic.
    """
    from triton.testing import do_bench

    def milliseconds(run: Callable[[], object]) -> float:
        return float(do_bench(run, warmup=10, rep=repeats_ms, return_mode="median"))  # type: ignore[arg-type]

    return milliseconds


def _ceilings(timer: Callable) -> dict[str, float]:
    import torch

    found = {}
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        out = torch.empty(STATIC_SHAPE, dtype=dtype, device="cuda")
        found[f"fill {name} TB/s"] = out.nbytes / timer(lambda out=out: out.fill_(1.0)) * 1e-9
    # (PyTorch fills 16-bit numbers at three quarters of the 32-bit rate.)
    a = torch.randn(8192, 8192, dtype=torch.float64, device="cuda")
    found["float64 TFLOP/s"] = 2 * 8192**3 / timer(lambda: a @ a) * 1e-9
    return found


def _static(timer: Callable) -> dict[str, Any]:
    import torch

    from primal.torch import StaticPrime

    N, D = STATIC_SHAPE
    found: dict[str, Any] = {"N": N, "D": D}
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for layout in ("block", "interleaved"):
            layer = StaticPrime(D, layout=layout, device="cuda", dtype=dtype)
            name = f"{str(dtype).removeprefix('torch.')} {layout}"
            found[f"{name} ms"] = timer(lambda layer=layer: layer.waves(N))
    t = torch.arange(N, device="cuda") * 977
    layer = StaticPrime(D, device="cuda")
    found["positions in any order ms"] = timer(lambda: layer(t))
    recipe = _paper_static(N, D)
    found["paper's recipe ms"] = timer(recipe)
    found["paper's recipe, compiled ms"] = timer(torch.compile(recipe))
    return found


def _dynamic(timer: Callable, ceilings: dict[str, float], N: int, d: int, D: int) -> dict[str, Any]:
    import torch

    from primal.torch import DynamicPrime

    x = torch.randn(N, d, generator=torch.Generator("cuda").manual_seed(0), device="cuda")
    # The bandwidth that scikit-learn calls gamma="scale"; `table` is a matrix, and quick to make.
    basis = "auto" if d <= 6 else "table"
    sigma = math.sqrt(2.0 / d) / (2.0 * math.pi)
    write_ms = N * D * 4 / ceilings["fill float32 TB/s"] * 1e-9
    product_ms = 2 * N * d * (D // 2) / ceilings["float64 TFLOP/s"] * 1e-9
    found: dict[str, Any] = {"N": N, "d": d, "D": D, "floor ms": max(write_ms, product_ms)}
    frequencies = Basis(basis, d, D // 2, sigma).frequencies
    for precision in ("fast", "exact"):
        layer = DynamicPrime(d, D, sigma, basis=basis, precision=precision, device="cuda")
        found[f"{precision} ms"] = timer(lambda layer=layer: layer(x))
        found[f"{precision} error"] = _largest_error(layer(x[:_CHECKED_ROWS]), x, frequencies)
    if d > 6:
        layer = DynamicPrime(d, D, sigma, basis="hadamard", device="cuda")
        found["hadamard ms"] = timer(lambda: layer(x))
        found["hadamard fills"] = found["hadamard ms"] / write_ms
        frequencies = layer.frequencies.cpu().numpy()
        found["hadamard error"] = _largest_error(layer(x[:_CHECKED_ROWS]), x, frequencies)
        point, upstream = x.clone().requires_grad_(), torch.randn(N, D, device="cuda")
        z = layer(point)
        found["hadamard backward ms"] = timer(
            lambda: torch.autograd.grad(z, point, upstream, retain_graph=True)
        )
        del z, upstream
    recipe = _paper_dynamic(x, D)
    found["paper's recipe ms"] = timer(recipe)
    found["paper's recipe, compiled ms"] = timer(torch.compile(recipe))
    found["paper's formula in float32 error"] = _float32_error(x[:_CHECKED_ROWS], D)
    return found


def _gradient(timer: Callable) -> dict[str, float]:
    import torch

    from primal.torch import DynamicPrime

    N, d, D = _GRADIENT_SHAPE
    sigma = math.sqrt(2.0 / d) / (2.0 * math.pi)
    x = torch.randn(N, d, device="cuda", requires_grad=True)
    upstream = torch.randn(N, D, device="cuda")
    found = {}
    for precision in ("fast", "exact"):
        layer = DynamicPrime(d, D, sigma, basis="table", precision=precision, device="cuda")
        z = layer(x)
        with torch.no_grad():
            found[f"{precision} forward ms"] = timer(lambda layer=layer: layer(x))
        found[f"{precision} backward ms"] = timer(
            lambda z=z: torch.autograd.grad(z, x, upstream, retain_graph=True)
        )
    return found


def _bars(
    ceilings: dict[str, float],
    static: dict[str, Any],
    dynamic: list[dict[str, Any]],
    gradient: dict[str, float],
) -> list[Bar]:
    N, D = STATIC_SHAPE
    wide = N * D * 4 / static["float32 block ms"] * 1e-9 / ceilings["fill float32 TB/s"]
    narrow = N * D * 2 / static["bfloat16 block ms"] * 1e-9 / ceilings["fill bfloat16 TB/s"]
    speedup = static["paper's recipe ms"] / static["float32 block ms"]
    bars = [
        Bar("StaticPrime float32: of the fill bandwidth", wide, 0.95, True),
        Bar("StaticPrime bfloat16: of the fill bandwidth", narrow, 0.75, True),
        Bar("StaticPrime float32: times faster than the paper's recipe", speedup, 14, True),
    ]
    for case, (n, d, D_, limit, fills) in zip(dynamic, DYNAMIC_SHAPES, strict=True):
        name = f"DynamicPrime {n} x {d} -> {D_}"
        floors = case["fast ms"] / case["floor ms"]
        bars.append(Bar(f"{name}: fast, in floors", floors, limit, False))
        for precision in ("fast", "exact"):
            error = case[f"{precision} error"]
            bars.append(Bar(f"{name}: error of {precision}", error, _LARGEST_ERROR, False))
        if fills:
            backward = case["hadamard backward ms"] / case["hadamard ms"]
            bars += [
                Bar(f"{name}: hadamard, in fills", case["hadamard fills"], fills, False),
                Bar(f"{name}: error of hadamard", case["hadamard error"], _LARGEST_ERROR, False),
                Bar(f"{name}: backward in forwards, hadamard", backward, 2.5, False),
            ]
    for precision in ("fast", "exact"):
        ratio = gradient[f"{precision} backward ms"] / gradient[f"{precision} forward ms"]
        bars.append(Bar(f"backward in forwards, {precision}", ratio, 2.5, False))
    return bars


def _largest_error(z: Any, x: Any, frequencies: np.ndarray) -> float:
    """Return the largest error of features against float64 arithmetic on the CPU."""
    points = x[: len(z)].double().cpu().numpy()
    phases = points @ frequencies.T
    angle = 2.0 * np.pi * (phases - np.rint(phases))
    true = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
    return float(np.abs(z.double().cpu().numpy() - true).max())


def _paper_static(N: int, D: int) -> Callable[[], object]:
    """Return the paper's GenerateWaves: float64 product, cosine and sine, cast to float32."""
    import torch

    roots = torch.from_numpy(Basis("paper", 1, D // 2).frequencies[:, 0]).cuda()

    def run() -> object:
        times = torch.arange(N, dtype=torch.float64, device="cuda")
        angles = 2 * math.pi * (times[:, None] * roots)
        return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1).float()

    return run


def _paper_dynamic(x: Any, D: int, dtype: Any = None) -> Callable[[], object]:
    """Return the paper's Forward, with sigma = 1; in float64 unless another type is given."""
    import torch

    wide = dtype or torch.float64
    frequencies = Basis("paper", x.shape[1], D // 2).frequencies
    weights = torch.from_numpy(frequencies).to("cuda", wide)

    def run() -> object:
        angles = 2 * math.pi * (x.to(wide) @ weights.T)
        return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1).float()

    return run


def _float32_error(x: Any, D: int) -> float:
    """Return how far that formula is off in float32, for inputs of an eighth of the size."""
    points = x / 8
    frequencies = Basis("paper", x.shape[1], D // 2).frequencies
    return _largest_error(_paper_dynamic(points, D, x.dtype)(), points, frequencies)
