"""On Ray the bytes are those of one machine, also when a node is lost."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from primal import DynamicPrime, pipeline
from primal.errors import MissingPackageError


@pytest.fixture(scope="module")
def result():
    """What ``pipeline_ray_worker.py`` found out: one cluster for all tests, since it is slow."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'primal-features[ray]'")
    pytest.importorskip("torch", reason="some workers have a layer")
    script = Path(__file__).parents[1] / "support" / "pipeline_ray_worker.py"
    # A cluster that hangs is a failure too.
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])  # Ray prints what it thinks of a lost node


def test_two_workers_one_of_them_killed(result):
    found = result["one_killed"]
    assert found["same_bytes"], found
    assert found["same_rejected"]
    assert found["rows"] == 36_000 - 2
    assert not found["left_connected"]
    # The worker had begun runs of blocks, some were left to begin, and some were begun again.
    assert found["runs"] == 16
    assert found["begun_by_the_victim"] >= 1
    assert found["begun_before_the_kill"] < 16, found
    assert found["begun"] > 16, found


def test_the_first_error_is_that_of_one_machine(result):
    found = result["first_error"]
    here, there, elsewhere = found["said"]
    assert "a.parquet: row 29997, column 'x2' holds 'nan'" in here
    assert there == here
    assert "connected to the Ray cluster at" in elsewhere
    assert found["left"] == []
    assert found["processors"] == 1.0  # and one was enough


def test_an_interrupted_run_resumes_there(result):
    found = result["resumes"]
    assert found.pop("resumed_rows") >= 7500
    assert found == {"same_bytes": True, "left_connected": True}


def test_paths_begin_where_the_caller_is(result):
    assert result["other_folder"] == {"rows": 36_000 - 2, "rejected": 2}


def test_shards_are_merged(result):
    assert result["shards"] == {"same_bytes": True}


def test_command_line_prints_json_and_nothing_else(result):
    found = result["command_line"]
    assert found["same_bytes"]
    assert json.loads(found["stdout"])["rows"] == 36_000 - 2
    assert found["stdout"].count("\n") == 1
    assert "Traceback" not in found["stderr"]


def test_no_cluster_no_gpu(result):
    assert result["no_cluster"].startswith("no Ray cluster at '127.0.0.1:9': ")
    assert result["no_cluster"].endswith("it resumes where it stopped.")  # and nothing is left
    assert result["seconds"]["no_cluster"] < 10
    pytest.importorskip("torch")
    wanted = "no node of the Ray cluster has what a worker asks for, 1 processor and 2 GPUs."
    assert result["no_gpu"].startswith(wanted)


def test_workers_with_a_gpu_use_it(result):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU: tests/gpu/pipeline.py --ray")
    assert result["a_gpu_on_paper"].startswith("engine with device 'cuda' cannot be used: ")


def test_without_ray_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    np.save(tmp_path / "in.npy", np.ones((3, 2)))
    m = DynamicPrime(2, 4)
    with pytest.raises(MissingPackageError, match=r"primal-features\[ray\]"):
        pipeline.encode(tmp_path / "in.npy", tmp_path / "out.npy", m, engine="ray")
    assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]
