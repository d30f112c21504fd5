"""The audit orders encoders as it must, and its report is whole, readable and escaped."""

import csv
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

import primal
from primal import PrimalError
from primal.cli import cli
from primal.privacy import Key, KeyedPrime, audit


def data(n=240, d=5):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] > 0.0, "yes", "no")


@pytest.fixture(scope="module")
def report():
    X, attribute = data()
    m = primal.DynamicPrime(5, 32, 0.4, basis="auto")
    return audit(m, X, attribute=attribute, name="our <map>")


def test_every_encoder_gets_four_numbers(report):
    names = [s.name for s in report.subjects]
    assert names[:4] == ["our <map>", "no map", "random projection", "public prime map"]
    by_name = {s.name: s for s in report.subjects}
    for subject in report.subjects:
        for number in subject.numbers().values():
            assert number.low <= number.value <= number.high
    assert by_name["our <map>"].numbers()["inversion"].high < 1e-4
    assert by_name["no map"].numbers()["inversion"].high < 1e-3
    assert by_name["keyed prime map, 4 bits"].numbers()["inversion"].value < 0.2
    assert 0.2 < by_name["public prime map, one bit"].numbers()["inversion"].value < 0.9
    assert by_name["our <map>"].numbers()["linkage"].value == 1.0
    assert by_name["keyed prime map, 4 bits"].numbers()["linkage"].value < 0.1
    assert by_name["no map"].numbers()["attribute"].value > 0.9
    text = " ".join(report.sentences())
    assert "Rows can be read back" in text
    assert "joined row by row" in text
    assert "no proof" in text


def test_an_encoder_of_nothing_gives_nothing_away():
    X, attribute = data()
    found = audit(lambda rows: np.ones((len(rows), 8)), X, attribute=attribute, baselines=False)
    text = " ".join(found.sentences())
    assert "did not recover rows" in text
    assert "no more than guessing" in text
    assert "hardly told" in text
    assert "hardly ever the same row" in text
    assert len(found.subjects) == 1


def test_nobody_is_learned_from_and_attacked():
    X, _ = data(80)
    people = np.repeat(np.arange(20), 4)
    seen = []

    def encode(rows):
        seen.append(rows)
        return rows

    audit(encode, X, people=people, baselines=False)
    who = {tuple(row): person for row, person in zip(X, people, strict=True)}
    known, attacked = ({who[tuple(row)] for row in rows} for rows in seen[1:3])
    assert len(known) == len(attacked) == 10
    assert not known & attacked


class _Tags(HTMLParser):
    void = ("meta", "br")

    def __init__(self):
        super().__init__()
        self.open, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.links += [v for k, v in attrs if k in ("src", "href")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_one_file_and_escapes_names(report, tmp_path):
    report.save(tmp_path / "a.html")
    report.save(tmp_path / "a.json")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    tags = _Tags()
    tags.feed(page)
    assert tags.open == tags.links == []
    assert "our &lt;map&gt;" in page
    assert "<map>" not in page
    assert "http" not in page
    assert "prefers-color-scheme:dark" in page
    stored = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(report.as_json()))
    assert stored["subjects"][0]["numbers"]["linkage"]["value"] == 1.0
    with pytest.raises(PrimalError, match=r"\.html or \.json"):
        report.save(tmp_path / "a.pdf")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"X": np.eye(5)}, "40 rows at least, got 5"),
        ({"X": np.ones((60, 3))}, "all equal"),
        ({"encode": 3}, "a map or a callable, got 3"),
        ({"attribute": [1, 2]}, "one label for each of 240 rows"),
        ({"people": np.zeros(240)}, "people must be several"),
        ({"second": lambda rows: rows[:, :2]}, "codes of another size"),
        ({"encode": lambda rows: rows[:, :0]}, "a code for each of 2 rows"),
        ({"X": 1e200 * data()[0]}, r"X must be below 1e\+100 in size, got"),
    ],
)
def test_wrong_arguments_are_named(change, match):
    given = {"encode": lambda rows: rows, "X": data()[0], "baselines": False, **change}
    with pytest.raises(PrimalError, match=match):
        audit(given.pop("encode"), given.pop("X"), **given)


def test_baselines_stand_beside_rows_that_begin_with_equal_ones():
    X = np.zeros((480, 3))
    X[400:] = np.random.default_rng(0).standard_normal((80, 3))
    report = audit(lambda rows: rows, X)
    assert [s.name for s in report.subjects][1:] == [s.name for s in audit_of_noise().subjects][1:]


def test_baselines_stand_beside_rows_far_from_zero():
    X = 1e8 + np.random.default_rng(0).standard_normal((80, 3))
    found = audit(lambda rows: np.tile(rows, 6), X).subjects
    (public,) = (subject for subject in found if subject.name == "public prime map")
    assert public.numbers()["inversion"].value < 0.01  # by the lattice: phases of ten million turns


