"""The page docs/statements.md and the tests that name its rows.

Read both, and write the column "checked by".

Run `python tests/support/statement_map.py` after a marked test was added, renamed or removed. Marks
are read from the source of the tests (not by running them), so their labels are literal strings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).parent.parent.parent
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

    @property
    def verdict(self) -> str:
        """The verdict with its links."""
        return self.cells[-1]

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
    """The marks of all tests of the default run, in the order of files and lines."""
    files = sorted(path for path in (root / "tests").rglob("test_*.py"))
    return [
        mark
        for path in files
        for mark in _marks_of(path.relative_to(root).as_posix(), path.read_text())
    ]


def _marks_of(name: str, source: str) -> Iterator[Mark]:
    if "mark.statement" not in source:
        return
    tree = ast.parse(source)
    seen = set()
    for test, node in _tests(tree.body, name):
        for call in _statement_calls(*node.decorator_list):
            seen.add(call)
            yield Mark(_label(call, name), test)
    for call in _statement_calls(tree):
        if call not in seen:
            raise ValueError(
                f"{name}:{call.lineno}: a statement mark has to decorate a test function or class"
            )


_Decorated = ast.FunctionDef | ast.ClassDef


def _tests(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, _Decorated]]:
    """What pytest collects, by node id: functions test_*, classes Test* and their methods."""
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield f"{prefix}::{node.name}", node
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield f"{prefix}::{node.name}", node
            yield from _tests(node.body, f"{prefix}::{node.name}")


def _statement_calls(*nodes: ast.AST) -> Iterator[ast.Call]:
    for node in nodes:
        for child in ast.walk(node):
            if isinstance(child, ast.Call) and ast.unparse(child.func).endswith("mark.statement"):
                yield child


def _label(call: ast.Call, name: str) -> str:
    match call.args, call.keywords:
        case [ast.Constant(str(label))], []:
            return label
    raise ValueError(
        f"{name}:{call.lineno}: the label of a statement mark has to be one literal string"
    )


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
    PAGE.write_text(updated(PAGE.read_text(), marks()))
