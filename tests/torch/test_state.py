"""State memory: the recurrence itself, its parallel form, no drift, and the experiment."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from positions_conformance import StateConformance, resting_cell  # noqa: E402

import primal  # noqa: E402
from primal.torch import CellState, PrimeStateCell, decayed_sums  # noqa: E402
from primal.turns import spaced_increments  # noqa: E402


class TestCpu(StateConformance):
    pass


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here; see tests/gpu/run.py")
class TestCuda(StateConformance):
    device = "cuda"


class TestSums:
    @settings(max_examples=25)
    @given(n_steps=st.integers(1, 300), decay=st.floats(0.0, 1.0), seed=st.integers(0, 99))
    def test_are_the_recurrence(self, n_steps, decay, seed):
        generator = torch.Generator().manual_seed(seed)
        values = torch.randn(2, n_steps, 1, generator=generator, dtype=torch.float64)
        memory = torch.randn(2, 1, generator=generator, dtype=torch.float64)
        found = decayed_sums(values, torch.tensor([decay], dtype=torch.float64), memory)
        g = memory
        for t in range(n_steps):
            g = decay * g + values[:, t]
            torch.testing.assert_close(found[:, t], g, rtol=1e-10, atol=1e-10)

    def test_of_many_chunks(self):
        n = 64 * 64 * 3 + 5  # chunks of chunks of chunks
        found = decayed_sums(torch.ones(n, 2), torch.tensor([1.0, 0.5]))
        assert torch.equal(found[:, 0], torch.arange(1.0, n + 1))
        assert torch.equal(found[60:, 1], torch.full((n - 60,), 2.0))

    def test_gradients(self):
        values = torch.randn(70, 2, dtype=torch.float64, requires_grad=True)
        decay = torch.tensor([0.9, 0.3], dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(decayed_sums, (values, decay))


class TestCell:
    def test_follows_the_complex_recurrence(self):
        torch.manual_seed(0)
        cell = PrimeStateCell(3, 5, 4, time_constant=20.0, dtype=torch.float64)
        x = torch.randn(2, 90, 3, dtype=torch.float64)
        y, state = cell(x)
        decay = np.exp(-1 / 20.0)
        turns = cell.increments.numpy().view(np.uint64) / 2.0**64
        pole = decay * np.exp(2j * np.pi * turns)
        drive = (x @ cell.input_map.weight.mT).detach().numpy() * np.sqrt(1 - decay**2)
        h = np.zeros((2, 5), dtype=complex)
        for t in range(90):
            h = pole * h + drive[:, t, :5] + 1j * drive[:, t, 5:]
            shown = torch.from_numpy(np.concatenate((h.real, h.imag), axis=1))
            torch.testing.assert_close(y[:, t], cell.output_map(shown))
        assert int(state.position) == 90

    def test_pieces_and_the_whole_agree(self):
        torch.manual_seed(1)
        cell = PrimeStateCell(2, 6)
        x = torch.randn(3, 100, 2)
        whole, end = cell(x)
        first, state = cell(x[:, :37])
        rest, later = cell(x[:, 37:], state)
        torch.testing.assert_close(torch.cat((first, rest), 1), whole, rtol=0, atol=2e-6)
        torch.testing.assert_close(later.memory, end.memory, rtol=0, atol=2e-6)
        assert later.memory.shape == (3, 12)

    def test_first_channel_rests_and_the_others_turn_by_multiples_of_a_root(self):
        increments = PrimeStateCell(1, 5).increments.numpy().view(np.uint64)
        root = int(primal.increments(1)[0])
        assert increments.tolist() == [j * root % 2**64 for j in range(5)]
        raw = PrimeStateCell(1, 4, spacing="raw").increments.numpy().view(np.uint64)
        assert raw[1:].tolist() == spaced_increments(3, "raw").tolist()
        assert PrimeStateCell(1, 1).increments.tolist() == [0]

    def test_a_product_of_float32_rotations_drifts(self):
        """What the integer phase is for; its own drift is tested in positions_conformance."""
        cell = resting_cell("cpu")
        cos, sin = cell.codes(torch.tensor(1)).chunk(2)
        rotation = torch.complex(cos, sin)
        for _ in range(6):  # the tenth power, six times: a million steps
            rotation = rotation**10
        true = torch.complex(*cell.codes(torch.tensor(10**6)).chunk(2))
        assert (rotation - true).abs().max() > 0.01

    def test_types_autocast_compile(self):
        torch.manual_seed(2)
        cell = PrimeStateCell(2, 4)
        x = torch.randn(2, 70, 2)
        y, _ = cell(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mixed, kept = cell(x)
        assert mixed.dtype == torch.bfloat16
        assert kept.memory.dtype == torch.float32
        torch.testing.assert_close(mixed.float(), y, rtol=0, atol=0.02)
        torch.compiler.reset()
        compiled = torch.compile(cell, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x)[0], y)
        half = cell.half()(x.half())
        assert half[0].dtype == torch.float16
        assert half[1].memory.dtype == torch.float32
        torch.testing.assert_close(half[0].float(), y, rtol=0, atol=0.005)

    def test_everything_learned_gets_a_gradient(self):
        cell = PrimeStateCell(2, 4, dtype=torch.float64, time_constant=5.0)
        x = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
        parameters = list(cell.parameters())
        assert torch.autograd.gradcheck(lambda x, *_: cell(x)[0], (x, *parameters))

    def test_only_what_is_learned_is_stored(self):
        cell = PrimeStateCell(2, 3)
        assert sorted(cell.state_dict()) == [
            "input_map.weight",
            "log_time_constant",
            "output_map.bias",
            "output_map.weight",
        ]

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: PrimeStateCell(0, 4), "d must be at least 1, got 0"),
            (lambda: PrimeStateCell(2, 4, spacing="even"), "spacing must be one of"),
            (lambda: PrimeStateCell(2, 4, time_constant=0), "time_constant must be positive"),
            (lambda: PrimeStateCell(2, 4)(torch.zeros(3)), r"x must have shape \(..., steps, 2\)"),
            (lambda: PrimeStateCell(2, 4)(torch.zeros(0, 2)), "with one step or more"),
        ],
    )
    def test_errors(self, call, message):
        with pytest.raises(primal.PrimalError, match=message):
            call()


class TestExperiment:
    @pytest.fixture
    def script(self):
        return pytest.importorskip("primal_studies.training.state")

    def test_quick_run(self, script, tmp_path, capsys):
        runs = script.main(["--quick", "--out", str(tmp_path)])
        text = capsys.readouterr().out
        assert "| prime kronecker |" in text
        assert len(json.loads((tmp_path / "state-quick.json").read_text())) == len(runs)
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
        script.main(["--quick", "--draw", "--out", str(tmp_path)])
        for name in ("state-capacity.png", "state-tasks.png"):
            assert (tmp_path / name).stat().st_size > 10_000

    def test_covariance_is_the_sum_over_delays(self, script):
        from primal_studies.training._state_cells import cell_poles, make_cell

        for name in ("prime kronecker", "S4D-Lin"):
            torch.manual_seed(0)
            poles = cell_poles(make_cell(name, 1, 4, 1, time_constant=8.0, step_scale=8.0))
            impulse = torch.zeros(4000, dtype=torch.float64)
            impulse[0] = 1.0
            v = script.run_states(poles, impulse)
            torch.testing.assert_close(script.state_covariance(poles), v.T @ v)

    def test_predicted_shares_are_measured_ones(self, script):
        from primal_studies.training._state_cells import cell_poles, make_cell

        torch.manual_seed(0)
        poles = cell_poles(make_cell("random", 1, 6, 1, time_constant=6.0))
        predicted = script.predicted_shares(poles, 1e-2)
        measured = script.measured_shares(poles, 1e-2, 8_000, 0)
        # Twelve fitted numbers and 3,200 inputs leave an error of about 12 / 3200 and noise.
        assert (predicted - measured).abs().max() < 0.03
        assert predicted.sum() < 12

    def test_primes_recall_more_than_random_frequencies(self, script):
        """By the prediction, at three sizes; the spread of primes is none."""
        for n in (8, 16, 32):
            one = {"channels": n, "noise_power": 1e-4, "inputs": 100, "part": "capacity"}
            found = {
                cell: script.capacity(one | {"cell": cell, "seeds": seeds}, measured=False)
                for cell, seeds in (("prime kronecker", 1), ("random", 6))
            }
            assert found["prime kronecker"]["predicted"][0] > max(found["random"]["predicted"])

    def test_peers_are_the_same_layer_with_other_poles(self, script):
        from primal_studies.training._state_cells import CELLS, cell_poles, make_cell

        for name in CELLS:
            torch.manual_seed(0)
            cell = make_cell(name, 1, 4, 8, time_constant=10.0)
            with torch.no_grad():
                cell.output_map.weight.copy_(torch.eye(8))
                cell.output_map.bias.zero_()
                cell.input_map.weight.copy_(torch.cat((torch.ones(4), torch.zeros(4)))[:, None])
            impulse = torch.zeros(40, 1)
            impulse[0] = 1.0
            expected = script.run_states(cell_poles(cell), impulse[:, 0].double())
            torch.testing.assert_close(cell(impulse)[0].double(), expected, rtol=0, atol=1e-5)


def test_a_state_is_a_plain_pair():
    state = PrimeStateCell(1, 2).initial_state((3,))
    assert isinstance(state, CellState)
    assert state.memory.shape == (3, 4)
    assert state.position.dtype == torch.int64
