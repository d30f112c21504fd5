"""``Codes``: operators of the algebra, indices over codes, and no silent numbers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import primal
from primal import hdc

LIBRARIES = ("numpy", "torch")


@pytest.fixture(params=LIBRARIES)
def codes(request):
    """Codes of shape (3, 4), of NumPy and of PyTorch."""
    turns = np.random.default_rng(0).integers(0, 2**32, (3, 4), dtype=np.uint32)
    if request.param == "numpy":
        return hdc.Codes(turns)
    pytest.importorskip("torch", reason="PyTorch is not installed")
    return hdc.to_torch(hdc.Codes(turns))


def code(k):
    return hdc.Codes(np.zeros(k, np.uint32))


def close(a, b):
    return np.allclose(hdc.to_numpy(a), hdc.to_numpy(b), atol=1e-6)


def test_operators_are_the_algebra(codes):
    a, b, c = codes
    assert a * b == hdc.bind(a, b)
    assert a / b == a * ~b
    assert close(hdc.phasors(~a), hdc.phasors(a).conj())
    assert close(hdc.phasors(-a), -hdc.phasors(a))
    assert a**3 == a * a * a
    assert close(hdc.phasors(a**0.5 * a**0.5), hdc.phasors(a))
    assert close(a + b, hdc.bundle(a, b))
    assert close(a - b, hdc.bundle(a, -b))
    # What torchhd's users write.
    assert close(a * b + c, hdc.bundle(hdc.bind(a, b), c))


def test_codes_and_bundles_mix_on_either_side(codes):
    a, b, c = codes
    s = b + c
    za, zb, zc = (hdc.phasors(x) for x in (a, b, c))
    assert close(a * s, za * (zb + zc))
    assert close(s * a, za * (zb + zc))
    assert close(s / a, (zb + zc) * za.conj())
    assert close(a / s, za * (zb + zc).conj())
    assert close(s + a, zb + zc + za)
    assert close(a + s, zb + zc + za)
    assert close(s - a, zb + zc - za)
    assert close(a - s, za - zb - zc)
    assert close(sum([a, b, c]), za + zb + zc)
    for found in (a * s, s * a, s / a, s + a):
        assert not isinstance(found, hdc.Codes)


def test_indices_go_over_codes_never_into_them(codes):
    turns = codes.turns
    assert codes.shape == (3, 4)
    assert (len(codes), codes.k, codes.ndim, codes.bits) == (3, 4, 2, 32)
    for index in (1, -1, slice(1, None), [2, 0], np.array([[0, 1], [2, 2]]), None, ...):
        assert bool((codes[index].turns == turns[index]).all())
    assert bool((codes[np.array([True, False, True])].turns == turns[[0, 2]]).all())
    assert codes[None][0, 2] == codes[2]
    assert codes[..., 0] == codes[0]
    assert [code.shape for code in codes] == [(4,)] * 3
    assert hdc.Codes.stack(list(codes)).shape == (3, 4)
    assert (hdc.Codes.stack(list(codes)) == codes).all()
    for index in ((0, 1), (slice(None), 0), 3, "a", 0.5):
        with pytest.raises(primal.errors.DataError, match="is not indexed"):
            codes[index]
    for call in (len, list, lambda code: code[0]):
        with pytest.raises(primal.errors.DataError):
            call(codes[0])


def test_equality_is_that_of_codes(codes):
    assert codes[0] == codes[0]
    assert (codes[0] == codes[1]) is False
    assert codes[0] != codes[1]
    assert (codes == codes[1]).tolist() == [False, True, False]
    assert (codes != codes[1]).tolist() == [True, False, True]
    assert codes != "a"
    assert codes != None  # noqa: E711
    with pytest.raises(primal.errors.DataError, match="compared with codes"):
        codes == codes.turns  # noqa: B015
    with pytest.raises(primal.errors.DataError, match="4 phases with 3"):
        codes == hdc.Codes(codes.turns[..., :3])  # noqa: B015
    with pytest.raises(TypeError, match="unhashable"):
        hash(codes)


def test_codes_do_not_become_numbers_by_themselves(codes):
    for call in (
        np.asarray,
        np.sum,
        np.abs,
        lambda c: np.stack([c, c]),
        lambda c: np.concatenate([c, c]),
        lambda c: np.array_equal(c, c),  # NumPy alone would say False
        lambda c: np.exp(c),
        float,
        int,
        lambda c: c + 1,
        lambda c: 1 + c,
        lambda c: 2 * c,
        lambda c: c * 2.0,
        lambda c: c / 2,
        lambda c: c * np.ones(4),
        lambda c: np.ones(4) * c,
        lambda c: c + c.turns,
        lambda c: c.turns * c,
        lambda c: c * [1, 2, 3, 4],
        lambda c: c ** "2",
        lambda c: c ** np.array([1, 2]),
    ):
        with pytest.raises((primal.errors.DataError, TypeError)):
            call(codes)
    with pytest.raises(primal.errors.DataError, match=r"\.turns for the integers"):
        np.asarray(codes)
    with pytest.raises(primal.errors.DataError, match=r"hdc\.Codes\(turns\)"):
        codes * codes.turns
    with pytest.raises(primal.errors.DataError, match="weights go into bundle"):
        2 * codes


def test_codes_cannot_be_changed():
    turns = np.arange(4, dtype=np.uint32)
    code = hdc.Codes(turns)
    with pytest.raises(ValueError, match="read-only"):
        code.turns[0] = 1
    with pytest.raises(AttributeError):
        code.turns = turns
    with pytest.raises(TypeError):
        code[0] = code
    assert turns.flags.writeable  # the caller's own array is left alone
    other = code
    other *= code
    assert code.turns.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        (code * code).turns[0] = 1


def test_tensors_of_codes_do_not_share_memory():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    code = hdc.Codes(np.arange(4, dtype=np.uint32))
    hdc.to_torch(code).turns[0] = 9
    assert code.turns[0] == 0


def test_a_tensor_of_a_read_only_bundle_does_not_share_its_memory():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    bundle = np.ones(4, dtype=np.complex64)
    hdc.to_torch(bundle)[0] = 9
    assert bundle[0] == 9
    bundle.flags.writeable = False
    hdc.to_torch(bundle)[1] = 9
    assert bundle[1] == 1


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_codes_go_to_torch_and_back(dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    code = hdc.Codes(np.array([0, 1, np.iinfo(dtype).max], dtype=dtype))
    there = hdc.to_torch(code)
    assert there.turns.dtype == (torch.int32 if code.bits == 32 else torch.int64)
    assert there.turns.tolist() == [0, 1, -1]
    assert hdc.to_numpy(there) == code
    assert hdc.to_torch(there) is there
    assert hdc.to_numpy(code) is code


def test_codes_are_copied_and_pickled(codes):
    for again in (copy.copy(codes), copy.deepcopy(codes), pickle.loads(pickle.dumps(codes))):
        assert type(again) is hdc.Codes
        assert (again == codes).all()


def test_the_representation_shows_turns():
    quarters = hdc.Codes(np.arange(0, 2**32, 2**30, dtype=np.uint32))
    assert repr(quarters) == "Codes of shape (4,), uint32, turns 0.0000 0.2500 0.5000 ... 0.7500"
    assert repr(quarters[None][:0]) == "Codes of shape (0, 4), uint32, turns "


@pytest.mark.parametrize(
    "turns",
    [
        np.arange(3),  # int64: a position is not a phase
        np.arange(3.0),
        np.ones(3, np.complex64),
        np.uint32(3),
        np.array(3, np.uint32),
        np.zeros((3, 0), np.uint32),
        [1, 2, 3],
        "abc",
        None,
    ],
)
def test_only_phases_make_codes(turns):
    with pytest.raises(primal.errors.DataError, match="codes are phases of shape"):
        hdc.Codes(turns)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([], "at least one"),
        ([np.ones(3, np.uint32)], "of type Codes, got ndarray"),
        ([code(3), code(4)], "one type and shape"),
        ([code(3), code(3)[None]], "one type and shape"),
        ([code(3), hdc.Codes(np.ones(3, np.uint64))], "one type and shape"),
    ],
)
def test_only_equal_codes_are_stacked(members, words):
    with pytest.raises(primal.PrimalError, match=words):
        hdc.Codes.stack(members)
