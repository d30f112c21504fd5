"""``VectorMemory``: real vectors under keys, superposed, decoded when they come back."""

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from primal._checks import (
    even_dimension,
    positive_scale,
    raised_as,
    real_array,
    require_memory,
    whole_number,
)
from primal._specs import from_spec
from primal.decoding import Box, DecodePlan, DecodeResult, chi_squared_limit, promised_chance
from primal.errors import DataError, ParameterError
from primal.hdc._codes import Codes, nearest_code
from primal.hdc._items import Stored, check_array
from primal.hdc._superposed import KeyValueMemory
from primal.hdc._vocabulary import Space
from primal.maps import DynamicPrime

# Crosstalk, across a wave of length 1. Beyond that phases have tails that no decoder is made for.
_MOST_CROSSTALK = 0.4
# A plan that promises less is never recoverable, and takes long to make.
_LEAST_PROMISE = 0.3
# Phases of float32 sums are better than this, in turns.
_LEAST_NOISE_TURNS = 1e-6


class VectorMemory(Stored):
    """Real vectors under keys: projected to phases, stored, retrieved and decoded.

    The phases of a vector (:class:`primal.DynamicPrime`) and the code of its key are a pair of a
    :class:`KeyValueMemory`, the paper's matrix. A key retrieves the phases of its vector with the
    crosstalk of all other pairs, and the lattice decoder finds the vector behind them. The scale of
    the projection is the smallest that makes retrieved numbers as accurate as asked for, at the
    crosstalk of a full matrix. When a matrix is full, the memory grows by another one.

    Parameters
    ----------
    d : int
        Numbers in a vector.
    D : int, default=512
        Numbers in a code; a matrix has D x D.
    pairs_per_matrix : int, optional
        By default as many as fit; asking for more is a ParameterError that says how many do.
    accuracy : float, default=1e-3
        Largest standard deviation of a retrieved number.
    half_width : float, default=1.0
        Every number of a vector lies within [-half_width, half_width].

    Examples
    --------
    >>> import numpy as np
    >>> from primal import hdc
    >>> memory = hdc.VectorMemory(2, pairs_per_matrix=40)
    >>> x = np.sin(np.arange(200.0)).reshape(100, 2)
    >>> memory.store([f"point {i}" for i in range(100)], x).n_matrices
    3
    >>> found, other = memory.retrieve("point 7"), memory.retrieve("never stored")
    >>> bool(np.abs(found.x - x[7]).max() < 5e-3), str(found.status), str(other.status)
    (True, 'unique', 'failed')
    """

    __match_args__ = ("d", "D", "pairs_per_matrix", "accuracy", "half_width")

    def __init__(
        self,
        d: int,
        D: int = 512,
        *,
        pairs_per_matrix: int | None = None,
        accuracy: float = 1e-3,
        half_width: float = 1.0,
    ) -> None:
        self.D = even_dimension(D)
        self.d = whole_number("d", d, least=1, most=self.D // 2)
        require_memory(4 * self.D**2, f"a matrix of {self.D} x {self.D}")
        self.half_width = positive_scale("half_width", half_width)
        self.accuracy = positive_scale("accuracy", accuracy)
        if not 1e-9 <= self.accuracy / self.half_width <= 0.25:  # float64 phases; a prior to narrow
            raise ParameterError(
                f"accuracy must be between 1e-9 and 0.25 of half_width, got {accuracy!r} for "
                f"half_width = {half_width!r}."
            )
        if pairs_per_matrix is not None:
            whole_number("pairs_per_matrix", pairs_per_matrix, least=1)
        self.pairs_per_matrix, self.map, self.plan = self._fitting(pairs_per_matrix)
        # A key has a second code, bound to the phases of its vector: crosstalk is then unrelated
        # to the vector that is asked for, also where all vectors are alike.
        space = Space(self.D, roles=("key", "value"))
        self._keys, self._masks = space.symbols("key"), space.symbols("value")
        self._matrices: list[KeyValueMemory] = []

    def __len__(self) -> int:
        return sum(matrix.n_pairs for matrix in self._matrices)

    @property
    def n_matrices(self) -> int:
        return len(self._matrices)

    def __contains__(self, key: Any) -> bool:
        return bool(self._holds(self._codes(key)[0]).any())

    def store(self, keys: Any, x: Any) -> Self:
        """Store a vector (d,) under a key, or vectors (n, d) under n; returns the memory itself.

        Keys are str, bytes or numbers, none of them stored before.
        """
        u, masks, shape = self._codes(keys)
        rows = real_array("x", x, last=self.d)
        if rows.shape[:-1] != shape:
            raise DataError(
                f"keys of shape {shape} need vectors of shape {(*shape, self.d)}, got {rows.shape}."
            )
        rows = rows.reshape(-1, self.d)
        if np.abs(rows).max(initial=0.0) > self.half_width:
            raise DataError(
                f"x must lie within half_width = {self.half_width:g} of 0, got numbers up to "
                f"{np.abs(rows).max():g}: make the memory with a larger half_width."
            )
        n_known = int(self._holds(u).sum())
        n_different = len(np.unique(self._keys.positions(keys)))
        if n_known or n_different < len(u):
            raise DataError(
                f"a key is stored once, got {len(u)} keys, {n_different} of them different and "
                f"{n_known} stored before: choose others."
            )
        values = Codes(self.map.turns(rows)) * masks
        first = 0
        while first < len(rows):
            room = self.n_matrices * self.pairs_per_matrix - len(self)
            if not room:
                self._matrices.append(KeyValueMemory(self._keys.space))
                room = self.pairs_per_matrix
            last = min(len(rows), first + room)
            self._matrices[-1].add(u[first:last], values[first:last])
            first = last
        return self

    def retrieve(self, keys: Any) -> DecodeResult:
        """Return the vectors of one or n keys, each with its status.

        A key that was not stored is "failed", as is a vector that crosstalk has hidden.
        """
        u, masks, shape = self._codes(keys)
        if not self._matrices:
            raise DataError("this memory is empty: store vectors first.")
        phases = nearest_code(self._read(u)[0] / masks).turns
        # A batch of keys that were never stored is nothing to warn about.
        return self.plan.decode(phases.reshape(*shape, u.k), check=False)

    def _codes(self, keys: Any) -> tuple[Codes, Codes, tuple[int, ...]]:
        """Return both codes of every key, (n, k), and the shape of the keys, () or (n,)."""
        with raised_as(DataError, "every key of keys must be a name or a number", keep=()):
            u, masks = self._keys.encode(keys), self._masks.encode(keys)
        if u.ndim > 2:
            raise DataError(f"keys must be one or a list of them, got shape {u.shape[:-1]}.")
        rows = [Codes(codes.turns.reshape(-1, codes.k)) for codes in (u, masks)]
        return rows[0], rows[1], u.shape[:-1]

    def _read(self, u: Codes) -> tuple[np.ndarray, np.ndarray]:
        """Return what keys retrieve from the matrix that says most, (n, k), and its power (n,)."""
        found, power = np.zeros(u.shape, dtype=np.complex64), np.zeros(len(u))
        for matrix in self._matrices:
            said = matrix.retrieve(u)
            strength = np.square(np.abs(said)).mean(axis=1)
            more = strength > power
            found[more], power[more] = said[more], strength[more]
        return found, power

    def _holds(self, u: Codes) -> np.ndarray:
        """Return which keys have been stored: their power is 1 more than that of crosstalk."""
        return self._read(u)[1] > 0.5 + _crosstalk(self.pairs_per_matrix, self.D) ** 2

    def _fitting(self, n_pairs: int | None) -> tuple[int, DynamicPrime, DecodePlan]:
        """Return how many pairs a matrix holds, and the map and the plan for them."""
        fits = self.D if n_pairs is None else n_pairs
        while fits:
            found = self._planned(fits)
            if found is not None and n_pairs in (None, fits):
                return fits, *found
            if found is not None:
                break
            fits = fits * 3 // 4
        raise ParameterError(
            f"{n_pairs or 1} pairs of {self.d} numbers to {self.accuracy:g} do not fit into a "
            f"matrix of {self.D} x {self.D}: {fits} fit; raise D or accuracy for more."
        )

    def _planned(self, n_pairs: int) -> tuple[DynamicPrime, DecodePlan] | None:
        """Return the map and the plan for so many pairs, if nearly all of them come back."""
        s = _crosstalk(n_pairs, self.D)
        if s > _MOST_CROSSTALK:
            return None
        # Waves that have become shorter turn further: measured on waves with such noise.
        noise = max(_LEAST_NOISE_TURNS, s * (1.0 + 0.7 * s * s) / (2.0 * math.pi))
        unit = DynamicPrime(self.d, self.D, 1.0, basis="auto", layout="interleaved")
        gram = unit.basis.frequencies.T @ unit.basis.frequencies
        x_std = noise * math.sqrt(np.linalg.inv(gram).diagonal().max())
        # A power of two: no machine rounds it to another one.
        sigma = 2.0 ** math.ceil(math.log2(x_std / self.accuracy))
        m = DynamicPrime(self.d, self.D, sigma, basis="auto", layout="interleaved")
        prior = Box(self.half_width)
        if promised_chance(m.basis.table, prior=prior, noise=noise) < _LEAST_PROMISE:
            return None
        plan = m.decode_plan(prior=prior, noise=noise)
        return (m, plan) if plan.certificate.recoverable else None

    def _fields(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields = {name: getattr(self, name) for name in self.__match_args__}
        states = [matrix.state for matrix in self._matrices]
        state = np.stack(states) if states else np.empty((0, self.D, self.D), dtype=np.float32)
        return fields | {"map": self.map.spec, "n_pairs": len(self)}, {"state": state}

    @classmethod
    def _restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        memory = cls(**{name: fields[name] for name in cls.__match_args__})
        m = from_spec(fields["map"])
        if m != memory.map:  # another version has chosen
            if not isinstance(m, DynamicPrime) or (m.d, m.D) != (memory.d, memory.D):
                raise DataError(f"a memory of d = {memory.d}, D = {memory.D} has no map {m!r}.")
            noise = memory.plan.noise_turns
            memory.map, memory.plan = m, m.decode_plan(prior=Box(memory.half_width), noise=noise)
        n_pairs, full = whole_number("n_pairs", fields["n_pairs"]), memory.pairs_per_matrix
        shape = (-(-n_pairs // full), memory.D, memory.D)
        for number, state in enumerate(check_array(arrays["state"], np.float32, shape)):
            matrix = KeyValueMemory(memory._keys.space)
            matrix._state, matrix.n_pairs = state, min(full, n_pairs - number * full)
            memory._matrices.append(matrix)
        return memory


def _crosstalk(n_pairs: int, D: int) -> float:
    """Return how far crosstalk moves a wave of length 1 to one side, standard deviation.

    For that one of 100,000 keys whose squared similarities with the others sum up to most: they are
    chi-squared, a D-th each. Half of the power is along the wave and turns no phase.
    """
    return math.sqrt(chi_squared_limit(n_pairs - 1) / D / 2.0)
