"""Encoding tables on disk: formats, columns, stored types, bad rows, decoding, inspection."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from pipeline_helpers import encode

from primal import DynamicPrime, KernelPrime, StaticPrime, from_spec, pipeline
from primal.decoding import Box
from primal.errors import DataError, EngineError, NotInvertibleError, ParameterError
from primal.pipeline._rows import Problem, matrix
from primal.turns import phases_to_bits, phases_to_uint8, phases_to_uint16

D_IN, N = 5, 230


@pytest.fixture(scope="module")
def x():
    # Multiples of 1/64: text holds them as exactly as floats do.
    values = np.random.default_rng(0).standard_normal((N, D_IN))
    return (np.rint(values * 64.0) / 64.0).astype(np.float32)


def as_table(x, **more):
    return pa.table({f"x{j}": x[:, j] for j in range(x.shape[1])} | more)


def as_lists(x, **more):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), x.shape[1])
    return pa.table({"vector": lists} | more)


def write(table, path):
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=60)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=70)
    elif path.suffix == ".arrows":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=70)
    return path


def features(path, column="features"):
    """The stored rows as a matrix; no nulls."""
    if path.suffix == ".npy":
        return np.load(path)
    array = pq.read_table(path)[column].combine_chunks()
    return array.flatten().to_numpy().reshape(len(array), -1)


def assert_same_bits(a, b):
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(a.view(f"u{a.itemsize}"), b.view(f"u{a.itemsize}"))


OPTIONS = {"dim": 16, "sigma": 0.3, "rows_per_part": 50}


def expected(x, dtype="float32"):
    m = DynamicPrime(x.shape[1], 16, 0.3, basis="auto", layout="interleaved")
    if dtype == "float32":
        return m.encode(x)
    if dtype == "float16":
        return m.encode(x).astype(np.float16)
    convert = {
        "uint8-phase": phases_to_uint8,
        "uint16-phase": phases_to_uint16,
        "bits": phases_to_bits,
    }
    return convert[dtype](m.turns(x))


class TestFormats:
    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow", ".arrows"])
    def test_tables(self, x, tmp_path, suffix):
        source = write(as_table(x, id=np.arange(N)), tmp_path / f"in{suffix}")
        out = tmp_path / "out.parquet"
        report = encode(source, out, columns="x*", keep="id", **OPTIONS)
        assert report.rows == N
        assert_same_bits(features(out), expected(x))
        found = pq.read_table(out)
        assert found.column_names == ["id", "features"]
        assert found["id"].to_pylist() == list(range(N))
        assert found.schema.field("features").type.list_size == 16

    @pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows"])
    @pytest.mark.parametrize("fixed", [True, False])
    def test_lists(self, x, tmp_path, suffix, fixed):
        table = as_lists(x)
        if not fixed:
            table = table.cast(pa.schema([("vector", pa.list_(pa.float32()))]))
        source = write(table, tmp_path / f"in{suffix}")
        encode(source, tmp_path / "out.npy", columns="vector", **OPTIONS)
        assert_same_bits(features(tmp_path / "out.npy"), expected(x))

    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2", "<i4", "|b1"])
    def test_npy(self, x, tmp_path, order, dtype):
        array = (x * 3).astype(dtype, order=order)
        np.save(tmp_path / "in.npy", array)
        encode(tmp_path / "in.npy", tmp_path / "out.npy", **OPTIONS)
        assert_same_bits(features(tmp_path / "out.npy"), expected(array.astype(np.float64)))

    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    def test_npz_has_a_column_for_each_array(self, x, tmp_path, save):
        save(tmp_path / "in.npz", points=x, label=np.arange(N))
        out = tmp_path / "out.parquet"
        encode(tmp_path / "in.npz", out, columns="points", keep="label", **OPTIONS)
        assert_same_bits(features(out), expected(x))
        assert pq.read_table(out)["label"].to_pylist() == list(range(N))

    def test_columns_of_lists_of_one_number_are_columns_of_numbers(self, x, tmp_path):
        np.savez(tmp_path / "in.npz", **{f"x{j}": x[:, j : j + 1] for j in range(D_IN)})
        encode(tmp_path / "in.npz", tmp_path / "out.npy", columns="x*", **OPTIONS)
        assert_same_bits(features(tmp_path / "out.npy"), expected(x))

    def test_the_one_matrix_of_a_file_need_not_be_named(self, x, tmp_path):
        np.savez(tmp_path / "in.npz", label=np.arange(N), points=x)
        encode(tmp_path / "in.npz", tmp_path / "out.parquet", keep="label", **OPTIONS)
        assert_same_bits(features(tmp_path / "out.parquet"), expected(x))

    def test_folder_pattern_and_list_read_files_in_the_order_of_their_names(self, x, tmp_path):
        folder = tmp_path / "data" / "deep"
        folder.mkdir(parents=True)
        write(as_table(x[:100]), folder.parent / "a.parquet")
        write(as_table(x[100:180]), folder / "b.csv")
        write(as_table(x[180:]), folder / "c.arrow")
        for hidden in ("_SUCCESS", ".part.crc", "notes.txt", "_old.parquet"):
            (folder / hidden).write_text("no data")
        for i, source in enumerate([tmp_path / "data", str(tmp_path / "data/**/[abc].*")]):
            out = tmp_path / f"out{i}.parquet"
            report = encode(source, out, columns="x*", **OPTIONS)
            assert report.rows == N
            assert_same_bits(features(out), expected(x))
        listed = [folder / "c.arrow", folder.parent / "a.parquet"]
        encode(listed, tmp_path / "l.npy", columns="x*", **OPTIONS)
        turned = np.concatenate([x[180:], x[:100]])
        assert_same_bits(features(tmp_path / "l.npy"), expected(turned))

    def test_zero_rows_give_an_empty_output(self, x, tmp_path):
        for suffix in (".parquet", ".csv", ".arrow", ".arrows"):
            source = write(as_table(x[:0], id=np.zeros(0, "i8")), tmp_path / f"in{suffix}")
            out = tmp_path / f"out{suffix}.parquet"
            assert encode(source, out, columns="x*", keep="id", **OPTIONS).rows == 0
            assert pq.read_table(out).column_names == ["id", "features"]

    def test_other_libraries_read_the_output(self, x, tmp_path):
        polars = pytest.importorskip("polars")
        source = write(as_table(x, name=[f"n{i}" for i in range(N)]), tmp_path / "in.parquet")
        for dtype in ("float32", "uint8-phase", "bits"):
            out = tmp_path / f"{dtype}.parquet"
            encode(source, out, columns="x*", keep="name", stored=dtype, **OPTIONS)
            found = polars.read_parquet(out)
            np.testing.assert_array_equal(found["features"].to_numpy(), expected(x, dtype))
            assert found["name"].to_list() == [f"n{i}" for i in range(N)]


class TestStored:
    @pytest.mark.parametrize("dtype", ["float32", "float16", "uint8-phase", "uint16-phase", "bits"])
    @pytest.mark.parametrize("suffix", ["npy", "parquet"])
    def test_types(self, x, tmp_path, dtype, suffix):
        np.save(tmp_path / "in.npy", x)
        out = tmp_path / f"out.{suffix}"
        encode(tmp_path / "in.npy", out, stored=dtype, **OPTIONS)
        assert_same_bits(features(out), expected(x, dtype))

    def test_small_integers_take_their_own_size_on_disk(self, tmp_path):
        # Parquet itself keeps them in four bytes.
        np.save(tmp_path / "in.npy", np.random.default_rng(1).standard_normal((4000, 8)))
        for dtype, n_bytes in (("uint8-phase", 128), ("uint16-phase", 256), ("bits", 32)):
            out = tmp_path / f"{dtype}.parquet"
            encode(tmp_path / "in.npy", out, dim=256, sigma=1.0, stored=dtype)
            assert out.stat().st_size < 1.08 * 4000 * n_bytes

    @pytest.mark.parametrize(
        "options",
        [
            {"kernel": "laplacian"},
            {"kernel": "matern32", "layout": "block"},
            {"kernel": "prime", "form": "offset", "D": 7},
            {"gamma": [0.1, 0.2, 0.3, 0.4, 0.5]},
        ],
    )
    def test_any_map_keeps_its_bits(self, x, tmp_path, options):
        options = {"D": 16, "gamma": 0.2} | options
        m = KernelPrime(D_IN, options.pop("D"), **options)
        np.save(tmp_path / "in.npy", x)
        pipeline.encode(tmp_path / "in.npy", tmp_path / "out.parquet", m, rows_per_part=50)
        assert_same_bits(features(tmp_path / "out.parquet"), m.encode(x))
        assert from_spec(pipeline.inspect(tmp_path / "out.parquet").spec) == m

    def test_a_fitted_transformer_is_taken_by_its_map(self, x, tmp_path):
        sklearn = pytest.importorskip("primal.sklearn")
        fitted = sklearn.PrimeFeatures(16, gamma="scale").fit(x)
        np.save(tmp_path / "in.npy", x)
        pipeline.encode(tmp_path / "in.npy", tmp_path / "out.npy", fitted)
        assert_same_bits(features(tmp_path / "out.npy"), fitted.transform(x))
        for other in (sklearn.PrimeFeatures(16), DynamicPrime, StaticPrime(16), "a map", None):
            with pytest.raises(ParameterError, match="m must be a map"):
                pipeline.encode(tmp_path / "in.npy", tmp_path / "out.npy", other)

    def test_gamma_scale_is_that_of_all_rows_for_any_row_groups(self, x, tmp_path):
        (tmp_path / "in").mkdir()
        write(as_table(x[:90]), tmp_path / "in" / "a.parquet")
        write(as_table(x[90:] + 3.0), tmp_path / "in" / "b.arrow")
        everything = np.concatenate([x[:90], x[90:] + 3.0]).astype(np.float64)
        gamma = pipeline.scale_gamma(tmp_path / "in", columns="x*")
        assert gamma == pytest.approx(1.0 / (D_IN * everything.var()), rel=1e-13)
        pq.write_table(as_table(x[:90]), tmp_path / "in" / "a.parquet", row_group_size=7)
        assert pipeline.scale_gamma(tmp_path / "in", columns="x*") == gamma

    def test_metadata_rebuild_the_map(self, x, tmp_path):
        np.save(tmp_path / "in.npy", x)
        report = encode(tmp_path / "in.npy", tmp_path / "out.parquet", **OPTIONS)
        record = json.loads(pq.read_schema(tmp_path / "out.parquet").metadata[b"primal"])
        m = from_spec(record["spec"])
        assert m.fingerprint == record["fingerprint"] == report.fingerprint
        assert_same_bits(m.encode(x), features(tmp_path / "out.parquet"))

    def test_progress_of_both_passes(self, x, tmp_path):
        table = as_table(np.tile(x, (2000, 1)))  # more than one piece of the first pass
        sources = [write(table, tmp_path / "a.arrow"), write(as_table(x), tmp_path / "b.parquet")]
        fits, rows = [], []
        pipeline.scale_gamma(sources, columns="x*", progress=lambda *done: fits.append(done))
        out = tmp_path / "out"
        encode(sources, out, columns="x*", dim=2, sigma=1.0, progress=lambda *d: rows.append(d))
        for seen in (fits, rows):
            assert len(seen) > 2
            assert seen[-1] == (2001 * N, 2001 * N)
            assert seen == sorted(set(seen))

    def test_the_source_s_own_row_groups_do_not_show(self, x, tmp_path):
        outputs = []
        for size in (1, 33, 50, 1000):
            source = tmp_path / f"{size}.parquet"
            pq.write_table(as_table(x), source, row_group_size=size)
            out = tmp_path / f"{size}.out.parquet"
            encode(source, out, columns="x*", **OPTIONS)
            data = out.read_bytes()
            outputs.append(data[: -8 - int.from_bytes(data[-8:-4], "little")])
        assert len(set(outputs)) == 1

    def test_a_layer_of_pytorch_makes_the_same_bits(self, x, tmp_path):
        torch = pytest.importorskip("torch")
        pytest.importorskip("torch")
        import primal.torch as layers

        options = {"basis": "auto", "layout": "interleaved"}
        m = DynamicPrime(D_IN, 16, 0.3, **options)
        layer = layers.DynamicPrime(D_IN, 16, 0.3, **options, dtype=torch.float32)
        np.save(tmp_path / "in.npy", x)
        out = tmp_path / "out.npy"
        pipeline.encode(tmp_path / "in.npy", out, m, engine=pipeline.Local(layer))
        assert_same_bits(features(out), m.encode(x))
        wide = layers.DynamicPrime(D_IN, 16, 0.3, **options)
        other = layers.DynamicPrime(D_IN, 16, 0.4, **options, dtype=torch.float32)
        for engine, said in (
            (pipeline.Local(other), "other features than m"),
            (pipeline.Local(wide), "dtype=torch.float32"),
            (pipeline.Local(layer, "nonsense"), "engine with device 'nonsense' cannot be used"),
        ):
            with pytest.raises(EngineError, match=said):
                pipeline.encode(tmp_path / "in.npy", tmp_path / "no.npy", m, engine=engine)
        engine = pipeline.Local(layer)
        with pytest.raises(ParameterError, match="not 'bits'"):
            pipeline.encode(
                tmp_path / "in.npy", tmp_path / "no.npy", m, stored="bits", engine=engine
            )
        assert not list(tmp_path.glob("no*"))


class TestBadRows:
    def bad(self, x):
        bad = x.astype(np.float64)
        bad[3, 1], bad[60, 0], bad[61, 4], bad[229, 2] = np.nan, np.inf, -np.inf, 1e300
        return bad

    def test_the_first_is_named(self, x, tmp_path):
        source = write(as_table(self.bad(x)), tmp_path / "in.parquet")
        with pytest.raises(DataError, match=r"in\.parquet: row 3, column 'x1' holds 'nan'"):
            encode(source, tmp_path / "out.parquet", columns="x*", **OPTIONS)
        assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]

    def test_skip(self, x, tmp_path):
        source = write(as_table(self.bad(x), id=np.arange(N)), tmp_path / "in.parquet")
        out = tmp_path / "out.parquet"
        options = OPTIONS | {"columns": "x*", "keep": "id", "on_error": "skip"}
        report = encode(source, out, **options)
        good = np.delete(np.arange(N), [3, 60, 61, 229])
        assert (report.rows, report.rejected) == (N - 4, 4)
        assert pq.read_table(out)["id"].to_pylist() == good.tolist()
        assert_same_bits(features(out), expected(x[good]))
        with report.rejected_path.open(newline="") as opened:
            lines = list(csv.DictReader(opened))
        assert [(line["row"], line["column"]) for line in lines] == [
            ("3", "x1"),
            ("60", "x0"),
            ("61", "x4"),
            ("229", "x2"),
        ]
        assert lines[0]["file"] == str(source)
        assert lines[3]["value"] == "1e+300"
        assert "too large" in lines[3]["reason"]

    def test_null(self, x, tmp_path):
        source = write(as_lists(self.bad(x), id=np.arange(N)), tmp_path / "in.arrow")
        out = tmp_path / "out.parquet"
        options = OPTIONS | {"columns": "vector", "keep": "id", "on_error": "null"}
        assert encode(source, out, **options).rejected == 4
        table = pq.read_table(out)
        assert table["id"].to_pylist() == list(range(N))
        is_null = table["features"].is_null().to_numpy()
        assert np.flatnonzero(is_null).tolist() == [3, 60, 61, 229]
        good = table["features"].combine_chunks().drop_null()
        found = good.flatten().to_numpy().reshape(-1, 16)
        assert_same_bits(found, expected(x[~is_null]))
        encode(source, tmp_path / "out.npy", **(options | {"keep": ()}))
        assert np.isnan(np.load(tmp_path / "out.npy")).all(axis=1).nonzero()[0].tolist() == [
            3,
            60,
            61,
            229,
        ]

    def test_csv_with_text_gaps_and_ragged_lines(self, tmp_path):
        lines = [
            "id,a,b",
            "p,1,2",
            "q,one,2",
            "r,1",
            "s,,4",
            "t,5,6,7",
            "u,7,8",
            '"v\nw", 9 ,1e1',
            "y",
        ]
        (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
        out = tmp_path / "out.parquet"
        options = {"columns": ["a", "b"], "keep": "id", "dim": 4, "sigma": 1.0, "rows_per_part": 3}
        report = encode(tmp_path / "in.csv", out, on_error="skip", **options)
        assert pq.read_table(out)["id"].to_pylist() == ["p", "u", "v\nw"]
        rows = np.array([[1.0, 2.0], [7.0, 8.0], [9.0, 10.0]])
        m = DynamicPrime(2, 4, 1.0, basis="auto", layout="interleaved")
        assert_same_bits(features(out), m.encode(rows))
        with report.rejected_path.open(newline="") as opened:
            found = [
                (line["row"], line["value"], line["reason"]) for line in csv.DictReader(opened)
            ]
        assert found == [
            ("1", "one", "not a number"),
            ("2", "r,1", "wrong number of fields"),
            ("3", "null", "missing"),
            ("4", "t,5,6,7", "wrong number of fields"),
            ("7", "y", "wrong number of fields"),
        ]
        report = encode(tmp_path / "in.csv", tmp_path / "null.parquet", on_error="null", **options)
        table = pq.read_table(tmp_path / "null.parquet")
        assert table["id"].to_pylist() == ["p", "q", None, "s", None, "u", "v\nw", None]
        assert table["features"].is_null().to_pylist() == [0, 1, 1, 1, 1, 0, 0, 1]

    def test_a_kept_value_of_another_type_is_named(self, tmp_path):
        (tmp_path / "a.csv").write_text("id,a\n1,0.5\n2,0.25\n")
        (tmp_path / "b.csv").write_text("id,a\nthree,0.5\n4,1\n")
        options = {"columns": "a", "keep": "id", "dim": 4, "sigma": 1.0}
        files = [tmp_path / "a.csv", tmp_path / "b.csv"]
        with pytest.raises(DataError, match=r"b\.csv: row 0, column 'id' holds 'three'"):
            encode(files, tmp_path / "out.parquet", **options)
        encode(files, tmp_path / "out.parquet", on_error="skip", **options)
        assert pq.read_table(tmp_path / "out.parquet")["id"].to_pylist() == [1, 2, 4]

    def test_one_damaged_file_costs_no_other(self, x, tmp_path):
        for i in range(3):
            write(as_table(x[60 * i : 60 * i + 60]), tmp_path / f"{i}.parquet")
        data = (tmp_path / "1.parquet").read_bytes()
        (tmp_path / "1.parquet").write_bytes(data[: len(data) // 2])
        sources, out = str(tmp_path / "?.parquet"), tmp_path / "out.parquet"
        with pytest.raises(DataError, match=r"1\.parquet cannot be read"):
            encode(sources, out, columns="x*", **OPTIONS)
        report = encode(sources, out, columns="x*", on_error="skip", **OPTIONS)
        assert report.rejected == 1
        assert_same_bits(features(out), expected(np.concatenate([x[:60], x[120:180]])))

    def test_one_damaged_block_costs_no_other(self, x, tmp_path):
        source = tmp_path / "in.parquet"
        pq.write_table(as_table(x[:200]), source, row_group_size=50, compression="snappy")
        data = bytearray(source.read_bytes())
        chunk = pq.read_metadata(source).row_group(1).column(2)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        data[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
        source.write_bytes(data)
        options = OPTIONS | {"columns": "x*", "on_error": "skip"}
        report = encode(source, tmp_path / "out.npy", **options)
        assert (report.rows, report.rejected) == (150, 1)
        good = np.concatenate([x[:50], x[100:200]])
        assert_same_bits(features(tmp_path / "out.npy"), expected(good))


class TestDecode:
    @pytest.mark.parametrize(
        ("dtype", "tolerance"),
        [("float32", 1e-5), ("float16", 5e-3), ("uint16-phase", 1e-3), ("uint8-phase", 0.2)],
    )
    @pytest.mark.parametrize("layout", ["block", "interleaved"])
    def test_linear(self, x, tmp_path, dtype, tolerance, layout):
        source = write(as_table(x, id=np.arange(N)), tmp_path / "in.parquet")
        out, back = tmp_path / "out.parquet", tmp_path / "back.parquet"
        options = {"columns": "x*", "keep": "id", "dim": 16, "layout": layout, "rows_per_part": 50}
        encode(source, out, sigma=0.02, stored=dtype, **options)
        report = pipeline.decode(out, back)
        table = pq.read_table(back)
        assert table.column_names == ["id", *(f"x{j}" for j in range(D_IN)), "status"]
        found = np.column_stack([table[f"x{j}"].to_numpy() for j in range(D_IN)])
        assert np.abs(found - x).max() < tolerance
        assert table["id"].to_pylist() == list(range(N))
        assert (report.rows, report.statuses) == (N, {"unique": N})
        assert pipeline.decode(out, back).already_complete
        pipeline.decode(out, tmp_path / "back.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "back.npy"), found)

    @pytest.mark.parametrize("dtype", ["float32", "uint16-phase"])
    def test_exact_beyond_the_wrap(self, tmp_path, dtype):
        x = np.random.default_rng(2).uniform(-1, 1, (60, 4))
        np.save(tmp_path / "in.npy", x)
        out = tmp_path / "out.parquet"
        options = {"dim": 32, "sigma": 3.0, "basis": "paper", "stored": dtype, "rows_per_part": 25}
        encode(tmp_path / "in.npy", out, **options)
        report = pipeline.decode(out, tmp_path / "back.parquet", prior=Box(1.0))
        assert report.statuses == {"unique": 60}
        table = pq.read_table(tmp_path / "back.parquet")
        assert np.abs(features(tmp_path / "back.parquet", "array") - x).max() < 1e-3
        assert table["status"].unique().to_pylist() == ["unique"]
        assert pipeline.decode(out, tmp_path / "back.npy").statuses == {"unique": 60}
        assert np.abs(np.load(tmp_path / "back.npy") - x).max() < 1e-3

    def test_missing_rows_stay_missing(self, x, tmp_path):
        bad = x.copy()
        bad[7] = np.nan
        np.save(tmp_path / "in.npy", bad)
        out = tmp_path / "out.parquet"
        options = {"dim": 16, "sigma": 0.02, "on_error": "null"}
        encode(tmp_path / "in.npy", out, **options)
        pipeline.decode(out, tmp_path / "back.parquet")
        column = pq.read_table(tmp_path / "back.parquet")["array"]
        assert np.flatnonzero(column.is_null().to_numpy()).tolist() == [7]
        pipeline.decode(out, tmp_path / "back.npy")
        assert np.isnan(np.load(tmp_path / "back.npy")[7]).all()

    def test_what_cannot_be_inverted_is_refused(self, x, tmp_path):
        np.save(tmp_path / "in.npy", x)
        encode(tmp_path / "in.npy", tmp_path / "bits.parquet", stored="bits", **OPTIONS)
        with pytest.raises(NotInvertibleError, match="uint8-phase"):
            pipeline.decode(tmp_path / "bits.parquet", tmp_path / "back.npy")
        encode(tmp_path / "in.npy", tmp_path / "few.parquet", dim=4, sigma=1.0)
        with pytest.raises(NotInvertibleError, match="D >= 2 d"):
            pipeline.decode(tmp_path / "few.parquet", tmp_path / "back.npy")
        pq.write_table(as_table(x), tmp_path / "plain.parquet")
        with pytest.raises(DataError, match="not made by primal"):
            pipeline.decode(tmp_path / "plain.parquet", tmp_path / "back.npy")
        assert not (tmp_path / "back.npy").exists()


class TestInspect:
    @pytest.mark.parametrize("suffix", ["parquet", "npy"])
    @pytest.mark.parametrize("source", ["in.csv", "in.parquet"])
    def test_a_good_file(self, x, tmp_path, suffix, source):
        write(as_table(x), tmp_path / source)
        out = tmp_path / f"out.{suffix}"
        encode(tmp_path / source, out, columns="x*", on_error="skip", **OPTIONS)
        found = pipeline.inspect(out)
        assert found.healthy
        assert (found.rows, found.parts, found.sampled_rows) == (N, 5, 180)
        m = from_spec(found.spec)
        assert found.regime["kind"] == m.regime(x).kind == "hash"

    @pytest.mark.parametrize("suffix", ["parquet", "npy"])
    def test_one_changed_bit_is_noticed(self, x, tmp_path, suffix):
        np.save(tmp_path / "in.npy", x)
        out = tmp_path / f"out.{suffix}"
        encode(tmp_path / "in.npy", out, dim=16, sigma=0.3)
        data = bytearray(out.read_bytes())
        at = data.index(expected(x)[100].tobytes())
        data[at] ^= 1
        out.write_bytes(data)
        found = pipeline.inspect(out)
        assert (found.wrong_rows, found.healthy) == (1, False)

    def test_another_source_is_refused_and_none_is_said(self, x, tmp_path):
        np.save(tmp_path / "in.npy", x)
        out = tmp_path / "out.parquet"
        encode(tmp_path / "in.npy", out, **OPTIONS)
        (tmp_path / "moved").mkdir()
        (tmp_path / "in.npy").rename(tmp_path / "moved" / "in.npy")
        assert pipeline.inspect(out).sampled_rows == 0
        assert pipeline.inspect(out, source=tmp_path / "moved" / "in.npy").sampled_rows == 180
        np.save(tmp_path / "in.npy", x[:-1])
        with pytest.raises(DataError, match="is not what"):
            pipeline.inspect(out, source=tmp_path / "in.npy")


class TestOptions:
    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"dim": 15}, ParameterError, "even"),
            ({"stored": "float64"}, ParameterError, "uint8-phase"),
            ({"on_error": "ignore"}, ParameterError, "'skip'"),
            ({"shard": (3, 3)}, ParameterError, "from 0 to n - 1"),
            ({"columns": "y"}, DataError, "no column 'y'"),
            ({"columns": ()}, DataError, "say which columns"),
            ({"keep": "y"}, DataError, "no column 'y'"),
            ({"rows_per_part": 0}, ParameterError, "at least 1"),
            ({"engine": "spark"}, ParameterError, "'ray'"),
            ({"shard": (0, 2)}, ParameterError, "without the suffix .parquet"),
            ({"stored": "bits", "sigma": None, "gamma": 1.0, "dim": 9}, ParameterError, "pairs"),
        ],
    )
    def test_bad_ones_leave_nothing_behind(self, x, tmp_path, change, error, message):
        source = write(as_table(x), tmp_path / "in.parquet")
        options = OPTIONS | {"columns": "x*"} | change
        with pytest.raises(error, match=message):
            encode(source, tmp_path / "out.parquet", **options)
        assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]

    def test_where_it_cannot_go(self, x, tmp_path):
        (tmp_path / "in").mkdir()
        source = write(as_table(x), tmp_path / "in" / "in.parquet")
        options = OPTIONS | {"columns": "x*"}
        with pytest.raises(ParameterError, match="lies inside"):
            encode(source.parent, source.parent / "out.parquet", **options)
        with pytest.raises(ParameterError, match="also an input"):
            encode(source, source, overwrite=True, **options)
        with pytest.raises(ParameterError, match=r"end in \.parquet or \.npy"):
            encode(source, tmp_path / "out.txt", **options)
        for engine, said in (
            ("dask", "engine"),
            (pipeline.Ray(num_gpus=1), "with a layer"),
            (pipeline.Ray(num_gpus=-1), "0 or more"),
        ):
            with pytest.raises(ParameterError, match=said):
                encode(source, tmp_path / "out.parquet", engine=engine, **options)
        m = DynamicPrime(D_IN, 16)
        with pytest.raises(ParameterError, match="rename it first"):
            pipeline.encode(source, tmp_path / "out", m, columns="x*", keep="features")
        with pytest.raises(ParameterError, match="keep columns"):
            encode(source, tmp_path / "out.npy", **(options | {"keep": "x1"}))


class TestMatrix:
    def test_values_of_many_types(self):
        batch = pa.record_batch(
            {
                "a": pa.array([1, 2, None], pa.int8()),
                "b": pa.array([True, None, False]),
                "c": pa.array(["1.5", " 2e3 ", "x"]),
                "d": pa.array([1, 2, 3], pa.decimal128(5, 2)),
                "e": pa.array([1.5, 2.5, 3.5], pa.float16()),
                "f": pa.array(["1", "2", "3"]).dictionary_encode(),
            }
        )
        x, problems = matrix(batch, tuple("abcdef"), 6)
        np.testing.assert_array_equal(x[0], [1, 1, 1.5, 1, 1.5, 1])
        np.testing.assert_array_equal(x[1], [2, 0, 2000, 2, 2.5, 2])
        assert problems == [
            Problem(1, "b", "null", "missing"),
            Problem(2, "a", "null", "missing"),
        ]

    def test_integers_that_float64_cannot_hold(self):
        batch = pa.record_batch({"a": pa.array([2**53, 2**53 + 1, -(2**62)])})
        x, problems = matrix(batch, ("a",), 1)
        assert x[0, 0] == 2**53
        assert [(p.row, p.value) for p in problems] == [(1, str(2**53 + 1)), (2, str(-(2**62)))]

    def test_sliced_lists_with_nulls_and_other_lengths(self):
        lists = pa.array([[9.0], [1.0, 2.0], None, [3.0, None], [4.0, 5.0], [6.0, 7.0, 8.0]])
        x, problems = matrix(pa.record_batch({"v": lists.slice(1)}), ("v",), 2)
        np.testing.assert_array_equal(x, [[1, 2], [0, 0], [3, 0], [4, 5], [0, 0]])
        assert [(p.row, p.column, p.reason) for p in problems] == [
            (1, "v", "missing"),
            (2, "v[1]", "missing"),
            (4, "v", "3 values, 2 expected"),
        ]
        fixed = pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float64(), 2)).slice(1)
        x, problems = matrix(pa.record_batch({"v": fixed}), ("v",), 2)
        np.testing.assert_array_equal(x, [[0, 0], [3, 4]])
        assert [p.row for p in problems] == [0]


def test_gamma_of_files_one_of_which_has_other_columns(tmp_path):
    pq.write_table(pa.table({"v": [0.0, 2.0], "w": [4.0, 2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"v": [[0.0, 1.0]], "w": [1.0]}), tmp_path / "b.parquet")
    assert pipeline.scale_gamma(tmp_path, columns=["v", "w"], on_error="skip") == 0.25
    with pytest.raises(DataError, match=r"b\.parquet: column 'v' has the type list"):
        pipeline.scale_gamma(tmp_path, columns=["v", "w"])
    with pytest.raises(ParameterError, match="on_error must be one of"):
        pipeline.scale_gamma(tmp_path, columns=["v", "w"], on_error="ignore")
