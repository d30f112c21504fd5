"""Print the error of kernel features in few inputs beside what it should at most be.

The relative Frobenius error of the kernel matrix of 400 points of several laws, with gamma one
over the median squared distance:

* RBF at d = 1 to 4, with the width of the data and with the one that gamma implies;
* against the growable map, over kernels, inputs, sizes and values of gamma;
* Matern 5/2 with 1024 features at d = 2 to 20 against BoTorch's own map (mean of ten seeds), where
  BoTorch is installed, both by its generators of feature maps, on points whose width was taken from
  others, and without a width.

    python tools/kernel_bars.py [rbf] [growable] [botorch] [--done FILE]

The second takes hours; FILE keeps its finished pieces, and the same command resumes after them.
"""

from __future__ import annotations

import argparse
import itertools
import json
from functools import partial
from pathlib import Path

import numpy as np

import primal
from primal.maps import column_widths, kernel_matrix

LAWS = {
    "normal": lambda rng, d: rng.standard_normal((400, d)),
    "uniform": lambda rng, d: rng.uniform(-1.0, 1.0, (400, d)),
    "laplace": lambda rng, d: rng.laplace(size=(400, d)),
    "clusters": lambda rng, d: 3.0 * rng.integers(-1, 2, (400, d)) + rng.standard_normal((400, d)),
    "unequal": lambda rng, d: rng.standard_normal((400, d)) * np.geomspace(1.0, 0.1, d),
    "correlated": lambda rng, d: rng.standard_normal((400, d)) @ rng.standard_normal((d, d)),
    "together": lambda rng, d: rng.standard_normal((400, 1)) + rng.normal(0.0, 0.05, (400, d)),
    "pairs": lambda rng, d: (
        rng.standard_normal((400, d))[:, np.arange(d) // 2] + rng.normal(0.0, 0.1, (400, d))
    ),
    "skew": lambda rng, d: rng.exponential(size=(400, d)) @ (np.eye(d) + 0.5),
    "heavy": lambda rng, d: rng.standard_normal((400, 1)) * rng.laplace(size=(400, d)),
}
BARS = ((1, 64, 1e-9), (2, 256, 3e-5), (3, 1024, 3e-4), (4, 1024, 7e-3))
GROWABLE_KERNELS = ("rbf", "matern12", "matern52", "laplacian", "cauchy", "rational1")
MATERN_INPUTS = (2, 3, 4, 5, 6, 8, 10, 13, 16, 20)
GROWABLE_BAR = 1.02


def data(law: str, d: int) -> tuple[np.ndarray, float]:
    x = LAWS[law](np.random.default_rng(d), d)
    squares = np.square(x[:, None] - x).sum(axis=-1)
    return x, 1.0 / float(np.median(squares[np.triu_indices(len(x), 1)]))


def verdict(value: float, bar: float) -> str:
    return "ok" if value <= bar else "MISSED"


def rbf() -> None:
    for d, D, bar in BARS:
        for law in LAWS:
            x, gamma = data(law, d)
            for width in (None, x.std(axis=0)):
                m = primal.KernelPrime(d, D, gamma=gamma, method="auto", width=width)
                error = m.kernel_error(x)
                known = "implied" if width is None else "given"
                print(
                    f"rbf d={d} D={D} {law:10} width {known:7} {m.method} error {error:.1e} "
                    f"predicted {m.predicted_error:.1e} bar {bar:.0e} {verdict(error, bar)}"
                )
        z = m.encode(x).astype(np.float64)
        exact = kernel_matrix("rbf", x, gamma)
        error = float(np.linalg.norm(z @ z.T - exact) / np.linalg.norm(exact))
        print(f"rbf d={d} D={D} in float32 {error:.1e} {verdict(error, max(bar, 1e-6))}")


def growable(done: Path | None) -> None:
    """Print the worst of each kernel and d; pieces that a file already holds are not run again."""
    lines = done.read_text().splitlines() if done is not None and done.exists() else []
    pieces = {tuple(piece[:2]): piece[2:] for piece in map(json.loads, lines)}
    for kernel, d in itertools.product(GROWABLE_KERNELS, range(1, 9)):
        if (kernel, d) not in pieces:
            pieces[kernel, d] = _worst_piece(kernel, d)
            if done is not None:
                with done.open("a") as file:
                    print(json.dumps([kernel, d, *pieces[kernel, d]]), file=file)
        ratio, where, n_cells = pieces[kernel, d]
        print(
            f"{kernel} d={d}: auto over growable at worst {ratio:.3f} ({where}, {n_cells} cells) "
            f"{verdict(ratio, GROWABLE_BAR)}",
            flush=True,
        )


def _worst_piece(kernel: str, d: int) -> tuple[float, str, int]:
    """Return the largest ratio, where it is, and in how many cells "auto" is not growable."""
    worst, where, n_cells = 0.0, "growable everywhere", 0
    for D, law, factor in itertools.product((32, 64, 256, 1024), LAWS, (0.05, 1.0, 20.0)):
        x, gamma = data(law, d)
        gamma = factor * (np.sqrt(gamma) if kernel == "laplacian" else gamma)
        options = {"d": d, "D": D, "kernel": kernel, "gamma": gamma}
        auto = primal.KernelPrime(**options, method="auto", width=column_widths(x))
        if auto.method == "growable":
            continue
        n_cells += 1
        ratio = auto.kernel_error(x) / primal.KernelPrime(**options).kernel_error(x)
        if ratio > worst:
            worst, where = ratio, f"D={D} {law} gamma x {factor:g}"
    return worst, where, n_cells


def botorch() -> None:
    try:
        import torch
        from botorch.sampling.pathwise.features.generators import gen_kernel_features
        from gpytorch.kernels import MaternKernel

        from primal.torch.gp import gen_prime_features
    except ImportError as missing:
        print(f"BoTorch skipped: {missing}")
        return
    for law, d in itertools.product(("normal", "uniform", "laplace"), MATERN_INPUTS):
        x, gamma = data(law, d)
        exact = kernel_matrix("matern52", x, gamma)
        kernel = MaternKernel(nu=2.5).double()
        kernel.lengthscale = 1.0 / np.sqrt(2.0 * gamma)

        def error(gram: np.ndarray, exact: np.ndarray = exact) -> float:
            return float(np.linalg.norm(gram - exact) / np.linalg.norm(exact))

        def error_of(made: torch.nn.Module, x: np.ndarray = x, error=error) -> float:
            with torch.no_grad():
                z = made(torch.from_numpy(x)).numpy()
            return error(z @ z.T)

        peers = []
        for seed in range(10):
            torch.manual_seed(seed)
            peers.append(error_of(gen_kernel_features(kernel, num_inputs=d, num_outputs=1024)))
        peer = float(np.mean(peers))
        # The width of other points of the law: these were not used to choose.
        seen = LAWS[law](np.random.default_rng(1000 + d), d)
        made = gen_prime_features(kernel, d, 1024, width=seen.std(axis=0))
        ratio = error_of(made) / peer
        plain = error_of(gen_prime_features(kernel, d, 1024)) / peer
        print(
            f"matern52 {law} d={d} of BoTorch's {peer:.1e}: {made.layer.map.method} {ratio:.2f}, "
            f"without a width {plain:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="rbf, growable, botorch; all by default")
    parser.add_argument("--done", type=Path, help="finished pieces of growable")
    given = parser.parse_args()
    parts = {"rbf": rbf, "growable": partial(growable, given.done), "botorch": botorch}
    for part in given.parts or parts:
        parts[part]()
