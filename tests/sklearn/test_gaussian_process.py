"""Gaussian processes on features: dense linear algebra and scikit-learn's own are the oracles."""

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    WhiteKernel,
)

from primal import KernelPrime
from primal.errors import DataError, NumericalWarning, ParameterError, PrimalError
from primal.maps import spread_rows
from primal.sklearn import PrimeGaussianProcessRegressor
from primal.sklearn import _evidence as evidence_module
from primal.sklearn._posterior_maps import Beyond

# Few features are quick, and enough for what is exact with any number of them.
pytestmark = pytest.mark.filterwarnings("ignore:means are about:primal.NumericalWarning")

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(90, 2))
NEW = RANDOM.normal(size=(11, 2))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * RANDOM.normal(size=90)
BOTH = np.stack([Y, 3.0 * np.cos(X[:, 1]) + 5.0], axis=1)
KERNEL = 1.7 * RBF([0.8, 1.5]) + WhiteKernel(0.05)
FIXED = {"n_components": 64, "optimizer": None}


def dense_process(model, x, y, new):
    """Mean, covariance and evidence of the process with the kernel signal z . z', by its book."""
    signal, length = model.kernel_.k1.k1.constant_value, model.kernel_.k1.k2.length_scale
    noise = model.kernel_.k2.noise_level + model.alpha
    z, z_new = (signal**0.5 * model.map_.encode(r / length, dtype="float64") for r in (x, new))
    K = z @ z.T + noise * np.eye(len(x))
    cross = z_new @ z.T
    mean = cross @ np.linalg.solve(K, y)
    covariance = z_new @ z_new.T - cross @ np.linalg.solve(K, cross.T)
    covariance += model.kernel_.k2.noise_level * np.eye(len(new))
    value = -0.5 * (
        y @ np.linalg.solve(K, y) + np.linalg.slogdet(K)[1] + len(x) * np.log(2.0 * np.pi)
    )
    return mean, covariance, value


@pytest.mark.parametrize("n", [20, 90], ids=["fewer rows than features", "more"])
@pytest.mark.parametrize("shape", [RBF([0.8, 1.5]), RBF(1.1), Matern(0.9, nu=1.5)], ids=str)
def test_posterior_and_evidence_are_those_of_dense_algebra(shape, n):
    kernel = ConstantKernel(1.7) * shape + WhiteKernel(0.05)
    model = PrimeGaussianProcessRegressor(kernel, alpha=0.01, **FIXED).fit(X[:n], Y[:n])
    near = 0.3 * NEW  # where no features repeat themselves
    mean, covariance, value = dense_process(model, X[:n], Y[:n], near)
    latent = np.diag(covariance) - 0.05
    beyond = Beyond.of(model.map_, model._known()).added(latent / 1.7) * 1.7 - latent
    assert model.map_.method == "spectral"
    assert beyond.min() > 0.0
    covariance += np.diag(beyond)
    found, found_covariance = model.predict(near, return_cov=True)
    np.testing.assert_allclose(found, mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found_covariance, covariance, rtol=0, atol=1e-10)
    _, std = model.predict(near, return_std=True)
    np.testing.assert_allclose(std, np.sqrt(np.diag(covariance)), rtol=1e-10)
    assert model.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-10)
    assert model.log_marginal_likelihood(kernel.theta) == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize(
    "kernel",
    [
        KERNEL,
        RBF(0.7) * ConstantKernel(2.0),
        WhiteKernel(0.1) + 2.0 * Matern([0.5, 2.0], nu=2.5) + WhiteKernel(0.3),
        ConstantKernel(0.5) * (ConstantKernel(3.0) * Matern(1.3, nu=0.5)) + WhiteKernel(0.2),
        ConstantKernel(2.0, "fixed") * RBF(1.0) + WhiteKernel(0.1, "fixed"),
        ConstantKernel(2.0) * RBF([1.0, 2.0], "fixed") + WhiteKernel(0.1),
    ],
    ids=str,
)
@pytest.mark.parametrize("y", [Y, BOTH], ids=["one target", "two"])
@pytest.mark.parametrize("block_entries", [None, 20 * 64], ids=["one block", "five"])
def test_gradient_is_the_slope_of_the_evidence(kernel, y, block_entries, monkeypatch):
    if block_entries:
        monkeypatch.setattr(evidence_module, "BLOCK_FEATURES", block_entries)
    model = PrimeGaussianProcessRegressor(kernel, alpha=0.02, normalize_y=True, **FIXED).fit(X, y)
    theta, step = kernel.theta, 1e-5
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == model.log_marginal_likelihood(theta)
    slopes = [
        (model.log_marginal_likelihood(theta + s) - model.log_marginal_likelihood(theta - s))
        / (2.0 * step)
        for s in step * np.eye(len(theta))
    ]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6 * abs(value))


