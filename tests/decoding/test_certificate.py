"""Codes that are not what a plan was made for, and batches that show it."""

import warnings

import numpy as np
import pytest
from tool_modules import tool_module

import primal
from primal import DynamicPrime
from primal.decoding import Box, Gaussian, Integers, have_phases, phases_of
from primal.decoding._bounds import RARELY, chi_squared_limit
from primal.errors import MisfitWarning

BOX = Box(1.0)


def uniform(n: int, d: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (n, d))


def waves(turns: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], axis=1)


def phases(m: DynamicPrime, x: np.ndarray) -> np.ndarray:
    return m.turns(x) * 2.0**-32


def whole_frequencies(k: int) -> DynamicPrime:
    """One input, with the frequencies 1, 2, ..., k."""
    return DynamicPrime(1, 2 * k, np.arange(1, k + 1) / np.sqrt(primal.primes(k)))


class TestErasedCodes:
    @pytest.mark.parametrize("layout", ["block", "interleaved"])
    @pytest.mark.parametrize("noise", ["float32", "float16", 1e-3, 0.02])
    def test_they_fail_and_leave_the_others_alone(self, layout, noise):
        m, x = DynamicPrime(4, 64, 20.0, layout=layout), uniform(8, 4)
        z = m.encode(x).astype(noise if isinstance(noise, str) else "float32")
        plan = m.decode_plan(prior=BOX, noise=noise)
        whole = plan.decode(z)
        cos = np.arange(32) if layout == "block" else np.arange(0, 64, 2)
        sin = np.arange(32, 64) if layout == "block" else np.arange(1, 64, 2)
        z[1] = 0.0
        z[3, cos[:16]] = z[3, sin[:16]] = 0.0
        z[5, cos[7]] = z[5, sin[7]] = 0.0
        with pytest.warns(MisfitWarning, match="3 of 8 rows fit no x"):
            result = plan.decode(z)
        assert (result.status[[1, 3, 5]] == "failed").all()
        for values in (result.x, result.residual, result.candidates):
            assert np.isnan(values[[1, 3, 5]]).all()
        kept = [0, 2, 4, 6, 7]
        assert (result.status[kept] == "unique").all()
        np.testing.assert_array_equal(result.x[kept], whole.x[kept])

    def test_the_linear_inverse_gives_nan_and_warns(self):
        m, x = DynamicPrime(2, 8, 0.05), uniform(5, 2)
        z = m.encode(x)
        expected = m.decode(z)
        z[2, [1, 5]] = 0.0
        with pytest.warns(MisfitWarning, match="1 of 5 codes") as seen:
            found = m.decode(z)
        assert seen[0].filename == __file__
        assert np.isnan(found[2]).all()
        np.testing.assert_array_equal(np.delete(found, 2, 0), np.delete(expected, 2, 0))

    def test_a_pair_that_is_much_too_short_has_no_phase(self):
        turns = np.random.default_rng(3).random((2, 16))
        z = waves(turns)
        z[0, [3, 19]] *= 2.0**-15
        z[1, [3, 19]] *= 2.0**-10
        found = phases_of(z[:, :16], z[:, 16:])
        assert np.isnan(found[0]).all()
        np.testing.assert_allclose(found[1] - turns[1], np.rint(found[1] - turns[1]), atol=1e-15)

    @pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-9, 1.0, 1e170, 1e300])
    def test_the_scale_of_a_row_does_not_matter(self, scale):
        z = np.concatenate([waves(np.random.default_rng(3).random((2, 16))), np.zeros((1, 32))])
        z[0] *= scale
        z[1, [0, 16]] = 0.0
        z[1] *= scale
        for noise in (None, 1e-8):
            assert have_phases(z[:, :16], z[:, 16:], noise).tolist() == [True, False, False]


class TestLengths:
    @pytest.mark.parametrize("k", [2, 8, 64])
    @pytest.mark.parametrize("noise", [1e-8, 1e-3, 0.02, 0.08, 0.25])
    def test_noise_as_stated_is_accepted(self, k, noise):
        rng = np.random.default_rng(4)
        z = waves(rng.random((20_000, k)))
        z += rng.normal(0.0, 2.0 * np.pi * noise, z.shape)
        assert have_phases(z[:, :k], z[:, k:], noise).all()

    @pytest.mark.parametrize("name", ["float16", "float32"])
    def test_rounding_to_a_type_is_accepted(self, name):
        z = waves(np.random.default_rng(5).random((4000, 512))).astype(name).astype(np.float64)
        noise = primal.decoding.noise_turns(name)
        assert have_phases(z[:, :512], z[:, 512:], noise).all()

    @pytest.mark.parametrize(("k", "noise"), [(32, 1e-8), (64, 0.01)])
    def test_ten_times_the_noise_is_not(self, k, noise):
        rng = np.random.default_rng(4)
        z = waves(rng.random((10_000, k)))
        z += rng.normal(0.0, 2.0 * np.pi * 10.0 * noise, z.shape)
        assert not have_phases(z[:, :k], z[:, k:], noise).any()

    def test_a_coarser_type_shows_where_no_residual_can(self):
        # As many phases as inputs: every code has an x that leaves nothing of it.
        m, x = DynamicPrime(8, 16, 0.01, basis="table"), uniform(200, 8)
        plan = m.decode_plan(prior=BOX)
        assert plan.certificate.freedom == pytest.approx(0.0, abs=1e-6)
        assert (plan.decode(m.encode(x)).status == "unique").all()
        with pytest.warns(MisfitWarning, match="200 of 200"):
            result = plan.decode(m.encode(x).astype(np.float16).astype(np.float32))
        assert (result.status == "failed").all()


