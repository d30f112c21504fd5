"""Every instruction-set level that runs here, called explicitly, has the bits of the oracle."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from c_core import require_core
from engine_conformance import EngineConformance, basis_of, bits, mixed_rows, points

import primal
from primal import native
from primal.decoding import _compiled, _kernels
from primal.exact import BASES, Finish, HadamardTable, engine
from primal.exact._native import native_engine

LEVELS = native.levels() or ("none",)


@pytest.fixture(params=LEVELS)
def level(request):
    require_core()
    return native_engine(request.param)


class TestV3(EngineConformance):
    name = "native"
    level = "v3"

    @pytest.fixture(autouse=True)
    def _installed(self):
        if self.level not in native.levels():
            pytest.skip(f"this processor or build has no level {self.level}")

    @property
    def engine(self):
        return native_engine(self.level)


class TestBase(TestV3):
    level = "base"


@pytest.mark.parametrize("n_threads", ["1", "2", "7", "16"])
@pytest.mark.parametrize("name", BASES)
def test_threads_do_not_matter(level, name, n_threads, monkeypatch):
    basis = basis_of(name, 8, 513)
    x = mixed_rows(basis, 1201)
    expected = np.empty((1201, 1026), np.float32)
    engine("numpy").features(basis.table, x, expected, Finish("block"))
    monkeypatch.setenv("PRIMAL_THREADS", n_threads)
    found = np.empty_like(expected)
    level.features(basis.table, x, found, Finish("block"))
    np.testing.assert_array_equal(bits(found), bits(expected))


@pytest.mark.parametrize("d", [127, 128, 200])
@pytest.mark.parametrize("log2_turns", [2, 16, 30])
def test_products_of_both_kinds(level, d, log2_turns):
    basis = basis_of("kronecker", d, 37)
    x = points(41, d) / 3.0 * (2.0**log2_turns / basis.table.l1_norms.max())
    for dtype in (np.float32, np.float64):
        expected, found = (np.empty((41, 74), dtype) for _ in range(2))
        engine("numpy").features(basis.table, x, expected, Finish("interleaved"))
        level.features(basis.table, x, found, Finish("interleaved"))
        np.testing.assert_array_equal(bits(found), bits(expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 60, 64, 500, 1024, 4096])
def test_transforms_of_every_size(level, d, dtype):
    """Each size of a transform takes other passes."""
    table = HadamardTable.of("hadamard", d, d + 70, 0.3)
    x = points(19, d).astype(dtype)
    for wide in (np.float32, np.float64):
        expected, found = (np.empty((19, 2 * d + 140), wide) for _ in range(2))
        engine("numpy").features(table, x, expected, Finish("block"))
        level.features(table, x, found, Finish("block"))
        np.testing.assert_array_equal(bits(found), bits(expected))


def test_rows_of_a_table_that_begin_inside_a_block(level):
    table = HadamardTable.of("hadamard", 20, 1500, 0.3).rows(700, 1401)
    x = points(11, 20)
    expected, found = (np.empty((11, 1402), np.float32) for _ in range(2))
    engine("numpy").features(table, x, expected, Finish("interleaved"))
    level.features(table, x, found, Finish("interleaved"))
    np.testing.assert_array_equal(bits(found), bits(expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_adjoint_has_the_bits_of_numpy(level, dtype):
    table = HadamardTable.of("hadamard", 100, 300, 0.3)
    v = points(21, 300).astype(dtype)
    expected, found = (np.empty((21, 100), dtype) for _ in range(2))
    engine("numpy").adjoint(table, v, expected)
    level.adjoint(table, v, found)
    np.testing.assert_array_equal(bits(found), bits(expected))


def test_loops_of_the_decoder_have_the_bits_of_python(level, monkeypatch):
    core, rng = native.core(level.level), np.random.default_rng(5)
    monkeypatch.setenv("PRIMAL_ENGINE", "numpy")
    m, n = 9, 40
    results = []
    for compiled in (False, True):
        rng = np.random.default_rng(5)
        factor = np.tril(rng.normal(size=(m, m))) + 3.0 * np.eye(m)
        factor *= 0.02
        u, v = np.eye(m, dtype=np.int64), np.eye(m, dtype=np.int64)
        target, radius = rng.uniform(-0.5, 0.5, (n, m)), np.full(n, 1e6)

        def call(name, *arguments, compiled=compiled):
            if compiled:
                return getattr(_compiled, name)(core, *arguments)
            return getattr(_kernels, name)(*arguments)

        changes = call("reduce_rows", factor, u, v, 0.99, 4, 1000)
        found = [changes, factor, u, v]
        for n_kept, n_children in ((1, 1), (1, 2), (5, 3)):
            whole, costs = np.zeros((n, n_kept, m), np.int64), np.empty((n, n_kept))
            call("nearest_plane", factor, target, n_children, whole, costs)
            found += [whole, costs]
        whole, costs = np.zeros((n, 3, m), np.int64), np.full((n, 3), np.inf)
        found += [call("closest_points", factor, target, radius, 3000, whole, costs), whole, costs]
        results.append(found)
    for expected, actual in zip(*results, strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", BASES)
def test_layouts_of_the_input_do_not_matter(name):
    require_core()
    m = primal.DynamicPrime(8, 96, 0.3, basis=name)
    x = points(40, 8)
    expected = bits(m.encode(x))
    wide = np.zeros((40, 17))
    wide[:, 1::2] = x
    for same in (np.asfortranarray(x), wide[:, 1::2], x[::-1][::-1], x.astype(">f8")):
        np.testing.assert_array_equal(bits(m.encode(same)), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["static", *BASES])
def test_ten_million_outputs(level, name, monkeypatch):
    """Random inputs of all sizes, on all threads."""
    rng, k = np.random.default_rng(11), 512
    if name == "static":
        positions = rng.integers(0, 2**64, 10_000, dtype=np.uint64)
        expected, found = (np.empty((10_000, 2 * k), np.float32) for _ in range(2))
        for by, out in ((engine("numpy"), expected), (level, found)):
            by.static(primal.increments(k), positions, out, "block")
    else:
        basis = basis_of(name, 12, k)
        x = rng.standard_normal((10_000, 12)) * 2.0 ** rng.uniform(-20, 24, (10_000, 1))
        x /= basis.table.l1_norms.max()
        expected, found = (np.empty((10_000, 2 * k), np.float32) for _ in range(2))
        for by, out in ((engine("numpy"), expected), (level, found)):
            by.features(basis.table, x, out, Finish("block"))
    np.testing.assert_array_equal(bits(found), bits(expected))


@pytest.mark.slow
def test_memory_does_not_grow():
    require_core()
    resource = pytest.importorskip("resource")
    maps = [primal.DynamicPrime(8, 64, 0.1, basis=name) for name in ("kronecker", "hadamard")]
    x, s = points(2, 8), primal.StaticPrime(64)

    def calls(n: int) -> int:
        for _ in range(n):
            for m in maps:
                m.encode(x)
            s.encode([1, 2])
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = calls(3000)
    assert calls(31_000) - before < 4096  # kB, of 10**5 calls


def test_many_threads_may_load_the_library_at_once():
    require_core()
    native._loaded.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: native.core().level, range(64)))
    assert set(found) == {native.levels()[0]}
