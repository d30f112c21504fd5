"""Other libraries' own tests, run on ours: where they are, how they run, what is expected.

A suite runs in a process of its own, under a plugin ``adapt_*.py`` that puts our class in the
place of theirs before their tests are imported. Nothing of theirs is in this repository: tests
come from the installed package, or from its sdist, which ``tools/fetch_peer_tests.py`` downloads.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HERE", "Suite", "judged", "suites"]

HERE = Path(__file__).parent
_ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Suite:
    """The tests of one library.

    Attributes
    ----------
    package, version : str
        On PyPI.
    adapter : str
        Module in this folder that puts ours in the place of theirs.
    tests : str
        Path in the sdist if there is a hash of it, else in the installed packages.
    select : str
        Which of them, as ``pytest -k`` takes it.
    n_tests : int
        How many these are.
    sha256 : str
        Of the sdist; empty where the installed package holds the tests.
    deviations : dict of str to str
        Tests that ours does not pass, with or without parameters, and the reason for each.
    """

    package: str
    version: str
    adapter: str
    tests: str
    select: str
    n_tests: int
    sha256: str
    deviations: dict[str, str]

    @property
    def path(self) -> Path:
        """Where the tests are."""
        if self.sha256:
            return _ROOT / ".peer-tests" / f"{self.package}-{self.version}" / self.tests
        return Path(importlib.metadata.distribution(self.package).locate_file(self.tests))  # type: ignore[arg-type]

    @property
    def obstacle(self) -> str:
        """Why the tests cannot run here; empty if they can."""
        try:
            found = importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return f"{self.package} is not installed"
        if found != self.version:
            return f"the suite is that of {self.package} {self.version}, and {found} is installed"
        if not self.path.exists():
            return f"{self.path} is not there: run python tools/fetch_peer_tests.py"
        return ""

    def run(self, folder: Path) -> dict[str, str]:
        """Return the outcome of every test: "passed", "skipped" or what failed.

        Parameters
        ----------
        folder : Path
            For the report and the settings of the run.
        """
        settings, report = folder / "pytest.ini", folder / "report.xml"
        settings.write_text("[pytest]\nconsider_namespace_packages = true\n")
        options = ["-c", settings, "--rootdir", self.path.parent, "--import-mode=importlib"]
        options += ["-p", self.adapter, "-p", "no:cacheprovider", "-k", self.select]
        python_path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-m", "pytest", self.path, *options, "--junitxml", report],
            # Other tests run at the same time, and these are small.
            env={**os.environ, "PYTHONPATH": python_path, "OMP_NUM_THREADS": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(f"the tests of {self.package} did not run:\n{done.stdout[-3000:]}")
        return {_name(case): _outcome(case) for case in ElementTree.parse(report).iter("testcase")}


def suites() -> dict[str, Suite]:
    """Return the suites of ``deviations.toml`` by their package."""
    with (HERE / "deviations.toml").open("rb") as stream:
        tables = tomllib.load(stream)
    return {name: Suite(package=name, **table) for name, table in tables.items()}


def judged(suite: Suite, outcomes: dict[str, str]) -> list[str]:
    """Return what is not as expected, one sentence each.

    A test must pass unless it is listed; one that is listed must fail.
    """
    problems = []
    if len(outcomes) != suite.n_tests:
        problems.append(f"{len(outcomes)} tests ran, and {suite.n_tests} are expected")
    listed = {name: [d for d in suite.deviations if _is_of(name, d)] for name in outcomes}
    for name, outcome in outcomes.items():
        if outcome == "passed" and listed[name]:
            problems.append(f"{name} passes and is listed as a deviation: take it off the list")
        elif outcome != "passed" and not listed[name]:
            problems.append(f"{name}: {outcome}")
    used = {deviation for deviations in listed.values() for deviation in deviations}
    problems += [f"no test is called {name}" for name in suite.deviations if name not in used]
    return problems


def _is_of(name: str, deviation: str) -> bool:
    return name == deviation or name.startswith(f"{deviation}[")


def _name(case: ElementTree.Element) -> str:
    """Return the name of a test, with its class or module in front."""
    return f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}"


def _outcome(case: ElementTree.Element) -> str:
    for kind in ("failure", "error", "skipped"):
        found = case.find(kind)
        if found is not None:
            return "skipped" if kind == "skipped" else " ".join(str(found.get("message")).split())
    return "passed"
