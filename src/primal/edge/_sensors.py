"""``SensorMap``: integers as sensors give them to phases, with the bits that a chip makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from primal._checks import instance_of, one_of, positions, real_array
from primal._lazy import cached_property
from primal._specs import from_spec, make_spec, spec_fields
from primal.edge._q15 import waves_q15
from primal.edge._schemes import Exact, ExactScheme, HadamardScheme, Scheme, TableScheme
from primal.errors import DataError, ParameterError
from primal.exact import Finish, HadamardTable, round_turns, static_turns, waves, write_features
from primal.maps import DynamicPrime, KernelPrime, StaticPrime

KINDS = ("auto", "q15", "q31", "lsb16", "lsb32", "hadamard32", "hadamard64")
INPUTS = ("int8", "uint8", "int16", "uint16", "int32")
_EXACT_INPUTS = {"q15": "int16", "q31": "int32"}
_FIELDS = ("map", "scale", "zero", "kind", "inputs")
# Sums of products of 16-bit (32-bit) numbers with digits of 32 (21) bits have to fit into 64.
_MOST_INPUTS = {"q15": 1 << 16, "q31": 1 << 11}


class SensorMap:
    """A map of raw sensor integers n, whose x is scale (n - zero), in whole numbers throughout.

    The affine integers of TensorFlow Lite: units of a converter, a mean and a standard deviation
    all go into the table of frequencies, and nothing is computed in floating point before the
    phases are there. What this class returns is, bit for bit, what a header of :func:`export_c`
    computes on a chip.

    Parameters
    ----------
    m : DynamicPrime or KernelPrime
        The map to approximate; `layer_norm` cannot be had in integers and is rejected.
    scale : float or array_like of shape (d,), default=1.0
        Units of x for one unit of each sensor, positive.
    zero : float or array_like of shape (d,), default=0.0
        The n at which x is zero; need not be whole.
    kind : str, default="auto"
        ``"lsb16"`` and ``"lsb32"`` hold 2 or 4 bytes for each input and frequency;
        ``"hadamard32"`` and ``"hadamard64"`` add and subtract words in place of a table, for maps
        whose basis is ``hadamard``; ``"q15"`` and ``"q31"`` (n of 16 or 32 bits, zero = 0, scale a
        power of two) have the bits of ``m`` itself, for 8 or 12 bytes. ``"auto"`` is
        ``"hadamard64"`` for the basis ``hadamard``, else ``"lsb32"``.
    inputs : {"int8", "uint8", "int16", "uint16", "int32"}, optional
        Type of n on the chip; int16 by default, int32 for ``"q31"``.

    Attributes
    ----------
    map : DynamicPrime or KernelPrime
        The map that this one approximates.
    d, D : int
        Numbers of sensors and of features.
    kind : str
        How phases are computed: a choice of `kind` other than "auto".
    inputs : dtype
        The type of n on the chip.

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal.edge import SensorMap
    >>> m = primal.KernelPrime(3, 8, gamma=0.5)
    >>> sensor = SensorMap(m, scale=1 / 16384, zero=[0, 0, -120])  # an accelerometer, in g
    >>> n = np.array([[16384, -8192, 100]])
    >>> x = (n - [0, 0, -120]) / 16384
    >>> bool(abs(sensor.encode(n) - m.encode(x)).max() < 1e-5)
    True
    >>> sensor.encode_q15(n).dtype
    dtype('int16')
    >>> f"{sensor.error_turns():.1e}"  # for any n of 16 bits
    '1.1e-05'
    """

    def __init__(
        self,
        m: DynamicPrime | KernelPrime,
        scale: object = 1.0,
        zero: object = 0.0,
        *,
        kind: str = "auto",
        inputs: str | None = None,
    ) -> None:
        instance_of("m", m, DynamicPrime, KernelPrime)
        inner = m.map if isinstance(m, KernelPrime) else m
        if inner._layer_norm:
            raise ParameterError(
                "layer_norm divides every row by its own deviation, which integers cannot do "
                "exactly: make the map with layer_norm=False, and scale by constants."
            )
        self.map, self.d, self.D, self.table = m, m.d, m.D, inner.basis.table
        self.n_frequencies = self.table.shape[0]
        # Where waves go, and what is added to phases; their factors are `factors`.
        self.finish = m.finish if isinstance(m, KernelPrime) else Finish(m.layout)
        self._scale, self._zero = positive_column("scale", scale, m.d), column("zero", zero, m.d)
        hadamard = isinstance(self.table, HadamardTable)
        if one_of("kind", kind, KINDS) == "auto":
            kind = "hadamard64" if hadamard else "lsb32"
        if kind.startswith("hadamard") and not hadamard:
            raise ParameterError(
                f"kind {kind!r} needs a map with basis 'hadamard', got {inner.basis.name!r}: use "
                "kind='lsb32'."
            )
        self.kind = kind
        exact = _EXACT_INPUTS.get(kind)
        inputs = one_of("inputs", exact or "int16" if inputs is None else inputs, INPUTS)
        self.inputs = np.dtype(inputs)
        if exact:
            self._check_exact(exact, inner)

    @cached_property
    def factors(self) -> np.ndarray:
        """Factors of the waves in the columns, float64 of shape (D,)."""
        return column_factors(self.map)

    @cached_property
    def factors_q15(self) -> np.ndarray:
        """The same in units of 2**-15 of the largest, uint16: all 32768 where they are equal."""
        return np.rint(self.factors * (32768 / self.factors.max())).astype(np.uint16)

    @cached_property
    def scheme(self) -> Scheme:
        """The tables that a chip needs, with the steps that it takes."""
        if self.kind in _EXACT_INPUTS:
            # A power of two: see _check_exact.
            return ExactScheme(self.map, self.table, 1 - int(np.frexp(self._scale[0])[1]))
        scale, zero = Exact.from_floats(self._scale), Exact.from_floats(self._zero)
        if isinstance(self.map, KernelPrime) and self.map.input_scales is not None:
            scale = scale * Exact.from_floats(self.map.input_scales)
        bits = int(self.kind[-2:])
        if self.kind.startswith("hadamard") and isinstance(self.table, HadamardTable):
            return HadamardScheme.make(self.table, scale, zero, bits)
        return TableScheme.make(self.table, scale, zero, bits)

    @cached_property
    def offsets(self) -> np.ndarray | None:
        """What is added to sums, uint32 of shape (k,), or None: zero points, offsets of the map."""
        own, given = self.scheme.offsets, self.finish.offsets
        if own is None or given is None:
            return given if own is None else own
        return own + given

    def turns(self, n: object) -> np.ndarray:
        """Return the phases of sensor integers n (..., d): uint32 (..., k) in 2**-32 turn."""
        rows = self._rows(n)
        turns = self.scheme.turns(rows.reshape(-1, self.d))
        if self.offsets is not None and not isinstance(self.scheme, ExactScheme):
            turns += self.offsets
        return turns.reshape(*rows.shape[:-1], turns.shape[1])

    def encode(self, n: object) -> np.ndarray:
        """Return the features of n (..., d): float32 (..., D), in the columns of the map."""
        turns = self.turns(n)
        out = np.empty((*turns.shape[:-1], self.D), dtype=np.float32)
        finish = Finish(self.finish.layout)
        write_features(turns.reshape(-1, turns.shape[-1]), out.reshape(-1, self.D), finish)
        out *= self.factors.astype(np.float32)
        return out

    def encode_q15(self, n: object) -> np.ndarray:
        """Return the features as integers: int16 (..., D) in 1 / 32767 of the largest factor."""
        return scaled_q15(self.waves_q15(n), self.factors_q15).astype(np.int16)

    def waves_q15(self, n: object) -> np.ndarray:
        """Return the same without factors, which read-outs have in their weights."""
        return in_columns(*waves_q15(self.turns(n)), self.finish.layout, self.D)

    def encode_bits(self, n: object) -> np.ndarray:
        """Return signs of cosines and sines, uint8 of shape (..., ceil(D / 8)).

        Bit i, which is bit i % 8 of byte i // 8, is 1 where output i of cos, sin, cos, sin, ... is
        not negative.
        """
        cos, sin = waves(self.turns(n))
        signs = np.stack([cos >= 0.0, sin >= 0.0], axis=-1)
        signs = signs.reshape(*cos.shape[:-1], 2 * cos.shape[-1])
        return np.packbits(signs, axis=-1, bitorder="little")

    def error_turns(self, largest: object = None) -> float:
        """Return a bound of the distance of any phase from that of ``scale (n - zero)``, in turns.

        Parameters
        ----------
        largest : int or array_like of shape (d,), optional
            No |n| is larger; by default what the type of the inputs can hold.
        """
        if largest is None:
            limits = np.iinfo(self.inputs)
            largest = max(limits.max, -limits.min)
        return self.scheme.error(np.abs(column("largest", largest, self.d)))

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values from which :func:`primal.from_spec` rebuilds this map."""
        values = (self.map.spec, self._scale.tolist(), self._zero.tolist(), self.kind)
        return make_spec(
            "SensorMap", **dict(zip(_FIELDS, (*values, self.inputs.name), strict=True))
        )

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> SensorMap:
        given = spec_fields("SensorMap", fields, _FIELDS)
        return cls(from_spec(given.pop("map")), **given)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_spec, (self.spec,)

    def __repr__(self) -> str:
        return f"SensorMap({self.map!r}, kind={self.kind!r}, inputs={self.inputs.name!r})"

    def _rows(self, n: object) -> np.ndarray:
        rows = positions(n, "n").astype(np.int64)
        if rows.ndim == 0 or rows.shape[-1] != self.d:
            raise DataError(f"n must have {self.d} values along its last axis, got {rows.shape}.")
        limits = np.iinfo(self.inputs)
        low, high = (int(rows.min()), int(rows.max())) if rows.size else (0, 0)
        if low < limits.min or high > limits.max:
            raise DataError(
                f"n must fit into {self.inputs}, from {limits.min} to {limits.max}, got values "
                f"from {low} to {high}: clip them, or make the map with another `inputs`."
            )
        return rows

    def _check_exact(self, inputs: str, inner: DynamicPrime) -> None:
        wrong = ""
        if self.inputs != inputs:
            wrong = f"inputs of {inputs}, got {self.inputs}"
        elif self._zero.any():
            wrong = f"zero = 0, got {self._zero[np.argmax(self._zero != 0.0)]}"
        elif (self._scale != self._scale[0]).any() or np.frexp(self._scale[0])[0] != 0.5:
            wrong = f"one power of two as scale, such as 2**-15, got {self._scale[0]}"
        elif isinstance(self.map, KernelPrime) and self.map.input_scales is not None:
            wrong = "one gamma for all inputs: others are applied in floating point"
        elif inner.precision != "exact":
            wrong = "precision='exact': the bits of fast phases depend on a matrix library"
        elif self.d > _MOST_INPUTS[self.kind]:
            wrong = f"at most {_MOST_INPUTS[self.kind]} inputs, got {self.d}"
        if wrong:
            raise ParameterError(f"kind {self.kind!r} needs {wrong}; use kind='lsb32'.")


