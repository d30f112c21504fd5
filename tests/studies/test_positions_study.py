"""The study of positions: from start to tables, resumed, its tasks and its methods."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
positions = pytest.importorskip("primal_studies.training.positions")

from primal_studies.training import _positions_model as model  # noqa: E402
from primal_studies.training import _positions_report as reports  # noqa: E402
from primal_studies.training import _positions_text as texts  # noqa: E402


def test_a_quick_run_is_kept_and_not_repeated(tmp_path, capsys):
    arguments = ["--quick", "--device", "cpu", "--workers", "2", "--out", str(tmp_path)]
    runs = positions.main(arguments)
    assert {run["method"] for run in runs} == set(model.METHODS)
    assert all(math.isfinite(v) for run in runs for v in run["loss"].values())
    printed = capsys.readouterr().out
    assert "| rotary, YaRN at evaluation |" in printed
    path = tmp_path / "positions-quick.jsonl"
    assert [json.loads(line) for line in path.read_text().splitlines()] == runs
    # A line cut short by an interrupt is measured again, and only that one.
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]) + '{"method": "ro')
    again = positions.main(arguments)
    assert again[:-1] == runs[:-1]
    assert capsys.readouterr().out.count(" tokens/s)") == 1
    assert again[-1]["loss"] == runs[-1]["loss"]  # the same bytes and the same start


def test_runs_wait_for_the_rates_of_their_method_and_follow_the_plan():
    chosen = positions._options(["--data", "x"])
    planned = positions.plan(chosen)
    done, order = [], []
    while (one := positions.next_run(planned, done, set())) is not None:
        loss = abs(one["rate"] - (2e-3 if one["method"] == "rotary" else 1e-3))
        order.append(one)
        done.append(one | {"loss": {"1": loss}})
    n_tuned = len(positions.RATES) * len(model.METHODS)
    assert {(run["size"], run["length"], run["seed"]) for run in order[:n_tuned]} == {
        ("10M", 256, 0)
    }
    later = order[n_tuned:]
    assert {run["rate"] for run in later if run["method"] == "rotary"} == {2e-3}
    assert {run["rate"] for run in later if run["method"] != "rotary"} == {1e-3}
    assert len({positions.key_of(run) for run in order}) == len(order)
    # With one rate of a method missing, none of its later runs may begin.
    lacking = [run for run in done[:n_tuned] if (run["method"], run["rate"]) != ("HoPE", 1e-3)]
    waiting = positions.next_run(planned, lacking, {positions.key_of(planned[0])})
    assert (waiting["method"], waiting["rate"]) == ("HoPE", 1e-3)


def test_windows_lie_inside_documents():
    tokens = torch.repeat_interleave(
        torch.arange(4, dtype=torch.uint8), torch.tensor([9, 50, 8, 33])
    )
    text = texts.Text(tokens, torch.tensor([9, 59, 67, 100]))
    rows = text.windows(500, 8, seed=0)
    assert rows.shape == (500, 9)
    assert (rows == rows[:, :1]).all()
    # Each window is as likely as any other: 1, 42, none and 25 of them.
    share = torch.bincount(rows[:, 0].long(), minlength=4) / 500
    assert share[2] == 0
    np.testing.assert_allclose(share.numpy(), np.array([1, 42, 0, 25]) / 68, atol=0.07)


def test_tasks_say_what_they_ask_for():
    drawn = texts.draws(2000, 3, 16, 128, seed=1)
    text = torch.full((2000,), ord("."), dtype=torch.uint8)
    step = texts.Draws(*(part[1] for part in drawn))
    rows = [bytes(row.tolist()).decode() for row in texts.training_rows(text, step, 128)]
    for row, digits in zip(rows[:2], step.digits, strict=True):
        key = bytes(digits.tolist()).decode()
        assert row.count(key) == 3
        assert row.endswith(f"The pass key is {key}")
    for row, size in zip(rows[2:4], step.copy_sizes.tolist(), strict=True):
        first, second = row.split("\x01")[1].split("\x02")
        assert len(first) == size >= 8
        assert second.rstrip(".") == first
    assert rows[4:] == ["." * 129] * 12


def test_methods_are_what_their_names_say():
    k, length = 32, 256
    f = {name: model.frequencies_of(name, k, length, 0) for name in model.METHODS}
    usual = 10000.0 ** (-np.arange(k) / k) / (2 * np.pi)
    np.testing.assert_allclose(f["rotary"].numpy(), usual, rtol=1e-12)
    np.testing.assert_allclose(f["prime log"].numpy(), usual, rtol=1 / 4000)
    turning = f["HoPE"] != 0
    assert torch.equal(f["HoPE"][turning], f["rotary"][turning])
    assert (f["rotary"][~turning] * length < 1).all()
    assert int((f["p-RoPE"] != 0).sum()) == 24
    assert float(f["rotary, clipped"].min()) == 1 / length
    shares = {"trained length": 1.0, "three quarters": 0.75, "half": 0.5, "quarter": 0.25}
    for name, share in shares.items():
        own = f[f"prime log, {name}"]
        assert int((own != 0).sum()) == share * k
        assert 1.0 <= float(own[own != 0].abs().min()) * length < 1.01
    for name in ("none", "ALiBi", "learned"):
        assert not f[name].any()


def test_yarn_keeps_fast_frequencies_and_divides_slow_ones():
    f = torch.tensor([0.5, 33 / 256, 1 / 256, 1e-4], dtype=torch.float64)
    scaled, scale = model.yarn(f, 256, 4.0)
    torch.testing.assert_close(f / scaled, torch.tensor([1.0, 1.0, 4.0, 4.0]).double())
    assert scale == pytest.approx(1 + 0.1 * math.log(4))


@torch.no_grad()
def test_bias_of_alibi_and_rotations_only_see_distances():
    for name in ("ALiBi", "rotary", "learned"):
        net = model.Transformer(name, "tiny", 32, 64, seed=0).eval()
        tokens = torch.tensor([[5, 6, 7, 8] * 8])
        codes, bias = net.codes(32), net.bias(32, torch.float32)
        whole = net(tokens, codes, bias, torch.float32)
        # Causal: a prefix gives the same.
        part = net(tokens[:, :10], net.codes(10), net.bias(10, torch.float32), torch.float32)
        torch.testing.assert_close(whole[:, :10], part)
    shifted = model.Transformer("rotary", "tiny", 32, 64, seed=0).eval()
    later = shifted.codes(40)[:, 8:]
    torch.testing.assert_close(
        shifted(tokens, later, None, torch.float32),
        shifted(tokens, shifted.codes(32), None, torch.float32),
    )


def test_intervals_are_students():
    assert reports.interval([1.0, 2.0, 3.0]) == pytest.approx(4.303 / math.sqrt(3))
    assert math.isnan(reports.interval([1.0]))
