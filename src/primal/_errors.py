"""Every error and warning that Primal raises.

One base class each, so that callers can catch or filter all of them at once:
:class:`PrimalError` is a ``ValueError``, :class:`NumericalWarning` a ``RuntimeWarning``.
"""

__all__ = [
    "ConditioningWarning",
    "DataError",
    "DimensionError",
    "EngineError",
    "MemoryLimitError",
    "MisfitWarning",
    "MissingPackageError",
    "NotInvertibleError",
    "NumericalWarning",
    "OptionError",
    "PhaseRangeError",
    "PhaseWrapWarning",
    "PositionError",
    "PrimalError",
    "SigmaError",
    "SpecError",
]


class PrimalError(ValueError):
    """Base of every error that Primal raises on purpose."""


class DimensionError(PrimalError):
    """A size (d, D, n, start) that is not a usable whole number."""


class SigmaError(PrimalError):
    """A scale sigma that is not positive and finite."""


class OptionError(PrimalError):
    """A named option (basis, layout, precision, ...) that does not exist."""


class DataError(PrimalError):
    """Input data of the wrong type or shape, or with NaN or infinity in it."""


class PositionError(PrimalError):
    """An integer position outside the range that 64-bit phases can hold."""


class PhaseRangeError(PrimalError):
    """A phase so many turns long that its fraction is not determined."""


class SpecError(PrimalError):
    """A spec of an unknown version, or with a missing, extra or wrong field."""


class NotInvertibleError(PrimalError):
    """A decode that cannot have one answer (fewer phases than inputs)."""


class MemoryLimitError(PrimalError):
    """A request that would need more memory than this machine has."""


class EngineError(PrimalError):
    """An engine that is unknown or not installed."""


class MissingPackageError(PrimalError, ImportError):
    """An optional package that a request needs is not installed."""


class NumericalWarning(RuntimeWarning):
    """Base of every numerical warning of Primal."""


class ConditioningWarning(NumericalWarning):
    """A basis so badly conditioned that inverting it amplifies noise."""


class MisfitWarning(NumericalWarning):
    """Codes that are not what a decoder was made for: erased, too noisy, or of another map."""


class PhaseWrapWarning(NumericalWarning):
    """Data outside the no-wrap range: the linear inverse does not hold for it."""
