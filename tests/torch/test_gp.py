"""Kernels and feature maps for GPyTorch and BoTorch, on the packages themselves."""

import copy
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")
gpytorch = pytest.importorskip("gpytorch")

from gpytorch import kernels  # noqa: E402
from torch import Size  # noqa: E402

import primal  # noqa: E402
from primal.errors import DataError, ParameterError  # noqa: E402
from primal.torch.gp import PrimeKernel, gen_prime_features  # noqa: E402

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
    ),
]


def points(n, d, seed=0, **options):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), **options)


def with_length(kernel, length):
    kernel.lengthscale = torch.tensor(length, dtype=kernel.raw_lengthscale.dtype)
    return kernel


class ExactModel(gpytorch.models.ExactGP):
    def __init__(self, x, y, kernel):
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        super().__init__(x, y, likelihood)
        self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), kernel

    def forward(self, x):
        covariance = self.covar_module(x)
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), covariance)


@pytest.mark.parametrize("name", ["rbf", "matern52", "laplacian"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_features_have_the_bits_of_the_core(name, dtype):
    x = points(20, 3, dtype=getattr(torch, dtype))
    kernel = with_length(PrimeKernel(50, kernel=name), 1.0).to(x.dtype)
    unit = 1.0 if name == "laplacian" else 0.5
    m = primal.KernelPrime(3, 100, name, unit)  # its amplitude is no float32
    expected = m.encode((x / kernel.lengthscale).detach().numpy(), dtype=dtype)
    np.testing.assert_array_equal(kernel.features(x).detach().numpy(), expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_path_is_the_same_function_everywhere(device, dtype):
    kernel = kernels.ScaleKernel(with_length(kernels.MaternKernel(nu=2.5), 0.7)).to(dtype)
    made = gen_prime_features(kernel, 3, 256)
    x = points(50, 3, dtype=dtype)
    expected = made(x)
    found = copy.deepcopy(made).to(device)(x.to(device)).cpu()
    assert torch.equal(found, expected)
    kernel.outputscale, kernel.base_kernel.lengthscale = 9.0, 3.0
    assert torch.equal(made(x), expected)
    assert not torch.equal(gen_prime_features(kernel, 3, 256)(x), expected)


def test_kernel_of_one_and_of_two_sets_and_its_diagonal():
    kernel, x, other = with_length(PrimeKernel(2048, 2), 0.8), points(30, 2), points(7, 2, 1)
    exact = with_length(kernels.RBFKernel(), 0.8)
    for pair in ((x, x), (x, other)):
        found, expected = kernel(*pair).to_dense(), exact(*pair).to_dense()
        assert (found - expected).abs().max() < 0.01
    torch.testing.assert_close(kernel(x, diag=True), torch.ones(30), rtol=0, atol=1e-5)


def test_length_scales_have_gradients():
    kernel = PrimeKernel(256, ard_num_dims=2).double()
    exact = kernels.RBFKernel(ard_num_dims=2).double()
    x, weights = points(12, 2, dtype=torch.float64), points(12, 12, 1, dtype=torch.float64)

    def slopes(k):
        k.lengthscale = torch.tensor([0.9, 1.7])
        (k(x).to_dense() * weights).sum().backward()
        return k.raw_lengthscale.grad

    torch.testing.assert_close(slopes(kernel), slopes(exact), rtol=0.02, atol=0.02)


def test_state_dict_holds_length_scales_alone():
    kernel = PrimeKernel(64)
    kernel(points(5, 3)).to_dense()
    assert set(kernel.state_dict()) == {
        "raw_lengthscale",
        "raw_lengthscale_constraint.lower_bound",
        "raw_lengthscale_constraint.upper_bound",
    }


def test_batches_have_their_own_length_scales():
    kernel = PrimeKernel(64, batch_shape=Size([2]))
    kernel.lengthscale = torch.tensor([0.5, 2.0]).reshape(2, 1, 1)
    x = points(9, 3)
    found = kernel(x).to_dense()
    for i, length in enumerate((0.5, 2.0)):
        alone = with_length(PrimeKernel(64), length)
        torch.testing.assert_close(found[i], alone(x).to_dense())


@pytest.mark.parametrize("n", [40, 400], ids=["fewer rows than features", "more"])
@pytest.mark.filterwarnings("ignore:means are about:primal.NumericalWarning")
def test_gpytorch_has_the_process_of_scikit_learn(n):
    """Two hosts, two ways of linear algebra, the same features: evidence, gradient, posterior."""
    pytest.importorskip("sklearn")
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    from primal.sklearn import PrimeGaussianProcessRegressor

    # From nine columns on scikit-learn's door takes growable features too.
    x, new = points(n, 9, dtype=torch.float64), points(9, 9, 2, dtype=torch.float64)
    y = torch.sin(3.0 * x[:, 0]) + 0.1 * points(n, 1, 1, dtype=torch.float64)[:, 0]
    lengths, noise = np.linspace(1.5, 3.1, 9).tolist(), 0.05
    model = ExactModel(x, y, PrimeKernel(64, ard_num_dims=9)).double()
    model.covar_module.lengthscale = torch.tensor(lengths)
    model.likelihood.noise = noise
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    value = n * objective(model.train()(x), y)
    value.backward()
    raw = model.covar_module.raw_lengthscale
    by_log_lengths = (raw.grad / torch.sigmoid(raw.detach()))[0].numpy() * lengths
    with torch.no_grad():
        found = model.eval()(new)

    kernel = RBF(lengths) + WhiteKernel(noise)
    options = {"n_components": 128, "optimizer": None}
    twin = PrimeGaussianProcessRegressor(kernel, **options).fit(x.numpy(), y.numpy())
    expected, gradient = twin.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    assert value.item() == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(by_log_lengths, gradient[:9], rtol=1e-4)
    mean, covariance = twin.predict(new.numpy(), return_cov=True)
    np.testing.assert_allclose(found.mean, mean, rtol=0, atol=1e-6)
    latent = covariance - noise * np.eye(9)
    np.testing.assert_allclose(found.covariance_matrix, latent, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "d"),
    [
        (kernels.RBFKernel(), 3),
        (kernels.RBFKernel(ard_num_dims=3), 3),
        (kernels.MaternKernel(nu=0.5), 2),
        (kernels.MaternKernel(nu=1.5), 2),
        (kernels.ScaleKernel(kernels.MaternKernel(nu=2.5)), 2),
        (kernels.ScaleKernel(kernels.ScaleKernel(kernels.RBFKernel())), 2),
        (kernels.ScaleKernel(kernels.RBFKernel(active_dims=[2, 0])), 3),
        (kernels.RBFKernel(active_dims=[1]), 3),
        (kernels.ScaleKernel(kernels.RBFKernel(batch_shape=Size([2])), batch_shape=Size([2])), 2),
    ],
)
def test_feature_maps_of_kernels(kernel, d):
    base = kernel
    while isinstance(base, kernels.ScaleKernel):
        base.outputscale = 2.0 + torch.arange(max(1, base.batch_shape.numel())).reshape(
            base.outputscale.shape
        )
        base = base.base_kernel
    shape = base.lengthscale.shape
    base.lengthscale = 0.8 + 0.3 * torch.arange(shape.numel()).reshape(shape)
    x = points(25, d)
    made = gen_prime_features(kernel=kernel, num_inputs=d, num_outputs=4096)
    z = made(x)
    exact = kernel(x).to_dense()
    assert z.shape == (*kernel.batch_shape, 25, made.num_outputs)
    assert made.batch_shape == kernel.batch_shape
    assert ((z @ z.mT - exact).norm() / exact.norm()) < 0.04


@pytest.mark.parametrize(
    ("kernel", "d", "name", "share"),
    # For the second the error is too near that of growable features for method="auto".
    [(kernels.RBFKernel(), 2, "rbf", 0.3), (kernels.MaternKernel(nu=2.5), 4, "matern52", 0.6)],
)
def test_a_width_makes_features_for_it(kernel, d, name, share):
    x = torch.rand(200, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kernel = with_length(kernel.double(), 0.5)
    made = gen_prime_features(kernel, d, 256, width=0.29)
    # 0.58 length scales, rounded up.
    m = primal.KernelPrime(d, 256, name, 0.5, form="pair", method="lattice", width=0.625)
    assert made.layer.spec == m.spec
    exact = kernel(x).to_dense()
    z, plain = made(x), gen_prime_features(kernel, d, 256)(x)
    assert (z @ z.mT - exact).norm() < share * (plain @ plain.mT - exact).norm()


def test_a_width_for_each_input_of_a_batch():
    kernel = kernels.RBFKernel(ard_num_dims=2, batch_shape=Size([2]), active_dims=[2, 0]).double()
    kernel.lengthscale = torch.tensor([[[0.5, 4.0]], [[1.0, 2.0]]])
    made = gen_prime_features(kernel, 3, 512, width=[0.25, 1e6, 0.5])
    assert made.layer.spec["width"] == [1.0, 0.125]  # by the shortest length scales
    x = 0.25 * points(50, 3, dtype=torch.float64)
    z, exact = made(x), kernel(x).to_dense()
    assert ((z @ z.mT - exact).norm() / exact.norm()) < 1e-6


def test_where_nothing_can_be_made_features_are_growable():
    x = torch.rand(9, 70)
    made = gen_prime_features(kernels.RBFKernel(), 70, 256, width=0.29)
    assert torch.equal(made(x), gen_prime_features(kernels.RBFKernel(), 70, 256)(x))


def test_prime_kernels_have_maps_of_their_own_features():
    kernel = with_length(PrimeKernel(64, kernel="cauchy"), 0.6)
    x = points(10, 2)
    z = gen_prime_features(kernel, 2, 128)(x)
    assert torch.equal(z, kernel.features(x))


@pytest.mark.parametrize(
    "kernel",
    [kernels.LinearKernel(), kernels.RBFKernel() + kernels.RBFKernel(), kernels.PeriodicKernel()],
    ids=lambda k: type(k).__name__,
)
def test_other_kernels_are_refused(kernel):
    for made in (kernel, kernels.ScaleKernel(kernel)):
        with pytest.raises(ParameterError, match=type(kernel).__name__):
            gen_prime_features(made, 2, 64)


def test_bad_arguments():
    with pytest.raises(ParameterError, match=r"^num_outputs must be even"):
        gen_prime_features(kernels.RBFKernel(), 2, 63)
    with pytest.raises(ParameterError, match=r"width must be one number.*2 inputs.*\(3,\)"):
        gen_prime_features(kernels.RBFKernel(), 2, 64, width=[1.0, 1.0, 1.0])
    with pytest.raises(ParameterError, match="width"):
        gen_prime_features(kernels.RBFKernel(), 2, 64, width=0.0)
    with pytest.raises(ParameterError, match="num_samples"):
        PrimeKernel(0)
    with pytest.raises(ParameterError, match="kernel"):
        PrimeKernel(8, kernel="linear")
    with pytest.raises(DataError, match="3 values"):
        PrimeKernel(8, 3)(points(4, 2)).to_dense()


class TestBoTorch:
    """Pathwise sampling through the public argument `map_generator`."""

    def model(self, kernel=None):
        models = pytest.importorskip("botorch.models")
        x = torch.rand(12, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        y = (torch.sin(6.0 * x[:, :1]) + x[:, 1:]).double()
        noise = torch.full_like(y, 0.01)
        return models.SingleTaskGP(x, y, train_Yvar=noise, covar_module=kernel), x

    def test_paths_of_the_prior_are_the_features_times_weights(self):
        model, x = self.model()
        pathwise = pytest.importorskip("botorch.sampling.pathwise")
        draw = partial(pathwise.draw_kernel_feature_paths, map_generator=gen_prime_features)
        paths = draw(model, sample_shape=Size([5]), num_features=256)
        z = gen_prime_features(model.covar_module, 2, 256)(x)
        with torch.no_grad():
            prior = paths.forward(x)
            expected = paths.weight @ z.mT + model.mean_module(x)
        torch.testing.assert_close(prior, expected)

    @pytest.mark.parametrize("own", [False, True], ids=["their kernel", "PrimeKernel"])
    def test_paths_of_the_posterior_have_its_law(self, own):
        kernel = with_length(PrimeKernel(512, ard_num_dims=2), [0.4, 0.6]) if own else None
        model, _ = self.model(kernel)
        pathwise = pytest.importorskip("botorch.sampling.pathwise")
        sampler = partial(pathwise.draw_kernel_feature_paths, map_generator=gen_prime_features)
        torch.manual_seed(0)
        paths = pathwise.draw_matheron_paths(model, Size([4096]), prior_sampler=sampler)
        new = torch.rand(20, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        model.eval()
        with torch.no_grad():
            samples, posterior = paths(new), model.posterior(new)
            std = posterior.variance.sqrt()[:, 0]
            apart = (samples.mean(0) - posterior.mean[:, 0]).abs() / std
            # 5 standard errors, and the error of the kernel.
            assert apart.max() < 5.0 / 4096**0.5 + 0.05
            assert ((samples.std(0) / std) - 1.0).abs().max() < 5.0 / (2 * 4096) ** 0.5 + 0.05
