"""``DynamicPrime``: the paper's Algorithm 1, its shapes and types, specs and warnings."""

import json
import pickle
import warnings

import mpmath
import numpy as np
import pytest
from exact_reference import exact_phases
from hypothesis import given
from hypothesis import strategies as st

import primal
from primal import DynamicPrime
from primal._selftest import sample_points
from primal.errors import ConditioningWarning
from primal.exact import BASES

# The least that can be changed: each entry differs from the first in one field.
VARIANTS = [
    {},
    {"d": 4},
    {"D": 14},
    {"sigma": 0.25},
    {"sigma": (0.5, 0.5, 0.5, 0.5, 0.5, 0.5)},
    {"basis": "signed"},
    {"primes": "log"},
    {"layer_norm": True},
    {"layout": "interleaved"},
    {"precision": "fast"},
]


def variant(changes: dict) -> DynamicPrime:
    return DynamicPrime(**{"d": 3, "D": 12, "sigma": 0.5} | changes)


def algorithm_1(x, D, sigma):
    """The paper's own steps in float64: v = 2 pi sigma W x, z = [cos v, sin v]."""
    d, k = x.shape[1], D // 2
    W = np.sqrt(primal.primes(k * d).astype(np.float64)).reshape(k, d)
    v = 2.0 * np.pi * sigma * x @ W.T
    return np.concatenate([np.cos(v), np.sin(v)], axis=1)


@pytest.mark.parametrize(
    ("d", "D", "sigma"), [(1, 2, 1.0), (2, 4, 0.007), (3, 64, 0.02), (8, 10, 1)]
)
def test_it_is_algorithm_1(d, D, sigma):
    x = sample_points(200, d)
    # 1.3e-7 of the waves; the phases are a few turns and add little to it.
    np.testing.assert_allclose(
        DynamicPrime(d, D, sigma).encode(x), algorithm_1(x, D, sigma), rtol=0, atol=2e-7
    )


@pytest.mark.parametrize("basis", BASES)
def test_float64_features_against_200_bits(basis):
    m = DynamicPrime(3, 10, 0.3, basis=basis)
    x = sample_points(30, 3) / 3.0
    z = m.encode(x, dtype="float64")
    with mpmath.workprec(200):
        for row, phases in zip(z, exact_phases(m.basis, x), strict=True):
            for i, phase in enumerate(phases):
                assert abs(float(row[i]) - mpmath.cospi(2 * phase)) <= 5e-16
                assert abs(float(row[5 + i]) - mpmath.sinpi(2 * phase)) <= 5e-16


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 4, 3), (0, 3), (2, 0, 3), (1, 1, 1, 3)])
@pytest.mark.parametrize("precision", ["exact", "fast"])
def test_leading_shapes(shape, precision):
    m = DynamicPrime(3, 8, precision=precision)
    x = sample_points(24, 3).ravel()[: int(np.prod(shape))].reshape(shape)
    z, turns = m.encode(x), m.turns(x)
    assert z.shape == (*shape[:-1], 8)
    assert turns.shape == (*shape[:-1], 4)
    assert (z.dtype, turns.dtype) == (np.float32, np.uint32)
    np.testing.assert_array_equal(z.reshape(-1, 8), m.encode(x.reshape(-1, 3)))
    assert m.decode(z).shape == shape


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", "f8", ">f4", ">f8", "i1", "i2", "i4", "i8", "u1", "u8", "list"]
)
def test_equal_values_of_any_type_have_equal_bits(dtype):
    x = np.arange(24, dtype=np.float64).reshape(8, 3)
    given_x = x.tolist() if dtype == "list" else x.astype(dtype)
    m = DynamicPrime(3, 8)
    np.testing.assert_array_equal(m.encode(given_x), m.encode(x))


def test_strided_and_fortran_input_has_the_same_bits():
    x = sample_points(20, 6)
    m = DynamicPrime(3, 8)
    np.testing.assert_array_equal(m.encode(x[::2, ::2]), m.encode(x[::2, ::2].copy()))
    np.testing.assert_array_equal(m.encode(np.asfortranarray(x[:, :3])), m.encode(x[:, :3]))