class TestBatches:
    m = DynamicPrime(4, 32, 10.0)

    @pytest.mark.parametrize("kind", ["noisier", "outside", "permuted", "random", "zero"])
    def test_broken_assumptions_fail_and_are_warned_about_once(self, kind):
        x = uniform(200, 4)
        turns = phases(self.m, x)
        z = {
            "noisier": waves(turns + np.random.default_rng(2).normal(0.0, 1e-7, turns.shape)),
            "outside": self.m.encode(3.0 + x),
            "permuted": waves(turns[:, ::-1]),
            "random": np.random.default_rng(3).normal(size=(200, 32)),
            "zero": np.zeros((200, 32)),
        }[kind]
        plan = self.m.decode_plan(prior=BOX)
        with pytest.warns(MisfitWarning) as seen:
            result = plan.decode(z)
        assert len(seen) == 1
        assert seen[0].filename == __file__
        for words in ("200 of 200", "1e-08 turns", "wider prior", "larger noise"):
            assert words in str(seen[0].message)
        assert ("erased" in str(seen[0].message)) == (kind in ("zero", "random"))
        assert (result.status == "failed").all()
        assert np.isnan(result.x).all()
        np.testing.assert_array_equal(plan.decode(z, check=False).status, result.status)
        with pytest.warns(MisfitWarning) as seen:
            self.m.decode_plan(prior=BOX).decode(z)
        assert seen[0].filename == __file__

    def test_a_little_more_noise_than_stated_is_measured(self):
        turns = phases(self.m, uniform(500, 4))
        plan = self.m.decode_plan(prior=BOX, noise=1e-6)
        noise = np.random.default_rng(2).normal(0.0, 1.5e-6, turns.shape)
        with pytest.warns(MisfitWarning, match=r"noise of 1\.5e-06 turns.*noise=1\.5e-06"):
            result = plan.decode(waves(turns + noise))
        assert (result.status == "unique").mean() > 0.9

    def test_sound_batches_are_not_warned_about(self):
        # Warnings are errors here. Right at the stated noise, and where most rows fail.
        plan = self.m.decode_plan(prior=BOX, noise=1e-6)
        turns = phases(self.m, uniform(5000, 4))
        rng = np.random.default_rng(2)
        assert (
            plan.decode(waves(turns + rng.normal(0.0, 1e-6, turns.shape))).status == "unique"
        ).all()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", primal.errors.ConditioningWarning)
            hard = DynamicPrime(32, 128, 100.0)
        turns = phases(hard, uniform(300, 32))
        result = hard.decode_plan(prior=BOX, noise=1e-3, beam=1).decode(
            waves(turns + rng.normal(0.0, 1e-3, turns.shape))
        )
        assert np.mean(result.status == "failed") > 0.5

    def test_noise_need_not_be_stated_to_the_last_digit(self):
        plan = self.m.decode_plan(prior=BOX, noise=1e-6)
        turns = phases(self.m, uniform(5000, 4))
        noise = np.random.default_rng(2).normal(0.0, 1.15e-6, turns.shape)
        assert np.mean(plan.decode(waves(turns + noise)).status == "unique") > 0.99

    def test_a_few_bad_rows_in_a_thousand_do_not_make_a_bad_batch(self):
        z = self.m.encode(uniform(1000, 4))
        z[17] = 0.0
        result = self.m.decode_plan(prior=BOX).decode(z)
        assert result.status.tolist().count("failed") == 1

    def test_the_limit_of_the_residual_is_what_it_says(self):
        # Quantiles of chi-squared at 5e-7, from tables; the approximation may only be larger.
        exact = {1: 25.264, 2: 29.017, 4: 34.844, 8: 44.297, 24: 74.181, 100: 185.030}
        for freedom, quantile in exact.items():
            assert quantile <= chi_squared_limit(freedom, RARELY) <= 1.17 * quantile

    @pytest.mark.parametrize(("d", "D"), [(2, 8), (4, 32), (3, 6)])
    def test_freedom_is_what_x_leaves_of_the_phases(self, d, D):
        plan = DynamicPrime(d, D, 1.0).decode_plan(prior=BOX)
        assert plan.certificate.freedom == pytest.approx(D / 2 - d, abs=1e-6)


