"""Positions: exact phases in every type, rotations against a peer, and the experiment."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from positions_conformance import (  # noqa: E402
    FAR,
    PositionsConformance,
    float64_rotation,
)

import primal  # noqa: E402
import primal.torch as pt  # noqa: E402
from primal.exact import SPACINGS  # noqa: E402
from primal.maps import LAYOUTS  # noqa: E402
from primal.torch import PrimePositions, rotate  # noqa: E402


class TestCpu(PositionsConformance):
    pass


class TestCompiled(PositionsConformance):
    def cases(self):
        yield PrimePositions(32, layout="interleaved")

    def rotate(self, positions, q, k, places):
        torch.compiler.reset()
        compiled = torch.compile(positions.rotary, fullgraph=True, backend="aot_eager")
        return compiled(q, k, places, seq_dim=-2)


class TestAutocast(PositionsConformance):
    def rotate(self, positions, q, k, places):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return positions.rotary(q, k, places, seq_dim=-2)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here; see tests/gpu/run.py")
class TestCuda(PositionsConformance):
    device = "cuda"


class TestAbsolute:
    @pytest.mark.parametrize(("D", "base"), [(2, 10000.0), (64, 10000.0), (128, 500000.0)])
    def test_radians_are_those_of_standard_rotary_embeddings(self, D, base):
        positions = PrimePositions(D, spacing="rotary", base=base)
        radians, k = positions.radians.numpy(), D // 2
        expected = base ** (-2 * np.arange(k) / D)
        # Half of 2**-64 turn, and a few roundings of float64.
        assert np.abs(radians - expected).max() < 2.0**-51
        assert (np.abs(radians - expected) <= np.pi * 2.0**-64 + 2.0**-51 * expected).all()
        turns = positions.frequencies.numpy()
        np.testing.assert_allclose(2 * np.pi * turns, radians, rtol=1e-15)

    def test_raw_codes_are_static_primes(self):
        t = torch.tensor([[0, 5], [10**9, -3]])
        for layout in LAYOUTS:
            positions = PrimePositions(32, spacing="raw", sigma=0.5, start=2, layout=layout)
            layer = pt.StaticPrime(32, sigma=0.5, start=2, layout=layout)
            assert torch.equal(positions(t), layer(t))

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_turning_a_code_moves_its_position(self, layout):
        positions = PrimePositions(32, layout=layout, dtype=torch.float64)
        here, there = positions(torch.tensor([3])), positions(torch.tensor([10**9]))
        moved = rotate(here, there, layout=layout)
        torch.testing.assert_close(moved, positions(torch.tensor([10**9 + 3])))

    def test_only_log_codes_know_nearness(self):
        lags = torch.tensor([0, 1, 8, 1000])
        similarity = {
            spacing: (lambda z: (z @ z[0] / 64).tolist())(
                PrimePositions(128, spacing=spacing)(lags)
            )
            for spacing in SPACINGS
        }
        assert (
            similarity["log"][1] > 0.95 > 0.75 > similarity["log"][2] > similarity["log"][3] + 0.4
        )
        assert max(abs(value) for value in similarity["raw"][1:]) < 0.15

    def test_casts_round_codes_and_nothing_else(self):
        positions = PrimePositions(16)
        t = torch.tensor([1, 10**9])
        expected = positions(t)
        assert torch.equal(positions.half()(t), expected.half())
        assert torch.equal(positions.float()(t), expected)
        assert "spacing=log, base=10000.0" in repr(positions)


class TestBothDoors:
    """Positions mean one thing: the bits of scikit-learn and of the core are these."""

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"spacing": "raw", "start": 3, "sigma": 0.5},
            {"spacing": "rotary", "base": 500.0},
            {"trained_length": 777},
            {"trained_length": 777, "turning": 0.5},
            {"spacing": "kronecker", "sigma": 1e-3},
        ],
    )
    def test_same_arguments_have_the_same_bits(self, options):
        sklearn = pytest.importorskip("primal.sklearn", reason="scikit-learn is not installed")
        t = FAR
        found = PrimePositions(32, **options)(torch.from_numpy(t)).numpy()
        table = sklearn.PrimePositions(32, **options).fit_transform(t[:, None])
        np.testing.assert_array_equal(found.view(np.uint32), table.view(np.uint32))
        m = primal.StaticPrime(32, **({"spacing": "log", "layout": "interleaved"} | options))
        np.testing.assert_array_equal(found.view(np.uint32), m.encode(t).view(np.uint32))

    @pytest.mark.parametrize("spacing", ["raw", "kronecker"])
    def test_a_base_without_effect_is_rejected(self, spacing):
        sklearn = pytest.importorskip("primal.sklearn", reason="scikit-learn is not installed")
        options = {"spacing": spacing, "base": 500.0}
        for make in (
            lambda: PrimePositions(32, **options),
            lambda: sklearn.PrimePositions(32, **options).fit([[1]]),
        ):
            with pytest.raises(
                primal.errors.ParameterError, match=r"base .*got 500\.0 with.*leave it out"
            ):
                make()


class TestRotary:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_scores_depend_on_the_lag_only(self, layout):
        positions = PrimePositions(32, layout=layout)
        q, k = _heads(2, 5, 32)
        near = _scores(*positions.rotary(q, k, seq_dim=-2))
        far = _scores(*positions.rotary(q, k, offset=10**9, seq_dim=-2))
        torch.testing.assert_close(near, far, rtol=0, atol=1e-5)

    def test_a_cache_gives_what_the_whole_sequence_gives(self):
        positions = PrimePositions(32)
        q, k = _heads(2, 9, 32)
        whole = positions.rotary(q, k, seq_dim=-2)
        for offset in (5, torch.tensor(5)):
            later = positions.rotary(q[..., 5:, :], k[..., 5:, :], offset=offset, seq_dim=-2)
            assert torch.equal(later[0], whole[0][..., 5:, :])
            assert torch.equal(later[1], whole[1][..., 5:, :])

    def test_positions_of_each_sequence(self):
        positions = PrimePositions(8)
        q, k = _heads(2, 3, 8)
        places = torch.tensor([[0, 1, 2], [7, 8, 9]])[:, None]  # batch, heads, positions
        both = positions.rotary(q, k, places, seq_dim=-2)[0]
        assert torch.equal(both[0], positions.rotary(q[:1], k[:1], seq_dim=-2)[0][0])
        assert torch.equal(both[1], positions.rotary(q[1:], k[1:], offset=7, seq_dim=-2)[0][0])

    def test_fewer_heads_of_keys(self):
        positions = PrimePositions(8)
        q, k = _heads(2, 3, 8)
        assert torch.equal(
            positions.rotary(q, k[:, :1], seq_dim=-2)[1],
            positions.rotary(q, k, seq_dim=-2)[1][:, :1],
        )

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_gradients(self, layout):
        positions = PrimePositions(6, layout=layout)
        q, k = (x.double().requires_grad_() for x in _heads(1, 3, 6))
        assert torch.autograd.gradcheck(
            lambda q, k: positions.rotary(q, k, offset=77, seq_dim=-2), (q, k)
        )

    def test_a_changing_offset_is_compiled_once(self):
        positions = PrimePositions(8)
        q, k = _heads(1, 2, 8)
        torch.compiler.reset()
        testing = importlib.import_module("torch._dynamo.testing")
        counter = testing.CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(positions.rotary, fullgraph=True, backend=counter)
        for offset in (torch.tensor(3), torch.tensor(10**9)):
            expected = positions.rotary(q, k, offset=offset, seq_dim=-2)
            assert torch.equal(compiled(q, k, offset=offset, seq_dim=-2)[0], expected[0])
        assert counter.frame_count == 1

    def test_partial_rotation_leaves_the_other_columns(self):
        q, k = _heads(2, 5, 12)
        partial, whole = PrimePositions(8, head_dim=12), PrimePositions(8)
        found = partial.rotary(q, k, seq_dim=-2)
        expected = whole.rotary(q[..., :8], k[..., :8], seq_dim=-2)
        for one, turned, before in zip(found, expected, (q, k), strict=True):
            assert torch.equal(one[..., :8], turned)
            assert torch.equal(one[..., 8:], before[..., 8:])

    def test_one_tensor_alone(self):
        positions = PrimePositions(8)
        q, k = _heads(2, 5, 8)
        both = positions.rotary(q, k, seq_dim=-2)
        assert torch.equal(positions.rotate(k, seq_dim=-2), both[1])
        last = positions.rotate(q[..., 3:, :], seq_dim=-2, offset=3)
        assert torch.equal(last, both[0][..., 3:, :])
        own = torch.tensor([4, 0, 2, 3, 1])
        turned = positions.rotate(q[..., own, :], own, seq_dim=-2)
        assert torch.equal(turned, both[0][..., own, :])

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda p, q: p.rotary(q, q, torch.tensor([0.5, 1.0])), "positions must be integers"),
            (lambda p, q: p.rotary(q, q, [0, 1]), "positions must be a tensor, got list"),
            (lambda p, q: p.rotary(q, q, offset=0.5), "offset must be a whole number"),
            (lambda p, q: p.rotary(q, q[:1]), r"q has 2 positions and k has 1.*rotate"),
            (lambda p, q: p.rotary(q, q, torch.arange(3)), r"shape \(3,\) do not fit.*\(2,\)"),
            (lambda p, q: p.rotary(q[..., :4], q), "must have 8 columns.*head_dim"),
            (lambda p, q: p.rotary(q.tolist(), q), "must be a tensor, got list"),
            (lambda p, q: p.rotary(q, q.tolist()), "must be a tensor, got list"),
            (lambda p, q: p.rotary(q.long(), q), "must be floating, got torch.int64"),
            (lambda p, q: p.rotary(q[0], q[0]), r"axes for positions and columns, got \(8,\)"),
            (lambda p, q: p.rotary(q, q, seq_dim=-1), r"seq_dim=-1 is no axis.*\(2, 8\)"),
            (lambda p, q: p.rotary(q, q, seq_dim=3), "seq_dim=3 is no axis"),
            (lambda p, q: rotate(q, q, layout="x"), "layout must"),
            (lambda p, q: PrimePositions(8, head_dim=6), "head_dim must be at least D = 8, got 6"),
        ],
    )
    def test_errors(self, call, message):
        with pytest.raises(primal.PrimalError, match=message):
            call(PrimePositions(8), torch.zeros(2, 8))


class TestAxes:
    """Which axis has the positions is said, never guessed."""

    batch, heads, n = 3, 3, 5  # as many sequences as heads: shapes alone cannot tell

    def heads_first(self):
        generator = torch.Generator().manual_seed(1)
        return torch.randn(self.batch, self.heads, self.n, 8, generator=generator)

    def test_no_axis_is_guessed(self):
        positions = PrimePositions(8)
        for q in (self.heads_first(), self.heads_first()[0]):
            for call in (lambda q: positions.rotary(q, q), positions.rotate):
                with pytest.raises(
                    primal.errors.DataError, match=r"3, 5, 8\).*seq_dim=-2.*seq_dim=-3"
                ):
                    call(q)

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_heads_after_positions(self, layout):
        positions = PrimePositions(8, layout=layout)
        q = self.heads_first()
        for places in (None, torch.tensor([3, 1, 4, 1, 5])):
            first = positions.rotate(q, places, seq_dim=-2)
            after = positions.rotate(q.transpose(1, 2), places, seq_dim=-3)
            assert torch.equal(after, first.transpose(1, 2))
            assert torch.equal(positions.rotate(q.transpose(1, 2), places, seq_dim=1), after)

    def test_two_axes_are_a_batch_and_its_positions(self):
        positions = PrimePositions(8)
        q = self.heads_first()
        places = torch.arange(self.batch * self.n).reshape(self.batch, self.n) ** 2
        each = [positions.rotate(one, row, seq_dim=-2) for one, row in zip(q, places, strict=True)]
        expected = torch.stack(each)
        assert torch.equal(positions.rotate(q, places, seq_dim=-2), expected)
        after = positions.rotate(q.transpose(1, 2), places, seq_dim=-3)
        assert torch.equal(after, expected.transpose(1, 2))
        both = positions.rotary(q, q[:, :1], places, seq_dim=-2)  # one head of keys
        assert torch.equal(both[0], expected)
        assert torch.equal(both[1], expected[:, :1])

    def test_one_position_for_each_entry(self):
        positions = PrimePositions(8)
        q = self.heads_first()
        of_heads = torch.arange(self.heads * self.n).reshape(1, self.heads, self.n)
        found = positions.rotate(q, of_heads, seq_dim=-2)
        for head in range(self.heads):
            expected = positions.rotate(q[:, head], of_heads[0, head], seq_dim=-2)
            assert torch.equal(found[:, head], expected)
        same = positions.rotate(q, torch.tensor(7), seq_dim=-2)
        assert torch.equal(same, positions.rotate(q, torch.full((self.n,), 7), seq_dim=-2))

    @pytest.mark.parametrize(
        ("shape", "seq_dim"),
        [((3, 4), -2), ((2, 5), -2), ((5, 1), -2), ((1, 1), -2), ((3, 3, 5, 1), -2), ((5, 3), -3)],
    )
    def test_what_does_not_fit_is_refused_with_both_shapes(self, shape, seq_dim):
        q = self.heads_first() if seq_dim == -2 else self.heads_first().transpose(1, 2)
        with pytest.raises(primal.errors.DataError) as error:
            PrimePositions(8).rotate(q, torch.zeros(shape, dtype=torch.long), seq_dim=seq_dim)
        assert f"positions of shape {shape}" in str(error.value)
        assert f"a tensor of shape {tuple(q.shape)}" in str(error.value)

    def test_codes_are_not_guessed_either(self):
        codes = PrimePositions(8)(torch.arange(15).reshape(3, 5))
        with pytest.raises(
            primal.errors.DataError, match=r"\(3, 5, 8\) do not fit.*\(3, 3, 5, 8\)"
        ):
            rotate(self.heads_first(), codes)


class TestAgainstRotaryEmbeddingTorch:
    """The peer takes our frequencies; both are compared with the rotation in float64."""

    def peer(self, positions):
        module = pytest.importorskip(
            "rotary_embedding_torch", reason="rotary-embedding-torch is not installed"
        )
        frequencies = positions.radians.float()
        # A fresh one for each type: it keeps the angles of the first.
        return lambda q: module.RotaryEmbedding(
            dim=64, custom_freqs=frequencies
        ).rotate_queries_or_keys(q)

    def errors(self, dtype, n):
        positions = PrimePositions(64, layout="interleaved")
        torch.manual_seed(0)
        q = torch.randn(1, 2, n, 64).to(dtype)
        true = float64_rotation(positions, q, torch.arange(n))
        ours, _ = positions.rotary(q, q, seq_dim=-2)
        peers = self.peer(positions)(q)
        return [float((x.double() - true).abs().max() / true.abs().max()) for x in (ours, peers)]

    def test_equal_in_float32(self):
        ours, peers = self.errors(torch.float32, 64)
        assert ours < 3e-7
        assert peers < 3e-6  # its angles are rounded to float32

    def test_right_in_narrow_types_where_the_peer_is_off(self):
        for dtype, rounding in ((torch.bfloat16, 2**-8), (torch.float16, 2**-11)):
            ours, peers = self.errors(dtype, 4096)
            assert ours < rounding * 1.001  # that of the type, and nothing else
            assert peers > 0.5

    def test_phases_near_a_billion(self):
        positions = PrimePositions(64, layout="interleaved")
        q = torch.ones(1, len(FAR), 64)
        places = torch.from_numpy(FAR)
        true = float64_rotation(positions, q, places)
        turned = positions.rotate(q, places, seq_dim=-2)
        assert (turned.double() - true).abs().max() < 1e-6
        angles = places.float()[:, None] * positions.radians.float()
        assert (angles.double().cos() - true[0, :, 0::2]).abs().max() > 0.5


class TestStandardRotary:
    def test_weights_trained_with_it_keep_their_scores(self):
        """The rotation as other libraries write it, in float64 and with their frequencies."""
        n, D = 512, 64
        inverse = 10000.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
        places = torch.arange(n) * 77
        angles = places[:, None].double() * inverse
        cos, sin = (torch.cat((w, w), -1) for w in (angles.cos(), angles.sin()))
        generator = torch.Generator().manual_seed(0)
        q = torch.randn(n, D, generator=generator, dtype=torch.float64)
        first, second = q.chunk(2, -1)
        expected = q * cos + torch.cat((-second, first), -1) * sin
        found = PrimePositions(D, spacing="rotary", layout="block").rotate(q, places)
        assert (found - expected).abs().max() < 1e-10
        near = PrimePositions(D, layout="block").rotate(q, places)
        assert (near - expected).abs().max() > 1.0  # "log" is another model at these positions


class TestTrainedLength:
    def test_every_frequency_turns_within_it_and_none_beyond_half_a_turn(self):
        for D, length in ((16, 64), (64, 256), (128, 131_072)):
            f = PrimePositions(D, trained_length=length).frequencies.abs()
            assert f[: 3 * D // 8].all()  # three quarters of the pairs turn
            assert not f[3 * D // 8 :].any()
            f = f[f > 0]
            assert float(f.min()) * length >= 1.0
            assert float(f.min()) * length < 1.002
            assert 0.499 < float(f.max()) <= 0.5

    def test_longer_contexts_keep_weights_and_phases(self):
        """Stretched frequencies are given ones: integers from there on, in every type."""
        layer = PrimePositions(64, spacing="rotary", layout="block", head_dim=80)
        for method in ("yarn", "ntk", "linear"):
            longer = layer.stretched(8.0, trained_length=2048, method=method)
            assert longer.head_dim == 80
            assert longer.layout == "block"
            t = torch.tensor([10**12 + 3])
            expected = [int(i) * (10**12 + 3) % 2**64 for i in longer.increments]
            for dtype in (torch.float32, torch.bfloat16, torch.float16):
                turns = longer.to(dtype).turns(t)[0]
                assert [int(v) % 2**64 for v in turns] == expected
            again = pt.PrimePositions.from_map(primal.from_spec(longer.spec), head_dim=80)
            assert torch.equal(again.increments, longer.increments)

    def test_still_pairs_stay_as_they_are(self):
        q = torch.randn(1, 5, 16, generator=torch.Generator().manual_seed(0)).bfloat16()
        layer = PrimePositions(16, trained_length=64, turning=0.5, layout="block")
        found = layer.rotate(q, torch.arange(5) + 10**9, seq_dim=-2)
        still = [4, 5, 6, 7, 12, 13, 14, 15]
        assert torch.equal(found[..., still], q[..., still])
        assert not torch.equal(found[..., 0], q[..., 0])
        longer = layer.stretched(4.0).frequencies
        assert not longer[4:].any()
        assert (longer[:4] > 0).sum() >= 3

    def test_the_length_of_the_layer_is_the_default(self):
        layer = PrimePositions(16, trained_length=256)
        expected = layer.stretched(2.0, trained_length=256)
        assert torch.equal(layer.stretched(2.0).increments, expected.increments)
        with pytest.raises(primal.PrimalError, match="trained_length of the model is needed"):
            PrimePositions(16).stretched(2.0)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32], ids=str)
def test_positions_of_narrow_types_do_not_wrap(dtype):
    layer, x = PrimePositions(16), torch.ones(3, 16)
    last = torch.iinfo(dtype).max
    expected = layer.rotate(x, torch.arange(3) + last)
    places = torch.arange(3, dtype=dtype)
    for offset in (last, torch.tensor(last, dtype=dtype)):
        assert torch.equal(layer.rotate(x, places, offset=offset), expected)
    assert torch.equal(layer.rotate(x, places, offset=-2), layer.rotate(x, torch.arange(3) - 2))


def _heads(batch: int, n: int, D: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(n)
    q, k = torch.randn(2, batch, 3, n, D, generator=generator)
    return q, k


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q @ k.transpose(-1, -2)
