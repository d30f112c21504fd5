"""``KernelPrime``: vectors to features whose inner products approximate a kernel."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from primal._checks import (
    flag,
    one_of,
    output_array,
    real_array,
    real_number,
    sized_array,
    wave_array,
    whole_number,
)
from primal._lazy import cached_property, frozen
from primal._parallel import single_threaded_blas
from primal._specs import Specified, spec_digest, spec_fields
from primal.decoding import LinearInverse, phases_of, warn_of_erased
from primal.errors import DataError, NotInvertibleError, ParameterError
from primal.exact import Finish, increments, prime_entries, prime_slice, round_turns, static_turns
from primal.maps._choice import Choice
from primal.maps._common import (
    LARGEST_AMPLITUDE,
    LAYOUTS,
    PRECISIONS,
    apart,
    blocks,
    output_dtype,
    read_only,
)
from primal.maps._dynamic import DynamicPrime
from primal.maps._gamma import spread_rows
from primal.maps._kernel_basis import KernelBasis, cannot_grow
from primal.maps._kernel_sums import KernelSum, implied_widths, kernel_matrix

if TYPE_CHECKING:
    from primal.decoding import DecodePlan, Regime
    from primal.exact import Basis

_FIELDS = (
    *("d", "D", "kernel", "gamma", "basis", "form", "center", "layout", "precision"),
    "amplitude",
)
_DESIGN_FIELDS = ("method", "width")
SCORED_ROWS = 128  # that a prediction is made from
_ROUNDING = 1e-5  # errors below it are partly those of float32
# Coordinates of points come from primes beyond those of most frequencies.
_FIRST_DRAWN = 100_000


class KernelPrime(Specified):
    """Map vectors of d numbers to D features whose inner products approximate a kernel.

    The phases are those of a :class:`DynamicPrime` whose frequencies follow the law of the kernel
    (Bochner's theorem); every cosine and sine has the factor sqrt(2 / D). The map behind
    ``PrimeFeatures`` of scikit-learn and PyTorch, with the same bits.

    Parameters
    ----------
    d : int
        Number of inputs.
    D : int
        Number of features; odd numbers are allowed.
    kernel : str or KernelSum, default="rbf"
        With t = x - y: ``"rbf"`` exp(-gamma |t|**2), ``"laplacian"`` exp(-gamma sum_j |t_j|),
        ``"cauchy"`` prod_j 1 / (1 + gamma t_j**2), ``"matern12"``, ``"matern32"`` and
        ``"matern52"`` of length scale 1 / sqrt(2 gamma), ``"rational12"``, ``"rational1"`` and
        ``"rational2"`` (1 + gamma |t|**2 / a)**-a with a = 1/2, 1 and 2, ``"prime"`` the paper's
        frequencies. Or sums and products of kernels on columns, the periodic one among them:
        :func:`primal.maps.on`; their frequencies have weights, and cannot grow.
    gamma : float or array_like of shape (d,), default=1.0
        Scale of the kernel; an array has one value for each input.
    basis : str, default="auto"
        ``"auto"`` looks at the kernel and at d alone.
    form : {"pair", "offset"}, default="pair"
        Pairs of cosine and sine, or one cosine with an offset for each frequency, which has no
        inverse and mostly a larger error.
    center : array_like of shape (d,), optional
        What offsets are counted from: near it the inner products of offset cosines are best.
    layout : {"interleaved", "block"}, default="interleaved"
        Order of pairs: cos, sin, cos, sin, ..., or all cosines first. Only the first can grow.
    precision : {"exact", "fast"}, default="exact"
    method : {"growable", "lattice", "spectral", "auto"}, optional
        ``"growable"``: equal weights, and a smaller map is a prefix of a larger one. The others
        have a weight for each frequency, made for this D and this width of the data, and cannot
        grow. ``"lattice"``: quadrature, for d up to 8, of an error that falls exponentially in
        few dimensions. ``"spectral"``: a lattice with the weights of the kernel's own density, for
        posteriors of Gaussian processes, whose copies of the kernel lie 8 widths away in two
        columns or 16 in one. ``"auto"``: the lattice where it has at most 0.4 of the error that is
        predicted from d, D, the kernel and the width. The default where a width is given;
        ``"growable"`` is it where none is.
    width : float or array_like of shape (d,), optional
        Standard deviation of each input of the data, which those are made for; by default
        what gamma="scale" implies, 1 / sqrt(d gamma). Data much wider than this meet copies of
        the kernel.

    Examples
    --------
    >>> import numpy as np, primal
    >>> m = primal.KernelPrime(2, 256, gamma=0.5, method="auto")
    >>> m.method, f"{m.predicted_error:.0e}"
    ('lattice', '2e-04')
    >>> m = primal.KernelPrime(3, 256, gamma=0.5)
    >>> x = np.linspace(-1, 1, 60).reshape(20, 3)
    >>> z = m.encode(x)
    >>> exact = np.exp(-0.5 * np.square(x[0] - x[9]).sum())
    >>> bool(abs(z[0] @ z[9] - exact) < 0.01)
    True
    """

    def __init__(
        self,
        d: int,
        D: int,
        kernel: str | KernelSum = "rbf",
        gamma: object = 1.0,
        *,
        basis: str = "auto",
        form: str = "pair",
        center: object = None,
        layout: str = "interleaved",
        precision: str = "exact",
        method: str | None = None,
        width: object = None,
    ) -> None:
        if method is None:
            plain = width is None and isinstance(kernel, str)
            method = "growable" if plain else "auto"
        self._choice = Choice(d, D, kernel, gamma, basis, form, method, width)
        self._layout = one_of("layout", layout, LAYOUTS)
        self._precision = one_of("precision", precision, PRECISIONS)
        self._amplitude = math.sqrt(2.0 / self.D)
        self._center = None
        if center is not None:
            point = self._point("center", center)
            if self.form == "offset":
                self._require_phases("center", point)
                self._center = tuple(point.tolist())

    d = read_only[int]("_choice.d", "Number of inputs.")
    D = read_only[int]("_choice.D", "Number of features.")
    kernel = read_only[str | KernelSum]("_choice.kernel", "The kernel: a name, or made of parts.")
    gamma = read_only[float | tuple[float, ...]](
        "_choice.gamma", "Scale of the kernel, or one for each input; 1 where parts have their own."
    )
    form = read_only[str]("_choice.form", '"pair" or "offset".')
    layout = read_only[str]("_layout", "Order of the columns of pairs.")
    precision = read_only[str]("_precision", '"exact" or "fast".')
    amplitude = read_only[float](
        "_amplitude", "Factor of every cosine and sine: sqrt(2 / D), kept when a map grows."
    )
    method = read_only[str]("_choice.method", '"growable", "lattice", "spectral" or "composed".')
    width = read_only[tuple[float, ...] | None](
        "_choice.width", "Standard deviation of each input that was given, rounded up to five bits."
    )
    center = read_only[tuple[float, ...] | None](
        "_center", "What offsets are counted from; None for zero, and for pairs."
    )

    input_scales = read_only[np.ndarray | None](
        "_choice.input_scales",
        "Factors of the inputs, float64 of shape (d,), when each has its own gamma.",
    )
    is_weighted = read_only[bool](
        "_choice.is_weighted",
        "Whether frequencies have weights of their own, and none can be added.",
    )

    @cached_property
    def map(self) -> DynamicPrime:
        """The map behind the features, which takes x times `input_scales`."""
        layout = self._layout if self.form == "pair" else "block"
        basis = self._choice.frequencies()
        return object.__new__(DynamicPrime)._keep(basis, layout, self._precision)

    @cached_property
    def predicted_error(self) -> float | None:
        """The relative error of the kernel matrix to expect of data as wide as `width`.

        The `kernel_error` of 128 Gaussian points that are the same for every map, the larger one of
        independent columns and of columns that all move together; at most 1.0, which stands for all
        that is larger. None for the prime kernel, which has no closed form.
        """
        if self.kernel == "prime":
            return None
        width = self.width
        if width is None:
            width = implied_widths(self.kernel, np.array(self.gamma), self.d)
        drawn = prime_slice(_FIRST_DRAWN, _FIRST_DRAWN + SCORED_ROWS * (self.d + 1))
        points = prime_entries(drawn).reshape(SCORED_ROWS, self.d + 1)
        together = np.broadcast_to(points[:, -1:], (SCORED_ROWS, self.d))
        laws = (points[:, :-1] * np.array(width), together * np.array(width))
        return max(expected_error(self, x) for x in laws)

    @cached_property
    def amplitudes(self) -> np.ndarray:
        """Factor of the cosine and the sine of each frequency, float64 of shape (k,)."""
        if isinstance(self.basis, KernelBasis):
            return self._amplitude * self.basis.root_weights
        return np.full(self.basis.n_frequencies, self._amplitude)

    @property
    def basis(self) -> Basis:
        """The rule and the table of the frequencies of `map`."""
        return self.map.basis

    @property
    def frequencies(self) -> np.ndarray:
        """In turns per unit of x, float64 of shape (k, d)."""
        found = self.basis.frequencies
        return found if self.input_scales is None else found * self.input_scales

    @cached_property
    def finish(self) -> Finish:
        """What becomes of the phases; offsets are {i sqrt(p_(d+2))} to 2**-32 turn.

        With frequencies w_i, offsets b_i and a center c the inner product of two rows is

            mean_i cos(w_i (x - y)) + mean_i cos(w_i (x + y - 2 c) + 2 b_i),

        the kernel and a term that vanishes around c, since the offsets are spread evenly.
        """
        if self.form == "pair":
            return Finish(self._layout, self._amplitude)
        rows = np.arange(1, self.D + 1, dtype=np.uint64)
        offsets = round_turns(static_turns(rows, increments(1, start=self.d + 1))[:, 0])
        if self._center is not None:
            offsets = offsets - self.map.turns(self._scaled(np.array(self._center)))
        return Finish("block", self._amplitude, frozen(offsets))

    def encode(
        self, x: object, *, dtype: object = "float32", out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the features of x, of shape (..., D).

        Parameters
        ----------
        x : array_like of shape (..., d)
        dtype : {"float32", "float64"}, default="float32"
            Type of the result, and its precision: waves within 1.3e-7 of the real ones in float32,
            within 4e-16 in float64, which takes longer (``primal bench --only float64``).
        out : ndarray of shape (..., D), optional
            C-contiguous array of that type to write into.
        """
        rows, shape = self._checked_rows(x)
        target = output_array(out, (*shape, self.D), output_dtype(dtype))
        rows, flat = apart(rows, target), target.reshape(-1, self.D)
        finish = Finish(self._layout, self.amplitudes) if self.is_weighted else self.finish
        if self.input_scales is None:
            self.map._write_features(rows, flat, finish)
        else:
            for block in blocks(len(rows), self.d):
                self.map._write_features(rows[block] * self.input_scales, flat[block], finish)
        return target

    @cached_property
    def _column_factors(self) -> np.ndarray:
        repeat = np.tile if self._layout == "block" else np.repeat
        return repeat(self.amplitudes, 2)

    def turns(self, x: object) -> np.ndarray:
        """Return the exact phases behind ``encode(x)``, uint32 in units of 2**-32 turn."""
        turns = self.map.turns(self._scaled(x))
        return turns if self.finish.offsets is None else turns + self.finish.offsets

    def decode(self, z: object, *, around: object = None) -> np.ndarray:
        """Return x from features of any scale, by the pseudoinverse of the frequencies.

        Exact, up to rounding, if and only if no phase of x lay half a turn or more from that of
        `around`. Offset cosines, or fewer than d pairs, raise NotInvertibleError.

        Parameters
        ----------
        z : array_like of shape (..., D)
        around : array_like of shape (d,), optional
            A point that phases are read relative to; zero by default.

        Returns
        -------
        x : ndarray of shape (..., d), dtype=float64
            NaN, with a MisfitWarning, where some pair is erased, so that it has no phase.
        """
        inverse = self._inverse
        Z, k = wave_array("z", z, last=self.D), self.D // 2
        if self.is_weighted:
            Z = Z / self._column_factors  # small weights are not missing pairs
        if self._layout == "block":
            cos, sin = Z[..., :k], Z[..., -k:]  # an odd D has one more cosine between them
        else:
            cos, sin = Z[..., 0 : 2 * k : 2], Z[..., 1 : 2 * k : 2]
        phases = phases_of(cos, sin)
        middle = np.zeros(self.d)
        if around is not None:
            middle = self._point("around", around)
            self._require_phases("around", middle)
            phases = phases - self.basis.table.product(self._scaled(middle)[None])[0, :k]
            phases -= np.rint(phases)
        x = inverse(phases)
        if self.input_scales is not None:
            x /= self.input_scales
        warn_of_erased(x, stacklevel=2)
        return x + middle

    def decode_plan(self, *, prior: Any, **options: Any) -> DecodePlan:
        """Return a plan that recovers x also where phases wrap; see `DynamicPrime.decode_plan`.

        Raises
        ------
        NotInvertibleError
            For offset cosines, an odd D, or one gamma for each input: there plan with ``m.map``,
            which takes x times ``m.input_scales``. For weighted features too: plan with ``m.map``
            for the phases alone.
        """
        if self.is_weighted:
            raise NotInvertibleError(
                f"features of method={self.method!r} have weights, which a plan takes for noise: "
                "plan with m.map, whose codes have none."
            )
        if self.form == "offset" or self.D % 2 or self.input_scales is not None:
            raise NotInvertibleError(
                "decode_plan needs pairs, an even D and one gamma for all inputs: plan with m.map, "
                "whose input is x * m.input_scales."
            )
        return self.map.decode_plan(prior=prior, **options)

    @property
    def bound(self) -> float:
        """Largest B such that no phase of an x with every |x_j| < B wraps."""
        return 0.5 / float(np.abs(self.frequencies).sum(axis=1).max())

    @cached_property
    def limit(self) -> float | np.ndarray:
        """Largest size of an entry of x that `encode` accepts; see `DynamicPrime.limit`.

        An array of shape (d,) if each input has its own gamma.
        """
        if self.input_scales is None:
            return self.map.limit
        # One step down, so that the product with the scale does not exceed the limit either.
        scaled = np.minimum(self.map.limit / self.input_scales, sys.float_info.max)
        return frozen(np.nextafter(scaled, 0.0))

    def regime(self, x: object) -> Regime:
        """Return which phases of x wrap, in which rows, and by what margin."""
        return self.map.regime(self._scaled(x))

    def kernel_error(
        self, x: object, n_pairs: int = 160_000, *, dtype: object = "float64"
    ) -> float:
        """Return the relative error of the kernel matrix, |Z Z' - K| / |K| in Frobenius norm.

        Parameters
        ----------
        x : array_like of shape (n, d)
        n_pairs : int, default=160_000
            Number of entries to compare; sqrt(n_pairs) rows are taken, spread evenly over x.
        dtype : {"float64", "float32"}, default="float64"
            Type of the features Z, whose rounding is part of the error.

        Raises
        ------
        ParameterError
            For the prime kernel, which has no closed form.
        """
        rows = real_array("x", x, last=self.d).reshape(-1, self.d)
        n_rows = math.isqrt(whole_number("n_pairs", n_pairs, least=1))
        rows = np.asarray(rows[spread_rows(len(rows), n_rows)], dtype=np.float64)
        exact = kernel_matrix(self.kernel, rows, self.gamma)
        # The amplitude of a map that has grown is still that of its first size.
        scale = math.sqrt(2.0 / self.D) / self._amplitude
        Z = self.encode(rows, dtype=dtype).astype(np.float64) * scale
        with single_threaded_blas():  # threads that wait for busy processors take longer
            return float(np.linalg.norm(Z @ Z.T - exact) / np.linalg.norm(exact))

    def grow(self, D: int, *, rescale: bool = False) -> KernelPrime:
        """Return the same map with more features; the old ones keep their columns and bits.

        Only ``method="growable"`` can; the others raise a ParameterError.

        Parameters
        ----------
        D : int
            At least the present one.
        rescale : bool, default=False
            The amplitude stays, so inner products approximate (D / old D) times the kernel. True
            sets it to sqrt(2 / D), which multiplies every old feature by one common factor.
        """
        D = whole_number("D", D, least=1)
        if self.is_weighted and D != self.D:
            raise ParameterError(cannot_grow(self.method))
        if D < self.D:
            raise ParameterError(f"{self.D} features cannot grow to {D}: ask for more.")
        if self.form == "pair" and self._layout == "block" and D > self.D:
            raise ParameterError(
                "layout='block' cannot grow, its sines would move to other columns: use "
                "layout='interleaved'."
            )
        amplitude = math.sqrt(2.0 / D) if flag("rescale", rescale) else self._amplitude
        return self._from_spec(self._fields() | {"D": D, "amplitude": amplitude})

    def with_amplitude(self, amplitude: float) -> KernelPrime:
        """Return the same map with another factor of every cosine and sine."""
        return self._from_spec(self._fields() | {"amplitude": amplitude})

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the spec and the frequency table."""
        weights = (self.basis.weights,) if isinstance(self.basis, KernelBasis) else ()
        return spec_digest(self.spec, *self.basis.table.digest_arrays, *weights)

    @classmethod
    def _from_spec(cls, fields: Mapping[str, Any]) -> KernelPrime:
        # Specs of growable maps are as they were before there were others.
        names = (*_FIELDS, *_DESIGN_FIELDS) if "method" in fields else _FIELDS
        given = spec_fields("KernelPrime", fields, names)
        amplitude = given.pop("amplitude")
        made = cls(**given)
        if amplitude is not None:
            # A feature is at most the length of its row: amplitude * sqrt(D / 2), weighted or not,
            # times the root of the kernel at 0.
            terms = made.kernel.terms if isinstance(made.kernel, KernelSum) else ((1.0, ()),)
            largest = LARGEST_AMPLITUDE / math.sqrt(made.D * sum(scale for scale, _ in terms))
            made._amplitude = real_number("amplitude", amplitude, above=0.0, below=largest)
        return made

    def _fields(self) -> dict[str, Any]:
        names = (*_FIELDS, *_DESIGN_FIELDS) if self.is_weighted else _FIELDS
        chosen = vars(self._choice)
        return {name: chosen[name] if name in chosen else getattr(self, name) for name in names}

    def __repr__(self) -> str:
        gamma = self.gamma if isinstance(self.gamma, float) else f"<{len(self.gamma)} values>"
        how = f"basis={self._choice.basis!r}, form={self.form!r}"
        how = f"method={self.method!r}" if self.is_weighted else how
        return f"KernelPrime(d={self.d}, D={self.D}, kernel={self.kernel!r}, gamma={gamma}, {how})"

    @cached_property
    def _inverse(self) -> LinearInverse:
        """From the phases of whole pairs to x times `input_scales`."""
        if self.form == "offset":
            raise NotInvertibleError(
                "offset cosines do not determine their phase: use form='pair'."
            )
        unseen = np.flatnonzero(~self.frequencies.any(axis=0))
        if len(unseen):
            raise NotInvertibleError(
                f"no part of the kernel is on column {unseen[0]}, so that features do not tell it: "
                "add one, or leave the column out."
            )
        basis, k = self.basis, self.D // 2
        if not k:
            raise NotInvertibleError("decoding needs D >= 2 d, got D = 1: use a larger D.")
        if k < basis.n_frequencies:  # the last sine is missing
            sigma = basis.sigma[:k] if isinstance(basis.sigma, tuple) else basis.sigma
            basis = replace(basis, n_frequencies=k, sigma=sigma)
        return LinearInverse(basis)

    def _point(self, name: str, value: object) -> np.ndarray:
        """Return one x of an argument, float64 of shape (d,)."""
        point = real_array(name, value, last=self.d)
        if point.ndim != 1:
            raise DataError(f"{name} must have shape ({self.d},), got {point.shape}.")
        return point.astype(np.float64)

    def _require_phases(self, name: str, point: np.ndarray) -> None:
        what = name if self.input_scales is None else f"{name}, times m.input_scales,"
        self.map._checked_rows(self._scaled(point), what)

    def _checked_rows(self, x: object) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return x as rows (n, d) whose phases are in range, and its leading shape; no copy."""
        if self.input_scales is None:
            return self.map._checked_rows(x)
        array, largest = sized_array("x", x, last=self.d)
        rows = array.reshape(-1, self.d)
        limit = np.asarray(self.limit)
        if len(rows) and largest > limit.min():
            for block in blocks(len(rows), self.d):
                over = np.abs(rows[block]) > limit
                if over.any():
                    i, j = np.argwhere(over)[0]
                    raise DataError(
                        f"row {block.start + i} of x holds {rows[block][i, j]:.3g} in column {j}, "
                        f"for which a phase can pass 2**{self.map._log2_limit} turns and its "
                        f"fraction is no longer determined: keep |x| below {limit[j]:.3g} there, "
                        "or lower gamma."
                    )
        return rows, array.shape[:-1]

    def _scaled(self, x: Any) -> Any:
        """Return x as the map takes it: times `input_scales` if there are any."""
        if self.input_scales is None:
            return x
        with np.errstate(over="ignore"):
            return real_array("x", x, last=self.d) * self.input_scales


def expected_error(m: KernelPrime, rows: np.ndarray, dtype: object = "float64") -> float:
    """Return the error of the kernel of other rows like these, for features of a type; at most 1.0.

    Two digits, so that the last ones of sums do not show.
    """
    error = m.kernel_error(rows, SCORED_ROWS**2, dtype="float32")
    if error < _ROUNDING and output_dtype(dtype) == np.float64:  # here float32 shows
        error = m.kernel_error(rows, SCORED_ROWS**2)
    return min(1.0, float(f"{error:.1e}"))
