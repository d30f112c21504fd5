"""A user's script over the public surface, for a strict type checker; it also runs."""

import json

import numpy as np
import numpy.typing as npt

import primal
from primal.errors import DataError, PhaseWrapWarning

x: npt.NDArray[np.float64] = np.linspace(-1.0, 1.0, 60).reshape(20, 3)

m = primal.DynamicPrime(3, 64, sigma=0.05, basis="auto", layout="interleaved")
z: npt.NDArray[np.floating] = m.encode(x)
turns: npt.NDArray[np.uint32] = m.turns(x)
back: npt.NDArray[np.float64] = m.decode(z)
bound: float = m.bound
kind: str = m.regime(x).kind
larger: primal.DynamicPrime = m.grow(128)
same = primal.from_spec(json.loads(json.dumps(m.spec)))
digest: str = m.fingerprint

kernel = primal.KernelPrime(3, 256, "matern32", gamma=0.5)
error: float = kernel.kernel_error(x)
features: npt.NDArray[np.floating] = kernel.grow(512).encode(x)

s = primal.StaticPrime(64)
codes: npt.NDArray[np.floating] = s.encode([1, 2, 3])
places: npt.NDArray[np.int64] = s.decode(codes, n=1000)

plan = m.decode_plan(prior=primal.Box(1.0))
answer = plan.decode(z)
status: npt.NDArray[np.str_] = answer.status

book = primal.codebook(100, 16)
worst: float = book.certificate.coherence
best: float = primal.codebooks.bounds.best(100, 16).value
basis = primal.Basis("kronecker", 3, 32)
frequencies: npt.NDArray[np.float64] = basis.frequencies
some: npt.NDArray[np.uint32] = primal.primes(10)
steps: npt.NDArray[np.uint64] = primal.increments(10)

try:
    m.encode("text")
except DataError as wrong:
    message: str = str(wrong)
except primal.PrimalError:
    raise
warnings: list[type[primal.NumericalWarning]] = [PhaseWrapWarning]
print(back.shape, bound, kind, larger.D, same == m, digest[:8], error < 1.0, features.shape)
print(places, set(status), worst >= best, frequencies.shape, some[0], steps[0], turns.shape)