def test_input_is_not_changed():
    x = sample_points(20, 3)
    before = x.copy()
    DynamicPrime(3, 8, layer_norm=True).encode(x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", ["float32", np.float64])
def test_out_is_written_and_returned(dtype):
    m, x = DynamicPrime(3, 8), sample_points(10, 3).reshape(2, 5, 3)
    out = np.full((2, 5, 8), np.nan, dtype=dtype)
    assert m.encode(x, dtype=dtype, out=out) is out
    np.testing.assert_array_equal(out, m.encode(x, dtype=dtype))


def test_layouts_are_permutations_of_each_other():
    x = sample_points(10, 3)
    block = DynamicPrime(3, 8).encode(x)
    interleaved = DynamicPrime(3, 8, layout="interleaved").encode(x)
    np.testing.assert_array_equal(interleaved[:, 0::2], block[:, :4])
    np.testing.assert_array_equal(interleaved[:, 1::2], block[:, 4:])


@given(
    basis=st.sampled_from(BASES),
    precision=st.sampled_from(["exact", "fast"]),
    k=st.integers(1, 20),
    more=st.integers(0, 20),
)
def test_growing_keeps_old_features_as_a_prefix(basis, precision, k, more):
    m = DynamicPrime(3, 2 * k, 0.5, basis=basis, layout="interleaved", precision=precision)
    grown = m.grow(2 * (k + more))
    assert grown == DynamicPrime(
        3, 2 * (k + more), 0.5, basis=basis, layout="interleaved", precision=precision
    )
    x = sample_points(9, 3)
    np.testing.assert_array_equal(grown.turns(x)[:, :k], m.turns(x))
    if precision == "exact":  # fast promises no bits
        np.testing.assert_array_equal(grown.encode(x)[:, : 2 * k], m.encode(x))


def test_growing_with_one_sigma_each():
    m = DynamicPrime(2, 4, [0.1, 0.2], layout="interleaved", layer_norm=True)
    grown = m.grow(8, sigma=[0.1, 0.2, 0.3, 0.4])
    assert grown == DynamicPrime(2, 8, [0.1, 0.2, 0.3, 0.4], layout="interleaved", layer_norm=True)
    x = sample_points(9, 2)
    np.testing.assert_array_equal(grown.encode(x)[:, :4], m.encode(x))


def test_one_sigma_each_scales_its_own_frequency():
    x, sigma = sample_points(9, 2), [0.1, 1.0, 7.0]
    z = DynamicPrime(2, 6, sigma).encode(x)
    for i, one in enumerate(sigma):
        whole = DynamicPrime(2, 6, one).encode(x)
        np.testing.assert_array_equal(z[:, [i, 3 + i]], whole[:, [i, 3 + i]])


def test_one_sigma_each_comes_in_any_container():
    pandas, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    sigma, m = [0.25, 1.0, 7.0], DynamicPrime(2, 6, [0.25, 1.0, 7.0])
    for values in (pandas.Series(sigma, index=[2, 0, 1]), torch.tensor(sigma), np.array(sigma)):
        assert DynamicPrime(2, 6, values) == m
        assert DynamicPrime(2, 4, sigma[:2]).grow(6, sigma=values) == m
    for wrong, said in [
        (pandas.Series(sigma[:2]), r"shape \(2,\)"),
        (pandas.DataFrame({"a": sigma}), r"nested values of shape \(3, 1\)"),
        (pandas.Series([0.25, 1.0, "x"]), r"sigma\[2\] must be a number, got 'x'"),
        (torch.tensor(sigma, requires_grad=True), "sigma must be numbers: .*requires grad"),
    ]:
        with pytest.raises(primal.errors.ParameterError, match=said):
            DynamicPrime(2, 6, wrong)


@pytest.mark.parametrize("changes", VARIANTS)
def test_a_spec_survives_json(changes):
    m = variant(changes)
    again = primal.from_spec(json.loads(json.dumps(m.spec)))
    assert again == m
    assert hash(again) == hash(m)
    assert again.fingerprint == m.fingerprint
    x = sample_points(5, m.d)
    np.testing.assert_array_equal(again.encode(x), m.encode(x))


def test_every_field_of_the_spec_changes_map_and_fingerprint():
    maps = [variant(changes) for changes in VARIANTS]
    assert len({m.fingerprint for m in maps}) == len(VARIANTS)
    assert len(set(maps)) == len(VARIANTS)
    assert maps[0] != "another type"


def test_auto_is_equal_to_what_it_becomes():
    assert DynamicPrime(3, 8, basis="auto") == DynamicPrime(3, 8, basis="kronecker")


def test_properties_and_repr():
    m = DynamicPrime(3, 8, 0.5, basis="table", layout="interleaved", precision="fast")
    assert (m.d, m.D, m.sigma, m.layout, m.precision) == (3, 8, 0.5, "interleaved", "fast")
    assert m.basis.name == "table"
    expected = "DynamicPrime(d=3, D=8, sigma=0.5, basis='table', layout='interleaved', "
    assert repr(m) == expected + "precision='fast')"
    assert "sigma=<2 values>" in repr(DynamicPrime(3, 4, [1, 2]))
    more = repr(DynamicPrime(3, 4, primes="log-4", layer_norm=True))
    assert more.endswith("precision='exact', primes='log-4', layer_norm=True)")


@pytest.mark.parametrize("basis", BASES)
def test_turns_are_the_phases_behind_the_features(basis):
    m, x = DynamicPrime(3, 8, basis=basis), sample_points(50, 3)
    cos, sin = primal.exact.waves(m.turns(x))
    np.testing.assert_array_equal(m.encode(x), np.concatenate([cos, sin], axis=1))


def test_layer_norm_is_normalising_first():
    x = sample_points(50, 5) * 30.0 + 7.0
    normal = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    m = DynamicPrime(5, 12, 0.01, layer_norm=True)
    plain = DynamicPrime(5, 12, 0.01)
    np.testing.assert_allclose(m.encode(x), plain.encode(normal), rtol=0, atol=3e-7)
    np.testing.assert_allclose(m.decode(m.encode(x)), normal, rtol=0, atol=1e-2)
    np.testing.assert_array_equal(m.encode(x)[3:4], m.encode(x[3:4]))


@pytest.mark.parametrize("value", [0.0, 0.1, -0.3, 1e17 / 3.0])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 6, 7])
def test_layer_norm_of_a_constant_row_is_zero(d, value):
    m = DynamicPrime(d, 2 * d, layer_norm=True)
    np.testing.assert_array_equal(m.turns(np.full((1, d), value)), np.zeros((1, d)))


