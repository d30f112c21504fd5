"""``KeyValueMemory``: pairs, superposed; and the decoder of items in slots."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from primal._checks import instance_of, one_of, require_memory, whole_number
from primal._specs import from_spec
from primal.errors import DataError
from primal.hdc._codes import (
    Codes,
    as_bundle,
    combine,
    from_side_by_side,
    memory_rows,
    query_rows,
    require_sizes,
    side_by_side,
    softmax,
    to_numpy,
    unit_rows,
)
from primal.hdc._decode import message_passing
from primal.hdc._items import Cleaned, ItemMemory, Stored, check_array, named
from primal.hdc._vocabulary import Space

FORMS = ("matrix", "vector")
# Largest number in keys and values whose products are stored: float32 holds products of them.
_LARGEST_FACTOR = 1e9


class KeyValueMemory(Stored):
    """`n_pairs` pairs of key and value codes, superposed in one array `state`.

    Parameters
    ----------
    space : Space
        Of the keys and the values.
    form : {"matrix", "vector"}, default="matrix"
        ``"matrix"``, the paper's memory, is the sum of outer products v u^T, float32 of shape
        (D, D); ``"vector"`` the sum of products, complex64 of shape (k,): far noisier, for keys and
        values of two roles.

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("key", "value"))
    >>> keys, values = space.symbols("key"), hdc.ItemMemory(space.symbols("value"))
    >>> capitals = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid"}
    >>> codes = values.add(capitals.values()).codes
    >>> memory = hdc.KeyValueMemory(space).add(keys.encode(list(capitals)), codes)
    >>> memory.recall(keys.encode("Italy"), values).items
    'Rome'
    >>> memory.recall(keys.encode(["Spain", "France"]), values).items == ["Madrid", "Paris"]
    array([ True,  True])
    """

    __match_args__ = ("space", "form")

    def __init__(self, space: Space, form: str = "matrix") -> None:
        instance_of("space", space, Space)
        self.space, self.form, self.n_pairs = space, one_of("form", form, FORMS), 0
        dtype, shape = _state_type(space, form)
        require_memory(np.dtype(dtype).itemsize * math.prod(shape), f"a memory of shape {shape}")
        self._state = np.zeros(shape, dtype)

    @property
    def state(self) -> np.ndarray:
        """The sum, read-only."""
        view = self._state.view()
        view.flags.writeable = False
        return view

    def add(self, keys: Any, values: Any) -> Self:
        """Store pairs of Codes or bundles of shape (k,) or (n, k); returns the memory itself."""
        u, v = self._pairs(keys, values)
        if not self._state.flags.writeable:  # mapped from a file
            self._state = self._state.copy()
        if self.form == "matrix":
            self._state += side_by_side(as_bundle(v)).T @ query_rows("keys", u, self.space.k)
        else:
            self._state += as_bundle(combine(u, v, np.add)).sum(axis=0)
        self.n_pairs += len(u)
        return self

    def retrieve(self, keys: Any) -> np.ndarray:
        """Return the values of keys, with crosstalk: complex64 of the shape of `keys`."""
        if self.form == "matrix":
            found = from_side_by_side(query_rows("keys", keys, self.space.k) @ self._state.T)
        else:
            u = memory_rows("keys", keys, self.space.k)
            require_sizes("keys", u, _LARGEST_FACTOR)
            found = combine(self._state, u, np.subtract).astype(np.complex64)
        return found.reshape(tuple(keys.shape))

    def recall(self, keys: Any, values: ItemMemory, *, top: int | None = None) -> Cleaned:
        """Return the items of `values` nearest to what keys retrieve, as `values.cleanup` does."""
        instance_of("values", values, ItemMemory)
        return values.cleanup(self.retrieve(keys), top=top)

    def crosstalk(self, keys: Any, values: Any) -> float:
        """Return the length of the noise that other pairs add to a retrieved value.

        The root mean square over the pairs given, relative to the length of the value. For keys as
        similar as independent codes it is sqrt((n_pairs - 1) / D) in a matrix and
        sqrt(n_pairs - 1) in a vector.
        """
        v = as_bundle(self._pairs(keys, values)[1])
        lengths = np.linalg.norm(v, axis=1)
        if not (len(v) and lengths.all()):
            raise DataError(
                "crosstalk is relative to the length of values: pass one pair or more, and no "
                "value of zeros."
            )
        noise = np.linalg.norm(np.atleast_2d(self.retrieve(keys)) - v, axis=1)
        return math.sqrt(np.square(noise / lengths).mean())

    @property
    def noise_turns(self) -> float:
        """Standard deviation of a phase of what `retrieve` returns, in turns, by prediction.

        The `noise` of :meth:`primal.DynamicPrime.decode_plan`, for codes of real vectors as values.
        """
        others = max(0, self.n_pairs - 1)
        crosstalk = math.sqrt(others / self.space.D if self.form == "matrix" else others)
        # It has equal parts along the value, which do no harm, and across it.
        return min(0.25, crosstalk / math.sqrt(2.0) / (2.0 * math.pi))

    def _fields(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields = {"space": self.space.spec, "form": self.form, "n_pairs": self.n_pairs}
        return fields, {"state": self._state.view(np.float32)}

    @classmethod
    def _restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        memory = cls.__new__(cls)  # a mapped state needs no room for another one
        memory.space = from_spec(fields["space"])
        instance_of("space", memory.space, Space)
        memory.form = one_of("form", fields["form"], FORMS)
        memory.n_pairs = whole_number("n_pairs", fields["n_pairs"], most=2**63 - 1)
        dtype, shape = _state_type(memory.space, memory.form)
        memory._state = check_array(arrays["state"].view(dtype), dtype, shape)
        return memory

    def _pairs(self, keys: Any, values: Any) -> tuple[Any, Any]:
        u = memory_rows("keys", keys, self.space.k)
        v = memory_rows("values", values, self.space.k)
        if self.form == "matrix":  # which takes keys of length 1
            require_sizes("values", v)
        else:
            require_sizes("keys", u, _LARGEST_FACTOR)
            require_sizes("values", v, _LARGEST_FACTOR)
        if len(u) != len(v):
            raise DataError(f"{len(u)} keys and {len(v)} values do not make pairs.")
        return u, v


def _state_type(space: Space, form: str) -> tuple[type, tuple[int, ...]]:
    """Return the type and the shape of the state of a key-value memory."""
    return (np.float32, (space.D, space.D)) if form == "matrix" else (np.complex64, (space.k,))


@dataclass(frozen=True, eq=False)
class Recalled:
    """Items read from n slots of a bundle.

    `items` (n,) (object) are the names found, `indices` (n,) their places in the memory, and
    `confidence` (n,) the chance of each to be right; `residual` is the length of the part that they
    do not explain, relative to the bundle.
    """

    items: np.ndarray
    indices: np.ndarray
    confidence: np.ndarray
    residual: float


def decode_slots(bundle: Any, slots: Codes, items: ItemMemory) -> Recalled:
    """Return the item of every slot of a bundle of slot times item, by message passing.

    Each slot holds a chance for every item, a round takes away what all slots together explain, and
    every slot is read again from what is left and its own part.

    Parameters
    ----------
    bundle : complex array of shape (k,)
        The sum of slot times item.
    slots : Codes of shape (n, k)
        Of positions or keys.
    items : ItemMemory
        All items that may be in a slot.

    Returns
    -------
    Recalled
        `items`, `indices` and `confidence` of the slots; and `residual`, the length of the part of
        the bundle that they do not explain, relative to it.

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("key", "value"))
    >>> slots = space.symbols("key").encode(["name", "city"])
    >>> values = hdc.ItemMemory(space.symbols("value"), ["Ada", "Bob", "Paris", "Rome"])
    >>> bundle = slots[0] * values.code("Ada") + slots[1] * values.code("Rome")
    >>> hdc.decode_slots(bundle, slots, values).items.tolist()
    ['Ada', 'Rome']
    """
    instance_of("items", items, ItemMemory)
    if not len(items):
        raise DataError("items are empty: add some to the memory.")
    s, keys = as_bundle(to_numpy(bundle)), as_bundle(to_numpy(slots))
    k = items.codes.k
    if s.shape != (k,) or keys.ndim != 2 or keys.shape[1] != k:
        raise DataError(
            f"expected a bundle of shape ({k},) and slots of shape (n, {k}), as the items have "
            f"them, got {s.shape} and {keys.shape}."
        )
    require_sizes("a bundle", s)
    require_sizes("slots", keys)
    if not len(keys):
        return Recalled(np.empty(0, object), np.empty(0, int), np.empty(0), 0.0)
    D, matrix = 2 * k, unit_rows(items.codes)
    # Scaled so that a code has length 1.
    s = s.astype(np.complex64) * np.float32(math.sqrt(2.0 / D))
    length = float(np.linalg.norm(s)) or 1.0
    chances = message_passing(
        s,
        D,
        np.zeros((len(keys), len(items)), dtype=np.float32),
        read=lambda rest: side_by_side(rest * keys.conj()) @ matrix.T,
        chance=lambda answers, variance: softmax(answers / variance),
        explain=lambda chances: (keys * from_side_by_side(chances @ matrix)).sum(axis=0),
        tolerance=1e-3,
    )
    chosen = chances.argmax(axis=1)
    left = s - (keys * from_side_by_side(matrix[chosen])).sum(axis=0)
    residual = float(np.linalg.norm(left)) / length
    confidence = chances[np.arange(len(keys)), chosen].astype(np.float64)
    return Recalled(named(items.items, chosen), chosen, confidence, residual)
