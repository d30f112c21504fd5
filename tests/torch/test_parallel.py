"""Two processes: every rank builds its own frequencies, and sharded training works."""

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
SCENARIOS = ("split", "learned", "sharded")


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


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_two_ranks(reports, scenario):
    for report in reports:
        assert all(report[scenario].values()), report[scenario]


def test_a_split_layer_cannot_grow():
    from primal.errors import ParameterError
    from primal.torch import DynamicPrime, StaticPrime

    for layer in (DynamicPrime(2, 8), StaticPrime(8)):
        layer.keep_frequencies(1, 3)
        with pytest.raises(ParameterError, match="grow it before"):
            layer.grow(16)


@pytest.mark.parametrize("learnable_scale", ["scalar", "input", "frequency"])
def test_a_part_keeps_what_was_learned(learnable_scale):
    from primal.torch import DynamicPrime

    options = {"learnable_scale": learnable_scale, "learnable_frequencies": True}
    layer = DynamicPrime(3, 12, 0.3, basis="auto", precision="fast", **options)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.rand(parameter.shape, generator=torch.Generator().manual_seed(0)))
    layer.scale.requires_grad_(False)
    x = torch.rand(5, 3, generator=torch.Generator().manual_seed(1))
    expected = layer(x).detach()
    layer.keep_frequencies(1, 5)
    layer.keep_frequencies(1, 3)  # of those that are left
    assert layer.frequency_range == (2, 4)
    assert torch.equal(layer(x), expected[:, [2, 3, 8, 9]])
    assert not layer.scale.requires_grad


def test_a_part_lies_within_the_whole():
    from primal.errors import ParameterError
    from primal.torch import DynamicPrime, StaticPrime

    for layer in (DynamicPrime(2, 8), StaticPrime(8)):
        for first, last in ((3, 9), (3, 2), (-1, 2)):
            with pytest.raises(ParameterError, match=r"(last|first) must be"):
                layer.keep_frequencies(first, last)
        assert layer.frequency_range == (0, 4)
