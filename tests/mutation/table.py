"""`Planted`: one wrong formula. The tables in `planted/` hold them, one for each folder.

    genorth/manifolds/symplectic.py: manifolds/test_symplectic.py geometry/test_contract.py

      SymplecticStiefel.psi
        # psi(T) = -J T J
        _turned(T) => T || -_turned(T)

A module with the test files that find its errors, a definition (which may have its own test files),
a formula, then errors: an expression or statement, and what replaces it, one at a time. `old #2`
is the second of several equal ones. A line that begins with `=>` continues the line above.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]
TABLES = Path(__file__).parent / "planted"


class TableError(ValueError):
    """A table is not written as it should be, or no longer fits the source."""


@attrs.frozen
class Planted:
    """One error: the syntax node `old` inside the definition `within` becomes `new`."""

    module: str
    #: The qualified name of a function, class or constant, e.g. "Dense.inverse".
    within: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.module} {self.within}: {self.old} => {self.new}"

    def source(self, root: Path = ROOT) -> str:
        """The text of the module with the error in it."""
        text = (root / self.module).read_text(encoding="utf-8")
        old, _, number = self.old.partition(" #")
        wanted = _dump(_parsed(old))
        scopes = _definitions(_tree(text), self.within)
        found = [node for scope in scopes for node in ast.walk(scope) if _dump(node) == wanted]
        if not (int(number) <= len(found) if number else len(found) == 1):
            raise TableError(f"{self}: need one such place, found {len(found)}")
        found.sort(key=lambda node: (node.lineno, node.col_offset))
        node = found[int(number or 1) - 1]
        bare = isinstance(node, ast.stmt) or isinstance(_parsed(self.new), ast.stmt)
        return _replaced(text, node, self.new if bare else f"({self.new})")


def read_all() -> list[Planted]:
    """The errors of all tables."""
    return [error for path in sorted(TABLES.glob("*.txt")) for error in read(path)]


def read(path: Path) -> Iterator[Planted]:
    """The errors of one table."""
    module = within = ""
    usual: tuple[str, ...] = ()
    tests = usual
    text = re.sub(r"\s*\n\s*=>", " =>", path.read_text(encoding="utf-8"))
    for line in map(str.strip, text.splitlines()):
        old, arrow, new = line.partition(" => ")
        if arrow and within and tests:
            yield from (Planted(module, within, old, each, tests) for each in new.split(" || "))
        elif match := re.fullmatch(r"([\w./]+)(?:: (.+))?", line):
            tests = tuple(f"tests/{name}" for name in (match[2] or "").split())
            if match[1].endswith(".py"):
                module, within, usual = match[1], "", tests
            else:
                within, tests = match[1], tests or usual
        elif line and not line.startswith("#"):
            raise TableError(f"{path.name}: need a module, tests, a definition, then {line!r}")


_tree = cache(ast.parse)


def _parsed(text: str) -> ast.AST:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise TableError(f"not Python: {error}") from None
    only = tree.body[0] if len(tree.body) == 1 else tree
    return only.value if isinstance(only, ast.Expr) else only


def _definitions(node: ast.AST, within: str) -> Iterator[ast.AST]:
    """The definitions of a qualified name, at any depth."""
    name, _, rest = within.partition(".")
    for child in ast.iter_child_nodes(node):
        if name in _names(child):
            yield from _definitions(child, rest) if rest else [child]
        elif not _names(child):
            yield from _definitions(child, within)


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


@cache
def _dump(node: ast.AST) -> str:
    """The tree as text, the same for a name that is read and one that is assigned to."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")


def _replaced(text: str, node: ast.AST, new: str) -> str:
    """The text with another text in the place of a node; columns of syntax trees count bytes."""
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    source = text.encode()
    return (source[:start] + new.encode() + source[end:]).decode()
