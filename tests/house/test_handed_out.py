"""Nothing that an object returns can be written to so that the object changes.

Every public object is made as in ``fuzz_recipes.py`` and its public attributes are walked, down to
arrays; every public callable is called twice with the same arguments. An array that comes twice
from the same memory belongs to the library and has to be read-only. Results of one call belong to
the caller; parameters and buffers of PyTorch have to be writable.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

for _package in ("sklearn", "torch", "gpytorch", "pyarrow", "torchhd", "onnx"):
    pytest.importorskip(_package, reason="the whole public surface needs every host")

import fuzz_recipes as recipes  # noqa: E402
import fuzz_surface as surface  # noqa: E402
import torch  # noqa: E402

import primal  # noqa: E402
from primal.maps import on  # noqa: E402

_ROOMS = list(recipes.ROOMS)
_MOST_LEVELS = 5
# Faults whose repair is on its way.
_KNOWN = (
    "primal.hdc.VectorMemory.plan.certificate.x_std",
    "primal.decoding.DecodePlan.certificate.x_std",
    "primal.decoding.MatrixPlan.certificate.x_std",
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def more_objects() -> dict[str, Any]:
    """Return objects of other forms than those of the recipes, by name."""
    maps = {
        "offset": primal.KernelPrime(3, 4, center=[1.0, 0.0, 0.0], form="offset"),
        "lattice": primal.KernelPrime(2, 64, method="lattice"),
        "spectral": primal.KernelPrime(2, 64, method="spectral"),
        "gammas": primal.KernelPrime(3, 64, gamma=[1.0, 2.0, 3.0]),
        "parts": primal.KernelPrime(3, 64, on([0, 1]) + on(2, "periodic", period=2.0)),
        "matern": primal.KernelPrime(3, 64, "matern32"),
        "hadamard": primal.DynamicPrime(8, 64, basis="hadamard"),
        "sigmas": primal.DynamicPrime(3, 8, [1.0, 2.0, 3.0, 4.0]),
        "log": primal.StaticPrime(16, spacing="log"),
        "given": primal.StaticPrime(4, frequencies=[0.1, 0.2]),
    }
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    made = maps | {
        "gaussian prior": primal.Gaussian(np.zeros(2), cov),
        "box prior": primal.Box(np.array([1.0, 2.0]), np.zeros(2)),
        "integers prior": primal.Integers(np.ones(2), np.zeros(2)),
    }
    for kind in ("orthonormal", "static", "kerdock", "gold", "shadow", "singer", "paley"):
        made[f"{kind} codebook"] = primal.codebook(16, 16, kind=kind)
    return made


def arrays(thing: Any, name: str, level: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the arrays and tensors that a thing is, or returns by public attributes."""
    if isinstance(thing, (np.ndarray, torch.Tensor)):
        yield name, thing
    elif level == _MOST_LEVELS or isinstance(thing, (str, bytes, type)):
        return
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from arrays(value, f"{name}[{key!r}]", level + 1)
    elif isinstance(thing, (list, tuple)):
        for i, value in enumerate(thing[:4]):
            yield from arrays(value, f"{name}[{i}]", level + 1)
    if type(thing).__module__.startswith("primal"):
        for attribute in public_attributes(thing):
            try:
                value = getattr(thing, attribute)
            except Exception:  # what an object does not have in this state
                continue
            if not callable(value) or type(value).__module__.startswith("primal"):
                yield from arrays(value, f"{name}.{attribute}", level + 1)


def public_attributes(thing: Any) -> list[str]:
    """Return the names of public attributes, without those of PyTorch's modules."""
    foreign = set(dir(torch.nn.Module)) if isinstance(thing, torch.nn.Module) else set()
    return [name for name in dir(thing) if name[0] != "_" and name not in foreign]


def is_shared(one: Any, other: Any) -> bool:
    """Whether two arrays of one type are the same memory, and can be written to."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.numel() > 0 and not one.is_meta and one.data_ptr() == other.data_ptr()
    return one.flags.writeable and np.shares_memory(one, other)


def faults(first: Any, second: Any, name: str, own: Iterable[Any] = ()) -> list[str]:
    """Return the arrays in two results of one request that can be written to for both.

    Arrays that share memory with `own` ones belong to the caller.
    """
    if isinstance(first, torch.nn.Module):
        own = [*own, *first.parameters(), *first.buffers()]
    return [
        place
        for (place, a), (_, b) in zip(arrays(first, name), arrays(second, name), strict=True)
        if is_shared(a, b) and not any(is_shared(a, array) for array in own)
    ]


def copies(thing: Any) -> Iterator[Any]:
    """Yield copies of a thing, if it can be copied."""
    try:
        yield copy.deepcopy(thing)
        yield pickle.loads(pickle.dumps(thing))
    except Exception:  # such as keys
        return


@pytest.mark.parametrize("room", _ROOMS)
def test_attributes_are_read_only_or_copies(room):
    things = {name: make() for name, make in recipes.ROOMS[room].instances.items()}
    found = [
        fault
        for name, thing in things.items()
        for one in (thing, *copies(thing))
        for fault in faults(one, one, f"{room}.{name}")
    ]
    assert [fault for fault in found if fault not in _KNOWN] == []


@pytest.mark.parametrize("room", _ROOMS)
def test_results_are_not_kept_for_the_next_call(room):
    found: list[str] = []
    for call in recipes.calls(room):
        function, values = call.make(), recipes.valid_arguments(room, call)
        try:
            first, second = (surface.make_call(function, call, values) for _ in range(2))
        except primal.PrimalError:  # a name is taken, a budget spent
            continue
        if first is not getattr(function, "__self__", None):
            own = [array for value in values.values() for _, array in arrays(value, "")]
            found += faults(first, second, f"{room}.{call.name}()", own)
    assert found == []


def test_objects_of_every_form_return_nothing_to_write_to():
    things = more_objects()
    assert [f for name, one in things.items() for f in faults(one, one, name)] == []


def test_the_walk_finds_what_is_planted():
    m = primal.DynamicPrime(2, 8)
    vars(m.basis.table)["values"] = m.basis.table.values.copy()
    assert "m.basis.frequencies" in faults(m, m, "m")
    assert "m.basis.frequencies" not in faults(m, m, "m", [m.basis.frequencies])


def test_writing_to_frequencies_is_an_error():
    for m in (primal.DynamicPrime(4, 32), primal.KernelPrime(2, 64)):
        for array in (m.basis.frequencies, m.basis.table.mantissas):
            with pytest.raises(ValueError, match="read-only"):
                array *= 2
