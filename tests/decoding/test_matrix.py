"""Mixed-integer least squares: against an exhaustive search, calibration, honest statuses."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from c_core import require_core
from tool_modules import tool_module

from primal.decoding import Box, Gaussian, Integers, _kernels, _matrix, _matrix_search, plan_matrix
from primal.errors import DataError, MemoryLimitError, ParameterError


def spread_covariance(rng, k: int, std: float) -> np.ndarray:
    loadings = rng.normal(size=(k, k))
    return std**2 * (loadings @ loadings.T / k + 0.05 * np.eye(k))


def exhaustive(y: np.ndarray, total: np.ndarray, reach: int = 3) -> tuple[np.ndarray, float]:
    """The n with the least (y - n)^T total^-1 (y - n), of all within reach of y."""
    inverse = np.linalg.inv(total)
    center = np.rint(y).astype(int)
    offsets = np.indices((2 * reach + 1,) * len(y)).reshape(len(y), -1).T - reach
    off = y - center - offsets
    costs = ((off @ inverse) * off).sum(axis=1)
    best = costs.argmin()
    return center + offsets[best], float(costs[best])


@pytest.mark.parametrize("seed", range(40))
def test_no_whole_numbers_are_better(seed):
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(2, 6)), int(rng.integers(0, 3))
    A, noise = rng.normal(size=(k, d)), spread_covariance(rng, k, rng.uniform(0.02, 0.4))
    plan = plan_matrix(A, prior=Gaussian(0.0, 0.3) if d else None, covariance=noise)
    total = 0.3 * A @ A.T + noise
    y = rng.normal(size=(20, k)) @ np.linalg.cholesky(total).T + rng.integers(-9, 9, (20, k))
    found = plan.solve(y)
    for row, whole, distance, status in zip(
        y, found.whole, found.distances[:, 0], found.status, strict=True
    ):
        best, cost = exhaustive(row, total)
        np.testing.assert_array_equal(whole, best)
        assert distance == pytest.approx(cost, rel=1e-6)
        assert status != "failed"


@pytest.mark.parametrize("seed", [1, 3, 9])  # whole inputs, real ones, and whole ones again
def test_an_exhaustive_search_ends_with_the_same_numbers(seed, monkeypatch):
    """A short version of tools/matrix_bars.py."""
    require_core()
    pytest.importorskip("click")
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    found = tool_module("matrix_bars").measure_problem(seed, 20)
    assert found["confirmed"] == [True, True]
    assert found["wrong unique"] == 0


@pytest.mark.parametrize("risk", [1e-2, 2.0**-30])
def test_unique_means_that_all_others_together_are_improbable(risk):
    """By the sum over all whole numbers near, with the covariance itself."""
    rng = np.random.default_rng(1)
    covariance = spread_covariance(rng, 4, 0.25)
    plan = plan_matrix(covariance=covariance, risk=risk)
    whole = rng.integers(-99, 99, (2000, 4))
    y = rng.normal(size=(2000, 4)) @ np.linalg.cholesky(covariance).T + whole
    found = plan.solve(y)
    unique = found.status == "unique"
    assert 0.05 < unique.mean() < 0.99  # near the limit
    assert (found.whole[unique] != whole[unique]).any(axis=1).mean() <= 2.0 * risk
    inverse = np.linalg.inv(covariance)
    offsets = np.array(list(itertools.product(range(-3, 4), repeat=4)))
    for row, n, status, probability in zip(
        y[:300], found.whole[:300], found.status[:300], found.probability[:300], strict=True
    ):
        off = row - n + offsets
        costs = np.einsum("ij,jk,ik->i", off, inverse, off)
        others = np.exp(-0.5 * (costs - (row - n) @ inverse @ (row - n)))[offsets.any(axis=1)].sum()
        assert probability == pytest.approx(1.0 / (1.0 + others), rel=0.02)
        if abs(np.log(others / risk)) > 0.5:  # beyond the estimate of what was not listed
            assert (others <= risk) == (status == "unique")


@pytest.mark.parametrize(
    ("k", "d", "std", "known"), [(8, 0, 0.35, 0), (12, 4, 0.06, 0), (12, 4, 0.12, 5)]
)
def test_success_and_probability_are_as_predicted(k, d, std, known):
    n = 4000
    rng = np.random.default_rng(2)
    A, covariance = rng.normal(size=(k, d)), spread_covariance(rng, k, std)
    plan = plan_matrix(
        A,
        prior=Gaussian(0.0, 1.0) if d else None,
        covariance=covariance,
        known=np.arange(k) < known,
    )
    x, whole = rng.normal(size=(n, d)), rng.integers(-9, 9, (n, k))
    whole[:, :known] = 0
    y = x @ A.T + rng.normal(size=(n, k)) @ np.linalg.cholesky(covariance).T + whole
    found = plan.solve(y)
    right = (found.whole == whole).all(axis=1)
    predicted = plan.certificate.success_probability
    assert 0.3 < predicted < 0.995
    assert abs(right.mean() - predicted) < 0.02
    assert abs(right.mean() - found.probability.mean()) < 0.02
    if d:
        errors = (found.x - x)[right] / plan.certificate.x_std
        assert np.sqrt(np.square(errors).mean()) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    ("prior", "std"),
    [
        ([Box(2.0)] * 4, 0.08),
        ([Integers(1.0, -3, 3)] * 4, 0.13),
        (
            [Integers(1.0, -99, 99, std=0.7), Integers(0.5, 0, 3), Box(1.0), Gaussian(2.0, 0.5)],
            0.12,
        ),
    ],
)
def test_success_is_as_predicted_for_inputs_with_limits(prior, std):
    n = 4000
    rng = np.random.default_rng(12)
    A = rng.normal(size=(12, 4))
    draws = {
        Box(2.0): lambda: rng.uniform(-2.0, 2.0, n),
        Box(1.0): lambda: rng.uniform(-1.0, 1.0, n),
        Integers(1.0, -3, 3): lambda: rng.integers(-3, 4, n),
        Integers(1.0, -99, 99, std=0.7): lambda: np.rint(rng.normal(0.0, 0.7, n)),
        Integers(0.5, 0, 3): lambda: 0.5 * rng.integers(0, 4, n),
        Gaussian(2.0, 0.5): lambda: rng.normal(2.0, np.sqrt(0.5), n),
    }
    x = np.stack([draws[p]() for p in prior], axis=1)
    plan = plan_matrix(A, prior=prior, noise=std)
    found = plan.solve(x @ A.T + rng.normal(0.0, std, (n, 12)))
    inputs = [j for j, p in enumerate(prior) if isinstance(p, Integers)]
    right = (found.candidates[:, 0, inputs] == x[:, inputs]).all(axis=1)
    right &= (found.whole == 0).all(axis=1)
    assert 0.3 < right.mean() < 0.995
    assert abs(right.mean() - plan.certificate.success_probability) < 0.02


def test_success_counts_searches_that_do_not_end(monkeypatch):
    for name, value in (("_QUICK_NODES", 30), ("_MOST_NODES", 30), ("_BEAM", 1)):
        monkeypatch.setattr(_matrix_search, name, value)
    n = 4000
    rng = np.random.default_rng(13)
    A, covariance = rng.normal(size=(24, 5)), spread_covariance(rng, 24, 0.16)
    plan = plan_matrix(A, prior=Gaussian(0.0, 1.0), covariance=covariance)
    y = rng.normal(size=(n, 5)) @ A.T
    y += rng.normal(size=(n, 24)) @ np.linalg.cholesky(covariance).T
    right = (plan.solve(y).whole == 0).all(axis=1).mean()
    assert 0.2 < right < 0.9
    assert abs(right - plan.certificate.success_probability) < 0.02


def test_whole_and_real_inputs_and_known_rows_together():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(12, 4))
    prior = [Integers(0.5, -40, 40), Integers(1.0, 0, 9), Box(1.0), Gaussian(2.0, 0.5)]
    plan = plan_matrix(A, prior=prior, noise=0.01, known=np.arange(12) < 3)
    x = np.stack(
        [
            0.5 * rng.integers(-40, 41, 300),
            rng.integers(0, 10, 300),
            rng.uniform(-1.0, 1.0, 300),
            rng.normal(2.0, np.sqrt(0.5), 300),
        ],
        axis=1,
    )
    whole = rng.integers(-9, 9, (300, 12))
    whole[:, :3] = 0
    found = plan.solve(x @ A.T + whole + rng.normal(0.0, 0.01, (300, 12)))
    assert (found.status == "unique").mean() > 0.95
    unique = found.status == "unique"
    np.testing.assert_array_equal(found.whole[unique], whole[unique])
    np.testing.assert_array_equal(found.x[unique, :2], x[unique, :2])
    off = np.abs(found.x - x)[unique, 2:] / plan.certificate.x_std[2:]
    assert off.max() < 6.0
    np.testing.assert_array_equal(plan.certificate.x_std[:2], 0.0)
    nothing = rng.uniform(-0.5, 0.5, (200, 12)) + 1e3
    assert (plan.solve(nothing, check=False).status == "failed").all()


def test_many_rows_of_plain_noise():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(60, 16)) / 2.0
    plan = plan_matrix(A, prior=Gaussian(0.0, 1.0), noise=0.01)
    assert isinstance(plan._method, _matrix._ByCode)
    x, whole = rng.normal(size=(200, 16)), rng.integers(-9, 9, (200, 60))
    y = x @ A.T + whole + rng.normal(0.0, 0.01, (200, 60))
    found = plan.solve(y.reshape(20, 10, 60))
    assert found.x.shape == (20, 10, 16)
    assert found.candidate_whole.shape == (20, 10, 4, 60)
    unique = found.status.reshape(-1) == "unique"
    assert unique.mean() > 0.99
    np.testing.assert_array_equal(found.whole.reshape(-1, 60)[unique], whole[unique])
    np.testing.assert_array_less(np.abs(found.x.reshape(-1, 16) - x)[unique].max(), 0.1)


def test_the_nearest_solution_is_found_where_the_search_ends_early(monkeypatch):
    rng = np.random.default_rng(20)
    A, covariance = rng.normal(size=(20, 5)), spread_covariance(rng, 20, 0.1)
    plan = plan_matrix(A, prior=Gaussian(0.0, 1.0), covariance=covariance, candidates=8)
    y = rng.normal(size=(500, 5)) @ A.T
    y += rng.normal(size=(500, 20)) @ np.linalg.cholesky(covariance).T
    everything = plan.solve(y)
    monkeypatch.setattr(_matrix_search, "_QUICK_NODES", 1000)
    monkeypatch.setattr(_matrix_search, "_MOST_NODES", 1000)
    search = plan._method
    found = np.zeros((500, 8, 20), dtype=np.int64), np.full((500, 8), np.inf)
    target, limits = search._reduced.combined(search.law.phases(y)[0]), np.full(500, search.limit)
    finished = _kernels.closest_points(search._reduced.factor, target, limits, 1000, *found)
    costs = found[1]
    nearest = everything.distances[:, 0]
    assert (~finished & (costs[:, 0] > 1.01 * nearest)).sum() > 20
    np.testing.assert_array_equal(plan.solve(y).whole, everything.whole)


@pytest.mark.parametrize("k", [12, 60])
def test_progress_is_reported_to_the_end(k):
    calls = []
    A = np.random.default_rng(6).normal(size=(k, 4))
    plan_matrix(A, prior=Box(1.0), noise=0.1, progress=lambda *share: calls.append(share))
    assert calls[-1] == (100, 100)
    assert calls == sorted(calls)
    assert len(set(calls)) > 4


def test_a_row_has_the_same_answer_alone():
    rng = np.random.default_rng(5)
    plan = plan_matrix(rng.normal(size=(10, 3)), prior=Box(1.0), noise=0.05)
    y = rng.uniform(-5.0, 5.0, (50, 10))
    together = plan.solve(y, check=False)
    for i in range(0, 50, 7):
        alone = plan.solve(y[i], check=False)
        for name in ("x", "whole", "status", "probability", "residual", "distances", "candidates"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(together, name)[i])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"noise": 0.1}, ParameterError, "prior must be"),
        ({"prior": Box(1.0)}, ParameterError, "state the noise"),
        ({"prior": Box(1.0), "noise": -1.0}, DataError, "noise must be positive"),
        ({"prior": [Box(1.0)], "noise": 0.1}, ParameterError, "or 2 of them"),
        ({"prior": Box(1.0), "covariance": np.ones((3, 3))}, DataError, "positive definite"),
        ({"prior": Box(1.0), "covariance": np.diag([1.0, -1.0, 1.0])}, DataError, "eigenvalue -1"),
        ({"prior": Box(1.0), "covariance": np.zeros((3, 3))}, DataError, "eigenvalue 0"),
        ({"prior": Box(1.0), "noise": 1e-300}, DataError, "noise must be positive"),
        ({"prior": Box(1.0), "noise": 1e200}, DataError, "noise must be positive"),
        ({"prior": Box(1e300), "noise": 0.1}, DataError, "larger unit"),
        ({"prior": Gaussian(0.0, 1e300), "noise": 0.1}, DataError, "larger unit"),
        ({"prior": Box(1.0), "covariance": np.eye(2)}, DataError, "covariance"),
        ({"prior": Box(1.0), "noise": 0.1, "known": [1, 0]}, DataError, "known must hold"),
        (
            {"prior": Box(1.0), "noise": 0.1, "known": [[1], 0, 0]},
            DataError,
            "known is not a rectangular",
        ),
        ({"prior": Box(1.0), "noise": 0.1, "known": [1, 1, 1]}, DataError, "nothing is whole"),
    ],
)
def test_wrong_arguments_are_named(options, error, words):
    with pytest.raises(error, match=words):
        plan_matrix(np.arange(6.0).reshape(3, 2), **options)


@pytest.mark.parametrize("k", [6, 60])  # searched to the end, and by the decoder of codes
def test_values_without_a_fraction_are_rejected(k):
    A = np.random.default_rng(0).normal(size=(k, 3))
    plan = plan_matrix(A, prior=Box(1.0), noise=0.01)
    x = np.array([0.1, -0.2, 0.3])
    assert (plan.solve(A @ x + 2.0**30).candidates[0].round(1) == x).all()
    for y in (2.0**52, -1e300):
        with pytest.raises(DataError, match="y must be below"):
            plan.solve(np.full(k, y))


@pytest.mark.parametrize("covariance", [False, True])
def test_values_rounded_by_more_than_the_noise_are_rejected(covariance):
    # One in seven of their unique answers was wrong.
    rng = np.random.default_rng(0)
    A = 30.0 * rng.normal(size=(3, 2))
    stated = {"covariance": 1e-12 * np.eye(3)} if covariance else {"noise": 1e-6}
    plan = plan_matrix(A, prior=Box(3.0), **stated)
    x = rng.uniform(-3.0, 3.0, (500, 2))
    for turns in (10**10, 10**11):
        whole = np.rint(x @ A.T).astype(np.int64) + turns
        y = x @ A.T + whole
        if turns == 10**11:
            with pytest.raises(DataError, match=r"float64 rounds it by 4.4e-06, .* noise is 1e-06"):
                plan.solve(y)
        else:
            found = plan.solve(y)
            unique = found.status == "unique"
            np.testing.assert_array_equal(found.whole[unique], whole[unique])
    with pytest.raises(DataError, match="float16 rounds it by"):
        plan.solve(np.full(3, 0.3, dtype=np.float16))
    assert plan.solve(np.full(3, 10**12)).whole.shape == (3,)  # whole numbers are exact


def test_noise_below_the_rounding_of_sums_is_rejected():
    for prior in (Box(20.0), Box(1.0, center=20.0), Integers(1.0, -20, 20)):
        with pytest.raises(DataError, match="float64 holds row 1 of A x to"):
            plan_matrix([[0.1], [0.2]], prior=prior, noise=1e-17)


def test_plans_are_refused_when_their_candidates_exceed_memory():
    with pytest.raises(MemoryLimitError, match="candidates = 1000000000000"):
        plan_matrix([[0.3], [2.7]], prior=Box(1.0), noise=0.1, candidates=10**12)


def test_known_rows_that_are_missing_are_refused():
    known = np.ma.array([1, 0], mask=[True, False])
    with pytest.raises(DataError, match="known is masked"):
        plan_matrix([[0.3], [2.7]], prior=Box(1.0), noise=0.1, known=known)


def test_covariances_are_symmetric_up_to_the_rounding_of_products():
    covariance = 0.01 * np.eye(6)
    covariance[0, 1], covariance[1, 0] = 1e-18, -1e-18  # zeros, as products leave them
    plan = plan_matrix(np.zeros((6, 0)), covariance=covariance)
    assert plan.solve(np.arange(6) + 0.01).whole.tolist() == [0, 1, 2, 3, 4, 5]
    factor = Gaussian(0.0, covariance).model(6).factor
    np.testing.assert_allclose(factor @ factor.T, 0.01 * np.eye(6), atol=1e-15)
