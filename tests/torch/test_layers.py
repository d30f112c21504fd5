"""Layers as PyTorch users expect them: state, casts, growth, errors."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import primal  # noqa: E402
import primal.torch as pt  # noqa: E402
from primal._selftest import sample_points  # noqa: E402
from primal.torch._inputs import DTYPES  # noqa: E402


def points(n: int, d: int) -> torch.Tensor:
    return torch.from_numpy(sample_points(n, d))


def test_half_and_back_gives_the_same_bits():
    x = points(9, 3)
    layer = pt.DynamicPrime(3, 18, 40.0)
    expected = layer(x)
    assert torch.equal(layer.half().bfloat16().float()(x), expected)


class TestOutputType:
    """The type of x, unless one was given or the layer was cast."""

    def test_it_follows_the_input(self):
        x = points(4, 3)
        for layer in (pt.PrimeFeatures(3, 8), pt.PrimeFeatures(3, 8, precision="fast")):
            for dtype in DTYPES:
                assert layer(x.to(dtype)).dtype == dtype
            assert layer(torch.ones(3, dtype=torch.int32)).dtype == torch.float32

    def test_it_can_be_given(self):
        layer = pt.PrimeFeatures(3, 8, dtype=torch.float16)
        assert {layer(points(4, 3).to(dtype)).dtype for dtype in DTYPES} == {torch.float16}
        assert layer.float()(points(4, 3)).dtype == torch.float32

    def test_a_cast_layer_rounds_its_output_and_not_x(self):
        x = points(4, 3).float()
        expected = pt.PrimeFeatures(3, 8)(x)
        for dtype in (torch.float16, torch.bfloat16):
            layer = pt.PrimeFeatures(3, 8).to(dtype)
            assert torch.equal(layer(x), expected.to(dtype))
            assert layer.grow(16)(x).dtype == dtype
        assert pt.PrimeFeatures(3, 8).half().float()(x.double()).dtype == torch.float64

    def test_the_default_type(self):
        torch.set_default_dtype(torch.float64)
        try:
            layers = (pt.StaticPrime(8), pt.PrimePositions(8))
            features = pt.PrimeFeatures(3, 8, learnable_scale="input")
        finally:
            torch.set_default_dtype(torch.float32)
        for layer in layers:
            assert layer(torch.tensor([5])).dtype == torch.float64
        assert features.scale.dtype == torch.float64
        assert features(torch.ones(3, dtype=torch.int8)).dtype == torch.float64

    def test_autocast_leaves_it(self):
        x = points(4, 3).float()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert pt.PrimeFeatures(3, 8)(x).dtype == torch.float32
            assert pt.PrimeFeatures(3, 8)(x.bfloat16()).dtype == torch.bfloat16


def test_a_program_of_another_version_is_refused():
    key = pt.PrimeFeatures(3, 8)._table.key.replace('"basis_version": 1', '"basis_version": 0')
    with pytest.raises(primal.errors.SpecError, match="made with another"):
        torch.ops.primal.exact_features(torch.ones(3), key, 1.0, False, torch.float32)


def test_an_exported_program_needs_no_layer(tmp_path):
    """It holds the spec: another process makes the same bits from it."""
    layer = pt.PrimeFeatures(3, 8, lengthscale=(1.0, 2.0, 3.0))
    x = points(4, 3).float()
    torch.export.save(torch.export.export(layer, (x,)), tmp_path / "layer.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    code = """
import sys, numpy as np, torch, primal.torch
program = torch.export.load(sys.argv[1] + "/layer.pt2").module()
np.save(sys.argv[1] + "/z.npy", program(torch.from_numpy(np.load(sys.argv[1] + "/x.npy"))))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), layer(x).numpy())


class TestLengthscales:
    def test_one_for_each_input(self):
        layer = pt.PrimeFeatures(2, 2048, lengthscale=torch.tensor([0.5, 4.0]))
        x = torch.tensor([[0.0, 0.0], [0.4, 0.0], [0.0, 0.4], [0.3, 3.0]])
        z = layer(x)
        scaled = x / torch.tensor([0.5, 4.0])
        kernel = torch.exp(-torch.cdist(scaled, scaled).square() / 2)
        assert (z @ z.T - kernel).abs().max() < 0.01
        assert layer.map.gamma == (2.0, 0.03125)

    def test_equal_ones_are_one(self):
        x = points(5, 2).float()
        each = pt.PrimeFeatures(2, 16, lengthscale=[2.0, 2.0])
        torch.testing.assert_close(each(x), pt.PrimeFeatures(2, 16, lengthscale=2.0)(x))
        assert torch.equal(each.grow(32)(x)[:, :16], each(x))
        small = each(x) * np.float32(np.sqrt(0.5))
        torch.testing.assert_close(each.grow(32, rescale=True)(x)[:, :16], small)


