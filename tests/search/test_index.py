"""Every engine finds the rows that a full comparison finds, ties and all, in bounded memory."""

import contextlib
import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import primal
from primal.engines import installed_engines
from primal.search import Index, similarity
from primal.search._codes import similarity_of_distances
from primal.search._rows import Rows
from primal.turns import phases_to_bits

KINDS = ["bits", "uint8-phase", "uint16-phase", "float16", "float32"]
needs_numba = pytest.mark.skipif("numba" not in installed_engines(), reason="needs numba")
SEARCHES = [
    *[(kind, "numpy") for kind in KINDS],
    *[(kind, "auto") for kind in KINDS],
    pytest.param("bits", "numba", marks=needs_numba),
]
# Small whole numbers: many rows are equal, so many similarities are.
GENERATOR = np.random.default_rng(0)
X = GENERATOR.integers(0, 3, (700, 4)).astype(np.float64)
QUERIES = np.concatenate([X[:20], GENERATOR.normal(1.0, 1.0, (17, 4))])


def make_map(D=54, **options):
    return primal.DynamicPrime(4, D, 0.2, basis="auto", **options)


def by_full_comparison(index, x, queries, n):
    """Compare all pairs one by one and sort by similarity, then index; as search returns it."""
    rows, codes = index.encode(x), index.encode(queries)
    if index.stored.startswith("float"):
        wide = rows.astype(np.float64)
        values = [(q * wide).sum(axis=1) / (rows.shape[1] / 2) for q in codes.astype(np.float64)]
        values = np.array(values)
    else:
        values = similarity(codes, rows, index.stored, n_frequencies=27)
    order = np.argsort(-values, axis=1, kind="stable")[:, :n]
    return np.take_along_axis(values, order, axis=1), order


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("primal.search._scan._BLOCK_SCORES", 1000)
    monkeypatch.setattr("primal.search._scan._EXACT_ENTRIES", 500)
    monkeypatch.setattr("primal.search._scan._QUERIES_AT_ONCE", 16)
    monkeypatch.setattr("primal.search._rows._PART_ROWS", 50)


