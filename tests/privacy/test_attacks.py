"""Attacks succeed where they must, fail where nothing is left to find, and count honestly."""

import numpy as np
import pytest

from primal import Box, DynamicPrime, PrimalError
from primal.decoding import Gaussian, plan_matrix
from primal.errors import DataError
from primal.exact import waves
from primal.privacy import Key, KeyedPrime, audit, inversion
from primal.privacy._attacks import (
    attribute_inference,
    bundle_membership,
    learned_inversion,
    ridge_answers,
)
from primal.privacy._estimates import auc, mean_range, median, share
from primal.privacy._lattice_attacks import data_prior, known_pairs, pairs_needed

KEY = Key(bytes(range(32)), application="tests")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(1)
    n = 400
    inside = {"share": 0, "median": 0, "auc": 0}
    for _ in range(n):
        s = share(rng.random(60) < 0.3)
        m = median(rng.exponential(size=60))
        a = auc(rng.normal(1.0, 1.0, 50), rng.normal(0.0, 1.0, 80))
        inside["share"] += s.low <= 0.3 <= s.high
        inside["median"] += m.low <= np.log(2.0) <= m.high
        inside["auc"] += a.low <= 0.7602499 <= a.high  # Phi(1 / sqrt 2)
    # 400 trials at 95 %: below 0.91 once in several thousand seeds.
    assert min(inside.values()) > 0.91 * n


def test_auc_counts_pairs(rng):
    p, q = rng.integers(0, 5, 30), rng.integers(0, 5, 40)
    pairs = (p[:, None] > q).mean() + 0.5 * (p[:, None] == q).mean()
    assert auc(p, q).value == pytest.approx(pairs, abs=1e-12)
    assert mean_range([1.0, 2.0, 6.0]).value == 3.0


@pytest.mark.parametrize("n", [2, 10, 100])
def test_a_few_pairs_without_exception_are_no_certainty(n):
    apart = auc(np.arange(n) + 1000.0, np.arange(n + 5))
    assert (apart.value, apart.high) == (1.0, 1.0)
    assert apart.low == share([True] * n).low < 1.0
    tied = auc(np.ones(n), np.ones(n + 5))
    assert tied.low < tied.value == 0.5 < tied.high


def test_a_mean_lies_within_its_range():
    # Rounded, the mean of equal numbers is not always that number.
    for value in np.random.default_rng(0).random(50):
        found = mean_range([value] * 20)
        assert found.low <= found.value <= found.high


@pytest.mark.parametrize("sigma", [1.0, 100.0])
@pytest.mark.filterwarnings("ignore::primal.errors.ConditioningWarning")
def test_a_public_basis_is_inverted_at_four_phases_an_input(rng, sigma):
    X = rng.uniform(-1.0, 1.0, (40, 16))
    found = inversion(DynamicPrime(16, 64, sigma), X, prior=Box(1.0))
    assert found.numbers["recovered"].value == 1.0
    assert found.numbers["relative error"].high < 1e-5
    assert "public" in found.knows


@pytest.mark.parametrize("basis", ["hadamard", "signed", "table"])
def test_whoever_has_the_key_recovers_rows(rng, basis):
    X = rng.standard_normal((40, 8))
    prior = data_prior(rng.standard_normal((300, 8)))
    errors = []
    for bits in (24, 8, 4):
        m = KeyedPrime(KEY, 8, 128, 0.3, basis=basis, bits=bits)
        found = inversion(m, X, prior=prior)
        errors.append(found.numbers["relative error"].value)
        assert "key" in found.knows
    assert errors[0] < 1e-6 < 1e-4 < errors[1] < 3e-3 < errors[2] < 0.03


def test_offsets_cancel_in_differences(rng):
    m = KeyedPrime(KEY, 8, 64, 1.0, basis="signed", bits=24)
    a, b = rng.uniform(-1.0, 1.0, (2, 30, 8))
    phases = m._phases(m.template(a)) - m._phases(m.template(b))
    plan = plan_matrix(m._table.values, prior=Box(2.0), noise=np.sqrt(2.0) * m.noise_turns)
    assert np.abs(plan.solve(phases).candidates[:, 0] - (a - b)).max() < 1e-5


