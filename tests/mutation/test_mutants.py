"""The mutants of `python -m tests.mutation` fit today's source and tests, and docs/mutants.md shows them all."""

from __future__ import annotations

import re
import threading
from collections import Counter
from pathlib import Path

import attrs
import pytest

import mutation.copies
from mutation.copies import Copy, HarnessError
from mutation.mutants import CONTROLS, MUTANTS
from mutation.planted.mutant import KINDS, ROOT, Mutant, NotPlantedError, meaning
from mutation.report import PAGE, row, survivor
from mutation.results import Store, Verdict
from mutation.results import key as key_of

EVERY = [*MUTANTS, *CONTROLS]
REAL = [mutant for mutant in MUTANTS if not mutant.equivalent]
#: The geometry and the penalty: every file of these holds mutants.
FILES = [
    *(
        "manifold",
        "companion",
        "theta",
        "retraction",
        "form",
        "_functions",
        "penalty",
        "threshold",
        "beta",
    ),
    *("sampling", "ritz", "inertia", "operators", "minimize"),
]
COVERED = [
    *FILES,
    *(
        f"manifolds/{path.stem}"
        for path in sorted((ROOT / "genorth" / "manifolds").glob("[!_]*.py"))
    ),
]


@pytest.mark.parametrize("file", sorted({mutant.file for mutant in EVERY}))
def test_the_errors_fit_the_source(file: str) -> None:
    """The old text stands exactly once where it says.

    With the new one the file parses, and does something else.
    """
    source = (ROOT / file).read_text(encoding="utf-8")
    today = meaning(source)
    for mutant in (mutant for mutant in EVERY if mutant.file == file):
        assert meaning(mutant.planted(source)) != today, (
            f"{mutant.name}: the old text stands in a docstring"
        )
        assert mutant.kind in KINDS and mutant.breaks


def test_there_are_enough() -> None:
    assert len(REAL) >= 60
    assert {mutant.kind for mutant in REAL} == set(KINDS)
    assert [
        name for name, count in Counter(mutant.name for mutant in EVERY).items() if count > 1
    ] == []
    changes = Counter((m.file, m.within, m.old, m.new) for m in EVERY)
    assert [change for change, count in changes.items() if count > 1] == []


@pytest.mark.parametrize("module", COVERED)
def test_every_module_of_geometry_and_penalty_has_mutants(module: str) -> None:
    assert any(mutant.file == f"genorth/{module}.py" for mutant in REAL)


def _exists(test: str) -> bool:
    """Whether a node id names a test function of a file; the parameters are not looked at."""
    file, _, function = test.partition("::")
    path = ROOT / file
    return path.is_file() and (
        not function or f"def {function.partition('[')[0]}(" in path.read_text(encoding="utf-8")
    )


def test_the_named_tests_exist() -> None:
    assert {test for mutant in EVERY for test in mutant.killers if not _exists(test)} == set()
    assert all(mutant.killers for mutant in EVERY)


# ---------------------------------------------------------------------- the page


def _page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_page_lists_exactly_the_mutants() -> None:
    """Name, kind and change of each, in its file's table.

    Run `python -m tests.mutation` where this fails.
    """
    shown = re.findall(r"^\| `([^`]+)` \|", _page(), flags=re.MULTILINE)
    assert Counter(shown) == Counter(mutant.name for mutant in REAL)
    assert [mutant.name for mutant in REAL if row(mutant) not in _page()] == []
    listed = re.findall(r"^- `([^`]+)` \(", _page(), flags=re.MULTILINE)
    assert Counter(listed) == Counter(mutant.name for mutant in EVERY if mutant.equivalent)
    assert [
        mutant.name for mutant in EVERY if mutant.equivalent and survivor(mutant) not in _page()
    ] == []


def test_on_the_page_all_errors_are_found_by_tests_that_exist() -> None:
    found = re.findall(
        r"^\| .*\| (?:`(test_[^`]+|paper/[^`]+)`|time limit) \| [\d.]+ \|$",
        _page(),
        flags=re.MULTILINE,
    )
    assert len(found) == len(REAL)
    assert {test for test in found if test and not _exists(f"tests/{test}")} == set()
    assert "Survivors: none" in _page()


# ---------------------------------------------------------------------- the harness


def _mutant(old: str, within: str = "f", new: str = "x - 1") -> Mutant:
    return Mutant(
        "m",
        "sign",
        "tests/_planted.py",
        within,
        old,
        new,
        "f(x) = x + 1",
        ("tests/test_planted.py",),
    )


_SOURCE = """"x + 1."


def f(x):
    "x + 1."
    return x + 1.0


class A:
    def f(self, x):
        return x + 1
"""


