"""Known answers: does this machine, with this engine, make the golden bits?"""

import hashlib
from collections.abc import Callable

import numpy as np

from primal.exact import BASES, Basis, Finish, engine, increments

_FIPS = "increments of the first 16 primes (FIPS 180-4)"
_STATIC = "StaticPrime(64) at positions from 10**12"
# SHA-256 of output bits under basis version 1. They change only with a new version.
_DYNAMIC = {  # by basis, d and sigma
    ("paper", 20, 0.3): "d3c53154f78c26e83d28088d96548d4de4dc7748a6ecc015a15a8bbbfa930c91",
    ("signed", 20, 0.3): "a8cded7d8c869acf53d887c3bcc927370c171eadae4ff9b2b9036537d6053e29",
    ("table", 20, 0.3): "5e98c1b5f185f205f2fab2aebf43338c05326c87ba88d4f064c1e4b768bc08ff",
    ("kronecker", 20, 0.3): "4491388494359bcb4f700cf786744308e52294c5981d618107b9f364ce5a645b",
    ("hadamard", 20, 0.3): "488cb68f4a9f88fdc9b6950d10b6614629c4507ed106c84f6a86e3418b9071b2",
    ("paper", 300, 1000.0): "1d12591a69f649b1b0e5da57d064c0328d01a1fb8e721d0f853eec75a5db9cca",
}
GOLDEN: dict[str, str] = {
    _FIPS: (
        "6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1"
        "510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b5be0cd19137e2179"
        "cbbb9d5dc1059ed8629a292a367cd5079159015a3070dd17152fecd8f70e5939"
        "67332667ffc00b318eb44a8768581511db0c2e0d64f98fa747b5481dbefa4fa4"
    ),
    _STATIC: "ceb13fbef4028ba3a45015307e051e76a6562384728b8c7946dd02cc1f2c5f24",
    **{
        f"DynamicPrime({d}, 96, {sigma}), basis {basis}": digest
        for (basis, d, sigma), digest in _DYNAMIC.items()
    },
}


# From D and uint64 positions (n,) to codes (n, D) in block layout.
StaticCodes = Callable[[int, np.ndarray], np.ndarray]
# From a basis and float64 x (n, d) to features in interleaved layout.
DynamicFeatures = Callable[[Basis, np.ndarray], np.ndarray]


def known_answers(static: StaticCodes, dynamic: DynamicFeatures) -> dict[str, bool]:
    """Return for every known answer whether some code, in float32, gives it."""
    return _are_golden(_answers(static, dynamic))


def engine_answers(engine_name: str) -> dict[str, bool]:
    """Return for every known answer whether one engine gives it on this machine."""
    return _are_golden(found_answers(engine_name))


def found_answers(engine_name: str) -> dict[str, str]:
    """Return what one engine gives on this machine: what `GOLDEN` holds, or should."""
    chosen = engine(engine_name)

    def static(D: int, positions: np.ndarray) -> np.ndarray:
        out = np.empty((len(positions), D), dtype=np.float32)
        chosen.static(increments(D // 2), positions, out, "block")
        return out

    def dynamic(basis: Basis, x: np.ndarray) -> np.ndarray:
        out = np.empty((len(x), 2 * basis.n_frequencies), dtype=np.float32)
        chosen.features(basis.table, x, out, Finish("interleaved"))
        return out

    return _answers(static, dynamic)


def _answers(static: StaticCodes, dynamic: DynamicFeatures) -> dict[str, str]:
    points = np.arange(10**12, 10**12 + 500, dtype=np.uint64)
    found = {
        # floor(2**64 sqrt(p)) mod 2**64 of the first 16 primes: FIPS 180-4, 5.3.4 and 5.3.5.
        _FIPS: "".join(f"{value:016x}" for value in increments(16).tolist()),
        _STATIC: _digest(static(64, points)),
    }
    cases = [*((name, 20, 0.3) for name in BASES), ("paper", 300, 1000.0)]
    for name, d, sigma in cases:
        features = dynamic(Basis(name, d, 48, sigma), sample_points(200, d))
        found[f"DynamicPrime({d}, 96, {sigma}), basis {name}"] = _digest(features)
    return found


def _are_golden(found: dict[str, str]) -> dict[str, bool]:
    return {name: digest == GOLDEN.get(name) for name, digest in found.items()}


def sample_points(n: int, d: int) -> np.ndarray:
    """Return n x d float32 numbers in [-1, 1) that are the same everywhere, as float64."""
    turns = increments(n * d, start=1000) >> np.uint64(40)
    return turns.astype(np.float64).reshape(n, d) * 2.0**-23 - 1.0


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()
