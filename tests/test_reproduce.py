"""The paper's experiments that are here so far."""

import csv
import json

from click.testing import CliRunner

from primal.cli import cli


def test_figures_and_their_known_values(tmp_path):
    result = CliRunner().invoke(cli, ["reproduce", "--out", str(tmp_path / "new"), "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    cells = {(row["N"], row["D"]): row for row in report["welch-ratio"]}
    assert len(cells) == 43
    # Measured independently in exact arithmetic.
    assert round(cells[1000, 64]["ratio"], 2) == 3.53
    assert (cells[10_000, 1024]["lag"], round(cells[10_000, 1024]["ratio"], 2)) == (3211, 4.28)
    errors = {
        (row["shape"], row["sigma"], row["D"]): row["mse"] for row in report["reconstruction"]
    }
    assert errors["spiral", 0.007, 4] < 1e-10
    assert errors["circles", 0.007, 4] < 1e-10
    assert errors["spiral", 1.0, 4] > 70
    with (tmp_path / "new" / "welch-ratio.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 43
    assert not list((tmp_path / "new").glob("*.part"))


def test_one_experiment_as_a_table(tmp_path):
    arguments = ["reproduce", "--only", "reconstruction", "--out", str(tmp_path)]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert "fraction_wrapped" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["reconstruction.csv"]
