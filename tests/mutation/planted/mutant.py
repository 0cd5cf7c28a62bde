"""`Mutant`: one error as data (where, old text, new text), and how it is planted into a source text."""

from __future__ import annotations

import ast
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[3]

#: The kinds of errors, with what each stands for.
KINDS = {
    "sign": "a plus for a minus, a positive for a negative direction",
    "factor": "a wrong constant, scaling or exponent",
    "transpose": "a transpose or conjugate that is missing or too much",
    "psi": "psi, phi or Q left out, or in the wrong place",
    "term": "a term or a step left out",
    "order": "factors, indices or arguments exchanged",
}


class NotPlantedError(ValueError):
    """The source has changed: the mutant no longer says where its error goes."""


@attrs.frozen
class Mutant:
    """One error. `old` stands exactly once in `file`, or in the function or class `within` ("Class.method")."""

    name: str
    kind: str
    file: str
    within: str
    old: str
    new: str
    #: The statement that no longer holds.
    breaks: str
    #: Tests (files or node ids) that are run first; the whole suite follows only if they all pass.
    killers: tuple[str, ...]
    #: Where no test can find it: the reason.
    equivalent: str = ""

    @property
    def module(self) -> str:
        """The name under which the file is imported."""
        return self.file.removesuffix(".py").replace("/", ".")

    def planted(self, source: str) -> str:
        """The source with the error in it."""
        start, end = _extent(source, self)
        part = source[start:end]
        if (count := part.count(self.old)) != 1:
            raise NotPlantedError(
                f"{self.name}: {self.old!r} occurs {count} times in {self._place}, not once; "
                f"has the source changed? Adapt the mutant in tests/mutation/planted."
            )
        return source[:start] + part.replace(self.old, self.new) + source[end:]

    @property
    def _place(self) -> str:
        return f"{self.file}, {self.within}" if self.within else self.file


def _extent(source: str, mutant: Mutant) -> tuple[int, int]:
    """Where the text of `within` begins and ends; the whole file, if it is empty."""
    node: ast.AST = ast.parse(source)
    if not mutant.within:
        return 0, len(source)
    for name in mutant.within.split("."):
        node = _child(node, name, mutant)
    lines = source.splitlines(keepends=True)
    assert isinstance(node, ast.FunctionDef | ast.ClassDef) and node.end_lineno is not None
    return sum(map(len, lines[: node.lineno - 1])), sum(map(len, lines[: node.end_lineno]))


def _child(node: ast.AST, name: str, mutant: Mutant) -> ast.AST:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.name == name:
            return child
    raise NotPlantedError(
        f"{mutant.name}: {mutant.file} has no {mutant.within!r}; has it been renamed?"
    )


def meaning(source: str) -> str:
    """The syntax tree without docstrings: equal for two texts that do the same by the letter."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)
