"""``RidgeSums``: exact sums over batches, on any number of machines, and the fitted model."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from primal._checks import raised_as
from primal._sums import ExactSums, rounded
from primal.arrow._columns import column, matrix, names_of, plain
from primal.arrow._encoder import Encoder, Function
from primal.errors import DataError, ParameterError
from primal.maps import KernelPrime


class RidgeSums(Function):
    """A function from Arrow batches to the exact sums of a ridge regression on their features.

    Sums of parts merge in any order: the merged bytes and the fitted model are those of all rows
    at once, bit for bit.

    Parameters
    ----------
    encoder : Encoder
        Of a KernelPrime or fitted PrimeFeatures. Its `on_error` applies to targets, too: with
        ``"null"``, rows without a valid target are left out.
    target : str or sequence of str
        Column of labels or of finite numbers, or several columns of numbers.
    classes : sequence, optional
        All labels, for classification. A row with another label is invalid.

    Attributes
    ----------
    schema : pyarrow.Schema
        Of the sums of a part: one row, whose size is about 6 D**2 bytes.

    Examples
    --------
    >>> import numpy as np, primal, pyarrow as pa
    >>> from primal.arrow import Encoder, RidgeSums
    >>> x = np.linspace(0, 6, 200)
    >>> table = pa.table({"x": x, "y": np.sin(x)})
    >>> sums = RidgeSums(Encoder(primal.KernelPrime(1, 64), "x"), "y")
    >>> parts = [sums(table[:50]), sums(table[50:])]
    >>> sums.merge(*parts) == sums.merge(sums(table))
    True
    >>> bool(abs(sums.finish(*parts).predict([[1.0]])[0] - np.sin(1.0)) < 1e-3)
    True
    """

    _names = ("encoder", "target", "classes")
    schema = pa.schema([("fit", pa.string()), ("sums", pa.binary())])

    def __init__(
        self, encoder: Encoder, target: str | Iterable[str], classes: Iterable[Any] | None = None
    ) -> None:
        m = getattr(encoder, "map", encoder)
        if not isinstance(encoder, Encoder) or not isinstance(m, KernelPrime):
            raise ParameterError(f"encoder must be an Encoder of a KernelPrime, got {m!r:.60}.")
        self._targets = (target,) if isinstance(target, str) else tuple(target)
        self.target = target if isinstance(target, str) else self._targets
        self.classes = None
        if classes is not None:
            with raised_as(ParameterError, "classes must be labels"):
                labels = np.asarray(list(classes))
            if labels.dtype.kind not in "biufU" or labels.ndim != 1 or len(self._targets) > 1:
                raise ParameterError(
                    f"classes must be text or numbers of one target column, got {classes!r:.60}."
                )
            self.classes = tuple(np.unique(labels).tolist())
        self.encoder = encoder
        self._unit_map = m.with_amplitude(m.amplitude / float(m.amplitudes.max()))
        about = [m.spec, encoder.columns, self.target, self.classes]
        self._fingerprint = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    def __call__(self, batch: Any) -> Any:
        """Return the sums of a batch: a RecordBatch of one row, of a Table a Table of one row."""
        total, encoder = _Part(self), self.encoder
        columns = encoder._checked(column(batch, name) for name in encoder.columns)
        Y, known = self._target_values(batch)
        for rows, x, valid, z in encoder._blocks(columns, lambda x, _: self._unit_map.encode(x)):
            kept = valid & known[rows]
            total.add(x[kept], z[kept], Y[rows][kept])
        row = self._row(total)
        # Ray accepts only Tables, and Spark's mapInArrow only RecordBatches.
        return row if isinstance(batch, pa.RecordBatch) else pa.Table.from_batches([row])

    def fold(self, batches: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        """Yield one row for all batches of a partition, of data or of sums; none for no batch."""
        batches = iter(batches)
        for first in batches:
            yield self.merge(*itertools.chain([first], batches))

    def merge(self, *batches: Any) -> pa.RecordBatch:
        """Return the sums of all batches, of data or of sums, as one row."""
        return self._row(self._total(batches))

    def finish(self, *batches: Any, alpha: float | str = "gcv") -> Any:
        """Return the model that all rows of these sums determine.

        Parameters
        ----------
        *batches : RecordBatch or Table
            Sums, merged or not.
        alpha : float or "gcv", default="gcv"
            As in :class:`primal.sklearn.PrimeRidgeRegressor`.

        Returns
        -------
        model : PrimeRidgeRegressor or PrimeRidgeClassifier
            Fitted, and ready for `partial_fit`.
        """
        from primal.sklearn import ridge_of_sums

        total, is_column = self._total(batches), isinstance(self.target, str)
        if not total.sums.n_rows:
            raise DataError("the sums must contain at least one row, got none.")
        bounds, labels = (total.low, total.high), self.classes
        return ridge_of_sums(self.encoder.map, total.sums, bounds, labels, is_column, alpha)

    def _total(self, batches: Iterable[Any]) -> _Part:
        total = _Part(self)
        for batch in batches:
            rows = batch if names_of(batch) == self.schema.names else self(batch)
            for fit, body in zip(rows.column("fit"), rows.column("sums"), strict=True):
                if fit.as_py() != self._fingerprint:
                    raise DataError("the sums are of other features, columns, targets or classes.")
                with raised_as(DataError, "these sums are damaged"):
                    total.merge(body.as_py())
        return total

    def _row(self, total: _Part) -> pa.RecordBatch:
        own = {"fit": [self._fingerprint], "sums": [total.to_bytes()]}
        return pa.RecordBatch.from_pydict(own, self.schema)

    def _target_values(self, batch: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return targets (n, m), zero where there are none, and which rows have valid ones."""
        names = self._targets
        columns = [plain(column(batch, name)) for name in names]
        if self.classes is None:
            Y = matrix(columns, names, len(names)).astype(np.float64)
            known = np.asarray(np.isfinite(Y).all(axis=1))
        else:
            with raised_as(DataError, f"the labels in {names[0]!r} are not of the type of classes"):
                labels = pa.array(self.classes, columns[0].type)
                found = pc.index_in(columns[0], labels)  # type: ignore[missing-attribute]
            known = np.asarray(found.is_valid())
            Y = np.eye(len(self.classes))[np.asarray(pc.fill_null(found, 0))]
        if self.encoder.on_error == "raise" and not known.all():
            i = int(np.argmin(known))
            raise DataError(
                f"row {i} of this batch has the target {[c[i].as_py() for c in columns]!r:.60}: "
                "correct or filter the row, add its label to classes, or pass on_error='null'."
            )
        return np.where(known[:, None], Y, 0.0), known


