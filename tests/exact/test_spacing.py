"""How frequencies of positions are spread: grids of primes, and rotary's own."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primal
from primal.errors import PrimalError
from primal.exact import spaced_increments
from primal.exact._spacing import _grid_primes
from primal.maps import stretched_frequencies


class TestSpacing:
    def test_log_frequencies_are_the_grid_of_rotary_embeddings(self):
        for k in (1, 16, 64, 1024):
            found = spaced_increments(k) / 2.0**64 * (2 * np.pi)
            grid = 10000.0 ** (-np.arange(k) / k)
            assert np.abs(found / grid - 1).max() < 1 / 4000

    def test_log_increments_are_exact_roots_of_distinct_primes(self):
        p, s = _grid_primes(64, Decimal(10000))
        assert len(set(p.tolist())) == 64
        assert set(p.tolist()) <= set(primal.primes(28_000).tolist())
        exact = [math.isqrt(int(q) << (128 - 2 * int(e))) for q, e in zip(p, s, strict=True)]
        assert spaced_increments(64).tolist() == exact

    @pytest.mark.parametrize(("D", "base"), [(2, 10000.0), (64, 10000.0), (128, 500000.0)])
    def test_rotary_frequencies_are_the_nearest_64_bits(self, D, base):
        """Against 60 digits by another library."""
        mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")
        k = D // 2
        with mpmath.workdps(60):
            turns = [
                mpmath.mpf(base) ** (mpmath.mpf(-2 * i) / D) / (2 * mpmath.pi) for i in range(k)
            ]
            nearest = [int(mpmath.nint(turn * 2**64)) for turn in turns]
        assert spaced_increments(k, "rotary", base=base).tolist() == nearest

    def test_sigma_stretches_rotary_positions(self):
        one, quarter = (spaced_increments(8, "rotary", sigma=s).tolist() for s in (1.0, 0.25))
        assert all(abs(4 * b - a) <= 2 for a, b in zip(one, quarter, strict=True))
        large = spaced_increments(1, "rotary", sigma=2.0**40).tolist()[0]
        assert abs(large - one[0] * 2**40 % 2**64) < 2**40

    def test_equal_grid_points_get_different_primes(self):
        # With base 16 and k = 4, every grid point is half the one before: the same digits.
        p, s = _grid_primes(4, Decimal(16))
        assert len(set(p.tolist())) == 4
        assert s.tolist() == [11, 12, 13, 14]

    @given(k=st.integers(1, 40), base=st.floats(1.01, 1e15))
    def test_log_frequencies_fall(self, k, base):
        values = spaced_increments(k, base=base)
        # Neighbours of a very dense grid may swap by the distance between primes.
        ratio = values[1:].astype(np.float64) / values[:-1].astype(np.float64)
        assert (np.abs(ratio * base ** (1 / k) - 1) < 1e-3).all()

    def test_raw_and_kronecker(self):
        assert np.array_equal(spaced_increments(9, "raw", start=4), primal.increments(9, start=4))
        one = int(primal.increments(1, sigma=0.3)[0])
        expected = [j * one % 2**64 for j in range(1, 8)]
        assert spaced_increments(7, "kronecker", sigma=0.3).tolist() == expected

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"k": 0}, "k must be at least 1, got 0"),
            ({"k": 4, "spacing": "linear"}, "one of 'log', 'rotary', 'raw', 'kronecker'"),
            ({"k": 4, "spacing": "rotary", "start": 1}, '"rotary".*leave it out'),
            ({"k": 4, "spacing": "rotary", "sigma": 1e16}, "sigma must be at most 1e15"),
            ({"k": 4, "start": 2}, "leave it out"),
            ({"k": 4, "base": 1.0}, "base must lie above 1 and up to 1e15, got 1.0"),
            ({"k": 4, "base": np.ones(2), "trained_length": 64}, "base must be a number"),
            ({"k": 4, "spacing": "raw", "base": 5.0}, 'base .*"raw".*leave it out'),
            ({"k": 4, "spacing": "kronecker", "base": 5.0}, 'base .*"kronecker".*leave it out'),
            ({"k": 5000}, "at most 4096 frequencies, got 5000"),
            ({"k": 4, "sigma": -1.0}, "sigma must be positive"),
        ],
    )
    def test_errors(self, arguments, message):
        with pytest.raises(primal.PrimalError, match=message):
            spaced_increments(**arguments)


class TestTrainedLength:
    def test_the_grid_in_integers(self):
        """Primes above the squares of a geometric grid from half a turn to one in the length."""
        mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")
        known = set(primal.primes(28_000).tolist())
        for k, length in ((2, 4), (8, 64), (32, 1000), (64, 2**20)):
            found = spaced_increments(k, trained_length=length, turning=1.0)
            taken = []
            for j, increment in enumerate(found.tolist()):
                with mpmath.workdps(60):
                    ratio = mpmath.mpf(length) / 2
                    square = mpmath.power(ratio, mpmath.mpf(-2 * j) / (k - 1)) / 4
                    square = mpmath.mpf(mpmath.nstr(square, 40))  # powers of two are powers
                    s = 0
                    while square < 2**16:
                        square, s = square * 4, s + 1
                    p = int(mpmath.floor(square)) + 1
                    while p not in known or p in taken:
                        p += 1
                    taken.append(p)
                    assert increment == int(mpmath.floor(mpmath.ldexp(mpmath.sqrt(p), 64 - s)))

    def test_some_turn_as_if_they_were_alone(self):
        for turning, n in ((None, 6), (0.75, 6), (0.5, 4), (0.01, 1)):
            found = spaced_increments(8, trained_length=100, turning=turning)
            alone = spaced_increments(n, trained_length=100, turning=1.0)
            assert found.tolist() == alone.tolist() + [0] * (8 - n)

    def test_one_frequency_is_half_a_turn(self):
        assert spaced_increments(1, trained_length=100)[0] / 2.0**64 == pytest.approx(0.5, rel=1e-4)


class TestStretched:
    F = 10000.0 ** (-np.arange(8) / 8) / (2 * np.pi)

    def test_linear_divides_and_ntk_raises_the_base(self):
        linear = stretched_frequencies(self.F, 4, trained_length=100, method="linear")
        np.testing.assert_array_equal(linear, self.F / 4)
        ntk = stretched_frequencies(self.F, 4, trained_length=100, method="ntk")
        base = 10000.0 * 4 ** (8 / 7)  # as its users write it: base * factor**(d / (d - 2))
        np.testing.assert_allclose(ntk, base ** (-np.arange(8) / 8) / (2 * np.pi), rtol=1e-13)

    def test_yarn_keeps_fast_ones_and_divides_slow_ones(self):
        found = self.F / stretched_frequencies(self.F, 16, trained_length=1024)
        turns = self.F * 1024
        np.testing.assert_allclose(found[turns > 60], 1.0)
        np.testing.assert_allclose(found[turns < 0.3], 16.0)
        assert (np.diff(found) >= -1e-12).all()
        np.testing.assert_array_equal(stretched_frequencies(self.F, 1, trained_length=9), self.F)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((F, 0.5), "factor must be at least 1, got 0.5"),
            ((F[::-1], 2.0), "must be two or more that fall"),
            ((F[:1], 2.0), r"must be two or more that fall.*\(1,\)"),
            ((F - 2 * F[-1], 2.0), "fall and are positive"),
            ((0.25, 2.0), r"must be two or more that fall.*\(\)"),
            ((F[None], 2.0), r"must be two or more that fall.*\(1, "),
        ],
    )
    def test_what_cannot_be_stretched(self, arguments, message):
        with pytest.raises(PrimalError, match=message):
            stretched_frequencies(*arguments, trained_length=64)

    def test_lengths_that_no_float_holds_are_rejected(self):
        with pytest.raises(PrimalError, match="trained_length must be at most"):
            stretched_frequencies(self.F, 2.0, trained_length=10**400)
