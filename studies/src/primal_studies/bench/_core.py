"""What the C core has to show: calls as users make them, with fresh results, and start-up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np

from primal_studies.bench import _peers as peers
from primal_studies.bench._measure import OURS, Case

__all__ = ["BUNDLED", "TRANSFORMED", "bundle_cases", "import_seconds", "transform_cases"]

# (n, d, D) and how many times faster than RBFSampler `PrimeFeatures.transform` has to be.
TRANSFORMED = {
    (10_000, 2, 256): 1.2,
    (10_000, 16, 256): 1.2,
    (10_000, 64, 256): 1.2,
    (1_000, 64, 256): 1.2,
    (100, 16, 256): 1.2,
    (1, 16, 256): 1.5,
    (10_000, 64, 1024): 1.5,
    (5_000, 512, 4096): 8.0,
    (2_000, 4096, 8192): 30.0,
}
BUNDLED = (1797, 64, 1024)  # stacks, codes of each, D
_LEVELS = 17
_IMPORT = """
import time
import numpy
start = time.perf_counter()
import primal
print(time.perf_counter() - start)
"""


def transform_cases(quick: bool) -> Iterator[Case]:
    """Yield `PrimeFeatures.transform` against `RBFSampler.transform`, both fitted."""
    if not peers.has("sklearn"):
        return
    from sklearn.kernel_approximation import RBFSampler

    from primal.sklearn import PrimeFeatures

    for n, d, D in list(TRANSFORMED)[: 6 if quick else None]:
        x = np.random.default_rng(0).standard_normal((max(n, 100), d)).astype(np.float32)
        ours, theirs, rows = PrimeFeatures(D).fit(x), RBFSampler(n_components=D).fit(x), x[:n]
        contenders: dict[str, Callable[[], object]] = {
            OURS: lambda m=ours, x=rows: m.transform(x),
            "RBFSampler": lambda m=theirs, x=rows: m.transform(x),
        }
        yield Case("transform", f"transform {n} x {d} -> {D}", {"N": n, "d": d, "D": D}, contenders)


def bundle_cases(quick: bool) -> Iterator[Case]:
    """Yield the sums of codes of pixels, looked up by gray value, against torchhd's FHRR."""
    if not peers.has("torchhd"):
        return
    import torch
    import torchhd

    from primal import hdc

    stacks, n, D = BUNDLED
    gray = np.random.default_rng(0).integers(0, _LEVELS, (stacks, n))
    codes = hdc.Space(D).symbols().encode(list(range(_LEVELS))).turns
    phasors, places = torchhd.random(_LEVELS, D // 2, vsa="FHRR"), torch.from_numpy(gray)
    contenders: dict[str, Callable[[], object]] = {
        OURS: lambda: hdc.bundle(hdc.Codes(codes[gray])),
        "torchhd FHRR": lambda: torchhd.multibundle(phasors[places]),  # type: ignore[arg-type],
    }
    yield Case("bundle", f"bundle {stacks} x {n} codes, D = {D}", {"N": stacks, "D": D}, contenders)


def import_seconds(repeats: int = 5) -> float:
    """Return what `import primal` takes after NumPy in a fresh process, the best of a few."""
    times = []
    for _ in range(repeats):
        command = [sys.executable, "-c", _IMPORT]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append(float(found.stdout))
    return min(times)
