"""Time our writer of feature columns against PyArrow's, for the same rows, in turns.

``python tools/parquet_writer.py`` takes some seconds.
"""

from __future__ import annotations

import io
import statistics
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from primal.pipeline._parquet import feature_group, write_file

_ROWS, _WIDTH, _ROUNDS = 20_000, 512, 9
_NAME = "features"


def main() -> None:
    for dtype in ("float32", "float16", "uint16", "uint8"):
        rng = np.random.default_rng(0)
        codes = rng.standard_normal((_ROWS, _WIDTH)).astype(dtype)
        if dtype.startswith("uint"):
            codes = rng.integers(0, np.iinfo(dtype).max, (_ROWS, _WIDTH)).astype(dtype)
        element = pa.field("element", pa.from_numpy_dtype(codes.dtype), nullable=False)
        kind = pa.list_(element, _WIDTH)
        schema = pa.schema([pa.field(_NAME, kind, nullable=False)])
        seconds: dict[str, list[float]] = {"ours": [], "PyArrow": []}
        for _ in range(_ROUNDS):
            for name, times in seconds.items():
                sink = io.BytesIO()
                start = time.perf_counter()
                if name == "ours":
                    write_file(sink, schema, [feature_group(_NAME, pa.table({}), codes, None)])
                else:
                    _by_pyarrow(sink, schema, codes)
                times.append(time.perf_counter() - start)
        ours, theirs = (statistics.median(times) for times in seconds.values())
        print(
            f"{dtype}: ours {1e3 * ours:.0f} ms, PyArrow {1e3 * theirs:.0f} ms: "
            f"{theirs / ours:.1f} times as fast"
        )


def _by_pyarrow(sink: io.BytesIO, schema: pa.Schema, codes: np.ndarray) -> None:
    """Write the same column, plain floats and packed integers, without a dictionary."""
    values = pa.array(codes.reshape(-1))
    lists = pa.FixedSizeListArray.from_arrays(values, type=schema.field(0).type)
    packed = codes.dtype.kind == "u"
    pq.write_table(
        pa.table([lists], schema=schema),
        sink,
        compression="zstd" if packed else "none",
        use_dictionary=False,
        write_statistics=False,
        row_group_size=len(codes),
    )


if __name__ == "__main__":
    main()
