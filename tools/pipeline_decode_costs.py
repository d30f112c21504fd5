"""What decoding costs: recording the extent of rows, and setting up the lattice decoder.

``python tools/pipeline_decode_costs.py`` takes some minutes.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from primal import DynamicPrime, KernelPrime, pipeline
from primal.kernels import scale_gamma
from primal.pipeline import _job
from primal.pipeline._record import Extent

_ROUNDS = 7
# Where phases of rows wrap, where those of their range would, and where no phase could.
_SIGMAS = {"rows wrap": 0.3, "their range would": 0.008, "nothing could": 1e-4}


def recording() -> None:
    """Print the time of encoding over that without the extent, 200,000 x 64 to 512."""
    x = np.random.default_rng(0).standard_normal((200_000, 64)).astype(np.float32)
    with tempfile.TemporaryDirectory() as made:
        source, target = Path(made, "in.npy"), Path(made, "out")
        np.save(source, x)

        def seconds(sigma: float, extent: object) -> float:
            _job.Extent = extent  # type: ignore[misc]
            m = DynamicPrime(64, 512, sigma, basis="auto", layout="interleaved")
            start = time.perf_counter()
            pipeline.encode(source, target, m, overwrite=True)
            return time.perf_counter() - start

        for name, sigma in _SIGMAS.items():
            ratios = [seconds(sigma, Extent) / seconds(sigma, _Nothing) for _ in range(_ROUNDS)]
            print(f"{name:<18} {np.median(ratios):.2f} times the time, {_ROUNDS} rounds")


class _Nothing:
    @staticmethod
    def of(x: object, frequencies: object) -> None:
        return None


def setting_up() -> None:
    """Print the time of a plan with the range of normal data as its prior."""
    for d, D in ((50, 256), (100, 512), (128, 512), (200, 1024)):
        x = np.random.default_rng(0).standard_normal((300, d))
        m = KernelPrime(d, D, gamma=scale_gamma(x), form="pair")
        prior = Extent.of(x, m.frequencies).box()  # type: ignore[union-attr]
        start = time.perf_counter()
        m.decode_plan(prior=prior, cache=False)
        print(f"{d} inputs, D = {D}: set up in {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    recording()
    setting_up()
