"""The public surface found by introspection, hostile values, and one bounded call.

``fuzz_recipes.py`` says how each callable is called well; here one or two of its arguments
are replaced. Used by ``tests/house/test_public_fuzz.py`` and ``tools/fuzz.py``.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import io
import math
import os
import pkgutil
import random
import re
import resource
import signal
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import torch

import primal

MOST_SECONDS = 10.0
MOST_BYTES = 256 << 20
FINE = ("result", "PrimalError", "TypeError")
# Operators are methods too; those that only compare or convert are the interpreter's business.
_OPERATORS = ("__contains__", "__mul__", "__truediv__", "__pow__", "__add__", "__sub__", "__eq__")

_HUGE = (2**63, -(2**63) - 1, 10**30, 10**15, -(10**30))
_SCALARS = (
    *(None, True, False, math.nan, math.inf, -math.inf, -1, 0, 1, 3, -2.5, 0.0, 1e300, 1e-300, 1j),
    *_HUGE,
    *("", "x", "auto", "bits", "\x00", "ключ", b"", b"x", "no/such/path", Path("no/such/path")),
    *(np.float32(2.5), np.uint64(2**64 - 1), np.bool_(True), np.str_("x"), np.datetime64("NaT")),
    *(Decimal("2.5"), slice(None), Ellipsis, NotImplemented, int, ValueError, range(3), range(0)),
)
# Made anew for each call: some of them can be read once, or changed.
_MADE: tuple[Callable[[], object], ...] = (
    *(list, tuple, dict, set, bytearray, object),
    lambda: [1, 2],
    lambda: [1, "x", None, 2.5],
    lambda: ["x", ["y"]],
    lambda: [[1.0, 2.0], [3.0]],
    lambda: [[]],
    lambda: [math.nan, 1.0],
    lambda: [2**70, 1],
    lambda: [None],
    lambda: [[[[[1.0]]]]],
    lambda: {"x": 1},
    lambda: {1: [2]},
    lambda: {"map": "dynamic", "type": None, "version": 10**30},
    lambda: {1, 2},
    lambda: frozenset("ab"),
    lambda: (n for n in range(3)),
    lambda: iter([]),
    lambda: len,
    lambda: lambda *_, **__: None,
    lambda: np.array(3),
    lambda: np.array(2.5),
    lambda: np.array(None),
    lambda: np.zeros(0),
    lambda: np.zeros((0, 3)),
    lambda: np.zeros((3, 0)),
    lambda: np.ones(3),
    lambda: np.ones((2, 3), np.float32),
    lambda: np.ones((1, 2, 1, 2, 3)),
    lambda: np.full((4, 3), np.nan),
    lambda: np.full((4, 3), np.inf),
    lambda: np.full((4, 3), 1e308),
    lambda: np.full((4, 3), 5e-324),
    lambda: np.full((4, 3), -1),
    lambda: np.full((4, 3), 2**63, np.uint64),
    lambda: np.full((4, 3), -(2**63)),
    lambda: np.ones((4, 3), np.int8),
    lambda: np.ones((4, 3), np.uint8),
    lambda: np.ones((4, 3), np.float16),
    lambda: np.ones((4, 3), np.longdouble),
    lambda: np.ones((4, 3), bool),
    lambda: np.ones((4, 3), np.complex64),
    lambda: np.full(8, np.nan, np.complex64),
    lambda: np.ones((4, 3), object),
    lambda: np.array([[1.0, None, "x"]], object),
    lambda: np.array(["x", "y"]),
    lambda: np.array([b"x", b"y"]),
    lambda: np.zeros(3, [("a", "i4"), ("b", "f8")]),
    lambda: np.zeros(3, "M8[s]"),
    lambda: np.zeros(3, "m8[s]"),
    lambda: np.zeros(3, "V4"),
    lambda: np.ma.masked_array(np.ones((4, 3)), mask=np.eye(4, 3, dtype=bool)),
    lambda: np.ma.masked_array(np.ones((4, 3))),
    lambda: np.rec.array([(1, 2.0)]),
    lambda: np.broadcast_to(np.float64(1.0), (4, 3)),
    lambda: np.ones((6, 3))[::-2],
    lambda: scipy.sparse.csr_matrix(np.eye(4, 3)),
    lambda: scipy.sparse.coo_array(np.eye(4, 3)),
    lambda: torch.ones(4, 3),
    lambda: torch.ones(4, 3, dtype=torch.bfloat16),
    lambda: torch.ones(4, 3, requires_grad=True),
    lambda: torch.ones(4, 3, dtype=torch.complex64),
    lambda: torch.ones(4, 3, dtype=torch.int64),
    lambda: torch.full((4, 3), math.nan),
    lambda: torch.zeros(0, 3),
    lambda: torch.tensor(1.0),
    lambda: torch.eye(4, 3).to_sparse(),
    lambda: torch.ones(4, 3, device="meta"),
    lambda: torch.float64,
    lambda: np.dtype("V4"),
)


class Call(NamedTuple):
    """One public callable of a room; `make` returns it ready to be called."""

    name: str
    make: Callable[[], Callable[..., object]]
    parameters: tuple[inspect.Parameter, ...]


class Outcome(NamedTuple):
    """How a call ended: `kind` is "result", "PrimalError", "TypeError" or what it should not be."""

    kind: str
    detail: str
    seconds: float
    n_bytes: int


class OutOfTime(BaseException):
    """Not an Exception: nothing in the library may handle it."""


def rooms() -> list[str]:
    """Return the names of all public modules of primal."""
    found = pkgutil.walk_packages(primal.__path__, "primal.")
    names = ["primal", *(m.name for m in found if "._" not in m.name)]
    # One module under two names is one room.
    return [name for name in names if importlib.import_module(name).__name__ == name]


def public_names(room: str) -> list[str]:
    """Return the names in `room`'s __all__ of what can be fuzzed."""
    module = importlib.import_module(room)
    return [name for name in module.__all__ if _fuzzable(getattr(module, name))]


