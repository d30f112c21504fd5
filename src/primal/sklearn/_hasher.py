"""``PrimeHasher``: categories to codes that are the same in every run and on every machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from primal._checks import whole_number
from primal._hash import stable_position
from primal.maps import StaticPrime
from primal.sklearn._codes import ColumnCodes
from primal.sklearn._contract import validate_data
from primal.sklearn._specs import columns

# Far more than any machine holds: beyond it D, rounded up to even, would be named instead.
_MOST_COMPONENTS = 1 << 48
# Codes compared at once.
_BLOCK_CODES = 2048


@dataclass(frozen=True)
class HashCertificate:
    """How far apart the codes of the categories of one column are: every pair was compared.

    Attributes
    ----------
    n_values : int
        Number of different categories seen.
    coherence : float
        Largest |cosine similarity| between the codes of two of them; 0 for fewer than two.
    """

    n_values: int
    coherence: float


class PrimeHasher(ColumnCodes):
    """Give every category a nearly orthogonal code without a dictionary.

    A value is hashed to a 63-bit position (the first bits of a SHA-256), and the position has a
    code of :class:`primal.StaticPrime`. Values never seen before have codes too. The
    certificate says how similar the codes of the fitted categories are at worst.

    Parameters
    ----------
    n_components : int, default=64
        Length of a code.

    Attributes
    ----------
    certificates_ : list of HashCertificate
        One for each column, made when asked for: n**2 D / 2 multiplications for n categories.
    map_ : StaticPrime
        The map behind the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.sklearn import PrimeHasher
    >>> X = np.array([["red", 1], ["green", 2], ["blue", 2]], dtype=object)
    >>> hasher = PrimeHasher(128).fit(X)
    >>> hasher.transform(X).shape
    (3, 256)
    >>> [(c.n_values, round(c.coherence, 3)) for c in hasher.certificates_]
    [(3, 0.123), (2, 0.124)]
    """

    _fitted_names = ("_seen",)

    def __init__(self, n_components: int = 64) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> PrimeHasher:
        """Note the categories of every column: strings, numbers, None, NaN or pandas.NA."""
        positions = _positions(self._validated(X, reset=True))
        self.map_ = self._map()
        self._seen = [np.unique(column) for column in positions.T]
        return self

    def partial_fit(self, X: Any, y: Any = None) -> PrimeHasher:
        """Note the categories of one more batch; the first call fits. Codes do not change."""
        if not hasattr(self, "map_"):
            return self.fit(X)
        positions = _positions(self._validated(X, reset=False))
        self._seen = [
            np.union1d(old, new) for old, new in zip(self._seen, positions.T, strict=True)
        ]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes of every column side by side; one of even length has the norm 1.

        float32 of shape (n, n_columns * n_components).
        """
        check_is_fitted(self)
        return self._codes(_positions(self._validated(X, reset=False)))

    @property
    def certificates_(self) -> list[HashCertificate]:
        check_is_fitted(self)
        return [_certify(self._codes(seen[:, None])) for seen in self._seen]

    def _map(self) -> StaticPrime:
        D = whole_number("n_components", self.n_components, least=1, most=_MOST_COMPONENTS)
        # Interleaved: a shorter code is a prefix, and an odd one only lacks its last sine.
        return StaticPrime(D + D % 2, layout="interleaved")

    def _codes(self, t: np.ndarray) -> np.ndarray:
        """Return float32 codes of positions (n, n_columns), one block of features a column."""
        D = self.n_components
        Z = self.map_.encode(np.ascontiguousarray(t))[..., :D].reshape(len(t), -1)
        Z *= np.float32(math.sqrt(2.0 / D))
        return Z

    def _restore(self, fitted: dict[str, Any]) -> None:
        self.map_ = self._map()
        self._seen = [columns("_seen", column, np.int64) for column in fitted["_seen"]]
        self.n_features_in_ = len(self._seen)

    def _validated(self, X: Any, *, reset: bool) -> np.ndarray:
        return validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


def _positions(X: np.ndarray) -> np.ndarray:
    """Return the positions of every entry, each different value of a column hashed once."""
    positions = np.empty(X.shape, dtype=np.int64)
    for j, column in enumerate(X.T):
        known: dict[object, int] = {}
        for i, value in enumerate(column.tolist()):
            key = (type(value), value)
            if key not in known:
                known[key] = stable_position(value)
            positions[i, j] = known[key]
    return positions


def _certify(codes: np.ndarray) -> HashCertificate:
    worst = 0.0
    for first in range(0, len(codes), _BLOCK_CODES):
        similarities = codes[first : first + _BLOCK_CODES] @ codes.T
        rows = np.arange(len(similarities))
        similarities[rows, first + rows] = 0.0
        worst = max(worst, float(np.abs(similarities).max()))
    return HashCertificate(len(codes), worst)