class TestEdges:
    @pytest.mark.parametrize("center", [0.0, 0.25])
    def test_an_x_with_a_double_across_the_box_is_not_unique(self, center):
        m = whole_frequencies(16)
        plan = m.decode_plan(prior=Box(0.5, center=center))
        assert plan.certificate.log2_spurious < -300.0
        edge = np.array([[0.5], [-0.5], [0.5 - 1e-10], [-0.5 + 1e-10]]) + center
        result = plan.decode(m.encode(edge))
        assert not (result.status == "unique").any()
        inner = 0.49 * uniform(200, 1) + center
        found = plan.decode(m.encode(inner))
        assert (found.status == "unique").all()
        np.testing.assert_allclose(found.x, inner, atol=1e-8)

    def test_the_ends_of_a_range_of_integers(self):
        # x = -1/2 and x = 1/2 again, of 2**33 + 1 values: too few to show in an average.
        m = whole_frequencies(32)
        step, high = 2.0**-33, 2**32
        plan = m.decode_plan(prior=Integers(step, -high, high), noise="float64")
        assert plan.certificate.log2_spurious < -30.0
        t = np.array([[-high], [high], [1 - high], [high - 1], [5]])
        result = plan.decode(m.encode(step * t, dtype="float64"))
        assert result.status.tolist() == ["ambiguous", "ambiguous", "unique", "unique", "unique"]
        np.testing.assert_array_equal(result.x[2:], step * t[2:])

    def test_the_tails_of_a_gaussian(self):
        # 7.8 deviations apart, both within the prior.
        m = whole_frequencies(16)
        plan = m.decode_plan(prior=Gaussian(0.0, 1.0 / 7.8**2))
        result = plan.decode(m.encode([[0.5], [-0.5]]))
        assert not (result.status == "unique").any()


class TestOneSolutionFoundTwice:
    def test_nothing_wraps_and_everything_is_unique(self):
        m, x = DynamicPrime(4, 128, 0.01, basis="auto"), uniform(500, 4)
        turns = phases(m, x) + np.random.default_rng(2).normal(0.0, 0.01, (500, 64))
        for beam in (1, 8):
            plan = m.decode_plan(prior=BOX, noise=0.01, beam=beam)
            assert plan.certificate.recoverable
            result = plan.decode(waves(turns))
            assert (result.status == "unique").all()
            assert np.isnan(result.candidates[:, 1:]).all()
            assert (np.abs(result.x - x) < 6.0 * plan.certificate.x_std).all()

    @pytest.mark.parametrize("n", [999, 3000, 10**4, 10**5, 10**6])
    def test_whole_numbers_are_not_their_own_rivals(self, n):
        m = DynamicPrime(3, 128, 1.0)
        noise = 2.0**-4 / np.sqrt(12.0)
        plan = m.decode_plan(prior=Integers(1.0, 0, n - 1), noise=noise)
        assert plan.certificate.log2_spurious < -100.0
        x = np.random.default_rng(1).integers(0, n, (100, 3))
        cells = (np.floor(phases(m, x) * 16.0) + 0.5) / 16.0
        result = plan.decode(waves(cells))
        assert (result.status == "unique").all()
        np.testing.assert_array_equal(result.x, x)

    def test_different_solutions_are_all_listed(self):
        m = DynamicPrime(2, 4, 1.0)
        result = m.decode_plan(prior=BOX, beam=64).decode(m.encode([0.9, -0.8]))
        listed = result.candidates[~np.isnan(result.candidates[:, 0])]
        assert result.status == "ambiguous"
        assert len(np.unique(listed.round(6), axis=0)) == len(listed) == 2


class TestTheAudit:
    """A short version of tools/audit_unique.py."""

    def test_nothing_wrong_is_called_unique(self):
        tool = tool_module("audit_unique")
        for number, setting in enumerate(tool.SETTINGS):
            d, D, _, basis, *_ = setting
            # Predicting how often 256 loud phases of eight inputs succeed takes seconds: here are
            # two such settings, and the tool has all four.
            if d <= 16 and not (d == 8 and D == 512 and basis in ("signed", "table")):
                n = 200 if D < 512 else 60  # a code of 256 noisy phases takes 20 ms
                found = tool.inside(setting, n, np.random.default_rng([7, number]))
                assert found["wrong"] == found["warned"] == 0, setting

    @pytest.mark.parametrize("kind", tool_module("audit_unique").BREAKAGES)
    def test_broken_codes_are_not_called_unique(self, kind):
        tool = tool_module("audit_unique")
        for number in (0, 3, 11, 27):
            setting = tool.SETTINGS[number]
            if tool.has_power(setting, kind):
                found = tool.broken(setting, kind, 500, np.random.default_rng([8, number]))
                assert found["wrong"] == 0, setting
                assert found["warned"] == 1, setting

    def test_it_counts_wrong_results(self):
        tool = tool_module("audit_unique")
        x = uniform(3, 2)
        assert tool.near(x + 1e-3, x, np.full(2, 1e-3)).all()
        assert not tool.near(x + 0.02, x, np.full(2, 1e-3)).any()
        assert not tool.near(np.full((3, 2), np.nan), x, np.full(2, 1e-3)).any()
