"""PrimeFeatures: kernels, forms, gamma, growth, the inverse and its certificate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primal

pytest.importorskip("sklearn")

from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.svm import SVC

from primal.maps import KERNELS, kernel_matrix, median_gamma, scale_gamma, spread_rows
from primal.sklearn import PrimeFeatures, PrimeRidgeRegressor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 4))
CLOSED = [name for name in KERNELS if name != "prime"]


def test_exact_kernels_are_those_of_scikit_learn():
    np.testing.assert_allclose(kernel_matrix("rbf", X, 0.3), rbf_kernel(X, gamma=0.3))
    np.testing.assert_allclose(kernel_matrix("laplacian", X, 0.3), laplacian_kernel(X, gamma=0.3))
    for name, nu in (("matern12", 0.5), ("matern32", 1.5), ("matern52", 2.5)):
        peer = Matern(1.0 / np.sqrt(2.0 * 0.3), nu=nu)(X)
        np.testing.assert_allclose(kernel_matrix(name, X, 0.3), peer, rtol=1e-12)
    product = np.prod(1.0 / (1.0 + 0.3 * np.square(X[:, None] - X)), axis=-1)
    np.testing.assert_allclose(kernel_matrix("cauchy", X, 0.3), product)


@pytest.mark.parametrize("d", [1, 3, 12])
@pytest.mark.parametrize("kernel", CLOSED)
def test_features_approximate_their_kernel(kernel, d):
    x = np.random.default_rng(d).standard_normal((60, d))
    gamma = median_gamma(x, kernel)
    errors = [
        PrimeFeatures(D, kernel=kernel, gamma=gamma, form="pair", method="growable")
        .fit(x)
        .kernel_error(x)
        for D in (256, 4096)
    ]
    # Random features would be at 0.13 and 0.033; a wrong law stays above 0.2 whatever D.
    assert errors[0] < 0.16
    assert errors[1] < 0.042
    assert errors[1] < errors[0]


@pytest.mark.parametrize("basis", ["table", "kronecker", "hadamard"])
@pytest.mark.parametrize("kernel", ["rbf", "matern32"])
def test_every_basis_approximates_the_kernel(kernel, basis):
    features = PrimeFeatures(2048, kernel=kernel, basis=basis).fit(X)
    assert features.basis_ == basis
    assert features.kernel_error(X) < 0.08


def test_a_gamma_for_each_column():
    gamma = np.array([0.1, 0.5, 2.0, 0.01])
    for kernel in CLOSED:
        features = PrimeFeatures(
            4096, kernel=kernel, gamma=gamma, form="pair", method="growable"
        ).fit(X)
        assert features.kernel_error(X) < 0.08, kernel
        equal = PrimeFeatures(64, kernel=kernel, gamma=[0.3] * 4).fit(X)
        plain = PrimeFeatures(64, kernel=kernel, gamma=0.3).fit(X)
        np.testing.assert_allclose(equal.transform(X), plain.transform(X), atol=2e-6)


def test_the_prime_kernel_is_the_signed_basis():
    features = PrimeFeatures(16, kernel="prime", gamma=0.5, layout="block").fit(X)
    sigma = 1.0 / (2.0 * np.pi) / np.sqrt(np.mean([2, 3, 5, 7]))
    m = primal.DynamicPrime(4, 16, sigma, basis="signed")
    np.testing.assert_allclose(features.transform(X), m.encode(X) / np.sqrt(8), atol=1e-6)
    with pytest.raises(primal.errors.ParameterError, match="no closed form"):
        features.kernel_error(X)
    assert PrimeFeatures(16, kernel="prime", basis="paper").fit(X).basis_ == "paper"


def test_auto_basis_looks_at_the_kernel_and_d():
    def name(kernel, d, D=8):
        return PrimeFeatures(D, kernel=kernel, method="growable").fit(np.ones((2, d))).basis_

    assert [name("rbf", d) for d in (1, 6, 7, 40)] == ["kronecker"] * 2 + ["hadamard"] * 2
    assert [name("cauchy", d) for d in (1, 5, 6, 40)] == ["kronecker"] * 4
    assert [name("matern32", d) for d in (1, 40)] == ["hadamard"] * 2
    assert [name("prime", d) for d in (1, 40)] == ["signed"] * 2
    assert name("rbf", 7, 1000) == name("rbf", 7, 1)


def offset_phases(features, x):
    """Return the phases in turns of a fitted offset form, from its definition."""
    d, D = x.shape[1], features.n_components
    p = primal.primes(d + 2)[-1]  # p_(d+2)
    offsets = (np.arange(1, D + 1) * np.sqrt(float(p))) % 1.0
    return (x - features.center_) @ features.map_.basis.frequencies.T + offsets


def test_offset_form_is_a_cosine_with_an_offset():
    x = X + np.array([3.0, -20.0, 0.0, 0.5])
    features = PrimeFeatures(5, gamma=0.5, form="offset").fit(x)
    np.testing.assert_allclose(features.center_, x.mean(axis=0), atol=1e-5)
    wanted = np.sqrt(2.0 / 5.0) * np.cos(2.0 * np.pi * offset_phases(features, x))
    np.testing.assert_allclose(features.transform(x), wanted, atol=1e-6)


def test_offset_form_with_a_gamma_for_each_column():
    x = X + 7.0
    features = PrimeFeatures(5, gamma=[0.1, 0.5, 2.0, 0.01], form="offset").fit(x)
    same = PrimeFeatures(5, gamma=1.0, form="offset").fit(x * np.sqrt([0.1, 0.5, 2.0, 0.01]))
    scaled = x * np.sqrt([0.1, 0.5, 2.0, 0.01])
    np.testing.assert_allclose(features.transform(x), same.transform(scaled), atol=1e-5)


@pytest.mark.parametrize("basis", ["table", "hadamard"])
def test_offset_form_is_free_of_bias_far_from_zero(basis):
    # Rows that are alike, far from zero: x + y is nearly the same for all pairs of them.
    rng = np.random.default_rng(0)
    x = rng.random((300, 50))
    x /= x.sum(axis=1, keepdims=True)
    K = kernel_matrix("rbf", x, 10.0)
    for D in (300, 1000, 3000):
        features = PrimeFeatures(D, gamma=10.0, basis=basis, form="offset").fit(x)
        Z = features.transform(x)
        assert abs((Z @ Z.T - K).mean()) < 0.01
        # What is left is the term of x + y, from its closed form.
        v = 2.0 * np.pi * offset_phases(features, x)
        rest = np.mean(np.cos(v[:1] + v), axis=1)
        t = 2.0 * np.pi * (x[:1] - x) @ features.map_.basis.frequencies.T
        np.testing.assert_allclose(Z[0] @ Z.T, np.cos(t).mean(axis=1) + rest, atol=1e-5)


def test_the_center_does_not_depend_on_the_order_of_rows():
    x = np.random.default_rng(0).standard_normal((1000, 3)) * 1e3 + 17.0
    x[:, 2] = 4.25
    features = PrimeFeatures(5, gamma=0.1, form="offset").fit(x)
    assert features.center_[2] == 4.25
    for other in (x[::-1], np.asfortranarray(x), sparse.csr_array(x)):
        again = PrimeFeatures(5, gamma=0.1, form="offset").fit(other)
        np.testing.assert_array_equal(again.center_, features.center_)
    # The first batch decides, and growing keeps it.
    features.partial_fit(x + 100.0)
    old = features.transform(x)
    np.testing.assert_array_equal(features.grow(9).transform(x)[:, :5], old)
    assert PrimeFeatures(5, gamma=0.1).fit(x).center_ is None


def test_ridge_counts_offsets_from_zero():
    """With gamma as a number a model does not depend on the rows that come first."""
    x = X + 5.0
    model = PrimeRidgeRegressor(5, gamma=0.1, form="offset").fit(x, x[:, 0])
    parts = PrimeRidgeRegressor(5, gamma=0.1, form="offset").partial_fit(x[40:], x[40:, 0])
    parts.partial_fit(x[:40], x[:40, 0])
    np.testing.assert_array_equal(model.features_.transform(x), parts.features_.transform(x))


class TestInPlaceOfRBFSampler:
    def test_its_arguments_mean_the_same(self):
        options = {"gamma": 0.3, "n_components": 4000, "random_state": 0}
        ours, theirs = (E(**options).fit_transform(X) for E in (PrimeFeatures, RBFSampler))
        assert ours.shape == theirs.shape
        assert np.abs(ours @ ours.T - theirs @ theirs.T).max() < 0.1

    def test_a_random_state_is_ignored(self):
        plain = PrimeFeatures(32).fit_transform(X)
        for state in (0, 7, np.random.RandomState(1), np.random.default_rng(2)):
            features = clone(PrimeFeatures(32, random_state=state))
            np.testing.assert_array_equal(features.fit_transform(X), plain)


class TestWeights:
    @pytest.mark.parametrize("gamma", ["scale", "median"])
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
    @pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
    def test_counts_are_repeated_rows(self, gamma, kernel, container):
        counts = np.random.default_rng(0).integers(0, 4, len(X))
        repeated = np.repeat(X, counts, axis=0)
        options = {"gamma": gamma, "kernel": kernel, "form": "offset"}
        weighted = PrimeFeatures(9, **options).fit(container(X), sample_weight=counts)
        plain = PrimeFeatures(9, **options).fit(container(repeated))
        assert weighted.gamma_ == pytest.approx(plain.gamma_, rel=1e-12)
        np.testing.assert_array_equal(weighted.center_, plain.center_)
        np.testing.assert_array_equal(weighted.data_max_, repeated.max(axis=0))

    def test_real_weights_have_a_closed_form(self):
        w = np.random.default_rng(0).uniform(0.0, 2.0, len(X))
        mean = np.average(X, weights=w, axis=0).mean()
        variance = np.average(np.square(X - mean), weights=w, axis=0).mean()
        assert scale_gamma(X, "rbf", w) == pytest.approx(1.0 / (X.shape[1] * variance))


def test_whether_there_is_an_inverse_can_be_asked():
    wrapped = PrimeFeatures(64, gamma=50.0)
    assert hasattr(wrapped, "inverse_transform")  # nothing is known before the fit
    assert not hasattr(wrapped.fit(X), "inverse_transform")
    with pytest.raises(primal.errors.NotInvertibleError, match="safe_gamma_"):
        wrapped.inverse_transform(wrapped.transform(X))
    safe = PrimeFeatures(64, gamma=wrapped.safe_gamma_, method="growable").fit(X)
    assert hasattr(safe, "inverse_transform")


@pytest.mark.parametrize("form", ["pair", "offset"])
def test_fast_precision_agrees(form):
    exact, fast = (
        PrimeFeatures(64, form=form, precision=precision).fit(X).transform(X)
        for precision in ("exact", "fast")
    )
    np.testing.assert_allclose(fast, exact, atol=1e-6)


def test_gamma_scale_is_that_of_scikit_learn():
    features = PrimeFeatures(8).fit(X)
    svc = SVC(gamma="scale").fit(X, X[:, 0] > 0)
    assert features.gamma_ == pytest.approx(svc._gamma)
    assert PrimeFeatures(8).fit(np.ones((3, 2))).gamma_ == 1.0
    assert scale_gamma(3.0 * X) == pytest.approx(scale_gamma(X) / 9.0)
    assert scale_gamma(3.0 * X, "laplacian") == pytest.approx(scale_gamma(X, "laplacian") / 3.0)


def test_gamma_median():
    x = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0], [0.0, 0.0]])
    # Distances 5, 5, 5, 5, 10 and the two equal rows, which do not count.
    assert median_gamma(x) == pytest.approx(1.0 / 50.0)
    assert median_gamma(x, "cauchy") == pytest.approx(1.0 / 25.0)
    assert median_gamma(x, "laplacian") == pytest.approx(1.0 / 7.0)
    assert median_gamma(np.ones((5, 2))) == 1.0
    assert PrimeFeatures(4, gamma="median").fit(x).gamma_ == pytest.approx(1.0 / 50.0)


@given(n=st.integers(1, 3000), m=st.integers(1, 400))
def test_spread_rows_are_spread(n, m):
    rows = spread_rows(n, m)
    assert len(rows) == len(set(rows.tolist())) == min(n, m)
    gaps = np.diff(np.concatenate([[-1], rows, [n]]))
    assert gaps.min() >= 1
    assert gaps.max() <= 4 * n / len(rows) + 1  # three-distance theorem


@settings(max_examples=25)
@given(
    kernel=st.sampled_from(list(KERNELS)),
    form=st.sampled_from(["pair", "offset"]),
    D=st.integers(1, 40),
    more=st.integers(0, 60),
)
def test_growth_appends_and_leaves_old_features_to_the_bit(kernel, form, D, more):
    features = PrimeFeatures(D, kernel=kernel, form=form).fit(X)
    old = features.transform(X)
    grown = features.grow(D + more)
    new = grown.transform(X)
    assert new.shape == (80, D + more) == (80, len(grown.get_feature_names_out()))
    assert (features.n_components, grown.n_components) == (D, D + more)
    np.testing.assert_array_equal(new[:, :D], old)
    np.testing.assert_array_equal(features.transform(X), old)
    grown.partial_fit(X + 5.0)  # notes its own range
    np.testing.assert_array_equal(features.data_max_, X.max(axis=0))
    assert features.n_samples_seen_ == len(X)


def test_growth_can_rescale():
    grown = PrimeFeatures(8, gamma=0.4, method="growable").fit(X).grow(64, rescale=True)
    fresh = PrimeFeatures(64, gamma=0.4).fit(X)
    np.testing.assert_array_equal(grown.transform(X), fresh.transform(X))
    kept = PrimeFeatures(8, gamma=0.4, method="growable").fit(X).grow(64)
    assert kept.kernel_error(X) == pytest.approx(fresh.kernel_error(X), rel=1e-5)
    assert kept.amplitude_ == 0.5


def test_what_cannot_grow():
    with pytest.raises(primal.errors.ParameterError, match="cannot grow to 7"):
        PrimeFeatures(8).fit(X).grow(7)
    with pytest.raises(primal.errors.ParameterError, match="interleaved"):
        PrimeFeatures(8, layout="block").fit(X).grow(16)


@pytest.mark.parametrize("layout", ["interleaved", "block"])
@pytest.mark.parametrize("D", [8, 9, 31, 64])
def test_inverse_of_data_far_from_zero(D, layout):
    x = X + np.array([100.0, -3.0, 0.0, 1e4])  # the middle of the range does not matter
    features = PrimeFeatures(D, layout=layout, gamma=1e-3, form="pair").fit(x)
    assert features.inverse_certificate_.invertible
    back = features.inverse_transform(features.transform(x))
    np.testing.assert_allclose(back, x, atol=1e-3)


@pytest.mark.parametrize("kernel", CLOSED)
def test_safe_gamma_is_safe_and_tight(kernel):
    safe = PrimeFeatures(32, kernel=kernel, gamma=5.0).fit(X).safe_gamma_  # from whatever map
    options = {"kernel": kernel, "method": "growable"}
    inside = PrimeFeatures(32, gamma=safe, **options).fit(X)
    certificate = inside.inverse_certificate_
    assert certificate.invertible
    assert 0.0 < certificate.margin_turns < 1e-6
    assert inside.safe_gamma_ == pytest.approx(safe)
    outside = PrimeFeatures(32, gamma=1.01 * safe, **options).fit(X)
    assert not outside.inverse_certificate_.invertible
    atol = 1e-3 if kernel in ("laplacian", "matern12") else 1e-5
    np.testing.assert_allclose(inside.inverse_transform(inside.transform(X)), X, atol=atol)


@pytest.mark.parametrize(
    ("d", "D", "gamma"),
    [(2, 4, 0.5), (16, 128, 1.2e-2), (64, 128, 1.2e-3), (100, 256, 4e-4), (512, 1024, 1.9e-5)],
)
def test_inverse_error_from_float32_features(d, D, gamma):
    x = np.random.default_rng(d).uniform(-1.0, 1.0, (50, d)).astype(np.float32)
    features = PrimeFeatures(D, gamma=gamma).fit(x)
    assert 0.0 < features.inverse_certificate_.margin_turns < 0.1  # near the bound
    Z = features.transform(x)
    assert Z.dtype == np.float32
    assert np.square(features.inverse_transform(Z) - x).mean() <= 1e-10 * x.var()


def test_frequencies_that_leave_a_direction_open_are_not_inverted():
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 16))
    features = PrimeFeatures(32, gamma=1e-3).fit(x)
    with pytest.raises(primal.errors.NotInvertibleError, match=r"16 frequencies.*use D = 128"):
        features.inverse_transform(features.transform(x))


def test_inverse_with_a_gamma_for_each_column():
    features = PrimeFeatures(32, gamma=[1.0, 0.1, 3.0, 0.5]).fit(X)
    with pytest.raises(primal.errors.NotInvertibleError, match="safe_gamma_"):
        features.inverse_transform(features.transform(X))
    safe = PrimeFeatures(32, gamma=features.safe_gamma_, method="growable").fit(X)
    np.testing.assert_allclose(safe.inverse_transform(safe.transform(X)), X, atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "remedy"),
    [
        ({"form": "offset"}, "form='pair'"),
        ({"n_components": 6, "form": "pair"}, "n_components = 8"),
        ({"gamma": 100.0}, "gamma = "),
    ],
)
def test_what_cannot_be_inverted_says_what_would_do(parameters, remedy):
    features = PrimeFeatures(**{"n_components": 32, **parameters}).fit(X)
    certificate = features.inverse_certificate_
    assert not certificate.invertible
    assert remedy in str(certificate)
    with pytest.raises(primal.errors.NotInvertibleError, match=remedy):
        features.inverse_transform(features.transform(X))


def test_the_named_gamma_does():
    features = PrimeFeatures(256, gamma=1.0, method="lattice").fit(X)
    with pytest.raises(primal.errors.NotInvertibleError) as caught:
        features.inverse_transform(features.transform(X))
    assert "method='growable'" in str(caught.value)
    named = float(str(caught.value).split("gamma = ")[1].split(" ")[0])
    again = PrimeFeatures(32, gamma=0.999 * named, method="growable").fit(X)
    np.testing.assert_allclose(again.inverse_transform(again.transform(X)), X, atol=1e-5)


def test_a_point_far_outside_of_the_range_is_noticed():
    safe = PrimeFeatures(32).fit(X).safe_gamma_
    features = PrimeFeatures(32, gamma=safe, method="growable").fit(X)
    far = features.transform([[30.0, -9.0, 2.0, 11.0]])
    with pytest.warns(primal.errors.PhaseWrapWarning, match="certified range"):
        features.inverse_transform(far)


def test_condition_number():
    features = PrimeFeatures(64).fit(X)
    assert features.condition_number_ == np.linalg.cond(features.map_.basis.frequencies)


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"n_components": 0}, primal.errors.ParameterError),
        ({"n_components": 2.0}, primal.errors.ParameterError),
        ({"kernel": "gauss"}, primal.errors.ParameterError),
        ({"gamma": "auto"}, primal.errors.ParameterError),
        ({"gamma": -1.0}, primal.errors.ParameterError),
        ({"gamma": [1.0, 2.0]}, primal.errors.ParameterError),
        ({"basis": "sobol"}, primal.errors.ParameterError),
        ({"basis": "signed"}, primal.errors.ParameterError),
        ({"kernel": "laplacian", "basis": "hadamard"}, primal.errors.ParameterError),
        ({"form": "triple"}, primal.errors.ParameterError),
        ({"layout": "rows"}, primal.errors.ParameterError),
        ({"precision": "half"}, primal.errors.ParameterError),
    ],
)
def test_bad_parameters(parameters, error):
    with pytest.raises(error, match=r"got|use one of"):
        PrimeFeatures(**parameters).fit(X)


def test_features_of_the_wrong_width():
    features = PrimeFeatures(32, gamma=1e-3).fit(X)
    with pytest.raises(primal.errors.ParameterError, match="32 columns"):
        features.inverse_transform(np.ones((2, 31)))


def test_erased_features_decode_to_nan():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 2))
    features = PrimeFeatures(n_components=16, gamma=0.01).fit(X)
    Z = features.transform(X)
    expected = features.inverse_transform(Z)
    Z[3] = 0.0
    with pytest.warns(primal.errors.MisfitWarning, match="1 of 20 codes") as seen:
        found = features.inverse_transform(Z)
    assert len(seen) == 1
    assert np.isnan(found[3]).all()
    np.testing.assert_array_equal(np.delete(found, 3, 0), np.delete(expected, 3, 0))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern32", "prime"])
def test_gamma_manifold_keeps_a_tenth_free(kernel):
    X = np.random.default_rng(0).uniform(-3.0, 7.0, (100, 3))
    features = PrimeFeatures(64, kernel=kernel, gamma="manifold").fit(X)
    certificate = features.inverse_certificate_
    assert certificate.invertible
    assert certificate.peak_turns == pytest.approx(0.45, rel=1e-6)
    np.testing.assert_allclose(features.inverse_transform(features.transform(X)), X, atol=1e-6)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_gamma_manifold_has_an_inverse_in_few_columns(d):
    X = np.random.default_rng(d).standard_normal((90, d))
    features = PrimeFeatures(64, gamma="manifold").fit(X)
    assert features.inverse_certificate_.peak_turns == pytest.approx(0.45, rel=1e-6)
    np.testing.assert_allclose(features.inverse_transform(features.transform(X)), X, atol=1e-6)
    assert features.grow(80).inverse_certificate_.invertible


def test_gamma_manifold_needs_an_inverse():
    with pytest.raises(primal.errors.NotInvertibleError, match="n_components = 6 or more"):
        PrimeFeatures(4, form="pair", gamma="manifold").fit(np.eye(3))
