"""Positions: exact phases in every type, rotations against a peer, and the experiment."""

from __future__ import annotations

import importlib
import json
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import primal  # noqa: E402
import primal.torch as pt  # noqa: E402
from positions_conformance import (  # noqa: E402
    NEAR_A_BILLION,
    PositionsConformance,
    float64_rotation,
)
from primal.torch import PrimePositions  # noqa: E402
from primal.torch._rotary import PAIRINGS, rotary, rotate  # noqa: E402
from primal.torch._spacing import SPACINGS, _grid_primes, spaced_increments  # noqa: E402


class TestCpu(PositionsConformance):
    pass


class TestCompiled(PositionsConformance):
    def cases(self):
        yield PrimePositions(32, pairing="interleaved")

    def rotate(self, positions, q, k, places):
        torch.compiler.reset()
        compiled = torch.compile(positions.rotary, fullgraph=True, backend="aot_eager")
        return compiled(q, k, places)


class TestAutocast(PositionsConformance):
    def rotate(self, positions, q, k, places):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return positions.rotary(q, k, places)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here; see tests/gpu/run.py")
class TestCuda(PositionsConformance):
    device = "cuda"


class TestSpacing:
    def test_log_frequencies_are_the_grid_of_rotary_embeddings(self):
        for k in (1, 16, 64, 1024):
            found = spaced_increments(k) / 2.0**64 * (2 * np.pi)
            grid = 10000.0 ** (-np.arange(k) / k)
            assert np.abs(found / grid - 1).max() < 1 / 4000

    def test_log_increments_are_exact_roots_of_distinct_primes(self):
        p, s = _grid_primes(64, Decimal(10000))
        assert len(set(p.tolist())) == 64
        assert set(p.tolist()) <= set(primal.primes(28_000).tolist())
        exact = [math.isqrt(int(q) << (128 - 2 * int(e))) for q, e in zip(p, s, strict=True)]
        assert spaced_increments(64).tolist() == exact

    def test_equal_grid_points_get_different_primes(self):
        # With base 16 and k = 4, every grid point is half the one before: the same digits.
        p, s = _grid_primes(4, Decimal(16))
        assert len(set(p.tolist())) == 4
        assert s.tolist() == [11, 12, 13, 14]

    @given(k=st.integers(1, 40), base=st.floats(1.01, 1e15))
    def test_log_frequencies_fall(self, k, base):
        values = spaced_increments(k, base=base)
        # Neighbours of a very dense grid may swap by the distance between primes.
        ratio = values[1:].astype(np.float64) / values[:-1].astype(np.float64)
        assert (np.abs(ratio * base ** (1 / k) - 1) < 1e-3).all()

    def test_raw_and_kronecker(self):
        assert np.array_equal(spaced_increments(9, "raw", start=4), primal.increments(9, start=4))
        one = int(primal.increments(1, sigma=0.3)[0])
        expected = [j * one % 2**64 for j in range(1, 8)]
        assert spaced_increments(7, "kronecker", sigma=0.3).tolist() == expected

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"k": 0}, "k must be at least 1, got 0"),
            ({"k": 4, "spacing": "linear"}, "spacing must be one of 'log', 'raw', 'kronecker'"),
            ({"k": 4, "start": 2}, "leave it out"),
            ({"k": 4, "base": 1.0}, "base must lie above 1 and up to 1e15, got 1.0"),
            ({"k": 5000}, "at most 4096 frequencies, got 5000"),
            ({"k": 4, "sigma": -1.0}, "sigma must be positive"),
        ],
    )
    def test_errors(self, arguments, message):
        with pytest.raises(primal.PrimalError, match=message):
            spaced_increments(**arguments)


