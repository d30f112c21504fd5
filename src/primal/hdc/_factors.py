"""Which codes were bound to a product: by a lattice, or by a resonator network.

The code of a whole number t has the phases t f, f of the role's primes; a product of such codes has
the phases of a linear map of F whole numbers, and :mod:`primal.decoding` inverts that. Arbitrary
lists of codes have no such map, and are searched by a resonator network.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations
from typing import Any

import numpy as np

from primal._checks import whole_number
from primal._parallel import row_blocks
from primal.decoding import DecodePlan, Integers, least_noise_turns, make_plan, noise_turns
from primal.errors import DataError, ParameterError
from primal.exact import FrequencyTable, round_turns
from primal.hdc._algebra import bind, normalize, similarity
from primal.hdc._codes import Codes, as_bundle, side_by_side, to_numpy
from primal.hdc._vocabulary import Numbers, Space, Symbols

# A network that finds the factors does so within a few tens of rounds.
_LONGEST_RUN = 40
# Products of two codes are one and the same from here: a rounded phase here and there differs.
_SAME = 1.0 - 1e-4


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors of one product, or of n: then arrays with n rows in place of single values.

    `indices` are the positions of the factors, or their places in lists: a tuple, or int64 of shape
    (n, F), -1 where there are none. `status` (str) is "unique" where no other factors explain the
    product, for a lattice as in :class:`primal.decoding.DecodeResult`, for a network where their
    similarity with it is clearly above that of the best wrong combination, and no other candidates
    of two factors have the same product; else "ambiguous" or "failed". `confidence` is that
    similarity, 1 for a clean product. `steps` are the rounds of the network, over all starts;
    `overloaded` says that a network has too many combinations to search, about k**2 / 2, or that
    the certificate of a lattice does not promise the factors.
    """

    indices: tuple[int, ...] | np.ndarray
    status: Any
    confidence: Any
    steps: int
    overloaded: bool


def factorize(
    product: Any, domains: Sequence[Any], *, noise: str | float = "uint32", steps: int = 500
) -> Factors:
    """Return which codes, one of each role, were bound to a product.

    Parameters
    ----------
    product : Codes or complex array of shape (k,) or, for vocabularies, (n, k)
        It may carry noise, or other products bundled with it.
    domains : sequence of two or more vocabularies, or of as many Codes of shape (n_f, k)
        Vocabularies are :class:`Numbers` or :class:`Symbols` of different roles of one space, with
        a declared `n_positions`: a lattice decoder finds the positions, among more combinations
        than can be counted. Codes are lists of candidates, as many as a resonator network can
        search (Frady, Kent, Olshausen and Sommer 2020): each round divides the product by the
        mixtures of all other factors, weighs the candidates by how similar they are to the
        quotient, and normalizes the new mixture.
    noise : str or float, default="uint32"
        For vocabularies: how good the phases are, as in ``DynamicPrime.decode_plan``. Phases that
        were rounded to b bits have a noise of 2**-b / sqrt(12) turns.
    steps : int, default=500
        For lists of codes: most rounds.

    Returns
    -------
    Factors
        `indices`, `status` ("unique", "ambiguous" or "failed") and `confidence` of each product.

    Warns
    -----
    MisfitWarning
        If more of n products have no factors than such noise explains.

    Examples
    --------
    >>> from primal import hdc
    >>> space = hdc.Space(512, roles=("day", "place", "name"))
    >>> days, places = (space.numbers(role, n_positions=10**5) for role in ("day", "place"))
    >>> names = space.symbols("name", n_positions=10**5)
    >>> scene = days.encode(20_000) * places.encode(31_415) * names.encode("Ada")
    >>> found = hdc.factorize(scene, [days, places, names])  # one of 10**15 products
    >>> found.indices, int(names.positions("Ada")), found.status
    ((20000, 31415, 56961), 56961, 'unique')
    >>> lists = [space.symbols(role).encode(range(30)) for role in space.roles]  # any codes
    >>> found = hdc.factorize(lists[0][3] * lists[1][20] * lists[2][17], lists)
    >>> found.indices, found.status
    ((3, 20, 17), 'unique')
    """
    whole_number("steps", steps, least=1)
    noise_turns(noise)
    several = isinstance(domains, Sequence) and len(domains) >= 2
    if several and all(isinstance(domain, (Numbers, Symbols)) for domain in domains):
        return _by_lattice(product, domains, noise)
    if several and all(isinstance(domain, Codes) for domain in domains):
        return _by_resonator(product, domains, steps)
    raise DataError(
        "domains must be two or more vocabularies, Numbers or Symbols with n_positions, or two or "
        f"more Codes, got {domains!r:.200}."
    )


