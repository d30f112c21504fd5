"""Pictures as bundles of pixel times gray: hashed positions are as good as random codes."""

from __future__ import annotations

import numpy as np
import pytest

from primal import hdc

D = 512
ROLES = ("a", "b", "c", "d", "e", "f")


@pytest.fixture(scope="module")
def split():
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    from primal_studies.hdc import load

    return load("digits").split(0)


def pictures(X, pixels, gray):
    """The bundle of pixel times gray of every row, one level of gray after the other."""
    waves, levels = hdc.phasors(pixels).view(np.float32), gray.index(X)
    total = np.zeros((len(X), pixels.k), dtype=np.complex64)
    for place, code in enumerate(gray.codes):
        total += ((levels == place).astype(np.float32) @ waves).view(np.complex64) * code
    return total


def accuracy(split, pixels):
    """Share of test pictures whose most similar sum of training pictures is that of their class."""
    gray = hdc.Space(D, roles=("pixel", "gray")).levels("gray", low=0, high=16, n=17)
    train = pictures(split.X_train, pixels, gray)
    classes = np.stack([train[split.y_train == label].sum(axis=0) for label in range(10)])
    answers = hdc.similarity(pictures(split.X_test, pixels, gray)[:, None], classes)
    return np.mean(answers.argmax(axis=1) == split.y_test)


def test_the_sum_over_levels_is_the_sequence_of_grays(split):
    space = hdc.Space(D, roles=("pixel", "gray"))
    gray = space.levels("gray", low=0, high=16, n=17)
    pixels = space.symbols("pixel").encode(range(64))
    for row in split.X_test[:3]:
        [found] = pictures(row[None], pixels, gray)
        assert np.allclose(found, hdc.encode_sequence(row, "pixel", gray), atol=1e-4)


def test_hashed_positions_are_as_good_as_random_codes_and_integers_are_not(split):
    """A light version of the bar that tools/hdc_capacity.py measures on MNIST."""
    random = []
    for seed in range(8):
        turns = np.random.default_rng(seed).integers(0, 2**32, (64, D // 2), dtype=np.uint32)
        random.append(accuracy(split, hdc.Codes(turns)))
    bar = np.mean(random) - np.std(random, ddof=1)
    space = hdc.Space(D, roles=ROLES)
    hashed = [accuracy(split, space.symbols(role).encode(range(64))) for role in ROLES]
    whole = [accuracy(split, space.numbers(role).encode(np.arange(64))) for role in ROLES]
    assert np.mean(hashed) >= bar
    assert np.mean(whole) < bar
