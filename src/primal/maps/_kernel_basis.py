"""``KernelBasis``: frequencies and weights made for a kernel, as a basis."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from primal._checks import one_of, positive_scale, require_memory, scales, whole_number
from primal._lazy import cached_property
from primal._specs import spec_digest
from primal.errors import ParameterError
from primal.exact import Basis, FrequencyTable
from primal.maps._composed import MOST_LATTICE_INPUTS, composed_nodes
from primal.maps._design import Nodes, equal_errors, lattice_nodes, lattice_wins, spectral_nodes
from primal.maps._kernel_sums import KernelSum, as_kernel, checked_sum
from primal.maps._kernels import KERNELS, WIDTH_RANGE, numbers, start_frequencies

METHODS = ("growable", "lattice", "spectral", "auto")
COMPOSED = "composed"  # of a kernel that is made of parts
_DESIGNS = ("lattice", "spectral", COMPOSED)
_MOST_INPUTS = {"lattice": MOST_LATTICE_INPUTS, "spectral": MOST_LATTICE_INPUTS}
_MOST_FREQUENCIES = {"lattice": 1 << 16, "spectral": 1 << 16, COMPOSED: 1 << 12}
_ANY_WIDTH = (1e-100, 1e100)  # in units of x: parts bring them into the range of designs


class KernelBasis(Basis):
    """Frequencies with weights that were made for a kernel: a Basis that cannot grow.

    Parameters
    ----------
    name : {"lattice", "spectral", "composed"}
    d, n_frequencies, sigma
        As in :class:`primal.Basis`; sigma is the scale of the kernel over 2 pi.
    kernel : str or KernelSum
        A key of `KERNELS`; a kernel that is made of parts goes with the name "composed".
    widths : tuple of d floats
        Standard deviations of x_j - y_j, in units of the kernel's length scale. For "composed"
        those of x_j; or none, where they are what each gamma implies.
    """

    _names = ("name", "d", "n_frequencies", "sigma", "kernel", "widths")
    primes = "consecutive"

    def __init__(
        self,
        name: str,
        d: int,
        n_frequencies: int,
        sigma: object = 1.0,
        kernel: object = "rbf",
        widths: object = (),
    ) -> None:
        self.kernel = as_kernel(kernel)
        self.name = one_of("method", name, _DESIGNS)
        self.d = whole_number("d", d, least=1)
        self.n_frequencies = k = whole_number("n_frequencies", n_frequencies)
        reason = obstacle(name, self.kernel, self.d, 2 * k)
        if reason:
            raise ParameterError(reason)
        if name != COMPOSED or np.size(widths):  # type: ignore[no-matching-overload]
            limits = _ANY_WIDTH if name == COMPOSED else WIDTH_RANGE
            given = numbers("widths", widths, self.d, limits)
            self.widths = tuple(np.broadcast_to(given, self.d).tolist())
        else:
            self.widths = ()
        require_memory(64 * k * (self.d + min(k, 1 << 11)), f"a design of {k} frequencies")
        self.sigma = scales(positive_scale("sigma", sigma), k)

    @property
    def nodes(self) -> Nodes:
        return _nodes(self.name, self.kernel, self.d, self.n_frequencies, self.widths)

    @property
    def weights(self) -> np.ndarray:
        """Of the frequencies, positive; they add up to the kernel of x with itself, shape (k,)."""
        return self.nodes.weights

    @property
    def root_weights(self) -> np.ndarray:
        """Factors of features beside the common one: roots of weights over their mean."""
        return np.sqrt(self.weights * self.n_frequencies)

    @cached_property
    def table(self) -> FrequencyTable:
        return FrequencyTable.from_floats(np.multiply(self.sigma, self.nodes.frequencies))

    @cached_property
    def fingerprint(self) -> str:
        return spec_digest(self.spec, *self.table.digest_arrays, self.weights)

    def grow(self, n_frequencies: int, sigma: object = None) -> Basis:
        raise ParameterError(cannot_grow(self.name))


def cannot_grow(method: str) -> str:
    other = "" if method == COMPOSED else ", or one with method='growable'"
    return (
        f"method={method!r} cannot grow, every frequency depends on how many there are: make a new "
        f"map with a larger D{other}."
    )


def obstacle(method: str, kernel: str | KernelSum, d: int, D: int) -> str:
    """Return why a method cannot serve, or an empty string."""
    if isinstance(kernel, KernelSum):
        if method != COMPOSED:
            return (
                f"method={method!r} is for a kernel by its name; one that is made of parts chooses "
                "its own frequencies: leave out method."
            )
        checked_sum(kernel, d)
        if 2 * len(kernel.terms) > D:
            return f"a kernel of {len(kernel.terms)} terms needs as many pairs, got D = {D}."
    elif method == COMPOSED:
        return f"method='composed' is for a kernel that is made of parts, got {kernel!r}."
    elif KERNELS[kernel].mixture is None:
        return f"kernel {kernel!r} has no closed form to design for: use method='growable'."
    most_k = _MOST_FREQUENCIES[method]
    if D < 2 or D % 2 or 2 * most_k < D:
        return f"method={method!r} needs an even D of 2 to {2 * most_k}, got {D}."
    if d > _MOST_INPUTS.get(method, d):
        return f"method={method!r} is for d up to {_MOST_INPUTS[method]}, got {d}: use 'growable'."
    return ""


def chosen_method(kernel: str, d: int, D: int, widths: tuple[float, ...], basis: str) -> str:
    """Return the method that "auto" means: the lattice where its error is 0.4 times as large.

    That under every law of `_design`.
    """
    if obstacle("lattice", kernel, d, D):
        return "growable"
    lattice = _nodes("lattice", kernel, d, D // 2, widths).errors
    growable = growable_errors(kernel, basis, D // 2, widths)
    return "lattice" if lattice_wins(lattice, growable) else "growable"


@lru_cache(maxsize=64)
def growable_errors(
    kernel: str, basis: str, k: int, widths: tuple[float, ...]
) -> tuple[float, ...]:
    """Return the relative errors of the kernel that k equal weights on a basis should have."""
    mixture = KERNELS[kernel].mixture
    assert mixture is not None
    return equal_errors(
        mixture(), start_frequencies(kernel, basis, len(widths), k), np.array(widths)
    )


@lru_cache(maxsize=16)
def _nodes(
    method: str, kernel: str | KernelSum, d: int, k: int, widths: tuple[float, ...]
) -> Nodes:
    if isinstance(kernel, KernelSum):
        found = composed_nodes(kernel, d, k, widths)
    else:
        mixture, tau = KERNELS[kernel].mixture, np.array(widths)
        assert mixture is not None  # of a kernel without an obstacle
        made = lattice_nodes if method == "lattice" else spectral_nodes
        found = made(mixture(), k, tau)
    found.weights.flags.writeable = False
    found.frequencies.flags.writeable = False
    return found
