"""What ``primal codebook`` leaves behind: files of codes, and pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from primal._extras import require
from primal._files import npy_header, written_figure, written_whole
from primal.codebooks import Codebook, bounds, gram_statistics, predict_coherence
from primal.codebooks import codebook as make_codebook
from primal.errors import ParameterError, PrimalError

SEED = 42  # of the random references in a comparison, as in the paper
RANDOM = ("gaussian", "random-frequency")
_LARGEST_PLOTTED = 4000
_ENTRIES_AT_ONCE = 1 << 24
# Kinds that would search again for every point of the picture.
_SEARCHING = ("tuned", "weighted", "offset", "shadow")


def check_suffix(out: Path) -> None:
    if out.suffix not in (".npy", ".parquet", ".json"):
        raise ParameterError(f"--out must end in .npy, .parquet or .json, got {out.name!r}.")
    if out.suffix == ".parquet":
        _parquet()


def write(book: Codebook, summary: Mapping[str, object], out: Path) -> None:
    """Write the codes in blocks; the file is whole or not there."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(out) as stream:
        if out.suffix == ".json":
            stream.write(json.dumps(summary, indent=2).encode() + b"\n")
        elif out.suffix == ".npy":
            dtype = book.encode([]).dtype
            stream.write(npy_header(dtype, (book.N, book.D)))
            for _, codes in _blocks(book):
                stream.write(np.ascontiguousarray(codes, dtype.newbyteorder("<")).data)
        else:
            # One row for each code: its index and a list of its entries (re, im if complex).
            pa, pq = _parquet()
            width = book.D * (2 if book.field == "complex" else 1)
            schema = pa.schema([("index", pa.int64()), ("code", pa.list_(pa.float32(), width))])
            with pq.ParquetWriter(stream, schema) as writer:
                for rows, codes in _blocks(book):
                    flat = np.ascontiguousarray(codes).view(np.float32).reshape(-1)
                    column = pa.FixedSizeListArray.from_arrays(pa.array(flat), width)
                    index = pa.array(np.arange(rows.start, rows.stop))
                    writer.write_table(pa.table([index, column], schema=schema))


def _parquet() -> tuple[Any, Any]:
    what = "writing .parquet"
    return require("pyarrow", what), require("pyarrow.parquet", what)


def _blocks(book: Codebook) -> Iterator[tuple[slice, np.ndarray]]:
    n_rows = max(1, _ENTRIES_AT_ONCE // book.D)
    for first in range(0, book.N, n_rows):
        rows = slice(first, min(first + n_rows, book.N))
        yield rows, book[rows]


def plot_cosines(book: Codebook, path: Path) -> None:
    """Draw the histogram of all cosines (of the first 4000 codes), with bound and worst."""
    plt = _pyplot()
    n = min(book.N, _LARGEST_PLOTTED)
    cosines = gram_statistics(book[:n], bins=200)
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    axis.stairs(cosines.counts, cosines.edges, fill=True)
    axis.set_yscale("symlog", linthresh=1.0)
    found = book.certificate
    lines = (
        ("coherence", found.coherence, "tab:red", ":"),
        (f"{found.best_bound_name} bound", found.best_bound, "black", "--"),
    )
    for sign in (-1, 1) if book.field == "real" else (1,):
        for name, value, color, style in lines:
            axis.axvline(sign * value, color=color, ls=style, label=name if sign > 0 else None)
    axis.set_xlabel("cosine" if book.field == "real" else "|cosine|")
    axis.set_ylabel(f"pairs of the first {n} codes")
    axis.set_title(f"{book.kind}: {book.N} codes in {book.D} dimensions")
    axis.legend()
    written_figure(figure, path)
    plt.close(figure)


def plot_growth(n: int, d: int, field: str, found: Mapping[str, float], path: Path) -> None:
    """Draw coherence against the number of codes; kinds that search have one point, at N."""
    plt = _pyplot()
    sizes = sorted({n, *(int(size) for size in np.geomspace(min(d + 1, n), n, 10))})
    figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
    axis.set_prop_cycle(color=plt.get_cmap("tab20").colors)
    for kind, coherence in found.items():
        points = [(n, coherence)] if kind in _SEARCHING else _growth(kind, sizes, d, field)
        axis.plot(*zip(*points, strict=True), marker="o" if kind in _SEARCHING else ".", label=kind)
    axis.plot(
        sizes, [bounds.best(size, d, field).value for size in sizes], "k--", label="best bound"
    )
    if field == "real" and d % 2 == 0:
        predicted = [predict_coherence(max(size, 2), d) for size in sizes]
        axis.plot(sizes, predicted, color="grey", ls=":", label="predicted for static")
    axis.set(xscale="log", xlabel="number of codes N", ylabel="coherence")
    axis.set_title(f"D = {d}, {field}")
    figure.legend(loc="outside right upper", fontsize="small")
    written_figure(figure, path)
    plt.close(figure)


def _growth(kind: str, sizes: list[int], d: int, field: str) -> list[tuple[int, float]]:
    """Return (N, coherence) at those sizes that the kind has."""
    points = []
    for size in sizes:
        try:
            seed = SEED if kind in RANDOM else None
            book = make_codebook(size, d, kind=kind, field=field, seed=seed)
            points.append((size, book.certificate.coherence))
        except PrimalError:
            continue
    return points


def _pyplot() -> Any:
    matplotlib = require("matplotlib", "--plot")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
