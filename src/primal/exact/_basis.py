"""``Basis``: a rule, a shape and a scale, from which the frequency table is rebuilt."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from primal._checks import one_of, positive_scale, require_memory, scales, whole_number
from primal._lazy import cached_property
from primal._specs import Frozen, spec_digest
from primal.errors import ParameterError
from primal.exact._hadamard import HADAMARD_KERNELS, HadamardTable
from primal.exact._laws import GAUSSIAN, LAWS
from primal.exact._root_tables import checked_sampling, paper_table, signed_table
from primal.exact._table import FrequencyTable

# Names the constants and the order of operations of every table. Any change of one bit of
# a table needs a new version.
BASIS_VERSION = 1

_EXACT: dict[str, Callable[..., FrequencyTable]] = {"paper": paper_table, "signed": signed_table}
BASES = (*_EXACT, *GAUSSIAN, "hadamard")
_UNIT_TABLES = GAUSSIAN | LAWS
# Up to here one prime for each input is more even than orthogonal rows, whatever the inputs;
# above it correlated ones can line up with it.
_LARGEST_KRONECKER = 6


def auto_basis(d: int, law: str = "gaussian") -> str:
    """Return the basis that "auto" means for d inputs, the same from every door.

    It depends on d and the law of the frequencies alone, so that growing never changes it. The
    law is "gaussian", "mixture", "product" or "prime"; see :class:`primal.maps.Kernel`.
    """
    if law == "prime":
        return "signed"
    if law == "product":
        return "kronecker"
    # Columns of ``kronecker`` go together badly with one more sequence, that of the lengths of a
    # mixture: with unequal scales at d = 4 its error was twice that of independent draws.
    return "hadamard" if law == "mixture" or d > _LARGEST_KRONECKER else "kronecker"


class Basis(Frozen):
    """d inputs, k frequencies, and the rule that makes the k x d frequencies from primes.

    Equal specs are equal objects with equal hashes; the table is built on first use.

    Parameters
    ----------
    name : {"paper", "signed", "table", "kronecker", "hadamard", "auto"}
        ``"auto"`` becomes ``"kronecker"`` for d <= 6 or with one sigma for each frequency, and
        ``"hadamard"`` otherwise. The bases of other kernels are ``"table-laplacian"``,
        ``"kronecker-laplacian"``, ``"table-cauchy"``, ``"kronecker-cauchy"``, and ``"hadamard-"``
        with ``"matern12"``, ``"matern32"``, ``"matern52"``, ``"rational12"``, ``"rational1"`` or
        ``"rational2"``.
    d : int
        Number of inputs.
    n_frequencies : int
        Number of frequencies k; a map has D = 2 k outputs.
    sigma : float or sequence of k floats, default=1.0
        Scale of all frequencies, or of each one (the paper's diagonal matrix), from 1e-100 to
        1e100.
    primes : {"consecutive", "log", "log-b"}, default="consecutive"
        Which primes the ``paper`` and ``signed`` bases take. ``"log"`` samples the first
        2**21 primes evenly in the logarithm of their index, ``"log-12"`` the first 2**12: the
        range of frequencies is then sqrt(2) to the root of the pool's last prime at any d.

    Raises
    ------
    ParameterError, MemoryLimitError
        If an argument is out of range.

    Examples
    --------
    >>> from primal.exact import Basis
    >>> Basis("paper", 2, 2).frequencies.round(4)
    array([[1.4142, 1.7321],
           [2.2361, 2.6458]])
    >>> Basis("auto", 2, 64).name
    'kronecker'
    """

    _names = ("name", "d", "n_frequencies", "sigma", "primes")

    def __init__(
        self,
        name: str,
        d: int,
        n_frequencies: int,
        sigma: object = 1.0,
        primes: str = "consecutive",
    ) -> None:
        self.d = whole_number("d", d, least=1)
        self.n_frequencies = whole_number("n_frequencies", n_frequencies, least=1)
        name = one_of("basis", name, (*BASES, *LAWS, *HADAMARD_KERNELS, "auto"))
        self.sigma = scales(sigma, self.n_frequencies)
        if name == "auto":
            name = "kronecker" if isinstance(self.sigma, tuple) else auto_basis(self.d)
        self.name, self.primes = name, primes
        usual = isinstance(primes, str) and primes == "consecutive"
        if not usual and checked_sampling(primes) and name not in _EXACT:
            raise ParameterError(
                f'primes="{primes}" goes with basis "paper" or "signed", got {name!r}: its '
                "frequencies follow a Gaussian law and have no wide range to compress."
            )
        d, k = self.d, self.n_frequencies
        # Mantissas, digits and values of every entry, and the primes behind them.
        what = f"a basis of {k} x {d} frequencies (n_frequencies x d, D = {2 * k})"
        hadamard = name in HADAMARD_KERNELS
        require_memory(8 * 6 * (4 * (d + k) if hadamard else d * k), what)
        if hadamard and isinstance(self.sigma, tuple):
            raise ParameterError(
                f"basis {name!r} takes one sigma for all frequencies, got {sigma!r:.60}: pass "
                'one, or basis="kronecker".'
            )

    @cached_property
    def table(self) -> FrequencyTable | HadamardTable:
        """The frequencies as exact fixed-point integers, in turns per unit of x."""
        scale = np.asarray(self.sigma, dtype=np.float64)
        if self.name in HADAMARD_KERNELS:
            return HadamardTable.of(self.name, self.d, self.n_frequencies, float(scale))
        if self.name in _EXACT:
            return _EXACT[self.name](self.d, self.n_frequencies, scale, self.primes)
        unit = _UNIT_TABLES[self.name](self.d, self.n_frequencies)
        return FrequencyTable.from_floats(scale.reshape(-1, 1) * unit)

    @property
    def frequencies(self) -> np.ndarray:
        """sigma * W, rounded to float64, shape (n_frequencies, d)."""
        return self.table.values

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the fields of the spec and the bits of the table."""
        identity = self.spec
        # The names that the first fingerprints were taken with.
        identity["basis_version"], identity["basis"] = BASIS_VERSION, identity.pop("name")
        del identity["type"], identity["version"]
        return spec_digest(identity, *self.table.digest_arrays)

    @cached_property
    def condition_number(self) -> float:
        """Largest over smallest singular value of the frequencies (2-norm)."""
        return _condition_number(self.frequencies)

    def condition_number_at_least(self, n_multiplications: float = 1e9) -> float:
        """Return the condition number, or a lower bound for it where that would take long.

        Leaving out columns of a tall matrix (rows of a wide one) cannot raise its condition
        number, so a part that costs about `n_multiplications` bounds the whole.
        """
        tall = self.frequencies if self.n_frequencies >= self.d else self.frequencies.T
        budget = positive_scale("n_multiplications", n_multiplications)
        affordable = max(2, int(np.sqrt(budget / tall.shape[0])))
        if affordable >= tall.shape[1]:
            return self.condition_number
        return _condition_number(tall[:, :affordable])

    def grow(self, n_frequencies: int, sigma: object = None) -> Basis:
        """Return this basis with more frequencies; the old ones are its first rows, bit for bit.

        Parameters
        ----------
        n_frequencies : int
            At least the present number.
        sigma : sequence of floats, optional
            Needed when sigma is one per frequency: the longer list, which must begin with
            the present one.
        """
        k = whole_number("n_frequencies", n_frequencies, least=1)
        if k < self.n_frequencies:
            raise ParameterError(
                f"a basis of {self.n_frequencies} frequencies cannot grow to {k}: "
                f"ask for {self.n_frequencies} or more."
            )
        if not isinstance(self.sigma, tuple):
            if sigma is not None:
                raise ParameterError("sigma is one number here and stays: leave the argument out.")
            return self._with(n_frequencies=k)
        if sigma is None and k == self.n_frequencies:
            return self
        if sigma is None:
            raise ParameterError(
                f"sigma is one number per frequency: pass sigma= with all {k} values to grow."
            )
        longer = scales(sigma, k)
        if not isinstance(longer, tuple) or longer[: self.n_frequencies] != self.sigma:
            raise ParameterError(
                f"the first {self.n_frequencies} values of sigma must be the present ones: "
                "growing leaves old frequencies as they are."
            )
        return self._with(n_frequencies=k, sigma=longer)


def _condition_number(matrix: np.ndarray) -> float:
    return float(np.linalg.cond(matrix))
