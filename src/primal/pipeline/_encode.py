"""``encode``: from tables on disk to features on disk."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from primal._checks import one_of, raised_as
from primal.errors import DataError, ParameterError
from primal.pipeline._blocks import Span, shard_spans, spans_after, total_rows
from primal.pipeline._inputs import InputFile, check_unchanged, find_inputs
from primal.pipeline._job import EncodedBlock, Job, Progress
from primal.pipeline._local import encode_here
from primal.pipeline._manifest import beside, finished_manifest
from primal.pipeline._recipe import FLOATS, Recipe
from primal.pipeline._record import Record, head_bytes, tail_bytes, versions
from primal.pipeline._settings import Settings, make_recipe
from primal.pipeline._store import Workspace

__all__ = ["EncodeReport", "encode", "finish", "output_format", "report_of"]

_SUFFIXES = {".parquet": "parquet", ".npy": "npy"}


@dataclass(frozen=True)
class EncodeReport:
    """What an encoding came to.

    Attributes
    ----------
    path : Path
        The output.
    rows : int
        Rows in it.
    rejected : int
        Rows, or unreadable blocks and files, that were turned down; see `rejected_path`.
    rejected_path : Path or None
    fingerprint : str
        Of the map.
    spec : dict
        Of the map, for :func:`primal.from_spec`.
    gamma : float or None
        The gamma in use, where a kernel was asked for.
    resumed_rows : int
        Rows that an earlier run had finished.
    already_complete : bool
        Whether the output was there and nothing had to be done.
    seconds : float
    """

    path: Path
    rows: int
    rejected: int
    rejected_path: Path | None
    fingerprint: str
    spec: dict[str, Any]
    gamma: float | None
    resumed_rows: int
    already_complete: bool
    seconds: float


def encode(
    src: str | Path | Sequence[str | Path],
    dst: str | Path,
    *,
    dim: int,
    columns: Sequence[str] | str = (),
    sigma: float | None = None,
    gamma: float | str | None = None,
    kernel: str = "rbf",
    basis: str = "auto",
    layout: str = "interleaved",
    precision: str = "exact",
    dtype: str = "float32",
    keep: Sequence[str] | str = (),
    batch_rows: int | None = None,
    shard: tuple[int, int] = (0, 1),
    on_error: str = "raise",
    engine: str = "local",
    address: str | None = None,
    num_gpus: float = 0.0,
    device: str = "cpu",
    overwrite: bool = False,
    progress: Progress | None = None,
    fit_progress: Progress | None = None,
) -> EncodeReport:
    """Encode the rows of tables and write their features.

    The output appears when it is complete. A run that was killed goes on where it stopped when
    it is called again, and gives the same bytes as one that was not.

    Parameters
    ----------
    src : path, pattern or sequence of paths
        Parquet, CSV, Arrow IPC, ``.npy`` or ``.npz``: a file, a folder or a pattern.
    dst : path
        Ends in ``.parquet``, or in ``.npy`` for the features alone.
    dim : int
        Number of outputs D, even.
    columns : str or sequence of str
        Columns of numbers, patterns such as ``"x*"``, or one column of lists. May be left out
        for files that hold one column or one matrix.
    sigma : float, optional
        Scale of the frequencies of :class:`primal.DynamicPrime`.
    gamma : float or "scale", optional
        Instead of sigma: parameter of a kernel, as of :class:`primal.sklearn.PrimeFeatures` in
        its paired form. ``"scale"`` is 1 / (d Var x) of all rows, from a first pass over them.
    kernel : str, default="rbf"
        With gamma: "rbf", "laplacian", "cauchy", "matern12", "matern32", "matern52", "prime".
    basis, layout, precision : str
        Of the map.
    dtype : {"float32", "float16", "uint8-phase", "uint16-phase", "bits"}, default="float32"
        What is stored of a row: D floats, D / 2 phases of 8 or 16 bits, or D sign bits.
    keep : str or sequence of str
        Columns passed through.
    batch_rows : int, optional
        Rows of one row group, the unit of work; by default about 16 MB of features.
    shard : (int, int), default=(0, 1)
        Encode part i of n; see :func:`primal.pipeline.merge`.
    on_error : {"raise", "skip", "null"}, default="raise"
        What to do with rows that are not d finite numbers: stop and name the first; leave
        them out; or write them with null features. The latter two list them in
        ``DST.rejected.csv``.
    engine : {"local", "ray"}, default="local"
    address : str, optional
        Of a Ray cluster, all of whose nodes must see the input at the same path; without it the
        one that ``RAY_ADDRESS`` names, or a new one on this machine.
    num_gpus : float, default=0
        GPUs of each Ray worker, which then makes float features there.
    device : str, default="cpu"
        Where float features are made; ``"cuda"`` gives the same bits through PyTorch, unless
        ``precision="fast"``, whose last bits depend on where they are made.
    overwrite : bool, default=False
        Replace what is there.
    progress : callable, optional
        Called with rows done and rows in all (None while that is unknown).
    fit_progress : callable, optional
        The same during the first pass of ``gamma="scale"``.

    Returns
    -------
    report : EncodeReport

    Raises
    ------
    DataError
        For bad data, naming file, row and column.
    ParameterError
        For a bad option, or another output in the same place.
    PrimalError
        If the output cannot be written.

    Examples
    --------
    >>> import numpy as np
    >>> from primal import pipeline
    >>> np.save("points.npy", np.linspace(-1.0, 1.0, 30).reshape(10, 3))
    >>> report = pipeline.encode("points.npy", "features.parquet", dim=64, sigma=0.1)
    >>> report.rows, report.spec["basis"]
    (10, 'kronecker')
    >>> pipeline.encode("points.npy", "features.parquet", dim=64, sigma=0.1).already_complete
    True
    """
    start = time.perf_counter()
    if not isinstance(dst, (str, Path)):
        raise ParameterError(f"dst must be a path, got {dst!r}.")
    target = Path(dst)
    settings = Settings(
        dim=dim,
        columns=_names("columns", columns),
        keep=_names("keep", keep),
        sigma=sigma,
        gamma=gamma,
        kernel=kernel,
        basis=basis,
        layout=layout,
        precision=precision,
        dtype=dtype,
        batch_rows=batch_rows,
        shard=shard,
        on_error=on_error,
        format=output_format(target),
    )
    _check_engine(engine, address, num_gpus, device, dtype)
    files = find_inputs(src, target)
    request = settings.as_json() | {"inputs": [asdict(file) for file in files]}
    done = finished_manifest(target, request, overwrite)
    if done is not None:
        seconds = time.perf_counter() - start
        record = Record.from_json(done["record"])
        return report_of(target, record, already_complete=True, seconds=seconds)
    with Workspace(target, request, head_bytes(None, None, settings.format), overwrite) as work:
        job = _job(work, settings, files, fit_progress)
        spans = list(shard_spans(files, job.names, job.recipe.batch_rows, settings.shard))
        left = spans
        if work.entries:
            last = work.entries[-1]
            left = spans_after(spans, last.file, last.number, last.ends_file, job.recipe.batch_rows)
        resumed = work.n_rows
        job = replace(job, device="cuda" if num_gpus else device)
        blocks = _engine(engine, address, num_gpus)(job, left)
        work.extend(blocks, total_rows(spans), progress)
        check_unchanged(files)
        record = Record.of(job.recipe, files, settings.shard, work.entries)
        schema = job.schema if settings.format == "parquet" else None
        finish(work, record, schema, settings.format)
    seconds = time.perf_counter() - start
    return report_of(target, record, resumed_rows=resumed, seconds=seconds)


def finish(
    work: Workspace,
    record: Record,
    schema: pa.Schema | None,
    format: str,
    manifest: dict[str, Any] | None = None,
) -> None:
    """Write the ends of an output whose blocks are all there, and move it to its place."""
    tail = b"" if schema is None else tail_bytes(record, schema, work.row_groups())
    head = head_bytes(record, record.recipe, format)
    known = {"record": record.as_json(), "versions": versions()}
    work.finish(head, tail, known | (manifest or {}))


def output_format(dst: Path) -> str:
    """Return "parquet" or "npy" for the name of an output."""
    if dst.suffix not in _SUFFIXES:
        raise ParameterError(f"the output must end in .parquet or .npy, got {dst.name!r}.")
    return _SUFFIXES[dst.suffix]


def _job(
    work: Workspace,
    settings: Settings,
    files: tuple[InputFile, ...],
    fit_progress: Progress | None,
) -> Job:
    """Return the job; one that goes on takes what the first run found out."""
    if work.manifest:
        damaged = f"{work.folder} is damaged, remove it"
        with raised_as(DataError, damaged):
            recipe = Recipe.from_json(work.manifest["recipe"])
            kept_bytes = bytes.fromhex(work.manifest["kept"])
        try:
            kept = pa.ipc.read_schema(pa.py_buffer(kept_bytes))
        except (OSError, ValueError) as error:
            raise DataError(f"{damaged}: {error}") from None
    else:
        recipe, kept = make_recipe(settings, files, fit_progress)
        work.begin({"recipe": recipe.as_json(), "kept": kept.serialize().to_pybytes().hex()})
    return Job(files, recipe, kept, settings.format)


def _engine(
    name: str, address: str | None, num_gpus: float
) -> Callable[[Job, Iterable[Span]], Iterator[EncodedBlock]]:
    if name == "local":
        return encode_here
    from primal.pipeline._ray import encode_on_ray

    return lambda job, spans: encode_on_ray(job, spans, address=address, num_gpus=num_gpus)


def _check_engine(
    engine: str, address: str | None, num_gpus: float, device: str, dtype: str
) -> None:
    one_of("engine", engine, ("local", "ray"))
    if not isinstance(device, str):
        raise ParameterError(f"device must be the name of one, such as 'cpu', got {device!r}.")
    if not (isinstance(num_gpus, (int, float)) and 0 <= num_gpus < math.inf):
        raise ParameterError(f"num_gpus must be a number, 0 or more, got {num_gpus!r}.")
    if engine == "local" and (address is not None or num_gpus):
        raise ParameterError("address and num_gpus are for engine = 'ray'; device is for 'local'.")
    if engine == "ray" and device != "cpu":
        raise ParameterError(f"with engine = 'ray' pass num_gpus instead of device = {device!r}.")
    if (num_gpus or device != "cpu") and dtype not in FLOATS:
        raise ParameterError(
            f"a GPU makes float32 or float16 features, not {dtype!r}: leave it out."
        )


def _names(what: str, given: object) -> tuple[str, ...]:
    try:
        names = (given,) if isinstance(given, str) else tuple(given)  # type: ignore[arg-type]
    except TypeError:
        names = (None,)
    if not all(isinstance(name, str) for name in names):
        raise ParameterError(f"{what} must be a name or a list of names, got {given!r}.")
    return tuple(str(name) for name in names)


def report_of(
    path: Path,
    record: Record,
    *,
    resumed_rows: int = 0,
    already_complete: bool = False,
    seconds: float = 0.0,
) -> EncodeReport:
    """Return the report on an output with this record."""
    return EncodeReport(
        path,
        record.n_rows,
        record.n_rejected,
        beside(path, "rejected.csv") if record.n_rejected else None,
        record.fingerprint,
        record.recipe.spec,
        record.recipe.gamma,
        resumed_rows,
        already_complete,
        seconds,
    )
