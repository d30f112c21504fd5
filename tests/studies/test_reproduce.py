"""``primal reproduce`` but for its page: running, keeping, resuming, judging, writing."""

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import fake_paper
import numpy as np
import pytest
from click.testing import CliRunner

from primal import PrimalError
from primal.cli import cli
from primal.errors import DataError, ParameterError
from primal_studies import paper
from primal_studies.paper import Fact, Judged, NotRun, Outcome, Verdict, _store, experiments
from primal_studies.paper._figures import drawn, inline
from primal_studies.paper._ledger import _in_order, place
from primal_studies.paper._store import Measured

for _package in ("matplotlib", "jinja2", "scipy", "sklearn"):
    pytest.importorskip(_package)


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """A cache of its own for every test; returns the folder of its entries."""
    monkeypatch.setenv("PRIMAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE_NOTES", str(tmp_path))
    return tmp_path / "cache" / "reproduce"


@pytest.fixture
def fakes(monkeypatch):
    # The command takes the names of the experiments when it is loaded.
    sys.modules.pop("primal_studies.cli._reproduce", None)
    fake_paper.install(monkeypatch)
    yield
    sys.modules.pop("primal_studies.cli._reproduce", None)


def command(*arguments):
    return CliRunner().invoke(cli, ["reproduce", *map(str, arguments)])


