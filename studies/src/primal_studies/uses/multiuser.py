"""Codes for many users at once: bit errors by load, noise and power, and which devices are active.

Users send QPSK symbols on codes of 61 to 64 chips, and one bit of the first user is read in every
trial, so that trials are independent and Wilson's interval holds. In `synchronous` trials all
symbols begin together; in `asynchronous` ones every other user is late by a whole number of chips,
so that parts of two of its symbols fall into the window; `near-far` makes the others up to 20 dB
stronger as well; in `uncoordinated` ones (synchronous) 100,000 devices exist and each uses the
code of its own number. The matched filter knows one code, the decorrelator and MMSE know all codes,
delays and, for MMSE, powers. Activity: some of 520 devices send 1, the receiver says which.

    primal study multiuser --out results
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binom, norm

from primal import hdc
from primal_studies._pictures import COLORS, PALETTE, SOFT, picture
from primal_studies.training._common import Settings, Study, select, table
from primal_studies.uses._families import FAMILIES, Family, family
from primal_studies.uses._rates import wilson

USERS = (4, 8, 16, 32, 48)
SCENES = ("synchronous", "asynchronous", "near-far", "uncoordinated")
RECEIVERS = ("matched", "decorrelator", "mmse")
SNR_DB = 10.0
SNRS_DB = (0.0, 4.0, 8.0, 12.0)
LOAD = 16  # users while the noise varies
DEVICES = 100_000
BLOCK = 250  # trials at once
ACTIVE_OF = 520
ACTIVE = (4, 8, 16, 24, 32, 48)
ACTIVE_FAMILIES = ("prime", "prime chirp", "kasami", "zadoff-chu", "random")
DECODERS = ("matched", "orthogonal", "message")
_COLORS = dict(
    zip(
        FAMILIES,
        (
            *(COLORS["prime"], COLORS["repaired"], COLORS["golden"], COLORS["sobol"]),
            *(SOFT, PALETTE[-1], COLORS["random"]),
        ),
        strict=True,
    )
)


def main(argv: Sequence[str] | None = None) -> list[Settings]:
    """Measure, print the tables, draw, and return the runs."""
    study = Study(__file__, __doc__, argv)
    bits = study.run("multiuser", bit_settings(study.chosen), measure_bits)
    active = study.run("multiuser-active", active_settings(study.chosen), measure_active)
    tables = check_table(bits), load_table(bits), noise_table(bits), active_table(active)
    return study.finish(tables, partial(draw, bits, active))


def bit_settings(chosen) -> list[Settings]:
    """Return one run for each scene, family, load, noise and seed."""
    trials = 100 if chosen.quick else 1000
    loads = [(scene, users, SNR_DB) for scene in SCENES for users in USERS]
    loads += [("synchronous", LOAD, snr) for snr in SNRS_DB]
    if chosen.quick:
        loads = [(scene, 8, SNR_DB) for scene in SCENES] + [("synchronous", LOAD, 4.0)]
    return [
        {"scene": scene, "family": name, "users": users, "snr_db": snr, "trials": trials}
        | {"seed": seed}
        for scene, users, snr in loads
        for name in FAMILIES
        for seed in range(chosen.seeds)
        if users <= (family(name).n_codes or users)
    ]


def measure_bits(run: Settings) -> Settings:
    """Return how many bits of the first user each receiver gets wrong."""
    rng = np.random.default_rng([run["seed"], run["users"], SCENES.index(run["scene"])])
    wrong = dict.fromkeys(RECEIVERS, 0)
    for first in range(0, run["trials"], BLOCK):
        n = min(BLOCK, run["trials"] - first)
        found = wrong_bits(family(run["family"]), run["users"], n, run["snr_db"], run["scene"], rng)
        for name, errors in found.items():
            wrong[name] += int(errors.sum())
    return {"wrong": wrong}


def wrong_bits(
    codes: Family, n_users: int, n: int, snr_db: float, scene: str, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return for each receiver in which of n trials the first user's first bit is wrong."""
    devices = DEVICES if scene == "uncoordinated" else None
    signatures = codes.draw(rng, n, n_users, devices)
    if scene == "near-far":
        gains = 10.0 ** (rng.uniform(0.0, 20.0, (n, n_users)) / 20.0)
        gains[:, 0] = 1.0
        signatures = signatures * gains[..., None]
    if scene in ("asynchronous", "near-far"):
        signatures = late(signatures, rng)
    n_symbols, chips = signatures.shape[1:]
    symbols = (1 - 2 * rng.integers(0, 2, (2, n, n_symbols))) / math.sqrt(2.0)
    symbols = symbols[0] + 1j * symbols[1]
    noise_power = 0.5 * 10.0 ** (-snr_db / 10.0)  # of a chip; a bit has half a symbol's energy
    noise = rng.standard_normal((2, n, chips)) * math.sqrt(noise_power / 2.0)
    received = np.einsum("ns,nsc->nc", symbols, signatures) + noise[0] + 1j * noise[1]
    answers = np.einsum("nsc,nc->ns", signatures.conj(), received)
    gram = signatures.conj() @ signatures.swapaxes(1, 2)
    # Parts of symbols may be empty or outnumber the chips: this little makes it a pseudoinverse.
    estimates = {
        "matched": answers[:, 0],
        "decorrelator": _solved(gram, answers, 1e-9),
        "mmse": _solved(gram, answers, noise_power),
    }
    sent = symbols[:, 0].real > 0
    return {name: (found.real > 0) != sent for name, found in estimates.items()}