def test_close_to_scikit_learn_within_the_error_of_the_kernel():
    x = np.linspace(-1.0, 1.0, 150)[:, None]
    y = np.stack([np.sin(3.0 * x[:, 0]), 10.0 + x[:, 0] ** 2], axis=1)
    y += 0.1 * np.random.default_rng(1).normal(size=y.shape)
    kernel = 1.5 * RBF(0.7) + WhiteKernel(0.02)
    options = {"optimizer": None, "normalize_y": True}
    ours = PrimeGaussianProcessRegressor(kernel, n_components=1024, **options).fit(x, y)
    theirs = GaussianProcessRegressor(kernel, **options).fit(x, y)
    assert ours.map_.kernel_error(x / 0.7) < 1e-3
    new = np.linspace(-1.0, 1.0, 77)[:, None]
    for option in ("return_std", "return_cov"):
        mean, spread = ours.predict(new, **{option: True})
        expected, expected_spread = theirs.predict(new, **{option: True})
        assert mean.shape == expected.shape
        assert spread.shape == expected_spread.shape
        assert (np.abs(mean - expected) < 0.01 * y.std(axis=0)).all()
        scale = y.std(axis=0) if option == "return_std" else y.var(axis=0)
        assert (np.abs(spread - expected_spread) < 0.01 * 0.02 * scale).all()
    value, gradient = ours.log_marginal_likelihood(kernel.theta, True)
    expected_value, expected_gradient = theirs.log_marginal_likelihood(kernel.theta, True)
    assert value == pytest.approx(expected_value, abs=0.01 * len(x))
    apart = np.linalg.norm(gradient - expected_gradient)
    assert apart < 0.01 * np.linalg.norm(expected_gradient)


@pytest.mark.parametrize("d", [1, 2])
def test_features_are_made_for_the_lengths_in_use(d):
    """From a length whose own features would repeat the kernel all over the data."""
    x = np.random.default_rng(d).uniform(-3.0, 3.0, size=(150, d))
    y = np.sin(2.0 * x.sum(axis=1)) + 0.1 * np.random.default_rng(3).normal(size=150)
    kernel = 1.0 * RBF(20.0) + WhiteKernel(0.1)
    ours = PrimeGaussianProcessRegressor(kernel, n_components=256).fit(x, y)
    theirs = GaussianProcessRegressor(ours.kernel_, optimizer=None).fit(x, y)
    scaled = x / ours.kernel_.k1.k2.length_scale
    assert ours.map_.method == "spectral"
    assert ours.map_.kernel_error(scaled) < 1e-3
    for found, exact in zip(
        ours.predict(x, return_std=True), theirs.predict(x, return_std=True), strict=True
    ):
        assert np.linalg.norm(found - exact) < 0.01 * np.linalg.norm(exact)


