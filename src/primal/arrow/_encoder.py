"""``Encoder``: a batch of rows in, the same batch with one more column out."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from primal._checks import one_of, output_array, raised_as
from primal._specs import Specified, from_spec, spec_fields
from primal.arrow._columns import bad_row, column, matrix, names_of, plain
from primal.errors import DataError, ParameterError

_FLOATS = ("float32", "float16")
_BLOCK_ROWS, _BLOCK_VALUES = 1 << 16, 1 << 22


class Function(Specified):
    """A function that travels as its spec and is built once per process."""

    _names: ClassVar[tuple[str, ...]]  # of its arguments, which are attributes, too

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names}

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Self:
        given = spec_fields(cls._kind, fields, cls._names).items()
        return cls(**{n: from_spec(v) if isinstance(v, Mapping) else v for n, v in given})

    def __reduce__(self) -> tuple[Any, ...]:
        return _built, (json.dumps(self.spec),)


@functools.lru_cache(maxsize=32)
def _built(text: str) -> Any:
    return from_spec(json.loads(text))


class Encoder(Function):
    """A function that appends a column of features or codes to Arrow batches.

    It pickles as its spec and is built once per process, so it runs inside Ray Data, Spark, Dask,
    Daft, DuckDB, Polars and PyArrow with bit-identical results. Engines that pass tables call the
    object, engines that pass columns call :meth:`array`.

    Parameters
    ----------
    map : DynamicPrime, KernelPrime, fitted PrimeFeatures or VectorCodes
        Encodes rows of d numbers.
    columns : str or sequence of str
        One column of lists of d numbers, or d columns of numbers.
    output : str, default="features"
        Name of the new column.
    stored : {"float32", "float16"} or VectorCodes, default="float32"
        Type of the features; codes of D columns encode them further. The column has lists of fixed
        length, or a struct of the arrays that the codes return.
    on_error : {"raise", "null"}, default="raise"
        A row is invalid if it is not a list of d finite numbers, contains an integer of 2**53 or
        more, or exceeds the `limit` of the map. ``"raise"`` raises a DataError for the first one,
        ``"null"`` writes nulls.

    Examples
    --------
    >>> import primal, pyarrow as pa
    >>> from primal.arrow import Encoder
    >>> encoder = Encoder(primal.KernelPrime(2, 4), "x")
    >>> batch = pa.record_batch({"x": [[0.0, 1.0], [2.0, 3.0]]})
    >>> encoder(batch).schema.names
    ['x', 'features']
    >>> encoder.type
    FixedSizeListType(fixed_size_list<item: float>[4])
    """

    _names = ("map", "columns", "output", "stored", "on_error")

    def __init__(
        self,
        map: Any,
        columns: str | Iterable[str],
        output: str = "features",
        *,
        stored: Any = "float32",
        on_error: str = "raise",
    ) -> None:
        m = getattr(map, "map_", map)
        if not all(hasattr(m, name) for name in ("d", "encode", "spec", "limit")):
            raise ParameterError(
                f"map must be a map of vectors, fitted features or codes, got {map!r:.60}."
            )
        columns = (columns,) if isinstance(columns, str) else tuple(columns)
        if len(columns) not in (1, m.d) or len({*columns, output}) <= len(columns):
            raise ParameterError(
                f"columns must be one column of lists or {m.d} columns of numbers, and differ from "
                f"each other and from output={output!r}, got {columns!r:.100}."
            )
        width = getattr(m, "D", None)  # of features; codes have none
        kinds = _FLOATS if width else _FLOATS[:1]
        if not (stored in kinds if isinstance(stored, str) else getattr(stored, "d", 0) == width):
            raise ParameterError(
                f"stored must be one of {', '.join(kinds)}, or codes of {width} columns, got "
                f"{stored!r:.60}."
            )
        self.map, self.columns, self.output, self.stored = m, columns, output, stored
        self.on_error = one_of("on_error", on_error, ("raise", "null"))
        self._limit = np.asarray(m.limit, dtype=np.float64)
        self._sample = self._encode(np.zeros((1, m.d)))
        #: Arrow type of the new column.
        self.type: pa.DataType = self._column(self._sample).type

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the output for batches of the given schema."""
        with raised_as(DataError, "schema must be a pyarrow.Schema"):
            return pa.schema(schema).append(pa.field(self.output, self.type))

    def __call__(self, batch: Any) -> Any:
        """Return the batch with the new column, as a RecordBatch or a Table like the input."""
        if self.output in names_of(batch):
            raise DataError(f"the batch already has a column {self.output!r}: set output=.")
        made = self.array(*(column(batch, name) for name in self.columns))
        return batch.append_column(pa.field(self.output, self.type), made)

    # Spark derives the kind of a function from these annotations.
    def array(self, *columns: pa.Array) -> pa.Array:
        """Return the new column alone, for the values of `columns` alone."""
        arrays = self._checked(columns)
        n, good = len(arrays[0]), np.ones(len(arrays[0]), dtype=bool)
        parts = [output_array(None, (n, *own.shape[1:]), own.dtype) for own in self._sample]

        def write(x: np.ndarray, rows: slice) -> None:
            if self.stored == "float32" and hasattr(self.map, "D"):
                self.map.encode(x, out=parts[0][rows])
                return
            for part, new in zip(parts, self._encode(x), strict=True):
                part[rows] = new

        for rows, _, valid, _ in self._blocks(arrays, write):
            good[rows] = valid
        return self._column(parts, None if good.all() else pa.array(~good))

    def _column(self, parts: Sequence[np.ndarray], mask: pa.Array | None = None) -> pa.Array:
        if len(parts) == 1:
            return _lists(parts[0], mask)
        names = getattr(self._sample, "_fields", None)
        return pa.StructArray.from_arrays([_lists(own) for own in parts], names, mask=mask)

    def _checked(self, columns: Iterable[Any]) -> list[pa.Array]:
        arrays = [plain(values) for values in columns]
        if len(arrays) != len(self.columns):
            raise DataError(f"array needs {len(self.columns)} columns, got {len(arrays)}.")
        return arrays

    def _blocks(
        self, columns: list[pa.Array], encode: Callable[[np.ndarray, slice], Any]
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray, Any]]:
        """Yield rows, x with invalid rows as zeros, which rows are valid, and encode(x, rows)."""
        n, least = len(columns[0]), float(self._limit.min())
        step = min(_BLOCK_ROWS, max(256, _BLOCK_VALUES // getattr(self.map, "D", self.map.d)))
        for first in range(0, n, step):
            rows = slice(first, min(n, first + step))
            x = matrix([values[rows] for values in columns], self.columns, self.map.d)
            valid = np.ones(len(x), dtype=bool)
            if not (-least <= x.min().item() and x.max().item() <= least):  # nor is NaN
                valid = np.asarray((np.abs(x) <= self._limit).all(axis=1))
                if self.on_error == "raise" and not valid.all():
                    i = int(np.argmin(valid))
                    own = [values[first + i : first + i + 1] for values in columns]
                    raise bad_row(first + i, self.columns, own, x[i], self._limit)
                x = np.where(valid[:, None], x, 0.0)
            yield rows, x, valid, encode(x, rows)

    def _encode(self, x: np.ndarray) -> Any:
        """Return the arrays of the new column: a tuple, with names if there are several."""
        made = self.map.encode(x)
        if self.stored == "float16":
            made = made.astype(np.float16)
        elif not isinstance(self.stored, str):
            made = self.stored.encode(made)
        return made if isinstance(made, tuple) else (made,)


def _lists(values: np.ndarray, mask: pa.Array | None = None) -> pa.Array:
    flat = pa.array(values.reshape(-1))
    if values.ndim == 1:
        return flat
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1], mask=mask)
