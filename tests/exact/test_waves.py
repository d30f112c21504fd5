"""``waves``: accuracy over every phase, exact points, symmetry, and where it comes from."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mpmath
import numpy as np
import pytest
from c_core import require_core
from hypothesis import given
from hypothesis import strategies as st

from primal.edge._q15 import COSINE, SINE
from primal.exact import _waves as definition
from primal.exact import engine, waves

LARGEST_ERROR_32 = 1.3e-7
LARGEST_ERROR_64 = 4e-16
FIT = Path(__file__).parents[2] / "tools" / "fit_waves.py"


def dense_phases() -> np.ndarray:
    """A million phases: an even grid at odd steps, and every phase near the octant edges."""
    grid = (np.arange(1_000_000, dtype=np.uint64) * np.uint64(4294967)).astype(np.uint32)
    near = np.arange(-3000, 3000, dtype=np.int64)
    edges = np.arange(8, dtype=np.int64)[:, None] * 2**29 + near
    return np.concatenate([grid, (edges.ravel() % 2**32).astype(np.uint32)])


def test_error_of_a_million_phases():
    u = dense_phases()
    cos, sin = waves(u)
    angle = 2.0 * np.pi * (u.astype(np.float64) / 2.0**32)
    assert cos.dtype == sin.dtype == np.float32
    assert np.abs(cos - np.cos(angle)).max() <= LARGEST_ERROR_32
    assert np.abs(sin - np.sin(angle)).max() <= LARGEST_ERROR_32


def core_waves(u: np.ndarray) -> np.ndarray:
    """Waves (2, n) of phases by the C core: codes of position 1 have their increments as phases."""
    out = np.empty((1, 2 * len(u)), dtype=np.float32)
    engine("native").static(
        u.astype(np.uint64) << np.uint64(32), np.ones(1, np.uint64), out, "block"
    )
    return out.reshape(2, -1)


@pytest.mark.slow
def test_error_of_every_one_of_the_four_billion_phases():
    require_core()
    # The reference is cos(a + b) from float64 tables of 2**16 coarse and fine angles; it is
    # good to 3e-16. Calling the C library for each phase would take minutes.
    coarse = 2.0 * np.pi * np.arange(2**16) / 2.0**16
    fine = np.exp(1j * coarse / 2.0**16)
    low = np.arange(2**16, dtype=np.uint32)

    def largest(first: int) -> float:
        found = 0.0
        for i in range(first, first + 2**11):
            exact = np.exp(1j * coarse[i]) * fine
            cos, sin = core_waves(low + np.uint32(i << 16))
            found = max(found, np.abs(cos - exact.real).max(), np.abs(sin - exact.imag).max())
        return found

    with ThreadPoolExecutor(2) as pool:
        errors = list(pool.map(largest, range(0, 2**16, 2**11)))
    assert max(errors) <= LARGEST_ERROR_32
    # Float32 cannot be this good everywhere: the comparison does see errors.
    assert max(errors) > 5e-8


def test_the_c_core_makes_the_same_bits():
    require_core()
    u = dense_phases()
    for ours, theirs in zip(waves(u), core_waves(u), strict=True):
        np.testing.assert_array_equal(ours.view(np.uint32), theirs.view(np.uint32))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_quadrant_points_are_exact(dtype):
    quarter = 2 ** (np.iinfo(dtype).bits - 2)
    cos, sin = waves(np.array([0, quarter, 2 * quarter, 3 * quarter], dtype=dtype))
    assert cos.tolist() == [1.0, 0.0, -1.0, 0.0]
    assert sin.tolist() == [0.0, 1.0, 0.0, -1.0]


def test_cosine_is_even_and_sine_odd():
    u = dense_phases()
    cos, sin = waves(u)
    mirrored_cos, mirrored_sin = waves(np.uint32(0) - u)
    np.testing.assert_array_equal(cos, mirrored_cos)
    np.testing.assert_array_equal(sin, -mirrored_sin)


def octant_edges(bits: int) -> st.SearchStrategy[int]:
    eighth = 2 ** (bits - 3)
    return st.builds(
        lambda odd, step: (odd * eighth + step) % 2**bits,
        st.sampled_from([1, 3, 5, 7]),
        st.integers(-2, 2),
    )


@given(st.one_of(st.integers(0, 2**64 - 1), octant_edges(64)))
def test_float64_cosine_is_even_and_sine_odd(u):
    pair = np.array([u, (2**64 - u) % 2**64], dtype=np.uint64)
    cos, sin = waves(pair)
    assert cos[0] == cos[1]
    assert sin[0] == -sin[1]


@given(st.one_of(st.integers(0, 2**32 - 1), octant_edges(32)))
def test_one_phase_alone_has_the_bits_of_a_batch(u):
    batch = np.array([[0, u, 2**31], [u, 7, 5]], dtype=np.uint32)
    cos, sin = waves(batch)
    alone = waves(np.array([u], dtype=np.uint32))
    assert cos.shape == batch.shape
    assert cos[0, 1] == cos[1, 0] == alone[0][0]
    assert sin[0, 1] == sin[1, 0] == alone[1][0]


def test_float64_error_against_200_bits():
    u = [(2 * i + 1) * 0x9E3779B97F4A7C15 % 2**64 for i in range(3000)]
    u += [(q * 2**61 + step) % 2**64 for q in range(8) for step in range(-40, 41)]
    cos, sin = waves(np.array(u, dtype=np.uint64))
    assert cos.dtype == sin.dtype == np.float64
    with mpmath.workprec(200):
        for i, phase in enumerate(u):
            half_turns = mpmath.mpf(phase) / 2**63
            assert abs(float(cos[i]) - mpmath.cospi(half_turns)) <= LARGEST_ERROR_64
            assert abs(float(sin[i]) - mpmath.sinpi(half_turns)) <= LARGEST_ERROR_64


def test_coefficients_come_from_the_fit():
    done = subprocess.run([sys.executable, FIT], capture_output=True, text=True, check=True)
    name, fitted, integers = "", {}, []
    for line in done.stdout.splitlines():
        if not line.startswith(" "):
            name = line
        elif name.startswith("float"):
            fitted.setdefault(name, []).append(float.fromhex(line.strip()))
        else:
            integers.append(tuple(map(int, re.findall(r"\d+", line.partition("]")[0]))))
    assert fitted == {
        "float32 sine": list(definition.Octant32.sine),
        "float32 cosine": list(definition.Octant32.cosine),
        "float64 sine": list(definition.Octant64.sine),
        "float64 cosine": list(definition.Octant64.cosine),
    }
    assert integers == [COSINE, SINE]  # of chips
