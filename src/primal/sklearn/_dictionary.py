"""``PrimeDictionary``: sparse coding in a fixed dictionary whose worst similarity is certified."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import sparse_encode
from sklearn.linear_model import orthogonal_mp
from sklearn.utils.validation import check_array, check_is_fitted

from primal._checks import flag, one_of, positive_scale, whole_number
from primal.codebooks import Codebook, codebook
from primal.errors import ParameterError
from primal.sklearn._contract import checked_by_host, validate_data

_ALGORITHMS = ("omp", "lasso_lars", "lasso_cd", "lars", "threshold")
_BY_COUNT = ("omp", "lars")


class PrimeDictionary(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Write each row as a combination of a few atoms of a dictionary that nobody has to train.

    The atoms are the codes of :func:`primal.codebooks.codebook`: unit vectors with a certified
    coherence mu. Rows made of fewer than (1 + 1/mu) / 2 atoms are recovered exactly by orthogonal
    matching pursuit and by basis pursuit (Tropp 2004; Donoho and Elad 2003).

    Parameters
    ----------
    n_components, kind : int, str
        Number of atoms, by default four for each column of X; kind of codebook, of which ``"auto"``
        is the one with the smallest certified coherence.
    transform_algorithm : {"omp", "lasso_lars", "lasso_cd", "lars", "threshold"}, default="omp"
    transform_n_nonzero_coefs, transform_alpha, transform_max_iter, positive_code
        As in :class:`sklearn.decomposition.SparseCoder`, but the default number of atoms for each
        row is `guaranteed_sparsity_`, or 1, and alpha is for "omp" the squared error at which a row
        is done, in place of a number of atoms.

    Attributes
    ----------
    components_, codebook_, certificate_
        The atoms, float64 of shape (n_components, d); their codebook and its certificate.
    guaranteed_sparsity_ : int
        Number of atoms up to which recovery is certain; 0 when two atoms may be parallel.

    Examples
    --------
    >>> import numpy as np
    >>> from primal.sklearn import PrimeDictionary
    >>> dictionary = PrimeDictionary(256).fit(np.zeros((1, 64)))
    >>> round(dictionary.certificate_.coherence, 3), dictionary.guaranteed_sparsity_
    (0.125, 4)
    >>> signal = np.zeros((1, 256))
    >>> signal[0, [3, 70, 201, 202]] = [1.0, -2.0, 0.5, 3.0]
    >>> measured = dictionary.inverse_transform(signal)
    >>> bool(np.allclose(dictionary.transform(measured), signal))
    True
    """

    n_features_in_: int

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kind: str = "auto",
        transform_algorithm: str = "omp",
        transform_n_nonzero_coefs: int | None = None,
        transform_alpha: float | None = None,
        transform_max_iter: int = 1000,
        positive_code: bool = False,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.transform_max_iter = transform_max_iter
        self.positive_code = positive_code

    def fit(self, X: Any, y: Any = None) -> PrimeDictionary:
        """Make the dictionary for the number of columns of X (n, d); its values are not used."""
        X = validate_data(self, X, dtype=np.float64)
        d = X.shape[1]
        one_of("transform_algorithm", self.transform_algorithm, _ALGORITHMS)
        if flag("positive_code", self.positive_code) and self.transform_algorithm in _BY_COUNT:
            raise ParameterError(
                f"positive_code=True does not go with {self.transform_algorithm!r}: use "
                "'lasso_cd', 'lasso_lars' or 'threshold'."
            )
        n_atoms = 4 * d if self.n_components is None else self.n_components
        n_atoms = whole_number("n_components", n_atoms, least=1, most=1 << 48)
        whole_number("transform_max_iter", self.transform_max_iter)
        alpha = self.transform_alpha
        if not (alpha is None or (isinstance(alpha, (int, float)) and alpha == 0.0)):
            positive_scale("transform_alpha", alpha)
        if self.transform_n_nonzero_coefs is not None:
            whole_number("transform_n_nonzero_coefs", self.transform_n_nonzero_coefs, least=1)
        self.codebook_: Codebook = codebook(n_atoms, d, kind=self.kind)
        self._make_atoms()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the sparse code of every row of X (n, d): ndarray of shape (n, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self.transform_algorithm == "omp" and self.transform_alpha is not None:
            code = np.asarray(orthogonal_mp(self.components_.T, X.T, tol=self.transform_alpha))
            return code.T.reshape(len(X), len(self.components_))
        n_nonzero_coefs = None
        if self.transform_algorithm in _BY_COUNT:
            n_nonzero_coefs = max(1, self.guaranteed_sparsity_)
            if self.transform_n_nonzero_coefs is not None:
                n_nonzero_coefs = min(self.transform_n_nonzero_coefs, *self.components_.shape)
        return sparse_encode(
            X,
            self.components_,
            algorithm=self.transform_algorithm,  # type: ignore[bad-argument-type]  # checked
            n_nonzero_coefs=n_nonzero_coefs,
            alpha=self.transform_alpha,
            max_iter=self.transform_max_iter,
            positive=self.positive_code,
        )

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the rows that codes of shape (n, n_components) stand for: X @ components_."""
        check_is_fitted(self)
        with checked_by_host("X"):
            code = check_array(X, dtype=np.float64, input_name="X")
        if code.shape[1] != len(self.components_):
            raise ParameterError(
                f"X must have {len(self.components_)} columns, got {code.shape[1]}."
            )
        return code @ self.components_

    def _make_atoms(self) -> None:
        codes = self.codebook_.encode(np.arange(self.codebook_.N), dtype="float64")
        self.components_ = codes / np.linalg.norm(codes, axis=1, keepdims=True)
        self.certificate_ = self.codebook_.certificate
        # The largest whole number below (1 + 1/mu) / 2.
        most, mu = min(self.components_.shape), self.certificate_.coherence
        if 2 * most * mu > 1.0:
            most = min(most, math.ceil((1.0 + 1.0 / mu) / 2.0) - 1)
        self.guaranteed_sparsity_ = most

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __getstate__(self) -> dict[str, Any]:
        # The spec of the codebook makes all of it again.
        made = ("components_", "certificate_", "guaranteed_sparsity_")
        state = {name: value for name, value in vars(self).items() if name not in made}
        if "codebook_" in state:
            state["codebook_"] = self.codebook_.spec
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "codebook_" in state:
            from primal._specs import from_spec

            self.codebook_ = from_spec(state["codebook_"])
            self._make_atoms()
