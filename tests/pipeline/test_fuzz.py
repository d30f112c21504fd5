"""Broken inputs of every kind: one clear line or a whole output, never a traceback or a part."""

import gzip
import io
import os
import zipfile

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from primal import PrimalError
from primal.cli._encode import encode

X = np.random.default_rng(0).standard_normal((40, 2))
TABLE = pa.table({"a": X[:, 0], "b": X[:, 1]})


def parquet(table=TABLE, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def arrow(table=TABLE, stream=False):
    sink = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    return sink.getvalue()


def npy(array=X, **options):
    sink = io.BytesIO()
    np.save(sink, array, **options)
    return sink.getvalue()


def npz(**arrays):
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


def columns(a, b):
    return pa.table({"a": a, "b": b})


def zipped(name, data):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(name, data)
    return sink.getvalue()


def with_noise(data, at, size=40):
    """The same bytes with some in the middle replaced."""
    start = int(at * (len(data) - size))
    noise = np.random.default_rng(1).bytes(size)
    return data[:start] + noise + data[start + size :]


LINES = "a,b\n" + "".join(f"{a},{b}\n" for a, b in X)
NOISE = np.random.default_rng(2).bytes(5000)
NESTED = pa.array([[[1.0], [2.0]], [[3.0], [4.0]]])
LISTS = pa.array([[1.0, 2.0], [1.0], [], None, [1.0, 2.0, 3.0], [5.0, 6.0]])

# name: (file name, its bytes, columns)
BROKEN = {
    "empty parquet": ("in.parquet", b"", "a,b"),
    "empty csv": ("in.csv", b"", "a,b"),
    "empty arrow": ("in.arrow", b"", "a,b"),
    "empty npy": ("in.npy", b"", ""),
    "empty npz": ("in.npz", b"", ""),
    "missing column": ("in.parquet", parquet(), "a,c"),
    "missing column of csv": ("in.csv", LINES.encode(), "a,c"),
    "pattern without match": ("in.parquet", parquet(), "z*"),
    "repeated column of csv": ("in.csv", b"a,a,b\n1,2,3\n", "a,b"),
    "repeated column of parquet": (
        "in.parquet",
        parquet(pa.Table.from_arrays([X[:, 0], X[:, 1]], names=["a", "a"])),
        "a",
    ),
    "text in a number column": ("in.csv", LINES.encode() + b"1,two\n", "a,b"),
    "mixed types": ("in.csv", b"a,b\n1,x\n2020-01-01,3\ntrue,4\n", "a,b"),
    "text column of parquet": ("in.parquet", parquet(columns(["x", "1"], [1, 2])), "a,b"),
    "NaN": ("in.parquet", parquet(columns([1.0, np.nan], [1.0, 2.0])), "a,b"),
    "infinity": ("in.arrow", arrow(columns([1.0, np.inf], [1.0, 2.0])), "a,b"),
    "null": ("in.parquet", parquet(columns([1.0, None], [1.0, 2.0])), "a,b"),
    "only nulls": ("in.parquet", parquet(columns(pa.nulls(3), [1.0, 2.0, 3.0])), "a,b"),
    "values beyond any phase": ("in.npy", npy(X * 1e307), ""),
    "integers beyond 2**53": ("in.npy", npy(np.full((3, 2), 2**60)), ""),
    "lists of varying length": ("in.parquet", parquet(pa.table({"a": LISTS})), "a"),
    "empty lists only": ("in.parquet", parquet(pa.table({"a": pa.array([[], None, []])})), "a"),
    "nested lists": ("in.parquet", parquet(pa.table({"a": NESTED})), "a"),
    "list and number": ("in.parquet", parquet(columns(LISTS, np.arange(6.0))), "a,b"),
    "struct": ("in.parquet", parquet(pa.table({"a": [{"u": 1.0}]})), "a"),
    "timestamps": ("in.parquet", parquet(pa.table({"a": pa.array([1], pa.timestamp("s"))})), "a"),
    "binary": ("in.arrow", arrow(pa.table({"a": [b"\x00\x01"]})), "a"),
    "truncated parquet": ("in.parquet", parquet()[:-50], "a,b"),
    "parquet without its start": ("in.parquet", parquet()[100:], "a,b"),
    "wrong magic": ("in.parquet", b"PAR2" + parquet()[4:-4] + b"PAR2", "a,b"),
    "csv called parquet": ("in.parquet", LINES.encode(), "a,b"),
    "parquet called csv": ("in.csv", parquet(), "a,b"),
    "parquet called npy": ("in.npy", parquet(), ""),
    "parquet called arrow": ("in.arrow", parquet(), "a,b"),
    "npy called npz": ("in.npz", npy(), ""),
    "damaged page": ("in.parquet", with_noise(parquet(compression="gzip"), 0.2), "a,b"),
    "damaged footer": ("in.parquet", with_noise(parquet(), 0.9), "a,b"),
    "truncated arrow file": ("in.arrow", arrow()[:-200], "a,b"),
    "truncated arrow stream": ("in.arrows", arrow(stream=True)[:-300], "a,b"),
    "damaged arrow": ("in.arrow", with_noise(arrow(), 0.98), "a,b"),
    "ragged lines": ("in.csv", LINES.encode() + b"1\n1,2,3\n\n,\n", "a,b"),
    "open quote": ("in.csv", LINES.encode() + b'"1,2\n3,4\n', "a,b"),
    "not UTF-8": ("in.csv", LINES.encode() + b"\xff\xfe,1\n", "a,b"),
    "zero bytes": ("in.csv", LINES.encode() + b"\x00\x00,\x00\n", "a,b"),
    "endless line": ("in.csv", b"a,b\n" + b"x" * (5 << 20) + b",2\n", "a,b"),
    "only a newline": ("in.csv", b"\n", "a,b"),
    "damaged gzip": ("in.csv.gz", gzip.compress(LINES.encode())[:-30], "a,b"),
    "pickled objects": ("in.npy", npy(np.array([[1, "a"]], dtype=object), allow_pickle=True), ""),
    "complex numbers": ("in.npy", npy(X * 1j), ""),
    "three axes": ("in.npy", npy(X.reshape(2, 20, 2)), ""),
    "no axis": ("in.npy", npy(np.float64(3.0)), ""),
    "no columns": ("in.npy", npy(X[:, :0]), ""),
    "structured array": ("in.npy", npy(np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])), ""),
    "truncated npy": ("in.npy", npy()[:-1], ""),
    "npy with a wrong header": ("in.npy", npy().replace(b"descr", b"deskr"), ""),
    "arrays of different lengths": ("in.npz", npz(x=X, y=X[1:]), "x"),
    "several arrays, none chosen": ("in.npz", npz(x=X, y=X), ""),
    "damaged npz": ("in.npz", with_noise(npz(x=X), 0.4), "x"),
    "npz without arrays": ("in.npz", zipped("readme.txt", b"hello"), ""),
    "truncated npz": ("in.npz", npz(x=X)[:-40], "x"),
    **{
        f"noise called {suffix}": (f"in.{suffix}", NOISE, "a,b")
        for suffix in ("parquet", "csv", "arrow", "arrows", "npy", "npz", "csv.gz")
    },
    "unknown format": ("in.xlsx", b"PK\x03\x04", "a"),
}


