"""The recipes of docs/contributing.md, each followed in a temporary package or file."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import genorth as go

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contributing.md").read_text("utf-8")


def recipe(name: str) -> list[str]:
    """The code blocks of a recipe, in order."""
    return re.findall(rf"^<!-- recipe: {name} -->\n```python\n(.*?)^```$", PAGE, re.M | re.S)


def test_a_manifold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, use = recipe("manifold")
    (tmp_path / "weighted.py").write_text(source, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "weighted", raising=False)
    module = importlib.import_module("weighted")
    exec(use, {"WeightedStiefel": module.WeightedStiefel})
    M = module.WeightedStiefel(6, [1.0, 2.0, 4.0])
    assert M.dim == go.Stiefel(6, 3).dim and M.theta_solver.name == "eigendecomposition"
    with pytest.raises(ValueError, match=r"^weights: need .* positive"):
        module.WeightedStiefel(6, [1.0, -1.0])


def test_a_manifold_in_its_room(tmp_path: Path) -> None:
    """A copy of genorth with the new file and the three lines: nothing else is to be touched."""
    package = tmp_path / "genorth"
    shutil.copytree(
        ROOT / "genorth", package, ignore=shutil.ignore_patterns("__pycache__", "compare")
    )
    (package / "manifolds" / "weighted.py").write_text(recipe("manifold")[0], "utf-8")
    line = "from genorth.manifolds.weighted import WeightedStiefel\n"
    for room, anchor in (
        ("manifolds/__init__.py", "\n__all__ = ["),
        ("__init__.py", "\n__version__"),
    ):
        text = (package / room).read_text("utf-8")
        assert text.count(anchor) == 1
        (package / room).write_text(text.replace(anchor, f"{line}{anchor}"), "utf-8")
    strategies = package / "testing" / "strategies.py"
    families = '    "stiefel": lambda r: go.Stiefel(r.n, r.p),\n'
    text = strategies.read_text("utf-8")
    assert text.count(families) == 1
    new = '    "weighted": lambda r: go.WeightedStiefel(r.n, np.arange(1.0, r.p + 1)),\n'
    strategies.write_text(text.replace(families, families + new), "utf-8")
    script = (
        "import genorth.testing as gt\n"
        "M = gt.Recipe('weighted', 6, 3, 1.0, 0).build()\n"
        "assert type(M).__module__ == 'genorth.manifolds.weighted', type(M)\n"
        "gt.PROPERTIES[0].check(M)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
