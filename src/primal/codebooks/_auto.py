"""``codebook``: N and D in, the best certified codebook out; and the kinds by name."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from primal._checks import callback, one_of, positive_scale, raised_as, whole_number
from primal.codebooks import bounds
from primal.codebooks._binary_codes import DelsarteGoethals, Gold, Kerdock
from primal.codebooks._codebook import Codebook, SearchBudget, check_sizes
from primal.codebooks._phase_codes import Static
from primal.codebooks._rational import Orthonormal, Paley, Singer
from primal.codebooks._shadow import Shadow, shipped_design
from primal.errors import ParameterError, PrimalError

KINDS: dict[str, type[Codebook]] = {
    kind.kind: kind
    for kind in (Orthonormal, Static, Shadow, Kerdock, Gold, DelsarteGoethals, Singer, Paley)
}

# Kinds that auto compares, in the order of preference among equals: primes of a shadow need
# a list, closed forms need nothing.
_CLOSED = ("kerdock", "paley", "gold", "delsarte-goethals", "singer")
# Beyond these sizes auto does not search for shadows: ask for kind="shadow".
_LARGEST_SEARCH_N, _LARGEST_SEARCH_D = 20_000, 4096
# A shorter search than that of kind="shadow": one or two seconds.
_AUTO_STEPS = 6000
# A step of a shadow takes 0.03 to 0.1 ms and more: this many are about a day of work.
_MOST_STEPS = 1 << 30


def codebook(
    N: int,
    D: int,
    *,
    kind: str = "auto",
    field: str = "real",
    max_coherence: float | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Codebook:
    """Return N unit vectors of D entries with small cosines, and a certificate of the largest.

    Parameters
    ----------
    N, D : int
        Number of codes and of entries of a code: complex numbers for ``field="complex"``.
    kind : str, default="auto"
        ``"orthonormal"``, ``"static"``, ``"shadow"``, ``"kerdock"``, ``"gold"``,
        ``"delsarte-goethals"``, ``"singer"``, ``"paley"``; or ``"auto"``, which takes the one with
        the smallest certified coherence. ``"static"`` alone can grow.
    field : {"real", "complex"}, default="real"
    max_coherence : float, optional
        Reject codes with a larger coherence, and say whether any could exist.
    steps : int, optional
        Budget of a search for a shadow, at most 2**30.
    seconds : float, optional
        A second limit of the search; with it the result depends on the machine.
    progress : callable, optional
        Called with (done, total) steps by the search.

    Returns
    -------
    Codebook
        Of the kind asked for or chosen; its `certificate` has the coherence.

    Examples
    --------
    >>> from primal.codebooks import codebook
    >>> cb = codebook(1000, 64)
    >>> cb.kind, round(cb.certificate.coherence, 4), round(cb.certificate.ratio, 2)
    ('kerdock', 0.125, 1.03)
    """
    N, D = check_sizes(N, D)
    kind = one_of("kind", kind, ("auto", *KINDS))
    field = one_of("field", field, bounds.FIELDS)
    named_bound = ""
    if max_coherence is not None:
        with raised_as(ParameterError, "max_coherence must be a number"):
            max_coherence = float(max_coherence)
        bound = bounds.best(N, D, field)
        named_bound = f"{bound.name} bound, {bound.value:.6f},"
        if not 0.0 <= max_coherence <= 1.0:
            raise ParameterError(f"max_coherence must lie in [0, 1], got {max_coherence!r}.")
        if max_coherence < bound.value - 1e-12:
            raise ParameterError(
                f"no {N} codes in D = {D} ({field}) have a coherence of {max_coherence}: the "
                f"{named_bound} forbids it. Ask for max_coherence of at least {bound.value:.6f}, "
                "fewer codes or a larger D."
            )
    if steps is not None:
        steps = whole_number("steps", steps, least=1, most=_MOST_STEPS)
    if seconds is not None:
        seconds = positive_scale("seconds", seconds)
    budget = SearchBudget(steps, seconds, callback("progress", progress) or SearchBudget.progress)
    made = _best(N, D, field, budget) if kind == "auto" else _make(N, D, kind, field, budget)
    if max_coherence is not None and made.certificate.coherence > max_coherence:
        raise ParameterError(
            f"the coherence of {N} codes in D = {D} is {made.certificate.coherence:.6f} with kind "
            f"{made.kind!r}, above the {max_coherence} asked for; the {named_bound} does "
            "not forbid less: use fewer codes or a larger D."
        )
    return made


def _best(N: int, D: int, field: str, budget: SearchBudget) -> Codebook:
    if D == 1 and N > 1:
        raise ParameterError(
            f"in D = 1 any two codes have a cosine of size 1, got N = {N}: use D = 2 or N = 1."
        )
    among = "kinds that serve this size"
    compared = candidates(N, D, field, budget)
    if not compared:  # the coherence of so many codes takes longer than all else: not before asked
        winner = _make(N, D, "static", field, budget)
        winner.reason = f"static is the only one of the {among}"
        return winner
    (lowest, winner), *others = compared
    if winner.kind == "orthonormal":
        winner.reason = f"N = {N} is at most D = {D}: orthogonal codes exist"
        return winner
    winner.reason = f"{winner.kind} has the smallest coherence, {lowest:.4f}, of the {among}"
    if others:
        following = ", ".join(f"{book.kind} {coherence:.4f}" for coherence, book in others[:3])
        winner.reason += f" (next: {following})"
    return winner


def candidates(N: int, D: int, field: str, budget: SearchBudget) -> list[tuple[float, Codebook]]:
    """Return what ``kind="auto"`` compares for (N, D) with its coherence, best first.

    The kinds that can be had without a long search: closed forms, shipped shadows, and a shadow
    search where it may pay. None where nothing but ``static`` serves.
    """
    found: list[tuple[float, Codebook]] = []

    def add(kind: str, budget: SearchBudget = budget) -> None:
        codes = _make(N, D, kind, field, budget)
        found.append((codes._evidence().coherence, codes))

    def lowest() -> float:
        return min((coherence for coherence, _ in found), default=math.inf)

    if N <= D:
        add("orthonormal")
    else:
        # |Inner products| of Singer codes are near 1 / sqrt(k), and finding a large difference set
        # takes seconds: it is left out where 0.85 / sqrt(k) could not win.
        least_of_singer = 0.85 / math.sqrt(D if field == "complex" else max(1, D // 2))
        for kind in _CLOSED:
            if kind != "singer" or least_of_singer <= lowest():
                with suppress(PrimalError):
                    add(kind)
        design = shipped_design(N, D, field)
        # No cyclotomic set was ever seen below 1.1 times Welch; do not search when that cannot win.
        least = max(1.1 * bounds.welch(N, D), bounds.best(N, D, field).value + 1e-9)
        if design is not None and budget.steps is None and budget.seconds is None:
            found.append((design[0], _make(N, D, "shadow", field, budget)))
        elif N <= _LARGEST_SEARCH_N and D <= _LARGEST_SEARCH_D and lowest() > least:
            with suppress(PrimalError):
                add("shadow", replace(budget, steps=budget.steps or _AUTO_STEPS))
    # Rounding must not decide between equals: the earlier kind stays in front.
    return sorted(found, key=lambda one: round(one[0], 9))


def _make(N: int, D: int, kind: str, field: str, budget: SearchBudget) -> Codebook:
    """Return the codes of a kind, if it has some over this field and of this size."""
    found = KINDS[kind]
    if field not in found._fields:
        raise ParameterError(f"kind {kind!r} has real codes only, got field={field!r}.")
    return found._design(N, D, field, budget)
