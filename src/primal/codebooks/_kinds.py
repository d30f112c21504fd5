"""The kinds by name: how each is made for (N, D), and how its spec is read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from primal._checks import callback, one_of, positive_scale, raised_as, whole_number
from primal._errors import OptionError, SpecError
from primal.codebooks._alltop import Alltop
from primal.codebooks._binary_codes import DelsarteGoethals, Gold, Kerdock
from primal.codebooks._chirp import PrimeChirp, design_chirp
from primal.codebooks._codebook import CODEBOOK_VERSION, Codebook
from primal.codebooks._codes import VIEWS, Codes, check_sizes
from primal.codebooks._offset import offset_codes
from primal.codebooks._orthonormal import Orthonormal
from primal.codebooks._prime_codes import PrimeCodes, consecutive_primes
from primal.codebooks._rational import Paley, Singer
from primal.codebooks._shadow_codes import shadow_codes
from primal.codebooks._stored import RandomFrequencies, gaussian
from primal.codebooks._tuned import tuned_codes
from primal.codebooks._weighted import WeightedCodes, weighted_codes
from primal.codebooks.bounds import FIELDS

__all__ = ["KINDS", "SearchBudget", "from_spec", "make"]

BOTH = ("real", "complex")
REAL = ("real",)


@dataclass(frozen=True)
class SearchBudget:
    """How long kinds that search may do so, and whom to tell."""

    steps: int | None = None
    seconds: float | None = None
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            whole_number("steps", self.steps)
        if self.seconds is not None:
            positive_scale("seconds", self.seconds)
        callback("progress", self.progress)


@dataclass(frozen=True)
class Kind:
    """`design` makes codes for (N, D, field, budget, seed); `rebuild` from a spec's options."""

    fields: tuple[str, ...]
    design: Callable[[int, int, str, SearchBudget, Any], Codes]
    options: tuple[str, ...]
    rebuild: Callable[[int, int, str, dict[str, Any]], Codes]


def make(N: int, D: int, kind: str, field: str, budget: SearchBudget, seed: object) -> Codes:
    """Return the codes of a kind.

    Raises
    ------
    OptionError
        If the kind has no codes over this field, or a seed is missing or not wanted.
    DimensionError
        If N or D does not fit the kind.
    """
    entry = KINDS[kind]
    check_sizes(N, D)
    if field not in entry.fields:
        raise OptionError(f"kind {kind!r} has real codes only, got field={field!r}.")
    if seed is not None and "seed" not in entry.options:
        raise OptionError(f"kind {kind!r} has nothing random in it, got seed={seed!r}: drop it.")
    return entry.design(N, D, field, budget, seed)


def from_spec(spec: Mapping[str, object]) -> Codebook:
    """Return the codebook that a spec describes.

    Raises
    ------
    SpecError
        If the version is unknown, or a field is missing, extra or wrong.

    Examples
    --------
    >>> import json
    >>> from primal.codebooks import codebook, from_spec
    >>> cb = codebook(1000, 64, kind="shadow")
    >>> from_spec(json.loads(json.dumps(cb.spec))) == cb
    True
    """
    if not isinstance(spec, Mapping) or spec.get("map") != "codebook":
        raise SpecError("the spec of a codebook is a mapping with 'map': 'codebook'.")
    version = spec.get("codebook_version")
    if version != CODEBOOK_VERSION:
        raise SpecError(
            f"this version of primal knows codebook_version {CODEBOOK_VERSION}, the spec has "
            f"{version!r}: install the version of primal that wrote it."
        )
    kind = one_of("kind", spec.get("kind"), KINDS)
    entry = KINDS[kind]
    expected = {"map", "codebook_version", "kind", "N", "D", "field", *entry.options}
    if set(spec) != expected:
        wrong = sorted(set(spec) ^ expected)
        raise SpecError(
            f"the spec of a {kind!r} codebook has exactly the fields {sorted(expected)}; "
            f"missing or extra: {wrong}."
        )
    N, D = check_sizes(spec["N"], spec["D"])
    field = one_of("field", spec["field"], FIELDS)
    if field not in entry.fields:
        raise SpecError(f"a {kind!r} codebook has real codes only, got field {field!r}.")
    with raised_as(SpecError, f"the spec of a {kind!r} codebook is wrong"):
        return Codebook(entry.rebuild(N, D, field, {name: spec[name] for name in entry.options}))


