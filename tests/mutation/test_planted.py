"""The tables of planted errors fit the source, and the check finds what it should."""

from collections import Counter
from pathlib import Path

import pytest

from .__main__ import Copy
from .table import ROOT, TABLES, Planted, TableError, read, read_all

SOURCE = '''"""x + 1."""

LIMIT = 3 * 4


def f(x):
    """x + 1."""
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
'''
TABLE = """# A comment.
genorth/a.py: test_a.py

  f: test_b.py test_c.py
    # f(x) = x + 1
    x + 1 => x - 1 || x
    return x + 1
        => pass

  A.f
    x * 2 #2 => x
"""


@pytest.mark.parametrize("table", sorted(TABLES.glob("*.txt")), ids=lambda path: path.stem)
def test_the_errors_fit_the_source_and_their_tests_exist(table):
    """Where this fails, edit the table in tests/mutation/planted."""
    for error in read(table):
        assert error.source() != (ROOT / error.module).read_text(encoding="utf-8"), str(error)
        assert [name for name in error.tests if not (ROOT / name).is_file()] == [], str(error)


def test_no_error_is_planted_twice():
    assert [name for name, count in Counter(map(str, read_all())).items() if count > 1] == []


def test_a_table_is_read(tmp_path):
    (tmp_path / "a.txt").write_text(TABLE, encoding="utf-8")
    own = ("tests/test_b.py", "tests/test_c.py")
    assert list(read(tmp_path / "a.txt")) == [
        Planted("genorth/a.py", "f", "x + 1", "x - 1", own),
        Planted("genorth/a.py", "f", "x + 1", "x", own),
        Planted("genorth/a.py", "f", "return x + 1", "pass", own),
        Planted("genorth/a.py", "A.f", "x * 2 #2", "x", ("tests/test_a.py",)),
    ]
    (tmp_path / "a.txt").write_text(TABLE.replace("x + 1 =>", "x + 1 ->"), encoding="utf-8")
    with pytest.raises(TableError, match=r"^a.txt: need a module.*x \+ 1 -> x - 1"):
        list(read(tmp_path / "a.txt"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one module and one test file."""
    files = {
        "genorth/__init__.py": "",
        "genorth/a.py": SOURCE,
        "tests/test_a.py": "import genorth.a as a\n\n\ndef test_f():\n    assert a.f(1) == 2\n",
        "tests/test_wrong.py": "def test_wrong():\n    assert False\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def _error(old: str, new: str = "x - 1", within: str = "f", tests: str = "test_a.py") -> Planted:
    return Planted("genorth/a.py", within, old, new, (f"tests/{tests}",))


@pytest.mark.parametrize(
    ("error", "before", "after"),
    [
        (_error("x + 1"), "return x + 1", "return (x - 1)"),
        (_error("3 * 4", "3 + 4", "LIMIT"), "= 3 * 4", "= (3 + 4)"),
        (_error("7", "8", "A.size"), "= 7", "= (8)"),
        (_error("x * 2 #2", "x", "A.f"), "[x * 2, x * 2]", "[x * 2, (x)]"),
        (_error("x > 0", "x < 0", "A"), "x  # é: columns count bytes\n            > 0", "(x < 0)"),
    ],
    ids=str,
)
def test_one_node_is_replaced(project, error, before, after):
    assert SOURCE.count(before) == 1
    assert error.source(project) == SOURCE.replace(before, after)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (_error("x * 2", within="A.f"), r"a.py A.f: x \* 2 => .*found 2"),
        (_error("x * 2 #3", within="A.f"), "found 2"),
        (_error("x + 1", within="g"), "found 0"),
        (_error("x +"), "not Python"),
        (_error("x + 1", "x +"), "not Python"),
    ],
    ids=str,
)
def test_an_error_that_does_not_fit_is_named(project, error, message):
    with pytest.raises(TableError, match=message):
        error.source(project)


@pytest.mark.slow
def test_an_error_is_found_in_the_copy_and_the_source_is_left_alone(project):
    copy = Copy(project.parent / "copy", project)
    assert copy.verdict(_error("x + 1")) == "found"
    assert copy.verdict(_error("x + 1", "1 + x")) == "SURVIVED"
    assert copy.verdict(_error("x + 1", tests="test_wrong.py")).startswith("NOT RUN: the tests")
    for root in (project, copy.path):
        assert (root / "genorth" / "a.py").read_text(encoding="utf-8") == SOURCE
