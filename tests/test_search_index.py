"""Every engine finds the rows that a full comparison finds, ties and all, in bounded memory."""

import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import primal
from primal.engines import installed_engines
from primal.search import Index, similarity, waves_to_bits
from primal.search._faiss import faiss_installed
from primal.search._rows import Rows

KINDS = ["bits", "uint8-phase", "uint16-phase", "float16", "float32"]
needs_numba = pytest.mark.skipif("numba" not in installed_engines(), reason="needs numba")
needs_faiss = pytest.mark.skipif(not faiss_installed(), reason="needs faiss-cpu")
SEARCHES = [
    *[(kind, "numpy") for kind in KINDS],
    *[(kind, "auto") for kind in KINDS],
    pytest.param("bits", "numba", marks=needs_numba),
    *[pytest.param(kind, "faiss", marks=needs_faiss) for kind in ("bits", "float16", "float32")],
]
# Small whole numbers: many rows are equal, so many similarities are.
GENERATOR = np.random.default_rng(0)
X = GENERATOR.integers(0, 3, (700, 4)).astype(np.float64)
QUERIES = np.concatenate([X[:20], GENERATOR.normal(1.0, 1.0, (17, 4))])


def make_map(D=54, **options):
    return primal.DynamicPrime(4, D, 0.2, basis="auto", **options)


def by_full_comparison(index, x, queries, n):
    """Compare all pairs one by one and sort by similarity, then index."""
    rows, codes = index.encode(x), index.encode(queries)
    if index.codes.startswith("float"):
        wide = rows.astype(np.float64)
        values = [(q * wide).sum(axis=1) / (rows.shape[1] / 2) for q in codes.astype(np.float64)]
        values = np.array(values)
    else:
        values = similarity(codes, rows, index.codes, n_frequencies=27)
    order = np.argsort(-values, axis=1, kind="stable")[:, :n]
    return order, np.take_along_axis(values, order, axis=1)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("primal.search._scan._BLOCK_SCORES", 1000)
    monkeypatch.setattr("primal.search._scan._EXACT_ENTRIES", 500)
    monkeypatch.setattr("primal.search._engines._QUERIES_AT_ONCE", 16)
    monkeypatch.setattr("primal.search._rows._PART_ROWS", 50)


@pytest.mark.parametrize(("kind", "engine"), SEARCHES)
class TestSearch:
    @pytest.mark.parametrize("n", [1, 10, 700])
    def test_finds_what_a_full_comparison_finds(self, kind, engine, n):
        index = Index.from_vectors(X, make_map(), codes=kind)
        wanted = by_full_comparison(index, X, QUERIES, n)
        indices, similarities = index.search(QUERIES, n, engine=engine)
        np.testing.assert_array_equal(indices, wanted[0])
        np.testing.assert_array_equal(similarities, wanted[1])

    @pytest.mark.usefixtures("small_blocks")
    def test_in_small_blocks_and_batches(self, kind, engine):
        index = Index(make_map(), codes=kind)
        sizes = [1, 1, 2, 100, 30, 0, 466, 100]
        for end, size in zip(np.cumsum(sizes), sizes, strict=True):
            index.add(X[end - size : end])
        wanted = by_full_comparison(index, X, QUERIES, 12)
        for found, expected in zip(index.search(QUERIES, 12, engine=engine), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)

    def test_equal_rows_come_in_the_order_of_their_indices(self, kind, engine):
        index = Index.from_vectors(np.ones((500, 4)), make_map(), codes=kind)
        indices, similarities = index.search(np.ones((2, 4)), 30, engine=engine)
        np.testing.assert_array_equal(indices, np.tile(np.arange(30), (2, 1)))
        assert np.ptp(similarities) == 0.0

    def test_rows_added_after_a_search_are_found(self, kind, engine):
        index = Index.from_vectors(X[:300], make_map(), codes=kind)
        index.search(QUERIES, 5, engine=engine)
        index.add(X[300:])
        wanted = by_full_comparison(index, X, QUERIES, 5)
        np.testing.assert_array_equal(index.search(QUERIES, 5, engine=engine)[0], wanted[0])

    def test_no_queries(self, kind, engine):
        index = Index.from_vectors(X, make_map(), codes=kind)
        indices, similarities = index.search(np.empty((0, 4)), 3, engine=engine)
        assert indices.shape == similarities.shape == (0, 3)


