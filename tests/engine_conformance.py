"""What every engine must do; an engine's test class inherits this and gives its name.

The oracle is the NumPy engine fed one row at a time, so that even the NumPy engine has
something to prove: that blocks and batches do not matter.
"""

import hashlib
import threading
from functools import cache

import numpy as np
import pytest

import primal
from primal._selftest import sample_points
from primal.bases import BASES, Basis
from primal.engines import engine
from primal.turns._digits import row_exponents

LAYOUTS = ("block", "interleaved")
# n rows, d inputs, k frequencies; several blocks of rows, odd sizes, nothing at all.
SHAPES = [(0, 2, 4), (1, 1, 1), (1, 3, 5), (7, 3, 9), (33, 20, 17), (301, 8, 513)]
# "fast" leaves out the error of the exact phase (2**-25 turn) and both round to float32
# waves: 2 pi 2**-25 + 2 * 1.3e-7.
LARGEST_FAST_ERROR = 5e-7


def digest(z: np.ndarray) -> str:
    return hashlib.sha256(z.astype("<f4").tobytes()).hexdigest()


@cache
def basis_of(name: str, d: int, k: int) -> Basis:
    return Basis(name, d, k, 0.3)


def points(n: int, d: int) -> np.ndarray:
    return sample_points(n + 1, d)[:n]


def mixed_rows(basis: Basis, n: int) -> np.ndarray:
    """Rows whose phases need the near, the middle and the deep sum, side by side."""
    x = points(n, basis.d)
    log2_turns = np.array([-8, 14, 30, 0, 22])[np.arange(n) % 5]
    return x / 3.0 * (2.0**log2_turns / basis.table.l1_norms.max())[:, None]


