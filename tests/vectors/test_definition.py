"""Codes equal Python integers, and their bytes never change."""

from __future__ import annotations

import numpy as np
import pytest
import vector_reference as reference
from vector_rows import COLUMNS, KINDS, digest, given

from primal.vectors import VectorCodes
from primal.vectors import _definition as definition

# Digests of codes, factors and offsets for all COLUMNS, in the order of KINDS.
DIGESTS = """
4c2638f3ac68bdb4 82eea223e2e05305 51dafbffa890bfec a064f54bb14168ed
e44a2c6afb5120d6 b88bf3bb331bef80 41454cd87e436452 bf693cafc1f97c5c
1c7a3c2c5a6d16bc c168e20f02518214 ebfb672549b81958 9ec6615c6c8724d5
d99c368476b853e5 f111c5b7e4665f4e b8bc9460574e85c0 53ec35301b9e0481
39949c87eb72316f 1914a1faafcdee3d 68db587e27b36071 d025a2210d6b8ab1
da52b2158fa96c83 927c63d11e98877a 92bd8fe8d67bea85 75867ed591b430bd
"""


@pytest.mark.parametrize("d", [*COLUMNS, 2, 65])
def test_codes_equal_python_integers(d):
    for bits, metric, centered in KINDS:
        x, center = given(d, metric, centered)
        some = [(d + 3 * i) % 10 for i in range(3)] if d > 100 else range(10)
        rows = VectorCodes(d, bits, metric, center=center).encode(x)
        for i in some:
            places, factor, offset = reference.encode(x[i], bits, metric, center)
            case = f"{bits} {metric} {centered} row {i}"
            assert rows.codes[i].tolist() == reference.packed(places, bits), case
            assert (rows.factors[i], rows.offsets[i]) == (factor, offset), case


def test_reference_digests():
    found = []
    for bits, metric, centered in KINDS:
        arrays = []
        for d in COLUMNS:
            x, center = given(d, metric, centered)
            arrays += VectorCodes(d, bits, metric, center=center).encode(x)
        found.append(digest(*arrays))
    assert found == DIGESTS.split()


@pytest.mark.parametrize("d", [1, 7, 64, 100, 300, 768, 8192])
def test_the_rotation_is_orthogonal_up_to_its_gain(d):
    turn = definition.rotation(d)
    x = np.random.default_rng(d).integers(-99, 100, (4, d))
    padded = np.zeros((4, turn.D), dtype=np.int64)
    padded[:, :d] = x
    y = np.zeros_like(padded)
    # Columns of the transposed rotation are rows of the rotation.
    back = definition.unrotated(np.eye(turn.D, dtype=np.int64)[: min(turn.D, 300)], turn)
    y = x @ back.T
    rows = definition.rotated(x.astype(float), turn, None, "l2")
    scaled = np.ldexp(rows.y.astype(float), rows.exponents[:, None])
    np.testing.assert_allclose(scaled[:, : y.shape[1]], y, atol=np.abs(y).max() * 2.0**-14)
    if turn.D <= 300:
        assert (back.T @ back == turn.gain * np.eye(d)).all()
    assert max(8 * -(-d // 8), d + d // 32) >= turn.D


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_rotated_values_use_the_range_of_int32_without_overflow(bits):
    for d in (1, 8, 100, 8192):
        x = np.ones((3, d))
        x[1] = np.arange(d) % 2
        x[2] = 0
        x[2, 0] = 1
        turn = definition.rotation(d)
        rows = definition.rotated(x, turn, None, "l2")
        lengths = (rows.y.astype(float) ** 2).sum(axis=1)
        np.testing.assert_allclose(lengths, rows.squares * turn.gain)
        assert (lengths < 2.0**60.1).all()
        words, _ = definition.short_words(rows, bits, turn.gain)
        assert np.abs(words).max() == np.clip(np.abs(words).max(), 64, 127 if bits < 8 else 2047)


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
@pytest.mark.parametrize(("bits", "error"), [(1, 0.62), (2, 0.36), (4, 0.11), (8, 0.02)])
def test_decoding_approximates_rows(metric, bits, error):
    x = np.random.default_rng(0).standard_normal((200, 100)) + 3
    codes = VectorCodes(100, bits, metric).fit(x)
    if metric == "cosine":
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    found = codes.decode(codes.encode(x))
    centered = x - codes.center
    assert np.linalg.norm(found - x) < error * np.linalg.norm(centered)


def test_scores_are_unbiased_estimates():
    rng = np.random.default_rng(1)
    x, q = rng.standard_normal((2000, 200)), rng.standard_normal((1, 200))
    for bits, error in ((1, 0.08), (2, 0.05), (4, 0.02), (8, 0.01)):
        codes = VectorCodes(200, bits, "ip")
        rows, query = codes.encode(x), codes._query(q)
        levels = definition.levels_of(rows.codes, bits)
        scores = definition.scores(levels, *rows[1:], query.words, query.twice)[0]
        exact = -2 * (x @ q[0])
        slope = (scores @ exact) / (exact @ exact)
        assert abs(slope - 1) < error
