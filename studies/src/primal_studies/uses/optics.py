"""What an optical correlator would see: codes through phase masks of few bits, and noise.

A code of k phases is displayed by a mask of b bits, its phases drift (normal, in turns), and the
detector adds complex normal noise to every pixel of unit amplitude. The correlator compares what
arrives with all N codes. Measured: how often the right code wins, the coherence of the masks, and
the error of a kernel whose features pass through them. The rule: rounding leaves sinc(2**-b) of the
amplitude, drift exp(-2 pi**2 drift**2), and their product eta decides, with the noise, by one
formula. Prime codes (StaticPrime, 1024 of them) against random phases.

    primal study optics --out results
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import norm

from primal import KernelPrime
from primal.codebooks import codebook
from primal.maps import kernel_matrix
from primal_studies._pictures import COLORS, SOFT, picture
from primal_studies.training._common import Settings, Study, mean_spread, select, table
from primal_studies.uses._rates import wilson

N_CODES = 1024
PHASES = 64
BITS = (1, 2, 3, 4, 8)
DRIFTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25)
NOISES = (0.0, 2.0, 4.0, 8.0, 16.0)  # power of the detector's noise, of a pixel's signal
FAMILIES = ("prime", "random")


def main(argv: Sequence[str] | None = None) -> list[Settings]:
    """Measure, print the tables, draw, and return the runs."""
    study = Study(__file__, __doc__, argv)
    runs = study.run("optics", correlator_settings(study.chosen), measure_correlator)
    kernels = study.run("optics-kernel", kernel_settings(study.chosen), measure_kernel)
    tables = correlator_table(runs), coherence_table(runs), kernel_table(kernels)
    return study.finish(tables, partial(draw, runs))


def _conditions(quick: bool) -> list[Settings]:
    """Return masks, drifts and noises, each varied while the others are mild."""
    listed = [{"bits": bits, "drift": 0.0, "noise": 8.0} for bits in BITS]
    listed += [{"bits": 8, "drift": drift, "noise": 4.0} for drift in DRIFTS]
    listed += [{"bits": 8, "drift": 0.0, "noise": noise} for noise in NOISES]
    return listed[1:3] if quick else list({str(one): one for one in listed}.values())


def correlator_settings(chosen) -> list[Settings]:
    """Return one run for each condition, family and seed."""
    return [
        condition | {"family": name, "trials": 100 if chosen.quick else 1000, "seed": seed}
        for condition in _conditions(chosen.quick)
        for name in FAMILIES
        for seed in range(chosen.seeds)
    ]


def code_turns(name: str, rng: np.random.Generator) -> np.ndarray:
    """Return the phases of all codes in turns, float64 of shape (N_CODES, PHASES)."""
    if name == "random":
        return rng.random((N_CODES, PHASES))
    book = codebook(N_CODES, PHASES, kind="static", field="complex")
    return np.angle(book.encode(np.arange(N_CODES), dtype="complex128")) / (2 * np.pi)


def masked(turns: np.ndarray, bits: int) -> np.ndarray:
    """Return phases rounded to the nearest of 2**bits levels."""
    return np.rint(turns * 2.0**bits) / 2.0**bits


def measure_correlator(run: Settings) -> Settings:
    """Return how often the right code wins, and the coherence of the masks."""
    rng = np.random.default_rng([run["seed"], run["bits"]])
    turns = code_turns(run["family"], rng)
    shown = masked(turns, run["bits"])
    sent = rng.integers(0, N_CODES, run["trials"])
    drift = run["drift"] * rng.standard_normal((run["trials"], PHASES))
    noise = rng.standard_normal((2, run["trials"], PHASES)) * math.sqrt(run["noise"] / 2)
    arrived = np.exp(2j * np.pi * (shown[sent] + drift)) + noise[0] + 1j * noise[1]
    answers = (arrived @ np.exp(-2j * np.pi * turns).T).real
    masks = np.exp(2j * np.pi * shown)
    inner = np.abs(masks @ masks.conj().T) / PHASES - np.eye(N_CODES)
    return {"right": int((answers.argmax(axis=1) == sent).sum()), "coherence": float(inner.max())}


def amplitude(bits: int, drift: float) -> float:
    """Return eta: what rounding and drift leave of the amplitude of the right code."""
    return float(np.sinc(2.0**-bits)) * math.exp(-2.0 * (math.pi * drift) ** 2)


def predicted_rate(bits: int, drift: float, noise: float) -> float:
    """Return how often the right of N random codes of k phases wins.

    The right answer is normal, with mean eta k and the variance of its phase errors and of the
    noise. Given what arrived, a, the others are sums of k cosines with sizes |a_i|: variance
    |a|**2 / 2, and tails a little lighter than normal ones (Edgeworth's first term).
    """
    eta = amplitude(bits, drift)
    second = float(np.sinc(2.0 ** (1 - bits))) * math.exp(-8.0 * (math.pi * drift) ** 2)
    own = math.sqrt(PHASES * ((1.0 + second) / 2.0 - eta**2 + noise / 2.0))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    along, across = np.meshgrid(nodes, nodes, indexing="ij")
    energy = PHASES * (1.0 + noise) + math.sqrt(PHASES) * noise * across
    energy = np.maximum(energy + 2.0 * eta * math.sqrt(PHASES * noise / 2.0) * along, PHASES / 4)
    x = (eta * PHASES + own * along) / np.sqrt(energy / 2.0)
    peaked = (1.0 + 4.0 * noise + 2.0 * noise**2) / (1.0 + noise) ** 2
    excess = -1.5 * peaked / PHASES
    tail = norm.sf(x) + norm.pdf(x) * excess / 24.0 * (x**3 - 3.0 * x)
    chances = np.exp((N_CODES - 1) * np.log1p(-np.clip(tail, 0.0, 1.0 - 1e-12)))
    return float(weights @ chances @ weights)


def kernel_settings(chosen) -> list[Settings]:
    """Return one run for each number of bits, drift and seed."""
    conditions = [(bits, 0.0) for bits in BITS] + [(8, drift) for drift in DRIFTS[1:4]]
    return [
        {"bits": bits, "drift": drift, "phases": 512, "seed": seed}
        for bits, drift in (conditions[1:2] if chosen.quick else conditions)
        for seed in range(chosen.seeds)
    ]


def measure_kernel(run: Settings) -> Settings:
    """Return the error of a Gaussian kernel, |Z Z' / eta**2 - K| / |K| off the diagonal."""
    rng = np.random.default_rng(run["seed"])
    x = rng.standard_normal((200, 4))
    m = KernelPrime(4, 2 * run["phases"], gamma=0.2)
    turns = masked(m.turns(x) / 2.0**32, run["bits"])
    turns = turns + run["drift"] * rng.standard_normal(turns.shape)
    Z = np.exp(2j * np.pi * turns) / math.sqrt(run["phases"])
    exact = kernel_matrix("rbf", x, 0.2)
    found = (Z @ Z.conj().T).real / amplitude(run["bits"], run["drift"]) ** 2
    apart = ~np.eye(len(x), dtype=bool)
    return {
        "error": float(np.linalg.norm((found - exact)[apart]) / np.linalg.norm(exact[apart])),
        "exact_error": m.kernel_error(x),
    }


def correlator_table(runs: list[Settings]) -> str:
    """Return measured and predicted decoding rates."""
    rows = []
    for bits, drift, noise in dict.fromkeys((r["bits"], r["drift"], r["noise"]) for r in runs):
        cells = []
        for name in FAMILIES:
            mine = select(runs, bits=bits, drift=drift, noise=noise, family=name)
            n = sum(run["trials"] for run in mine)
            right = sum(run["right"] for run in mine)
            low, high = wilson(right, n)
            cells.append(f"{100 * right / n:.1f} ({100 * low:.1f} to {100 * high:.1f})")
        rule = f"{100 * predicted_rate(bits, drift, noise):.1f}"
        rows.append([bits, f"{drift:g}", f"{noise:g}", *cells, rule])
    names = [f"{name}, % right" for name in FAMILIES]
    return table(["bits", "drift, turns", "noise", *names, "rule, %"], rows)


def coherence_table(runs: list[Settings]) -> str:
    """Return the coherence of masks by bits."""
    rows = [
        [bits]
        + [
            mean_spread((r["coherence"] for r in select(runs, bits=bits, family=name)), 3)
            for name in FAMILIES
        ]
        for bits in sorted({run["bits"] for run in runs})
    ]
    return table(["bits", *(f"coherence, {name}" for name in FAMILIES)], rows)


def kernel_table(runs: list[Settings]) -> str:
    """Return the error of a kernel through masks."""
    rows = []
    for bits, drift in dict.fromkeys((run["bits"], run["drift"]) for run in runs):
        mine = select(runs, bits=bits, drift=drift)
        errors = [mean_spread((run[n] for run in mine), 4) for n in ("error", "exact_error")]
        rows.append([bits, f"{drift:g}", *errors])
    return table(["bits", "drift, turns", "kernel error", "without masks"], rows)


def draw(runs: list[Settings], out: Path) -> None:
    """Draw decoding rates against bits, drift and noise, with the rule."""
    sweeps = (
        ("bits", {"drift": 0.0, "noise": 8.0}, "bits of the mask"),
        ("drift", {"bits": 8, "noise": 4.0}, "drift of a phase, turns"),
        ("noise", {"bits": 8, "drift": 0.0}, "noise of the detector"),
    )
    with picture(out / "optics.png", (8.4, 3.2)) as figure:
        for axis, (name, fixed, label) in zip(figure.subplots(1, 3), sweeps, strict=True):
            mine = select(runs, **fixed)
            x = sorted({run[name] for run in mine})
            for kind in FAMILIES:
                rates = [_rate(select(mine, family=kind, **{name: v})) for v in x]
                style = {"markersize": 4} if kind == "prime" else {"markersize": 9, "mfc": "none"}
                axis.plot(x, rates, "o", color=COLORS[kind], label=kind, **style)
            rule = [predicted_rate(**({name: v} | fixed)) for v in x]  # type: ignore[arg-type]
            axis.plot(x, rule, color=SOFT, linewidth=1, label="rule")
            axis.set(xlabel=label, ylim=(0, 1.05))
        figure.axes[0].set_ylabel("share of codes read right")
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=3)


def _rate(runs: list[Settings]) -> float:
    return sum(run["right"] for run in runs) / max(1, sum(run["trials"] for run in runs))


if __name__ == "__main__":
    main()
