"""What a kernel of scikit-learn, or one made of parts, says about a Gaussian process."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process import kernels as host

from primal.errors import ParameterError
from primal.maps import KernelSum

_MATERN = {0.5: "matern12", 1.5: "matern32", 2.5: "matern52", np.inf: "rbf"}


class PartsKernel(host.StationaryKernelMixin, host.Kernel):
    """A :class:`primal.maps.KernelSum` as a kernel of scikit-learn, without hyperparameters."""

    def __init__(self, parts: KernelSum) -> None:
        self.parts = parts

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the kernel (n, m) of rows X (n, d) and Y (m, d), and its empty gradient."""
        X = np.atleast_2d(X)
        K = np.stack([self.parts.values(X - y) for y in (X if Y is None else Y)], axis=1)
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Any) -> np.ndarray:
        """Return the kernel of every row with itself, (n,)."""
        return np.full(len(X), sum(scale for scale, _ in self.parts.terms))

    def __repr__(self) -> str:
        return f"({self.parts!r})"


class Prior(NamedTuple):
    """The kernel of x / lengths that features are made for, its scale and the noise.

    `leaves` are the simple kernels in the order of theta.
    """

    kernel: str | KernelSum
    lengths: np.ndarray
    signal: float
    white: float
    leaves: list[Any]

    def gradient(self, by_signal: float, by_lengths: np.ndarray, by_white: float) -> np.ndarray:
        """Return derivatives by theta from those by logarithms; each white noise has its share."""
        found: list[Any] = []
        for leaf in self.leaves:
            if all(parameter.fixed for parameter in leaf.hyperparameters):
                continue
            kind = type(leaf)
            if kind is host.ConstantKernel:
                found.append(by_signal)
            elif kind is host.WhiteKernel:
                found.append(by_white * leaf.noise_level / self.white)
            else:
                found.append(by_lengths if leaf.anisotropic else by_lengths.sum())
        return np.hstack(found) if found else np.empty(0)


def new_kernel(given: Any, X: np.ndarray, *, fitted: bool) -> Any:
    """Return the kernel of scikit-learn that a regressor's parameter stands for.

    Parts get the gamma of their columns of X. Of a kernel made of parts that is `fitted`, the
    amplitude and the noise are hyperparameters; otherwise its own factors are the amplitude.
    """
    if given is None:
        return host.ConstantKernel() * host.RBF() + host.WhiteKernel()
    if isinstance(given, KernelSum):
        parts = PartsKernel(given.resolved(X))
        return host.ConstantKernel() * parts + host.WhiteKernel() if fitted else parts
    return clone(given, safe=False)


def read_prior(kernel: Any) -> Prior:
    """Return what constants * (RBF, Matern or parts) + white noises say, in any order."""
    terms = [_operands(term, host.Product) for term in _operands(kernel, host.Sum)]
    whites: list[Any] = [term[0] for term in terms if _is_noise(term)]
    signal = [leaf for term in terms if not _is_noise(term) for leaf in term]
    constants: list[Any] = [leaf for leaf in signal if type(leaf) is host.ConstantKernel]
    if any(isinstance(leaf.constant_value, KernelSum) for leaf in constants):
        raise ParameterError(
            "kernel adds or multiplies one made of parts with scikit-learn's operators, which take "
            "it for a number: pass it alone. Its amplitude and the noise are chosen; with "
            "optimizer=None they are its own factors and alpha."
        )
    shapes: list[Any] = [leaf for leaf in signal if type(leaf) in _SHAPES]
    one_product = len(terms) == len(whites) + 1 and len(signal) == len(constants) + 1
    shape = shapes[0] if len(shapes) == 1 and one_product else None
    name = getattr(shape, "parts", _MATERN.get(getattr(shape, "nu", np.inf)))
    if shape is None or name is None:
        raise ParameterError(
            "kernel must be one RBF or Matern kernel (nu 0.5, 1.5, 2.5 or inf), times constants "
            "and plus white noise, such as 1.0 * RBF(1.0) + WhiteKernel(0.1), or made of parts by "
            f"primal.maps.on alone, got {kernel!r}."
        )
    lengths = np.atleast_1d(np.asarray(getattr(shape, "length_scale", 1.0), dtype=np.float64))
    constant = float(np.prod([leaf.constant_value for leaf in constants]))
    noise = float(np.sum([leaf.noise_level for leaf in whites]))
    if not (0.0 < constant < np.inf and 0.0 <= noise < np.inf and _are_positive(lengths)):
        raise ParameterError(
            "kernel must have a positive, finite factor and length scales, and finite noise, got "
            f"{constant:.3g}, {lengths} and {noise:.3g}."
        )
    return Prior(name, lengths, constant, noise, [leaf for term in terms for leaf in term])


_SHAPES = (host.RBF, host.Matern, PartsKernel)


def _are_positive(lengths: np.ndarray) -> bool:
    return bool(((lengths > 0.0) & (lengths < np.inf)).all())


def _is_noise(term: list[Any]) -> bool:
    return len(term) == 1 and type(term[0]) is host.WhiteKernel


def _operands(kernel: Any, operator: type) -> list[Any]:
    """Return what a nested sum or product is made of, from left to right."""
    if type(kernel) is not operator:
        return [kernel]
    return _operands(kernel.k1, operator) + _operands(kernel.k2, operator)
