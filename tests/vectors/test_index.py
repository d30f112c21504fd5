"""Search, ids, files and rejected inputs of an index."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise, product

import numpy as np
import pytest
from vector_rows import rows_of

import primal
from primal.errors import DataError, ParameterError, SpecError
from primal.vectors import Index, Neighbors, VectorCodes, _index
from primal.vectors import _definition as definition


def sample(n=300, d=24, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) + 1.5


def filled(x, bits=4, metric="l2", **options):
    index = Index(VectorCodes(x.shape[1], bits, metric).fit(x), **options)
    index.add(x)
    return index


def by_definition(codes, x, q, k, among=None):
    """Scores and row numbers of one query by the definition, from a full sort."""
    rows, query = codes.encode(x), codes._query(q[None])
    levels = definition.levels_of(rows.codes, codes.bits)
    scores = definition.scores(levels, *rows[1:], query.words, query.twice)[0]
    scores = scores + query.offsets[0]
    if codes.metric != "l2":
        scores = scores / 2 - (codes.metric == "cosine")
    order = np.argsort(scores, kind="stable")
    if among is not None:
        order = order[among[order]]
    order = order[:k]
    return np.abs(scores[order]), order


@pytest.mark.parametrize(("bits", "metric"), [*product((1, 2, 4, 8), ("cosine", "l2", "ip"))])
@pytest.mark.parametrize("d", [1, 5, 64, 100])
def test_search_equals_a_full_sort(bits, metric, d):
    x = sample(200, d)
    x[50:60] = x[40]  # ties
    index, mask = filled(x, bits, metric), np.arange(200) % 3 == 1
    for q in (x[40], x[3] + 0.1):
        for k, among in ((1, None), (15, None), (500, None), (9, mask), (500, mask)):
            expected = by_definition(index.codes, x, q, k, among)
            found = index.search(q, k, among=among)
            np.testing.assert_array_equal(found.ids, expected[1])
            np.testing.assert_array_equal(np.abs(found.scores), expected[0])


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
def test_scores_estimate_the_metric(metric):
    x, q = sample(100, 64), sample(5, 64, 1)
    found = filled(x, 8, metric).search(q, 100)
    exact = q @ x.T
    if metric == "cosine":
        exact /= np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(x, axis=1)
    if metric == "l2":
        exact = ((q[:, None] - x) ** 2).sum(axis=2)
    exact = np.take_along_axis(exact, found.ids, axis=1)
    np.testing.assert_allclose(found.scores, exact, atol=0.01 * np.abs(exact).max())
    order = np.sort(found.scores, axis=1)
    np.testing.assert_array_equal(found.scores, order if metric == "l2" else order[:, ::-1])


def test_shapes_and_few_rows():
    x = sample(7)
    index = filled(x)
    assert isinstance(index.search(x[0]), Neighbors)
    assert index.search(x[0], 3).ids.shape == (3,)
    assert index.search(x[:2], 3).scores.shape == (2, 3)
    assert sorted(index.search(x[0], 100).ids.tolist()) == list(range(7))
    assert index.search(x[:0], 3).ids.shape == (0, 3)
    assert index.search(x[0], 3, among=[]).ids.shape == (0,)
    assert index.search(x[0], 3, among=np.zeros(7, dtype=bool)).ids.shape == (0,)
    empty = Index(VectorCodes(24))
    assert empty.search(x[:2]).ids.shape == (2, 0)
    assert len(empty) == 0
    empty.add(x[:0])
    empty.remove([])
    assert len(empty) == 0


def test_rows_are_the_same_in_any_batches(monkeypatch):
    monkeypatch.setattr(_index, "_PART_ROWS", 64)
    x, q = sample(), sample(5, seed=1)
    whole = filled(x)
    pieces = Index(whole.codes)
    ends = [0, 1, 2, 3, 10, 100, 101, 300]
    for first, last in pairwise(ends):
        pieces.add(x[first:last])
    sizes = [len(part[0]) for part in pieces._parts]
    assert max(sizes) <= 64
    assert len(sizes) < 9
    for a, b in zip(whole.search(q, 20), pieces.search(q, 20), strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_query_or_many_and_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(_index, "_PIECE_BYTES", 1)
    monkeypatch.setattr(_index, "_MOST_QUERIES", 4)
    x, q = sample(), sample(11, seed=1)
    index = filled(x)
    monkeypatch.setenv("PRIMAL_THREADS", "1")
    alone = [index.search(row, 7) for row in q]
    monkeypatch.setenv("PRIMAL_THREADS", "5")
    together = index.search(q, 7)
    np.testing.assert_array_equal(together.ids, [found.ids for found in alone])
    np.testing.assert_array_equal(together.scores, [found.scores for found in alone])


def test_ids():
    x = sample(10)
    index = Index(VectorCodes(24))
    index.add(x[:4])
    assert index.ids.tolist() == [0, 1, 2, 3]
    index.add(x[4:6], ids=[70, 5])
    index.add(x[6:8])
    assert index.ids.tolist() == [0, 1, 2, 3, 70, 5, 71, 72]
    assert index.search(x[4], 1).ids == [70]
    index.remove([72, 1])
    assert index.ids.tolist() == [0, 2, 3, 70, 5, 71]
    index.add(x[8:9])  # an id is not given twice
    assert index.ids.tolist()[-1] == 73
    assert sorted(index.search(x[4], 9, among=[5, 70]).ids.tolist()) == [5, 70]
    index.remove(index.ids)
    assert len(index) == 0
    index.add(x[:1])
    assert index.ids.tolist() == [74]


@pytest.mark.parametrize(
    "ids", [[1], [1, 1], [0, 9], [-1, 5], [0.5, 1.5], ["a", "b"], [[1, 2]], [2**63 - 1, 1], None]
)
def test_wrong_rows_and_ids_add_nothing(ids):
    x = sample(12)
    index = filled(x[:10])
    before = index.search(x[0], 10)
    bad = x[10:].copy()
    if ids is None:
        for value in (np.nan, np.inf, 1e20):
            bad[1, 3] = value
            with pytest.raises(DataError, match="row 1" if value != 1e20 else "row 1 is too long"):
                index.add(bad)
    else:
        with pytest.raises(DataError):
            index.add(bad, ids=ids)
    assert len(index) == 10
    for a, b in zip(before, index.search(x[0], 10), strict=True):
        np.testing.assert_array_equal(a, b)
    index.add(x[10:])
    assert index.ids.tolist() == list(range(12))


def test_a_late_wrong_row_adds_nothing(monkeypatch):
    monkeypatch.setattr(_index, "_PART_ROWS", 8)
    x = sample(40)
    x[37, 0] = 1e25
    index = Index(VectorCodes(24, metric="l2"))
    with pytest.raises(DataError, match="row 37 is too long"):
        index.add(x)
    assert len(index) == 0


def test_missing_ids_and_wrong_masks():
    x = sample(10)
    index = filled(x)
    for wrong in ([3, 10], [-1], 77):
        with pytest.raises(DataError, match="must be ids of the index"):
            index.remove(wrong)
        with pytest.raises(DataError, match="must be ids of the index"):
            index.search(x[0], among=wrong)
    with pytest.raises(DataError, match="a mask needs 10 entries"):
        index.search(x[0], among=np.array([True, False]))
    assert len(index) == 10


def test_wrong_parameters():
    for wrong in ({"bits": 3}, {"bits": 16}, {"metric": "dot"}, {"center": [1.0]}):
        with pytest.raises((ParameterError, DataError)):
            VectorCodes(24, **wrong)
    for d in (0, 8193, 2.5, None):
        with pytest.raises(ParameterError):
            VectorCodes(d)
    with pytest.raises(DataError):
        VectorCodes(2, metric="l2").fit([[1e300, 1.0]])
    with pytest.raises(DataError):
        VectorCodes(2).fit(np.empty((0, 2)))
    with pytest.raises(ParameterError):
        Index("codes")
    with pytest.raises(ParameterError):
        Index(VectorCodes(2), rescore=VectorCodes(3))
    with pytest.raises(ParameterError):
        Index(VectorCodes(2), rescore=VectorCodes(2, metric="l2"))
    index = filled(np.eye(2))
    for wrong in ([1.0], [[[1.0, 2.0]]], [np.nan, 0.0], [1e300, 0.0], "q"):
        with pytest.raises(DataError):
            index.search(wrong)
    with pytest.raises(ParameterError):
        index.search([1.0, 2.0], 0)


def test_two_stages():
    x, q = sample(400, 48), sample(20, 48, 1)
    index = filled(x, 2, "cosine", rescore=VectorCodes(48, 8).fit(x))
    fine = filled(x, 8, "cosine")
    found, best = index.search(q, 5), fine.search(q, 5)
    assert np.mean(found.ids == best.ids) > 0.9
    same = found.ids == best.ids
    np.testing.assert_array_equal(found.scores[same], best.scores[same])
    for a, b in zip(index.search(q, 400), fine.search(q, 400), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("two_stages", [False, True])
@pytest.mark.parametrize("with_ids", [False, True])
@pytest.mark.parametrize("mapped", [False, True])
def test_saved_indexes(tmp_path, two_stages, with_ids, mapped):
    x, q = sample(100), sample(3, seed=1)
    rescore = VectorCodes(24, 8, "l2").fit(x) if two_stages else None
    index = Index(VectorCodes(24, 2, "l2").fit(x), rescore=rescore, oversample=3)
    index.save(tmp_path / "empty")
    assert len(Index.load(tmp_path / "empty", mapped=mapped)) == 0
    index.add(x[:50])
    index.add(x[50:], ids=np.arange(50, 100)[::-1] if with_ids else None)
    index.save(tmp_path / "index.safetensors")
    again = Index.load(tmp_path / "index.safetensors", mapped=mapped, verify=True)
    assert isinstance(again._parts[0][0].base, np.memmap) or not mapped
    for a, b in zip(index.search(q, 9), again.search(q, 9), strict=True):
        np.testing.assert_array_equal(a, b)
    again.remove(again.ids[:60])
    again.add(x[:5])
    assert again.ids.tolist()[-5:] == [100, 101, 102, 103, 104]
    again.save(tmp_path / "index.safetensors")
    assert Index.load(tmp_path / "index.safetensors").search(x[0], 1).ids == [100]


def test_a_file_is_what_the_specification_says(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    x = sample(30)
    index = filled(x, 2, "ip", rescore=VectorCodes(24, 8, "ip"))
    index.save(tmp_path / "index")
    arrays = safetensors.load_file(tmp_path / "index")
    rows = [*index.codes.encode(x), *VectorCodes(24, 8, "ip").encode(x)]
    names = ["codes", "factors", "offsets", "codes2", "factors2", "offsets2"]
    assert sorted(arrays) == sorted(names)
    for name, expected in zip(names, rows, strict=True):
        np.testing.assert_array_equal(arrays[name], expected)
    header = (tmp_path / "index").read_bytes()[8:]
    spec = json.JSONDecoder().raw_decode(header.decode("latin1"))[0]["__metadata__"]["primal"]
    fields = json.loads(spec)
    assert fields["codes"] == index.codes.spec
    assert {name: fields[name] for name in ("type", "version", "oversample", "next_id")} == {
        "type": "Index", "version": 1, "oversample": 4, "next_id": 30
    }  # fmt: skip


def test_files_of_other_shapes_are_refused(tmp_path):
    from primal._files import read_object, write_object

    index = filled(sample(5))
    index.save(tmp_path / "index")
    fields, arrays = read_object(tmp_path / "index", "Index")
    kinds = {"type": "Index", "version": 1}
    changes = [
        {"codes": arrays["codes"][:, :-1]},
        {"factors": arrays["factors"][:-1]},
        {"offsets": arrays["offsets"].astype(np.float64)},
        {"more": arrays["offsets"]},
    ]
    for change in changes:
        write_object(tmp_path / "index", kinds | fields, arrays | change)
        with pytest.raises(DataError):
            Index.load(tmp_path / "index")
    for change in ({"next_id": 6}, {"next_id": -1}, {"oversample": 0}, {"codes": None}, {"x": 1}):
        write_object(tmp_path / "index", kinds | fields | change, arrays)
        with pytest.raises(DataError):
            Index.load(tmp_path / "index")


def test_specs():
    codes = VectorCodes(24, 2, "ip").fit(sample())
    again = primal.from_spec(json.loads(json.dumps(codes.spec)))
    assert again == codes
    assert again.center.tobytes() == codes.center.tobytes()
    assert VectorCodes(24, 2, "ip") != codes
    for change in ({"signs": "0" * 16}, {"bits": 3}, {"version": 2}, {"more": 1}):
        with pytest.raises(SpecError):
            primal.from_spec(codes.spec | change)


def test_the_center_does_not_depend_on_the_order_of_rows():
    x = rows_of(500, 10) + 0.3
    for metric in ("cosine", "l2"):
        a, b = (VectorCodes(10, metric=metric).fit(rows) for rows in (x, x[::-1]))
        assert a.center.tobytes() == b.center.tobytes()
        assert not a.center.flags.writeable
    np.testing.assert_allclose(b.center, x.mean(axis=0), atol=1e-6)


def test_fitting_codes_later_does_not_change_an_index():
    x = sample()
    codes = VectorCodes(24)
    index = Index(codes)
    codes.fit(x)
    index.codes.fit(x)
    assert index.codes.center is None


def test_progress():
    calls = []
    index = Index(VectorCodes(24))
    index.add(sample(), progress=lambda *done: calls.append(done))
    index.search(sample(5), progress=lambda *done: calls.append(done))
    assert calls == [(300, 300), (5, 5)]
    with pytest.raises(ParameterError):
        index.add(sample(), progress=3)
    assert len(index) == 300


def test_memory_of_rows_and_of_a_search_is_that_of_the_codes():
    x = np.zeros((20_000, 256), dtype=np.float32)
    x[:, 0] = 1 + np.arange(20_000)
    index = Index(VectorCodes(256, 4, "l2"))
    index.add(x[:10])
    tracemalloc.start()
    index.add(x)
    size, peak = tracemalloc.get_traced_memory()
    n_bytes = len(x) * index.codes.bytes_per_row
    assert size < 1.05 * n_bytes + (1 << 16)
    assert peak < n_bytes + (32 << 20)
    tracemalloc.reset_peak()
    index.search(x[:64], 10)
    assert tracemalloc.get_traced_memory()[1] < size + (64 << 20)
    tracemalloc.stop()
