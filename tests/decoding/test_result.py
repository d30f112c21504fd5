"""One result for codes and for matrices: statuses, the stated risk, missing rows, fixed bits."""

import os
import subprocess
import sys

import numpy as np
import pytest

import primal
from primal import DynamicPrime
from primal.decoding import Box, DecodeResult, Gaussian, Integers, Status, plan_matrix
from primal.errors import DataError, MisfitWarning, ParameterError
from primal_studies.paper import spiral


def correlated(k: int, std: float, seed: int = 0) -> np.ndarray:
    loadings = np.random.default_rng(seed).normal(size=(k, k))
    return std**2 * (loadings @ loadings.T / k + 0.05 * np.eye(k))


class TestOneResult:
    def test_both_plans_return_it(self):
        m = DynamicPrime(2, 16, 5.0)
        by_code = m.decode_plan(prior=Box(1.0)).decode(m.encode([[0.3, -0.4]]))
        plan = plan_matrix(m.basis.frequencies, prior=Box(1.0), noise=1e-8)
        by_matrix = plan.solve(m.turns([[0.3, -0.4]]) / 2.0**32)
        for found, k in ((by_code, 0), (by_matrix, 8)):
            assert isinstance(found, DecodeResult)
            assert found.status.tolist() == [Status.UNIQUE] == ["unique"]
            np.testing.assert_allclose(found.x, [[0.3, -0.4]], atol=1e-7)
            assert found.residual.shape == found.probability.shape == (1,)
            assert found.residual[0] < 1e-8  # in turns, for both
            assert found.distances.shape == found.candidates.shape[:2]
            assert found.whole.shape == (1, k)
            assert 1.0 - found.probability[0] < 1e-9

    def test_statuses_compare_with_strings_and_members(self):
        m = DynamicPrime(2, 16, 5.0)
        z = m.encode([[0.3, -0.4], [2.0, 3.0]])
        status = m.decode_plan(prior=Box(1.0)).decode(z, check=False).status
        assert (status == "unique").tolist() == (status == Status.UNIQUE).tolist() == [True, False]
        assert set(status.tolist()) <= set(Status)

    def test_attributes_that_would_have_no_effect_cannot_be_set(self):
        plan = DynamicPrime(2, 16, 5.0).decode_plan(prior=Box(1.0))
        for name in ("noise_turns", "beam", "setup_seconds"):
            with pytest.raises(AttributeError):
                setattr(plan, name, 1)


class TestItsOwnLattice:
    """Plans know which shifts of x their own frequencies allow within the prior."""

    @pytest.mark.parametrize(
        ("D", "sigma"), [(4, 0.007), (6, 0.007), (6, 0.02), (6, 0.1), (6, 1.0)]
    )
    @pytest.mark.parametrize("prior", [Gaussian(0.0, 49.0), Box(13.6)])
    def test_the_spiral_of_the_paper_is_unique(self, D, sigma, prior):
        m, x = DynamicPrime(2, D, sigma), spiral(300)
        plan = m.decode_plan(prior=prior)
        result = plan.decode(m.encode(x))
        assert (result.status == "unique").all()
        assert np.abs(result.x - x).max() < 1e-2  # four phases of a small sigma are not sharp
        assert plan.certificate.log2_spurious < -30.0

    def test_few_phases_at_a_large_sigma(self):
        m, x = DynamicPrime(2, 8, 10.0), np.random.default_rng(0).uniform(-1.0, 1.0, (1000, 2))
        assert (m.decode_plan(prior=Box(1.0)).decode(m.encode(x)).status == "unique").all()

    def test_as_many_phases_as_inputs_that_wrap_are_not(self):
        m, x = DynamicPrime(2, 4, 1.0), spiral(300)
        result = m.decode_plan(prior=Box(13.6)).decode(m.encode(x))
        assert (result.status == "ambiguous").all()

    @pytest.mark.parametrize("deviations", [0.5, 3.0, 12.0])
    def test_a_near_collision_is_judged_by_its_distance(self, deviations):
        """A shift of 1 moves eight phases by whole turns and, together, by some deviations."""
        k, noise, n = 8, 1e-3, 4000
        rng = np.random.default_rng(1)
        off = rng.normal(size=k)
        cycles = np.arange(1, k + 1) + noise * deviations * off / np.linalg.norm(off)
        m = DynamicPrime(1, 2 * k, (cycles / np.sqrt(primal.primes(k))).tolist())
        plan = m.decode_plan(prior=Box(0.7), noise=noise)
        x = rng.uniform(-0.7, 0.7, (n, 1))
        turns = 2.0 * np.pi * (m.turns(x) / 2.0**32 + rng.normal(0.0, noise, (n, k)))
        result = plan.decode(np.concatenate([np.cos(turns), np.sin(turns)], axis=1))
        right = np.abs(result.candidates[:, 0] - x)[:, 0] < 0.5
        unique = result.status == "unique"
        assert not (unique & ~right).any()
        # Between -0.3 and 0.3 there is no other place within the box.
        alone = np.abs(x[:, 0]) < 0.29
        assert unique[alone].all()
        assert unique[~alone].mean() == pytest.approx(float(deviations > 10.0), abs=0.1)


