"""The basis ``hadamard`` against its definition in Python integers, on every engine."""

import math

import numpy as np
import pytest
from c_core import require_core
from exact_reference import defined_turns, hadamard_word, rounded
from hypothesis import given, settings
from hypothesis import strategies as st

import primal
from primal.exact import Basis, Finish, HadamardTable, engine, installed_engines
from primal.exact._hadamard import transform


@pytest.fixture(params=installed_engines())
def chosen(request):
    return engine(request.param)


@pytest.mark.parametrize(("d", "k"), [(1, 3), (5, 64), (64, 64), (65, 130), (100, 300)])
@pytest.mark.parametrize("scale", [1e-12, 0.3, 1e5, 1e30])
def test_turns_are_those_of_the_definition(chosen, d, k, scale):
    table = Basis("hadamard", d, k, 0.37).table
    x = np.random.default_rng(d).standard_normal((3, d)) * scale
    x[0, 0], x[1] = 0.0, -x[0]
    turns = np.empty((3, k), dtype=np.uint32)
    chosen.dynamic_turns(table, x, turns)
    for row, found in zip(x, turns, strict=True):
        expected = rounded(defined_turns(table, row[None]))[0]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("d", "k"), [(5, 64), (70, 140)])
@pytest.mark.parametrize("scale", [1e-12, 0.3, 1e5])
def test_float64_features_come_from_128_bits(chosen, d, k, scale):
    table = Basis("hadamard", d, k, 0.37).table
    x = np.random.default_rng(d).standard_normal((2, d)) * scale
    out = np.empty((2, 2 * k))
    chosen.features(table, x, out, Finish("block"))
    for row, found in zip(x, out, strict=True):
        cos, sin = primal.exact.waves(defined_turns(table, row[None], wide=True)[0])
        np.testing.assert_array_equal(found, np.concatenate([cos, sin]))


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(1e-100, 1e100),
    st.sampled_from([64, 128]),
)
@settings(max_examples=300)
def test_words_are_exact(x, sigma, bits):
    table = HadamardTable.of("hadamard", 1, 1, sigma)
    high, low = table.words(np.array([[x]]), bits)
    found = int(high[0, 0]) if bits == 64 else (int(high[0, 0]) << 64) + int(low[0, 0])
    assert found == hadamard_word(x, table.scale, bits) % 2**bits


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(1e-100, 1e100))
@settings(max_examples=300)
def test_engines_have_the_same_words(x, sigma):
    table = HadamardTable.of("hadamard", 1, 1, sigma)
    turns = [np.empty((1, 1), dtype=np.uint32) for _ in installed_engines()]
    for name, out in zip(installed_engines(), turns, strict=True):
        engine(name).dynamic_turns(table, np.array([[x]]), out)
    assert len({int(out[0, 0]) for out in turns}) == 1


