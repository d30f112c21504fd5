"""``KernelBasis``: frequencies and weights made for a kernel, as a basis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from primal._checks import one_of, positive_scale, require_memory, whole_number
from primal._lazy import cached_property
from primal._specs import make_spec, spec_digest, spec_fields
from primal.bases import Basis, FrequencyTable
from primal.errors import ParameterError
from primal.kernels._design import (
    Nodes,
    descent_nodes,
    equal_errors,
    lattice_nodes,
)
from primal.kernels._kernel import KERNELS, kernel_basis, resolved_basis

METHODS = ("growable", "lattice", "descent", "auto")
_MOST_INPUTS = {"lattice": 8, "descent": 64}
_MOST_FREQUENCIES = {"lattice": 1 << 16, "descent": 1 << 11}
# Of the predictions for the growable map: a smaller gain is not worth what no longer grows, and on
# data far from Gaussian ones might be none (``tools/kernel_bars.py``).
_LARGEST_SHARE = 0.4
_FIELDS = ("name", "d", "n_frequencies", "sigma", "kernel", "widths")


@dataclass(frozen=True)
class KernelBasis(Basis):
    """Frequencies with weights that were made for a kernel: a Basis that cannot grow.

    Parameters
    ----------
    name : {"lattice", "descent"}
    d, n_frequencies, sigma
        As in :class:`primal.Basis`; sigma is the scale of the kernel over 2 pi.
    kernel : str
        A key of `KERNELS`.
    widths : tuple of d floats
        Standard deviations of x_j - y_j, in units of the kernel's length scale.
    """

    kernel: str = "rbf"
    widths: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        one_of("method", self.name, METHODS[1:3])
        d, k = whole_number("d", self.d, least=1), whole_number("n_frequencies", self.n_frequencies)
        widths = tuple(positive_scale("widths", width) for width in self.widths)
        reason = obstacle(self.name, self.kernel, d, 2 * k)
        if reason or len(widths) != d:
            raise ParameterError(reason or f"widths must have {d} values, got {len(widths)}.")
        require_memory(64 * k * (d + min(k, 1 << 11)), f"a design of {k} frequencies")
        object.__setattr__(self, "widths", widths)
        object.__setattr__(self, "sigma", positive_scale("sigma", self.sigma))

    @property
    def nodes(self) -> Nodes:
        return _nodes(self.name, self.kernel, self.n_frequencies, self.widths)

    @property
    def weights(self) -> np.ndarray:
        """Of the frequencies, positive and of sum 1, float64 of shape (k,)."""
        return self.nodes.weights

    @property
    def root_weights(self) -> np.ndarray:
        """Factors of features beside the common one: roots of weights over their mean."""
        return np.sqrt(self.weights * self.n_frequencies)

    @cached_property
    def table(self) -> FrequencyTable:
        return FrequencyTable.from_floats(self._scale * self.nodes.frequencies)

    @property
    def spec(self) -> dict[str, object]:
        fields = {name: getattr(self, name) for name in _FIELDS}
        return make_spec("KernelBasis", **fields | {"widths": list(self.widths)})

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> KernelBasis:
        return cls(**spec_fields("KernelBasis", fields, _FIELDS))

    def __reduce__(self) -> tuple[Any, ...]:
        return KernelBasis._from_spec, ({name: getattr(self, name) for name in _FIELDS},)

    @cached_property
    def fingerprint(self) -> str:
        return spec_digest(self.spec, *self.table.digest_arrays, self.weights)

    def grow(self, n_frequencies: int, sigma: object = None) -> Basis:
        raise ParameterError(cannot_grow(self.name))


def cannot_grow(method: str) -> str:
    return (
        f"method={method!r} cannot grow, every frequency depends on how many there are: make a new "
        "map with a larger D, or one with method='growable'."
    )


def obstacle(method: str, kernel: str, d: int, D: int) -> str:
    """Return why a method cannot serve, or an empty string."""
    if KERNELS[one_of("kernel", kernel, KERNELS)].mixture is None:
        return f"kernel {kernel!r} has no closed form to design for: use method='growable'."
    most_k = _MOST_FREQUENCIES[method]
    if D < 2 or D % 2 or 2 * most_k < D:
        return f"method={method!r} needs an even D of 2 to {2 * most_k}, got {D}."
    if d > _MOST_INPUTS[method]:
        return f"method={method!r} is for d up to {_MOST_INPUTS[method]}, got {d}: use 'growable'."
    return ""


def chosen_method(kernel: str, d: int, D: int, widths: tuple[float, ...], basis: str) -> str:
    """Return the method that "auto" means: the lattice where its error is 0.4 times as large.

    That under every law of `_design`. Frequencies by descent often have a smaller error still, and
    take a second to make: they have to be asked for.
    """
    if obstacle("lattice", kernel, d, D):
        return "growable"
    lattice = _nodes("lattice", kernel, D // 2, widths).errors
    growable = growable_errors(kernel, basis, D // 2, widths)
    wins = all(
        ours < _LARGEST_SHARE * theirs for ours, theirs in zip(lattice, growable, strict=True)
    )
    return "lattice" if wins else "growable"


@lru_cache(maxsize=64)
def growable_errors(
    kernel: str, basis: str, k: int, widths: tuple[float, ...]
) -> tuple[float, ...]:
    """Return the relative errors of the kernel that k equal weights on a basis should have."""
    mixture = KERNELS[kernel].mixture
    assert mixture is not None
    return equal_errors(mixture(), _start(kernel, basis, len(widths), k), np.array(widths))


@lru_cache(maxsize=16)
def _nodes(method: str, kernel: str, k: int, widths: tuple[float, ...]) -> Nodes:
    mixture, tau = KERNELS[kernel].mixture, np.array(widths)
    assert mixture is not None  # of a kernel without an obstacle
    if method == "lattice":
        found = lattice_nodes(mixture(), k, tau)
    else:
        basis = resolved_basis(kernel, "auto", len(tau))
        found = descent_nodes(mixture(), _start(kernel, basis, len(tau), k), tau)
    found.weights.flags.writeable = False
    found.frequencies.flags.writeable = False
    return found


def _start(kernel: str, basis: str, d: int, k: int) -> np.ndarray:
    """Return the growable frequencies in radians per length scale."""
    return kernel_basis(kernel, d, k, 1.0, basis=basis).frequencies * (2.0 * math.pi)