class TestKernels:
    @pytest.mark.parametrize(
        "kernel", ["rbf", "laplacian", "cauchy", "matern12", "matern32", "matern52"]
    )
    def test_dot_products_approximate_the_kernel(self, kernel):
        x = points(20, 2).float()
        layer = pt.PrimeFeatures(2, 4096, kernel=kernel, lengthscale=1.5)
        z = layer(x)
        t = (x[:, None] - x) / 1.5
        r = t.norm(dim=-1)
        formulas = {
            "rbf": lambda: torch.exp(-r * r / 2),
            "laplacian": lambda: torch.exp(-t.abs().sum(-1)),
            "cauchy": lambda: (1 / (1 + t * t)).prod(-1),
            "matern12": lambda: torch.exp(-r),
            "matern32": lambda: (1 + 3**0.5 * r) * torch.exp(-(3**0.5) * r),
            "matern52": lambda: (1 + 5**0.5 * r + 5 / 3 * r * r) * torch.exp(-(5**0.5) * r),
        }
        # Twice the standard deviation that independent draws of frequencies would have.
        assert (z @ z.T - formulas[kernel]()).abs().max() < 2 / np.sqrt(4096)
        assert f"kernel={kernel}" in repr(layer)

    @pytest.mark.parametrize("kernel", ["cauchy", "matern32"])
    def test_they_grow_and_take_lengths_for_each_input(self, kernel):
        x = points(5, 2).float()
        small = pt.PrimeFeatures(2, 16, kernel=kernel, lengthscale=(1.0, 2.0))
        grown = small.grow(64)
        assert grown.map.kernel == kernel
        assert torch.equal(grown.frequencies[:8], small.frequencies)
        scaled = pt.PrimeFeatures(2, 16, kernel=kernel, lengthscale=1.0)(
            x / torch.tensor([1.0, 2.0])
        )
        torch.testing.assert_close(small(x), scaled)

    @pytest.mark.parametrize("d", [1, 5, 6, 8, 9])
    def test_features_are_those_of_the_estimator(self, d):
        """One definition for both doors; a length of 1 is gamma = 1/2 of the Matern kernel."""
        sklearn = pytest.importorskip("primal.sklearn", reason="scikit-learn is not installed")
        x = points(9, d).float()
        estimator = sklearn.PrimeFeatures(32, kernel="matern52", gamma=0.5, method="growable")
        estimator.fit(x.numpy())
        for options in ({"gamma": 0.5}, {"lengthscale": 1.0}):
            layer = pt.PrimeFeatures(d, 32, kernel="matern52", **options)
            np.testing.assert_array_equal(layer(x).numpy(), estimator.transform(x.numpy()))

    def test_bases_without_the_law_are_refused(self):
        with pytest.raises(
            primal.errors.ParameterError, match=r"'hadamard'.*'cauchy'.*'kronecker', 'table'"
        ):
            pt.PrimeFeatures(2, 8, kernel="cauchy", basis="hadamard")
        with pytest.raises(primal.errors.ParameterError, match="kernel must be one of 'rbf'"):
            pt.PrimeFeatures(2, 8, kernel="linear")


class TestThreads:
    def test_no_more_are_used_than_pytorch_may_use(self, monkeypatch):
        """The calling thread takes one part of 256 rows or more, and others the rest."""
        layer = pt.DynamicPrime(3, 512, 0.1, basis="auto")
        x = points(1100, 3).float()
        expected = layer(x)
        before = torch.get_num_threads()
        monkeypatch.setenv("PRIMAL_ENGINE", "native")
        monkeypatch.setenv("PRIMAL_THREADS", "4")
        handed = []
        submit = ThreadPoolExecutor.submit

        def noted(pool, work, *arguments):
            handed.append(arguments)
            return submit(pool, work, *arguments)

        monkeypatch.setattr(ThreadPoolExecutor, "submit", noted)
        try:
            for n_threads, n_handed in ((4, 3), (2, 1), (1, 0)):
                torch.set_num_threads(n_threads)
                assert torch.equal(layer(x), expected)
                assert len(handed) == n_handed
                handed.clear()
        finally:
            torch.set_num_threads(before)

    def test_workers_of_a_data_loader(self):
        """They are forked from a process whose pool of threads has been used."""
        dataset = _Encoded()
        expected = dataset.layer(dataset.x)
        loader = torch.utils.data.DataLoader(
            dataset,
            batch_size=None,
            num_workers=2,
            timeout=60,
            multiprocessing_context="fork",
        )
        assert torch.equal(torch.stack(list(loader)), expected)


