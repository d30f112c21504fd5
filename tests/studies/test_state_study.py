"""State memory: the recurrence itself, its parallel form, no drift, and the experiment."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from primal_studies.training._state_cells import (  # noqa: E402
    CellState,
    PrimeStateCell,
    decayed_sums,
)


def resting_cell() -> PrimeStateCell:
    """Return a cell that never decays and shows its whole state."""
    cell = PrimeStateCell(1, 4, 8)
    with torch.no_grad():
        cell.log_time_constant.fill_(torch.inf)
        cell.output_map.weight.copy_(torch.eye(8))
        cell.output_map.bias.zero_()
    return cell


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
        cell = PrimeStateCell(3, 5, 4, time_constant=20.0)
        x = torch.randn(2, 90, 3)
        y, state = cell(x)
        decay = np.exp(-1 / 20.0)
        turning = cell.turning.increments.numpy().view(np.uint64) / 2.0**64
        turns = np.concatenate(([0.0], turning))  # the first channel rests
        pole = decay * np.exp(2j * np.pi * turns)
        drive = (x @ cell.input_map.weight.mT).detach().numpy() * np.sqrt(1 - decay**2)
        h = np.zeros((2, 5), dtype=complex)
        for t in range(90):
            h = pole * h + drive[:, t, :5] + 1j * drive[:, t, 5:]
            shown = torch.from_numpy(np.concatenate((h.real, h.imag), axis=1)).float()
            torch.testing.assert_close(y[:, t], cell.output_map(shown), rtol=0, atol=2e-6)
        assert int(state.position) == 90

    def test_pieces_and_the_whole_agree(self):
        torch.manual_seed(1)
        cell = PrimeStateCell(2, 6, 2)
        x = torch.randn(3, 100, 2)
        whole, end = cell(x)
        first, state = cell(x[:, :37])
        rest, later = cell(x[:, 37:], state)
        torch.testing.assert_close(torch.cat((first, rest), 1), whole, rtol=0, atol=2e-6)
        torch.testing.assert_close(later.memory, end.memory, rtol=0, atol=2e-6)
        assert later.memory.shape == (3, 12)

    def test_states_turn_without_drift(self):
        """After 10**6 steps the state has the integer phase, to the last bit."""
        cell = resting_cell()
        state = CellState(torch.cat((torch.ones(4), torch.zeros(4))), torch.tensor(0))
        quiet = torch.zeros(99_990, 1)
        with torch.no_grad():
            for _ in range(10):
                _, state = cell(quiet, state)
                for _ in range(10):
                    y, state = cell.step(quiet[0], state)
        assert int(state.position) == 10**6
        assert torch.equal(y, cell.codes(state.position - 1))

    def test_a_product_of_float32_rotations_drifts(self):
        """What the integer phase is for; its own drift is tested above."""
        cell = resting_cell()
        cos, sin = cell.codes(torch.tensor(1)).chunk(2)
        rotation = torch.complex(cos, sin)
        for _ in range(6):  # the tenth power, six times: a million steps
            rotation = rotation**10
        true = torch.complex(*cell.codes(torch.tensor(10**6)).chunk(2))
        assert (rotation - true).abs().max() > 0.01


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
