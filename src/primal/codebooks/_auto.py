"""``codebook``: N and D in, the best certified codebook out."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace

from primal._checks import flag, one_of
from primal._errors import DimensionError, OptionError, PrimalError
from primal.codebooks import bounds
from primal.codebooks._codebook import Codebook
from primal.codebooks._codes import Codes, check_sizes
from primal.codebooks._designs import shipped_design
from primal.codebooks._kinds import KINDS, SearchBudget, make

__all__ = ["Candidate", "candidates", "codebook"]

# Kinds that auto compares, in the order of preference among equals: primes of a shadow need
# a list, closed forms need nothing.
_CLOSED = ("kerdock", "paley", "gold", "delsarte-goethals", "singer", "alltop", "chirp")
# These have |inner products| near 1 / sqrt(k); finding primes and phases of large ones takes
# seconds, so they are left out where 0.85 / sqrt(k) could not win.
_NEAR_ROOT = ("singer", "alltop", "chirp")
# Beyond these sizes auto does not search for shadows: ask for kind="shadow".
_LARGEST_SEARCH_N, _LARGEST_SEARCH_D = 20_000, 4096
# A shorter search than that of kind="shadow": one or two seconds.
_AUTO_STEPS = 6000
_LARGEST_OFFSET_WORK = 3e7


@dataclass(frozen=True)
class Candidate:
    """A kind that was considered: its codes and coherence, or why it does not serve."""

    kind: str
    codes: Codes | None
    mu: float
    refusal: str = ""


def codebook(
    N: int,
    D: int,
    *,
    kind: str = "auto",
    field: str = "real",
    growable: bool = False,
    max_coherence: float | None = None,
    seed: int | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Codebook:
    """Return N unit vectors of D entries with small cosines, and a certificate of the largest.

    Parameters
    ----------
    N : int
        Number of codes, at least 1.
    D : int
        Number of entries of a code, at least 1: complex numbers for ``field="complex"``.
    kind : str, default="auto"
        ``"orthonormal"``, ``"static"``, ``"offset"``, ``"tuned"``, ``"weighted"``,
        ``"shadow"``, ``"chirp"``, ``"kerdock"``, ``"gold"``, ``"delsarte-goethals"``,
        ``"singer"``, ``"paley"``, ``"alltop"``, ``"gaussian"``, ``"random-frequency"``; or
        ``"auto"``, which takes the one with the smallest certified coherence.
    field : {"real", "complex"}, default="real"
    growable : bool, default=False
        Only kinds that can grow in N and D.
    max_coherence : float, optional
        Refuse to return codes with a larger coherence, and say whether any could exist.
    seed : int, optional
        Needed by the random references ``"gaussian"`` and ``"random-frequency"``, refused by
        all others.
    steps : int, optional
        Budget of a search. What a step is depends on the kind.
    seconds : float, optional
        A second limit for ``"shadow"``; with it the result depends on the machine.
    progress : callable, optional
        Told (steps done, steps in all) by searches.

    Returns
    -------
    codebook : Codebook

    Raises
    ------
    DimensionError
        If N or D is below 1 or does not fit the kind; the message names sizes that do. Also if
        `max_coherence` is below what a bound allows, or below what was found; or if the
        certificate would take more than a day.
    MemoryLimitError
        If a code, or what its certificate needs, does not fit into this machine's memory.
    OptionError
        If an option does not exist or does not fit the others.

    Examples
    --------
    >>> from primal.codebooks import codebook
    >>> cb = codebook(1000, 64)
    >>> cb.kind, round(cb.certificate.mu, 4), round(cb.certificate.ratio, 2)
    ('kerdock', 0.125, 1.03)
    """
    N, D = check_sizes(N, D)
    kind = one_of("kind", kind, ("auto", *KINDS))
    field = one_of("field", field, bounds.FIELDS)
    growable = flag("growable", growable)
    if max_coherence is not None:
        _require_possible(N, D, field, max_coherence)
    budget = SearchBudget(steps, seconds, progress)
    if kind == "auto":
        if seed is not None:
            raise OptionError(f"kind 'auto' has nothing random in it, got seed={seed!r}: drop it.")
        book = _best(N, D, field, growable, budget)
    else:
        book = Codebook(make(N, D, kind, field, budget, seed))
        if growable and not book.growable:
            raise OptionError(
                f"kind {kind!r} cannot grow: use kind='static' or 'offset', or growable=False."
            )
    if max_coherence is not None and book.certificate.mu > max_coherence:
        raise DimensionError(
            f"the coherence of {N} codes in D = {D} is {book.certificate.mu:.6f} with kind "
            f"{book.kind!r}, above the {max_coherence} asked for; the {_named_bound(N, D, field)} "
            "does not forbid less: use fewer codes or a larger D."
        )
    return book


def candidates(
    N: int, D: int, field: str, *, growable: bool = False, budget: SearchBudget | None = None
) -> list[Candidate]:
    """Return what ``kind="auto"`` compares for (N, D), best first, refusals last.

    The kinds that can be had without a long search: closed forms, chirps, shipped shadows, and
    a shadow search where it may pay.
    """
    budget = budget or SearchBudget()
    if growable:
        kinds = ["static"]
        if N * (1000 + D) <= _LARGEST_OFFSET_WORK:
            kinds.append("offset")
    elif N <= D:
        kinds = ["orthonormal"]
    else:
        kinds = [kind for kind in _CLOSED if field in KINDS[kind].fields]
    found: list[Candidate] = []
    for kind in kinds:
        lowest = min((candidate.mu for candidate in found), default=math.inf)
        if kind in _NEAR_ROOT and 0.85 / math.sqrt(n_phases(D, field)) > lowest:
            found.append(Candidate(kind, None, math.inf, "not tried: it could not win."))
        else:
            found.append(_try(N, D, kind, field, budget))
    if not growable and N > D:
        found.append(_shadow_candidate(N, D, field, found, budget))
        if all(candidate.codes is None for candidate in found):
            found.append(_try(N, D, "static", field, budget))
    # Rounding must not decide between equals: the earlier kind stays in front.
    return sorted(found, key=lambda c: (c.codes is None, round(c.mu, 9)))


def _best(N: int, D: int, field: str, growable: bool, budget: SearchBudget) -> Codebook:
    if D == 1 and N > 1:
        raise DimensionError(
            f"in D = 1 any two codes have a cosine of size 1, got N = {N}: use D = 2 or N = 1."
        )
    ranking = candidates(N, D, field, growable=growable, budget=budget)
    served = [candidate for candidate in ranking if candidate.codes is not None]
    if not served:
        raise DimensionError(next(c.refusal for c in ranking if c.kind == "static"))
    winner = served[0]
    assert winner.codes is not None
    return Codebook(winner.codes, reason=_reason(N, D, growable, served))


def _reason(N: int, D: int, growable: bool, served: list[Candidate]) -> str:
    winner = served[0]
    if winner.kind == "orthonormal":
        return f"N = {N} is at most D = {D}: orthogonal codes exist"
    among = "kinds that can grow" if growable else "kinds that serve this size"
    text = f"{winner.kind} has the smallest coherence, {winner.mu:.4f}, of the {among}"
    others = [f"{other.kind} {other.mu:.4f}" for other in served[1:4]]
    return f"{text} (next: {', '.join(others)})" if others else text


def n_phases(D: int, field: str) -> int:
    """Return the largest number of phases that D entries have room for."""
    return max(1, D if field == "complex" else D // 2)


def _try(N: int, D: int, kind: str, field: str, budget: SearchBudget) -> Candidate:
    try:
        codes = make(N, D, kind, field, budget, None)
        return Candidate(kind, codes, codes.coherence())
    except PrimalError as refusal:
        return Candidate(kind, None, math.inf, str(refusal))


def _shadow_candidate(
    N: int, D: int, field: str, found: list[Candidate], budget: SearchBudget
) -> Candidate:
    """Return a shadow: a shipped one, or the result of a search where one may win."""
    design = shipped_design(N, D, field)
    if design is not None and budget.steps is None and budget.seconds is None:
        codes = make(N, D, "shadow", field, budget, None)
        return Candidate("shadow", codes, design.coherence)
    if N > _LARGEST_SEARCH_N or D > _LARGEST_SEARCH_D:
        why = f"no search for N above {_LARGEST_SEARCH_N} or D above {_LARGEST_SEARCH_D}"
        return Candidate("shadow", None, math.inf, f"{why}: ask for kind='shadow'.")
    best = min(candidate.mu for candidate in found)
    # No cyclotomic set was ever seen below 1.1 times Welch; do not search when that cannot win.
    if best <= 1.1 * bounds.welch(N, D) or best <= bounds.best(N, D, field).value + 1e-9:
        return Candidate("shadow", None, math.inf, "not searched: it could not win.")
    if budget.steps is None:
        budget = replace(budget, steps=_AUTO_STEPS)
    return _try(N, D, "shadow", field, budget)


def _require_possible(N: int, D: int, field: str, max_coherence: float) -> None:
    if not isinstance(max_coherence, numbers.Real) or not 0.0 <= max_coherence <= 1.0:
        raise OptionError(f"max_coherence must lie in [0, 1], got {max_coherence!r}.")
    bound = bounds.best(N, D, field)
    if max_coherence < bound.value - 1e-12:
        raise DimensionError(
            f"no {N} codes in D = {D} ({field}) have a coherence of {max_coherence}: the "
            f"{_named_bound(N, D, field)} forbids it. Ask for max_coherence of at least "
            f"{bound.value:.6f}, fewer codes or a larger D."
        )


def _named_bound(N: int, D: int, field: str) -> str:
    bound = bounds.best(N, D, field)
    return f"{bound.name} bound, {bound.value:.6f},"