class TestLowRank:
    @pytest.mark.parametrize("basis", ["paper", "auto"])
    @pytest.mark.parametrize("rank", [2, 4, 6])
    def test_fine_noise_and_columns_of_any_size_keep_the_promise(self, basis, rank):
        """The directions of a covariance in float64 are not as sharp as float64 phases."""
        rng = np.random.default_rng(rank)
        F = rng.normal(size=(12, rank)) * np.exp(rng.uniform(np.log(0.01), np.log(10.0), rank))
        with pytest.warns(primal.errors.ConditioningWarning) if basis == "paper" else no_warning():
            m = DynamicPrime(12, 84, 0.5, basis=basis)
        plan = m.decode_plan(prior=Gaussian(0.0, F @ F.T), noise="float64")
        x = rng.normal(size=(500, rank)) @ F.T
        result = plan.decode(m.encode(x, dtype="float64"))
        assert plan.certificate.success_probability > 0.999
        assert (result.status == "unique").all()
        assert (np.abs(result.x - x) < 10.0 * plan.certificate.x_std + 1e-13).all()


class no_warning:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class TestRisk:
    @pytest.mark.parametrize(
        ("risk", "least", "most"), [(1e-3, 0.6, 0.9), (1e-6, 0.0, 0.2), (2.0**-30, 0.0, 0.01)]
    )
    def test_of_a_matrix(self, risk, least, most):
        k, n = 4, 100_000
        covariance, rng = correlated(k, 0.2), np.random.default_rng(1)
        plan = plan_matrix(covariance=covariance, risk=risk)
        whole = rng.integers(-99, 99, (n, k))
        found = plan.solve(whole + rng.normal(size=(n, k)) @ np.linalg.cholesky(covariance).T)
        wrong = (found.whole != whole).any(axis=1)
        unique = found.status == "unique"
        assert 0.001 < wrong.mean() < 0.1
        assert least <= unique.mean() <= most
        assert (unique & wrong).sum() <= risk * unique.sum() + 3.0
        assert np.isfinite(found.distances).all()  # the ratio test needs the second one

    def test_of_a_map(self):
        """Shifts of 5 deviations: hardly ever unique by default, nearly always at risk 1e-3."""
        k, noise, n = 8, 1e-3, 4000
        rng = np.random.default_rng(2)
        off = rng.normal(size=k)
        cycles = np.arange(1, k + 1) + noise * 5.0 * off / np.linalg.norm(off)
        m = DynamicPrime(1, 2 * k, (cycles / np.sqrt(primal.primes(k))).tolist())
        x = rng.uniform(-1.2, 1.2, (n, 1))
        turns = 2.0 * np.pi * (m.turns(x) / 2.0**32 + rng.normal(0.0, noise, (n, k)))
        z = np.concatenate([np.cos(turns), np.sin(turns)], axis=1)
        shares = []
        for risk in (2.0**-30, 1e-3):
            result = m.decode_plan(prior=Box(1.2), noise=noise, risk=risk).decode(z)
            wrong = np.abs(result.candidates[:, 0] - x)[:, 0] > 0.5
            unique = result.status == "unique"
            assert (unique & wrong).sum() <= risk * unique.sum() + 3.0
            shares.append(unique.mean())
        assert shares[0] < 0.1
        assert shares[1] > 0.6

    @pytest.mark.parametrize("risk", [0.0, 1.0, -1.0, np.nan, "low"])
    def test_it_lies_between_0_and_1(self, risk):
        with pytest.raises(ParameterError, match="risk must be"):
            plan_matrix(noise=[0.1, 0.1], risk=risk)
        with pytest.raises(ParameterError, match="risk must be"):
            DynamicPrime(2, 8).decode_plan(prior=Box(1.0), risk=risk)


