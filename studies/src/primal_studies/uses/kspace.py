"""Compressed sensing of k-space: which samples of the phantom to take, and restricted isometry.

The Shepp-Logan phantom, 128 x 128, is seen through a share of its Fourier coefficients. Patterns:
`kronecker`, points ({n sqrt(2)}, {n sqrt(3)}) drawn to the center; `random`, independent points
of the same density; `poisson`, the same with a distance to keep; `radial`, lines that turn by the
golden angle; `uniform`, independent points everywhere. The central 8 x 8 is always taken.
Reconstruction: total variation (scikit-image's denoiser) and the data, in turns. Each pattern tries
3 densities (radial: 3 first angles) and 2 weights once, on a pattern of its own, and is tested on
five others. Restricted isometry: the largest deviation of squared lengths over random supports, a
lower bound of the constant of order s.

    primal study kspace --out results
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from primal.errors import MissingPackageError
from primal.exact import increments, static_turns
from primal_studies._pictures import COLORS, SOFT, picture
from primal_studies.training._common import Settings, Study, mean_spread, select, table
from primal_studies.training.sparse import DICTIONARIES, dictionary_atoms

PATTERNS = ("kronecker", "random", "poisson", "radial", "uniform")
SHARES = (0.08, 0.12, 0.16, 0.24)
DENSITIES = (1.5, 2.5, 3.5)  # a point's radius is u**density of the edge, u uniform
WEIGHTS = (0.01, 0.04)
CENTER = 8
ORDERS = (2, 4, 8, 16, 32)
_COLORS = dict(
    zip(
        PATTERNS,
        (COLORS["prime"], COLORS["random"], COLORS["sobol"], COLORS["golden"], SOFT),
        strict=True,
    )
)


def main(argv: Sequence[str] | None = None) -> list[Settings]:
    """Measure, print the tables, draw, and return the runs."""
    study = Study(__file__, __doc__, argv)
    _library()
    tuned = study.run("kspace-tuned", tuning_settings(study.chosen), tune)
    runs = study.run("kspace", image_settings(study.chosen, tuned), measure_image)
    isometry = study.run("isometry", isometry_settings(study.chosen), measure_isometry)
    return study.finish((image_table(runs), isometry_table(isometry)), partial(draw, runs))


def _library() -> None:
    try:
        import skimage  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            "primal study kspace needs scikit-image: pip install scikit-image."
        ) from None


@cache
def phantom(side: int) -> np.ndarray:
    """Return the Shepp-Logan phantom, values from 0 to 1."""
    from skimage.data import shepp_logan_phantom
    from skimage.transform import resize

    return np.asarray(resize(shepp_logan_phantom(), (side, side), anti_aliasing=True))


def tuning_settings(chosen) -> list[Settings]:
    """Return one run for each pattern and share."""
    side, shares = (32, SHARES[2:3]) if chosen.quick else (128, SHARES)
    return [
        {"pattern": name, "share": share, "side": side, "rounds": 5 if chosen.quick else 60}
        for share in shares
        for name in PATTERNS
    ]


def tune(run: Settings) -> Settings:
    """Return the density and the weight with the smallest error on a pattern of its own."""
    errors = {
        (density, weight): _error(run, density, weight, seed=1000)
        for density in DENSITIES
        for weight in WEIGHTS
    }
    density, weight = min(errors, key=errors.__getitem__)
    return {"density": density, "weight": weight}


def image_settings(chosen, tuned: list[Settings]) -> list[Settings]:
    """Return one run for each tuned pattern and seed."""
    names = ("pattern", "share", "side", "rounds", "density", "weight")
    return [
        {name: found[name] for name in names} | {"seed": seed}
        for found in tuned
        for seed in range(chosen.seeds)
    ]


def measure_image(run: Settings) -> Settings:
    """Return the relative error and the peak signal-to-noise ratio of one reconstruction."""
    error = _error(run, run["density"], run["weight"], run["seed"])
    image = phantom(run["side"])
    rms = error * math.sqrt(float(np.square(image).mean()))
    return {"error": error, "psnr": -20 * math.log10(max(rms, 1e-12))}


def _error(run: Settings, density: float, weight: float, seed: int) -> float:
    image = phantom(run["side"])
    mask = sampled(run["pattern"], run["side"], run["share"], density, seed)
    restored = reconstructed(np.fft.fft2(image, norm="ortho") * mask, mask, weight, run["rounds"])
    return float(np.linalg.norm(restored - image) / np.linalg.norm(image))


def reconstructed(spectrum: np.ndarray, mask: np.ndarray, weight: float, rounds: int) -> np.ndarray:
    """Return an image of small total variation whose sampled coefficients are those given."""
    from skimage.restoration import denoise_tv_chambolle

    image = np.fft.ifft2(spectrum, norm="ortho").real
    for number in range(rounds):
        # From strong to weak: the first rounds fill in, the last keep what is fine.
        smooth = denoise_tv_chambolle(image, weight * 0.95**number, max_num_iter=15)
        found = np.fft.fft2(smooth, norm="ortho")
        image = np.fft.ifft2(np.where(mask, spectrum, found), norm="ortho").real
    return image


def sampled(pattern: str, side: int, share: float, density: float, seed: int) -> np.ndarray:
    """Return which coefficients are taken, bool of shape (side, side), zero frequency first."""
    n = round(share * side * side)
    rng = np.random.default_rng([seed, 4])
    mask = np.zeros((side, side), dtype=bool)
    low = side // 2 - CENTER // 2
    mask[low : low + CENTER, low : low + CENTER] = True
    if pattern == "radial":
        _add_spokes(mask, n, DENSITIES.index(density) / 3 + seed * math.sqrt(2))
    else:
        _add_points(mask, n, pattern, density, rng, seed)
    return np.fft.ifftshift(mask)


def _add_spokes(mask: np.ndarray, n: int, first: float) -> None:
    """Take lines through the center, each turned by the golden angle, until n are taken."""
    side = len(mask)
    along = np.linspace(-side / 2, side / 2 - 1, 2 * side)
    number = 0
    while mask.sum() < n:
        angle = math.pi * ((first + number * (math.sqrt(5) - 1) / 2) % 1.0)
        x, y = (np.rint(side / 2 + along * f(angle)).astype(int) for f in (np.cos, np.sin))
        inside = (x >= 0) & (x < side) & (y >= 0) & (y < side)
        new = np.flatnonzero(inside & ~mask[np.clip(x, 0, side - 1), np.clip(y, 0, side - 1)])
        new = new[: n - int(mask.sum())]
        mask[x[new], y[new]] = True
        number += 1


def _add_points(
    mask: np.ndarray, n: int, pattern: str, density: float, rng: np.random.Generator, seed: int
) -> None:
    """Take points one after the other until n are taken; one that is taken is passed over."""
    side = len(mask)
    number = 1 + 100_003 * seed
    # Distance that poisson keeps, as a share of what an even spread would have; it shrinks when
    # nothing fits any more.
    keep, misses = 0.7, 0
    while (taken := int(mask.sum())) < n:
        if pattern == "kronecker":
            numbers = np.arange(number, number + n - taken, dtype=np.uint64)
            number += n - taken
            uv = static_turns(numbers, increments(2)) / 2.0**64  # fractions of n sqrt(2), n sqrt(3)
        else:
            uv = rng.random((n - taken, 2))
        centered = 2 * uv - 1
        if pattern != "uniform":
            size = np.abs(centered).max(axis=1, keepdims=True)
            centered = centered * size ** (density - 1)  # squares stay squares
        places = np.clip(np.floor((centered + 1) * side / 2).astype(int), 0, side - 1)
        if pattern != "poisson":
            mask[places[:, 0], places[:, 1]] = True
            continue
        for (i, j), c in zip(places, centered, strict=True):
            local = np.abs(c).max() ** (2 * (density - 1) / density)
            radius = int(keep * math.sqrt(local * density * side * side / n) / 2)
            near = mask[max(0, i - radius) : i + radius + 1, max(0, j - radius) : j + radius + 1]
            if near.any():
                misses += 1
                if misses > 4 * n:
                    keep, misses = 0.8 * keep, 0
            elif mask.sum() < n:
                mask[i, j] = True


def isometry_settings(chosen) -> list[Settings]:
    """Return one run for each dictionary, order and seed."""
    return [
        {"dictionary": name, "m": 96, "order": order, "supports": 50 if chosen.quick else 3000}
        | {"seed": seed}
        for order in (ORDERS[1:2] if chosen.quick else ORDERS)
        for name in (DICTIONARIES[::2] if chosen.quick else DICTIONARIES)
        for seed in range(chosen.seeds)
    ]


def measure_isometry(run: Settings) -> Settings:
    """Return the largest deviation of an eigenvalue of a Gram matrix from 1."""
    atoms = dictionary_atoms(run["dictionary"], run["m"], run["seed"])
    rng = np.random.default_rng([run["seed"], run["order"]])
    supports = np.stack(
        [rng.choice(len(atoms), run["order"], replace=False) for _ in range(run["supports"])]
    )
    gram = (atoms @ atoms.T)[supports[:, :, None], supports[:, None, :]]
    values = np.linalg.eigvalsh(gram)
    return {"constant": float(max(values.max() - 1.0, 1.0 - values.min()))}


def image_table(runs: list[Settings]) -> str:
    """Return errors by pattern and share."""
    shares = sorted({run["share"] for run in runs})
    rows = [
        [
            name,
            *(
                mean_spread((r["error"] for r in select(runs, pattern=name, share=share)), 3)
                for share in shares
            ),
            *(
                mean_spread((r["psnr"] for r in select(runs, pattern=name, share=share)), 1)
                for share in shares
            ),
        ]
        for name in PATTERNS
    ]
    header = [f"error at {share:.0%}" for share in shares] + [f"dB at {s:.0%}" for s in shares]
    return table(["pattern", *header], rows)


def isometry_table(runs: list[Settings]) -> str:
    """Return the estimates by dictionary and order."""
    orders = sorted({run["order"] for run in runs})
    rows = [
        [
            name,
            *(
                mean_spread((r["constant"] for r in select(runs, dictionary=name, order=s)), 3)
                for s in orders
            ),
        ]
        for name in dict.fromkeys(run["dictionary"] for run in runs)
    ]
    return table(["dictionary", *(f"s = {s}" for s in orders)], rows)


def draw(runs: list[Settings], out: Path) -> None:
    """Draw the patterns, and the error against the share of samples."""
    side, share = runs[0]["side"], sorted({run["share"] for run in runs})[0]
    with picture(out / "kspace.png", (9.0, 4.6)) as figure:
        grid = figure.add_gridspec(2, 5, height_ratios=(1, 1.3))
        for column, name in enumerate(PATTERNS):
            density = select(runs, pattern=name, share=share)[0]["density"]
            axis = figure.add_subplot(grid[0, column])
            mask = np.fft.fftshift(sampled(name, side, share, density, 0))
            axis.imshow(mask, cmap="gray_r", interpolation="nearest")
            axis.set_title(name)
            axis.set_axis_off()
        axis = figure.add_subplot(grid[1, :])
        for name in PATTERNS:
            mine = select(runs, pattern=name)
            shares = sorted({run["share"] for run in mine})
            errors = [[r["error"] for r in select(mine, share=s)] for s in shares]
            mean, spread = np.mean(errors, axis=1), np.std(errors, axis=1)
            style = {"color": _COLORS[name], "marker": ".", "capsize": 2}
            axis.errorbar(shares, mean, yerr=spread, label=name, **style)
        axis.set(xlabel="share of k-space", ylabel="relative error", yscale="log")
        axis.legend(ncols=len(PATTERNS))


if __name__ == "__main__":
    main()
