"""How every public callable is called well: what its arguments are, and why some are left out."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import fuzz_surface as surface
import numpy as np
import torch

import primal
from primal import edge, exact, hdc, maps, privacy
from primal import torch as layers
from primal.decoding import MatrixPlan, plan_matrix
from primal.vectors import Index, VectorCodes

# An error that a callback raises passes through: only things that are no callbacks are tried.
CALLBACKS = ("progress",)

_MEASURED = "holds what was measured"
_LAYER = ("device", "dtype")
_LEARNED = ("learnable_scale", "learnable_frequencies", *_LAYER)


@dataclass(frozen=True)
class Room:
    """Valid arguments by name and for single calls, names of options, instances, exclusions."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    calls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what ** stands for
    instances: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    excluded: Mapping[str, str] = field(default_factory=dict)
    strange: tuple[Any, ...] = ()  # what belongs to the room, or makes it, in the wrong place


_X = np.random.default_rng(0).normal(size=(12, 3))
_Y = np.arange(12) % 3
_MAP = primal.DynamicPrime(3, 16, 0.1)
_Z = _MAP.encode(_X)
_KERNEL = primal.KernelPrime(3, 16)
_STATIC = primal.StaticPrime(16)
_SENSOR = edge.SensorMap(_KERNEL, 0.1)
_TURNS = _MAP.turns(_X)
_INCREMENTS = _STATIC.increments
_BOX = primal.Box(4.0)
_CODEBOOK = primal.codebook(8, 4)
_SPACE = hdc.Space(16, roles=("a", "b", "c"))
_A, _B, _C = (_SPACE.symbols(role) for role in "abc")
_CODES, _OTHER = _A.encode(["x", "y", "z"]), _B.encode(["x", "y", "z"])
_SUM = hdc.bundle(_CODES)
_TENSOR = torch.from_numpy(_X)
_PLACES = torch.arange(5)
_HEADS = torch.ones(2, 3, 5, 16)


def _index() -> Index:
    index = Index(VectorCodes(3, 2), rescore=VectorCodes(3, 8))
    index.add(_X)
    return index


def _memory() -> hdc.ItemMemory:
    return hdc.ItemMemory(_A, ["x", "y", "z"])


def _saved(name: str, thing: Any) -> Path:
    """Return where a thing is saved in this folder."""
    path = Path(name)
    if not path.exists():
        thing.save(path)
    return path


_KEY = privacy.Key(bytes(32), application="fuzz")
_KEYED = privacy.KeyedPrime(_KEY, 3, 16, 0.1)
_PEOPLE = np.random.default_rng(1).normal(size=(40, 3))
# Whatever needs OpenDP cannot be called well without it.
_NOISY = ("Accountant", "release_bundles", "release_moments")
_NO_OPENDP = {} if importlib.util.find_spec("opendp") else dict.fromkeys(_NOISY, "needs OpenDP")


def _new_budget() -> privacy.Accountant:
    return privacy.Accountant(5.0, 1e-5)


_SAVED = (
    *("PrimeFeatures", "PrimeRidgeClassifier", "PrimeRidgeRegressor"),
    "PrimeCentroidClassifier",
)


def _saved_model(name: str) -> Path:
    made = getattr(_estimators, name)(n_components=32).fit(_X, np.arange(len(_X)) % 2)
    return _saved(f"a {name}", made)


def _key_values() -> hdc.KeyValueMemory:
    return hdc.KeyValueMemory(_SPACE).add(_CODES, _OTHER)


def _vectors() -> hdc.VectorMemory:
    return hdc.VectorMemory(2, 128).store("x", [0.5, -0.5])


def _estimator(kind: Callable[..., Any], **options: Any) -> object:
    """Make an estimator and fit it: its parameters are checked then, as scikit-learn asks."""
    X = np.arange(12)[:, None] if "Positions" in kind.__name__ else _X
    return kind(**options).fit(X, _Y)


def _fitted(kind: Any, **options: Any) -> Callable[[], Any]:
    """Return a maker of copies of one fitted estimator: a call may change what it is given."""
    fitted = cache(partial(_estimator, kind, **options))
    return lambda: deepcopy(fitted())


