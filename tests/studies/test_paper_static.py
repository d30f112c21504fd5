"""The StaticPrime half of the paper: baselines, five experiments, and their claims' rules."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import primal
from primal.codebooks import bounds, gram_statistics, toeplitz_statistics
from primal.exact import increments, static_turns, waves
from primal_studies.paper import _stats, baselines
from primal_studies.paper._claim import Verdict
from primal_studies.paper._experiment import Fact
from primal_studies.paper.experiments import complexity, landscape, optimality, precision, torus
from primal_studies.paper.experiments._captions import CAPTIONS
from primal_studies.paper.experiments._operations import growth

pytest.importorskip("scipy")
MODULES = {m.EXPERIMENT.name: m for m in (landscape, optimality, complexity, torus, precision)}
CLAIMS = [claim for module in MODULES.values() for claim in module.CLAIMS]
HOLDS, IN_PART, FAILS = Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS
ERRATUM = Verdict.ERRATUM


@pytest.fixture(scope="module")
def outcomes():
    """Quick outcomes by name, each made when first asked for; and the progress they told."""
    made = {}

    def outcome(name):
        if name not in made:
            told = []
            with pytest.MonkeyPatch.context() as patch:
                # Most of the time goes to Gaussian codes of the two largest D.
                patch.setattr(optimality, "DIMS", optimality.DIMS[:-2])
                made[name] = MODULES[name].EXPERIMENT.run(True, told.append), told
        return made[name]

    return outcome


class TestStatistics:
    def test_density_is_scipys_default(self):
        from scipy.stats import gaussian_kde

        samples = np.random.default_rng(0).gamma(2.0, size=43)
        at = np.linspace(0.0, 10.0, 101)
        assert_allclose(_stats.density(samples, at), gaussian_kde(samples)(at), rtol=1e-12)

    def test_peak_of_a_symmetric_sample_is_its_middle(self):
        assert _stats.density_peak([1.0, 2.0, 2.5, 3.0, 4.0]) == pytest.approx(2.5, abs=1e-3)

    def test_slope_of_a_power_is_its_exponent_without_error(self):
        sizes = np.array([1.0, 2.0, 4.0, 8.0])
        slope, error = _stats.log_slope(sizes, 3.0 * sizes**1.7)
        assert slope == pytest.approx(1.7, abs=1e-12)
        assert error == pytest.approx(0.0, abs=1e-12)

    def test_slope_and_error_are_those_of_linear_regression(self):
        from scipy.stats import linregress

        sizes, values = [1.0, 2.0, 4.0, 8.0], [1.0, 2.3, 3.7, 9.0]
        expected = linregress(np.log(sizes), np.log(values))
        assert_allclose(_stats.log_slope(sizes, values), [expected.slope, expected.stderr])

    def test_fact_has_mean_spread_and_number(self):
        assert _stats.fact([1.0, 3.0]) == Fact(2.0, math.sqrt(2.0), 2)
        assert _stats.fact([5.0]) == Fact(5.0, 0.0, 1)


class TestBaselines:
    def test_gaussian_codes_are_unit_rows_and_follow_the_seed(self):
        codes = baselines.gaussian_codes(50, 16)
        assert_allclose(np.linalg.norm(codes, axis=1), 1.0, rtol=1e-6)
        assert_array_equal(codes, baselines.gaussian_codes(50, 16, 42))
        assert (codes != baselines.gaussian_codes(50, 16, 43)).any()

    @pytest.mark.parametrize("sizes", [(2, 3), (100, 700, 1300), (1024, 1025)])
    def test_prefix_coherences_are_those_of_each_prefix(self, sizes):
        codes = baselines.gaussian_codes(max(sizes), 12)
        expected = [gram_statistics(codes[:n]).coherence for n in sizes]
        assert_allclose(baselines.prefix_coherences(codes, sizes), expected, rtol=1e-5)

    def test_more_codes_than_rows_are_refused(self):
        with pytest.raises(
            primal.errors.ParameterError, match=r"there are 5 codes, fewer than N = 6"
        ):
            baselines.prefix_coherences(np.eye(5), [6])

    @pytest.mark.parametrize(("N", "D"), [(40, 6), (6, 40), (1500, 1100)])
    def test_gaussian_rms_is_that_of_all_pairs(self, N, D):
        expected = gram_statistics(baselines.gaussian_codes(N, D)).rms
        assert baselines.gaussian_rms(N, D) == pytest.approx(expected, rel=2e-5)

    def test_toeplitz_statistics_at_several_sizes(self):
        fractions = baselines.random_increments(8, 7)
        sizes = (2, 50, 333)
        expected = [toeplitz_statistics(fractions, N) for N in sizes]
        assert_allclose(
            baselines.toeplitz_coherences(fractions, sizes), [s.coherence for s in expected]
        )
        assert_allclose(baselines.toeplitz_rms(fractions, sizes), [s.rms for s in expected])

    def test_golden_increments_are_multiples_of_the_golden_ratio(self):
        golden = (math.sqrt(5.0) - 1.0) / 2.0
        expected = np.arange(1, 9) * golden % 1.0
        assert_allclose(baselines.golden_increments(8) * 2.0**-64, expected, atol=1e-14)

    @pytest.mark.parametrize("k", [1, 5, 8])
    def test_sobol_points_fall_into_different_cells(self, k):
        turns = baselines.sobol_increments(k, 3) * 2.0**-64
        cells = 2 ** max(k - 1, 0).bit_length()
        assert len(np.unique(np.floor(turns * cells))) == k

    def test_random_increments_follow_the_seed(self):
        assert_array_equal(baselines.random_increments(9), baselines.random_increments(9, 42))
        assert (baselines.random_increments(9) != baselines.random_increments(9, 1)).all()

    def test_float32_roots_are_exact_fractions_of_float32(self):
        roots = np.sqrt(primal.primes(300).astype(np.float32)).astype(np.float64)
        assert_array_equal(baselines.float32_root_increments(300) * 2.0**-64, roots % 1.0)


@pytest.mark.parametrize("name", MODULES)
def test_quick_outcome_is_plain_and_progress_rises_to_one(outcomes, name):
    outcome, told = outcomes(name)
    assert told == sorted(told)
    assert told[-1] == 1.0
    for rows in outcome.tables.values():
        assert len({tuple(row) for row in rows}) == 1, "one set of columns in a table"
        values = [value for row in rows for value in row.values()]
        assert {type(value) for value in values} <= {int, float, str, bool}
        assert all(math.isfinite(value) for value in values if not isinstance(value, str))
    for fact in outcome.facts.values():
        assert type(fact.value) in (int, float)
        assert math.isfinite(fact.value)
        assert fact.spread >= 0.0
        assert fact.n >= 1


@pytest.mark.parametrize("name", MODULES)
def test_every_claim_is_judged_from_the_quick_facts(outcomes, name):
    facts = outcomes(name)[0].facts
    for claim in MODULES[name].CLAIMS:
        assert claim.experiment == name
        assert claim.judge is not None
        judgement = claim.judge(facts)
        assert isinstance(judgement.verdict, Verdict)
        assert judgement.measured
        assert judgement.why.endswith(".")


@pytest.mark.parametrize("name", MODULES)
def test_figures_are_drawn_from_the_tables_alone(outcomes, name, tmp_path):
    outcome = replace(outcomes(name)[0], facts={})
    for title, figure in MODULES[name].EXPERIMENT.draw(outcome).items():
        figure.savefig(tmp_path / f"{title}.svg")
        # The figures of the paper itself have its panels side by side.
        assert figure.get_size_inches()[0] == (10.0 if title in ("figure-1", "densities") else 5.0)
        assert (tmp_path / f"{title}.svg").stat().st_size < 1_000_000


@pytest.mark.parametrize("name", MODULES)
def test_evidence_is_among_what_the_experiment_shows(outcomes, name):
    outcome = outcomes(name)[0]
    figures = set(MODULES[name].EXPERIMENT.draw(outcome))
    assert set(CAPTIONS[name]) == figures
    for claim in MODULES[name].CLAIMS:
        assert set(claim.figures) <= figures, claim.name
        assert set(claim.tables) <= set(outcome.tables), claim.name


def test_controls_without_independence():
    rational = baselines.rational_increments(100, seed=1)
    assert len(np.unique(rational)) == 100
    # After 20,011 steps every phase is whole, to the rounding of 2**-64.
    ends = rational * np.uint64(20_011)
    assert np.minimum(ends, -ends).max() <= 20_011
    roots = baselines.nonsquare_root_increments(8) * 2.0**-64
    assert_allclose(roots, np.sqrt([2, 3, 5, 6, 7, 8, 10, 11]) % 1.0, atol=1e-15)


def test_names_of_claims_are_different():
    names = [claim.name for claim in CLAIMS]
    assert len(names) == len(set(names)) >= 30


class TestLandscape:
    def test_the_two_percentages_of_the_paper(self, outcomes):
        facts = outcomes("landscape")[0].facts
        assert 100 * facts["ridge_reduction"].value == pytest.approx(0.47, abs=0.1)
        found = facts["surface_reduction"]
        error = found.spread / math.sqrt(found.n)
        assert abs(found.value - 0.0179) < 3.0 * error

    def test_they_agree_with_the_law_of_random_directions(self, outcomes):
        # E RMS**2 = 1 / D, whatever N is.
        tables = outcomes("landscape")[0].tables
        for name, expected in (("ridge", 0.46900), ("rms", 1.79278)):
            rows = tables[name]
            if name == "rms":
                rows = [row for row in rows if landscape.in_printed_grid(row["N"], row["D"])]
            prime = sum(row["prime_rms"] for row in rows)
            law = sum(row["D"] ** -0.5 for row in rows)
            assert 100 * (1.0 - prime / law) == pytest.approx(expected, abs=1e-4)

    def test_densities_integrate_to_one(self, outcomes):
        rows = outcomes("landscape")[0].tables["density"]
        width = 2.0 / landscape.BINS
        for name in ("prime", "gaussian"):
            total = sum(width * 10 ** r["log10_density"] for r in rows if r["code"] == name)
            assert total == pytest.approx(len(landscape.RIDGE_DIMS))


class TestOptimality:
    def test_cells_by_brute_force(self, outcomes):
        rows = {(r["N"], r["D"]): r for r in outcomes("optimality")[0].tables["cells"]}
        for N, D in ((100, 16), (500, 64)):
            z = primal.StaticPrime(D).waves(N, dtype="float64")
            found = gram_statistics(z)
            row = rows[N, D]
            assert row["prime_coherence"] == pytest.approx(found.coherence, abs=1e-12)
            assert row["prime_ratio"] == pytest.approx(found.coherence / bounds.welch(N, D))
            assert row["prime_rms_over_welch"] == pytest.approx(found.rms / bounds.welch(N, D))

    def test_peak_over_the_whole_grid(self):
        ratios = [
            mu / bounds.welch(N, D)
            for D in optimality.DIMS
            for sizes in ([N for N in optimality.CODES if N > D],)
            for N, mu in zip(
                sizes,
                baselines.toeplitz_coherences(primal.StaticPrime(D).increments, sizes),
                strict=True,
            )
        ]
        assert len(ratios) == 43
        assert _stats.density_peak(ratios) == pytest.approx(3.65, abs=0.01)

    def test_gaussian_coherences_follow_their_law(self, outcomes):
        rows = outcomes("optimality")[0].tables["cells"]
        quotients = [row["gaussian_coherence"] / row["predicted_gaussian"] for row in rows]
        assert np.mean(quotients) == pytest.approx(1.0, abs=0.03)

    def test_controls_are_drawn_more_than_once(self, outcomes):
        facts = outcomes("optimality")[0].facts
        for name in ("random", "sobol", "rational"):
            assert facts[f"{name}_ratio_peak"].n == facts["control_draws"].value > 1
            assert facts[f"{name}_ratio_peak"].spread > 0.0
        assert facts["gaussian_ratio_peak"] == Fact(facts["gaussian_ratio_peak"].value)

    def test_densities_in_the_table_peak_where_the_fact_says(self, outcomes):
        outcome = outcomes("optimality")[0]
        rows = [
            r
            for r in outcome.tables["density"]
            if r["statistic"] == "ratio" and r["code"] == "prime"
        ]
        at = max(rows, key=lambda row: row["density"])["x"]
        assert at == pytest.approx(outcome.facts["prime_ratio_peak"].value, abs=0.05)


class TestTorus:
    def test_float32_roots_repeat_after_their_period_and_not_before(self):
        assert torus.float32_period(2) == 2**23
        assert torus.float32_period(2048) == 2**23
        for k in (2, 100):
            fractions, period = baselines.float32_root_increments(k), torus.float32_period(k)
            assert not (fractions * np.uint64(period)).any()
            # Any period divides the smallest one, a power of two: half of it suffices.
            assert (fractions * np.uint64(period // 2)).any()

    def test_nearest_returns_by_brute_force(self, outcomes):
        rows = outcomes("torus")[0].tables["returns"]
        t = np.arange(1, 1025)[:, None] * np.sqrt([2.0, 3.0])
        distance = np.abs(t - np.round(t)).max(axis=1)
        for row in rows[:10]:
            assert row["exact_turns"] == pytest.approx(distance[: row["n"]].min(), abs=1e-12)
            assert row["proved_turns"] < row["exact_turns"] < row["dirichlet_turns"]

    def test_float32_path_closes(self, outcomes):
        rows = {row["n"]: row for row in outcomes("torus")[0].tables["returns"]}
        assert rows[2**23]["float32_turns"] == 0.0
        assert rows[2**22]["float32_turns"] > 0.0
        assert rows[2**24]["exact_turns"] > 0.0

    def test_discrepancy_is_warnocks(self, outcomes):
        row = next(r for r in outcomes("torus")[0].tables["evenness"] if r["n"] == 128)
        x = np.arange(128)[:, None] * np.sqrt([2.0, 3.0]) % 1.0
        pairs = np.prod(1.0 - np.maximum(x[:, None], x[None]), axis=2).mean()
        square = 1.0 / 9.0 - 2.0 * np.prod((1.0 - x**2) / 2.0, axis=1).mean() + pairs
        assert row["prime_discrepancy"] == pytest.approx(math.sqrt(square), rel=1e-6)

    def test_expected_discrepancy_of_random_points(self, outcomes):
        from scipy.stats import qmc

        row = outcomes("torus")[0].tables["evenness"][0]
        generator = np.random.default_rng(0)
        squares = [
            qmc.discrepancy(generator.random((row["n"], 2)), method="L2-star") ** 2
            for _ in range(1000)
        ]
        assert math.sqrt(np.mean(squares)) == pytest.approx(row["expected_random"], rel=0.06)

    def test_smallest_combination_by_brute_force(self):
        c = np.arange(-3, 4)
        sums = np.add.outer(c * math.sqrt(2.0), c * math.sqrt(3.0)).ravel()
        distance = np.abs(sums - np.round(sums))
        distance[len(sums) // 2] = 1.0
        nearest, expected = torus.smallest_combination(2, 3)
        assert nearest == pytest.approx(distance.min(), abs=1e-12)
        assert expected == pytest.approx(0.5 / 24)

    def test_float32_relation_exists_below_the_pigeonhole_bound(self, outcomes):
        # Among (h + 1)**2 > 2**23 combinations two agree modulo 1.
        assert 1 <= outcomes("torus")[0].facts["float32_relation_height"].value <= 2897


class TestPrecision:
    def test_reference_agrees_with_exact_phases(self):
        turns = static_turns(np.array([123_456_789], np.uint64), increments(50))[0] * 2.0**-64
        assert_allclose(precision.exact_turns(123_456_789, 50), turns, atol=1e-11)

    def test_float32_recipe_is_right_where_phases_are_short(self):
        x = np.array([[0.001, 0.002]])
        frequencies = np.array([[1.5, 2.5], [0.5, 1.0]])
        turns = (x @ frequencies.T)[0]
        expected = [*np.cos(2 * np.pi * turns), *np.sin(2 * np.pi * turns)]
        assert_allclose(precision.float32_waves(x, frequencies)[0], expected, atol=1e-6)

    def test_our_phases_are_within_the_promise_and_float32_is_not(self, outcomes):
        facts = outcomes("precision")[0].facts
        assert facts["exact_phase_error_turns"].value < 2.0**-25
        assert facts["exact_error"].value < 1.3e-7
        assert facts["float32_error_large_phases"].value > 1.5
        # A float32 phase is off by a part in 2**24 or so: the error grows as the phase.
        assert facts["float32_error_exponent"].value == pytest.approx(1.0, abs=0.05)

    def test_known_similarities_of_rounded_roots(self, outcomes):
        facts = outcomes("precision")[0].facts
        assert facts["float32_similarity_2_23"].value == 1.0
        z = baselines.float32_root_increments(2048) * np.uint64(2**17)
        expected = waves(z)[0].mean(dtype=np.float64)
        assert facts["float32_similarity_2_17"].value == pytest.approx(float(expected))
        assert facts["distinct_float32_roots"].value < facts["roots"].value

    def test_known_primes(self, outcomes):
        growth = outcomes("precision")[0].tables["growth"]
        assert [row["prime"] for row in growth][:6] == [29, 541, 7919, 104729, 1299709, 15485863]


class TestComplexity:
    def test_every_series_has_an_exponent(self, outcomes):
        outcome = outcomes("complexity")[0]
        names = {row["series"] for row in outcome.tables["seconds"]}
        assert {f"{name}_time_exponent" for name in names} <= set(outcome.facts)
        assert all(row["seconds"] > 0.0 for row in outcome.tables["seconds"])

    @pytest.mark.parametrize(
        ("name", "count"),
        [
            # n (2 d - 1) k for the product, and n k each for the scale, cosines and sines.
            ("dynamic_forward_N", 128 * 4 * (7 + 3)),
            # n k arctangents, then n (2 k - 1) d.
            ("dynamic_inverse_d", 4 * 4 + 4 * 7 * 128),
            ("static_forward_D", 4 * 64 * 4),
            ("dynamic_init_D", 4 * 64),
        ],
    )
    def test_operations_are_counted_as_by_hand(self, name, count):
        assert growth(name).counts[-1] == count

    def test_generating_codes_takes_little_beside_its_output(self, outcomes):
        assert outcomes("complexity")[0].facts["static_working_bytes"].value < 4e6

    def test_tables_are_exactly_linear(self, outcomes):
        facts = outcomes("complexity")[0].facts
        assert facts["static_table_exponent"].value == pytest.approx(1.0)
        assert facts["static_table_bytes"].value == 8 * 4096 / 2


def exponents(**values: float) -> dict[str, Fact]:
    """Exponents of counts, and of times, which no verdict depends on."""
    counts = {f"{name}_exponent": Fact(value, 0.01, 4) for name, value in values.items()}
    return counts | {f"{name}_time_exponent": Fact(9.0, 0.01, 4) for name in values}


def plain(**values: float) -> dict[str, Fact]:
    return {name: Fact(value) for name, value in values.items()}


GAUSSIAN = {f"gaussian_forward_{size}": 1.0 for size in ("N", "d", "D")}
FORWARD = {f"dynamic_forward_{size}": 1.0 for size in ("N", "d", "D")}
INVERSE = {f"dynamic_inverse_{size}": 1.0 for size in ("N", "d", "D")}
INIT = {"static_init_D": 1.0, "dynamic_init_d": 1.0, "dynamic_init_D": 1.0}
STATIC_INVERSE = {"static_inverse_N": 1.0, "static_inverse_D": 1.0, "static_inverse_n": 0.1}
CELLS = plain(surface_cells=18, smallest_cell_reduction=-0.1, largest_cell_reduction=0.1)
PEAKS = plain(
    prime_ratio_peak=3.0, random_ratio_peak=3.5, sobol_ratio_peak=3.2, gaussian_ratio_peak=5.0
)
BOOKS = plain(
    book_codes=256,
    book_dim=64,
    book_welch=0.11,
    book_kerdock=0.125,
    book_kerdock_seconds=0.001,
    book_lloyd=0.5,
    book_lloyd_seconds=1.0,
    book_prime_seconds=0.001,
)
PREDICTED = plain(
    cells=43,
    prime_predicted_least=0.8,
    prime_predicted_most=1.3,
    gaussian_predicted_least=0.9,
    gaussian_predicted_most=1.1,
)
SPACE = plain(static_spec_bytes=90, static_table_bytes=10_000, gaussian_seed_bytes=1000)
SPECS = exponents(static_spec=0.0, dynamic_spec=0.0, static_table=0.0) | SPACE
ERRORS = plain(exact_error=1e-7, exact_phase_error_turns=1e-10)
LAGS = plain(
    frequencies=9,
    distinct_float32_frequencies=8,
    float32_similarity_2_17=0.7,
    exact_similarity_typical=1 / 64,
)
SIEVE = {f"primes found of {n}": Fact(n) for n in (128, 2048, 100_000)}
RETURNS = plain(steps=100, nearest_return=0.1, least_over_proved=2.0)
COVERED = plain(random_wide_coverage=0.14, prime_wide_coverage=0.2, coverage_points=10_000)
# What each rule says, at numbers on either side of its thresholds.
RULES = [
    ("rms-half-percent", plain(ridge_reduction=0.0055), HOLDS),
    ("rms-half-percent", plain(ridge_reduction=0.0070), IN_PART),
    ("rms-half-percent", plain(ridge_reduction=-0.001), FAILS),
    *(
        (
            "rms-two-percent",
            {"surface_reduction": Fact(printed, 0.002, 16), "table_3_reduction": Fact(table)},
            verdict,
        )
        for printed, table, verdict in (
            (0.0195, 0.0181, HOLDS),
            (0.0180, 0.0134, IN_PART),
            (0.0250, 0.0180, IN_PART),
            (-0.02, 0.0180, FAILS),
        )
    ),
    ("rms-consistently", CELLS | plain(surface_cells_lower=18), HOLDS),
    ("rms-consistently", CELLS | plain(surface_cells_lower=17), IN_PART),
    ("rms-consistently", CELLS | plain(surface_cells_lower=9), FAILS),
    *(
        (
            "sharper-ridge",
            plain(ridge_gain_16=0.2, ridge_gain_4096=gain, tail_quotient_16=tail)
            | plain(tail_quotient_4096=0.7),
            verdict,
        )
        for gain, tail, verdict in ((0.2, 0.8, HOLDS), (0.2, 1.7, IN_PART), (-0.1, 0.8, FAILS))
    ),
    ("scales-with-N", plain(gaussian_growth=0.1, prime_growth=0.01), HOLDS),
    ("scales-with-N", plain(gaussian_growth=0.1, prime_growth=0.2), IN_PART),
    ("scales-with-N", plain(gaussian_growth=0.0, prime_growth=0.2), FAILS),
    (
        "significant-in-high-dimensions",
        plain(high_dimension_reduction=0.06, high_dimension_possible=0.1),
        HOLDS,
    ),
    (
        "significant-in-high-dimensions",
        plain(high_dimension_reduction=0.01, high_dimension_possible=0.1),
        IN_PART,
    ),
    (
        "significant-in-high-dimensions",
        {"high_dimension_reduction": Fact(0.01, 0.01, 3), "high_dimension_possible": Fact(0.1)},
        FAILS,
    ),
    *(
        (
            "rms-from-primes",
            {
                "prime_energy": Fact(energy),
                "random_energy": Fact(1.0, 0.04, 64),
                "share_of_random_lower": Fact(lower),
            },
            verdict,
        )
        for energy, lower, verdict in (
            (0.8, 0.0, HOLDS),
            (0.95, 0.17, IN_PART),
            (1.01, 0.6, FAILS),
        )
    ),
    *(
        (
            "gaussian-ratio-five",
            plain(
                gaussian_ratio_peak=peak,
                gaussian_ratio_peak_predicted=5.0,
            ),
            verdict,
        )
        for peak, verdict in ((4.9, HOLDS), (4.4, IN_PART), (3.0, FAILS))
    ),
    *(
        (
            "prime-ratio-near-one",
            plain(prime_ratio_peak=peak, gaussian_ratio_peak=5.0)
            | plain(prime_ratio_peak_table_3=3.9, gaussian_ratio_peak_table_3=5.2),
            verdict,
        )
        for peak, verdict in ((2.9, HOLDS), (3.65, IN_PART), (5.1, FAILS))
    ),
    *(
        ("sharp-narrow-density", plain(prime_ratio_sd=sd, gaussian_ratio_sd=1.0), verdict)
        for sd, verdict in ((0.7, HOLDS), (0.9, IN_PART), (1.1, FAILS))
    ),
    *(
        ("prime-excess", plain(prime_excess_peak=peak), verdict)
        for peak, verdict in ((0.17, HOLDS), (0.28, IN_PART), (0.4, FAILS))
    ),
    *(
        (
            "gaussian-excess",
            plain(gaussian_excess_peak=0.4, gaussian_excess_largest=largest),
            verdict,
        )
        for largest, verdict in ((0.7, HOLDS), (0.55, IN_PART), (0.4, FAILS))
    ),
    *(
        (
            "approaches-welch",
            plain(prime_ratio_peak=peak, prime_ratio_least=1.0, prime_rms_over_welch_median=rms)
            | plain(cells=43, prime_ratio_most=9.0, random_rms_over_welch=1.05),
            verdict,
        )
        for peak, rms, verdict in ((1.2, 1.0, HOLDS), (3.6, 1.01, IN_PART), (3.6, 1.2, FAILS))
    ),
    *(
        (
            "closer-than-gaussian",
            plain(coherence_quotient=quotient, cells_below_gaussian=below, cells=43),
            verdict,
        )
        for quotient, below, verdict in ((0.7, 43, HOLDS), (0.9, 43, IN_PART), (1.1, 20, FAILS))
    ),
    *(
        (
            "besicovitch-repulsion",
            {
                "prime_ratio_peak": Fact(peak),
                "random_ratio_peak": Fact(3.7, 0.1, 64),
                "rational_ratio_peak": Fact(3.7, 0.1, 32),
                "roots_ratio_peak": Fact(roots),
            },
            verdict,
        )
        for peak, roots, verdict in (
            (3.0, 3.7, HOLDS),
            (3.0, 2.9, IN_PART),
            (3.65, 3.7, FAILS),
        )
    ),
    *(
        (
            "normalised-outperform",
            {
                "coherence of Gaussian codes, raw": Fact(0.5),
                "coherence of Gaussian codes, normalised": Fact(unit),
                "rms of Gaussian inner products, raw": Fact(inner),
                "rms of Gaussian codes, normalised": Fact(0.12),
            },
            verdict,
        )
        for unit, inner, verdict in ((0.3, 0.12, HOLDS), (0.5, 0.2, IN_PART), (0.5, 0.12, FAILS))
    ),
    ("like-low-discrepancy", PEAKS | plain(golden_ratio_peak=3.1), HOLDS),
    ("like-low-discrepancy", PEAKS | plain(golden_ratio_peak=9.0), IN_PART),
    (
        "like-low-discrepancy",
        PEAKS | plain(golden_ratio_peak=9.0, sobol_ratio_peak=4.0),
        FAILS,
    ),
    *(
        (
            "best-quasi-orthogonality",
            plain(kerdock_quotient=q, kerdock_cells=9, coherence_quotient=0.7),
            verdict,
        )
        for q, verdict in ((0.9, HOLDS), (1.2, IN_PART), (3.0, FAILS))
    ),
    ("init-linear", exponents(**INIT), HOLDS),
    ("init-linear", exponents(**INIT | {"dynamic_init_D": 1.3}), IN_PART),
    ("init-linear", exponents(**INIT | {"dynamic_init_D": 2.0}), FAILS),
    ("dynamic-forward", exponents(**FORWARD), HOLDS),
    ("dynamic-forward", exponents(**FORWARD | {"dynamic_forward_d": 1.3}), IN_PART),
    ("dynamic-forward", exponents(**FORWARD | {"dynamic_forward_d": 2.0}), FAILS),
    ("dynamic-inverse", exponents(**INVERSE), HOLDS),
    ("dynamic-inverse", exponents(**INVERSE | {"dynamic_inverse_N": 1.3}), IN_PART),
    ("dynamic-inverse", exponents(**INVERSE | {"dynamic_inverse_N": 2.0}), FAILS),
    *(
        (
            "codebook-linear",
            exponents(static_forward_N=1.0, static_forward_D=D) | BOOKS | plain(book_prime=mu),
            verdict,
        )
        for D, mu, verdict in ((0.6, 0.13, HOLDS), (0.6, 0.32, IN_PART), (2.0, 0.13, FAILS))
    ),
    *(
        (
            "without-lloyd-max",
            BOOKS | plain(book_prime=mu, book_lloyd_seconds=seconds),
            verdict,
        )
        for mu, seconds, verdict in ((0.3, 1.0, HOLDS), (0.6, 1.0, IN_PART), (0.3, 0.001, FAILS))
    ),
    *(
        (
            "between-rff-and-etf",
            plain(prime_ratio_least=least, prime_ratio_peak=peak, gaussian_ratio_peak=5.0)
            | plain(kerdock_quotient=3.0),
            verdict,
        )
        for least, peak, verdict in ((1.05, 3.0, HOLDS), (2.4, 3.6, IN_PART), (2.4, 5.5, FAILS))
    ),
    *(
        (
            "analytic-coherence",
            PREDICTED | plain(prime_predicted_within=within),
            verdict,
        )
        for within, verdict in ((43, HOLDS), (31, IN_PART), (12, FAILS))
    ),
    ("static-inverse", exponents(**STATIC_INVERSE), HOLDS),
    ("static-inverse", exponents(**STATIC_INVERSE | {"static_inverse_n": 1.0}), IN_PART),
    ("static-inverse", exponents(**STATIC_INVERSE | {"static_inverse_N": 2.0}), FAILS),
    ("same-as-gaussian", exponents(**FORWARD, **GAUSSIAN), HOLDS),
    ("same-as-gaussian", exponents(**FORWARD | {"dynamic_forward_d": 1.3}, **GAUSSIAN), IN_PART),
    ("same-as-gaussian", exponents(**FORWARD | {"dynamic_forward_d": 2.0}, **GAUSSIAN), FAILS),
    ("no-seed-storage", SPACE, HOLDS),
    ("no-seed-storage", SPACE | plain(static_table_bytes=100), IN_PART),
    ("no-seed-storage", SPACE | plain(static_table_bytes=80), FAILS),
    ("pseudoinverse-cost", exponents(dynamic_pinv_D=1.0, dynamic_pinv_d=3.01), HOLDS),
    ("pseudoinverse-cost", exponents(dynamic_pinv_D=1.2, dynamic_pinv_d=3.01), IN_PART),
    ("pseudoinverse-cost", exponents(dynamic_pinv_D=1.0, dynamic_pinv_d=4.0), FAILS),
    *(
        (
            "space-linear",
            exponents(static_table=slope, dynamic_table=1.0) | plain(learned_over_table=saved),
            verdict,
        )
        for slope, saved, verdict in ((1.0, 9.0, HOLDS), (2.0, 9.0, IN_PART), (2.0, 0.5, FAILS))
    ),
    ("constant-memory", SPECS, HOLDS),
    ("constant-memory", SPECS | exponents(static_table=1.0), IN_PART),
    ("constant-memory", SPECS | exponents(static_spec=1.0), FAILS),
    *(
        ("clifford-torus", plain(radius_error=error), verdict)
        for error, verdict in ((1e-7, HOLDS), (1e-5, IN_PART), (0.1, FAILS))
    ),
    ("never-repeats", RETURNS, HOLDS),
    ("never-repeats", RETURNS | plain(nearest_return=0.0), FAILS),
    ("never-repeats", RETURNS | plain(least_over_proved=0.9), FAILS),
    ("float32-period", plain(float32_period=math.inf), HOLDS),
    ("float32-period", plain(float32_period=2**23), ERRATUM),
    ("sieve-limit", SIEVE, HOLDS),
    ("sieve-limit", SIEVE | {"primes found of 128": Fact(114)}, ERRATUM),
    *(
        (
            "besicovitch-independence",
            plain(relation_nearest=nearest, relation_expected=1e-6, float32_relation_height=9),
            verdict,
        )
        for nearest, verdict in ((1e-6, HOLDS), (1e-10, IN_PART), (0.0, FAILS))
    ),
    *(
        (
            "dense-winding",
            exponents(prime_discrepancy=slope, random_discrepancy=-0.5)
            | plain(prime_coverage=coverage, coverage_points=10_000),
            verdict,
        )
        for slope, coverage, verdict in (
            (-0.9, 0.96, HOLDS),
            (-0.9, 0.5, IN_PART),
            (0.0, 0.5, FAILS),
        )
    ),
    ("fills-more-efficiently", COVERED | plain(discrepancy_quotient=0.1), HOLDS),
    (
        "fills-more-efficiently",
        COVERED | plain(discrepancy_quotient=0.1, prime_wide_coverage=0.14),
        IN_PART,
    ),
    ("fills-more-efficiently", COVERED | plain(discrepancy_quotient=1.1), FAILS),
    *(
        (
            "float32-aliasing",
            ERRORS | plain(float32_error_small_phases=1e-6, float32_error_large_phases=large),
            verdict,
        )
        for large, verdict in ((2.0, HOLDS), (1e-4, IN_PART), (1e-6, FAILS))
    ),
    ("orthogonal-at-any-lag", LAGS | plain(exact_similarity_worst=0.05), HOLDS),
    ("orthogonal-at-any-lag", LAGS | plain(exact_similarity_worst=0.2), IN_PART),
    ("orthogonal-at-any-lag", LAGS | plain(exact_similarity_worst=0.7), FAILS),
    *(
        (
            "prime-number-theorem",
            plain(n_log_n_quotient=last, n_log_n_quotient_before=before, largest_n=10**6),
            verdict,
        )
        for last, before, verdict in ((1.1, 1.2, HOLDS), (1.3, 1.4, IN_PART), (1.3, 1.2, FAILS))
    ),
    *(
        (
            "range-growth",
            plain(range_quotient_one_input=0.7, range_drift_one_input=drift),
            verdict,
        )
        for drift, verdict in ((0.01, HOLDS), (0.05, IN_PART), (-0.2, FAILS))
    ),
    *(
        ("coarse-to-fine-positions", plain(frequency_order_kept=kept), verdict)
        for kept, verdict in ((0.95, HOLDS), (0.6, IN_PART), (0.0, FAILS))
    ),
    ("deterministic", plain(engine_mismatches=0, float32_similarity_error=0.01), HOLDS),
    ("deterministic", plain(engine_mismatches=1, float32_similarity_error=0.01), FAILS),
]


@pytest.mark.parametrize(("name", "facts", "verdict"), RULES)
def test_rule_gives_each_verdict_that_it_can(name, facts, verdict):
    claim = next(claim for claim in CLAIMS if claim.name == name)
    assert claim.judge is not None
    assert claim.judge(facts).verdict == verdict


def test_every_rule_is_tested():
    assert {name for name, _, _ in RULES} == {claim.name for claim in CLAIMS}