class TestAbsolute:
    def test_raw_codes_are_static_primes(self):
        t = torch.tensor([[0, 5], [10**9, -3]])
        for pairing, layout in (("half", "block"), ("interleaved", "interleaved")):
            positions = PrimePositions(32, spacing="raw", sigma=0.5, start=2, pairing=pairing)
            layer = pt.StaticPrime(32, sigma=0.5, start=2, layout=layout)
            assert torch.equal(positions(t), layer(t))

    @pytest.mark.parametrize("pairing", PAIRINGS)
    def test_turning_a_code_moves_its_position(self, pairing):
        positions = PrimePositions(32, pairing=pairing, dtype=torch.float64)
        here, there = positions(torch.tensor([3])), positions(torch.tensor([10**9]))
        moved = rotate(here, there, pairing=pairing)
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

    def test_state_casts_and_the_meta_device(self):
        positions = PrimePositions(16)
        t = torch.tensor([1, 10**9])
        expected = positions(t)
        assert len(positions.state_dict()) == 0
        assert torch.equal(positions.half()(t), expected.half())
        assert torch.equal(positions.float()(t), expected)
        with torch.device("meta"):
            later = PrimePositions(16)
        later = later.to_empty(device="cpu")
        later.reset_buffers()
        assert torch.equal(later(t), expected)
        assert "spacing='log', sigma=1.0, base=10000.0" in repr(positions)


class TestRotary:
    @pytest.mark.parametrize("pairing", PAIRINGS)
    def test_scores_depend_on_the_lag_only(self, pairing):
        positions = PrimePositions(32, pairing=pairing)
        q, k = _heads(2, 5, 32)
        near = _scores(*positions.rotary(q, k))
        far = _scores(*positions.rotary(q, k, offset=10**9))
        torch.testing.assert_close(near, far, rtol=0, atol=1e-5)

    def test_a_cache_gives_what_the_whole_sequence_gives(self):
        positions = PrimePositions(32)
        q, k = _heads(2, 9, 32)
        whole = positions.rotary(q, k)
        for offset in (5, torch.tensor(5)):
            later = positions.rotary(q[..., 5:, :], k[..., 5:, :], offset=offset)
            assert torch.equal(later[0], whole[0][..., 5:, :])
            assert torch.equal(later[1], whole[1][..., 5:, :])

    def test_positions_of_each_sequence(self):
        positions = PrimePositions(8)
        q, k = _heads(2, 3, 8)
        places = torch.tensor([[0, 1, 2], [7, 8, 9]])[:, None]  # batch, heads, positions
        both = positions.rotary(q, k, places)[0]
        assert torch.equal(both[0], positions.rotary(q[:1], k[:1])[0][0])
        assert torch.equal(both[1], positions.rotary(q[1:], k[1:], offset=7)[0][0])

    def test_fewer_heads_of_keys(self):
        positions = PrimePositions(8)
        q, k = _heads(2, 3, 8)
        assert torch.equal(positions.rotary(q, k[:, :1])[1], positions.rotary(q, k)[1][:, :1])

    @pytest.mark.parametrize("pairing", PAIRINGS)
    def test_gradients(self, pairing):
        positions = PrimePositions(6, pairing=pairing)
        q, k = (x.double().requires_grad_() for x in _heads(1, 3, 6))
        assert torch.autograd.gradcheck(lambda q, k: positions.rotary(q, k, offset=77), (q, k))

    def test_a_changing_offset_is_compiled_once(self):
        positions = PrimePositions(8)
        q, k = _heads(1, 2, 8)
        torch.compiler.reset()
        testing = importlib.import_module("torch._dynamo.testing")
        counter = testing.CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(positions.rotary, fullgraph=True, backend=counter)
        for offset in (torch.tensor(3), torch.tensor(10**9)):
            expected = positions.rotary(q, k, offset=offset)
            assert torch.equal(compiled(q, k, offset=offset)[0], expected[0])
        assert counter.frame_count == 1

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda p, q: p.rotary(q, q, torch.tensor([0.5, 1.0])), "positions must be integers"),
            (lambda p, q: p.rotary(q, q, offset=0.5), "positions must be integers"),
            (lambda p, q: p.rotary(q, q[..., :1, :]), "q has 2 positions and k has 1"),
            (lambda p, q: p.rotary(q, q, torch.arange(3)), r"positions of shape \(3,\) do not fit"),
            (lambda p, q: p.rotary(q[..., :4], q), "there are 8 columns to turn"),
            (lambda p, q: p.rotary(q.long(), q), "must be floating, got torch.int64"),
            (lambda p, q: rotary(q, q, torch.arange(2), p.increments, pairing="x"), "pairing must"),
        ],
    )
    def test_errors(self, call, message):
        with pytest.raises(primal.PrimalError, match=message):
            call(PrimePositions(8), torch.zeros(1, 1, 2, 8))


