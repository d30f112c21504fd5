"""Names and whole numbers as codes: blocks of primes that bind, codes that grow."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primal
from primal import hdc


def recalled_share(keys, values, n_pairs, trials=6, seed=0):
    """Share of values recalled from the sum of products of keys and values, by nearest code."""
    rng = np.random.default_rng(seed)
    waves = hdc.phasors(values).view(np.float32).T.copy()
    right = 0
    for _ in range(trials):
        i = rng.choice(len(keys), n_pairs, replace=False)
        j = rng.choice(len(values), n_pairs)
        trace = hdc.bundle(hdc.bind(keys[i], values[j]))
        answers = (trace / keys[i]).view(np.float32) @ waves
        right += (answers.argmax(axis=1) == j).sum()
    return right / (trials * n_pairs)


def test_binding_collapses_within_a_block_and_works_between_blocks():
    space = hdc.Space(512, roles=("key", "value"))
    keys, values = (space.numbers(role).encode(np.arange(1, 1001)) for role in space.roles)
    assert recalled_share(keys, keys, 10) < 0.3
    assert recalled_share(keys, values, 10) > 0.98


@pytest.mark.parametrize("n_pairs", [10, 20, 40])
def test_disjoint_blocks_are_as_good_as_random_codes(n_pairs):
    space = hdc.Space(512, roles=("key", "value"))
    keys, values = (space.numbers(role).encode(np.arange(1, 1001)) for role in space.roles)
    rng = np.random.default_rng(7)
    random = [hdc.Codes(rng.integers(0, 2**32, (1000, 256), dtype=np.uint32)) for _ in range(2)]
    ours = recalled_share(keys, values, n_pairs, trials=1600 // n_pairs)
    theirs = recalled_share(*random, n_pairs, trials=1600 // n_pairs)
    # 0.02 is the bar; 1600 recalls each leave a standard error of the difference up to 0.017.
    assert ours > theirs - 0.02 - 0.017


def test_hashed_names_bind_even_within_a_block():
    symbols = hdc.Space(512).symbols()
    codes = symbols.encode(list(range(1000)))
    assert recalled_share(codes[:500], codes[500:], 10) > 0.98


@pytest.mark.parametrize("k", [50, 256, 700])
def test_codes_of_different_roles_are_unrelated(k):
    space = hdc.Space(2 * k, roles=tuple("abcdefgh"))
    codes = [hdc.phasors(space.numbers(role).encode(np.arange(1, 31))) for role in space.roles]
    worst = max(
        np.abs(x @ y.T).max() / k
        for i, first in enumerate(codes)
        for second in codes[:i]
        for x, y in ((first, second), (first, second.conj()))
    )
    # 28 pairs of roles, 900 pairs of numbers, 2 signs: |mean of k random phasors| exceeds t with
    # chance exp(-k t**2), so 1e-3 in all is reached at sqrt(ln(5e7) / k).
    assert worst < math.sqrt(math.log(28 * 900 * 2 * 1000) / k)


@given(st.integers(1, 400), st.integers(1, 400), st.integers(0, 15))
def test_a_smaller_space_is_a_prefix_of_a_larger_one(k, more, role):
    roles = tuple(f"role {i}" for i in range(16))
    small = hdc.Space(2 * k, roles=roles)
    large = small.grow(2 * (k + more))
    name = roles[role]
    assert np.array_equal(large.increments(name)[:k], small.increments(name))


def test_no_prime_serves_two_roles():
    roles = tuple(f"role {i}" for i in range(16))
    space = hdc.Space(600, roles=roles)
    together = np.concatenate([space.increments(role) for role in roles])
    assert len(np.unique(together)) == len(together)
    assert np.array_equal(
        hdc.Space(600, roles=roles[:2]).increments("role 1"), space.increments("role 1")
    )


def window_share(increments, n_consecutive, N):
    """Share of the strongest answers of a bundle of consecutive numbers that lie inside it."""
    cosines = primal.codebooks.lag_cosines(increments, N)
    shares = []
    for first in (0, N // 3, N // 2):
        window = np.arange(first, first + n_consecutive)
        answers = cosines[np.abs(np.arange(N)[:, None] - window)].sum(axis=1)
        best = np.argsort(-answers, kind="stable")[:n_consecutive]
        shares.append(np.isin(best, window).mean())
    return np.mean(shares)


@pytest.mark.parametrize(
    ("k", "n_consecutive", "N"), [(256, 40, 1000), (256, 30, 3000), (512, 90, 1500)]
)
def test_the_scale_closes_the_hole_of_consecutive_positions(k, n_consecutive, N):
    roles = tuple(f"role {i}" for i in range(16))
    shares, energies = {}, {}
    default = hdc.Space(2 * k).sigma
    for sigma in (1.0, default):
        space = hdc.Space(2 * k, roles=roles, sigma=sigma)
        increments = [space.increments(role) for role in roles]
        shares[sigma] = np.mean([window_share(i, n_consecutive, N) for i in increments])
        runs = [hdc.bundle(space.numbers(r).encode(np.arange(n_consecutive))) for r in roles]
        energies[sigma] = np.square(np.abs(runs)).mean() / n_consecutive
    # Sixteen blocks: the mean energy of uniform frequencies is 1 within sqrt(2 n / (3 k)) / 4.
    error = math.sqrt(2 * n_consecutive / (3 * k)) / 4
    assert abs(energies[default] - 1.0) < 3 * error
    assert energies[1.0] < 1.0 - 2.0 * error
    assert shares[default] > shares[1.0] + 0.03


@given(st.integers(-(2**62), 2**62), st.integers(-(2**62), 2**62))
def test_numbers_add_when_bound_to_the_bit(s, t):
    numbers = hdc.Space(64).numbers()
    a, b, both = numbers.encode([s, t, s + t], bits=64)
    assert a * b == both
    assert np.array_equal(numbers.encode(s).turns, primal.exact.round_turns(a.turns))


def test_codes_of_names_are_as_unrelated_as_random_ones():
    codes = hdc.Space(256).symbols().encode([f"name {i}" for i in range(80)])
    cosines = hdc.similarity(codes[:, None], codes)[np.triu_indices(80, 1)]
    assert math.sqrt((cosines**2).mean()) == pytest.approx(1.0 / 16.0, rel=0.05)
    assert np.abs(cosines).max() < 0.3


def test_specs_rebuild_vocabularies():
    space = hdc.Space(64, roles=("a", "b"))
    for vocabulary in (
        space.symbols("b"),
        space.numbers("a"),
        space.levels("b", low=-1, high=2.5, n=7, clip=True),
        space.circular("b", period=24),
    ):
        again = primal.from_spec(json.loads(json.dumps(vocabulary.spec)))
        assert again == vocabulary
        assert again.grow(128).space.D == 128


def test_known_codes():
    """These bits must never change."""
    space = hdc.Space(8, roles=("a", "b"))
    words, numbers = space.symbols("b").encode("prime"), space.numbers("a").encode(5)
    assert words.turns.tolist() == [2670964525, 3978327392, 1564556749, 2679577605]
    assert numbers.turns.tolist() == [2400584793, 827711332, 35776241, 957021924]
    # Once more, in Python's integers: 5 sigma sqrt(p) for primes number 0, 16, 32 and 48.
    above, below = space.sigma.as_integer_ratio()
    for p, code in zip((2, 59, 137, 227), numbers.turns.tolist(), strict=True):
        increment = math.isqrt((above**2 * p << 128) // below**2) % 2**64
        assert code == ((5 * increment % 2**64 + 2**31) >> 32) % 2**32


@pytest.mark.parametrize(
    "names",
    [["a", 1, None], ("a", 1, None), np.array(["a", 1, None], dtype=object)],
    ids=["list", "tuple", "array"],
)
def test_names_come_in_any_container(names):
    symbols = hdc.Space(16).symbols()
    codes = symbols.encode(names)
    assert codes.shape == (3, 8)
    assert [symbols.encode(name) == code for name, code in zip(names, codes, strict=True)] == [
        True
    ] * 3


def test_numbers_are_hashed_from_ranges_and_arrays_of_any_shape():
    symbols = hdc.Space(16).symbols()
    one_by_one = hdc.Codes.stack([symbols.encode(i) for i in range(6)])
    assert (symbols.encode(range(6)) == one_by_one).all()
    grid = symbols.encode(np.arange(6).reshape(2, 3))
    assert grid.shape == (2, 3, 8)
    assert (grid == one_by_one[np.arange(6).reshape(2, 3)]).all()
    assert symbols.encode([]).shape == (0, 8)
    assert symbols.encode(np.float64(3.0)) == one_by_one[3]


@pytest.mark.parametrize("unit", ["Y", "D", "s", "us", "ns", "ps"])
@pytest.mark.parametrize("kind", [np.datetime64, np.timedelta64])
def test_dates_and_durations_are_no_names_in_any_unit(kind, unit):
    symbols, dates = hdc.Space(16).symbols(), np.array([kind(1, unit), kind("NaT", unit)])
    for names in (dates, dates[0], list(dates)):
        with pytest.raises(primal.errors.DataError, match=r"got np\.\w+64\(.*convert it to text"):
            symbols.encode(names)
    missing = symbols.encode(None)
    assert symbols.encode(dates[1]) == symbols.encode(dates[1:])[0] == missing


def test_the_room_needs_nothing_but_numpy():
    code = """
