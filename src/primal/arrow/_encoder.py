"""``Encoder``: a batch of rows in, the same batch with one more column out."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

import numpy as np
import pyarrow as pa

from primal._checks import one_of, output_array
from primal._specs import Specified, from_spec, spec_fields
from primal.arrow._columns import as_arrow, bad_row, column, matrix, plain
from primal.errors import DataError, ParameterError
from primal.maps import DynamicPrime, KernelPrime

_FIELDS = ("map", "columns", "output", "stored", "on_error")
_FLOATS = ("float32", "float16")
_BLOCK_ROWS, _BLOCK_VALUES = 1 << 16, 1 << 22


class Encoder(Specified):
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
        A row is invalid if it is not a list of d finite numbers, contains an integer beyond 2**53,
        or exceeds the `limit` of the map. ``"raise"`` raises a DataError for the first one,
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
        if not all(hasattr(m, name) for name in ("d", "encode", "spec")):
            raise ParameterError(
                f"map must be a map of vectors, fitted features or codes, got {map!r:.60}: pass "
                "for example primal.KernelPrime(d, D)."
            )
        columns = (columns,) if isinstance(columns, str) else tuple(columns)
        if len(columns) not in (1, m.d) or len({*columns, output}) <= len(columns):
            raise ParameterError(
                f"columns must be one column of lists or {m.d} columns of numbers, and differ from "
                f"each other and from output={output!r}, got {columns!r:.100}."
            )
        floats = isinstance(m, (DynamicPrime, KernelPrime))
        if isinstance(stored, str):
            one_of("stored", stored, _FLOATS if floats else _FLOATS[:1])
        elif not floats or getattr(stored, "d", None) != m.D:
            raise ParameterError(
                f"stored must be one of {', '.join(_FLOATS)}, or codes of the {m.D} features of a "
                f"map, got {stored!r:.60}."
            )
        self.map, self.columns, self.output, self.stored = m, columns, output, stored
        self.on_error = one_of("on_error", on_error, ("raise", "null"))
        self._limit = np.asarray(getattr(m, "limit", sys.float_info.max))
        # Codes accept some rows beyond their limit: a batch must not decide.
        self._checks_first = not floats
        self._plain = floats and stored == "float32"
        made = self._encode(np.zeros((1, m.d)))
        self._shapes = [(part.shape[1:], part.dtype) for part in made]
        self._names = getattr(made, "_fields", ())
        types = [_arrow_type(shape, dtype) for shape, dtype in self._shapes]
        #: Arrow type of the new column.
        self.type: pa.DataType = types[0]
        if self._names:
            self.type = pa.struct(list(zip(self._names, types, strict=True)))

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the output for batches of the given schema."""
        return schema.append(pa.field(self.output, self.type))

    def __call__(self, batch: Any) -> Any:
        """Return the batch with the new column, as a RecordBatch or a Table like the input.

        Parameters
        ----------
        batch : RecordBatch, Table, or any input of ``pyarrow.table``
        """
        batch = as_arrow(batch)
        if self.output in batch.schema.names:
            raise DataError(f"the batch already has a column {self.output!r}: set output=.")
        made = self.array(*(column(batch, name) for name in self.columns))
        return batch.append_column(pa.field(self.output, self.type), made)

    # Spark derives the kind of a function from these annotations.
    def array(self, *columns: pa.Array) -> pa.Array:
        """Return the new column alone, for the values of `columns` alone."""
        arrays = self._checked(columns)
        n = len(arrays[0])
        parts = [output_array(None, (n, *shape), dtype) for shape, dtype in self._shapes]
        good = np.ones(n, dtype=bool)

        def write(x: np.ndarray, rows: slice) -> None:
            if self._plain:
                self.map.encode(x, out=parts[0][rows])
                return
            for part, new in zip(parts, self._encode(x), strict=True):
                part[rows] = new

        for rows, _, valid, _ in self._blocks(arrays, write):
            good[rows] = valid
        mask = None if good.all() else pa.array(~good)
        if not self._names:
            return _arrow_array(parts[0], self.type, mask)
        fields = [_arrow_array(p, f.type, None) for p, f in zip(parts, self.type, strict=True)]
        return pa.StructArray.from_arrays(fields, fields=list(self.type), mask=mask)

    def _checked(self, columns: Iterable[Any]) -> list[pa.Array]:
        arrays = [plain(values) for values in columns]
        if len(arrays) != len(self.columns):
            raise DataError(f"array needs {len(self.columns)} columns, got {len(arrays)}.")
        return arrays

    def _blocks(
        self, columns: list[pa.Array], encode: Callable[[np.ndarray, slice], Any]
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray, Any]]:
        """Yield rows, x with invalid rows as zeros, which rows are valid, and encode(x, rows)."""
        n, width = len(columns[0]), max(self.map.d, getattr(self.map, "D", 0))
        step = min(_BLOCK_ROWS, max(256, _BLOCK_VALUES // width))
        for first in range(0, n, step):
            rows = slice(first, min(n, first + step))
            x = matrix([values[rows] for values in columns], self.columns, self.map.d)
            valid = np.ones(len(x), dtype=bool)
            try:
                if self._checks_first and not (np.abs(x) <= self._limit).all():
                    raise DataError("rows are beyond the limit")
                made = encode(x, rows)
            except DataError:
                valid = np.asarray((np.abs(x) <= self._limit).all(axis=1))
                if valid.all():
                    raise
                if self.on_error == "raise":
                    i = int(np.argmin(valid))
                    own = [values[first + i : first + i + 1] for values in columns]
                    raise bad_row(first + i, self.columns, own, x[i]) from None
                x = np.where(valid[:, None], x, x.dtype.type(0))
                made = encode(x, rows)
            yield rows, x, valid, made

    def _encode(self, x: np.ndarray) -> Any:
        """Return the arrays of the new column: a tuple with names if there are several."""
        made = self.map.encode(x)
        if self.stored == "float16":
            made = made.astype(np.float16)
        elif not isinstance(self.stored, str):
            made = self.stored.encode(made)
        return made if isinstance(made, tuple) else (made,)

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Self:
        fields = spec_fields("Encoder", fields, _FIELDS)
        stored = fields["stored"]
        fields["stored"] = from_spec(stored) if isinstance(stored, Mapping) else stored
        return cls(**fields | {"map": from_spec(fields["map"])})

    def __reduce__(self) -> tuple[Any, ...]:
        return built, (json.dumps(self.spec),)


@functools.lru_cache(maxsize=32)
def built(text: str) -> Any:
    """Return the object of this process with that spec; its tables are computed once."""
    return from_spec(json.loads(text))


def _arrow_type(shape: tuple[int, ...], dtype: np.dtype) -> pa.DataType:
    kind = pa.from_numpy_dtype(dtype)
    return pa.list_(kind, *shape) if shape else kind


def _arrow_array(values: np.ndarray, kind: pa.DataType, mask: pa.Array | None) -> pa.Array:
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), type=kind, mask=mask)