def contents(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


# The folder


@pytest.mark.usefixtures("fakes")
def test_everything_is_written_and_can_be_read(tmp_path):
    out = tmp_path / "new" / "folder"
    result = paper.reproduce(out)
    assert result.page == out / "index.html"
    assert contents(out) == {
        "index.html",
        "ledger.json",
        "run.json",
        *(
            f"data/{name}/{file}"
            for name in fake_paper.NAMES
            for file in ("facts.json", "no-rows.csv", "steps.csv")
        ),
        *(
            f"figures/{name}-{figure}.svg"
            for name in fake_paper.NAMES
            for figure in ("curve", "some-dots")
        ),
    }
    with (out / "data/tides/steps.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["y"]) for row in rows] == list(np.sin(np.arange(40)))
    assert rows[0]["kind"] == "b,c"
    facts = json.loads((out / "data/tides/facts.json").read_text())
    assert facts["peak"] == {"value": 0.9999, "spread": 0.01, "n": 3}

    ledger = json.loads((out / "ledger.json").read_text())
    assert ledger["counts"] == result.ledger.counts
    assert [claim["where"] for claim in ledger["claims"]][:2] == [
        "Abstract",
        "Section 2.3, inverse pass",
    ]
    first = ledger["claims"][0]
    assert first["status"] == "holds in part"
    assert first["measured"] == "peak 0.9999"
    assert set(first["facts"]) == {"peak"}  # what the judge looked at, and nothing else
    assert {"why", "rule", "test", "says", "name", "experiment"} < set(first)


@pytest.mark.usefixtures("fakes")
def test_run_json_says_how_it_was_made_and_names_no_machine(tmp_path):
    paper.reproduce(tmp_path / "out", quick=True)
    text = (tmp_path / "out/run.json").read_text()
    run = json.loads(text)
    assert run["quick"] is True
    assert run["packages"]["numpy"] == np.__version__
    assert run["started"] <= run["finished"]
    assert set(run["experiments"]) == set(fake_paper.NAMES)
    assert run["experiments"]["tides"]["kept_from_earlier_run"] is False
    assert socket.gethostname() not in text


@pytest.mark.usefixtures("fakes")
def test_a_folder_with_other_things_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("all of it")
    with pytest.raises(ParameterError, match=r"mine has files in it .* did not write"):
        paper.reproduce(tmp_path / "mine")
    assert contents(tmp_path / "mine") == {"thesis.tex"}
    with pytest.raises(ParameterError, match="is not a folder"):
        paper.reproduce(tmp_path / "mine" / "thesis.tex")
    (tmp_path / "mine" / "run.json").write_text('{"made_by": "something else"}')
    with pytest.raises(ParameterError, match="did not write"):
        paper.reproduce(tmp_path / "mine")
    assert fake_paper.runs(tmp_path) == []  # refused before anything is measured


@pytest.mark.usefixtures("fakes")
def test_an_empty_folder_and_one_of_ours_are_taken(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    paper.reproduce(out)
    before = (out / "index.html").read_text()
    paper.reproduce(out, only=["shells"])
    assert not (out / "data/tides").exists()
    assert not list(out.glob("figures/tides*"))
    assert (out / "data/shells/steps.csv").exists()
    assert "was not part of this run" in (out / "index.html").read_text()
    assert "was not part of this run" not in before


@pytest.mark.usefixtures("fakes")
def test_a_later_run_removes_what_earlier_ones_wrote_and_nothing_else(tmp_path):
    out = tmp_path / "out"
    paper.reproduce(out)
    mark = json.loads((out / "run.json").read_text())
    assert {"data/tides/steps.csv", "ledger.json"} <= set(mark["files"])
    foreign = {
        out / "data/tides/mine.csv": "notes",
        out / "figures/mine.svg": "<svg/>",
        tmp_path / "outside.csv": "elsewhere",
    }
    for path, text in foreign.items():
        path.write_text(text)
    mark["files"] += ["../outside.csv", "data/../../outside.csv", "index.html", 7]
    (out / "run.json").write_text(json.dumps(mark))
    paper.reproduce(out, only=["shells"])
    assert {path: path.read_text() for path in foreign} == foreign
    assert not (out / "data/tides/steps.csv").exists()


@pytest.mark.usefixtures("fakes")
def test_no_page_stands_beside_data_that_it_does_not_show(tmp_path, monkeypatch):
    out = tmp_path / "out"
    paper.reproduce(out)
    broken = replace(experiments.load("tides").experiment, draw=lambda outcome: 1 / 0)
    monkeypatch.setattr(sys.modules["fake_tides"], "EXPERIMENT", broken)
    with pytest.raises(ZeroDivisionError):
        paper.reproduce(out)
    assert not (out / "index.html").exists()
    assert not [name for name in contents(out) if name.endswith(".part")]


# Keeping and resuming


@pytest.mark.usefixtures("fakes")
def test_what_was_measured_is_kept_until_fresh(tmp_path):
    first = paper.run("tides", quick=True)
    assert paper.run("tides", quick=True) == first
    assert fake_paper.runs(tmp_path) == ["tides"]
    assert len(paper.run("tides").tables["steps"]) == 40  # quick and full are kept apart
    assert paper.run("tides", quick=True, fresh=True) == first
    assert fake_paper.runs(tmp_path) == ["tides"] * 3
    result = paper.reproduce(tmp_path / "out", quick=True)
    assert result.measured["tides"].kept
    assert not result.measured["shells"].kept


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    "damage",
    [
        lambda body: body[: len(body) // 2],
        lambda body: b"",
        lambda body: body.replace(b"0.9999", b"0.1111"),
        lambda body: b"\xff\xfe" + body,
    ],
)
def test_a_damaged_entry_is_measured_again(tmp_path, kept, damage):
    sound = paper.run("tides", quick=True)
    (entry,) = kept.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert entry.read_bytes() != whole
    assert paper.run("tides", quick=True) == sound
    assert fake_paper.runs(tmp_path) == ["tides"] * 2


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("what", ["source", "numpy"])
def test_another_version_measures_again_and_drops_the_old_entry(tmp_path, kept, monkeypatch, what):
    paper.run("tides", quick=True)
    paper.run("tides")
    if what == "source":
        monkeypatch.setattr(_store, "source_digest", lambda: "0" * 64)
    else:
        monkeypatch.setattr(_store, "packages", lambda: {"numpy": "9.9"})
    paper.run("tides", quick=True)
    assert fake_paper.runs(tmp_path) == ["tides"] * 3
    assert len(list(kept.glob("tides.quick.*"))) == 1
    assert len(list(kept.glob("tides.full.*"))) == 1


@pytest.mark.usefixtures("fakes")
def test_without_a_cache_everything_works(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIMAL_CACHE_DIR", "")
    paper.run("tides", quick=True)
    paper.run("tides", quick=True)
    assert fake_paper.runs(tmp_path) == ["tides"] * 2
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv("PRIMAL_CACHE_DIR", str(blocked))
    assert paper.run("tides", quick=True).facts["count"] == Fact(5)


_SCRIPT = """
import sys, pytest, fake_paper
from primal_studies import paper
fake_paper.install(pytest.MonkeyPatch())
paper.reproduce(sys.argv[1], quick=True)
"""


def test_a_killed_run_goes_on_where_it_stopped(tmp_path, kept):
    tests = str(Path(__file__).parents[1] / "support")
    environment = {**os.environ, "PYTHONPATH": tests, "FAKE_HANG": "tides"}
    arguments = [sys.executable, "-c", _SCRIPT, str(tmp_path / "out")]
    process = subprocess.Popen(arguments, env=environment)
    try:
        for _ in range(600):
            if fake_paper.runs(tmp_path) == ["shells", "tides"]:
                break
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "out/index.html").exists()
    del environment["FAKE_HANG"]
    subprocess.run(arguments, env=environment, check=True)
    assert fake_paper.runs(tmp_path) == ["shells", "tides", "tides"]
    assert (tmp_path / "out/index.html").exists()
    assert not [name for name in contents(kept) if name.endswith(".part")]


@pytest.mark.usefixtures("fakes")
def test_ctrl_c_keeps_what_is_finished(tmp_path, monkeypatch):
    def interrupted(quick, progress):
        raise KeyboardInterrupt

    whole = experiments.load("tides").experiment
    monkeypatch.setattr(sys.modules["fake_tides"], "EXPERIMENT", replace(whole, run=interrupted))
    stopped = command("--out", tmp_path / "out")
    assert stopped.exit_code == 1
    assert "What is finished is kept" in stopped.stderr
    monkeypatch.setattr(sys.modules["fake_tides"], "EXPERIMENT", whole)
    assert command("--out", tmp_path / "out").exit_code == 0
    assert fake_paper.runs(tmp_path) == ["shells", "tides"]


def test_outcomes_come_back_as_they_were():
    outcome = Outcome(
        {"t": [{"i": np.int64(3), "f": np.float32(0.1), "s": "x", "b": np.bool_(True)}]},
        {"big": Fact(float("inf")), "third": Fact(1 / 3, 2 / 3, 7)},
    )
    plain = _store.plain_outcome(outcome)
    assert plain.tables["t"] == ({"i": 3, "f": float(np.float32(0.1)), "s": "x", "b": True},)
    assert type(plain.tables["t"][0]["b"]) is bool
    _store.store("some", False, Measured(plain, 1.5))
    assert _store.load("some", False) == Measured(plain, 1.5, kept=True)
    with pytest.raises(DataError, match=r"plain values only.*array"):
        _store.plain_outcome(Outcome({"t": [{"x": np.zeros(3)}]}, {}))


def test_files_for_others_hold_standard_json_only():
    text = _store.as_json({"a": float("nan"), "b": [float("-inf"), 1.5]})
    assert json.loads(text, parse_constant=pytest.fail) == {"a": "nan", "b": ["-inf", 1.5]}


# The ledger


@pytest.mark.usefixtures("fakes")
def test_claims_are_in_the_order_of_the_paper():
    assert [claim.name for claim in paper.claims()] == [
        "shells-in_part",
        "tides-holds",
        "shells-fails",
        "shells-holds",
        "shells-later",
        "tides-later",
        "tides-in_part",
        "tides-fails",
    ]


@pytest.mark.usefixtures("fakes")
def test_what_was_not_run_has_no_verdict():
    ledger = paper.judge({"tides": paper.run("tides", quick=True)})
    assert ledger.counts == {
        "holds": 1,
        "holds in part": 1,
        "does not hold": 1,
        "erratum": 0,
        "not testable here": 2,
        "not run": 3,
    }
    for entry in ledger.entries:
        assert isinstance(entry, NotRun if entry.claim.experiment == "shells" else Judged)
        if isinstance(entry, Judged) and entry.claim.experiment is None:
            assert entry.judgement.verdict is Verdict.UNTESTABLE
            assert entry.judgement.why == entry.claim.rule


@pytest.mark.usefixtures("fakes")
def test_a_verdict_follows_the_facts():
    claim = next(claim for claim in paper.claims() if claim.name == "tides-holds")
    for value in (0.25, 0.75):
        outcome = Outcome({}, {"peak": Fact(value)})
        (entry,) = paper.judge({"tides": outcome}, of=[claim]).entries
        assert entry.judgement.measured == f"peak {value:.4f}"
        assert entry.facts == {"peak": Fact(value)}


@pytest.mark.usefixtures("fakes")
def test_claims_that_could_not_be_judged_are_refused():
    claim = next(claim for claim in paper.claims() if claim.name == "tides-holds")
    for wrong, message in (
        ([claim, claim], "got twice: tides-holds"),
        ([replace(claim, experiment="moon")], "rests on experiment 'moon'"),
        ([replace(claim, judge=None)], "both an experiment and a judge"),
        ([replace(claim, where="somewhere")], "no place of the paper in 'somewhere'"),
    ):
        with pytest.raises(DataError, match=message):
            _in_order(wrong, fake_paper.NAMES)
    with pytest.raises(DataError, match="'tides-holds' looks for the fact 'peak'"):
        paper.judge({"tides": Outcome({}, {})}, of=[claim])


@pytest.mark.usefixtures("fakes")
def test_wrong_claims_show_before_anything_is_measured(tmp_path, monkeypatch):
    twice = experiments.load("shells").claims
    monkeypatch.setattr(sys.modules["fake_tides"], "CLAIMS", twice)
    with pytest.raises(DataError, match="got twice: shells-holds, shells-in_part"):
        paper.reproduce(tmp_path / "out")
    assert fake_paper.runs(tmp_path) == []
    assert not (tmp_path / "out").exists()


def test_places_of_the_paper():
    written = [
        "Abstract",
        "Introduction, third contribution",
        "Section 2",
        "Section 2.1",
        "Table 1",
        "Section 2.2, spectral bias",
        "Section 2.3, inverse pass",
        "Algorithm 1",
        "Section 2.5.1",
        "Table 2",
        "Section 3.3",
        "Figure 1, bottom row",
        "Section 3.4, optimality ratio (Figure 2)",
        "Figure 2",
        "Section 4.2",
        "Limitations",
        "Conclusion",
    ]
    assert sorted(written, key=place) == written
    with pytest.raises(DataError, match="no place of the paper in 'Figure 9'"):
        place("Figure 9")


# The command


@pytest.mark.usefixtures("fakes")
def test_the_command_ends_with_counts_and_the_page(tmp_path):
    result = command("--quick", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "\n   8 claims\n   2 holds\n   2 holds in part\n   2 does not hold\n"
        f"   2 not testable here\n\npage: {tmp_path / 'out' / 'index.html'}\n"
    )
    assert result.stderr.splitlines() == ["shells", "tides", "page"]


@pytest.mark.usefixtures("fakes")
def test_the_ledger_as_json(tmp_path):
    result = command("--only", "shells", "--json", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    written = json.loads((tmp_path / "out/ledger.json").read_text())
    assert report == {"page": str(tmp_path / "out/index.html"), **written}
    assert report["counts"]["not run"] == 3


@pytest.mark.usefixtures("fakes")
def test_the_list_measures_nothing(tmp_path):
    result = command("--list")
    assert result.stdout.splitlines() == [
        "shells  The shells of the <paper> (4 claims)",
        "tides   The tides of the <paper> (4 claims)",
    ]
    assert fake_paper.runs(tmp_path) == []


@pytest.mark.usefixtures("fakes")
def test_the_page_is_opened_when_asked(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    command("--only", "tides", "--out", tmp_path / "out")
    assert opened == []
    command("--only", "tides", "--out", tmp_path / "out", "--open")
    assert opened == [(tmp_path / "out/index.html").as_uri()]


@pytest.mark.usefixtures("fakes")
def test_progress_rises_from_nothing_to_all(tmp_path):
    seen = []
    paper.reproduce(tmp_path / "out", watch=lambda *step: seen.append(step))
    for name in (*fake_paper.NAMES, "page"):
        shares = [share for which, share in seen if which == name]
        assert shares[0] == 0.0
        assert shares[-1] == 1.0
        assert shares.count(1.0) == 1
        assert shares == sorted(set(shares))


@pytest.mark.usefixtures("fakes")
def test_experiments_are_listed_as_json():
    listed = json.loads(command("--list", "--json").stdout)
    assert list(listed) == list(fake_paper.NAMES)
    assert all(set(row) == {"title", "claims"} for row in listed.values())


@pytest.mark.usefixtures("fakes")
def test_names_that_do_not_exist_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="must be one of 'shells', 'tides', got 'sea'"):
        paper.reproduce(tmp_path / "out", only=["sea"])
    with pytest.raises(ParameterError, match=r"pass \['tides'\]"):
        paper.reproduce(tmp_path / "out", only="tides")
    with pytest.raises(ParameterError, match="'sea'"):
        paper.run("sea")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("fakes")
def test_names_that_cannot_be_files_are_refused(tmp_path, monkeypatch):
    whole = experiments.load("tides").experiment
    for tables, message in (
        ({"../up": []}, r"names of files, got '\.\./up'"),
        ({"a b": [], "a-b": []}, "would be the file data/tides/a-b.csv"),
    ):
        odd = replace(whole, run=lambda quick, progress, tables=tables: Outcome(tables, {}))
        monkeypatch.setattr(sys.modules["fake_tides"], "EXPERIMENT", odd)
        with pytest.raises(DataError, match=message):
            paper.reproduce(tmp_path / "out", only=["tides"], fresh=True)


@pytest.mark.usefixtures("fakes")
def test_an_experiment_that_calls_itself_otherwise_is_refused(monkeypatch):
    other = replace(experiments.load("tides").experiment, name="ebbs")
    monkeypatch.setattr(sys.modules["fake_tides"], "EXPERIMENT", other)
    with pytest.raises(PrimalError, match="'tides' calls itself 'ebbs'"):
        experiments.load("tides")


# Figures


@pytest.mark.usefixtures("fakes")
def test_equal_outcomes_give_equal_figures():
    experiment = experiments.load("tides").experiment
    outcome = paper.run("tides", quick=True)
    documents = drawn(experiment, outcome)
    assert documents == drawn(experiment, outcome)
    assert documents["curve"].startswith("<?xml")
    assert "<text" not in documents["curve"]  # no reader needs a font


def test_two_figures_of_one_page_share_no_names():
    document = (
        '<?xml version="1.0"?>\n<svg width="72pt" height="36pt" viewBox="0 0 72 36">'
        '<style type="text/css">*{stroke: red}</style><metadata>x</metadata>'
        '<clipPath id="c"/><g clip-path="url(#c)"><use xlink:href="#m"/></g></svg>\n'
    )
    figure = inline(document, "a", 'says "so" & <more>')
    assert figure.width_px == 96
    assert figure.svg.startswith('<svg viewBox="0 0 72 36" role="img"')
    assert 'aria-label="says &quot;so&quot; &amp; &lt;more>"' in figure.svg
    assert 'id="a-c"' in figure.svg
    assert "url(#a-c)" in figure.svg
    assert 'href="#a-m"' in figure.svg
    assert "stroke: red" not in figure.svg
    assert "metadata" not in figure.svg


# The registry


def test_help_loads_no_experiment():
    code = (
        "import sys; from click.testing import CliRunner; from primal.cli import cli\n"
        "assert CliRunner().invoke(cli, ['reproduce', '--help']).exit_code == 0\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "primal_studies.paper.experiments" in loaded
    assert not [name for name in loaded if name.startswith("primal_studies.paper.experiments.")]
    assert not loaded & {"matplotlib", "jinja2", "torch", "sklearn", "scipy"}


def test_every_experiment_can_be_loaded_and_every_module_is_listed():
    folder = Path(experiments.__file__).parent
    modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}
    assert {name.rpartition(".")[2] for name in experiments.MODULES.values()} == modules
    for name in experiments.MODULES:
        assert experiments.load(name).experiment.name == name


def test_the_paper_has_thirty_claims_and_more():
    claims = paper.claims()  # checks names, experiments and places
    assert len(claims) >= 30
    judged_by = {claim.experiment for claim in claims}
    assert set(experiments.MODULES) <= judged_by
