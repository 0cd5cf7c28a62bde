"""`Sources`: where a planted error goes, by qualified name and syntax node.

Neither moving a definition to another module nor reformatting it changes the answer.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import attrs

from .mutant import Mutant, TableError

PACKAGES = ("genorth", "baselines", "paper_repro")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@attrs.frozen
class Place:
    """A node of a file."""

    file: str
    node: ast.expr | ast.stmt


class Sources:
    """The modules of the packages under `root`, parsed once."""

    def __init__(self, root: Path, packages: tuple[str, ...] = PACKAGES) -> None:
        paths = [path for name in packages for path in sorted((root / name).rglob("*.py"))]
        self.texts = {
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths
        }
        self._definitions: dict[str, list[tuple[str, ast.AST]]] = defaultdict(list)
        for file, text in self.texts.items():
            for name, node in _definitions(ast.parse(text)):
                self._definitions[name].append((file, node))

    def place(self, mutant: Mutant) -> Place:
        """The one node that the error changes."""
        module, _, within = mutant.within.rpartition(":")
        found = [
            (file, node)
            for file, node in self._definitions.get(within, [])
            if not module or module == module_of(file)
        ]
        if not found:
            raise TableError(f"{mutant.name}: no module defines {mutant.within}; was it renamed?")
        text, index = _numbered(mutant.old)
        old = _parsed(mutant, text)
        hits = [Place(file, node) for file, scope in found for node in _equal(scope, old)]
        if index > len(hits) or (not index and len(hits) != 1):
            files = ", ".join(file for file, _ in found)
            raise TableError(
                f"{mutant.name}: {mutant.old!r} occurs {len(hits)} times in {mutant.within} "
                f"({files}), need one; adapt tests/mutation/planted, '#2' picks the second"
            )
        return hits[index - 1]

    def planted(self, mutant: Mutant) -> tuple[str, str]:
        """The file that holds the error, and its text with the error in it."""
        place = self.place(mutant)
        text, node = self.texts[place.file], place.node
        start, end = _extent(text, node)
        new = f"({mutant.new})" if _is_expression(mutant.new) else mutant.new
        planted = text[:start] + (new if isinstance(node, ast.expr) else mutant.new) + text[end:]
        try:
            ast.parse(planted)
        except SyntaxError as error:
            raise TableError(f"{mutant.name}: {mutant.new!r} does not fit: {error}") from None
        return place.file, planted


def module_of(file: str) -> str:
    """The name under which a file is imported."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def meaning(source: str) -> str:
    """The syntax tree without docstrings: equal for two texts that do the same by the letter."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *_SCOPES)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def _definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Functions and classes at any depth; assignments outside functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _SCOPES):
            yield prefix + child.name, child
            yield from _definitions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.Assign | ast.AnnAssign) and not _is_function(node):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            yield from ((prefix + t.id, child) for t in targets if isinstance(t, ast.Name))
        else:
            yield from _definitions(child, prefix)


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _numbered(old: str) -> tuple[str, int]:
    """The text without " #2", and the 2 (0: there is no number)."""
    match = re.fullmatch(r"(.*) #(\d+)", old, flags=re.DOTALL)
    return (match[1], int(match[2])) if match else (old, 0)


def _parsed(mutant: Mutant, text: str) -> ast.expr | ast.stmt:
    try:
        (statement,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        raise TableError(f"{mutant.name}: need one expression or statement, got {text!r}") from None
    return statement.value if isinstance(statement, ast.Expr) else statement


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def _equal(scope: ast.AST, old: ast.expr | ast.stmt) -> list[ast.expr | ast.stmt]:
    """The nodes of the scope that equal `old`, in the order of the text."""
    wanted = _dump(old)
    nodes = [n for n in ast.walk(scope) if type(n) is type(old) and _dump(n) == wanted]
    return sorted(nodes, key=lambda n: (n.lineno, n.col_offset))


def _dump(node: ast.AST) -> str:
    """The tree as text, the same for a name that is read and one that is assigned to."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")


def _extent(text: str, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Where the text of a node begins and ends; columns of syntax trees count bytes."""
    lines = [line + "\n" for line in text.split("\n")]

    def position(line: int, column: int) -> int:
        return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())

    assert node.end_lineno is not None and node.end_col_offset is not None
    return position(node.lineno, node.col_offset), position(node.end_lineno, node.end_col_offset)
