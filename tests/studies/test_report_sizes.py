"""Texts of the report state the sizes and the spread that a run used, and nothing else."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from primal_studies.paper import Fact, Outcome, judge
from primal_studies.paper._experiment import filled
from primal_studies.paper._stats import fact
from primal_studies.paper.experiments import MODULES, landscape, load, reconstruction, vanishing
from primal_studies.paper.experiments._captions import CAPTIONS

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")


def texts(name):
    """Every text of an experiment that is shown."""
    found = load(name)
    yield found.experiment.about
    for caption in CAPTIONS[name].values():
        yield caption.see
    for claim in found.claims:
        yield from (claim.test, claim.rule)


def fields(name):
    return {field for text in texts(name) for _, field, _, _ in Formatter().parse(text) if field}


def sizes(name):
    return getattr(__import__(MODULES[name], fromlist=["SIZES"]), "SIZES", {})


@pytest.mark.parametrize("name", MODULES)
def test_a_size_that_a_quick_run_reduces_is_in_a_text(name):
    # These change how a curve is drawn, or how often a time is taken, and no number in a text.
    silent = {"kernel_side", "retrieval_trials"}
    assert set(sizes(name)) - silent <= fields(name)
    assert all(quick < full for quick, full in sizes(name).values())


@pytest.mark.parametrize("name", MODULES)
def test_no_text_has_a_size_of_its_own(name):
    """A number of draws, points and so on in a text is a field, or it was the paper's."""
    things = "points|codes|draws|seeds|inputs|pairs|trials"
    written = re.compile(rf"(?<![\d.,])\d[\d,]* (random |uniform |Gaussian )?({things})\b")
    for text in texts(name):
        assert not written.search(text), text


def run(name):
    outcome = load(name).experiment.run(True, lambda share: None)
    return outcome, judge({name: outcome}, of=load(name).claims)


@pytest.mark.parametrize(
    ("module", "size", "claim", "said"),
    [
        (vanishing, "outputs", "low-frequency-vanishing", "D = 258"),
        (landscape, "counted_codes", "sharper-ridge", "258 codes"),
    ],
)
def test_another_size_changes_the_text(monkeypatch, module, size, claim, said):
    smaller = {name: (min(pair[0], 4), pair[1]) for name, pair in module.SIZES.items()}
    monkeypatch.setattr(module, "SIZES", smaller | {size: (258, 10**6)})
    if module is landscape:
        monkeypatch.setattr(landscape, "SURFACE_DIMS", (16, 64))
        monkeypatch.setattr(landscape, "RIDGE_DIMS", (16, 256, 4096))
        monkeypatch.setattr(landscape, "RIDGE_N", 500)
    outcome, ledger = run(module.EXPERIMENT.name)
    entry = next(entry for entry in ledger.entries if entry.claim.name == claim)
    assert said in entry.claim.test
    captions = [filled(c.see, outcome.facts) for c in CAPTIONS[module.EXPERIMENT.name].values()]
    assert not [text for text in captions if "\u2026" in text]
    if module is landscape:
        assert said in captions[0]
        # Both sides of the figure: the pairs that their densities count.
        for code in ("gaussian", "prime"):
            rows = [r for r in outcome.tables["density"] if (r["code"], r["D"]) == (code, 16)]
            width = 2.0 / landscape.BINS
            least = min(10 ** r["log10_density"] for r in rows) * width * 258 * 257 / 2
            assert least == pytest.approx(round(least), abs=1e-6)
    else:
        assert {row["D"] for row in outcome.tables["remedies"]} == {258}


def test_points_of_figure_3_are_those_of_the_text(monkeypatch):
    monkeypatch.setattr(reconstruction, "_POINTS", 60)
    outcome, ledger = run("reconstruction")
    told = {entry.claim.name: entry.claim.test for entry in ledger.entries}
    assert "60 points of each shape" in told["exact-low-regime"]
    assert "features of 60 points" in told["gaussian-blob"]
    assert len(outcome.tables["sigma 1.0 D 128"]) == 6 * 60


def test_one_draw_has_no_spread():
    assert f"{fact([0.5]):.2f\u00b1}" == "0.50"
    assert f"{fact([0.5, 0.7]):.2f\u00b1}" == "0.60 \u00b1 0.14"
    for n, spread in ((1, False), (3, True)):
        facts = {"ridge_reduction": Fact(0.0047, 0.0001 if spread else 0.0, n)}
        claim = next(c for c in load("landscape").claims if c.name == "rms-half-percent")
        (entry,) = judge({"landscape": Outcome({}, facts)}, of=[claim]).entries
        assert ("\u00b1" in entry.judgement.measured) is spread


def test_what_was_not_run_states_no_size():
    for entry in judge({}).entries:
        assert "{" not in entry.claim.test
