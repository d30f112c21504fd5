"""The algebra of codes: laws to the bit, on NumPy and PyTorch alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import primal
from primal import hdc

TYPES = (np.uint32, np.uint64)


@st.composite
def triples(draw):
    """Three codes of one type."""
    dtype = draw(st.sampled_from(TYPES))
    return tuple(draw(arrays(dtype, 8)) for _ in range(3))


def tensors(codes):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    return tuple(hdc.to_torch(code) for code in codes)


@given(triples())
def test_binding_is_a_commutative_group_to_the_bit(codes):
    a, b, c = codes
    one = np.zeros_like(a)
    assert (hdc.bind(a, hdc.bind(b, c)) == hdc.bind(hdc.bind(a, b), c)).all()
    assert (hdc.bind(a, b) == hdc.bind(b, a)).all()
    assert (hdc.bind(a, one) == a).all()
    assert (hdc.bind(a, hdc.inverse(a)) == one).all()
    assert (hdc.unbind(hdc.bind(a, b), b) == a).all()
    assert (hdc.unbind(a, b) == hdc.bind(a, hdc.inverse(b))).all()
    assert (hdc.negative(hdc.negative(a)) == a).all()
    assert (hdc.bind(hdc.negative(a), b) == hdc.negative(hdc.bind(a, b))).all()


@given(triples(), st.integers(-20, 20), st.integers(-20, 20))
def test_permutation_and_whole_powers_are_homomorphisms_to_the_bit(codes, m, n):
    a, b, _ = codes
    moved = hdc.bind(hdc.permute(a, m), hdc.permute(b, m))
    assert (hdc.permute(hdc.bind(a, b), m) == moved).all()
    assert (hdc.permute(hdc.permute(a, m), -m) == a).all()
    assert (hdc.power(a, m + n) == hdc.bind(hdc.power(a, m), hdc.power(a, n))).all()
    assert (hdc.power(hdc.power(a, m), n) == hdc.power(a, m * n)).all()
    assert (hdc.power(hdc.bind(a, b), n) == hdc.bind(hdc.power(a, n), hdc.power(b, n))).all()
    assert (hdc.power(a, -1) == hdc.inverse(a)).all()


@given(triples(), st.floats(-50, 50), st.floats(-50, 50))
def test_real_powers_add_up_to_a_unit(codes, r, s):
    a = codes[0]
    bits = 8 * a.itemsize
    both, apart = hdc.power(a, r + s), hdc.bind(hdc.power(a, r), hdc.power(a, s))
    gap = (both - apart).view(f"int{bits}") / 2.0**bits
    # Two roundings to 2**-32 turn (2**-52 for 64 bits), and that of r + s itself.
    unit = 2.0**-32 if bits == 32 else 2.0**-52
    assert np.abs(gap).max() <= 2.0 * unit + 0.5 * np.spacing(abs(r) + abs(s))


@given(triples(), st.floats(-50, 50))
def test_a_real_power_is_the_nearest_phase(codes, r):
    a = codes[0]
    bits = 8 * a.itemsize
    from fractions import Fraction

    unit = Fraction(1, 2 ** min(bits, 52))
    for phase, result in zip(a.view(f"int{bits}").tolist(), hdc.power(a, r).tolist(), strict=True):
        exact = Fraction(phase, 2**bits) * Fraction(r)
        gap = (Fraction(result, 2**bits) - exact) % 1
        assert min(gap, 1 - gap) <= unit


@given(triples())
def test_binding_distributes_over_bundling(codes):
    a, b, c = codes
    left = hdc.bind(hdc.bundle(np.stack([a, b])), c)
    right = hdc.bundle(np.stack([hdc.bind(a, c), hdc.bind(b, c)]))
    # Each of the four phasors is within 1.3e-7 (float32) or 4e-16 of the true one.
    assert np.abs(left - right).max() < (2e-6 if a.dtype == np.uint32 else 4e-15)


@given(triples())
def test_similarity_ignores_what_both_are_bound_with(codes):
    a, b, c = codes
    assert hdc.similarity(a, b) == hdc.similarity(hdc.bind(a, c), hdc.bind(b, c))
    assert hdc.similarity(a, a) == pytest.approx(1.0, abs=1e-6)
    assert hdc.similarity(hdc.negative(a), b) == pytest.approx(-hdc.similarity(a, b), abs=1e-6)
    exact = np.cos(2 * np.pi * (a - b) / 2.0 ** (8 * a.itemsize)).mean()
    assert hdc.similarity(a, b) == pytest.approx(exact, abs=1e-6)


@given(triples(), st.integers(-9, 9), st.floats(-9, 9))
def test_tensors_have_the_bits_of_arrays(codes, n, r):
    a, b, _ = codes
    ta, tb, _ = tensors(codes)
    for of_array, of_tensor in [
        (hdc.bind(a, b), hdc.bind(ta, tb)),
        (hdc.unbind(a, b), hdc.unbind(ta, tb)),
        (hdc.inverse(a), hdc.inverse(ta)),
        (hdc.negative(a), hdc.negative(ta)),
        (hdc.permute(a, n), hdc.permute(ta, n)),
        (hdc.power(a, n), hdc.power(ta, n)),
        (hdc.power(a, r), hdc.power(ta, r)),
        (hdc.phasors(a), hdc.phasors(ta)),
    ]:
        assert np.array_equal(of_array, hdc.to_numpy(of_tensor))


def test_tensors_agree_with_arrays_where_sums_are_rounded():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    codes = np.random.default_rng(0).integers(0, 2**32, (5, 64), dtype=np.uint32)
    t = hdc.to_torch(codes)
    weights = [1.0, -2.0, 0.5, 0.0, 3.0]
    for normalise in (False, True):
        expected = hdc.bundle(codes, weights=weights, normalise=normalise)
        found = hdc.bundle(t, weights=weights, normalise=normalise)
        assert np.allclose(found.numpy(), expected, atol=1e-5)
        assert np.abs(hdc.bundle(codes, normalise=True)) == pytest.approx(np.ones(64), abs=1e-6)
    assert np.allclose(hdc.similarity_matrix(t, t), hdc.similarity_matrix(codes, codes), atol=1e-6)
    assert torch.allclose(
        hdc.similarity(t[0], t), torch.tensor(hdc.similarity(codes[0], codes)).float(), atol=1e-6
    )
    b = hdc.bundle(codes)
    assert np.array_equal(hdc.to_numpy(hdc.nearest_code(hdc.to_torch(b))), hdc.nearest_code(b))


@pytest.mark.parametrize("dtype", TYPES)
def test_the_nearest_code_of_phasors_is_the_code(dtype):
    codes = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, (3, 500), dtype=dtype)
    bits = 8 * codes.itemsize
    gap = (hdc.nearest_code(hdc.phasors(codes)) - codes).view(f"int{bits}") / 2.0**bits
    # An error of 1.3e-7 (or 4e-16) in a phasor is one of 1 / (2 pi) times that in its phase.
    assert np.abs(gap).max() < (3e-8 if bits == 32 else 2e-16)


def test_the_similarity_matrix_is_the_similarity_of_all_pairs():
    rng = np.random.default_rng(2)
    a, b = (rng.integers(0, 2**32, (n, 32), dtype=np.uint32) for n in (4, 6))
    expected = [[hdc.similarity(x, y) for y in b] for x in a]
    assert np.allclose(hdc.similarity_matrix(a, b), expected, atol=1e-6)
    sums = hdc.bundle(b.reshape(2, 3, 32))
    assert np.allclose(hdc.similarity_matrix(a, sums)[:, 1], hdc.similarity(a, sums[1]), atol=1e-6)


def test_large_batches_are_bound_like_small_ones():
    codes = np.random.default_rng(3).integers(0, 2**32, (2, 3000, 128), dtype=np.uint32)
    assert np.array_equal(hdc.bind(*codes), codes[0] + codes[1])
    assert np.array_equal(hdc.unbind(*codes), codes[0] - codes[1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hdc.bind([1, 2], [3, 4]), "encode it with a vocabulary"),
        (lambda: hdc.bind(np.ones(3), np.ones(3)), "float64"),
        (lambda: hdc.bind(np.ones(3, "uint32"), np.ones(3, "uint64")), "32 and 64 bits"),
        (lambda: hdc.power(np.ones(3, "complex64"), 2), "nearest_code"),
        (lambda: hdc.power(np.ones(3, "uint32"), float("nan")), "nan"),
        (lambda: hdc.bundle(np.ones(3, "uint32")), r"\(3,\)"),
        (lambda: hdc.similarity_matrix(np.ones(3, "uint32"), np.ones((1, 3), "uint32")), "rows"),
        (lambda: hdc.phasors(np.uint32(3)), "NumPy array"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(primal.PrimalError, match=words):
        call()


def test_arrays_and_tensors_do_not_mix():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    code = np.ones(3, dtype=np.uint32)
    with pytest.raises(primal.DataError, match="to_torch or to_numpy"):
        hdc.bind(code, hdc.to_torch(code))
