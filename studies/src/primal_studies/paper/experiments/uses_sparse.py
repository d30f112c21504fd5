"""Sparse coding: which dictionaries orthogonal matching pursuit reads (Discussion)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from primal.codebooks import bounds, codebook, gram_statistics
from primal_studies.paper._claim import Claim, Judgement
from primal_studies.paper._experiment import Experiment, Fact, Outcome, Progress, Row
from primal_studies.paper._stats import COLOURS, LABELS, fact, grade
from primal_studies.paper.experiments._parts import panels, unit_codes, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

_N, _D = 256, 64
_SPARSITIES = (4, 8, 12, 16, 20, 24)
_DICTIONARIES = ("prime", "gaussian", "random", "designed")
_LABELS = {**LABELS, "designed": "codebook(256, 64)"}
_COLOURS = {**COLOURS, "designed": COLOURS["sobol"]}


def run(quick: bool, progress: Progress) -> Outcome:
    """Recover sparse sums of atoms from every dictionary."""
    draws, trials = (3, 24) if quick else (16, 50)
    sparsities = _SPARSITIES[1::2] if quick else _SPARSITIES
    rows: list[Row] = []
    facts: dict[str, Fact] = {}
    for number, name in enumerate(_DICTIONARIES):
        shares = np.array([_recovered(name, seed, trials, sparsities) for seed in range(draws)])
        for s, column in zip(sparsities, shares.T, strict=True):
            found = fact(column)
            rows.append(
                {
                    "dictionary": name,
                    "atoms_used": s,
                    "recovered": found.value,
                    "spread": found.spread,
                }
            )
        facts[f"mean recovery, {name}"] = fact(shares.mean(axis=1))
        facts[f"recovery of 16 atoms, {name}"] = fact(shares[:, sparsities.index(16)])
        facts[f"coherence, {name}"] = fact(
            [gram_statistics(_dictionary(name, seed)).coherence for seed in range(draws)]
        )
        progress((number + 1) / len(_DICTIONARIES))
    facts["Welch bound"] = Fact(bounds.welch(_N, _D))
    return Outcome({"recovery": rows}, facts)


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw exact recovery against the number of atoms."""
    figure, axes = panels(1, 1, 3.4)
    panel = axes[0, 0]
    for name in _DICTIONARIES:
        chosen = [row for row in outcome.tables["recovery"] if row["dictionary"] == name]
        used, share, spread = (
            [r[n] for r in chosen] for n in ("atoms_used", "recovered", "spread")
        )
        panel.errorbar(used, share, spread, fmt="o-", color=_COLOURS[name], label=_LABELS[name])
    panel.set_xlabel(f"atoms used, of {_N} in {_D} dimensions")
    panel.set_ylabel("sets found exactly")
    panel.legend(fontsize=9)
    return {"recovery": figure}


def _dictionary(name: str, seed: int) -> np.ndarray:
    if name == "designed":
        return codebook(_N, _D).encode(np.arange(_N)).astype(np.float64)
    return unit_codes(name, _N, _D, seed=seed).astype(np.float64)


def _recovered(name: str, seed: int, trials: int, sparsities: Sequence[int]) -> list[float]:
    """Return, for every sparsity, the share of random sums whose atoms are all found."""
    from sklearn.linear_model import orthogonal_mp_gram

    atoms = _dictionary(name, seed)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    generator = np.random.default_rng(42 + seed)
    shares = []
    for s in sparsities:
        used = np.zeros((trials, _N), dtype=bool)
        for row in used:
            row[generator.permutation(_N)[:s]] = True
        weights = np.where(used, generator.standard_normal((trials, _N)), 0.0)
        gram = atoms @ atoms.T
        found = np.asarray(orthogonal_mp_gram(gram, (weights @ gram).T, n_nonzero_coefs=s))
        shares.append(float(((found.T != 0.0) == used).all(axis=1).mean()))
    return shares


def _sparse_recovery(facts: Mapping[str, Fact]) -> Judgement:
    prime, gaussian = facts["mean recovery, prime"], facts["mean recovery, gaussian"]
    designed = facts["mean recovery, designed"].value
    gap = prime.value - gaussian.value
    # Standard error of the difference of two means.
    error = (prime.spread**2 / prime.n + gaussian.spread**2 / gaussian.n) ** 0.5
    return Judgement(
        grade(gap > 0.05 and gap > 2.0 * error, gap > 2.0 * error),
        f"{prime.value:.3f} of sets found, Gaussian {gaussian.value:.3f}",
        f"For {_SPARSITIES[0]} to {_SPARSITIES[-1]} atoms the gain is {gap:+.3f} +- {error:.3f}. "
        f"A dictionary designed for low coherence finds {designed:.3f}.",
    )


def _guaranteed_coherence(facts: Mapping[str, Fact]) -> Judgement:
    prime, gaussian, random, designed, welch = values_of(
        facts, *(f"coherence, {name}" for name in _DICTIONARIES), "Welch bound"
    )
    return Judgement(
        grade(prime < 1.5 * welch, prime < gaussian),
        f"coherence {prime:.3f}, Welch bound {welch:.3f}",
        f"Gaussian atoms have {gaussian:.3f}, random frequencies {random:.3f}, a designed codebook "
        f"{designed:.3f}. A coherence of {prime:.3f} guarantees recovery of fewer than "
        f"{(1.0 + 1.0 / prime) / 2.0:.1f} atoms.",
    )


EXPERIMENT = Experiment(
    "uses-sparse",
    "Sparse coding and compressive sensing (Discussion)",
    "The paper recommends prime dictionaries for orthogonal matching pursuit. Sums of random atoms "
    f"with Gaussian weights, from dictionaries of {_N} atoms in {_D} dimensions, are taken apart "
    "by scikit-learn's implementation; a set counts when every atom is found.",
    run,
    draw,
)

CLAIMS = (
    Claim(
        "sparse-recovery",
        "Section 4.2, sparse coding",
        "Prime dictionaries recover sparse signals better than Gaussian ones.",
        "Share of atom sets found exactly by orthogonal matching pursuit, mean over sparsities.",
        "Holds if higher by 0.05 and two standard errors; in part if by two standard errors.",
        "uses-sparse",
        _sparse_recovery,
    ),
    Claim(
        "guaranteed-low-coherence",
        "Section 4.2, sparse coding",
        "The construction guarantees dictionaries of low coherence, approaching the Welch bound.",
        f"Coherence of {_N} atoms in {_D} dimensions.",
        "Holds within 1.5 times the Welch bound; in part if below that of Gaussian atoms.",
        "uses-sparse",
        _guaranteed_coherence,
    ),
)
