"""``ItemMemory``, and how memories are described and kept on disk."""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from primal._checks import (
    file_path,
    flag,
    instance_of,
    positive_scale,
    raised_as,
    require_memory,
    whole_number,
)
from primal._files import parsed_json, read_object, write_object
from primal._hash import is_missing
from primal._parallel import row_blocks
from primal._specs import from_spec, make_spec
from primal.errors import DataError, MissingPackageError
from primal.hdc._codes import Codes, from_side_by_side, query_rows, softmax, unit_rows
from primal.hdc._decode import Decoded, decode_rows
from primal.hdc._vocabulary import Described, Vocabulary, item_lines, listed

# Up to this many entries (256 MB) the waves of all items are kept, beyond it they are made again.
_LARGEST_KEPT = 1 << 26
_BLOCK_ENTRIES = 1 << 22
# Scores are float32, and a sharper softmax is no other.
_LARGEST_BETA = 1e30


class Stored(Described, ABC):
    """A memory with a spec of what it is made of, and a file for what it holds besides."""

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # memories grow in place

    @abstractmethod
    def _fields(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the fields and arrays to be saved."""

    @classmethod
    @abstractmethod
    def _restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the memory of fields and arrays, which may be wrong."""

    def save(self, path: Any) -> None:
        """Write the memory atomically into one file in the format of safetensors.

        The folder of the file must exist. A file that was not saved by Primal is never replaced:
        that raises DataError, as does a file that cannot be written.
        """
        fields, arrays = self._fields()
        write_object(file_path("path", path), make_spec(type(self).__name__, **fields), arrays)

    @classmethod
    def load(cls, path: Any, *, mapped: bool = False, verify: bool = False) -> Self:
        """Return the memory in a file.

        A damaged file, which its digest shows, or one of something else raises DataError. With
        `mapped` arrays stay on the disk until they are used, and their digest is compared with
        `verify` only, which reads all of them once. Do not truncate or overwrite a mapped file in
        place: the system ends a process that reads what is gone. (`save` replaces files.)
        """
        target = file_path("path", path)
        fields, arrays = read_object(
            target, cls.__name__, mapped=flag("mapped", mapped), verify=flag("verify", verify)
        )
        what = f"{target} holds no {cls.__name__}"
        with raised_as(DataError, what, keep=(DataError, MissingPackageError)):
            return cls._restored(fields, arrays)


def check_array(array: np.ndarray, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    if array.dtype != dtype or array.shape != shape:
        raise DataError(
            f"the spec asks for {np.dtype(dtype)} {shape}, the file holds {array.dtype} "
            f"{array.shape}."
        )
    return array


def item_bytes(items: Iterable[Any]) -> np.ndarray:
    """Return a line of JSON for each item: a name, a number, None or a list of these."""
    return np.frombuffer("\n".join(item_lines(items)).encode(), dtype=np.uint8)


def items_of(saved: np.ndarray, n: int) -> list[Any]:
    """Return the n items whose lines were saved as bytes."""
    content = b"[" + saved.tobytes().replace(b"\n", b",") + b"]"
    items = parsed_json(content, "items", most_bytes=len(content), most_depth=2, most_lists=n + 1)
    if len(items) != n or saved.ndim != 1 or saved.dtype != np.uint8:
        raise DataError(f"the spec asks for {n} items, the file holds {len(items)}.")
    return items


@dataclass(frozen=True, eq=False)
class Cleaned:
    """The items nearest to queries.

    Attributes
    ----------
    items : ndarray of the shape of the queries, (n,) or (), dtype=object
        With `top` one more axis, (n, top) or (top,), the best first. For one query without `top`
        the item itself.
    indices, similarities : ndarray of that shape, dtype=int64 and float32
        Places of the items in the memory, and their cosine similarities with the query.
    """

    items: Any
    indices: Any
    similarities: Any


class ItemMemory(Stored):
    """Items of a vocabulary, growing in number and in dimensions.

    Parameters
    ----------
    vocabulary : Symbols, Numbers or another vocabulary of a :class:`Space`
        Encodes the items.
    items : sequence, default=()
        The first items; more come by :meth:`add`.

    Attributes
    ----------
    items : list
        All of them, in the order of their codes.
    codes : Codes of shape (n, k), uint32
        Theirs.

    Examples
    --------
    >>> from primal import hdc
    >>> words = hdc.ItemMemory(hdc.Space(1024).symbols(), ["cat", "dog", "owl"])
    >>> pets = hdc.bundle(words.codes[:2])
    >>> words.cleanup(pets, top=2).items.tolist()
    ['dog', 'cat']
    >>> larger = words.grow(2048)
    >>> larger.cleanup(larger.codes[2]).items
    'owl'
    """

    __match_args__ = ("vocabulary", "items")

    def __init__(self, vocabulary: Vocabulary, items: Sequence[Any] = ()) -> None:
        instance_of("vocabulary", vocabulary, Vocabulary)
        self.vocabulary = vocabulary
        self.items: list[Any] = []
        self._codes = np.empty((0, vocabulary.space.k), dtype=np.uint32)
        self._waves = np.empty((0, vocabulary.space.D), dtype=np.float32)
        self._places: dict[Any, int] = {}
        self.add(items)

    @property
    def codes(self) -> Codes:
        return Codes(self._codes[: len(self.items)])

    def __len__(self) -> int:
        return len(self.items)

    def add(self, items: Sequence[Any]) -> Self:
        """Add items that are not there yet; returns the memory itself."""
        new: dict[Any, Any] = {}
        for item in listed("items", items):
            key = _hashable(item)
            if key not in self._places and key not in new:
                new[key] = item
        if not new:
            return self
        turns = self.vocabulary.encode(list(new.values())).turns
        first, last = len(self.items), len(self.items) + len(new)
        if turns.shape != (len(new), self._codes.shape[1]):
            raise DataError(f"items must have one code each, got some of shape {turns.shape}.")
        if last > len(self._codes):  # room for twice as many: adding one by one stays linear
            shape = (max(last, 2 * first), self._codes.shape[1])
            require_memory(4 * math.prod(shape), f"the codes of {shape[0]} items")
            room = np.empty(shape, dtype=np.uint32)
            room[:first] = self._codes[:first]
            self._codes = room
        self._codes[first:last] = turns
        self.items.extend(new.values())
        self._places.update(zip(new, range(first, last), strict=True))
        return self

    def __contains__(self, item: Any) -> bool:
        return _hashable(item) in self._places

    def code(self, item: Any) -> Codes:
        """Return the code of an item of the memory."""
        return Codes(self._codes[self.place(item)])

    def place(self, item: Any) -> int:
        """Return the place of an item among the items."""
        key = _hashable(item)
        if key not in self._places:
            raise DataError(f"{item!r} is not in this memory of {len(self)} items: add it first.")
        return self._places[key]

    def cleanup(self, queries: Any, *, top: int | None = None) -> Cleaned:
        """Return the item most similar to each code or bundle, of shape (k,) or (n, k).

        With `top` so many of them, along one more axis.
        """
        rows = query_rows("queries", queries, self._codes.shape[1])
        n = 1 if top is None else whole_number("top", top, least=1)
        if n > len(self):
            raise DataError(f"{n} of {len(self)} items were requested: add items, or lower top.")
        shape = (*queries.shape[:-1], *(() if top is None else (n,)))
        places, similarities = self._best(rows, n)
        places = places.reshape(shape)[()]
        return Cleaned(named(self.items, places), places, similarities.reshape(shape)[()])

    def retrieve(self, queries: Any, *, beta: float | None = None, steps: int = 1) -> np.ndarray:
        """Return what a modern Hopfield network recalls: a softmax over all codes of the memory.

        complex64 of the shape of `queries`, (k,) or (n, k), close to one code where one is far more
        similar than all others, else to a mean. `beta` is the sharpness for cosine similarities, by
        default 4 sqrt(D), where a difference of one standard deviation of chance similarities
        counts for a factor exp(4). `steps` is how often the answer becomes the next query.
        """
        k, matrix = self.vocabulary.space.k, self._rows()
        state = recalled = query_rows("queries", queries, k)
        if not len(matrix):
            raise DataError(f"0 codes of {k} phases recall nothing: add items first.")
        sharp = 4.0 * math.sqrt(2 * k) if beta is None else positive_scale("beta", beta)
        sharp = min(sharp, _LARGEST_BETA)
        for _ in range(whole_number("steps", steps, least=1, most=1000)):
            scores = softmax(sharp * (state @ matrix.T))
            recalled = (scores @ matrix) * np.float32(math.sqrt(k))
            state = unit_rows(from_side_by_side(recalled))
        return recalled.view(np.complex64).reshape(tuple(queries.shape))

    def decode(self, bundle: Any, n_items: int, *, decoder: str = "message") -> Decoded:
        """Return :func:`primal.hdc.decode` among the codes of this memory, with their names."""
        found = decode_rows(bundle, self._rows(), n_items, decoder)
        return replace(found, items=named(self.items, found.indices))

    def grow(self, D: int) -> Self:
        """Return the memory with more dimensions: old codes are prefixes of the new ones."""
        return type(self)(self.vocabulary.grow(D), self.items)

    def _fields(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays = {"codes": self.codes.turns, "items": item_bytes(self.items)}
        return {"vocabulary": self.vocabulary.spec}, arrays

    @classmethod
    def _restored(cls, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        memory = cls(from_spec(fields["vocabulary"]))
        codes, k = arrays["codes"], memory.vocabulary.space.k
        memory._codes = check_array(codes, np.uint32, (len(codes), k))
        memory.items = items_of(arrays["items"], len(codes))
        memory._places = {_hashable(item): i for i, item in enumerate(memory.items)}
        return memory

    def _best(self, queries: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of the nearest items and their similarities, (n, top)."""
        n, D = len(self), 2 * self._codes.shape[1]
        kept = n * D <= _LARGEST_KEPT
        places, values = [], []
        for rows in row_blocks(n, D, n * D if kept else _BLOCK_ENTRIES):
            part = self._rows() if kept else unit_rows(Codes(self._codes[rows]))
            answers = queries @ part.T
            best = _top(answers, top)
            places.append(best + rows.start)
            values.append(np.take_along_axis(answers, best, 1))
        found, similarities = np.concatenate(places, axis=1), np.concatenate(values, axis=1)
        best = _top(similarities, top)
        return np.take_along_axis(found, best, 1), np.take_along_axis(similarities, best, 1)

    def _rows(self) -> np.ndarray:
        """Return the waves of all items, made once for each unless they are too many to keep."""
        if 2 * self._codes.shape[1] * len(self) > _LARGEST_KEPT:
            return unit_rows(self.codes)
        waves = self._waves  # another thread may be making the same ones
        if len(waves) < len(self):
            waves = np.concatenate([waves, unit_rows(self.codes[len(waves) :])])
            self._waves = waves
        return waves


def named(items: list[Any], places: Any) -> Any:
    """Return the items at places, dtype=object of their shape; for one place the item."""
    found = np.empty(np.shape(places), dtype=object)
    flat = found.reshape(-1)
    for number, place in enumerate(np.ravel(places).tolist()):
        flat[number] = items[place]  # which may be a list
    return found[()]


def _top(values: np.ndarray, n: int) -> np.ndarray:
    """Return the places of the n largest values of every row, or of all, the largest first."""
    if n == 1:
        return values.argmax(axis=1)[:, None]
    n = min(n, values.shape[1])
    some = np.argpartition(-values, n - 1, axis=1)[:, :n]
    order = np.argsort(-np.take_along_axis(values, some, 1), axis=1, kind="stable")
    return np.take_along_axis(some, order, 1)


def _hashable(item: Any) -> Any:
    if isinstance(item, np.ndarray):
        item = item.tolist()
    if isinstance(item, list):
        try:
            return tuple(_hashable(part) for part in item)
        except RecursionError:
            raise DataError(
                "an item is nested too deeply, or contains itself: pass names, numbers or lists of "
                "numbers."
            ) from None
    try:
        hash(item)
    except TypeError:
        raise DataError(
            f"items are names or numbers, or lists of numbers, got {item!r} of "
            f"{type(item).__name__}."
        ) from None
    return None if is_missing(item) else item  # they have one code
