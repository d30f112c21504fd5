"""``KeyValueMemory``: pairs in one matrix or in one vector, recalled by key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import one_of, require_memory, whole_number
from primal._specs import from_spec
from primal.errors import DataError
from primal.hdc._algebra import bind, unbind
from primal.hdc._arrays import from_side_by_side, side_by_side
from primal.hdc._capacity import recall_accuracy
from primal.hdc._codes import operand, phasors
from primal.hdc._convert import float32_rows, to_numpy
from primal.hdc._items import Cleaned, ItemMemory
from primal.hdc._space import Space
from primal.hdc._storage import Stored, check_array

FORMS = ("matrix", "vector")


@dataclass(frozen=True)
class Crosstalk:
    """How much of other values a recall brings along, relative to the length of the value.

    Attributes
    ----------
    measured : float
        Root mean square over the pairs looked at.
    predicted : float
        sqrt((P - 1) / D) in a matrix and sqrt(P - 1) in a vector, for P pairs whose keys are
        as similar as independent codes.
    """

    measured: float
    predicted: float


class KeyValueMemory(Stored):
    """Key and value codes, superposed.

    Parameters
    ----------
    space : Space
    form : {"matrix", "vector"}, default="matrix"
        "matrix" is the paper's memory, the sum of outer products v u^T, with D**2 numbers; a
        "vector" the sum of products, with D: far noisier, for keys and values of two roles.

    Attributes
    ----------
    n_pairs : int
        Pairs stored.
    state : ndarray
        float32 of shape (D, D), or complex64 of shape (k,).

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("key", "value"))
    >>> keys, values = space.symbols("key"), hdc.ItemMemory(space.symbols("value"))
    >>> capitals = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid"}
    >>> codes = values.add(capitals.values()).codes
    >>> memory = hdc.KeyValueMemory(space).add(keys.encode(list(capitals)), codes)
    >>> memory.recall(keys.encode("Italy"), values).items
    ['Rome']
    """

    _parts = ("space", "form")

    def __init__(self, space: Space, form: str = "matrix") -> None:
        if not isinstance(space, Space):
            raise DataError(f"a memory needs a Space, got {type(space).__name__}.")
        self.space, self.form = space, one_of("form", form, FORMS)
        self.n_pairs = 0
        if form == "matrix":
            require_memory(4 * space.D**2, f"a matrix of {space.D} x {space.D}")
            self.state = np.zeros((space.D, space.D), dtype=np.float32)
        else:
            self.state = np.zeros(space.k, dtype=np.complex64)

    def add(self, keys: Any, values: Any) -> KeyValueMemory:
        """Store pairs of Codes or bundles of shape (k,) or (n, k); returns the memory itself."""
        u, v = self._pairs(keys, values)
        if not self.state.flags.writeable:  # mapped from a file
            self.state = self.state.copy()
        if self.form == "matrix":
            self.state += side_by_side(phasors(v)).T @ float32_rows(u)
        else:
            self.state += phasors(bind(u, v)).sum(axis=0)
        self.n_pairs += len(u)
        return self

    def retrieve(self, keys: Any) -> np.ndarray:
        """Return the values of keys, with crosstalk: complex64 of the shape of `keys`."""
        u = self._rows(keys)
        if self.form == "matrix":
            found = from_side_by_side(float32_rows(u) @ self.state.T)
        else:
            found = unbind(self.state, u).astype(np.complex64)
        return found.reshape(tuple(keys.shape))

    def recall(self, keys: Any, values: ItemMemory, *, top: int = 1) -> Cleaned:
        """Return the items of `values` nearest to what keys retrieve."""
        if not isinstance(values, ItemMemory):
            raise DataError(f"values must be an ItemMemory, got {type(values).__name__}.")
        return values.cleanup(self.retrieve(keys), top=top)

    def crosstalk(self, keys: Any, values: Any) -> Crosstalk:
        """Measure the crosstalk on pairs that were stored, beside its prediction."""
        v = phasors(self._pairs(keys, values)[1])
        noise = np.linalg.norm(np.atleast_2d(self.retrieve(keys)) - v, axis=1)
        power = np.square(noise / np.linalg.norm(v, axis=1)).mean()
        return Crosstalk(float(math.sqrt(power)), self.predicted_crosstalk)

    @property
    def predicted_crosstalk(self) -> float:
        """See :class:`Crosstalk`."""
        others = max(0, self.n_pairs - 1)
        return math.sqrt(others / self.space.D if self.form == "matrix" else others)

    @property
    def noise_turns(self) -> float:
        """Standard deviation of a phase of what `retrieve` returns, in turns, by prediction.

        The `noise` of :meth:`primal.DynamicPrime.decode_plan`, when values are codes of real
        vectors, for a matrix that is not full.
        """
        # Crosstalk has equal parts along the value, which do no harm, and across it.
        return min(0.25, self.predicted_crosstalk / math.sqrt(2.0) / (2.0 * math.pi))

    def expected_accuracy(self, n_values: int) -> float:
        """Return how often the right one of `n_values` values is recalled, by the same model."""
        return recall_accuracy(self.space.D, n_values, max(1, self.n_pairs), self.form)

    def _fields(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields = {"space": self.space.spec, "form": self.form, "n_pairs": self.n_pairs}
        return fields, {"state": self.state}

    @classmethod
    def _restored(
        cls, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> KeyValueMemory:
        memory = cls.__new__(cls)  # a mapped state needs no room for another one
        memory.space = from_spec(fields["space"])
        memory.form = one_of("form", fields["form"], FORMS)
        memory.n_pairs = whole_number("n_pairs", fields["n_pairs"], most=2**63 - 1)
        D, k = memory.space.D, memory.space.k
        wanted = (np.float32, (D, D)) if memory.form == "matrix" else (np.complex64, (k,))
        memory.state = check_array(arrays["state"], *wanted)
        return memory

    def _pairs(self, keys: Any, values: Any) -> tuple[Any, Any]:
        u, v = self._rows(keys), self._rows(values)
        if len(u) != len(v):
            raise DataError(f"{len(u)} keys and {len(v)} values do not make pairs.")
        return u, v

    def _rows(self, codes: Any) -> Any:
        rows = to_numpy(codes)
        if operand(rows).ndim > 2 or rows.shape[-1] != self.space.k:
            raise DataError(
                f"codes of this memory have {self.space.k} phases, got shape {rows.shape}."
            )
        return rows[None] if rows.ndim == 1 else rows
