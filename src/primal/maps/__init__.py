"""The two algorithms of the paper, and how a spec becomes a map again."""

from __future__ import annotations

from collections.abc import Mapping

from primal._checks import raised_as
from primal.errors import SpecError
from primal.maps._common import check_spec
from primal.maps._dynamic import DynamicPrime as DynamicPrime
from primal.maps._static import StaticPrime as StaticPrime

_DYNAMIC_FIELDS = (
    "map",
    "basis_version",
    "d",
    "D",
    "sigma",
    "basis",
    "primes",
    "layer_norm",
    "layout",
    "precision",
)
_STATIC_FIELDS = ("map", "basis_version", "D", "sigma", "start", "layout")


def from_spec(spec: Mapping[str, object]) -> DynamicPrime | StaticPrime:
    """Return the map that a spec describes.

    Parameters
    ----------
    spec : mapping
        The `spec` of a map, for instance read back from JSON.

    Raises
    ------
    SpecError
        If the version is unknown, or a field is missing or extra.
    ParameterError
        If a field has a value that no map can have.

    Examples
    --------
    >>> import json, primal
    >>> s = primal.StaticPrime(64, start=10)
    >>> primal.from_spec(json.loads(json.dumps(s.spec))) == s
    True
    """
    kind = spec.get("map") if isinstance(spec, Mapping) else None
    with raised_as(SpecError, "the spec of a map is wrong"):
        if kind == "static":
            return StaticPrime._from_spec(check_spec(spec, _STATIC_FIELDS))
        fields = check_spec(spec, _DYNAMIC_FIELDS)
        if kind != "dynamic":
            raise SpecError(f"a spec's field 'map' is 'dynamic' or 'static', got {kind!r}.")
        return DynamicPrime._from_spec(fields)