@pytest.mark.parametrize(("kind", "engine"), SEARCHES)
class TestSearch:
    @pytest.fixture(autouse=True)
    def chosen(self, monkeypatch, engine):
        monkeypatch.setenv("PRIMAL_ENGINE", engine)

    @pytest.mark.parametrize("n", [1, 10, 700])
    def test_finds_what_a_full_comparison_finds(self, kind, engine, n):
        index = Index.from_vectors(X, make_map(), stored=kind)
        wanted = by_full_comparison(index, X, QUERIES, n)
        similarities, ids = index.search(QUERIES, n)
        np.testing.assert_array_equal(similarities, wanted[0])
        np.testing.assert_array_equal(ids, wanted[1])

    @pytest.mark.usefixtures("small_blocks")
    def test_in_small_blocks_and_batches(self, kind, engine):
        index = Index(make_map(), stored=kind)
        sizes = [1, 1, 2, 100, 30, 0, 466, 100]
        for end, size in zip(np.cumsum(sizes), sizes, strict=True):
            index.add(X[end - size : end])
        wanted = by_full_comparison(index, X, QUERIES, 12)
        for found, expected in zip(index.search(QUERIES, 12), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)

    def test_equal_rows_come_in_the_order_of_their_indices(self, kind, engine):
        index = Index.from_vectors(np.ones((500, 4)), make_map(), stored=kind)
        similarities, ids = index.search(np.ones((2, 4)), 30)
        np.testing.assert_array_equal(ids, np.tile(np.arange(30), (2, 1)))
        assert np.ptp(similarities) == 0.0

    def test_rows_added_after_a_search_are_found(self, kind, engine):
        index = Index.from_vectors(X[:300], make_map(), stored=kind)
        index.search(QUERIES, 5)
        index.add(X[300:])
        wanted = by_full_comparison(index, X, QUERIES, 5)
        np.testing.assert_array_equal(index.search(QUERIES, 5).ids, wanted[1])

    def test_no_queries(self, kind, engine):
        index = Index.from_vectors(X, make_map(), stored=kind)
        similarities, ids = index.search(np.empty((0, 4)), 3)
        assert ids.shape == similarities.shape == (0, 3)

    @pytest.mark.parametrize("n", [5, 6, 10**9])
    def test_fewer_rows_than_asked_for_are_all_returned(self, kind, engine, n):
        index = Index.from_vectors(X[:5], make_map(), stored=kind)
        wanted = by_full_comparison(index, X[:5], QUERIES, 5)
        for found, expected in zip(index.search(QUERIES, n), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
        similarities, ids = Index(make_map(), stored=kind).search(QUERIES, n)
        assert similarities.shape == ids.shape == (len(QUERIES), 0)

    def test_one_query(self, kind, engine):
        index = Index.from_vectors(X, make_map(), stored=kind)
        many = index.search(QUERIES[3:4], 7)
        for found, wanted in zip(index.search(QUERIES[3], 7), many, strict=True):
            assert found.shape == (7,)
            np.testing.assert_array_equal(found, wanted[0])
        code = index.encode(QUERIES[3])
        np.testing.assert_array_equal(index.search_codes(code, 7).ids, many.ids[0])
        assert Index(make_map(), stored=kind).search(QUERIES[3], 7).ids.shape == (0,)

    def test_ids_name_the_rows(self, kind, engine):
        ids = GENERATOR.permutation(10**6)[:700]
        plain = Index.from_vectors(X, make_map(), stored=kind)
        index = Index.from_vectors(X, make_map(), stored=kind, ids=ids)
        similarities, found = index.search(QUERIES, 40)
        wanted = plain.search(QUERIES, 40)
        np.testing.assert_array_equal(similarities, wanted.similarities)
        np.testing.assert_array_equal(found, ids[wanted.ids])

    def test_what_is_removed_is_not_found(self, kind, engine):
        index = Index(make_map(), stored=kind)
        for part in (slice(300), slice(300, 310), slice(310, 700)):
            index.add(X[part])
        index.search(QUERIES, 5)  # FAISS has its copy now
        gone = np.concatenate([np.arange(290, 305), [0, 699], np.arange(400, 500)])
        index.remove(gone)
        kept = np.setdiff1d(np.arange(700), gone)
        assert len(index) == len(kept)
        np.testing.assert_array_equal(index.ids, kept)
        fresh = Index.from_vectors(X[kept], make_map(), stored=kind)
        wanted = fresh.search(QUERIES, 50)
        similarities, ids = index.search(QUERIES, 50)
        np.testing.assert_array_equal(similarities, wanted.similarities)
        np.testing.assert_array_equal(ids, kept[wanted.ids])
        index.remove(kept)
        assert index.search(QUERIES, 5).ids.shape == (len(QUERIES), 0)
        index.add(X[:3])
        np.testing.assert_array_equal(index.ids, [700, 701, 702])  # never the same ones again
        assert set(index.search(X[0], 9).ids) == {700, 701, 702}


def test_numpy_needs_little_memory(monkeypatch):
    monkeypatch.setenv("PRIMAL_ENGINE", "numpy")
    m = primal.DynamicPrime(4, 64, 0.2, basis="auto")
    x = np.random.default_rng(0).normal(size=(100_000, 4))
    for kind in ("bits", "uint8-phase"):
        index = Index.from_vectors(x, m, stored=kind)
        queries = index.encode(x[:300])
        tracemalloc.start()
        index.search_codes(queries, 10)
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


class TestMaps:
    def test_a_static_map_is_searched_by_position(self):
        s = primal.StaticPrime(128)
        for kind in KINDS:
            index = Index.from_vectors(np.arange(1000), s, stored=kind)
            np.testing.assert_array_equal(index.search([3, 998], 1).ids, [[3], [998]])
            np.testing.assert_array_equal(index.search(998, 1).ids, [998])
        turns = np.unpackbits(Index(s).encode([5, -7]), axis=1, bitorder="little")
        z = primal.StaticPrime(128, layout="interleaved").encode([5, -7])
        np.testing.assert_array_equal(turns, z >= 0)

    def test_the_layout_does_not_matter(self):
        found = [
            Index.from_vectors(X, make_map(layout=layout), stored=kind).search(QUERIES, 1).ids
            for layout in ("block", "interleaved")
            for kind in ("bits", "uint8-phase")
        ]
        np.testing.assert_array_equal(found[0], found[2])
        np.testing.assert_array_equal(found[1], found[3])

    def test_features_of_scikit_learn(self):
        sklearn = pytest.importorskip("primal.sklearn")
        for gamma in (0.3, [0.1, 0.2, 0.3, 0.4]):
            features = sklearn.PrimeFeatures(512, gamma=gamma, method="growable").fit(X)
            index = Index.from_vectors(X, features, stored="uint8-phase")
            Z = features.transform(QUERIES) @ features.transform(X).T
            similarities, ids = index.search(QUERIES, 700)
            wanted = np.take_along_axis(Z, ids, axis=1)
            np.testing.assert_allclose(similarities, wanted, atol=5 * 0.0123 / 16)

    def test_features_with_weights_are_rejected(self):
        m = primal.KernelPrime(2, 64, method="lattice")
        with pytest.raises(primal.PrimalError, match="method='growable'"):
            Index(m)

    def test_features_that_are_not_pairs_are_refused(self):
        sklearn = pytest.importorskip("primal.sklearn")
        for options in ({"form": "offset"}, {"form": "pair", "n_components": 7}):
            features = sklearn.PrimeFeatures(**{"n_components": 8, **options}).fit(X)
            with pytest.raises(primal.errors.ParameterError, match="form='pair'"):
                Index(features)

    def test_a_spec_is_enough(self):
        index = Index.from_vectors(X, make_map().spec)
        np.testing.assert_array_equal(index.encode(X), Index(make_map()).encode(X))
        assert index.spec["map"] == make_map().spec

    @pytest.mark.parametrize(
        "m", [make_map(), primal.StaticPrime(54), primal.KernelPrime(4, 54, gamma=[1, 2, 3, 4])]
    )
    def test_an_index_has_a_spec_of_its_own(self, m):
        index = Index(m, stored="uint8-phase")
        again = primal.from_spec(json.loads(json.dumps(index.spec)))
        assert (again.spec, len(again)) == (index.spec, 0)
        x = np.arange(9) if isinstance(m, primal.StaticPrime) else X[:9]
        np.testing.assert_array_equal(again.encode(x), index.encode(x))
        for wrong in ({"stored": "int4"}, {"map": index.spec}, {"more": 1}):
            with pytest.raises(primal.PrimalError, match=r"stored|a map|more"):
                primal.from_spec({**index.spec, **wrong})

    @pytest.mark.parametrize("layout", ["block", "interleaved"])
    def test_waves_are_those_of_the_map(self, layout):
        m = make_map(layout=layout)
        np.testing.assert_array_equal(Index(m, stored="float32").encode(X), m.encode(X))
        s = primal.StaticPrime(54, layout=layout)
        np.testing.assert_array_equal(Index(s, stored="float32").encode(range(99)), s.waves(99))

    def test_other_things_are_refused(self):
        for wrong in (3, "bits", None):
            with pytest.raises(primal.errors.ParameterError, match="got"):
                Index(wrong)
        with pytest.raises(primal.errors.SpecError, match="needs the spec of a map"):
            Index(primal.codebook(4, 8).spec)


class TestRerank:
    def test_a_second_look_orders_by_its_own_codes(self):
        bits, phases = (Index.from_vectors(X, make_map(), stored=c) for c in KINDS[:2])
        candidates = bits.search(QUERIES, 60).ids
        similarities, ids = phases.rerank(QUERIES, candidates, 5)
        codes, rows = phases.encode(QUERIES), phases.encode(X)
        for q in range(len(QUERIES)):
            among = np.sort(candidates[q])
            values = similarity(codes[q : q + 1], rows[among], "uint8-phase")[0]
            order = np.argsort(-values, kind="stable")[:5]
            np.testing.assert_array_equal(ids[q], among[order])
            np.testing.assert_array_equal(similarities[q], values[order])

    def test_all_candidates_is_a_search(self):
        index = Index.from_vectors(X, make_map(), stored="uint8-phase")
        every = np.tile(np.arange(700)[::-1], (len(QUERIES), 1))
        for found, wanted in zip(
            index.rerank(QUERIES, every, 9), index.search(QUERIES, 9), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)

    def test_wrong_candidates_are_refused(self):
        index = Index.from_vectors(X, make_map())
        for wrong, said in (
            ([[700]], "no row of the index has the id 700"),
            ([[0, -1]], "the id -1"),
            ([[0.5]], "whole numbers"),
            ([0], "candidates must be"),
            ([[0], [1]], "candidates must be"),
        ):
            with pytest.raises(primal.errors.DataError, match=said):
                index.rerank(QUERIES[:1], np.array(wrong), 1)
        assert index.rerank(QUERIES[:1], [[0, 1]], 3).ids.shape == (1, 2)

    def test_candidates_are_ids(self):
        ids = np.arange(700)[::-1] * 10
        bits, phases = (Index.from_vectors(X, make_map(), stored=c, ids=ids) for c in KINDS[:2])
        candidates = bits.search(QUERIES, 60).ids
        plain = Index.from_vectors(X, make_map(), stored=KINDS[1])
        wanted = plain.rerank(QUERIES, 699 - candidates // 10, 5)
        np.testing.assert_array_equal(
            phases.rerank(QUERIES, candidates, 5).similarities, wanted.similarities
        )
        one = phases.rerank(QUERIES[2], candidates[2], 5)
        np.testing.assert_array_equal(one.ids, ids[wanted.ids[2]])


class TestIds:
    def test_rows_do_not_count_on_beyond_the_largest_id(self):
        index = Index.from_vectors(X[:2], make_map(), ids=[3, 2**63 - 2])
        with pytest.raises(primal.errors.DataError, match="beyond 2\\*\\*63 - 2: give those of"):
            index.add(X[:1])
        index.add(X[2:3], ids=[4])
        np.testing.assert_array_equal(index.ids, [3, 2**63 - 2, 4])
        assert index.search(X[2], 3).ids.dtype == index.ids.dtype == np.int64

    def test_rows_without_ids_count_on(self):
        index = Index(make_map())
        index.add(X[:3])
        index.add(X[3:5], ids=[100, 7])
        index.add(X[5])
        np.testing.assert_array_equal(index.ids, [0, 1, 2, 100, 7, 101])
        index.add_codes(index.encode(X[6:8]), ids=[50, 51])
        index.add_codes(index.encode(X[8]))
        np.testing.assert_array_equal(index.ids, [0, 1, 2, 100, 7, 101, 50, 51, 102])
        assert index.ids.dtype == np.int64

    def test_one_id_for_one_vector(self):
        index = Index.from_vectors(X[:2], make_map())
        index.add(X[2], ids=9)
        index.remove(0)
        np.testing.assert_array_equal(index.ids, [1, 9])

    @pytest.mark.parametrize(
        ("ids", "said"),
        [
            ([5, 5], "5 twice"),
            ([5, 1], "a row with the id 1 is there already"),
            ([5], r"each of 2 rows, got shape \(1,\)"),
            ([[5, 6]], "got shape"),
            ([5, -1], "from 0 to"),
            ([5, 2**63 - 1], "from 0 to"),
            (np.array([5, 2**63], dtype=np.uint64), "whole numbers below"),
            ([5.0, 6.0], "whole numbers below .*float64"),
            (["a", "b"], "whole numbers below"),
        ],
    )
    def test_wrong_ids_change_nothing(self, ids, said):
        index = Index.from_vectors(X[:3], make_map())
        with pytest.raises(primal.errors.DataError, match=said):
            index.add(X[3:5], ids=ids)
        assert len(index) == 3
        np.testing.assert_array_equal(index.ids, [0, 1, 2])

    def test_unknown_ids_remove_nothing(self):
        index = Index.from_vectors(X[:3], make_map())
        with pytest.raises(primal.errors.DataError, match="no row of the index has the id 3"):
            index.remove([0, 3])
        assert len(index) == 3
        index.remove([])
        index.remove([1, 1])
        np.testing.assert_array_equal(index.ids, [0, 2])

    def test_rows_added_after_a_look_at_the_ids(self):
        index = Index.from_vectors(X[:3], make_map())
        index.rerank(X[0], [0, 1, 2], 1)
        index.add(X[3:5])
        assert index.rerank(X[4], [0, 4], 1).ids.tolist() == [4]
        index.remove([0, 4])
        index.rerank(X[1], [1, 2], 1)
        index.add(X[4], ids=77)
        assert index.rerank(X[4], [1, 77], 1).ids.tolist() == [77]
        index.remove(77)
        assert index.ids.tolist() == [1, 2, 3]

    def test_many_small_batches(self):
        ids = np.random.default_rng(0).permutation(5000)[:600]
        index = Index(make_map())
        for i in range(600):
            index.add(X[i], ids=ids[i])
        np.testing.assert_array_equal(index.ids, ids)
        assert len(index._ids._stored.parts) <= 11


class TestRefusals:
    def test_no_neighbors(self):
        with pytest.raises(primal.errors.ParameterError, match="n_neighbors"):
            Index.from_vectors(X, make_map()).search(QUERIES, 0)

    def test_codes_of_another_map(self):
        other = phases_to_bits(primal.DynamicPrime(4, 80).turns(X))
        index = Index.from_vectors(X, make_map())
        with pytest.raises(primal.errors.DataError, match="7 columns for 27 frequencies, got 10"):
            index.add_codes(other)
        with pytest.raises(primal.errors.DataError, match="7 columns"):
            index.search_codes(other, 1)
        waves = Index(make_map(), stored="float32")
        with pytest.raises(primal.errors.DataError, match="row 1 of codes has the squared length"):
            waves.add_codes(make_map().encode(X[:2]) * np.float32([[1], [2]]))

    def test_vectors_of_another_size(self):
        index = Index.from_vectors(X, make_map())
        with pytest.raises(primal.errors.DataError, match="4 values along its last axis"):
            index.search(np.zeros((2, 5)), 1)
        with pytest.raises(
            primal.errors.DataError, match=r"shape \(n, 4\) or \(4,\), got \(1, 1, 4\)"
        ):
            index.search(np.zeros((1, 1, 4)), 1)
        with pytest.raises(primal.errors.DataError, match="nan at row 0, column 1"):
            index.add([[0.0, np.nan, 0.0, 0.0]])


def test_added_codes_may_change_afterwards():
    codes = Index(make_map()).encode(X)
    index = Index(make_map())
    index.add_codes(codes)
    codes[:] = 0
    np.testing.assert_array_equal(index.search(X[5], 1).similarities, [1.0])


def test_importing_the_room_loads_nothing_heavy():
    code = "import sys, primal.search\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numba", "faiss", "sklearn", "pyarrow", "torch"}
    assert not heavy & {name.partition(".")[0] for name in done.stdout.split()}


def test_faiss_takes_the_codes_as_they_are():
    faiss = pytest.importorskip("faiss")
    index = Index.from_vectors(X, primal.DynamicPrime(4, 64, 0.2))
    theirs = faiss.IndexBinaryFlat(64)
    theirs.add(index.encode(X))
    distances, _ = theirs.search(index.encode(QUERIES), 5)
    expected = similarity_of_distances(32)[distances]
    np.testing.assert_array_equal(index.search(QUERIES, 5).similarities, expected)


class _TooLarge(np.ndarray):
    """Codes of which no copy fits into memory."""

    def __getitem__(self, key):
        raise MemoryError


class TestTooLittleMemory:
    """An index is as before, or has the new rows: never ids without rows."""

    def same(self, index, x):
        fresh = Index.from_vectors(x, make_map())
        assert len(index) == len(index.ids) == len(x)
        for found, wanted in zip(index.search(QUERIES, 9), fresh.search(QUERIES, 9), strict=True):
            np.testing.assert_array_equal(found, wanted)

    @pytest.mark.parametrize("ids", [None, np.arange(300, 600)])
    def test_adding(self, monkeypatch, ids):
        def fails(*_, **__):
            raise MemoryError

        index = Index.from_vectors(X[:300], make_map())
        with monkeypatch.context() as patch, contextlib.suppress(MemoryError):
            patch.setattr(np, "concatenate", fails)
            index.add(X[300:600], ids)
        self.same(index, X[: len(index)])
        index.add(X[len(index) :])
        self.same(index, X)

    def test_removing(self):
        index = Index.from_vectors(X, make_map())
        good = index._rows.parts
        index._rows.parts = [part.view(_TooLarge) for part in good]
        with pytest.raises(MemoryError):
            index.remove([3])
        index._rows.parts = index._rows.parts and good
        self.same(index, X)
