"""Edges of KernelPrime: what cannot be decoded, points that have no phases, and whose numbers."""

import numpy as np
import pytest

import primal
from primal import _checks
from primal.errors import DataError, NotInvertibleError, ParameterError, SpecError
from primal.maps import on

X = np.random.default_rng(1).normal(size=(20, 3))


def test_one_feature_has_no_inverse():
    with pytest.raises(NotInvertibleError, match="D = 1"):
        primal.KernelPrime(1, 1, form="pair").decode(np.ones((1, 1)))


def test_a_column_without_a_part_cannot_be_decoded():
    m = primal.KernelPrime(3, 64, on(0, "rbf", 1e-4) + on(1, "rbf", 1e-4))
    with pytest.raises(NotInvertibleError, match="no part of the kernel is on column 2"):
        m.decode(m.encode(X))


@pytest.mark.parametrize("center", ["a", [1.0, 2.0], [[1.0, 2.0, 3.0]], [1.0, np.nan, 0.0]])
@pytest.mark.parametrize("form", ["pair", "offset"])
def test_a_center_is_checked_in_both_forms(center, form):
    with pytest.raises(DataError, match="center"):
        primal.KernelPrime(3, 16, form=form, center=center)


@pytest.mark.parametrize(
    ("gamma", "center", "said"),
    [
        (1.0, [1e10, 0.0, 0.0], r"^center holds a value of size 1e\+10,"),
        ([1.0, 2.0, 3.0], [0.0, 0.0, -1e10], r"^center, times m\.input_scales, holds a value"),
        ([1e30, 1.0, 1.0], [1e300, 0.0, 0.0], r"^center, times m\.input_scales, holds inf"),
    ],
)
def test_a_center_has_phases(gamma, center, said):
    with pytest.raises(DataError, match=said):
        primal.KernelPrime(3, 4, gamma=gamma, form="offset", center=center)
    # Pairs have no use for it.
    assert primal.KernelPrime(3, 8, gamma=gamma, center=center).center is None


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern32", "prime"])
@pytest.mark.parametrize("d", [1, 3, 8, 20])
def test_a_smaller_map_is_a_prefix_of_a_larger_one_at_every_size(d, kernel):
    x = np.random.default_rng(d).normal(size=(5, d))
    large = primal.KernelPrime(d, 1024, kernel)
    for D in range(1, 3 * d + 3):
        small = primal.KernelPrime(d, D, kernel)
        assert small.form == "pair"
        shared = small.with_amplitude(large.amplitude).encode(x)
        np.testing.assert_array_equal(shared, large.encode(x)[:, :D])


@pytest.mark.parametrize("call", ["encode", "turns"])
@pytest.mark.parametrize("gamma", [1.0, [1.0, 2.0, 3.0]])
def test_every_number_is_looked_at_once(gamma, call, monkeypatch):
    m, x = primal.KernelPrime(3, 4, gamma=gamma), np.ones((100_000, 3))
    scans, extremes = [], _checks._extremes
    monkeypatch.setattr(_checks, "_extremes", lambda a: (scans.append(a), extremes(a))[1])
    getattr(m, call)(x)
    assert len(scans) == 1 + (call == "turns" and gamma != 1.0)  # of x, and of x times the scales


def test_a_rejected_batch_leaves_the_output_as_it_is():
    m, out = primal.KernelPrime(2, 4, gamma=[1.0, 2.0]), np.full((3_000_000, 4), 7.0, np.float32)
    x = np.zeros((len(out), 2))
    x[-1] = 1e200
    with pytest.raises(DataError, match=r"^row 2999999 of x holds 1e\+200 in column 0"):
        m.encode(x, out=out)
    assert (out == 7.0).all()


@pytest.mark.parametrize("method", ["growable", "lattice"])
def test_amplitudes_fit_float32(method):
    m = primal.KernelPrime(3, 16, gamma=0.1, method=method)
    for wrong in (1e39, 2.5e37, 0.0, -1.0, np.nan, np.inf, "a"):
        with pytest.raises(ParameterError, match=r"^amplitude .*between 0 and 2\.5e\+37, got"):
            m.with_amplitude(wrong)
    with pytest.raises(SpecError, match="amplitude"):
        primal.from_spec(m.spec | {"amplitude": 1e39})
    assert np.isfinite(m.with_amplitude(2.4e37).encode(X)).all()


