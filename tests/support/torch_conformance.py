"""What every PyTorch backend must do; a backend's test class inherits this.

The oracle is NumPy. There is no pytest in here, so that the same class runs as a plain script
on a machine that has none (``tests/gpu/run.py``).
"""

from __future__ import annotations

import hashlib
import warnings

import numpy as np
import torch

import primal
import primal.torch as pt
from primal._selftest import GOLDEN, sample_points
from primal.exact import BASES
from primal.maps import KERNELS

LAYOUTS = ("block", "interleaved")
NARROW = (torch.bfloat16, torch.float16)
# Two float32 roundings of waves (1.3e-7 each) and what "exact" and "fast" may be apart.
LARGEST_FAST_ERROR = 5e-7


def bits(z: torch.Tensor | np.ndarray) -> np.ndarray:
    array = z.detach().cpu().contiguous().numpy() if isinstance(z, torch.Tensor) else z
    return array.view({4: np.uint32, 8: np.uint64}[array.itemsize])


def numpy_map(*arguments, **options) -> primal.DynamicPrime:
    with warnings.catch_warnings():  # about the conditioning of the paper's basis
        warnings.simplefilter("ignore", primal.errors.ConditioningWarning)
        return primal.DynamicPrime(*arguments, **options)


def torch_layer(*arguments, **options) -> pt.DynamicPrime:
    """A layer with float32 features, as NumPy makes them from inputs of every type."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", primal.errors.ConditioningWarning)
        return pt.DynamicPrime(*arguments, **({"dtype": torch.float32} | options))


def mixed_rows(basis: primal.Basis, n: int) -> np.ndarray:
    """Rows with short phases and rows with phases up to 2**30 turns, side by side."""
    x = sample_points(n + 1, basis.d)[:n]
    log2_turns = np.array([-8, 14, 30, 0, 22])[np.arange(n) % 5]
    return x / 3.0 * (2.0**log2_turns / basis.table.l1_norms.max())[:, None]


class TorchConformance:
    """Subclasses say where layers live and how they are called."""

    device = "cpu"
    # rows, inputs, frequencies
    shapes = ((1, 1, 1), (7, 3, 9), (33, 20, 17), (70, 8, 65), (40, 130, 20))
    bases = tuple(BASES)
    kernel_sizes = (5, 6, 8)
    narrow = NARROW
    # A wrong rounding shows in z only where a wave is near zero: few in a million phases do.
    open_rows = 150

    def call(self, layer: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        return layer(x)

    def tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)

    def test_positions_have_numpys_bits(self):
        t = np.array([[0, 1, -1, 7], [10**12, -(2**63), 2**63 - 1, 123456789]])
        for D in (2, 70):
            for layout in LAYOUTS:
                for dtype, name in ((torch.float32, "float32"), (torch.float64, "float64")):
                    m = primal.StaticPrime(D, sigma=0.7, start=3, layout=layout)
                    layer = pt.StaticPrime(
                        D, sigma=0.7, start=3, layout=layout, device=self.device, dtype=dtype
                    )
                    found = self.call(layer, self.tensor(t))
                    np.testing.assert_array_equal(bits(found), bits(m.encode(t, dtype=name)))

    def test_ranges_have_numpys_bits(self):
        for n, D, offset in ((0, 4, 0), (1, 2, 5), (67, 70, 10**12), (3, 1030, -2)):
            for layout in LAYOUTS:
                m = primal.StaticPrime(D, layout=layout)
                layer = pt.StaticPrime(D, layout=layout, device=self.device)
                np.testing.assert_array_equal(
                    bits(layer.waves(n, offset=offset)), bits(m.waves(n, offset=offset))
                )

    def test_dynamic_has_numpys_bits(self):
        for basis in self.bases:
            for n, d, k in self.shapes:
                for layout in LAYOUTS:
                    m = numpy_map(d, 2 * k, 0.3, basis=basis, layout=layout)
                    layer = torch_layer(
                        d, 2 * k, 0.3, basis=basis, layout=layout, device=self.device
                    )
                    x = sample_points(n, d)
                    np.testing.assert_array_equal(
                        bits(self.call(layer, self.tensor(x))), bits(m.encode(x))
                    )

    def test_long_and_short_phases_side_by_side(self):
        for basis in self.bases:
            m = numpy_map(8, 34, 0.3, basis=basis)
            x = mixed_rows(m.basis, 61)
            layer = torch_layer(8, 34, 0.3, basis=basis, device=self.device)
            np.testing.assert_array_equal(bits(self.call(layer, self.tensor(x))), bits(m.encode(x)))

    def test_open_roundings_are_settled(self):
        """Phases as long as the float64 product serves: it would round some of them wrongly."""
        m = numpy_map(20, 128, 1.0, basis="table")
        x = sample_points(self.open_rows, 20)
        length = np.linalg.norm(x, axis=1).max()
        x *= 0.049 / (length * m.basis.table.product_errors.max() * 2.0**32)
        layer = torch_layer(20, 128, 1.0, basis="table", device=self.device)
        np.testing.assert_array_equal(bits(self.call(layer, self.tensor(x))), bits(m.encode(x)))

    def test_float64_has_numpys_bits(self):
        for basis in ("paper", "table", "hadamard"):
            m = numpy_map(5, 14, 0.3, basis=basis)
            layer = torch_layer(5, 14, 0.3, basis=basis, device=self.device, dtype=torch.float64)
            x = mixed_rows(m.basis, 21)
            found = self.call(layer, self.tensor(x))
            np.testing.assert_array_equal(bits(found), bits(m.encode(x, dtype="float64")))

    def test_narrow_types_are_the_float32_features_rounded(self):
        x = self.tensor(sample_points(9, 3).astype(np.float32))
        layer = torch_layer(3, 18, 0.4, device=self.device)
        codes = pt.StaticPrime(18, device=self.device)
        wide, wide_codes = self.call(layer, x), codes.waves(40)
        for dtype in self.narrow:
            found = self.call(layer.to(dtype), x)
            assert found.dtype == dtype
            assert torch.equal(found, wide.to(dtype))
            assert torch.equal(codes.to(dtype).waves(40), wide_codes.to(dtype))

    def test_narrow_inputs_mean_what_they_hold(self):
        layer = torch_layer(3, 18, 0.4, device=self.device)
        for dtype in NARROW:
            x = self.tensor(sample_points(9, 3)).to(dtype)
            np.testing.assert_array_equal(
                bits(self.call(layer, x)), bits(self.call(layer, x.double()))
            )

    def test_kernel_features_are_scaled_in_float32(self):
        layer = pt.PrimeFeatures(3, 26, lengthscale=1.5, device=self.device, dtype=torch.float32)
        m = numpy_map(3, 26, layer.basis.sigma, basis="auto", layout="interleaved")
        x = sample_points(11, 3)
        expected = m.encode(x) * np.float32(np.sqrt(2 / 26))
        np.testing.assert_array_equal(bits(self.call(layer, self.tensor(x))), bits(expected))

    def test_kernel_features_have_the_bits_of_the_core(self):
        """Every kernel; "auto" on both sides of its limit; one gamma, and one for each input."""
        for kernel in KERNELS:
            for d in self.kernel_sizes:
                for gamma in (0.3, np.linspace(0.1, 2.0, d).tolist()):
                    m = primal.KernelPrime(d, 2 * d + 6, kernel, gamma, form="pair")
                    options = {"device": self.device, "dtype": torch.float32}
                    x = sample_points(5, d).astype(np.float32)
                    for layer in (
                        pt.PrimeFeatures(d, 2 * d + 6, kernel, gamma, **options),
                        pt.PrimeFeatures.from_map(m, **options),
                    ):
                        found = bits(self.call(layer, self.tensor(x)))
                        np.testing.assert_array_equal(found, bits(m.encode(x)))

    def test_weighted_features_have_the_bits_of_the_core(self):
        for method in ("lattice", "spectral"):
            m = primal.KernelPrime(3, 26, gamma=[0.3, 0.5, 2.0], method=method)
            layer = pt.PrimeFeatures.from_map(m, device=self.device, dtype=torch.float32)
            x = sample_points(5, 3).astype(np.float32)
            found = bits(self.call(layer, self.tensor(x)))
            np.testing.assert_array_equal(found, bits(m.encode(x)))

    def test_rows_that_cannot_be_encoded_are_nan(self):
        rows = [[1.0, 2.0, 3.0], [np.nan, 0, 0], [0, np.inf, 0], [-1e300, 0, 0], [0, 0, 0]]
        x = self.tensor(np.array(rows))
        for precision in ("exact", "fast"):
            for dtype in (torch.float32, torch.float16, torch.float64):
                for layout in LAYOUTS:
                    options = {"precision": precision, "dtype": dtype, "layout": layout}
                    layer = torch_layer(3, 16, device=self.device, **options)
                    at = x.clone().requires_grad_()
                    z = self.call(layer, at)
                    assert z.isnan().all(dim=1).tolist() == [False, True, True, True, False]
                    assert not z[[0, 4]].isnan().any()
                    if precision == "exact":
                        assert torch.equal(z[[0, 4]], self.call(layer, x[[0, 4]]))

    def test_the_gradient_of_such_rows_is_nan(self):
        rows = [[1.0, 2.0, 3.0], [np.nan, 0, 0], [0, np.inf, 0], [1e30, 0, 0], [0, 0, 0]]
        for precision in ("exact", "fast"):
            layer = torch_layer(3, 16, precision=precision, device=self.device)
            x = self.tensor(np.array(rows, dtype=np.float32)).requires_grad_()
            self.call(layer, x).square().sum().backward()
            assert x.grad.isnan().all(dim=1).tolist() == [False, True, True, True, False]
            assert not x.grad[[0, 4]].isnan().any()

    def test_narrow_inputs_have_narrow_features(self):
        x = self.tensor(sample_points(9, 3).astype(np.float32))
        layer = pt.DynamicPrime(3, 18, 0.4, device=self.device)
        for dtype in (*self.narrow, torch.float64):
            found = self.call(layer, x.to(dtype))
            fixed = torch_layer(3, 18, 0.4, device=self.device, dtype=dtype)
            assert found.dtype == dtype
            assert torch.equal(found, self.call(fixed, x.to(dtype)))

    def test_fast_is_close_to_exact(self):
        for n, d, k in self.shapes:
            for layout in LAYOUTS:
                m = numpy_map(d, 2 * k, 0.3, basis="table", layout=layout)
                x = sample_points(n, d) * (2.0**18 / m.basis.table.l1_norms.max())
                x[::2] *= 2.0**-18
                layer = torch_layer(
                    d,
                    2 * k,
                    0.3,
                    basis="table",
                    layout=layout,
                    precision="fast",
                    device=self.device,
                )
                found = self.call(layer, self.tensor(x)).double().cpu().numpy()
                assert np.abs(found - m.encode(x)).max() <= LARGEST_FAST_ERROR

    def test_gradients_are_close_to_float64_ones(self):
        for n, d, k in self.shapes:
            for layout in LAYOUTS:
                for precision in ("exact", "fast"):
                    options = {"basis": "table", "layout": layout, "precision": precision}
                    layer = torch_layer(d, 2 * k, 0.3, **options, device=self.device)
                    oracle = torch_layer(d, 2 * k, 0.3, **options, dtype=torch.float64)
                    x = sample_points(n, d).astype(np.float32)
                    weights = sample_points(n, 2 * k)
                    at = self.tensor(x).requires_grad_()
                    (self.call(layer, at) * self.tensor(weights)).sum().backward()
                    true = torch.from_numpy(x).double().requires_grad_()
                    (oracle(true) * torch.from_numpy(weights)).sum().backward()
                    error = (at.grad.double().cpu() - true.grad).abs().max()
                    assert error <= 3e-6 * max(1.0, float(true.grad.abs().max()))

    def test_golden_digests(self):
        codes = pt.StaticPrime(64, device=self.device).waves(500, offset=10**12)
        assert digest(codes) == GOLDEN["StaticPrime(64) at positions from 10**12"]
        for basis in self.bases:
            layer = torch_layer(20, 96, 0.3, basis=basis, layout="interleaved", device=self.device)
            z = self.call(layer, self.tensor(sample_points(200, 20)))
            assert digest(z) == GOLDEN[f"DynamicPrime(20, 96, 0.3), basis {basis}"]


def digest(z: torch.Tensor) -> str:
    return hashlib.sha256(z.cpu().numpy().astype("<f4").tobytes()).hexdigest()
