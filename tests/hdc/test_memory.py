"""Memories: cleanup, key-value recall, sequences, Hopfield retrieval, and files."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest

import primal
from primal import hdc
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
        assert [row[0] for row in found.items] == words.items
        assert found.similarities.mean() == pytest.approx(2 / math.pi, abs=0.01)

    def test_cleanup_is_the_similarity_matrix(self, words):
        queries = hdc.bundle(words.codes[np.arange(6).reshape(2, 3)])
        found = words.cleanup(queries, top=7)
        cosines = hdc.similarity_matrix(queries, words.codes)
        assert np.array_equal(found.indices, np.argsort(-cosines, axis=1)[:, :7])
        assert found.similarities == pytest.approx(-np.sort(-cosines, axis=1)[:, :7], abs=1e-6)
        single = words.cleanup(queries[0], top=7)
        assert single.items == found.items[0]

    def test_blocks_give_the_same_answers(self, words, monkeypatch):
        queries = hdc.bundle(words.codes[np.arange(60).reshape(20, 3)])
        whole = words.cleanup(queries, top=5)
        monkeypatch.setattr(_items, "_LARGEST_KEPT", 0)
        monkeypatch.setattr(_items, "_BLOCK_ENTRIES", 512 * 7)
        parts = words.cleanup(queries, top=5)
        assert np.array_equal(whole.indices, parts.indices)

    def test_a_query_during_another_one_changes_no_answer(self, monkeypatch):
        memory, make = hdc.ItemMemory(hdc.Space(64).symbols(), range(9)), _items.float32_rows

        def interrupted(codes):  # as by another thread
            monkeypatch.setattr("primal.hdc._items.float32_rows", make)
            assert sorted(memory.decode(hdc.bundle(memory.codes[:2]), 2).indices) == [0, 1]
            return make(codes)

        monkeypatch.setattr("primal.hdc._items.float32_rows", interrupted)
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
        assert memory.cleanup(memory.code("new 7")).items == ["new 7"]

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
        assert grown.certificate().rms < words.certificate().rms

    def test_other_vocabularies(self):
        numbers = hdc.ItemMemory(hdc.Space(256).integers(), range(100))
        assert numbers.cleanup(numbers.vocabulary.encode(42)).items == [42]
        points = hdc.ItemMemory(hdc.Space(256).reals(d=2), [[0.0, 1.0], [2.0, 2.0]])
        assert points.cleanup(points.vocabulary.encode([1.9, 2.1])).items == [[2.0, 2.0]]

    @pytest.mark.parametrize("mapped", [False, True])
    def test_files(self, words, tmp_path, monkeypatch, mapped):
        if mapped:
            monkeypatch.setattr(_items, "_LARGEST_READ", 0)
        words.save(tmp_path / "memory")
        again = hdc.ItemMemory.load(tmp_path / "memory")
        assert isinstance(again.codes.turns, np.memmap) == mapped
        assert again.vocabulary == words.vocabulary
        assert again.items == words.items
        assert (again.codes == words.codes).all()
        again.add(["one more"]).save(tmp_path / "memory")  # also over its own mapped file
        assert hdc.ItemMemory.load(tmp_path / "memory").items[-1] == "one more"
        names = sorted(path.name.partition("-")[0] for path in (tmp_path / "memory").iterdir())
        assert names == ["codes", "items", "memory.json"]

    def test_a_broken_save_leaves_the_old_memory(self, words, tmp_path, monkeypatch):
        words.save(tmp_path)
        before = sorted(tmp_path.iterdir())

        def broken(*_):
            raise OSError("disk full")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", broken)
            with pytest.raises(OSError, match="disk full"):
                hdc.ItemMemory(words.vocabulary, ["other"]).save(tmp_path)
        assert hdc.ItemMemory.load(tmp_path).items == words.items
        assert sorted(tmp_path.iterdir()) == before

    @pytest.mark.parametrize(
        ("vocabulary", "items", "loaded"),
        [
            (hdc.Space(64).symbols(), ["a[0][1]", 'b"]{', "", "line\nbreak", 7, 2.5, None], None),
            (hdc.Space(64).symbols(), [], None),
            (hdc.Space(64).integers(), np.arange(-2, 3), [-2, -1, 0, 1, 2]),
            (
                hdc.Space(64).reals(d=2),
                [np.array([0.5, 1.0]), [2.0, 3.0]],
                [[0.5, 1.0], [2.0, 3.0]],
            ),
        ],
    )
    def test_items_of_every_kind_come_back(self, vocabulary, items, loaded, tmp_path):
        memory = hdc.ItemMemory(vocabulary, items)
        memory.save(tmp_path)
        again = hdc.ItemMemory.load(tmp_path)
        assert again.items == (list(items) if loaded is None else loaded)
        assert (again.codes == memory.codes).all()
        assert len(again.add(items)) == len(items)

    def test_items_that_json_does_not_have_are_refused(self, tmp_path):
        with pytest.raises(primal.errors.DataError, match=r"names, numbers or lists.*b'raw'"):
            hdc.ItemMemory(hdc.Space(64).symbols(), [b"raw"]).save(tmp_path / "memory")
        assert not list(tmp_path.iterdir())

    def test_a_damaged_code_is_noticed(self, words, tmp_path):
        words.save(tmp_path)
        (path,) = tmp_path.glob("codes-*")
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(primal.errors.DataError, match="its digest has changed"):
            hdc.ItemMemory.load(tmp_path)


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
        weights = np.exp(beta * hdc.similarity_matrix(query, words.codes).astype(float))
        expected = hdc.bundle(words.codes, weights=weights / weights.sum())
        assert words.retrieve(query, beta=beta) == pytest.approx(expected, abs=1e-4)


class TestKeyValueMemory:
    space = hdc.Space(512, roles=("key", "value"))

    def codes(self, n):
        return [self.space.integers(role).encode(np.arange(1, n + 1)) for role in ("key", "value")]

    @pytest.mark.parametrize(
        ("form", "n_pairs"), [("matrix", 200), ("matrix", 400), ("vector", 30)]
    )
    def test_crosstalk_is_as_predicted(self, form, n_pairs):
        keys, values = self.codes(n_pairs)
        memory = hdc.KeyValueMemory(self.space, form).add(keys, values)
        found = memory.crosstalk(keys, values)
        # Keys of consecutive numbers are a little less similar than independent ones.
        assert found.measured == pytest.approx(found.predicted, rel=0.1)

    def test_crosstalk_of_no_pairs_is_refused(self):
        keys, values = self.codes(3)
        with pytest.raises(primal.errors.DataError, match="one pair or more, got none"):
            hdc.KeyValueMemory(self.space).add(keys, values).crosstalk(keys[:0], values[:0])

    def test_matrix_crosstalk_is_that_of_the_similarities_of_the_keys(self):
        keys, values = self.codes(60)
        memory = hdc.KeyValueMemory(self.space).add(keys, values)
        gram = hdc.similarity_matrix(keys, keys)
        exact = gram @ hdc.phasors(values)
        assert np.abs(memory.retrieve(keys) - exact).max() < 1e-4

    @pytest.mark.parametrize("n_pairs", [10, 20, 40, 60])
    def test_vector_recall_is_as_predicted(self, n_pairs):
        keys, values = self.codes(1000)
        memory_of_values = hdc.ItemMemory(self.space.integers("value"), range(1, 1001))
        rng = np.random.default_rng(2)
        right = 0
        trials = 1200 // n_pairs
        for _ in range(trials):
            i, j = rng.choice(1000, n_pairs, replace=False), rng.choice(1000, n_pairs)
            memory = hdc.KeyValueMemory(self.space, "vector").add(keys[i], values[j])
            right += (memory.recall(keys[i], memory_of_values).indices[:, 0] == j).sum()
        expected = hdc.recall_accuracy(512, 1000, n_pairs)
        # 1200 recalls: three standard errors are at most 0.043.
        assert right / (trials * n_pairs) == pytest.approx(expected, abs=0.045)

    def test_the_matrix_recalls_what_the_vector_cannot(self):
        keys, values = self.codes(300)
        items = hdc.ItemMemory(self.space.integers("value"), range(1, 301))
        shares = {}
        for form in ("matrix", "vector"):
            memory = hdc.KeyValueMemory(self.space, form).add(keys, values)
            shares[form] = np.mean(memory.recall(keys, items).indices[:, 0] == np.arange(300))
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
        whole.save(tmp_path)
        again = hdc.KeyValueMemory.load(tmp_path)
        assert np.array_equal(again.retrieve(keys), whole.retrieve(keys))
        assert again.add(keys[0], values[1]).n_pairs == 11

    def test_a_mapped_matrix_can_be_added_to(self, tmp_path, monkeypatch):
        monkeypatch.setattr(_items, "_LARGEST_READ", 0)
        keys, values = self.codes(3)
        hdc.KeyValueMemory(self.space).add(keys, values).save(tmp_path)
        again = hdc.KeyValueMemory.load(tmp_path)
        again.add(keys[0], values[1])
        assert hdc.KeyValueMemory.load(tmp_path).n_pairs == 3

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


class TestSequenceMemory:
    def memory(self, D, n_items, kind="role"):
        space = hdc.Space(D, roles=("position", "item"))
        items = hdc.ItemMemory(space.symbols("item"), list(range(n_items)))
        positions = {
            "role": "position",
            "hashed": space.symbols("position"),
            "integers": space.integers("position"),
        }
        return hdc.SequenceMemory(positions[kind], items)

    def test_a_role_stands_for_its_hashed_positions(self):
        by_role, hashed, integers = (
            self.memory(512, 9, kind).extend([1, 2, 3]) for kind in ("role", "hashed", "integers")
        )
        assert np.array_equal(by_role.state, hashed.state)
        assert not np.allclose(by_role.state, integers.state)

    @pytest.mark.parametrize("kind", ["role", "integers"])
    def test_cancelling_interference_reads_far_longer_sequences(self, kind):
        rng = np.random.default_rng(4)
        memory = self.memory(512, 256, kind)
        sequence = rng.integers(0, 256, 45).tolist()
        memory.extend(sequence[:20]).extend(sequence[20:])
        plain = np.mean([memory.at(i) == item for i, item in enumerate(sequence)])
        whole = memory.recall()
        assert plain < 0.85
        assert whole.items == sequence
        assert whole.residual < 1e-4
        assert not whole.beyond_capacity

    def test_it_says_when_there_is_too_much(self):
        memory = self.memory(256, 256).extend([7] * 100)
        found = memory.recall()
        assert found.beyond_capacity
        assert found.residual > 0.1

    @pytest.mark.parametrize("kind", ["role", "integers"])
    def test_files(self, tmp_path, kind):
        memory = self.memory(512, 30, kind).extend([3, 1, 4, 1, 5])
        memory.save(tmp_path)
        again = hdc.SequenceMemory.load(tmp_path).extend([9])
        assert again.recall().items == [3, 1, 4, 1, 5, 9]

    def test_an_empty_sequence(self):
        assert self.memory(64, 3).recall().items == []


class TestSpecs:
    space = hdc.Space(64, roles=("a", "b"))

    def items(self):
        return hdc.ItemMemory(self.space.symbols("a"), ["x", 7, None, 2.5])

    def test_a_spec_holds_the_items_and_makes_their_codes(self):
        points = hdc.ItemMemory(self.space.reals("b", 2), [np.array([0.5, 1.0]), [2.0, 3.0]])
        for memory, items in (
            (self.items(), ["x", 7, None, 2.5]),
            (points, [[0.5, 1.0], [2.0, 3.0]]),
            (hdc.ItemMemory(self.space.integers()), []),
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

    @pytest.mark.parametrize("kind", ["symbols", "integers"])
    def test_a_sequence_keeps_its_positions_and_items(self, kind):
        positions = getattr(self.space, kind)("b")
        memory = hdc.SequenceMemory(positions, self.items()).extend(["x", 7])
        again = primal.from_spec(json.loads(json.dumps(memory.spec)))
        assert again.length == 0
        assert again.positions == positions
        assert np.array_equal(again.extend(["x", 7]).state, memory.state)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda s: s | {"items": 3}, "items must be a sequence, got int"),
            (lambda s: s | {"items": [{"a": 1}]}, "names or numbers"),
            (lambda s: s | {"vocabulary": hdc.Space(8).spec}, "needs a vocabulary, got Space"),
            (lambda s: s | {"vocabulary": None}, "needs a vocabulary, got NoneType"),
            (lambda s: s | {"vocabulary": {"type": 3}}, "does not know specs of type 3"),
            (lambda s: s | {"codes": []}, "has codes"),
            (
                lambda s: {"type": "KeyValueMemory", "version": 1, "space": 3, "form": "x"},
                "needs a Space, got int",
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
        (lambda m, p: m.cleanup(m.codes, top=3), "asked for 3 of 2 items"),
        (lambda m, p: m.cleanup(hdc.Codes(m.codes.turns[:, :5])), "queries of 5 phases"),
        (lambda m, p: m.cleanup(m.codes.turns), r"hdc\.Codes\(turns\)"),
        (lambda m, p: m.cleanup(m.codes, top=np.array([1, 2])), "top must be a whole number"),
        (lambda m, p: m.add(3), "items must be a sequence, got int 3"),
        (lambda m, p: m.add([{"a": 1}]), "names or numbers"),
        (lambda m, p: hdc.ItemMemory("words"), "needs a vocabulary, got str"),
        (lambda m, p: m.retrieve(hdc.identity(5)), "queries of 5"),
        (lambda m, p: hdc.ItemMemory(m.vocabulary).retrieve(m.codes), "0 codes of 32 phases"),
        (lambda m, p: hdc.KeyValueMemory(64), "needs a Space, got int"),
        (
            lambda m, p: hdc.KeyValueMemory(hdc.Space(64)).recall(m.codes, m.codes),
            "ItemMemory, got Codes",
        ),
        (lambda m, p: hdc.SequenceMemory("a", m.codes), "ItemMemory, got Codes"),
        (
            lambda m, p: hdc.decode_slots(hdc.bundle(m.codes), m.codes.turns, m),
            r"hdc\.Codes\(turns\)",
        ),
        (lambda m, p: hdc.decode_slots(hdc.identity(5), m.codes, m), r"shape \(32,\)"),
        (lambda m, p: m.retrieve(m.codes, beta=-1), "beta must be positive"),
        (lambda m, p: hdc.ItemMemory.load(p), "holds no primal memory"),
        (lambda m, p: ((p / "x").touch(), m.save(p / "x")), "cannot be a folder, a file is there"),
        (lambda m, p: ((p / "x").touch(), m.save(p / "x" / "y")), "cannot be a folder"),
        (
            lambda m, p: (m.save(p), hdc.KeyValueMemory.load(p)),
            "of type 'KeyValueMemory', got 'ItemMemory'",
        ),
        (lambda m, p: hdc.KeyValueMemory(hdc.Space(8), "tensor"), "one of 'matrix', 'vector'"),
        (
            lambda m, p: hdc.KeyValueMemory(hdc.Space(64)).add(m.codes, m.codes[:1]),
            "2 keys and 1 values",
        ),
        (lambda m, p: hdc.KeyValueMemory(hdc.Space(8)).add(m.codes, m.codes), "have 4 phases"),
        (lambda m, p: hdc.SequenceMemory(hdc.Space(64).integers(), m), "different roles"),
    ],
)
def test_errors_say_what_is_wrong(call, words, tmp_path):
    memory = hdc.ItemMemory(hdc.Space(64).symbols(), ["a", "b"])
    with pytest.raises(primal.PrimalError, match=words):
        call(memory, tmp_path)


def test_a_spec_of_another_version_is_refused(tmp_path):
    hdc.ItemMemory(hdc.Space(8).symbols(), ["a"]).save(tmp_path)
    document = json.loads((tmp_path / "memory.json").read_text())
    (tmp_path / "memory.json").write_text(json.dumps(document | {"version": 99}))
    with pytest.raises(
        primal.errors.DataError, match="version 1, got 'primal memory' of version 99"
    ):
        hdc.ItemMemory.load(tmp_path)


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("form", ["matrix", "vector"])
def test_what_is_not_finite_is_not_stored_and_spoils_nothing(form, number):
    space = hdc.Space(256, roles=("key", "value"))
    keys, values = space.symbols("key").encode(["a", "b"]), space.symbols("value").encode([1, 2])
    memory = hdc.KeyValueMemory(space, form).add(keys[0], values[0])
    before = memory.state.copy()
    with pytest.raises(primal.PrimalError, match="values must hold finite complex numbers"):
        memory.add(keys[1], hdc.phasors(values[1]).astype(np.complex128) * number)
    assert memory.n_pairs == 1
    np.testing.assert_array_equal(memory.state, before)


def test_a_query_that_is_not_finite_is_near_nothing():
    space = hdc.Space(256, roles=("key", "value"))
    words = hdc.ItemMemory(space.symbols("value"), ["a", "b"])
    nothing = np.full(128, np.nan, dtype=np.complex64)
    for ask in (words.cleanup, words.retrieve, hdc.KeyValueMemory(space).retrieve):
        with pytest.raises(primal.PrimalError, match="must hold finite complex numbers, got nan"):
            ask(nothing)
    slots = space.symbols("key").encode(["x", "y"])
    with pytest.raises(primal.PrimalError, match="a bundle must hold finite"):
        hdc.decode_slots(nothing, slots, words)
    with pytest.raises(primal.PrimalError, match="slots must hold finite"):
        hdc.decode_slots(hdc.phasors(slots[0]), nothing[None], words)


def test_a_file_whose_space_is_none_is_refused(tmp_path):
    space = hdc.Space(64, roles=("key", "value"))
    hdc.KeyValueMemory(space).save(tmp_path)
    document = json.loads((tmp_path / "memory.json").read_text())
    (tmp_path / "memory.json").write_text(
        json.dumps(document | {"space": primal.StaticPrime(64).spec})
    )
    with pytest.raises(primal.PrimalError, match="needs a Space, got StaticPrime"):
        hdc.KeyValueMemory.load(tmp_path)
