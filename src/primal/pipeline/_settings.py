"""What was asked for, checked; and the recipe that it comes to for given files."""

from __future__ import annotations

import fnmatch
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from primal._checks import even_dimension, one_of, positive_scale, whole_number
from primal._errors import DataError, OptionError
from primal._extras import require
from primal.maps import DynamicPrime
from primal.maps._common import LAYOUTS, PRECISIONS
from primal.pipeline._array_source import ARRAY
from primal.pipeline._fit import scale_gamma
from primal.pipeline._inputs import InputFile
from primal.pipeline._job import Progress
from primal.pipeline._recipe import DTYPES, FLOATS, Recipe, feature_type
from primal.pipeline._row_groups import FEATURES
from primal.pipeline._rows import check_type, column_array, width_of
from primal.pipeline._sources import Source, check_names, open_source, reading

__all__ = ["ON_ERROR", "Settings", "make_recipe"]

ON_ERROR = ("raise", "skip", "null")
# Bytes of features in one row group, when the number of rows is left open.
_GROUP_BYTES = 1 << 24
_LARGEST_GROUP_ROWS = 1 << 16
_LARGEST_BATCH_ROWS = 1 << 26


@dataclass(frozen=True)
class Settings:
    """Everything that decides the bytes of an output, besides the input; checked.

    Numbers become plain ones, whatever type they were given in: they are written to files.
    See :func:`primal.pipeline.encode` for the meaning of each.
    """

    dim: int
    columns: tuple[str, ...]
    keep: tuple[str, ...]
    sigma: float | None
    gamma: float | str | None
    kernel: str
    basis: str
    layout: str
    precision: str
    dtype: str
    batch_rows: int | None
    shard: tuple[int, int]
    on_error: str
    format: str

    def __post_init__(self) -> None:
        plain: dict[str, Any] = {"dim": even_dimension(self.dim)}
        if (self.sigma is None) == (self.gamma is None):
            raise OptionError(
                "give either sigma (scale of the map's frequencies) or gamma (of a kernel; "
                f"'scale' takes it from the data), got sigma = {self.sigma!r} and gamma = "
                f"{self.gamma!r}."
            )
        if self.sigma is not None:
            plain["sigma"] = positive_scale("sigma", self.sigma)
            if not isinstance(self.kernel, str) or self.kernel != "rbf":
                raise OptionError(f"kernel goes with gamma; got kernel = {self.kernel!r}, sigma.")
        if isinstance(self.gamma, str):
            one_of("gamma", self.gamma, ("scale",))
        elif self.gamma is not None:
            plain["gamma"] = positive_scale("gamma", self.gamma)
        one_of("layout", self.layout, LAYOUTS)
        one_of("precision", self.precision, PRECISIONS)
        one_of("dtype", self.dtype, DTYPES)
        one_of("on_error", self.on_error, ON_ERROR)
        if self.batch_rows is not None:
            plain["batch_rows"] = whole_number("batch_rows", self.batch_rows, least=1)
            if plain["batch_rows"] > _LARGEST_BATCH_ROWS:
                raise OptionError(
                    f"batch_rows must be at most {_LARGEST_BATCH_ROWS}, got {self.batch_rows}: "
                    "a row group is held in memory."
                )
        plain["shard"] = _checked_shard(self.shard)
        if FEATURES in self.keep:
            raise OptionError(f"a kept column cannot be called {FEATURES!r}: rename it first.")
        if len(set(self.keep)) < len(self.keep):
            raise OptionError(f"keep names a column twice: {', '.join(self.keep)}.")
        if self.format == "npy":
            _check_npy(self)
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def as_json(self) -> dict[str, Any]:
        lists = {"columns": list(self.columns), "keep": list(self.keep), "shard": list(self.shard)}
        return asdict(self) | lists


def make_recipe(
    settings: Settings,
    files: tuple[InputFile, ...],
    fit_progress: Progress | None = None,
) -> tuple[Recipe, pa.Schema]:
    """Return what to do with every row, and the types of the kept columns.

    The first file that can be read and has values decides which columns there are and what
    their types are.

    Raises
    ------
    DataError
        If no file can be read, or columns are missing or hold no numbers.
    """
    columns, d, kept = _layout(settings, files)
    gamma = settings.gamma
    if gamma == "scale":
        gamma = scale_gamma(files, columns, d, settings.kernel, settings.on_error, fit_progress)
    m, amplitude = _map(settings, d, gamma)
    return (
        Recipe(
            spec=m.spec,
            amplitude=amplitude,
            dtype=settings.dtype,
            columns=columns,
            keep=settings.keep,
            on_error=settings.on_error,
            batch_rows=settings.batch_rows or _default_rows(settings, d),
            kernel=None if gamma is None else settings.kernel,
            gamma=None if gamma is None else float(gamma),
        ),
        kept,
    )


_Layout = tuple[tuple[str, ...], int, pa.Schema]


def _layout(settings: Settings, files: tuple[InputFile, ...]) -> _Layout:
    """Return the columns of x, their number of values, and the kept columns."""
    failure: DataError | None = None
    for file in files:
        try:
            source = open_source(file)
            with reading(file.path):
                found = _layout_of(settings, source)
        except DataError as error:
            if settings.on_error == "raise":
                raise
            failure = failure or error
            continue
        if found[1]:
            return found
        # An empty file says nothing; the next one may.
        named = f"{file.path}: column {found[0][0]!r}"
        failure = failure or DataError(f"{named} holds no values, so their number is not known.")
    if len(files) == 1 and failure is not None:
        raise failure
    raise DataError(f"none of the {len(files)} files can be read; the first: {failure}")


