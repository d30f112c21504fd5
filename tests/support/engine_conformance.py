"""What every engine must do; an engine's test class inherits this and gives its name.

The oracle is the definition in Python integers, one row at a time, so that the NumPy engine
too has something to prove.
"""

import hashlib
import threading
from functools import cache

import numpy as np
import pytest
from exact_reference import defined_turns, rounded, rows_near_the_middle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import primal
from primal._selftest import sample_points
from primal.exact import BASES, Basis, FrequencyTable, engine, static_turns, waves
from primal.exact._reference import Finish

LAYOUTS = ("block", "interleaved")
# n rows, d inputs, k frequencies; several blocks of rows, odd sizes, nothing at all.
SHAPES = [(0, 2, 4), (1, 1, 1), (1, 3, 5), (7, 3, 9), (33, 20, 17), (301, 8, 513)]
# "fast" leaves out the error of the exact phase (2**-25 turn) and both round to float32
# waves: 2 pi 2**-25 + 2 * 1.3e-7.
LARGEST_FAST_ERROR = 5e-7


# Zeros of both signs, denormals, powers of two and their neighbours, halves that round to even.
awkward = st.one_of(
    st.sampled_from([0.0, -0.0, 5e-324, -(2.0**-1022), 1.0, -1.0, 0.5, 1.0 - 2.0**-53]),
    st.floats(-1.0, 1.0),
    st.builds(lambda n, e: n * 2.0**-e, st.integers(-(2**20), 2**20), st.integers(20, 60)),
)


def digest(z: np.ndarray) -> str:
    return hashlib.sha256(z.astype("<f4").tobytes()).hexdigest()


@cache
def basis_of(name: str, d: int, k: int) -> Basis:
    return Basis(name, d, k, 0.3)


def points(n: int, d: int) -> np.ndarray:
    return sample_points(n + 1, d)[:n]


def mixed_rows(basis: Basis, n: int) -> np.ndarray:
    """Rows from short phases to very long ones, side by side."""
    x = points(n, basis.d)
    log2_turns = np.array([-8, 14, 30, 0, 22])[np.arange(n) % 5]
    return x / 3.0 * (2.0**log2_turns / basis.table.l1_norms.max())[:, None]


