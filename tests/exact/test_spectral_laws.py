"""Quantiles of the laws beside the Gaussian one, and the bases made of them."""

import mpmath
import numpy as np
import pytest

from primal._arithmetic import unit_fractions
from primal.exact import Basis
from primal.exact._laws import LAWS, cauchy_quantile, laplace_quantile, mixture_scales

U = unit_fractions(
    np.concatenate(
        [
            np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64),
            np.random.default_rng(0).integers(0, 2**64, 300, dtype=np.uint64),
        ]
    )
)

# These change only with BASIS_VERSION.
FINGERPRINTS = {
    ("table-laplacian", 3, 8, 0.5): (
        "57830f9f3f2f0920409127ff9c639258f25fd7112af38cc916a67e57ced3b6c8"
    ),
    ("table-cauchy", 3, 8, 0.5): (
        "6cf049f5ceebc018bd9cf1dd87d578fed4c0714f6068306e0e9b4ccb5a5c8ca3"
    ),
    ("kronecker-laplacian", 12, 24): (
        "1ad18b4c46f84166699ffaa337634a9724792a6eb6983e34fb3209ffe60ce070"
    ),
    ("kronecker-cauchy", 12, 24): (
        "e119cf6df0745c6e95242de7546d7cea8851b4fadec2ef92ff25dbd0bcd67829"
    ),
}


def test_cauchy_quantile():
    with mpmath.workprec(200):
        wanted = [float(mpmath.tan(mpmath.pi * (mpmath.mpf(float(u)) - 0.5))) for u in U]
    np.testing.assert_allclose(cauchy_quantile(U), wanted, rtol=2e-15)
    np.testing.assert_array_equal(cauchy_quantile(1.0 - U), -cauchy_quantile(U))


def test_laplace_quantile():
    with mpmath.workprec(200):
        wanted = [
            float(
                mpmath.log(2 * mpmath.mpf(float(u)))
                if u < 0.5
                else -mpmath.log(2 - 2 * mpmath.mpf(float(u)))
            )
            for u in U
        ]
    np.testing.assert_allclose(laplace_quantile(U), wanted, rtol=1e-14, atol=1e-30)
    np.testing.assert_array_equal(laplace_quantile(1.0 - U), -laplace_quantile(U))


@pytest.mark.parametrize("degrees", [1, 3, 5])
def test_matern_scales_follow_a_chi_law(degrees):
    chi = pytest.importorskip("scipy.stats").chi
    scales = mixture_scales(-degrees, 2000, prime_index=6)
    fractions = (np.arange(1, 2001) * np.sqrt(17.0) + 0.5) % 1.0  # p_7 = 17
    np.testing.assert_allclose(scales, np.sqrt(degrees) / chi.ppf(fractions, degrees), rtol=1e-8)
    np.testing.assert_array_equal(mixture_scales(-degrees, 7, prime_index=6), scales[:7])


@pytest.mark.parametrize("arguments", FINGERPRINTS)
def test_golden_fingerprints(arguments):
    assert Basis(*arguments).fingerprint == FINGERPRINTS[arguments]


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("d", [1, 4, 9])
def test_a_smaller_basis_is_a_prefix(name, d):
    small, large = Basis(name, d, 11, 0.3), Basis(name, d, 40, 0.3)
    np.testing.assert_array_equal(small.table.mantissas, large.table.mantissas[:11])
    np.testing.assert_array_equal(small.table.exponents, large.table.exponents[:11])
    assert small.grow(40) == large
