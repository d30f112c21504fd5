"""Decoders: what is in a bundle, what was multiplied, and how sure the answer is."""

from __future__ import annotations

import numpy as np
import pytest

import primal
from primal import hdc

D, N = 512, 1000


@pytest.fixture(scope="module")
def words():
    return hdc.ItemMemory(hdc.Space(D).symbols(), list(range(N)))


@pytest.fixture(scope="module")
def numbers():
    return hdc.ItemMemory(hdc.Space(D).numbers(), range(N))


def trials(memory, n_items, decoder, n_trials, seed=0, noise=0.0):
    """Yield what was bundled and what was decoded."""
    rng = np.random.default_rng(seed)
    for _ in range(n_trials):
        items = rng.choice(len(memory), n_items, replace=False)
        bundle = hdc.bundle(memory.codes[items])
        if noise:
            extra = rng.normal(size=2 * len(bundle)).view(np.complex128)
            bundle = bundle + noise * np.linalg.norm(bundle) / np.linalg.norm(extra) * extra
        yield items, memory.decode(bundle, n_items, decoder=decoder)


def accuracy(results):
    return np.mean([np.isin(found.indices, items).mean() for items, found in results])


def test_the_matched_filter_finds_sixteen_items(words, numbers):
    for memory in (words, numbers):
        assert accuracy(trials(memory, 16, "matched", 100)) >= 0.99


@pytest.mark.parametrize(
    ("decoder", "n_items"), [("subspace", 180), ("message", 180), ("message", 330)]
)
def test_nearly_full_bundles_are_decoded_exactly(words, decoder, n_items):
    for items, found in trials(words, n_items, decoder, 4):
        assert np.array_equal(np.sort(found.indices), np.sort(items))
        assert found.residual < 1e-4
        assert found.confidence.min() > 0.999
        assert found.weights == pytest.approx(np.ones(n_items), abs=1e-3)


def test_message_passing_decodes_numbers_where_pursuit_fails(numbers):
    assert accuracy(trials(numbers, 230, "message", 3)) == 1.0
    assert accuracy(trials(numbers, 230, "subspace", 2)) < 0.8


def test_message_passing_tolerates_unequal_weights(words):
    rng = np.random.default_rng(3)
    items, weights = rng.choice(N, 150, replace=False), rng.uniform(0.5, 1.5, 150)
    found = words.decode(hdc.bundle(words.codes[items], weights=weights), 150)
    order = np.argsort(-weights)
    assert np.array_equal(found.indices, items[order])
    assert found.weights == pytest.approx(weights[order], abs=1e-3)


def test_orthogonal_pursuit_finds_fifty_items(words):
    assert accuracy(trials(words, 50, "orthogonal", 4)) > 0.99


def test_pursuit_resists_noise(words):
    shares = {
        decoder: accuracy(trials(words, 30, decoder, 6, noise=0.3))
        for decoder in ("matched", "subspace", "message")
    }
    assert shares["subspace"] == shares["message"] == 1.0
    assert shares["matched"] < 0.96


def test_a_wrong_codebook_finds_nothing(words, numbers):
    items = np.random.default_rng(1).choice(N, 50, replace=False)
    found = numbers.decode(hdc.bundle(words.codes[items]), 50)
    assert found.residual > 0.5
    assert found.confidence.mean() < 0.7


@pytest.mark.parametrize(
    ("decoder", "n_items"), [("matched", 16), ("matched", 30), ("orthogonal", 110)]
)
def test_confidence_is_the_share_of_right_items(words, decoder, n_items):
    results = list(trials(words, n_items, decoder, 40 if decoder == "matched" else 5))
    sure = np.mean([found.confidence.mean() for _, found in results])
    assert sure == pytest.approx(accuracy(results), abs=0.05)


def test_a_bundle_that_is_too_full_is_not_explained(words):
    for decoder, n_items in (("matched", 30), ("orthogonal", 120), ("subspace", 230)):
        items, found = next(trials(words, n_items, decoder, 1))
        assert np.isin(found.indices, items).mean() < 1.0
        assert found.residual > 0.1


def test_the_best_comes_first_and_weights_are_found(words):
    codes = words.codes
    bundle = hdc.bundle(codes[[5, 900, 77]], weights=[2.0, 1.0, 3.0])
    for decoder in ("orthogonal", "subspace"):
        found = hdc.decode(bundle, codes, 3, decoder=decoder)
        assert found.indices.tolist() == [77, 5, 900]
        assert found.weights == pytest.approx([3.0, 2.0, 1.0], abs=1e-5)


