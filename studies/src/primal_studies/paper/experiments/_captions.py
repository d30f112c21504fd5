"""Captions of the figures: which figure of the paper it reproduces, and what to see in it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CAPTIONS", "Caption"]


class Caption(NamedTuple):
    """A title, and a sentence or two on what to see, which may refer to facts in braces."""

    title: str
    see: str


CAPTIONS: dict[str, dict[str, Caption]] = {
    "sigma": {
        "edge": Caption(
            "Where phases begin to wrap, over sigma, d and D",
            "Dark: no input wraps, so the paper's inverse is exact if D is at least 2 d. Yellow: "
            "all inputs wrap. White: left of it no point of the cube wraps. Dashed: the "
            "paper's two "
            "scales, 0.007 and 1.0. One sigma is a manifold for some d and D and a hash for "
            "others.",
        ),
    },
    "regimes": {
        "bound": Caption(
            "How many inputs wrap inside the printed bound",
            "The right edge is the paper's printed bound. Left of the dotted line, the printed "
            "bound "
            "divided by 2 pi, no input wraps.",
        ),
    },
    "geometry": {
        "distances": Caption(
            "Distances before and after the map",
            "An isometry would be one straight line. The paper's W (left) stretches some distances "
            "{distortion of the spiral, paper:.0f} times as much as others, the basis kronecker "
            "(right) {distortion of the spiral, kronecker:.1f} times.",
        ),
        "kernel": Caption(
            "The Prime-Spectral Kernel of Section 2.2",
            "Similarity of two inputs by their difference. With the paper's W it is a stripe: "
            "along (1, -1) inputs far apart look the same. A kernel that sees all directions is "
            "round.",
        ),
        "noise": Caption(
            "Noise on the features, amplified by the inverse",
            "Table 2 says that a Gaussian projection has no inverse. It has one, and its error "
            "is smaller "
            "than that of the paper's W.",
        ),
        "range": Caption(
            "Largest over smallest frequency (Section 4.3)",
            "The printed formula (dashed) has no d in it; it fits d = 2.",
        ),
    },
    "complexity": {
        "exponents": Caption(
            "Growth of the measured time (Table 2)",
            "Exponent 1 is linear. Times depend on the machine, so verdicts rest on counted "
            "operations.",
        ),
    },
    "landscape": {
        "figure-1": Caption(
            "Figure 1 of the paper",
            "Left Gaussian codes, right StaticPrime, the same scales in each row. Top: log "
            "density of "
            "the similarities of {counted_codes:,} codes of either kind. Middle: RMS similarity, "
            "the paper's surface. Bottom: the same times sqrt(D), which removes the common trend. "
            "The average RMS differs by {ridge_reduction:.2%} at N = 10,000 and by "
            "{surface_reduction:.1%} over the grid of the printed number.",
        ),
        "rms": Caption(
            "Figure 1, bottom, in numbers",
            "RMS similarity in units of 1 / sqrt(D), the value of random codes, so the "
            "Gaussian panel "
            "is nearly white. StaticPrime is lower in {surface_cells_lower} of {surface_cells} "
            "cells.",
        ),
    },
    "optimality": {
        "densities": Caption(
            "Figure 2 of the paper, with controls",
            "StaticPrime has its maximum at {prime_ratio_peak:.2f}, Gaussian codes at "
            "{gaussian_ratio_peak:.2f}; the Welch bound is 1. Random and rational frequencies of "
            "the same form are close to StaticPrime, so the form matters and not the primes. No "
            "coherence is below the bound, so smoothing is reflected there.",
        ),
        "ratios": Caption(
            "The same, size by size",
            "Every point is one N; Kerdock codes show how close to the bound codes can be.",
        ),
        "predicted": Caption(
            "Coherence measured against its closed form",
            "The closed form treats frequencies as independent uniform numbers. It is within 10 % "
            "for StaticPrime in {prime_predicted_within} of {cells} cells.",
        ),
    },
    "reconstruction": {
        "figure-3": Caption(
            "Figure 3 of the paper",
            "Six data sets of {points:,} points (rows) through four maps: features on their two "
            "principal components (PCA) with RMS and largest similarity, and the "
            "reconstruction with "
            "its MSE. The last two columns have the notebook's sigma = 0.02. Only the first map "
            "returns the shapes by the paper's inverse.",
        ),
        "lattice": Caption(
            "The same wrapped features, read by a lattice decoder",
            "The paper's inverse returns clouds. A decoder that also searches for the whole "
            "turns that "
            "the arctangent loses returns the shapes.",
        ),
    },
    "hashing": {
        "avalanche": Caption(
            "Bits that a small step changes",
            "An ideal hash (dashed) changes half of the bits at any step. The map needs a sigma at "
            "which the step covers a good part of a turn; a Gaussian W of the same norm behaves "
            "alike.",
        ),
    },
    "torus": {
        "trajectory": Caption(
            "The winding on the torus (Section 3.5)",
            "The first codes of StaticPrime with D = 4, as two phases and as points of a ring. "
            "It is "
            "not the paper's figure, which projects DynamicPrime (see Figure 3).",
        ),
        "returns": Caption(
            "How near the path comes to its start",
            "With exact roots the path stays above the proved distance; with roots rounded to "
            "float32 "
            "it closes after 2^23 steps.",
        ),
        "evenness": Caption(
            "How evenly the path fills the square of its phases",
            "Lower is more even. For D = 4 primes are far more even than random points.",
        ),
    },
    "similarity": {
        "figure-4": Caption(
            "Figure 4 of the paper: D = 4",
            "Similarities of reconstructions (left: as the author ran it, where points of clean "
            "and noisy spirals are unrelated; then with points paired), overlays of clean "
            "(blue) and "
            "noisy (yellow) shapes, and the spiral (blue) over the circles (yellow).",
        ),
        "figure-5": Caption(
            "Figure 5 of the paper: D = 128",
            "At sigma = 1.0, called the perfect reconstruction, spiral and circles look the same; "
            "similarities near 1 appear only on the diagonal.",
        ),
    },
    "uses-hdc": {
        "items": Caption(
            "Items that one sum holds",
            "A sum holds {items held at 99 %, prime D 512:.0f} of 1000 items at D = 512 (prime "
            "codes) and "
            "{items held at 99 %, gaussian D 10000:.0f} at D = 10,000 (Gaussian codes).",
        ),
        "histories": Caption(
            "Runs of consecutive events",
            "At the printed scale prime codes keep {consecutive positions kept, prime:.0%} of the "
            "events, at sigma = 0.79 {consecutive positions kept, scaled:.0%}, Gaussian codes "
            "{consecutive positions kept, gaussian:.0%}.",
        ),
    },
    "uses-memory": {
        "crosstalk": Caption(
            "Crosstalk of an outer-product memory",
            "Below 1 is better than Gaussian keys: {cells below Gaussian keys:.0f} of {cells} "
            "cells are.",
        ),
        "capacity": Caption(
            "Correlated keys, raw and mapped",
            "Raw keys fill a memory at once. Mapped ones fill it in proportion to D; a random W "
            "does the same.",
        ),
        "retrieval": Caption(
            "Pairs read back as the nearest of 1000 values",
            "Prime, Gaussian and random-frequency keys lie together at every D.",
        ),
    },
    "uses-sparse": {
        "recovery": Caption(
            "Sets of atoms found by orthogonal matching pursuit",
            "Prime atoms find a little more than Gaussian ones; a designed dictionary far more.",
        ),
    },
    "uses-readout": {
        "accuracy": Caption(
            "A straight line through the features",
            "Two spirals need all directions of the plane. The paper's map reaches "
            "{spirals best, paper:.0%} at best, random Fourier features "
            "{spirals, random Fourier, D 128:.0%} and the basis kronecker "
            "{spirals, kronecker primes, D 128:.0%}.",
        ),
        "bandwidths": Caption(
            "Accuracy of Gaussian features over their bandwidth",
            "Dotted: normalized rows of length 1, the paper's baseline. Both kinds of rows need a "
            "bandwidth that suits the data.",
        ),
    },
    "uses-continual": {
        "digits": Caption(
            "Digits learned two at a time",
            "By gradient steps the first two digits are forgotten with every map; fitting in "
            "closed form "
            "forgets none.",
        ),
    },
    "uses-privacy": {
        "revocation": Caption(
            "Revoking a code by a new prime seed",
            "Blue is how often a person is mistaken, vermilion how hard it is to link old and new "
            "codes. Revocation needs blue at 0 and vermilion at 0.5: signs do it, slices do not.",
        ),
    },
    "uses-radio": {
        "bit-errors": Caption(
            "Wrong bits of users who send at once",
            "Left, prime and random codes are alike and Gold codes better. Right, all devices use "
            "the code of their own number: there are too few Gold codes.",
        ),
    },
    "uses-learning": {
        "positions": Caption(
            "Positions in transformers of 10 million parameters",
            "Left, lower is better. Square roots of primes have a lower loss than rotary "
            "beyond the "
            "trained length and a higher one at it; a bias by distance (ALiBi) is best at both.",
        ),
        "state": Caption(
            "Past inputs in a recurrent state",
            "The paper's frequencies hold what random ones hold; multiples of one root twice that.",
        ),
        "signals": Caption(
            "Images by networks of coordinates",
            "Repaired prime features are level with tuned random ones and far above coordinates.",
        ),
        "equations": Caption(
            "Differential equations",
            "Lower is better. A repaired W and random Fourier features are alike. The paper's W is "
            "as good in one dimension (Helmholtz) and worse in more (heat, Burgers, flow).",
        ),
        "few_measurements": Caption(
            "Recovery from few measurements",
            "Number of non-zeros, of 256, that orthogonal matching pursuit finds in half of "
            "the trials.",
        ),
        "split_learning": Caption(
            "What a server and an attacker read from clients' codes",
            "Digits. Up: the server classifies better. Right: the best of the attackers recovers "
            "less. A public map without noise gives nothing away in accuracy and everything in "
            "privacy; points on one line have more noise.",
        ),
        "kspace": Caption(
            "The Shepp-Logan phantom from a share of k-space",
            "The density of the samples decides; how they are spread hardly matters.",
        ),
        "forecasts": Caption(
            "How long four chaotic systems are forecast",
            "Higher is better; as many features of each kind as there are products of pairs.",
        ),
    },
    "precision": {
        "aliasing": Caption(
            "Errors of large phases",
            "The float32 recipe loses all digits by a million turns; exact phases lose none.",
        ),
        "repetition": Caption(
            "Similarities far apart",
            "Roots rounded to float32 come back together at powers of two; exact ones do not.",
        ),
    },
    "vanishing": {
        "deviations": Caption(
            "How much each feature varies",
            "Below the dotted line a feature is dead. One sigma for each frequency levels them.",
        ),
    },
}
