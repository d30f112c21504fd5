"""Table 2: how time and memory grow with N, d and D."""

from __future__ import annotations

import json
import math
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from primal._parallel import single_threaded_blas
from primal.codebooks import bounds, codebook, gram_statistics
from primal.errors import ConditioningWarning
from primal.exact import Basis, primes
from primal.maps import DynamicPrime, StaticPrime
from primal_studies.paper._draws import base_seed, generator
from primal_studies.paper._experiment import (
    Experiment,
    Fact,
    Outcome,
    Progress,
    Row,
    Sizes,
    sizes_of,
)
from primal_studies.paper._stats import COLORS, column, log_slope
from primal_studies.paper.experiments._complexity_claims import CLAIMS, series_label
from primal_studies.paper.experiments._operations import SERIES, growth

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CLAIMS", "EXPERIMENT"]

SIZES: Sizes = {"rounds": (3, 7), "steps": (3, 4)}
_BOOK_CODES, _BOOK_DIM, _LLOYD_ROUNDS = 256, 64, 30

Work = Callable[[], object]


@dataclass(frozen=True)
class Series:
    """One operation at several values of one size, all others fixed."""

    name: str  # of the facts: method_operation_size
    sizes: tuple[int, ...]
    make: Callable[[int], Work]


def run(quick: bool, progress: Progress) -> Outcome:
    """Time every operation at every size, in turn, and keep the shortest of several rounds.

    `quick` takes smaller sizes, fewer of them and fewer rounds.
    """
    chosen, sizes = sizes_of(SIZES, quick)
    series = list(_series(quick, chosen["steps"]))
    works = [(one.name, size, one.make(size)) for one in series for size in one.sizes]
    best = {(name, size): np.inf for name, size, _ in works}
    rounds = chosen["rounds"]
    # Threads of a BLAS library spin while they wait, which would count as work.
    with single_threaded_blas():
        for _, _, work in works:  # loads engines, makes pseudoinverses
            work()
        for done in range(rounds):
            for name, size, work in works:
                # Time of the processors, of all threads: other programs here do not count.
                start = time.process_time()
                work()
                best[name, size] = min(best[name, size], time.process_time() - start)
            progress((done + 1) / rounds)
    seconds: list[Row] = [
        {"series": name, "size": size, "seconds": value} for (name, size), value in best.items()
    ]
    facts: dict[str, Fact] = {}
    for one in series:
        slope, error = log_slope(one.sizes, [best[one.name, size] for size in one.sizes])
        facts[f"{one.name}_time_exponent"] = Fact(slope, error, len(one.sizes))
    operations: list[Row] = []
    for name in SERIES:
        counted = growth(name)
        facts[f"{name}_exponent"] = Fact(counted.exponent)
        for size, count in zip(counted.sizes, counted.counts, strict=True):
            operations.append({"series": name, "size": size, "operations": count})
    storage = _storage(quick)
    codebooks, more = _codebooks()
    tables = {
        "seconds": seconds,
        "exponents": [
            {"series": one.name, "exponent": found.value, "standard_error": found.spread}
            for one in series
            for found in (facts[f"{one.name}_time_exponent"],)
        ],
        "operations": operations,
        "storage": storage,
        "codebooks": codebooks,
    }
    return Outcome(tables, sizes | facts | more | _storage_facts(storage))


def _codebooks() -> tuple[list[Row], dict[str, Fact]]:
    """Return coherence and CPU time of codebooks: StaticPrime, Lloyd's iteration, and Kerdock."""
    made = {
        "prime": lambda: StaticPrime(_BOOK_DIM).waves(_BOOK_CODES),
        "lloyd": _lloyd,
        "kerdock": lambda: codebook(_BOOK_CODES, _BOOK_DIM, kind="kerdock").encode(
            np.arange(_BOOK_CODES)
        ),
    }
    rows: list[Row] = []
    facts: dict[str, Fact] = {
        "book_codes": Fact(_BOOK_CODES),
        "book_dim": Fact(_BOOK_DIM),
        "book_welch": Fact(bounds.welch(_BOOK_CODES, _BOOK_DIM)),
    }
    for name, make in made.items():
        make()  # loads what is loaded once
        start = time.process_time()
        codes = make()
        seconds = time.process_time() - start
        coherence = gram_statistics(np.asarray(codes, dtype=np.float64)).coherence
        rows.append({"codes": name, "coherence": coherence, "seconds": seconds})
        facts |= {f"book_{name}": Fact(coherence), f"book_{name}_seconds": Fact(seconds)}
    return rows, facts