class _Encoded(torch.utils.data.Dataset):
    def __init__(self):
        self.layer = pt.DynamicPrime(3, 4096, 0.1, basis="auto")
        self.x = points(100, 3).float().reshape(4, 25, 3)

    def __len__(self):
        return 4

    def __getitem__(self, item):
        return self.layer(self.x[item])


class TestMaps:
    """A layer and the core map behind it: one spec, one fingerprint, the same bits."""

    cases = (
        (pt.DynamicPrime, primal.DynamicPrime(3, 8, 0.3, basis="auto", layout="interleaved")),
        (pt.DynamicPrime, primal.DynamicPrime(2, 6, [0.1, 0.2, 0.3], primes="log")),
        (pt.PrimeFeatures, primal.KernelPrime(3, 8, "matern32", 0.7)),
        (pt.PrimeFeatures, primal.KernelPrime(3, 8, gamma=[0.1, 0.2, 0.3]).grow(12)),
        (pt.StaticPrime, primal.StaticPrime(8, sigma=0.7, start=3)),
        (pt.PrimePositions, primal.StaticPrime(8, spacing="log", layout="interleaved")),
        (pt.PrimePositions, primal.StaticPrime(8, spacing="kronecker")),
    )

    @pytest.mark.parametrize(("cls", "m"), cases)
    def test_there_and_back(self, cls, m):
        layer = cls.from_map(m)
        x = points(5, 3)[:, : getattr(m, "d", 0)].float()
        x = x if x.shape[1] else torch.tensor([0, 5, 10**9])
        np.testing.assert_array_equal(layer(x).numpy(), m.encode(x.numpy()))
        assert layer.spec == m.spec
        assert layer.fingerprint == m.fingerprint
        assert layer.map == m == primal.from_spec(layer.spec)
        assert (layer.D, layer.out_features) == (m.D, m.D)
        assert layer.half().spec == m.spec
        if hasattr(m, "d"):
            assert (layer.d, layer.in_features) == (m.d, m.d)
        if not isinstance(getattr(m, "sigma", 1.0), tuple) and m.spec.get("spacing") != "log":
            grown = layer.grow(16)
            assert type(grown) is cls
            assert grown.map == m.grow(16)
            assert layer.map == m

    def test_options_of_the_layer(self):
        m = primal.DynamicPrime(2, 8, basis="auto", precision="fast")
        layer = pt.DynamicPrime.from_map(m, learnable_scale="frequency", dtype=torch.float16)
        assert layer.scale.shape == (4,)
        assert layer(torch.ones(2)).dtype == torch.float16
        positions = pt.PrimePositions.from_map(primal.StaticPrime(8), head_dim=12)
        assert positions.grow(10).head_dim == 12

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (lambda: pt.DynamicPrime.from_map(primal.StaticPrime(8)), "primal.DynamicPrime, got"),
            (
                lambda: pt.DynamicPrime.from_map(primal.DynamicPrime(2, 8, layer_norm=True)),
                "without layer_norm",
            ),
            (
                lambda: pt.PrimeFeatures.from_map(primal.KernelPrime(8, 8, form="offset")),
                r"form='offset'.*form=\"pair\"",
            ),
            (lambda: pt.PrimeFeatures.from_map(primal.KernelPrime(2, 7)), "even D"),
            (lambda: pt.PrimePositions(8).grow(16), "spacing 'log' depend on their number"),
        ],
    )
    def test_what_has_none_says_so(self, wrong, message):
        with pytest.raises(primal.PrimalError, match=message):
            wrong()


def test_positions_decode():
    t = torch.tensor([[0, 99], [5, 42]])
    for layer in (pt.StaticPrime(32), pt.PrimePositions(32).half(), pt.PrimePositions(32)):
        assert torch.equal(layer.decode(layer(t), n=100), t)