class TestFloatsIn:
    def test_the_nearest_integers_come_out(self):
        covariance = correlated(6, 0.05)
        floats = np.array([12.02, -3.01, 0.04, 7.98, 100.01, -55.0])
        found = plan_matrix(covariance=covariance).solve(floats)
        assert found.whole.tolist() == [12, -3, 0, 8, 100, -55]
        assert found.x.shape == (0,)

    @pytest.mark.parametrize("k", [8, 60])  # searched, and by the decoder of codes
    @pytest.mark.parametrize("factor", [2.0 * np.pi, 0.19])
    def test_other_units_are_warned_about(self, k, factor):
        rng = np.random.default_rng(3)
        A, x = rng.normal(size=(k, 2)), rng.uniform(-1.0, 1.0, (200, 2))
        plan = plan_matrix(A, prior=Box(1.0), noise=0.01)
        y = x @ A.T + rng.integers(-9, 10, (200, k)) + rng.normal(0.0, 0.01, (200, k))
        plan.solve(y)
        with pytest.warns(MisfitWarning, match="never radians") as seen:
            plan.solve(factor * y)
        assert seen[0].filename == __file__
        plan.solve(factor * y, check=False)

    def test_noise_as_stated_is_not(self):
        covariance, rng = correlated(8, 0.1), np.random.default_rng(4)
        plan = plan_matrix(covariance=covariance)
        noise = rng.normal(size=(50_000, 8)) @ np.linalg.cholesky(covariance).T
        plan.solve(noise)
        with pytest.warns(MisfitWarning, match="times the stated size"):
            plan.solve(1.5 * noise)


class TestMissingRows:
    def test_a_row_with_nan_fails_and_the_others_are_decoded(self):
        m, x = DynamicPrime(2, 32, 5.0), np.random.default_rng(5).uniform(-1.0, 1.0, (6, 2))
        plan, z = m.decode_plan(prior=Box(1.0)), m.encode(x)
        whole = plan.decode(z)
        z[2, 5] = np.nan
        for given in (z, z.reshape(2, 3, 32), z.tolist()):
            status = plan.decode(given).status.reshape(-1)
            assert status.tolist() == ["unique"] * 2 + ["failed"] + ["unique"] * 3
        found = plan.decode(z)
        assert np.isnan(found.x[2]).all()
        assert np.isnan(found.residual[2])
        kept = [0, 1, 3, 4, 5]
        np.testing.assert_array_equal(found.x[kept], whole.x[kept])
        alone = plan.decode(z[2])
        assert alone.status == "failed"
        with pytest.raises(DataError, match="inf"):
            plan.decode(np.where(np.isnan(z), np.inf, z))

    @pytest.mark.parametrize("k", [8, 60])
    def test_of_a_matrix(self, k):
        rng = np.random.default_rng(6)
        A, x = rng.normal(size=(k, 2)), rng.uniform(-1.0, 1.0, (5, 2))
        plan = plan_matrix(A, prior=Box(1.0), noise=1e-3)
        y = x @ A.T
        y[3, 0] = np.nan
        found = plan.solve(y)
        assert found.status.tolist() == ["unique"] * 3 + ["failed"] + ["unique"]
        assert np.isnan(found.x[3]).all()
        assert not found.whole[3].any()
        assert np.isinf(found.distances[3]).all()


