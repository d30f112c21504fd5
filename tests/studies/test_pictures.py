"""Pictures have one style: one place draws them, and labels beside curves do not overlap."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

from primal_studies._pictures import COLORS, PALETTE, label_ends, picture

ROOT = Path(__file__).parents[2]
# Figures on positions, and what the page draws inside its own style.
ELSEWHERE = ("primal_studies/_pictures.py", "training/_figures.py", "paper/_figures.py")


def scripts() -> list[Path]:
    folders = ("src", "studies/src", "docs/gallery")
    return [
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.as_posix().endswith(ELSEWHERE)
    ]


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="not a checkout")
def test_nobody_draws_in_a_style_of_his_own():
    own = re.compile(r"tab:|tab10|tab20|\.savefig\(|rcParams|pyplot")
    assert len(scripts()) > 200
    found = [path.name for path in scripts() if own.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_every_color_has_a_partner_for_dark_pages():
    DARK = pytest.importorskip("primal_studies.paper._figures").DARK
    assert {color.lower() for color in (*PALETTE, *COLORS.values())} <= {*map(str.lower, DARK)}


def test_labels_beside_curves_do_not_overlap(tmp_path):
    pytest.importorskip("matplotlib")
    with picture(tmp_path / "new" / "curves.png", (4, 3)) as figure:
        axis = figure.subplots()
        for place, end in enumerate((1.0, 1.0, 1.01, 5.0, 9.0, 9.0)):
            axis.plot([0, 1], [3, end], label=f"curve {place}")
        axis.errorbar([0, 1], [3, 5.0], 0.1, label="with bars")
        axis.plot([0, 1], [2, 2])  # without a label
        label_ends(axis)
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in axis.texts]
        assert [text.get_text() for text in axis.texts][-1] == "with bars"
        assert len(boxes) == 7
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
        assert all(box.x0 > axis.get_window_extent().x1 for box in boxes)
    assert (tmp_path / "new" / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_fails_is_not_written(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(ZeroDivisionError), picture(tmp_path / "a.png", (2, 2)):
        _ = 1 / 0
    assert not list(tmp_path.iterdir())