class PositionSensor(SensorMap):
    """A `StaticPrime` as headers take it: its one input is a position of 64 bits."""

    def __init__(self, m: StaticPrime) -> None:
        self.map: Any = m
        self.d, self.D, self.n_frequencies = 1, m.D, m.D // 2
        self.finish, self.kind, self.inputs = Finish(m.layout), "static", np.dtype(np.int64)

    def turns(self, n: Any) -> np.ndarray:
        return round_turns(static_turns(n[..., 0].astype(np.uint64), self.map.increments))

    def __repr__(self) -> str:
        return repr(self.map)


def in_columns(cos: np.ndarray, sin: np.ndarray, layout: str, D: int) -> np.ndarray:
    """Return values of cosines and sines (..., k) in the D columns of a layout."""
    if layout == "block":
        return np.concatenate([cos, sin], axis=-1)[..., :D]
    both = np.stack([cos, sin], axis=-1)
    return both.reshape(*cos.shape[:-1], 2 * cos.shape[-1])[..., :D]


def column_factors(m: Any) -> np.ndarray:
    """Return what a map multiplies the waves of its columns by, float64 of shape (D,)."""
    if not isinstance(m, KernelPrime):
        return np.ones(m.D)
    return in_columns(m.amplitudes, m.amplitudes, m.finish.layout, m.D)


def scaled_q15(values: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return 16-bit values times `factors_q15`, to the nearest."""
    return (values * factors.astype(np.int32) + (1 << 14)) >> 15


def column(name: str, value: object, n: int) -> np.ndarray:
    """Return one number or n of them as float64 of shape (n,)."""
    array = real_array(name, value)
    if array.ndim and array.shape != (n,):
        raise ParameterError(f"{name} must be one number or {n} of them, got shape {array.shape}.")
    return np.full(n, array, dtype=np.float64)


def positive_column(name: str, value: object, n: int) -> np.ndarray:
    """Return the same, all of them above zero."""
    array = column(name, value, n)
    if not (array > 0.0).all():
        raise ParameterError(f"{name} must be positive, got {array.min()}.")
    return array
