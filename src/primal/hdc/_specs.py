"""From a spec back to the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from primal._checks import raised_as
from primal._specs import from_spec as space_from_spec
from primal.errors import SpecError
from primal.hdc._circular import Circular
from primal.hdc._levels import Levels, Thermometer
from primal.hdc._reals import Reals
from primal.hdc._vocabulary import Integers, Symbols, Vocabulary

__all__ = ["from_spec"]

_KINDS: dict[str, type[Vocabulary]] = {
    v.kind: v for v in (Symbols, Integers, Reals, Levels, Thermometer, Circular)
}


def from_spec(spec: Mapping[str, Any]) -> Vocabulary:
    """Return the vocabulary that a spec describes.

    Raises
    ------
    SpecError
        If a field is missing, extra or unknown.

    Examples
    --------
    >>> from primal import hdc
    >>> numbers = hdc.Space(512).integers()
    >>> hdc.from_spec(numbers.spec) == numbers
    True
    """
    if not isinstance(spec, Mapping):
        raise SpecError(f"a spec is a mapping, got {type(spec).__name__}: pass vocabulary.spec.")
    fields = dict(spec)
    kind = fields.pop("vocabulary", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        listed = ", ".join(map(repr, _KINDS))
        raise SpecError(f"a spec's field 'vocabulary' is one of {listed}, got {kind!r}.")
    if "space" not in fields:
        raise SpecError(f"the spec of {kind} lacks the field 'space'.")
    space = space_from_spec(fields.pop("space"))
    if kind == "reals":  # written when they had no role, with the codes of the first one
        fields.setdefault("role", space.roles[0])
    with raised_as(SpecError, f"the spec of {kind} has wrong or missing fields"):
        return _KINDS[kind](space, **fields)