def _by_lattice(product: Any, domains: Sequence[Any], noise: str | float) -> Factors:
    space, roles = domains[0].space, tuple(domain.role for domain in domains)
    if any(domain.space != space for domain in domains) or len(set(roles)) < len(roles):
        raise DataError(
            f"vocabularies must have different roles of one space, got the roles {roles} of "
            f"{len({domain.space for domain in domains})} spaces."
        )
    for domain in domains:
        if domain.n_positions is None:
            name = type(domain).__name__.lower()
            raise ParameterError(
                f"the positions of role {domain.role!r} have no end: declare how many there are, "
                f"space.{name}({domain.role!r}, n_positions=...)."
            )
    z = to_numpy(product)
    if z.ndim > 2 or z.shape[-1] != space.k:
        raise DataError(
            f"product must be codes or bundles of shape (k,) or (n, k), k = {space.k} as their "
            f"space has it, got shape {z.shape}."
        )
    plan = _plan(space, roles, tuple(domain.n_positions for domain in domains), noise_turns(noise))
    if isinstance(z, Codes) and z.bits == 64:
        z = Codes(round_turns(z.turns))
    result = plan.decode(z.turns if isinstance(z, Codes) else side_by_side(z))
    found = ~np.isnan(result.x[..., 0])
    positions = np.where(found[..., None], result.x, -1.0).astype(np.int64)
    clipped = np.maximum(positions, 0)
    codes = [Numbers(space, role).encode(clipped[..., f]) for f, role in enumerate(roles)]
    confidence = np.where(found, similarity(z, bind(codes)), 0.0)
    overloaded = not plan.certificate.recoverable
    if z.ndim == 1:
        indices = tuple(positions.tolist())
        return Factors(indices, str(result.status), float(confidence), 0, overloaded)
    return Factors(positions, result.status, confidence, 0, overloaded)


@lru_cache(maxsize=16)
def _plan(
    space: Space, roles: tuple[str, ...], n_positions: tuple[int, ...], noise: float
) -> DecodePlan:
    """Return the plan that finds the positions in a product; the last few are kept."""
    # Increments in units of 2**-64 turn, between -1/2 and 1/2: short phases round least.
    steps = np.stack([space.increments(role).view(np.int64) for role in roles], axis=1)
    table = FrequencyTable(steps >> 1, np.full(space.k, -1, dtype=np.int64))
    prior = Integers(1.0, 0, [n - 1 for n in n_positions])
    least = least_noise_turns(table, prior.model(len(roles)))
    return make_plan(table, "interleaved", prior=prior, noise=max(noise, least))


def _by_resonator(product: Any, domains: Sequence[Codes], budget: int) -> Factors:
    z = as_bundle(to_numpy(product))
    if z.ndim != 1:
        raise DataError(f"product must be one code or bundle of shape (k,), got {z.shape}.")
    if any(c.ndim != 2 or c.k != len(z) or not len(c) for c in domains):
        raise DataError(
            f"domains must have the shape (n, {len(z)}), n at least 1, for a product of {len(z)} "
            f"phases, got {[c.shape for c in domains]}."
        )
    lists = [to_numpy(candidates) for candidates in domains]
    matrices = [as_bundle(c).astype(np.complex64) for c in lists]
    log_combinations = sum(math.log(len(c)) for c in lists)
    # The best of all wrong combinations is about this similar by chance, with room to spare.
    clear = 1.5 * math.sqrt(2.0 * log_combinations / (2 * len(z)))
    best, best_match, step, n_starts = (), -2.0, 0, 0
    while step < budget and best_match <= clear:
        estimates = _start(matrices, n_starts)
        n_starts += 1
        for _ in range(min(_LONGEST_RUN, budget - step)):
            step += 1
            chosen = tuple(_update(f, z, matrices, estimates) for f in range(len(matrices)))
            codes = [c[i] for c, i in zip(lists, chosen, strict=True)]
            match = float(similarity(z, bind(codes)))
            if match > best_match:
                best, best_match = chosen, match
            # Every mixture has become one candidate: the network is at rest.
            rest = min(similarity(e, c) for e, c in zip(estimates, codes, strict=True)) > 0.99
            if match > clear or rest:
                break
    overloaded = log_combinations > math.log(len(z) ** 2 / 2.0)
    status = "failed"
    if best_match > clear:
        status = "ambiguous" if _has_rival(matrices, best) else "unique"
    return Factors(best, status, best_match, step, overloaded)


def _has_rival(matrices: list[np.ndarray], chosen: tuple[int, ...]) -> bool:
    """Whether other candidates of any two factors have the product of the chosen ones, too."""
    for (a, i), (b, j) in combinations(zip(matrices, chosen, strict=True), 2):
        product, columns = a[i] * b[j], side_by_side(b).T / b.shape[1]
        n_same = 0  # with the chosen ones
        for rows in row_blocks(len(a), len(b)):
            # Re(conj(x) p conj(y)) is the similarity of the products x y and p.
            n_same += int((side_by_side(a[rows].conj() * product) @ columns > _SAME).sum())
        if n_same > 1:
            return True
    return False


def _start(matrices: list[np.ndarray], number: int) -> list[np.ndarray]:
    """Return a mixture of all candidates of each factor: equal parts first, then others."""
    mixtures = []
    for f, matrix in enumerate(matrices):
        # Fractions of multiples of a root: even, and different in every start.
        parts = (np.arange(1, len(matrix) + 1) * math.sqrt(2.0 + f) * number) % 1.0
        weights = parts if number else np.ones(len(matrix))
        mixtures.append(normalize(weights.astype(np.float32) @ matrix))
    return mixtures


def _update(f: int, z: np.ndarray, matrices: list[np.ndarray], estimates: list[np.ndarray]) -> int:
    """Update the mixture of factor f in place and return its best candidate."""
    others = reduce(np.multiply, (e for g, e in enumerate(estimates) if g != f))
    answers = (matrices[f].conj() @ (z * others.conj())).real
    estimates[f] = normalize(np.maximum(answers, 0.0).astype(np.float32) @ matrices[f])
    return int(answers.argmax())
