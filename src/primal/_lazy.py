"""Attributes computed on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

import numpy as np

T = TypeVar("T")


def frozen(value: T) -> T:
    """Return an array, or a tuple of arrays, after making it read-only; anything else as it is.

    An array that an object keeps and returns must not change the object when a caller writes to it.
    """
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple):
        for part in value:
            frozen(part)
    return value


class cached_property(Generic[T]):
    """``functools.cached_property`` without the lock that it has up to Python 3.11.

    That lock is one for all objects of a class and held while the value is made: a process that
    forks meanwhile has children that wait for it for ever. Here two threads may both make the
    value; the first one to end is kept, and both return it. Arrays become read-only.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        return vars(instance).setdefault(self._name, frozen(self._make(instance)))