@pytest.mark.parametrize("basis", ["hadamard", "signed", "table"])
@pytest.mark.parametrize(("d", "bits", "most"), [(4, 24, 1.75), (8, 24, 1.75), (8, 8, 2.6)])
def test_few_known_pairs_give_a_key_away(rng, basis, d, bits, most):
    m = KeyedPrime(KEY, d, 64, 1.0, basis=basis, bits=bits)
    X = rng.standard_normal((4 * d + 20, d))
    assert (d + 1) < pairs_needed(m, X).value <= most * (d + 1)
    # Fewer equations than unknowns leave everything open.
    assert known_pairs(m, X, d - 1).value < 0.2


def test_pairs_that_never_suffice_are_not_reported_as_enough(rng):
    m = KeyedPrime(KEY, 4, 32, 1.0, bits=1)
    found = pairs_needed(m, rng.standard_normal((8, 4)))
    assert np.isnan(found.value)
    assert found.high == np.inf


def test_ridge_is_the_textbook_solution_for_its_penalty(rng):
    Z, Y = rng.standard_normal((50, 7)), rng.standard_normal((50, 2))
    C, T = Z - Z.mean(axis=0), Y - Y.mean(axis=0)
    # Some penalty of the grid has exactly this solution, and none a smaller GCV error.
    top = np.linalg.norm(C, 2) ** 2
    gcv = []
    for alpha in 10.0 ** np.arange(-8.0, 4.0) * top:
        hat = C @ np.linalg.solve(C.T @ C + alpha * np.eye(7), C.T)
        gcv.append(np.square(T - hat @ T).sum() / (1 - (np.trace(hat) + 1) / 50) ** 2)
    alpha = 10.0 ** (np.argmin(gcv) - 8.0) * top
    coef = np.linalg.solve(C.T @ C + alpha * np.eye(7), C.T @ T)
    new = rng.standard_normal((9, 7))
    expected = (new - Z.mean(axis=0)) @ coef + Y.mean(axis=0)
    np.testing.assert_allclose(ridge_answers(Z, Y, new), expected)


@pytest.mark.parametrize("scale", [1e-90, 1e-9, 1e-6, 1e90])
def test_the_scale_of_codes_hides_nothing(rng, scale):
    X = rng.standard_normal((100, 6))
    found = learned_inversion(lambda rows: scale * rows, X[:50], X[50:])
    assert found.numbers["relative error"].high < 1e-6
    found = bundle_membership(lambda rows: scale * rows, X[:10], X[10:])
    assert found == bundle_membership(lambda rows: rows, X[:10], X[10:])


def test_a_column_of_large_numbers_hides_nothing(rng):
    X, noise = rng.standard_normal((100, 6)), rng.standard_normal(50)
    found = learned_inversion(lambda rows: np.c_[rows, 1e9 * noise], X[:50], X[50:])
    assert found.numbers["relative error"].high < 1e-4


@pytest.mark.parametrize("scale", [1e-200, 1e155])
def test_codes_whose_squares_are_no_floats_are_refused(rng, scale):
    X = rng.standard_normal((100, 6))
    with pytest.raises(DataError, match="codes must"):
        learned_inversion(lambda rows: scale * rows, X[:50], X[50:])
    with pytest.raises(DataError, match="codes must"):
        bundle_membership(lambda rows: scale * rows, X[:10], X[10:])


def test_an_encoder_that_works_in_place_is_attacked_on_the_rows_as_they_were(rng):
    X = rng.standard_normal((100, 6))

    def emptied(rows):
        rows *= 0.0
        return rows

    found = learned_inversion(emptied, X[:50], X[50:])
    assert found.numbers["relative error"].low > 0.9


@pytest.mark.parametrize(
    ("attribute", "match"),
    [
        (np.where(np.arange(50) % 2, np.nan, 1.0), "attribute holds nan at row 1"),
        (np.ma.array(np.arange(50), mask=True), "attribute is masked"),
        (np.arange(50), "no label of the rows learned from, such as 0, is a label of the others"),
    ],
)
def test_labels_that_equal_none_are_refused(rng, attribute, match):
    with pytest.raises(DataError, match=match):
        audit(lambda rows: rows, rng.standard_normal((50, 6)), attribute=attribute, baselines=False)