def _primes(values: object, k: int) -> list[int]:
    """Return a list of k or fewer distinct primes from a spec."""
    if not isinstance(values, (list, tuple)) or not 0 < len(values) <= k:
        raise SpecError(f"'primes' of the spec must be a list of at most {k} primes.")
    numbers = [whole_number("a prime of the spec", value, least=2) for value in values]
    if len(set(numbers)) != len(numbers) or max(numbers) >= 2**32:
        raise SpecError("'primes' of the spec must be distinct and below 2**32.")
    return numbers


def _listed(kind: str, N: int, D: int, options: dict[str, Any]) -> Codes:
    view = one_of("view", options.get("view", "real"), VIEWS)
    primes = _primes(options["primes"], D if view == "phasor" else D // 2)
    if kind == "weighted":
        weights = [float(w) for w in options["weights"]]
        if len(weights) != len(primes) or min(weights) < 0 or abs(sum(weights) - 1) > 1e-9:
            raise SpecError(
                "'weights' of the spec must have one number for each prime, none of them "
                "negative, with sum 1."
            )
        return WeightedCodes(N, D, primes, weights, float(options["lower_bound"]))
    return PrimeCodes(kind, N, D, primes, view=view)


def _chirp(N: int, D: int, field: str, options: dict[str, Any]) -> Codes:
    k = D if field == "complex" else D // 2
    lists = [_primes(options[name], k) for name in ("primes_a", "primes_b")]
    k = len(lists[0])
    largest = (k * k + k) * (1 if field == "complex" else 2)
    if len(lists[1]) != k or largest < N:
        raise SpecError(
            f"the spec needs two lists of primes of one length, long enough for N = {N}."
        )
    return PrimeChirp(N, D, field, *lists)


def _fixed(fields: tuple[str, ...], build: Callable[[int, int, str], Codes]) -> Kind:
    """Return a kind that (N, D, field) determines."""
    return Kind(fields, lambda N, D, f, b, s: build(N, D, f), (), lambda N, D, f, o: build(N, D, f))


KINDS: dict[str, Kind] = {
    "orthonormal": _fixed(BOTH, Orthonormal),
    "static": Kind(
        BOTH,
        lambda N, D, f, b, s: consecutive_primes("static", N, D, f),
        ("start",),
        lambda N, D, f, o: consecutive_primes("static", N, D, f, start=o["start"]),
    ),
    "offset": Kind(
        BOTH,
        lambda N, D, f, b, s: offset_codes(N, D, f, steps=b.steps, progress=b.progress),
        ("start",),
        lambda N, D, f, o: consecutive_primes("offset", N, D, f, start=o["start"]),
    ),
    "tuned": Kind(
        REAL,
        lambda N, D, f, b, s: tuned_codes(N, D, steps=b.steps, progress=b.progress),
        ("primes",),
        lambda N, D, f, o: _listed("tuned", N, D, o),
    ),
    "weighted": Kind(
        REAL,
        lambda N, D, f, b, s: weighted_codes(N, D, steps=b.steps, progress=b.progress),
        ("primes", "weights", "lower_bound"),
        lambda N, D, f, o: _listed("weighted", N, D, o),
    ),
    "shadow": Kind(
        BOTH,
        lambda N, D, f, b, s: shadow_codes(
            N, D, f, steps=b.steps, seconds=b.seconds, progress=b.progress
        ),
        ("primes", "view"),
        lambda N, D, f, o: _listed("shadow", N, D, o),
    ),
    "chirp": Kind(
        BOTH, lambda N, D, f, b, s: design_chirp(N, D, f), ("primes_a", "primes_b"), _chirp
    ),
    "kerdock": _fixed(REAL, lambda N, D, f: Kerdock(N, D)),
    "gold": _fixed(REAL, lambda N, D, f: Gold(N, D)),
    "delsarte-goethals": _fixed(REAL, lambda N, D, f: DelsarteGoethals(N, D)),
    "singer": _fixed(BOTH, Singer),
    "paley": _fixed(REAL, lambda N, D, f: Paley(N, D)),
    "alltop": _fixed(BOTH, Alltop),
    "gaussian": Kind(
        BOTH,
        lambda N, D, f, b, s: gaussian(N, D, f, s),
        ("seed",),
        lambda N, D, f, o: gaussian(N, D, f, o["seed"]),
    ),
    "random-frequency": Kind(
        BOTH,
        lambda N, D, f, b, s: RandomFrequencies(N, D, f, s),
        ("seed",),
        lambda N, D, f, o: RandomFrequencies(N, D, f, o["seed"]),
    ),
}
