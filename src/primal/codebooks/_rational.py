"""Kinds ``orthonormal``, ``singer`` and ``paley``: phases that are fractions u / P.

These are the ceilings that prime codes are measured against; their coherence is known in closed
form. A phase u / P is reduced in integers and then cut to 64 bits.
"""

import math
from collections.abc import Iterable
from functools import cache
from itertools import islice

import numpy as np

from primal._checks import require_memory
from primal._lazy import frozen
from primal.codebooks._certificate import Evidence
from primal.codebooks._codebook import Codebook
from primal.codebooks._numbers import prime_at_least, prime_at_most, scrambled
from primal.codebooks._phase_codes import ToeplitzCodes, write_phases
from primal.errors import ParameterError
from primal.exact import round_turns, waves


def rational_turns(numerators: np.ndarray, modulus: int) -> np.ndarray:
    """Return floor(2**64 u / P) for 0 <= u < P < 2**32, as uint64."""
    if modulus >= 1 << 32:
        raise ParameterError(
            f"phases that are fractions u / P take P below 2**32, got {modulus}: use a smaller D."
        )
    p, s = np.uint64(modulus), np.uint64(32)
    high, rest = np.divmod(numerators.astype(np.uint64) << s, p)
    return (high << s) | ((rest << s) // p)


class Orthonormal(Codebook):
    """Rows of a Walsh matrix (D a power of two), of a cosine transform, or of a Fourier matrix.

    The first is bipolar; the last one is for complex codes.
    """

    kind = "orthonormal"

    def __init__(self, N: int, D: int, field: str) -> None:
        if N > D:
            raise ParameterError(
                f"at most D = {D} codes can be orthogonal in D dimensions, got N = {N}: "
                f"use N up to {D} or D = {N}."
            )
        super().__init__(N, D, field)
        self.bipolar = field == "real" and D & (D - 1) == 0

    def _signs(self, indices: np.ndarray) -> np.ndarray:
        x = np.arange(self.D, dtype=np.uint64)
        bits = np.bitwise_count(indices.astype(np.uint64)[:, None] & x) & np.uint8(1)
        return 1 - 2 * bits.astype(np.int8)

    def _write(self, indices: np.ndarray, out: np.ndarray) -> None:
        if self.bipolar:
            out[:] = self._signs(indices) * out.dtype.type(1.0 / math.sqrt(self.D))
            return
        t, n = indices.astype(np.uint64)[:, None], np.arange(self.D, dtype=np.uint64)
        if self.field == "complex":
            write_phases(rational_turns(t * n % np.uint64(self.D), self.D), out)
            return
        # Cosine transform: cos(2 pi t (2 n + 1) / (4 D)), the constant row by itself.
        period = np.uint64(4 * self.D)
        turns = rational_turns(t * (np.uint64(2) * n + np.uint64(1)) % period, 4 * self.D)
        cos, _ = waves(round_turns(turns) if out.dtype == np.float32 else turns)
        scale = np.where(t == 0, math.sqrt(1.0 / self.D), math.sqrt(2.0 / self.D))
        out[:] = cos * scale.astype(cos.dtype)

    def _evidence(self) -> Evidence:
        return Evidence(0.0, None, "closed form: rows of an orthogonal matrix")

    def _rms(self) -> float:
        return 0.0


class RationalCodes(ToeplitzCodes):
    """Position t has the phases t u / P, for a list of numerators u, each cut to 64 bits."""

    def _set_fractions(self, numerators: Iterable[int], modulus: int) -> None:
        self.numerators = frozen(np.array(list(numerators), dtype=np.uint64))
        self.increments, self.modulus = frozen(rational_turns(self.numerators, modulus)), modulus
        self.k = len(self.increments)

    def turns(self, positions: np.ndarray) -> np.ndarray:
        p = np.uint64(self.modulus)
        return rational_turns(positions[:, None] % p * self.numerators % p, self.modulus)


class Singer(RationalCodes):
    """Frequencies s / P over a perfect difference set: P = q**2 + q + 1, k = q + 1, q prime.

    As phasors all |cosines| equal Welch's bound sqrt(q) / (q + 1). Real codes are z and i z.
    """

    kind, real_view = "singer", "paired"

    def __init__(self, N: int, D: int, field: str) -> None:
        super().__init__(N, D, field)
        self.q = singer_order(self.kind, N, D, field)
        self._set_fractions(difference_set(self.q), self.q * self.q + self.q + 1)

    def _evidence(self) -> Evidence:
        if self.view == "paired" or self.N < 2:
            return super()._evidence()
        proof = f"closed form: perfect difference set of order {self.q}"
        return Evidence(math.sqrt(self.q) / (self.q + 1), (0, 1), proof, lag=1)


class Paley(RationalCodes):
    """Frequencies r / P over the quadratic residues, P = 1 modulo 4: N <= P, D = (P - 1) / 2."""

    kind, _fields = "paley", ("real",)

    def __init__(self, N: int, D: int, field: str = "real") -> None:
        super().__init__(N, D, field)
        modulus = prime_at_most(2 * D + 1, residue=1, modulus=4)
        if modulus is None or modulus < N:
            least = prime_at_least(max(N, 5), residue=1, modulus=4)
            most = "" if modulus is None else f"use N up to {modulus}, or "
            raise ParameterError(
                f"kind 'paley' has {modulus or 0} codes in D = {D}, got N = {N}: "
                f"{most}D = {(least - 1) // 2}, which holds {least}."
            )
        require_memory(100 * modulus, f"the residues modulo {modulus}")
        residues = {r * r % modulus for r in range(1, modulus)}
        self._set_fractions(sorted(r for r in residues if 2 * r < modulus), modulus)
        self._worst_lag = next(r for r in range(2, modulus) if r not in residues)

    def _evidence(self) -> Evidence:
        lag = self._worst_lag
        if lag >= self.N:
            return super()._evidence()
        # The cosine at every lag that is not a quadratic residue; at residues it is smaller.
        coherence = 1.0 / (math.sqrt(self.modulus) - 1.0)
        proof = f"closed form: quadratic Gauss sum modulo {self.modulus}"
        return Evidence(coherence, (0, lag), proof, lag)


@cache
def difference_set(q: int) -> tuple[int, ...]:
    """Return q + 1 residues modulo P = q**2 + q + 1, for a prime q, rising from 0.

    Powers of a root x of a cubic over the field of q elements run through the points of the
    projective plane when x has the order P in it; those on the line "third coordinate zero" are a
    difference set: every non-zero residue is a difference exactly once. Cubics are tried in a
    fixed order until one is so.
    """
    modulus = q * q + q + 1
    require_memory(32 * q * q, f"a difference set of order {q}")
    for attempt in range(64 * (q + 1)):
        cubic = [int(c % np.uint64(q)) for c in scrambled(3 * attempt, 3)]
        line = _line(q, modulus, cubic)
        if len(line) == q + 1:
            differences = np.subtract.outer(line, line).reshape(-1) % modulus
            if (np.bincount(differences, minlength=modulus)[1:] == 1).all():
                return tuple(line)
    raise ParameterError(f"no difference set of order {q} was found: use a prime q.")


def singer_order(kind: str, N: int, D: int, field: str) -> int:
    """Return the largest prime q whose codes fit into D entries.

    They have to number N or more; where they do not, the error names sizes that work.
    """
    copies = 1 if field == "complex" else 2  # real codes are z and i z, of 2 (q + 1) entries

    def n_codes(q: int) -> int:
        return copies * (q * q + q + 1)

    q = prime_at_most(D // copies - 1)
    if q is not None and n_codes(q) >= N:
        return q
    room = prime_at_least(math.isqrt(N // copies) - 1)
    while n_codes(room) < N:
        room = prime_at_least(room + 1)
    advice = f"D = {copies * (room + 1)} holds {n_codes(room)}"
    if q is None:
        raise ParameterError(f"kind {kind!r} needs a larger D, got {D}: {advice}.")
    raise ParameterError(
        f"kind {kind!r} has {n_codes(q)} codes in D = {D} ({field}), got N = {N}: "
        f"use N up to {n_codes(q)}, or a larger D ({advice})."
    )


def _line(q: int, modulus: int, cubic: list[int]) -> list[int]:
    """Return the exponents i < P with third coordinate of x**i zero; stops beyond q + 1."""
    c0, c1, c2 = cubic
    rows = [(1, 0, 0)]
    for s0, s1, s2 in islice(rows, q + 2):  # grows meanwhile
        rows.append((s2 * c0 % q, (s0 + s2 * c1) % q, (s1 + s2 * c2) % q))
    # The third coordinate of x**(i + r) is the product of x**r and those of the three from i on.
    table = np.array(rows)
    thirds, found = table[:3, 2], []
    for first in range(0, modulus, q):
        values = table @ thirds % q
        found += (first + np.flatnonzero(values[:q] == 0)).tolist()
        thirds = values[q:]
        if len(found) > q + 2:  # no line has so many points
            break
    return [i for i in found if i < modulus]
