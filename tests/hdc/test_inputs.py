"""Rejected inputs of hdc: bundles and weights that are not finite, masked, or misshapen."""

from __future__ import annotations

import numpy as np
import pytest

from primal import hdc
from primal.errors import DataError, PrimalError

SPACE = hdc.Space(16, roles=("key", "value"))
CODES, VALUES = (SPACE.symbols(role).encode(["a", "b", "c"]) for role in SPACE.roles)
ITEMS = hdc.ItemMemory(SPACE.symbols("value"), ["a", "b", "c"])
# Everything that takes a bundle z of shape (3, k).
CALLS = {
    "phasors": lambda z: hdc.phasors(z),
    "bind, stack": lambda z: hdc.bind(z),
    "bind, list": lambda z: hdc.bind([CODES, z]),
    "bundle, stack": lambda z: hdc.bundle(z),
    "bundle, list": lambda z: hdc.bundle([z, CODES]),
    "bundle, weights": lambda z: hdc.bundle(z, weights=[1, 2, 3]),
    "normalize": lambda z: hdc.normalize(z),
    "permute": lambda z: hdc.permute(z),
    "similarity, first": lambda z: hdc.similarity(z, CODES),
    "similarity, second": lambda z: hdc.similarity(CODES, z),
    "similarity, both": lambda z: hdc.similarity(z, z),
    "nearest_code": lambda z: hdc.nearest_code(z),
    "ngrams": lambda z: hdc.ngrams(z, 2),
    "to_numpy": lambda z: hdc.to_numpy(z),
    "codes * z": lambda z: CODES * z,
    "z * codes": lambda z: z * CODES,
    "codes / z": lambda z: CODES / z,
    "z / codes": lambda z: z / CODES,
    "codes + z": lambda z: CODES + z,
    "z + codes": lambda z: z + CODES,
    "codes - z": lambda z: CODES - z,
    "z - codes": lambda z: z - CODES,
    "encode_record": lambda z: hdc.encode_record({"x": z[0]}, SPACE.symbols(), {}),
    "decode": lambda z: hdc.decode(z[0], VALUES, 1),
    "decode, codes": lambda z: hdc.decode(VALUES[0] + VALUES[1], z, 1),
    "decode_slots": lambda z: hdc.decode_slots(z[0], CODES, ITEMS),
    "decode_slots, slots": lambda z: hdc.decode_slots(hdc.phasors(CODES[0]), z, ITEMS),
    "factorize": lambda z: hdc.factorize(z[0], [CODES, VALUES]),
    "factorize, lattice": lambda z: hdc.factorize(
        z[0], [SPACE.numbers(role, n_positions=2) for role in SPACE.roles]
    ),
    "cleanup": lambda z: ITEMS.cleanup(z),
    "retrieve": lambda z: ITEMS.retrieve(z),
    "items.decode": lambda z: ITEMS.decode(z[0], 1),
    **{
        f"{name}, {form}": lambda z, form=form, call=call: call(hdc.KeyValueMemory(SPACE, form), z)
        for form in ("matrix", "vector")
        for name, call in {
            "add, keys": lambda m, z: m.add(z, VALUES),
            "add, values": lambda m, z: m.add(CODES, z),
            "pairs, keys": lambda m, z: m.retrieve(z),
            "recall": lambda m, z: m.recall(z, ITEMS),
            "crosstalk": lambda m, z: m.crosstalk(CODES, z),
        }.items()
    },
}


@pytest.fixture(params=CALLS)
def call(request):
    return CALLS[request.param]


def bundle(number=1.0, dtype=np.complex64):
    z = hdc.phasors(VALUES).astype(dtype) * 0.5
    z[0, 3] = number
    return z


def test_finite_bundles_are_taken(call):
    call(bundle())


@pytest.mark.parametrize("number", [np.nan, complex(0, np.nan), np.inf, complex(0, -np.inf)])
def test_bundles_that_are_not_finite_are_refused(call, number):
    for dtype in (np.complex64, np.complex128):
        with pytest.raises(DataError, match=r"a bundle must contain finite numbers, got .* at \["):
            call(bundle(number, dtype))


@pytest.mark.parametrize("name", ["bundle, stack", "normalize", "codes * z", "cleanup", "to_numpy"])
def test_tensors_that_are_not_finite_are_refused(name):
    torch = pytest.importorskip("torch")
    codes = hdc.to_torch(CODES)
    calls = CALLS | {"codes * z": lambda z: codes * z}
    calls[name](torch.from_numpy(bundle()))
    with pytest.raises(DataError, match=r"a bundle must contain finite numbers, got .*nan"):
        calls[name](torch.from_numpy(bundle(np.nan)))


