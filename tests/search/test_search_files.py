"""A saved index is whole or not there, stays on disk when loaded, and Parquet columns open."""

import json
import os

import numpy as np
import pytest

import primal
from primal.search import Index
from primal.search._rows import Ids

KINDS = ["bits", "uint8-phase", "uint16-phase", "float16", "float32"]
X = np.random.default_rng(0).normal(size=(500, 3))


def make_map(**options):
    return primal.DynamicPrime(3, 36, 0.2, basis="auto", **options)


def same_results(one, other):
    return all(
        np.array_equal(a, b)
        for a, b in zip(one.search(X[:20], 4), other.search(X[:20], 4), strict=True)
    )


class TestSaving:
    @pytest.mark.parametrize("codes", KINDS)
    def test_there_and_back(self, codes, tmp_path):
        index = Index(make_map(), stored=codes)
        for first in range(0, 500, 100):
            index.add(X[first : first + 100])
        index.save(tmp_path / "new" / "folder")
        loaded = Index.load(tmp_path / "new" / "folder", verify=True)
        assert loaded.spec == index.spec
        assert len(loaded) == 500
        assert same_results(index, loaded)

    def test_codes_stay_on_disk_and_are_the_array_of_any_npy_reader(self, tmp_path):
        index = Index.from_vectors(X, make_map())
        index.save(tmp_path)
        (part,) = Index.load(tmp_path)._rows.parts
        assert isinstance(part, np.memmap)
        (path,) = tmp_path.glob("*.npy")
        np.testing.assert_array_equal(np.load(path), index.encode(X))

    def test_a_loaded_index_grows_and_replaces_itself(self, tmp_path):
        Index.from_vectors(X[:300], make_map()).save(tmp_path)
        index = Index.load(tmp_path)
        index.add(X[300:])
        index.save(tmp_path)
        assert same_results(Index.load(tmp_path), Index.from_vectors(X, make_map()))
        assert len(list(tmp_path.iterdir())) == 2

    def test_an_empty_index(self, tmp_path):
        Index(make_map()).save(tmp_path)
        assert len(Index.load(tmp_path)) == 0

    def test_scales_of_inputs_are_kept(self, tmp_path):
        index = Index.from_vectors(X, primal.KernelPrime(3, 64, gamma=[0.1, 0.5, 2.0]))
        index.save(tmp_path)
        assert same_results(Index.load(tmp_path), index)

    @pytest.mark.parametrize("n_written", [0, 1])
    def test_a_save_that_is_cut_short_leaves_the_old_index(self, n_written, tmp_path, monkeypatch):
        old, new = Index.from_vectors(X[:100], make_map()), Index.from_vectors(X, make_map())
        old.save(tmp_path)
        before, done = sorted(tmp_path.iterdir()), []

        def failing(descriptor):
            if len(done) == n_written:
                raise KeyboardInterrupt
            done.append(descriptor)

        monkeypatch.setattr(os, "fsync", failing)
        with pytest.raises(KeyboardInterrupt):
            new.save(tmp_path)
        monkeypatch.undo()
        assert sorted(tmp_path.iterdir()) == before
        assert same_results(Index.load(tmp_path, verify=True), old)
        new.save(tmp_path)
        assert len(list(tmp_path.iterdir())) == 2


class TestIds:
    @pytest.mark.parametrize("given", [False, True])
    def test_ids_and_gaps_come_back(self, given, tmp_path):
        ids = np.random.default_rng(0).permutation(10**12 + np.arange(500)) if given else None
        index = Index.from_vectors(X, make_map(), ids=ids)
        index.remove(index.ids[10:20])
        index.remove(index.ids.max())  # which is not given again
        index.save(tmp_path)
        loaded = Index.load(tmp_path)
        np.testing.assert_array_equal(loaded.ids, index.ids)
        assert same_results(loaded, index)
        for one in (index, loaded):
            one.add(X[0])
        assert loaded.ids[-1] == index.ids[-1] == (10**12 + 500 if given else 500)
        loaded.save(tmp_path)
        np.testing.assert_array_equal(Index.load(tmp_path).ids, index.ids)

    def test_damaged_ids_are_refused(self):
        stored = Index.from_vectors(X[:3], make_map(), ids=[4, 2, 9])._ids.stored
        assert Ids.restored(stored, 10, 3).values.tolist() == [4, 2, 9]
        for values, next_id, n in (
            (stored, 9, 3),
            (stored, 10, 4),
            (stored, "10", 3),
            (stored, True, 3),
            (stored, 2**63, 3),
            (stored[[0, 0, 1]], 10, 3),
            (stored.astype(np.uint16), 10, 3),
            (np.full((3, 8), 255, dtype=np.uint8), 10, 3),
            (None, 4, 3),
        ):
            with pytest.raises(primal.errors.DataError):
                Ids.restored(values, next_id, n)


