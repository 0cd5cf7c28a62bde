"""The recipes of docs/contributing.md, each followed in a temporary copy of the packages."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
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


def run(copy: Path, script: str, warnings: str = "error") -> list[str]:
    """The lines that the script prints in the changed copy."""
    own = os.environ | {"PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1"}
    how = {"cwd": copy, "env": own, "capture_output": True, "text": True, "timeout": 120}
    command = [sys.executable, "-W", warnings, "-c", _PROBLEM + textwrap.dedent(script)]
    done = subprocess.run(command, check=False, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


_PROBLEM = """
import numpy as np
import baselines
import genorth as go
A = np.diag(np.arange(1.0, 9.0))
problem = go.Problem(go.Stiefel(8, 2), lambda X: np.vdot(X, A @ X), lambda X: 2 * A @ X)
"""


def test_a_manifold(copy):
    source, use = recipe("manifold")
    (copy / "genorth/manifolds/weighted.py").write_text(source, "utf-8")
    line = "from genorth.manifolds.weighted import WeightedStiefel\n"
    insert(copy / "genorth/manifolds/__init__.py", "\n__all__ = [", line)
    insert(copy / "genorth/__init__.py", "\n__version__", line)
    insert(
        copy / "genorth/testing/strategies.py",
        '    "generalized": _generalized,\n',
        '    "columns": lambda r: go.WeightedStiefel(r.n, np.arange(1.0, r.p + 1)),\n',
    )
    script = """
        drawn = gt.Recipe("columns", 6, 3, 1.0, 0).build()
        print(type(drawn).__module__, M.dim == go.Stiefel(6, 3).dim, M.theta_solver.name)
        try:
            WeightedStiefel(6, [1.0, -1.0])
        except ValueError as error:
            print(error)
    """
    use = f"from genorth import WeightedStiefel\n{use}\n"
    first, second = run(copy, use + textwrap.dedent(script))
    assert first == "genorth.manifolds.weighted True eigendecomposition"
    assert second.startswith("weights: need a 1-D array of positive numbers; ")


def test_a_riemannian_solver(copy):
    source, entry = recipe("solver")
    (copy / "genorth/riemannian/backtracking.py").write_text(source, "utf-8")
    registry = copy / "genorth/riemannian/registry.py"
    line = "from genorth.riemannian.backtracking import backtracking\n"
    insert(registry, "from genorth.riemannian.solvers import", line)
    insert(registry, '    _record(rcg, "cg"', f"{entry.rstrip()},\n")
    script = """
        result = go.minimize(problem, method="backtracking", rng=0, tol=1e-5)
        print(result.status.name, round(result.fun, 6), result.method)
        print(go.SOLVERS["backtracking"].family)
    """
    assert run(copy, script) == ["CONVERGED 3.0 backtracking", "Riemannian"]


def test_a_penalty(copy: Path) -> None:
    source, entry = recipe("penalty")
    (copy / "genorth/penalty/twice.py").write_text(source, "utf-8")
    registry = copy / "genorth/penalty/registry.py"
    line = "from genorth.penalty.twice import TwiceDissolving\n"
    insert(registry, "from genorth.solve.cg import cg\n", line)
    text = registry.read_text("utf-8")
    before = re.search(r"^PENALTIES: .*?^}\n", text, re.M | re.S)
    assert before is not None
    registry.write_text(text.replace(before[0], entry), "utf-8")
    # along X S^T the curvature at a stationary point is that of beta/2 |C|^2 alone
    script = """
        for method in ("tdf-gd", "tdf-cg", "tdf-lbfgs", "tdf-tr", "tdf-lbfgs-scipy"):
            result = go.minimize(problem, method=method, rng=0)
            print(method, result.success, round(result.fun, 6), result.threshold)
        from genorth.penalty.twice import TwiceDissolving
        M = go.SymplecticStiefel(6, 2)
        quartic = go.Problem(M, lambda X: (X**4).sum(), lambda X: 4 * X**3,
                             lambda X, Z: 12 * X**2 * Z)
        h = TwiceDissolving(quartic, 2.0)
        X, Z, t = M.random_point(0) + 0.05 * M.random_ambient(1), M.random_ambient(2), 1e-5
        slope = (h.value(X + t * Z) - h.value(X - t * Z)) / (2 * t)
        print(abs(np.vdot(h.gradient(X), Z) - slope) <= 1e-6 * abs(slope))
        change = (h.gradient(X + t * Z) - h.gradient(X - t * Z)) / (2 * t)
        error = np.linalg.norm(h.hessian_product(X, Z) - change)
        print(error <= 1e-6 * np.linalg.norm(change))
        x, S = result.x, np.array([[1.0, 0.5], [0.5, -2.0]])
        h = TwiceDissolving(problem, 1e-3)
        print(np.allclose(np.vdot(x @ S, h.hessian_product(x, x @ S)), 4e-3 * np.vdot(S, S)))
    """
    loops = ("gd", "cg", "lbfgs", "tr", "lbfgs-scipy")
    assert run(copy, script) == [*(f"tdf-{loop} True 3.0 0.0" for loop in loops), *["True"] * 3]


def test_a_pytorch_optimiser(copy: Path) -> None:
    source, export = recipe("optimiser")
    folder = copy / "genorth/interop/torch"
    insert(folder / "optimizers.py", "def _moved(", f"{source}\n\n")
    insert(folder / "__init__.py", "\n__all__ = [", export)
    compile((folder / "optimizers.py").read_text("utf-8"), "optimizers.py", "exec")
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'genorth[torch]'")
    script = """
        import torch
        from genorth.interop.torch import NormalizedSGD, feasibility, place
        _ = torch.manual_seed(0)
        layer = torch.nn.Linear(8, 3, dtype=torch.float64)
        _ = place(layer, "weight", go.Stiefel(8, 3))
        optimizer = NormalizedSGD(layer.parameters(), lr=0.05)
        T, losses = torch.randn(3, 8), []
        for _ in range(30):
            optimizer.zero_grad()
            loss = (layer.weight - T).square().sum() + layer.bias.square().sum()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(losses[-1] < losses[0], feasibility(layer)["weight"] < 1e-9)
    """
    # PyTorch warns on some machines, for reasons of its own
    assert run(copy, script, "default") == ["True True"]


def test_a_peer(copy: Path) -> None:
    source, entry = recipe("peer")
    (copy / "baselines/peers/bfgs.py").write_text(source, "utf-8")
    registry = copy / "baselines/registry.py"
    insert(registry, "from baselines.peers import cdopt\n", "from baselines.peers import bfgs\n")
    insert(registry, '    _pymanopt("pymanopt-sd"', f"{entry.rstrip()},\n")
    script = """
        result = go.minimize(problem, method="scipy-bfgs", rng=0, tol=1e-5, beta=20.0)
        print(result.status.name, round(result.fun, 6), result.nfev > 0, result.beta)
        unitary = go.Problem(go.Stiefel(4, 2, dtype=complex), lambda X: 0.0, lambda X: 0 * X)
        print(go.SOLVERS["scipy-bfgs"].why_not(unitary))
    """
    assert run(copy, script) == [
        "CONVERGED 3.0 True 20.0",
        "BFGS of SciPy takes real entries only",
    ]


def test_a_column(copy):
    pytest.importorskip("pandas", reason="needs pandas: pip install 'genorth[report]'")
    (entry,) = recipe("column")
    columns = copy / "genorth/compare/runs/record.py"
    insert(columns, '    Column("nfev"),\n', f"{entry.rstrip()},\n")
    script = """
        from genorth import compare
        how = {"tolerances": 1e-8, "progress": None, "max_iterations": 2}
        (record,) = records = compare.run(problem, ["cdf-gd"], **how)
        print(records.to_frame()["speed"][0] == record.nit / record.time)
        print("Iter/s" in [head.name for head in compare.tables.failures_table(records).heads])
    """
    assert run(copy, script) == ["True", "True"]


def test_a_real_problem(copy):
    (source,) = recipe("instance")
    (copy / "genorth/gallery/hilbert.py").write_text(source, "utf-8")
    script = """
        from genorth import gallery
        instance = gallery.load("hilbert")
        for method in ("odf-lbfgs", "rtr", "landing-newton"):
            result = go.minimize(instance.problem, instance.start, method=method)
            print(result.success, abs(instance.error(result.fun)) < 1e-8)
        print("hilbert" in gallery.names(), instance.source)
    """
    assert run(copy, script) == ["True True"] * 3 + ["True scipy"]


def test_a_problem(copy):
    (source,) = recipe("problem")
    (copy / "paper_repro/problems/eigenvalues.py").write_text(source, "utf-8")
    script = """
        from genorth import compare
        from paper_repro.experiments import SOLVERS, own, table
        cases, solvers = table(8).toy().instances(), {"rtr": SOLVERS["rtr"]}
        (record,) = compare.run(cases, solvers, tolerances=1e-6, progress=None)
        print(record.problem, record.size, record.status)
        print(own("eigenvalues", [(20, 3)]).sizes[0].problem(0).manifold.shape)
        import paper_repro.commands
        paper_repro.commands.main.options("problem eigenvalues --sizes 200,5".split())
    """
    assert run(copy, script) == ["Table 8: eigenvalues (8,2) CONVERGED", "(20, 3)"]