def _solved(gram: np.ndarray, answers: np.ndarray, ridge: float) -> np.ndarray:
    """Return the first entry of (gram + ridge)**-1 answers."""
    matrix = gram + ridge * np.eye(gram.shape[1])
    return np.linalg.solve(matrix, answers[..., None])[:, 0, 0]


def late(signatures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return what falls into the first user's window when the others are late.

    That is (n, 2 users - 1, chips): the beginnings of all present symbols, then the ends of the
    previous symbols of all users but the first.
    """
    n, n_users, chips = signatures.shape
    delays = rng.integers(0, chips, (n, n_users, 1))
    delays[:, 0] = 0
    places = np.arange(chips)
    moved = np.take_along_axis(signatures, (places - delays) % chips, axis=2)
    present = places >= delays
    return np.concatenate([moved * present, (moved * ~present)[:, 1:]], axis=1)


def random_code_errors(n_users: int, chips: int, snr_db: float) -> float:
    """Return the exact bit error rate of the matched filter for random signs, synchronous.

    The interference is the mean of (n_users - 1) chips fair signs over the chips: a binomial law.
    """
    n = (n_users - 1) * chips
    heads = np.arange(n + 1)
    signal = (1.0 + (2 * heads - n) / chips) * math.sqrt(2.0 * 10.0 ** (snr_db / 10.0))
    return float(binom.pmf(heads, n, 0.5) @ norm.sf(signal))


def active_settings(chosen) -> list[Settings]:
    """Return one run for each family, decoder, number of active devices and seed."""
    return [
        {"family": name, "decoder": decoder, "active": active, "snr_db": SNR_DB, "seed": seed}
        | {"frames": 2 if chosen.quick else 20}
        for name in ACTIVE_FAMILIES
        for decoder in DECODERS
        for active in (ACTIVE[1:2] if chosen.quick else ACTIVE)
        for seed in range(chosen.seeds)
    ]


def measure_active(run: Settings) -> Settings:
    """Return how many of the active devices are found, and in how many frames all are."""
    rng = np.random.default_rng([run["seed"], run["active"]])
    source = family(run["family"])
    if source.name == "random":  # random phases: signs would use half of the numbers received
        codes = np.exp(2j * np.pi * rng.random((ACTIVE_OF, source.chips)))
    else:
        codes = source.make(np.arange(ACTIVE_OF)).astype(np.complex128) * math.sqrt(source.chips)
    found = whole = 0
    for _ in range(run["frames"]):
        active = rng.choice(ACTIVE_OF, run["active"], replace=False)
        noise = rng.standard_normal((2, source.chips))
        noise *= math.sqrt(source.chips * 0.5 * 10.0 ** (-run["snr_db"] / 10.0) / 2.0)
        received = codes[active].sum(axis=0) + noise[0] + 1j * noise[1]
        decoded = hdc.decode(received, codes, run["active"], decoder=run["decoder"])
        right = len(np.intersect1d(decoded.indices, active))
        found, whole = found + right, whole + (right == run["active"])
    return {"found": found, "whole": whole}


def error_rate(runs: list[Settings], receiver: str) -> tuple[float, float, float]:
    """Return the bit error rate over all seeds, and its interval."""
    wrong, n = sum(r["wrong"][receiver] for r in runs), sum(r["trials"] for r in runs)
    return wrong / n, *wilson(wrong, n)


def _percent(rate: tuple[float, float, float]) -> str:
    share, low, high = (100 * v for v in rate)
    return f"{share:.2f} ({low:.2f} to {high:.2f})"


def check_table(runs: list[Settings]) -> str:
    """Return the matched filter with random codes beside its closed form."""
    rows = []
    mine = select(runs, scene="synchronous", family="random")
    for users, snr in dict.fromkeys((run["users"], run["snr_db"]) for run in mine):
        rate = error_rate(select(mine, users=users, snr_db=snr), "matched")
        exact = random_code_errors(users, family("random").chips, snr)
        inside = "yes" if rate[1] <= exact <= rate[2] else "no"
        rows.append([users, f"{snr:g}", _percent(rate), f"{100 * exact:.2f}", inside])
    return table(["users", "dB", "wrong bits, %", "closed form, %", "within"], rows)


def load_table(runs: list[Settings]) -> str:
    """Return wrong bits by scene, receiver, family and load."""
    runs = select(runs, snr_db=SNR_DB)
    users = sorted({run["users"] for run in runs})
    rows = []
    for scene in SCENES:
        for receiver in RECEIVERS:
            for name in FAMILIES:
                cells = [select(runs, scene=scene, family=name, users=n) for n in users]
                shown = [_percent(error_rate(c, receiver)) if c else "too few codes" for c in cells]
                rows.append([scene, receiver, name, *shown])
    return table(["scene", "receiver", "codes", *(f"{n} users" for n in users)], rows)


def noise_table(runs: list[Settings]) -> str:
    """Return wrong bits of the matched filter and of MMSE against the noise."""
    runs = select(runs, scene="synchronous", users=LOAD)
    snrs = sorted({run["snr_db"] for run in runs})
    rows = [
        [
            receiver,
            name,
            *(
                _percent(error_rate(select(runs, family=name, snr_db=snr), receiver))
                for snr in snrs
            ),
        ]
        for receiver in ("matched", "mmse")
        for name in FAMILIES
    ]
    return table(["receiver", "codes", *(f"{snr:g} dB" for snr in snrs)], rows)


def detection(runs: list[Settings]) -> tuple[float, float, float]:
    """Return the share of active devices found, and its interval."""
    found, n = sum(r["found"] for r in runs), sum(r["active"] * r["frames"] for r in runs)
    return found / n, *wilson(found, n)


def active_table(runs: list[Settings]) -> str:
    """Return the share of active devices that is found."""
    loads = sorted({run["active"] for run in runs})
    rows = [
        [
            decoder,
            name,
            *(
                _percent(detection(select(runs, family=name, decoder=decoder, active=n)))
                for n in loads
            ),
        ]
        for decoder in DECODERS
        for name in ACTIVE_FAMILIES
    ]
    return table(["decoder", "codes", *(f"{n} active" for n in loads)], rows)


def draw(bits: list[Settings], active: list[Settings], out: Path) -> None:
    """Draw wrong bits against users for three scenes, and devices found against activity."""
    panels = (
        ("synchronous", "matched", "Together, matched filter"),
        ("asynchronous", "mmse", "Late by some chips, MMSE"),
        ("uncoordinated", "mmse", "Own number as code, MMSE"),
    )
    bits = select(bits, snr_db=SNR_DB)
    with picture(out / "multiuser.png", (8.2, 6.4)) as figure:
        axes = figure.subplots(2, 2).ravel()
        for axis, (scene, receiver, title) in zip(axes, panels, strict=False):
            for name in FAMILIES:
                mine = select(bits, scene=scene, family=name)
                users = sorted({run["users"] for run in mine})
                rates = [error_rate(select(mine, users=n), receiver) for n in users]
                _curve(axis, users, rates, name, _COLORS[name])
            axis.set(title=title, xlabel="users at once", ylabel="wrong bits")
            axis.set_yscale("symlog", linthresh=1e-4)
            axis.set_ylim(0, 0.6)
        for name in ACTIVE_FAMILIES:
            for decoder, style in (("message", "-"), ("matched", ":")):
                mine = select(active, family=name, decoder=decoder)
                loads = sorted({run["active"] for run in mine})
                rates = [detection(select(mine, active=n)) for n in loads]
                _curve(axes[3], loads, rates, None, _COLORS[name], style)
        axes[3].plot([], [], "-", color=SOFT, label="message passing")
        axes[3].plot([], [], ":", color=SOFT, label="matched filter")
        axes[3].legend()
        axes[3].set(title=f"Which of {ACTIVE_OF} devices are active")
        axes[3].set(xlabel="active devices", ylabel="share found", ylim=(0, 1.03))
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=len(FAMILIES))


def _curve(axis, x, rates, label: str | None, color: str, style: str = "-") -> None:
    middle, low, high = (np.array(column) for column in zip(*rates, strict=True))
    axis.plot(x, middle, style, marker=".", color=color, label=label)
    axis.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)


if __name__ == "__main__":
    main()
