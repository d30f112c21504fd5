"""What positions must do on every device; a test class for a device inherits these.

There is no pytest in here, so that the same class runs as a plain script on a machine that has
none (``tests/gpu/run.py``).
"""

from __future__ import annotations

import os
from contextlib import contextmanager

import numpy as np
import torch

from primal.exact import round_turns, static_turns, waves
from primal.torch import PrimePositions

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
FAR = np.array([0, 1, -1, 10**9 - 1, 10**9 + 12345, 10**12, 2**62 + 3], dtype=np.int64)


def numpy_waves(positions: PrimePositions, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and sines that NumPy gives for the same increments."""
    increments = positions.increments.cpu().numpy().view(np.uint64)
    return waves(round_turns(static_turns(t.view(np.uint64), increments)))


def float64_rotation(positions: PrimePositions, q: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return q (..., n, D) turned in float64, by angles reduced in 64-bit integers."""
    angles = positions.turns(t).double() * (2.0 * np.pi * 2.0**-64)
    cos, sin = angles.cos(), angles.sin()
    half = q.shape[-1] // 2
    first, second = (
        (slice(None, half), slice(half, None))
        if positions.layout == "block"
        else (slice(0, None, 2), slice(1, None, 2))
    )
    a, b = q.double()[..., first], q.double()[..., second]
    out = torch.empty_like(q, dtype=torch.float64)
    out[..., first], out[..., second] = a * cos - b * sin, a * sin + b * cos
    return out


class PositionsConformance:
    """Subclasses say where modules live and how a rotation is called."""

    device = "cpu"
    dtypes = DTYPES

    def rotate(self, positions, q, k, places):
        return positions.rotary(q, k, places, seq_dim=-2)

    def cases(self):
        for layout in ("block", "interleaved"):
            for spacing in ("log", "raw"):
                yield PrimePositions(32, spacing=spacing, layout=layout, device=self.device)

    def places(self) -> torch.Tensor:
        return torch.from_numpy(FAR).to(self.device)

    def test_phases_have_numpys_bits(self):
        for positions in self.cases():
            for dtype in self.dtypes:
                found = positions.to(dtype).turns(self.places()).cpu().numpy().view(np.uint64)
                increments = positions.increments.cpu().numpy().view(np.uint64)
                expected = static_turns(FAR.view(np.uint64), increments)
                np.testing.assert_array_equal(found, expected)

    def test_rotations_have_numpys_waves_in_every_type(self):
        """A rotated (1, 0) is the cosine and the sine, rounded to the type and not before."""
        for positions in self.cases():
            cos, sin = (torch.from_numpy(w) for w in numpy_waves(positions, FAR))
            for dtype in self.dtypes:
                model = positions.to(dtype)
                q = torch.zeros(2, 3, len(FAR), 32, dtype=dtype, device=self.device)
                half = model.layout == "block"
                q[..., slice(None, 16) if half else slice(0, None, 2)] = 1.0
                parts = (cos, sin)
                joined = torch.cat(parts, -1) if half else torch.stack(parts, -1).flatten(-2)
                for found in self.rotate(model, q, q, self.places()):
                    assert found.dtype == dtype
                    assert torch.equal(found.cpu(), joined.to(dtype).expand(found.shape))

    def test_rotations_are_close_to_float64_ones(self):
        generator = torch.Generator().manual_seed(0)
        q, k = torch.randn(2, 2, 3, len(FAR), 32, generator=generator).to(self.device)
        for positions in self.cases():
            for dtype in self.dtypes:
                rounding = torch.finfo(dtype).eps / 2
                x, y = q.to(dtype), k.to(dtype)
                rotated = self.rotate(positions, x, y, self.places())
                for found, given in zip(rotated, (x, y), strict=True):
                    true = float64_rotation(positions, given, self.places())
                    # Float32 waves and products, then one rounding to the type.
                    allowed = 2e-6 + rounding * true.abs()
                    assert ((found.double() - true).abs() <= allowed).all()


class RotaryConformance:
    """What the fused kernel must do besides: the bits of plain PyTorch, every shape, gradients."""

    device = "cpu"
    dtypes = DTYPES

    def shapes(self):
        """Yield q, k, positions and seq_dim of tensors that the kernel takes."""
        n, batch = 5, 2
        packed = torch.tensor([[0, 1, 2, 0, 1], [7, 10**12, -3, 2**40 + 1, 6]])
        for t in (torch.arange(n) + 10**12, packed):
            yield (batch, 4, n, 12), (batch, 2, n, 12), t, -2
            yield (batch, n, 4, 12), (batch, n, 1, 12), t, -3
        yield (n, 12), (n, 12), torch.arange(n), None
        yield (3, n, 12), (1, n, 12), torch.arange(n), -2
        yield (1, 20, 33, 12), (1, 5, 33, 12), torch.arange(33) * 977, -2
        yield (batch, 0, n, 12), (batch, 2, n, 12), torch.arange(n), -2

    def test_the_kernel_has_the_bits_of_plain_pytorch(self):
        for layout in ("block", "interleaved"):
            for D in (8, 12):  # some columns stay, or none; both not a power of two in pairs
                layer = PrimePositions(D, layout=layout, head_dim=12, trained_length=64)
                for q_shape, k_shape, t, seq_dim in self.shapes():
                    for dtype in self.dtypes:
                        q, k = (
                            random_like(shape, dtype, self.device) for shape in (q_shape, k_shape)
                        )
                        place = t.to(self.device)
                        found = layer.rotary(q, k, place, seq_dim=seq_dim)
                        with plain_pytorch():
                            expected = layer.rotary(q, k, place, seq_dim=seq_dim)
                        for one, other in zip(found, expected, strict=True):
                            assert torch.equal(one, other)
                        assert torch.equal(layer.rotate(q, place, seq_dim=seq_dim), found[0])

    def test_the_kernel_takes_strides(self):
        layer = PrimePositions(8, layout="block")
        qkv = random_like((2, 5, 3, 4, 8), torch.float32, self.device)
        q, k, _ = qkv.permute(2, 0, 3, 1, 4)  # as from one projection
        found = layer.rotary(q, k, seq_dim=-2)
        expected = layer.rotary(q.contiguous(), k.contiguous(), seq_dim=-2)
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
        # Pairs of 16-bit columns that are no whole words, for their rows or their start.
        for dtype in self.dtypes:
            for x in (
                random_like((2, 3, 5, 9), dtype, self.device),
                random_like((2 * 3 * 5 * 8 + 1,), dtype, self.device)[1:].view(2, 3, 5, 8),
            ):
                odd = PrimePositions(8, head_dim=x.shape[-1])
                found = odd.rotate(x, seq_dim=-2)
                with plain_pytorch():
                    assert torch.equal(found, odd.rotate(x, seq_dim=-2))

    def test_gradients_are_rotations_back(self):
        layer = PrimePositions(8, head_dim=12)
        place = torch.tensor([3, 10**12, -5], device=self.device)
        q, k = (random_like((2, h, 3, 12), torch.float32, self.device) for h in (4, 1))
        q.requires_grad_(), k.requires_grad_()
        of_q, of_k = (random_like(x.shape, torch.float32, self.device) for x in (q, k))
        turned = layer.rotary(q, k, place, seq_dim=-2)
        found = torch.autograd.grad(turned, (q, k), (of_q, of_k), create_graph=True)
        with plain_pytorch():
            plain = layer.rotary(q, k, place, seq_dim=-2)
            expected = torch.autograd.grad(plain, (q, k), (of_q, of_k))
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one, other)
        # Turned back and forth: where it came from.
        torch.testing.assert_close(layer.rotary(*found, place, seq_dim=-2)[0], of_q)
        _, tangent = torch.func.jvp(lambda x: layer.rotate(x, place, seq_dim=-2), (q,), (of_q,))
        assert torch.equal(tangent, layer.rotate(of_q, place, seq_dim=-2))
        each = torch.func.vmap(lambda x: layer.rotate(x, place, seq_dim=-2))(q)
        assert torch.equal(each, turned[0])


@contextmanager
def plain_pytorch():
    """Leave Triton's kernels out."""
    before = os.environ.get("PRIMAL_TORCH", "auto")
    os.environ["PRIMAL_TORCH"] = "eager"
    try:
        yield
    finally:
        os.environ["PRIMAL_TORCH"] = before


def random_like(shape, dtype: torch.dtype, device: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(int(np.prod(shape)))
    return torch.randn(shape, generator=generator).to(device, dtype)
