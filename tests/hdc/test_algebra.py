"""The algebra of codes: laws to the bit, on NumPy and PyTorch alike."""

from __future__ import annotations

from fractions import Fraction

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
    return tuple(hdc.Codes(draw(arrays(dtype, 8))) for _ in range(3))


def random_codes(seed, *shape, dtype=np.uint32):
    rng = np.random.default_rng(seed)
    return hdc.Codes(rng.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True))


def gaps_turns(a, b):
    """Signed differences of phases, in turns."""
    return (a.turns - b.turns).view(f"int{a.bits}") / 2.0**a.bits


def tensors(codes):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    return tuple(hdc.to_torch(code) for code in codes)


@given(triples())
def test_binding_is_a_commutative_group_to_the_bit(codes):
    a, b, c = codes
    one = hdc.Codes(np.zeros_like(a.turns))
    assert hdc.bind(a, hdc.bind(b, c)) == hdc.bind(hdc.bind(a, b), c) == hdc.bind(a, b, c)
    assert hdc.bind(a, b) == hdc.bind(b, a)
    assert hdc.bind(a, one) == a
    assert hdc.bind(a, ~a) == one
    assert hdc.bind(a, b) / b == a
    assert a / b == hdc.bind(a, ~b)
    minus = -a
    assert -minus == a
    assert -a * b == -(a * b)


@given(triples(), st.integers(-20, 20), st.integers(-20, 20))
def test_permutation_and_whole_powers_are_homomorphisms_to_the_bit(codes, m, n):
    a, b, _ = codes
    assert hdc.permute(hdc.bind(a, b), m) == hdc.bind(hdc.permute(a, m), hdc.permute(b, m))
    assert hdc.permute(hdc.permute(a, m), -m) == a
    assert a ** (m + n) == a**m * a**n
    assert (a**m) ** n == a ** (m * n)
    assert (a * b) ** n == a**n * b**n
    assert a**-1 == ~a


@given(triples(), st.floats(-50, 50), st.floats(-50, 50))
def test_real_powers_add_up_to_a_unit(codes, r, s):
    a = codes[0]
    gap = gaps_turns(a ** (r + s), a**r * a**s)
    # Two roundings to 2**-32 turn (2**-52 for 64 bits), and that of r + s itself.
    unit = 2.0**-32 if a.bits == 32 else 2.0**-52
    assert np.abs(gap).max() <= 2.0 * unit + 0.5 * np.spacing(abs(r) + abs(s))


@given(triples(), st.floats(-50, 50))
def test_a_real_power_is_the_nearest_phase(codes, r):
    a = codes[0]
    bits, result = a.bits, a**r
    unit = Fraction(1, 2 ** min(bits, 52))
    for phase, found in zip(
        a.turns.view(f"int{bits}").tolist(), result.turns.tolist(), strict=True
    ):
        gap = (Fraction(found, 2**bits) - Fraction(phase, 2**bits) * Fraction(r)) % 1
        assert min(gap, 1 - gap) <= unit


@given(triples())
def test_binding_distributes_over_bundling(codes):
    a, b, c = codes
    left = hdc.bind(hdc.bundle(a, b), c)
    right = hdc.bundle(hdc.bind(a, c), hdc.bind(b, c))
    # Each of the four phasors is within 1.3e-7 (float32) or 4e-16 of the true one.
    assert np.abs(left - right).max() < (2e-6 if a.bits == 32 else 4e-15)


@given(triples())
def test_similarity_ignores_what_both_are_bound_with(codes):
    a, b, c = codes
    assert hdc.similarity(a, b) == hdc.similarity(hdc.bind(a, c), hdc.bind(b, c))
    assert hdc.similarity(a, a) == pytest.approx(1.0, abs=1e-6)
    assert hdc.similarity(-a, b) == pytest.approx(-hdc.similarity(a, b), abs=1e-6)
    exact = np.cos(2 * np.pi * (a.turns - b.turns) / 2.0**a.bits).mean()
    assert hdc.similarity(a, b) == pytest.approx(exact, abs=1e-6)


