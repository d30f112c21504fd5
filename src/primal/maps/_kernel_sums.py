"""Kernels made of parts: sums and products of kernels on columns, and the periodic kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from itertools import product
from typing import Any

import numpy as np

from primal._checks import (
    one_of,
    positive_scale,
    raised_as,
    real_array,
    real_matrix,
    reject_masked,
    whole_number,
)
from primal._specs import Frozen, from_spec, spec_fields
from primal.errors import ParameterError
from primal.maps._gamma import is_sparse, resolved_gamma
from primal.maps._kernels import KERNELS, checked_gamma, implied_width, numbers

# Of exp(-gamma sin**2): beyond it a period is thousands of length scales wide.
_GAMMA_RANGE = (1e-12, 1e6)
_PERIOD_RANGE = (1e-60, 1e60)
# Of a term. Amplitudes of features are roots of it, of which float32 holds all digits within 1e38.
_FACTOR_RANGE = (1e-60, 1e60)
_NAMES = (*(name for name, kernel in KERNELS.items() if kernel.mixture is not None), "periodic")


@dataclass(frozen=True)
class Part:
    """One kernel on some columns: a factor of a term of a :class:`KernelSum`; see :func:`on`."""

    columns: tuple[int, ...]
    kernel: str
    gamma: float | tuple[float, ...] | str  # "scale" or "median"
    period: float | tuple[float, ...] | None

    def __str__(self) -> str:
        period = "" if self.period is None else f", period={_listed(self.period)}"
        return f"on({list(self.columns)}, {self.kernel!r}, {_listed(self.gamma)!r}{period})"

    @property
    def is_periodic(self) -> bool:
        return self.kernel == "periodic"

    def each(self, name: str) -> np.ndarray:
        """Return `gamma` or `period` with a value for each column, float64."""
        return np.broadcast_to(getattr(self, name), len(self.columns)).astype(np.float64)

    def values(self, t: np.ndarray) -> np.ndarray:
        """Return the kernel of differences t (..., d)."""
        t = t[..., self.columns]
        if self.is_periodic:
            waves = np.square(np.sin(np.pi * (t / self.period)))
            return np.exp(-(np.asarray(self.gamma) * waves).sum(axis=-1))
        found = KERNELS[self.kernel]
        assert found.values is not None  # of every kernel with a mixture
        return found.values(t * np.asarray(self.gamma) ** found.power)


def make_part(columns: Any, kernel: str, gamma: Any, period: Any) -> Part:
    """Return the part that the arguments of :func:`on` mean."""
    reject_masked("columns", columns)
    with raised_as(ParameterError, "columns must be the number of a column or a list of them"):
        given = np.atleast_1d(np.asarray(columns)).tolist()
    columns = tuple(whole_number("columns", column) for column in given)
    if not columns or len(set(columns)) < len(columns):
        raise ParameterError(f"columns must be one or more different ones, got {columns}.")
    one_of("kernel", kernel, _NAMES)
    d = len(columns)
    if kernel == "periodic":
        if period is None:
            raise ParameterError("the periodic kernel needs a period, in units of x.")
        gamma = _plain(numbers("gamma", gamma, d, _GAMMA_RANGE))
        period = _plain(numbers("period", period, d, _PERIOD_RANGE))
    elif period is not None:
        raise ParameterError(
            f"kernel {kernel!r} has no period, got {period!r}: multiply it by "
            "on(columns, 'periodic', period=...)."
        )
    elif not (isinstance(gamma, str) and gamma in ("scale", "median")):
        gamma = _plain(np.asarray(checked_gamma(gamma, d, kernel)))
    return Part(columns, kernel, gamma, period)


class KernelSum(Frozen):
    """A sum of products of kernels on columns, made by :func:`on`, ``+`` and ``*``.

    In the place of the name of a kernel in :class:`primal.KernelPrime` and the ``PrimeFeatures`` of
    scikit-learn and PyTorch.

    Parameters
    ----------
    terms : tuple of (float, tuple of Part)
        What each product of parts is multiplied by, and the parts.

    Examples
    --------
    >>> from primal.maps import on
    >>> on(0) + 0.5 * on([1, 2], "matern32", 2.0)
    on([0], 'rbf', 1.0) + 0.5 * on([1, 2], 'matern32', 2.0)
    """

    _names = ("terms",)

    def __init__(self, terms: Iterable[tuple[float, tuple[Part, ...]]]) -> None:
        with raised_as(ParameterError, "terms must be factors with parts, as on(columns) has them"):
            terms = tuple(
                (positive_scale("the factor of a kernel", scale), tuple(parts))
                for scale, parts in terms
            )
        if not terms or not all(isinstance(p, Part) for _, parts in terms for p in parts or (0,)):
            raise ParameterError(
                "terms must hold one or more, each of parts: make a kernel with on(columns)."
            )
        for scale, parts in terms:
            if not _FACTOR_RANGE[0] <= scale <= _FACTOR_RANGE[1]:
                raise ParameterError(
                    f"the factor of a kernel must be from {_FACTOR_RANGE[0]:g} to "
                    f"{_FACTOR_RANGE[1]:g}, got {scale!r}: take other units for what it explains."
                )
            smooth = [c for part in parts if not part.is_periodic for c in part.columns]
            twice = sorted({column for column in smooth if smooth.count(column) > 1})
            if twice:
                raise ParameterError(
                    f"column {twice[0]} is in two kernels of one product, of which at most one may "
                    "be other than periodic: take one kernel for it, or their sum."
                )
        self.terms = terms

    def __add__(self, other: object) -> KernelSum:
        if not isinstance(other, KernelSum):
            return NotImplemented
        return KernelSum((*self.terms, *other.terms))

    def __radd__(self, other: object) -> KernelSum:
        # What `sum` starts from.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: object) -> KernelSum:
        if not isinstance(other, KernelSum):
            scale = positive_scale("the factor of a kernel", other)
            return KernelSum(tuple((scale * own, parts) for own, parts in self.terms))
        pairs = product(self.terms, other.terms)
        return KernelSum(tuple((a[0] * b[0], (*a[1], *b[1])) for a, b in pairs))

    __rmul__ = __mul__

    def values(self, t: object) -> np.ndarray:
        """Return the kernel of differences t = x - y (..., d)."""
        t = real_array("t", t).astype(np.float64)
        checked_sum(self, t.shape[-1] if t.ndim else 0, name="t")
        total = np.zeros(t.shape[:-1])
        with np.errstate(over="ignore"):  # kernels at infinity are 0
            for scale, parts in self.terms:
                total += scale * math.prod(part.values(t) for part in parts)
        return total

    def __repr__(self) -> str:
        terms = (
            " * ".join([*([] if scale == 1.0 else [repr(scale)]), *map(str, parts)])
            for scale, parts in self.terms
        )
        return " + ".join(terms)

    def resolved(self, X: Any, weights: np.ndarray | None = None) -> KernelSum:
        """Return the same with every gamma="scale" or "median" taken from its columns of X."""
        X = X if is_sparse(X) else real_matrix("X", X)
        _require_columns(self, X.shape[1], "X")

        def one(part: Part) -> Part:
            if not isinstance(part.gamma, str):
                return part
            own = X[:, list(part.columns)]
            return make_part(
                part.columns,
                part.kernel,
                resolved_gamma(part.gamma, part.kernel, own, weights),
                None,
            )

        return KernelSum(tuple((scale, tuple(map(one, parts))) for scale, parts in self.terms))

    def _fields(self) -> dict[str, Any]:
        return {"terms": tuple((s, tuple(map(astuple, parts))) for s, parts in self.terms)}

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> KernelSum:
        terms = spec_fields("KernelSum", fields, cls._names)["terms"]
        return cls((scale, tuple(make_part(*part) for part in parts)) for scale, parts in terms)


def on(columns: Any, kernel: str = "rbf", gamma: Any = 1.0, *, period: Any = None) -> KernelSum:
    """Return a kernel on some columns of x, to be added to and multiplied by others.

    Sums may be of any kernels, times positive numbers. In a product a column may be in one kernel
    and in any number of periodic ones.

    Parameters
    ----------
    columns : int or sequence of int
        Which columns, from 0.
    kernel : str, default="rbf"
        One of :class:`primal.KernelPrime` other than ``"prime"``; or ``"periodic"``,
        exp(-gamma sum_j sin(pi t_j / period_j)**2), of length scale sqrt(2 / gamma) (MacKay 1998).
    gamma : float, "scale", "median" or sequence with one for each column, default=1.0
        Scale of the kernel. The two names are for scikit-learn, which has data to take it from.
    period : float or sequence with one for each column
        Of the periodic kernel, in units of x.

    Returns
    -------
    KernelSum

    Examples
    --------
    A trend, and a weekly pattern that changes over months, of a time in days; a second input:

    >>> import numpy as np, primal
    >>> from primal.maps import on
    >>> weekly = on(0, "periodic", 2.0, period=7.0) * on(0, "rbf", 1e-4)
    >>> kernel = on(0, "rbf", 1e-5) + 0.5 * weekly + 0.2 * on(1, "matern32")
    >>> x = np.linspace(0, 100, 60).reshape(30, 2) % [400, 1]
    >>> m = primal.KernelPrime(2, 256, kernel, width=[30.0, 0.3])
    >>> bool(m.kernel_error(x) < 1e-3)
    True
    """
    return KernelSum(((1.0, (make_part(columns, kernel, gamma, period),)),))


def as_kernel(kernel: object) -> str | KernelSum:
    """Return the name of a kernel, or a kernel made of parts, which may come as its spec."""
    found = from_spec(kernel) if isinstance(kernel, Mapping) else kernel
    return found if isinstance(found, KernelSum) else one_of("kernel", found, KERNELS)


def checked_sum(kernel: KernelSum, d: int, gamma: object = 1.0, *, name: str = "x") -> None:
    """Raise a ParameterError where d columns, or the parts, do not have what a kernel needs."""
    if not (isinstance(gamma, (int, float)) and gamma == 1.0):
        raise ParameterError(
            f"every part of a kernel has its own gamma, on(columns, kernel, gamma): leave out "
            f"gamma={gamma!r:.60}."
        )
    _require_columns(kernel, d, name)
    if any(isinstance(part.gamma, str) for _, parts in kernel.terms for part in parts):
        raise ParameterError(
            "a part has gamma='scale' or 'median', which PrimeFeatures of scikit-learn takes from "
            "data: give numbers, or kernel.resolved(X)."
        )


def implied_widths(kernel: str | KernelSum, gamma: float | np.ndarray, d: int) -> np.ndarray:
    """Return the width of each of d columns that every gamma implies, the largest of all parts.

    Columns of a periodic kernel are a period wide; those in no part, 1.
    """
    if not isinstance(kernel, KernelSum):
        return np.broadcast_to(implied_width(kernel, gamma, d), d)
    widths = np.zeros(d)
    for part in (part for _, parts in kernel.terms for part in parts):
        columns = list(part.columns)
        own = part.each("period" if part.is_periodic else "gamma")
        own = own if part.is_periodic else implied_width(part.kernel, own, len(columns))
        widths[columns] = np.maximum(widths[columns], own)
    return np.where(widths > 0.0, widths, 1.0)


def _require_columns(kernel: KernelSum, d: int, name: str) -> None:
    last = max(column for _, parts in kernel.terms for part in parts for column in part.columns)
    if last >= d:
        raise ParameterError(
            f"the kernel has a part on column {last}, and {name} has {d}, from 0: give it more "
            "columns, or the kernel others."
        )


def kernel_matrix(kernel: str | KernelSum, X: object, gamma: Any = 1.0) -> np.ndarray:
    """Return the exact kernel of every two rows of X.

    Parameters
    ----------
    kernel : str or KernelSum
        Name of a kernel with a closed form, or a kernel made of parts.
    X : array_like of shape (n, d)
    gamma : float or array_like of shape (d,), default=1.0
        Of a kernel by name; parts have their own.

    Returns
    -------
    ndarray of shape (n, n), dtype=float64

    Examples
    --------
    >>> from primal.maps import kernel_matrix
    >>> kernel_matrix("laplacian", [[0.0, 0.0], [1.0, 2.0]], 0.5).round(4)
    array([[1.    , 0.2231],
           [0.2231, 1.    ]])
    """
    kernel, rows = as_kernel(kernel), real_matrix("X", X)
    if isinstance(kernel, KernelSum):
        checked_sum(kernel, rows.shape[1], gamma)
        return np.stack([kernel.values(rows - row) for row in rows])
    chosen = KERNELS[kernel]
    if chosen.values is None:
        raise ParameterError(
            f"kernel {kernel!r} has no closed form to compare with: its features define it."
        )
    gamma = checked_gamma(gamma, rows.shape[1], kernel)
    scaled = rows * np.asarray(gamma) ** chosen.power
    with np.errstate(over="ignore"):  # kernels at infinity are 0
        return np.stack([chosen.values(scaled - row) for row in scaled])


def _plain(values: np.ndarray) -> float | tuple[float, ...]:
    return tuple(values.tolist()) if values.ndim else float(values)


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
