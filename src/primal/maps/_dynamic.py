"""``DynamicPrime``: real vectors to features and back (the paper's Algorithm 1)."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from primal._checks import even_dimension, flag, one_of, output_array, sized_array, wave_array
from primal._lazy import cached_property
from primal._specs import Specified, spec_digest, spec_fields
from primal.decoding import (
    Box,
    DecodePlan,
    Gaussian,
    Integers,
    LinearInverse,
    Regime,
    make_plan,
    measure_regime,
    no_wrap_bound,
)
from primal.errors import (
    ConditioningWarning,
    DataError,
    ParameterError,
    PhaseWrapWarning,
)
from primal.exact import (
    Basis,
    Finish,
    FrequencyTable,
    HadamardTable,
    engine,
    wave_columns,
)
from primal.maps._common import (
    LAYOUTS,
    PRECISIONS,
    apart,
    blocks,
    normalized,
    output_dtype,
    read_only,
)

# Above this many inputs the paper's basis is warned about, if noise would grow this much when
# it is inverted: its rows are then nearly parallel (with one frequency or two they are not).
_LARGEST_PLAIN_D = 8
_LARGEST_PLAIN_CONDITION = 100.0

_FIELDS = ("d", "D", "sigma", "basis", "primes", "layer_norm", "layout", "precision")


class DynamicPrime(Specified):
    """Map vectors of d numbers to D cosines and sines of prime frequencies.

    The phase of frequency i is ``sigma * W_i . x`` turns, and z holds the cosine and the sine
    of every phase (without the 1/sqrt(k) of a kernel approximation). With the default basis
    this is Algorithm 1 of the paper.

    Parameters
    ----------
    d : int
        Number of inputs.
    D : int
        Number of outputs, even; there are k = D / 2 frequencies.
    sigma : float or sequence of k floats, default=1.0
        Scale of the frequencies, from 1e-100 to 1e100; one for each is the paper's diagonal
        matrix.
    basis : str or Basis, default="paper"
        "paper", "signed", "table", "kronecker", "hadamard" or "auto".
        Rule that makes the frequencies W from primes. A :class:`primal.Basis` is taken as it is.
    layout : {"block", "interleaved"}, default="block"
        ``"block"`` is [cos | sin], as the paper prints it. In ``"interleaved"``
        (cos, sin, cos, sin, ...) a smaller D is a prefix of a larger one.
    precision : {"exact", "fast"}, default="exact"
        ``"exact"``: phases within 2**-25 turn of the real-number definition up to 2**32
        turns, and the same bits from every engine, batch and machine. ``"fast"``: one
        float64 matrix product, float32-accurate up to 2**20 turns, bits not promised.
    primes : {"consecutive", "log", "log-b"}, default="consecutive"
        Which primes the ``paper`` and ``signed`` bases take; see :class:`primal.Basis`.
    layer_norm : bool, default=False
        Shift and scale every row of x to mean 0 and variance 1 first (the paper's remedy for
        unnormalised inputs). Decoding then returns the normalised row.

    Warns
    -----
    ConditioningWarning
        When the paper's basis is asked for with d > 8 and its condition number is above 100.

    Examples
    --------
    >>> import numpy as np, primal
    >>> m = primal.DynamicPrime(2, 4, sigma=0.007)
    >>> x = np.array([[3.0, -1.0], [0.5, 12.0]])
    >>> m.encode(x).shape
    (2, 4)
    >>> m.regime(x).kind
    'manifold'
    >>> np.abs(m.decode(m.encode(x)) - x).max() < 1e-4
    np.True_
    """

    def __init__(
        self,
        d: int,
        D: int,
        sigma: object = 1.0,
        *,
        basis: str | Basis = "paper",
        layout: str = "block",
        precision: str = "exact",
        primes: str = "consecutive",
        layer_norm: bool = False,
    ) -> None:
        k = even_dimension(D) // 2
        if isinstance(basis, Basis):
            if (basis.d, basis.n_frequencies, basis.sigma, basis.primes) != (d, k, sigma, primes):
                raise ParameterError(
                    f"{basis!r:.200} does not have d = {d}, D = {D} and this sigma and primes: "
                    "pass its own."
                )
            self._basis = basis
        else:
            self._basis = Basis(basis, d, k, sigma, primes)  # type: ignore[arg-type]
            if self._basis.name == "paper" and self._basis.d > _LARGEST_PLAIN_D:
                self._warn_about_conditioning()
        self._layout = one_of("layout", layout, LAYOUTS)
        self._precision = one_of("precision", precision, PRECISIONS)
        self._layer_norm = flag("layer_norm", layer_norm)
        fast = self._precision == "fast"
        self._log2_limit = FrequencyTable.fast_log2_turns if fast else FrequencyTable.log2_turns

    @classmethod
    def _of(cls, basis: Basis, **options: Any) -> Self:
        """Return the map of a basis; whoever made that has been warned."""
        shape = basis.d, 2 * basis.n_frequencies, basis.sigma
        return cls(*shape, basis=basis, primes=basis.primes, **options)

    d = read_only[int]("_basis.d", "Number of inputs.")

    @property
    def D(self) -> int:
        """Number of outputs."""
        return 2 * self._basis.n_frequencies

    sigma = read_only[float | tuple[float, ...]](
        "_basis.sigma", "Scale of all frequencies, or of each."
    )
    basis = read_only[Basis]("_basis", "The rule and the table of frequencies.")
    layout = read_only[str]("_layout", "Order of the columns of z.")
    precision = read_only[str]("_precision", '"exact" or "fast".')

    def encode(
        self,
        x: object,
        *,
        dtype: object = "float32",
        out: np.ndarray | None = None,
        check: bool = False,
    ) -> np.ndarray:
        """Return the features of x, of shape (..., D).

        Parameters
        ----------
        x : array_like of shape (..., d)
            Real and finite; no phase may exceed 2**32 turns (2**20 with ``precision="fast"``).
        dtype : {"float32", "float64"}, default="float32"
            Type of the result. float64 features are exact to about 1e-15 at phases of a
            few turns.
        out : ndarray of shape (..., D), optional
            C-contiguous array of that type to write into; no other memory in the size of
            the batch is then used for the features.
        check : bool, default=False
            Warn with :class:`PhaseWrapWarning` when a phase reaches half a turn, beyond
            which the linear inverse fails.
        """
        rows, shape = self._checked_rows(x)
        target = output_array(out, (*shape, self.D), output_dtype(dtype))
        if flag("check", check) and (regime := self._regime(rows)).kind == "hash":
            warnings.warn(
                f"largest phase is {regime.peak_turns:.3g} turns, above 0.5, and "
                f"{len(regime.rows)} of {regime.wraps.size} rows wrap: the linear inverse does not "
                "hold for them. "
                f"Lower sigma by a factor of {regime.peak_turns / 0.5:.3g}, or keep |x| below "
                f"{self.bound:.3g}.",
                PhaseWrapWarning,
                stacklevel=2,
            )
        rows = apart(rows, target)
        self._write_features(rows, target.reshape(-1, self.D), Finish(self._layout))
        return target

    def turns(self, x: object) -> np.ndarray:
        """Return the exact phases behind ``encode(x)``.

        uint32 of shape (..., D / 2), in units of 2**-32 turn.
        """
        rows, shape = self._checked_rows(x)
        k = self._basis.n_frequencies
        turns = output_array(None, (len(rows), k), np.dtype(np.uint32))
        chosen = engine(n_phases=len(rows) * k)
        for block in blocks(len(rows), self.d):
            chosen.dynamic_turns(self._basis.table, self._prepared(rows[block]), turns[block])
        return turns.reshape(*shape, k)

    def decode(self, z: object) -> np.ndarray:
        """Return x from features, by the pseudoinverse of the frequencies (the paper's Reverse).

        Exact, up to rounding, if and only if no phase of the encoded x reached half a turn.
        Check that on the data with :meth:`regime`: features alone cannot prove it.

        Parameters
        ----------
        z : array_like of shape (..., D)

        Returns
        -------
        x : ndarray of shape (..., d), dtype=float64
            NaN, with a MisfitWarning, where some pair (cos, sin) is erased and has no phase.

        Raises
        ------
        NotInvertibleError
            If D < 2 d.
        """
        inverse = self._inverse
        cos, sin = wave_columns(wave_array("z", z, last=self.D), self._layout)
        return inverse.of_waves(cos, sin)

    def decode_plan(
        self,
        *,
        prior: Box | Gaussian | Integers | tuple[Any, Any],
        noise: str | float = "float32",
        beam: int | None = None,
        risk: float = 2.0**-30,
        progress: Callable[[int, int], None] | None = None,
    ) -> DecodePlan:
        """Return a plan that recovers x also where phases wrap, and says when it is unique.

        Where :meth:`decode` fails as soon as one phase reaches half a turn, this resolves the
        whole turns of all phases. It needs to know roughly where x lies and how noisy codes are.
        ``plan.decode(z)`` decodes; the plan's certificate can be read before any code is.

        Parameters
        ----------
        prior : Box, Gaussian or Integers
            Where x lies, from :mod:`primal.decoding`; a pair (low, high) of limits, each one number
            or one per input, is a Box. With `layer_norm` it is about the normalised row.
        noise : str or float, default="float32"
            Type of the codes ("float64", "float32", "float16", "bfloat16", "uint32", "uint16",
            "uint8"), or the standard deviation of a phase in turns.
        beam : int, optional
            Partial solutions kept while rounding a row that fewer do not make unique; more are
            slower and succeed more often. By default 1, or 64 where one would fail more than one
            row in a thousand.
        risk : float, default=2**-30
            Largest probability of another answer, under the stated noise and prior, at which an
            answer is called unique. Of many unique answers at most this fraction is wrong.
        progress : callable, optional
            Called with (done, total), in hundredths of the set-up.

        Examples
        --------
        >>> import primal
        >>> from primal.decoding import Box
        >>> m = primal.DynamicPrime(4, 16, sigma=100.0)
        >>> plan = m.decode_plan(prior=Box(1.0))
        >>> result = plan.decode(m.encode([0.5, -0.25, 0.125, 1.0]))
        >>> result.x.round(6), str(result.status)
        (array([ 0.5  , -0.25 ,  0.125,  1.   ]), 'unique')
        """
        return make_plan(
            self._basis.table,
            self._layout,
            prior=prior,
            noise=noise,
            beam=beam,
            risk=risk,
            progress=progress,
        )

    @cached_property
    def bound(self) -> float:
        """Largest B such that no x with every |x_j| < B wraps; tight.

        It is 1 / (2 max_i sum_j |sigma W_ij|). The bound printed in the paper,
        pi / (d sigma max W), lacks the 2 pi of its own phase and is too large.
        """
        return no_wrap_bound(self._basis)

    @cached_property
    def limit(self) -> float:
        """Largest size of an entry of x that `encode` accepts.

        Beyond it a phase could pass 2**32 turns (2**20 with ``precision="fast"``), and its
        fraction would no longer be determined.
        """
        allowed = 2.0**self._log2_limit / self._basis.table.largest_l1_norm
        if self._layer_norm:  # a normalized row has no entry above sqrt(d)
            return sys.float_info.max if math.sqrt(self.d) <= allowed else 0.0
        return min(allowed, sys.float_info.max)

    def regime(self, x: object) -> Regime:
        """Return which phases of x wrap, in which rows, and by what margin."""
        rows, shape = self._checked_rows(x)
        regime = self._regime(rows)
        return replace(regime, wraps=regime.wraps.reshape(shape))

    def grow(self, D: int, *, sigma: object = None) -> DynamicPrime:
        """Return the same map with more outputs.

        The old frequencies come first, bit for bit; in the interleaved layout the old features are
        a prefix of the new ones. Where sigma is one number per frequency, pass the longer list.
        """
        D = even_dimension(D)
        if D < self.D:
            raise ParameterError(f"a map of D = {self.D} cannot grow to {D}: ask for more.")
        own = {"layout": self._layout, "precision": self._precision}
        basis = self._basis.grow(D // 2, sigma)
        return self._of(basis, **own, layer_norm=self._layer_norm)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the spec and the frequency table."""
        return spec_digest(self.spec, *self._basis.table.digest_arrays)

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> Self:
        given = spec_fields("DynamicPrime", fields, _FIELDS)
        d, D, sigma, name, primes = (given.pop(f) for f in _FIELDS[:5])
        return cls._of(Basis(name, d, even_dimension(D) // 2, sigma, primes), **given)

    def _fields(self) -> dict[str, Any]:
        made = self._basis
        arguments = (self.d, self.D, made.sigma, made.name, made.primes)
        values = (*arguments, self._layer_norm, self._layout, self._precision)
        return dict(zip(_FIELDS, values, strict=True))

    def __repr__(self) -> str:
        sigma = self.sigma if isinstance(self.sigma, float) else f"<{len(self.sigma)} values>"
        more = "" if self._basis.primes == "consecutive" else f", primes={self._basis.primes!r}"
        more += ", layer_norm=True" if self._layer_norm else ""
        return (
            f"DynamicPrime(d={self.d}, D={self.D}, sigma={sigma}, basis={self._basis.name!r}, "
            f"layout={self._layout!r}, precision={self._precision!r}{more})"
        )

    @cached_property
    def _inverse(self) -> LinearInverse:
        return LinearInverse(self._basis)

    def _checked_rows(self, x: object, name: str = "x") -> tuple[np.ndarray, tuple[int, ...]]:
        """Return x as rows (n, d) whose phases are in range, and its leading shape; no copy."""
        array, largest = sized_array(name, x, last=self.d)
        rows = array.reshape(-1, self.d)
        if len(rows) and largest > self.limit:
            worst = int(np.argmax(np.abs(rows))) // self.d
            place = f"row {worst} of x" if name == "x" else name
            raise DataError(
                f"{place} holds a value of size {largest:.3g}, for which a phase can pass "
                f"2**{self._log2_limit} turns and its fraction is no longer determined: keep |x| "
                f"below {self.limit:.3g}, or lower sigma (of a kernel: gamma)."
            )
        return rows, array.shape[:-1]

    def _write_features(self, rows: np.ndarray, out: np.ndarray, finish: Finish) -> None:
        """Write features of checked rows (n, d) with another finish into `out`, in its precision.

        `out` has from k to 2 k columns: the first (columns - k) frequencies have a sine.
        """
        chosen = engine(n_phases=len(rows) * self._basis.n_frequencies)
        fast = self._precision == "fast"
        # Transforms read float32 as it is.
        ready = (np.float64, np.float32)[: 1 + isinstance(self._basis.table, HadamardTable)]
        if rows.dtype in ready and rows.flags.c_contiguous and not self._layer_norm:
            chosen.features(self._basis.table, rows, out, finish, fast=fast)
            return
        for block in blocks(len(rows), self.d):
            part = self._prepared(rows[block])
            chosen.features(self._basis.table, part, out[block], finish, fast=fast)

    def _prepared(self, rows: np.ndarray) -> np.ndarray:
        """Return a block of rows as all bases take it: contiguous float64, normalised if asked."""
        block = np.ascontiguousarray(rows, dtype=np.float64)
        return normalized(block) if self._layer_norm else block

    def _regime(self, rows: np.ndarray) -> Regime:
        parts = (self._prepared(rows[block]) for block in blocks(len(rows), self.d))
        return measure_regime(self._basis, parts)

    def _warn_about_conditioning(self) -> None:
        at_least = self._basis.condition_number_at_least()
        if at_least <= _LARGEST_PLAIN_CONDITION:
            return
        warnings.warn(
            f'basis="paper" has a condition number of at least {at_least:.2g} at d = {self.d}, '
            f"D = {self.D}, above {_LARGEST_PLAIN_CONDITION:g}: its rows are nearly parallel, so "
            'it sees little but the sum of x. Use basis="auto" unless you need the paper\'s own '
            "map.",
            ConditioningWarning,
            stacklevel=3,
        )
