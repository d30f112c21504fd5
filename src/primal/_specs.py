"""Specs: the few JSON values that rebuild an object exactly, and the one way back from them.

A spec is ``{"type": "StaticPrime", "version": 1, ...}``. The type is the name of a public class,
which makes the object from the other fields with its class method ``_from_spec(fields)``.
"""

import hashlib
import importlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from primal._checks import raised_as
from primal.errors import MemoryLimitError, MissingPackageError, SpecError

# Where the class of every type lives. A room is imported when one of its specs is read.
_ROOMS = {
    "Basis": "exact",
    **dict.fromkeys(("KernelBasis", "KernelSum"), "maps"),
    "DynamicPrime": "maps",
    "KernelPrime": "maps",
    "StaticPrime": "maps",
    "VectorCodes": "vectors",
    "Codebook": "codebooks",
    **dict.fromkeys(("Encoder", "RidgeSums"), "arrow"),
    **dict.fromkeys(("Circular", "Levels", "Numbers", "Reals", "Symbols"), "hdc"),
    **dict.fromkeys(("ItemMemory", "KeyValueMemory", "Space"), "hdc"),
    "VectorMemory": "hdc",
    **dict.fromkeys(("SensorMap", "SensorModel"), "edge"),
    **dict.fromkeys(("PrimeFeatures", "PrimeHasher", "PrimePositions"), "sklearn"),
}


def from_spec(spec: Mapping[str, object]) -> Any:
    """Return the object that a spec describes.

    Parameters
    ----------
    spec : mapping
        The `spec` of a map, codebook, space, vocabulary, memory or estimator, for instance
        read back from JSON. Anything wrong in it is a SpecError.

    Returns
    -------
    object
        Of the type that the spec names, with that spec: it computes the same.

    Examples
    --------
    >>> import json, primal
    >>> s = primal.StaticPrime(64, start=10)
    >>> primal.from_spec(json.loads(json.dumps(s.spec))) == s
    True
    """
    if not isinstance(spec, Mapping):
        raise SpecError(
            f"a spec is a mapping, got the {type(spec).__name__} {spec!r:.40}: pass the spec of an "
            "object, or what json.loads makes of its text."
        )
    kind = spec.get("type")
    if not isinstance(kind, str) or kind not in _ROOMS:
        raise SpecError(
            f"this version of primal does not know specs of type {kind!r:.40}; the type of a spec "
            f"is one of {', '.join(sorted(_ROOMS))}."
        )
    found = spec.get("version")
    if type(found) is not int or found != 1:
        raise SpecError(
            f"this version of primal knows version 1 of the spec of a {kind}, got "
            f"{found!r:.40}: install the version of primal that wrote it."
        )
    room = importlib.import_module(f"primal.{_ROOMS[kind]}")
    fields = {name: value for name, value in spec.items() if name not in ("type", "version")}
    keep = (SpecError, MemoryLimitError, MissingPackageError)
    with raised_as(SpecError, f"the spec of a {kind} is wrong", keep=keep):
        return getattr(room, kind)._from_spec(fields)


def make_spec(kind: str, /, **fields: object) -> dict[str, Any]:
    """Return the spec of an object whose class is called `kind`."""
    return {"type": kind, "version": 1, **fields}


def plain(value: Any) -> Any:
    """Return a field of an object as JSON values."""
    if hasattr(value, "spec"):
        return value.spec
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


class Specified:
    """An object that is what its `_fields` say, from which `_from_spec` makes it again."""

    _kind: str  # of its specs; an object of a user's subclass is one of ours

    def __init_subclass__(cls) -> None:
        if cls.__name__ in _ROOMS:
            cls._kind = cls.__name__

    def _fields(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Self:
        raise NotImplementedError

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.from_spec` rebuilds this object."""
        fields = {name: plain(value) for name, value in self._fields().items()}
        return make_spec(self._kind, **fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._from_spec, (self._fields(),)  # without what is computed from them

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Specified) or other._kind != self._kind:
            return False
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(tuple(self._fields().items()))


def spec_fields(kind: str, fields: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a spec, which have to be exactly these."""
    names = list(names)
    missing = [name for name in names if name not in fields]
    extra = [name for name in fields if name not in names]
    if missing or extra:
        found = (("lacks", missing), ("has", extra))
        problems = " and ".join(f"{verb} {', '.join(some)}" for verb, some in found if some)
        raise SpecError(f"the spec {problems}; a {kind} has exactly the fields {', '.join(names)}.")
    return dict(fields)


def spec_digest(spec: Mapping[str, object], *tables: np.ndarray) -> str:
    """Return the SHA-256 of a spec and of the tables it stands for, as hexadecimal digits."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode())
    for table in tables:
        digest.update(np.ascontiguousarray(table).astype(table.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()
