"""Calls whose speed is followed over time, as users make them: ``pytest benchmarks --codspeed``.

`primal bench` compares with what others offer; this only tells one commit from the next.
"""

from __future__ import annotations

import numpy as np
import pytest

import primal
from primal import hdc


@pytest.mark.parametrize(("d", "D"), [(3, 256), (64, 1024), (512, 4096)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_encode(benchmark, d, D, dtype):
    m = primal.DynamicPrime(d, D, sigma=0.1, basis="auto")
    x = np.random.default_rng(0).standard_normal((500, d))
    m.encode(x, dtype=dtype)
    benchmark(lambda: m.encode(x, dtype=dtype))


def test_encode_one_row(benchmark):
    m = primal.DynamicPrime(64, 1024, basis="auto")
    x = np.ones(64)
    m.encode(x)
    benchmark(lambda: m.encode(x))


def test_make_a_map(benchmark):
    benchmark(lambda: primal.DynamicPrime(4096, 8192, basis="hadamard"))


def test_encode_positions(benchmark):
    m = primal.StaticPrime(1024)
    t = np.arange(1000)
    m.encode(t)
    benchmark(lambda: m.encode(t))


def test_decode(benchmark):
    m = primal.DynamicPrime(4, 32, sigma=100.0)
    plan = m.decode_plan(prior=primal.Box(1.0))
    z = m.encode(np.random.default_rng(0).uniform(-1, 1, (100, 4)))
    assert (plan.decode(z).status == "unique").all()
    benchmark(lambda: plan.decode(z))


def test_codebook(benchmark):
    benchmark(lambda: primal.codebook(1000, 256))


def test_find_the_items_of_a_bundle(benchmark):
    words = [f"word {i}" for i in range(200)]
    names = hdc.Space(2048).symbols()
    codes = names.encode(words)
    whole = hdc.bundle(codes[:20])
    benchmark(lambda: hdc.similarity(whole, codes))
