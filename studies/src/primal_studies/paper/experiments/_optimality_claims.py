"""The claims about Figure 2 and the rules that judge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from primal_studies.paper._claim import Claim, Judgement, Weight
from primal_studies.paper._experiment import Fact
from primal_studies.paper._stats import grade

__all__ = ["CLAIMS"]

Judge = Callable[[Mapping[str, Fact]], Judgement]


def _judge_gaussian_peak(facts: Mapping[str, Fact]) -> Judgement:
    peak, law = facts["gaussian_ratio_peak"], facts["gaussian_ratio_peak_predicted"]
    return Judgement(
        grade(abs(peak.value - 5.0) <= 0.25, abs(peak.value - 5.0) <= 1.0),
        f"{peak:.2f±}",
        f"The density of the Gaussian ratios has its maximum at {peak:.2f±} (draws: {peak.n}). The "
        f"distribution of the largest of independent cosines puts it at {law:.2f}.",
    )


def _judge_closer_to_one(facts: Mapping[str, Fact]) -> Judgement:
    prime, gaussian = facts["prime_ratio_peak"].value, facts["gaussian_ratio_peak"].value
    large = [facts[f"{name}_ratio_peak_table_3"] for name in ("prime", "gaussian")]
    share = (prime - 1.0) / (gaussian - 1.0)
    return Judgement(
        grade(share <= 0.5, share < 1.0),
        f"{prime:.2f} against {gaussian:.2f}",
        f"The most frequent ratio of StaticPrime is {prime:.2f}: {share:.0%} of the Gaussian "
        "distance from 1 remains. With N of 1000 and more, as in Table 3, the two are "
        f"{large[0]:.2f} "
        f"and {large[1]:.2f}.",
    )


def _judge_narrow(facts: Mapping[str, Fact]) -> Judgement:
    prime, gaussian = facts["prime_ratio_sd"].value, facts["gaussian_ratio_sd"].value
    return Judgement(
        grade(prime <= 0.75 * gaussian, prime < gaussian),
        f"sd {prime:.2f} against {gaussian:.2f}",
        f"Over the grid the ratios of StaticPrime have the standard deviation {prime:.2f}, "
        f"{prime / gaussian:.2f} times the Gaussian one.",
    )


def _judge_excess_prime(facts: Mapping[str, Fact]) -> Judgement:
    peak = facts["prime_excess_peak"].value
    return Judgement(
        grade(abs(peak - 0.2) <= 0.05, abs(peak - 0.2) <= 0.1),
        f"{peak:.3f}",
        f"The excess of StaticPrime over the Welch bound peaks at {peak:.3f}.",
    )


def _judge_excess_gaussian(facts: Mapping[str, Fact]) -> Judgement:
    peak, largest = facts["gaussian_excess_peak"], facts["gaussian_excess_largest"]
    return Judgement(
        grade(largest.value > 0.6, largest.value > 0.5),
        f"peak {peak.value:.2f}, largest {largest.value:.2f}",
        f"The density of the Gaussian excess has its maximum at {peak:.2f±}; the largest excess is "
        f"{largest:.2f±} (draws: {peak.n}).",
    )


def _judge_approaches(facts: Mapping[str, Fact]) -> Judgement:
    peak, least, most = (facts[f"prime_ratio_{name}"] for name in ("peak", "least", "most"))
    rms, random = facts["prime_rms_over_welch_median"], facts["random_rms_over_welch"]
    return Judgement(
        grade(peak.value <= 1.25, rms.value <= 1.05),
        f"coherence {least:.2f} to {most:.2f} times the bound, most often near {peak:.2f}",
        f"Over the {facts['cells']} cells the coherence is {least:.2f} to {most:.2f} times the "
        f"Welch bound. In the median cell the RMS similarity is {rms:.3f} times the bound. "
        "That says "
        f"little: random codes have an RMS of 1 / sqrt(D), {random:.3f} times the bound.",
    )


def _judge_between(facts: Mapping[str, Fact]) -> Judgement:
    peak, gaussian = facts["prime_ratio_peak"], facts["gaussian_ratio_peak"]
    left = (peak.value - 1.0) / (gaussian.value - 1.0)
    return Judgement(
        grade(facts["prime_ratio_least"].value <= 1.1, left < 1.0),
        f"{left:.0%} of the distance from an ETF to Gaussian codes remains",
        "In an equiangular tight frame every similarity equals the Welch bound: ratio 1. "
        f"StaticPrime's best cell has {facts['prime_ratio_least']:.2f}, its most frequent ratio is "
        f"{peak:.2f}, and that of Gaussian codes {gaussian:.2f}. Kerdock codes of the same sizes "
        f"have a coherence {facts['kerdock_quotient']:.2f} times lower.",
    )


def _judge_predicted(facts: Mapping[str, Fact]) -> Judgement:
    cells, within = facts["cells"].value, facts["prime_predicted_within"].value
    least, most = facts["prime_predicted_least"], facts["prime_predicted_most"]
    return Judgement(
        grade(within == cells, within > cells / 2),
        f"within 10 % of the coherence in {within:.0f} of {cells:.0f} cells",
        "The closed form treats the fractions of the roots as independent uniform numbers and "
        "takes "
        f"the median of the largest of N - 1 mean cosines. It gives {least:.2f} to {most:.2f} "
        "times "
        f"the measured coherence; the same for Gaussian codes "
        f"{facts['gaussian_predicted_least']:.2f} to {facts['gaussian_predicted_most']:.2f}. It is "
        "a prediction, not a proved bound.",
    )


def _judge_closer_than_gaussian(facts: Mapping[str, Fact]) -> Judgement:
    below, cells = facts["cells_below_gaussian"], facts["cells"].value
    quotient = facts["coherence_quotient"]
    return Judgement(
        grade(quotient.value <= 0.8 and below.value >= 0.95 * cells, quotient.value < 1.0),
        f"coherence {quotient:.3f±} times that of Gaussian codes",
        f"Geometric mean over {cells} cells (Gaussian draws: {quotient.n}); the coherence is lower "
        f"in {below.value / cells:.0%} of the cells.",
    )


def _judge_repulsion(facts: Mapping[str, Fact]) -> Judgement:
    prime, rational = facts["prime_ratio_peak"].value, facts["rational_ratio_peak"]
    roots, random = facts["roots_ratio_peak"].value, facts["random_ratio_peak"]
    lead = rational.value - prime
    return Judgement(
        grade(lead > 2.0 * rational.spread and prime < roots, lead > 2.0 * rational.spread),
        f"most frequent ratio to the Welch bound {prime:.2f}; with rational frequencies "
        f"{rational:.2f±}",
        "Rational frequencies i / 20011 have no independence at all, and roots of all non-squares "
        f"are dependent; their most frequent ratios are {rational:.2f±} and {roots:.2f}. Random "
        f"frequencies have {random:.2f±}. The gain over Gaussian codes therefore comes from the "
        "form of the codes, in which a similarity depends on the lag alone.",
    )


def _judge_normalization(facts: Mapping[str, Fact]) -> Judgement:
    raw, unit = (
        facts[f"coherence of Gaussian codes, {name}"].value for name in ("raw", "normalised")
    )
    inner = facts["rms of Gaussian inner products, raw"].value
    rms = facts["rms of Gaussian codes, normalised"].value
    return Judgement(
        grade(unit < 0.9 * raw, inner > 1.1 * rms),
        f"coherence {unit:.3f} normalised, {raw:.3f} not",
        "The paper compares cosines, which divide by the lengths: normalising first changes "
        f"nothing. Inner products without any division have an RMS of {inner:.4f} against "
        f"{rms:.4f}.",
    )


def _judge_low_discrepancy(facts: Mapping[str, Fact]) -> Judgement:
    prime, random = facts["prime_ratio_peak"].value, facts["random_ratio_peak"].value
    sobol, golden = facts["sobol_ratio_peak"], facts["golden_ratio_peak"].value
    helps = [name for name, peak in (("Sobol", sobol.value), ("golden", golden)) if peak < random]
    return Judgement(
        grade(len(helps) == 2 and prime < random, bool(helps)),
        f"Sobol {sobol.value:.2f}, golden {golden:.2f}, prime {prime:.2f}",
        f"Low-discrepancy frequencies have most frequent ratios of {sobol:.2f±} (scrambled "
        f"Sobol) and {golden:.2f} (golden ratio), independent random ones {random:.2f}: even "
        f"spacing {'lowers' if helps else 'raises'} the worst similarity. Against Gaussian codes, "
        f"which the paper compares, primes are lower ({facts['gaussian_ratio_peak'].value:.2f}).",
    )


def _judge_best(facts: Mapping[str, Fact]) -> Judgement:
    quotient, cells = facts["kerdock_quotient"].value, facts["kerdock_cells"].value
    return Judgement(
        grade(quotient <= 1.0, quotient <= 1.25),
        f"{quotient:.2f} times Kerdock",
        f"In the {cells:.0f} cells where Kerdock codes exist the worst similarity of StaticPrime "
        f"is {quotient:.2f} times theirs (geometric mean). Of the two that the paper compares, "
        f"StaticPrime is the better ({facts['coherence_quotient'].value:.2f} times Gaussian).",
    )


def _claim(
    name: str, where: str, says: str, test: str, rule: str, judge: Judge, **said: Any
) -> Claim:
    return Claim(name, where, says, test, rule, "optimality", judge, **said)


CLAIMS = (
    _claim(
        "gaussian-ratio-five",
        "Figure 2 left; Welch bound optimality",
        "Gaussian codes have optimality ratios that peak around 5.0.",
        "Maximum of the kernel density of the ratios, one ratio for each of {cells} cells; "
        "draws of the Gaussian codes: {gaussian_draws}.",
        "Holds within 0.25 of 5, in part within 1, fails otherwise.",
        _judge_gaussian_peak,
        quote="The Gaussian baseline (Red) shows a broad, heavy-tailed distribution peaking "
        "around ratio ≈ 5.0",
        figures=("densities",),
        tables=("cells",),
    ),
    _claim(
        "prime-ratio-near-one",
        "Figure 2 left",
        "StaticPrime's ratios peak significantly closer to the ideal 1.0.",
        "Peak of the same density, as a share of the Gaussian distance from 1.",
        "Holds if at most half of the distance is left, in part if less than all, else fails.",
        _judge_closer_to_one,
        quote="StaticPrime (Cyan) exhibits a sharp, narrow density peaking significantly closer"
        " to the ideal ratio of 1.0",
        figures=("densities",),
        tables=("cells",),
    ),
    _claim(
        "sharp-narrow-density",
        "Figure 2 left; Abstract (distribution tightness)",
        "StaticPrime's ratios have a sharp, narrow density, Gaussian ones a broad one.",
        "Standard deviation of the ratios over the grid.",
        "Holds at 0.75 times the Gaussian deviation or less, in part if below it, else fails.",
        _judge_narrow,
        quote="our framework yields superior orthogonality retention and distribution tightness"
        " compared to normalized Gaussian baselines",
        figures=("densities",),
        tables=("cells",),
    ),
    _claim(
        "prime-excess",
        "Figure 2 right",
        "The excess of StaticPrime over the Welch bound concentrates near 0.2.",
        "Peak of the kernel density of coherence minus bound.",
        "Holds within 0.05 of 0.2, in part within 0.1, fails otherwise.",
        _judge_excess_prime,
        quote="the residual error for StaticPrime is heavily concentrated near 0.2",
        weight=Weight.DETAIL,
        figures=("densities",),
        tables=("cells",),
    ),
    _claim(
        "gaussian-excess",
        "Figure 2 right",
        "The excess of Gaussian codes spreads towards 0.6 and beyond.",
        "Peak and largest value over the grid.",
        "Holds if the largest is above 0.6, in part if above 0.5, fails otherwise.",
        _judge_excess_gaussian,
        quote="the Gaussian baseline spreads towards 0.6 and beyond",
        weight=Weight.DETAIL,
        figures=("densities",),
        tables=("cells",),
    ),
    _claim(
        "approaches-welch",
        "Abstract; Conclusion",
        "StaticPrime empirically approaches the Welch bound.",
        "Worst and RMS similarity over the bound, which bounds both from below.",
        "Holds if the worst-case ratio peaks at 1.25 or less, in part if the RMS is within 5 % of "
        "the bound in the median cell, fails otherwise.",
        _judge_approaches,
        quote="produces temporal position encodings empirically approaching the theoretical "
        "Welch bound for quasi-orthogonality",
        weight=Weight.CENTRAL,
        figures=(
            "densities",
            "ratios",
        ),
        tables=("cells",),
    ),
    _claim(
        "between-rff-and-etf",
        "Discussion, opening",
        "The codes bridge the gap between random features and equiangular tight frames.",
        "Ratio of the coherence to the Welch bound, which an equiangular tight frame attains.",
        "Holds if the best cell is within 10 % of the bound, in part if the most frequent ratio is "
        "below the Gaussian one, fails otherwise.",
        _judge_between,
        quote="By effectively bridging the gap between stochastic Random Fourier Features "
        "(RFF) and "
        "theoretically optimal Equiangular Tight Frames (ETFs)",
        figures=("densities", "ratios"),
        tables=("cells", "kerdock"),
    ),
    _claim(
        "analytic-coherence",
        "Section 4.4, future research",
        "The coherence of prime-modulated sequences can be given in closed form.",
        "Closed form for random frequencies against the measured coherence in {cells} cells.",
        "Holds if it is within 10 % in every cell, in part in most cells, fails otherwise.",
        _judge_predicted,
        quote="deriving analytic bounds on the asymptotic coherence of prime-modulated sequences "
        "relative to the Welch bound, establishing a theoretical comparison with stochastic "
        "baselines",
        weight=Weight.DETAIL,
        figures=("predicted",),
        tables=("cells",),
    ),
    _claim(
        "closer-than-gaussian",
        "Introduction, contributions",
        "StaticPrime is significantly closer to the Welch bound than Gaussian codes.",
        "Quotient of the worst similarities, cell by cell.",
        "Holds if it is 0.8 or less on average and below 1 in 95 % of the cells, in part if below "
        "1 on average, fails otherwise.",
        _judge_closer_than_gaussian,
        quote="yields quasi-orthogonal position encodings significantly closer to the Welch "
        "bound than Gaussian baselines",
        weight=Weight.CENTRAL,
        figures=(
            "densities",
            "ratios",
        ),
        tables=("cells",),
    ),
    _claim(
        "besicovitch-repulsion",
        "Welch bound optimality; Figure 2 caption",
        "The Besicovitch property of prime roots repels codes and so lowers the worst similarity.",
        "The same grid with rational frequencies i / 20011, which have no independence, and with "
        "roots of all numbers that are no squares, which are dependent.",
        "Holds if prime roots peak two deviations below the rational ones and below those roots, "
        "in part if only the first, fails otherwise.",
        _judge_repulsion,
        quote="the Besicovitch property of prime roots exhibits a repulsive spectral effect "
        "similar to low-discrepancy sequences, but on the hypersphere",
        weight=Weight.CENTRAL,
        figures=("densities",),
        tables=("cells",),
    ),
    _claim(
        "like-low-discrepancy",
        "Welch bound optimality",
        "The effect is like that of low-discrepancy sequences.",
        "The same grid with two low-discrepancy sequences as frequencies.",
        "Holds if both have lower peaks than random frequencies and prime roots too, in part if "
        "one has, fails otherwise.",
        _judge_low_discrepancy,
        quote="exhibits a repulsive spectral effect similar to low-discrepancy sequences",
        weight=Weight.DETAIL,
        figures=("densities",),
        tables=("cells",),
    ),
    _claim(
        "best-quasi-orthogonality",
        "Welch bound optimality, end; Discussion, codebook generation",
        "StaticPrime offers the best quasi-orthogonality; its codes are near-optimal.",
        "Coherence against Kerdock codes, which are generated as fast and are also defined by "
        "a rule.",
        "Holds if no worse than they, in part within 25 %, fails otherwise.",
        _judge_best,
        quote="StaticPrime offers the best quasi-orthogonality that approaches the theoretical "
        "Welch bound",
        figures=("ratios",),
        tables=("kerdock",),
    ),
    _claim(
        "normalised-outperform",
        "Section 3.1, baseline configuration",
        "Normalised Gaussian codes significantly outperform unnormalised ones.",
        "Coherence and RMS of {normalized_codes} Gaussian codes of D = 64, with and without "
        "normalizing.",
        "Holds if normalising lowers the coherence by 10 %, in part if it lowers the RMS of inner "
        "products by 10 %, fails otherwise.",
        _judge_normalization,
        quote="spherical Gaussian codes that significantly outperform unnormalized random "
        "Gaussian counterparts",
        weight=Weight.DETAIL,
        tables=("cells",),
    ),
)
