"""What several tests of the pipeline share: small inputs, maps made for them, stops, shards."""

import numpy as np
import pyarrow as pa

from primal import DynamicPrime, KernelPrime, pipeline

OPTIONS = {"dim": 8, "sigma": 0.5, "rows_per_part": 16}
_OF_THE_MAP = ("dim", "sigma", "gamma", "kernel", "basis", "layout", "precision")


class Stop(BaseException):
    """Stands for a kill: nothing may handle it."""


def encode(source, out, **options):
    """Encode with a map that is made for the columns of the source, as the command line does."""
    given = {name: options.pop(name) for name in _OF_THE_MAP if name in options}
    reading = {name: options[name] for name in ("columns", "on_error") if name in options}
    d = pipeline.count_inputs(source, keep=options.get("keep", ()), **reading)
    D, sigma, gamma = given.pop("dim"), given.pop("sigma", None), given.pop("gamma", None)
    if gamma is None:
        given = {"basis": "auto", "layout": "interleaved"} | given
        return pipeline.encode(source, out, DynamicPrime(d, D, sigma, **given), **options)
    if gamma == "scale":
        gamma = pipeline.scale_gamma(source, kernel=given.get("kernel", "rbf"), **reading)
    m = KernelPrime(d, D, gamma=gamma, form="pair", **given)
    return pipeline.encode(source, out, m, **options)


def stop_after(n_parts):
    """Return a progress that stops a run when so many parts are finished."""
    calls = []

    def progress(*rows):
        calls.append(rows)
        if len(calls) == n_parts:
            raise Stop

    return progress


def points(n, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def arrow_file(path, table):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    return path


def merged(source, folder, n, **options):
    """Encode in n shards and return the path of one file of them."""
    for i in range(n):
        encode(source, folder / f"shards-{n}", shard=(i, n), **options)
    pipeline.merge(folder / f"shards-{n}", folder / f"merged-{n}.parquet")
    return folder / f"merged-{n}.parquet"


def contents(folder):
    """Return every file in a folder and its folders by name."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
