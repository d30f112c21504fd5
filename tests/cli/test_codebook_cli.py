"""``primal codebook``: certificates as tables and JSON, files, pictures, errors."""

import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import primal
from primal import from_spec
from primal.cli._codebook import codebook as command
from primal.codebooks import KINDS, codebook


def run(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_a_certificate_as_a_table():
    result = run(1000, 64)
    assert result.exit_code == 0, result.output
    for text in ("0.125000", "kind kerdock", "1.033 times Welch", "closed form", "chosen"):
        assert text in result.output


def test_make_is_the_default_and_options_may_come_first():
    expected = run("make", 100, 16, "--kind", "static").output
    assert "lag 52" in expected
    assert run(100, 16, "--kind", "static").output == expected
    assert run("--kind", "static", 100, 16).output == expected


def test_help_names_both_commands():
    result = run("--help")
    assert result.exit_code == 0
    assert "compare" in result.output
    assert "make" in result.output


def test_json_rebuilds_the_codebook():
    report = json.loads(run(100, 16, "--kind", "shadow", "--json").stdout)
    cb = from_spec(report["spec"])
    assert cb == codebook(100, 16, kind="shadow")
    assert report["certificate"]["coherence"] == cb.certificate.coherence
    assert json.loads(run(5, 16, "--json").stdout)["certificate"]["ratio"] == 1.0


def test_codes_as_npy(tmp_path):
    out = tmp_path / "new" / "codes.npy"
    result = run(5000, 16, "--kind", "static", "--out", out)
    assert result.exit_code == 0, result.output
    assert f"wrote {out}" in result.output
    assert np.array_equal(np.load(out), codebook(5000, 16, kind="static")[:])
    assert list(out.parent.iterdir()) == [out]


def test_phasors_as_npy(tmp_path):
    out = tmp_path / "codes.npy"
    assert run(57, 8, "--field", "complex", "--out", out).exit_code == 0
    assert np.load(out).dtype == np.complex64


def test_spec_and_certificate_as_json_file(tmp_path):
    out = tmp_path / "codes.json"
    assert run(100, 16, "--out", out).exit_code == 0
    report = json.loads(out.read_text())
    assert from_spec(report["spec"]).certificate.coherence == report["certificate"]["coherence"]


def test_an_unknown_ending_is_refused_before_the_work(tmp_path):
    result = run(100, 16, "--out", tmp_path / "codes.txt")
    assert isinstance(result.exception, primal.errors.ParameterError)
    assert "codes.txt" in str(result.exception)


def test_impossible_requests():
    result = run(1000, 64, "--max-coherence", 0.1)
    assert isinstance(result.exception, primal.PrimalError)
    assert "Welch bound" in str(result.exception)
    assert run(0, 64).exception is not None


def test_compare_lists_every_kind_and_the_bounds():
    result = run("compare", 60, 16, "--steps", 50)
    assert result.exit_code == 0, result.output
    for name in (*KINDS, "Welch bound", "Levenshtein bound", "predicted for static"):
        assert name in result.stdout
    assert "use N up to 29" in result.stdout  # paley says why it does not serve


def test_compare_as_json_is_sorted():
    report = json.loads(run("compare", 50, 8, "--field", "complex", "--json").stdout)
    found = [row["coherence"] for row in report["kinds"] if row["coherence"] is not None]
    assert found == sorted(found)
    assert report["bounds"]["Welch bound"] <= found[0]


def test_pictures(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    one, two = tmp_path / "a" / "one.png", tmp_path / "two.png"
    assert run(200, 16, "--kind", "static", "--plot", one).exit_code == 0
    result = run("compare", 60, 16, "--steps", 50, "--plot", two)
    assert result.exit_code == 0, result.output
    for path in (one, two):
        assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("way", ["make", "compare"])
def test_a_name_of_no_picture_is_rejected_before_the_search(way, monkeypatch):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    monkeypatch.setattr("primal.cli._codebook.make_codebook", None)
    done = run(way, 6, 4, "--plot", "codes.foo")
    assert isinstance(done.exception, primal.PrimalError)
    assert "'codes.foo' is no picture" in str(done.exception)


def test_pictures_without_matplotlib_say_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run(20, 16, "--plot", tmp_path / "one.png")
    assert isinstance(result.exception, primal.PrimalError)
    assert "pip install matplotlib" in str(result.exception)