@given(triples(), st.integers(-9, 9), st.floats(-9, 9))
def test_tensors_have_the_bits_of_arrays(codes, n, r):
    a, b, _ = codes
    ta, tb, _ = tensors(codes)
    for of_array, of_tensor in [
        (hdc.bind(a, b), hdc.bind(ta, tb)),
        (hdc.bind(hdc.Codes.stack([a, b])), hdc.bind(hdc.Codes.stack([ta, tb]))),
        (a / b, ta / tb),
        (~a, ~ta),
        (-a, -ta),
        (hdc.permute(a, n), hdc.permute(ta, n)),
        (a**n, ta**n),
        (a**r, ta**r),
    ]:
        assert of_array == hdc.to_numpy(of_tensor)
    assert np.array_equal(hdc.phasors(a), hdc.to_numpy(hdc.phasors(ta)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_smallest_numbers_are_normalized_too(dtype):
    info = np.finfo(dtype)
    direction = np.array([1, -1j, 1 + 1j, 3 - 5j, 0, -7 + 24j], dtype=dtype)
    expected = np.array([1, -1j, (1 + 1j) / 2**0.5, (3 - 5j) / 34**0.5, 1, (-7 + 24j) / 25])
    for size in (info.smallest_subnormal, info.tiny / 32, info.tiny, 1.0, info.max / 32):
        found = hdc.normalize(direction * size)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=4 * info.eps)


def test_a_tensor_of_the_smallest_numbers_is_normalized_too():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    faint = np.array([3 - 4j, 0, 1 + 1j], dtype=np.complex64) * np.float32(1e-44)
    found = hdc.normalize(torch.from_numpy(faint))
    assert found.dtype == torch.complex64
    np.testing.assert_allclose(found.abs(), 1.0, rtol=1e-6)


def test_tensors_agree_with_arrays_where_sums_are_rounded():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    codes = random_codes(0, 5, 64)
    t = hdc.to_torch(codes)
    weights = [1.0, -2.0, 0.5, 0.0, 3.0]
    expected = hdc.bundle(codes, weights=weights)
    for found in (hdc.bundle(t, weights=weights), hdc.bundle(*t, weights=weights)):
        assert np.allclose(found.numpy(), expected, atol=1e-5)
        assert np.allclose(hdc.normalize(found).numpy(), hdc.normalize(expected), atol=1e-5)
    assert np.abs(hdc.normalize(expected)) == pytest.approx(np.ones(64), abs=1e-6)
    assert np.allclose(
        hdc.similarity(t[:, None], t), hdc.similarity(codes[:, None], codes), atol=1e-6
    )
    assert torch.allclose(
        hdc.similarity(t[0], t), torch.tensor(hdc.similarity(codes[0], codes)).float(), atol=1e-6
    )
    b = hdc.bundle(codes)
    assert hdc.to_numpy(hdc.nearest_code(hdc.to_torch(b))) == hdc.nearest_code(b)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_nearest_code_of_phasors_is_the_code(dtype):
    codes = random_codes(1, 3, 500, dtype=dtype)
    gap = gaps_turns(hdc.nearest_code(hdc.phasors(codes)), codes)
    # An error of 1.3e-7 (or 4e-16) in a phasor is one of 1 / (2 pi) times that in its phase.
    assert np.abs(gap).max() < (3e-8 if codes.bits == 32 else 2e-16)


def test_similarity_is_broadcast_to_all_pairs():
    a, b = random_codes(2, 4, 32), random_codes(3, 6, 32)
    expected = [[hdc.similarity(x, y) for y in b] for x in a]
    assert np.allclose(hdc.similarity(a[:, None], b), expected, atol=1e-6)
    sums = hdc.bundle(b[np.arange(6).reshape(2, 3)])
    found = hdc.similarity(a[:, None], sums)
    assert np.allclose(found[:, 1], hdc.similarity(a, sums[1]), atol=1e-6)


@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_similarity_ignores_lengths_whose_squares_are_no_floats(dtype, as_tensor):
    if as_tensor:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    convert = hdc.to_torch if as_tensor else np.asarray
    z = np.stack([hdc.bundle(random_codes(i, 3, 8)) for i in range(3)]).astype(dtype)
    expected = hdc.similarity(z[:, None], z)
    size = 1e30 if dtype is np.complex64 else 1e200
    scaled = convert(z * np.array([[size], [1.0], [1 / size]]).astype(dtype))
    found = hdc.similarity(scaled[:, None], scaled)
    assert np.asarray(found) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("places", [10**30 + 1, -(2**63), 2**63 - 1])
def test_entries_are_permuted_any_number_of_places(places):
    code = random_codes(0, 5)
    assert hdc.permute(code, places) == hdc.permute(code, places % 5)
    pytest.importorskip("torch", reason="PyTorch is not installed")
    assert hdc.to_numpy(hdc.permute(hdc.to_torch(code), places)) == hdc.permute(code, places % 5)


def test_bundles_are_the_same_from_arguments_lists_and_stacks():
    codes = random_codes(4, 3, 16)
    stacked = hdc.bundle(codes)
    assert np.allclose(stacked, hdc.phasors(codes).sum(0))
    for same in (
        hdc.bundle(*codes),
        hdc.bundle(list(codes)),
        sum(codes),
        codes[0] + codes[1] + codes[2],
    ):
        assert np.allclose(same, stacked, atol=1e-6)
    weights = [2.0, -1.0, 0.5]
    weighted = hdc.bundle(codes, weights=weights)
    assert np.allclose(weighted, np.einsum("n,nk->k", weights, hdc.phasors(codes)), atol=1e-6)
    assert np.allclose(hdc.bundle(*codes, weights=weights), weighted, atol=1e-6)
    # Two batches go row by row, as in torchhd; a stack of batches goes along its axis before last.
    a, b = random_codes(5, 4, 16), random_codes(6, 4, 16)
    assert np.allclose(hdc.bundle(a, b), a + b)
    together = hdc.Codes(np.stack([a.turns, b.turns], axis=1))
    assert np.allclose(hdc.bundle(together), a + b, atol=1e-6)
    assert np.allclose(hdc.bundle(together, weights=np.ones((4, 2))), a + b, atol=1e-6)


def test_products_are_the_same_from_arguments_lists_and_stacks():
    codes = random_codes(7, 3, 16)
    product = codes[0] * codes[1] * codes[2]
    for same in (hdc.bind(*codes), hdc.bind(list(codes)), hdc.bind(codes)):
        assert same == product
    z = hdc.phasors(codes)
    assert np.allclose(hdc.bind(z), hdc.phasors(product), atol=1e-5)
    assert np.allclose(hdc.bind(codes[0], z[1], codes[2]), hdc.phasors(product), atol=1e-5)


def test_large_batches_are_bound_like_small_ones():
    a, b = random_codes(3, 3000, 128), random_codes(4, 3000, 128)
    assert np.array_equal(hdc.bind(a, b).turns, a.turns + b.turns)
    assert np.array_equal((a / b).turns, a.turns - b.turns)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: hdc.bind([1, 2], [3, 4]), "encode values with a vocabulary"),
        (lambda a: hdc.bind(a.turns, a.turns), r"hdc\.Codes\(turns\)"),
        (lambda a: hdc.bundle(a.turns), r"hdc\.Codes\(turns\)"),
        (lambda a: hdc.similarity(a, a.turns), r"hdc\.Codes\(turns\)"),
        (lambda a: hdc.phasors(a.turns), r"hdc\.Codes\(turns\)"),
        (lambda a: hdc.bind(np.ones(3), np.ones(3)), "float64"),
        (lambda a: hdc.bind(a, random_codes(0, 4, dtype=np.uint64)), "32 and 64 bits"),
        (lambda a: hdc.bind(a, random_codes(0, 5)), "4 phases with 5"),
        (lambda a: a / np.ones(5, "complex64"), "4 phases with 5"),
        (lambda a: hdc.similarity(a, np.ones((2, 5), "complex64")), "4 phases with 5"),
        (lambda a: hdc.bundle(a, random_codes(0, 5)), "4 phases with 5"),
        (lambda a: hdc.bind(random_codes(0, 2, 4), random_codes(0, 3, 4)), "leading axes"),
        (lambda a: hdc.bundle(*(random_codes(0, n, 4) for n in (2, 1, 3))), "leading axes"),
        (lambda a: a ** float("nan"), "nan"),
        (lambda a: a ** [1, 2], "one real number"),
        (lambda a: hdc.bundle(a), r"\(4,\)"),
        (lambda a: hdc.bundle(), "at least one"),
        (lambda a: hdc.bundle([]), "at least one"),
        (lambda a: hdc.bundle(a, a, weights=[1.0]), r"shape \(2,\), one for each"),
        (lambda a: hdc.bundle(random_codes(0, 3, 4), weights=[1, 2]), r"shape \(3,\), one for"),
        (lambda a: hdc.bundle(a, a, weights=["x", "y"]), "real numbers"),
        (lambda a: hdc.bundle(a, a, weights=np.array([1j, 2.0])), "real numbers"),
        (lambda a: hdc.permute(a, 1.5), "whole number"),
        (lambda a: hdc.phasors(np.uint32(3)), "got uint32"),
        (lambda a: hdc.similarity(*[np.ones((2, 0), "complex64")] * 2), r"shape \(2, 0\)"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(primal.PrimalError, match=words):
        call(random_codes(0, 4))


def test_arrays_and_tensors_do_not_mix():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    code = random_codes(0, 3)
    for other in (hdc.to_torch(code), hdc.to_torch(hdc.phasors(code))):
        for call in (hdc.bind, hdc.bundle, hdc.similarity):
            with pytest.raises(primal.errors.DataError, match="to_torch or to_numpy"):
                call(code, other)
