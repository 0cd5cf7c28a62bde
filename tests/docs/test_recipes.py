"""The recipes of docs/contributing.md, each followed in a temporary copy of the packages."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contributing.md").read_text("utf-8")


def recipe(name: str) -> list[str]:
    """The code blocks of a recipe, in order."""
    return re.findall(rf"^<!-- recipe: {name} -->\n```py\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The packages, to be changed."""
    for package in ("genorth", "baselines", "paper_repro"):
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path


def insert(path: Path, anchor: str, text: str) -> None:
    """Put the text in front of the anchor, which the file has once."""
    source = path.read_text("utf-8")
    assert source.count(anchor) == 1, f"{path.name}: {anchor!r}"
    path.write_text(source.replace(anchor, text + anchor), "utf-8")


def run(copy: Path, script: str, warnings: str = "error") -> str:
    """What the script prints in the changed copy."""
    own = os.environ | {"PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"}
    how = {"cwd": copy, "env": own, "capture_output": True, "text": True, "timeout": 120}
    command = [sys.executable, "-W", warnings, "-c", script]
    done = subprocess.run(command, check=False, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout


_PROBLEM = """
import numpy as np
import baselines
import genorth as go
A = np.diag(np.arange(1.0, 9.0))
problem = go.Problem(go.Stiefel(8, 2), lambda X: np.vdot(X, A @ X), lambda X: 2 * A @ X)
"""


def test_a_manifold(copy):
    source, use = recipe("manifold")
    (copy / "genorth" / "manifolds" / "weighted.py").write_text(source, "utf-8")
    line = "from genorth.manifolds.weighted import WeightedStiefel\n"
    insert(copy / "genorth" / "manifolds" / "__init__.py", "\n__all__ = [", line)
    insert(copy / "genorth" / "__init__.py", "\n__version__", line)
    insert(
        copy / "genorth" / "testing" / "strategies.py",
        '    "generalized": _generalized,\n',
        '    "columns": lambda r: go.WeightedStiefel(r.n, np.arange(1.0, r.p + 1)),\n',
    )
    printed = run(
        copy,
        f"from genorth import WeightedStiefel\n{use}\n"
        "drawn = gt.Recipe('columns', 6, 3, 1.0, 0).build()\n"
        "print(type(drawn).__module__, M.dim == go.Stiefel(6, 3).dim, M.theta_solver.name)\n"
        "try:\n    WeightedStiefel(6, [1.0, -1.0])\n"
        "except ValueError as error:\n    print(error)\n",
    )
    first, second = printed.splitlines()
    assert first == "genorth.manifolds.weighted True eigendecomposition"
    assert second.startswith("weights: need a 1-D array of positive numbers; ")


def test_a_riemannian_solver(copy):
    source, entry = recipe("solver")
    (copy / "genorth" / "riemannian" / "backtracking.py").write_text(source, "utf-8")
    registry = copy / "genorth" / "riemannian" / "registry.py"
    line = "from genorth.riemannian.backtracking import backtracking\n"
    insert(registry, "from genorth.riemannian.solvers import", line)
    insert(registry, '    _record(rcg, "cg"', f"{entry.rstrip()},\n")
    script = (
        'result = go.minimize(problem, method="backtracking", rng=0, tol=1e-5)\n'
        "print(result.status.name, round(result.fun, 6), result.method)\n"
        'print(go.SOLVERS["backtracking"].family)\n'
    )
    assert run(copy, _PROBLEM + script).splitlines() == ["CONVERGED 3.0 backtracking", "Riemannian"]


def test_a_penalty(copy: Path) -> None:
    source, entry = recipe("penalty")
    (copy / "genorth" / "penalty" / "twice.py").write_text(source, "utf-8")
    registry = copy / "genorth" / "penalty" / "registry.py"
    line = "from genorth.penalty.twice import TwiceDissolving\n"
    insert(registry, "from genorth.solve.cg import cg\n", line)
    text = registry.read_text("utf-8")
    before = re.search(r"^PENALTIES: .*?^}\n", text, re.M | re.S)
    assert before is not None
    registry.write_text(text.replace(before[0], entry), "utf-8")
    script = (
        "for method in ('tdf-gd', 'tdf-cg', 'tdf-lbfgs', 'tdf-tr', 'tdf-lbfgs-scipy'):\n"
        "    result = go.minimize(problem, method=method, rng=0)\n"
        "    print(method, result.success, round(result.fun, 6), result.threshold)\n"
        "from genorth.penalty.twice import TwiceDissolving\n"
        "M = go.SymplecticStiefel(6, 2)\n"
        "quartic = go.Problem(M, lambda X: (X**4).sum(), lambda X: 4 * X**3,\n"
        "                     lambda X, Z: 12 * X**2 * Z)\n"
        "h = TwiceDissolving(quartic, 2.0)\n"
        "X, Z, t = M.random_point(0) + 0.05 * M.random_ambient(1), M.random_ambient(2), 1e-5\n"
        "slope = (h.value(X + t * Z) - h.value(X - t * Z)) / (2 * t)\n"
        "print(abs(np.vdot(h.gradient(X), Z) - slope) <= 1e-6 * abs(slope))\n"
        "change = (h.gradient(X + t * Z) - h.gradient(X - t * Z)) / (2 * t)\n"
        "error = np.linalg.norm(h.hessian_product(X, Z) - change)\n"
        "print(error <= 1e-6 * np.linalg.norm(change))\n"
        # along X S^T the curvature at a stationary point is that of beta/2 |C|^2 alone
        "x, S = result.x, np.array([[1.0, 0.5], [0.5, -2.0]])\n"
        "h = TwiceDissolving(problem, 1e-3)\n"
        "print(np.allclose(np.vdot(x @ S, h.hessian_product(x, x @ S)), 4e-3 * np.vdot(S, S)))\n"
    )
    loops = ("gd", "cg", "lbfgs", "tr", "lbfgs-scipy")
    found = [f"tdf-{loop} True 3.0 0.0" for loop in loops]
    assert run(copy, _PROBLEM + script).splitlines() == [*found, "True", "True", "True"]


def test_a_pytorch_optimiser(copy: Path) -> None:
    source, export = recipe("optimiser")
    folder = copy / "genorth" / "interop" / "torch"
    insert(folder / "optimizers.py", "def _moved(", f"{source}\n\n")
    insert(folder / "__init__.py", "\n__all__ = [", export)
    compile((folder / "optimizers.py").read_text("utf-8"), "optimizers.py", "exec")
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'genorth[torch]'")
    script = (
        "import torch\n"
        "from genorth.interop.torch import NormalizedSGD, feasibility, place\n"
        "_ = torch.manual_seed(0)\n"
        "layer = torch.nn.Linear(8, 3, dtype=torch.float64)\n"
        "_ = place(layer, 'weight', go.Stiefel(8, 3))\n"
        "optimizer = NormalizedSGD(layer.parameters(), lr=0.05)\n"
        "T, losses = torch.randn(3, 8), []\n"
        "for _ in range(30):\n"
        "    optimizer.zero_grad()\n"
        "    loss = (layer.weight - T).square().sum() + layer.bias.square().sum()\n"
        "    loss.backward()\n"
        "    optimizer.step()\n"
        "    losses.append(loss.item())\n"
        "print(losses[-1] < losses[0], feasibility(layer)['weight'] < 1e-9)\n"
    )
    # PyTorch warns on some machines, for reasons of its own
    assert run(copy, _PROBLEM + script, "default").splitlines() == ["True True"]


def test_a_peer(copy: Path) -> None:
    source, entry = recipe("peer")
    (copy / "baselines" / "peers" / "bfgs.py").write_text(source, "utf-8")
    registry = copy / "baselines" / "registry.py"
    insert(registry, "from baselines.peers import cdopt\n", "from baselines.peers import bfgs\n")
    insert(registry, '    _pymanopt("pymanopt-sd"', f"{entry.rstrip()},\n")
    script = (
        'result = go.minimize(problem, method="scipy-bfgs", rng=0, tol=1e-5, beta=20.0)\n'
        "print(result.status.name, round(result.fun, 6), result.nfev > 0, result.beta)\n"
        "unitary = go.Problem(go.Stiefel(4, 2, dtype=complex), lambda X: 0.0, lambda X: 0 * X)\n"
        'print(go.SOLVERS["scipy-bfgs"].why_not(unitary))\n'
    )
    assert run(copy, _PROBLEM + script).splitlines() == [
        "CONVERGED 3.0 True 20.0",
        "BFGS of SciPy takes real entries only",
    ]


def test_a_column(copy):
    pytest.importorskip("pandas", reason="needs pandas: pip install 'genorth[report]'")
    (entry,) = recipe("column")
    columns = copy / "genorth" / "compare" / "runs" / "record.py"
    insert(columns, '    Column("nfev"),\n', f"{entry.rstrip()},\n")
    script = (
        "from genorth import compare\n"
        "records = compare.run(problem, ['cdf-gd'], tolerances=(1e-8,), progress=None,\n"
        "                      max_iterations=2)\n"
        "(record,) = records\n"
        "print(records.to_frame()['speed'][0] == record.nit / record.time)\n"
        "print('Iter/s' in [head.name for head in compare.tables.failures_table(records).heads])\n"
    )
    assert run(copy, _PROBLEM + script).splitlines() == ["True", "True"]


def test_a_real_problem(copy):
    (source,) = recipe("instance")
    (copy / "genorth" / "gallery" / "hilbert.py").write_text(source, "utf-8")
    script = (
        "import genorth as go\n"
        "from genorth import gallery\n"
        "instance = gallery.load('hilbert')\n"
        "for method in ('odf-lbfgs', 'rtr', 'landing-newton'):\n"
        "    result = go.minimize(instance.problem, instance.start, method=method)\n"
        "    print(result.success, abs(instance.error(result.fun)) < 1e-8)\n"
        "print('hilbert' in gallery.names(), instance.source)\n"
    )
    assert run(copy, script).splitlines() == ["True True"] * 3 + ["True scipy"]


def test_a_problem(copy):
    (source,) = recipe("problem")
    (copy / "paper_repro" / "problems" / "eigenvalues.py").write_text(source, "utf-8")
    script = (
        "from genorth import compare\n"
        "from paper_repro.experiments import SOLVERS, own, table\n"
        "(record,) = compare.run(\n"
        "    table(8).toy().instances(), {'rtr': SOLVERS['rtr']},\n"
        "    tolerances=(1e-6,), progress=None)\n"
        "print(record.problem, record.size, record.status)\n"
        "print(own('eigenvalues', [(20, 3)]).sizes[0].problem(0).manifold.shape)\n"
        "import paper_repro.commands\n"
        "paper_repro.commands.main.options('problem eigenvalues --sizes 200,5'.split())\n"
    )
    assert run(copy, script).splitlines() == ["Table 8: eigenvalues (8,2) CONVERGED", "(20, 3)"]
