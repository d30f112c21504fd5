"""Increments are exact: a public standard, and Python's own integer square root."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import primal
from primal.exact import floor_roots

# FIPS 180-4, sections 5.3.5 (SHA-512: primes 2..19) and 5.3.4 (SHA-384: primes 23..53).
SHA_512 = """
6a09e667f3bcc908 bb67ae8584caa73b 3c6ef372fe94f82b a54ff53a5f1d36f1
510e527fade682d1 9b05688c2b3e6c1f 1f83d9abfb41bd6b 5be0cd19137e2179
"""
SHA_384 = """
cbbb9d5dc1059ed8 629a292a367cd507 9159015a3070dd17 152fecd8f70e5939
67332667ffc00b31 8eb44a8768581511 db0c2e0d64f98fa7 47b5481dbefa4fa4
"""

any_p = st.integers(1, 2**32 - 1)
# Roots next to a whole number have a run of ones or zeros in their digits.
near_square = st.builds(
    lambda n, step: min(max(n * n + step, 1), 2**32 - 1),
    st.integers(1, 2**16),
    st.integers(-1, 1),
)
any_sigma = st.one_of(
    st.floats(1e-300, 1e12),
    st.integers(-60, 39).map(lambda e: 2.0**e),
    st.integers(1, 2**30).map(float),
)


def exact(p: int, sigma: float, log2_scale: int = 64) -> int:
    """floor(sigma * sqrt(p) * 2**log2_scale) mod 2**64, with sigma as the rational it is."""
    numerator, denominator = sigma.as_integer_ratio()
    square = numerator**2 * p * 4 ** max(log2_scale, 0)
    return math.isqrt(square // (denominator**2 * 4 ** max(-log2_scale, 0))) % 2**64


def test_first_eight_are_the_initial_values_of_sha_512():
    assert [f"{v:016x}" for v in primal.increments(8).tolist()] == SHA_512.split()


def test_next_eight_are_the_initial_values_of_sha_384():
    assert [f"{v:016x}" for v in primal.increments(8, start=8).tolist()] == SHA_384.split()


@given(start=st.integers(0, 100_000), n=st.integers(1, 40), sigma=any_sigma)
def test_increments_equal_the_integer_formula(start, n, sigma):
    p = primal.primes(n, start=start).tolist()
    found = primal.increments(n, start=start, sigma=sigma)
    assert found.dtype == np.uint64
    assert found.tolist() == [exact(q, sigma) for q in p]


def test_no_primes_have_no_increments():
    assert primal.increments(0).shape == (0,)
    assert primal.increments(0).dtype == np.uint64


@given(st.lists(st.one_of(any_p, near_square), min_size=1, max_size=40), any_sigma)
@example([n * n + step for n in range(2, 400) for step in (-1, 0, 1)], 1.0)
@example([n * n + step for n in range(65_300, 65_536) for step in (-1, 0, 1)], 1.0)
@example([n * n + step for n in range(2, 400) for step in (-1, 0, 1)], 3.0)
@example([n * n + step for n in range(2, 400) for step in (-1, 0, 1)], 1.0 - 2.0**-53)
@example([n * n + step for n in range(2, 400) for step in (-1, 0, 1)], 1.0 + 2.0**-52)
def test_roots_of_any_integer_below_two_to_the_32(p, sigma):
    found = floor_roots(np.array(p, dtype=np.uint32), sigma, 64)
    assert found.tolist() == [exact(q, sigma) for q in p]


@given(
    st.lists(
        st.tuples(st.one_of(any_p, near_square), any_sigma, st.integers(-80, 120)),
        min_size=1,
        max_size=30,
    )
)
def test_every_entry_may_have_its_own_scale(entries):
    p, sigma, log2_scale = zip(*entries, strict=True)
    found = floor_roots(np.array(p, dtype=np.uint32), np.array(sigma), np.array(log2_scale))
    assert found.tolist() == [exact(*entry) for entry in entries]


def test_a_scale_belongs_to_a_whole_row():
    p = np.array([[2, 3, 5], [7, 11, 13]], dtype=np.uint32)
    found = floor_roots(p, np.array([0.3, 1e9]), np.array([64, 20]))
    assert found.tolist() == [
        [exact(q, 0.3) for q in (2, 3, 5)],
        [exact(q, 1e9, 20) for q in (7, 11, 13)],
    ]


def best_denominators(p: int) -> list[int]:
    """Denominators below 2**53 of the continued fraction of sqrt(p); [1] for a square."""
    whole = math.isqrt(p)
    m, d, a = 0, 1, whole
    before, now = 0, 1
    found = [now]
    while whole * whole != p:
        m = d * a - m
        d = (p - m * m) // d
        a = (whole + m) // d
        before, now = now, a * now + before
        if now >= 2**53:
            break
        found.append(now)
    return found


def test_products_that_nearly_are_whole_numbers():
    # q sqrt(p) is next to a whole number for these q, as close as can be on either side: the
    # digits are all ones or all zeros, and an estimate one off would carry through them.
    spread = [2 + i * 42_949_671 for i in range(100)]
    cases = [(p, float(q)) for p in [*range(2, 60), *spread] for q in best_denominators(p)]
    assert len(cases) > 4000
    p, sigma = zip(*cases, strict=True)
    for log2_scale in (64, 31, 0, -3):
        found = floor_roots(np.array(p, dtype=np.uint32), np.array(sigma), log2_scale)
        assert found.tolist() == [exact(q, s, log2_scale) for q, s in cases]


def test_exact_squares_with_long_sigmas():
    # n * sigma has up to 69 digits and then only zeros.
    n = np.arange(1, 65_536, 13, dtype=np.uint64)
    sigma = (primal.increments(len(n)) >> np.uint64(11)) * 2.0**-53 + 0.5
    found = floor_roots((n * n).astype(np.uint32), sigma, 64)
    expected = [exact(a * a, s) for a, s in zip(n.tolist(), sigma.tolist(), strict=True)]
    assert found.tolist() == expected


def test_more_rows_than_one_cache_block():
    # 40,000 primes make three blocks; an error at their seams would show here.
    p = primal.primes(40_000)
    assert primal.increments(40_000, sigma=0.1).tolist() == [exact(q, 0.1) for q in p.tolist()]


@pytest.mark.parametrize("sigma", [1e15, 1e30, 1e100, 1.7e308])
def test_a_huge_sigma_takes_the_slow_path_and_stays_exact(sigma):
    p = primal.primes(50).tolist()
    assert primal.increments(50, sigma=sigma).tolist() == [exact(q, sigma) for q in p]


def test_huge_and_ordinary_sigmas_in_one_call():
    p = np.array([2, 3, 5, 7], dtype=np.uint32)
    sigma = np.array([1.0, 1e40, 1e-40, 1e12])
    found = floor_roots(p, sigma, 64).tolist()
    assert found == [exact(q, s) for q, s in zip([2, 3, 5, 7], sigma.tolist(), strict=True)]


def test_sigma_is_the_rational_that_the_float_is():
    # 0.1 as a float is 0.1000000000000000055...: one tenth itself gives other digits.
    one_tenth = [math.isqrt(p * 2**128 // 100) % 2**64 for p in primal.primes(8).tolist()]
    found = primal.increments(8, sigma=0.1).tolist()
    assert found == [exact(p, 0.1) for p in primal.primes(8).tolist()]
    assert found != one_tenth


def test_smallest_and_largest_floats():
    assert primal.increments(3, sigma=5e-324).tolist() == [0, 0, 0]
    assert primal.increments(3, sigma=2.0**-66).tolist() == [0, 0, 0]
    assert primal.increments(3, sigma=2.0**-64).tolist() == [1, 1, 2]
