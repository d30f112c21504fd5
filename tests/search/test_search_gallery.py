"""The retrieval example runs, and the page prints what it measured."""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
DOCS = Path(__file__).parents[2] / "docs"
if not DOCS.exists():
    pytest.skip("the documentation is not part of this installation", allow_module_level=True)
sys.path.insert(0, str(DOCS / "gallery"))


@pytest.fixture(scope="module")
def script():
    return importlib.import_module("retrieval")


@pytest.fixture(scope="module")
def results():
    return json.loads((DOCS / "gallery" / "retrieval.json").read_text(encoding="utf-8"))


def test_it_draws(script, tmp_path):
    script.draw(tmp_path / "picture.png", quick=True)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_prints_the_stored_tables(results):
    page = (DOCS / "search.md").read_text(encoding="utf-8")
    printed = re.findall(r"^\| (.+) \| (\d+) \| (0\.\d+|1\.000) \| (.+) \| (.+) \|$", page, re.M)
    measured = [
        (
            row["stored"],
            str(row["bytes"]),
            f"{row['recall@1']:.3f}",
            f"{row['recall@10']:.3f}",
            f"{row['ms']:.2f}",
        )
        for result in results.values()
        for row in result["table"]
    ]
    assert printed == measured


def test_stored_recalls_are_measured_again(script, results):
    data = script.digits()
    truth = script.nearest_by_distance(*data)
    stored = results["digits"]["curves"]
    place = results["digits"]["sizes"].index(256)
    for basis in ("kronecker", "orthogonal"):
        found = script.recall(script.prime_bits(data, 256, basis), truth, 10)
        assert found == stored[f"PrimeFeatures bits, {basis}"][place]
    seeds = [script.recall(script.sign_projections(data, 256, s), truth, 10) for s in range(3)]
    assert sum(seeds) / 3 == pytest.approx(stored["sign random projections"][place], abs=1e-3)


def test_true_neighbours_are_found_in_the_raw_vectors(script):
    rows, queries = script.digits()
    found = script.nearest_by_distance(rows, queries[:5])
    for query, nearest in zip(queries, found, strict=False):
        distances = ((rows - query) ** 2).sum(axis=1)
        assert distances[nearest].tolist() == sorted(distances)[:10]
    assert script.recall(found, found[:, ::-1], 10) == 1.0
    assert script.recall(found, found[:, ::-1], 1) == 0.0


def test_what_the_page_concludes(results):
    for result in results.values():
        curves = result["curves"]
        ours, plain = curves["PrimeFeatures bits, orthogonal"], curves["random Fourier bits"]
        assert sum(ours) > sum(plain)
        assert curves["sign random projections"][0] > ours[0]  # at eight bytes
        rows = {row["stored"]: row for row in result["table"]}
        phases, waves = rows["uint8-phase, D = 1024"], rows["float32, D = 1024"]
        assert phases["recall@10"] >= waves["recall@10"] - 0.002
        assert rows["raw uint8"]["recall@10"] > 0.99
