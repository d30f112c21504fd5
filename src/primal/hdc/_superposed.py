"""``KeyValueMemory`` and ``SequenceMemory``: pairs and sequences, superposed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from primal._checks import one_of, require_memory, whole_number
from primal._specs import from_spec
from primal.errors import DataError
from primal.hdc._algebra import bind, bundle, unbind
from primal.hdc._arrays import from_side_by_side, listed, side_by_side, softmax
from primal.hdc._capacity import recall_accuracy
from primal.hdc._codes import Codes, phasors
from primal.hdc._decode import message_passing
from primal.hdc._forms import LARGEST, float32_rows, memory_rows, require_sizes, to_numpy
from primal.hdc._items import Cleaned, ItemMemory, Stored, check_array, item_bytes, items_of
from primal.hdc._structures import places_beside
from primal.hdc._vocabulary import Space, Vocabulary

FORMS = ("matrix", "vector")
# Below this share of the bundle a residual is rounding.
_EXPLAINED = 1e-3


@dataclass(frozen=True)
class Crosstalk:
    """How much of other values a recall brings along, relative to the length of the value.

    `measured` is the root mean square over the pairs looked at; `predicted`, for P pairs whose keys
    are as similar as independent codes, sqrt((P - 1) / D) in a matrix and sqrt(P - 1) in a vector.
    """

    measured: float
    predicted: float


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
    ['Rome']
    """

    __match_args__ = ("space", "form")

    def __init__(self, space: Space, form: str = "matrix") -> None:
        self.space, self.form = _a_space(space), one_of("form", form, FORMS)
        self.n_pairs = 0
        dtype, shape = _state_type(space, form)
        require_memory(np.dtype(dtype).itemsize * math.prod(shape), f"a memory of shape {shape}")
        self.state = np.zeros(shape, dtype)

    def add(self, keys: Any, values: Any) -> Self:
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
        u = memory_rows("keys", keys, self.space.k)
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
        if not len(v):
            raise DataError("crosstalk is measured on one pair or more, got none.")
        noise = np.linalg.norm(np.atleast_2d(self.retrieve(keys)) - v, axis=1)
        power = np.square(noise / np.linalg.norm(v, axis=1)).mean()
        return Crosstalk(float(math.sqrt(power)), self._predicted_crosstalk())

    def _predicted_crosstalk(self) -> float:
        others = max(0, self.n_pairs - 1)
        return math.sqrt(others / self.space.D if self.form == "matrix" else others)

    @property
    def noise_turns(self) -> float:
        """Standard deviation of a phase of what `retrieve` returns, in turns, by prediction.

        The `noise` of :meth:`primal.DynamicPrime.decode_plan`, for codes of real vectors as values.
        """
        # Crosstalk has equal parts along the value, which do no harm, and across it.
        return min(0.25, self._predicted_crosstalk() / math.sqrt(2.0) / (2.0 * math.pi))

    def _fields(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields = {"space": self.space.spec, "form": self.form, "n_pairs": self.n_pairs}
        return fields, {"state": self.state}

    @classmethod
    def _restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        memory = cls.__new__(cls)  # a mapped state needs no room for another one
        memory.space = _a_space(from_spec(fields["space"]))
        memory.form = one_of("form", fields["form"], FORMS)
        memory.n_pairs = whole_number("n_pairs", fields["n_pairs"], most=2**63 - 1)
        memory.state = check_array(arrays["state"], *_state_type(memory.space, memory.form))
        return memory

    def _pairs(self, keys: Any, values: Any) -> tuple[Any, Any]:
        u = memory_rows("keys", keys, self.space.k)
        v = memory_rows("values", values, self.space.k, below=LARGEST)
        if len(u) != len(v):
            raise DataError(f"{len(u)} keys and {len(v)} values do not make pairs.")
        return u, v


def _a_space(space: object) -> Space:
    if not isinstance(space, Space):
        raise DataError(f"a memory needs a Space, got {type(space).__name__}.")
    return space


def _state_type(space: Space, form: str) -> tuple[type, tuple[int, ...]]:
    """Return the type and the shape of the state of a key-value memory."""
    return (np.float32, (space.D, space.D)) if form == "matrix" else (np.complex64, (space.k,))


@dataclass(frozen=True, eq=False)
class Recalled:
    """Items read from slots of a bundle.

    `indices` (n,) are their places among the items to choose from, `confidence` (n,) the chance of
    each to be right; `residual` is the length of what they do not explain, relative to the bundle.
    `beyond_capacity` says that plain reading would be right less than 99 times in 100, and that the
    items found do not explain the bundle either.
    """

    items: list
    indices: np.ndarray
    confidence: np.ndarray
    residual: float
    beyond_capacity: bool


class SequenceMemory(Stored):
    """A growing sequence of items in one vector `state` (k,): the sum of position times item.

    Parameters
    ----------
    positions : str or vocabulary
        A role, other than that of the items, whose hashed positions are taken; or a vocabulary:
        :class:`Symbols` keep long sequences apart, :class:`Integers` can be shifted by binding.
    items : ItemMemory
        What the sequence may consist of.

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("position", "letter"))
    >>> letters = hdc.ItemMemory(space.symbols("letter"), list("abcdefghijklmnopqrstuvwxyz "))
    >>> memory = hdc.SequenceMemory("position", letters)
    >>> memory.extend("small vectors hold a long sentence").length
    34
    >>> "".join(memory.recall().items)
    'small vectors hold a long sentence'
    >>> memory.at(6)
    'v'
    """

    __match_args__ = ("positions", "items")

    def __init__(self, positions: str | Vocabulary, items: ItemMemory) -> None:
        if not isinstance(items, ItemMemory):
            raise DataError(f"items must be an ItemMemory, got {type(items).__name__}.")
        self.positions, self.items = places_beside(items.vocabulary, positions), items
        self.length = 0
        self.state = np.zeros(items.vocabulary.space.k, dtype=np.complex64)

    def extend(self, items: Sequence[Any]) -> Self:
        """Append items of the memory, in order; returns the memory itself."""
        places = [self.items.place(item) for item in listed("items", items)]
        slots = self._slots(self.length, self.length + len(places))
        self.state = self.state + bundle(bind(slots, self.items.codes[places]))
        self.length += len(places)
        return self

    def at(self, position: int) -> Any:
        """Return the item most similar to what lies at one position."""
        place = whole_number("position", position)
        if place >= self.length:
            raise DataError(f"position {place} is behind the end of {self.length} items.")
        found = unbind(self.state, self._slots(place, place + 1)[0])
        return self.items.cleanup(found).items[0]

    def recall(self) -> Recalled:
        """Return the whole sequence, decoded at once by :func:`decode_slots`."""
        return decode_slots(self.state, self._slots(0, self.length), self.items)

    def _fields(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        fields = {
            "positions": self.positions.spec,
            "vocabulary": self.items.vocabulary.spec,
            "n_items": len(self.items),
            "length": self.length,
        }
        return fields, {"state": self.state, "items": item_bytes(self.items.items)}

    @classmethod
    def _restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        positions, vocabulary = from_spec(fields["positions"]), from_spec(fields["vocabulary"])
        # Before any code is made: a file of that size has been paid for.
        state = check_array(arrays["state"], np.complex64, (vocabulary.space.k,))
        if positions.space != vocabulary.space:
            raise DataError("positions and items must have one space.")
        n_items = whole_number("n_items", fields["n_items"])
        memory = cls(positions, ItemMemory(vocabulary, items_of(arrays["items"], n_items)))
        memory.length = whole_number("length", fields["length"], most=2**63 - 1)
        memory.state = state
        return memory

    def _slots(self, first: int, last: int) -> Codes:
        require_memory(
            4 * (last - first) * len(self.state), f"the codes of {last - first} positions"
        )
        return self.positions.encode(np.arange(first, last))


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

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("key", "value"))
    >>> slots = space.symbols("key").encode(["name", "city"])
    >>> values = hdc.ItemMemory(space.symbols("value"), ["Ada", "Bob", "Paris", "Rome"])
    >>> bundle = slots[0] * values.code("Ada") + slots[1] * values.code("Rome")
    >>> hdc.decode_slots(bundle, slots, values).items
    ['Ada', 'Rome']
    """
    if not isinstance(items, ItemMemory) or not len(items):
        raise DataError("items must be an ItemMemory that is not empty.")
    s, keys = phasors(to_numpy(bundle)), phasors(to_numpy(slots))
    k = items.codes.k
    if s.shape != (k,) or keys.ndim != 2 or keys.shape[1] != k:
        raise DataError(
            f"expected a bundle of shape ({k},) and slots of shape (n, {k}), as the items have "
            f"them, got {s.shape} and {keys.shape}."
        )
    require_sizes("a bundle", s)
    require_sizes("slots", keys)
    if not len(keys):
        return Recalled([], np.empty(0, int), np.empty(0), 0.0, False)
    D, matrix = 2 * k, float32_rows(items.codes)
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
    beyond = recall_accuracy(D, max(2, len(items)), len(keys)) < 0.99 and residual > _EXPLAINED
    found = [items.items[i] for i in chosen.tolist()]
    confidence = chances[np.arange(len(keys)), chosen].astype(np.float64)
    return Recalled(found, chosen, confidence, residual, beyond)