class TestAgainstRotaryEmbeddingTorch:
    """The peer takes our frequencies; both are compared with the rotation in float64."""

    def peer(self, positions):
        module = pytest.importorskip(
            "rotary_embedding_torch", reason="rotary-embedding-torch is not installed"
        )
        frequencies = positions.frequencies().float()
        # A fresh one for each type: it keeps the angles of the first.
        return lambda q: module.RotaryEmbedding(
            dim=64, custom_freqs=frequencies
        ).rotate_queries_or_keys(q)

    def errors(self, dtype, n):
        positions = PrimePositions(64, pairing="interleaved")
        torch.manual_seed(0)
        q = torch.randn(1, 2, n, 64).to(dtype)
        true = float64_rotation(positions, q, torch.arange(n))
        ours, _ = positions.rotary(q, q)
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
        positions = PrimePositions(64, pairing="interleaved")
        q = torch.ones(1, len(NEAR_A_BILLION), 64)
        places = torch.from_numpy(NEAR_A_BILLION)
        true = float64_rotation(positions, q, places)
        assert (positions.rotary(q, q, places)[0].double() - true).abs().max() < 1e-6
        angles = places.float()[:, None] * positions.frequencies().float()
        assert (angles.double().cos() - true[0, :, 0::2]).abs().max() > 0.5


class TestExperiment:
    @pytest.fixture
    def script(self):
        return pytest.importorskip("primal_studies.training.positions")

    def test_quick_run_is_kept_and_not_repeated(self, script, tmp_path, capsys, monkeypatch):
        runs = script.main(["--quick", "--seeds", "2", "--out", str(tmp_path)])
        assert {(run["task"], run["method"]) for run in runs} == {
            (task, method) for task in script.TASKS for method in script.METHODS
        }
        for task in script.TASKS:
            assert len({run["parameters"] for run in runs if run["task"] == task}) == 1
        assert all(math.isfinite(v) for run in runs for row in run["values"] for v in row)
        assert "| prime log |" in capsys.readouterr().out
        kept = json.loads((tmp_path / "positions-quick.json").read_text())
        monkeypatch.setattr(script, "measure", _never)
        again = script.main(["--quick", "--seeds", "2", "--out", str(tmp_path)])
        assert again == runs == list(kept.values())
        assert capsys.readouterr().err.count("on file") == len(runs)

    def test_members_train_as_if_alone(self, script):
        from primal_studies.training._members import train_members

        def train(rates):
            make = lambda: torch.nn.Linear(3, 2)  # noqa: E731
            draw = lambda g: (torch.randn(4, 3, generator=g), torch.zeros(4, 2))  # noqa: E731
            loss = lambda y, t: (y - t).pow(2).flatten(1).mean(1)  # noqa: E731
            return train_members(make, draw, loss, seeds=2, rates=rates, steps=5, device="cpu")[1][
                "weight"
            ]

        both, one = train((1e-2, 1e-1)), train((1e-1,))
        torch.testing.assert_close(both[1::2], one)
        assert not torch.allclose(both[0], both[1])

    def test_tasks_can_be_solved(self, script):
        generator = torch.Generator().manual_seed(0)
        x, y = script.draw_copy(3, 10, "train", generator)
        scored = y != script.IGNORED
        assert scored.sum(1).tolist() == [5, 5, 5]
        assert torch.equal(y[:, 5:], x[:, :5])
        x, y = script.draw_recall(3, 24, "train", generator)
        for row, targets in zip(x.tolist(), y.tolist(), strict=True):
            known = {}
            for place in range(0, 24, 2):
                key, value = row[place : place + 2]
                assert targets[place] == known.get(key, script.IGNORED)
                known[key] = value
        x, y = script.draw_text(2, 16, "test", generator)
        assert torch.equal(x[:, 9:], y[:, 8:-1])


def _never(one, *, device):
    raise AssertionError("measured again")


def _heads(batch: int, n: int, D: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(n)
    q, k = torch.randn(2, batch, 3, n, D, generator=generator)
    return q, k


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return q @ k.transpose(-1, -2)
