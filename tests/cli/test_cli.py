"""The command line: demo, doctor, version and errors."""

import io
import json
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import primal
import primal.cli
import primal.cli._doctor
from primal import _selftest
from primal.cli import cli
from primal.cli._common import progress_bar
from primal.exact import installed_engines
from primal_studies.cli._demo import _as_text

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8").splitlines()


def run(*arguments):
    return CliRunner().invoke(cli, list(arguments))


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.output == f"primal, version {primal.__version__}\n"


def commands(group=cli, path=()):
    """Yield every group and command with its path, the words that call it."""
    yield path, group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands())
WALK = pytest.mark.parametrize("path", list(COMMANDS), ids=lambda path: " ".join(path) or "primal")


def test_every_command_is_walked():
    assert {("doctor",), ("codebook", "make"), ("export", "c")} <= set(COMMANDS)


@WALK
def test_help_names_no_file_that_is_not_installed(path):
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert not re.search(r"\bdocs/|\.md\b|\btools/|\btests/", result.output)


@WALK
def test_help_has_examples_that_parse(path):
    """An example calls this command, or one of this group, with options that it has."""
    shown = run(*path, "--help").output.partition("Examples:\n")[2]
    examples = re.findall(r"^ +primal (.*?)(?: > .*)?$", shown, re.MULTILINE)
    assert examples
    for example in examples:
        words = shlex.split(example)
        assert tuple(words[: len(path)]) == path
        command = cli
        while isinstance(command, click.Group) and words[0] in command.list_commands(
            click.Context(command)
        ):
            name = words.pop(0)
            command = command.get_command(click.Context(command), name)
        with command.make_context("primal", words):
            pass  # parsed, not called


