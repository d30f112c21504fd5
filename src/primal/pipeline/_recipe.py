"""What is done to every row: the few values, written into each output, that can do it again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from primal._checks import one_of, positive_scale, raised_as, whole_number
from primal._extras import require
from primal._specs import from_spec as map_from_spec
from primal.engines import Finish
from primal.errors import DataError, EngineError, SpecError
from primal.maps import DynamicPrime
from primal.pipeline._row_groups import FEATURES

__all__ = ["DTYPES", "FLOATS", "Recipe", "feature_type"]

# Types of stored features and the NumPy type of one stored value.
DTYPES = {
    "float32": "float32",
    "float16": "float16",
    "uint8-phase": "uint8",
    "uint16-phase": "uint16",
    "bits": "uint8",
}
# Those of them that hold the outputs themselves.
FLOATS = ("float32", "float16")


@dataclass(frozen=True)
class Recipe:
    """From rows of a table to stored features.

    Attributes
    ----------
    spec : dict
        Of the map; :func:`primal.from_spec` rebuilds it.
    amplitude : float
        Factor of float features: 1, or sqrt(2 / D) for a kernel.
    dtype : str
        A key of `DTYPES`.
    columns : tuple of str
        Columns that hold x: one of lists, or d of numbers.
    keep : tuple of str
        Columns passed through.
    on_error : {"raise", "skip", "null"}
    batch_rows : int
        Rows of one row group.
    kernel : str or None
        Kernel that the features approximate, where one was asked for.
    gamma : float or None
        Its parameter.
    """

    spec: dict[str, Any]
    amplitude: float
    dtype: str
    columns: tuple[str, ...]
    keep: tuple[str, ...]
    on_error: str
    batch_rows: int
    kernel: str | None
    gamma: float | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"columns": list(self.columns), "keep": list(self.keep)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Recipe:
        """Return the recipe that :meth:`as_json` described."""
        try:
            fields = {name: values[name] for name in cls.__dataclass_fields__}
        except (KeyError, TypeError) as error:
            raise SpecError(f"the metadata of the file lacks {error}: was it changed?") from None
        with raised_as(SpecError, "the metadata of the file are damaged"):
            names = {name: tuple(map(str, fields[name])) for name in ("columns", "keep")}
            fields |= names | {"amplitude": positive_scale("amplitude", fields["amplitude"])}
            one_of("on_error", fields["on_error"], ("raise", "skip", "null"))
            one_of("dtype", fields["dtype"], DTYPES)
            whole_number("batch_rows", fields["batch_rows"], least=1, most=2**48)
            return cls(**fields)

    @property
    def map(self) -> DynamicPrime:
        return _map(json.dumps(self.spec))

    @property
    def width(self) -> int:
        """Number of stored values of one row."""
        return stored_width(self.dtype, self.map.D)

    @property
    def feature_type(self) -> pa.DataType:
        return feature_type(self.dtype, self.map.D)

    def schema(self, kept: pa.Schema) -> pa.Schema:
        """Return the columns of the output: the kept ones, then the features."""
        features = pa.field(FEATURES, self.feature_type, nullable=self.on_error == "null")
        return pa.schema([*kept, features])

    def codes(
        self, x: np.ndarray, device: str = "cpu", out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the stored values of rows x of shape (n, d), as an array of shape (n, width).

        `out` is memory for float32 features of shape (n, D), which may hold the result.
        """
        m = self.map
        if self.dtype in FLOATS:
            z = np.empty((len(x), m.D), dtype=np.float32) if out is None else out
            if device == "cpu":
                m.write_features(x, z, Finish(m.layout, self.amplitude))
            else:
                _write_from(device, m, x, self.amplitude, z)
            return z if self.dtype == "float32" else z.astype(np.float16)
        from primal.search import _codes

        convert = {
            "uint8-phase": _codes.phases_to_uint8,
            "uint16-phase": _codes.phases_to_uint16,
            "bits": _codes.waves_to_bits,
        }[self.dtype]
        return convert(m.turns(x))

    def stored(self, features: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """Return stored features as they were read, the inverse of writing `codes`.

        Returns
        -------
        codes : ndarray of shape (n_valid, width)
            Of the rows that have features.
        valid : ndarray of n bool
        """
        valid = features.is_valid().to_numpy(zero_copy_only=False)
        flat = features.drop_null().flatten().to_numpy(zero_copy_only=False)
        codes = flat.reshape(-1, self.width)
        if self.on_error == "null" and self.dtype in FLOATS:  # NaN is null in a .npy file
            there = ~np.isnan(codes[:, 0])
            valid = valid.copy()
            valid[valid] = there
            codes = codes[there]
        return codes, valid

    def out_of_range(self, x: np.ndarray) -> list[int]:
        """Return the rows whose phases would be too many turns long for the map."""
        if not len(x) or self._in_range(x):
            return []
        return [row for row in range(len(x)) if not self._in_range(x[row : row + 1])]

    def _in_range(self, x: np.ndarray) -> bool:
        try:
            self.map._check_range(x)
        except DataError:
            return False
        return True


@lru_cache(maxsize=4)
def _map(spec_json: str) -> DynamicPrime:
    """Return the map of a spec; kept, since a worker gets many blocks with the same one."""
    found = map_from_spec(json.loads(spec_json))
    if not isinstance(found, DynamicPrime):
        raise SpecError("the spec is not one of a map of vectors.")
    return found


def _write_from(
    device: str, m: DynamicPrime, x: np.ndarray, amplitude: float, out: np.ndarray
) -> None:
    """Write amplitude times the features of x, made by PyTorch on a device, with NumPy's bits."""
    torch = require("torch", f"device {device!r}")
    try:
        with torch.inference_mode():
            layer = _layer(json.dumps(m.spec), device)
            # float64 holds every type that is read, and NumPy's memory may be read-only.
            points = torch.tensor(x, dtype=torch.float64).to(device)
            z = layer(points)
            if amplitude != 1.0:
                z *= float(np.float32(amplitude))
            torch.from_numpy(out).copy_(z)
    except (RuntimeError, AssertionError) as error:  # the latter from a PyTorch without CUDA
        raise EngineError(f"device {device!r} cannot be used: {error}") from None


@lru_cache(maxsize=4)
def _layer(spec_json: str, device: str) -> Any:
    import torch

    from primal.torch import DynamicPrime as Layer

    spec = json.loads(spec_json)
    names = ("d", "D", "sigma", "basis", "layout", "precision", "primes")
    options = {name: spec[name] for name in names}
    return Layer(**options, device=device, dtype=torch.float32)


def feature_type(dtype: str, D: int) -> pa.DataType:
    """Return the Arrow type of the feature column."""
    element = pa.from_numpy_dtype(np.dtype(DTYPES[dtype]))
    return pa.list_(pa.field("element", element, nullable=False), stored_width(dtype, D))


def stored_width(dtype: str, D: int) -> int:
    """Return how many values are stored for a row."""
    if dtype == "bits":
        return -(-D // 8)
    return D // 2 if dtype.endswith("-phase") else D