def test_learned_inversion_finds_what_is_there_and_nothing_in_noise(rng):
    X = rng.standard_normal((700, 5))
    mix = rng.standard_normal((5, 12))
    there = learned_inversion(lambda rows: rows @ mix, X[:500], X[500:])
    assert there.numbers["relative error"].value < 0.2
    noise = np.random.default_rng(3)
    nothing = learned_inversion(
        lambda rows: noise.standard_normal((len(rows), 12)), X[:500], X[500:]
    )
    assert nothing.numbers["relative error"].value > 0.9


def test_noisy_codes_are_inverted_as_far_as_their_noise_allows(rng):
    m = DynamicPrime(6, 96, 0.3, basis="auto")
    X, prior = 1.0 + rng.standard_normal((40, 6)), Gaussian(1.0, 1.0)
    turns, errors = m.turns(X), []
    for noise in (0.001, 0.01, 0.2):
        drift = np.rint(noise * 2.0**32 * rng.standard_normal(turns.shape)).astype(np.int64)
        codes = np.concatenate(waves((turns + drift).astype(np.uint32)), axis=1)
        found = inversion(m, X, prior=prior, stored=np.float32(noise), codes=codes)
        assert f"noise of {noise:g} turns" in found.knows
        errors.append(found.numbers["relative error"].value)
    assert errors[0] < 0.002 < errors[1] < 0.02 < 0.1 < errors[2] < 1.5
    # Knowing nothing is the prior's mean: its distance is the unit, not the length of a row.
    unseen = inversion(m, X[:1], prior=Gaussian(1.0, 1e-8), stored=0.2, codes=codes[:1])
    assert unseen.numbers["relative error"].value == pytest.approx(1.0, abs=1e-3)


def test_attributes_are_found_in_rows_and_not_in_noise(rng):
    X = rng.standard_normal((800, 6))
    a = np.where(X[:, 0] + 0.1 * rng.standard_normal(800) > 0, "yes", "no")
    noise = np.random.default_rng(3)
    split = (X[:400], a[:400], X[400:], a[400:])
    seen = attribute_inference(lambda rows: 2.0 * rows + 1.0, *split).numbers
    blind = attribute_inference(lambda rows: noise.standard_normal((len(rows), 3)), *split).numbers
    assert seen["from rows"].value > 0.9
    assert abs(seen["accuracy"].value - seen["from rows"].value) < 0.02
    assert blind["accuracy"].high > 0.5 > blind["accuracy"].low


def test_members_of_a_small_sum_show_and_those_of_none_do_not(rng):
    m = KeyedPrime(KEY, 8, 256, 1.0)
    X = rng.standard_normal((220, 8))
    assert bundle_membership(m.features, X[:20], X[20:]).numbers["AUC"].value > 0.99
    # Rows that a constant encoder cannot tell apart.
    nothing = bundle_membership(lambda rows: np.ones((len(rows), 4)), X[:100], X[100:])
    assert nothing.numbers["AUC"].value == 0.5
    assert nothing.numbers["found"].value == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: inversion(DynamicPrime(3, 8), [[1.0, 2.0]], prior=Box(1.0)),
        lambda: inversion(DynamicPrime(2, 8), [[1.0, 2.0]], prior=Box(1.0), stored="uint4"),
        lambda: inversion(DynamicPrime(2, 8), np.eye(2), prior=Box(1.0), stored=0.1),
        lambda: inversion(DynamicPrime(2, 8), np.eye(2), prior=Box(1.0), codes=np.ones((1, 8))),
        lambda: inversion(DynamicPrime(2, 8), np.eye(2), prior=Box(1.0), stored=np.ones(2)),
        lambda: inversion(KeyedPrime(KEY, 2, 8, 1.0), np.eye(2), prior=Box(1.0), stored="uint8"),
        lambda: inversion(
            KeyedPrime(KEY, 2, 8, 1.0), np.eye(2), prior=Box(1.0), codes=np.ones((2, 8))
        ),
        lambda: learned_inversion(lambda rows: rows[:1], np.eye(3), np.eye(3)),
        lambda: data_prior(np.ones((4, 3))),
        lambda: inversion(KeyedPrime(KEY, 2, 8, 1.0), np.eye(2), prior=[Box(1.0)] * 2),
    ],
)
def test_wrong_arguments_are_named(call):
    with pytest.raises(PrimalError, match=r"got|at least"):
        call()