def test_the_paper_basis_warns_as_the_map_does():
    with pytest.warns(primal.errors.ConditioningWarning, match='basis="auto"'):
        pt.DynamicPrime(9, 32)


@pytest.mark.parametrize("arguments", [(2, 8, 1e301), (2, 8, -1.0), (2, 7), (0, 8), (2, 8, [1.0])])
def test_arguments_are_refused_as_the_map_refuses_them(arguments):
    """Also where scales end at which bits are defined."""
    messages = []
    for make in (primal.DynamicPrime, pt.DynamicPrime):
        with pytest.raises(primal.PrimalError) as error:
            make(*arguments)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_operators_pass_pytorchs_own_checks():
    """Schemas, fake tensors, autograd and compilation agree with what the operators do."""
    layer, codes = pt.DynamicPrime(3, 8, 0.1, basis="auto"), pt.StaticPrime(8)
    x, key, cpu = points(5, 3).float(), layer._table.key, torch.device("cpu")
    request = (0, 1.0, False)
    cases = {
        "increments": (codes._key, cpu),
        "frequencies": (key, cpu),
        "inverse_frequencies": (key, cpu),
        "static_codes": (torch.arange(3), codes.increments, False, torch.float32),
        "exact_features": (x.clone().requires_grad_(), key, 1.0, False, torch.float32),
        "fast_features": (x.clone().requires_grad_(), layer.frequencies, *request, torch.float32),
        "input_gradient": (torch.ones(5, 8), x, layer.frequencies, *request),
    }
    for name, arguments in cases.items():
        operator = getattr(torch.ops.primal, name).default
        assert set(torch.library.opcheck(operator, arguments).values()) == {"SUCCESS"}


def test_any_leading_shape():
    layer, codes = pt.DynamicPrime(3, 8), pt.StaticPrime(8)
    for shape in ((), (0,), (5,), (2, 1, 4)):
        assert layer(torch.zeros(*shape, 3)).shape == (*shape, 8)
        assert codes(torch.zeros(shape, dtype=torch.int32)).shape == (*shape, 8)


def test_strided_inputs():
    layer, x = pt.DynamicPrime(3, 8), points(4, 6)
    assert torch.equal(layer(x[:, ::2]), layer(x[:, ::2].clone()))


def test_decode_undoes_the_layer():
    x = points(20, 3).float() * 0.5
    for options in ({}, {"learnable_scale": "input"}, {"precision": "fast"}):
        layer = pt.DynamicPrime(3, 16, 0.1, basis="auto", **options)
        if layer.scale is not None:
            torch.nn.init.constant_(layer.scale, 1.25)
        found = layer.decode(layer(x).detach())
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, x, rtol=0, atol=1e-5)


def test_decode_of_learned_frequencies():
    layer = pt.DynamicPrime(
        2, 16, 0.1, basis="auto", precision="fast", learnable_frequencies=True, dtype=torch.float64
    )
    torch.nn.init.constant_(layer.frequency_shift, 0.01)
    x = points(5, 2) * 0.5
    torch.testing.assert_close(layer.decode(layer(x)), x, rtol=0, atol=1e-9)


def test_growth_keeps_what_is_frozen_and_the_mode():
    layer = pt.PrimeFeatures(2, 8, learnable_scale="input").eval()
    assert layer.grow(16).scale.requires_grad
    layer.scale.requires_grad_(False)
    grown = layer.grow(16)
    assert not grown.scale.requires_grad
    assert not grown.training


def test_growth_keeps_features_and_what_was_learned():
    x = points(4, 3)
    for options in (
        {"learnable_scale": "scalar"},
        {"learnable_scale": "frequency", "precision": "fast"},
        {"learnable_frequencies": True, "precision": "fast"},
    ):
        layer = pt.DynamicPrime(3, 8, 0.3, basis="auto", layout="interleaved", **options)
        for parameter in layer.parameters():
            torch.nn.init.constant_(parameter, 0.75)
        assert torch.equal(layer.grow(20)(x)[:, :8], layer(x))
    assert torch.equal(
        pt.StaticPrime(8, layout="interleaved").grow(12).waves(9)[:, :8],
        pt.StaticPrime(8, layout="interleaved").waves(9),
    )
    assert isinstance(pt.PrimeFeatures(3, 8).grow(10), pt.PrimeFeatures)


