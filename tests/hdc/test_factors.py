"""Factors of a product by lattice: right, certified, at few bits and with noise."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import primal
from primal import hdc


def vocabularies(n_factors, n_positions, k):
    space = hdc.Space(2 * k, roles=tuple("abcdefgh"[:n_factors]))
    return [space.numbers(role, n_positions=n_positions) for role in space.roles]


def products(domains, n, seed=0):
    """Positions (n, F) and the codes of their products."""
    rng = np.random.default_rng(seed)
    chosen = np.stack([rng.integers(0, domain.n_positions, n) for domain in domains], axis=1)
    return chosen, hdc.bind([d.encode(chosen[:, f]) for f, d in enumerate(domains)])


def rounded(codes, bits):
    """Phases rounded to so many bits, and the noise that this makes."""
    step = 1 << (32 - bits)
    turns = (codes.turns + np.uint32(step // 2)) & np.uint32(2**32 - step)
    return hdc.Codes(turns), 2.0**-bits / math.sqrt(12.0)


# 256 bits for each product, as the peers have it.
@pytest.mark.parametrize(
    ("n_factors", "n_positions", "k", "bits"),
    [
        *((3, n, 64, 4) for n in (100, 3000, 10**4, 10**5, 10**6)),
        *((4, 10**6, 32, 8), (4, 316, 128, 2)),
    ],
)
def test_256_bits_are_enough(n_factors, n_positions, k, bits):
    domains = vocabularies(n_factors, n_positions, k)
    chosen, codes = products(domains, 200)
    product, noise = rounded(codes, bits)
    found = hdc.factorize(product, domains, noise=noise)
    assert np.array_equal(found.indices, chosen)
    assert (found.status == "unique").all()
    assert not found.overloaded
    # A phase off by up to half a step has the mean cosine sin(h) / h.
    half = math.pi / 2**bits
    assert found.confidence.mean() == pytest.approx(math.sin(half) / half, abs=0.005)


def test_noise_of_a_twentieth_of_a_turn():
    domains = vocabularies(3, 10**6, 128)
    chosen, codes = products(domains, 300)
    noise = np.random.default_rng(1).normal(0.0, 0.05, codes.shape)
    found = hdc.factorize(hdc.phasors(codes) * np.exp(2j * np.pi * noise), domains, noise=0.05)
    right = (found.indices == chosen).all(axis=1)
    assert right.mean() >= 0.99
    assert np.array_equal(found.status == "unique", right)


def test_exact_phases_hold_the_largest_positions():
    domains = vocabularies(2, 2**40, 32)
    chosen, codes = products(domains, 50)
    found = hdc.factorize(codes, domains)
    assert np.array_equal(found.indices, chosen)
    wide = hdc.bind([d.encode(chosen[:, f], bits=64) for f, d in enumerate(domains)])
    assert np.array_equal(hdc.factorize(wide, domains).indices, chosen)


def test_unique_is_what_an_exhaustive_search_finds():
    # Few phases with much noise: where another product is nearer, none is called unique.
    domains = vocabularies(2, 12, 8)
    chosen, codes = products(domains, 400)
    noise = np.random.default_rng(2).normal(0.0, 0.1, codes.shape)
    noisy = codes * hdc.Codes((noise * 2.0**32).astype(np.int64).astype(np.uint32))
    every = np.array(list(itertools.product(range(12), repeat=2)))
    all_codes = hdc.bind([d.encode(every[:, f]) for f, d in enumerate(domains)])
    nearest = every[hdc.similarity(noisy[:, None], all_codes).argmax(axis=1)]
    found = hdc.factorize(noisy, domains, noise=0.1)
    assert not np.array_equal(nearest, chosen)  # some are beyond any decoder
    unique = found.status == "unique"
    assert np.array_equal(found.indices[unique], chosen[unique])
    likeliest = found.indices[found.status != "failed"] == nearest[found.status != "failed"]
    assert likeliest.all(axis=1).mean() > 0.95
    assert found.overloaded


def test_names_are_found_by_their_positions():
    space = hdc.Space(128, roles=("colour", "shape", "number"))
    colours, shapes = (space.symbols(role, n_positions=2**20) for role in ("colour", "shape"))
    numbers = space.numbers("number", n_positions=1000)
    names = {int(colours.positions(name)): name for name in ("red", "green", "blue")}
    scene = colours.encode("blue") * shapes.encode("cube") * numbers.encode(7)
    found = hdc.factorize(scene, [colours, shapes, numbers])
    assert names[found.indices[0]] == "blue"
    assert found.indices[1:] == (int(shapes.positions("cube")), 7)
    assert (found.status, found.confidence) == ("unique", pytest.approx(1.0))


def test_what_is_no_product_fails():
    domains = vocabularies(3, 1000, 64)
    alien = np.random.default_rng(0).integers(0, 2**32, (20, 64), dtype=np.uint32)
    with pytest.warns(primal.errors.MisfitWarning, match="20 of 20"):
        found = hdc.factorize(hdc.Codes(alien), domains, noise=0.02)
    assert (found.status == "failed").all()
    assert (found.indices == -1).all()
    assert (found.confidence == 0.0).all()
    outside = hdc.bind([hdc.Numbers(d.space, d.role).encode(1000) for d in domains])
    assert hdc.factorize(outside, domains).status == "failed"


def test_positions_of_names_and_specs():
    space = hdc.Space(64)
    free, few = space.symbols(), space.symbols(n_positions=1000)
    names = ["a", "b", 3]
    assert np.array_equal(few.positions(names), free.positions(names) % 1000)
    assert (few.encode(names) == space.numbers().encode(few.positions(names))).all()
    assert (few.grow(128).n_positions, few.encode("a").shape) == (1000, (32,))
    for vocabulary in (few, space.numbers(n_positions=7), free):
        assert primal.from_spec(json.loads(json.dumps(vocabulary.spec))) == vocabulary
    assert "n_positions" not in free.spec  # files of earlier versions stay what they were


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d, c: hdc.factorize(c, d[:1]), "two or more"),
        (lambda d, c: hdc.factorize(c, [d[0], d[1].encode([1, 2])]), "two or more"),
        (lambda d, c: hdc.factorize(c, [d[0], d[0]]), "different roles"),
        (lambda d, c: hdc.factorize(c, [d[0], d[1].grow(64)]), "of 2 spaces"),
        (lambda d, c: hdc.factorize(c, [d[0], d[0].space.numbers("b")]), "n_positions="),
        (lambda d, c: hdc.factorize(c, [d[0].grow(64), d[1].grow(64)]), "k = 32"),
        (lambda d, c: hdc.factorize(c, d, noise=0.0), "noise must be"),
        (lambda d, c: hdc.factorize(c.turns, d), r"hdc\.Codes\(turns\)"),
        (lambda d, c: d[0].encode(10), "from 0 to 9"),
        (lambda d, c: d[0].encode([-1, 3]), "from 0 to 9"),
        (lambda d, c: d[0].space.symbols(n_positions=1), "at least 2"),
        (lambda d, c: d[0].space.symbols(n_positions=2**41), "n_positions"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    domains = vocabularies(2, 10, 16)
    with pytest.raises(primal.PrimalError, match=words):
        call(domains, domains[0].encode(1) * domains[1].encode(2))


def test_products_of_several_combinations_are_ambiguous():
    space = hdc.Space(512, roles=("day", "place", "name"))
    days, places, names = (space.symbols(role).encode(range(20)) for role in space.roles)
    scene = days[3] * places[11] * names[17]
    twice = hdc.Codes.stack([*days, days[3]])
    found = hdc.factorize(scene, [twice, places, names])
    assert found.status == "ambiguous"
    # Of one role, factors trade places; and 3 + 11 is 4 + 10.
    assert hdc.factorize(days[3] * days[11], [days, days]).status == "ambiguous"
    numbers = space.numbers("day").encode(range(20))
    assert hdc.factorize(numbers[3] * numbers[11], [numbers, numbers]).status == "ambiguous"
    assert hdc.factorize(scene, [days, places, names]).status == "unique"