def _lloyd() -> np.ndarray:
    """Return codes by Lloyd's iteration: means of the directions that are nearest to each."""
    rng = generator(3)
    points = rng.standard_normal((32 * _BOOK_CODES, _BOOK_DIM))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    codes = points[:_BOOK_CODES].copy()
    for _ in range(_LLOYD_ROUNDS):
        products = points @ codes.T
        nearest = np.abs(products).argmax(axis=1)
        signs = np.sign(products[np.arange(len(points)), nearest])
        sums = np.zeros_like(codes)
        np.add.at(sums, nearest, points * signs[:, None])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        codes = np.where(lengths > 0.0, sums / np.maximum(lengths, 1e-12), codes)
    return codes


def draw(outcome: Outcome) -> dict[str, Figure]:
    """Draw all exponents with their errors."""
    figure = column(5.4)
    axis = figure.subplots()
    rows = list(outcome.tables["exponents"])[::-1]
    for place, row in enumerate(rows):
        ours = not str(row["series"]).startswith("gaussian")
        axis.errorbar(
            float(row["exponent"]),
            place,
            xerr=2.0 * float(row["standard_error"]),
            fmt="o" if ours else "s",
            color=COLORS["prime" if ours else "gaussian"],
            capsize=3,
        )
    axis.axvline(1.0, color=COLORS["welch"], linestyle=":")
    axis.set_yticks(range(len(rows)), [series_label(str(row["series"])) for row in rows])
    axis.set(xlabel="exponent of the time, ± two standard errors", xlim=(-0.2, 1.8))
    return {"exponents": figure}