def test_more_items_than_equations_and_equal_codes(words):
    codes = words.codes
    small = hdc.Codes(codes.turns[:40, :8])
    assert len(hdc.decode(hdc.bundle(small), small, 40, decoder="orthogonal").indices) == 40
    twice = codes[np.arange(40) % 20]
    assert len(hdc.decode(hdc.bundle(codes[:3]), twice, 3).indices) == 3
    assert hdc.decode(np.zeros(256, np.complex64), codes, 2).residual == 0.0


def test_tensors_are_decoded_too(words):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    bundle = hdc.to_torch(hdc.bundle(words.codes[[4, 8]]))
    assert set(hdc.decode(bundle, hdc.to_torch(words.codes), 2).indices) == {4, 8}
    assert set(words.decode(bundle, 2).indices) == {4, 8}


class TestResonator:
    @staticmethod
    def product(n_factors, n_candidates, k, seed):
        rng = np.random.default_rng(seed)
        domains = [
            hdc.Codes(rng.integers(0, 2**32, (n_candidates, k), dtype=np.uint32))
            for _ in range(n_factors)
        ]
        chosen = tuple(int(i) for i in rng.integers(0, n_candidates, n_factors))
        code = hdc.bind([domain[i] for domain, i in zip(domains, chosen, strict=True)])
        return code, domains, chosen

    @pytest.mark.parametrize(("n_factors", "n_candidates"), [(2, 80), (3, 16), (4, 8)])
    def test_factors_are_found_and_known_to_be_right(self, n_factors, n_candidates):
        right = 0
        for seed in range(10):
            code, domains, chosen = self.product(n_factors, n_candidates, 128, seed)
            found = hdc.factorize(code, domains)
            unique = found.status == "unique"
            assert unique == (found.indices == chosen)  # it knows
            assert not found.overloaded
            right += unique
            if unique:
                assert found.confidence == pytest.approx(1.0, abs=1e-5)
        assert right >= 9

    def test_noise_lowers_the_confidence_only(self):
        code, domains, chosen = self.product(3, 16, 256, 1)
        other = self.product(3, 16, 256, 2)[0]
        found = hdc.factorize(hdc.bundle(code, code, other), domains)
        assert found.indices == chosen
        assert found.status == "unique"
        assert 0.8 < found.confidence < 0.95

    def test_what_is_not_a_product_is_not_found(self):
        _, domains, _ = self.product(3, 16, 256, 1)
        alien = hdc.Codes(np.random.default_rng(9).integers(0, 2**32, 256, dtype=np.uint32))
        found = hdc.factorize(alien, domains, steps=60)
        assert found.status == "failed"
        assert found.confidence < 0.3

    def test_too_many_combinations_are_marked(self):
        code, domains, _ = self.product(3, 60, 128, 0)
        assert hdc.factorize(code, domains, steps=5).overloaded


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c, b: hdc.decode(b, c, 0), "n_items must be at least 1"),
        (lambda c, b: hdc.decode(b, c[:3], 4), "4 items among 3"),
        (lambda c, b: hdc.decode(b[:9], c, 4), "9 phases and the codes have 256"),
        (lambda c, b: hdc.decode(b, c, 4, decoder="lasso"), "got 'lasso'"),
        (lambda c, b: hdc.decode(b * np.nan, c, 4), "finite"),
        (lambda c, b: hdc.decode(b.astype(complex) * 1e300, c, 4), r"below 1e\+30"),
        (lambda c, b: hdc.decode(b, c[0], 4), r"\(n, k\)"),
        (lambda c, b: hdc.decode(b, c.turns, 4), r"hdc\.Codes\(turns\)"),
        (lambda c, b: hdc.decode("b", c, 4), "got str"),
        (lambda c, b: hdc.factorize(b, [c]), "two or more"),
        (lambda c, b: hdc.factorize(b, [c.turns, c.turns]), "two or more Codes"),
        (lambda c, b: hdc.factorize(b, 3), "two or more Codes"),
        (lambda c, b: hdc.factorize(b, [c, c.stack([hdc.Codes(c.turns[0, :5])])]), r"\(n, 256\)"),
        (lambda c, b: hdc.factorize(c, [c, c]), r"shape \(k,\)"),
        (lambda c, b: hdc.factorize(b * np.nan, [c, c]), "finite"),
    ],
)
def test_errors_say_what_is_wrong(numbers, call, words):
    codes = numbers.codes
    with pytest.raises(primal.PrimalError, match=words):
        call(codes, hdc.bundle(codes[:4]))
