"""Folded samples: a sensor that wraps around at its limit, and the signal all the same.

Values are in units of half the range: samples are folded into [-1, 1) and rounded to a few bits.
A periodic signal of d / 2 harmonics is linear in d coefficients, so half of each folded sample is
a row of A x less a whole number.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from figures import HERE, SOFT, label_ends, panels

from primal.decoding import Gaussian, MatrixPlan, plan_matrix


def harmonics(d: int, n_samples: int) -> np.ndarray:
    """Return cosines and sines, shape (n_samples, d), and no constant: folding hides that."""
    angles = 2.0 * np.pi * np.outer(np.arange(n_samples) / n_samples, np.arange(1, d // 2 + 1))
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def signals(d: int, n_samples: int, n: int, rms: float) -> np.ndarray:
    """Return n random signals of a root mean square `rms`, shape (n, n_samples)."""
    scale = rms / np.sqrt(d / 2.0)
    return scale * np.random.default_rng(0).normal(size=(n, d)) @ harmonics(d, n_samples).T


def fold(values: np.ndarray, bits: int) -> np.ndarray:
    """Return values folded into [-1, 1) and rounded to the middle of 2**bits steps."""
    turns = values / 2.0 - np.floor(values / 2.0 + 0.5)
    return 2.0 * (np.floor(turns * 2**bits) + 0.5) / 2**bits


def folded_plan(d: int, n_samples: int, bits: int, rms: float) -> MatrixPlan:
    """Return the plan for such samples: rounding is noise of a twelfth of a step squared."""
    prior, noise = Gaussian(0.0, rms**2 / (d / 2.0)), 2.0**-bits / np.sqrt(12.0)
    return plan_matrix(harmonics(d, n_samples) / 2.0, prior=prior, noise=noise)


def by_lattice(folded: np.ndarray, plan: MatrixPlan, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return signals and which of them are certain."""
    found = plan.solve(folded / 2.0)
    x = found.candidates[:, 0]
    return x @ harmonics(d, folded.shape[1]).T, found.status == "unique"


def by_differences(folded: np.ndarray, order: int) -> np.ndarray:
    """Return signals by higher-order differences (Bhandari, Krahmer and Raskar), periodic.

    Where differences of the signal stay below 1, those of the folded samples, folded, are theirs;
    what is left is a multiple of 2, and is summed up again.
    """
    differences = folded
    for _ in range(order):
        differences = differences - np.roll(differences, 1, axis=1)
    jumps = -2.0 * np.floor((differences + 1.0) / 2.0)
    for _ in range(order):
        jumps = np.cumsum(jumps, axis=1)
        # Differences of a periodic signal add up to nothing: that is the constant of the sum.
        jumps -= 2.0 * np.rint(jumps.mean(axis=1, keepdims=True) / 2.0)
    return folded + jumps


def by_lasso(folded: np.ndarray, d: int, steps: int = 400, weight: float = 0.02) -> np.ndarray:
    """Return signals by sparse jumps (LASSO-B2R2): what is out of band belongs to the folding."""
    n_samples = folded.shape[1]
    outside = np.arange(d // 2 + 1, n_samples // 2 + 1)
    change = folded - np.roll(folded, 1, axis=1)

    def out_of_band(values: np.ndarray) -> np.ndarray:
        kept = np.zeros((len(values), n_samples // 2 + 1), dtype=complex)
        kept[:, outside] = np.fft.rfft(values, axis=1)[:, outside]
        return np.fft.irfft(kept, n_samples, axis=1)

    jumps, ahead, momentum = np.zeros_like(folded), np.zeros_like(folded), 1.0
    for _ in range(steps):
        moved = ahead - out_of_band(ahead + change)
        new = np.sign(moved) * np.maximum(0.0, np.abs(moved) - weight)
        later = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead, jumps, momentum = new + (momentum - 1.0) / later * (new - jumps), new, later
    unfolded = np.cumsum(2.0 * np.rint(jumps / 2.0), axis=1)
    return folded + unfolded - 2.0 * np.rint((folded + unfolded).mean(axis=1, keepdims=True) / 2.0)


def shares_right(d: int, n_samples: int, bits: int, rms: float, n: int) -> dict[str, float]:
    """Return the share of signals that each method gets right, and of certain wrong ones."""
    signal = signals(d, n_samples, n, rms)
    folded = fold(signal, bits)
    lattice, certain = by_lattice(folded, folded_plan(d, n_samples, bits, rms), d)

    def right(found: np.ndarray) -> np.ndarray:
        return np.abs(found - signal).max(axis=1) < 0.5

    differences = [right(by_differences(folded, order)) for order in (1, 2, 3, 4)]
    lasso = [right(by_lasso(folded, d, weight=weight)) for weight in (0.005, 0.02, 0.1)]
    return {
        "lattice": float(right(lattice).mean()),
        "lattice, certain": float((certain & right(lattice)).mean()),
        "certain and wrong": float((certain & ~right(lattice)).mean()),
        "higher-order differences": float(max(share.mean() for share in differences)),
        "LASSO-B2R2": float(max(share.mean() for share in lasso)),
        "no unfolding": float(right(folded).mean()),
    }


def draw(path: Path = HERE / "folded.png", *, quick: bool = False) -> None:
    """Draw a signal with what each method makes of it, and how often each is right."""
    d, n_samples, bits, rms = 32, 67, 6, 8.0 / 3.0
    signal = signals(d, n_samples, 1, rms)
    folded = fold(signal, bits)
    lattice, _ = by_lattice(folded, folded_plan(d, n_samples, bits, rms), d)
    factors = (2.1, 6.0) if quick else (2.1, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)
    counts = [round(d * factor) // 2 * 2 + 1 for factor in factors]
    found = [shares_right(d, count, bits, rms, 20 if quick else 200) for count in counts]
    names = ("lattice, certain", "higher-order differences", "LASSO-B2R2", "no unfolding")
    with panels(path, 2, width=6.0) as (left, right):
        left.axhspan(-1.0, 1.0, color="0.94")
        left.plot(signal[0], color="0.75", linewidth=5, label="signal")
        left.plot(folded[0], ".", color=SOFT, label="folded, 6 bits")
        for color, name, unfolded in (
            ("C0", "lattice", lattice),
            ("C1", "differences", by_differences(folded, 1)),
            ("C2", "LASSO-B2R2", by_lasso(folded, d)),
        ):
            left.plot(unfolded[0], color=color, linewidth=1.2, label=name)
        left.set(xlabel="sample", ylabel="value, in half ranges", title="one signal, 67 samples")
        left.figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=5)
        for name in names:
            right.plot([c / d for c in counts], [share[name] for share in found], "o-", label=name)
        right.set(xscale="log", xlabel="samples per coefficient", title="share of signals right")
        right.set_xticks([2, 4, 8, 16, 24], ["2", "4", "8", "16", "24"])
        right.minorticks_off()
        label_ends(right)


if __name__ == "__main__":
    draw()