import sys
sys.modules.update(dict.fromkeys(("sklearn", "scipy", "torch"), None))
import primal
from primal import hdc
space = hdc.Space(1024, roles=("key", "value", "number", "hour"))
keys, values = space.symbols("key"), space.symbols("value")
record = hdc.encode_record(
    {"capital": "Paris", "people": 2.1, "noon": 12},
    keys,
    {
        "capital": values,
        "people": space.levels("number", low=0, high=20, n=200),
        "noon": space.circular("hour", period=24),
    },
)
words = hdc.ItemMemory(values, ["Rome", "Paris", "Oslo"])
print(words.cleanup(record / keys.encode("capital")).items)
weights = space.reals("number", 2, kernel="matern32")
print(primal.from_spec(weights.spec) == weights, weights.encode([[1.5, 2.0]]).shape)
print(hdc.Space(1024).symbols().encode("cat").shape, "primal.sklearn" in sys.modules)
try:
    hdc.to_torch(words.codes)
except primal.errors.MissingPackageError as error:
    print(type(error).__name__, "pip install" in str(error))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    shown = ["Paris", "True (1, 512)", "(512,) False", "MissingPackageError True"]
    assert done.stdout.splitlines() == shown, done.stderr


def test_a_space_too_large_is_refused_before_anything_is_made(monkeypatch):
    from primal.exact import _spacing as _spacing

    def never(*_):
        raise AssertionError("primes were asked for")

    monkeypatch.setattr(_spacing, "prime_slice", never)
    for D, n_blocks in ((10**9, 16), (2**40, 16), (10**6, 2**31), (8, 2**31)):
        with pytest.raises(primal.errors.ParameterError, match="203,280,221 below"):
            hdc.Space(D, n_blocks=n_blocks)
    monkeypatch.setattr(primal._checks, "_TOTAL_MEMORY", 10**6)
    with pytest.raises(primal.errors.MemoryLimitError, match="primes of a space of D = 20000"):
        hdc.Space(20_000)


