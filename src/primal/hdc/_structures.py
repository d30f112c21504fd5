"""Records, sequences, n-grams and graphs as one vector each: bundles of products."""

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from primal._checks import instance_of, whole_number
from primal.errors import DataError
from primal.hdc._algebra import bind, bundle, permute
from primal.hdc._codes import Codes, is_complex, operand
from primal.hdc._vocabulary import Numbers, Symbols, Vocabulary, listed


def encode_record(
    fields: Mapping[str, Any], keys: Symbols, values: Vocabulary | Mapping[str, Vocabulary]
) -> np.ndarray:
    """Return the bundle of key times value over the fields of a record.

    Parameters
    ----------
    fields : mapping of str
        Names to values, or to codes and bundles of shape (k,) made elsewhere, such as a record
        within a record. Names take no numbers: hashed, 149.0 would be no nearer to 149.1 than to
        anything else.
    keys : Symbols
        Vocabulary of the names.
    values : vocabulary, or mapping of str to vocabulary
        One for all fields or one for each, in other roles than the keys.

    Returns
    -------
    complex array of shape (k,)

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(2048, roles=("key", "name", "number"))
    >>> keys, names, legs = space.symbols("key"), space.symbols("name"), space.numbers("number")
    >>> cat = hdc.encode_record({"says": "meow", "legs": 4}, keys, {"says": names, "legs": legs})
    >>> hdc.similarity(cat / keys.encode("legs"), legs.encode([2, 4, 8])).round(1).tolist()
    [-0.0, 0.7, -0.0]
    """
    if not isinstance(fields, Mapping) or not fields:
        raise DataError(f"a record is a mapping of at least one field, got {fields!r}.")
    instance_of("keys", keys, Symbols)
    given = values if isinstance(values, Mapping) else dict.fromkeys(fields, values)
    parts = [_value_code(name, value, keys, given) for name, value in fields.items()]
    return bundle([bind(k, v) for k, v in zip(keys.encode(list(fields)), parts, strict=True)])


def encode_sequence(
    items: Sequence[object],
    positions: str | Symbols | Numbers,
    symbols: Vocabulary,
    *,
    start: int = 0,
) -> np.ndarray:
    """Return the bundle of position times item over a sequence; with levels of gray, a picture.

    Parameters
    ----------
    items : sequence
        Values of the vocabulary.
    positions : str, Symbols or Numbers
        A role, other than that of the items, whose hashed positions are taken; or a vocabulary:
        :class:`Symbols` keep long sequences apart, :class:`Numbers` can be shifted by binding.
    symbols : vocabulary
        Of the items, in another role.
    start : int, default=0
        Position of the first item.

    Returns
    -------
    complex array of shape (k,)

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(1024, roles=("position", "letter"))
    >>> letters = space.symbols("letter")
    >>> word = hdc.encode_sequence("prime", "position", letters)
    >>> second = word / space.symbols("position").encode(1)
    >>> hdc.similarity(second, letters.encode(list("rz"))).round(1).tolist()
    [0.4, 0.0]
    """
    _check_roles(symbols)
    places = symbols.space.symbols(positions) if isinstance(positions, str) else positions
    instance_of("positions", places, Symbols, Numbers)
    _check_roles(places, symbols)
    first, values = whole_number("start", start, least=-(2**62), most=2**62), listed("items", items)
    numbers = np.arange(first, first + len(values))
    return bundle(bind(places.encode(numbers), symbols.encode(values)))