def test_fitted_hyperparameters_are_as_likely_as_those_of_scikit_learn():
    x = np.random.default_rng(2).uniform(-2.0, 2.0, size=(120, 1))
    y = np.sin(3.0 * x[:, 0]) + 0.1 * np.random.default_rng(3).normal(size=120)
    kernel = 1.0 * RBF(1.0) + WhiteKernel(1.0)
    ours = PrimeGaussianProcessRegressor(kernel, n_components=256).fit(x, y)
    theirs = GaussianProcessRegressor(kernel).fit(x, y)
    # Theirs cannot tell ours from their own optimum; a signal variance alone is hardly determined.
    lost = theirs.log_marginal_likelihood_value_ - theirs.log_marginal_likelihood(
        ours.kernel_.theta
    )
    assert abs(lost) < 0.2
    # At an optimum the gradient vanishes.
    gradient = ours.log_marginal_likelihood(ours.kernel_.theta, True)[1]
    assert np.abs(gradient).max() < 0.01
    default = PrimeGaussianProcessRegressor(n_components=256).fit(x, y)
    np.testing.assert_array_equal(default.kernel_.theta, ours.kernel_.theta)
    assert kernel.theta.tolist() == [0.0, 0.0, 0.0]  # the kernel given stays as it is


def test_restarts_leave_a_bad_optimum_and_draw_nothing():
    x = np.linspace(0.0, 6.0, 60)[:, None]
    y = np.sin(4.0 * x[:, 0])
    # So long a length explains everything as noise, a local optimum.
    kernel = 1.0 * RBF(50.0, (1e-2, 1e3)) + WhiteKernel(1.0, (1e-4, 10.0))
    options = {"kernel": kernel, "n_components": 64}
    stuck = PrimeGaussianProcessRegressor(**options).fit(x, y)
    fits = [
        PrimeGaussianProcessRegressor(n_restarts_optimizer=2, random_state=s, **options).fit(x, y)
        for s in (0, 1)
    ]
    gain = fits[0].log_marginal_likelihood_value_ - stuck.log_marginal_likelihood_value_
    assert gain > 50.0
    np.testing.assert_array_equal(fits[0].kernel_.theta, fits[1].kernel_.theta)


def test_an_optimizer_of_ones_own():
    seen = []

    def keep_first(cost, theta, bounds):
        seen.append((cost(theta), cost(theta, eval_gradient=False), bounds.shape))
        return theta + (0.1 if len(seen) == 1 else 0.0), 0.0

    model = PrimeGaussianProcessRegressor(KERNEL, n_components=64, optimizer=keep_first).fit(X, Y)
    np.testing.assert_allclose(model.kernel_.theta, KERNEL.theta + 0.1)
    # The last round is on the features in use, made for the lengths of the one before.
    (value, gradient), alone, shape = seen[-1]
    assert len(seen) == 2
    assert value == alone == -model.log_marginal_likelihood(model.kernel_.theta)
    assert gradient.shape == (4,)
    assert shape == (4, 2)


def test_an_optimizer_that_does_not_converge_says_so(monkeypatch):
    result = {"success": False, "nit": 7, "message": "limit", "x": KERNEL.theta, "fun": 0.0}
    module = "primal.sklearn._gaussian_process.minimize"
    monkeypatch.setattr(module, lambda *_, **__: type("Result", (), result))
    with pytest.warns(ConvergenceWarning, match="after 7 steps"):
        PrimeGaussianProcessRegressor(KERNEL, n_components=16).fit(X, Y)