class _Part:
    """Exact sums and the range of x (d,) over some rows."""

    def __init__(self, owner: RidgeSums) -> None:
        m = owner.encoder.map
        self.sums = ExactSums(m.D, len(owner.classes or owner._targets))
        self.low, self.high = np.full(m.d, np.inf), np.full(m.d, -np.inf)

    def add(self, x: np.ndarray, z: np.ndarray, Y: np.ndarray) -> None:
        self.sums.add(rounded(z), Y)
        self._widen(x.min(axis=0, initial=np.inf), x.max(axis=0, initial=-np.inf))

    def merge(self, data: bytes) -> None:
        end = len(data) - 16 * len(self.low)
        self.sums.merge(ExactSums.from_bytes(data[: max(end, 0)]))
        self._widen(*np.frombuffer(data, "<f8", offset=end).reshape(2, -1))

    def to_bytes(self) -> bytes:
        bounds = np.concatenate([self.low, self.high])
        return self.sums.to_bytes() + bounds.astype("<f8").tobytes()

    def _widen(self, low: np.ndarray, high: np.ndarray) -> None:
        # Adding zero makes -0.0 positive; otherwise the order of parts would decide its sign.
        self.low, self.high = np.minimum(self.low, low) + 0.0, np.maximum(self.high, high) + 0.0
