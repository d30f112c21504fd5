"""From raw vectors to codes: a map, the scales of its columns, and a kind of code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from primal import _specs
from primal._checks import positions, real_array
from primal.engines import row_blocks
from primal.errors import DataError, ParameterError, SpecError
from primal.maps import DynamicPrime, KernelPrime, StaticPrime
from primal.search._codes import phases_to_uint8, phases_to_uint16, waves_to_bits
from primal.search._kinds import KINDS, columns_of
from primal.turns import round_turns, static_turns

__all__ = ["Encoder"]

# Phases made at once: 16 MB.
_BLOCK_PHASES = 1 << 22
_COMPACT = {
    "bits": waves_to_bits,
    "uint8-phase": phases_to_uint8,
    "uint16-phase": phases_to_uint16,
}


@dataclass(frozen=True)
class Encoder:
    """What turns raw vectors into codes.

    Attributes
    ----------
    map : DynamicPrime or StaticPrime
    column_scales : tuple of d floats or None
        Factors of the columns of x, when a `PrimeFeatures` has one gamma for each.
    """

    map: DynamicPrime | StaticPrime
    column_scales: tuple[float, ...] | None = None

    @classmethod
    def of(cls, m: object) -> Encoder:
        """Return the encoder of a map, a fitted `PrimeFeatures`, or the spec of a map."""
        if isinstance(m, Encoder):
            return m
        if isinstance(m, (DynamicPrime, StaticPrime)):
            return cls(m)
        if isinstance(m, Mapping):
            rebuilt = _specs.from_spec(m)
            if isinstance(rebuilt, KernelPrime):
                return cls._of_kernel(rebuilt)
            if not isinstance(rebuilt, (DynamicPrime, StaticPrime)):
                raise SpecError(
                    f"an index needs the spec of a map, got a {type(rebuilt).__name__}."
                )
            return cls(rebuilt)
        if isinstance(kernel := getattr(m, "map_", m), KernelPrime):
            return cls._of_kernel(kernel)
        raise ParameterError(
            "m must be a DynamicPrime, a StaticPrime, a fitted PrimeFeatures or a map's spec, "
            f"got {type(m).__name__}."
        )

    @classmethod
    def _of_kernel(cls, m: KernelPrime) -> Encoder:
        if m.form != "pair" or m.D % 2:
            raise ParameterError(
                f"codes are made from pairs of cosine and sine, got {m.D} features "
                f"of form {m.form!r}: use an even number and form='pair'."
            )
        scales = m.input_scales
        return cls(m.map, None if scales is None else tuple(float(s) for s in scales))

    @property
    def n_frequencies(self) -> int:
        """Number k of frequencies."""
        return self.map.D // 2

    @property
    def spec(self) -> dict[str, object]:
        """The JSON values that rebuild this encoder."""
        scales = None if self.column_scales is None else list(self.column_scales)
        return {"map": self.map.spec, "column_scales": scales}

    @classmethod
    def from_spec(cls, spec: Mapping[str, object]) -> Encoder:
        """Return the encoder that a spec describes."""
        base = cls.of(spec["map"])
        scales = spec.get("column_scales")
        if scales is None:
            return base
        d = base.map.d if isinstance(base.map, DynamicPrime) else 1
        checked = real_array("column_scales", scales, last=d)
        return cls(base.map, tuple(float(s) for s in checked))

    def codes(self, x: object, kind: str) -> np.ndarray:
        """Return the codes of raw vectors, made block by block.

        Parameters
        ----------
        x : array_like of shape (n, d) or (d,), for a StaticPrime integers of shape (n,) or ()
        kind : str

        Returns
        -------
        codes : ndarray of shape (n, columns) or (columns,)
        """
        array, single = self._rows(x)
        out = np.empty((len(array), columns_of(kind, self.n_frequencies)), dtype=KINDS[kind])
        for rows in row_blocks(len(array), self.n_frequencies, _BLOCK_PHASES):
            block = array[rows]
            if self.column_scales is not None:
                block = block * np.array(self.column_scales)
            if kind in _COMPACT:
                out[rows] = _COMPACT[kind](self._turns(block))
            else:
                out[rows] = self.map.encode(block)
        return out[0] if single else out

    def _rows(self, x: object) -> tuple[np.ndarray, bool]:
        """Return vectors in rows, and whether x was one vector alone."""
        if isinstance(self.map, StaticPrime):
            array, wanted, ndim = positions(x), "(n,) or ()", 0
        else:
            d = self.map.d
            array, wanted, ndim = real_array("x", x, last=d), f"(n, {d}) or ({d},)", 1
        if array.ndim not in (ndim, ndim + 1):
            raise DataError(f"x must have shape {wanted}, got {array.shape}.")
        single = array.ndim == ndim
        return array[None] if single else array, single

    def _turns(self, block: np.ndarray) -> np.ndarray:
        if isinstance(self.map, DynamicPrime):
            return self.map.turns(block)
        return round_turns(static_turns(block.astype(np.uint64), self.map.increments))
