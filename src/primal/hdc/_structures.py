"""Sets, records, sequences, graphs and trees as one vector each.

Every structure is a bundle of products. A part comes back by unbinding what it was bound with,
up to the noise of the other parts; :class:`primal.hdc.ItemMemory` cleans that up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from primal._errors import DataError
from primal.hdc._algebra import bind, bundle, identity, permute
from primal.hdc._arrays import phasors
from primal.hdc._vocabulary import Integers, Symbols

__all__ = [
    "encode_graph",
    "encode_record",
    "encode_sequence",
    "encode_set",
    "encode_tree",
    "path_code",
]


def encode_set(members: Sequence[object], symbols: Symbols) -> np.ndarray:
    """Return the bundle of the codes of some names: complex64 of shape (k,).

    Examples
    --------
    >>> from primal import hdc
    >>> symbols = hdc.Space(1024).symbols()
    >>> crew = hdc.encode_set(["Ann", "Bob"], symbols)
    >>> hdc.similarity(crew, symbols.encode(["Ann", "Eve"])).round(1).tolist()
    [0.7, -0.0]
    """
    return bundle(symbols.encode(list(members)))


def encode_record(fields: Mapping[str, Any], keys: Symbols, values: Symbols) -> np.ndarray:
    """Return the bundle of key times value over the fields of a record.

    Parameters
    ----------
    fields : mapping
        From names to names, or to codes and bundles made elsewhere: a real number, or a record
        within a record.
    keys, values : Symbols
        In different roles, so that they can be bound.

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(1024, roles=("key", "value"))
    >>> keys, values = space.symbols("key"), space.symbols("value")
    >>> cat = hdc.encode_record({"legs": 4, "says": "meow"}, keys, values)
    >>> legs = hdc.unbind(cat, keys.encode("legs"))
    >>> hdc.similarity(legs, values.encode([2, 4, "meow"])).round(1).tolist()
    [0.1, 0.7, -0.0]
    """
    _check_roles(keys, values)
    if not fields:
        raise DataError("a record needs at least one field, got none.")
    parts = [
        phasors(bind(key, value if isinstance(value, np.ndarray) else values.encode(value)))
        for key, value in zip(keys.encode(list(fields)), fields.values(), strict=True)
    ]
    return np.sum(parts, axis=0)


def encode_sequence(
    items: Sequence[object], positions: Integers, symbols: Symbols, *, start: int = 0
) -> np.ndarray:
    """Return the bundle of position times item over a sequence, positions counted from `start`.

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(1024, roles=("position", "letter"))
    >>> positions, letters = space.integers("position"), space.symbols("letter")
    >>> word = hdc.encode_sequence(list("prime"), positions, letters)
    >>> second = hdc.unbind(word, positions.encode(1))
    >>> hdc.similarity(second, letters.encode(list("rz"))).round(1).tolist()
    [0.5, -0.0]
    """
    _check_roles(positions, symbols)
    places = positions.encode(np.arange(start, start + len(items)))
    return bundle(bind(places, symbols.encode(list(items))))


def encode_graph(
    triples: Iterable[tuple[object, object, object]],
    subjects: Symbols,
    relations: Symbols,
    objects: Symbols,
) -> np.ndarray:
    """Return the bundle of subject times relation times object over the edges of a graph.

    The same name has different codes as subject and as object, so an edge has a direction.

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(1024, roles=("subject", "relation", "object"))
    >>> words = [space.symbols(role) for role in space.roles]
    >>> graph = hdc.encode_graph([("Ann", "likes", "Bob"), ("Bob", "likes", "Eve")], *words)
    >>> question = hdc.bind(words[0].encode("Ann"), words[1].encode("likes"))
    >>> answers = words[2].encode(["Ann", "Bob", "Eve"])
    >>> hdc.similarity(hdc.unbind(graph, question), answers).round(1).tolist()
    [0.0, 0.7, -0.0]
    """
    _check_roles(subjects, relations, objects)
    columns = list(zip(*triples, strict=True))
    if len(columns) != 3:
        raise DataError(f"a graph needs triples (subject, relation, object), got {columns!r}.")
    vocabularies = (subjects, relations, objects)
    codes = [v.encode(list(names)) for v, names in zip(vocabularies, columns, strict=True)]
    return bundle(reduce(bind, codes))


def encode_tree(tree: Any, branches: Integers, symbols: Symbols) -> np.ndarray:
    """Return the bundle of path times name over the leaves of a tree.

    Parameters
    ----------
    tree : nested tuples or lists
        Leaves are names.
    branches : Integers
        Numbers the children of a node; see :func:`path_code`.
    symbols : Symbols

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(1024, roles=("branch", "leaf"))
    >>> branches, leaves = space.integers("branch"), space.symbols("leaf")
    >>> tree = hdc.encode_tree(("a", ("b", "c")), branches, leaves)
    >>> found = hdc.unbind(tree, hdc.path_code((1, 0), branches))
    >>> hdc.similarity(found, leaves.encode(["a", "b", "c"])).round(1).tolist()
    [0.1, 0.6, -0.0]
    """
    _check_roles(branches, symbols)
    paths, names = zip(*_leaves(tree, ()), strict=True)
    codes = np.stack([path_code(path, branches) for path in paths])
    return bundle(bind(codes, symbols.encode(list(names))))


def path_code(path: Sequence[int], branches: Integers) -> np.ndarray:
    """Return the code of a path from the root: uint32 of shape (k,).

    The branch taken at depth i is permuted i times, so that (0, 1) and (1, 0) differ; branches
    count from 1 inside, because the code of 0 is the identity and would not show.
    """
    steps = branches.encode(np.asarray(path, dtype=np.int64) + 1)
    return reduce(
        bind, (permute(step, depth) for depth, step in enumerate(steps)), identity(branches.space.k)
    )


def _leaves(tree: Any, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], object]]:
    if not isinstance(tree, (tuple, list)):
        yield path, tree
        return
    if not tree:
        raise DataError(f"a node of a tree needs children, got none at path {path}.")
    for number, child in enumerate(tree):
        yield from _leaves(child, (*path, number))


def _check_roles(*vocabularies: Symbols | Integers) -> None:
    spaces = {v.space for v in vocabularies}
    roles = [v.role for v in vocabularies]
    if len(spaces) > 1 or len(set(roles)) < len(roles):
        raise DataError(
            f"vocabularies to be bound need one space and different roles, got {len(spaces)} "
            f"space(s) and the roles {', '.join(map(repr, roles))}: codes of one role multiply "
            "to other codes of that role."
        )
