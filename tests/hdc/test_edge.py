"""The public edge: whatever is passed, an answer comes back or an error of ours."""

from __future__ import annotations

import contextlib
import inspect
import math

import numpy as np
import pytest

import primal
from primal import hdc

SPACE = hdc.Space(16, roles=("a", "b", "c"))
A, B, C = (SPACE.symbols(role) for role in "abc")
CODES = A.encode(["x", "y", "z"])
OTHER = B.encode(["x", "y", "z"])
SUM = hdc.bundle(CODES)
MEMORY = hdc.ItemMemory(A, ["x", "y", "z"])

STRANGE = [
    None,
    True,
    0,
    3,
    -1,
    2**70,
    2.5,
    math.nan,
    1j,
    "x",
    "a",
    b"x",
    [],
    [1, 2],
    ["x", ["y"]],
    (),
    {},
    {"x": 1},
    {1, 2},
    range(3),
    object(),
    print,
    int,
    (n for n in range(3)),
    np.float32(2.5),
    np.array(3),
    np.ones(3),
    np.ones((2, 8), np.uint32),
    np.ones(8, np.complex64),
    np.full(8, np.nan, np.complex64),
    np.ones((0, 8), np.complex64),
    np.ones((2, 2, 8), np.complex64),
    np.ones(5, np.complex128),
    np.array(["x", "y"]),
    np.array([True, False]),
    np.array([object()], dtype=object),
    hdc.identity(8),
    hdc.identity(5),
    CODES,
    CODES[:0],
    hdc.Codes(np.ones((2, 2, 8), np.uint32)),
    hdc.Codes(np.ones((3, 8), np.uint64)),
    SPACE,
    A,
    SPACE.integers("b"),
    hdc.Space(32).symbols(),
    SPACE.levels("c", low=0, high=1, n=3),
    MEMORY,
    hdc.ItemMemory(A),
]

