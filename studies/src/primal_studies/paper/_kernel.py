"""The Prime-Spectral Kernel that the paper names: what the inner product of features computes."""

from __future__ import annotations

import numpy as np

from primal.exact import Basis

__all__ = ["prime_spectral_kernel"]


def prime_spectral_kernel(
    difference: np.ndarray, D: int, sigma: float = 1.0, *, basis: str = "paper"
) -> np.ndarray:
    """Return the kernel of DynamicPrime at differences x - y: the cosine of their features.

    Parameters
    ----------
    difference : array_like of shape (..., d)
    D : int
        Outputs of the map.
    sigma : float, default=1.0
    basis : str, default="paper"
        The arrangement of primes; "paper" is that of equation 1.

    Returns
    -------
    kernel : ndarray of shape (...), dtype=float64
        ``(2 / D) sum_i cos(2 pi sigma W_i . difference)``, 1 where the difference is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from primal import DynamicPrime
    >>> from primal_studies.paper import prime_spectral_kernel
    >>> x, y = np.array([[0.1, 0.2]]), np.array([[0.4, -0.3]])
    >>> m = DynamicPrime(2, 64, 0.5)
    >>> by_features = (m.encode(x) @ m.encode(y).T).item() / 32
    >>> bool(abs(prime_spectral_kernel(x - y, 64, 0.5).item() - by_features) < 1e-6)
    True
    """
    at = np.asarray(difference, dtype=np.float64)
    turns = sigma * at @ Basis(basis, at.shape[-1], D // 2).frequencies.T
    return np.cos(2.0 * np.pi * turns).mean(axis=-1)
