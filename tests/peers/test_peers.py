"""Ours pass other libraries' own tests, but for the deviations that are listed with a reason."""

from dataclasses import replace

import pytest
from suites import judged, suites

SUITES = suites()


def runnable(package):
    suite = SUITES[package]
    if suite.obstacle:
        pytest.skip(suite.obstacle)
    return suite


@pytest.mark.slow
@pytest.mark.parametrize("package", SUITES)
def test_ours_pass_their_tests(package, tmp_path):
    suite = runnable(package)
    assert judged(suite, suite.run(tmp_path)) == []


@pytest.mark.slow
def test_a_suite_fails_for_features_that_are_no_kernel(tmp_path, monkeypatch):
    suite = runnable("scikit-learn")
    (tmp_path / "adapt_wrongly.py").write_text(
        "import adapt_sklearn\n"
        "from primal.sklearn import PrimeFeatures\n"
        "PrimeFeatures.transform = lambda self, X: X\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    outcomes = replace(suite, adapter="adapt_wrongly", select="test_rbf_sampler").run(tmp_path)
    assert outcomes["test_kernel_approximation.test_rbf_sampler"] != "passed"


THREE = replace(
    SUITES["scikit-learn"], n_tests=3, deviations={"m.test_a": "reason", "m.test_b": "reason"}
)
EXPECTED = {"m.test_a[1]": "AssertionError", "m.test_b": "skipped", "m.test_c": "passed"}


class TestJudging:
    def test_as_expected(self):
        assert judged(THREE, EXPECTED) == []

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"m.test_c": "KeyError: 3"}, "m.test_c: KeyError: 3"),
            ({"m.test_c": "skipped"}, "m.test_c: skipped"),
            ({"m.test_a[1]": "passed"}, "m.test_a[1] passes and is listed as a deviation"),
            ({"m.test_d": "passed"}, "4 tests ran, and 3 are expected"),
        ],
    )
    def test_what_is_not(self, changes, said):
        problems = judged(THREE, EXPECTED | changes)
        assert [problem for problem in problems if problem.startswith(said)] == problems

    def test_a_deviation_of_no_test(self):
        outcomes = {"m.test_a": "ValueError", "m.test_bc": "passed", "m.test_c": "passed"}
        assert judged(THREE, outcomes) == ["no test is called m.test_b"]


def test_every_deviation_has_a_reason():
    for suite in SUITES.values():
        assert all(len(reason.split()) > 3 for reason in suite.deviations.values())
