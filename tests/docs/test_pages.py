"""What pages claim, and how they are written: figures of the records, lines of at most 100."""

from __future__ import annotations

import math
import re
import runpy
import statistics
from pathlib import Path
from typing import Any

import pytest

from genorth import compare

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
#: Written by a program, or by the helpers of the comparison.
_MADE = ("mutants.md", "comparison.md", "api/compare.md", "api/paper_repro.md")
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *(
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if not re.match(
            "(_build|gallery|instances|results)/", path.relative_to(ROOT / "docs").as_posix()
        )
        and path.relative_to(ROOT / "docs").as_posix() not in _MADE
    ),
]


@pytest.fixture(scope="module")
def overview() -> dict[str, Any]:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'genorth[report]'")
    return runpy.run_path(str(ROOT / "docs" / "_ext" / "overview.py"))


@pytest.fixture(scope="module")
def records(overview: dict[str, Any]) -> Any:
    return overview["load"]()


def test_the_figures_of_readme_are_those_of_the_records(
    overview: dict[str, Any], records: Any
) -> None:
    rows = overview["by_family"](records)
    won = [row for row in rows if row.value > 1]
    median = statistics.median(row.value for row in rows if not row.more)
    text = " ".join(README.split())
    assert f"Riemannian solvers win {len(won)} of the {len(rows)} rows" in text
    assert f"{median:.1f}x faster in the median" in text
    expensive = [
        row for row in rows if row.problem.partition(":")[0] in ("Table 5", "Table 6", "Table 7")
    ]
    lost = [row for row in expensive if row.value <= 1]
    assert f"penalty methods win {len(lost)} of {len(expensive)} rows" in text
    gain = max(row.value for row in overview["by_geometry"](records) if not row.more)
    assert f"up to {gain:.0f} times faster than RGD" in text


def test_the_plot_shows_every_row(overview: dict[str, Any], records: Any) -> None:
    left, right = overview["figure"](records).axes
    for axes, found in ((left, "by_family"), (right, "by_geometry")):
        drawn = [x for line in axes.lines for x in line.get_xdata() if line.get_marker() in "oD>"]
        ratios = [row.value for row in overview[found](records)]
        assert sorted(drawn) == sorted(ratios)
        assert all(math.isfinite(ratio) and ratio > 0 for ratio in ratios)


@pytest.fixture(scope="module")
def stochastic() -> dict[str, Any]:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'genorth[report]'")
    return runpy.run_path(str(ROOT / "docs" / "_ext" / "stochastic.py"))


def test_the_table_of_training_is_that_of_the_records(stochastic: dict[str, Any]) -> None:
    records = compare.load(stochastic["RECORDS"])
    page = (ROOT / "docs" / "pytorch.md").read_text("utf-8")
    assert stochastic["table"](records) in page
    failed = sum(not record.success for record in records)
    assert f"{failed} of the {len(records)} runs" in " ".join(page.split())


def test_the_plot_is_small_and_needs_no_network() -> None:
    assert (ROOT / "docs" / "_static" / "stochastic.png").stat().st_size < 60_000
    drawing = (ROOT / "docs" / "_static" / "overview.svg").read_text("utf-8")
    assert len(drawing) < 60_000
    assert not re.search(r"(href|src)=.https?:", drawing)


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_lines_have_at_most_100_characters(page: Path) -> None:
    """Rows of tables aside, and the commands that other programs read from README."""
    long = [
        f"{number}: {line[:60]}"
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1)
        if len(line) > 100 and not line.startswith(("|", "python3 -m venv"))
    ]
    assert not long
