"""``primal codebook``: certificates as tables and JSON, files, pictures, errors."""

import json

import numpy as np
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
