"""``DecodePlan``: recover x from wrapped phases, and say when the answer is unique."""

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from primal._checks import callback, flag, instance_of, real_number, require_memory, whole_number
from primal.decoding._certificate import DEFAULT_RISK, DecodingCertificate, describe_misfit
from primal.decoding._model import PhaseModel, least_noise_turns, prior_noise_turns, promises
from primal.decoding._phases import NOISES, code_phases, noise_turns, split_missing
from primal.decoding._priors import Box, Gaussian, Integers, Prior, as_prior
from primal.decoding._result import DecodeResult
from primal.decoding._search import Search
from primal.decoding._setup import set_up
from primal.errors import DataError, MisfitWarning
from primal.exact import FrequencyTable, HadamardTable


class DecodePlan:
    """All of the work that does not depend on the code; made by ``DynamicPrime.decode_plan``.

    Parameters
    ----------
    model, layout, search, setup_seconds
        Given by ``DynamicPrime.decode_plan``; not for direct use.

    Attributes
    ----------
    certificate : DecodingCertificate
        What can be promised without data.
    noise_turns : float
        Standard deviation of the phases, in turns.
    beam : int
        Most partial solutions kept while rounding.
    setup_seconds : float
        Time that this set-up took.

    Examples
    --------
    >>> import primal
    >>> m = primal.DynamicPrime(2, 32, sigma=0.5, basis="auto")
    >>> plan = m.decode_plan(prior=primal.Box(14.0))
    >>> result = plan.decode(m.encode([[3.0, -1.0], [12.5, 0.25]]))
    >>> result.x.round(5).tolist(), result.status.tolist()
    ([[3.0, -1.0], [12.5, 0.25]], ['unique', 'unique'])
    """

    def __init__(
        self, model: PhaseModel, layout: str, search: Search, setup_seconds: float
    ) -> None:
        self._shape, self._layout, self._search = model.table.shape, layout, search
        self._setup_seconds = setup_seconds

    @property
    def certificate(self) -> DecodingCertificate:
        return self._search.certificate

    @property
    def noise_turns(self) -> float:
        return self._search.noise_turns

    @property
    def beam(self) -> int:
        return self._search.n_kept

    @property
    def setup_seconds(self) -> float:
        return self._setup_seconds

    def decode(self, z: object, *, check: bool = True) -> DecodeResult:
        """Return the inputs behind codes, each with its status.

        Parameters
        ----------
        z : array_like of shape (..., D), or ndarray of uint8, uint16, uint32 of shape (..., D/2)
            Waves as ``encode`` makes them, of any float type and scale, or phases: ``m.turns(x)``
            or ``primal.exact.pack(m.turns(x), 8)``. A row with NaN fails.
        check : bool, default=True
            Warn (MisfitWarning) when the batch as a whole is not what the stated noise and prior
            lead to. It changes no result.

        Raises
        ------
        DataError
            If z has the wrong shape, infinity in it, or a type whose own rounding
            exceeds the noise that the plan was made for.
        """
        check = flag("check", check)
        k, d = self._shape
        name = getattr(getattr(z, "dtype", None), "name", "")
        own = NOISES.get(name, 0.0)
        if own > 1.01 * self.noise_turns:
            raise DataError(
                f"codes of type {name} have a noise of {own:.2g} turns, and this plan is for "
                f"{self.noise_turns:.2g}: make it with noise={name!r}."
            )
        z, missing = split_missing(z, last=2 * k)
        phases = code_phases(z, k, self._layout, self.noise_turns)
        rows = np.ascontiguousarray(phases.reshape(-1, k))
        n, c = len(rows), self._search.n_listed
        require_memory(8 * n * c * d, f"a list of {c} candidates for each of {n} codes")
        result = self._search(rows)
        if check:
            self._warn_of_misfit(result, ~np.broadcast_to(missing, phases.shape[:-1]).reshape(-1))
        return result.reshaped(phases.shape[:-1])

    def _warn_of_misfit(self, result: DecodeResult, present: np.ndarray) -> None:
        noise, failed = self.noise_turns, result.status[present] == "failed"
        # What should have succeeded is only measured if something failed.
        certificate = self.certificate if failed.any() else self._search.formula
        message = describe_misfit(
            certificate,
            np.square(result.residual[present] / noise) * certificate.n_phases,
            certificate.freedom,
            failed,
            noise=f"a noise of {noise:.2g} turns",
            unit=(noise, f"turns where {noise:.2g} is stated"),
            remedy="Make the plan with noise={}.",
            advice="check that this map made them, try a beam",
        )
        if message is not None:
            warnings.warn(message, MisfitWarning, stacklevel=3)

    def __repr__(self) -> str:
        return f"DecodePlan({self.certificate})"


def make_plan(
    table: FrequencyTable | HadamardTable,
    layout: str,
    *,
    prior: Prior | tuple[Any, Any],
    noise: object = "float32",
    beam: int | None = None,
    risk: float = DEFAULT_RISK,
    progress: Callable[[int, int], None] | None = None,
) -> DecodePlan:
    """Return a plan for the codes of a table of frequencies; see ``DynamicPrime.decode_plan``."""
    stated: Prior = as_prior(prior)
    instance_of("prior", stated, Box, Gaussian, Integers)
    if beam is not None:
        beam = whole_number("beam", beam, least=1)
        # Whole turns, phases and inputs of every candidate, several times each.
        require_memory(64 * beam * sum(table.shape), f"a beam of {beam} candidates")
    risk = real_number("risk", risk, above=0.0, below=1.0)
    callback("progress", progress)
    start = time.perf_counter()
    law, noise_std = stated.model(table.shape[1]), noise_turns(noise)
    if noise == "float64":  # as good as float64 phases can be
        noise_std = max(noise_std, least_noise_turns(table, law))
    else:
        noise_std = math.hypot(noise_std, prior_noise_turns(table, law))
    model = PhaseModel(table, law, noise_std)
    search = Search(set_up(model, progress), beam, risk)
    return DecodePlan(model, layout, search, time.perf_counter() - start)


def promised_chance(table: FrequencyTable | HadamardTable, *, prior: Prior, noise: float) -> float:
    """Return the chance that rounding can be expected to succeed with, before any reduction.

    A plan keeps more partial solutions than one where that pays: what has 0.5 here ends near 1.
    """
    model = PhaseModel(table, prior.model(table.shape[1]), noise_turns(noise))
    return math.exp(max(promises(model).values()))
