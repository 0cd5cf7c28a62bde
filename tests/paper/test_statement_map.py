"""docs/statements.md and the tests agree: every statement has a test, every link is alive."""

import importlib
import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

from support.statement_map import PAGE, ROOT, Mark, checks_by_row, marks, rows, updated

#: Every label of the paper but those of sections.
_NAMES = (
    "ocp ass_1 tab:ex tab:man eq:C eq:A le1 d1 d2 le2 d3 le3 d4 ass_2 lem:DA tx1 pro eq:les pro:rg "
    "eq:rg ass2 eq:2or Th:cdm le:mi m1 m2 le:cbo them:noe cdf pro:nah eq:eh eq:ng pro:2h eq:nabh "
    "pro:sta the:first le:sec1 le:sec2 al:1 pro:con Ta:cost Ta:comp Ta1 Ta2 fig:1 emp emp1 fig:2 "
    "Ta3 Ta4 fig:3 tenpr1 Ta5 Ta6 Ta7 "
)
LABELS = _NAMES.split()
_ERRATUM = r"\[R(\d+): [^]]+\]\(errata\.md#r\d+\)"
_VERDICT = re.compile(
    rf"holds|(?:holds after correction|fails as printed) \({_ERRATUM}(, {_ERRATUM})*\)"
)


@cache
def _page() -> str:
    return PAGE.read_text()


@cache
def _marks() -> list[Mark]:
    return marks()


def _ids() -> list[str]:
    return [label for row in rows(_page()) for label in row.ids]


def test_every_label_of_the_paper_has_one_row():
    ids = _ids()
    assert sorted(set(LABELS) - set(ids)) == []
    assert sorted(label for label in set(ids) if ids.count(label) > 1) == []


def test_every_statement_has_a_test():
    tests = checks_by_row(_page(), _marks())
    assert [row.ids[0] for row in rows(_page()) if not tests[row.line]] == []


def test_every_mark_names_a_statement():
    assert [mark for mark in _marks() if mark.label not in _ids()] == []


def test_the_page_is_up_to_date():
    assert updated(_page(), _marks()) == _page(), "run: python tests/support/statement_map.py"


def test_every_implementation_exists():
    for row in rows(_page()):
        assert row.implementations, f"{row.ids[0]}: nothing implements it"
        for path in row.implementations:
            assert _resolved(path) is not None, path


def test_every_verdict_is_one_of_three_and_says_why():
    assert [
        (row.ids[0], row.cells[-1])
        for row in rows(_page())
        if not _VERDICT.fullmatch(row.cells[-1])
    ] == []


def test_every_erratum_is_the_reason_of_a_verdict():
    """The sections of docs/errata.md, the rows of corrections and the links name the same."""
    sections = set(
        re.findall(r"^## (R\d+)$", (PAGE.parent / "errata.md").read_text(), re.MULTILINE)
    )
    corrections = {row.ids[0] for row in rows(_page()) if re.fullmatch(r"R\d+", row.ids[0])}
    reasons = {
        name
        for row in rows(_page())
        if row.ids[0] not in corrections
        for name in re.findall(r"\[(R\d+): ", row.cells[-1])
    }
    assert sections == corrections == reasons


def _resolved(path: str) -> Any:
    """What a dotted path, or `file.py::name` from the root, names."""
    if "::" in path:
        file, _, names = path.partition("::")
        spec = importlib.util.spec_from_file_location(Path(file).stem, ROOT / file)
        assert spec is not None and spec.loader is not None
        found: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
        parts = names.split(".")
    else:
        parts = path.split(".")
        found = importlib.import_module(parts.pop(0))
    for depth, name in enumerate(parts):
        if not hasattr(found, name):
            # a module that its package does not import
            importlib.import_module(".".join(path.split(".")[: depth + 2]))
        found = getattr(found, name)
    return found
