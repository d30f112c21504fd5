"""Implicit representations: an image, a sound and a solid as networks of their coordinates.

Four first layers with equal numbers of parameters and steps: prime features with a sigma of
SHARE_OF_NYQUIST times half the sampling rate, for all signals, random Fourier features with the
best of five scales for each signal, SIREN, and plain coordinates. Peers get the best of three
learning rates for each signal; the primes one rate, chosen with the scale. Training sees a quarter
of the pixels (every second row and column), scores are of all others.

    primal study inr --device cuda --out results
    primal study inr --choose --device cuda --out results

The second command is how SHARE_OF_NYQUIST and CHOSEN_RATE were chosen, on images that the first
does not use.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from primal.torch import DynamicPrime
from primal_studies._pictures import COLORS, picture
from primal_studies.training._common import (
    Settings,
    mean_spread,
    options,
    run_all,
    select,
    study_parser,
    table,
    total_seconds,
)
from primal_studies.training._nets import Ensemble, train
from primal_studies.training.signals import CHOOSING, TESTING, images, solid_distance, sound

METHODS = ("prime", "random Fourier", "SIREN", "coordinates")
_HUES = ("prime", "random", "golden", "sobol")
SHARES = (0.03125, 0.0625, 0.125, 0.25, 0.5)
RATES = (3e-3, 1e-3, 2e-4)
# Standard deviation of the frequencies over the highest frequency that the samples carry.
SHARE_OF_NYQUIST = 0.0625
CHOSEN_RATE = 3e-3
N_FEATURES = 256


@dataclass(frozen=True)
class Signal:
    """Points in [-1, 1] with values, for training and for scoring."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    samples_per_unit: float


def main(argv: Sequence[str] | None = None) -> list[Settings]:
    """Measure what is not on file, print the table, draw."""
    argv = list(argv) if argv is not None else None
    choosing, rest = _choosing(argv)
    chosen = options(__file__, __doc__, rest, seeds=3 if choosing else 5)
    if choosing:
        runs = run_all("inr-choose", chosen, choose_settings(chosen), lambda r: measure(r, chosen))
        print(share_table(runs), end="\n\n")
    else:
        runs = run_all("inr", chosen, settings(chosen), lambda r: measure(r, chosen))
        print(quality_table(runs), end="\n\n")
        with suppress(ImportError):  # a machine may measure for one that has Matplotlib
            draw(runs, chosen.out)
    print(total_seconds(runs))
    return runs


def settings(chosen: argparse.Namespace) -> list[Settings]:
    """Return one run for each signal and method; seeds, scales and rates train at once."""
    signals = ("head",) if chosen.quick else (*TESTING, "sound", "solid")
    return [
        _run(chosen, name, method, _shares(method), _rates(method))
        for name in signals
        for method in METHODS
    ]


def choose_settings(chosen: argparse.Namespace) -> list[Settings]:
    """Return the runs that compare shares of the Nyquist frequency on the choosing images."""
    return [_run(chosen, name, "prime", list(SHARES), list(RATES)) for name in CHOOSING]


def _run(
    chosen: argparse.Namespace, signal: str, method: str, shares: list[float], rates: list[float]
) -> Settings:
    quick = chosen.quick
    return {
        "signal": signal,
        "method": method,
        "rates": rates,
        "shares": shares,
        "seeds": 2 if quick else chosen.seeds,
        "steps": 30 if quick else 2000,
        "width": 32 if quick else 256,
        "side": 32 if quick else 256,
    }


def _shares(method: str) -> list[float]:
    return {"prime": [SHARE_OF_NYQUIST], "random Fourier": list(SHARES)}.get(method, [0.0])


def _rates(method: str) -> list[float]:
    return [CHOSEN_RATE] if method == "prime" else list(RATES)


