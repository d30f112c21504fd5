"""Real numbers, levels and angles as codes: similarity follows its law."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primal
from primal import hdc

SPACE = hdc.Space(512, roles=("a", "b", "c"))


def graded(space, role="b"):
    """One of each vocabulary of numbers in a range or on a circle."""
    return (
        space.levels(role, low=0, high=10, n=11),
        space.circular(role, period=10),
    )


class TestLevels:
    @pytest.mark.parametrize("k", [16, 100, 256, 1000, 5000])
    @pytest.mark.parametrize("n", [2, 5, 64])
    def test_similarity_falls_linearly_up_to_a_few_phases(self, k, n):
        space = hdc.Space(2 * k)
        levels = space.levels(low=-1.0, high=3.0, n=n)
        steps = np.abs(levels.values[:, None] - levels.values) / 4.0
        found = hdc.similarity(levels.codes[:, None], levels.codes)
        # At most 3.3 phases too many or too few were seen, for k up to 5000; random jumps would
        # be off by sqrt(k) / 2.
        assert np.abs(found - (1.0 - steps)).max() < 4.0 / k

    def test_similarity_is_the_share_of_phases_that_did_not_jump(self):
        codes = SPACE.levels(low=0, high=1, n=9).codes
        for other in codes:
            same = (codes[0].turns == other.turns).mean()
            assert hdc.similarity(codes[0], other) == pytest.approx(same, abs=1e-7)
        jumps = (codes.turns[1:] - codes.turns[:-1]).view(np.int32)
        assert set(np.unique(jumps)) == {-(2**30), 0, 2**30}
        # Back and forth in turns: the ends are orthogonal as complex vectors.
        z = hdc.phasors(codes)
        assert abs(np.vdot(z[0], z[-1])) / 256 < 0.02

    def test_phases_jump_where_the_fractions_of_a_root_say(self):
        k, n = 50, 7
        codes = hdc.Space(2 * k).levels(low=0, high=1, n=n).codes
        for j in range(k):
            fraction = Fraction(math.isqrt(2 * (j + 1) ** 2 << 128) % 2**64, 2**64)
            jumped = [bool(codes.turns[i, j] != codes.turns[0, j]) for i in range(n)]
            assert jumped == [fraction < Fraction(i, n - 1) for i in range(n)]

    def test_numbers_have_the_code_of_the_nearest_step(self):
        levels = SPACE.levels(low=0, high=10, n=11)
        assert levels.values.tolist() == list(range(11))
        x = np.array([[0.0, 0.4, 0.6], [9.4, 9.6, 10.0]])
        assert levels.index(x).tolist() == [[0, 0, 1], [9, 10, 10]]
        assert (levels.encode(x) == levels.codes[levels.index(x)]).all()
        assert levels.encode(np.float32(3)).shape == (256,)
        clipped = SPACE.levels(low=0, high=10, n=11, clip=True)
        assert clipped.encode(-5) == levels.encode(0)
        assert clipped.encode(1e9) == levels.encode(10)


class TestCircular:
    @pytest.mark.parametrize("k", [16, 100, 256, 1000, 5000])
    def test_similarity_falls_linearly_to_the_other_side(self, k):
        # 1.9 / k was seen at k = 16 and 8.8 / k at k = 5000; random phases have sqrt(1 / (2 k)).
        x = np.arange(48) / 48
        codes, gaps = hdc.Space(2 * k).circular(period=1.0).encode(x), np.abs(x[:, None] - x)
        law = 1.0 - 2.0 * np.minimum(gaps, 1.0 - gaps)
        assert np.abs(hdc.similarity(codes[:, None], codes) - law).max() < math.log2(k) / k

    @given(st.integers(0, 2**20 - 1), st.integers(0, 2**20 - 1), st.integers(-5, 5))
    def test_codes_turn_like_the_circle_to_the_bit(self, m, n, rounds):
        # Angles in 2**-20 of the circle are exact.
        circle = SPACE.circular("b", period=2.0**20)
        x, y, both = circle.encode([m, n, m + n + rounds * 2**20])
        assert x * (y / circle.encode(0)) == both

    def test_hours_come_round(self):
        hours = SPACE.circular("b", period=24)
        assert (hours.encode([25, -1, 24.5]) == hours.encode([1, 23, 0.5])).all()
        similarities = hdc.similarity(hours.encode(22), hours.encode(np.arange(24)))
        assert (
            np.abs(
                similarities
                - (1 - np.minimum(np.abs(np.arange(24) - 22), np.abs(np.arange(24) + 2)) / 12)
            ).max()
            < 0.03
        )

    def test_frequencies_follow_the_fourier_series_of_a_triangle(self):
        from primal.hdc._numbers import circular_frequencies

        m = circular_frequencies(20_000)
        assert np.mean(m == 0) == pytest.approx(0.5, abs=1e-3)
        for odd in (1, 3, 5):
            for signed in (odd, -odd):
                share = 2 / (math.pi * odd) ** 2
                assert np.mean(m == signed) == pytest.approx(share, abs=1e-3)
        assert not np.any((m % 2 == 0) & (m != 0))
        assert np.array_equal(circular_frequencies(300), m[:300])


@pytest.mark.parametrize("place", range(2), ids=["levels", "circular"])
def test_graded_codes_grow_and_are_unrelated_between_roles(place):
    vocabulary = graded(SPACE)[place]
    assert vocabulary.grow(2048).space.D == 2048
    x = np.arange(11)
    assert np.array_equal(
        vocabulary.grow(2048).encode(x).turns[:, :256], vocabulary.encode(x).turns
    )
    assert primal.from_spec(json.loads(json.dumps(vocabulary.spec))) == vocabulary
    others = [*graded(SPACE, "c"), *graded(SPACE)[:place], SPACE.symbols("b"), SPACE.symbols("a")]
    for other in others:
        found = np.abs(hdc.similarity(vocabulary.encode(x)[:, None], other.encode(x)))
        # About 0.044 by chance; neighbors share it, so there are few independent ones.
        assert found.max() < 0.25
        assert np.sqrt(np.mean(found**2)) < 0.1


@pytest.mark.parametrize("place", range(2), ids=["levels", "circular"])
def test_a_memory_of_numbers_finds_the_nearest(place):
    vocabulary = graded(SPACE)[place]
    memory = hdc.ItemMemory(vocabulary, [1, 4, 7])
    key = SPACE.symbols("a").encode(["x", "y"])
    trace = key[0] * vocabulary.encode(4.4) + key[1] * vocabulary.encode(0)
    assert memory.cleanup(trace / key[0]).items == 4


def test_known_codes_of_numbers():
    """These bits must never change."""
    space = hdc.Space(8, roles=("a", "b"))
    for vocabulary, x, turns in (
        (space.levels("b", low=0, high=3, n=4), 2, [208441375, 1446875015, 4029736255, 843061191]),
        (space.circular("b", period=24), 7, [2323579661, 2206120260, 3359294824, 2966778900]),
    ):
        assert vocabulary.encode(x).turns.tolist() == turns


class TestReals:
    def test_known_codes(self):
        """These bits must never change."""
        space = hdc.Space(8, roles=("a", "b"))
        for reals, x, turns in (
            (
                space.reals(d=2, gamma=0.5),
                [0.3, -7.0],
                [490511562, 2502800119, 1234763065, 2052297672],
            ),
            (
                space.reals("a", kernel="laplacian"),
                1.5,
                [842439616, 890052291, 2384379570, 3872934163],
            ),
            (
                space.reals("b", 2, gamma=0.5),
                [0.3, -7.0],
                [2152258624, 3473206945, 2502800119, 2399788268],
            ),
        ):
            assert reals.encode(x).turns.tolist() == turns

    def test_specs_rebuild_vocabularies_of_every_role(self):
        reals, other = SPACE.reals(d=3, kernel="cauchy"), SPACE.reals("c", 3, kernel="cauchy")
        assert primal.from_spec(json.loads(json.dumps(reals.spec))) == reals
        assert primal.from_spec(json.loads(json.dumps(other.spec))) == other != reals

    @pytest.mark.parametrize(("d", "kernel"), [(1, "rbf"), (7, "rbf"), (3, "matern32")])
    def test_codes_of_the_first_role_are_the_turns_of_a_kernel_map(self, d, kernel):
        space, x = hdc.Space(66, roles=("a", "b")), np.linspace(-3, 3, 5 * d).reshape(5, d)
        m = primal.KernelPrime(d, 66, kernel, 0.7, form="pair")
        first, second = (space.reals(role, d, kernel=kernel, gamma=0.7) for role in "ab")
        assert first.map == m
        assert np.array_equal(first.encode(x).turns, m.turns(x))
        found = hdc.phasors(first.encode(x)).view(np.float32) * np.float32(m.amplitude)
        assert np.array_equal(found, m.encode(x))
        large = m.grow(128, rescale=True)
        assert np.array_equal(second.encode(x).turns, large.turns(x)[:, second.order])

    @given(st.floats(-50, 50), st.floats(-50, 50), st.sampled_from("abc"))
    def test_vectors_add_when_bound(self, x, y, role):
        reals = hdc.Space(64, roles=("a", "b", "c")).reals(role, gamma=0.5)
        a, b, both = reals.encode([[x], [y], [x + y]])
        gap = ((a * b).turns - both.turns).view(np.int32) / 2.0**32
        # Three phases rounded to 2**-32 turn, and x + y rounded to float64.
        longest = np.abs(reals.frequencies).max()
        assert np.abs(gap).max() <= 1.5 * 2.0**-32 + longest * np.spacing(100.0)

    @pytest.mark.parametrize("role", ["a", "b"])
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cauchy", "matern32"])
    def test_similarity_is_the_kernel(self, kernel, role):
        from primal.maps import kernel_matrix

        reals = hdc.Space(8192, roles=("a", "b")).reals(role, 2, kernel=kernel, gamma=0.7)
        x = np.random.default_rng(0).normal(size=(30, 2))
        codes = reals.encode(x)
        gaps = hdc.similarity(codes[:, None], codes) - kernel_matrix(kernel, x, 0.7)
        assert np.abs(gaps).max() < 0.05

    @pytest.mark.parametrize("k", [100, 256, 1024])
    @pytest.mark.parametrize("d", [1, 8])
    def test_products_of_two_roles_have_the_product_of_the_kernels(self, k, d):
        space = hdc.Space(2 * k, roles=tuple("abcdefgh"))
        rng = np.random.default_rng(1)
        x, y = rng.uniform(-2, 2, (2, 300, d)) / math.sqrt(d)
        exact = np.exp(-0.5 * ((x**2).sum(1) + (y**2).sum(1)))
        zero = np.zeros(d)
        squares = []
        for one, two in ("ab", "ac", "bc", "dh", "fg"):
            first, second = space.reals(one, d, gamma=0.5), space.reals(two, d, gamma=0.5)
            codes = first.encode(x) * second.encode(y)
            found = hdc.similarity(codes, first.encode(zero) * second.encode(zero))
            squares.append(np.mean((found - exact) ** 2))
        # Frequencies drawn independently would be off by sqrt(1 / (2 k)), or a little less. With
        # one order for all roles the product is the code of x + y, off by 0.3.
        assert math.sqrt(np.mean(squares)) < 1.2 * math.sqrt(0.5 / k)

    @given(st.integers(1, 200), st.integers(1, 200), st.sampled_from("abc"))
    def test_codes_grow(self, k, more, role):
        small = hdc.Space(2 * k, roles=("a", "b", "c")).reals(role, 2)
        large = small.grow(2 * (k + more))
        x = [[0.3, 7.0]]
        assert np.array_equal(large.encode(x).turns[:, :k], small.encode(x).turns)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SPACE.levels(low=0, high=0, n=3), "low must be below high"),
        (lambda: SPACE.levels(low=0, high=math.inf, n=3), "inf"),
        (lambda: SPACE.levels(low="a", high=1, n=3), "real numbers"),
        (lambda: SPACE.levels(low=[0, 1], high=1, n=3), "one number"),
        (lambda: SPACE.levels(low=-1e308, high=1e308, n=3), "their distance a float"),
        (lambda: SPACE.levels(low=0, high=1, n=1), "n must be at least 2"),
        (lambda: SPACE.levels(low=0, high=1, n=10**30), "n must be at most"),
        (lambda: SPACE.levels(low=0, high=1, n=2**40).values, "GB"),
        (lambda: SPACE.levels(low=0, high=1, n=2.5), "whole number"),
        (lambda: SPACE.levels(low=0, high=1, n=3, clip=np.array([True])), "True or False"),
        (lambda: SPACE.levels(low=0, high=1, n=3).encode([0.5, 1.5]), r"\[0.0, 1.0\], got 1.5"),
        (lambda: SPACE.levels(low=0, high=1, n=3).encode(-0.1), "clip=True"),
        (lambda: SPACE.levels(low=0, high=1, n=3).encode(math.nan), "nan"),
        (lambda: SPACE.levels(low=0, high=1, n=3, clip=True).encode(math.nan), "nan"),
        (lambda: SPACE.levels(low=0, high=1, n=3).encode("x"), "real numbers"),
        (lambda: SPACE.levels(low=0, high=1, n=10**12).codes, "GB"),
        (lambda: SPACE.circular(period=0), "period must be positive"),
        (lambda: SPACE.circular(period=24).encode(1e9), "take the remainder first"),
        (lambda: SPACE.circular(period=24).encode(math.inf), "inf"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(primal.PrimalError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SPACE.reals(2), "role must be one of 'a', 'b', 'c', got 2"),
        (lambda: SPACE.reals("z"), "one of 'a', 'b', 'c', got 'z'"),
        (lambda: SPACE.reals(kernel="box"), "one of 'rbf'"),
        (lambda: SPACE.reals().encode([1.0, 2.0]), "1 values along its last axis"),
        (lambda: SPACE.reals(d=2).encode(1.0), "2 values along its last axis"),
    ],
)
def test_errors_of_kernels_say_what_is_wrong(call, words):
    with pytest.raises(primal.PrimalError, match=words):
        call()
