"""``from_spec``: the one way back from a spec, whatever it describes."""

from __future__ import annotations

from collections.abc import Mapping

from primal import codebooks, maps

__all__ = ["from_spec"]


def from_spec(
    spec: Mapping[str, object],
) -> maps.DynamicPrime | maps.StaticPrime | codebooks.Codebook:
    """Return the map or the codebook that a spec describes.

    Parameters
    ----------
    spec : mapping
        The `spec` of a map or a codebook, for instance read back from JSON.

    Raises
    ------
    SpecError
        If the version is unknown, or a field is missing or extra.
    ParameterError
        If a field has a value that nothing can have.

    Examples
    --------
    >>> import json, primal
    >>> s = primal.StaticPrime(64, start=10)
    >>> primal.from_spec(json.loads(json.dumps(s.spec))) == s
    True
    """
    if isinstance(spec, Mapping) and spec.get("map") == "codebook":
        return codebooks.from_spec(spec)
    return maps.from_spec(spec)