def audit_of_noise():
    return audit(lambda rows: rows, np.random.default_rng(0).standard_normal((80, 3)))


@pytest.mark.parametrize("method", ["growable", "lattice"])
def test_features_for_a_kernel_are_attacked_too(method):
    m = primal.KernelPrime(3, 64, gamma=20.0, method=method)
    found = audit(m, np.random.default_rng(0).standard_normal((80, 3)), baselines=False)
    attacks = [finding.attack for finding in found.subjects[0].findings]
    assert ("inversion" in attacks) == (method == "growable")  # weighted ones have no plan
    if method == "growable":
        assert found.subjects[0].numbers()["inversion"].value < 1e-3


def test_findings_are_asked_for_by_name(report):
    assert report.subjects[0].finding("linkage").attack == "linkage"
    with pytest.raises(PrimalError, match=r"attack must be one of .*'linkage'.* got 'spying'"):
        report.subjects[0].finding("spying")


def test_a_report_that_cannot_be_written(report):
    with pytest.raises(PrimalError, match=r"x.html cannot be written .Not a directory"):
        report.save("/dev/null/y/x.html")


def test_a_report_makes_its_folder(report, tmp_path):
    report.save(tmp_path / "new" / "a.json")
    assert json.loads((tmp_path / "new" / "a.json").read_text())["rows"] == report.n_rows


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, attribute = data(80, 3)
    rows = [[*x, label] for x, label in zip(X.tolist(), attribute, strict=True)]
    with (tmp_path / "data.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["u", "v", "w", "a"], *rows])
    return tmp_path


def test_the_command_audits_a_table(table):
    (table / "m.json").write_text(json.dumps(primal.DynamicPrime(3, 8, 0.1).spec))
    line = "privacy audit data.csv --encoder m.json --attribute a"
    done = CliRunner().invoke(cli, [*line.split(), "--html", "r.html"])
    assert done.exit_code == 0, done.output
    assert re.search(r"^m +inversion .* attribute 0\.", done.output, flags=re.MULTILINE)
    assert json.loads(CliRunner().invoke(cli, [*line.split(), "--json"]).output)["inputs"] == 3
    assert (table / "r.html").read_text().startswith("<!doctype html>")


def test_the_command_takes_a_key_from_a_file_and_shows_none(table):
    secret = bytes(range(60, 92))
    m = KeyedPrime(Key(secret, application="cli"), 3, 16, 0.2)
    (table / "m.json").write_text(json.dumps(m.spec))
    (table / "key").write_bytes(secret)
    line = ["privacy", "audit", "data.csv", "--encoder", "m.json", "--columns", "u,v,w"]
    done = CliRunner().invoke(cli, [*line, "--key-file", "key", "--json"])
    assert done.exit_code == 0, done.output
    assert secret.decode() not in done.output
    without = CliRunner().invoke(cli, line)
    assert isinstance(without.exception, PrimalError)
    assert "--key-file" in str(without.exception)


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ("--columns z", "no column 'z'"),
        ("--columns a", "must hold numbers"),
        ("", "must hold"),
        ("--html r.txt --columns a", "--html must end in .html or .json, got 'r.txt'"),
        ("--columns v --encoder basis.json", "got the spec of a Basis"),
        ("", "cut.csv must be a CSV file"),
    ],
)
def test_wrong_arguments_of_the_command_are_named(table, more, match):
    m = primal.DynamicPrime(3, 8, 0.1)
    (table / "m.json").write_text(json.dumps(m.spec))
    (table / "basis.json").write_text(json.dumps(m.basis.spec))
    (table / "cut.csv").write_text("u,v\n1,2\n3\n")
    name = match.split()[0] if "CSV" in match else "data.csv"
    line = f"privacy audit {name} --encoder m.json {more}"
    done = CliRunner().invoke(cli, line.split())
    assert isinstance(done.exception, PrimalError)
    assert match in str(done.exception)


def test_too_few_rows_are_named_by_their_option(table):
    done = CliRunner().invoke(
        cli, ["privacy", "audit", "data.csv", "--encoder", "m.json", "--rows", "39"]
    )
    assert done.exit_code == 2
    assert "'--rows': 39" in done.output


def test_names_of_columns_may_have_spaces_around_them(table):
    (table / "m.json").write_text(json.dumps(primal.DynamicPrime(2, 8, 0.1).spec))
    line = ["privacy", "audit", "data.csv", "--encoder", "m.json", "--columns", "v, u"]
    done = CliRunner().invoke(cli, [*line, "--json"])
    assert json.loads(done.output)["inputs"] == 2