class EngineConformance:
    name: str

    @property
    def engine(self):
        return engine(self.name)

    def dynamic(self, basis, x, layout="block", dtype=np.float32):
        out = np.full((len(x), 2 * basis.n_frequencies), np.nan, dtype=dtype)
        self.engine.features(basis.table, x, out, Finish(layout))
        return out

    def static(self, increments, positions, layout="block", dtype=np.float32):
        out = np.full((len(positions), 2 * len(increments)), np.nan, dtype=dtype)
        self.engine.static(increments, positions, out, layout)
        return out

    def oracle_dynamic(self, basis, x, layout="block", dtype=np.float32):
        turns = defined_turns(basis.table, x, wide=dtype == np.float64)
        return columns(waves(rounded(turns) if dtype == np.float32 else turns), layout)

    def oracle_static(self, increments, positions, layout="block", dtype=np.float32):
        turns = static_turns(positions, increments)
        return columns(waves(rounded(turns) if dtype == np.float32 else turns), layout)

    def test_its_name(self):
        assert self.engine.name == self.name

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize(("n", "d", "k"), SHAPES)
    @pytest.mark.parametrize("name", BASES)
    def test_dynamic_has_the_bits_of_the_oracle(self, name, n, d, k, layout):
        basis, x = basis_of(name, d, k), points(n, d)
        found = self.dynamic(basis, x, layout)
        assert digest(found) == digest(self.oracle_dynamic(basis, x, layout))

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("name", BASES)
    def test_blocks_that_mix_short_and_long_phases(self, name, layout):
        basis = basis_of(name, 8, 65)
        x = mixed_rows(basis, 203)
        found = self.dynamic(basis, x, layout)
        assert digest(found) == digest(self.oracle_dynamic(basis, x, layout))

    @pytest.mark.parametrize("name", BASES)
    def test_one_row_at_a_time(self, name):
        basis = basis_of(name, 8, 65)
        x = mixed_rows(basis, 203)
        alone = np.concatenate([self.dynamic(basis, x[i : i + 1]) for i in range(len(x))])
        assert digest(alone) == digest(self.dynamic(basis, x))

    @pytest.mark.parametrize("d", [1, 2, 4, 5, 9])
    def test_phases_in_the_middle_between_two_units(self, d):
        # Frequencies 1, 1/2, ... make phases of any binary fraction: exact middles of two
        # units of 2**-32 turn, which go up, and the nearest numbers on either side.
        mantissas = np.full((3, d), 2**61, dtype=np.int64) >> np.arange(d)
        table = FrequencyTable(mantissas, np.array([1, 2, 1], dtype=np.int64))
        middles = (2.0 * np.arange(-200, 200) + 1.0) * 2.0**-33
        first = np.concatenate([middles, np.nextafter(middles, 1), np.nextafter(middles, -1)])
        x = np.zeros((2 * len(first), d))
        x[:, 0] = np.concatenate([first, first + 5.0])
        x[::7, -1] += 3.0
        expected = rounded(defined_turns(table, x))
        turns = np.empty_like(expected)
        self.engine.dynamic_turns(table, x, turns)
        np.testing.assert_array_equal(turns, expected)
        out = np.empty((len(x), 6), dtype=np.float32)
        self.engine.features(table, x, out, Finish("block"))
        np.testing.assert_array_equal(bits(out), bits(columns(waves(expected), "block")))

    @pytest.mark.parametrize(
        ("d", "n"), [(1, 300), (2, 300), (4, 300), (5, 300), (9, 300), (64, 60)]
    )
    @pytest.mark.parametrize("name", ["paper", "table"])
    @pytest.mark.parametrize("scale", [1.0, 2.0**-6, 2.0**7])
    def test_phases_next_to_the_middle_between_two_units(self, name, d, n, scale):
        basis = basis_of(name, d, 7)
        x = rows_near_the_middle(basis.table, points(n, d) / 3.0 * scale)
        expected = rounded(defined_turns(basis.table, x))
        turns = np.empty_like(expected)
        self.engine.dynamic_turns(basis.table, x, turns)
        np.testing.assert_array_equal(turns, expected)
        np.testing.assert_array_equal(
            bits(self.dynamic(basis, x)), bits(columns(waves(expected), "block"))
        )

    @pytest.mark.parametrize("d", [2, 9])
    def test_one_phase_among_many_next_to_the_middle(self, d):
        basis = basis_of("paper", d, 65)
        x = rows_near_the_middle(basis.table, points(130, d) / 3.0)
        expected = rounded(defined_turns(basis.table, x))
        turns = np.empty_like(expected)
        self.engine.dynamic_turns(basis.table, x, turns)
        np.testing.assert_array_equal(turns, expected)

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

    @pytest.mark.parametrize("name", BASES)
    def test_turns_are_the_phases_of_the_oracle(self, name):
        basis = basis_of(name, 8, 65)
        x = mixed_rows(basis, 203)
        turns = np.empty((203, 65), dtype=np.uint32)
        self.engine.dynamic_turns(basis.table, x, turns)
        np.testing.assert_array_equal(turns, rounded(defined_turns(basis.table, x)))

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
        basis, x = basis_of("table", 8, 65), points(2000, 8)
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

    # One test run by several classes is the purpose here; examples are not replayed.
    @settings(max_examples=100, suppress_health_check=[HealthCheck.differing_executors])
    @given(
        name=st.sampled_from(BASES),
        d=st.sampled_from([1, 2, 3, 4, 5, 11]),
        unit=st.sampled_from([1.0, 2.0**-40, 2.0**12, 2.0**24]),
        data=st.data(),
    )
    def test_awkward_numbers(self, name, d, unit, data):
        basis = basis_of(name, d, 7)
        row = st.lists(awkward, min_size=d, max_size=d)
        x = np.array(data.draw(st.lists(row, min_size=1, max_size=5))) * unit
        assert digest(self.dynamic(basis, x)) == digest(self.oracle_dynamic(basis, x))

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize(("n", "d", "k"), SHAPES)
    def test_fast_is_close_to_exact(self, n, d, k, layout):
        basis = basis_of("table", d, k)
        # Phases up to 2**19 turns, within the range of "fast".
        x = points(n, d) * (2.0**19 / basis.table.l1_norms.max())
        x[::2] *= 2.0**-19
        fast = np.full((n, 2 * k), np.nan, dtype=np.float32)
        self.engine.features(basis.table, x, fast, Finish(layout), fast=True)
        errors = np.abs(fast.astype(np.float64) - self.dynamic(basis, x, layout))
        assert errors.max(initial=0.0) <= LARGEST_FAST_ERROR

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("n_sines", [0, 1, 20, 21])
    @pytest.mark.parametrize("amplitude", [0.3, np.linspace(0.1, 2.0, 21)], ids=["one", "each"])
    @pytest.mark.parametrize("d", [2, 7])
    @pytest.mark.parametrize("name", ["table", "hadamard"])
    def test_a_finish_is_the_waves_shifted_and_scaled(
        self, name, d, amplitude, n_sines, layout, dtype
    ):
        basis, x, k = basis_of(name, d, 21), points(30, d), 21
        offsets = np.arange(k, dtype=np.uint32) * np.uint32(0x9E3779B9)
        turns, shifts = defined_turns(basis.table, x, wide=dtype == np.float64), offsets
        if dtype == np.float32:
            turns = rounded(turns)
        else:
            shifts = offsets.astype(np.uint64) << np.uint64(32)
        cos, sin = (wave * np.asarray(amplitude, dtype) for wave in waves(turns + shifts))
        if layout == "block":
            expected = np.concatenate([cos, sin[:, :n_sines]], axis=1)
        else:
            pairs = columns((cos[:, :n_sines], sin[:, :n_sines]), layout)
            expected = np.concatenate([pairs, cos[:, n_sines:]], axis=1)
        found = np.full((len(x), k + n_sines), np.nan, dtype=dtype)
        self.engine.features(basis.table, x, found, Finish(layout, amplitude, offsets))
        np.testing.assert_array_equal(found, expected, strict=True)


def columns(pair: tuple[np.ndarray, np.ndarray], layout: str) -> np.ndarray:
    cos, sin = pair
    if layout == "block":
        return np.concatenate([cos, sin], axis=1)
    return np.stack([cos, sin], axis=2).reshape(len(cos), 2 * cos.shape[1])


def sample_positions(n: int) -> np.ndarray:
    """Small, huge and negative positions (in two's complement)."""
    small = np.arange(n, dtype=np.uint64)
    huge = primal.increments(n + 1, start=7)[:n]
    return np.where(small % np.uint64(2) == 0, small, huge)


def bits(z: np.ndarray) -> np.ndarray:
    return z.view(np.uint32 if z.dtype == np.float32 else np.uint64)
