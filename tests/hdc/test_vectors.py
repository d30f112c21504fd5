"""Vectors in memory: what is stored comes back, certified; growth, files, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

import primal
from primal import hdc
from primal._files import read_object, write_object
from primal._specs import make_spec


def stored(memory, n, seed=0):
    """Names and vectors, stored."""
    keys = [f"{seed} {i}" for i in range(n)]
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, memory.d)) * memory.half_width
    memory.store(keys, x)
    return keys, x


def assert_retrieved(memory, keys, x):
    found = memory.retrieve(keys)
    assert (found.status == "unique").all()
    assert np.abs(found.x - x).max() < 6.0 * memory.accuracy


@pytest.mark.parametrize("d", [2, 8])
def test_every_vector_of_a_full_matrix_comes_back(d):
    memory = hdc.VectorMemory(d, pairs_per_matrix=40)
    keys, x = stored(memory, 200)  # five full matrices
    assert (len(memory), memory.n_matrices) == (200, 5)
    assert_retrieved(memory, keys, x)
    assert memory.plan.certificate.recoverable
    assert memory.plan.certificate.x_std.max() <= memory.accuracy
    # What the linear inverse has of it: most phases have wrapped.
    assert memory.map.regime(x).kind != "invertible"


def test_vectors_that_are_alike_do_not_disturb_each_other():
    memory = hdc.VectorMemory(2, pairs_per_matrix=40)
    x = np.repeat([[0.25, -0.5], [0.7, 0.1]], 20, axis=0)
    memory.store(range(40), x)
    assert_retrieved(memory, range(40), x)


def test_keys_that_were_never_stored_fail():
    memory = hdc.VectorMemory(2, pairs_per_matrix=40)
    keys, _ = stored(memory, 60)
    found = memory.retrieve([f"other {i}" for i in range(100)])
    assert (found.status == "failed").all()
    assert np.isnan(found.x).all()
    assert keys[41] in memory
    assert "other 1" not in memory


def test_the_scale_follows_the_pairs_and_the_accuracy():
    few, many, fine = (
        hdc.VectorMemory(2, pairs_per_matrix=n, accuracy=accuracy)
        for n, accuracy in ((4, 1e-3), (60, 1e-3), (4, 1e-6))
    )
    assert few.plan.noise_turns < many.plan.noise_turns
    assert few.map.sigma < many.map.sigma < fine.map.sigma
    keys, x = stored(fine, 4)
    assert_retrieved(fine, keys, x)  # six digits, from 256 noisy phases


def test_as_many_pairs_as_fit():
    memory = hdc.VectorMemory(2, 256)
    n = memory.pairs_per_matrix
    assert 20 < n < 128
    keys, x = stored(memory, 2 * n)
    assert_retrieved(memory, keys, x)
    with pytest.raises(primal.errors.ParameterError, match=r"200 pairs of 2 numbers.*: (\d+) fit"):
        hdc.VectorMemory(2, 256, pairs_per_matrix=200)


def test_units_of_x_are_free():
    memory = hdc.VectorMemory(2, pairs_per_matrix=40, half_width=5e4, accuracy=50.0)
    keys, x = stored(memory, 40)
    assert_retrieved(memory, keys, x)


def test_one_key_and_none():
    memory = hdc.VectorMemory(3, 256, pairs_per_matrix=8)
    memory.store("a", [0.1, 0.2, -0.3]).store([], np.empty((0, 3)))
    found = memory.retrieve("a")
    assert (found.x.shape, found.status.shape, str(found.status)) == ((3,), (), "unique")
    assert memory.retrieve([]).x.shape == (0, 3)
    assert len(memory) == 1


@pytest.mark.parametrize("mapped", [False, True])
def test_files(tmp_path, mapped):
    memory = hdc.VectorMemory(2, 128, pairs_per_matrix=8)
    keys, x = stored(memory, 12)
    memory.save(tmp_path / "memory")
    again = hdc.VectorMemory.load(tmp_path / "memory", mapped=mapped)
    assert (len(again), again.n_matrices, again.map) == (12, 2, memory.map)
    assert np.array_equal(again.retrieve(keys).x, memory.retrieve(keys).x)
    more, y = stored(again, 6, seed=1)  # fills the second matrix and begins a third
    assert again.n_matrices == 3
    assert_retrieved(again, keys + more, np.concatenate([x, y]))


def test_a_file_keeps_the_scale_that_it_was_made_with(tmp_path, monkeypatch):
    memory = hdc.VectorMemory(2, 256, pairs_per_matrix=8)
    keys, x = stored(memory, 8)
    memory.save(tmp_path / "memory")
    # As if a later version chose another scale.
    monkeypatch.setattr("primal.hdc._vectors._LEAST_NOISE_TURNS", 0.08)
    again = hdc.VectorMemory.load(tmp_path / "memory")
    assert again.map == memory.map != hdc.VectorMemory(2, 256, pairs_per_matrix=8).map
    assert_retrieved(again, keys, x)


@pytest.mark.parametrize(
    "damage",
    [
        {"n_pairs": 17},
        {"n_pairs": -1},
        {"n_pairs": 2**60},  # a list of matrices would take all memory
        {"d": 3},
        {"pairs_per_matrix": 4},
        {"map": {"type": "Space"}},
    ],
)
def test_damaged_files_are_refused(tmp_path, damage):
    memory = hdc.VectorMemory(2, 128, pairs_per_matrix=8)
    stored(memory, 12)
    memory.save(tmp_path / "memory")
    fields, arrays = read_object(tmp_path / "memory", "VectorMemory")
    write_object(tmp_path / "memory", make_spec("VectorMemory", **fields | damage), arrays)
    with pytest.raises(primal.errors.DataError):
        hdc.VectorMemory.load(tmp_path / "memory")


def test_a_spec_makes_an_empty_memory():
    memory = hdc.VectorMemory(2, 128)
    stored(memory, 3)
    again = primal.from_spec(json.loads(json.dumps(memory.spec)))
    assert (len(again), again.map, again.spec) == (0, memory.map, memory.spec)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.store("a", [0.0, 2.0]), "half_width = 1"),
        (lambda m: m.store("a", [0.0, 0.0, 0.0]), "2"),
        (lambda m: m.store(["a"], [0.0, 0.0]), r"need vectors of shape \(1, 2\)"),
        (lambda m: m.store(["a", "a"], np.zeros((2, 2))), "2 keys, 1 of them different"),
        (lambda m: m.store("there", [0.0, 0.0]), "1 stored before"),
        (lambda m: m.store("a", [0.0, np.nan]), "x"),
        (lambda m: m.store(np.array([["a"]]), np.zeros((1, 1, 2))), "keys"),
        (lambda m: hdc.VectorMemory(2, 128).retrieve("a"), "empty"),
        (lambda m: hdc.VectorMemory(0), "d must be"),
        (lambda m: hdc.VectorMemory(2, 127), "even"),
        (lambda m: hdc.VectorMemory(2, accuracy=0.5), "accuracy"),
        (lambda m: hdc.VectorMemory(2, pairs_per_matrix=0), "pairs_per_matrix"),
        (lambda m: hdc.VectorMemory(9, 16), "at most 8"),
        (lambda m: hdc.VectorMemory(8, 16, accuracy=1e-9), "do not fit"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    memory = hdc.VectorMemory(2, 128, pairs_per_matrix=8).store("there", [0.5, 0.5])
    with pytest.raises(primal.PrimalError, match=words):
        call(memory)
    assert len(memory) == 1