def run(*arguments):
    return CliRunner().invoke(encode, [str(argument) for argument in arguments])


def check(result, out):
    """A line for people or a whole output; returns whether there is an output."""
    if result.exit_code == 0:
        pq.read_table(out).validate(full=True)
        return True
    assert isinstance(result.exception, (PrimalError, SystemExit)), repr(result.exception)
    if isinstance(result.exception, PrimalError):
        message = str(result.exception)
        assert 10 < len(message) < 1000
        assert "\n" not in message
        assert "Traceback" not in message
    assert not out.exists()
    assert not list(out.parent.glob("out.parquet*")), "something was left behind"
    return False


@pytest.mark.parametrize("on_error", ["raise", "skip", "null"])
@pytest.mark.parametrize("kind", BROKEN)
def test_broken_input(kind, on_error, tmp_path):
    name, data, chosen = BROKEN[kind]
    (tmp_path / name).write_bytes(data)
    out = tmp_path / "out.parquet"
    options = ["--dim", 8, "--sigma", 0.1, "--on-error", on_error, "--rows-per-part", 16]
    result = run(tmp_path / name, out, "--columns", chosen, *options)
    made = check(result, out)
    if on_error == "raise":
        assert not made
        if isinstance(result.exception, PrimalError):
            assert name in str(result.exception)


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_beside_good_ones(kind, tmp_path):
    name, data, chosen = BROKEN[kind]
    if name == "in.xlsx":
        pytest.skip("a file of an unknown format in a folder is passed over")
    good = {"a,b": parquet(), "": npy(), "x": npz(x=X)}.get(chosen, parquet())
    suffix = {"": "npy", "x": "npz"}.get(chosen, "parquet")
    (tmp_path / "in").mkdir()
    for neighbour in ("a", "z"):
        (tmp_path / "in" / f"{neighbour}.{suffix}").write_bytes(good)
    (tmp_path / "in" / name).write_bytes(data)
    out = tmp_path / "out.parquet"
    options = ["--dim", 8, "--sigma", 0.1, "--on-error", "skip", "--columns"]
    columns = chosen if chosen in ("a,b", "", "x") else "a,b"
    result = run(tmp_path / "in", out, *options, columns)
    assert result.exit_code == 0, repr(result.exception)
    assert pq.read_metadata(out).num_rows >= 2 * len(X)
    assert "rejected" in result.output or pq.read_metadata(out).num_rows > 2 * len(X)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow", "arrows", "npy", "npz"])