class TestPriors:
    def test_limits_as_in_scipy(self):
        m = DynamicPrime(2, 32, 5.0)
        z = m.encode([[0.5, 3.5]])
        for prior in ((0.0, 4.0), ([0.0, 3.0], [1.0, 4.0]), (np.zeros(2), 4)):
            result = m.decode_plan(prior=prior).decode(z)
            np.testing.assert_allclose(result.x, [[0.5, 3.5]], atol=1e-7)
        plan = plan_matrix(m.basis.frequencies, prior=(0.0, 4.0), noise=1e-6)
        assert plan.solve(m.turns([[0.5, 3.5]]) / 2.0**32).status == "unique"
        for prior in ((1.0, 1.0), (2.0, 1.0), ([0.0, 1.0], [1.0, 1.0])):
            with pytest.raises(ParameterError, match="low below high"):
                m.decode_plan(prior=prior)

    @pytest.mark.parametrize("mean", [-1.0, 256.0, 1e6])
    def test_a_mean_outside_of_the_limits_is_rejected(self, mean):
        with pytest.raises(DataError, match="mean must lie within the limits"):
            Integers(1.0, 0, 255, mean=mean)
        Integers(0.5, 0, 255, mean=255.0)


_DIGEST = """
import hashlib, os, sys
import numpy as np, primal
from primal.decoding import Box, Gaussian, plan_matrix
digest = hashlib.sha256()
def add(found):
    for name in ("x", "status", "residual", "candidates", "distances"):
        digest.update(np.ascontiguousarray(getattr(found, name)).tobytes())
rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, (50, 6))
m = primal.DynamicPrime(6, 64, 20.0)
turns = m.turns(x)
loadings = rng.normal(size=(6, 4))
priors = Box(1.0), Gaussian(0.1, 1.0), Gaussian(0.0, np.einsum("ij,kj->ik", loadings, loadings))
for prior in priors:
    for noise in ("uint32", 1e-3):
        add(m.decode_plan(prior=prior, noise=noise).decode(turns, check=False))
wide = primal.DynamicPrime(12, 16, 1.0, basis="auto")
turns = wide.turns(x @ np.ones((6, 12)))
add(wide.decode_plan(prior=Gaussian(0.0, 1.0)).decode(turns, check=False))
A = rng.normal(size=(12, 3))
c = np.einsum("ij,kj->ik", rng.normal(size=(12, 12)), np.ones((12, 12)))
c = 1e-4 * (c * c.T / 12 + np.eye(12) * np.abs(c).max() ** 2)
y = rng.normal(size=(200, 12)) * 3
add(plan_matrix(A, prior=Box(1.0), covariance=c).solve(y, check=False))
add(plan_matrix(covariance=c).solve(y, check=False))
print(digest.hexdigest(), np.linalg.eigh(rng.normal(size=(60, 60)))[0].tobytes().hex()[:400])
"""


def test_bits_do_not_depend_on_the_blas_library():
    """With kernels for other processors, and other numbers of threads, of OpenBLAS."""
    found = []
    for core, threads in (("Haswell", "1"), ("Prescott", "1"), ("SkylakeX", "2")):
        chosen = {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", _DIGEST],
            capture_output=True,
            text=True,
            env={**os.environ, **chosen},
        )
        if done.returncode >= 0:  # a kernel that this processor cannot run ends by a signal
            assert done.returncode == 0, done.stderr
            found.append(done.stdout.split())
    assert len({digest for digest, _ in found}) == 1
    if len({other for _, other in found}) == 1:
        pytest.skip("this BLAS library has one kernel for all")
