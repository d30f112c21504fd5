"""An output that lies in the memory of the input: the input is read before it is written over."""

import numpy as np
import pytest

import primal
from primal.exact import installed_engines

MAPS = {
    "few inputs": primal.DynamicPrime(2, 8, 0.01, basis="kronecker"),
    "normalised": primal.DynamicPrime(2, 8, 0.01, layer_norm=True),
    "transform": primal.DynamicPrime(2, 8, 0.01, basis="hadamard"),
    "kernel": primal.KernelPrime(2, 8),
    "kernel, gammas": primal.KernelPrime(2, 8, gamma=[0.1, 0.2]),
    "weights": primal.KernelPrime(2, 8, method="lattice"),
}


@pytest.mark.parametrize("engine", installed_engines())
@pytest.mark.parametrize("name", MAPS)
def test_features_written_over_their_rows(monkeypatch, engine, name):
    monkeypatch.setenv("PRIMAL_ENGINE", engine)
    # More than a block: some maps make a copy of each block first.
    m, n = MAPS[name], 600_000 if name in ("normalised", "kernel, gammas") else 40_000
    rows = np.random.default_rng(0).normal(size=(n, 2))
    expected = m.encode(rows, dtype="float64")
    out = np.empty((n, 8))
    x = out.reshape(-1)[: 2 * n].reshape(n, 2)
    x[:] = rows
    np.testing.assert_array_equal(m.encode(x, dtype="float64", out=out), expected)
    narrow = m.encode(rows)
    out = np.empty((n, 8), dtype=np.float32)
    x = out.reshape(-1)[: 4 * n].view(np.float64).reshape(n, 2)
    x[:] = rows
    np.testing.assert_array_equal(m.encode(x, out=out), narrow)


@pytest.mark.parametrize("engine", installed_engines())
def test_codes_written_over_their_positions(monkeypatch, engine):
    monkeypatch.setenv("PRIMAL_ENGINE", engine)
    s, n = primal.StaticPrime(8), 1_100_000
    positions = np.arange(n)[::-1] * 12345
    expected = s.encode(positions)
    out = np.empty((n, 8), dtype=np.float32)
    t = out.reshape(-1)[: 2 * n].view(np.int64)
    t[:] = positions
    np.testing.assert_array_equal(s.encode(t, out=out), expected)