def test_a_parameter_learns():
    layer = pt.PrimeFeatures(2, 32, lengthscale=1.0, learnable_scale="scalar")
    x = points(16, 2).float()
    target = pt.PrimeFeatures(2, 32, lengthscale=0.8)(x)
    optimizer = torch.optim.Adam(layer.parameters(), 0.05)
    for _ in range(40):
        optimizer.zero_grad()
        loss = (layer(x) - target).square().sum()
        loss.backward()
        optimizer.step()
    assert abs(float(layer.scale.detach()) - 1.25) < 0.02


def test_representation_names_what_matters():
    text = repr(pt.PrimeFeatures(2, 8, learnable_scale="input", dtype=torch.bfloat16))
    for word in ("d=2, D=8", "kronecker", "interleaved", "exact", "bfloat16", "input", "gamma"):
        assert word in text
    assert "start=3" in repr(pt.StaticPrime(4, start=3))
    assert "learnable_frequencies" in repr(
        pt.DynamicPrime(2, 4, precision="fast", learnable_frequencies=True)
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: pt.DynamicPrime(2, 7), "6 or 8"),
        (lambda: pt.DynamicPrime(2, 8, dtype=torch.int32), "bfloat16.*got torch.int32"),
        (lambda: pt.DynamicPrime(2, 8, learnable_scale="all"), "'scalar', 'input', 'frequency'"),
        (lambda: pt.DynamicPrime(2, 8, learnable_frequencies=True), 'precision="fast"'),
        (lambda: pt.DynamicPrime(2, 8)(torch.zeros(3)), r"2 values.*\(3,\)"),
        (lambda: pt.DynamicPrime(2, 8)(torch.zeros(2) == 0), "torch.bool"),
        (lambda: pt.DynamicPrime(2, 8)([1.0, 2.0]), r"tensor, got list.*torch.as_tensor\(x\)"),
        (lambda: pt.DynamicPrime(2, 8)(np.zeros(2)), "must be a tensor, got ndarray"),
        (lambda: pt.DynamicPrime(2, 8)(torch.tensor([2**53 + 1, 0])), r"2\*\*53.*x.double\(\)"),
        (lambda: pt.DynamicPrime(2, 8)(torch.zeros(1, 2).to_sparse()), r"dense.*x.to_dense\(\)"),
        (lambda: pt.DynamicPrime(2, 8).decode([0.0] * 8), "z must be a tensor, got list"),
        (lambda: pt.DynamicPrime(2, 8).decode(torch.zeros(6)), r"8 values.*\(6,\)"),
        (lambda: pt.StaticPrime(8)(torch.zeros(2)), "t.long()"),
        (lambda: pt.StaticPrime(8)([1, 2]), r"tensor, got list.*torch.as_tensor\(t\)"),
        (lambda: pt.StaticPrime(8)(3), "must be a tensor, got int"),
        (lambda: pt.PrimePositions(8)(["2024-01-01"]), "must be a tensor, got list"),
        (lambda: pt.PrimeFeatures(2, 8, lengthscale=(1.0, 2.0, 3.0)), "lengthscale must"),
        (lambda: pt.PrimeFeatures(2, 8, gamma=1.0, lengthscale=1.0), "one of the two"),
        (lambda: pt.PrimeFeatures(2, 7), "6 or 8"),
        (lambda: pt.PrimeFeatures(2, 8, lengthscale=(1.0, -2.0)), r"lengthscale\[1\] must be pos"),
        (lambda: pt.StaticPrime(8).waves(-1), "at least 0, got -1"),
        (lambda: pt.StaticPrime(8).waves(2, offset=2**63), "got 9223372036854775808"),
        (lambda: pt.DynamicPrime(4, 6).decode(torch.zeros(6)), "D = 8 or more"),
        (lambda: pt.DynamicPrime(2, 8).grow(4), "cannot grow"),
        (lambda: pt.PrimeFeatures(2, 8, lengthscale=0.0), "lengthscale must be positive"),
    ],
)
def test_errors_say_what_to_do(wrong, message):
    with pytest.raises(primal.PrimalError, match=message):
        wrong()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler for Inductor")
@pytest.mark.filterwarnings("ignore")  # Inductor's own
def test_inductor_gives_the_same_bits():
    layer = pt.DynamicPrime(3, 18, 5.0, basis="auto")
    x = points(9, 3).float()
    torch.compiler.reset()
    assert torch.equal(torch.compile(layer, fullgraph=True)(x), layer(x))