@WALK
def test_every_command_reports_as_json(path):
    options = {option for parameter in COMMANDS[path].params for option in parameter.opts}
    assert isinstance(COMMANDS[path], click.Group) or "--json" in options


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("primal cod", ["plain,codebook"]),
        ("primal codebook ", ["plain,compare", "plain,make"]),
        ("primal codebook make 10 4 --kind ker", ["plain,kerdock"]),
        ("primal export c m.json m.h --inputs u", ["plain,uint16", "plain,uint8"]),
        ("primal export c out", ["file,out"]),
    ],
)
def test_shell_completion(monkeypatch, capsys, line, expected):
    words = line.split(" ")
    monkeypatch.setenv("_PRIMAL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    monkeypatch.setattr(sys, "argv", ["primal"])
    with pytest.raises(SystemExit) as stopped:
        primal.cli.main()
    assert stopped.value.code == 0
    assert sorted(capsys.readouterr().out.splitlines()) == expected


def test_shell_completion_installs_itself(monkeypatch, capsys):
    monkeypatch.setenv("_PRIMAL_COMPLETE", "zsh_source")
    monkeypatch.setattr(sys, "argv", ["primal"])
    with pytest.raises(SystemExit):
        primal.cli.main()
    assert "#compdef primal" in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def last_line(self):
        return self.getvalue().rpartition("\r")[2].strip()


class TestProgressBar:
    def begin(self, monkeypatch):
        """Return a terminal in place of standard error, and a clock that is set by hand."""
        terminal, now = Terminal(), [1000.0]
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr("time.time", lambda: now[0])
        return terminal, now

    def test_time_left_counts_from_where_an_earlier_run_stopped(self, monkeypatch):
        terminal, now = self.begin(monkeypatch)
        with progress_bar("encode") as progress:
            progress(900, 1000)
            now[0] += 10.0
            progress(950, 1000)
            assert re.search(r"encode .*#.* 950/1000 +00:00:10$", terminal.last_line())
            progress(1000, 1000)
            assert re.search(r"encode .*#.* 1000/1000$", terminal.last_line())

    def test_an_unknown_total_counts_only(self, monkeypatch):
        terminal, now = self.begin(monkeypatch)
        with progress_bar("encode") as progress:
            progress(0, None)
            now[0] += 2.0
            progress(512, None)
            assert terminal.last_line().endswith(" 512")

    def test_a_label_begins_a_bar(self, monkeypatch):
        terminal, _ = self.begin(monkeypatch)
        with progress_bar("fit") as progress:
            progress(1, 2)
            progress(0, 8, "encode")
            progress(4, 8, "encode")
        fit, encode = (terminal.getvalue().index(text) for text in ("fit", "encode"))
        assert fit < encode < terminal.getvalue().index("4/8")

    def test_not_a_terminal_gets_the_label_only(self, capsys):
        with progress_bar("search") as progress:
            for done in range(5):
                progress(done, 5)
        assert capsys.readouterr().err == "search\n"


def test_an_unknown_command_is_refused():
    result = run("dance")
    assert result.exit_code == 2
    assert "dance" in result.output


def test_demo_draws_a_picture_into_a_new_folder(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("primal_studies.cli._demo._SIZES", (32, 64))  # the test below has them all
    result = run("demo", "--out", str(tmp_path / "new" / "folder"))
    assert result.exit_code == 0, result.output
    picture = tmp_path / "new" / "folder" / "primal-demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert picture.stat().st_size > 10_000
    assert f"picture: {picture}" in result.output
    # Where the linear inverse fails the lattice decoder does not, and proves it.
    assert "off by up to 124" in result.output
    assert "100% proved to be the only answer" in result.output


def test_demo_as_json(tmp_path):
    result = run("demo", "--json", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    assert set(report) == {"decoded", "features", "codes", "memory", "picture"}
    assert report["picture"] == str(tmp_path / "primal-demo.png")
    assert report["decoded"]["lattice_error"] < 1e-5 < 1 < report["decoded"]["linear_error"]
    features, codes, memory = report["features"], report["codes"], report["memory"]
    for ours, theirs in zip(features["prime_errors"], features["random_errors"], strict=True):
        assert ours < min(theirs)
    for bound, ours, random in zip(codes["bound"], codes["codebook"], codes["random"], strict=True):
        assert bound <= ours < random
    assert memory["message"][memory["items"].index(200)] == 1.0
    # The page shows these numbers; times, and where the picture is, are those of a machine.
    here = ("  RBFSampler", "picture: ")
    printed = [line for line in _as_text(report).splitlines() if not line.startswith(here)]
    assert [line for line in printed if line not in PAGE] == []
    assert len(printed) == 15


def test_doctor():
    result = run("doctor")
    assert result.exit_code == 0, result.output
    assert "This machine makes the golden bits." in result.output
    for name in installed_engines():
        n = len(_selftest.GOLDEN)
        assert f"{name}: {n} of {n} known answers right" in result.output
    assert "WRONG" not in result.output


def test_doctor_as_json():
    report = json.loads(run("doctor", "--json").output)
    assert report["healthy"] is True
    assert report["primal"] == primal.__version__
    assert any(line.startswith(f"primal {primal.__version__} on Python") for line in PAGE)
    found = list(installed_engines())
    if find_spec("torch") is not None:
        found += ["torch, CPU", "torch, CPU, eager"]
    assert [name for name in report["engines"] if "CUDA" not in name] == found
    assert not set(report["engines"]) & set(report["not_found"])
    for checks in report["engines"].values():
        assert set(checks) == set(_selftest.GOLDEN)
        assert all(checks.values())


def test_doctor_fails_when_a_bit_is_wrong(monkeypatch):
    name = "StaticPrime(64) at positions from 10**12"
    monkeypatch.setitem(_selftest.GOLDEN, name, "0" * 64)
    result = run("doctor")
    assert result.exit_code == 1
    assert f"WRONG  {name}" in result.output
    assert "does NOT make the golden bits" in result.output
    as_json = run("doctor", "--json")
    assert as_json.exit_code == 1
    assert json.loads(as_json.output)["healthy"] is False


def test_doctor_without_the_c_core_says_why(monkeypatch):
    monkeypatch.setattr(primal.native, "levels", tuple)
    monkeypatch.setattr(primal.native, "reason", lambda: "core.so is truncated")
    monkeypatch.setenv("PRIMAL_ENGINE", "numpy")
    result = run("doctor")
    assert result.exit_code == 0
    assert "C core: not loaded (core.so is truncated)" in result.output
    assert "install Primal from a wheel, or with a C compiler" in result.output


def test_main_prints_one_line_for_an_error_of_ours(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["primal", "doctor"])
    monkeypatch.setenv("PRIMAL_ENGINE", "abacus")
    with pytest.raises(SystemExit) as stopped:
        primal.cli.main()
    assert stopped.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Error: engine must be one of")
    assert "'abacus'" in printed.err
    assert printed.err.count("\n") == 1


def test_main_does_not_hide_other_errors(monkeypatch):
    def broken(**options):
        raise RuntimeError("a bug")

    monkeypatch.setattr(primal.cli, "cli", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        primal.cli.main()
