"""CSV files: every value is read as text and converted later, so that a bad one can be named."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv as csv

from primal.pipeline._inputs import Source

__all__ = ["MALFORMED", "open_csv"]

# Added column: the text of a line with too few or too many fields, else null.
MALFORMED = "primal: malformed line"
# Bytes parsed at a time; no line may be longer.
_BLOCK_BYTES = 1 << 22


def open_csv(path: str) -> Source:
    """Return a CSV file with names in its first line; only its end tells its number of rows.

    Kept columns have the types that Arrow infers from the first 4 MB. Lines with a wrong number
    of fields come back as rows of nulls with their text in the column `MALFORMED`.
    """

    def opened(
        names: list[str] | None, text: list[str], malformed: dict[int, str]
    ) -> csv.CSVStreamingReader:
        def note(row: csv.InvalidRow) -> str:
            malformed[row.number - 2] = row.text  # counted from 1, and the names are a line too
            return "skip"

        return csv.open_csv(
            _CheckedText(path),
            # Only without threads are malformed lines counted.
            read_options=csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
            parse_options=csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(text, pa.string()),
                include_columns=names,
                strings_can_be_null=True,
                null_values=[""],
            ),
        )

    with opened(None, [], {}) as reader:  # a column without any value is text
        untyped = [
            pa.types.is_null(kind) or pa.types.is_binary(kind) for kind in reader.schema.types
        ]
        fields = zip(reader.schema, untyped, strict=True)
        schema = pa.schema([one.with_type(pa.string()) if no else one for one, no in fields])

    def tables(names: list[str], first_row: int, n_rows: int) -> Iterator[pa.Table]:
        malformed: dict[int, str] = {}
        at = 0
        with opened(names, schema.names, malformed) as reader:
            for batch in reader:
                table, at = _with_malformed(pa.Table.from_batches([batch]), malformed, at)
                yield table
        if malformed:  # lines after the last good one
            yield _with_malformed(reader.schema.empty_table(), malformed, at)[0]

    return Source(schema, tables)


class _CheckedText(io.RawIOBase):
    """The bytes of a file, decompressed, which must be UTF-8.

    Arrow checks the columns that it converts, but not the malformed lines that it hands over.
    """

    def __init__(self, path: str) -> None:
        self._opened = pa.input_stream(path)
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._opened.read(None if size < 0 else size)
        self._decoder.decode(data, final=not data)
        return data

    def close(self) -> None:
        self._opened.close()
        super().close()


def _with_malformed(table: pa.Table, malformed: dict[int, str], at: int) -> tuple[pa.Table, int]:
    """Put malformed lines back at their places; `at` is the row of the file that comes next."""
    places: list[int | None] = []
    texts: list[str | None] = []
    taken = 0
    while taken < table.num_rows or at in malformed:
        text = malformed.pop(at, None)
        texts.append(text)
        places.append(taken if text is None else None)
        taken += text is None
        at += 1
        if not malformed:  # the usual case, without a loop
            rest = table.num_rows - taken
            texts += [None] * rest
            places += range(taken, table.num_rows)
            at, taken = at + rest, table.num_rows
    if None in places:
        table = table.take(pa.array(places, pa.int64()))
    return table.append_column(MALFORMED, pa.array(texts, pa.string())), at
