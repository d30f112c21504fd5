"""The kinds by name, and how one is made for (N, D)."""

from __future__ import annotations

from primal.codebooks._alltop import Alltop
from primal.codebooks._binary_codes import DelsarteGoethals, Gold, Kerdock
from primal.codebooks._chirp import PrimeChirp
from primal.codebooks._codebook import Codebook, SearchBudget
from primal.codebooks._offset import Offset
from primal.codebooks._orthonormal import Orthonormal
from primal.codebooks._prime_codes import Static
from primal.codebooks._rational import Paley, Singer
from primal.codebooks._shadow_codes import Shadow
from primal.codebooks._stored import Gaussian, RandomFrequencies
from primal.codebooks._tuned import Tuned
from primal.codebooks._weighted import Weighted
from primal.errors import ParameterError

__all__ = ["KINDS", "make"]

KINDS: dict[str, type[Codebook]] = {
    kind.kind: kind
    for kind in (
        *(Orthonormal, Static, Offset, Tuned, Weighted, Shadow, PrimeChirp),
        *(Kerdock, Gold, DelsarteGoethals, Singer, Paley, Alltop),
        *(Gaussian, RandomFrequencies),
    )
}


def make(
    N: int, D: int, kind: str, field: str, budget: SearchBudget, seed: object = None
) -> Codebook:
    """Return the codes of a kind.

    Raises
    ------
    ParameterError
        If the kind has no codes over this field or of this size, or a seed is missing or not
        wanted.
    """
    found = KINDS[kind]
    if field not in found._fields:
        raise ParameterError(f"kind {kind!r} has real codes only, got field={field!r}.")
    if "seed" in found._options:
        return found(N, D, field, seed)  # type: ignore[call-arg]
    if seed is not None:
        raise ParameterError(f"kind {kind!r} has nothing random in it, got seed={seed!r}: drop it.")
    return found._design(N, D, field, budget)
