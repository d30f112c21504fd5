"""An index on disk: a small JSON file that names an array of codes beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from primal._checks import one_of, raised_as
from primal._files import FolderFormat
from primal.errors import DataError, MissingPackageError
from primal.search._encoder import Encoder
from primal.search._ids import Ids
from primal.search._kinds import KINDS, columns_of

__all__ = ["load", "save"]

_FORMAT = FolderFormat("index.json", "primal index", 2)


def save(folder: Path, encoder: Encoder, kind: str, parts: Sequence[np.ndarray], ids: Ids) -> None:
    """Write an index into a folder, in place of one that is there."""
    none = np.empty((0, columns_of(kind, encoder.n_frequencies)), dtype=KINDS[kind])
    arrays = {"codes": parts or [none]}
    if ids.stored is not None:
        arrays["ids"] = [ids.stored]
    _FORMAT.save(folder, {"codes": kind, **encoder.spec, "next_id": ids.next}, arrays)


def load(folder: Path, *, verify: bool) -> tuple[Encoder, str, np.ndarray, Ids]:
    """Return the encoder, the kind, the memory-mapped codes and the ids of a saved index."""
    fields, arrays = _FORMAT.load(folder, mapped_from=0, verify=verify)
    what = f"the index in {folder} is damaged"
    with raised_as(DataError, what, keep=(DataError, MissingPackageError)):
        kind = one_of("codes", fields["codes"], KINDS)
        encoder, codes = Encoder.from_spec(fields), arrays["codes"]
        shape = (len(codes), columns_of(kind, encoder.n_frequencies))
        if codes.shape != shape or codes.dtype != KINDS[kind]:
            raise DataError(
                f"{folder} holds {codes.dtype} {codes.shape} where its index has {KINDS[kind]} "
                f"{shape}: save the index again."
            )
        ids = Ids.restored(arrays.get("ids"), fields.get("next_id", len(codes)), len(codes))
    return encoder, kind, codes, ids
