"""Features chosen for a posterior: exact processes, sampled spectra and searched copies decide."""

import copy
import itertools

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel

from primal import KernelPrime
from primal.errors import DataError
from primal.maps import gamma_of_length, on
from primal.sklearn import PrimeGaussianProcessRegressor
from primal.sklearn._posterior_maps import (
    Beyond,
    Comparison,
    Known,
    beyond_copies,
    growable_map,
    posterior_map,
)
from primal.sklearn._priors import read_prior

pytestmark = pytest.mark.filterwarnings("ignore:means are about:primal.NumericalWarning")

NAMES = {0.5: "matern12", 1.5: "matern32", 2.5: "matern52", np.inf: "rbf"}


def known_rows(kernel, rows, n_rows=None):
    prior = read_prior(kernel)
    box = rows.min(axis=0), rows.max(axis=0)
    return Known(prior, prior.white, rows, n_rows or len(rows), *box)


def spectral_map(kernel, d, D=64, width=1.0):
    options = {"form": "pair", "method": "spectral", "width": width}
    return KernelPrime(d, D, kernel, gamma_of_length(kernel, 1.0, d), **options)


def exact_and_ours(kernel, x, new, D=1024):
    y = np.linalg.cholesky(kernel(x)) @ np.random.default_rng(2).standard_normal((len(x), 4))
    ours = PrimeGaussianProcessRegressor(kernel, n_components=D, optimizer=None).fit(x, y)
    theirs = GaussianProcessRegressor(kernel, optimizer=None).fit(x, y)
    return (model.predict(new, return_std=True) for model in (theirs, ours))


@pytest.mark.parametrize("nu", [1.5, 2.5, np.inf])
@pytest.mark.parametrize(("d", "length"), [(1, 0.3), (2, 1.0), (2, 3.0)])
def test_mean_and_deviation_are_within_one_percent_of_the_exact_process(nu, d, length):
    random = np.random.default_rng(7)
    x, new = random.uniform(-1, 1, (2, 1000, d))
    kernel = 1.0 * Matern(length, nu=nu) + WhiteKernel(0.01)
    (mean, std), (our_mean, our_std) = exact_and_ours(kernel, x, new)
    assert np.linalg.norm(our_mean - mean) < 0.01 * np.linalg.norm(mean)
    assert np.linalg.norm(our_std - std) < 0.01 * np.linalg.norm(std)
    # That of the function alone, most of it beyond the frequencies of the features.
    alone, ours_alone = (np.sqrt(s**2 - 0.01) for s in (std, our_std))
    assert np.linalg.norm(ours_alone - alone) < 0.05 * np.linalg.norm(alone)


LAWS = {
    "normal": lambda random, shape: 0.6 * random.standard_normal(shape),
    "clusters": lambda random, shape: (
        random.integers(-1, 2, shape) + 0.1 * random.standard_normal(shape)
    ),
    "heavy tails": lambda random, shape: 0.4 * random.standard_t(3, shape),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("nu", "d"), [(0.5, 1), (1.5, 2), (2.5, 3), (np.inf, 4)])
def test_no_law_of_the_rows_makes_the_choice_worse_than_growable_features(law, nu, d, monkeypatch):
    random = np.random.default_rng(d)
    x, new = LAWS[law](random, (600, d)), LAWS[law](random, (300, d))
    kernel = 1.0 * Matern(1.0, nu=nu) + WhiteKernel(0.01)

    def divergence():
        (mean, std), (our_mean, our_std) = exact_and_ours(kernel, x, new, D=512)
        squares = np.square(our_mean - mean).mean(axis=1) + std[:, 0] ** 2
        ours = our_std[:, 0]
        return float(np.mean(np.log(ours / std[:, 0]) + squares / (2.0 * ours**2) - 0.5))

    chosen = divergence()
    monkeypatch.setattr("primal.sklearn._gaussian_process.posterior_map", growable_map)
    assert chosen <= divergence() + 1e-9


