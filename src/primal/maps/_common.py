"""What both maps share: layouts, output types, specs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from primal._checks import one_of
from primal._errors import SpecError
from primal.bases import BASIS_VERSION
from primal.engines._numpy import row_blocks

LAYOUTS = ("block", "interleaved")
PRECISIONS = ("exact", "fast")
DTYPES = ("float32", "float64")
_BLOCK_ENTRIES = 1 << 20


def output_dtype(dtype: object) -> np.dtype:
    """Return float32 or float64 from a name, a NumPy type or a dtype."""
    try:
        name = np.dtype(dtype).name  # type: ignore[arg-type]
    except (TypeError, ValueError):
        name = str(dtype)
    return np.dtype(one_of("dtype", name, DTYPES))


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Return slices of rows with about a million entries: converted copies stay at a few MB."""
    return row_blocks(n_rows, n_columns, _BLOCK_ENTRIES)


def check_spec(spec: object, fields: tuple[str, ...]) -> dict[str, object]:
    """Return the spec as a dict with exactly these fields, of a known version."""
    if not isinstance(spec, Mapping):
        raise SpecError(
            f"a spec is a mapping, got the {type(spec).__name__} {spec!r:.40}: pass the spec of an "
            "object, or what json.loads makes of its text."
        )
    found = dict(spec)
    version = found.get("basis_version")
    if version != BASIS_VERSION:
        raise SpecError(
            f"this version of primal knows basis_version {BASIS_VERSION}, the spec has "
            f"{version!r}: install the version of primal that wrote it."
        )
    missing = [field for field in fields if field not in found]
    extra = [field for field in found if field not in fields]
    if missing or extra:
        problems = [
            f"{name} {names}" for name, names in (("lacks", missing), ("has", extra)) if names
        ]
        raise SpecError(
            f"the spec {' and '.join(problems)}; a {found.get('map')!r} map has "
            f"exactly the fields {', '.join(fields)}."
        )
    return found
