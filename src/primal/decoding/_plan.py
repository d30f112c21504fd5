"""``DecodePlan``: recover x from wrapped phases, and say when the answer is unique."""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primal._checks import callback, flag, require_memory, whole_number
from primal.bases import Table
from primal.decoding._cache import cache_key
from primal.decoding._certificate import DecodingCertificate, describe_misfit
from primal.decoding._model import PhaseModel, least_noise_turns, promises
from primal.decoding._phases import NOISES, code_phases, noise_turns
from primal.decoding._priors import Box, Gaussian, Integers, Prior
from primal.decoding._search import Search
from primal.decoding._setup import set_up
from primal.errors import DataError, MisfitWarning, ParameterError


@dataclass(frozen=True, eq=False)
class DecodeResult:
    """What became of each code.

    Attributes
    ----------
    x : ndarray of shape (..., d), dtype=float64
        The most probable input; NaN where decoding failed.
    status : ndarray of shape (...), dtype=str
        ``"unique"``: the residual and the prior agree, and fewer than 2**-30 wrong solutions
        are expected to do so. ``"ambiguous"``: they agree, but others may agree as well.
        ``"failed"``: nothing was found that agrees, or the code has no phases to agree with.
    residual : ndarray of shape (...), dtype=float64
        Root mean square of what x leaves of the phases, in turns; NaN where there are none.
    candidates : ndarray of shape (..., c, d), dtype=float64
        Inputs that agree, the most probable first, filled up with NaN. Where decoding failed,
        the first holds the closest input found, if there were phases.
    """

    x: np.ndarray
    status: np.ndarray
    residual: np.ndarray
    candidates: np.ndarray


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
        Time that this set-up took, or its reading from the cache.

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
        self.noise_turns, self.beam = model.noise_turns, search.n_kept
        self.setup_seconds = setup_seconds

    @property
    def certificate(self) -> DecodingCertificate:
        return self._search.certificate

    def decode(self, z: object, *, check: bool = True) -> DecodeResult:
        """Return the inputs behind codes, each with its status.

        Parameters
        ----------
        z : array_like of shape (..., D), or ndarray of uint8, uint16, uint32 of shape (..., D/2)
            Waves as ``encode`` makes them, of any float type and scale, or phases: ``m.turns(x)``
            or ``primal.turns.pack(m.turns(x), 8)``.
        check : bool, default=True
            Warn (MisfitWarning) when the batch as a whole is not what the stated noise and prior
            lead to. It changes no result.

        Raises
        ------
        DataError
            If z has the wrong shape, NaN or infinity in it, or a type whose own rounding
            exceeds the noise that the plan was made for.
        """
        return self._decode(z, check=flag("check", check))

    def _decode(self, z: object, *, check: bool) -> DecodeResult:
        k, d = self._shape
        name = getattr(getattr(z, "dtype", None), "name", "")
        own = NOISES.get(name, 0.0)
        if own > 1.01 * self.noise_turns:
            raise DataError(
                f"codes of type {name} have a noise of {own:.2g} turns, and this plan is for "
                f"{self.noise_turns:.2g}: make it with noise={name!r}."
            )
        phases = code_phases(z, k, self._layout, self.noise_turns)
        rows = np.ascontiguousarray(phases.reshape(-1, k))
        n, c = len(rows), self._search.n_listed
        require_memory(8 * n * c * d, f"a list of {c} candidates for each of {n} codes")
        x, status, residual, candidates = self._search(rows)
        if check:
            # What should have succeeded is only measured if something failed.
            as_expected = not (status == "failed").any()
            certificate = self._search.formula if as_expected else self.certificate
            found = describe_misfit(certificate, self.noise_turns, status, residual)
            if found is not None:
                warnings.warn(found, MisfitWarning, stacklevel=3)
        shape = phases.shape[:-1]
        return DecodeResult(
            x.reshape(*shape, d),
            status.reshape(shape),
            residual.reshape(shape),
            candidates.reshape(*shape, c, d),
        )

    def __repr__(self) -> str:
        return f"DecodePlan({self.certificate})"


def make_plan(
    table: Table,
    fingerprint: str,
    layout: str,
    *,
    prior: Prior,
    noise: object = "float32",
    beam: int | None = None,
    cache: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> DecodePlan:
    """Return a plan for the codes of a table of frequencies; see ``DynamicPrime.decode_plan``.

    Reductions are kept under the fingerprint.
    """
    if not isinstance(prior, (Box, Gaussian, Integers)):
        raise ParameterError(
            f"prior must be a Box, a Gaussian or Integers, got {prior!r}: for example Box(1.0)."
        )
    if beam is not None:
        beam = whole_number("beam", beam, least=1)
        # Whole turns, phases and inputs of every candidate, several times each.
        require_memory(64 * beam * sum(table.shape), f"a beam of {beam} candidates")
    cache = flag("cache", cache)
    callback("progress", progress)
    start = time.perf_counter()
    law, noise_std = prior.model(table.shape[1]), noise_turns(noise)
    if noise == "float64":  # as good as float64 phases can be
        noise_std = max(noise_std, least_noise_turns(table, law))
    model = PhaseModel(table, law, noise_std)
    key = cache_key(fingerprint, repr(prior), model.noise_turns) if cache else None
    search = Search(set_up(model, key, progress), beam)
    return DecodePlan(model, layout, search, time.perf_counter() - start)


def promised_chance(table: Table, *, prior: Prior, noise: float) -> float:
    """Return the chance that rounding can be expected to succeed with, before any reduction.

    A plan keeps more partial solutions than one where that pays: what has 0.5 here ends near 1.
    """
    model = PhaseModel(table, prior.model(table.shape[1]), noise_turns(noise))
    return math.exp(max(promises(model).values()))


def decode_exact(
    z: object, m: Any, *, prior: Prior, noise: object = None, beam: int | None = None
) -> DecodeResult:
    """Return x from codes of a ``DynamicPrime``, also where phases wrap; a plan used once.

    Parameters
    ----------
    z : array_like of shape (..., D), or ndarray of uint8, uint16, uint32 of shape (..., D/2)
    m : DynamicPrime
        The map that made the codes.
    prior : Box, Gaussian or Integers
    noise : str or float, optional
        By default that of the type of z.
    beam : int, optional
        As in ``DynamicPrime.decode_plan``.

    Returns
    -------
    DecodeResult
        x of shape (..., d) with a status for every code.

    Examples
    --------
    >>> import numpy as np, primal
    >>> from primal.decoding import Box, decode_exact
    >>> m = primal.DynamicPrime(2, 16, sigma=100.0)
    >>> result = decode_exact(m.encode([0.3, -0.7]), m, prior=Box(1.0))
    >>> result.x.round(6), str(result.status)
    (array([ 0.3, -0.7]), 'unique')
    """
    if not hasattr(m, "decode_plan"):
        raise ParameterError(
            f"m must be the DynamicPrime that made the codes, got {type(m).__name__}: positions "
            "have their own StaticPrime.decode, and a layer of PyTorch has its map as layer.map."
        )
    if noise is None:
        name = getattr(getattr(z, "dtype", None), "name", "")
        # Waves held in float64 were often made in float32.
        noise = name if name in NOISES and name != "float64" else "float32"
    return m.decode_plan(prior=prior, noise=noise, beam=beam)._decode(z, check=True)
