"""Our codes in torchhd's hands."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import primal
from primal import hdc

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
torchhd = pytest.importorskip("torchhd", reason="torchhd is not installed: pip install torch-hd")


@pytest.fixture(scope="module")
def codes():
    return hdc.Space(512).symbols().encode([f"word {i}" for i in range(40)])


def gap_turns(a, b):
    return np.abs((a.turns - b.turns).view(np.int32) / 2.0**32).max()


def test_codes_go_and_come_back(codes):
    tensor = hdc.to_fhrr(codes)
    assert isinstance(tensor, torchhd.FHRRTensor)
    assert tensor.shape == (40, 256)
    assert tensor.dtype == torch.complex64
    assert gap_turns(hdc.from_fhrr(tensor), codes) < 2.0**-24
    assert np.array_equal(hdc.to_fhrr(hdc.to_torch(codes)).numpy(), tensor.numpy())
    wide = hdc.Codes(codes.turns.astype(np.uint64) << np.uint64(32))
    assert hdc.to_fhrr(wide).dtype == torch.complex128
    gaps = hdc.from_fhrr(hdc.to_fhrr(wide)).turns - wide.turns
    assert np.abs(gaps.view(np.int64)).max() < 2.0 ** (64 - 50)


def test_their_operations_are_ours(codes):
    a, b = codes[:3], codes[3:6]
    ta, tb = hdc.to_fhrr(a), hdc.to_fhrr(b)
    for theirs, ours in [
        (torchhd.bind(ta, tb), hdc.bind(a, b)),
        (torchhd.bind(ta, torchhd.inverse(tb)), a / b),
        (torchhd.inverse(ta), ~a),
        (torchhd.permute(ta, shifts=5), hdc.permute(a, 5)),
        (torchhd.negative(ta), -a),
    ]:
        assert gap_turns(hdc.from_fhrr(theirs), ours) < 2.0**-22
    sums = torchhd.multibundle(ta)
    assert np.allclose(sums.numpy(), hdc.bundle(a), atol=1e-5)
    assert np.allclose(torchhd.bundle(ta, tb).numpy(), hdc.bundle(a, b), atol=1e-5)
    assert np.allclose(torchhd.bundle(ta, tb).numpy(), a + b, atol=1e-5)
    assert gap_turns(hdc.from_fhrr(torchhd.multibind(ta)), hdc.bind(a)) < 2.0**-22
    whole = torchhd.bind_sequence(ta)
    assert np.allclose(whole.numpy(), hdc.ngrams(a, len(a)), atol=1e-5)
    for n in (1, 2, 3):
        theirs = torchhd.ngrams(hdc.to_fhrr(codes), n) if n > 1 else torchhd.multiset(ta)
        ours = hdc.ngrams(codes, n) if n > 1 else hdc.ngrams(a, n)
        assert np.allclose(theirs.numpy(), ours, atol=1e-4)
    assert np.allclose(torchhd.normalize(sums).numpy(), hdc.normalize(hdc.bundle(a)), atol=1e-5)
    cosines = torchhd.cosine_similarity(ta, hdc.to_fhrr(codes))
    assert np.allclose(cosines.real.numpy(), hdc.similarity(a[:, None], codes), atol=1e-5)


def test_their_expressions_mean_the_same_with_our_operators(codes):
    a, b, c = codes[:3]
    ta, tb, tc = (hdc.to_fhrr(code) for code in (a, b, c))
    theirs = torchhd.bundle(torchhd.bind(ta, tb), tc)
    assert np.allclose((ta * tb + tc).numpy(), theirs.numpy(), atol=1e-6)
    assert np.allclose(a * b + c, theirs.numpy(), atol=1e-5)
    # Codes of a tensor bind with FHRR tensors on either side.
    mine = hdc.to_torch(a)
    for product in (mine * tb, tb * mine):
        assert np.allclose(product.numpy(), torchhd.bind(ta, tb).numpy(), atol=1e-5)


def test_the_table_on_the_page_has_every_name_of_theirs():
    page = (Path(__file__).parents[2] / "docs" / "hdc.md").read_text(encoding="utf-8")
    table = page[page.index("## From torchhd") : page.index("Two defaults differ")]
    said = set(re.findall(r"\w+", " ".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE))))
    names = {*torchhd.functional.__all__, *torchhd.embeddings.__all__}
    assert names - said == set()


def test_their_operations_take_our_bundles_and_ours_take_theirs(codes):
    mixed = hdc.bundle(codes[:3])
    assert np.allclose(
        torchhd.bind(hdc.to_fhrr(mixed), hdc.to_fhrr(codes[5])).numpy(),
        hdc.bind(mixed, codes[5]),
        atol=1e-5,
    )
    random = torchhd.FHRRTensor.random(4, 256, generator=torch.Generator().manual_seed(0))
    assert hdc.bundle(random).shape == (256,)
    assert hdc.similarity(random[:, None], random).shape == (4, 4)
    assert (random / hdc.to_torch(codes[0])).shape == (4, 256)


def test_their_cleanup_and_structures_work_on_our_codes(codes):
    memory = hdc.to_fhrr(codes)
    noisy = hdc.to_fhrr(hdc.bundle(codes[[7, 7, 9]]))
    assert torch.equal(torchhd.cleanup(noisy, memory)[0], memory[7])
    table = torchhd.structures.HashTable.from_tensors(memory[:5], memory[5:10])
    assert int(torchhd.dot_similarity(table.get(memory[2]), memory).argmax()) == 7


def test_their_resonator_takes_bipolar_vectors_only(codes):
    halves = codes[:20], codes[20:]
    domains = hdc.to_fhrr(hdc.Codes.stack(halves))
    with pytest.raises(ValueError, match="only supports Multiply-Add-Permute"):
        torchhd.resonator(hdc.to_fhrr(codes[0]), domains.sum(1), domains)
    # Ours does what theirs refuses.
    product = hdc.from_fhrr(torchhd.bind(domains[0, 4], domains[1, 11]))
    assert hdc.factorize(product, halves).indices == (4, 11)


@pytest.mark.parametrize("role", ["a", "b"])
def test_their_fractional_power_is_our_reals(role):
    reals = hdc.Space(256, roles=("a", "b")).reals(role, 3, gamma=0.4)
    theirs = torchhd.embeddings.FractionalPower(3, 128, vsa="FHRR")
    weight = torch.from_numpy(2 * math.pi * reals.frequencies).float()
    theirs.weight.data = weight.to(theirs.weight.dtype)
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    gap = np.abs(theirs(torch.from_numpy(x)).numpy() - hdc.phasors(reals.encode(x)))
    assert gap.max() < 2e-5


def test_errors_say_what_is_wrong(monkeypatch):
    with pytest.raises(primal.errors.DataError, match="complex numbers, got ndarray"):
        hdc.from_fhrr(np.ones(3))
    with pytest.raises(primal.errors.DataError, match=r"hdc\.Codes\(turns\)"):
        hdc.to_fhrr(np.ones(3, dtype=np.uint32))
    monkeypatch.setitem(__import__("sys").modules, "torchhd", None)
    with pytest.raises(primal.errors.MissingPackageError, match="pip install torch-hd"):
        hdc.to_fhrr(np.ones(3, np.complex64))
