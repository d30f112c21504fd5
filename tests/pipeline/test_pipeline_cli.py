"""The commands encode, decode, inspect and merge."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

import primal
from primal.cli._encode import encode
from primal.cli._outputs import decode, inspect, merge
from primal.errors import MissingPackageError, ParameterError

IN = ["in.parquet", "o.npy", "--columns", "u,w", "--dim", 8]


def run(command, *arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def ok(command, *arguments):
    result = run(command, *arguments)
    assert result.exit_code == 0, repr(result.exception)
    return result.output


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).uniform(-1, 1, (100, 3))
    x[40, 1] = np.nan
    table = pa.table({"u": x[:, 0], "v": x[:, 1], "w": x[:, 2], "id": np.arange(100)})
    pq.write_table(table, "in.parquet")
    return table


def test_from_encode_to_decode(source):
    options = ["--columns", "u,v,w", "--keep", "id", "--dim", 16, "--on-error", "skip"]
    said = ok(encode, "in.parquet", "out.parquet", *options, "--sigma", 0.05)
    assert "wrote out.parquet: 99 rows" in said
    assert "1 rejected, see out.parquet.rejected.csv" in said
    again = ok(encode, "in.parquet", "out.parquet", *options, "--sigma", 0.05)
    assert "already complete: 99 rows" in again
    said = ok(inspect, "out.parquet")
    assert "99 rows encoded again: all bits equal" in said
    assert "regime       manifold" in said
    found = json.loads(ok(inspect, "out.parquet", "--json", "--verify", "in.parquet"))
    assert (found["rows"], found["healthy"], found["spec"]["d"]) == (99, True, 3)
    assert "99 rows" in (said := ok(decode, "out.parquet", "back.parquet"))
    assert said.splitlines()[1].split() == ["unique", "99"]
    back = pq.read_table("back.parquet")
    kept = [i for i in range(100) if i != 40]
    assert back["id"].to_pylist() == kept
    difference = back["w"].to_numpy() - source["w"].to_numpy()[kept]
    assert np.abs(difference).max() < 1e-5


@pytest.mark.parametrize(
    "prior", [("--box", 1), ("--gaussian", "0,0.6"), ("--integers", "0.0078125,-128,128")]
)
def test_exact_decoding_with_each_prior(source, prior):
    x = np.random.default_rng(1).integers(-128, 129, (50, 3)) / 128.0
    np.save("grid.npy", x)
    ok(encode, "grid.npy", "out.parquet", "--dim", 32, "--sigma", 2, "--basis", "paper")
    said = json.loads(ok(decode, "out.parquet", "back.parquet", *prior, "--json"))
    assert said["statuses"] == {"unique": 50}
    found = pq.read_table("back.parquet")["array"].combine_chunks().flatten().to_numpy()
    assert np.abs(found.reshape(-1, 3) - x).max() < 1e-4


def test_shards_and_merge(source):
    options = ["--columns", "[uw]", "--dim", 8, "--fit", "--rows-per-part", 10, "--quiet"]
    report = json.loads(ok(encode, "in.parquet", "whole.npy", *options, "--json"))
    assert report["gamma"] == pytest.approx(
        1 / (2 * np.var([source["u"].to_numpy(), source["w"].to_numpy()]))
    )
    for i in range(3):
        ok(encode, "in.parquet", "shards", *options, "--shard", f"{i}/3")
        if i < 2:
            result = run(merge, "shards")
            assert isinstance(result.exception, ParameterError)
            assert "is not complete" in str(result.exception)
    assert ok(merge, "shards") == "shards is complete: 100 rows\n"
    assert json.loads(ok(merge, "shards", "all.npy", "--json"))["rows"] == 100
    np.testing.assert_array_equal(np.load("all.npy"), np.load("whole.npy"))


def test_a_method_makes_features_with_weights(source):
    options = ["--dim", 64, "--columns", "u,w", "--method", "auto"]
    ok(encode, "in.parquet", "o.npy", "--gamma", "scale", *options)
    found = json.loads(ok(inspect, "o.npy", "--json"))
    assert (found["healthy"], found["spec"]["method"]) == (True, "lattice")
    x = np.column_stack([source["u"].to_numpy(), source["w"].to_numpy()])
    m = primal.KernelPrime(2, 64, gamma=found["spec"]["gamma"], method="auto")
    np.testing.assert_array_equal(np.load("o.npy"), m.encode(x))


def test_a_damaged_file_has_exit_status_1(source):
    ok(encode, "in.parquet", "out.npy", "--columns", "u,w", "--dim", 8, "--sigma", 0.1)
    values = np.load("out.npy")
    values[5, 5] += 0.5
    np.save("out.npy", values)
    result = run(inspect, "out.npy")
    assert result.exit_code == 1
    assert "1 rows DIFFER" in result.output


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (encode, [*IN, "--gamma", "big"], "number or 'scale'"),
        (encode, [*IN, "--gamma", "1", "--fit"], "leave out"),
        (encode, IN, "either --sigma"),
        (encode, [*IN, "--gamma", "1", "--sigma", "1"], "either --sigma"),
        (encode, [*IN, "--sigma", "1", "--kernel", "cauchy"], "--kernel and --method go"),
        (encode, [*IN, "--sigma", "1", "--method", "auto"], "--kernel and --method go"),
        (encode, [*IN, "--gamma", "1", "--method", "lattice", "--basis", "table"], "leave out"),
        (encode, [*IN, "--sigma", "1", "--num-gpus", "1"], "for --engine ray"),
        (
            encode,
            [*IN, "--sigma", "1", "--engine", "ray", "--device", "cuda"],
            "--num-gpus instead",
        ),
        (decode, ["in.parquet", "o.npy", "--box", "1,2"], "one number"),
        (decode, ["in.parquet", "o.npy", "--box", "1", "--gaussian", "0,1"], "one prior only"),
    ],
)
def test_options_that_do_not_fit(source, command, arguments, message):
    result = run(command, *arguments)
    assert isinstance(result.exception, ParameterError)
    assert message in str(result.exception)


def test_a_shard_must_be_two_numbers(source):
    result = run(encode, "in.parquet", "o.npy", "--dim", 8, "--sigma", 1, "--shard", "3")
    assert result.exit_code == 2
    assert "0/7" in result.output


def test_without_pyarrow_the_extra_is_named(source, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("primal.pipeline")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("primal.pipeline", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = run(encode, "in.parquet", "o.npy", "--dim", 8, "--sigma", 1)
    assert isinstance(result.exception, MissingPackageError)
    assert "primal-features[data]" in str(result.exception)


@pytest.mark.parametrize("verb", [encode, decode])
def test_an_interrupt_says_that_nothing_is_lost(source, monkeypatch, verb):
    options = ["--columns", "u,w", "--dim", 16, "--sigma", 0.05]
    ok(encode, "in.parquet", "out.parquet", *options)

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("primal.pipeline._job.write_file", interrupt)
    more = options if verb is encode else []
    result = run(verb, "out.parquet" if verb is not encode else "in.parquet", "new.parquet", *more)
    assert result.exit_code == 1
    assert "the same command resumes from here" in result.stderr
