"""Retrieval: what codes of a few bytes find of the true nearest neighbours, and who does better.

    python docs/gallery/retrieval.py     # about two minutes; writes retrieval.json and the picture

Neighbours are those by Euclidean distance between the raw vectors. Nothing is tuned: gamma is
the default "scale". Of random contenders the mean over three seeds is shown.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from figures import HERE, panels
from sklearn.datasets import load_digits

from peers import orthogonal_random_features
from primal.kernels import scale_gamma
from primal.search import Index, similarity
from primal.sklearn import PrimeFeatures
from primal.turns import phases_to_bits

PICTURE = HERE / "retrieval.png"
RESULTS = HERE / "retrieval.json"
N_QUERIES, N_SEEDS, N_REPEATS = 200, 3, 3
Rows = tuple[np.ndarray, np.ndarray]


def digits() -> Rows:
    """Return 1597 handwritten digits of 64 pixels, and 200 others as queries."""
    X = np.random.default_rng(0).permutation(load_digits().data)
    return X[N_QUERIES:], X[:N_QUERIES]


def clusters(n: int = 10_000, d: int = 256) -> Rows:
    """Return points of 100 clusters that vary in 16 directions each, and a little in all."""
    generator = np.random.default_rng(0)
    centers = generator.standard_normal((100, d))
    directions = generator.standard_normal((100, 16, d)) / 4.0
    member = generator.integers(0, 100, n + N_QUERIES)
    inside = np.einsum(
        "ni,nid->nd", generator.standard_normal((len(member), 16)), directions[member]
    )
    X = centers[member] + inside + 0.1 * generator.standard_normal((len(member), d))
    return X[N_QUERIES:], X[:N_QUERIES]


def nearest_by_distance(x: np.ndarray, queries: np.ndarray, n: int = 10) -> np.ndarray:
    """Return the n nearest rows by Euclidean distance, in float64 or in the type of x."""
    squared = np.square(x).sum(axis=1) - 2.0 * (queries.astype(x.dtype) @ x.T)
    nearest = np.argpartition(squared, n, axis=1)[:, :n]
    order = np.argsort(np.take_along_axis(squared, nearest, axis=1), axis=1)
    return np.take_along_axis(nearest, order, axis=1)


def recall(found: np.ndarray, truth: np.ndarray, n: int) -> float:
    """Return the share of the n true nearest among the n found."""
    hits = [np.isin(f[:n], t[:n]).mean() for f, t in zip(found, truth, strict=True)]
    return float(np.mean(hits))


def prime_bits(data: Rows, n_bits: int, basis: str = "auto") -> np.ndarray:
    """Return the ten nearest by sign bits of PrimeFeatures."""
    return prime_index(data[0], n_bits, "bits", basis).search(data[1], 10).ids


def prime_index(x: np.ndarray, D: int, codes: str, basis: str = "auto") -> Index:
    """Return the rows as codes of D outputs with the default gamma."""
    return Index.from_vectors(x, PrimeFeatures(D, form="pair", basis=basis).fit(x), stored=codes)


def random_fourier_bits(data: Rows, n_bits: int, seed: int) -> np.ndarray:
    """Return the ten nearest by the same bits of Gaussian random frequencies."""
    generator = np.random.default_rng(seed)
    scale = np.sqrt(2.0 * scale_gamma(data[0])) / (2.0 * np.pi)
    frequencies = generator.standard_normal((data[0].shape[1], n_bits // 2)) * scale
    return nearest_by_bits(*(phases_to_bits(to_turns(x @ frequencies)) for x in data))


def orthogonal_fourier_bits(data: Rows, n_bits: int, seed: int) -> np.ndarray:
    """Return the ten nearest by the bits of orthogonal random features."""
    gamma = scale_gamma(data[0])
    features = (orthogonal_random_features(x, n_bits, gamma, seed) for x in data)
    return nearest_by_bits(*(np.packbits(z >= 0, axis=1) for z in features))


def sign_projections(data: Rows, n_bits: int, seed: int) -> np.ndarray:
    """Return the ten nearest by signs of random projections of the centred rows."""
    center = data[0].mean(axis=0)
    directions = np.random.default_rng(seed).standard_normal((len(center), n_bits))
    return nearest_by_bits(*(np.packbits((x - center) @ directions >= 0, axis=1) for x in data))


def to_turns(phases: np.ndarray) -> np.ndarray:
    """Return float64 phases as fixed-point turns."""
    return np.rint((phases - np.floor(phases)) * 2.0**32).astype(np.uint64).astype(np.uint32)


def nearest_by_bits(rows: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Return the ten nearest rows by the number of differing bits."""
    found = similarity(queries, rows, "bits")
    return np.argsort(-found, axis=1, kind="stable")[:, :10]  # equal distances: the lower index