def test_masked_bundles_are_refused(call):
    masked = np.ma.array(bundle(), mask=np.eye(3, 8, dtype=bool))
    with pytest.raises(DataError, match=r"a bundle is masked: [13] of (24|8) values are missing"):
        call(masked)


def test_arrays_of_a_subclass_are_plain_arrays(call):
    expected = call(bundle())
    found = call(np.ma.array(bundle(), mask=False))
    if isinstance(expected, np.ndarray):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)


def test_masked_phases_are_no_codes():
    turns = np.ma.array(CODES.turns, mask=False)
    assert type(hdc.Codes(turns).turns) is np.ndarray
    turns[0, 0] = np.ma.masked
    with pytest.raises(DataError, match="turns is masked: 1 of 24 values are missing"):
        hdc.Codes(turns)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([np.nan, 1, 1], "weights holds nan at column 0"),
        ([1, -np.inf, 1], "weights holds -inf at column 1"),
        (np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1]), "weights is masked: 1 of 3 values"),
        ([np.ma.masked, 1.0, 1.0], "weights"),
        ([10**400, 1, 1], "weights holds the integer 1000"),
        ([10**5000, 1, 1], "weights must be real numbers"),
        ([1e39, 1, 1], "weights must be finite numbers of type float32, got"),
        (["x", "y", "z"], "weights must hold real numbers"),
        ([1j, 2, 3], "weights must hold real numbers"),
        ([[1, 2], [3]], "weights"),
        ([1, 2], r"weights must have the shape \(3,\)"),
        (2.0, r"weights must have the shape \(3,\)"),
        ({"a": 1}, "weights"),
    ],
)
def test_weights(weights, message):
    for codes in (CODES, [CODES[0], CODES[1], hdc.phasors(CODES[2])]):
        with pytest.raises(PrimalError, match=message):
            hdc.bundle(codes, weights=weights)


def test_weights_of_tensors():
    torch = pytest.importorskip("torch")
    codes, weights = hdc.to_torch(CODES), torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    total = hdc.bundle(codes, weights=weights)
    assert total.requires_grad
    np.testing.assert_allclose(
        total.detach().numpy(), hdc.bundle(CODES, weights=[1.0, -2.0, 0.5]), atol=1e-6
    )
    np.testing.assert_allclose(hdc.bundle(codes, weights=[1, -2, 0.5]).numpy(), total.detach())
    for wrong in (torch.tensor([1.0, torch.nan, 1.0]), torch.tensor([1j, 1, 1]), [1e39, 1, 1]):
        with pytest.raises(DataError, match="weights must be"):
            hdc.bundle(codes, weights=wrong)
    with pytest.raises(DataError, match=r"weights is not .*requires grad"):
        hdc.bundle(CODES, weights=weights)  # of an array, by a tensor with a gradient


@pytest.mark.parametrize("size", [3e38, 1.0, 1e-30, 1e-44])
def test_sizes_at_the_ends_of_float32(size):
    z = np.array([size * (1 + 1j), -size, 0], dtype=np.complex64)
    root = np.sqrt(0.5)
    np.testing.assert_allclose(hdc.normalize(z), [root + root * 1j, -1, 1], atol=1e-6)
    assert hdc.similarity(z, z) == pytest.approx(1.0)


LOOP: list = [1.0]
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SPACE.symbols().encode([10**5000]), "too long to be a name: Exceeds"),
        (lambda: SPACE.symbols().encode(-(10**5000)), "too long to be a name: Exceeds"),
        (lambda: hdc.ItemMemory(SPACE.symbols(), [10**5000]), "too long to be a name"),
        (lambda: hdc.ItemMemory(SPACE.symbols(), [LOOP]), "too deeply, or contains itself"),
        (lambda: hdc.ItemMemory(SPACE.reals(), [LOOP]), "too deeply, or contains itself"),
        (lambda: LOOP in ITEMS, "too deeply, or contains itself"),
        (lambda: CODES ** (10**5000), "r must be one real number below .* got int:?"),
        (lambda: CODES * 10**5000, "got int: encode .* weights go into bundle"),
    ],
)
def test_numbers_and_lists_without_a_text(call, message):
    with pytest.raises(DataError, match=message):
        call()