SYMBOLS = hdc.Space(8).symbols()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hdc.Space(7), "even"),
        (lambda: hdc.Space("8"), "whole number"),
        (lambda: hdc.Space(8, roles="key"), "sequence of names, got 'key'"),
        (lambda: hdc.Space(8, roles=3), "sequence of names, got 3"),
        (lambda: hdc.Space(8, roles=(1, 2)), "different names"),
        (lambda: hdc.Space(8, roles=("a", "a")), "different names"),
        (lambda: hdc.Space(8, roles=("a", "b"), n_blocks=1), "n_blocks = 1"),
        (lambda: hdc.Space(8).symbols("verb"), "one of 'item', got 'verb'"),
        (lambda: hdc.Space(8).grow(6), "cannot grow to 6"),
        (lambda: hdc.Space(8).symbols().encode([object()]), "categories must be"),
        (lambda: hdc.Space(8).symbols().encode([["a"]]), "categories must be"),
        (lambda: hdc.Space(8).numbers().encode(0.5), "must be integers"),
        (lambda: hdc.Space(8).numbers().encode(5, bits=16), "32 or 64, got 16"),
        (lambda: hdc.Symbols("space", "item"), "must be of type Space, got str"),
        (lambda: primal.from_spec({**hdc.Space(8).spec, "map": "static"}), "has map"),
        (lambda: primal.from_spec({**hdc.Space(8).spec, "roles": 3}), "sequence of names"),
        (lambda: primal.from_spec({**SYMBOLS.spec, "type": "Words"}), "'Words'"),
        (
            lambda: primal.from_spec({**SYMBOLS.spec, "version": 0}),
            "version 1 of the spec of a Sym",
        ),
        (
            lambda: primal.from_spec({**SYMBOLS.spec, "space": 8}),
            "a spec is a mapping, got the int",
        ),
        (
            lambda: primal.from_spec({**SYMBOLS.spec, "space": SYMBOLS.spec}),
            "must be of type Space",
        ),
        (lambda: primal.from_spec({**SYMBOLS.spec, "role": "verb"}), "'verb'"),
        (lambda: primal.from_spec({"type": "Symbols", "version": 1}), "lacks space, role"),
        (lambda: primal.from_spec({**SYMBOLS.spec, "step": 2}), "has step"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(primal.PrimalError, match=words):
        call()


def test_masked_names_are_refused():
    with pytest.raises(primal.PrimalError, match="names is masked: 1 of 2 values are missing"):
        hdc.Space(64).symbols().encode(np.ma.array([1, 2], mask=[False, True]))
