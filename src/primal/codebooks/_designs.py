"""Shipped designs: primes of shadows for common sizes, so that these need no search.

``designs.txt`` has one line for each design: N, D, field, view, coherence, then the primes.
``tools/design_codebooks.py`` makes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["Design", "shipped_design", "shipped_sizes"]


@dataclass(frozen=True)
class Design:
    """A shadow that was found before; its coherence is recomputed by the certificate."""

    N: int
    D: int
    field: str
    view: str
    coherence: float
    primes: tuple[int, ...]

    @classmethod
    def parse(cls, line: str) -> Design:
        """Return the design of one line of the table."""
        N, D, field, view, coherence, *primes = line.split()
        return cls(int(N), int(D), field, view, float(coherence), tuple(map(int, primes)))

    def line(self) -> str:
        """Return the design as one line of the table."""
        head = f"{self.N} {self.D} {self.field} {self.view} {self.coherence:.9f}"
        return " ".join([head, *map(str, self.primes)])


def shipped_design(N: int, D: int, field: str) -> Design | None:
    """Return the design for exactly this size, or None."""
    line = _lines().get((N, D, field))
    return None if line is None else Design.parse(line)


def shipped_sizes() -> list[tuple[int, int, str]]:
    """Return (N, D, field) of every shipped design."""
    return list(_lines())


@cache
def _lines() -> dict[tuple[int, int, str], str]:
    """Return the table with its lines unread: one design costs only its own primes."""
    source = Path(__file__).with_name("designs.txt")
    if not source.is_file():  # while the table itself is being made
        return {}
    table = {}
    for line in source.read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            N, D, field = line.split(maxsplit=3)[:3]
            table[int(N), int(D), field] = line
    return table
