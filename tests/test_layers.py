"""The import graph has no cycle, and each layer imports only those before it.

Imports inside functions count, as they run too; imports for type checkers do not.
"""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("genorth", "baselines", "paper_repro")
#: From the bottom up. A module belongs to the longest name that it begins with.
# `genorth` is what `import genorth` gives, `genorth.compare` the entry points above its rooms.
_NAMED = (
    "genorth.errors genorth.optional genorth.notebook genorth.files genorth.command "
    "genorth.bibliography genorth.linalg genorth.geometry genorth.manifolds genorth.problem "
    "genorth.checks genorth.solve genorth.riemannian genorth.penalty genorth.interop "
    "genorth.auto genorth.splitting genorth.alm genorth.rounds genorth.minimize genorth "
    "genorth.machine "
    "genorth.compare.runs genorth.compare.analysis genorth.compare.render genorth.compare "
    "genorth.training genorth.gallery genorth.testing genorth.__main__ baselines paper_repro"
)
LAYERS = _NAMED.split()
Graph = dict[str, set[str]]


def modules(root: Path) -> dict[str, Path]:
    """The modules of the packages by name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _runtime(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below, without those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        guard = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        if not guard:
            yield child
            yield from _runtime(child)


def imports(source: str, known: dict[str, Path]) -> set[str]:
    """The modules of ours that a source imports when it runs."""
    found = set()
    for node in _runtime(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, "imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else node.module)
    return found & known.keys()


def import_graph(root: Path) -> Graph:
    known = modules(root)
    return {name: imports(path.read_text("utf-8"), known) for name, path in known.items()}


def layer(module: str) -> int:
    names = [name for name in LAYERS if module == name or module.startswith(f"{name}.")]
    return LAYERS.index(max(names, key=len))


def wrong_way(graph: Graph) -> list[str]:
    return [
        f"{module} imports {other}"
        for module, others in graph.items()
        for other in others
        if layer(other) > layer(module)
    ]


def test_no_cycle():
    try:
        TopologicalSorter(import_graph(ROOT)).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_each_layer_imports_only_those_before_it():
    graph = import_graph(ROOT)
    assert len(graph) > 50
    assert not wrong_way(graph)


def test_every_module_has_a_layer():
    bare = [name for name in modules(ROOT) if LAYERS[layer(name)] == "genorth"]
    assert bare == ["genorth"], "add the new room to LAYERS"