def _series(quick: bool, steps: int) -> Iterator[Series]:
    """Yield what is timed. Outputs are larger than caches, so that growth is not theirs."""
    scale = 2 if quick else 1

    def sizes(smallest: int) -> tuple[int, ...]:
        return tuple(smallest // scale * 2**i for i in range(steps))

    out = np.empty(2**25 // scale, dtype=np.float32)

    def view(n: int, D: int) -> np.ndarray:
        return out[: n * D].reshape(n, D)

    def static_forward(n: int, D: int) -> Work:
        s, z = StaticPrime(D), view(n, D)
        return lambda: s.waves(n, out=z)

    def static_inverse(rows: int, n: int, D: int) -> Work:
        s = StaticPrime(D)
        z = s.waves(rows)
        return lambda: s.decode(z, n=n)

    def dynamic_forward(n: int, d: int, D: int) -> Work:
        m, x, z = _map(d, D), _inputs(n, d), view(n, D)
        return lambda: m.encode(x, out=z)

    def dynamic_inverse(n: int, d: int, D: int) -> Work:
        m = _map(d, D)
        z = m.encode(_inputs(n, d))
        return lambda: m.decode(z)

    def gaussian_forward(n: int, d: int, D: int) -> Work:
        w, x, z = _gaussian_basis(d, D), _inputs(n, d), view(n, D)
        return lambda: _gaussian_waves(x, w, z)

    yield Series("static_init_D", sizes(2**14), lambda D: lambda: StaticPrime(D).increments)
    yield Series("static_forward_N", sizes(2**15), lambda n: static_forward(n, 128))
    yield Series("static_forward_D", sizes(2**9), lambda D: static_forward(2**13 // scale, D))
    yield Series("static_inverse_N", sizes(2**8), lambda n: static_inverse(n, 2**12, 128))
    yield Series("static_inverse_D", sizes(2**7), lambda D: static_inverse(2**8, 2**12, D))
    yield Series("static_inverse_n", sizes(2**12), lambda n: static_inverse(2**6, n, 128))
    yield Series("dynamic_init_d", sizes(2**6), lambda d: lambda: Basis("paper", d, 256).table)
    yield Series("dynamic_init_D", sizes(2**9), lambda D: lambda: Basis("paper", 64, D // 2).table)
    yield Series("dynamic_forward_N", sizes(2**12), lambda n: dynamic_forward(n, 64, 512))
    yield Series("dynamic_forward_d", sizes(2**7), lambda d: dynamic_forward(2**11, d, 512))
    yield Series("dynamic_forward_D", sizes(2**9), lambda D: dynamic_forward(2**11, 64, D))
    yield Series("dynamic_inverse_N", sizes(2**11), lambda n: dynamic_inverse(n, 32, 256))
    yield Series("dynamic_inverse_d", sizes(2**5), lambda d: dynamic_inverse(2**11, d, 512))
    yield Series("dynamic_inverse_D", sizes(2**8), lambda D: dynamic_inverse(2**11, 16, D))
    yield Series("gaussian_init_D", sizes(2**11), lambda D: lambda: _gaussian_basis(64, D))
    yield Series("gaussian_forward_N", sizes(2**11), lambda n: gaussian_forward(n, 64, 512))
    yield Series("gaussian_forward_d", sizes(2**7), lambda d: gaussian_forward(2**11, d, 512))
    yield Series("gaussian_forward_D", sizes(2**8), lambda D: gaussian_forward(2**11, 64, D))


def _map(d: int, D: int) -> DynamicPrime:
    """Return a map whose longest phase is the same at every size: longer ones need more digits."""
    largest = float(primes(1, start=d * D // 2 - 1)[0])
    with warnings.catch_warnings():  # how well it can be inverted is another experiment
        warnings.simplefilter("ignore", ConditioningWarning)
        return DynamicPrime(d, D, 1.0 / (d * math.sqrt(largest)))


def _inputs(n: int, d: int) -> np.ndarray:
    return generator().standard_normal((n, d)).astype(np.float32)


def _gaussian_basis(d: int, D: int) -> np.ndarray:
    w = generator().standard_normal((D // 2, d), dtype=np.float32)
    return w / np.linalg.norm(w, axis=1, keepdims=True)


def _gaussian_waves(x: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    phases = x @ w.T
    np.cos(phases, out=out[:, : len(w)])
    np.sin(phases, out=out[:, len(w) :])


def _storage(quick: bool) -> list[Row]:
    """Return bytes that define, hold and run the maps, at growing sizes."""
    rows: list[Row] = []
    for D in (256, 1024, 4096) if quick else (256, 1024, 4096, 16384):
        s = StaticPrime(D)
        basis = Basis("paper", 16, D // 2)
        N = 64 * D
        rows.append(
            {
                "D": D,
                "N": N,
                "static_spec": len(json.dumps(s.spec)),
                "dynamic_spec": len(json.dumps(basis.spec)),
                "gaussian_seed": len(
                    json.dumps({"generator": "PCG64", "seed": base_seed(), "D": D})
                ),
                "static_table": s.increments.nbytes,
                "dynamic_table": basis.table.mantissas.nbytes,
                "gaussian_table": 4 * 16 * D // 2,
                "learned_positions": 4 * N * D,
                "static_working": _peak_bytes(s, 2**23 // D),
            }
        )
    return rows


def _peak_bytes(s: StaticPrime, n: int) -> int:
    """Return the most memory that generating n codes held beside its output."""
    out = np.empty((n, s.D), dtype=np.float32)
    s.waves(n, out=out)
    tracemalloc.start()
    s.waves(n, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _storage_facts(rows: list[Row]) -> dict[str, Fact]:
    dims = [float(row["D"]) for row in rows]
    facts = {}
    for name in ("static_spec", "dynamic_spec", "gaussian_seed", "static_table", "dynamic_table"):
        slope, error = log_slope(dims, [float(row[name]) for row in rows])
        facts[f"{name}_exponent"] = Fact(slope, error, len(rows))
    last = rows[-1]
    facts["static_spec_bytes"] = Fact(float(last["static_spec"]))
    facts["gaussian_seed_bytes"] = Fact(float(last["gaussian_seed"]))
    facts["static_table_bytes"] = Fact(float(last["static_table"]))
    facts["learned_over_table"] = Fact(
        float(last["learned_positions"]) / float(last["static_table"])
    )
    facts["static_working_bytes"] = Fact(max(float(row["static_working"]) for row in rows))
    return facts


EXPERIMENT = Experiment(
    name="complexity",
    title="Growth of time and memory",
    about=(
        "Table 2 of the paper states how the cost of starting, encoding and decoding grows. Here "
        "every algorithm is run on numbers that count their additions, multiplications and "
        "functions. The exponents of these counts, over {steps} sizes, are judged, because no "
        "machine "
        "changes them. CPU times are shown as well (the shortest of {rounds} rounds)."
    ),
    run=run,
    draw=draw,
)
