"""``SequenceMemory``: a sequence in one vector, read position by position or as a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import require_memory, whole_number
from primal._specs import from_spec
from primal.errors import DataError
from primal.hdc._algebra import bind, bundle, unbind
from primal.hdc._arrays import from_side_by_side, listed, side_by_side, softmax
from primal.hdc._capacity import recall_accuracy
from primal.hdc._codes import Codes, phasors
from primal.hdc._convert import float32_rows, to_numpy
from primal.hdc._decode import message_passing
from primal.hdc._items import ItemMemory
from primal.hdc._storage import Stored, check_array, item_bytes, items_of
from primal.hdc._structures import places_beside
from primal.hdc._vocabulary import Vocabulary

# Below this share of the bundle a residual is rounding.
_EXPLAINED = 1e-3


@dataclass(frozen=True, eq=False)
class Recalled:
    """Items read from slots of a bundle.

    Attributes
    ----------
    items : list
    indices, confidence : ndarray of shape (n,), dtype=int64 and float64
        Their places among the items to choose from; the chance of each to be right.
    residual : float
        Length of what the items do not explain, relative to the bundle.
    beyond_capacity : bool
        Whether plain reading would be right less than 99 times in 100, and the items found do not
        explain the bundle either.
    """

    items: list
    indices: np.ndarray
    confidence: np.ndarray
    residual: float
    beyond_capacity: bool


class SequenceMemory(Stored):
    """A growing sequence of items in one vector: the sum of position times item.

    Parameters
    ----------
    positions : str, Symbols or Integers
        A role, other than that of the items, whose hashed positions are taken; or a vocabulary:
        :class:`Symbols` keep long sequences apart, :class:`Integers` can be shifted by binding.
    items : ItemMemory
        What the sequence is made of.

    Attributes
    ----------
    length : int
    state : complex64 array of shape (k,)

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

    _parts = ("positions", "items")

    def __init__(self, positions: str | Vocabulary, items: ItemMemory) -> None:
        if not isinstance(items, ItemMemory):
            raise DataError(f"items must be an ItemMemory, got {type(items).__name__}.")
        self.positions, self.items = places_beside(items.vocabulary, positions), items
        self.length = 0
        self.state = np.zeros(items.vocabulary.space.k, dtype=np.complex64)

    def extend(self, items: Sequence[Any]) -> SequenceMemory:
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
    def _restored(
        cls, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> SequenceMemory:
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

    The bundle has the shape (k,); the slots are Codes of shape (n, k), of positions or keys. Each
    holds a chance for every item, a round takes away what all slots together explain, and every
    slot is read again from what is left and its own part.
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
