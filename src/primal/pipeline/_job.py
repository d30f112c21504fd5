"""One block through the recipe: bad rows apart, features made, and the part written.

A recipe is what is done to every row: the few values, written into each output, that can do it
again. A job is a recipe and everything else that making a part takes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from primal._checks import one_of, raised_as, whole_number
from primal._extras import require
from primal._files import written_whole
from primal._specs import from_spec
from primal.errors import DataError, EngineError, ParameterError, SpecError
from primal.maps import DynamicPrime, KernelPrime
from primal.pipeline._blocks import Block, Blocks
from primal.pipeline._output import LIST_NAME, PART_NAME, REJECTED_HEADER, on_disk
from primal.pipeline._parquet import RowGroup, feature_group, write_file
from primal.pipeline._record import METADATA_KEY, Extent, Part, Record
from primal.pipeline._rows import FEATURES, ON_ERROR, Problem, converted, matrix
from primal.pipeline._sources import MALFORMED
from primal.search import COMPACT, STORED, n_columns

FLOATS = ("float32", "float16")
# Rows of a part; when their number is left open, as many as have this many bytes of features.
_MOST_ROWS, _MOST_DEFAULT_ROWS, _PART_BYTES = 1 << 26, 1 << 16, 1 << 24


@dataclass(frozen=True)
class Recipe:
    """From rows of a table to stored features; whatever is wrong with it is a ParameterError."""

    map: Any  # of vectors, or a fitted transformer with one
    stored: str = "float32"  # one of STORED
    on_error: str = "raise"
    rows_per_part: Any = None  # by default a power of two, about 16 MB of features, no more of x
    columns: tuple[str, ...] = ()  # that hold x: one of lists, or d of numbers
    keep: tuple[str, ...] = ()  # passed through
    names: tuple[str, ...] = field(init=False)  # of both, each once
    # Arrow type of the feature column: lists of as many values as a row has.
    feature_type: Any = field(init=False, compare=False)

    def __post_init__(self) -> None:
        m = getattr(self.map, "map_", self.map)
        if not isinstance(m, (DynamicPrime, KernelPrime)):
            raise ParameterError(
                "m must be a map such as primal.KernelPrime(d, D) or a fitted transformer, got "
                f"{self.map!r}."
            )
        one_of("stored", self.stored, STORED)
        one_of("on_error", self.on_error, ON_ERROR)
        if self.stored not in FLOATS and (getattr(m, "form", "pair") != "pair" or m.D % 2):
            raise ParameterError(
                f"{self.stored} needs pairs of cosine and sine, and m has {m.D} features of form "
                f"{getattr(m, 'form', 'pair')!r}: use an even number and form='pair'."
            )
        rows = max(1, min(_MOST_DEFAULT_ROWS, _PART_BYTES // max(4 * m.D, 8 * m.d)))
        rows = 1 << (rows.bit_length() - 1)
        if self.rows_per_part is not None:
            rows = whole_number("rows_per_part", self.rows_per_part, least=1, most=_MOST_ROWS)
        # Floats may be an odd number of offset cosines.
        width = m.D if self.stored in FLOATS else n_columns(self.stored, m.D // 2)
        element = pa.from_numpy_dtype(STORED[self.stored])
        features = pa.list_(pa.field("element", element, nullable=False), width)
        names = tuple(dict.fromkeys((*self.columns, *self.keep)))
        vars(self).update(map=m, rows_per_part=rows, names=names, feature_type=features)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Recipe:
        if "decode" in values:
            raise SpecError("this holds decoded rows: name what encode wrote, with features in it.")
        with raised_as(SpecError, "the description of the map is damaged"):
            m, columns, keep = from_spec(values["spec"]), values["columns"], values["keep"]
            if len(columns) not in (1, m.d):
                raise SpecError(f"the map takes {m.d} numbers, and the columns are {columns!r:.60}")
            own = (values[name] for name in ("stored", "on_error", "rows_per_part"))
            return cls(m, *own, *(tuple(map(str, names)) for names in (columns, keep)))

    def codes(self, x: np.ndarray, layer: Any = None, device: str = "cpu") -> np.ndarray:
        """Return the stored values of rows of shape (n, d), as an array of shape (n, width).

        `layer` is a PyTorch module on a device that makes float features in place of the map.
        """
        if self.stored not in FLOATS:
            return COMPACT[self.stored](self.map.turns(x))
        if layer is None:
            z = self.map.encode(x)
        else:
            torch = require("torch", "a layer")
            try:
                with torch.inference_mode():
                    # float64 holds every type that is read, and NumPy's memory may be read-only.
                    made = layer.to(device)(torch.tensor(x, dtype=torch.float64).to(device)).cpu()
            except (RuntimeError, AssertionError) as error:  # the latter from one without CUDA
                raise EngineError(
                    f"engine with device {device!r} cannot be used: {error}"
                ) from None
            if made.dtype != torch.float32:
                raise EngineError(f"the layer makes {made.dtype}: pass it dtype=torch.float32.")
            z = made.numpy()
        return z.astype(STORED[self.stored], copy=False)

    def present(self, features: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return stored features as they were read: codes of the rows that have some, and which."""
        kind, own = features.type, self.feature_type
        same = pa.types.is_fixed_size_list(kind) and kind.value_type == own.value_type
        if not same or kind.list_size != own.list_size:
            raise DataError(f"the features are {kind}, and the map makes {own}: were they changed?")
        valid = features.is_valid().to_numpy(zero_copy_only=False)
        flat = features.drop_null().flatten().to_numpy(zero_copy_only=False)
        codes = flat.reshape(-1, own.list_size)
        if self.on_error == "null" and self.stored in FLOATS:  # NaN is null in a .npy file
            there = ~np.isnan(codes[:, 0])
            valid = valid.copy()
            valid[valid] = there
            codes = codes[there]
        return codes, valid

    def npy_rows(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return the rows of a ``.npy`` file from those of a part, NaN for nulls."""
        codes, valid = self.present(batch.column(FEATURES))
        if valid.all():
            return codes
        whole = np.full((len(valid), codes.shape[1]), np.nan, dtype=codes.dtype)
        whole[valid] = codes
        return whole


@dataclass(frozen=True)
class Made:
    """The rows of a part, in one row group or none."""

    groups: tuple[RowGroup, ...]
    rows: int
    rejected: tuple[tuple[str, ...], ...] = ()  # file, row, column, value, reason
    extent: Extent | None = None  # of the rows that were encoded, where there are any
    statuses: dict[str, int] = field(default_factory=dict)  # verdicts of a decoding
    x: np.ndarray | None = None  # what an encoding read, zeros in bad rows
    codes: np.ndarray | None = None  # what it stores
    null: np.ndarray | None = None  # rows without codes


@dataclass(frozen=True)
class Job:
    """Everything that making a part takes; small, so that it can be sent to any worker."""

    blocks: Blocks
    target: Path  # the output
    folder: Path  # where its parts go
    about: dict[str, Any]  # see Record
    schema: pa.Schema  # of a part
    recipe: Recipe  # of the features

    @cached_property
    def run(self) -> str:
        """What parts of one run have in common: how they are made, from which files."""
        inputs = [[Path(file.path).name, file.n_bytes] for file in self.blocks.files]
        return hashlib.sha256(json.dumps([self.about, inputs], sort_keys=True).encode()).hexdigest()

    def make(self, block: Block) -> Made:
        raise NotImplementedError

    def npy_rows(self, batch: pa.RecordBatch) -> np.ndarray:
        return self.recipe.npy_rows(batch)

    def write(self, block: Block) -> Record:
        """Make a part, write it, and return its record; DataError for a row that is rejected."""
        made, key = self.make(block), (block.file, block.number)
        part = Part(*key, made.rows, block.ends_file, len(made.rejected))
        record = Record(self.about, self.run, (part,), made.extent, made.statuses)
        metadata = {METADATA_KEY: json.dumps(record.as_json()).encode()}
        with on_disk(self.folder):
            if made.rejected:  # listed first: a part stands for a list that is there
                text, path = io.StringIO(), self.folder / LIST_NAME.format(*key)
                csv.writer(text, lineterminator="\n").writerows(made.rejected)
                path.parent.mkdir(exist_ok=True)
                with written_whole(path) as stream:
                    lines = text.getvalue().encode("utf-8", errors="replace")
                    stream.write(REJECTED_HEADER + lines)
            with written_whole(self.folder / PART_NAME.format(*key)) as stream:
                write_file(stream, self.schema.with_metadata(metadata), made.groups)
        return record


@dataclass(frozen=True)
class EncodeJob(Job):
    """Parts of features; `layer` is a PyTorch module that makes floats in place of the map."""

    layer: Any = None
    device: str = "cpu"

    def make(self, block: Block) -> Made:
        path, recipe = self.blocks.files[block.file].path, self.recipe
        try:
            batch, kept = block.table(), []
            x, problems = matrix(batch, recipe.columns, recipe.map.d, path)
        except DataError as error:
            if recipe.on_error == "raise":
                raise
            return Made((), 0, ((path, str(block.first_row or ""), "", "", str(error)),))
        for name in recipe.keep:
            column, bad = converted(batch.column(name), self.schema.field(name).type, name)
            kept.append(column)
            problems += bad
        if MALFORMED in batch.schema.names:
            column = batch.column(MALFORMED)
            rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)).tolist()
            reason = "wrong number of fields"
            problems += [Problem(row, "", column[row].as_py()[:60], reason) for row in rows]
        try:
            codes = recipe.codes(x, self.layer, self.device)
        except DataError:  # finite numbers are rejected for their size only
            reason = "too large: a phase would be too many turns long to have a fraction"
            x = x.copy()
            for row in self._too_large(x):
                j = int(np.abs(x[row]).argmax())
                name = recipe.columns[j if len(recipe.columns) > 1 else 0]
                problems.append(Problem(row, name, str(x[row, j]), reason))
                x[row] = 0.0
            codes = recipe.codes(x, self.layer, self.device)
        # One problem for each row: the last one found, since it is the most telling.
        last = {problem.row: problem for problem in problems}
        problems = [last[row] for row in sorted(last)]
        if problems and recipe.on_error == "raise":
            raise complaint(path, block.first_row, problems)
        rejected = tuple((path, str(block.first_row + row), *why) for row, *why in problems)
        bad = np.zeros(len(x), dtype=bool)
        bad[sorted(last)] = True
        if problems and recipe.on_error == "skip":
            codes, kept = codes[~bad], [column.filter(pa.array(~bad)) for column in kept]
        null = bad if recipe.on_error == "null" else None
        if not len(codes):
            return Made((), 0, rejected, x=x, codes=codes, null=null)
        groups = (feature_group(FEATURES, pa.table(kept, recipe.keep), codes, null),)
        m, spec = recipe.map, self.about["spec"]
        frequencies = None
        if not spec.get("layer_norm") and spec.get("form") != "offset":  # phases of x alone
            frequencies = m.frequencies if hasattr(m, "frequencies") else m.basis.table.values
        extent = Extent.of(x[~bad] if problems else x, frequencies)
        return Made(groups, len(codes), rejected, extent, x=x, codes=codes, null=null)

    def _too_large(self, x: np.ndarray, first: int = 0) -> list[int]:
        """Return the rows whose phases are too many turns long, counted from `first`."""
        try:
            self.recipe.map.turns(x)
        except DataError:
            if len(x) == 1:
                return [first]
            half = len(x) // 2
            return self._too_large(x[:half], first) + self._too_large(x[half:], first + half)
        return []


def complaint(path: str, first_row: int, problems: list[Problem]) -> DataError:
    """Return the error for the first of some bad rows of a block."""
    first = problems[0]
    where = f"{path}: row {first_row + first.row}"
    if first.column:
        where += f", column {first.column!r}"
    more = f" ({len(problems)} such rows in this block)" if len(problems) > 1 else ""
    return DataError(
        f"{where} holds {first.value!r}: {first.reason}{more}. Rows count from 0. Fix it, or pass "
        "on_error='skip' or 'null' (--on-error) to leave such rows out."
    )
