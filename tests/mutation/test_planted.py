"""The tables of planted errors fit the source, and the check finds what it should."""

from collections import Counter
from pathlib import Path

import pytest

from .__main__ import Copy
from .table import ROOT, TABLES, Planted, read, read_all

SOURCE = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize("table", sorted(TABLES.glob("*.txt")), ids=lambda path: path.stem)
def test_the_errors_fit_the_source_and_their_tests_exist(table):
    """Where this fails, edit the table in tests/mutation/planted."""
    for error in read(table):
        assert error.source() != (ROOT / error.module).read_text(encoding="utf-8"), str(error)
        assert [name for name in error.tests if not (ROOT / name).is_file()] == [], str(error)


def test_no_error_is_planted_twice():
    assert [name for name, count in Counter(map(str, read_all())).items() if count > 1] == []


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


def _error(new: str = "x - 1", tests: str = "test_a.py") -> Planted:
    return Planted("genorth/a.py", "f", "x + 1", new, (f"tests/{tests}",))


@pytest.mark.slow
def test_an_error_is_found_in_the_copy_and_the_source_is_left_alone(project):
    copy = Copy(project.parent / "copy", project)
    assert copy.verdict(_error()) == "found"
    assert copy.verdict(_error("1 + x")) == "SURVIVED"
    assert copy.verdict(_error(tests="test_wrong.py")).startswith("NOT RUN: the tests")
    for root in (project, copy.path):
        assert (root / "genorth" / "a.py").read_text(encoding="utf-8") == SOURCE
