"""What a metric is worth: evaluations and Hessian products with and without it.

Run as `python benchmarks/metrics.py`; the second part needs scikit-learn (extra `gallery`).
"""

from __future__ import annotations

import statistics
import sys
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from _timing import Figure, main

import genorth as go
from genorth.gallery import load

SOLVERS = ("rlbfgs", "rtr", "cdf-lbfgs", "odf-lbfgs")
BUDGET = {"tol": 1e-6, "max_iterations": 10_000, "max_time": 10.0, "certify": False}


def _eigenvalues(condition: float, n: int = 200, p: int = 5) -> go.Problem:
    """tr(X^T A X N)/2 over X^T B X = I, A Gaussian and symmetric, B of this condition."""
    rng = np.random.default_rng(0)
    A, N = rng.standard_normal((n, n)), np.arange(1.0, p + 1)
    A = (A + A.T) / 2
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    B = (Q * np.geomspace(1 / condition, 1.0, n)) @ Q.T

    def both(X: Any) -> tuple[float, Any]:
        G = (A @ X) * N
        return float(np.vdot(X, G)) / 2, G

    manifold = go.GeneralizedStiefel((B + B.T) / 2, p)
    return go.Problem(manifold, None, None, lambda _, Z: (A @ Z) * N, both)


def _costs(problem: go.Problem, solver: str, metric: str | None, starts: int) -> list[float]:
    """Evaluations and Hessian products from each start; infinite where it is not done."""
    options: dict[str, Any] = BUDGET | ({} if metric is None else {"metric": metric})
    runs = [
        go.minimize(problem, problem.manifold.random_point(k), method=solver, **options)
        for k in range(starts)
    ]
    return [max(r.nfev, r.njev) + r.nhev if r.success else np.inf for r in runs]


def eigenvalues(condition: float, starts: int = 5) -> list[Figure]:
    """With and without the metric "B"."""
    problem, figures = _eigenvalues(condition), []
    for solver in SOLVERS:
        for metric in (None, "B"):
            costs = _costs(problem, solver, metric, starts)
            late = sum(np.isinf(costs))
            what = f"{solver}, (200,5), condition {condition:g}, metric {metric}"
            figures.append(
                Figure(f"{what}: not done, of {starts}", int(late), unit="")
                if late
                else Figure(f"{what}: evaluations", statistics.median(costs), unit="")
            )
    return figures


def digits(starts: int = 10, bound: float = 60.0) -> list[Figure]:
    """Discriminant analysis of handwritten digits in the metric "B", the most of the starts."""
    problem = load("lda-digits").problem
    return [
        Figure(
            f"{solver}, digits, metric B: evaluations, at most",
            max(_costs(problem, solver, "B", starts)),
            bound,
            unit="",
        )
        for solver in SOLVERS
    ]


#: Each gives its figures; counts, which no test repeats.
SLOW = {f"condition {c:g}": partial(eigenvalues, c) for c in (10.0, 1e5)}
if find_spec("sklearn") is not None:
    SLOW["digits"] = digits


if __name__ == "__main__":
    sys.exit(main("metrics", SLOW))
