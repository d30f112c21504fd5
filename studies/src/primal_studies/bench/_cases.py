"""The cases of ``primal bench``: what is measured, at which sizes, against whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from primal.codebooks import toeplitz_statistics
from primal.decoding import no_wrap_bound
from primal.exact import Basis
from primal.exact._primes import _nth_prime_bound, _sieve
from primal.maps import DynamicPrime, StaticPrime
from primal_studies.bench import _peers as peers
from primal_studies.bench._core import bundle_cases, transform_cases
from primal_studies.bench._measure import GIVEN_MEMORY, OURS, Case

__all__ = ["GROUPS", "cases", "gaussian_inputs", "rbf_map"]

STATIC_SIZES = ((1_000, 64), (10_000, 256), (10_000, 1024), (100_000, 1024), (1_000_000, 1024))
DYNAMIC_SIZES = (
    (10_000, 2, 256),
    (10_000, 2, 1024),
    (10_000, 2, 4096),
    (10_000, 16, 256),
    (10_000, 16, 1024),
    (20_000, 16, 2048),
    (10_000, 16, 4096),
    (1_000, 64, 1024),
    (10_000, 64, 256),
    (10_000, 64, 1024),
    (100_000, 64, 1024),
    (10_000, 64, 4096),
    (5_000, 512, 256),
    (5_000, 512, 1024),
    (5_000, 512, 4096),
    (5_000, 784, 4096),
    (2_000, 4096, 8192),
)
FLOAT64_SIZES = ((10_000, 64, 1024), (5_000, 512, 4096))
# The paper's recipe holds several float64 copies of its output: beyond this it does not fit.
_LARGEST_RECIPE = 2 * 10**8
# Nystroem needs an eigendecomposition of D x D and a product of N x D x D.
_LARGEST_NYSTROEM_D = 1024


def cases(group: str, *, quick: bool) -> Iterator[Case]:
    """Yield the cases of one group, each with its data made."""
    return GROUPS[group](quick)


def gaussian_inputs(n: int, d: int) -> np.ndarray:
    """Return the standard normal float32 inputs of the benchmark."""
    return np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)


def rbf_map(d: int, D: int) -> DynamicPrime:
    """Return the map of the kernel exp(-gamma |x - y|**2) with gamma = 1 / d.

    That is scikit-learn's gamma="scale" for inputs of variance 1.
    """
    sigma = math.sqrt(2.0 / d) / (2.0 * math.pi)
    return DynamicPrime(d, D, sigma, basis="auto")


def _static(quick: bool) -> Iterator[Case]:
    for N, D in STATIC_SIZES[:3] if quick else STATIC_SIZES:
        out = np.empty((N, D), dtype=np.float32)
        s = StaticPrime(D)
        contenders: dict[str, Callable[[], object]] = {
            OURS: lambda s=s, N=N: s.waves(N),
            GIVEN_MEMORY: lambda s=s, N=N, out=out: s.waves(N, out=out),
            "memory fill": peers.memory_fill(out),
        }
        if peers.has("torch") and N * D <= _LARGEST_RECIPE:
            contenders["paper's recipe"] = peers.paper_static(N, D)
        yield Case("static", f"StaticPrime {N} x {D}", {"N": N, "D": D}, contenders, out.nbytes)


def _dynamic(quick: bool) -> Iterator[Case]:
    sizes = ((10_000, 64, 1024), (20_000, 16, 2048)) if quick else DYNAMIC_SIZES
    for n, d, D in sizes:
        x, out = gaussian_inputs(n, d), np.empty((n, D), dtype=np.float32)
        m = rbf_map(d, D)
        contenders: dict[str, Callable[[], object]] = {
            OURS: lambda m=m, x=x: m.encode(x),
            GIVEN_MEMORY: lambda m=m, x=x, out=out: m.encode(x, out=out),
            "memory fill": peers.memory_fill(out),
        }
        if peers.has("sklearn"):
            contenders["RBFSampler"] = peers.rbf_sampler(x, D, 1.0 / d)
            if D <= _LARGEST_NYSTROEM_D and n <= 10_000:
                contenders["Nystroem"] = peers.nystroem(x, D, 1.0 / d)
        if peers.has("torch"):
            contenders["paper's recipe"] = peers.paper_dynamic(x, D, 1.0)
        sizes_of_case = {"N": n, "d": d, "D": D}
        yield Case(
            "dynamic", f"DynamicPrime {n} x {d} -> {D}", sizes_of_case, contenders, out.nbytes
        )


def _float64(quick: bool) -> Iterator[Case]:
    for n, d, D in FLOAT64_SIZES[:1] if quick else FLOAT64_SIZES:
        x, m = gaussian_inputs(n, d).astype(np.float64), rbf_map(d, D)
        contenders: dict[str, Callable[[], object]] = {
            OURS: lambda m=m, x=x: m.encode(x, dtype="float64"),
            "primal float32": lambda m=m, x=x: m.encode(x),
        }
        if peers.has("sklearn"):
            contenders["RBFSampler"] = peers.rbf_sampler(x, D, 1.0 / d)
        label = f"float64, {n} x {d} -> {D}"
        yield Case("float64", label, {"N": n, "d": d, "D": D}, contenders)


def _decode(quick: bool) -> Iterator[Case]:
    for n, d, D in ((10_000, 2, 128),) if quick else ((10_000, 2, 128), (10_000, 64, 1024)):
        x = gaussian_inputs(n, d)
        basis = Basis("auto", d, D // 2)
        sigma = no_wrap_bound(basis) / (2.0 * float(np.abs(x).max()))
        m = DynamicPrime(d, D, sigma, basis="auto")
        z = m.encode(x)
        m.decode(z[:1])  # makes the pseudoinverse, as the peer's is made beforehand
        contenders: dict[str, Callable[[], object]] = {OURS: lambda m=m, z=z: m.decode(z)}
        if peers.has("torch"):
            contenders["paper's recipe"] = peers.paper_inverse(z, d, sigma)
        yield Case("decode", f"decode {n} x {D} -> {d}", {"N": n, "d": d, "D": D}, contenders)


def _primes(quick: bool) -> Iterator[Case]:
    n = 1_000_000 if quick else 8_388_608
    contenders: dict[str, Callable[[], object]] = {
        # The sieve itself: the public table would answer from its cache.
        OURS: lambda: np.concatenate(_sieve(3, _nth_prime_bound(n))),
        "plain sieve": peers.plain_sieve(n),
    }
    yield Case("primes", f"first {n:,} primes", {"n": n}, contenders)


def _coherence(quick: bool) -> Iterator[Case]:
    for n_lags in (10**5, 10**6) if quick else (10**5, 10**6, 10**8):
        s = StaticPrime(128)
        contenders: dict[str, Callable[[], object]] = {
            OURS: lambda s=s, n=n_lags: toeplitz_statistics(s.increments, n, bins=1)
        }
        if n_lags <= 10**6:
            contenders["NumPy float64"] = peers.plain_worst_lag(128, n_lags)
        yield Case(
            "coherence", f"worst of {n_lags:,} lags, D = 128", {"N": n_lags, "D": 128}, contenders
        )


GROUPS: dict[str, Callable[[bool], Iterator[Case]]] = {
    "static": _static,
    "transform": transform_cases,
    "bundle": bundle_cases,
    "dynamic": _dynamic,
    "float64": _float64,
    "decode": _decode,
    "primes": _primes,
    "coherence": _coherence,
}
