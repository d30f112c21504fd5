"""``primal demo``: what the library does best, measured and drawn in a few seconds."""

import json
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from primal import Box, DynamicPrime, codebook, hdc
from primal.cli._common import json_option
from primal.codebooks import bounds, gram_statistics, toeplitz_statistics
from primal.maps import StaticPrime, kernel_matrix, median_gamma
from primal_studies._pictures import COLORS, GRID, SOFT, label_ends, picture
from primal_studies.paper import spiral

_PICTURE = "primal-demo.png"
_SIGMA, _D = 0.007, 128
_REACH = 14.0  # the decoder knows that inputs are within it
_SIZES = (32, 64, 128, 256, 512, 1024)
_SEEDS = 5
_CODE_D, _COUNTS = 64, (100, 250, 500, 1000, 2000)
_ITEMS, _MEMORY_D = (25, 50, 100, 150, 200, 250), 512
_WORDS = 1000


@click.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder for the picture; made if it does not exist.  [default: this one]",
)
@json_option
def demo(out: Path, as_json: bool) -> None:
    """Decode wrapped phases, approximate a kernel, make codes, fill a memory; draw a picture.

    \b
    Examples:
      primal demo
      primal demo --out pictures --json
    """
    decoded, features, codes, memory = _decoded(), _features(), _codes(), _memory()
    path = out / _PICTURE
    with picture(path, (12, 7.4)) as figure:
        axes = figure.subplots(2, 2)
        _draw_decoded(axes[0, 0], decoded)
        _draw_features(axes[0, 1], features)
        _draw_codes(axes[1, 0], codes)
        _draw_memory(axes[1, 1], memory)
    report = {
        "decoded": {name: value for name, value in decoded.items() if name[0] != "_"},
        "features": features,
        "codes": codes,
        "memory": memory,
        "picture": str(path),
    }
    click.echo(json.dumps(report, indent=2) if as_json else _as_text(report))


def _decoded() -> dict[str, Any]:
    """The paper's spiral through the paper's map, at a scale at which phases wrap, and back."""
    x = spiral()
    m = DynamicPrime(2, _D, _SIGMA)
    z = m.encode(x)
    linear, lattice = m.decode(z), m.decode_plan(prior=Box(_REACH)).decode(z)
    return {
        "fraction_wrapped": m.regime(x).fraction_wrapped,
        "linear_error": float(np.abs(linear - x).max()),
        "lattice_error": float(np.abs(lattice.x - x).max()),
        "fraction_unique": float((lattice.status == "unique").mean()),
        "_x": x,
        "_linear": linear,
        "_lattice": lattice.x,
    }


def _features() -> dict[str, Any]:
    """Relative error of the kernel matrix of 600 points in three dimensions, and time."""
    from sklearn.kernel_approximation import RBFSampler

    from primal.sklearn import PrimeFeatures

    X = np.random.default_rng(0).standard_normal((600, 3))
    gamma = median_gamma(X)
    K = kernel_matrix("rbf", X, gamma)

    def error(transformer: Any) -> float:
        Z = transformer.fit_transform(X)
        return float(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K))

    def sampler(D: int, seed: int) -> Any:
        return RBFSampler(gamma=gamma, n_components=D, random_state=seed)

    many = np.random.default_rng(1).standard_normal((20_000, 3))
    timed = [PrimeFeatures(_SIZES[-1], gamma=gamma).fit(X), sampler(_SIZES[-1], 0).fit(X)]
    seconds: list[list[float]] = [[], []]
    for _ in range(5):  # in turns: the speed of a machine drifts
        for one, spent in zip(timed, seconds, strict=True):
            start = time.perf_counter()
            one.transform(many)
            spent.append(time.perf_counter() - start)
    return {
        "D": list(_SIZES),
        "prime_errors": [error(PrimeFeatures(D, gamma=gamma)) for D in _SIZES],
        "random_errors": [[error(sampler(D, s)) for s in range(_SEEDS)] for D in _SIZES],
        "times_faster": float(np.median(np.divide(seconds[1], seconds[0]))),
    }


def _codes() -> dict[str, Any]:
    """Worst similarity of N codes in 64 dimensions: ours, random ones, and what is possible."""
    rng = np.random.default_rng(0)
    random = rng.standard_normal((_COUNTS[-1], _CODE_D))
    s = StaticPrime(_CODE_D)
    return {
        "D": _CODE_D,
        "N": list(_COUNTS),
        "codebook": [codebook(N, _CODE_D).certificate.coherence for N in _COUNTS],
        "static": [toeplitz_statistics(s.increments, N, bins=1).coherence for N in _COUNTS],
        "random": [gram_statistics(random[:N]).coherence for N in _COUNTS],
        "bound": [bounds.best(N, _CODE_D).value for N in _COUNTS],
    }


def _memory() -> dict[str, Any]:
    """Share of K of 1000 words that two decoders read back from one vector of 512 numbers."""
    words = hdc.Space(_MEMORY_D).symbols().encode([f"word {i}" for i in range(_WORDS)])
    shares: dict[str, list[float]] = {"matched": [], "message": []}
    for K in _ITEMS:
        chosen = np.random.default_rng(K).choice(_WORDS, K, replace=False)
        bundle = hdc.bundle(words[chosen])
        for decoder, share in shares.items():
            found = hdc.decode(bundle, words, K, decoder=decoder)
            share.append(float(np.isin(found.indices, chosen).mean()))
    return {"D": _MEMORY_D, "words": _WORDS, "items": list(_ITEMS), **shares}


