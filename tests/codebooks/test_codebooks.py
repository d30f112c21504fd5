"""The worst similarity of a codebook: known values, and every pair of codes compared."""

import numpy as np
import pytest

from primal import StaticPrime
from primal.codebooks import codebook, toeplitz_statistics
from primal.errors import ParameterError


@pytest.mark.parametrize(
    ("N", "D", "lag", "coherence"),
    [(100, 64, 24, "0.3229"), (1000, 64, 906, "0.4268"), (100, 1024, 24, "0.1265")],
)
def test_known_codebooks(N, D, lag, coherence):
    found = toeplitz_statistics(StaticPrime(D).increments, N)
    assert (found.N, found.pair, f"{found.coherence:.4f}") == (N, (0, lag), coherence)


@pytest.mark.parametrize(("N", "D"), [(2, 2), (50, 2), (300, 16), (700, 64)])
@pytest.mark.parametrize("sigma", [1.0, 0.37])
def test_no_pair_of_codes_is_more_similar(N, D, sigma):
    s = StaticPrime(D, sigma=sigma)
    codes = s.waves(N, dtype="float64") / np.sqrt(D / 2)
    similarities = np.abs(np.triu(codes @ codes.T, k=1))
    worst = toeplitz_statistics(s.increments, N)
    assert worst.coherence == pytest.approx(similarities.max(), abs=1e-12)
    assert similarities[worst.pair] == pytest.approx(similarities.max(), abs=1e-12)


@pytest.mark.parametrize("N", [1, 0, -3])
def test_one_code_has_no_lag(N):
    with pytest.raises(ParameterError, match=rf"N must be at least 2, got {N}"):
        toeplitz_statistics(StaticPrime(8).increments, N)


def test_slices_reach_the_last_of_as_many_codes_as_there_can_be():
    book = codebook(2**63, 8, kind="static")
    last = [2**63 - 3 + i for i in range(3)]
    np.testing.assert_array_equal(book[-3:], book.encode(last))
    np.testing.assert_array_equal(book[:: 2**62], book.encode([0, 2**62]))
    np.testing.assert_array_equal(book[-1:-4:-1], book.encode(last[::-1]))
    with pytest.raises(ParameterError, match=r"no codes at slice\(0.5, None, None\)"):
        book[0.5:]