@pytest.mark.parametrize("d", [1, 2, 3])
def test_beyond_copies_is_nearer_to_another_copy(d):
    """The kernel of the features repeats itself, with a sign, at points of a lattice: searched."""
    m, lengths = spectral_map("matern52", d, 128, width=np.linspace(0.5, 1.0, d)), 1.5
    rows = np.random.default_rng(0).uniform(1.0, 3.0, (50, d))
    known = known_rows(1.0 * Matern(lengths, nu=2.5) + WhiteKernel(0.1), rows)
    periods = lengths / (4.0 * m.frequencies[0])
    copies = [
        periods * n
        for n in itertools.product(range(-2, 3), repeat=d)
        if abs(float(m.encode(0 * periods) @ m.encode(periods * n / lengths))) > 0.999
    ]
    assert len(copies) > 2
    x = known.middle + np.random.default_rng(1).uniform(-1.5, 1.5, (500, d)) * periods
    apart = [np.linalg.norm((x - known.middle - copy) / periods, axis=1) for copy in copies]
    nearest = np.array([not copies[i].any() for i in np.argmin(apart, axis=0)])
    found = beyond_copies(m, known, x)
    np.testing.assert_array_equal(found, ~nearest)
    assert 0 < found.sum() < len(x)
    assert not beyond_copies(growable_map(known, 64), known, x).any()


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, np.inf])
@pytest.mark.parametrize("d", [1, 3])
def test_variance_beyond_is_that_of_longer_frequencies(nu, d):
    kernel = 1.0 * Matern(1.0, nu=nu) + WhiteKernel(0.1)
    known = known_rows(kernel, np.random.default_rng(0).uniform(-1, 1, (50, d)))
    m = spectral_map(NAMES[nu], d, 1024 if d > 1 else 64, width=1.0)
    random = np.random.default_rng(1)
    chis = np.sqrt(random.chisquare(2.0 * nu, 200_000) / (2.0 * nu)) if nu < np.inf else 1.0
    lengths = np.linalg.norm(random.standard_normal((200_000, d)).T / chis, axis=0)
    # The lattice is a ball, but for its surface.
    longest = 2.0 * np.pi * np.sort(np.linalg.norm(m.frequencies, axis=1))
    share = Beyond.of(m, known).variance
    assert (lengths > longest[-1]).mean() < share + 0.002
    assert share < (lengths > longest[-len(longest) // 4]).mean() + 0.002


def test_what_rows_leave_beyond_falls_with_their_number_and_the_signal():
    kernel = 1.0 * Matern(1.0, nu=1.5) + WhiteKernel(0.1)
    rows, m = np.random.default_rng(0).uniform(-1, 1, (300, 2)), spectral_map("matern32", 2)
    left = [Beyond.of(m, known_rows(kernel, rows, n)).undetermined for n in (300, 3000, 30_000)]
    assert 1.0 > left[0] > left[1] > left[2] > 0.0
    # A thousand rows with all of the noise tell as much as a hundred with a tenth of it.
    quiet = 10.0 * Matern(1.0, nu=1.5) + WhiteKernel(0.1)
    assert Beyond.of(m, known_rows(quiet, rows, 300)).undetermined == pytest.approx(left[1])
    assert Beyond.of(growable_map(known_rows(kernel, rows), 64), known_rows(kernel, rows)) == (0, 0)
    # What is undetermined by the features themselves is not counted again.
    beyond = Beyond(0.1, 0.5)
    np.testing.assert_allclose(beyond.added(np.array([0.0, 0.2, 0.9])), [0.05, 0.23, 0.9])


def test_features_of_parts_and_of_many_columns_are_growable_or_composed():
    rows = np.random.default_rng(0).standard_normal((40, 9))
    many = posterior_map(known_rows(1.0 * RBF(3.0) + WhiteKernel(0.1), rows), 32)
    assert many.method == "growable"
    model = PrimeGaussianProcessRegressor(on(0, "rbf", 0.1) + on(1, "rbf", 0.2), n_components=32)
    assert model.fit(rows[:, :2], rows[:, 0]).map_.method == "composed"


@pytest.mark.parametrize("n", [1, 2, 3, 257])
def test_few_rows_and_columns_without_width(n):
    random = np.random.default_rng(n)
    x = np.column_stack([random.uniform(size=n), np.full(n, 3.0)])
    kernel = 1.0 * RBF(0.5) + WhiteKernel(0.01)
    model = PrimeGaussianProcessRegressor(kernel, n_components=32, optimizer=None)
    mean, std = model.fit(x, np.ones(n)).predict(x, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0.0).all()
    exact = GaussianProcessRegressor(kernel, optimizer=None).fit(x, np.ones(n))
    np.testing.assert_allclose(mean, exact.predict(x), atol=0.01)


def test_far_from_the_rows_the_prior_is_predicted():
    random = np.random.default_rng(3)
    x = random.uniform(-1, 1, (500, 2))
    kernel = 2.0 * Matern(0.5, nu=1.5) + WhiteKernel(0.01)
    y = 3.0 + np.sin(3.0 * x.sum(axis=1))
    model = PrimeGaussianProcessRegressor(kernel, n_components=1024, optimizer=None)
    model.fit(x, y)
    exact = GaussianProcessRegressor(kernel, optimizer=None).fit(x, y)
    # Copies of the middle and of what is around it.
    periods = 0.5 / (4.0 * model.map_.frequencies[0])
    far = np.concatenate([0.2 * x[:40] + periods * n for n in ([1, 1], [-1, 1], [2, 0], [3, -1])])
    for option in ("return_std", "return_cov"):
        mean, spread = model.predict(far, **{option: True})
        exact_mean, exact_spread = exact.predict(far, **{option: True})
        np.testing.assert_allclose(mean, 0.0, atol=0.0)
        np.testing.assert_allclose(mean, exact_mean, rtol=0, atol=0.05)
        np.testing.assert_allclose(spread, exact_spread, rtol=0, atol=0.01)
    both = np.concatenate([x[:5], far[:5]])
    mean, covariance = model.predict(both, return_cov=True)
    std = model.predict(both, return_std=True)[1]
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), std, rtol=1e-9)
    assert not covariance[:5, 5:].any()
    model.set_params(normalize_y=True).fit(x, y)
    np.testing.assert_allclose(model.predict(far), y.mean(), rtol=1e-12)