@pytest.mark.parametrize("normalize_y", [False, True])
def test_parts_add_up_to_the_whole(normalize_y):
    options = {"kernel": KERNEL, "normalize_y": normalize_y, "optimizer": None}
    options["n_components"] = 512  # leave nothing beyond them, which depends on where rows are
    y = BOTH + np.array([0.0, 1e4])
    x = np.tile(X[:30], (3, 1))  # the first part is as wide as the whole: the same features
    whole = PrimeGaussianProcessRegressor(**options).fit(x, y)
    parts = PrimeGaussianProcessRegressor(**options)
    for rows in (slice(30), slice(30, 31), slice(31, 90)):
        parts.partial_fit(x[rows], y[rows])
    assert parts.map_ == whole.map_
    assert parts.n_samples_seen_ == 90
    for found, expected in zip(
        parts.predict(NEW, return_std=True), whole.predict(NEW, return_std=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    value = whole.log_marginal_likelihood_value_
    assert parts.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-8)


def test_hyperparameters_come_from_some_rows_and_the_posterior_from_all():
    x = np.empty((90, 2))  # the rows chosen from are as wide as all: the same features
    chosen = np.isin(np.arange(90), spread_rows(90, 45))
    x[chosen], x[~chosen] = X[:45], X[:45]
    some = PrimeGaussianProcessRegressor(KERNEL, n_components=64, optimizer_rows=45).fit(x, Y)
    np.testing.assert_array_equal(np.sort(some.X_train_, axis=0), np.sort(X[:45], axis=0))
    assert some.y_train_.shape == (45,)
    alone = PrimeGaussianProcessRegressor(KERNEL, n_components=64).fit(some.X_train_, some.y_train_)
    np.testing.assert_array_equal(some.kernel_.theta, alone.kernel_.theta)
    known = PrimeGaussianProcessRegressor(some.kernel_, **FIXED).fit(x, Y)
    np.testing.assert_array_equal(some.predict(NEW), known.predict(NEW))
    every = PrimeGaussianProcessRegressor(KERNEL, n_components=64, optimizer_rows=None).fit(X, Y)
    assert len(every.X_train_) == 90


def test_features_are_made_in_blocks(monkeypatch):
    rows = []
    original = KernelPrime.encode

    def encode(self, x, **options):
        rows.append(len(x))
        return original(self, x, **options)

    monkeypatch.setattr(KernelPrime, "encode", encode)
    x = RANDOM.normal(size=(300, 2))
    expected = PrimeGaussianProcessRegressor(KERNEL, **FIXED).fit(x, x[:, 0])
    monkeypatch.setattr(evidence_module, "BLOCK_FEATURES", 100 * 64)
    rows.clear()
    model = PrimeGaussianProcessRegressor(KERNEL, **FIXED).fit(x, x[:, 0])
    found = model.predict(x, return_std=True)
    samples = model.sample_y(x, 3)
    # The others are those that features are compared on.
    assert rows.count(100) == 9
    assert len({n for n in rows if n != 100}) == 1
    for values, others in zip(found, expected.predict(x, return_std=True), strict=True):
        np.testing.assert_allclose(values, others, rtol=1e-9)
    np.testing.assert_allclose(samples, expected.sample_y(x, 3), rtol=1e-7)


def test_a_sample_is_one_function():
    model = PrimeGaussianProcessRegressor(KERNEL, normalize_y=True, **FIXED).fit(X, BOTH)
    samples = model.sample_y(NEW, 3, random_state=5)
    assert samples.shape == (11, 2, 3)
    for i in range(len(NEW)):
        np.testing.assert_allclose(model.sample_y(NEW[i : i + 1], 3, 5)[0], samples[i], rtol=1e-9)
    np.testing.assert_array_equal(model.sample_y(NEW, 1, random_state=5), samples[..., :1])
    assert not np.allclose(model.sample_y(NEW, 1, random_state=6), samples[..., :1])
    generator = np.random.RandomState(5)
    np.testing.assert_array_equal(model.sample_y(NEW, 3, generator), samples)


def test_samples_have_the_law_of_the_posterior():
    model = PrimeGaussianProcessRegressor(KERNEL, normalize_y=True, **FIXED).fit(X, BOTH)
    near = 0.3 * NEW
    mean = model.predict(near)
    samples = model.sample_y(near, 20_000, random_state=0)
    # That of the features: what lies beyond their frequencies is no part of a function.
    _, covariance, _ = dense_process(model, X, Y, near)
    for t, scale in enumerate(BOTH.std(axis=0)):
        latent = scale**2 * (covariance - 0.05 * np.eye(len(near)))
        # Whitened, they are independent standard normal numbers: 5 standard errors.
        white = np.linalg.solve(np.linalg.cholesky(latent), samples[:, t] - mean[:, t, None])
        np.testing.assert_allclose(white.mean(axis=1), 0.0, rtol=0, atol=5 / np.sqrt(20_000))
        found = white @ white.T / 20_000
        np.testing.assert_allclose(found, np.eye(11), rtol=0, atol=5 * np.sqrt(2 / 20_000))


def test_targets_are_independent_of_each_other():
    both = PrimeGaussianProcessRegressor(KERNEL, normalize_y=True, **FIXED).fit(X, BOTH)
    mean, std = both.predict(NEW, return_std=True)
    total = 0.0
    for t in range(2):
        one = PrimeGaussianProcessRegressor(KERNEL, normalize_y=True, **FIXED).fit(X, BOTH[:, t])
        alone, alone_std = one.predict(NEW, return_std=True)
        np.testing.assert_allclose(mean[:, t], alone, rtol=1e-10)
        np.testing.assert_allclose(std[:, t], alone_std, rtol=1e-10)
        total += one.log_marginal_likelihood_value_
    assert both.log_marginal_likelihood_value_ == pytest.approx(total, rel=1e-10)


def test_constant_targets_and_targets_far_from_zero():
    flat = PrimeGaussianProcessRegressor(KERNEL, normalize_y=True, **FIXED).fit(X, np.full(90, 1e6))
    np.testing.assert_allclose(flat.predict(NEW), 1e6, rtol=1e-12)
    near = PrimeGaussianProcessRegressor(KERNEL, normalize_y=True, **FIXED).fit(X, Y)
    far = PrimeGaussianProcessRegressor(KERNEL, normalize_y=True, **FIXED).fit(X, Y + 1e9)
    np.testing.assert_allclose(far.predict(NEW) - 1e9, near.predict(NEW), rtol=0, atol=1e-5)


def test_an_odd_number_of_features_is_rounded_up():
    odd, even = (
        PrimeGaussianProcessRegressor(KERNEL, n_components=n, optimizer=None).fit(X, Y)
        for n in (15, 16)
    )
    np.testing.assert_array_equal(odd.predict(NEW), even.predict(NEW))


def test_pickle_and_clone():
    model = PrimeGaussianProcessRegressor(KERNEL, **FIXED).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    again.partial_fit(NEW, np.zeros(11))
    assert (again.n_samples_seen_, model.n_samples_seen_) == (101, 90)
    assert clone(model).kernel == KERNEL


@pytest.mark.parametrize(
    "kernel",
    [
        "rbf",
        WhiteKernel(1.0),
        DotProduct(),
        RBF(1.0) + RBF(2.0),
        RBF(1.0) * RBF(2.0),
        RBF(1.0) + ConstantKernel(1.0),
        RBF(1.0) * WhiteKernel(1.0),
        Matern(1.0, nu=1.0),
        RBF(1.0) ** 2,
    ],
    ids=str,
)
def test_other_kernels_are_refused(kernel):
    with pytest.raises(ParameterError, match="kernel must be one RBF or Matern"):
        PrimeGaussianProcessRegressor(kernel).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be"),
        ({"kernel": RBF([1.0, 2.0, 3.0])}, "3 length scales for the 2 columns"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"alpha": np.ones(90)}, "alpha must be"),
        ({"optimizer": "adam"}, "got 'adam'"),
        ({"n_restarts_optimizer": -1}, "n_restarts_optimizer"),
        ({"optimizer_rows": 0}, "optimizer_rows"),
        ({"n_restarts_optimizer": 1, "kernel": RBF(1.0, (1e-3, np.inf))}, "finite bounds"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(PrimalError, match=message):
        PrimeGaussianProcessRegressor(**{"n_components": 16} | options).fit(X, Y)


def test_noise_below_rounding_is_refused_with_advice():
    x = np.zeros((3000, 1))
    model = PrimeGaussianProcessRegressor(RBF(1.0), optimizer=None, n_components=8, alpha=1e-30)
    with pytest.raises(DataError, match="raise alpha or the noise level"):
        model.fit(x, x[:, 0])
    with pytest.raises(NotFittedError):
        model.predict(x)
    model.set_params(alpha=0.1).partial_fit(x[:2], x[:2, 0])  # the first rows that it takes
    assert model.n_samples_seen_ == 2


def test_bad_calls():
    model = PrimeGaussianProcessRegressor(KERNEL, **FIXED)
    for call in (model.predict, model.sample_y):
        with pytest.raises(NotFittedError):
            call(NEW)
    model.fit(X, Y)
    with pytest.raises(ParameterError, match="exclude each other"):
        model.predict(NEW, return_std=True, return_cov=True)
    with pytest.raises(DataError, match="number of targets"):
        model.partial_fit(X, BOTH)
    with pytest.raises(ParameterError, match="theta must be 4"):
        model.log_marginal_likelihood([0.0])
    with pytest.raises(ParameterError, match="eval_gradient needs theta"):
        model.log_marginal_likelihood(eval_gradient=True)
    with pytest.raises(PrimalError, match="random_state"):
        model.sample_y(NEW, random_state="seed")


@pytest.mark.parametrize("y", [Y, BOTH], ids=["one target", "two"])
def test_evidence_is_the_same_by_rows_and_by_features(y):
    m = KernelPrime(2, 64, "matern32", 0.4)
    targets, lengths, scales = y.reshape(90, -1), np.array([0.8, 1.5]), (1.7, 0.05)
    by_features = evidence_module.evidence(m, X, targets, lengths, *scales, gradient=True)
    by_rows = evidence_module._evidence_of_few(m, X / lengths, targets, *scales, gradient=True)
    for found, expected in zip(by_rows, by_features, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


# Kernels, laws and sizes other than those that the number of rows was chosen with.
ERROR_CASES = {
    "exact": (RBF(1.5), 2, 256, 400, 0.05, np.random.Generator.standard_normal),
    "little": (Matern(1.5, nu=2.5), 2, 256, 500, 0.05, np.random.Generator.random),
    "rough": (Matern(0.8, nu=0.5), 2, 512, 500, 0.1, np.random.Generator.standard_normal),
    "skew": (RBF(2.0), 4, 128, 500, 0.1, np.random.Generator.standard_exponential),
    "many columns": (Matern(6.0, nu=1.5), 12, 256, 500, 0.2, np.random.Generator.standard_normal),
}


@pytest.mark.parametrize("case", ERROR_CASES)
def test_the_error_of_the_posterior_is_foreseen(case):
    kernel, d, D, n, noise, draw = ERROR_CASES[case]
    random = np.random.default_rng(11)
    x, new = draw(random, (n, d)), draw(random, (300, d))
    kernel = 2.0 * kernel + WhiteKernel(noise)
    y = np.linalg.cholesky(kernel(x)) @ random.standard_normal((n, 8))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = PrimeGaussianProcessRegressor(kernel, n_components=D, optimizer=None).fit(x, y)
    theirs = GaussianProcessRegressor(kernel, optimizer=None).fit(x, y)
    error = np.sqrt(np.square(ours.predict(new) - theirs.predict(new)).mean() / 2.0)
    # An estimate, whose law `tools/gp_bars.py foresight` prints: a factor of 2.5 for these.
    assert error / 2.5 < ours.posterior_error_ + 1e-3 < 2.5 * error + 2e-3
    assert [w.category for w in caught] == [NumericalWarning] * (ours.posterior_error_ > 0.1)
    assert (error > 0.1) == (case in ("rough", "many columns"))
    if error > 0.1:
        assert f"{D} features are few" in str(caught[0].message)
