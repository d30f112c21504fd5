"""Decoding beyond the wrap: recovery, honest statuses, calibration, every kind of code."""

import warnings

import numpy as np
import pytest
from c_core import require_core

import primal
from primal import DynamicPrime
from primal.decoding import (
    Box,
    Gaussian,
    Integers,
    _kernels,
    make_plan,
    noise_turns,
    plan_matrix,
)
from primal.decoding._certificate import WholeNumberCount
from primal.decoding._phases import code_phases
from primal.decoding._solve import make_stages, refine
from primal.errors import DataError, NotInvertibleError, ParameterError
from primal.exact import BASES, pack, unpack

BOX = Box(1.0)


def to_uint16(turns):
    return (unpack(pack(turns, 16), 16, turns.shape[-1]) >> np.uint32(16)).astype(np.uint16)


def quiet_map(*args, **options) -> DynamicPrime:
    """A map without the warning about the paper's basis."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", primal.errors.ConditioningWarning)
        return DynamicPrime(*args, **options)


def uniform(n: int, d: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (n, d))


def noisy_codes(m: DynamicPrime, x: np.ndarray, std: float, seed: int = 2) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0.0, std, (len(x), m.D // 2))
    turns = m.turns(x) * 2.0**-32 + noise
    return np.concatenate([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], axis=1)


def relative_errors(found: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(found - x, axis=1) / np.linalg.norm(x, axis=1)


def share_resolved(m: DynamicPrime, found: np.ndarray, x: np.ndarray) -> float:
    """Share of rows in which every whole turn is right."""
    off = np.abs((found - x) @ m.basis.frequencies.T).max(axis=1)
    return float(np.mean(off < 0.4))


GRID = [(d, f * d, s) for d in (2, 4, 8, 16, 32) for f in (4, 8) for s in (0.02, 1.0, 100.0)]


@pytest.mark.parametrize(("d", "D", "sigma"), GRID)
def test_float32_codes_of_the_paper_come_back(d, D, sigma):
    m, x = quiet_map(d, D, sigma), uniform(200, d)
    plan = m.decode_plan(prior=BOX)
    result = plan.decode(m.encode(x))
    assert np.mean(relative_errors(result.x, x) < 1e-4) >= 0.995
    assert plan.certificate.recoverable
    assert (result.status == "unique").all()
    assert plan.certificate.n_phases == D // 2
    if 8 * d == D:  # the others follow by prediction
        assert plan.certificate.n_resolved < plan.certificate.n_phases


@pytest.mark.parametrize("d", [2, 8, 16, 32])
def test_the_table_basis_comes_back(d):
    m, x = DynamicPrime(d, 8 * d, 1.0, basis="table"), uniform(200, d)
    result = m.decode_plan(prior=BOX).decode(m.encode(x))
    assert np.mean(relative_errors(result.x, x) < 1e-4) >= 0.995


def test_64_inputs_come_back():
    require_core()
    m, x = quiet_map(64, 512, 1.0), uniform(300, 64)
    result = m.decode_plan(prior=BOX).decode(m.encode(x))
    assert np.mean(relative_errors(result.x, x) < 1e-4) >= 0.99


@pytest.mark.parametrize("kind", ["noise", "uint8"])
def test_noisy_phases_are_resolved(kind):
    m, x = quiet_map(16, 128, 100.0), uniform(500, 16)
    noise, z = (1e-3, noisy_codes(m, x, 1e-3)) if kind == "noise" else ("uint8", None)
    z = pack(m.turns(x), 8) if z is None else z
    result = m.decode_plan(prior=BOX, noise=noise).decode(z)
    assert share_resolved(m, result.x, x) >= 0.99
    assert np.mean(result.status == "unique") >= 0.99


@pytest.mark.parametrize(
    ("name", "code"), [("uint8", lambda turns: pack(turns, 8)), ("uint16", to_uint16)]
)
def test_rounded_phases_are_read_where_they_are(name, code):
    """Rounding is to nearest: no bias in what is read, and errors as uniform as the noise says."""
    turns = np.random.default_rng(5).integers(0, 2**32, (2000, 16), dtype=np.uint32)
    off = code_phases(code(turns), 16, "block") - turns * 2.0**-32
    off -= np.rint(off)
    step = 1.0 / (np.iinfo(name).max + 1)
    assert np.abs(off).max() <= step / 2
    assert abs(off.mean()) < 5 * noise_turns(name) / np.sqrt(off.size)
    assert off.std() == pytest.approx(noise_turns(name), rel=0.01)
    m, x = quiet_map(2, 32, 0.02), 4.0 * uniform(400, 2)
    result = m.decode_plan(prior=Box(4.0), noise=name).decode(code(m.turns(x)))
    assert (result.status == "unique").all()
    errors = (result.x - x) / m.decode_plan(prior=Box(4.0), noise=name).certificate.x_std
    assert np.abs(errors.mean(axis=0)).max() < 5 / np.sqrt(len(x))


@pytest.mark.parametrize("layout", ["block", "interleaved"])
@pytest.mark.parametrize("basis", BASES)
def test_every_basis_and_layout(basis, layout):
    m, x = DynamicPrime(4, 32, 50.0, basis=basis, layout=layout), uniform(50, 4)
    result = m.decode_plan(prior=BOX).decode(m.encode(x))
    assert (result.status == "unique").all()
    assert relative_errors(result.x, x).max() < 1e-6


def test_one_sigma_per_frequency():
    sigma = np.geomspace(40.0, 0.5, 16)
    m, x = DynamicPrime(4, 32, sigma, basis="signed"), uniform(50, 4)
    result = m.decode_plan(prior=BOX).decode(m.encode(x))
    assert (result.status == "unique").all()
    assert relative_errors(result.x, x).max() < 1e-6


@pytest.mark.parametrize(
    ("noise", "code"),
    [
        ("float64", lambda m, x: m.encode(x, dtype="float64")),
        ("float16", lambda m, x: m.encode(x).astype(np.float16)),
        ("uint32", lambda m, x: m.turns(x)),
        ("uint16", lambda m, x: to_uint16(m.turns(x))),
        ("uint8", lambda m, x: pack(m.turns(x), 8)),
    ],
)
def test_every_kind_of_code(noise, code):
    m, x = DynamicPrime(4, 64, 20.0), uniform(100, 4)
    z = code(m, x)
    plan = m.decode_plan(prior=BOX, noise=noise)
    result = plan.decode(z)
    assert (result.status == "unique").all()
    assert (np.abs(result.x - x) < 8.0 * plan.certificate.x_std + 1e-14).all()
    assert share_resolved(m, result.x, x) == 1.0


def test_bytes_are_read_as_the_nearest_phases():
    codes = np.array([[0, 64, 128, 255]], dtype=np.uint8)
    phases = code_phases(codes, 4, "block")
    np.testing.assert_array_equal(np.abs(phases), [[0.0, 0.25, 0.5, 1 / 256]])
    np.testing.assert_array_equal(phases[0, [1, 3]], [0.25, -1 / 256])
    np.testing.assert_array_equal(code_phases(codes.astype(np.uint32) << 24, 4, "block"), phases)


def test_scaled_codes_and_leading_axes():
    m, x = DynamicPrime(2, 16, 100.0), uniform(6, 2).reshape(2, 3, 2)
    result = m.decode_plan(prior=BOX).decode(7.0 * m.encode(x))
    assert result.x.shape == x.shape
    assert result.status.shape == result.residual.shape == (2, 3)
    assert result.candidates.shape == (2, 3, 1, 2)
    np.testing.assert_allclose(result.x, x, atol=1e-8)
    one = m.decode_plan(prior=BOX).decode(m.encode(x[0, 0]))
    assert one.x.shape == (2,)
    assert one.status == "unique"
    empty = m.decode_plan(prior=BOX).decode(np.zeros((0, 16)))
    assert empty.x.shape == (0, 2)


@pytest.mark.parametrize(
    ("m", "prior", "noise", "beam"),
    [
        (DynamicPrime(8, 64, 100.0, basis="table"), BOX, "float32", 1),
        (DynamicPrime(3, 50, 30.0, layout="interleaved"), BOX, 0.01, 5),
        (DynamicPrime(2, 4, 1.0), BOX, "float32", 1),  # ambiguous: 16 candidates
        (DynamicPrime(4, 14, 1.0), Integers(1.0, 0, 255), "float32", 1),
        (DynamicPrime(7, 66, 1.0), Gaussian(0.0, 0.5), "uint8", 1),
    ],
)
def test_the_batch_changes_no_bit(m, prior, noise, beam, monkeypatch):
    n = 700
    x = np.rint(255.0 * np.abs(uniform(n, m.d))) if isinstance(prior, Integers) else uniform(n, m.d)
    z = pack(m.turns(x), 8) if noise == "uint8" else m.encode(x)
    if isinstance(noise, float):
        z = noisy_codes(m, x, noise)
        z = z.reshape(n, 2, -1).transpose(0, 2, 1).reshape(n, -1)
    plan = m.decode_plan(prior=prior, noise=noise, beam=beam)
    whole = plan.decode(z)
    assert (whole.status != "failed").mean() > 0.9
    order = np.random.default_rng(4).permutation(n)
    for name in ("x", "status", "residual", "candidates"):
        expected = getattr(whole, name)
        for first, last in ((0, 1), (5, 8), (64, 200), (699, 700)):
            part = getattr(plan.decode(z[first:last]), name)
            np.testing.assert_array_equal(part, expected[first:last])
        np.testing.assert_array_equal(getattr(plan.decode(z[order]), name), expected[order])
        with monkeypatch.context() as context:
            context.setenv("PRIMAL_THREADS", "7")
            np.testing.assert_array_equal(getattr(plan.decode(z), name), expected)


@pytest.mark.parametrize(
    ("n", "k", "r"), [(1, 1, 1), (3, 7, 2), (5, 64, 9), (2, 3, 256), (0, 4, 4)]
)
@pytest.mark.parametrize("compiled", [True, False])
def test_sums_of_products_have_one_order(n, k, r, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setenv("PRIMAL_ENGINE", "numpy")
    rng = np.random.default_rng(9)
    rows, matrix = rng.normal(size=(n, k)), rng.normal(size=(k, r))
    expected = [[sum(a * b for a, b in zip(row, c, strict=True)) for c in matrix.T] for row in rows]
    found = _kernels.row_products(rows, matrix)
    np.testing.assert_array_equal(found, np.reshape(expected, (n, r)))
    ints = rng.integers(-(2**62), 2**62, (k, r))
    small = rng.integers(-9, 9, (n, k))
    np.testing.assert_array_equal(_kernels.row_products(small, ints), small @ ints)


CALIBRATION = [
    (16, 128, 100.0, "paper", 0.01),
    (16, 64, 100.0, "paper", 3e-4),
    (16, 128, 1.0, "table", 0.02),
    (64, 128, 1.0, "paper", "float32"),
    (32, 128, 100.0, "paper", 1e-3),
    (2, 512, 5.0, "table", 0.18),
]


@pytest.mark.parametrize(("d", "D", "sigma", "basis", "noise"), CALIBRATION)
def test_measured_success_agrees_with_the_prediction(d, D, sigma, basis, noise):
    n = 1000
    m, x = quiet_map(d, D, sigma, basis=basis), uniform(n, d)
    plan = m.decode_plan(prior=BOX, noise=noise)
    z = m.encode(x) if noise == "float32" else noisy_codes(m, x, noise)
    found = plan.decode(z).candidates[:, 0]
    predicted = plan.certificate.success_probability
    # Four standard deviations of a share of n and of one of 2000 draws, and 0.005 for the formula.
    tolerance = 4.0 * np.sqrt(predicted * (1.0 - predicted) * (1.0 / n + 1.0 / 2000)) + 0.005
    assert abs(share_resolved(m, found, x) - predicted) < tolerance


NEAR_LIMIT = [
    (2, 8, 100.0, "paper", "float32"),
    (8, 64, 100.0, "paper", 0.01),
    (16, 64, 100.0, "paper", 3e-4),
    (16, 128, 100.0, "paper", 0.01),
    (32, 64, 1.0, "paper", "float32"),
    (64, 128, 1.0, "paper", "float32"),
    (32, 128, 100.0, "paper", 1e-3),
]


@pytest.mark.parametrize(("d", "D", "sigma", "basis", "noise"), NEAR_LIMIT)
def test_nothing_wrong_is_called_unique(d, D, sigma, basis, noise):
    m, x = quiet_map(d, D, sigma, basis=basis), uniform(1000, d, seed=7)
    plan = m.decode_plan(prior=BOX, noise=noise)
    z = m.encode(x) if noise == "float32" else noisy_codes(m, x, noise, seed=8)
    result = plan.decode(z)
    unique = result.status == "unique"
    wrong = (np.abs(result.x - x) > 10.0 * plan.certificate.x_std + 1e-6).any(axis=1)
    assert not (unique & wrong).any()
    assert np.isnan(result.x[result.status == "failed"]).all()
    assert not np.isnan(result.x[result.status != "failed"]).any()


def test_collisions_that_a_volume_does_not_show_are_found():
    # By volume 2**-33 wrong solutions would be expected here, and one decode in a thousand is
    # wrong: the paper's rows are nearly parallel, so the map has close collisions.
    plan = quiet_map(32, 64, 1.0).decode_plan(prior=BOX)
    assert plan.certificate.log2_spurious > -20.0
    assert not plan.certificate.recoverable


@pytest.mark.parametrize(
    ("m", "prior", "noise"),
    [
        (DynamicPrime(8, 12, 0.001), BOX, "float32"),  # fewer phases than inputs
        (DynamicPrime(8, 12, 0.001), Gaussian(0.0, 1.0), "float32"),
        (DynamicPrime(8, 16, 0.0001), BOX, 1e-3),  # noise hides a direction of x
    ],
)
def test_an_open_direction_is_never_unique(m, prior, noise):
    plan = m.decode_plan(prior=prior, noise=noise)
    assert plan.certificate.log2_spurious == np.inf
    result = plan.decode(m.encode(0.9 * uniform(50, 8)))
    assert (result.status == "ambiguous").all()


def test_ambiguous_results_list_their_candidates():
    m, x = DynamicPrime(2, 4, 1.0), uniform(300, 2)
    plan = m.decode_plan(prior=BOX)
    result = plan.decode(m.encode(x))
    assert plan.certificate.log2_spurious > -30.0
    ambiguous = result.status == "ambiguous"
    assert 0.1 < ambiguous.mean() < 1.0
    assert (np.abs(result.x - x)[result.status == "unique"] < 1e-5).all()
    assert not (result.status == "failed").any()
    listed = ~np.isnan(result.candidates[..., 0])
    assert listed.sum(axis=1).max() > 1
    # The truth is on the list, and everything on it encodes to the same features.
    hit = (np.abs(result.candidates - x[:, None]) < 1e-5).all(axis=2).any(axis=1)
    assert hit.all()
    again = m.encode(result.candidates[listed])
    original = np.repeat(m.encode(x), listed.sum(axis=1), axis=0)
    np.testing.assert_allclose(again, original, atol=1e-6)


def test_a_wider_beam_resolves_more():
    m, x = quiet_map(32, 128, 100.0), uniform(60, 32)
    z = noisy_codes(m, x, 1e-3)
    shares = [
        share_resolved(m, m.decode_plan(prior=BOX, noise=1e-3, beam=beam).decode(z).x, x)
        for beam in (1, 32)
    ]
    assert shares[1] > shares[0] + 0.3


def rounded_codes(m: DynamicPrime, x: np.ndarray, bits: int) -> np.ndarray:
    """Phases rounded to a few bits, as uint32."""
    step = 1 << (32 - bits)
    turns = m.turns(x.astype(float)).astype(np.int64)
    return ((turns + step // 2) // step * step % 2**32).astype(np.uint32)


@pytest.mark.parametrize("high", [99, 2_999, 10**4 - 1, 10**6 - 1])
def test_a_whole_number_is_not_its_own_rival(high):
    """Other turns of the phases with the same steps of x are the same answer."""
    m = DynamicPrime(3, 128)
    plan = m.decode_plan(prior=Integers(1.0, 0, high), noise=2.0**-4 / np.sqrt(12.0))
    assert plan.certificate.log2_spurious < -100.0
    x = np.random.default_rng(1).integers(0, high + 1, (200, 3))
    result = plan.decode(rounded_codes(m, x, 4))
    np.testing.assert_array_equal(result.x, x)
    assert (result.status == "unique").all()


def test_a_plan_that_rounding_fails_asks_for_a_beam():
    m, n = DynamicPrime(4, 256), 300
    options = {"prior": Integers(1.0, 0, 315), "noise": 2.0**-2 / np.sqrt(12.0)}
    x = np.random.default_rng(1).integers(0, 316, (n, 4))
    z = rounded_codes(m, x, 2)
    narrow, plan = m.decode_plan(beam=1, **options), m.decode_plan(**options)
    assert narrow.certificate.success_probability < 0.9
    assert np.mean(narrow.decode(z, check=False).status == "unique") < 0.9
    assert plan.beam > 1
    assert plan.certificate.success_probability > 0.99
    result = plan.decode(z)
    assert np.mean(result.status == "unique") > 0.99
    unique = result.status == "unique"
    np.testing.assert_array_equal(result.x[unique], x[unique])


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("noise", [0.031, 0.12])
def test_phases_of_a_loaded_memory_come_back(basis, noise):
    """Also where noise alone reaches half a turn in one phase of a few ten thousand."""
    m, x = quiet_map(2, 512, 5.0, basis=basis), uniform(300, 2)
    plan = m.decode_plan(prior=BOX, noise=noise)
    assert plan.certificate.n_phases == 256
    assert plan.certificate.log2_spurious < -150.0
    result = plan.decode(noisy_codes(m, x, noise))
    unique = result.status == "unique"
    assert unique.mean() > 0.98
    assert (np.abs(result.x - x)[unique] < 7.0 * plan.certificate.x_std).all()


def test_all_phases_take_part_where_noise_is_the_larger_part_of_them():
    m, x = quiet_map(8, 512, 5.0, basis="kronecker"), uniform(300, 8)
    plan = m.decode_plan(prior=BOX, noise=0.12)
    assert plan.certificate.n_phases == 256  # of which 104 leave 2**7 wrong solutions
    assert plan.certificate.log2_spurious < -35.0
    result = plan.decode(noisy_codes(m, x, 0.12))
    right = (np.abs(result.candidates[:, 0] - x) < 7.0 * plan.certificate.x_std).all(axis=1)
    assert right.mean() > 0.85
    assert (result.status == "unique")[right].mean() > 0.99
    assert not (result.status == "unique")[~right].any()


def test_a_gaussian_prior_with_fewer_phases_than_inputs():
    rng = np.random.default_rng(5)
    loadings = rng.normal(size=(32, 6))
    x = 1.0 + rng.normal(size=(200, 6)) @ loadings.T
    m = quiet_map(32, 24, 1.0)
    result = m.decode_plan(prior=Gaussian(1.0, loadings @ loadings.T)).decode(m.encode(x))
    assert (result.status == "unique").all()
    np.testing.assert_allclose(result.x, x, atol=1e-6)


@pytest.mark.parametrize(("d", "D", "sigma"), [(8, 8, 1.0), (16, 16, 100.0), (32, 32, 1.0)])
def test_whole_numbers_need_fewer_phases(d, D, sigma):
    m = quiet_map(d, D, sigma)
    x = np.random.default_rng(6).integers(0, 256, (200, d)) / 4.0
    result = m.decode_plan(prior=Integers(0.25, 0, 255)).decode(m.encode(x))
    assert (result.status == "unique").all()
    assert np.array_equal(result.x, x)


def test_nobody_changes_what_a_plan_judges_by():
    m = DynamicPrime(2, 32, sigma=0.5)
    codes = m.encode([[14.5, 0.0], [3.0, -1.0]])
    for plan in (m.decode_plan(prior=Box(14.0)), m.decode_plan(prior=Box(14.0), noise=0.1, beam=4)):
        with pytest.raises(ValueError, match="read-only"):
            plan.certificate.x_std[:] = 1.0  # with it, 14.5 would pass for a value in the box
    plan = m.decode_plan(prior=Box(14.0))
    assert plan.decode(codes, check=False).status.tolist() == ["failed", "unique"]
    by_matrix = plan_matrix(m.basis.frequencies, prior=Box(14.0), noise=0.01)
    with pytest.raises(ValueError, match="read-only"):
        by_matrix.certificate.x_std[:] = 1.0


def test_whole_numbers_with_a_known_law():
    # 16 inputs of which most are 0: 5 phases hold what uniform ones could not.
    rng = np.random.default_rng(7)
    std = np.where(np.arange(16) < 4, 40.0, 0.3)
    t = np.clip(np.rint(rng.normal(0.0, std, (300, 16))), -128, 127)
    m = quiet_map(16, 10, 1.0)
    informed = m.decode_plan(prior=Integers(1.0, -128, 127, mean=0.0, std=std))
    blind = m.decode_plan(prior=Integers(1.0, -128, 127))
    result = informed.decode(m.encode(t))
    assert informed.certificate.log2_spurious < -30.0 < blind.certificate.log2_spurious
    assert np.mean(result.status == "unique") > 0.95
    assert np.array_equal(result.x[result.status == "unique"], t[result.status == "unique"])


@pytest.mark.parametrize("std", [[0.3, 2.0, 5.0], [1.0, 1.0, 30.0]])
def test_the_count_of_whole_numbers_is_an_upper_bound(std):
    prior = Integers(0.5, -6, 9, mean=1.0, std=std).model(3)
    count = WholeNumberCount(prior)
    grid = np.stack(np.meshgrid(*[np.arange(-6, 10)] * 3), axis=-1).reshape(-1, 3)
    deviations = np.diag(prior.factor) / prior.step
    costs = np.square((grid - prior.mean / prior.step) / deviations).sum(axis=1)
    for cost in (0.5, 3.0, 12.0, 40.0):
        assert np.sum(costs <= cost) <= 2.0 ** float(count.log2_at_most(np.array(cost)))
    assert count.log2_at_most(np.array(1e9)) == pytest.approx(12.0)


def test_whole_numbers_at_long_phases():
    require_core()
    # Deviations of whole numbers must be exact in the lattice: phases multiply their rounding.
    std = np.linspace(1 / 3, 17 / 3, 64)
    t = np.rint(np.random.default_rng(9).normal(8.0, std, (50, 64))).clip(0, 16)
    m = quiet_map(64, 48, 100.0)
    result = m.decode_plan(prior=Integers(1.0, 0, 16, mean=8.0, std=std)).decode(m.encode(t))
    assert (result.status == "unique").all()
    assert np.array_equal(result.x, t)


def test_a_wider_prior_than_needed_still_works():
    m, x = DynamicPrime(8, 64, 100.0), uniform(100, 8)
    result = m.decode_plan(prior=Box(100.0)).decode(m.encode(x))
    assert (result.status == "unique").all()
    assert relative_errors(result.x, x).max() < 1e-6


def test_refinement_ends_at_the_posterior_mean():
    rng = np.random.default_rng(11)
    spread = rng.uniform(-0.1, 0.1, (8, 3)) * [1.0, 1.0, 0.003]  # the last hides in the noise
    noise = 1e-3
    phases = rng.uniform(-1, 1, (5, 3)) @ spread.T + rng.normal(0.0, noise, (5, 8))
    stages = make_stages(spread, noise, np.arange(4))
    assert stages[-1].rows.tolist() == list(range(8))
    found, left, whole = refine(stages, phases, np.zeros((5, 3)))
    precision = spread.T @ spread / noise**2 + np.eye(3)
    expected = np.linalg.solve(precision, spread.T @ phases.T / noise**2).T
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(left, phases - expected @ spread.T, atol=1e-9)
    assert not whole.any()
    # The same from phases that lie whole turns off.
    turns = rng.integers(-3, 4, phases.shape)
    again, left, whole = refine(stages, phases + turns, np.zeros((5, 3)))
    np.testing.assert_allclose(again, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(whole, turns)


def test_x_std_is_the_error():
    m, x = quiet_map(16, 128, 100.0), uniform(2000, 16)
    plan = m.decode_plan(prior=BOX, noise=1e-3)
    result = plan.decode(noisy_codes(m, x, 1e-3))
    np.testing.assert_allclose((result.x - x).std(axis=0), plan.certificate.x_std, rtol=0.15)
    np.testing.assert_allclose(np.sqrt(np.square(result.residual).mean()), 1e-3, rtol=0.2)


def test_layer_norm_returns_the_normalised_row():
    m = DynamicPrime(4, 32, 10.0, layer_norm=True)
    rows = uniform(20, 4)
    centered = rows - rows.mean(axis=1, keepdims=True)
    normalised = centered / centered.std(axis=1, keepdims=True)
    result = m.decode_plan(prior=Box(2.0)).decode(m.encode(rows))
    np.testing.assert_allclose(result.x, normalised, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m: m.decode_plan(prior=1.0), ParameterError, ["prior", "Box", "float"]),
        (lambda m: m.decode_plan(prior=BOX, noise="uint7"), ParameterError, ["uint7", "float32"]),
        (lambda m: m.decode_plan(prior=BOX, noise=0.0), ParameterError, ["0.0", "1e-15"]),
        (lambda m: m.decode_plan(prior=BOX, beam=0), primal.errors.ParameterError, ["beam", "0"]),
        (
            lambda m: m.decode_plan(prior=BOX, beam=2**31),
            primal.errors.MemoryLimitError,
            ["beam of 2147483648", "GB"],
        ),
        (
            lambda m: m.decode_plan(prior=BOX).decode(m.encode([0.0, 0.0]), check=np.zeros(2)),
            ParameterError,
            ["check", "True or False", "array"],
        ),
        (
            lambda m: m.decode_plan(prior=BOX, noise=np.array([1e-8, 1e-3])),
            ParameterError,
            ["noise", "array"],
        ),
        (lambda m: m.decode_plan(prior=Box(1e12)), DataError, ["turns", "noise"]),
        (lambda m: m.decode_plan(prior=Box([1.0, 2.0, 3.0])), DataError, ["half_width", "3"]),
        (lambda m: Box(-1.0), DataError, ["half_width", "-1.0"]),
        (lambda m: Box("wide"), DataError, ["half_width", "wide"]),
        (lambda m: Box("1.0"), DataError, ["half_width", "real numbers", "1.0"]),
        (lambda m: Box(10**400), DataError, ["half_width", "beyond 2**53"]),
        (lambda m: Box(np.ma.array([1.0, 2.0], mask=[0, 1])), DataError, ["half_width", "masked"]),
        (lambda m: Integers(1.0, 0, 2**53 + 1), DataError, ["high", "9007199254740993"]),
        (
            lambda m: m.decode_plan(prior=Integers(1.0, 0, 255, std=1e-300)),
            DataError,
            ["whole-number input", "larger std", "1e-08"],
        ),
        (lambda m: Gaussian(0.0, [[1.0, 0.5], [0.0, 1.0]]), DataError, ["cov", "symmetric"]),
        (lambda m: Gaussian(0.0, 1j * np.eye(2)), DataError, ["cov", "real numbers", "complex"]),
        (
            lambda m: m.decode_plan(prior=Gaussian(0.0, np.full((2, 2), 1e308))),
            DataError,
            ["cov", "eigenvalues", "inf"],
        ),
        (lambda m: Integers(1.0, 0.5, 3), DataError, ["low", "0.5"]),
        (lambda m: Integers(1.0, 3, 3), DataError, ["below", "3"]),
        (lambda m: m.decode_plan(prior=Gaussian(0.0, np.eye(3))), DataError, ["cov", "2 x 2"]),
        (lambda m: m.decode_plan(prior=Gaussian(0.0, -np.eye(2))), DataError, ["eigenvalue"]),
        (lambda m: m.decode_plan(prior=BOX).decode(np.ones(5)), DataError, ["z", "16"]),
        (
            lambda m: m.decode_plan(prior=BOX).decode(np.ones(16, dtype=np.float16)),
            DataError,
            ["float16", "noise="],
        ),
    ],
)
def test_errors_name_the_value_and_the_remedy(call, error, words):
    with pytest.raises(error) as caught:
        call(DynamicPrime(2, 16, 100.0))
    assert all(word in str(caught.value) for word in words)


def test_priors_are_values():
    assert Box([1, 2]) == Box((1.0, 2.0))
    assert hash(Gaussian(0.0, np.eye(2))) == hash(Gaussian(0.0, np.eye(2)))
    assert Integers() == Integers(1.0, 0, 255)
    assert repr(Integers()) == repr(Integers(1.0, 0, 255))
    assert noise_turns("uint8") == pytest.approx(2.0**-8 / 12**0.5)


def test_the_certificate_reads():
    plan = DynamicPrime(2, 16, 100.0).decode_plan(prior=BOX)
    assert str(plan.certificate).startswith("recoverable: success 1.000000")
    assert "2**-" in repr(plan)
    assert plan.setup_seconds >= 0.0


def test_without_the_c_core_the_answers_are_the_same(monkeypatch):
    monkeypatch.setenv("PRIMAL_ENGINE", "numpy")
    m = primal.DynamicPrime(3, 16, 100.0)
    x = np.linspace(-0.9, 0.9, 12).reshape(4, 3)
    result = m.decode_plan(prior=Box(1.0), beam=2).decode(m.encode(x))
    assert set(result.status.tolist()) == {"unique"}
    np.testing.assert_allclose(result.x, x, rtol=0, atol=1e-8)


@pytest.mark.parametrize("gamma", [[0.5, 3.0], (2.0, 2.0)])
def test_codes_of_scaled_inputs_are_not_decoded_as_if_they_were_not(gamma):
    m = primal.KernelPrime(2, 16, gamma=gamma, method="growable")
    with pytest.raises(NotInvertibleError, match="one gamma"):
        m.decode_plan(prior=BOX)


def test_a_plan_can_be_made_from_a_basis_alone():
    basis = primal.Basis("signed", 2, 8, 10.0)
    plan = make_plan(basis.table, "block", prior=BOX)
    assert plan.certificate.recoverable