def ngrams(codes: Any, n: int = 3) -> Any:
    """Return the bundle of all runs of n of m codes.

    It is the sum over i of the product over j of permute(codes[i + j], n - 1 - j), as torchhd
    defines it. Permuting moves entries, so the bundle of a smaller space is no prefix of that of
    a larger one.

    Parameters
    ----------
    codes : Codes or complex array of shape (..., m, k)
        In order.
    n : int, default=3
        Length of a run, from 1 to m.

    Returns
    -------
    complex array of shape (..., k)

    Examples
    --------
    >>> from primal import hdc
    >>> letters = hdc.Space(1024).symbols()
    >>> a, b, c = (hdc.ngrams(letters.encode(list(t))) for t in ("banana", "bandana", "cherry"))
    >>> print(f"{hdc.similarity(a, b):.1f} {hdc.similarity(a, c):.1f}")
    0.6 -0.0
    """
    codes = operand(codes)
    if codes.ndim < 2:
        raise DataError(f"ngrams takes codes of shape (..., m, k), got {tuple(codes.shape)}.")
    m = codes.shape[-2]
    if whole_number("n", n, least=1) > m:
        raise DataError(f"{m} codes have no runs of n = {n}: pass more of them or a smaller n.")
    phases = () if isinstance(codes, Codes) else (slice(None),)  # codes are not taken apart
    runs = [codes[(..., slice(j, m - n + 1 + j), *phases)] for j in range(n)]
    return bundle(bind([permute(run, n - 1 - j) for j, run in enumerate(runs)]))


def encode_graph(
    triples: Iterable[tuple[object, object, object]],
    subjects: Vocabulary,
    relations: Vocabulary,
    objects: Vocabulary,
) -> np.ndarray:
    """Return the bundle of subject times relation times object over the edges of a graph.

    The same name has different codes as subject and as object, so an edge has a direction.

    Parameters
    ----------
    triples : iterable of (subject, relation, object)
        The edges.
    subjects, relations, objects : vocabulary
        Of three different roles of one space.

    Returns
    -------
    complex array of shape (k,)

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(1024, roles=("subject", "relation", "object"))
    >>> words = [space.symbols(role) for role in space.roles]
    >>> graph = hdc.encode_graph([("Ann", "likes", "Bob"), ("Bob", "likes", "Eve")], *words)
    >>> question = words[0].encode("Ann") * words[1].encode("likes")
    >>> answers = words[2].encode(["Ann", "Bob", "Eve"])
    >>> hdc.similarity(graph / question, answers).round(1).tolist()
    [0.0, 0.7, -0.0]
    """
    vocabularies = (subjects, relations, objects)
    _check_roles(*vocabularies)
    edges = listed("triples", triples)
    if not edges or any(not isinstance(e, (tuple, list)) or len(e) != 3 for e in edges):
        raise DataError(f"a graph needs triples (subject, relation, object), got {edges!r}.")
    columns = zip(*edges, strict=True)
    codes = [v.encode(list(names)) for v, names in zip(vocabularies, columns, strict=True)]
    return bundle(bind(codes))


def _value_code(
    name: str, value: Any, keys: Symbols, given: Mapping[str, Vocabulary]
) -> Codes | np.ndarray:
    if isinstance(value, Codes) or is_complex(value):
        if value.ndim != 1:
            raise DataError(f"field {name!r} must hold one code, got shape {tuple(value.shape)}.")
        return value
    if name not in given:
        raise DataError(
            f"values has no vocabulary for the field {name!r}, only for "
            f"{', '.join(map(repr, given))}."
        )
    vocabulary = given[name]
    _check_roles(keys, vocabulary)
    # A truth value is a category of two.
    is_number = isinstance(value, numbers.Number) and not isinstance(value, bool)
    if is_number and isinstance(vocabulary, Symbols):
        raise DataError(
            f"field {name!r} holds the number {value!r} and has a vocabulary of names: pass "
            f"values={{{name!r}: space.reals(...)}} or another vocabulary of numbers, or the text "
            f"{str(value)!r} if it is a name."
        )
    code = vocabulary.encode(value)
    if code.ndim != 1:
        raise DataError(f"field {name!r} must hold one value, got {value!r}.")
    return code


def _check_roles(*vocabularies: Vocabulary) -> None:
    for vocabulary in vocabularies:
        instance_of("a vocabulary", vocabulary, Vocabulary)
    spaces = {v.space for v in vocabularies}
    roles = [v.role for v in vocabularies]
    if len(spaces) > 1 or len(set(roles)) < len(roles):
        raise DataError(
            f"vocabularies to be bound need one space and different roles, got {len(spaces)} "
            f"space(s) and the roles {', '.join(map(repr, roles))}: codes of one role multiply "
            "to other codes of that role."
        )