def _draw_decoded(axis: Any, found: dict[str, Any]) -> None:
    axis.plot(*found["_x"].T, color=GRID, linewidth=7, zorder=0)
    axis.scatter(*found["_linear"].T, color=COLORS["gaussian"], s=3)
    axis.scatter(*found["_lattice"].T, color=COLORS["prime"], s=3)
    axis.set(xlim=(-1.4 * _REACH, 1.4 * _REACH), ylim=(-_REACH, _REACH), aspect="equal")
    axis.set(xticks=(), yticks=(), frame_on=False)
    axis.set_title(f"A spiral from wrapped phases ({found['fraction_wrapped']:.0%} of them wrap)")
    unique = f"{found['fraction_unique']:.0%} proved unique"
    for height, color, text in (
        (0.9, "prime", f"lattice decoder:\nerror {found['lattice_error']:.0e},\n{unique}"),
        (0.35, "gaussian", f"linear inverse:\nerror up to {found['linear_error']:.0f}"),
    ):
        axis.text(1.02, height, text, color=COLORS[color], transform=axis.transAxes, va="top")


def _draw_features(axis: Any, found: dict[str, Any]) -> None:
    low, high = np.min(found["random_errors"], axis=1), np.max(found["random_errors"], axis=1)
    mean = np.mean(found["random_errors"], axis=1)
    axis.fill_between(found["D"], low, high, color=COLORS["gaussian"], alpha=0.3, linewidth=0)
    axis.loglog(found["D"], mean, color=COLORS["gaussian"], label=f"RBFSampler,\n{_SEEDS} seeds")
    axis.loglog(found["D"], found["prime_errors"], "o-", color=COLORS["prime"], markersize=4)
    axis.lines[-1].set_label("PrimeFeatures,\nno seed")
    axis.set(xlabel="features D", ylabel="relative error of the kernel")
    axis.set_title(f"Kernel features of 3 inputs, {found['times_faster']:.1f} times as fast")
    axis.set_xticks(found["D"], found["D"])
    axis.minorticks_off()
    axis.grid(alpha=0.6)
    label_ends(axis, gap=0.13)


def _draw_codes(axis: Any, found: dict[str, Any]) -> None:
    for name, label, color, style in (
        ("random", "random", COLORS["gaussian"], "-"),
        ("static", "StaticPrime", COLORS["repaired"], "-"),
        ("codebook", "primal.codebook", COLORS["prime"], "o-"),
        ("bound", "lower bound", SOFT, "--"),
    ):
        axis.plot(found["N"], found[name], style, color=color, label=label, markersize=4)
    axis.set(xlabel="number of codes N", ylabel="worst similarity", ylim=(0, None))
    axis.set_title(f"Codes in {found['D']} dimensions beside what is possible")
    label_ends(axis)


def _draw_memory(axis: Any, found: dict[str, Any]) -> None:
    for name, label, color, style in (
        ("message", "decoder", COLORS["prime"], "o-"),
        ("matched", "most similar", COLORS["gaussian"], "-"),
    ):
        axis.plot(found["items"], found[name], style, color=color, label=label, markersize=4)
    axis.set(xlabel="words added up in one vector", ylabel="share read back", ylim=(0, 1.08))
    axis.set_title(f"Words of {found['words']} read back from {found['D']} numbers")
    label_ends(axis)


def _as_text(report: dict[str, Any]) -> str:
    decoded, features = report["decoded"], report["features"]
    codes, memory = report["codes"], report["memory"]
    random = np.mean(features["random_errors"][-1])
    at, item = codes["N"].index(1000), memory["items"].index(200)
    return "\n".join(
        [
            f"x from phases of which {decoded['fraction_wrapped']:.0%} wrap, a spiral's",
            f"  linear inverse   off by up to {decoded['linear_error']:.0f}",
            f"  lattice decoder  off by up to {decoded['lattice_error']:.0e}, "
            f"{decoded['fraction_unique']:.0%} proved to be the only answer",
            f"kernel features, 3 inputs to {features['D'][-1]}: relative error of the kernel",
            f"  PrimeFeatures    {features['prime_errors'][-1]:.1e}, no seed",
            f"  RBFSampler       {random:.1e}, mean of {_SEEDS} seeds, and "
            f"{features['times_faster']:.1f} times the time",
            f"1000 codes in {codes['D']} dimensions: worst similarity",
            f"  primal.codebook  {codes['codebook'][at]:.4f}, proved; no code is below "
            f"{codes['bound'][at]:.4f}",
            f"  random           {codes['random'][at]:.4f}",
            f"200 of {memory['words']} words from one vector of {memory['D']} numbers",
            f"  decoder          {memory['message'][item]:.0%} read back",
            f"  most similar     {memory['matched'][item]:.0%}",
            "",
            f"picture: {report['picture']}",
            "try next: primal codebook make 1000 64     codes with a certificate, in a file",
            "          primal bench --only dynamic      speed beside RBFSampler",
            "          primal --help                    everything else",
        ]
    )
