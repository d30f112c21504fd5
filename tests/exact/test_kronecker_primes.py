"""The frozen prime lists of the basis ``kronecker`` follow from their rule."""

from __future__ import annotations

from types import ModuleType

import pytest
from click.testing import CliRunner
from tool_modules import tool_module

from primal.exact._laws import KRONECKER_PRIMES


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return tool_module("kronecker_primes")


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_rule_gives_the_frozen_list(tool: ModuleType, d: int) -> None:
    assert tool.choose_primes(d) == KRONECKER_PRIMES[d]


@pytest.mark.parametrize(("d", "n_given"), [(4, 3), (5, 4), (6, 5), (7, 6), (8, 5)])
def test_the_last_primes_follow_from_those_before_them(
    tool: ModuleType, d: int, n_given: int
) -> None:
    # All columns decide on the last one. The tool itself chooses every column.
    frozen = KRONECKER_PRIMES[d]
    assert tool.choose_primes(d, given=frozen[:n_given]) == frozen


def test_the_command_reports_a_difference(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool, "choose_primes", lambda d, tried: tuple(range(d)))
    result = CliRunner().invoke(tool.main, ["--d", "2"])
    assert result.exit_code == 1
    assert "d = 2: (0, 1) frozen: (1699, 3169)" in result.stdout