def _layout_of(settings: Settings, source: Source) -> _Layout:
    columns = _chosen(settings.columns, source.schema, settings.keep)
    for name in columns:
        check_type(name, source.schema.field(name).type)
    check_names(source.schema, settings.keep)
    kept = pa.schema([_kept_field(source.schema.field(name)) for name in settings.keep])
    _check_kept(kept)
    return columns, _n_inputs(source, columns), kept


def _check_kept(kept: pa.Schema) -> None:
    try:
        with pq.ParquetWriter(pa.BufferOutputStream(), kept):
            pass
    except pa.ArrowException as error:
        raise DataError(f"a kept column has a type that Parquet does not hold: {error}") from None


def _chosen(patterns: tuple[str, ...], schema: pa.Schema, keep: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that patterns name, each once, in the order of the patterns."""
    if not patterns:
        matrices = [field.name for field in schema if pa.types.is_fixed_size_list(field.type)]
        if matrices == [ARRAY] or len(schema.names) == 1:
            return (schema.names[0],)
        raise DataError(f"say which columns to encode; it has {_listed(schema.names)}")
    chosen: list[str] = []
    for pattern in patterns:
        exact = [pattern] if pattern in schema.names else []
        found = exact or [
            name for name in schema.names if fnmatch.fnmatchcase(name, pattern) and name not in keep
        ]
        if not found:
            raise DataError(f"it has no column {pattern!r}, only {_listed(schema.names)}")
        chosen += [name for name in found if name not in chosen]
    check_names(schema, chosen)
    return tuple(chosen)


def _kept_field(field: pa.Field) -> pa.Field:
    """Return a field of the output, of a type that Parquet and Arrow's functions know."""
    return pa.field(field.name, _known_type(field.type))


def _known_type(kind: pa.DataType) -> pa.DataType:
    """Return a type that holds the same values.

    Categories are numbered with room for those of other files, and views (what Polars writes)
    become plain text or bytes.
    """
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), _known_type(kind.value_type), kind.ordered)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind):
        return pa.list_(_known_type(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_known_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(part.name, _known_type(part.type)) for part in kind])
    return kind


def _n_inputs(source: Source, columns: tuple[str, ...]) -> int:
    """Return d: one for each column of numbers, or the length of the lists; 0 without any."""
    widths = [width_of(source.schema.field(name).type) for name in columns]
    if len(columns) > 1:
        if any(width != 1 for width in widths):
            raise DataError(f"take one column of lists, or several of numbers: {_listed(columns)}")
        return len(columns)
    if widths[0] is not None:
        d = widths[0]
    else:
        d = 0
        for table in source.tables(list(columns), 0, 1024):
            lengths = pc.call_function("list_value_length", [column_array(table, columns[0])])
            full = lengths.filter(pc.call_function("greater", [lengths, 0]))
            if len(full):
                d = full[0].as_py()
                break
    return d


def _map(settings: Settings, d: int, gamma: Any) -> tuple[DynamicPrime, float]:
    """Return the map and the factor of its features."""
    if gamma is None:
        m = DynamicPrime(
            d,
            settings.dim,
            settings.sigma,
            basis=settings.basis,
            layout=settings.layout,
            precision=settings.precision,
        )
        return m, 1.0
    require("sklearn", "a kernel (gamma instead of sigma)")
    from primal.sklearn._encode import amplitude
    from primal.sklearn._kernels import KERNELS, kernel_map, resolved_basis

    kernel = KERNELS[one_of("kernel", settings.kernel, KERNELS)]
    m = kernel_map(
        settings.kernel,
        d,
        settings.dim // 2,
        float(kernel.scale(float(gamma))),
        basis=resolved_basis(settings.kernel, settings.basis, d),
        layout=settings.layout,
        precision=settings.precision,
    )
    return m, amplitude(settings.dim)


def _default_rows(settings: Settings, d: int) -> int:
    """Return a power of two of rows whose features take about 16 MB, and their input no more."""
    kind = feature_type(settings.dtype, settings.dim)
    row_bytes = max(kind.list_size * kind.value_type.bit_width // 8, 4 * settings.dim // 2, 8 * d)
    rows = max(1, min(_LARGEST_GROUP_ROWS, _GROUP_BYTES // row_bytes))
    return 1 << (rows.bit_length() - 1)


def _checked_shard(shard: object) -> tuple[int, int]:
    if not isinstance(shard, (tuple, list)) or len(shard) != 2:
        raise OptionError(f"shard must be a pair (i, n), got {shard!r}.")
    i, n = whole_number("shard", shard[0]), whole_number("the number of shards", shard[1], least=1)
    if i >= n:
        raise OptionError(f"shard must be i/n with i from 0 to n - 1, got {i}/{n}.")
    return i, n


def _check_npy(settings: Settings) -> None:
    if settings.keep:
        raise OptionError("a .npy file holds features only: write .parquet to keep columns.")
    if settings.on_error == "null" and settings.dtype not in FLOATS:
        raise OptionError(
            f"{settings.dtype} codes in a .npy file have no value for a missing row: write "
            ".parquet, or skip such rows."
        )


def _listed(names: Any) -> str:
    shown = ", ".join(list(names)[:20])
    return shown + (", ..." if len(names) > 20 else "")