class EngineConformance:
    name: str

    def dynamic(self, basis, x, layout="block", dtype=np.float32):
        out = np.full((len(x), 2 * basis.n_frequencies), np.nan, dtype=dtype)
        engine(self.name).dynamic(basis.table, x, out, layout)
        return out

    def static(self, increments, positions, layout="block", dtype=np.float32):
        out = np.full((len(positions), 2 * len(increments)), np.nan, dtype=dtype)
        engine(self.name).static(increments, positions, out, layout)
        return out

    def oracle_dynamic(self, basis, x, layout="block", dtype=np.float32):
        out = np.empty((len(x), 2 * basis.n_frequencies), dtype=dtype)
        for i in range(len(x)):
            engine("numpy").dynamic(basis.table, x[i : i + 1], out[i : i + 1], layout)
        return out

    def oracle_static(self, increments, positions, layout="block", dtype=np.float32):
        out = np.empty((len(positions), 2 * len(increments)), dtype=dtype)
        for i in range(len(positions)):
            engine("numpy").static(increments, positions[i : i + 1], out[i : i + 1], layout)
        return out

    def test_its_name(self):
        assert engine(self.name).name == self.name

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize(("n", "d", "k"), SHAPES)
    @pytest.mark.parametrize("name", BASES)
    def test_dynamic_has_the_bits_of_the_oracle(self, name, n, d, k, layout):
        basis, x = basis_of(name, d, k), points(n, d)
        found = self.dynamic(basis, x, layout)
        assert digest(found) == digest(self.oracle_dynamic(basis, x, layout))

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("name", BASES)
    def test_blocks_that_mix_near_middle_and_deep_rows(self, name, layout):
        basis = basis_of(name, 8, 65)
        x = mixed_rows(basis, 603)
        served = basis.table.level_row_exponents[:, None]
        levels = (row_exponents(x)[:, None] > served).sum(axis=0)
        assert np.unique(levels).tolist() == [0, 1, 2]
        found = self.dynamic(basis, x, layout)
        assert digest(found) == digest(self.oracle_dynamic(basis, x, layout))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 1), (5, 7), (2000, 33), (9, 40_001)])
    def test_static_has_the_bits_of_the_oracle(self, n, k, layout, dtype):
        increments = primal.increments(k)
        positions = sample_positions(n)
        found = self.static(increments, positions, layout, dtype)
        expected = self.oracle_static(increments, positions, layout, dtype)
        np.testing.assert_array_equal(bits(found), bits(expected))

    @pytest.mark.parametrize("name", BASES)
    def test_float64_has_the_bits_of_the_oracle(self, name):
        basis = basis_of(name, 8, 65)
        x = mixed_rows(basis, 203)
        found = self.dynamic(basis, x, dtype=np.float64)
        expected = self.oracle_dynamic(basis, x, dtype=np.float64)
        np.testing.assert_array_equal(bits(found), bits(expected))

    def test_turns_are_the_phases_of_the_oracle(self):
        basis = basis_of("orthogonal", 8, 65)
        x = mixed_rows(basis, 203)
        turns, expected = (np.empty((203, 65), dtype=np.uint32) for _ in range(2))
        engine(self.name).dynamic_turns(basis.table, x, turns)
        for i in range(len(x)):
            engine("numpy").dynamic_turns(basis.table, x[i : i + 1], expected[i : i + 1])
        np.testing.assert_array_equal(turns, expected)

    @pytest.mark.parametrize("name", BASES)
    def test_the_order_of_rows_does_not_matter(self, name):
        basis = basis_of(name, 8, 65)
        x = mixed_rows(basis, 603)
        shuffled = np.argsort(primal.increments(603))
        np.testing.assert_array_equal(
            bits(self.dynamic(basis, x[shuffled])), bits(self.dynamic(basis, x)[shuffled])
        )

    @pytest.mark.parametrize("n_threads", ["1", "2", "5"])
    def test_the_number_of_threads_does_not_matter(self, n_threads, monkeypatch):
        basis, x = basis_of("kronecker", 8, 513), points(601, 8)
        increments, positions = primal.increments(513), sample_positions(601)
        expected = self.oracle_dynamic(basis, x), self.oracle_static(increments, positions)
        monkeypatch.setenv("PRIMAL_THREADS", n_threads)
        assert digest(self.dynamic(basis, x)) == digest(expected[0])
        assert digest(self.static(increments, positions)) == digest(expected[1])

    def test_four_threads_may_call_at_once(self):
        basis, x = basis_of("orthogonal", 8, 65), points(2000, 8)
        increments, positions = primal.increments(65), sample_positions(2000)
        expected = [digest(self.dynamic(basis, x)), digest(self.static(increments, positions))]
        together, found = threading.Barrier(4), []

        def call():
            together.wait()
            for _ in range(3):
                dynamic, static = self.dynamic(basis, x), self.static(increments, positions)
                found.append([digest(dynamic), digest(static)])

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [expected] * 12

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize(("n", "d", "k"), SHAPES)
    def test_fast_is_close_to_exact(self, n, d, k, layout):
        basis = basis_of("orthogonal", d, k)
        # Phases up to 2**19 turns, within the range of "fast".
        x = points(n, d) * (2.0**19 / basis.table.l1_norms.max())
        x[::2] *= 2.0**-19
        fast = np.full((n, 2 * k), np.nan, dtype=np.float32)
        engine(self.name).dynamic_fast(basis.table, x, fast, layout)
        errors = np.abs(fast.astype(np.float64) - self.dynamic(basis, x, layout))
        assert errors.max(initial=0.0) <= LARGEST_FAST_ERROR


def sample_positions(n: int) -> np.ndarray:
    """Small, huge and negative positions (in two's complement)."""
    small = np.arange(n, dtype=np.uint64)
    huge = primal.increments(n + 1, start=7)[:n]
    return np.where(small % np.uint64(2) == 0, small, huge)


def bits(z: np.ndarray) -> np.ndarray:
    return z.view(np.uint32 if z.dtype == np.float32 else np.uint64)
