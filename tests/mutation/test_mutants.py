"""The planted errors fit today's source and tests, and docs/mutants.md shows them all."""

from __future__ import annotations

import ast
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import attrs
import pytest

import mutation.copies
from mutation.anchor import Sources, meaning
from mutation.copies import Copy, HarnessError
from mutation.mutant import KINDS, ROOT, Mutant, TableError
from mutation.report import PAGE, row, survivor
from mutation.results import Store, Verdict
from mutation.results import key as key_of
from mutation.runner import Check, Settings
from mutation.tables import Suite, read, read_all

MUTANTS, CONTROLS = read_all()
EVERY = [*MUTANTS, *CONTROLS]
REAL = [mutant for mutant in MUTANTS if not mutant.equivalent]
SOURCES, TESTS = Sources(ROOT), Suite(ROOT)
#: Every module of these folders holds errors.
COVERED = ("checks", "geometry", "linalg", "manifolds", "penalty", "problem", "testing")
#: But these, with the reason.
NOT_COVERED = {
    "genorth/geometry/user_maps.py": "to come",
    "genorth/penalty/lbfgs.py": "to come, with the solvers",
    "genorth/penalty/methods.py": "to come, with the solvers",
    "genorth/penalty/registry.py": "to come, with the solvers",
}


def test_the_errors_fit_the_source() -> None:
    """Each names one node of the source; the new one fits there and is another."""
    for mutant in EVERY:
        SOURCES.planted(mutant)
        old, new = (ast.dump(ast.parse(text)) for text in (mutant.old, mutant.new))
        assert old != new, mutant.name


def test_names_and_changes_occur_once() -> None:
    assert {mutant.kind for mutant in REAL} == set(KINDS)
    names = Counter(mutant.name for mutant in EVERY)
    changes = Counter((m.within, m.old, m.new) for m in EVERY)
    assert [name for name, count in (names | changes).items() if count > 1] == []


@pytest.mark.parametrize("folder", COVERED)
def test_every_module_has_errors(folder: str) -> None:
    modules = {file for file in SOURCES.texts if file.startswith(f"genorth/{folder}/")}
    modules = {file for file in modules if not file.endswith("__init__.py")}
    assert modules - {SOURCES.place(mutant).file for mutant in REAL} <= set(NOT_COVERED)


def test_the_named_tests_exist() -> None:
    for mutant in EVERY:
        for test in mutant.killers:
            TESTS.node(test)


# ---------------------------------------------------------------------- the page


def _page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_page_lists_exactly_the_mutants() -> None:
    """Name, kind and change of each. Run `python -m tests.mutation` where this fails."""
    shown = re.findall(r"^\| `([^`]+)` \|", _page(), flags=re.MULTILINE)
    assert Counter(shown) == Counter(mutant.name for mutant in REAL)
    assert [mutant.name for mutant in REAL if row(mutant) not in _page()] == []
    same = [mutant for mutant in EVERY if mutant.equivalent]
    listed = re.findall(r"^- `([^`]+)` \(", _page(), flags=re.MULTILINE)
    assert Counter(listed) == Counter(mutant.name for mutant in same)
    assert [mutant.name for mutant in same if survivor(mutant) not in _page()] == []


def test_on_the_page_all_errors_are_found_by_tests_that_exist() -> None:
    found = re.findall(
        r"^\| .*\| (?:`(test_[^`]+)`|time limit) \| [\d.]+ \|$", _page(), flags=re.MULTILINE
    )
    assert len(found) == len(REAL)
    known = {name for name, _ in TESTS.functions}
    assert {test for test in found if test and test.partition("[")[0] not in known} == set()
    assert "Survivors: none" in _page()


# ---------------------------------------------------------------------- anchors


_SOURCE = """"x + 1."

LIMIT = 3 * 4


def f(x):
    "x + 1."
    return x + 1


class A:
    size: int = 7

    def f(self, x):
        y = [x * 2, x * 2]
        if (
            x  # é: columns count bytes
            > 0
        ):
            print("é", x * 3)
        return y[0] + x
"""