@pytest.mark.parametrize("factor", [1e-60, 1e60])
def test_factors_of_kernels_fit_float32(factor):
    m = primal.KernelPrime(3, 16, factor * on([0, 1]) + on(2))
    z = m.encode(1e-3 * X)
    assert np.isfinite(z).all()
    assert (np.abs(z[:, ::2]) > 1e-37).all()
    largest = 1e38 / np.sqrt(16 * (factor + 1.0))
    assert np.isfinite(m.with_amplitude(0.99 * largest).encode(X)).all()
    with pytest.raises(ParameterError, match=r"^amplitude .*strictly between 0 and"):
        m.with_amplitude(1.01 * largest)
    for beyond in (1e78, 1e-61):
        with pytest.raises(ParameterError, match="factor of a kernel must be from 1e-60 to 1e"):
            beyond * on([0, 1])
    with pytest.raises(ParameterError, match="factor of a kernel must be from 1e-60 to 1e"):
        (1e40 * on(0)) * (1e40 * on(1))


def test_phases_are_relative_to_a_point_that_has_some():
    m = primal.KernelPrime(3, 16, gamma=0.01)
    with pytest.raises(DataError, match=r"^around"):
        m.decode(m.encode(X), around=[1e300, 0.0, 0.0])


@pytest.mark.parametrize("size", [1e80, 1e300])
def test_numbers_beyond_the_range_with_a_gamma_for_each_input(size):
    m = primal.KernelPrime(3, 16, gamma=[1.0, 2.0, 1e160])
    with pytest.raises(DataError, match=r"^row 0 of x holds .* in column 0, .*keep \|x\| below"):
        m.encode(size * X)


MAPS = {
    "gamma": primal.KernelPrime(3, 16, gamma=0.7),
    "gammas": primal.KernelPrime(3, 16, gamma=[1.0, 1e-3, 1e9]),
    "lattice": primal.KernelPrime(3, 16, gamma=[1.0, 2.0, 3.0], method="lattice"),
    "fast": primal.DynamicPrime(3, 16, sigma=1e-3, precision="fast"),
    "hadamard": primal.DynamicPrime(3, 16, sigma=7.0, basis="hadamard"),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("call", ["encode", "turns"])
def test_the_limit_is_the_largest_number_that_is_accepted(name, call):
    m = MAPS[name]
    largest = np.broadcast_to(m.limit, 3)
    assert len(getattr(m, call)(np.stack([largest, -largest]))) == 2
    beyond = np.nextafter(largest, np.inf)
    for j in range(3):
        x = np.where(np.arange(3) == j, beyond, largest)
        if call == "encode":
            with pytest.raises(DataError, match="keep \\|x\\| below"):
                m.encode(x)
        with pytest.raises(DataError):
            getattr(m, call)(x * (1.0 + 1e-15))


def test_the_limit_of_normalized_rows_is_that_of_floats():
    assert primal.DynamicPrime(3, 16, layer_norm=True).limit == np.finfo(np.float64).max
    m = primal.DynamicPrime(3, 16, sigma=1e90, layer_norm=True)
    assert m.limit == 0.0
    with pytest.raises(DataError, match="below 0, or lower sigma"):
        m.encode([1.0, 2.0, 3.0])


@pytest.mark.parametrize("method", ["lattice", "spectral"])
@pytest.mark.parametrize(
    ("field", "wrong"),
    [("widths", [1e-300, 1e-300]), ("widths", [1.0, 1e300]), ("widths", [1.0]), ("sigma", 1e300)],
)
def test_a_basis_is_made_for_widths_and_scales_in_range(method, field, wrong):
    spec = primal.KernelPrime(2, 64, method=method).basis.spec
    assert primal.from_spec(spec).spec == spec
    with pytest.raises(SpecError, match=rf"^the spec of a KernelBasis is wrong: {field}"):
        primal.from_spec(spec | {field: wrong})