def curves(data: Rows, sizes: tuple[int, ...], n_seeds: int) -> dict[str, list[float]]:
    """Return recall@10 of every contender, one for each number of bits in a code."""
    truth = nearest_by_distance(*data)

    def mean(find: Callable[[Rows, int, int], np.ndarray], n_bits: int) -> float:
        return float(np.mean([recall(find(data, n_bits, s), truth, 10) for s in range(n_seeds)]))

    found = {
        f"PrimeFeatures bits, {basis}": [
            recall(prime_bits(data, n_bits, basis), truth, 10) for n_bits in sizes
        ]
        for basis in ("kronecker", "orthogonal", "table")
    }
    found["random Fourier bits"] = [mean(random_fourier_bits, n) for n in sizes]
    found["orthogonal random Fourier bits"] = [mean(orthogonal_fourier_bits, n) for n in sizes]
    found["sign random projections"] = [mean(sign_projections, n) for n in sizes]
    # One byte for a frequency: as many bytes as eight bits each.
    found["PrimeFeatures uint8 phases"] = [
        recall(prime_index(data[0], n // 4, "uint8-phase").search(data[1], 10).ids, truth, 10)
        for n in sizes
    ]
    return found


def table(data: Rows) -> list[dict[str, object]]:
    """Return bytes for a row, recalls and milliseconds for a query of ways to store the rows."""
    x, queries = data
    truth = nearest_by_distance(x, queries)
    low, step = x.min(), np.ptp(x) / 255
    eight_bit = np.rint((x - low) / step).astype(np.uint8)
    indices = {
        f"{codes}, D = {D}": prime_index(x, D, codes)
        for D, codes in (
            *((256, "bits"), (1024, "bits")),
            *((256, "uint8-phase"), (1024, "uint8-phase")),
            *((1024, "float16"), (1024, "float32")),
        )
    }
    bits, phases = indices["bits, D = 1024"], indices["uint8-phase, D = 1024"]
    ways: dict[str, tuple[int, Callable[[], np.ndarray]]] = {
        f"raw {name}": (rows.shape[1] * rows.itemsize, stored(rows, queries, scale, shift))
        for name, rows, scale, shift in (
            ("float32", x.astype(np.float32), 1.0, 0.0),
            ("float16", x.astype(np.float16), 1.0, 0.0),
            ("uint8", eight_bit, step, low),
        )
    }
    for name, index in indices.items():
        ways[name] = index.bytes_per_row, lambda index=index: index.search(queries, 10).ids
    ways["bits, then uint8-phase, D = 1024"] = (
        bits.bytes_per_row + phases.bytes_per_row,
        lambda: phases.rerank(queries, bits.search(queries, 100).ids, 10).ids,
    )
    return [
        {
            "stored": name,
            "bytes": n_bytes,
            "recall@1": recall(search(), truth, 1),
            "recall@10": recall(search(), truth, 10),
            "ms": milliseconds(search),
        }
        for name, (n_bytes, search) in ways.items()
    ]


def stored(rows: np.ndarray, queries: np.ndarray, scale: float, shift: float) -> Callable:
    """Return a search through rows that are made float32 again a block at a time."""

    def search() -> np.ndarray:
        parts = [rows[first : first + 4096] for first in range(0, len(rows), 4096)]
        found = [part.astype(np.float32) * np.float32(scale) + np.float32(shift) for part in parts]
        return nearest_by_distance(np.concatenate(found), queries)

    return search


def milliseconds(search: Callable[[], np.ndarray]) -> float:
    """Return the shortest time of a few calls, for one query."""
    times = []
    for _ in range(N_REPEATS):
        start = time.perf_counter()
        search()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3 / N_QUERIES


def measure() -> dict[str, object]:
    """Return everything that the page shows."""
    sizes = (64, 128, 256, 512, 1024)
    sets = {"digits": digits(), "clusters": clusters()}
    return {
        name: {"sizes": sizes, "curves": curves(data, sizes, N_SEEDS), "table": table(data)}
        for name, data in sets.items()
    }


def draw(path: Path = PICTURE, *, quick: bool = False) -> None:
    """Draw recall against bytes for a row."""
    if quick:
        data = tuple(part[:300] for part in digits())
        results = {"digits": {"sizes": (64, 128), "curves": curves(data, (64, 128), 1)}}
    else:
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
    styles = ("o-", "s-", "^-", "v--", "+--", "x--", "D:")
    titles = {"digits": "digits, 64 inputs", "clusters": "clusters, 256 inputs"}
    with panels(path, len(results), 5.2, 4.6) as axes:
        for axis, (name, result) in zip(axes, results.items(), strict=True):
            n_bytes = np.array(result["sizes"]) / 8
            for (label, values), style in zip(result["curves"].items(), styles, strict=True):
                axis.plot(n_bytes, values, style, label=label, markersize=5)
            axis.set(xscale="log", xlabel="bytes for a row", ylabel="recall@10", title=titles[name])
            axis.set_xticks(n_bytes, [f"{n:g}" for n in n_bytes])
            axis.minorticks_off()
        handles = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(*handles, loc="outside lower center", ncols=3)


if __name__ == "__main__":
    RESULTS.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    draw()
