"""Every error and warning that Primal raises, named after what is wrong with the call.

One base class each, so that callers can catch or filter all of them at once:
:class:`PrimalError` is a ``ValueError``, :class:`NumericalWarning` a ``RuntimeWarning``.
"""

__all__ = [
    "ConditioningWarning",
    "DataError",
    "EngineError",
    "MemoryLimitError",
    "MisfitWarning",
    "MissingPackageError",
    "NotInvertibleError",
    "NumericalWarning",
    "ParameterError",
    "PhaseWrapWarning",
    "PrimalError",
    "SpecError",
]


class PrimalError(ValueError):
    """Base of every error that Primal raises on purpose."""


class ParameterError(PrimalError):
    """A parameter out of range (d, D, sigma, gamma, n, ...) or an option that does not exist."""


class DataError(PrimalError):
    """Data of the wrong type or shape, with NaN or infinity, or beyond the range of phases."""


class SpecError(PrimalError):
    """A spec of an unknown type or version, or with a missing, extra or wrong field."""


class NotInvertibleError(PrimalError):
    """A decode that cannot have one answer (fewer phases than inputs)."""


class MemoryLimitError(PrimalError):
    """A request that would need more memory than this machine has."""


class EngineError(PrimalError):
    """An engine, backend or device that is unknown, not installed or fails."""


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