def _mutant(old: str, new: str = "x - 1", within: str = "f") -> Mutant:
    return Mutant("m", "sign", within, old, new, "f(x) = x + 1", ("test_planted",))


def _project(path: Path, **modules: str) -> Path:
    for name, text in modules.items():
        file = path / "genorth" / f"{name.replace('_in_', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("mutant", "before", "after"),
    [
        (_mutant("x + 1"), "return x + 1", "return (x - 1)"),
        (_mutant("return x + 1", "pass"), "return x + 1", "pass"),
        (_mutant("3 * 4", "3 + 4", "LIMIT"), "= 3 * 4", "= (3 + 4)"),
        (_mutant("7", "8", "A.size"), "= 7", "= (8)"),
        (_mutant("x * 2 #2", "x", "A.f"), "[x * 2, x * 2]", "[x * 2, (x)]"),
        (_mutant("y[0] + x", "y[0]", "A.f"), "return y[0] + x", "return (y[0])"),
        (_mutant("x * 3", "3", "A.f"), 'print("é", x * 3)', 'print("é", (3))'),
        (_mutant("print('é', x * 3)", "pass", "A.f"), 'print("é", x * 3)', "pass"),
        (_mutant("x > 0", "x < 0", "A"), "x  # é: columns count bytes\n            > 0", "(x < 0)"),
    ],
    ids=lambda value: value.old if isinstance(value, Mutant) else "",
)
def test_one_node_is_replaced(tmp_path: Path, mutant: Mutant, before: str, after: str) -> None:
    assert _SOURCE.count(before) == 1
    planted = Sources(_project(tmp_path, a=_SOURCE)).planted(mutant)
    assert planted == ("genorth/a.py", _SOURCE.replace(before, after))


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (_mutant("x * 2", within="A.f"), r"^m: 'x \* 2' occurs 2 times in A.f \(genorth/a.py\)"),
        (_mutant("x * 2 #3", within="A.f"), r"^m: 'x \* 2 #3' occurs 2 times"),
        (_mutant("x * 2"), r"^m: 'x \* 2' occurs 0 times"),
        (_mutant("x + 1", within="A.g"), r"^m: no module defines A.g"),
        (_mutant("x + 1", within="genorth.b:f"), r"^m: no module defines genorth.b:f"),
        (_mutant("x +"), r"^m: need one expression or statement, got 'x \+'"),
        (_mutant("x + 1", "x +"), r"^m: 'x \+' does not fit"),
    ],
    ids=lambda value: value.within if isinstance(value, Mutant) else "",
)
def test_an_anchor_that_does_not_hold_is_named(
    tmp_path: Path, mutant: Mutant, message: str
) -> None:
    with pytest.raises(TableError, match=message):
        Sources(_project(tmp_path, a=_SOURCE)).planted(mutant)


def test_a_module_is_needed_only_where_two_would_fit(tmp_path: Path) -> None:
    sources = Sources(_project(tmp_path, a=_SOURCE, b=_SOURCE, c="def f(x):\n    return 3\n"))
    assert sources.place(_mutant("3", "4")).file == "genorth/c.py"
    assert sources.place(_mutant("x + 1", within="genorth.b:f")).file == "genorth/b.py"
    with pytest.raises(TableError, match=r"2 times in f \(genorth/a.py, genorth/b.py, genorth/c"):
        sources.place(_mutant("x + 1"))


def test_neither_moving_nor_reformatting_loses_an_anchor(tmp_path: Path) -> None:
    """All modules of the project, rewritten from their syntax trees and moved to other files."""
    needs_module = {mutant.name for mutant in EVERY if ":" in mutant.within}
    for number, text in enumerate(SOURCES.texts.values()):
        path = tmp_path / "genorth" / f"room{number % 3}" / f"moved{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ast.unparse(ast.parse(text)), encoding="utf-8")
    moved = Sources(tmp_path)
    for mutant in (mutant for mutant in EVERY if mutant.name not in needs_module):
        before = SOURCES.place(mutant).node
        assert ast.dump(moved.place(mutant).node) == ast.dump(before)
    assert len(needs_module) <= len(EVERY) // 20


