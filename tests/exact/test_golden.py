"""The known answers of the self-test, on every engine that is installed here."""

import re
from pathlib import Path

import pytest

from primal import _selftest
from primal._selftest import GOLDEN, engine_answers, sample_points
from primal.exact import installed_engines


@pytest.mark.parametrize("engine_name", installed_engines())
def test_every_known_answer(engine_name):
    answers = engine_answers(engine_name)
    assert list(answers) == list(GOLDEN)
    assert all(answers.values())


def test_a_wrong_answer_is_not_ok(monkeypatch):
    name = next(iter(GOLDEN))
    monkeypatch.setitem(_selftest.GOLDEN, name, "0" * 64)
    wrong = [answer for answer, right in engine_answers("numpy").items() if not right]
    assert wrong == [name]


def test_an_answer_without_its_golden_value_is_not_ok(monkeypatch):
    name = next(iter(GOLDEN))
    monkeypatch.delitem(_selftest.GOLDEN, name)
    wrong = [answer for answer, right in engine_answers("numpy").items() if not right]
    assert wrong == [name]


def test_sample_points_are_float32_numbers_in_range():
    x = sample_points(100, 3)
    assert x.shape == (100, 3)
    assert (x >= -1.0).all()
    assert (x < 1.0).all()
    assert (x.astype("f4").astype("f8") == x).all()
    # sqrt of the 1001st prime, 7927: its fraction to 24 bits, on (-1, 1).
    assert x[0, 0] == int((7927**0.5 % 1) * 2**24) * 2.0**-23 - 1.0


def test_the_command_that_prints_new_answers(capsys):
    page = Path(__file__).parents[2] / "CONTRIBUTING.md"
    command = re.search(r'python -c "(from primal\._selftest .*?)"\n', page.read_text(), re.DOTALL)
    exec(command[1].replace("\n   ", "\n"), {})
    printed = dict(line.rsplit(" ", 1) for line in capsys.readouterr().out.splitlines())
    assert printed == GOLDEN
