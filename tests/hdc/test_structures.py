"""Structures in one vector, and their parts back."""

from __future__ import annotations

import math

import numpy as np
import pytest

import primal
from primal import hdc


class TestStructures:
    space = hdc.Space(2048, roles=("key", "value", "position", "relation"))
    words = ("red", "green", "blue", "one", "two", "three", "cat", "dog")

    def nearest(self, vector, role="value"):
        symbols = self.space.symbols(role)
        return hdc.ItemMemory(symbols, self.words).cleanup(vector).items

    def test_sets(self):
        members = hdc.bundle(self.space.symbols("value").encode(["red", "cat"]))
        memory = hdc.ItemMemory(self.space.symbols("value"), self.words)
        assert set(memory.cleanup(members, top=2).items) == {"red", "cat"}

    def test_records_within_records_and_with_codes_made_elsewhere(self):
        keys, values = self.space.symbols("key"), self.space.symbols("value")
        reals = self.space.reals("position", gamma=1.0)
        inner = hdc.encode_record({"colour": "blue"}, keys, values)
        outer = hdc.encode_record(
            {"pet": "dog", "house": hdc.permute(inner), "weight": reals.encode([2.5])}, keys, values
        )
        assert self.nearest(outer / keys.encode("pet")) == "dog"
        house = hdc.permute(outer / keys.encode("house"), -1)
        assert self.nearest(house / keys.encode("colour")) == "blue"
        weights = np.linspace(0, 5, 51)[:, None]
        answers = hdc.similarity(outer / keys.encode("weight"), reals.encode(weights))
        assert abs(weights[answers.argmax()] - 2.5) <= 0.2

    def test_mixed_records_come_back(self):
        keys, names = self.space.symbols("key"), self.space.symbols("value")
        vocabularies = {
            "pet": names,
            "tame": names,
            "legs": self.space.numbers("position"),
            "weight": self.space.reals("position", gamma=1.0),
            "place": self.space.reals("position", 2, gamma=1.0),
            "age": self.space.levels("position", low=0, high=20, n=21),
            "hour": self.space.circular("relation", period=24),
            "heat": self.space.levels("relation", low=-10, high=40, n=51),
        }
        given = {
            "pet": "dog",
            "tame": True,
            "legs": 4,
            "weight": 12.5,
            "place": [1.5, -0.5],
            "age": 7,
            "hour": 23,
            "heat": -3.0,
        }
        record = hdc.encode_record(given, keys, vocabularies)
        choices = {
            "pet": list(self.words),
            "tame": [True, False],
            "legs": [0, 2, 4, 6, 8],
            "weight": [[w] for w in np.arange(10.0, 15.1, 0.5).tolist()],
            "place": [[x / 2, y / 2] for x in range(-4, 5) for y in range(-4, 5)],
            "age": vocabularies["age"].values.tolist(),
            "hour": list(range(24)),
            "heat": vocabularies["heat"].values.tolist(),
        }
        # Near numbers are alike, and seven other fields are noise of sqrt(7 / 2048).
        off = {"weight": 0.5, "place": 0.5, "age": 2, "hour": 2, "heat": 3}
        for field, value in given.items():
            memory = hdc.ItemMemory(vocabularies[field], choices[field])
            found = memory.cleanup(record / keys.encode(field)).items
            if field in off:
                assert np.abs(np.subtract(found, value)).max() <= off[field]
            else:
                assert found == value

    @pytest.mark.parametrize("number", [149, 149.0, np.float32(149), np.int64(149), math.nan, 1j])
    def test_numbers_are_never_taken_for_names(self, number):
        keys, values = self.space.symbols("key"), self.space.symbols("value")
        for vocabularies in (values, {"price": values}):
            with pytest.raises(
                primal.errors.DataError, match=r"'price' holds the number .* or the text"
            ):
                hdc.encode_record({"price": number}, keys, vocabularies)
        named = hdc.encode_record({"price": str(number)}, keys, values)
        assert hdc.similarity(named / keys.encode("price"), values.encode(str(number))) > 0.99

    @pytest.mark.parametrize("kind", ["role", "symbols", "integers"])
    def test_sequences(self, kind):
        values = self.space.symbols("value")
        positions = (
            self.space.numbers("position") if kind == "integers" else self.space.symbols("position")
        )
        given = "position" if kind == "role" else positions
        trace = hdc.encode_sequence(self.words, given, values, start=5)
        read = [self.nearest(trace / code) for code in positions.encode(np.arange(5, 13))]
        assert tuple(read) == self.words

    def test_sequences_of_levels_are_the_encoder_of_pictures(self):
        gray = self.space.levels("value", low=0, high=16, n=17)
        picture = np.random.default_rng(0).integers(0, 17, 64)
        pixels = self.space.symbols("position").encode(np.arange(64))
        expected = hdc.bundle(pixels * gray.encode(picture))
        found = hdc.encode_sequence(picture, "position", gray)
        assert np.array_equal(found, expected)

    def test_ngrams_are_counted_in_order(self):
        letters = self.space.symbols("value")
        codes = letters.encode(list("abcab"))
        a, b, c = letters.encode(list("abc"))
        expected = sum(
            hdc.permute(x, 2) * hdc.permute(y, 1) * z
            for x, y, z in ((a, b, c), (b, c, a), (c, a, b))
        )
        assert np.allclose(hdc.ngrams(codes), expected, atol=1e-5)
        assert np.allclose(hdc.ngrams(hdc.phasors(codes)), expected, atol=1e-4)
        assert np.allclose(hdc.ngrams(codes, 1), hdc.bundle(codes), atol=1e-5)
        whole = hdc.bind([hdc.permute(code, 4 - i) for i, code in enumerate(codes)])
        assert np.allclose(hdc.ngrams(codes, 5), hdc.phasors(whole), atol=1e-5)
        batch = hdc.Codes.stack([codes, codes[::-1]])
        assert np.allclose(hdc.ngrams(batch, 2)[0], hdc.ngrams(codes, 2), atol=1e-6)
        backwards = hdc.similarity(hdc.ngrams(batch, 2)[1], hdc.ngrams(codes, 2))
        assert abs(backwards) < 0.15

    def test_graphs_have_directions(self):
        roles = [self.space.symbols(role) for role in ("key", "relation", "value")]
        graph = hdc.encode_graph([("cat", "sees", "dog"), ("dog", "eats", "two")], *roles)
        question = hdc.bind(roles[0].encode("cat"), roles[1].encode("sees"))
        assert self.nearest(graph / question) == "dog"
        back = hdc.bind(roles[0].encode("dog"), roles[1].encode("sees"))
        answers = hdc.similarity(graph / back, roles[2].encode(self.words))
        assert np.abs(answers).max() < 0.2


