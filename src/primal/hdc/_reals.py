"""``Reals``: vectors of real numbers to codes whose similarity is a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import one_of, positive_scale, real_array, require_memory, whole_number
from primal._lazy import cached_property
from primal.hdc._certificate import LawCertificate, certify_law
from primal.hdc._codes import Codes
from primal.hdc._vocabulary import Vocabulary
from primal.kernels import KERNELS, kernel_matrix
from primal.maps import KernelPrime

# Frequencies are dealt out anew within runs of this length, for every role but the first. Runs of
# the even sequences behind them are even too, so the kernel stays as good as it was; and pairs of
# frequencies of two roles are as good as independent ones (tests/hdc/test_numbers.py).
_RUN = 32


@dataclass(frozen=True)
class Reals(Vocabulary):
    """Vectors of d real numbers to codes whose similarity is a kernel.

    The fractional power of d base codes, taken on the frequencies of :class:`primal.KernelPrime`:
    encode(x + y) is bind(encode(x), encode(y)), and similarity(encode(x), encode(y)) approximates
    kernel(x - y). Every role has the frequencies in an order of its own: the similarity of products
    of two roles is the product of the kernels. Codes of numbers near 0 are near the identity in
    every role: bind each with a key before bundling several.

    Parameters
    ----------
    space, role : Space, str
    d : int, default=1
        Numbers in a vector.
    kernel : str, default="rbf"
        "rbf", "laplacian", "cauchy", "matern12", "matern32", "matern52" or "prime".
    gamma : float, default=1.0
        Scale of the kernel, as in scikit-learn: "rbf" is exp(-gamma |x - y|**2).

    Examples
    --------
    >>> import math
    >>> from primal import hdc
    >>> weight = hdc.Space(2048, roles=("weight",)).reals("weight", gamma=2.0)
    >>> a, b = weight.encode([[0.1], [0.6]])
    >>> bool(abs(hdc.similarity(a, b) - math.exp(-2.0 * 0.5**2)) < 0.01)
    True
    """

    d: int = 1
    kernel: str = "rbf"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        d, gamma = whole_number("d", self.d, least=1), positive_scale("gamma", self.gamma)
        vars(self).update(d=d, gamma=gamma, kernel=one_of("kernel", self.kernel, KERNELS))

    @cached_property
    def map(self) -> KernelPrime:
        """The map behind the codes; those of the first role are its turns."""
        k = self.space.k if self.order is None else -(-self.space.k // _RUN) * _RUN
        return KernelPrime(self.d, 2 * k, self.kernel, self.gamma, form="pair")

    @property
    def frequencies(self) -> np.ndarray:
        """The frequency of every phase, in turns per unit of x, float64 of shape (k, d)."""
        table = self.map.frequencies
        return table if self.order is None else table[self.order]

    def encode(self, x: Any) -> Codes:
        """Return the codes of vectors (..., d), uint32 (..., k); for d = 1 a number will do."""
        if self.d == 1 and isinstance(x, (int, float, np.generic)):
            x = [x]
        turns = self.map.turns(x)
        return Codes(turns if self.order is None else turns[..., self.order])

    def certificate(self, x: Any) -> LawCertificate:
        """Return how far similarities of the codes of x (n, d) are from the kernel at worst."""
        points = real_array("x", x, last=self.d).astype(np.float64).reshape(-1, self.d)
        require_memory(24 * self.d * len(points) ** 2, f"all pairs of {len(points)} vectors")
        law = kernel_matrix(self.kernel, points, self.gamma) if len(points) else np.empty((0, 0))
        return certify_law(self.encode(points), law)

    @cached_property
    def order(self) -> np.ndarray | None:
        """Which frequency of the map each phase has; None where it is the one of its place."""
        if self.role == self.space.roles[0]:
            return None
        n = -(-self.space.k // _RUN) * _RUN
        runs = self.space.grow(2 * n).increments(self.role).reshape(-1, _RUN)
        order = np.argsort(runs, axis=1, kind="stable") + np.arange(0, n, _RUN)[:, None]
        return order.reshape(-1)[: self.space.k]