@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_layer_norm_does_not_depend_on_the_unit(exponent):
    # A power of two changes no digit, so the normalised row must be the same to the bit.
    m, x = DynamicPrime(5, 12, layer_norm=True), sample_points(4, 5)
    np.testing.assert_array_equal(m.turns(x * 2.0**exponent), m.turns(x))


@pytest.mark.parametrize("sigma", [1e-100, 1e100])
@pytest.mark.parametrize("basis", BASES)
def test_extreme_scales_raise_no_warning_of_numpy(basis, sigma):
    # Products far below one turn: every phase is zero to 32 bits.
    m = DynamicPrime(2, 8, sigma, basis=basis)
    z = m.encode(np.array([[5e-324, -1e-323]]))
    np.testing.assert_array_equal(z, [[1, 1, 1, 1, 0, 0, 0, 0]])


@pytest.mark.parametrize("d", [9, 64, 300])
def test_one_or_two_frequencies_are_not_called_parallel(d):
    for D in (2, 4):  # warnings are errors here
        assert DynamicPrime(d, D).basis.condition_number < 100
    with pytest.warns(ConditioningWarning, match="nearly parallel"):
        DynamicPrime(d, 6)


def test_the_paper_basis_warns_above_eight_inputs():
    with pytest.warns(ConditioningWarning, match="condition number") as seen:
        DynamicPrime(12, 24)
    roots = np.sqrt(primal.primes(144).astype(np.float64)).reshape(12, 12)
    for word in (f"{np.linalg.cond(roots):.2g} at", "d = 12", "D = 24, above 100", 'basis="auto"'):
        assert word in str(seen[0].message)
    assert len(seen) == 1
    assert seen[0].filename == __file__


@pytest.mark.parametrize("basis", ["signed", "table", "kronecker", "auto"])
def test_other_bases_do_not_warn(basis):
    DynamicPrime(12, 24, basis=basis)


@pytest.mark.parametrize("d", range(1, 9))
def test_small_inputs_do_not_warn(d):
    DynamicPrime(d, 4 * d)


def test_a_warned_map_is_not_warned_about_again():
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        m = DynamicPrime(12, 24)
    m.grow(48)
    primal.from_spec(m.spec)


def test_a_spec_becomes_a_map_without_its_table():
    """A spec may come from anywhere: nothing as large as d times D is made before it is used."""
    m = primal.DynamicPrime(2, 4)
    large = primal.from_spec(m.spec | {"d": 4000, "D": 8000})
    assert large.spec == m.spec | {"d": 4000, "D": 8000}
    assert "table" not in large.basis.__dict__


@pytest.mark.parametrize("basis", ["paper", "table", "hadamard"])
def test_a_pickle_holds_no_table(basis):
    m = DynamicPrime(7, 256, 1e-3, basis=basis, layer_norm=True, layout="interleaved")
    expected = m.encode(np.ones((1, 7)))
    assert m.decode(expected).shape == (1, 7)  # the table and the inverse are made
    for thing in (m, m.basis):
        pickled = pickle.dumps(thing)
        assert len(pickled) < 1000
        assert pickle.loads(pickled) == thing
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(m)).encode(np.ones((1, 7))), expected)
