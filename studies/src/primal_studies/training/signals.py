"""Signals for implicit representations: images that packages ship, a sound and a solid.

    primal study signals --out results

writes ``signals.npz`` for machines that have neither scikit-learn nor matplotlib.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from primal_studies.training._common import options

__all__ = ["CHOOSING", "TESTING", "images", "solid_distance", "sound"]

SIDE = 256
# The rule for sigma is chosen on the first and tested on the second.
CHOOSING = ("china", "terrain", "leaves")
TESTING = ("flower", "portrait", "head")


def images(folder: Path) -> dict[str, np.ndarray]:
    """Return grey images of SIDE x SIDE pixels, values from 0 to 1; from the file if any."""
    path = folder / "signals.npz"
    if path.exists():
        with np.load(path) as file:
            return {name: file[name] for name in file.files}
    found = _from_packages()
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, allow_pickle=False, **found)
    return found


def sound(n: int = 4096, seed: int = 0) -> np.ndarray:
    """Return n samples of three plucked strings that decay, values within 1."""
    generator = np.random.default_rng(seed)
    t = np.arange(n) / n
    tone = np.zeros(n)
    for start, pitch in ((0.0, 55.0), (0.3, 82.4), (0.6, 110.0)):
        age = np.clip(t - start, 0.0, None)
        for harmonic in range(1, 9):
            phase = generator.uniform(0, 2 * np.pi)
            wave = np.sin(2 * np.pi * pitch * harmonic * age + phase) * np.exp(
                -6.0 * harmonic * age
            )
            tone += (t >= start) * wave / harmonic
    return tone / np.abs(tone).max()


def solid_distance(points: np.ndarray) -> np.ndarray:
    """Return the signed distance of points (n, 3) to a ring with a ball beside it."""
    x, y, z = points.T
    ring = np.hypot(np.hypot(x, y) - 0.5, z) - 0.18
    ball = np.sqrt((x - 0.55) ** 2 + (y - 0.3) ** 2 + (z - 0.45) ** 2) - 0.22
    return np.minimum(ring, ball)


def _from_packages() -> dict[str, np.ndarray]:
    from matplotlib import cbook
    from matplotlib.image import imread
    from sklearn.datasets import load_sample_image

    with gzip.open(str(cbook.get_sample_data("s1045.ima.gz", asfileobj=False))) as file:
        head = np.frombuffer(file.read(), np.uint16).astype(float).reshape(256, 256)
    with np.load(str(cbook.get_sample_data("topobathy.npz", asfileobj=False))) as file:
        terrain = file["topo"].astype(float)
    portrait = imread(str(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)))
    found = {
        "china": load_sample_image("china.jpg"),
        "terrain": terrain,
        "leaves": _leaves(),
        "flower": load_sample_image("flower.jpg"),
        "portrait": portrait,
        "head": head,
    }
    return {name: _square(np.asarray(image, dtype=float)) for name, image in found.items()}


def _square(image: np.ndarray) -> np.ndarray:
    """Return the middle square, grey, SIDE pixels wide, each the mean of the pixels it covers."""
    gray = image.mean(axis=2) if image.ndim == 3 else image
    n = min(gray.shape)
    top, left = (gray.shape[0] - n) // 2, (gray.shape[1] - n) // 2
    gray = gray[top : top + n, left : left + n]
    edges = np.linspace(0, n, SIDE + 1)
    shares = np.clip(
        np.minimum(edges[1:, None], np.arange(n) + 1) - np.maximum(edges[:-1, None], np.arange(n)),
        0,
        None,
    )
    shares /= shares.sum(axis=1, keepdims=True)
    small = shares @ gray @ shares.T
    return ((small - small.min()) / np.ptp(small)).astype(np.float32)


def _leaves(n_discs: int = 400) -> np.ndarray:
    """Return discs of power-law size that cover each other: edges at every scale, as in nature."""
    generator = np.random.default_rng(7)
    y, x = np.mgrid[0:1:512j, 0:1:512j]
    image = np.full((512, 512), 0.5)
    for _ in range(n_discs):
        radius = 0.02 * generator.random() ** -0.5
        cx, cy, value = generator.random(3)
        image[(x - cx) ** 2 + (y - cy) ** 2 < min(radius, 0.3) ** 2] = value
    return image


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Write the file, and return the mean of every image."""
    chosen = options(__file__, __doc__, argv)
    found = images(chosen.out)
    for name, image in found.items():
        print(f"{name}: {image.shape}, mean {image.mean():.3f}")
    return {name: float(image.mean()) for name, image in found.items()}


if __name__ == "__main__":
    main()
