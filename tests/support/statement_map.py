"""The page docs/statements.md and the tests that name its rows.

Run `python tests/support/statement_map.py` after a marked test was added, renamed or removed: it
writes the column "checked by". Marks are read from the source of the tests, not by running them.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "statements.md"
HEADER = ["id", "statement", "implemented by", "checked by", "verdict"]
_CHECKED = HEADER.index("checked by")
_CODE = re.compile(r"`([^`]+)`")


@attrs.frozen
class Row:
    """One statement of the page: its ids (tests name any of them) and the cells of its line."""

    line: int
    cells: tuple[str, ...]

    @property
    def ids(self) -> list[str]:
        """The label that tests name, then further labels of the same statement."""
        return _CODE.findall(self.cells[0])

    @property
    def implementations(self) -> list[str]:
        """Dotted paths, or `file.py::name` for what only the tests compute."""
        return _CODE.findall(self.cells[2])

    def checked_by(self, tests: list[str]) -> str:
        """The line of this row with these tests in its column."""
        cells = list(self.cells)
        cells[_CHECKED] = " ".join(f"`{test}`" for test in tests)
        return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


@attrs.frozen
class Mark:
    """A mark `pytest.mark.statement(label)` in the source, and the test that carries it."""

    label: str
    test: str


def rows(text: str) -> list[Row]:
    """The rows of all tables of the page that have its five columns."""
    found, inside = [], False
    for number, line in enumerate(text.splitlines()):
        cells = tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        if list(cells) == HEADER:
            inside = True
        elif not cells:
            inside = False
        elif inside and any(set(cell) != {"-"} for cell in cells):
            found.append(Row(number, cells))
    return found


def marks(root: Path = ROOT) -> list[Mark]:
    """The marks of all tests, in the order of files and lines."""
    files = sorted((root / "tests").rglob("test_*.py"))
    return [mark for path in files for mark in _marks_of(path, path.relative_to(root).as_posix())]


def _marks_of(path: Path, name: str) -> Iterator[Mark]:
    """Those in the decorators of test functions; a mark elsewhere is an error."""
    tree = ast.parse(path.read_text("utf-8"))
    found = 0
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for call in _calls(*node.decorator_list):
                found += 1
                yield from (
                    Mark(ast.literal_eval(label), f"{name}::{node.name}") for label in call.args
                )
    if found != len(_calls(tree)):
        raise ValueError(f"{name}: a statement mark has to decorate a test function")


def _calls(*nodes: ast.AST) -> list[ast.Call]:
    """The calls `pytest.mark.statement(...)`."""
    calls = [call for node in nodes for call in ast.walk(node) if isinstance(call, ast.Call)]
    return [call for call in calls if getattr(call.func, "attr", "") == "statement"]


def checks_by_row(text: str, found: list[Mark]) -> dict[int, list[str]]:
    """For the line of each row the tests that name one of its ids, without repetition."""
    line = {label: row.line for row in rows(text) for label in row.ids}
    tests: dict[int, list[str]] = {row.line: [] for row in rows(text)}
    for mark in found:
        if mark.label in line and mark.test not in tests[line[mark.label]]:
            tests[line[mark.label]].append(mark.test)
    return tests


def updated(text: str, found: list[Mark]) -> str:
    """The page with the column "checked by" as the marks have it."""
    lines, tests = text.splitlines(), checks_by_row(text, found)
    for row in rows(text):
        lines[row.line] = row.checked_by(tests[row.line])
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8"), marks()), "utf-8")