def test_samples_are_those_of_the_prior_where_features_repeat_themselves():
    x = np.random.default_rng(3).uniform(-1, 1, (300, 1))
    kernel = 2.0 * RBF(0.3) + WhiteKernel(0.01)
    model = PrimeGaussianProcessRegressor(kernel, n_components=128, optimizer=None)
    model.fit(x, 3.0 + np.sin(3.0 * x[:, 0]))
    period = 0.3 / (4.0 * abs(model.map_.frequencies[0, 0]))
    copies = np.array([[2.0], [-4.0], [2.3], [40.0]]) * period
    samples = model.sample_y(np.concatenate([copies, x[:5]]), 2000, random_state=1)
    covariance = np.cov(samples)
    np.testing.assert_allclose(samples[:4].mean(axis=1), 0.0, atol=5.0 * np.sqrt(2.0 / 2000))
    np.testing.assert_allclose(np.diag(covariance)[:4], 2.0, rtol=5.0 * np.sqrt(2.0 / 2000))
    # Functions that know nothing of what they are at the rows, one at all places.
    deviations = np.sqrt(np.diag(covariance))
    assert (np.abs(covariance / np.outer(deviations, deviations))[:4, 4:] < 0.3).all()
    close = model.sample_y(copies + 1e-4, 3, random_state=1)
    np.testing.assert_allclose(close, samples[:4, :3], rtol=0, atol=0.01)
    np.testing.assert_array_equal(model.sample_y(x[:5], 2000, random_state=1), samples[4:])


def test_rows_where_features_repeat_themselves_are_rejected_and_change_nothing():
    x = np.random.default_rng(0).uniform(-1, 1, (100, 1))
    kernel = 1.0 * RBF(0.5) + WhiteKernel(0.01)
    model = PrimeGaussianProcessRegressor(kernel, n_components=64, optimizer=None)
    model.fit(x, x[:, 0])
    before = model.predict(x)
    with pytest.raises(DataError, match=r"2 of 3 rows lie so far .* such as \[100\.\]"):
        model.partial_fit([[0.0], [100.0], [-100.0]], [0.0, 1.0, 2.0])
    assert model.n_samples_seen_ == 100
    np.testing.assert_array_equal(model.predict(x), before)
    model.partial_fit([[1.2]], [1.2])
    assert model.n_samples_seen_ == 101


def test_a_comparison_knows_a_map_that_is_exact_and_one_that_is_not():
    x = np.random.default_rng(0).uniform(-1, 1, (400, 1))
    known = known_rows(1.0 * RBF(0.5) + WhiteKernel(0.01), x)
    comparison = Comparison(known)
    good, poor = spectral_map("rbf", 1, 128, width=3.0), spectral_map("rbf", 1, 4, width=3.0)
    assert comparison.mean_error(good) < 1e-6
    assert abs(comparison.divergence(good)) < 1e-10
    assert comparison.mean_error(poor) > 0.1
    assert comparison.divergence(poor) > 0.1


@pytest.mark.parametrize(("nu", "d"), [(0.5, 1), (2.5, 1), (np.inf, 1), (np.inf, 2)])
def test_rows_that_are_added_do_not_disturb_the_other_side(nu, d):
    """The kernel of the features repeats itself, so rows at one border have copies at the other."""
    random, kernel = np.random.default_rng(d), 1.0 * Matern(0.2, nu=nu) + WhiteKernel(1e-3)
    x = random.uniform(-1.0, 1.0, (300, d))
    options = {"n_components": 256, "optimizer": None}
    before = PrimeGaussianProcessRegressor(kernel, **options).fit(x, np.sin(3.0 * x[:, 0]))
    border = 0.2 / (4.0 * np.abs(before.map_.frequencies[0, 0]))  # halfway to the next copy
    other_side = np.linspace(-2.0 * border, -0.5, 201)[:, None] * np.eye(d)[0]
    accepted = []
    for place in np.linspace(1.0, 2.0 * border, 60).tolist():
        new = place * np.eye(d)[:1] + 1e-3 * random.standard_normal((20, d))
        try:
            after = copy.deepcopy(before).partial_fit(new, np.ones(20))
        except DataError:
            continue
        accepted.append(place)
        moved = np.abs(after.predict(other_side) - before.predict(other_side))
        assert moved[other_side[:, 0] > -1.0].max() < 0.05
        # Halfway to copies of these rows the prior begins.
        near = other_side[:, 0] > 0.5 * (place - 1.0) - border
        assert moved[near].max() < 0.2
        assert not after.predict(other_side)[other_side[:, 0] < 0.5 * (place - 1.1) - border].any()
    assert 1.2 < max(accepted) < 2.0 * border - 1.0  # there are copies of the first rows
    with pytest.raises(DataError, match="call fit on rows from everywhere"):
        copy.deepcopy(before).partial_fit(2.0 * border * np.eye(d)[:1], [1.0])