def measure(run: Settings, chosen: argparse.Namespace) -> Settings:
    """Train all seeds and scales of one method; return their scores in dB along the way."""
    signal = load(run["signal"], run["side"], chosen.out)
    device = chosen.device
    members = list(product(run["shares"], run["rates"], range(run["seeds"])))
    train_in, test_in = (
        torch.stack([first_layer(run, signal, x, s, seed, device) for s, _, seed in members])
        for x in (signal.train_x, signal.test_x)
    )
    net = network(run, train_in.shape[-1], [seed for *_, seed in members], device)
    rates = torch.tensor([rate for _, rate, _ in members], device=device)
    train_y, test_y = (
        torch.tensor(y, dtype=torch.float32, device=device)[None, :, None]
        for y in (signal.train_y, signal.test_y)
    )
    peak = float(np.ptp(signal.test_y))
    checkpoints = {max(1, run["steps"] * i // 10) for i in range(1, 11)}
    curve: list[Settings] = []
    start = time.perf_counter()

    def report(step: int) -> None:
        if step in checkpoints:
            with torch.no_grad():
                error = ((net(test_in) - test_y) ** 2).mean(dim=(1, 2))
            db = (10 * torch.log10(peak**2 / error)).tolist()
            seconds = (time.perf_counter() - start) / len(members)
            curve.append({"step": step, "seconds": seconds, "db": db})

    def losses() -> Tensor:
        return ((net(train_in) - train_y) ** 2).mean(dim=(1, 2))

    train(net.parameters, losses, run["steps"], rates, report)
    return {"curve": curve, "n_parameters": net.n_parameters}


def first_layer(
    run: Settings, signal: Signal, x: np.ndarray, share: float, seed: int, device: str
) -> Tensor:
    """Return what the dense layers see of points x."""
    points = torch.tensor(x, dtype=torch.float32, device=device)
    if run["method"] in ("SIREN", "coordinates"):
        return points
    sigma, d = share * signal.samples_per_unit / 2.0, points.shape[1]
    if run["method"] == "prime":
        return DynamicPrime(
            d, N_FEATURES, sigma, basis="auto", layout="interleaved", device=device
        )(points)
    generator = torch.Generator().manual_seed(seed)
    normal = torch.randn(N_FEATURES // 2, d, generator=generator, dtype=torch.float64)
    phases = points.double() @ (sigma * normal).to(device).T
    angles = 2 * torch.pi * (phases - phases.round()).float()
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def network(run: Settings, n_inputs: int, seeds: list[int], device: str) -> Ensemble:
    """Return the dense layers; those that see bare coordinates get one more."""
    width = run["width"]
    if run["method"] in ("prime", "random Fourier"):
        return Ensemble([n_inputs, width, width, 1], seeds, "relu", device)
    activation = "sine" if run["method"] == "SIREN" else "relu"
    return Ensemble([n_inputs, width, width, width, 1], seeds, activation, device)


def load(name: str, side: int, folder: Path) -> Signal:
    """Return a signal by name."""
    generator = np.random.default_rng(3)
    if name == "sound":
        values = sound(16 * side)
        x = np.linspace(-1, 1, len(values))[:, None]
        return Signal(x[::2], values[::2], x[1::2], values[1::2], len(values) / 4.0)
    if name == "solid":
        x = generator.uniform(-1, 1, (4 * 16 * side, 3))
        y, half = solid_distance(x), len(x) // 2
        rate = half ** (1 / 3) / 2.0
        return Signal(x[:half], y[:half], x[half:], y[half:], rate)
    image = images(folder)[name][:: 256 // side, :: 256 // side]
    axis = np.linspace(-1, 1, side)
    x = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    seen = np.zeros(image.shape, dtype=bool)
    seen[::2, ::2] = True
    return Signal(x[seen], image[seen], x[~seen], image[~seen], side / 4.0)


def scores(run: Settings) -> np.ndarray:
    """Return dB along training, shape (checkpoints, shares, rates, seeds)."""
    shape = (-1, len(run["shares"]), len(run["rates"]), run["seeds"])
    return np.array([point["db"] for point in run["curve"]]).reshape(shape)


def best(run: Settings) -> tuple[int, int]:
    """Return the places of the share and the rate with the best mean over seeds in the end."""
    final = scores(run)[-1].mean(axis=2)
    share, rate = np.unravel_index(int(np.nanargmax(final)), final.shape)
    return int(share), int(rate)


def quality_table(runs: list[Settings]) -> str:
    """Return dB for every signal and method, with what was chosen for it."""
    rows = []
    for signal in dict.fromkeys(run["signal"] for run in runs):
        cells = []
        for method in METHODS:
            run = select(runs, signal=signal, method=method)[0]
            share, rate = best(run)
            scale = f", scale {run['shares'][share]:g}" if method == "random Fourier" else ""
            db = mean_spread(scores(run)[-1, share, rate], 2)
            cells.append(f"{db} (rate {run['rates'][rate]:g}{scale})")
        rows.append([signal, *cells])
    return table(["held-out dB", *METHODS], rows)


def share_table(runs: list[Settings]) -> str:
    """Return dB for every share of the Nyquist frequency, best rate, mean over images last."""
    by_image = np.array([scores(run)[-1].mean(axis=2).max(axis=1) for run in runs])
    rows = [
        [f"{share:g}", *(f"{db:.2f}" for db in column), f"{column.mean():.2f}"]
        for share, column in zip(runs[0]["shares"], by_image.T, strict=True)
    ]
    return table(["share of Nyquist", *(run["signal"] for run in runs), "mean"], rows)


def draw(runs: list[Settings], out: Path) -> None:
    """Draw scores along training.

    Against steps: seconds depend on how many networks were trained side by side.
    """
    names = list(dict.fromkeys(run["signal"] for run in runs))
    with picture(out / "inr.png", (2.7 * len(names) + 0.6, 3.4)) as figure:
        for axis, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
            for method, hue in zip(METHODS, _HUES, strict=True):
                run = select(runs, signal=name, method=method)[0]
                db = scores(run)[:, *best(run)].mean(axis=1)
                axis.plot(
                    [point["step"] for point in run["curve"]],
                    db,
                    ".-",
                    color=COLORS[hue],
                    label=method,
                )
            axis.set(title=name, xlabel="steps")
        figure.axes[0].set_ylabel("held-out dB")
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=len(METHODS))


def _choosing(argv: list[str] | None) -> tuple[bool, list[str]]:
    parser = study_parser(__file__, __doc__, add_help=False)
    parser.add_argument("--choose", action="store_true")
    known, rest = parser.parse_known_args(argv)
    return known.choose, rest


if __name__ == "__main__":
    main()
