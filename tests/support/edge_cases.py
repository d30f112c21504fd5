"""Maps and models whose headers are tried: every kind, layout, form and input type."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from edge_targets import Target, stream_program

import primal
from primal._selftest import GOLDEN, sample_points
from primal.edge import SensorMap, SensorModel, export_c
from primal.edge._header import golden_digests
from primal.exact import BASES

Source = primal.StaticPrime | SensorMap | SensorModel


def spread(n: int, start: int = 0) -> np.ndarray:
    """n numbers in (0, 1), the same everywhere."""
    return primal.increments(n, start=start) / 2.0**64


def _dynamic(basis: str, d: int, D: int) -> primal.DynamicPrime:
    return primal.DynamicPrime(d, D, 0.3, basis=basis, layout="interleaved")


def _sensor(m: primal.DynamicPrime | primal.KernelPrime, **options) -> SensorMap:
    scale, zero = (1 + spread(m.d)) / 2000, 60 * spread(m.d, 100) - 30
    return SensorMap(m, scale, zero, **options)


@cache
def cases() -> dict[str, Source]:
    """One source for each name; names are those of headers."""
    kernel = primal.KernelPrime
    made: dict[str, Source] = {
        "fixed": primal.StaticPrime(64),
        "pairs": primal.StaticPrime(10, layout="interleaved"),
        "exact16": SensorMap(_dynamic("kronecker", 3, 32), 2.0**-12, kind="q15"),
        "exact32": SensorMap(_dynamic("table", 20, 96), 2.0**-23, kind="q31"),
        "exact_h16": SensorMap(_dynamic("hadamard", 20, 96), 2.0**-12, kind="q15"),
        "exact_h32": SensorMap(_dynamic("hadamard", 20, 32), 2.0**-23, kind="q31"),
        "table16": _sensor(_dynamic("table", 20, 96), kind="lsb16"),
        "table32": _sensor(_dynamic("signed", 7, 48), kind="lsb32", inputs="int32"),
        "words32": _sensor(_dynamic("hadamard", 20, 160), kind="hadamard32"),
        "words64": _sensor(_dynamic("hadamard", 70, 300), kind="hadamard64"),
        "same_step": SensorMap(kernel(64, 128), 0.1, inputs="uint8", kind="hadamard32"),
        "offsets": SensorMap(
            kernel(9, 13, form="offset", center=np.ones(9)), 0.001, 5, inputs="uint8"
        ),
        "exact_offsets": SensorMap(kernel(9, 13, form="offset"), 2.0**-10, kind="q15"),
        "odd": _sensor(kernel(5, 21, gamma=1 + 4 * spread(5)), inputs="int8"),
        "odd_block": _sensor(kernel(5, 21, layout="block"), inputs="uint16"),
        "weighted": _sensor(kernel(3, 62, gamma=0.5, method="lattice")),
        "exact_weighted": SensorMap(
            kernel(2, 36, method="lattice", layout="block"), 2.0**-12, kind="q15"
        ),
    }
    weights = spread(5 * 96).reshape(5, 96) - 0.5
    made["model"] = SensorModel(made["table16"], weights, spread(5), labels=list("abcde"))
    made["estimates"] = SensorModel(made["odd"], weights[:2, :21])
    made["weighted_model"] = SensorModel(made["weighted"], weights[:3, :62], labels=range(3))
    return made


def write_headers(folder: Path) -> list[str]:
    """Write the header of every case; return their names."""
    for name, source in cases().items():
        export_c(source, folder / f"{name}.h", name=name)
    return list(cases())


def expected(n_rows: int) -> list[list[int]]:
    """The answer of every self-test, and the digests of rows, as Python makes them."""
    return [[0, *golden_digests(source, range(n_rows))] for source in cases().values()]


def golden_sources() -> Iterator[tuple[Source, np.ndarray, str]]:
    """Maps whose known answers every engine has to make, their inputs and the digests."""
    static = np.arange(10**12, 10**12 + 500, dtype=np.int64)
    yield primal.StaticPrime(64), static, "StaticPrime(64) at positions from 10**12"
    for basis, d, sigma in [*((name, 20, 0.3) for name in BASES), ("paper", 300, 1000.0)]:
        m = primal.DynamicPrime(d, 96, sigma, basis=basis, layout="interleaved")
        n = np.rint(sample_points(200, d) * 2**23).astype(np.int32)
        yield (
            SensorMap(m, 2.0**-23, kind="q31"),
            n,
            f"DynamicPrime({d}, 96, {sigma}), basis {basis}",
        )


def golden_answers(target: Target, folder: Path, *options: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a target makes of every known answer, and what it should be."""
    for source, n, name in golden_sources():
        export_c(source, folder / "golden.h", name="golden")
        program = target.build(folder, stream_program("golden", "encode"), *options)
        yield name, hashlib.sha256(target.run(program, n.tobytes())).hexdigest(), GOLDEN[name]