@cache
def _matrix_plan() -> MatrixPlan:
    return plan_matrix(np.eye(4, 3), prior=_BOX, noise=0.01)


_estimators = importlib.import_module("primal.sklearn")
_gp = importlib.import_module("primal.torch.gp")
_RBF = importlib.import_module("gpytorch.kernels").RBFKernel()
_SKLEARN = {"X": _X, "y": _Y, "gamma": 0.5, "kernel": "rbf", "value": "x", "n_components": 32}

ROOMS: dict[str, Room] = {
    "primal": Room({"spec": _KERNEL.spec}),
    "primal.exact": Room(
        {
            "name": "auto",
            "d": 3,
            "n_frequencies": 8,
            "n_multiplications": 1e6,
            "n": 4,
            "turns": _TURNS,
            "increments": _INCREMENTS,
            "positions": np.arange(3, dtype=np.uint64),
            "codes": exact.pack(_TURNS, 8),
            "other": _MAP.basis,
            "n_bits": 8,
            "k": 8,
            "frequencies": [0.4, 0.1],
            "factor": 2.0,
            "trained_length": 64,
        },
        calls={
            "Basis.grow": {"n_frequencies": 16},
            "round_turns": {"turns": _TURNS.astype(np.uint64)},
        },
        instances={"Basis": lambda: _MAP.basis},
        excluded=dict.fromkeys(
            ("FrequencyTable", "HadamardTable"), "a basis makes tables, of arrays it has checked"
        ),
    ),
    "primal.maps": Room(
        {
            "d": 3,
            "D": 32,
            "x": _X,
            "z": _Z,
            "t": [3, 5],
            "N": 6,
            "n": 20,
            "prior": _BOX,
            "other": maps.on(2),
            "kernel": "rbf",
            "X": _X,
            "gamma": 0.5,
            "columns": [0, 1],
            "terms": maps.on(0).terms,
        },
        calls={
            "DynamicPrime.__eq__": {"other": _MAP},
            "KernelPrime.__eq__": {"other": _KERNEL},
            "KernelSum.values": {"t": _X},
            "StaticPrime.__eq__": {"other": _MAP},
            "KernelPrime.decode": {"z": _KERNEL.encode(_X)},
            "KernelPrime.with_amplitude": {"amplitude": 0.5},
            "StaticPrime.decode": {"z": _STATIC.encode([3]), "n": 20},
        },
        options={"KernelPrime.decode_plan": ("noise", "beam", "cache", "progress")},
        instances={
            "DynamicPrime": lambda: primal.DynamicPrime(3, 16, 0.1),
            "KernelPrime": lambda: _KERNEL,
            "StaticPrime": lambda: primal.StaticPrime(16),
            "KernelSum": lambda: maps.on(0) + maps.on(1, "laplacian"),
        },
    ),
    "primal.decoding": Room(
        {
            "z": _Z,
            "m": _MAP,
            "prior": _BOX,
            "other": _BOX,
            "basis": _MAP.basis,
            "layout": "block",
            "d": 3,
            "noise": 0.01,
            "turns": _TURNS,
            "half_width": 1.0,
            "mean": 0.0,
            "cov": 1.0,
            "A": np.eye(4, 3),
            "y": np.zeros((2, 4)),
        },
        calls={"plan_matrix": {"A": np.eye(4, 3), "prior": _BOX, "noise": 0.01}},
        instances={
            "Box": lambda: _BOX,
            "Gaussian": lambda: primal.Gaussian(0.0, 1.0),
            "Integers": lambda: primal.Integers(),
            "DecodePlan": lambda: _MAP.decode_plan(prior=_BOX),
            "MatrixPlan": _matrix_plan,
        },
        excluded={
            "DecodePlan()": "is made by decode_plan",
            "DecodingCertificate()": "is made by decode_plan and plan_matrix",
            "MatrixPlan()": "is made by plan_matrix",
            "Status()": "is an enumeration",
        },
    ),
    "primal.codebooks": Room(
        {"N": 8, "D": 4, "coherence": 0.8, "other": _CODEBOOK, "increments": _INCREMENTS},
        calls={
            "codebook": {"N": 6, "D": 4, "steps": 5},
            "gram_statistics": {"codes": np.eye(4)},
            "Codebook.encode": {"indices": [0, 3]},
            "Codebook.grow": {"N": 9},
        },
        instances={"Codebook": lambda: primal.codebook(8, 4, kind="static")},
        excluded={"Codebook()": "is made by codebook"},
    ),
    "primal.codebooks.bounds": Room({"N": 8, "D": 4}),
    "primal.edge": Room(
        {
            "m": _KERNEL,
            "n": np.arange(6).reshape(2, 3),
            "model": _KERNEL,
            "path": "header.h",
            "turns": _TURNS,
            "sensor": _SENSOR,
            "weights": np.ones((2, 16)),
        },
        calls={"to_js": {"model": _MAP}},
        options={"export_c": ("scale", "zero", "kind", "inputs")},
        instances={
            "SensorMap": lambda: _SENSOR,
            "SensorModel": lambda: edge.SensorModel(_SENSOR, np.ones((2, 16)), labels=[0, 1]),
        },
    ),
    "primal.sklearn": Room(
        _SKLEARN,
        calls={
            "PrimeFeatures.grow": {"n_components": 64},
            "PrimePositions.inverse_transform": {"X": _STATIC.encode([3, 4])},
            "PrimePositions.transform": {"X": [[3], [4]]},
            "PrimePositions.partial_fit": {"X": [[3], [4]]},
            "PrimePositions.fit": {"X": [[3], [4]]},
            "PrimeRidgeClassifier.grow": {"n_components": 64},
            "PrimeRidgeRegressor.grow": {"n_components": 64},
            "PrimeCentroidClassifier.grow": {"n_components": 64},
            **{f"{name}.save": {"path": f"saved {name}"} for name in _SAVED},
            **{f"{name}.load": {"path": lambda n=name: _saved_model(n)} for name in _SAVED},
        },
        instances={
            "PrimeCentroidClassifier": _fitted(
                _estimators.PrimeCentroidClassifier, n_components=32
            ),
            "PrimeFeatures": _fitted(_estimators.PrimeFeatures, n_components=32),
            "PrimeGaussianProcessRegressor": _fitted(
                _estimators.PrimeGaussianProcessRegressor, n_components=16
            ),
            "PrimeHasher": _fitted(_estimators.PrimeHasher, n_components=16),
            "PrimePositions": _fitted(_estimators.PrimePositions, n_components=16),
            "PrimeRidgeClassifier": _fitted(_estimators.PrimeRidgeClassifier, n_components=32),
            "PrimeRidgeRegressor": _fitted(_estimators.PrimeRidgeRegressor, n_components=32),
        },
    ),
    "primal.torch": Room(
        {
            "d": 3,
            "D": 16,
            "x": _TENSOR,
            "t": _PLACES,
            "q": _HEADS,
            "k": _HEADS,
            "N": 5,
            "frequencies": np.ones((8, 3)),
            "first": 0,
            "last": 4,
            "samples_per_unit": 8.0,
            "positions": _PLACES,
            "n_channels": 4,
            "z": torch.ones(5, 16),
            "n": 20,
        },
        calls={
            "DynamicPrime.grow": {"D": 32},
            "PrimeFeatures.grow": {"D": 32},
            "StaticPrime.grow": {"D": 32},
            "PrimePositions.grow": {"D": 32},
            "DynamicPrime.from_map": {"m": _MAP},
            "PrimeFeatures.from_map": {"m": _KERNEL},
            "PrimePositions.from_map": {"m": _STATIC},
            "StaticPrime.from_map": {"m": _STATIC},
            "Embedding": {"vocabulary": _A, "items": ["x"]},
            "Embedding.forward": {"x": torch.tensor([0])},
            "PrimePositions.rotate": {"x": _HEADS, "seq_dim": -2},
            "PrimePositions.rotary": {"seq_dim": -2},
            "rotate": {"x": _HEADS, "codes": torch.ones(5, 16)},
        },
        options={
            "DynamicPrime.from_map": _LEARNED,
            "DynamicPrime.grow": ("sigma",),
            "PrimeFeatures": _LEARNED,
            "PrimeFeatures.from_map": _LEARNED,
            "PrimeFeatures.grow": ("rescale",),
            "PrimePositions.from_map": ("head_dim", *_LAYER),
            "PrimePositions.grow": (),
            "StaticPrime.from_map": _LAYER,
            "StaticPrime.grow": (),
        },
        instances={
            "Embedding": lambda: layers.Embedding(_A, items=["x"]),
            "DynamicPrime": lambda: layers.DynamicPrime(3, 16, 0.1),
            "PrimeFeatures": lambda: layers.PrimeFeatures(3, 16),
            "PrimePositions": lambda: layers.PrimePositions(16, spacing="raw"),
            "StaticPrime": lambda: layers.StaticPrime(16),
        },
        excluded={
            "PrimePositions.stretched": "rejects frequencies that can grow; its function is tried",
            "use_exact_rotary": "changes its model, which a second call then rejects",
        },
    ),
    "primal.torch.gp": Room(
        {"num_inputs": 3, "num_outputs": 16, "num_samples": 8, "x": _TENSOR},
        calls={
            "gen_prime_features": {"kernel": _RBF},
        },
        options={"PrimeKernel": ()},
        instances={"PrimeKernel": lambda: _gp.PrimeKernel(8, 3)},
        excluded={
            "PrimeKernel.forward": "GPyTorch calls it, with tensors that it has checked",
            "PrimeKernel.prediction_strategy": "hands what it is given to GPyTorch",
        },
    ),
    "primal.hdc": Room(
        {
            "a": _CODES,
            "b": _OTHER,
            "codes": _CODES,
            "D": 32,
            "space": _SPACE,
            "role": "a",
            "period": 24.0,
            "low": 0.0,
            "high": 1.0,
            "n": 3,
            "turns": _CODES.turns,
            "bundle": _SUM,
            "n_items": 2,
            "vocabulary": _A,
            "x": 0.5,
            "queries": _CODES,
            "keys": _CODES,
            "values": _OTHER,
            "items": ["x"],
            "item": "x",
            "positions": "b",
            "symbols": _A,
            "objects": _C,
            "relations": _B,
            "subjects": _A,
            "names": ["x", "y"],
            "numbers": 3,
            "r": 0.5,
            "other": _OTHER,
            "d": 1,
            "path": "saved",
        },
        calls={
            "bind": {"codes": (_CODES, _OTHER)},
            "bundle": {"codes": (_CODES, _OTHER)},
            "permute": {"n": 1},
            "ngrams": {"n": 2},
            "normalize": {"a": _SUM},
            "phasors": {"x": _CODES},
            "to_numpy": {"x": _CODES},
            "to_torch": {"x": _CODES},
            "to_fhrr": {"x": _CODES},
            "from_fhrr": {"tensor": torch.from_numpy(_SUM)},
            "Codes.stack": {"codes": [_CODES, _CODES]},
            "Codes.__eq__": {"other": _CODES},
            "factorize": {
                "product": _CODES[0] * _OTHER[0],
                "domains": [
                    _SPACE.symbols("a", n_positions=9),
                    _SPACE.numbers("b", n_positions=9),
                ],
            },
            "Space": {"D": 16, "roles": ("a",)},
            "decode_slots": {"slots": _OTHER, "items": _memory()},
            "encode_graph": {"triples": [("x", "y", "z")]},
            "encode_record": {"fields": {"x": "y"}, "keys": _A, "values": _B},
            "Reals.encode": {"x": [[0.5]]},
            "KeyValueMemory.recall": {"values": _memory()},
            "ItemMemory.load": {"path": lambda: _saved("items", _memory())},
            "KeyValueMemory.load": {"path": lambda: _saved("pairs", _key_values())},
            "VectorMemory": {"D": 128},
            "VectorMemory.load": {"path": lambda: _saved("vectors", _vectors())},
            "VectorMemory.store": {"keys": "y", "x": [0.5, -0.5]},
            "VectorMemory.retrieve": {"keys": "x"},
            "VectorMemory.__contains__": {"key": "x"},
        },
        instances={
            "Circular": lambda: _SPACE.circular("a", period=24),
            "Codes": lambda: _CODES,
            "Numbers": lambda: _SPACE.numbers("a"),
            "ItemMemory": _memory,
            "KeyValueMemory": _key_values,
            "Levels": lambda: _SPACE.levels("a", low=0, high=1, n=3),
            "Reals": lambda: _SPACE.reals("a"),
            "Space": lambda: _SPACE,
            "Symbols": lambda: _A,
            "VectorMemory": _vectors,
        },
        strange=(
            *(_CODES[0], hdc.Space(10).symbols().encode("x"), _CODES, _CODES[:0], _SUM, _SPACE, _A),
            *(_SPACE.numbers("b", n_positions=9), _SPACE.symbols("c", n_positions=5), _vectors),
            *(_SPACE.numbers("b"), hdc.Space(32).symbols(), _memory(), hdc.ItemMemory(_A)),
            *(_SPACE.levels("c", low=0, high=1, n=3), hdc.to_torch(_CODES)),
            hdc.Codes(np.ones((2, 2, 8), np.uint32)),
            hdc.Codes(np.ones((3, 8), np.uint64)),
        ),
    ),
}
ROOMS["primal.vectors"] = Room(
    {
        "d": 3,
        "x": _X,
        "q": _X[0],
        "codes": VectorCodes(3),
        "ids": [0, 2],
        "rows": VectorCodes(3).encode(_X),
        "path": "saved",
        "scores": np.zeros(3),
    },
    calls={
        "VectorCodes.__eq__": {"other": VectorCodes(3)},
        "Index.add": {"ids": None},
        "Index.load": {"path": lambda: _saved("index", _index())},
    },
    instances={"VectorCodes": lambda: VectorCodes(3), "Index": _index},
    strange=(VectorCodes(2, 1, "l2"), _index, VectorCodes(2).encode(_X[:, :2])),
    excluded={"Neighbors": "holds its two arrays"},
)
ROOMS["primal.privacy"] = Room(
    {
        "key": _KEY,
        "spec": _KEYED.spec,
        "d": 3,
        "D": 16,
        "sigma": 0.1,
        "x": _X,
        "m": _KEYED,
        "secret": bytes(32),
        "application": "fuzz",
        "purpose": "x",
        "n_bytes": 9,
        "n_bits": 9,
        "template": _KEYED.template(_X),
        "templates": _KEYED.template(_X),
        "prior": _BOX,
        "X": _X,
        "y": _Y,
        "attribute": _Y,
        "others": _X,
        "y_others": _Y,
        "epsilon": 1.0,
        "delta": 1e-5,
        "rho": 1e-3,
        "classes": [0, 1, 2],
        "other": _KEY,
    },
    calls={
        "KeyedPrime.scores": {"others": _KEYED.template(_X)},
        "KeyedPrime.revoke": {"key": privacy.Key(bytes(32), application="new")},
        "KeyedPrime.rotate": {"new": privacy.KeyedPrime(_KEY, 3, 32, 0.1)},
        "audit": {"X": _PEOPLE, "encode": partial(np.asarray), "baselines": False},
        "evaluate": {"scheme": lambda: lambda _: np.asarray, "y_others": _Y + 9, "attacks": False},
        "release_bundles": {"m": _MAP, "budget": lambda: _new_budget()},
        "release_moments": {"m": _MAP, "budget": lambda: _new_budget()},
        "Report.save": {"path": "report.json"},
    },
    instances={
        "Key": lambda: privacy.Key(bytes(32), application="fuzz"),
        "KeyedPrime": lambda: _KEYED,
        "Accountant": _new_budget,
        "Report": lambda: privacy.audit(np.asarray, _PEOPLE, baselines=False),
    },
    excluded={
        **dict.fromkeys(("NoisyClassifier", "Report()"), _MEASURED),
        **_NO_OPENDP,
    },
)
if importlib.util.find_spec("pyarrow"):
    _arrow, _pa = importlib.import_module("primal.arrow"), importlib.import_module("pyarrow")
    _ENCODER = _arrow.Encoder(primal.KernelPrime(3, 8), "x")
    _SUMS = _arrow.RidgeSums(_ENCODER, "y")
    _BATCH = _pa.table({"x": _X.tolist(), "y": _Y.astype(float)})
    ROOMS["primal.arrow"] = Room(
        arguments={
            "map": _ENCODER.map,
            "other": _ENCODER,
            "batch": _BATCH,
            "columns": "x",
            "encoder": _ENCODER,
            "target": "y",
            "schema": _BATCH.schema,
            "batches": [_BATCH],
        },
        calls={
            "Encoder.array": {"columns": [_BATCH["x"]]},
            "RidgeSums.finish": {"batches": [_SUMS(_BATCH)]},
        },
        instances={"Encoder": lambda: _ENCODER, "RidgeSums": lambda: _SUMS},
    )
