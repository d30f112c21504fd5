"""Decoding of stored features: a verdict on every row, and no wrong row without a word."""

import json
import warnings
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow.parquet as pq
from click.testing import CliRunner
from pipeline_helpers import encode

from primal import DynamicPrime, KernelPrime, pipeline
from primal.cli._encode import encode as encode_command
from primal.cli._outputs import decode as decode_command
from primal.decoding import Box, measure_regime
from primal.errors import ConditioningWarning, PhaseWrapWarning, SpecError
from primal.pipeline._record import UNKNOWN, Extent, Part, Record, read_record

# How far a decoded x may be from the true one, times the scale of x.
TOLERANCES = {"float32": 1e-5, "float16": 0.02, "uint16-phase": 1e-3, "uint8-phase": 0.3}


def normal(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def joined_extent(extents):
    records = [Record({}, "", (Part(0, n, 1, False, 0),), one) for n, one in enumerate(extents)]
    return Record.joined(records).extent


def run(command, *arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def encoded(x, name="out.parquet", **options):
    np.save("in.npy", x)
    encode("in.npy", name, overwrite=True, **options)
    return name


def change_record(name, change):
    """Change the record of a .npy output."""
    path = Path(f"{name}.manifest.json")
    manifest = json.loads(path.read_text())
    change(manifest["record"])
    path.write_text(json.dumps(manifest))


def read(name, d):
    """Return x and status of a decoded Parquet file."""
    table = pq.read_table(name)
    column = table["array"].combine_chunks()
    values = column if d == 1 else column.flatten()
    return values.to_numpy().reshape(-1, d), np.array(table["status"].to_pylist())


def test_the_beam_is_left_to_the_plan():
    # Rounding alone fails one row in twelve here; from every door the plan keeps more.
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 20))
    np.save("in.npy", x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        m = DynamicPrime(20, 88, sigma=100.0)
    pipeline.encode("in.npy", "out.npy", m, stored="uint8-phase")
    assert pipeline.decode("out.npy", "back.npy", prior=Box(1.0)).statuses == {"unique": 300}
    said = run(decode_command, "out.npy", "again.npy", "--box", 1, "--json")
    assert json.loads(said.stdout)["statuses"] == {"unique": 300}
    with pytest.warns(PhaseWrapWarning):
        assert pipeline.decode("out.npy", "one.npy", prior=Box(1.0), beam=1).doubtful > 10


@pytest.mark.parametrize("prior", [None, Box(2.0)])
def test_phases_of_weighted_features_are_decoded(prior):
    x = normal(50, 3).clip(-2.0, 2.0)
    np.save("in.npy", x)
    m = KernelPrime(3, 64, gamma=0.5, method="lattice")
    assert m.regime(x).kind == "hash"
    pipeline.encode("in.npy", "out.npy", m, stored="uint16-phase")
    assert pipeline.decode("out.npy", "back.npy", prior=prior).statuses == {"unique": 50}
    assert np.abs(np.load("back.npy") - x).max() < 1e-3


class TestCommand:
    def test_after_a_fit_every_row_is_right(self):
        x = normal(1000, 3)
        np.save("in.npy", x)
        assert (
            run(encode_command, "in.npy", "out.parquet", "--dim", 64, "--gamma", "scale").exit_code
            == 0
        )
        result = run(decode_command, "out.parquet", "back.npy", "--json")
        assert result.exit_code == 0
        said = json.loads(result.stdout)
        assert (said["statuses"], said["doubtful"]) == ({"unique": 1000}, 0)
        assert np.abs(np.load("back.npy") - x).max() < 1e-6

    @pytest.mark.parametrize("dtype", TOLERANCES)
    @pytest.mark.parametrize("sigma", [0.02, 0.1, 0.5, 5.0])
    @pytest.mark.parametrize(("d", "D"), [(1, 2), (3, 6), (3, 8), (3, 32), (8, 64)])
    def test_exit_status_0_means_that_every_row_is_right(self, d, D, sigma, dtype):
        x = normal(60, d, seed=1)
        encoded(x, dim=D, sigma=sigma, stored=dtype)
        result = run(decode_command, "out.parquet", "back.parquet")
        values, status = read("back.parquet", d)
        scale = max(1.0, 0.02 / sigma)
        unique = status == "unique"
        assert (np.abs(values - x).max(axis=1)[unique] < scale * TOLERANCES[dtype]).all()
        assert result.exit_code == (0 if unique.all() else 1)
        assert np.isnan(values[status == "failed"]).all()
        assert ("not known for certain" in result.stderr) == (not unique.all())
        again = run(decode_command, "out.parquet", "back.parquet")
        assert "already complete" in again.stdout
        assert again.exit_code == result.exit_code

    def test_without_redundancy_wrapped_rows_are_ambiguous(self):
        encoded(normal(60, 3), dim=6, sigma=0.5)
        result = run(decode_command, "out.parquet", "back.npy", "--json")
        assert result.exit_code == 1
        assert json.loads(result.stdout)["doubtful"] == 60
        assert "60 of 60 rows are not known for certain (60 ambiguous, 0 failed)" in result.stderr
        assert np.isnan(np.load("back.npy")).all()

    def test_a_prior_that_tells_more_is_taken(self):
        x = np.random.default_rng(0).integers(0, 4, (60, 3)) * 1.0
        encoded(x, dim=6, sigma=0.5)
        assert run(decode_command, "out.parquet", "a.parquet").exit_code == 1
        result = run(decode_command, "out.parquet", "b.npy", "--integers", "1,0,3")
        assert result.exit_code == 0
        np.testing.assert_array_equal(np.load("b.npy"), x)


class TestWhatIsNoted:
    def test_rows_that_do_not_wrap_although_their_range_would(self):
        x = normal(300, 64)
        sigma = 0.4 / DynamicPrime(64, 128, basis="auto").regime(x).peak_turns
        m = DynamicPrime(64, 128, sigma, basis="auto")
        assert m.regime(x).kind == "manifold"
        assert m.bound < np.abs(x).max()  # some x of that size wraps
        encoded(x, dim=128, sigma=sigma)
        # As many phases as inputs: no decoder could tell from the features.
        assert pipeline.decode("out.parquet", "back.npy").statuses == {"unique": 300}
        assert np.abs(np.load("back.npy") - x).max() < 1e-5

    @pytest.mark.parametrize("row", [0, 15, 16, 5000, 8999])
    def test_one_row_that_wraps_is_seen(self, row):
        basis = DynamicPrime(4, 16, 0.01, basis="auto").basis
        x = normal(9000, 4)
        assert measure_regime(basis, [x]).kind == "manifold"
        extent = Extent.of(x, basis.frequencies)
        assert (extent.low, extent.high) == (tuple(x.min(axis=0)), tuple(x.max(axis=0)))
        assert not extent.wraps
        x[row] *= 1e3
        assert Extent.of(x, basis.frequencies).wraps

    @pytest.mark.parametrize("scale", [1e-90, 1e-38, 1.0, 1e90])
    @pytest.mark.parametrize(("peak", "wraps"), [(0.4999, False), (0.5001, True), (3.0, True)])
    def test_at_any_scale(self, scale, peak, wraps):
        x = normal(500, 8)
        sigma = peak / DynamicPrime(8, 32, basis="auto").regime(x).peak_turns
        m = DynamicPrime(8, 32, sigma / scale, basis="auto")
        x *= scale
        assert m.regime(x).kind == ("hash" if wraps else "manifold")
        assert Extent.of(x, m.basis.frequencies).wraps == wraps

    def test_no_rows_have_no_extent(self):
        basis = DynamicPrime(4, 16, 0.01, basis="auto").basis
        assert Extent.of(np.empty((0, 4)), basis.frequencies) is None
        assert joined_extent([None, None]) is None
        encoded(np.full((5, 3), np.nan), dim=8, sigma=0.1, on_error="null")
        assert pipeline.decode("out.parquet", "back.npy").statuses == {"missing": 5}

    def test_null_rows_do_not_count(self):
        x = normal(50, 3) + 10.0
        x[7] = np.nan
        encoded(x, dim=8, sigma=0.001, on_error="null")
        extent = read_record(Path("out.parquet")).extent
        assert (extent.low, extent.high) == (tuple(np.nanmin(x, 0)), tuple(np.nanmax(x, 0)))

    def test_joined_in_any_order(self):
        a, b = Extent((0.0, -1.0), (1.0, 1.0), False), Extent((-2.0, 0.0), (0.5, 3.0), True)
        joined = Extent((-2.0, -1.0), (1.0, 3.0), True)
        assert joined_extent([a, None, b]) == joined_extent([b, a]) == joined
        assert joined_extent([a, UNKNOWN, b]) == UNKNOWN
        assert Extent.from_json(json.loads(json.dumps(astuple(joined)))) == joined

    def test_shards_that_wrap_and_do_not(self):
        x = normal(200, 3)
        x[100:] *= 20.0
        np.save("in.npy", x)
        options = {"dim": 32, "sigma": 0.02, "rows_per_part": 100}
        for i in range(2):
            encode("in.npy", "all", shard=(i, 2), **options)
        assert pipeline.decode("all", "back.npy").statuses == {"unique": 200}
        assert np.abs(np.load("back.npy") - x).max() < 1e-5

    def test_an_output_that_recorded_nothing(self):
        x = normal(50, 3)
        encoded(x, "out.npy", dim=16, sigma=0.02)
        change_record("out.npy", lambda record: record.pop("extent"))
        with pytest.warns(PhaseWrapWarning, match="50 ambiguous, 0 failed"):
            pipeline.decode("out.npy", "back.parquet")
        assert np.abs(read("back.parquet", 3)[0] - x).max() < 1e-5
        pipeline.decode("out.npy", "sure.npy", prior=Box(4.0))
        assert np.abs(np.load("sure.npy") - x).max() < 1e-5

    def test_a_range_of_another_map_is_refused(self):
        encoded(normal(50, 3), "out.npy", dim=16, sigma=0.02)
        change_record("out.npy", lambda record: record.update(extent=[[0.0], [1.0], False]))
        with pytest.raises(SpecError, match="not one of 3 inputs"):
            pipeline.decode("out.npy", "back.npy")

    def test_constant_columns(self):
        x = normal(50, 3)
        x[:, 0], x[:, 1] = 0.0, 1e6
        encoded(x, dim=64, sigma=0.5)
        assert pipeline.decode("out.parquet", "back.npy").statuses == {"unique": 50}
        assert np.abs(np.load("back.npy") - x).max() < 1e-5


class TestVerification:
    @pytest.mark.parametrize("dtype", TOLERANCES)
    def test_damaged_rows_fail_and_others_do_not(self, dtype):
        x = normal(50, 3)
        encoded(x, "out.npy", dim=32, sigma=0.02, stored=dtype)
        features = np.load("out.npy", mmap_mode="r+")
        features[7] = 0
        features[20] = features[20, ::-1].copy()
        if "float" in dtype:
            features[30, 5] += features.dtype.type(0.7)
        else:  # half a turn
            features[30, 5] ^= features.dtype.type(1 << (8 * features.itemsize - 1))
        features.flush()
        with pytest.warns(PhaseWrapWarning, match="0 ambiguous, 2 failed|0 ambiguous, 3 failed"):
            report = pipeline.decode("out.npy", "back.parquet")
        _, status = read("back.parquet", 3)
        # Phases that are all zero are those of x = 0.
        wrong = [7, 20, 30] if "float" in dtype else [20, 30]
        assert np.flatnonzero(status == "failed").tolist() == wrong
        assert report.statuses == {"unique": 50 - len(wrong), "failed": len(wrong)}

    def test_a_row_outside_of_the_range_fails(self):
        x = normal(50, 3).clip(-1.0, 1.0)
        encoded(x, "out.npy", dim=32, sigma=0.02)
        features = np.load("out.npy", mmap_mode="r+")
        m = DynamicPrime(3, 32, 0.02, basis="auto", layout="interleaved")
        features[7] = m.encode([0.0, 1.5, 0.0])
        features.flush()
        with pytest.warns(PhaseWrapWarning, match="0 ambiguous, 1 failed"):
            pipeline.decode("out.npy", "back.parquet")
        assert read("back.parquet", 3)[1][7] == "failed"

    def test_a_costly_set_up_is_made_only_when_asked_for(self, monkeypatch):
        x = normal(20, 129)
        x[0] *= 100.0
        encoded(x, dim=300, sigma=0.002)

        def costly(*_, **__):
            pytest.fail("was set up")

        monkeypatch.setattr(DynamicPrime, "decode_plan", costly)
        with pytest.warns(PhaseWrapWarning, match="19 ambiguous, 1 failed"):
            pipeline.decode("out.parquet", "back.parquet")
