"""What is done to every row: the few values, written into each output, that can do it again."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from primal._checks import one_of, raised_as, whole_number
from primal._extras import require
from primal._specs import from_spec
from primal.errors import DataError, EngineError, ParameterError, SpecError
from primal.pipeline._columns import FEATURES
from primal.pipeline._rows import column_array
from primal.turns import phases_to_bits, phases_to_uint8, phases_to_uint16

ON_ERROR = ("raise", "skip", "null")
# What is stored of a row, and the NumPy type of one stored value.
STORED = {
    "float32": "float32",
    "float16": "float16",
    "uint8-phase": "uint8",
    "uint16-phase": "uint16",
    "bits": "uint8",
}
FLOATS = ("float32", "float16")
_COMPACT = {
    "uint8-phase": phases_to_uint8,
    "uint16-phase": phases_to_uint16,
    "bits": phases_to_bits,
}
LARGEST_PART_ROWS = 1 << 26
# New memory for every part would cost a third of the encoding: the system hands it out page by
# page. So every thread keeps its own.
_memory = threading.local()


def core_map(m: object) -> Any:
    """Return the map of vectors that m is, or that a fitted transformer has as `map_`."""
    found = getattr(m, "map_", m)  # of a fitted transformer
    if not all(hasattr(found, name) for name in ("d", "D", "encode", "turns", "spec")):
        raise ParameterError(
            f"m must be a map such as primal.KernelPrime(d, D) or a fitted transformer, got {m!r}."
        )
    return found


@dataclass(frozen=True)
class Recipe:
    """From rows of a table to stored features."""

    map: Any
    stored: str  # a key of STORED
    columns: tuple[str, ...]  # that hold x: one of lists, or d of numbers
    keep: tuple[str, ...]  # passed through
    on_error: str
    rows_per_part: int

    @cached_property
    def as_json(self) -> dict[str, Any]:
        return {
            "spec": self.map.spec,
            "fingerprint": self.map.fingerprint,
            "stored": self.stored,
            "columns": list(self.columns),
            "keep": list(self.keep),
            "on_error": self.on_error,
            "rows_per_part": self.rows_per_part,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Recipe:
        """Return the recipe that :meth:`as_json` described."""
        with raised_as(SpecError, "the description of the map is damaged"):
            columns, keep = (tuple(map(str, values[name])) for name in ("columns", "keep"))
            return cls(
                _map(json.dumps(values["spec"])),
                one_of("stored", values["stored"], STORED),
                columns,
                keep,
                one_of("on_error", values["on_error"], ON_ERROR),
                whole_number("rows_per_part", values["rows_per_part"], least=1, most=2**48),
            )

    @cached_property
    def frequencies(self) -> np.ndarray | None:
        """In turns per unit of x, of shape (k, d); None where phases are not those of x alone."""
        m, spec = self.map, self.map.spec
        if spec.get("layer_norm") or spec.get("form") == "offset":
            return None
        return m.frequencies if hasattr(m, "frequencies") else m.basis.frequencies

    @cached_property
    def feature_type(self) -> Any:
        """Arrow type of the feature column: lists of as many values as a row has."""
        width = -(-self.map.D // 8) if self.stored == "bits" else self.map.D
        width = width // 2 if self.stored.endswith("-phase") else width
        element = pa.from_numpy_dtype(np.dtype(STORED[self.stored]))
        return pa.list_(pa.field("element", element, nullable=False), width)

    def schema(self, kept: pa.Schema) -> pa.Schema:
        """Return the columns of the output: the kept ones, then the features."""
        features = pa.field(FEATURES, self.feature_type, nullable=self.on_error == "null")
        return pa.schema([*kept, features])

    def codes(self, x: np.ndarray, layer: Any = None, device: str = "cpu") -> np.ndarray:
        """Return the stored values of rows of shape (n, d), as an array of shape (n, width).

        They may lie in memory that the next call in the same thread uses again. `layer` is a
        PyTorch module on a device that makes float features in place of the map.
        """
        if self.stored not in FLOATS:
            return _COMPACT[self.stored](self.map.turns(x))
        size = len(x) * self.map.D
        if getattr(_memory, "values", None) is None or _memory.values.size < size:
            _memory.values = np.empty(size, dtype=np.float32)
        z = _memory.values[:size].reshape(len(x), self.map.D)
        if layer is None:
            self.map.encode(x, out=z)
        else:
            torch = require("torch", "a layer")
            try:
                with torch.inference_mode():
                    # float64 holds every type that is read, and NumPy's memory may be read-only.
                    made = layer.to(device)(torch.tensor(x, dtype=torch.float64).to(device))
                    if made.dtype != torch.float32:
                        raise EngineError(
                            f"the layer makes {made.dtype}: pass it dtype=torch.float32."
                        )
                    torch.from_numpy(z).copy_(made)
            except (RuntimeError, AssertionError) as error:  # the latter from one without CUDA
                raise EngineError(
                    f"engine with device {device!r} cannot be used: {error}"
                ) from None
        return z if self.stored == "float32" else z.astype(np.float16)

    def present(self, features: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return stored features as they were read: codes of the rows that have some, and which."""
        kind, own = features.type, self.feature_type
        same = pa.types.is_fixed_size_list(kind) and kind.value_type == own.value_type
        if not same or kind.list_size != own.list_size:
            raise DataError(f"the features are {kind}, and the map makes {own}: were they changed?")
        valid = features.is_valid().to_numpy(zero_copy_only=False)
        flat = features.drop_null().flatten().to_numpy(zero_copy_only=False)
        codes = flat.reshape(-1, self.feature_type.list_size)
        if self.on_error == "null" and self.stored in FLOATS:  # NaN is null in a .npy file
            there = ~np.isnan(codes[:, 0])
            valid = valid.copy()
            valid[valid] = there
            codes = codes[there]
        return codes, valid

    def npy_rows(self, table: pa.Table) -> np.ndarray:
        """Return the rows of a ``.npy`` file from the table of a part, NaN for nulls."""
        codes, valid = self.present(column_array(table, FEATURES))
        if valid.all():
            return codes
        whole = np.full((len(valid), codes.shape[1]), np.nan, dtype=codes.dtype)
        whole[valid] = codes
        return whole


@lru_cache(maxsize=4)
def _map(spec_json: str) -> Any:
    """Return the map of a spec; kept, since every part of an output has the same one."""
    return core_map(from_spec(json.loads(spec_json)))