EXCLUDED_ROOMS = {
    "primal.cli": "takes text from a command line, not arguments",
    "primal.errors": "holds kinds of errors and warnings",
    "primal.native": "has no public names",
}


def home(thing: Any) -> str:
    """Return the room in which a thing is fuzzed: that of the module which defines it."""
    parts = thing.__module__.split(".")
    return ".".join(parts[: next((i for i, p in enumerate(parts) if p[0] == "_"), len(parts))])


def is_excluded_room(room: str) -> bool:
    return any(room == other or room.startswith(f"{other}.") for other in EXCLUDED_ROOMS)


def calls(room: str) -> Iterator[surface.Call]:
    """Yield every public callable of a room: functions, constructors, methods."""
    module, table = importlib.import_module(room), ROOMS[room]
    for name in surface.public_names(room):
        thing = getattr(module, name)
        if name in table.excluded or (
            home(thing) in ROOMS
            and home(thing) != room
            and name in surface.public_names(home(thing))
        ):
            continue
        if not inspect.isclass(thing):
            yield _call(table, name, lambda thing=thing: thing, thing)
            continue
        if f"{name}()" not in table.excluded:
            make = partial(_estimator, thing) if hasattr(thing, "get_params") else thing
            yield _call(table, name, lambda make=make: make, thing)
        for method in surface.methods(thing):
            if f"{name}.{method}" not in table.excluded:
                instance = table.instances[name]
                yield _call(
                    table,
                    f"{name}.{method}",
                    lambda instance=instance, method=method: getattr(instance(), method),
                    getattr(instance(), method),
                )


