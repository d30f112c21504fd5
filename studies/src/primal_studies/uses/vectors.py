"""Vector codes: recall at given bytes per row, and speed, against faiss.

Recall@10 of held-out queries by exact float64 neighbors; the baselines are means over seeds of
their random rotation. `IndexRaBitQ` has 8-bit queries and, like `IndexEDEN`, centered rows. For the
baselines, rows of the metric "cosine" have length one. Data sets that are not installed are
skipped: ``tools/fetch_datasets.sh`` fetches them. The baselines need ``faiss-cpu``.

    primal study vectors --out results
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sysconfig
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from primal._pictures import PALETTE, picture

from primal.vectors import Index, VectorCodes
from primal_studies.hdc._datasets import data_folders, load
from primal_studies.training._common import Settings, Study, mean_spread, select, table

K = 10
BITS = (1, 2, 4, 8)
TICKS = (8, 16, 32, 64, 128, 256, 512)
DRAWN = ("RaBitQ", "EDEN")  # baselines with a random rotation
KINDS = ("ours", *DRAWN, "SQ", "PQ", "two stages")
Data = tuple[np.ndarray, np.ndarray, str]


def main(argv: Sequence[str] | None = None) -> list[Settings]:
    """Measure, print the tables, draw, and return the runs."""
    study = Study(__file__, __doc__, argv, seeds=3)
    runs = study.run("vectors", recall_settings(study.chosen), measure_recall)
    speeds = study.run("vectors-speed", speed_settings(study.chosen), measure_speed)
    return study.finish((recall_table(runs), speed_table(speeds)), partial(draw, runs))


def recall_settings(chosen) -> list[Settings]:
    """Return one run for each data set, kind, size of a code and, for the baselines, seed."""
    names = ["digits"] if chosen.quick else [name for name in SETS if available(name)]
    kinds = KINDS if importlib.util.find_spec("faiss") else ("ours", "two stages")
    sizes = {"SQ": (4, 8), "PQ": (8, 4, 2), "two stages": (1, 2, 4)}  # PQ: columns in a byte
    return [
        {"set": name, "kind": kind, "bits": bits, "seed": seed}
        for name in names
        for kind in kinds
        for bits in sizes.get(kind, BITS)
        for seed in range(chosen.seeds if kind in DRAWN else 1)
        if kind != "EDEN" or bits < 8
    ]


def measure_recall(run: Settings) -> Settings:
    """Return recall@10, the fraction of nearest rows among the 10 found, and the bytes of a row."""
    x, q, metric = data(run["set"])
    best, bits = neighbors(run["set"]), run["bits"]
    if run["kind"] in ("ours", "two stages"):
        codes = VectorCodes(x.shape[1], bits, metric).fit(x)
        rescore = VectorCodes(x.shape[1], 8, metric).fit(x) if run["kind"] != "ours" else None
        index = Index(codes, rescore=rescore)
        index.add(x)
        found, size = index.search(q, K).ids, codes.bytes_per_row
    else:
        index, x, q = baseline(run["kind"], bits, x, q, metric, run["seed"])
        index.add(x)
        found, size = index.search(q, K)[1], index.sa_code_size()
    equal = found[:, :, None] == best[:, None, :]
    return {
        "recall": float(equal.any(axis=1).mean()),
        "first": float(equal[:, :, 0].any(axis=1).mean()),
        "bytes": int(size),
    }


def baseline(
    kind: str, bits: int, x: np.ndarray, q: np.ndarray, metric: str, seed: int
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a trained index of faiss, and rows and queries as it takes them."""
    faiss = importlib.import_module("faiss")
    if metric == "cosine":
        x, q = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, q))
    d, kept = x.shape[1], faiss.METRIC_INNER_PRODUCT if metric == "ip" else faiss.METRIC_L2
    if kind == "RaBitQ":
        index = faiss.IndexRaBitQ(d, kept, bits)
        index.qb = 8
    elif kind == "EDEN":
        center = x.mean(axis=0, dtype=np.float64).astype(np.float32)
        x, q = x - center, q if metric == "ip" else q - center
        index = faiss.index_factory(d, f"EDEN{bits}", kept)
    elif kind == "SQ":
        width = {4: faiss.ScalarQuantizer.QT_4bit, 8: faiss.ScalarQuantizer.QT_8bit}[bits]
        index = faiss.IndexScalarQuantizer(d, width, kept)
    else:
        index = faiss.IndexPQ(d, -(-d // bits), 8, kept)
        index.pq.cp.niter = 8
        padding = np.zeros((1, -d % bits), dtype=np.float32)
        if padding.size:
            x, q = (np.hstack([rows, padding.repeat(len(rows), 0)]) for rows in (x, q))
            index = faiss.IndexPQ(x.shape[1], x.shape[1] // bits, 8, kept)
    if kind in DRAWN:
        rotation = faiss.RandomRotationMatrix(d, d)
        rotation.init(seed + 1)
        index = faiss.IndexPreTransform(rotation, index)
    x, q = (np.ascontiguousarray(rows, dtype=np.float32) for rows in (x, q))
    index.train(x[:8000] if kind == "PQ" else x[:50_000])
    return index, x, q


def speed_settings(chosen) -> list[Settings]:
    """Return one run for each number of queries at once; every run interleaves all indexes."""
    n, rounds = (2000, 3) if chosen.quick else (100_000, 60)
    return [{"queries": queries, "n": n, "d": 768, "rounds": rounds} for queries in (1, 32)]


def measure_speed(run: Settings) -> Settings:
    """Return million rows a second and core of each index, and thousand encoded rows a second."""
    os.environ["PRIMAL_THREADS"] = "1"
    rng, d = np.random.default_rng(0), run["d"]
    x = rng.standard_normal((run["n"], d), dtype=np.float32)
    q = rng.standard_normal((run["queries"], d), dtype=np.float32)
    jobs: dict[str, tuple[Callable[[], object], int]] = {}
    for bits in BITS:
        codes = VectorCodes(d, bits, "l2").fit(x[:2000])
        index = Index(codes)
        index.add(x)
        jobs[f"ours {bits}"] = partial(index.search, q, K), len(x) * len(q)
        jobs[f"ours {bits} encode"] = partial(codes.encode, x[:1000]), 1000
    if importlib.util.find_spec("faiss"):
        faiss = importlib.import_module("faiss")
        faiss.omp_set_num_threads(1)
        made = {"RaBitQ 1": baseline("RaBitQ", 1, x, q, "l2", 0)[0]}
        made |= {f"SQ {bits}": baseline("SQ", bits, x, q, "l2", 0)[0] for bits in (4, 8)}
        for bits in (1, 4):
            made[f"FastScan {bits}"] = faiss.IndexRaBitQFastScan(d, faiss.METRIC_L2, 32, bits)
            made[f"FastScan {bits}"].train(x[:2000])
        for name, index in made.items():
            n = len(x) if name == "FastScan 1" else min(len(x), 4000 if "4" in name else 20_000)
            index.add(x[:n])
            jobs[name] = partial(index.search, q, K), n * len(q)
        plain = faiss.IndexRaBitQ(d, faiss.METRIC_L2, 1)
        plain.train(x[:2000])
        jobs["RaBitQ 1 encode"] = partial(plain.add, x[:1000]), 1000
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(run["rounds"]):  # interleaved, so that a busy moment meets all of them
        for name, (job, _) in jobs.items():
            begin = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - begin)
    return {"rates": {name: jobs[name][1] / seconds for name, seconds in best.items()}}


# Data sets: rows, queries and the metric.


@cache
def data(name: str) -> Data:
    """Return rows, 1,000 held-out queries and the metric of a data set, float32."""
    make, metric = SETS[name]
    x = np.ascontiguousarray(make(), dtype=np.float32)
    return x[1000:], x[:1000], metric


@cache
def neighbors(name: str) -> np.ndarray:
    """Return the 10 exact neighbors of every query, nearest first."""
    x, q, metric = data(name)
    x, q = x.astype(np.float64), q.astype(np.float64)
    if metric == "cosine":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    lengths = (x * x).sum(axis=1) if metric == "l2" else 0.0
    found = []
    for i in range(0, len(q), 100):
        far = lengths - 2 * (q[i : i + 100] @ x.T)
        some = np.argpartition(far, K, axis=1)[:, :K]
        order = np.argsort(np.take_along_axis(far, some, 1), axis=1)
        found.append(np.take_along_axis(some, order, 1))
    return np.concatenate(found)


def available(name: str) -> bool:
    """Whether a data set is installed."""
    try:
        data(name)
    except (FileNotFoundError, ImportError, ValueError):
        return False
    return True


def digits() -> np.ndarray:
    from sklearn.datasets import load_digits

    return np.random.default_rng(0).permutation(load_digits(return_X_y=True)[0])


def clusters(n: int = 11_000, d: int = 256) -> np.ndarray:
    """Return a hundred Gaussian clusters of 16 dimensions, with noise in all."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((100, d))
    axes = rng.standard_normal((100, 16, d)) / 4
    own, z = rng.integers(0, 100, n), rng.standard_normal((n, 16))
    x = np.stack([centers[c] + row @ axes[c] for c, row in zip(own, z, strict=True)])
    return x + 0.1 * rng.standard_normal((n, d))


def mnist() -> np.ndarray:
    return np.random.default_rng(0).permutation(load("mnist").X[:10_000])


def patches(n: int = 21_000) -> np.ndarray:
    """Return patches of 16 by 16 pixels of two photographs."""
    from sklearn.datasets import load_sample_images

    rng, found = np.random.default_rng(0), []
    for image in load_sample_images().images:
        windows = np.lib.stride_tricks.sliding_window_view(image, (16, 16, 3)).reshape(-1, 768)
        found.append(windows[rng.choice(len(windows), n // 2, replace=False)])
    return rng.permutation(np.concatenate(found))


def wordllama(pattern: str) -> Path:
    """Return a file of the package wordllama."""
    folders = [*data_folders(), Path(sysconfig.get_path("purelib"))]
    found = [path for folder in folders for path in folder.glob(f"wordllama/**/{pattern}")]
    if not found:
        raise FileNotFoundError(f"no {pattern} of the package wordllama")
    return found[0]


def tokens() -> np.ndarray:
    """Return 32,000 vectors of word pieces."""
    from safetensors.numpy import load_file

    table = load_file(wordllama("l2_supercat_256.safetensors"))["embedding.weight"]
    x = table.astype(np.float32)
    return np.random.default_rng(0).permutation(x[np.abs(x).max(axis=1) > 0])


def sentences(n: int = 31_000) -> np.ndarray:
    """Return sentences of Python's and NumPy's docstrings, as means of their word pieces."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    table = load_file(wordllama("l2_supercat_256.safetensors"))["embedding.weight"]
    tokenizer = Tokenizer.from_file(str(wordllama("l2_supercat_tokenizer_config.json")))
    found: set[str] = set()
    folders = (Path(np.__file__).parent, Path(os.__file__).parent)
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                text = " ".join((ast.get_docstring(node) or "").split())
                found |= {part for part in text.split(". ") if 30 < len(part) < 300}
        if len(found) > 2 * n:
            break
    rng = np.random.default_rng(0)
    chosen = rng.permutation(sorted(found))[:n].tolist()
    encoded = tokenizer.encode_batch(chosen, add_special_tokens=False)
    x = np.stack([table[one.ids].astype(np.float32).mean(axis=0) for one in encoded])
    return rng.permutation(np.unique(x, axis=0))


def embedding(n: int = 31_000, d: int = 768, rank: int = 192) -> np.ndarray:
    """Return rows like text embeddings: topics, a power-law spectrum, a mean, spiked columns."""
    rng = np.random.default_rng(2)
    spectrum = np.arange(1, rank + 1.0) ** -0.5
    size = float(np.sqrt((spectrum**2).sum()))
    basis = rng.standard_normal((rank, d)) * spectrum[:, None]
    topics = rng.standard_normal((n // 50, rank))
    z = 0.7 * topics[rng.integers(0, len(topics), n)] + 0.7 * rng.standard_normal((n, rank))
    x = z @ basis + 0.3 * size * rng.standard_normal((n, d)) + 0.7 * size * rng.standard_normal(d)
    for spike in range(4):
        column = (191 * spike + 7) % d
        x[:, column] = 6 * x[:, column] + 12 * (-1) ** spike
    return x / np.linalg.norm(x, axis=1, keepdims=True)


SETS: dict[str, tuple[Callable[[], np.ndarray], str]] = {
    "digits": (digits, "l2"),
    "clusters": (clusters, "l2"),
    "tokens": (tokens, "cosine"),
    "sentences": (sentences, "cosine"),
    "MNIST": (mnist, "l2"),
    "embedding": (embedding, "cosine"),
    "patches": (patches, "l2"),
}


# Tables and the figure.


def recall_table(runs: list[Settings]) -> str:
    """Return recall and bytes of every set, kind and size."""
    rows = []
    for name in dict.fromkeys(run["set"] for run in runs):
        for kind in dict.fromkeys(run["kind"] for run in runs):
            of_kind = select(runs, set=name, kind=kind)
            cells = []
            for bits in dict.fromkeys(run["bits"] for run in of_kind):
                some = select(of_kind, bits=bits)
                recall = mean_spread(run["recall"] for run in some)
                cells.append(f"{recall} ({some[0]['bytes']})")
            rows.append([name, kind, *cells, *[""] * (len(BITS) - len(cells))])
    return table(["set", "kind", *["recall (bytes)"] * len(BITS)], rows)


def speed_table(runs: list[Settings]) -> str:
    """Return rates of all indexes, by the number of queries at once."""
    names = runs[0]["rates"] if runs else []
    rows = [[name, *(f"{run['rates'][name] / 1e6:.3g}" for run in runs)] for name in names]
    return table(["million rows a second", *(f"{run['queries']} queries" for run in runs)], rows)


def name_of(kind: str) -> str:
    """Return a kind as it is called in a figure."""
    return "primal.vectors" if kind == "ours" else kind


def draw(runs: list[Settings], folder: Path) -> None:
    """Draw recall against bytes, one panel for each data set."""
    names = list(dict.fromkeys(run["set"] for run in runs))
    columns = min(4, len(names))
    lines = -(-len(names) // columns)
    with picture(folder / "vectors.png", (2.6 * columns + 1, 2.5 * lines)) as figure:
        axes = figure.subplots(lines, columns, squeeze=False).ravel()
        for axis, name in zip(axes, names, strict=False):
            for color, kind in zip(PALETTE, KINDS[:-1], strict=False):
                points: dict[int, list[float]] = {}
                for run in select(runs, set=name, kind=kind):
                    points.setdefault(run["bytes"], []).append(run["recall"])
                if points:
                    x, y = zip(*sorted(points.items()), strict=True)
                    axis.plot(
                        x, [np.mean(v) for v in y], "o-", ms=3, color=color, label=name_of(kind)
                    )
            axis.set(title=name, xscale="log", ylim=(None, 1.01), xlabel="bytes per row")
            axis.set_xticks(TICKS, [str(tick) for tick in TICKS])
            axis.set_xticks([], minor=True)
            sizes = [run["bytes"] for run in select(runs, set=name)]
            axis.set_xlim(min(sizes) * 0.85, max(sizes) * 1.15)
            axis.grid(alpha=0.5)
        for axis in axes[len(names) :]:
            axis.set_axis_off()
        axes[0].set_ylabel("recall@10")
        free = axes[-1] if len(axes) > len(names) else axes[0]
        free.legend(*axes[0].get_legend_handles_labels(), loc="best")
