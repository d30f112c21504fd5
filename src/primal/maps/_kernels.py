"""Kernels by their spectral law: which basis approximates which kernel, and at what scale.

Every kernel here is a function of x - y. With features of amplitude sqrt(2 / D) the inner
product of two rows approximates it, because its Fourier transform is the law of the map's
frequencies (Bochner's theorem).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from primal._checks import one_of, positive_scale, raised_as, reject_masked
from primal.errors import ParameterError
from primal.exact import BASES, Basis, auto_basis, mixture_scales, primes
from primal.maps._closed_form import Mixture, chi_mixture, gaussian

# Of the scale of frequencies, radians per unit of x: far within the range of sigma, which a basis
# makes of it with a factor of its own.
_SCALE_RANGE = (1e-90, 1e90)
# Of standard deviations over the length scale: outside of it designs would be the same, or none.
WIDTH_RANGE = (2.0**-6, 2.0**10)


@dataclass(frozen=True)
class Kernel:
    """One kernel: its formula and how gamma scales its frequencies.

    Attributes
    ----------
    formula : str
        In terms of gamma and the difference t = x - y.
    bases : tuple of str
        Names of the bases that can follow its law.
    law : {"gaussian", "mixture", "product", "prime"}
        Of its frequencies: independent Gaussian coordinates; the same times a length for each
        row; independent coordinates of another law; the paper's.
    power : float
        The scale of the frequencies grows like gamma**power.
    factor : float
        That scale at gamma = 1, in radians per unit of x.
    values : callable or None
        From differences t of shape (..., d), at gamma = 1, to the kernel; None where there is
        no closed form.
    mixture : callable or None
        Returns the kernel of length scale 1 as a mixture of Gaussian ones.
    degrees : int
        Of a law "mixture": those of the chi-square law, see :func:`primal.exact.mixture_scales`;
        negative where it divides.
    """

    formula: str
    bases: tuple[str, ...]
    law: str
    power: float
    factor: float
    values: Callable[[np.ndarray], np.ndarray] | None
    mixture: Callable[[], Mixture] | None = None
    degrees: int = 0

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
        r = np.minimum(r, 1e3)  # where the kernel is 0, and not a product of it with infinity
        return polynomial(r) * np.exp(-r)

    bases = ("hadamard", "kronecker", "table")
    formula = f"Matern, nu = {degrees}/2, length scale 1 / sqrt(2 gamma)"
    mixture = partial(chi_mixture, degrees, inverse=True)
    return Kernel(formula, bases, "mixture", 0.5, math.sqrt(2.0), values, mixture, -degrees)


def _rational(degrees: int) -> Kernel:
    alpha = degrees / 2.0

    def values(t: np.ndarray) -> np.ndarray:
        return (1.0 + _squared(t) / alpha) ** -alpha

    formula = f"(1 + gamma |t|**2 / {alpha:g})**-{alpha:g}"
    mixture = partial(chi_mixture, degrees, inverse=False)
    bases = ("hadamard", "kronecker", "table")
    return Kernel(formula, bases, "mixture", 0.5, math.sqrt(2.0), values, mixture, degrees)


KERNELS = {
    "rbf": Kernel(
        "exp(-gamma |t|**2)",
        ("kronecker", "hadamard", "table"),
        "gaussian",
        0.5,
        math.sqrt(2.0),
        lambda t: np.exp(-_squared(t)),
        gaussian,
    ),
    "laplacian": Kernel(
        "exp(-gamma sum_j |t_j|)",
        ("kronecker", "table"),
        "product",
        1.0,
        1.0,
        lambda t: np.exp(-np.abs(t).sum(axis=-1)),
        partial(chi_mixture, 1, inverse=True, each=True),
    ),
    "cauchy": Kernel(
        "prod_j 1 / (1 + gamma t_j**2)",
        ("kronecker", "table"),
        "product",
        0.5,
        1.0,
        lambda t: 1.0 / np.prod(1.0 + np.square(t), axis=-1),
        partial(chi_mixture, 2, inverse=False, each=True, scale=2.0),
    ),
    "matern12": _matern(1, np.ones_like),
    "matern32": _matern(3, lambda r: 1.0 + r),
    "matern52": _matern(5, lambda r: 1.0 + r + r * r / 3.0),
    "rational12": _rational(1),
    "rational1": _rational(2),
    "rational2": _rational(4),
    "prime": Kernel(
        "mean over frequencies of cos(2 pi sigma W_i . t)",
        ("signed", "paper"),
        "prime",
        0.5,
        math.sqrt(2.0),
        None,
    ),
}


def gamma_of_length(kernel: object, lengthscale: object, d: int) -> float | list[float]:
    """Return the gamma at which a kernel divides x - y by a length, or by one for each of d."""
    found = KERNELS[one_of("kernel", kernel, KERNELS)]
    # At length 1 it is one over a whole number: 1/2, or 1.
    unit = 1.0 / round(found.factor ** (1.0 / found.power))
    lengths = numbers("lengthscale", lengthscale, d, _SCALE_RANGE)
    gammas = [float(found.gamma_after(unit, 1.0 / length)) for length in lengths.ravel().tolist()]
    return gammas if lengths.ndim else gammas[0]


def resolved_basis(kernel: str, basis: str, d: int) -> str:
    """Return the name of the basis for d inputs, "auto" decided."""
    chosen = KERNELS[one_of("kernel", kernel, KERNELS)]
    if one_of("basis", basis, ("auto", *BASES)) == "auto":
        # The long rows of a Matern kernel go badly with kronecker, the short ones of a rational
        # quadratic kernel do not.
        return auto_basis(d, "gaussian" if chosen.degrees > 0 else chosen.law)
    if basis not in chosen.bases:
        listed = ", ".join(repr(name) for name in ("auto", *chosen.bases))
        raise ParameterError(
            f"basis {basis!r} cannot make the frequencies of kernel {kernel!r}: "
            f"use one of {listed}."
        )
    return basis


def kernel_basis(kernel: str, d: int, n_frequencies: int, scale: float, *, basis: str) -> Basis:
    """Return the basis whose frequencies follow the law of a kernel.

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
    """
    law, sigma = KERNELS[kernel].law, scale / (2.0 * math.pi)
    if law == "prime":
        # The first row gets the length of a Gaussian one; later rows are finer and finer.
        return Basis(basis, d, n_frequencies, sigma / math.sqrt(float(primes(d).mean())))
    if law == "product" or (law == "mixture" and basis == "hadamard"):
        return Basis(f"{basis}-{kernel}", d, n_frequencies, sigma)
    if law == "mixture":
        # The bases use the primes up to index d, offsets of features the one after.
        degrees = KERNELS[kernel].degrees
        factors = mixture_scales(degrees, n_frequencies, prime_index=d + 2)
        return Basis(basis, d, n_frequencies, tuple((sigma * factors).tolist()))
    return Basis(basis, d, n_frequencies, sigma)


def start_frequencies(kernel: str, basis: str, d: int, k: int) -> np.ndarray:
    """Return the frequencies of that basis in radians per length scale, shape (k, d)."""
    return kernel_basis(kernel, d, k, 1.0, basis=basis).frequencies * (2.0 * math.pi)


def checked_gamma(gamma: object, d: int, kernel: str) -> float | np.ndarray:
    """Return gamma as one positive float, or as an array with one for each of d inputs."""
    unit = KERNELS[kernel]
    smallest, largest = ((scale / unit.factor) ** (1.0 / unit.power) for scale in _SCALE_RANGE)
    values = numbers("gamma", gamma, d, (smallest, largest))
    return values if values.ndim else float(values)


def checked_width(width: object, d: int) -> np.ndarray | None:
    """Return standard deviations of d inputs, rounded up to five bits; None stays None.

    A few bits, so that the last digits of a sum, which depend on its order, do not show.
    """
    if width is None:
        return None
    values = np.broadcast_to(numbers("width", width, d, _SCALE_RANGE), d)
    mantissas, exponents = np.frexp(values)
    return np.ldexp(np.ceil(mantissas * 32.0 - 2.0**-20) / 32.0, exponents)


def design_widths(
    kernel: str, gamma: float | np.ndarray, width: np.ndarray | None, d: int
) -> tuple[float, ...]:
    """Return the standard deviations of x_j - y_j in units of the kernel's length scale.

    Without widths they are those of data of which gamma="scale" made this gamma.
    """
    width = implied_width(kernel, gamma, d) if width is None else width
    ratios = np.broadcast_to(math.sqrt(2.0) * width * KERNELS[kernel].scale(gamma), d)
    limited = np.clip(ratios, *WIDTH_RANGE)
    mantissas, exponents = np.frexp(limited)
    # A power of gamma is one of the C library: its last digits must not show either.
    return tuple(np.ldexp(np.rint(mantissas * 2.0**20) * 2.0**-20, exponents).tolist())


def implied_width(kernel: str, gamma: float | np.ndarray, d: int) -> np.ndarray:
    """Return the width of data of which gamma="scale" makes this gamma."""
    width = np.asarray(1.0 / (d * np.asarray(gamma)))
    return width if kernel == "laplacian" else np.sqrt(width)


def numbers(name: str, value: object, d: int, limits: tuple[float, float]) -> np.ndarray:
    """Return one number, or one for each of d inputs, as float64, each within limits."""
    reject_masked(name, value)
    with raised_as(ParameterError, f"{name} must be a number or one for each input"):
        given = np.asarray(value)
    if given.shape not in ((), (d,)):
        raise ParameterError(
            f"{name} must be one number or one for each of the {d} inputs, got shape {given.shape}."
        )
    if given.ndim == 0:
        names, items = [name], [value]
    else:
        names, items = [f"{name}[{j}]" for j in range(len(given))], list(given)
    numbers = [positive_scale(*pair) for pair in zip(names, items, strict=True)]
    for said, number in zip(names, numbers, strict=True):
        if not limits[0] <= number <= limits[1]:
            raise ParameterError(
                f"{said} must be from {limits[0]:.3g} to {limits[1]:.3g}, got {number!r}: scale x "
                "instead."
            )
    return np.array(numbers).reshape(given.shape)
