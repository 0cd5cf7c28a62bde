"""The tables in `planted`, read as mutants.

    tests: test_a test_b           names of tests or test files, for what follows

    Class.method                   where the error goes
      tests: test_c                for this definition; the innermost tests run first
      A(X) = X W                   the statement that the errors below it break
        a-name  sign  X @ W => -X @ W

Eight spaces continue a line. "equivalent: reason" in place of a statement says why no test can
find the errors below it. Lines that begin with "#" are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .mutant import KINDS, Mutant, TableError

_DEFINITION, _STATEMENT, _ERROR = 0, 2, 4
_LINE = re.compile(r"(?P<name>[\w-]+)\s+(?P<kind>\w+)\s+(?P<old>.+?)\s+=>\s+(?P<new>.+)")


def read_all() -> tuple[list[Mutant], list[Mutant]]:
    """The errors of all tables, and the controls: changes that change nothing."""
    folder = Path(__file__).parent / "planted"
    tables = {path.stem: read(path) for path in sorted(folder.glob("*.txt"))}
    controls = tables.pop("controls")
    return [mutant for table in tables.values() for mutant in table], controls


def read(path: Path) -> list[Mutant]:
    """The mutants of one table."""
    tests: dict[int, list[str]] = {_DEFINITION: [], _STATEMENT: [], _ERROR: []}
    within = statement = ""
    mutants = []
    for number, depth, line in _lines(path):
        if depth not in tests:
            raise TableError(f"{path.name}, line {number}: need an indent of 0, 2, 4 or 8 spaces")
        head, _, rest = line.partition("tests:")
        if not head:
            tests[depth] = rest.split()
        elif depth == _DEFINITION:
            within, statement, tests[_STATEMENT], tests[_ERROR] = line, "", [], []
        elif depth == _STATEMENT:
            statement, tests[_ERROR] = line, []
        else:
            named = (*tests[_ERROR], *tests[_STATEMENT], *tests[_DEFINITION])
            mutants.append(_mutant(line, within, statement, named, f"{path.name}, line {number}"))
    return mutants


def _mutant(line: str, within: str, statement: str, killers: tuple[str, ...], where: str) -> Mutant:
    match = _LINE.fullmatch(line)
    if match is None or match["kind"] not in KINDS:
        raise TableError(f"{where}: need 'name kind old => new' ({', '.join(KINDS)}), got {line!r}")
    if not (within and statement and killers):
        raise TableError(f"{where}: need tests, a definition and a statement above {match['name']}")
    same, _, reason = statement.partition("equivalent: ")
    breaks, equivalent = (statement, "") if same else ("nothing", reason)
    return Mutant(
        *match.group("name", "kind"),
        within,
        match["old"],
        match["new"],
        breaks,
        killers,
        equivalent,
    )


def _lines(path: Path) -> Iterator[tuple[int, int, str]]:
    """Number, indent and text of each line, with those that continue it."""
    number, depth, text = 0, 0, ""
    for k, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if indent >= 2 * _ERROR:
            text += " " + stripped
            continue
        if text:
            yield number, depth, text
        number, depth, text = k, indent, stripped
    if text:
        yield number, depth, text


class Suite:
    """The tests under `root`, found by the name of a function or file wherever they live."""

    def __init__(self, root: Path) -> None:
        paths = sorted((root / "tests").rglob("test_*.py"))
        self.files = [path.relative_to(root).as_posix() for path in paths]
        self.functions = [
            (name, f"{file}::{name}")
            for path, file in zip(paths, self.files, strict=True)
            for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), flags=re.M)
        ]

    def node(self, name: str) -> str:
        """The node id of a test ("test_name" or "test_name[case]") or of a test file."""
        function, bracket, case = name.partition("[")
        found = [node + bracket + case for known, node in self.functions if known == function]
        found = found or [file for file in self.files if f"/{file}".endswith(f"/{name}.py")]
        if len(found) != 1:
            raise TableError(f"need one test or test file called {name}, found {found}")
        return found[0]
