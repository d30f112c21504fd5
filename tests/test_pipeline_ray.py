"""On Ray the bytes are those of one machine, also when a node is lost."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from primal import MissingPackageError, pipeline


def test_two_nodes_one_of_them_killed():
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'primal-features[ray]'")
    script = Path(__file__).with_name("pipeline_ray_worker.py")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["same_bytes"]
    assert result["same_rejected"]
    assert result["rows"] == 21_000 - 2
    before, after = result["blocks_before_and_after_the_kill"]
    assert before >= 12
    assert after >= 20
    assert "a.parquet: row 14997, column 'x2' holds 'nan'" in result["refusal"]
    assert "Traceback" not in result["refusal"]


def test_without_ray_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    np.save(tmp_path / "in.npy", np.ones((3, 2)))
    with pytest.raises(MissingPackageError, match=r"primal-features\[ray\]"):
        pipeline.encode(tmp_path / "in.npy", tmp_path / "out.npy", dim=4, sigma=1.0, engine="ray")
    assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]
