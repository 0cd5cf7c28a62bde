"""Draw docs/_static/report.png, the first screen of a report: `python report_picture.py`.

It needs Chromium, which not every machine that builds the pages has, so the picture is kept.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import genorth as go
from genorth import compare

_PICTURE = Path(__file__).parents[1] / "_static" / "report.png"
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")


def descent(problem: go.Problem, x0: Any, *, tol: float) -> Any:
    """The solver of docs/comparison.md."""
    M, X = problem.manifold, x0
    while M.norm(Z := M.gradient(X, problem.euclidean_gradient(X))) > tol:
        X = M.retract(X, -0.02 * Z)
    return X


def problem(n: int) -> go.Problem:
    """The sum of the lowest eigenvalues."""
    A = np.random.default_rng(0).standard_normal((n, n)) / np.sqrt(n)
    A = A + A.T
    return go.Problem(
        go.Stiefel(n, 4),
        lambda X: np.vdot(X, A @ X),
        lambda X: 2 * A @ X,
        lambda X, Z: 2 * A @ Z,  # noqa: ARG005
        name="lowest eigenvalues",
    )


def main() -> None:
    """Compare, write the report, and take its picture."""
    solvers = {name: name for name in ("cdf-lbfgs", "odf-lbfgs", "rgd", "rlbfgs", "rtr", "landing")}
    cases = [
        compare.Case("lowest eigenvalues", f"({n},4)", lambda _, n=n: problem(n))
        for n in (20, 40, 80, 160)
    ]
    records = compare.run(
        cases, solvers | {"descent": descent}, starts=5, tolerances=(1e-3, 1e-6), progress=None
    )
    with tempfile.TemporaryDirectory() as folder:
        page = compare.report(records, Path(folder) / "report.html", "Lowest eigenvalues")
        how = (f"--user-data-dir={folder}/profile", f"--screenshot={_PICTURE}")
        view = ("--window-size=1200,1000", "--virtual-time-budget=60000", page.as_uri())
        chromium = shutil.which("chromium") or "google-chrome"
        subprocess.run([chromium, *_FLAGS, *how, *view], check=True, capture_output=True)


if __name__ == "__main__":
    main()