def _fuzzable(thing: object) -> bool:
    """Whether a call of it computes something: not a module, a value, an error or a plain record.

    Records (named tuples, and dataclasses that check nothing) are what calls return: they hold
    what they are given.
    """
    if not callable(thing) or not getattr(thing, "__module__", "").startswith("primal"):
        return False
    if not inspect.isclass(thing):
        return True
    record = dataclasses.is_dataclass(thing) and not hasattr(thing, "__post_init__")
    return not (record or issubclass(thing, (BaseException, tuple)))


def methods(kind: type) -> Iterator[str]:
    """Names of the methods of a class that are ours and take arguments."""
    for name, _ in inspect.getmembers(kind, callable):
        owner = next(c for c in kind.__mro__ if name in vars(c))
        ours = owner.__module__.startswith("primal") and owner.__qualname__ != "object"
        if not ours or (name[0] == "_" and name not in _OPERATORS):
            continue
        function = inspect.getattr_static(kind, name)
        # scikit-learn makes the set_..._request methods of its estimators.
        if isinstance(function, (property, type)) or re.fullmatch("set_.*_request", name):
            continue
        if name == "__eq__" and dataclasses.is_dataclass(kind):
            continue
        bound = isinstance(function, (classmethod, staticmethod))
        if len(inspect.signature(getattr(kind, name)).parameters) > (0 if bound else 1):
            yield name


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def hostile(rng: random.Random, *, callables: bool = True) -> object:
    """Return some value that few callables expect."""
    while True:
        place = rng.randrange(len(_SCALARS) + len(_MADE))
        value = _SCALARS[place] if place < len(_SCALARS) else _MADE[place - len(_SCALARS)]()
        if callables or not callable(value):
            return value


def make_call(function: Callable[..., object], call: Call, values: dict[str, Any]) -> object:
    """Return the result of the function for these arguments, without limits."""
    positional: list[Any] = []
    named = {}
    for parameter in call.parameters:
        if parameter.name not in values:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += values[parameter.name]
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(values[parameter.name])
        else:
            named[parameter.name] = values[parameter.name]
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return function(*positional, **named)


def attempt(call: Call, values: dict[str, Any], replaced: dict[str, Any]) -> Outcome:
    """Make the call within its limits and say how it ended."""
    function = call.make()
    kind, detail = "result", ""
    resident, peak = _resident_bytes(), _peak_bytes()
    # Traced code takes five times as long: only the call itself is.
    tracemalloc.start()
    began = time.perf_counter()
    try:
        with _time_limit():
            make_call(function, call, values)
    except OutOfTime:
        kind = "OutOfTime"
    except (primal.PrimalError, TypeError) as error:
        kind = "PrimalError" if isinstance(error, primal.PrimalError) else "TypeError"
        if not _names(str(error), replaced):
            kind, detail = f"{kind} that does not name the argument", str(error)
    except Exception as error:
        kind, detail = type(error).__name__, str(error)
    seconds = time.perf_counter() - began
    # tracemalloc sees what Python and NumPy take; PyTorch shows in the process alone.
    n_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if _peak_bytes() > peak:
        n_bytes = max(n_bytes, _peak_bytes() - resident)
    if n_bytes > MOST_BYTES:
        kind, detail = "allocation", f"{kind} {detail}"
    return Outcome(kind, detail, seconds, n_bytes)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _resident_bytes() -> int:
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return _peak_bytes()
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def shown(value: object) -> str:
    """Return a value on one short line."""
    if isinstance(value, (np.ndarray, torch.Tensor)):
        return f"<{type(value).__name__} {tuple(value.shape)} {value.dtype}>"
    return " ".join(repr(value).split())[:60]


def _names(message: str, replaced: dict[str, Any]) -> bool:
    """Whether a message names one of the arguments, or what was passed for it."""
    return any(
        word and re.search(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", message, flags)
        for name, value in replaced.items()
        # Types are words of sentences, too: "codes" for Codes.
        for word, flags in chain([(name, 0)], ((word, re.IGNORECASE) for word in _words(value)))
    )


def _words(value: Any) -> Iterator[str]:
    """What a message can say of a value: its type, shape and dtype, itself, a part of it."""
    yield type(value).__name__
    for attribute in ("shape", "dtype", "layout"):
        if hasattr(value, attribute):
            said = getattr(value, attribute)
            yield str(tuple(said) if attribute == "shape" else said)
    yield from (str(value), repr(value))
    for part in _parts(value):
        yield from (str(part), repr(part), type(part).__name__)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from (*value, *value.values())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, np.ndarray):
        yield from (*value.ravel()[:1], *value.ravel()[:1].tolist())
    elif hasattr(value, "role") and hasattr(value, "space"):
        yield from (value.role, *value.space.roles)
    elif isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_meta:
        yield from value.detach().flatten()[:1].tolist()
