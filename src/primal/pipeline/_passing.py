"""What is no fault of the data: a disk, a network, a cluster. It passes, and the run goes on."""

from __future__ import annotations

from primal.errors import PrimalError

__all__ = ["passing"]


def passing(told: str, kind: type[PrimalError] = PrimalError) -> PrimalError:
    """Return the error for a failure after which the same command can be given again."""
    sentence = " ".join(told.split()).rstrip(".")
    return kind(
        f"{sentence}. When that is mended, run the same command again: it goes on where it stopped."
    )
