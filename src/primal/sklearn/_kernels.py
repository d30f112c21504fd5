"""Kernels by their spectral law: which map approximates which kernel, and at what scale.

Every kernel here is a function of x - y. With features of amplitude sqrt(2 / D) the inner
product of two rows approximates it, because its Fourier transform is the law of the map's
frequencies (Bochner's theorem).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from primal._checks import one_of
from primal._primes import prime_slice
from primal.bases import BASES
from primal.bases._laws import spectral_law
from primal.errors import ParameterError
from primal.maps import DynamicPrime

__all__ = ["KERNELS", "Kernel", "kernel_map", "resolved_basis"]

# Measured on the datasets of ``docs/gallery/kernel_error.py``: up to here one prime for each
# column is more even than orthogonal blocks, above it correlated columns can line up with it.
_LARGEST_KRONECKER = 5


@dataclass(frozen=True)
class Kernel:
    """One kernel: its formula and how gamma scales its frequencies.

    Attributes
    ----------
    formula : str
        In terms of gamma and the difference t = x - y.
    bases : tuple of str
        Names of the bases that can follow its law, the first one for few inputs.
    power : float
        The scale of the frequencies grows like gamma**power.
    factor : float
        That scale at gamma = 1, in radians per unit of x.
    values : callable or None
        From differences t of shape (..., d), at gamma = 1, to the kernel; None where there is
        no closed form.
    """

    formula: str
    bases: tuple[str, ...]
    power: float
    factor: float
    values: Callable[[np.ndarray], np.ndarray] | None

    def scale(self, gamma: float | np.ndarray) -> float | np.ndarray:
        """Return the scale of the frequencies, in radians per unit of x."""
        return self.factor * gamma**self.power

    def gamma_after(self, gamma: float | np.ndarray, ratio: float) -> float | np.ndarray:
        """Return the gamma whose frequencies are `ratio` times those of `gamma`."""
        return gamma * ratio ** (1.0 / self.power)


def _squared(t: np.ndarray) -> np.ndarray:
    return np.square(t).sum(axis=-1)


def _matern(degrees: int, polynomial: Callable[[np.ndarray], np.ndarray]) -> Kernel:
    def values(t: np.ndarray) -> np.ndarray:
        r = np.sqrt(2.0 * degrees * _squared(t))  # sqrt(2 nu) |t| / l, with 1 / l = sqrt(2 gamma)
        return polynomial(r) * np.exp(-r)

    # Columns of ``kronecker`` go together badly with one more sequence, that of the lengths:
    # with unequal gammas at d = 4 its error was twice that of independent draws.
    bases = ("orthogonal", "kronecker", "table")
    formula = f"Matern, nu = {degrees}/2, length scale 1 / sqrt(2 gamma)"
    return Kernel(formula, bases, 0.5, math.sqrt(2.0), values)


KERNELS = {
    "rbf": Kernel(
        "exp(-gamma |t|**2)",
        ("kronecker", "orthogonal", "table"),
        0.5,
        math.sqrt(2.0),
        lambda t: np.exp(-_squared(t)),
    ),
    "laplacian": Kernel(
        "exp(-gamma sum_j |t_j|)",
        ("kronecker", "table"),
        1.0,
        1.0,
        lambda t: np.exp(-np.abs(t).sum(axis=-1)),
    ),
    "cauchy": Kernel(
        "prod_j 1 / (1 + gamma t_j**2)",
        ("kronecker", "table"),
        0.5,
        1.0,
        lambda t: 1.0 / np.prod(1.0 + np.square(t), axis=-1),
    ),
    "matern12": _matern(1, np.ones_like),
    "matern32": _matern(3, lambda r: 1.0 + r),
    "matern52": _matern(5, lambda r: 1.0 + r + r * r / 3.0),
    "prime": Kernel(
        "mean over frequencies of cos(2 pi sigma W_i . t)",
        ("signed", "paper"),
        0.5,
        math.sqrt(2.0),
        None,
    ),
}


def resolved_basis(kernel: str, basis: str, d: int) -> str:
    """Return the name of the basis for d inputs, "auto" decided.

    "auto" looks at the kernel and at d, never at the number of features: growing must not
    change the basis.
    """
    choices = KERNELS[kernel].bases
    if one_of("basis", basis, ("auto", *BASES)) not in ("auto", *choices):
        listed = ", ".join(repr(name) for name in ("auto", *choices))
        raise ParameterError(
            f"basis {basis!r} cannot make the frequencies of kernel {kernel!r}: "
            f"use one of {listed}."
        )
    if basis != "auto":
        return basis
    many = d > _LARGEST_KRONECKER and "orthogonal" in choices
    return "orthogonal" if many else choices[0]


def kernel_map(
    kernel: str,
    d: int,
    n_frequencies: int,
    scale: float,
    *,
    basis: str,
    layout: str,
    precision: str,
) -> DynamicPrime:
    """Return the map whose frequencies follow the law of a kernel.

    Parameters
    ----------
    kernel : str
        A key of `KERNELS`.
    d : int
        Number of inputs.
    n_frequencies : int
        Number of cosine and sine pairs.
    scale : float
        Scale of the frequencies, radians per unit of x.
    basis : str
        As `resolved_basis` returns it.
    layout, precision : str
        Of the map.
    """
    sigma: object = scale / (2.0 * math.pi)
    if kernel == "prime":
        # The first row gets the length of a Gaussian one; later rows are finer and finer.
        sigma = scale / (2.0 * math.pi) / math.sqrt(float(prime_slice(0, d).mean()))
    else:
        basis, factors = spectral_law(kernel, basis, d, n_frequencies)
        sigma = scale / (2.0 * math.pi) * (1.0 if factors is None else factors)
    return DynamicPrime(
        d, 2 * n_frequencies, sigma, basis=basis, layout=layout, precision=precision
    )
