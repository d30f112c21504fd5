"""Two processes: training with sharded parameters works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="PyTorch was built without torch.distributed"
)

WORKER = Path(__file__).parents[1] / "support" / "torch_parallel_worker.py"


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """What both ranks found; processes of their own, because a group lives with its process."""
    meeting = tmp_path_factory.mktemp("group") / "store"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(WORKER), str(rank), str(meeting)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    found = []
    try:
        for rank in ranks:
            output, errors = rank.communicate(timeout=120)
            assert rank.returncode == 0, errors
            found.append(json.loads(output.splitlines()[-1]))
    finally:
        for rank in ranks:  # one that waits for a rank that failed
            rank.kill()
            rank.communicate()
    return found


def test_two_ranks(reports):
    for report in reports:
        assert all(report.values()), report