def test_numpy_needs_little_memory():
    m = primal.DynamicPrime(4, 64, 0.2, basis="auto")
    x = np.random.default_rng(0).normal(size=(100_000, 4))
    for kind in ("bits", "uint8-phase"):
        index = Index.from_vectors(x, m, codes=kind)
        queries = index.encode(x[:300])
        tracemalloc.start()
        index.search_codes(queries, 10, engine="numpy")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 60e6  # all similarities would take 240 MB


def test_many_small_batches_make_few_parts():
    rows = Rows()
    for i in range(1000):
        rows.append(np.full((1, 2), i))
    assert len(rows) == 1000
    assert len(rows.parts) <= 11
    order = np.random.default_rng(0).permutation(1000)
    np.testing.assert_array_equal(rows.at(order)[:, 0], order)
    np.testing.assert_array_equal(np.concatenate(rows.since(777))[:, 0], np.arange(777, 1000))


class TestMaps:
    def test_a_static_map_is_searched_by_position(self):
        s = primal.StaticPrime(128)
        for kind in KINDS:
            index = Index.from_vectors(np.arange(1000), s, codes=kind)
            np.testing.assert_array_equal(index.search([3, 998], 1)[0], [[3], [998]])
        turns = np.unpackbits(Index(s).encode([5, -7]), axis=1, bitorder="little")
        z = primal.StaticPrime(128, layout="interleaved").encode([5, -7])
        np.testing.assert_array_equal(turns, z >= 0)

    def test_the_layout_does_not_matter(self):
        found = [
            Index.from_vectors(X, make_map(layout=layout), codes=kind).search(QUERIES, 1)[0]
            for layout in ("block", "interleaved")
            for kind in ("bits", "uint8-phase")
        ]
        np.testing.assert_array_equal(found[0], found[2])
        np.testing.assert_array_equal(found[1], found[3])

    def test_features_of_scikit_learn(self):
        sklearn = pytest.importorskip("primal.sklearn")
        for gamma in (0.3, [0.1, 0.2, 0.3, 0.4]):
            features = sklearn.PrimeFeatures(512, gamma=gamma).fit(X)
            index = Index.from_vectors(X, features, codes="uint8-phase")
            Z = features.transform(QUERIES) @ features.transform(X).T
            indices, similarities = index.search(QUERIES, 700)
            wanted = np.take_along_axis(Z, indices, axis=1)
            np.testing.assert_allclose(similarities, wanted, atol=5 * 0.0123 / 16)

    def test_features_that_are_not_pairs_are_refused(self):
        sklearn = pytest.importorskip("primal.sklearn")
        for options in ({"form": "offset"}, {"form": "pair", "n_components": 7}):
            features = sklearn.PrimeFeatures(**{"n_components": 8, **options}).fit(X)
            with pytest.raises(primal.OptionError, match="form='pair'"):
                Index(features)

    def test_a_spec_is_enough(self):
        index = Index.from_vectors(X, make_map().spec)
        np.testing.assert_array_equal(index.encode(X), Index(make_map()).encode(X))
        assert index.spec["map"] == make_map().spec

    def test_other_things_are_refused(self):
        for wrong in (3, "bits", None):
            with pytest.raises(primal.OptionError, match="got"):
                Index(wrong)
        with pytest.raises(primal.SpecError, match="needs the spec of a map"):
            Index(primal.codebook(4, 8).spec)


