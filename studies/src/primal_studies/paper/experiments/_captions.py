"""What every figure shows: which one of the paper it remakes, and what to see in it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CAPTIONS", "Caption"]


class Caption(NamedTuple):
    """A title, and a sentence or two on what to see."""

    title: str
    see: str


CAPTIONS: dict[str, dict[str, Caption]] = {
    "sigma": {
        "edge": Caption(
            "Where phases begin to wrap, over sigma, d and D",
            "Dark: no input wraps, so the paper's inverse is exact if D is at least 2 d. Yellow: "
            "all inputs wrap. White: below it no point of the cube wraps. Dashed: the paper's two "
            "scales, 0.007 and 1.0. One sigma is a manifold for some d and D and a hash for "
            "others.",
        ),
    },
    "regimes": {
        "bound": Caption(
            "How many inputs wrap inside the printed bound",
            "At the right edge stands the paper's bound: most small inputs wrap there. Left of the "
            "dotted line, the corrected bound for d = 1, none does.",
        ),
    },
    "geometry": {
        "distances": Caption(
            "Distances before and after the map",
            "An isometry would be one straight line. The paper's W (left) stretches some distances "
            "129 times as much as others; the basis kronecker (right) does not.",
        ),
        "kernel": Caption(
            "The Prime-Spectral Kernel of Section 2.2",
            "Similarity of two inputs by their difference. With the paper's W it is a stripe: "
            "along (1, -1) inputs far apart look the same. A kernel that sees all directions is "
            "round.",
        ),
        "noise": Caption(
            "Noise on the features, amplified by the inverse",
            "Table 2 says that a Gaussian projection has no inverse. It has, and loses less.",
        ),
        "range": Caption(
            "Largest over smallest frequency (Section 4.3)",
            "The printed formula (dashed) has no d in it; it fits d = 2.",
        ),
    },
    "complexity": {
        "exponents": Caption(
            "Growth of the measured time (Table 2)",
            "Exponent 1 is linear. Times depend on the machine; verdicts rest on counts.",
        ),
    },
    "landscape": {
        "figure-1": Caption(
            "Figure 1 of the paper, as the surfaces that it draws",
            "Left Gaussian codes, right StaticPrime; the same scales in each row. The ridges look "
            "alike because they are: the RMS differs by 0.47 % above and 1.8 % below.",
        ),
        "similarities": Caption(
            "Figure 1, top, as a map",
            "Log density of similarities, 10,000 codes. Both are as narrow as 1 / sqrt(D).",
        ),
        "rms": Caption(
            "Figure 1, bottom, in numbers",
            "RMS similarity in units of 1 / sqrt(D), which random codes have. StaticPrime is below "
            "1 nearly everywhere, by a few per cent.",
        ),
    },
    "optimality": {
        "densities": Caption(
            "Figure 2 of the paper, with controls",
            "StaticPrime peaks at 3.65, Gaussian codes at 5, the Welch bound is 1. Random and "
            "rational frequencies of the same form lie on top of StaticPrime: the primes do not "
            "matter, the form does.",
        ),
        "ratios": Caption(
            "The same, size by size",
            "Every point is one N; Kerdock codes show what is possible.",
        ),
    },
    "reconstruction": {
        "figure-3": Caption(
            "Figure 3 of the paper",
            "Six data sets (rows) through three maps. Inputs and reconstructions share one scale. "
            "Only the first map brings the shapes back by the paper's inverse.",
        ),
        "lattice": Caption(
            "The same wrapped features, read by a lattice decoder",
            "What the paper's inverse turns into clouds comes back exactly when the decoder looks "
            "for the whole turns that the arctangent loses.",
        ),
    },
    "hashing": {
        "avalanche": Caption(
            "Bits that a small step changes",
            "An ideal hash changes half of them at any step. Here that takes a sigma that carries "
            "the step over a good part of a turn.",
        ),
    },
    "torus": {
        "trajectory": Caption(
            "The winding on the torus (Section 3.5)",
            "The first codes of StaticPrime with D = 4, as two phases and as points of a ring.",
        ),
        "returns": Caption(
            "How near the path comes to its start",
            "Exact roots keep above what is proved; roots rounded to float32 close after 2^23.",
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
            "and noisy spirals are unrelated; then with points paired) and their overlays.",
        ),
        "figure-5": Caption(
            "Figure 5 of the paper: D = 128",
            "At sigma = 1.0, called the perfect reconstruction, nothing of the shapes is left; "
            "similarities near 1 appear nowhere off the diagonal.",
        ),
    },
    "uses-hdc": {
        "items": Caption(
            "Items that one sum holds",
            "At D = 512 about 20 of 1000 items come back; at D = 10,000 more than 400.",
        ),
        "histories": Caption(
            "Runs of consecutive events",
            "At the printed scale prime codes lose runs that others keep; at 0.79 they keep all.",
        ),
    },
    "uses-memory": {
        "crosstalk": Caption(
            "Crosstalk of an outer-product memory",
            "Below 1 is better than Gaussian keys. Most cells are, by a few per cent.",
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
            "Two spirals need all directions of the plane: the paper's map stays near 75 %, random "
            "features and a repaired basis reach 99 %.",
        ),
    },
    "uses-continual": {
        "digits": Caption(
            "Digits learnt two at a time",
            "By gradient steps the first two are forgotten with every map; in closed form none is.",
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
            "Left, lower is better. Square roots of primes lose less than rotary beyond the "
            "trained length and more at it; a bias by distance (ALiBi) is best at both.",
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
            "Lower is better. Repaired primes (prime) and random Fourier features are alike; the "
            "paper's own W keeps up with them in one dimension, not in two (heat, Burgers).",
        ),
        "few_measurements": Caption(
            "Recovery from few measurements",
            "Share of non-zeros found by orthogonal matching pursuit.",
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
        "spectrum": Caption("Range of frequencies", "Measured, and the paper's formula."),
    },
    "vanishing": {
        "deviations": Caption(
            "How much each feature varies",
            "Below the dotted line a feature is dead. One sigma for each frequency levels them.",
        ),
    },
}
