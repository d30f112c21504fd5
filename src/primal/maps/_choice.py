"""What the arguments of a ``KernelPrime`` mean: the choice of its frequencies and weights."""

import math
from dataclasses import dataclass
from typing import Any

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
class Choice:
    """D features of d inputs for a kernel; takes the arguments of ``KernelPrime``, decides "auto".

    `basis` stays "auto" where the method makes its own frequencies.
    """

    d: int
    D: int
    kernel: str | KernelSum
    gamma: Any  # becomes a float or a tuple of d
    basis: str
    form: str
    method: str
    width: Any  # becomes None or a tuple of d

    def __post_init__(self) -> None:
        d, D = whole_number("d", self.d, least=1), whole_number("D", self.D, least=1)
        kernel, gamma, basis = as_kernel(self.kernel), 1.0, "auto"
        if isinstance(kernel, KernelSum):
            checked_sum(kernel, d, self.gamma)
        else:
            checked = checked_gamma(self.gamma, d, kernel)
            gamma = checked if isinstance(checked, float) else tuple(checked.tolist())
            basis = resolved_basis(kernel, self.basis, d)
        form = one_of("form", self.form, FORMS)
        given = checked_width(self.width, d)
        width = None if given is None else tuple(given.tolist())
        decided = {"d": d, "D": D, "kernel": kernel, "gamma": gamma, "form": form, "width": width}
        for name, value in decided.items():
            object.__setattr__(self, name, value)
        method = self._decided(one_of("method", self.method, (*METHODS, COMPOSED)), basis)
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "basis", basis if method == "growable" else "auto")

    def _decided(self, method: str, growable_basis: str) -> str:
        """Return the method, "auto" decided."""
        if method == "auto" and isinstance(self.kernel, KernelSum):
            method = COMPOSED
        if method == "auto":
            plain = self.form == "pair" and self.basis == "auto"
            if not plain or obstacle("lattice", self.kernel, self.d, self.D):
                return "growable"
            widths = self._design_widths
            return chosen_method(str(self.kernel), self.d, self.D, widths, growable_basis)
        if method == "growable" and not isinstance(self.kernel, KernelSum):
            return method
        reason = obstacle(method, self.kernel, self.d, self.D)
        if self.form == "offset":
            reason = f"method={method!r} needs pairs of cosine and sine: use form='pair'."
        if self.basis != "auto":
            reason = f"method={method!r} makes its own frequencies: leave out basis={self.basis!r}."
        if reason:
            raise ParameterError(reason)
        return method

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
        plain = self.input_scales is None
        scale = float(KERNELS[self.kernel].scale(self.gamma)) if plain else 1.0
        if not self.is_weighted:
            return kernel_basis(self.kernel, self.d, k, scale, basis=self.basis)
        sigma, widths = scale / (2.0 * math.pi), self._design_widths
        return KernelBasis(self.method, self.d, k, sigma, kernel=self.kernel, widths=widths)

    @property
    def _design_widths(self) -> tuple[float, ...]:
        gamma = self.gamma if isinstance(self.gamma, float) else np.array(self.gamma)
        width = None if self.width is None else np.array(self.width)
        return design_widths(str(self.kernel), gamma, width, self.d)
