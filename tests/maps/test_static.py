"""``StaticPrime``: the paper's Algorithm 2, positions of any size, codes and their decoding."""

import json
import pickle
import tracemalloc
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact_reference import first_primes
from hypothesis import given
from hypothesis import strategies as st

import primal
from primal import StaticPrime
from primal._selftest import sample_points
from primal.errors import ParameterError
from primal.exact import SPACINGS, spaced_increments


def similarity_at(lags, D: int) -> np.ndarray:
    """Codes depend on differences only: their similarity is the mean cosine at the lag."""
    return StaticPrime(D).encode(lags, dtype="float64")[..., : D // 2].mean(axis=-1)


def test_it_is_algorithm_2():
    # The paper's GenerateWaves in float64: angles 2 pi t sqrt(p).
    angle = 2.0 * np.pi * np.arange(1000)[:, None] * np.sqrt(primal.primes(32).astype(float))
    expected = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
    np.testing.assert_allclose(StaticPrime(64).waves(1000), expected, rtol=0, atol=2e-7)


@pytest.mark.parametrize("t", [0, 24, 10**12, 2**63, -(2**63), -(10**15)])
def test_codes_of_any_position_against_300_bits(t):
    code = StaticPrime(20).encode(t, dtype="float64")
    with mpmath.workprec(300):
        for i, p in enumerate(first_primes(10)):
            half_turns = 2 * t * mpmath.sqrt(p)
            # t * 2**-64 turn of the increment, and the error of the waves.
            room = 2 * mpmath.pi * mpmath.ldexp(abs(t), -64) + 4e-16
            assert abs(float(code[i]) - mpmath.cospi(half_turns)) <= room
            assert abs(float(code[10 + i]) - mpmath.sinpi(half_turns)) <= room


@given(
    n=st.integers(0, 50),
    offset=st.one_of(st.integers(-(2**63), 2**63 - 50), st.integers(-60, 60)),
    sigma=st.floats(1e-6, 1e6),
    layout=st.sampled_from(["block", "interleaved"]),
)
def test_waves_are_codes_of_a_range(n, offset, sigma, layout):
    s = StaticPrime(6, sigma=sigma, layout=layout)
    waves = s.waves(n, offset=offset)
    assert waves.shape == (n, 6)
    np.testing.assert_array_equal(waves, s.encode(range(offset, offset + n)).reshape(n, 6))


@given(st.integers(0, 2**63))
def test_the_code_of_a_negative_position_is_the_mirror_image(t):
    s = StaticPrime(8)
    forward, backward = s.encode([t, -t])
    np.testing.assert_array_equal(forward[:4], backward[:4])
    np.testing.assert_array_equal(forward[4:], -backward[4:])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4"])
def test_every_integer_type(dtype):
    t = np.array([[0, 1, 5], [100, 99, 7]])
    s = StaticPrime(8)
    np.testing.assert_array_equal(s.encode(t.astype(dtype)), s.encode(t.tolist()))


def test_negative_numbers_of_every_width():
    s = StaticPrime(8)
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        np.testing.assert_array_equal(s.encode(np.array([-3], dtype=dtype)), s.encode([-3]))


def test_the_largest_positions():
    s = StaticPrime(8)
    as_unsigned = s.encode(np.array([2**63], dtype=np.uint64))
    np.testing.assert_array_equal(s.encode([2**63]), as_unsigned)
    # 2**63 steps of a whole number of 2**-64 turns end at a whole or half turn.
    assert set(np.abs(as_unsigned[0, :4]).tolist()) == {1.0}


@pytest.mark.parametrize(
    ("t", "shape"),
    [(5, ()), (np.int64(5), ()), ([], (0,)), ([[1, 2], [3, 4]], (2, 2)), (range(3), (3,))],
)
def test_shapes(t, shape):
    assert StaticPrime(8).encode(t).shape == (*shape, 8)


def test_out_is_written_and_returned():
    s = StaticPrime(8)
    out = np.empty((5, 8), dtype=np.float64)
    assert s.waves(5, dtype="float64", out=out) is out
    np.testing.assert_array_equal(out, s.encode(range(5), dtype="float64"))
    assert s.encode([4, 3, 2, 1, 0], dtype="float64", out=out) is out
    np.testing.assert_array_equal(out, s.waves(5, dtype="float64")[::-1])


def test_layouts_are_permutations_of_each_other():
    block, interleaved = (
        StaticPrime(8, layout=layout).waves(9) for layout in ("block", "interleaved")
    )
    np.testing.assert_array_equal(interleaved[:, 0::2], block[:, :4])
    np.testing.assert_array_equal(interleaved[:, 1::2], block[:, 4:])


def test_start_skips_primes():
    whole, later = StaticPrime(20).waves(9), StaticPrime(8, start=6).waves(9)
    np.testing.assert_array_equal(later, np.concatenate([whole[:, 6:10], whole[:, 16:20]], axis=1))


@given(k=st.integers(1, 30), more=st.integers(0, 30), start=st.integers(0, 100))
def test_growing_keeps_old_codes_as_a_prefix(k, more, start):
    s = StaticPrime(2 * k, sigma=0.3, start=start, layout="interleaved")
    grown = s.grow(2 * (k + more))
    expected = StaticPrime(2 * (k + more), sigma=0.3, start=start, layout="interleaved")
    assert grown == expected
    t = [0, 5, -7, 10**12]
    np.testing.assert_array_equal(grown.encode(t)[:, : 2 * k], s.encode(t))


def test_a_map_cannot_shrink():
    with pytest.raises(ParameterError, match=r"D = 8 cannot grow to 6"):
        StaticPrime(8).grow(6)


# Lags and similarities from 50-digit arithmetic.
@pytest.mark.parametrize(("D", "expected"), [(64, -0.3229285722), (1024, -0.1265367909)])
def test_similarity_at_lag_24(D, expected):
    assert abs(similarity_at(24, D) - expected) < 5e-11


def test_the_worst_similarity_of_a_thousand_codes():
    similarities = np.abs(similarity_at(np.arange(1, 1000), 64))
    assert similarities.argmax() + 1 == 906
    assert f"{similarities.max():.4f}" == "0.4268"


def test_similarity_is_the_same_from_any_position():
    codes = StaticPrime(64).encode([10**6, 10**6 + 906, -(10**6), 906 - 10**6])
    for a, b in ((0, 1), (2, 3)):
        assert abs(codes[a] @ codes[b] / 32.0 - similarity_at(906, 64)) < 1e-6


def test_decoding_returns_every_position():
    s = StaticPrime(64)
    t, similarity = s.decode(s.waves(3000), n=3000, return_similarity=True)
    np.testing.assert_array_equal(t, np.arange(3000))
    assert t.dtype == np.int64
    np.testing.assert_allclose(similarity, 1.0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("layout", ["block", "interleaved"])
def test_decoding_of_noisy_and_scaled_codes(layout):
    s = StaticPrime(256, layout=layout)
    t = np.array([[0, 4999, 123], [77, 1, 2500]])
    noise = sample_points(6, 256).reshape(2, 3, 256)
    found, similarity = s.decode(1e-3 * (s.encode(t) + 1.5 * noise), n=5000, return_similarity=True)
    np.testing.assert_array_equal(found, t)
    # Code and noise are nearly orthogonal: 1 / sqrt(1 + 1.5**2 * (1/3) / (1/2)).
    np.testing.assert_allclose(similarity, 1.0 / np.sqrt(2.5), rtol=0, atol=0.08)


def test_decoding_looks_at_n_positions_only():
    s = StaticPrime(64)
    found, similarity = s.decode(s.encode([700]), n=700, return_similarity=True)
    expected = similarity_at(np.arange(1, 701), 64)
    assert found.tolist() == [700 - 1 - expected.argmax()]
    assert similarity[0] == pytest.approx(expected.max(), abs=1e-6)


def test_the_smallest_of_equals_wins():
    # A scale so small that no phase moves: all codes are equal. 40,000 of them are several
    # blocks, and the first of the first block must win.
    s = StaticPrime(64, sigma=1e-300)
    assert s.decode(sample_points(3, 64), n=40_000).tolist() == [0, 0, 0]


@pytest.mark.parametrize("n_codes", [1, 3000])
def test_decoding_needs_little_memory(n_codes):
    s = StaticPrime(64)
    queries = s.waves(n_codes, offset=100_000)
    s.decode(queries[:1], n=10)
    tracemalloc.start()
    found = s.decode(queries, n=200_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found[-1] == 100_000 + n_codes - 1
    # All codes together would take 51 MB, their similarities to 3,000 queries 2.4 GB.
    assert peak < 64e6


@pytest.mark.parametrize("n", [300, 2**21, 10**9])
@pytest.mark.parametrize("layout", ["block", "interleaved"])
def test_erased_codes_have_no_position(n, layout):
    s = StaticPrime(256, layout=layout)
    t = np.arange(1, 8)
    z = s.encode(t)
    z[1] = 0.0
    z[3, :128] = z[5, 128:] = 0.0  # a half of the code, or all cosines or sines
    z[4, [0, 1, 128, 129]] = 0.0  # one pair
    found, similarity, certain = s.decode(z, n=n, return_similarity=True, return_certain=True)
    erased = [1, 4] if layout == "block" else [1, 3, 4, 5]
    assert (found[erased] == -1).all()
    assert np.isnan(similarity[erased]).all()
    assert not certain[erased].any()
    assert found[[0, 2, 6]].tolist() == [1, 3, 7]
    assert certain[[0, 2, 6]].all()


def test_decoding_no_rows():
    assert StaticPrime(8).decode(np.zeros((0, 8)), n=5).shape == (0,)


def test_spec_and_identity():
    s = StaticPrime(64, sigma=0.3, start=5, layout="interleaved")
    again = primal.from_spec(json.loads(json.dumps(s.spec)))
    assert again == s
    assert hash(again) == hash(s)
    assert again.fingerprint == s.fingerprint
    np.testing.assert_array_equal(again.waves(5), s.waves(5))
    others = [
        StaticPrime(62, sigma=0.3, start=5, layout="interleaved"),
        StaticPrime(64, sigma=0.4, start=5, layout="interleaved"),
        StaticPrime(64, sigma=0.3, start=6, layout="interleaved"),
        StaticPrime(64, sigma=0.3, start=5),
    ]
    assert len({s.fingerprint, *(other.fingerprint for other in others)}) == 5
    assert len({s, *others}) == 5
    assert repr(s) == "StaticPrime(64, sigma=0.3, start=5, layout='interleaved')"
    assert (s.D, s.sigma, s.start, s.layout) == (64, 0.3, 5, "interleaved")


def test_increments_are_those_of_its_primes():
    s = StaticPrime(8, sigma=0.5, start=3)
    np.testing.assert_array_equal(s.increments, primal.increments(4, start=3, sigma=0.5))
    with pytest.raises(ValueError, match="read-only"):
        s.increments[0] = 1


class TestSpacing:
    def test_increments_are_spaced(self):
        for spacing in SPACINGS:
            s = StaticPrime(16, sigma=0.5, spacing=spacing)
            np.testing.assert_array_equal(s.increments, spaced_increments(8, spacing, sigma=0.5))

    def test_the_papers_codes_keep_their_spec(self):
        """Its fingerprints are those of specs without the fields of grids."""
        assert set(StaticPrime(8).spec) == {"type", "version", "D", "sigma", "start", "layout"}
        assert StaticPrime(8, spacing="raw", base=10000.0) == StaticPrime(8)

    @pytest.mark.parametrize(
        ("spacing", "base"), [("log", 500.0), ("rotary", 500.0), ("kronecker", 10000.0)]
    )
    def test_specs_of_the_others(self, spacing, base):
        s = StaticPrime(8, spacing=spacing, base=base)
        again = primal.from_spec(json.loads(json.dumps(s.spec)))
        assert again == s == pickle.loads(pickle.dumps(s))
        assert hash(again) == hash(s)
        assert again.fingerprint == s.fingerprint
        assert s != StaticPrime(8)
        assert f"spacing='{spacing}', base={base}" in repr(s)
        with pytest.raises(primal.errors.SpecError, match="lacks base"):
            primal.from_spec({name: v for name, v in s.spec.items() if name != "base"})
        with pytest.raises(primal.errors.SpecError, match="has spacing"):
            primal.from_spec(StaticPrime(8).spec | {"spacing": "raw"})

    @pytest.mark.parametrize(
        "options",
        [
            {"spacing": "log", "turning": None, "trained_length": 100},
            {"spacing": "log", "turning": np.float32(0.5), "trained_length": np.int64(100)},
            {"frequencies": [0.25, -0.1, 1e-9, 0.3]},
        ],
    )
    def test_specs_of_a_length_and_of_given_frequencies(self, options):
        s = StaticPrime(8, sigma=0.5, **options)
        again = primal.from_spec(json.loads(json.dumps(s.spec)))
        assert again == s == pickle.loads(pickle.dumps(s))
        assert hash(again) == hash(s)
        assert again.fingerprint == s.fingerprint
        assert "base" not in s.spec
        name = list(options)[-1]
        for lacking in (None, "absent"):
            fields = s.spec | {name: None}
            fields = fields if lacking is None else {n: v for n, v in s.spec.items() if n != name}
            with pytest.raises(primal.PrimalError, match="lacks base"):
                primal.from_spec(fields)
        with pytest.raises(primal.PrimalError, match="cannot grow"):
            s.grow(12)

    def test_given_frequencies_are_rounded_once(self):
        f = [0.25, -0.1, 3.0000001, 1e-19]
        expected = [round(Fraction(v) * 2**64) % 2**64 for v in f]
        assert StaticPrime(8, frequencies=f).increments.tolist() == expected

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"trained_length": 64}, "trained_length is for spacing.*'raw'"),
            ({"trained_length": 64, "spacing": "rotary"}, "trained_length is for.*'rotary'"),
            ({"trained_length": 64, "spacing": "log", "base": 5.0}, r"base.*5\.0: leave"),
            ({"trained_length": 3, "spacing": "log"}, "trained_length.*3"),
            ({"frequencies": [0.1, 0.2]}, "frequencies must have 4 values"),
            ({"spacing": "log", "trained_length": 64, "turning": 1.5}, "at most 1.*got 1.5"),
            ({"spacing": "log", "trained_length": 64, "turning": 0.0}, "turning must"),
            ({"spacing": "log", "turning": 0.5}, "turning goes with trained_length, got 0.5"),
            ({"frequencies": [0.1] * 4, "start": 1}, "without start"),
            ({"frequencies": [0.1] * 4, "base": 5.0}, r"without start, base.*5\.0"),
            ({"base": 5.0}, r'5\.0 with "raw".*leave it out'),
            ({"spacing": "kronecker", "base": 5.0}, r'5\.0 with "kronecker".*leave it out'),
            ({"frequencies": [0.1, 0.2, np.nan, 0.3]}, "frequencies holds nan"),
            ({"frequencies": [0.1, 20.0, 1.0, 0.3], "sigma": 1e308}, r"1e\+308 times 20\.0: lower"),
        ],
    )
    def test_what_does_not_go_together(self, options, message):
        with pytest.raises(primal.PrimalError, match=message):
            StaticPrime(8, **options)

    def test_near_positions_come_back(self):
        s = StaticPrime(32, spacing="log")
        t = np.array([0, 1, 999, 123_456_789])
        np.testing.assert_array_equal(s.decode(s.encode(t), n=10**9), t)

    def test_only_what_does_not_follow_from_d_grows(self):
        s = StaticPrime(8, spacing="kronecker", layout="interleaved")
        np.testing.assert_array_equal(s.grow(12).waves(9)[:, :8], s.waves(9))
        for spacing in ("log", "rotary"):
            with pytest.raises(primal.errors.ParameterError, match="cannot grow"):
                StaticPrime(8, spacing=spacing).grow(12)

    def test_errors(self):
        with pytest.raises(primal.errors.ParameterError, match="spacing must be one of 'log'"):
            StaticPrime(8, spacing="even")
        with pytest.raises(primal.errors.ParameterError, match="leave it out"):
            StaticPrime(8, spacing="log", start=2)
