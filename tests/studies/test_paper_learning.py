"""The recorded uses in neural networks: the file is what the results give, verdicts follow it."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from primal_studies.paper._claim import Verdict
from primal_studies.paper._experiment import Fact
from primal_studies.paper.experiments._captions import CAPTIONS
from primal_studies.paper.experiments.uses_learning import CLAIMS, EXPERIMENT

RESULTS = Path(__file__).parents[2] / "studies" / "results"
JUDGES = {claim.name: claim.judge for claim in CLAIMS}


@pytest.fixture(scope="module")
def outcome():
    return EXPERIMENT.run(True, lambda share: None)


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the results are not part of an installation")
def test_the_file_is_what_the_results_give(tmp_path):
    pytest.importorskip("torch")
    collect = importlib.import_module("primal_studies.training.collect")
    collect.main(["--out", str(RESULTS)], tmp_path / "learned.json")
    assert (tmp_path / "learned.json").read_text() == collect.TARGET.read_text()


def test_every_table_has_rows_and_says_what_it_cost(outcome):
    assert all(outcome.tables.values())
    assert {row["experiment"] for row in outcome.tables["cost"]} >= {"positions", "inr", "pinn"}
    assert all(row["seconds"] > 0 and row["machine"] for row in outcome.tables["cost"])


def test_the_gpu_runs_took_an_hour(outcome):
    on_gpu = [row["seconds"] for row in outcome.tables["cost"] if "NVIDIA" in row["machine"]]
    assert 55 * 60 < sum(on_gpu) < 65 * 60  # as the module says


def test_figures_are_drawn(outcome):
    figures = EXPERIMENT.draw(outcome)
    assert set(figures) == {"positions", "state", "signals", "equations", "few_measurements"} | {
        "kspace",
        "forecasts",
        "split_learning",
    }


def changed(outcome, **values: float) -> dict[str, Fact]:
    """The facts with other means; spreads stay."""
    facts = dict(outcome.facts)
    for name, value in values.items():
        facts[name] = replace(facts[name], value=value)
    return facts


def test_positions_are_judged_by_both_lengths(outcome):
    judge = JUDGES["positions-for-transformers"]
    usual, beyond = (outcome.facts[f"text_rotary_{x}"].value for x in ("x1", "x4"))
    both = changed(outcome, text_prime_log_x1=usual - 1, text_prime_log_x4=beyond - 1)
    level = {"text_prime_raw_x4": beyond, "text_prime_log_x4": beyond}
    one = changed(outcome, text_prime_log_x1=usual - 1, **level)
    none = changed(outcome, **level)
    assert judge(both).verdict == Verdict.HOLDS
    assert judge(one).verdict == Verdict.IN_PART
    assert judge(none).verdict == Verdict.FAILS


def test_states_are_judged_against_random_and_even_frequencies(outcome):
    judge = JUDGES["state-capacity"]
    assert judge(changed(outcome, capacity_prime_raw_32=60.0)).verdict == Verdict.HOLDS
    assert judge(changed(outcome, capacity_prime_raw_32=25.0)).verdict == Verdict.IN_PART
    worse = changed(outcome, capacity_prime_raw_32=25.0, capacity_prime_kronecker_32=30.0)
    assert judge(worse).verdict == Verdict.FAILS


def test_signals_are_judged_on_the_papers_own_map_first(outcome):
    judge = JUDGES["spectral-bias"]
    own, plain = "image by ridge, paper", outcome.facts["image by ridge, coordinates"].value
    ahead = changed(outcome, **{own: 60.0})
    assert judge(ahead).verdict == Verdict.HOLDS
    assert judge(changed(outcome, **{own: plain})).verdict == Verdict.IN_PART
    behind = {own: plain, "db_head_prime": outcome.facts["db_head_coordinates"].value + 1.9}
    assert judge(changed(outcome, **behind)).verdict == Verdict.FAILS


def test_evidence_is_among_what_the_experiment_shows(outcome):
    figures = set(EXPERIMENT.draw(outcome))
    assert set(CAPTIONS["uses-learning"]) == figures
    for claim in CLAIMS:
        assert set(claim.figures) <= figures, claim.name
        assert set(claim.tables) <= set(outcome.tables), claim.name


def test_equations_are_judged_on_all_of_them(outcome):
    judge = JUDGES["pde-and-weather"]
    names = ("helmholtz_10", "helmholtz_30", "helmholtz_100", "heat", "burgers", "flow")
    tiny = changed(outcome, **{f"error_{name}_paper_w": 1e-9 for name in names})
    repaired = changed(outcome, **{f"error_{name}_prime": 1e-9 for name in names})
    layers = ("paper_w", "prime")
    large = changed(outcome, **{f"error_{n}_{layer}": 10.0 for n in names for layer in layers})
    assert judge(tiny).verdict == Verdict.HOLDS
    assert judge(repaired).verdict == Verdict.IN_PART  # the paper's own map is the one judged
    assert judge(large).verdict == Verdict.FAILS


def test_imaging_is_judged_at_every_share(outcome):
    judge = JUDGES["medical-imaging"]
    shares = ("8%", "12%", "16%", "24%")
    best = changed(outcome, **{f"kspace_kronecker_{share}": 1e-3 for share in shares})
    assert judge(best).verdict == Verdict.HOLDS
    level = {f"kspace_{n}_{share}": 0.1 for n in ("kronecker", "random") for share in shares}
    assert judge(changed(outcome, **level)).verdict == Verdict.IN_PART
    behind = level | {"kspace_kronecker_16%": 0.2}
    assert judge(changed(outcome, **behind)).verdict == Verdict.FAILS


def test_forecasts_are_judged_on_all_systems(outcome):
    judge = JUDGES["chaotic-systems"]
    systems = ("lorenz_63", "mackey_glass", "lorenz_96", "kuramoto_sivashinsky")
    ours = [f"forecast_{system}_prime_few" for system in systems]
    assert judge(changed(outcome, **dict.fromkeys(ours, 14.0))).verdict == Verdict.HOLDS
    assert judge(changed(outcome, **dict.fromkeys(ours[:1], 14.0))).verdict == Verdict.IN_PART
    assert judge(changed(outcome, **dict.fromkeys(ours, 0.01))).verdict == Verdict.FAILS


def test_dimensions_are_judged_against_random_features(outcome):
    judge = JUDGES["high-dimensional-pde"]
    sizes = (2, 5, 10)
    level = {f"error in {d} dimensions, {name}": 0.1 for d in sizes for name in ("paper", "random")}
    better = level | {f"error in {d} dimensions, paper": 0.01 for d in sizes}
    worse = level | {"error in 10 dimensions, paper": 0.2}
    assert judge(changed(outcome, **better)).verdict == Verdict.HOLDS
    assert judge(changed(outcome, **level)).verdict == Verdict.IN_PART
    assert judge(changed(outcome, **worse)).verdict == Verdict.FAILS


def test_basis_pursuit_is_judged_at_every_number_of_measurements(outcome):
    judge = JUDGES["l1-recovery"]
    ours = [f"nonzeros_l1_static_{m}" for m in (32, 64, 96, 128)]
    theirs = [f"nonzeros_l1_gaussian_{m}" for m in (32, 64, 96, 128)]
    level = dict.fromkeys(theirs, 10.0) | dict.fromkeys(ours, 10.0)
    for better, verdict in ((4, Verdict.HOLDS), (3, Verdict.IN_PART), (2, Verdict.FAILS)):
        facts = changed(outcome, **level | dict.fromkeys(ours[:better], 30.0))
        assert judge(facts).verdict == verdict


def test_initialization_is_judged_on_every_signal(outcome):
    judge = JUDGES["initializes-implicit-networks"]
    names = ("flower", "portrait", "head", "sound", "solid")
    level = {f"db_{name}_{layer}": 30.0 for name in names for layer in ("prime", "siren")}
    ahead = [f"db_{name}_prime" for name in names]
    for better, verdict in ((5, Verdict.HOLDS), (1, Verdict.IN_PART), (0, Verdict.FAILS)):
        facts = changed(outcome, **level | dict.fromkeys(ahead[:better], 31.0))
        assert judge(facts).verdict == verdict


def test_split_learning_needs_accuracy_and_privacy(outcome):
    judge = JUDGES["split-learning"]
    right, opened = "server_digits_public_0.0", "attack_digits_public_0.0"
    for accuracy, error, verdict in (
        (0.97, 0.9, Verdict.HOLDS),
        (0.97, 1e-8, Verdict.IN_PART),
        (0.5, 0.9, Verdict.FAILS),
    ):
        assert judge(changed(outcome, **{right: accuracy, opened: error})).verdict == verdict
