"""What several tests of the pipeline share: small inputs, stops, shards put together."""

import numpy as np
import pyarrow as pa

from primal import pipeline

OPTIONS = {"dim": 8, "sigma": 0.5, "batch_rows": 16}


class Stop(BaseException):
    """Stands for a kill: nothing may handle it."""


def stop_after(n_blocks):
    """Return a progress that stops a run when so many blocks are finished."""
    calls = []

    def progress(*told):
        calls.append(told)
        if len(calls) == n_blocks:
            raise Stop

    return progress


def points(n, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def arrow_file(path, table):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    return path


def merged(source, folder, n, **options):
    """Encode in n shards and return the path of what they come to."""
    parts = [folder / f"part-{n}-{i}.parquet" for i in range(n)]
    for i, part in enumerate(parts):
        pipeline.encode(source, part, shard=(i, n), **options)
    pipeline.merge(parts, folder / f"merged-{n}.parquet")
    return folder / f"merged-{n}.parquet"