class TestDamage:
    @pytest.fixture
    def folder(self, tmp_path):
        Index.from_vectors(X, make_map()).save(tmp_path)
        return tmp_path

    def codes_file(self, folder):
        (path,) = folder.glob("*.npy")
        return path

    def change_header(self, folder, **changes):
        path = folder / "index.json"
        header = {**json.loads(path.read_text()), **changes}
        path.write_text(json.dumps({k: v for k, v in header.items() if v is not ...}))

    def test_no_index_there(self, tmp_path):
        with pytest.raises(primal.errors.DataError, match=r"holds no primal index: .*No such file"):
            Index.load(tmp_path)

    def test_a_cut_file(self, folder):
        path = self.codes_file(folder)
        path.write_bytes(path.read_bytes()[:-10])
        with pytest.raises(primal.errors.DataError, match="changed or cut short"):
            Index.load(folder)

    def test_a_missing_file(self, folder):
        self.codes_file(folder).unlink()
        with pytest.raises(primal.errors.DataError, match="which is not there: save again"):
            Index.load(folder)

    def test_a_changed_bit(self, folder):
        content = bytearray(self.codes_file(folder).read_bytes())
        content[-1] ^= 1
        self.codes_file(folder).write_bytes(content)
        assert len(Index.load(folder)) == 500
        with pytest.raises(primal.errors.DataError, match="is damaged"):
            Index.load(folder, verify=True)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"version": 2}, "version 3, got 'primal index' of version 2"),
            ({"version": True}, "of version True"),
            ({"format": "other"}, "got 'other'"),
            ({"stored": "int4"}, "got 'int4'"),
            ({"stored": []}, r"stored must be one of .* got \[\]"),
            ({"stored": ...}, "'stored'"),
            ({"stored": "uint8-phase"}, r"holds uint8 \(500, 5\) where its index has uint8"),
            ({"arrays": ...}, "does not list its arrays"),
            ({"arrays": {}}, "'codes'"),
            ({"arrays": {"codes": None}}, "describes an array as None"),
            ({"map": {"map": "dynamic"}}, "specs of type None"),
            ({"map": None}, "got NoneType"),
            ({"map": ...}, "'map'"),
            ({"map": primal.codebook(4, 8).spec}, "spec of a map, got that of a Codebook"),
        ],
    )
    def test_a_header_that_is_not_one(self, folder, changes, message):
        self.change_header(folder, **changes)
        with pytest.raises(primal.errors.DataError, match=message):
            Index.load(folder)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"file": "../codes.npy"}, "describes an array as"),
            ({"file": "codes\0.npy"}, "describes an array as"),
            ({"dtype": "|O"}, "describes an array as"),
            ({"shape": [-1, 5]}, "describes an array as"),
            ({"shape": [2**60, 5]}, "describes an array as"),
            ({"shape": [2**40, 5]}, "changed or cut short"),
            ({"shape": [499, 5]}, "changed or cut short"),
            ({"shape": [5, 500]}, "changed or cut short"),
        ],
    )
    def test_an_array_that_is_not_as_described(self, folder, change, message):
        (record,) = json.loads((folder / "index.json").read_text())["arrays"].values()
        self.change_header(folder, arrays={"codes": record | change})
        with pytest.raises(primal.errors.DataError, match=message):
            Index.load(folder)

    def test_text_instead_of_json(self, folder):
        (folder / "index.json").write_text("{")
        with pytest.raises(primal.errors.DataError, match="is not JSON"):
            Index.load(folder)
