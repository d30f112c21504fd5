"""The typed design that the arguments of a ``KernelPrime`` mean, with "auto" decided."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from primal._checks import one_of, whole_number
from primal._lazy import cached_property
from primal.errors import ParameterError
from primal.exact import Basis
from primal.maps._kernel_basis import COMPOSED, METHODS, KernelBasis, chosen_method, obstacle
from primal.maps._kernel_sums import KernelSum, as_kernel, checked_sum
from primal.maps._kernels import (
    KERNELS,
    checked_gamma,
    checked_width,
    design_widths,
    kernel_basis,
    resolved_basis,
)

FORMS = ("pair", "offset")


@dataclass(frozen=True)
class Design:
    """D features of d inputs for a kernel, with everything decided.

    `basis` stays "auto" where the method makes its own frequencies.
    """

    d: int
    D: int
    kernel: str | KernelSum
    gamma: float | tuple[float, ...]
    basis: str
    form: str
    method: str
    width: tuple[float, ...] | None

    @property
    def is_weighted(self) -> bool:
        """Whether every frequency has a weight of its own, and none can be added."""
        return self.method != "growable"

    @cached_property
    def input_scales(self) -> np.ndarray | None:
        """Factors of the inputs, float64 of shape (d,), when each has its own gamma."""
        if isinstance(self.gamma, float):
            return None
        return np.asarray(KERNELS[str(self.kernel)].scale(np.array(self.gamma)))

    def frequencies(self) -> Basis:
        """Return the rule and the table of the frequencies, of x times `input_scales`."""
        k = (self.D + 1) // 2 if self.form == "pair" else self.D
        if isinstance(self.kernel, KernelSum):
            return KernelBasis(COMPOSED, self.d, k, kernel=self.kernel, widths=self.width or ())
        scale = 1.0
        if isinstance(self.gamma, float):
            scale = float(KERNELS[self.kernel].scale(self.gamma))
        if not self.is_weighted:
            return kernel_basis(self.kernel, self.d, k, scale, basis=self.basis)
        sigma, widths = (
            scale / (2.0 * math.pi),
            _widths(self.kernel, self.gamma, self.width, self.d),
        )
        return KernelBasis(self.method, self.d, k, sigma, kernel=self.kernel, widths=widths)


def make_design(
    d: object,
    D: object,
    kernel: object,
    gamma: object,
    *,
    basis: str,
    form: str,
    method: str,
    width: object,
) -> Design:
    """Return the design that the arguments of ``KernelPrime`` mean."""
    d, D = whole_number("d", d, least=1), whole_number("D", D, least=1)
    kernel, scale, growable_basis = as_kernel(kernel), 1.0, "auto"
    if isinstance(kernel, KernelSum):
        checked_sum(kernel, d, gamma)
    else:
        checked = checked_gamma(gamma, d, kernel)
        scale = checked if isinstance(checked, float) else tuple(checked.tolist())
        growable_basis = resolved_basis(kernel, basis, d)
    form = one_of("form", form, FORMS)
    given = checked_width(width, d)
    widths = None if given is None else tuple(given.tolist())
    method = one_of("method", method, (*METHODS, COMPOSED))
    if method == "auto":
        method = _auto(d, D, kernel, scale, basis, form, widths, growable_basis)
    if method == "growable" and not isinstance(kernel, KernelSum):
        return Design(d, D, kernel, scale, growable_basis, form, method, widths)
    reason = obstacle(method, kernel, d, D)
    if form == "offset":
        reason = f"method={method!r} needs pairs of cosine and sine: use form='pair'."
    if basis != "auto":
        reason = f"method={method!r} makes its own frequencies: leave out basis={basis!r}."
    if reason:
        raise ParameterError(reason)
    return Design(d, D, kernel, scale, "auto", form, method, widths)


def _auto(
    d: int,
    D: int,
    kernel: str | KernelSum,
    gamma: float | tuple[float, ...],
    basis: str,
    form: str,
    width: tuple[float, ...] | None,
    growable_basis: str,
) -> str:
    """Return the method that "auto" means."""
    if isinstance(kernel, KernelSum):
        return COMPOSED
    if form != "pair" or basis != "auto" or obstacle("lattice", kernel, d, D):
        return "growable"
    return chosen_method(kernel, d, D, _widths(kernel, gamma, width, d), growable_basis)


def _widths(
    kernel: str, gamma: float | tuple[float, ...], width: tuple[float, ...] | None, d: int
) -> tuple[float, ...]:
    scale = gamma if isinstance(gamma, float) else np.array(gamma)
    return design_widths(kernel, scale, None if width is None else np.array(width), d)
