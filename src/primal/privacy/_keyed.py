"""``KeyedPrime``: a map whose frequencies and offsets come from a secret key.

For key, d, k and basis, and bytes of the key's streams:

    signed, table    primes of the entries: k d of the first 8 k d, in the order of 64-bit words of
                     the stream "primes"; entries sqrt(p) / rms, or the normal quantile of the
                     fraction of M sqrt(p), with a sign from the stream "signs"
    hadamard         the signs S1, S2_b, S3_b of the transforms, from the stream "signs"
    offsets          one 32-bit word for each phase, from the stream "offsets"

    template = (sigma W x + offset) mod 1, rounded to b bits

Frequencies have a mean square of one at sigma = 1, whatever the basis.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from primal._checks import (
    even_dimension,
    instance_of,
    one_of,
    positive_scale,
    sized_array,
    whole_number,
)
from primal._specs import make_spec, spec_fields
from primal.decoding import Box, DecodeResult, Gaussian, Integers, plan_matrix
from primal.errors import DataError, ParameterError
from primal.exact import (
    Basis,
    FrequencyTable,
    HadamardTable,
    engine,
    pack,
    prime_entries,
    primes,
    root_table,
    unpack,
    waves,
)
from primal.privacy._keys import Key, shown

KEYED_BASES = ("hadamard", "signed", "table")
_FIELDS = ("d", "D", "sigma", "basis", "bits")
_PRIMES_PER_ENTRY = 8
# Products of frequencies and rows are computed in float64 when templates are decoded.
_LEAST_NOISE_TURNS = 1e-8


class KeyedPrime:
    """Renewable templates of rows of d numbers, under a secret key.

    Two factors make a match: the row and the key. With another key, templates of the same row are
    unrelated, which revokes the old ones. Not irreversible: whoever has the key and a template
    computes the row (:meth:`decode`), and not many more than d + 1 known pairs of a row and its
    template give the frequencies away without the key, at 8 bits or more (:func:`evaluate`).

    Parameters
    ----------
    key : Key
        One for each user and application.
    d, D : int
        Numbers of inputs and of cosines and sines; a template has D / 2 phases.
    sigma : float
        Scale of the frequencies. Choose it on other people than those who are enrolled: too small
        keeps templates of two keys linkable, too large ends matching.
    basis : {"hadamard", "signed", "table"}, default="hadamard"
        By fast transforms with keyed signs, or entries of keyed primes with keyed signs: roots, or
        normal quantiles.
    bits : int, default=4
        Of each phase in a template, 1 to 32.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.privacy import Key, KeyedPrime
    >>> key = Key(bytes(range(32)), application="door")  # secrets.token_bytes(32), in earnest
    >>> m = KeyedPrime(key, 8, 256, sigma=0.1)
    >>> x = np.linspace(-1, 1, 8)
    >>> template = m.template(x)
    >>> template.shape, round(float(m.match(template, x + 0.01)), 1)
    ((64,), 1.0)
    >>> new = m.revoke(Key(bytes(range(32)), application="door", version=2))
    >>> abs(float(new.match(template, x))) < 0.3
    True
    """

    def __init__(
        self,
        key: Key,
        d: int,
        D: int,
        sigma: float,
        *,
        basis: str = "hadamard",
        bits: int = 4,
    ) -> None:
        if not isinstance(key, Key):
            kind = type(key).__name__
            del key  # whatever was passed may be the secret itself
            raise ParameterError(f"key must be a Key, got a {kind} (not shown): pass Key(secret).")
        self.d = whole_number("d", d, least=1)
        self.D = even_dimension(D)
        self.sigma = positive_scale("sigma", sigma)
        self.basis = one_of("basis", basis, KEYED_BASES)
        self.bits = whole_number("bits", bits, least=1, most=32)
        self._key = key
        shape = (self.basis, self.d, self.n_frequencies)
        self._table = _keyed_table(key, *shape, self.sigma)
        stream = key._stream(_purpose("offsets", *shape), 4 * self.n_frequencies)
        self._offsets = stream.view("<u4").astype(np.uint32)

    @property
    def n_frequencies(self) -> int:
        """Number of phases of a template, D / 2."""
        return self.D // 2

    @property
    def n_bytes(self) -> int:
        """Size of every template."""
        return -(-self.n_frequencies * self.bits // 8)

    @property
    def noise_turns(self) -> float:
        """Standard deviation of a phase of a template that comes from rounding, in turns."""
        return max(2.0**-self.bits / np.sqrt(12.0), _LEAST_NOISE_TURNS)

    @property
    def spec(self) -> dict[str, Any]:
        """The JSON values that make this map again, together with the key, which is not among them.

        ``KeyedPrime.from_spec(spec, key)`` is the way back.
        """
        fields = {name: getattr(self, name) for name in _FIELDS}
        named = {"application": self._key.application, "key_version": self._key.version}
        return make_spec("KeyedPrime", **fields, **named)

    @classmethod
    def from_spec(cls, spec: dict[str, Any], key: Key) -> KeyedPrime:
        """Return the map of a spec; the key has to be for its application and version."""
        kind = (spec.get("type"), spec.get("version")) if isinstance(spec, dict) else None
        if kind != ("KeyedPrime", 1):
            raise ParameterError(f"expected version 1 of the spec of a KeyedPrime, got {spec!r}.")
        named = ("application", "key_version")
        given = {name: value for name, value in spec.items() if name not in ("type", "version")}
        given = spec_fields("KeyedPrime", given, (*_FIELDS, *named))
        application, version = (given.pop(name) for name in named)
        made = cls(key, **given)
        if (application, version) != (key.application, key.version):
            raise ParameterError(
                f"the spec is for application {application!r}, key version {version!r}, and the "
                f"key for {key.application!r}, {key.version}."
            )
        return made

    def turns(self, x: object) -> np.ndarray:
        """Return unrounded phases, uint32 of shape (..., D / 2), in units of 2**-32 turn."""
        array, largest = sized_array("x", x, last=self.d)
        allowed = self._table.largest_input
        if largest > allowed:
            raise DataError(f"x holds a value of size {largest:.3g}: keep it below {allowed:.3g}.")
        rows = np.ascontiguousarray(array, dtype=np.float64).reshape(-1, self.d)
        turns = np.empty((len(rows), self.n_frequencies), dtype=np.uint32)
        engine(n_phases=turns.size).dynamic_turns(self._table, rows, turns)
        turns += self._offsets
        return turns.reshape(*array.shape[:-1], self.n_frequencies)

    def template(self, x: object) -> np.ndarray:
        """Return templates of x (..., d), uint8 of shape (..., n_bytes)."""
        return pack(self.turns(x), self.bits)

    def features(self, x: object) -> np.ndarray:
        """Return what templates of x (..., d) hold as [cos | sin], float64 of shape (..., D).

        Rows have length 1, so that products of them are scores.
        """
        return self._enrolled(self.template(x))

    def match(self, template: np.ndarray, x: object) -> np.ndarray:
        """Return how well x (..., d) matches templates of the same leading shape, from -1 to 1.

        Equal rows score 1 up to rounding, unrelated ones about 0. Where to set the threshold is
        measured by :func:`evaluate`.
        """
        enrolled, probe = self._enrolled(template), self.features(x)
        if enrolled.shape != probe.shape:
            raise DataError(
                f"templates and rows must go together, got {enrolled.shape[:-1]} templates and "
                f"{probe.shape[:-1]} rows."
            )
        return np.einsum("...j,...j->...", enrolled, probe)

    def scores(self, templates: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the match of every template (n, n_bytes) with all others (m, n_bytes)."""
        a, b = (self._enrolled(t).reshape(-1, self.D) for t in (templates, others))
        return a @ b.T

    def decode(self, templates: np.ndarray, *, prior: Box | Gaussian | Integers) -> DecodeResult:
        """Return the rows behind templates (..., n_bytes), by the lattice decoder.

        This is what key and template together give away. `prior` says where rows lie, from
        :mod:`primal.decoding`; the result is that of :func:`primal.decoding.plan_matrix`.
        """
        plan = plan_matrix(self._table.values, prior=prior, noise=self.noise_turns)
        return plan.solve(self._phases(templates), check=False)

    def revoke(self, key: Key) -> KeyedPrime:
        """Return this map under a new key: its templates have nothing to do with the old ones."""
        made = KeyedPrime(key, self.d, self.D, self.sigma, basis=self.basis, bits=self.bits)
        if key == self._key:
            raise ParameterError("the new key is the present one: pass a new secret or version.")
        return made

    def rotate(
        self, templates: np.ndarray, new: KeyedPrime, *, prior: Box | Gaussian | Integers
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return templates under a new key, without the rows: both keys have to be at hand.

        Rows are decoded and enrolled again, so what rounding has lost stays lost; rows whose
        decoding is not unique need a new enrollment.

        Returns
        -------
        rotated : ndarray of shape (..., n_bytes), dtype=uint8
            Zero where `done` is false.
        done : ndarray of shape (...), dtype=bool
        """
        instance_of("new", new, KeyedPrime)
        found = self.decode(templates, prior=prior)
        done = np.asarray(found.status == "unique")
        rotated = new.template(np.where(done[..., None], found.x, 0.0))
        return np.where(done[..., None], rotated, np.uint8(0)), done

    def _enrolled(self, templates: np.ndarray) -> np.ndarray:
        """Return [cos | sin] of templates, scaled to length 1: products are similarities."""
        cos, sin = waves(unpack(templates, self.bits, self.n_frequencies))
        return np.concatenate([cos, sin], axis=-1).astype(np.float64) / np.sqrt(self.n_frequencies)

    def _phases(self, templates: np.ndarray) -> np.ndarray:
        """Return sigma W x of templates modulo one, in turns within [-1/2, 1/2)."""
        stored = unpack(templates, self.bits, self.n_frequencies)
        return (stored - self._offsets).view(np.int32) * 2.0**-32

    def __repr__(self) -> str:
        return f"KeyedPrime({shown(self)}, key hidden)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ParameterError(
            "a keyed map is not pickled or copied, which would store its key: keep its spec, and "
            "make it again with KeyedPrime.from_spec(spec, key)."
        )


def _purpose(what: str, basis: str, d: int, k: int) -> str:
    """Return the name of a stream: maps of other shapes have other streams."""
    return f"{what}/{basis}/{d}/{k}"


def _keyed_table(
    key: Key, basis: str, d: int, k: int, sigma: float
) -> FrequencyTable | HadamardTable:
    """Return the frequencies that a key stands for."""

    def minus(n: int) -> np.ndarray:
        stream = key._stream(_purpose("signs", basis, d, k), -(-n // 8))
        return np.unpackbits(stream, count=n).astype(bool)

    if basis == "hadamard":
        table = Basis("hadamard", d, k, sigma).table
        return table.with_signs(minus(table.signs.size).reshape(table.signs.shape))  # type: ignore[missing-attribute]
    listed = primes(_PRIMES_PER_ENTRY * k * d)
    words = key._stream(_purpose("primes", basis, d, k), 8 * len(listed)).view("<u8")
    chosen = listed[np.argsort(words, kind="stable")[: k * d]]
    if basis == "signed":
        # Of the whole list: the length of frequencies must not depend on the key.
        rms = float(np.sqrt(listed.astype(np.float64).mean()))
        table = root_table(chosen.reshape(k, d), sigma / rms)
    else:
        table = FrequencyTable.from_floats(sigma * prime_entries(chosen).reshape(k, d))
    signs = 1 - 2 * minus(k * d).reshape(k, d).astype(np.int64)
    return FrequencyTable(signs * table.mantissas, table.exponents)
