"""Studies that train networks: quick runs from start to table, resumed runs, their parts."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest
from click.testing import CliRunner

from primal.cli import cli

pytest.importorskip("primal_studies")

from primal_studies.cli._study import STUDIES

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # networks this small only wait for a second thread
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", ["sparse", "inr", "pinn"])
def test_a_quick_run_ends_in_tables_and_a_second_one_reads_them_back(name, tmp_path, capsys):
    script = importlib.import_module(f"primal_studies.training.{name}")
    arguments = ["--quick", "--seeds", "1", "--out", str(tmp_path)]
    runs = script.main(arguments)
    printed = capsys.readouterr().out
    tables = [text.splitlines() for text in printed.split("\n\n") if text.startswith("|")]
    assert len(tables) == (3 if name == "pinn" else 1)
    for rows in tables:
        assert len(rows) > 2
        assert len({row.count("|") for row in rows}) == 1
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}
    assert before
    assert script.main(arguments) == runs
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.json")} == before
    again = capsys.readouterr()
    assert again.out == printed
    reported = CliRunner().invoke(cli, ["study", name, *arguments, "--json"])
    assert json.loads(reported.stdout) == {"study": name, "results": runs}
    assert "on file" in again.err
    assert any(path.stat().st_size > 5000 for path in tmp_path.glob("*.png"))


@pytest.mark.parametrize("name", STUDIES)
def test_the_usage_of_a_study_is_the_command_that_runs_it(name):
    shown = CliRunner().invoke(cli, ["study", name, "--help"])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith(f"usage: primal study {name} [-h]")


def test_an_interrupted_run_resumes(tmp_path):
    common = importlib.import_module("primal_studies.training._common")
    chosen = common.options("test.py", "Test.", ["--out", str(tmp_path)])
    measured = []

    def measure(run):
        if run["x"] == 2 and len(measured) < 3:
            measured.append("interrupted")
            raise KeyboardInterrupt
        measured.append(run["x"])
        return {"y": run["x"] ** 2}

    settings = [{"x": x} for x in range(4)]
    with pytest.raises(KeyboardInterrupt):
        common.run_all("squares", chosen, settings, measure)
    assert len(json.loads((tmp_path / "squares.json").read_text())) == 2
    runs = common.run_all("squares", chosen, settings, measure)
    assert measured == [0, 1, "interrupted", 2, 3]
    assert [run["y"] for run in runs] == [0, 1, 4, 9]


def test_members_of_an_ensemble_train_as_single_networks_do():
    nets = importlib.import_module("primal_studies.training._nets")
    x = torch.rand(40, 3, generator=torch.Generator().manual_seed(1))
    y = torch.sin(3 * x.sum(dim=1, keepdim=True))
    rates = torch.tensor([1e-2, 3e-3])
    ensemble = nets.Ensemble([3, 8, 1], [5, 6], "tanh", "cpu")
    singles = [_module(ensemble, member) for member in range(2)]
    nets.train(
        ensemble.parameters,
        lambda: (ensemble(x.expand(2, -1, -1)) - y).square().mean(dim=(1, 2)),
        50,
        rates,
    )
    for member, (single, rate) in enumerate(zip(singles, rates.tolist(), strict=True)):
        optimizer = torch.optim.Adam(single.parameters(), lr=rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 50)
        for _ in range(50):
            optimizer.zero_grad()
            (single(x) - y).square().mean().backward()
            optimizer.step()
            schedule.step()
        found = ensemble(x.expand(2, -1, -1))[member]
        torch.testing.assert_close(found, single(x), rtol=1e-3, atol=1e-4)


def _module(ensemble, member: int) -> torch.nn.Module:
    layers = []
    for weight, bias in zip(ensemble.weights, ensemble.biases, strict=True):
        layer = torch.nn.Linear(*weight.shape[1:])
        with torch.no_grad():
            layer.weight.copy_(weight[member].T)
            layer.bias.copy_(bias[member, 0])
        layers += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("name", ["Helmholtz 10", "Helmholtz 100", "heat", "Burgers"])
def test_true_solutions_satisfy_their_equations(name):
    """Residuals of the solution by differences of step h vanish as h**2."""
    pinn = importlib.import_module("primal_studies.training.pinn")
    problem = pinn.PROBLEMS[name]()
    points = 0.1 + 0.8 * np.random.default_rng(0).random((200, problem.d))
    if name == "Burgers":  # before the front, where differences are accurate
        points[:, 1] *= 0.2
    largest = []
    for h in (1e-3, 5e-4):
        u = problem.solution(points)
        steps = h * np.eye(problem.d)
        ahead, behind = (
            np.stack([problem.solution(points + s * e) for e in steps]) for s in (1, -1)
        )
        first = torch.from_numpy(((ahead - behind) / (2 * h)).T)[:, None]
        second = (ahead - 2 * u + behind) / h**2
        left = problem.residual(
            torch.from_numpy(points),
            torch.from_numpy(u)[:, None],
            first,
            lambda i, j, second=second: torch.from_numpy(second[j]),
        )
        largest.append(float(left.abs().max()))
    assert largest[1] < 0.05
    assert largest[1] < 0.4 * largest[0]


@pytest.mark.parametrize("name", ["Helmholtz 10", "heat", "Burgers"])
def test_boundary_and_initial_values_hold_by_construction(name):
    pinn = importlib.import_module("primal_studies.training.pinn")
    problem = pinn.PROBLEMS[name]()
    ends = np.array([[0.0, 0.3], [1.0, 0.7], [0.4, 0.0]])[: 2 if problem.d == 1 else 3, : problem.d]
    anything = torch.full((len(ends), 1), 7.0, dtype=torch.float64)
    found = problem.lift(torch.from_numpy(ends), anything)
    np.testing.assert_allclose(found[:, 0].numpy(), problem.solution(ends), atol=1e-6)


def test_residuals_come_from_second_derivatives_through_the_features():
    pinn = importlib.import_module("primal_studies.training.pinn")
    problem = importlib.import_module("primal_studies.training._equations").helmholtz(5.0)
    run = {"method": "prime", "scales": [0.5], "rates": [0.1], "seeds": 1}
    u = pinn.Solution(run, problem, [(0.5, 0.1, 0)], "cpu")
    x = torch.tensor([[[0.2], [0.7]]]).requires_grad_()
    found = pinn.residuals(problem, u, x)[0].detach().double()
    h = 2e-2
    with torch.no_grad():
        values = [u(x + s).double()[0] for s in (-2 * h, -h, 0.0, h, 2 * h)]
    weights = (-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12)
    second = sum(w * v for w, v in zip(weights, values, strict=True)) / h**2
    expected = (second + 25 * values[2] - 0.375 * 25 * torch.cos(2.5 * x[0] + 1)) / 25
    torch.testing.assert_close(found, expected.detach(), rtol=0, atol=5e-3)


def test_the_flow_of_the_equations_is_that_of_the_solver():
    """Two ways to w_t at the start: the residual by automatic differentiation, and a short run."""
    equations = importlib.import_module("primal_studies.training._equations")
    spectral = importlib.import_module("primal_studies._spectral")
    problem = equations.PROBLEMS["flow"]()
    x = np.random.default_rng(0).random((50, 3))
    x[:, 2] = 0.0
    at = torch.from_numpy(x).requires_grad_()

    def unchanged(x):
        return problem.lift(x, torch.zeros(*x.shape[:-1], 2, dtype=torch.float64))

    pinn = importlib.import_module("primal_studies.training.pinn")
    left = pinn.residuals(problem, unchanged, at).detach().numpy()
    np.testing.assert_allclose(left[:, 1], 0.0, atol=1e-12)  # the stream function fits
    x[:, 2] = 1.0
    short = 1e-4
    now, later = (
        spectral.start_flow(*(2 * np.pi * x[:, :2].T))[0],
        spectral.vorticity(x, equations.FLOW_VISCOSITY, short, 32, 20),
    )
    assert np.abs(left[:, 0]).max() > 0.5
    np.testing.assert_allclose((later - now) / short, -left[:, 0], atol=2e-3)


def test_a_single_wave_of_vorticity_decays_as_known(monkeypatch):
    spectral = importlib.import_module("primal_studies._spectral")
    monkeypatch.setattr(spectral, "WAVES", ((2, -1, 0.5, 0.7),))
    x = np.random.default_rng(0).random((40, 3))
    x[:, 2] = np.rint(20 * x[:, 2]) / 20
    waves = 5 * 0.5 * np.cos(2 * np.pi * (2 * x[:, 0] - x[:, 1]) + 0.7)
    found = spectral.vorticity(x, 0.1, 3.0, 16, 20)
    np.testing.assert_allclose(found, waves * np.exp(-0.1 * 5 * 3.0 * x[:, 2]), atol=1e-12)


def test_the_solver_of_burgers_converges_to_the_integral():
    equations = importlib.import_module("primal_studies.training._equations")
    problem = equations.PROBLEMS["Burgers"]()
    x = np.random.default_rng(0).random((300, 2))
    x[:, 1] = np.rint(20 * x[:, 1]) / 20
    errors = [np.abs(problem.peer(x, n, n) - problem.solution(x)).max() for n in (200, 800)]
    assert errors[0] > 1e-3
    assert errors[1] < 1e-3


def test_collocation_solves_linear_equations_at_once():
    pinn = importlib.import_module("primal_studies.training.pinn")
    run = {"features": 128, "points": 400, "windows": 1, "seed": 0, "method": "prime"}
    found = pinn.measure_collocation(run | {"problem": "Helmholtz 30", "scales": [[4.8], [9.5]]})
    assert max(found["errors"]) < 1e-8
    assert max(found["residuals"]) < 1e-8


def test_windows_of_time_continue_each_other():
    """Features that begin with what was found before agree with it there, and solve on."""
    equations = importlib.import_module("primal_studies.training._equations")
    collocation = importlib.import_module("primal_studies.training._collocation")
    pinn = importlib.import_module("primal_studies.training.pinn")
    problem = equations.PROBLEMS["heat"]()
    frequencies = 2.0 * pinn.frequencies("prime", 2, 160, 0)
    first, second = collocation.solve_in_windows(problem, frequencies, pinn.collocation(500, 2), 2)
    x = torch.rand(30, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x[:, 1] = 0.5
    torch.testing.assert_close(second(x), first(x), rtol=0, atol=1e-12)
    x[:, 1] = 0.9
    truth = torch.from_numpy(problem.solution(x.numpy()))
    torch.testing.assert_close(second(x)[:, 0], truth, rtol=0, atol=2e-2)


def test_newton_steps_solve_burgers_before_the_front():
    """Residuals of other points shrink by orders from the first, linear, step to the last."""
    equations = importlib.import_module("primal_studies.training._equations")
    collocation = importlib.import_module("primal_studies.training._collocation")
    pinn = importlib.import_module("primal_studies.training.pinn")
    problem = equations.PROBLEMS["Burgers"]()
    scales = torch.tensor([[4.0], [1.0]], dtype=torch.float64)
    features = collocation.Features(problem, scales * pinn.frequencies("prime", 2, 160, 0))
    points, others = (
        collocation.in_window(pinn.collocation(500, 2, seed), 0, 10) for seed in (0, 1)
    )
    start = features.residuals(others).norm()
    assert collocation.solve(features, points) >= 3
    assert features.residuals(others).norm() < 1e-3 * start
    at = others.numpy()
    found = features(others)[:, 0].numpy()
    np.testing.assert_allclose(found, problem.solution(at), atol=1e-4)


def test_the_half_point_is_interpolated():
    sparse = importlib.import_module("primal_studies.training.sparse")
    assert sparse.half_point({"sparsities": [2, 4], "rates": [1.0, 0.0]}) == 3.0
    assert sparse.half_point({"sparsities": [2, 4], "rates": [0.4, 0.0]}) == 2.0
    assert sparse.half_point({"sparsities": [2, 4], "rates": [1.0, 0.9]}) == 4.0