@pytest.mark.parametrize("seed", range(6))
def test_random_damage(suffix, seed, tmp_path):
    rng = np.random.default_rng(seed)
    whole = {
        "parquet": parquet(),
        "csv": LINES.encode(),
        "arrow": arrow(),
        "arrows": arrow(stream=True),
        "npy": npy(),
        "npz": npz(a=X[:, 0], b=X[:, 1]),
    }[suffix]
    data = bytearray(whole)
    for at in rng.integers(0, len(data), 1 + seed):
        data[at] ^= 1 << int(rng.integers(8))
    if seed % 3 == 2:
        del data[int(rng.integers(len(data))) :]
    (tmp_path / f"in.{suffix}").write_bytes(data)
    out = tmp_path / "out.parquet"
    options = ["--dim", 8, "--sigma", 0.1, "--on-error", ("raise", "skip")[seed % 2]]
    chosen = [] if suffix == "npy" else ["--columns", "a,b"]
    check(run(tmp_path / f"in.{suffix}", out, *options, *chosen), out)


class TestPlaces:
    """Files that cannot be opened, and outputs that cannot be written."""

    OPTIONS = ("--dim", 8, "--sigma", 0.1, "--columns", "a,b")

    def refused(self, source, out):
        result = run(source, out, *self.OPTIONS)
        assert isinstance(result.exception, PrimalError), result.output
        assert not out.is_file()
        return str(result.exception)

    def test_inputs_that_are_no_files(self, tmp_path):
        out = tmp_path / "out.parquet"
        (tmp_path / "folder.parquet").mkdir()
        (tmp_path / "dangling.parquet").symlink_to(tmp_path / "nowhere.parquet")
        (tmp_path / "loop.parquet").symlink_to(tmp_path / "loop.parquet")
        os.mkfifo(tmp_path / "pipe.parquet")
        for name in ("folder", "dangling", "loop", "pipe", "missing", "missing*"):
            message = self.refused(tmp_path / f"{name}.parquet", out)
            assert name in message

    @pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow", "npy", "npz"])
    def test_an_unreadable_file(self, tmp_path, monkeypatch, suffix):
        data = {"parquet": parquet(), "csv": LINES.encode(), "arrow": arrow(), "npy": npy()}
        source = tmp_path / f"in.{suffix}"
        source.write_bytes(data.get(suffix, npz(a=X[:, 0], b=X[:, 1])))
        source.chmod(0)
        if os.access(source, os.R_OK):  # the superuser may read everything
            monkeypatch.setattr("primal.pipeline._blocks.open_source", _denied)
            monkeypatch.setattr("primal.pipeline._rows.open_source", _denied)
        assert "in." in self.refused(source, tmp_path / "out.parquet")

    def test_outputs_that_cannot_be_written(self, tmp_path):
        source = tmp_path / "in.parquet"
        source.write_bytes(parquet())
        (tmp_path / "file").write_text("")
        (tmp_path / "out.parquet").mkdir()
        assert "cannot be written" in self.refused(source, tmp_path / "file" / "out.parquet")
        assert "is a folder" in self.refused(source, tmp_path / "out.parquet")
        result = run(source, tmp_path / "out.parquet", "--overwrite", *self.OPTIONS)
        assert "is a folder" in str(result.exception)
        assert (tmp_path / "out.parquet").is_dir()
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "file",
            "in.parquet",
            "out.parquet",
        ]


def _denied(file, names=()):
    from primal.pipeline._sources import reading

    with reading(file.path):
        raise PermissionError(13, "Permission denied")


def test_there_are_enough_kinds():
    assert len(BROKEN) >= 30