def two(D=8):
    space = hdc.Space(D, roles=("a", "b"))
    return space.symbols("a"), space.symbols("b")


def three():
    space = hdc.Space(8, roles=("a", "b", "c"))
    return [space.symbols(role) for role in "abc"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hdc.encode_record({}, *two()), "at least one"),
        (lambda: hdc.encode_record(["a"], *two()), "at least one"),
        (lambda: hdc.encode_record({"x": "y"}, two()[0], two()[0]), "different roles"),
        (lambda: hdc.encode_record({"x": "y"}, two()[0], two(16)[1]), "2 space"),
        (lambda: hdc.encode_record({"x": "y"}, two()[0], {"z": two()[1]}), "no vocabulary for"),
        (
            lambda: hdc.encode_record({"x": "y"}, two()[0], "b"),
            "a vocabulary must be of type Vocabulary, got str",
        ),
        (
            lambda: hdc.encode_record({"x": "y"}, "a", two()[1]),
            "keys must be of type Symbols, got str",
        ),
        (lambda: hdc.encode_record({"x": ["y", "z"]}, *two()), "must hold one value"),
        (
            lambda: hdc.encode_record({"x": two()[1].encode(["y", "z"])}, *two()),
            r"one code, got shape \(2, 4\)",
        ),
        (
            lambda: hdc.encode_record({"x": hdc.Space(10).symbols().encode("y")}, *two()),
            "4 phases with 5",
        ),
        (lambda: hdc.encode_sequence("ab", "a", "b"), "of type Vocabulary"),
        (lambda: hdc.encode_sequence(5, "b", two()[0]), "items must be a sequence"),
        (lambda: hdc.encode_sequence("ab", *two()[::-1], start=0.5), "start must be a whole"),
        (
            lambda: hdc.encode_sequence("ab", hdc.Space(8).numbers(), hdc.Space(8).symbols()),
            "different roles",
        ),
        (lambda: hdc.encode_sequence("ab", "b", two()[1]), "different roles"),
        (lambda: hdc.encode_sequence("ab", "z", two()[1]), "one of 'a', 'b', got 'z'"),
        (
            lambda: hdc.encode_sequence("ab", 3, two()[1]),
            "positions must be of type Symbols or Numbers, got int",
        ),
        (lambda: hdc.encode_sequence(3, "a", two()[1]), "items must be a sequence"),
        (
            lambda: hdc.encode_sequence("ab", "a", two()[1], start=2**63 - 1),
            "start must be at most",
        ),
        (lambda: hdc.encode_graph([], *three()), "triples"),
        (lambda: hdc.encode_graph([("a", "b")], *three()), "triples"),
        (lambda: hdc.encode_graph([("a", "b", "c"), ("a", "b")], *three()), "triples"),
        (lambda: hdc.encode_graph(5, *three()), "triples must be a sequence"),
        (lambda: hdc.ngrams(two()[0].encode("a")), r"\(\.\.\., m, k\)"),
        (lambda: hdc.ngrams(two()[0].encode(["a", "b"])), "no runs of n = 3"),
        (lambda: hdc.ngrams(two()[0].encode(["a", "b"]), 0), "at least 1"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(primal.PrimalError, match=words):
        call()
