"""``Embedding``: layers of PyTorch with the bits of vocabularies."""

from __future__ import annotations

import copy
import io
import math

import numpy as np
import pytest

import primal
from primal import hdc

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from primal.torch import Embedding  # noqa: E402

SPACE = hdc.Space(128, roles=("a", "b"))
WORDS = ["cat", "dog", "owl"]
REAL = torch.tensor([[0.0, 0.13, 1.5], [7.49, 9.99, 10.0]], dtype=torch.float64)
WHOLE = torch.tensor([[0, 1, -5], [2**40, -(2**62), 7]])
CASES = {
    "integers": (SPACE.numbers("b"), WHOLE),
    "levels": (SPACE.levels("b", low=0, high=10, n=5), REAL),
    "circular": (SPACE.circular("b", period=24), 40.0 * REAL - 100.0),
    "reals, first role": (SPACE.reals("a", 3), REAL),
    "reals, other role": (SPACE.reals("b", 3, kernel="laplacian"), REAL),
    "matern": (SPACE.reals("b", 3, kernel="matern32"), REAL),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("case", CASES)
def test_layers_have_the_bits_of_vocabularies(case, dtype):
    vocabulary, x = CASES[case]
    x = x.to(dtype) if x.is_floating_point() else x
    found = Embedding(vocabulary)(x)
    assert found.dtype == torch.complex64
    assert np.array_equal(found.numpy(), hdc.phasors(vocabulary.encode(x.numpy())))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_places_of_items_are_looked_up(n):
    words = Embedding(SPACE.symbols("b"), items=WORDS)
    places = torch.arange(n) % 3
    expected = hdc.phasors(SPACE.symbols("b").encode([WORDS[i] for i in places.tolist()]))
    assert np.array_equal(words(places).numpy(), expected)
    years = Embedding(SPACE.numbers("b"), items=[1999, 2024])
    assert np.array_equal(
        years(torch.tensor(1)).numpy(), hdc.phasors(SPACE.numbers("b").encode(2024))
    )


@pytest.mark.parametrize("case", CASES)
def test_layers_survive_casts_meta_devices_and_copies(case):
    vocabulary, x = CASES[case]
    layer = Embedding(vocabulary)
    expected = layer(x)
    assert list(layer.state_dict()) == []
    stored = io.BytesIO()
    torch.save(layer, stored)
    stored.seek(0)
    again = torch.load(stored, weights_only=False)
    assert again._made == {}  # nothing of a device is stored
    emptied = Embedding(vocabulary).to("meta").to_empty(device="cpu")
    for same in (
        again,
        copy.deepcopy(layer),
        layer.double(),
        layer.half(),
        Embedding(vocabulary).to("meta"),
        emptied,
    ):
        assert torch.equal(same(x), expected)
    assert layer(x.to("meta")).device.type == "meta"


@pytest.mark.parametrize("case", ["integers", "circular", "levels", "reals, other role"])
def test_compiled_layers_have_the_same_bits(case):
    vocabulary, x = CASES[case]
    layer = Embedding(vocabulary)
    assert torch.equal(torch.compile(layer, backend="eager")(x), layer(x))


def test_gradients_go_through_real_vectors():
    reals = SPACE.reals("b", 3, gamma=0.5)
    layer = Embedding(reals)
    x = REAL.clone().requires_grad_()
    anchor = torch.from_numpy(hdc.phasors(reals.encode([1.0, 2.0, 3.0])))

    def similarity(x):
        return (layer(x) * anchor.conj()).real.mean(-1).sum()

    similarity(x).backward()
    step = 1e-3
    for i in range(3):
        move = torch.zeros(2, 3, dtype=torch.float64)
        move[0, i] = step
        slope = (similarity(REAL + move) - similarity(REAL - move)) / (2 * step)
        assert x.grad[0, i].item() == pytest.approx(slope.item(), abs=2e-3)


def test_an_encoder_of_pictures_is_two_layers_and_a_sum():
    pixels = Embedding(SPACE.symbols("a"), items=range(64))
    gray = Embedding(SPACE.levels("b", low=0, high=16, n=17))
    picture = torch.randint(0, 17, (64,), generator=torch.Generator().manual_seed(0))
    found = (pixels(torch.arange(64)) * gray(picture)).sum(-2)
    expected = hdc.encode_sequence(picture.numpy(), "a", gray.vocabulary)
    assert np.allclose(found.numpy(), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Embedding("levels"), "needs a vocabulary, got str"),
        (lambda: Embedding(SPACE.symbols("a")), "tensors hold no names"),
        (lambda: Embedding(SPACE.symbols("a"), items=3), "items must be a sequence"),
        (lambda: Embedding(SPACE.symbols("a"), items=[]), r"one or more, got \[\]"),
        (
            lambda: Embedding(CASES["reals, first role"][0], items=[0.5, 1.0, 2.0]),
            r"list of values of Reals",
        ),
        (lambda: Embedding(SPACE.numbers("a"))(np.arange(3)), "x must be a tensor, got ndarray"),
        (lambda: Embedding(SPACE.numbers("a"))(REAL), "whole numbers, got torch.float64"),
        (lambda: Embedding(SPACE.symbols("a"), WORDS)(torch.tensor([3])), r"\[0, 2\], got 3"),
        (lambda: Embedding(SPACE.symbols("a"), WORDS)(torch.tensor([-1])), "got -1"),
        (lambda: Embedding(SPACE.symbols("a"), WORDS)(torch.tensor([True])), "torch.bool"),
        (lambda: Embedding(CASES["levels"][0])(torch.tensor(10.1)), r"\[0.0, 10.0\]"),
        (lambda: Embedding(CASES["levels"][0])(torch.tensor(math.nan)), "got nan"),
        (
            lambda: Embedding(SPACE.levels(low=0, high=1, n=2, clip=True))(
                torch.tensor([0.5, math.nan])
            ),
            "got nan",
        ),
        (
            lambda: Embedding(SPACE.levels(low=0, high=1, n=2, clip=True))(
                torch.tensor([0.5, math.inf])
            ),
            "got inf",
        ),
        (lambda: Embedding(CASES["circular"][0])(torch.tensor(1e9)), r"got 1000000000\.0"),
        (lambda: Embedding(CASES["circular"][0])(torch.tensor(1j)), "real numbers, got"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(primal.errors.DataError, match=words):
        call()


def test_clipped_levels_take_the_nearest_end():
    levels = SPACE.levels(low=0, high=1, n=3, clip=True)
    found = Embedding(levels)(torch.tensor([-3.0, 5.0]))
    assert np.array_equal(found.numpy(), hdc.phasors(levels.encode([0, 1])))
