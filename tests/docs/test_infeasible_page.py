"""docs/infeasible.md says what is measured."""

import re
from pathlib import Path

import pytest

from support.nearest_points import COLUMNS, METHODS, NOT_DONE, outcome, rows

PAGE = (Path(__file__).parents[2] / "docs" / "infeasible.md").read_text(encoding="utf-8")
_SHORT = {"landing-newton-normal": "-normal"}


def _table(heading: str) -> list[list[str]]:
    """The cells of the table that begins with the heading."""
    lines = PAGE[PAGE.index(f"| {heading} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("row", rows())
def test_the_table_of_evaluations_is_what_is_measured(row):
    """To a factor of two; kernels round differently, and hundreds may be four times as many."""
    heading, _, *body = _table("problem")
    assert heading[1:] == [_SHORT.get(name, name) for name in COLUMNS]
    assert [line[0] for line in body] == list(rows())
    (cells,) = (line[1:] for line in body if line[0] == row)
    wrong = {}
    for name, cell in zip(COLUMNS, cells, strict=True):
        found = outcome(row, name)
        if cell == NOT_DONE:
            fits = found == NOT_DONE
        elif int(cell) < 400:
            fits = found != NOT_DONE and int(cell) / 2 <= int(found) <= 2 * int(cell)
        else:
            fits = found == NOT_DONE or int(found) >= int(cell) / 4
        if not fits:
            wrong[name] = (cell, found)
    assert wrong == {}


def test_the_page_says_where_each_method_fails_and_why():
    _, _, *body = _table("method")
    named = [name for cells in body for name in re.findall(r"`([^`]+)`", cells[0])]
    assert sorted(named) == sorted(METHODS)
    assert all(len(cells) == 3 and all(cells) for cells in body)