def compiled_words(table, x):
    """Return the words of eight rows by the C core modulo 2**52, from the turns of all columns.

    Without signs H H H X is m H X, of which factors of 1 and of 2**32 show both halves.
    """
    require_core()
    parts = []
    for factor in (1, 1 << 32):
        factors, signs = np.full(64, factor, np.uint64), np.zeros((3, 64), np.uint64)
        plain = HadamardTable((64, x.shape[1]), 0, table.scale, signs, factors)
        turns = np.empty((8, 64), dtype=np.uint32)
        engine("native").dynamic_turns(plain, x, turns)
        parts.append(turns.astype(np.uint64))
    high, low = parts
    high -= low >> np.uint64(31)  # turns are rounded
    return transform((high << np.uint64(32)) + low) >> np.uint64(12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sigma", [1.0, 0.37])
@pytest.mark.parametrize("largest", [2.0**20, 2.0**50, 2.0**60])
def test_words_of_eight_rows_at_once_are_exact(dtype, sigma, largest):
    table, rng = HadamardTable.of("hadamard", 20, 64, sigma), np.random.default_rng(7)
    for _ in range(50):
        units = rng.integers(-(1 << 20), 1 << 20, (8, 20)) + 0.5  # in the middle between two words
        units[:, ::3] += rng.choice([-(2.0**-30), 0.0, 2.0**-30], (8, 7))
        units[0, 0] = largest
        x = np.ascontiguousarray(units / (table.scale * 2.0**64), dtype=dtype)
        expected = table.words(x.astype(np.float64))[0] % np.uint64(2**52)
        words = compiled_words(table, x)
        np.testing.assert_array_equal(words[:, :20], expected)
        assert not words[:, 20:].any()


def test_words_less_than_a_rounding_error_below_a_half_are_rounded_down():
    rng, n_found = np.random.default_rng(3), 0
    while n_found < 20:
        table = HadamardTable.of("hadamard", 8, 64, rng.uniform(0.5, 1.0))
        fraction, exponent = math.frexp(table.scale * 2.0**64)
        mantissa = int(fraction * 2**53)
        if mantissa % 2 == 0:
            continue
        # The product with this is half of a unit, less 2**-57.
        number = (2**56 - 1) * pow(mantissa, -1, 2**57) % 2**57
        if number < 2**53:
            n_found += 1
            size = math.ldexp(number, 53 - exponent - 57)
            x = np.array([[size, -size] * 4] * 8)
            expected = number * mantissa >> 57
            words = compiled_words(table, x)[:, :2].astype(object)
            assert (words == [expected, -expected % 2**52]).all()


def test_transform_is_the_matrix():
    rows = np.random.default_rng(0).integers(-(2**62), 2**62, (3, 64))
    found = transform(rows.astype(np.uint64))
    H = np.array([[(-1) ** (i & j).bit_count() for j in range(64)] for i in range(64)], object)
    assert found.tolist() == (rows.astype(object) @ H % 2**64).tolist()


@pytest.mark.parametrize("n", [1, 3, 17, 100])
@pytest.mark.parametrize("layout", ["block", "interleaved"])
def test_engines_batches_and_finishes_agree(n, layout):
    table = Basis("hadamard", 20, 150, 0.3).table
    x = np.random.default_rng(1).standard_normal((100, 20))
    offsets = np.arange(150, dtype=np.uint32) << np.uint32(20)
    for finish, columns in ((Finish(layout), 300), (Finish("block", 0.25, offsets), 150)):
        whole = np.empty((100, columns), dtype=np.float32)
        engine("numpy").features(table, x, whole, finish)
        for name in installed_engines():
            for fast in (False, True):
                part = np.empty((n, columns), dtype=np.float32)
                engine(name).features(table, x[:n], part, finish, fast=fast)
                np.testing.assert_array_equal(part, whole[:n])


@pytest.mark.parametrize("name", ["hadamard", "hadamard-matern12", "hadamard-matern52"])
@pytest.mark.parametrize(("k", "larger"), [(1, 64), (64, 65), (100, 1000)])
def test_a_smaller_table_is_a_prefix(name, k, larger):
    small, large = HadamardTable.of(name, 10, k, 1.0), HadamardTable.of(name, 10, larger, 1.0)
    np.testing.assert_array_equal(small.factors[:k], large.factors[:k])
    np.testing.assert_array_equal(small.signs, large.signs[: len(small.signs)])
    m = primal.DynamicPrime(10, 2 * k, 0.2, basis=name, layout="interleaved")
    x = np.random.default_rng(0).standard_normal((5, 10))
    np.testing.assert_array_equal(m.grow(2 * larger).encode(x)[:, : 2 * k], m.encode(x))


def test_the_matrix_is_the_transform():
    table = Basis("hadamard", 33, 150, 0.011).table
    x = np.random.default_rng(3).standard_normal((20, 33))
    phases = x @ table.values.T
    turns = np.empty((20, 150), dtype=np.uint32)
    engine("numpy").dynamic_turns(table, x, turns)
    apart = turns / 2.0**32 - phases
    assert np.abs(apart - np.rint(apart)).max() < 2.0**-32
    rows = table.values[:64] / np.linalg.norm(table.values[:64], axis=1)[:, None]
    full = Basis("hadamard", 64, 64, 1.0).table.values
    products = full @ full.T
    assert np.abs(products - np.diag(np.diag(products))).max() < 1e-9
    assert rows.shape == (64, 33)


def test_signs_are_mixed():
    signs = HadamardTable.of("hadamard", 64, 4096, 1.0).signs != 0
    assert 0.45 < signs.mean() < 0.55
    longest = max(len(run) for run in "".join("01"[int(s)] for s in signs.ravel()).split("0"))
    assert longest < 25


@pytest.mark.parametrize(("d", "D"), [(64, 128), (64, 400), (40, 128), (40, 100), (200, 512)])
def test_the_inverse_is_the_transform_backwards(d, D):
    m = primal.DynamicPrime(d, D, 1e-3, basis="hadamard", layout="interleaved")
    x = np.random.default_rng(d).standard_normal((30, d))
    assert m.regime(x).kind == "manifold"
    np.testing.assert_allclose(m.decode(m.encode(x, dtype="float64")), x, rtol=0, atol=1e-11)
    assert m.decode(m.encode(x[0])).shape == (d,)
    sizes = np.sign(m.basis.frequencies[np.abs(m.basis.frequencies).sum(axis=1).argmax()])
    assert m.regime(0.999 * m.bound * sizes).kind == "manifold"
    assert m.regime(1.001 * m.bound * sizes).kind == "hash"


def test_wrapped_phases_are_decoded_by_the_lattice():
    m = primal.DynamicPrime(6, 64, 3.0, basis="hadamard")
    x = np.random.default_rng(0).uniform(-1, 1, (20, 6))
    assert m.regime(x).kind == "hash"
    result = m.decode_plan(prior=primal.Box(1.0)).decode(m.encode(x))
    assert set(result.status.tolist()) == {"unique"}
    np.testing.assert_allclose(result.x, x, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "matern12", "matern32", "matern52", "rational12"])
@pytest.mark.parametrize("d", [9, 16, 50, 300])
def test_kernels_are_approximated_as_well_as_by_orthogonal_rows(kernel, d):
    x = np.random.default_rng(d).standard_normal((120, d))
    maps = [primal.KernelPrime(d, 2048, kernel, 0.5 / d, basis=b) for b in ("hadamard", "table")]
    ours, independent = (m.kernel_error(x) for m in maps)
    assert ours < (0.85 if kernel == "rbf" else 1.15) * independent


def test_one_sigma_for_all():
    with pytest.raises(primal.errors.ParameterError, match="one sigma"):
        Basis("hadamard", 3, 2, (1.0, 2.0))
