"""Memories: cleanup, key-value recall, slots, Hopfield retrieval, and files."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import pickle

import numpy as np
import pytest

import primal
from primal import hdc
from primal._files import read_object, write_object
from primal.decoding import Box
from primal.hdc import _items


@pytest.fixture
def words():
    return hdc.ItemMemory(hdc.Space(512).symbols(), [f"word {i}" for i in range(300)])


class TestItemMemory:
    def test_cleanup_finds_noisy_items(self, words):
        rng = np.random.default_rng(0)
        # Phases off by up to a quarter turn, uniformly: the mean cosine is 2 / pi.
        noise = rng.integers(-(2**30), 2**30, words.codes.shape).astype(np.uint32)
        found = words.cleanup(words.codes * hdc.Codes(noise))
        assert (found.items == words.items).all()
        assert found.similarities.mean() == pytest.approx(2 / math.pi, abs=0.01)

    def test_cleanup_ranks_by_similarity(self, words):
        queries = hdc.bundle(words.codes[np.arange(6).reshape(2, 3)])
        found = words.cleanup(queries, top=7)
        cosines = hdc.similarity(queries[:, None], words.codes)
        assert np.array_equal(found.indices, np.argsort(-cosines, axis=1)[:, :7])
        assert found.similarities == pytest.approx(-np.sort(-cosines, axis=1)[:, :7], abs=1e-6)
        single = words.cleanup(queries[0], top=7)
        assert (single.items == found.items[0]).all()

    @pytest.mark.parametrize("shape", [(), (0,), (1,), (4,)])
    @pytest.mark.parametrize("top", [None, 1, 3])
    def test_answers_have_the_shape_of_the_queries(self, shape, top, words):
        memory = hdc.KeyValueMemory(hdc.Space(512)).add(words.codes, words.codes)
        codes = hdc.Codes(words.codes.turns[5] if shape == () else words.codes.turns[: shape[0]])
        for found in (words.cleanup(codes, top=top), memory.recall(codes, words, top=top)):
            expected = shape if top is None else (*shape, top)
            for values in (found.items, found.indices, found.similarities):
                assert np.shape(values) == expected
        found = words.cleanup(codes)
        if shape == ():
            assert (found.items, found.indices) == ("word 5", 5)
        else:
            assert (found.items == [f"word {i}" for i in range(*shape)]).all()

    def test_lists_as_items_stay_lists(self):
        points = hdc.ItemMemory(hdc.Space(256).reals(d=2), [[0.0, 1.0], [2.0, 2.0], [5.0, 5.0]])
        assert points.cleanup(points.codes).items.tolist() == points.items
        assert points.cleanup(points.codes, top=2).items.shape == (3, 2)
        assert points.cleanup(points.codes, top=2).items[1, 0] == [2.0, 2.0]

    def test_decode_returns_names(self, words):
        found = words.decode(hdc.bundle(words.codes[[7, 8, 9]]), 3)
        assert sorted(found.items) == ["word 7", "word 8", "word 9"]
        assert (found.items == [words.items[i] for i in found.indices]).all()
        assert hdc.decode(hdc.bundle(words.codes[[7, 8]]), words.codes, 2).items is None

    def test_blocks_give_the_same_answers(self, words, monkeypatch):
        queries = hdc.bundle(words.codes[np.arange(60).reshape(20, 3)])
        whole = words.cleanup(queries, top=5)
        monkeypatch.setattr(_items, "_LARGEST_KEPT", 0)
        monkeypatch.setattr(_items, "_BLOCK_ENTRIES", 512 * 7)
        parts = words.cleanup(queries, top=5)
        assert np.array_equal(whole.indices, parts.indices)

    def test_a_query_during_another_one_changes_no_answer(self, monkeypatch):
        memory, make = hdc.ItemMemory(hdc.Space(64).symbols(), range(9)), _items.unit_rows

        def interrupted(codes):  # as by another thread
            monkeypatch.setattr("primal.hdc._items.unit_rows", make)
            assert sorted(memory.decode(hdc.bundle(memory.codes[:2]), 2).indices) == [0, 1]
            return make(codes)

        monkeypatch.setattr("primal.hdc._items.unit_rows", interrupted)
        assert sorted(memory.decode(hdc.bundle(memory.codes[:2]), 2).indices) == [0, 1]
        assert memory.cleanup(memory.codes, top=9).indices.max() == 8

    def test_items_are_added_once_and_keep_their_codes(self):
        memory = hdc.ItemMemory(hdc.Space(64).symbols(), ["a", "b", "a"])
        before = memory.codes
        for i in range(40):
            memory.add(["b", f"new {i}"])
        assert len(memory) == 42
        assert (memory.codes[:2] == before).all()
        assert memory.code("new 39") == memory.vocabulary.encode("new 39")
        assert memory.place("new 39") == 41
        assert "b" in memory
        assert "z" not in memory
        assert memory.cleanup(memory.code("new 7")).items == "new 7"

    def test_everything_missing_is_one_item(self):
        missing = [None, float("nan"), np.float32("nan"), np.datetime64("NaT")]
        memory = hdc.ItemMemory(hdc.Space(64).symbols(), ["a", *missing]).add(missing[::-1])
        assert memory.items == ["a", None]
        assert [memory.place(item) for item in missing] == [1] * 4
        lone = hdc.ItemMemory(memory.vocabulary, missing[1:])
        assert len(lone) == 1
        assert None in lone

    def test_growing_in_dimensions_keeps_prefixes(self, words):
        grown = words.grow(1024)
        assert np.array_equal(grown.codes.turns[:, :256], words.codes.turns)

    def test_other_vocabularies(self):
        numbers = hdc.ItemMemory(hdc.Space(256).numbers(), range(100))
        assert numbers.cleanup(numbers.vocabulary.encode(42)).items == 42
        points = hdc.ItemMemory(hdc.Space(256).reals(d=2), [[0.0, 1.0], [2.0, 2.0]])
        assert points.cleanup(points.vocabulary.encode([1.9, 2.1])).items == [2.0, 2.0]

    @pytest.mark.parametrize("mapped", [False, True])
    def test_files(self, words, tmp_path, mapped):
        words.save(tmp_path / "memory")
        again = hdc.ItemMemory.load(tmp_path / "memory", mapped=mapped)
        assert isinstance(again._codes, np.memmap) == mapped
        assert again.vocabulary == words.vocabulary
        assert again.items == words.items
        assert (again.codes == words.codes).all()
        again.add(["one more"]).save(tmp_path / "memory")  # also over its own mapped file
        assert hdc.ItemMemory.load(tmp_path / "memory").items[-1] == "one more"

    @pytest.mark.parametrize(
        ("vocabulary", "items", "loaded"),
        [
            (hdc.Space(64).symbols(), ["a[0][1]", 'b"]{', "", "line\nbreak", 7, 2.5, None], None),
            (hdc.Space(64).symbols(), [], None),
            (hdc.Space(64).numbers(), np.arange(-2, 3), [-2, -1, 0, 1, 2]),
            (
                hdc.Space(64).reals(d=2),
                [np.array([0.5, 1.0]), [2.0, 3.0]],
                [[0.5, 1.0], [2.0, 3.0]],
            ),
        ],
    )
    def test_items_of_every_kind_come_back(self, vocabulary, items, loaded, tmp_path):
        memory = hdc.ItemMemory(vocabulary, items)
        memory.save(tmp_path / "memory")
        again = hdc.ItemMemory.load(tmp_path / "memory")
        assert again.items == (list(items) if loaded is None else loaded)
        assert (again.codes == memory.codes).all()
        assert len(again.add(items)) == len(items)

    def test_items_that_json_does_not_have_are_refused(self, tmp_path):
        with pytest.raises(primal.errors.DataError, match=r"names, numbers or lists.*b'raw'"):
            hdc.ItemMemory(hdc.Space(64).symbols(), [b"raw"]).save(tmp_path / "memory")
        assert not list(tmp_path.iterdir())


class TestHopfield:
    def test_a_noisy_pattern_is_restored(self, words):
        rng = np.random.default_rng(1)
        turns = words.codes[:20].turns.copy()
        turns[:, :128] = rng.integers(0, 2**32, (20, 128), dtype=np.uint32)
        half = hdc.Codes(turns)
        recalled = words.retrieve(half)
        assert hdc.similarity(half, words.codes[:20]).max() < 0.62
        assert hdc.similarity(recalled, words.codes[:20]).min() > 0.999

    def test_a_blunt_softmax_recalls_the_mean(self, words):
        recalled = words.retrieve(words.codes[0], beta=1e-6)
        assert hdc.similarity(recalled, hdc.bundle(words.codes)) == pytest.approx(1.0, abs=1e-5)

    def test_the_sharpest_softmax_recalls_the_nearest(self, words):
        found = words.retrieve(words.codes[3], beta=1e300)
        assert found == pytest.approx(hdc.phasors(words.codes[3]), abs=1e-6)

    def test_it_is_the_published_update(self, words):
        query, beta = hdc.bundle(words.codes[:3]), 30.0
        weights = np.exp(beta * hdc.similarity(query, words.codes))
        expected = hdc.bundle(words.codes, weights=weights / weights.sum())
        assert words.retrieve(query, beta=beta) == pytest.approx(expected, abs=1e-4)


class TestKeyValueMemory:
    space = hdc.Space(512, roles=("key", "value"))

    def codes(self, n):
        return [self.space.numbers(role).encode(np.arange(1, n + 1)) for role in ("key", "value")]

    @pytest.mark.parametrize(
        ("form", "n_pairs"), [("matrix", 200), ("matrix", 400), ("vector", 30)]
    )
    def test_crosstalk_is_as_predicted(self, form, n_pairs):
        keys, values = self.codes(n_pairs)
        memory = hdc.KeyValueMemory(self.space, form).add(keys, values)
        # Keys of consecutive numbers are a little less similar than independent ones.
        predicted = math.sqrt((n_pairs - 1) / (512 if form == "matrix" else 1))
        assert memory.crosstalk(keys, values) == pytest.approx(predicted, rel=0.1)

    def test_crosstalk_of_no_pairs_is_refused(self):
        keys, values = self.codes(3)
        with pytest.raises(
            primal.errors.DataError, match="pass one pair or more, and no value of zeros"
        ):
            hdc.KeyValueMemory(self.space).add(keys, values).crosstalk(keys[:0], values[:0])

    def test_matrix_crosstalk_is_that_of_the_similarities_of_the_keys(self):
        keys, values = self.codes(60)
        memory = hdc.KeyValueMemory(self.space).add(keys, values)
        gram = hdc.similarity(keys[:, None], keys)
        exact = gram @ hdc.phasors(values)
        assert np.abs(memory.retrieve(keys) - exact).max() < 1e-4

    def test_the_matrix_recalls_what_the_vector_cannot(self):
        keys, values = self.codes(300)
        items = hdc.ItemMemory(self.space.numbers("value"), range(1, 301))
        shares = {}
        for form in ("matrix", "vector"):
            memory = hdc.KeyValueMemory(self.space, form).add(keys, values)
            shares[form] = np.mean(memory.recall(keys, items).indices == np.arange(300))
        assert shares["matrix"] == 1.0
        assert shares["vector"] < 0.2

    @pytest.mark.parametrize("form", ["matrix", "vector"])
    def test_pairs_add_up_and_files_keep_them(self, form, tmp_path):
        keys, values = self.codes(10)
        whole = hdc.KeyValueMemory(self.space, form).add(keys, values)
        parts = hdc.KeyValueMemory(self.space, form)
        for key, value in zip(keys, values, strict=True):
            parts.add(key, value)
        assert parts.n_pairs == 10
        assert np.allclose(parts.state, whole.state, atol=1e-4)
        whole.save(tmp_path / "memory")
        again = hdc.KeyValueMemory.load(tmp_path / "memory")
        assert np.array_equal(again.retrieve(keys), whole.retrieve(keys))
        assert again.add(keys[0], values[1]).n_pairs == 11

    def test_project_store_retrieve_decode(self):
        """Vectors in the hash regime, stored as codes, come back as numbers through crosstalk."""
        m = primal.DynamicPrime(3, 512, sigma=30.0, basis="auto", layout="interleaved")
        x = np.random.default_rng(3).uniform(-1, 1, (25, 3))
        assert m.regime(x).kind == "hash"
        keys, _ = self.codes(25)
        codes = hdc.Codes(m.turns(x))
        memory = hdc.KeyValueMemory(self.space).add(keys, codes)
        retrieved = memory.retrieve(keys)
        plan = m.decode_plan(prior=Box(1.0), noise=memory.noise_turns)
        found = plan.decode(retrieved.view(np.float32))
        error = np.abs(found.x - x)
        assert (found.status == "unique").all()
        assert error.max() < 5 * plan.certificate.x_std.max()
        # The noise that the plan was told is the noise that there is.
        measured = np.angle(retrieved / codes).std() / (2 * np.pi)
        assert memory.noise_turns == pytest.approx(measured, rel=0.15)


class TestSlots:
    def sequence(self, D, n_items, length, kind="symbols"):
        """Return items drawn with repetition, the codes of their places, and what they may be."""
        space = hdc.Space(D, roles=("position", "item"))
        items = hdc.ItemMemory(space.symbols("item"), list(range(n_items)))
        drawn = np.random.default_rng(4).integers(0, n_items, length)
        return drawn, getattr(space, kind)("position").encode(np.arange(length)), items

    @pytest.mark.parametrize("kind", ["symbols", "numbers"])
    def test_reading_together_reads_far_longer_sequences(self, kind):
        drawn, slots, items = self.sequence(512, 256, 45, kind)
        bundle = hdc.bundle(slots * items.codes[drawn])
        whole = hdc.decode_slots(bundle, slots, items)
        assert np.mean(items.cleanup(bundle / slots).indices == drawn) < 0.85
        assert (whole.items == drawn).all()
        assert whole.residual < 1e-4
        assert whole.confidence.min() > 0.999

    def test_too_much_is_not_explained(self):
        drawn, slots, items = self.sequence(256, 256, 100)
        found = hdc.decode_slots(hdc.bundle(slots * items.codes[drawn]), slots, items)
        assert np.mean(found.indices == drawn) < 0.9
        assert found.residual > 0.1

    def test_no_slots(self):
        _, slots, items = self.sequence(64, 3, 0)
        assert hdc.decode_slots(np.zeros(32, np.complex64), slots, items).items.shape == (0,)


class TestSpecs:
    space = hdc.Space(64, roles=("a", "b"))

    def items(self):
        return hdc.ItemMemory(self.space.symbols("a"), ["x", 7, None, 2.5])

    def test_a_spec_holds_the_items_and_makes_their_codes(self):
        points = hdc.ItemMemory(self.space.reals("b", 2), [np.array([0.5, 1.0]), [2.0, 3.0]])
        for memory, items in (
            (self.items(), ["x", 7, None, 2.5]),
            (points, [[0.5, 1.0], [2.0, 3.0]]),
            (hdc.ItemMemory(self.space.numbers()), []),
        ):
            again = primal.from_spec(json.loads(json.dumps(memory.spec)))
            assert isinstance(again, hdc.ItemMemory)
            assert again.items == items
            assert again.vocabulary == memory.vocabulary
            assert (again.codes == memory.codes).all()
        with pytest.raises(primal.errors.DataError, match="b'raw'"):
            hdc.ItemMemory(self.space.symbols("a"), [b"raw"]).spec

    @pytest.mark.parametrize("form", ["matrix", "vector"])
    def test_pairs_are_not_part_of_a_spec(self, form):
        memory = hdc.KeyValueMemory(self.space, form).add(self.items().codes, self.items().codes)
        again = primal.from_spec(json.loads(json.dumps(memory.spec)))
        assert (again.space, again.form, again.n_pairs) == (self.space, form, 0)
        assert again.state.shape == memory.state.shape
        assert not again.state.any()

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda s: s | {"items": 3}, "items must be a sequence, got int"),
            (lambda s: s | {"items": [{"a": 1}]}, "names or numbers"),
            (lambda s: s | {"vocabulary": hdc.Space(8).spec}, "of type Vocabulary, got Space"),
            (lambda s: s | {"vocabulary": None}, "of type Vocabulary, got NoneType"),
            (lambda s: s | {"vocabulary": {"type": 3}}, "does not know specs of type 3"),
            (lambda s: s | {"codes": []}, "has codes"),
            (
                lambda s: {"type": "KeyValueMemory", "version": 1, "space": 3, "form": "x"},
                "of type Space, got int",
            ),
        ],
    )
    def test_wrong_specs_are_refused(self, change, words):
        with pytest.raises(primal.PrimalError, match=words):
            primal.from_spec(change(self.items().spec))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, p: m.code("nothing"), "not in this memory of 2 items"),
        (lambda m, p: m.cleanup(m.codes, top=3), "3 of 2 items were requested"),
        (lambda m, p: m.cleanup(hdc.Codes(m.codes.turns[:, :5])), "queries of 5 phases"),
        (lambda m, p: m.cleanup(m.codes.turns), r"hdc\.Codes\(turns\)"),
        (lambda m, p: m.cleanup(m.codes, top=np.array([1, 2])), "top must be a whole number"),
        (lambda m, p: m.add(3), "items must be a sequence, got int 3"),
        (lambda m, p: m.add([{"a": 1}]), "names or numbers"),
        (lambda m, p: hdc.ItemMemory("words"), "of type Vocabulary, got str"),
        (lambda m, p: m.retrieve(hdc.Codes(m.codes.turns[:, :5])), "queries of 5"),
        (lambda m, p: hdc.ItemMemory(m.vocabulary).retrieve(m.codes), "0 codes of 32 phases"),
        (lambda m, p: hdc.KeyValueMemory(64), "of type Space, got int"),
        (
            lambda m, p: hdc.KeyValueMemory(hdc.Space(64)).recall(m.codes, m.codes),
            "ItemMemory, got Codes",
        ),
        (
            lambda m, p: hdc.decode_slots(hdc.bundle(m.codes), m.codes.turns, m),
            r"hdc\.Codes\(turns\)",
        ),
        (
            lambda m, p: hdc.decode_slots(hdc.Codes(m.codes.turns[0, :5]), m.codes, m),
            r"shape \(32,\)",
        ),
        (lambda m, p: m.retrieve(m.codes, beta=-1), "beta must be positive"),
        (lambda m, p: hdc.ItemMemory.load(p), "is not a regular file"),
        (lambda m, p: hdc.KeyValueMemory(hdc.Space(8), "tensor"), "one of 'matrix', 'vector'"),
        (
            lambda m, p: hdc.KeyValueMemory(hdc.Space(64)).add(m.codes, m.codes[:1]),
            "2 keys and 1 values",
        ),
        (lambda m, p: hdc.KeyValueMemory(hdc.Space(8)).add(m.codes, m.codes), "have 4 phases"),
    ],
)
def test_errors_say_what_is_wrong(call, words, tmp_path):
    memory = hdc.ItemMemory(hdc.Space(64).symbols(), ["a", "b"])
    with pytest.raises(primal.PrimalError, match=words):
        call(memory, tmp_path)


def random_bundle(*shape, dtype=np.complex64):
    rng = np.random.default_rng(0)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


# Keys and values of six rows, or what stands for them.
HOSTILE = {
    "bundle": random_bundle(6, 32),
    "complex128": random_bundle(6, 32, dtype=np.complex128),
    "zeros": np.zeros((6, 32), np.complex64),
    "some zeros": random_bundle(6, 32) * (np.arange(6) % 2).astype(np.float32)[:, None],
    "large": random_bundle(6, 32) * np.float32(1e8),
    "too large": random_bundle(6, 32) * np.float32(5e37),
    "huge": random_bundle(6, 32, dtype=np.complex128) * 1e200,
    "tiny": random_bundle(6, 32) * np.float32(1e-40),
    "strides": random_bundle(6, 64)[:, ::-2],
    "columns first": np.asfortranarray(random_bundle(6, 32)),
    "64 bits": hdc.Space(64).numbers().encode(range(6), bits=64),
    "one": hdc.Space(64).symbols().encode("x"),
    "none": hdc.Space(64).symbols().encode([]),
    "no rows": random_bundle(0, 32),
    "three axes": random_bundle(2, 3, 32),
    "other space": random_bundle(6, 31),
    "no phases": np.zeros((6, 0), np.complex64),
    "floats": np.ones((6, 32)),
    "phases": hdc.Space(64).symbols().encode(range(6)).turns,
    "list": [hdc.Space(64).symbols().encode("x")],
    "text": "x",
}


@pytest.mark.parametrize("form", ["matrix", "vector"])
@pytest.mark.parametrize("first", HOSTILE.values(), ids=HOSTILE)
def test_a_memory_stays_finite_whatever_it_is_given(first, form):
    space = hdc.Space(64, roles=("key", "value"))
    keys, codes = (space.symbols(role).encode(range(6)) for role in space.roles)
    values = hdc.ItemMemory(space.symbols("value"), range(6))
    for second in (*HOSTILE.values(), codes):
        memory = hdc.KeyValueMemory(space, form).add(keys, codes)
        before = memory.state.copy()
        try:
            memory.add(first, second)
        except primal.PrimalError:
            assert memory.n_pairs == 6
            np.testing.assert_array_equal(memory.state, before)
        assert np.isfinite(memory.state).all()
    for memory in (
        hdc.KeyValueMemory(space, form),
        hdc.KeyValueMemory(space, form).add(keys, codes),
    ):
        for ask in (
            memory.retrieve,
            lambda x, m=memory: m.recall(x, values, top=2).similarities,
            lambda x, m=memory: m.crosstalk(x, codes),
            lambda x, m=memory: m.crosstalk(keys, x),
        ):
            with contextlib.suppress(primal.PrimalError):
                assert np.isfinite(ask(first)).all()


def test_the_state_is_read_only():
    space = hdc.Space(64, roles=("key", "value"))
    keys, codes = (space.symbols(role).encode(range(3)) for role in space.roles)
    for form in ("matrix", "vector"):
        memory = hdc.KeyValueMemory(space, form).add(keys, codes)
        for one in (memory, copy.deepcopy(memory)):
            with pytest.raises(ValueError, match="read-only"):
                one.state[...] = 0
            assert one.add(keys, codes).state.any()


def test_a_copy_has_a_state_of_its_own():
    space = hdc.Space(64, roles=("key", "value"))
    keys, codes = (space.symbols(role).encode(range(3)) for role in space.roles)
    items = hdc.ItemMemory(space.symbols("value"), ["a"])
    vectors = hdc.VectorMemory(1, 64, accuracy=0.05).store("a", [0.5])
    for copied in (copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
        for form in ("matrix", "vector"):
            memory = hdc.KeyValueMemory(space, form).add(keys, codes)
            before = memory.state.copy()
            assert copied(memory).add(keys[:1], codes[1:2]).n_pairs == 4
            assert memory.n_pairs == 3
            np.testing.assert_array_equal(memory.state, before)
        assert len(copied(items).add(["b"])) == 2
        assert (len(items), items.codes.shape, "b" in items) == (1, (1, 32), False)
        assert len(copied(vectors).store("b", [0.1])) == 2
        assert len(vectors) == 1


@pytest.mark.parametrize("form", ["matrix", "vector"])
def test_what_is_too_large_is_not_stored_and_spoils_nothing(form):
    space = hdc.Space(256, roles=("key", "value"))
    keys, values = space.symbols("key").encode(["a", "b"]), space.symbols("value").encode([1, 2])
    memory = hdc.KeyValueMemory(space, form).add(keys[0], values[0])
    before = memory.state.copy()
    for number in (1e300, np.nan):
        with pytest.raises(primal.errors.DataError, match=r"must be below 1e\+|finite numbers"):
            memory.add(keys[1], hdc.phasors(values[1]).astype(np.complex128) * number)
    assert memory.n_pairs == 1
    np.testing.assert_array_equal(memory.state, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f, a: f.update(version=99), "KeyValueMemory of version 1, .* of version 99"),
        (lambda f, a: f.update(space=primal.StaticPrime(64).spec), "of type Space, got Static"),
        (lambda f, a: f.update(space=hdc.Space(128).spec), "asks for float32 .128, 128."),
        (lambda f, a: f.update(form="vector"), "asks for complex64 .32,."),
        (lambda f, a: f.update(n_pairs=-1), "n_pairs must be at least 0"),
        (lambda f, a: f.pop("n_pairs"), "holds no KeyValueMemory: 'n_pairs'"),
        (lambda f, a: a.clear(), "holds no KeyValueMemory: 'state'"),
        (lambda f, a: a.update(state=a["state"][:, :63]), "asks for float32 .64, 64."),
        (lambda f, a: a.update(state=a["state"].astype("f8")), "asks for float32 .64, 64."),
    ],
)
def test_crafted_files_are_refused(change, message, tmp_path):
    hdc.KeyValueMemory(hdc.Space(64, roles=("key", "value"))).save(tmp_path / "m")
    fields, arrays = read_object(tmp_path / "m", "KeyValueMemory")
    fields |= {"type": "KeyValueMemory", "version": 1}
    change(fields, arrays)
    write_object(tmp_path / "m", fields, arrays)
    with pytest.raises(primal.errors.DataError, match=message):
        hdc.KeyValueMemory.load(tmp_path / "m")
