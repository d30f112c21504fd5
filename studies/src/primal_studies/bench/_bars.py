"""The bars: ratios that this library means to keep, judged by what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from primal_studies.bench._core import BUNDLED, TRANSFORMED, import_seconds
from primal_studies.bench._measure import GIVEN_MEMORY, OURS, Result

__all__ = ["Bar", "judge"]


@dataclass(frozen=True)
class Bar:
    """One promise and what came out."""

    name: str
    measured: float
    limit: float
    at_least: bool

    @property
    def met(self) -> bool:
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def as_json(self) -> dict:
        return {**asdict(self), "met": self.met}


def judge(results: list[Result], extra_bytes: int, first_calls: dict[int, float]) -> list[Bar]:
    """Return every bar whose case was measured."""
    found = {(r.group, tuple(r.sizes.values())): r for r in results}
    bars = []

    def add(
        group: str,
        sizes: tuple[int, ...],
        name: str,
        measure: Callable[[Result], float],
        limit: float,
        at_least: bool = True,
    ) -> None:
        result = found.get((group, sizes))
        if result is not None:
            try:
                bars.append(Bar(f"{result.label}: {name}", measure(result), limit, at_least))
            except KeyError:  # that peer is not installed
                return

    def times(peer: str) -> Callable[[Result], float]:
        return lambda result: result.ratio(peer, OURS)[1]

    static = (10_000, 1024)
    add("static", static, "times faster than the paper's recipe", times("paper's recipe"), 100)
    add(
        "static",
        static,
        "into given memory, of a memory fill",
        lambda r: r.ratio(GIVEN_MEMORY, "memory fill")[1],
        3,
        at_least=False,
    )
    for sizes, least in (
        ((10_000, 64, 1024), 2),
        ((20_000, 16, 2048), 2),
        ((5_000, 512, 4096), 5),
        ((5_000, 784, 4096), 6),
        ((2_000, 4096, 8192), 30),
    ):
        add("dynamic", sizes, "times faster than RBFSampler", times("RBFSampler"), least)
        add("dynamic", sizes, "times faster than the recipe", times("paper's recipe"), 8)
    add(
        "dynamic",
        (5_000, 512, 4096),
        "into given memory, of a memory fill",
        lambda r: r.ratio(GIVEN_MEMORY, "memory fill")[1],
        6,
        at_least=False,
    )
    for sizes, least in TRANSFORMED.items():
        add("transform", sizes, "times faster than RBFSampler", times("RBFSampler"), least)
    add("bundle", (BUNDLED[0], BUNDLED[2]), "times faster than torchhd", times("torchhd FHRR"), 1)
    fill = "as called, of a memory fill"
    add("static", static, fill, lambda r: r.ratio(OURS, "memory fill")[1], 2.2, at_least=False)
    bars.append(Bar("import primal after NumPy: seconds", import_seconds(), 0.015, at_least=False))
    wide = (10_000, 64, 1024)
    add("float64", wide, "of float32", lambda r: r.ratio(OURS, "primal float32")[1], 4, False)
    add("float64", wide, "times faster than RBFSampler", times("RBFSampler"), 1)
    add(
        "coherence",
        (10**8, 128),
        "cosines a second",
        lambda r: r.sizes["N"] * r.sizes["D"] / 2 / r.median(OURS),
        1e9,
    )
    bars.append(Bar("encode into out=: extra megabytes", extra_bytes / 1e6, 64, at_least=False))
    for n_rows, seconds in first_calls.items():
        name = f"first call, {n_rows} x 64 -> 1024: extra seconds"
        bars.append(Bar(name, seconds, 0.01, at_least=False))
    return bars