CALLS = {
    hdc.Codes: [CODES.turns],
    hdc.Codes.stack: [[CODES, CODES]],
    hdc.bind: [CODES, OTHER],
    hdc.unbind: [CODES, OTHER],
    hdc.bundle: [CODES, OTHER],
    hdc.inverse: [CODES],
    hdc.negative: [CODES],
    hdc.normalize: [SUM],
    hdc.permute: [CODES, 1],
    hdc.power: [CODES, 0.5],
    hdc.similarity: [CODES, OTHER],
    hdc.similarity_matrix: [CODES, OTHER],
    hdc.identity: [8],
    hdc.phasors: [CODES],
    hdc.nearest_code: [SUM],
    hdc.to_numpy: [CODES],
    hdc.capacity: [512, 1000, "matched"],
    hdc.matched_accuracy: [512, 1000, 20],
    hdc.recall_accuracy: [512, 1000, 20, "vector"],
    hdc.certify: [CODES],
    hdc.decode: [SUM, CODES, 2],
    hdc.to_ssp: [CODES],
    hdc.from_ssp: [np.ones(17)],
    hdc.from_fhrr: [SUM],
    hdc.ItemMemory: [A, ["x"]],
    MEMORY.cleanup: [CODES],
    MEMORY.retrieve: [CODES],
    MEMORY.decode: [SUM, 2],
    MEMORY.code: ["x"],
    MEMORY.place: ["x"],
    MEMORY.__contains__: ["x"],
    hdc.KeyValueMemory: [SPACE, "vector"],
    hdc.KeyValueMemory(SPACE).add: [CODES, OTHER],
    hdc.KeyValueMemory(SPACE).retrieve: [CODES],
    hdc.KeyValueMemory(SPACE).recall: [CODES, MEMORY],
    hdc.KeyValueMemory(SPACE).crosstalk: [CODES, OTHER],
    hdc.KeyValueMemory(SPACE).expected_accuracy: [10],
    hdc.factorize: [CODES[0] * OTHER[0], [CODES, OTHER]],
    hdc.SequenceMemory: ["b", MEMORY],
    hdc.SequenceMemory("b", MEMORY).extend: [["x"]],
    hdc.SequenceMemory("b", MEMORY).at: [0],
    hdc.decode_slots: [SUM, OTHER, MEMORY],
    hdc.Space: [16, ("a",), 16, 1.0],
    SPACE.grow: [32],
    SPACE.increments: ["a"],
    SPACE.symbols: ["a"],
    SPACE.integers: ["a"],
    SPACE.reals: ["a", 2],
    primal.from_spec: [A.spec],
    hdc.Symbols: [SPACE, "a"],
    hdc.Integers: [SPACE, "a"],
    hdc.Reals: [SPACE, "a", 1, "rbf", 1.0],
    hdc.Levels: [SPACE, "a", 0.0, 1.0, 3, False],
    hdc.Thermometer: [SPACE, "a", 0.0, 1.0, 3, False],
    hdc.Circular: [SPACE, "a", 24.0],
    A.encode: ["x"],
    A.certificate: [["x", "y"]],
    A.grow: [32],
    SPACE.integers("a").encode: [3],
    SPACE.integers("a").certificate: [3],
    SPACE.levels("a", low=0, high=1, n=3).encode: [0.5],
    SPACE.circular("a", period=24).encode: [0.5],
    SPACE.circular("a", period=24).certificate: [3],
    hdc.encode_record: [{"x": "y"}, A, B],
    hdc.encode_sequence: [["x"], "b", A],
    hdc.encode_graph: [[("x", "y", "z")], A, B, C],
    hdc.encode_tree: [("x", ("y",)), "b", A],
    hdc.path_code: [(0, 1), A],
    hdc.ngrams: [CODES, 2],
}
OPTIONS = {
    hdc.bundle: ("weights", "normalize"),
    hdc.capacity: ("accuracy",),
    hdc.decode: ("decoder",),
    MEMORY.cleanup: ("top",),
    MEMORY.retrieve: ("beta", "steps"),
    hdc.factorize: ("steps",),
    hdc.encode_sequence: ("start",),
    SPACE.integers("a").encode: ("bits",),
}


def shown(call):
    return getattr(call, "__qualname__", str(call))


def ours_or_fine(call, arguments, options=None):
    """Call it; only errors of ours may come back."""
    with contextlib.suppress(primal.PrimalError, primal.errors.MissingPackageError):
        call(*arguments, **(options or {}))


@pytest.mark.parametrize("call", list(CALLS), ids=shown)
@pytest.mark.filterwarnings("ignore")
def test_any_argument_gets_an_answer_or_an_error_of_ours(call):
    given = CALLS[call]
    for place in range(len(given)):
        for strange in STRANGE:
            ours_or_fine(call, [*given[:place], strange, *given[place + 1 :]])
    for name in OPTIONS.get(call, ()):
        for strange in STRANGE:
            ours_or_fine(call, given, {name: strange})


def test_every_public_name_is_tried():
    tried = {inspect.unwrap(getattr(call, "__func__", call)) for call in CALLS}
    elsewhere = {
        # What calls return, and what needs more than plain values.
        *("Cleaned", "Crosstalk", "Decoded", "Factors", "LawCertificate", "Recalled"),
        *("SimilarityCertificate", "Vocabulary"),
        *("to_torch", "to_fhrr"),
    }
    names = set(hdc.__all__) - elsewhere
    assert {name for name in names if getattr(hdc, name) not in tried} == set()


@pytest.mark.parametrize("call", ["to_torch", "to_fhrr"])
def test_conversions_refuse_what_is_no_code(call):
    pytest.importorskip("torchhd", reason="torchhd is not installed")
    for strange in STRANGE:
        ours_or_fine(getattr(hdc, call), [strange])


def test_the_check_can_fail():
    with pytest.raises(TypeError):
        ours_or_fine(lambda x: x + 1, ["x"])
