"""What compact codes lose is what is documented, and similarity on them has one value."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import primal
from primal.engines import installed_engines
from primal.search import (
    expected_similarity,
    hamming_from_kernel,
    kernel_from_hamming,
    similarity,
    similarity_variance,
)
from primal.turns import (
    phases_to_bits,
    phases_to_uint8,
    phases_to_uint16,
)

ENGINES = pytest.mark.parametrize("engine", installed_engines())
COMPACT = {
    "bits": phases_to_bits,
    "uint8-phase": phases_to_uint8,
    "uint16-phase": phases_to_uint16,
}


def uniform_turns(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 2**32, shape, dtype=np.uint32)


def unpacked(bits, n_bits):
    return np.unpackbits(bits, axis=-1, bitorder="little")[..., :n_bits]


def similarity_of_pairs(a, b, codes):
    a, b = COMPACT[codes](a), COMPACT[codes](b)
    blocks = [slice(first, first + 40) for first in range(0, len(a), 40)]
    return np.concatenate([similarity(a[s], b[s], codes).diagonal() for s in blocks])


class TestLoss:
    """Averages over a first phase that runs evenly through all its cells are exact."""

    A = (np.arange(2**12, dtype=np.uint32) << 20) + np.uint32(2**19)

    @pytest.mark.parametrize("codes", ["bits", "uint8-phase"])
    @pytest.mark.parametrize("steps", [0, 1, 5, 16, 1000, 1024, 1500, 2048, 3000, 4095])
    def test_mean_and_variance(self, codes, steps):
        differences = np.uint32(steps << 20)
        code = COMPACT[codes]
        a, b = code(self.A[:, None]), code((self.A + differences)[:, None])
        if codes == "bits":
            values = 1.0 - np.bitwise_count(a ^ b)[:, 0]
        else:
            values = np.cos(2 * np.pi * (a - b)[:, 0] / 256)
        assert expected_similarity(steps / 4096, codes) == pytest.approx(values.mean(), abs=1e-14)
        assert similarity_variance(steps / 4096, codes) == pytest.approx(values.var(), abs=1e-14)

    @pytest.mark.parametrize(("codes", "step"), [("bits", 4), ("uint8-phase", 256)])
    def test_on_average_the_cosine_shrinks_by_a_squared_sinc(self, codes, step):
        t = (np.arange(2**16) + 0.5) / 2**16
        cos = np.cos(2 * np.pi * t)
        slope = (expected_similarity(t, codes) * cos).mean() / np.square(cos).mean()
        assert slope == pytest.approx(np.sinc(1 / step) ** 2, abs=1e-8)

    def test_bits_are_a_triangle_wave_with_its_printed_bounds(self):
        t = np.linspace(-0.5, 0.5, 4001)
        np.testing.assert_allclose(expected_similarity(t, "bits"), 1 - 4 * np.abs(t), atol=1e-12)
        np.testing.assert_allclose(
            expected_similarity(t + 3, "bits"), expected_similarity(t, "bits"), atol=1e-11
        )
        assert similarity_variance(t, "bits").max() == pytest.approx(0.25)
        assert 1.4e-4 < similarity_variance(t, "uint8-phase").max() < 1.51e-4

    def test_the_kernel_behind_a_hamming_similarity(self):
        x = np.linspace(-12, 12, 240_001)
        weight = np.exp(-np.square(x) / 2)
        weight /= weight.sum()
        for spread in (0.01, 0.079, 0.081, 0.2, 0.4):
            turns = spread * x
            triangle = 1 - 4 * np.abs(turns - np.rint(turns))
            kernel = math.exp(-2 * math.pi**2 * spread**2)
            assert hamming_from_kernel(kernel) == pytest.approx(weight @ triangle, abs=1e-7)

    @given(st.floats(-1, 1))
    def test_there_and_back(self, kernel):
        assert kernel_from_hamming(hamming_from_kernel(kernel)) == pytest.approx(kernel, abs=1e-8)

    def test_the_kernel_rises_with_the_hamming_similarity(self):
        assert (np.diff(kernel_from_hamming(np.linspace(-1, 1, 4001))) > 0).all()
        with pytest.raises(primal.errors.DataError, match=r"1\.5"):
            kernel_from_hamming([0.0, 1.5])

    def test_measured_spread_of_similarities(self):
        k, n, spread = 64, 2000, 0.1
        generator = np.random.default_rng(1)
        a = uniform_turns((n, k))
        difference = generator.normal(0, spread, k)  # the same for every pair of rows
        b = a + (difference * 2**32).astype(np.int64).astype(np.uint32)
        for codes in ("bits", "uint8-phase"):
            found = similarity_of_pairs(a, b, codes)
            found = hamming_from_kernel(found) if codes == "bits" else found
            mean = expected_similarity(difference, codes).mean()
            deviation = math.sqrt(similarity_variance(difference, codes).mean() / k)
            assert abs(found.mean() - mean) < 4 * deviation / math.sqrt(n)
            assert found.std() == pytest.approx(deviation, rel=0.05)

    def test_bits_cost_a_half_more_frequencies_far_apart(self):
        # Independent phases: variance 1 / (2 k) of waves, (pi**2 / 8)**2 times that of bits.
        k, n = 128, 2000
        a, b = uniform_turns((n, k)), uniform_turns((n, k), seed=1)
        estimates = {c: similarity_of_pairs(a, b, c) for c in ("bits", "uint8-phase")}
        assert estimates["uint8-phase"].var() * 2 * k == pytest.approx(1.0, rel=0.1)
        assert estimates["bits"].var() * 2 * k == pytest.approx((math.pi**2 / 8) ** 2, rel=0.1)


class TestSimilarity:
    @ENGINES
    @pytest.mark.parametrize("codes", ["uint8-phase", "uint16-phase"])
    def test_phases_are_looked_up(self, codes, engine, monkeypatch):
        monkeypatch.setenv("PRIMAL_ENGINE", engine)
        a, b = COMPACT[codes](uniform_turns((7, 33))), COMPACT[codes](uniform_turns((300, 33), 1))
        n = 2 ** (8 * a.itemsize)
        wanted = np.cos(2 * np.pi * (a[:, None] - b).astype(np.float64) / n).mean(axis=-1)
        np.testing.assert_allclose(similarity(a, b, codes), wanted, atol=1e-9, rtol=0)
        assert similarity(a, a, codes).diagonal().tolist() == [1.0] * 7

    @ENGINES
    @pytest.mark.parametrize("k", [1, 3, 4, 32, 37, 128])
    def test_bits_are_counted(self, k, engine, monkeypatch):
        monkeypatch.setenv("PRIMAL_ENGINE", engine)
        a, b = uniform_turns((7, k)), uniform_turns((300, k), 1)
        codes = phases_to_bits(a), phases_to_bits(b)
        differing = (unpacked(codes[0], 2 * k)[:, None] != unpacked(codes[1], 2 * k)).sum(-1)
        found = similarity(*codes, "bits", n_frequencies=k)
        np.testing.assert_array_equal(found, kernel_from_hamming(1 - differing / k))

    @pytest.mark.skipif("numba" not in installed_engines(), reason="numba is not installed")
    @pytest.mark.parametrize("codes", list(COMPACT))
    def test_engines_give_the_same_bits(self, codes, monkeypatch):
        a, b = COMPACT[codes](uniform_turns((11, 40))), COMPACT[codes](uniform_turns((999, 40), 1))
        found = []
        for engine in ("numpy", "numba"):
            monkeypatch.setenv("PRIMAL_ENGINE", engine)
            found.append(similarity(a, b, codes))
        np.testing.assert_array_equal(*found)

    def test_waves(self):
        m = primal.DynamicPrime(2, 64)
        z = m.encode(np.random.default_rng(0).normal(size=(9, 2)))
        wanted = z.astype(np.float64) @ z.T.astype(np.float64) / 32
        np.testing.assert_allclose(similarity(z, z, "float32"), wanted, atol=1e-12)

    def test_of_the_features_it_stands_for(self):
        # Far from the origin phases are spread over the turn, as the closed forms assume.
        x = np.random.default_rng(0).normal(size=(40, 4)) + 1000.0
        m = primal.DynamicPrime(4, 512, 0.15, basis="auto")
        turns, z = m.turns(x), m.encode(x).astype(np.float64)
        exact = z @ z.T / 256
        apart = ~np.eye(40, dtype=bool)

        def errors(codes):
            rows = COMPACT[codes](turns)
            return (similarity(rows, rows, codes) - exact)[apart]

        for codes, largest in (("uint8-phase", 0.0123 / 16), ("uint16-phase", 0.0123 / 16 / 256)):
            assert largest / 4 < errors(codes).std() < largest
        # The slope of the kernel over the Hamming similarity is at most pi**2 / 8.
        largest = 0.5 / 16 * math.pi**2 / 8
        assert largest / 4 < errors("bits").std() < largest

    def test_wrong_arrays_are_refused(self):
        good = np.zeros((2, 4), np.uint8)
        with pytest.raises(primal.errors.ParameterError, match="stored"):
            similarity(good, good, "int4")
        with pytest.raises(primal.errors.DataError, match="columns"):
            similarity(good, good[:, :3], "bits")
        with pytest.raises(primal.errors.DataError, match="uint16"):
            similarity(good, good, "uint16-phase")
        with pytest.raises(primal.errors.DataError, match="beyond the last of 30"):
            similarity(good, good + np.uint8(255), "bits", n_frequencies=15)
        with pytest.raises(primal.errors.DataError, match="must have 5 columns"):
            similarity(good, good, "uint8-phase", n_frequencies=5)
        z = primal.KernelPrime(2, 64).encode(np.ones((3, 2)))  # scaled to the length 1
        with pytest.raises(primal.errors.DataError, match="length 1 and waves of 32 frequencies"):
            similarity(z, z, "float32")
        with pytest.raises(primal.errors.DataError, match="must have 62 columns"):
            similarity(z[:, :63], z[:, :63], "float32")