def test_a_docstring_is_not_a_change() -> None:
    assert meaning(_SOURCE) == meaning(_SOURCE.replace('"x + 1."', '"x + 2."'))
    assert meaning(_SOURCE) != meaning(_SOURCE.replace("return x + 1", "return x + 2"))


# ---------------------------------------------------------------------- tables


_TABLE = """# A comment.
tests: test_a

f
  tests: test_b
  f(x) = x + 1
    tests: test_c
    one    sign  x + 1 => x - 1
    other  term  f(x) =>
        x
  equivalent: no test
        can tell
    same  order  x + 1 => 1 + x

g
  g(x) = x
    last  factor  x => 2 * x
"""


def _read(path: Path, text: str) -> list[Mutant]:
    (path / "table.txt").write_text(text, encoding="utf-8")
    return read(path / "table.txt")


def test_a_table_is_read(tmp_path: Path) -> None:
    tests = ("test_c", "test_b", "test_a")
    assert _read(tmp_path, _TABLE) == [
        Mutant("one", "sign", "f", "x + 1", "x - 1", "f(x) = x + 1", tests),
        Mutant("other", "term", "f", "f(x)", "x", "f(x) = x + 1", tests),
        Mutant("same", "order", "f", "x + 1", "1 + x", "nothing", tests[1:], "no test can tell"),
        Mutant("last", "factor", "g", "x", "2 * x", "g(x) = x", tests[2:]),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  factor  ", "  joke  ", r"table.txt, line 17: need 'name kind old => new'"),
        ("x => 2", "x -> 2", r"table.txt, line 17: need 'name kind old => new'"),
        ("  g(x) = x\n", "", r"table.txt, line 16: need tests, a definition and a statement"),
        ("  g(x)", "   g(x)", r"table.txt, line 16: need an indent of 0, 2, 4 or 8 spaces"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in _TABLE
    with pytest.raises(TableError, match=message):
        _read(tmp_path, _TABLE.replace(old, new))


def test_tests_are_found_by_name(tmp_path: Path) -> None:
    for file in ("a/test_one.py", "b/test_one.py", "b/test_two.py"):
        (tmp_path / "tests" / file).parent.mkdir(parents=True, exist_ok=True)
        name = file.removesuffix(".py").replace("/", "_")
        text = f"def test_{name}():\n    pass\n\n\ndef test_all():\n    pass\n"
        (tmp_path / "tests" / file).write_text(text, encoding="utf-8")
    tests = Suite(tmp_path)
    assert tests.node("test_a_test_one[x]") == "tests/a/test_one.py::test_a_test_one[x]"
    assert tests.node("test_two") == "tests/b/test_two.py"
    assert tests.node("b/test_one") == "tests/b/test_one.py"
    for name in ("test_one", "test_all", "test_three"):
        with pytest.raises(TableError, match=f"need one test or test file called {name}"):
            tests.node(name)


# ---------------------------------------------------------------------- the harness


def test_verdicts_are_kept_and_belong_to_a_source(tmp_path: Path) -> None:
    """A line that was cut off is run again; a changed source or mutant has another key."""
    file, mutant = tmp_path / "verdicts.jsonl", _mutant("x + 1")
    key = key_of(mutant, ["a"])
    verdict = Verdict("m", key, "killed", "tests/test_a.py::test_b", "", "the named tests", 1.0)
    Store(file).add(verdict)
    file.write_text(file.read_text(encoding="utf-8") + '{"name": "m2", "ke', encoding="utf-8")
    store = Store(file)
    assert store.get(key_of(mutant, ["(a)  # the same"])) == verdict
    assert store.get(key_of(mutant, ["b"])) is None
    assert store.get(key_of(_mutant("x + 1", "x"), ["a"])) is None


def test_what_new_tests_may_change_is_run_again() -> None:
    """A survivor, an equivalent that died, and one that only a part of the suite was tried on."""
    error = _mutant("x + 1")
    same = attrs.evolve(error, equivalent="a reason")

    def verdict(status: str, tests: str) -> Verdict:
        return Verdict("m", "key", status, "", "", tests, 1.0)

    assert verdict("killed", "the named tests").settles(error)
    assert verdict("hung", "the suite").settles(error)
    assert not verdict("survived", "the suite").settles(error)
    assert verdict("survived", "the suite").settles(same)
    assert not verdict("survived", "a part of the suite").settles(same)
    assert not verdict("killed", "the suite").settles(same)


@pytest.fixture
def small_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copy]:
    """A project of one module and one test, with the real session in it."""
    project = tmp_path / "project"
    _project(project, __init__="", planted=_SOURCE)
    package = project / "tests" / "mutation"
    package.mkdir(parents=True)
    (project / "tests" / "conftest.py").write_text("", encoding="utf-8")
    (project / "tests" / "test_planted.py").write_text(
        "import time\nimport genorth.planted as p\n\n\ndef test_f():\n    assert p.f(1) == 2\n\n\n"
        "def test_slow():\n    time.sleep(0 if p.f(1) == 2 else 60)\n\n\n"
        "def test_no():\n    assert p.f(1) == 3\n",
        encoding="utf-8",
    )
    for name in ("__init__.py", "session.py"):
        text = (ROOT / "tests" / "mutation" / name).read_text(encoding="utf-8")
        (package / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(mutation.copies, "ROOT", project)
    (tmp_path / "copy").mkdir()
    with closing(Copy((tmp_path / "copy").resolve(), threading.Event())) as copy:
        yield copy


def test_an_error_is_found_in_the_copy_and_the_source_is_left_alone(
    small_copy: Copy, tmp_path: Path
) -> None:
    """An error fails; what changes nothing survives; what hangs is ended.

    A file that does not run gives no verdict.
    """
    copy, tests = small_copy, ("test_f",)
    wrong = _mutant("x + 1")
    assert copy.run(wrong, tests, 60).failed == "tests/test_planted.py::test_f"
    assert copy.run(_mutant("x + 1", "1 + x"), tests, 60).failed == ""
    assert copy.run(wrong, ("test_slow",), 1).hung
    with pytest.raises(HarnessError, match="could not be collected"):
        copy.run(_mutant("LIMIT = 3 * 4", "1 / 0", "LIMIT"), tests, 60)
    for root in (copy.path, tmp_path / "project"):
        assert (root / "genorth" / "planted.py").read_text(encoding="utf-8") == _SOURCE


def test_a_test_that_fails_without_the_error_gives_no_verdict(
    small_copy: Copy, tmp_path: Path
) -> None:
    check = Check(Settings(suite=()), Store(tmp_path / "verdicts.jsonl"), print)
    wrong = _mutant("x + 1")
    assert check._judge(wrong, "key", small_copy).killed_by == "tests/test_planted.py::test_f"
    with pytest.raises(HarnessError, match=r"as it stands fails tests/test_planted.py::test_no"):
        check._judge(attrs.evolve(wrong, killers=("test_no",)), "key", small_copy)
    assert check._clean == {
        ("tests/test_planted.py::test_f",): True,
        ("tests/test_planted.py::test_no",): False,
    }


def test_examples_do_not_depend_on_the_planted_error(small_copy: Copy) -> None:
    """Hypothesis draws from the numbers in imported modules, but not in the sessions."""
    (small_copy.path / "tests" / "test_drawn.py").write_text(
        "import genorth.planted\nfrom hypothesis import given, settings, strategies as st\n\n\n"
        "@settings(max_examples=2000, derandomize=True)\n@given(st.integers())\n"
        "def test_drawn(n):\n    assert n != 987654321987\n",
        encoding="utf-8",
    )
    tests = ("tests/test_drawn.py",)
    assert small_copy.run(_mutant("3 * 4", "987654321987", "LIMIT"), tests, 120).failed == ""


def test_the_tests_see_the_copy_and_not_the_installed_package() -> None:
    """A verdict is refused if the mutated module came from elsewhere, here the working tree."""
    copy = Copy.__new__(Copy)
    copy.path = Path("/nowhere")
    installed = str(ROOT / "genorth" / "geometry" / "manifold.py")
    report = {"imported": installed, "collection": "", "code": "1", "failed": "test", "message": ""}
    with pytest.raises(HarnessError, match="which is not the copy"):
        copy._judged(report, Path("log"), 0.0)
