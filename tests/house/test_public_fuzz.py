"""Whatever is passed to a public callable, a result or a clear error comes back, soon.

A short version of ``tools/fuzz.py``, which makes 20,000 calls.
"""

from __future__ import annotations

import importlib
import inspect
import time

import numpy as np
import pytest

for _package in ("sklearn", "torch", "gpytorch", "torchhd", "onnx"):
    pytest.importorskip(_package, reason="the whole public surface needs every host")

import fuzz_recipes as recipes  # noqa: E402
import fuzz_surface as surface  # noqa: E402

import primal  # noqa: E402

_CALLS_PER_CALLABLE = 10
_ROOMS = list(recipes.ROOMS)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def call_of(function, **parameters):
    signature = tuple(inspect.signature(function).parameters.values())
    return surface.attempt(surface.Call("f", lambda: function, signature), parameters, parameters)


@pytest.mark.parametrize("room", _ROOMS)
def test_hostile_arguments_give_a_result_or_a_clear_error(room):
    n_calls = _CALLS_PER_CALLABLE * len(list(recipes.calls(room)))
    wrong = [
        f"{called}: {outcome.kind}: {outcome.detail}"
        for called, outcome in recipes.fuzz(room, n_calls, seed=0)
        if outcome.kind not in surface.FINE
    ]
    assert wrong == []


@pytest.mark.parametrize("room", _ROOMS)
def test_every_callable_has_arguments_that_it_takes(room):
    for call in recipes.calls(room):
        outcome = surface.attempt(call, recipes.valid_arguments(room, call), {})
        assert outcome.kind == "result", (call.name, outcome)


# Options that take arrays or numbers, in addition to required arguments.
_OPTIONS = {
    **dict.fromkeys(("gamma", "width", "center", "around"), np.ones(3)),
    **dict.fromkeys(("sigma", "weights", "frequencies"), np.ones(8)),
    "sample_weight": np.ones(12),
    "classes": np.arange(3),
    "theta": np.ones(3),
    "beam": 2,
}
# Codes are equal to nothing else; only gamma="scale" looks at weights; transformers ignore y.
_UNREAD = ("Codebook.__eq__(other)", "KernelSum.resolved(weights)")
_LEARNS = ("Classifier", "Regressor")
_MASKED_ROOMS = [
    *("primal.exact", "primal.maps", "primal.exact", "primal.maps", "primal.codebooks"),
    *("primal.codebooks.bounds", "primal.sklearn", "primal.torch", "primal.torch.gp"),
]


@pytest.mark.parametrize("room", _MASKED_ROOMS)
def test_missing_values_are_refused_in_every_argument(room):
    taken = []
    for call in recipes.calls(room):
        values = recipes.valid_arguments(room, call)
        for parameter in call.parameters:
            masked = masked_twin(values.get(parameter.name, _OPTIONS.get(parameter.name)))
            if masked is None or parameter.kind is parameter.VAR_POSITIONAL:
                continue
            outcome = surface.attempt(call, {**values, parameter.name: masked}, {"x": masked})
            is_read = parameter.name != "y" or any(kind in call.name for kind in _LEARNS)
            if outcome.kind == "result" and is_read:
                taken.append(f"{call.name}({parameter.name})")
    assert [one for one in taken if one not in _UNREAD] == []


def masked_twin(value):
    """Return numbers as an array whose first one is missing, or None for anything else."""
    if not isinstance(value, (int, float, list, np.ndarray)) or isinstance(value, bool):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or not array.size:
        return None
    mask = np.zeros(array.shape, dtype=bool)
    mask.flat[0] = True
    return np.ma.masked_array(array, mask=mask)


def test_every_room_has_recipes_or_a_reason():
    found = {room for room in surface.rooms() if not recipes.is_excluded_room(room)}
    assert found == set(recipes.ROOMS)


@pytest.mark.parametrize("room", list(recipes.ROOMS))
def test_what_is_left_out_exists_and_has_a_reason(room):
    module = importlib.import_module(room)
    for name, reason in recipes.ROOMS[room].excluded.items():
        thing = module
        for part in name.removesuffix("()").split("."):
            thing = getattr(thing, part)
        assert callable(thing), name
        assert reason, name


def test_a_new_public_name_is_missed(monkeypatch):
    monkeypatch.setattr(primal.exact, "new", new, raising=False)
    monkeypatch.setattr(primal.exact, "__all__", [*primal.exact.__all__, "new"])
    call = next(call for call in recipes.calls("primal.exact") if call.name == "new")
    with pytest.raises(KeyError, match="unheard_of"):
        recipes.valid_arguments("primal.exact", call)


def new(unheard_of):
    """Stand for a function that somebody adds to a room."""


new.__module__ = "primal.exact._new"


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda x: x, "result"),
        (lambda x: primal.primes(-1), "PrimalError that does not name the argument"),
        (lambda x: x[0], "TypeError"),
        (lambda x: x + "", "TypeError"),
        (lambda x: x.nothing, "AttributeError"),
        (lambda x: np.zeros(surface.MOST_BYTES // 8 + 1), "allocation"),
    ],
)
def test_the_check_tells_outcomes_apart(function, kind):
    assert call_of(function, x=object()).kind.startswith(kind)


def test_a_call_that_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setattr(surface, "MOST_SECONDS", 0.1)
    assert call_of(lambda x: time.sleep(30), x=1).kind == "OutOfTime"