def _call(table: Room, name: str, make: Callable[[], Any], function: Any) -> surface.Call:
    """Describe a call, with parameters for the options that it takes by ``**``."""
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            parameters += [
                inspect.Parameter(option, parameter.KEYWORD_ONLY, default=None)
                for option in table.options[name]
            ]
        else:
            parameters.append(parameter)
    return surface.Call(name, make, tuple(parameters))


def valid_arguments(room: str, call: surface.Call) -> dict[str, Any]:
    """Return arguments with which a call succeeds."""
    table = ROOMS[room]
    given = dict(table.calls.get(call.name, {}))
    for parameter in call.parameters:
        if parameter.default is parameter.empty and parameter.name not in given:
            given[parameter.name] = table.arguments[parameter.name]
    return {name: value() if inspect.isfunction(value) else value for name, value in given.items()}


def fuzz(room: str, n_calls: int, seed: int) -> Iterator[tuple[str, surface.Outcome]]:
    """Yield what was called, and how it ended, for calls with one or two hostile arguments."""
    rng = random.Random(f"{room} {seed}")
    targets = list(calls(room))
    for call in targets:  # what is imported or compiled on first use is not the call's time
        surface.make_call(call.make(), call, valid_arguments(room, call))
    for number in range(n_calls):
        # Every callable in turn, so that none is left out.
        call = targets[number % len(targets)]
        values = valid_arguments(room, call)
        chosen = rng.sample(call.parameters, min(len(call.parameters), rng.choice((1, 1, 2))))
        replaced = {}
        for parameter in chosen:
            bad = surface.hostile(rng, callables=parameter.name not in CALLBACKS)
            if ROOMS[room].strange and rng.random() < 0.2:
                bad = rng.choice(ROOMS[room].strange)
                bad = bad() if inspect.isfunction(bad) else bad
            replaced[parameter.name] = bad
            if parameter.kind is parameter.VAR_POSITIONAL:
                place = rng.randrange(len(values[parameter.name]))
                bad = (*values[parameter.name][:place], bad, *values[parameter.name][place + 1 :])
            values[parameter.name] = bad
        said = ", ".join(f"{name}={surface.shown(value)}" for name, value in replaced.items())
        yield f"{room}.{call.name}({said})", surface.attempt(call, values, replaced)