def test_the_place_is_found_by_the_name_of_the_function() -> None:
    assert "return x - 1\n" in _mutant("x + 1.0").planted(_SOURCE)
    planted = _mutant("x + 1", "A.f").planted(_SOURCE)
    assert planted.endswith("return x - 1\n") and "return x + 1.0" in planted


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (_mutant("x + 1"), r"^m: 'x \+ 1' occurs 2 times in tests/_planted.py, f, not once"),
        (_mutant("x * 2"), r"^m: 'x \* 2' occurs 0 times"),
        (_mutant("x + 1", "A.g"), r"^m: tests/_planted.py has no 'A.g'"),
    ],
)
def test_a_snippet_that_is_gone_is_named(mutant: Mutant, message: str) -> None:
    with pytest.raises(NotPlantedError, match=message):
        mutant.planted(_SOURCE)


def test_a_docstring_is_not_a_change() -> None:
    assert meaning(_SOURCE) == meaning(_SOURCE.replace('"x + 1."', '"x + 2."'))
    assert meaning(_SOURCE) != meaning(_SOURCE.replace("x + 1.0", "x + 2.0"))


def test_verdicts_are_kept_and_belong_to_a_source(tmp_path: Path) -> None:
    """A line that was cut off is run again; a changed source or mutant has another key."""
    file, mutant = tmp_path / "verdicts.jsonl", _mutant("x + 1")
    verdict = Verdict(
        "m", key_of(mutant, ["a"]), "killed", "tests/test_a.py::test_b", "", "the named tests", 1.0
    )
    Store(file).add(verdict)
    file.write_text(file.read_text(encoding="utf-8") + '{"name": "m2", "ke', encoding="utf-8")
    store = Store(file)
    assert store.get(key_of(mutant, ["a"])) == verdict
    assert store.get(key_of(mutant, ["b"])) is None
    assert store.get(key_of(_mutant("x + 1", new="x"), ["a"])) is None


def test_what_new_tests_may_change_is_run_again() -> None:
    """A survivor, an equivalent that died, and one that only a part of the suite was tried on."""
    error = _mutant("x + 1")
    same = attrs.evolve(error, equivalent="a reason")

    def verdict(status: str, tests: str) -> Verdict:
        return Verdict("m", "key", status, "", "", tests, 1.0)

    assert verdict("killed", "the named tests").settles(error) and verdict(
        "hung", "the suite"
    ).settles(error)
    assert not verdict("survived", "the suite").settles(error)
    assert verdict("survived", "the suite").settles(same)
    assert not verdict("survived", "a part of the suite").settles(same)
    assert not verdict("killed", "the suite").settles(same)


def _small_copy(path: Path, monkeypatch: pytest.MonkeyPatch) -> Copy:
    """A project of one module and one test, with the real session in it."""
    project = path / "project"
    (project / "tests").mkdir(parents=True)
    (project / "tests" / "_planted.py").write_text(_SOURCE, encoding="utf-8")
    (project / "tests" / "conftest.py").write_text("", encoding="utf-8")
    (project / "tests" / "test_planted.py").write_text(
        "import time\nimport tests._planted as p\n\n\ndef test_f():\n    assert p.f(1) == 2\n\n\n"
        "def test_slow():\n    time.sleep(0 if p.f(1) == 2 else 60)\n",
        encoding="utf-8",
    )
    package = project / "tests" / "mutation"
    package.mkdir()
    for name in ("__init__.py", "session.py"):
        (package / name).write_text(
            (ROOT / "tests" / "mutation" / name).read_text(encoding="utf-8"), encoding="utf-8"
        )
    monkeypatch.setattr(mutation.copies, "ROOT", project)
    copy = path / "copy"
    copy.mkdir()
    return Copy(copy.resolve(), threading.Event())


def test_an_error_is_found_in_the_copy_and_the_source_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error fails; what changes nothing survives; what hangs is ended.

    A file that does not run gives no verdict.
    """
    copy, tests = _small_copy(tmp_path, monkeypatch), ("tests/test_planted.py",)
    wrong = _mutant("x + 1.0")
    assert copy.run(wrong, tests, 60).failed == "tests/test_planted.py::test_f"
    assert copy.run(_mutant("x + 1.0", new="1.0 + x"), tests, 60).failed == ""
    assert copy.run(wrong, ("tests/test_planted.py::test_slow",), 1).hung
    with pytest.raises(HarnessError, match="could not be collected"):
        copy.run(_mutant("def f(x)", within="", new="1 / 0\n\n\ndef f(x)"), tests, 60)
    assert copy.source("tests/_planted.py") == _SOURCE


def test_the_tests_see_the_copy_and_not_the_installed_package() -> None:
    """A verdict is refused if the mutated module came from elsewhere.

    Here from the working tree.
    """
    copy = Copy.__new__(Copy)
    copy.path = Path("/nowhere")
    installed = str(ROOT / "genorth" / "theta.py")
    report = {"imported": installed, "collection": "", "code": "1", "failed": "test", "message": ""}
    with pytest.raises(HarnessError, match="which is not the copy"):
        copy._judged(report, Path("log"), 0.0)