class TestRerank:
    def test_a_second_look_orders_by_its_own_codes(self):
        bits, phases = (Index.from_vectors(X, make_map(), codes=c) for c in KINDS[:2])
        candidates, _ = bits.search(QUERIES, 60)
        indices, similarities = phases.rerank(QUERIES, candidates, 5)
        codes, rows = phases.encode(QUERIES), phases.encode(X)
        for q in range(len(QUERIES)):
            among = np.sort(candidates[q])
            values = similarity(codes[q : q + 1], rows[among], "uint8-phase")[0]
            order = np.argsort(-values, kind="stable")[:5]
            np.testing.assert_array_equal(indices[q], among[order])
            np.testing.assert_array_equal(similarities[q], values[order])

    def test_all_candidates_is_a_search(self):
        index = Index.from_vectors(X, make_map(), codes="uint8-phase")
        every = np.tile(np.arange(700)[::-1], (len(QUERIES), 1))
        for found, wanted in zip(
            index.rerank(QUERIES, every, 9), index.search(QUERIES, 9), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)

    def test_wrong_candidates_are_refused(self):
        index = Index.from_vectors(X, make_map())
        for wrong in ([[700]], [[-1]], [[0.5]], [0], [[0], [1]]):
            with pytest.raises(primal.DataError, match="candidates must be"):
                index.rerank(QUERIES[:1], np.array(wrong), 1)
        with pytest.raises(primal.DimensionError, match="2 candidates"):
            index.rerank(QUERIES[:1], np.array([[0, 1]]), 3)


class TestRefusals:
    def test_more_neighbours_than_rows(self):
        with pytest.raises(primal.DimensionError, match="more than the 0 rows"):
            Index(make_map()).search(QUERIES, 1)
        with pytest.raises(primal.DimensionError, match="n_neighbours"):
            Index.from_vectors(X, make_map()).search(QUERIES, 0)

    def test_an_engine_that_cannot(self):
        index = Index.from_vectors(X, make_map(), codes="uint8-phase")
        for engine in ("numba", "faiss"):
            with pytest.raises(primal.EngineError, match="use 'numpy'"):
                index.search(QUERIES, 1, engine=engine)
        with pytest.raises(primal.OptionError, match="'faiss', got 'gpu'"):
            index.search(QUERIES, 1, engine="gpu")

    def test_a_package_that_is_not_there(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "faiss", None)
        with pytest.raises(primal.MissingPackageError, match=r"primal-features\[search\]"):
            Index.from_vectors(X, make_map()).search(QUERIES, 1, engine="faiss")

    def test_codes_of_another_map(self):
        other = waves_to_bits(primal.DynamicPrime(4, 80).turns(X))
        index = Index.from_vectors(X, make_map())
        with pytest.raises(primal.DataError, match="7 columns for 27 frequencies, got 10"):
            index.add_codes(other)
        with pytest.raises(primal.DataError, match="7 columns"):
            index.search_codes(other, 1)
        waves = Index(make_map(), codes="float32")
        with pytest.raises(primal.DataError, match="row 1 of codes has the squared length"):
            waves.add_codes(make_map().encode(X[:2]) * np.float32([[1], [2]]))

    def test_vectors_of_another_size(self):
        index = Index.from_vectors(X, make_map())
        with pytest.raises(primal.DataError, match="4 values along its last axis"):
            index.search(np.zeros((2, 5)), 1)
        with pytest.raises(primal.DataError, match=r"shape \(n, 4\), got \(4,\)"):
            index.search(np.zeros(4), 1)
        with pytest.raises(primal.DataError, match="nan at row 0, column 1"):
            index.add([[0.0, np.nan, 0.0, 0.0]])


def test_added_codes_may_change_afterwards():
    codes = Index(make_map()).encode(X)
    index = Index(make_map())
    index.add_codes(codes)
    codes[:] = 0
    np.testing.assert_array_equal(index.search(X[5:6], 1)[1], [[1.0]])


def test_importing_the_room_loads_nothing_heavy():
    code = "import sys, primal.search\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numba", "faiss", "sklearn", "pyarrow", "torch"}
    assert not heavy & {name.partition(".")[0] for name in done.stdout.split()}


@needs_faiss
@pytest.mark.parametrize("order", ["import torch, faiss", "import faiss, torch"])
def test_faiss_and_torch_work_in_one_process(order):
    pytest.importorskip("torch")
    code = f"""
{order}
import numpy as np, primal
from primal.search import Index
x = np.random.default_rng(0).normal(size=(3000, 4))
a = torch.ones(400, 400)
for kind in ("bits", "float32"):
    index = Index.from_vectors(x, primal.DynamicPrime(4, 64, 0.2), codes=kind)
    b = a @ a  # both libraries start their threads
    found = index.search(x[:40], 2, engine="faiss")
    assert np.array_equal(found[0], index.search(x[:40], 2, engine="numpy")[0])
    assert (a @ a == b).all()
"""
    # Waiting threads that spin would take minutes on a busy machine.
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
