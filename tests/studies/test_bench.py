"""The benchmark measures fairly, and its peers compute what they stand for."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import primal
from primal.cli import cli
from primal.codebooks import toeplitz_statistics
from primal_studies.bench import Case, Result, contest, exponents, judge, peak_extra_bytes
from primal_studies.bench import _peers as peers
from primal_studies.bench._cases import GROUPS, cases, gaussian_inputs, rbf_map


def test_contenders_take_turns_and_start_in_another_order_each_round():
    order = []
    contenders = {name: lambda name=name: order.append(name) for name in "abc"}
    contest(Case("g", "l", {}, contenders), repeats=3, budget_seconds=60)
    warm_up, rounds = order[:3], [order[3 + 3 * i : 6 + 3 * i] for i in range(3)]
    assert warm_up == list("abc")
    assert rounds == [list("abc"), list("bca"), list("cab")]


def test_a_spent_budget_ends_the_rounds_but_not_before_the_third():
    calls = []
    result = contest(
        Case("g", "l", {}, {"a": lambda: calls.append(1)}), repeats=50, budget_seconds=0.0
    )
    assert len(result.seconds["a"]) == 3


def test_ratios_compare_times_of_the_same_round():
    # The machine slows down fivefold in the last round; the ratio must not notice.
    result = Result("g", "l", {}, 0, {"peer": [2.0, 2.0, 10.0], "primal": [1.0, 1.0, 5.0]})
    assert result.ratio("peer", "primal") == (2.0, 2.0, 2.0)
    assert result.median("peer") == 2.0


def test_bars_are_judged_by_the_median_ratio_and_skip_missing_peers():
    seconds = {
        "primal": [1.0] * 3,
        "primal, given memory": [1.0] * 3,
        "memory fill": [0.25] * 3,
        "paper's recipe": [50.0] * 3,
    }
    result = Result("static", "StaticPrime", {"N": 10_000, "D": 1024}, 0, seconds)
    bars = {bar.name: bar for bar in judge([result], 10**6, {100: 0.1})}
    recipe = bars["StaticPrime: times faster than the paper's recipe"]
    fill = bars["StaticPrime: into given memory, of a memory fill"]
    assert (recipe.measured, recipe.met) == (50.0, False)
    assert (fill.measured, fill.met) == (4.0, False)
    without = Result("static", "StaticPrime", {"N": 10_000, "D": 1024}, 0, {"primal": [1.0]})
    # Memory and the import need no other library.
    assert [bar.name.partition(" ")[0] for bar in judge([without], 0, {})] == ["import", "encode"]


def test_the_paper_recipe_is_the_paper_algorithm():
    pytest.importorskip("torch")
    s, x = primal.StaticPrime(64), gaussian_inputs(50, 3)
    np.testing.assert_allclose(peers.paper_static(100, 64)().numpy(), s.waves(100), atol=3e-7)
    m = primal.DynamicPrime(3, 16, 0.25)
    np.testing.assert_allclose(peers.paper_dynamic(x, 16, 0.25)().numpy(), m.encode(x), atol=3e-7)
    small = primal.DynamicPrime(3, 16, 0.001)
    z = small.encode(x)
    np.testing.assert_allclose(
        peers.paper_inverse(z, 3, 0.001)().numpy(), small.decode(z), atol=1e-9
    )


def test_plain_peers_agree_with_ours():
    np.testing.assert_array_equal(peers.plain_sieve(5000)(), primal.primes(5000))
    worst = toeplitz_statistics(primal.increments(32), 1000).coherence
    assert peers.plain_worst_lag(64, 1000)() == pytest.approx(worst, abs=1e-9)


def test_the_benchmark_map_has_the_kernel_of_its_peer():
    # Mean of cosines of phase differences = kernel value, up to the map's own kernel error.
    d, D = 16, 4096
    m, x = rbf_map(d, D), gaussian_inputs(2, d)
    z = m.encode(x, dtype="float64")
    kernel = np.exp(-np.square(x[0] - x[1]).sum() / d)
    assert z[0] @ z[1] / (D / 2) == pytest.approx(kernel, abs=0.02)


@pytest.mark.parametrize("group", list(GROUPS))
def test_every_quick_case_has_ours_first_and_labels_with_sizes(group):
    for case in cases(group, quick=True):
        assert next(iter(case.contenders)) == "primal"
        assert case.label
        assert case.sizes


def test_memory_does_not_grow_with_the_batch():
    peaks = peak_extra_bytes(quick=True)
    # A block of a million entries of x in float64, twice: 100,000 rows have six of them.
    assert max(peaks.values()) < 2 * 8 * 2**20 + 2**20


def test_exponents_are_finite_numbers_for_every_size():
    found = exponents(quick=True)
    assert set(found) == {
        "StaticPrime in N",
        "StaticPrime in D",
        "DynamicPrime in N",
        "DynamicPrime in d",
        "DynamicPrime in D",
    }
    assert all(np.isfinite(value) for value in found.values())


def test_command_prints_a_table_and_draws_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    arguments = ["bench", "--quick", "--only", "static", "--out", str(tmp_path / "new")]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert "StaticPrime 10000 x 1024" in result.output
    assert "memory fill" in result.output
    assert (tmp_path / "new" / "primal-bench.png").read_bytes()[:4] == b"\x89PNG"


def test_command_prints_json(tmp_path):
    result = CliRunner().invoke(
        cli, ["bench", "--quick", "--only", "primes", "--json", "--out", str(tmp_path)]
    )
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    (case,) = report["results"]
    assert case["label"] == "first 1,000,000 primes"
    assert len(case["seconds"]["primal"]) == 3
    assert report["picture"] is None
