"""The way back from features: its certificate, and what stands in the way."""

import math
import warnings
from dataclasses import dataclass

import numpy as np

from primal.errors import NotInvertibleError, PhaseWrapWarning
from primal.maps import KERNELS, KernelPrime, KernelSum


@dataclass(frozen=True, eq=False)
class InverseCertificate:
    """Whether features can be turned back into x, and the numbers that show it.

    They can when pairs of every input direction are there and no phase can wrap; otherwise `reason`
    says why not, and what to change. Phases are read relative to those of the middle of the fitted
    range, |x - center| <= half_widths, so that only its width counts: `peak_turns` is the largest
    distance of a phase from the middle's, which some x reaches; below 0.5 none can wrap.
    `safe_gamma` is the largest gamma (all of them scaled alike) at which none does in a map that
    can grow; NaN for a kernel that is made of parts.
    """

    invertible: bool
    reason: str
    peak_turns: float
    center: np.ndarray
    half_widths: np.ndarray
    safe_gamma: float | np.ndarray

    @property
    def margin_turns(self) -> float:
        """Half a turn less the largest phase; negative when phases wrap."""
        return 0.5 - self.peak_turns

    @property
    def reach(self) -> float:
        """How many times the fitted range may widen before a phase can wrap."""
        return 0.5 / max(self.peak_turns, 1e-300)

    def __str__(self) -> str:
        what = "invertible" if self.invertible else f"not invertible: {self.reason}"
        return f"{what} (largest phase {self.peak_turns:.3g} turns, limit 0.5)"


def certify(m: KernelPrime, data_min: np.ndarray, data_max: np.ndarray) -> InverseCertificate:
    center, half_widths = 0.5 * (data_min + data_max), 0.5 * (data_max - data_min)
    sizes = np.abs(m.frequencies)
    peak = float((sizes @ half_widths).max()) * (1.0 + 2.0**-40)  # not too small by rounding
    safe = math.nan if isinstance(m.kernel, KernelSum) else _safe_gamma(m, sizes, half_widths)
    reason = obstacle(m, peak, safe)
    return InverseCertificate(not reason, reason, peak, center, half_widths, safe)


def _safe_gamma(m: KernelPrime, sizes: np.ndarray, half_widths: np.ndarray) -> float | np.ndarray:
    gamma = m.gamma if isinstance(m.gamma, float) else np.array(m.gamma)
    if m.is_weighted:  # its frequencies do not scale with gamma
        sizes = np.abs(KernelPrime(m.d, m.D, m.kernel, gamma, form=m.form).frequencies)
    largest = float((sizes @ half_widths).max()) * (1.0 + 2.0**-40)
    # A hair below the limit, so that a map refitted with it is inside.
    ratio = 0.5 / largest * (1.0 - 2.0**-30) if largest > 0.0 else 1.0
    return KERNELS[str(m.kernel)].gamma_after(gamma, ratio)


class NoInverseError(NotInvertibleError, AttributeError):
    """Raised where a method is looked up, so ``hasattr`` says whether there is an inverse."""


def invert(m: KernelPrime, certificate: InverseCertificate, Z: np.ndarray) -> np.ndarray:
    """Return x of shape (n, d), float64, from features of shape (n, D) that can be inverted."""
    x = m.decode(Z, around=certificate.center)
    limit = certificate.reach * certificate.half_widths
    # A constant column has no width: allow for rounding of the features.
    offsets = np.abs(np.nan_to_num(x - certificate.center))
    excess = offsets - limit - 1e-4 * (1.0 + certificate.half_widths)
    if excess.size and excess.max() > 0.0:
        row, column = np.unravel_index(int(excess.argmax()), excess.shape)
        warnings.warn(
            f"row {row} decodes to a point outside of the certified range in column {column}: "
            "its x may lie elsewhere, a phase may have wrapped. Fit on data that covers it, or "
            "lower gamma.",
            PhaseWrapWarning,
            stacklevel=3,
        )
    return x


def obstacle(m: KernelPrime, peak_turns: float, safe_gamma: float | np.ndarray) -> str:
    d, n_pairs = m.d, m.D // 2
    if m.form == "offset":
        return "offset cosines do not determine their phase; use form='pair'."
    if n_pairs < d:
        return f"{n_pairs} pairs cannot determine {d} inputs; use n_components = {2 * d} or more."
    if peak_turns >= 0.5:
        if isinstance(m.kernel, KernelSum):
            return f"phases in the fitted range reach {peak_turns:.3g} turns and wrap at 0.5."
        how = ", with method='growable'" if m.is_weighted else ""
        shown = f"{safe_gamma:.4g}" if np.ndim(safe_gamma) == 0 else "safe_gamma_, one each,"
        return (
            f"phases in the fitted range reach {peak_turns:.3g} turns and wrap at 0.5; "
            f"gamma = {shown} or less would do (safe_gamma_){how}."
        )
    try:
        m.decode(np.empty((0, m.D)))
    except NotInvertibleError as error:
        return str(error)
    return ""
