"""The ladder: Riemannian solvers on manifolds of rising condition number, by retraction.

{hyperbolic, indefinite, bilinear, generalized} at condition 1, 30, 1000 and symplectic, times
{nearest point to a Gaussian point, weighted trace with a Wishart matrix}, five starts each.
Run as `python benchmarks/ladder.py "(40,6)"` (minutes) or for all sizes (most of an hour). The
aims, for retraction="auto":

- the nearest point is found in every run, on all but the generalized manifold with at most 200
  iterations;
- no solver needs more than 3 evaluations an iteration in the mean;
- it costs at most 1.3 times the better of the other two in 90 % of the rows, and twice in all.
"""

from __future__ import annotations

import statistics
import sys
from functools import partial
from typing import Any

import numpy as np
from _timing import Figure, main

import genorth as go
from genorth.riemannian import rcg, rgd, rlbfgs, rtr
from paper_repro.ladder import rungs

SOLVERS: dict[str, Any] = {"rgd": rgd, "rcg": rcg, "rlbfgs": rlbfgs, "rtr": rtr}
RETRACTIONS = ("cayley", "normal", "auto")
STARTS = 5
BUDGET = {"tol": 1e-6, "max_iterations": 3000, "max_evaluations": 6000, "max_time": 30.0}


def measure(solver: str, kind: str, problem: go.Problem) -> dict[str, Any]:
    """One solver with one retraction, over all starts.

    `cost` is the median of evaluations plus Hessian products, infinite where a run is not done;
    `iterations` the largest number, `per_iteration` the mean number of evaluations of each.
    """
    costs, iterations, shares, failed = [], [], [], 0
    for seed in range(STARTS):
        start = problem.manifold.random_point(seed)
        r = SOLVERS[solver](problem, start, retraction=kind, **BUDGET)
        failed += not r.success
        costs.append(max(r.nfev, r.njev) + r.nhev if r.success else np.inf)
        iterations.append(r.nit)
        shares.append(r.nfev / max(r.nit, 1))
    return {
        "cost": statistics.median(costs),
        "iterations": max(iterations),
        "per_iteration": statistics.mean(shares),
        "failed": failed,
    }


def by_retraction(n: int, p: int) -> list[Figure]:
    """Each row by "cayley", "normal" and "auto"; it prints the rows."""
    ratios, autos, nearest = [], [], []
    for rung in rungs([(n, p)]):
        for solver in SOLVERS:
            row = {kind: measure(solver, kind, rung.problem()) for kind in RETRACTIONS}
            cayley, normal, auto = (row[kind]["cost"] for kind in RETRACTIONS)
            print(f"{rung.name:28} {solver:7} {cayley:6.0f} {normal:6.0f} {auto:6.0f}", flush=True)
            autos.append(row["auto"])
            if min(cayley, normal) < np.inf:
                ratios.append(auto / min(cayley, normal))
            if rung.task == "nearest":
                nearest.append((rung.kind, row["auto"]))
    failed = sum(row["failed"] for _, row in nearest)
    longest = max(row["iterations"] for kind, row in nearest if kind != "generalized")
    runs, share = STARTS * len(nearest), 100 * float(np.mean(np.array(ratios) <= 1.3))
    per = max(row["per_iteration"] for row in autos)
    where = f"'auto', ({n},{p})"
    return [
        Figure(f"{where}: of {runs} runs to the nearest point fail", failed, 0, unit=""),
        Figure(f"{where}: most iterations to it, but for generalized", longest, 200, unit=""),
        Figure(f"{where}: evaluations an iteration, mean of a row, at most", per, 3, unit=""),
        Figure(f"{where}: rows with 1.3 times the better of the others", share, 90, True, "%"),
        Figure(f"{where}: over the better of the others, at most", max(ratios), 2),
    ]


#: Each gives its figures; too slow for a test.
SLOW = {f"({n},{p})": partial(by_retraction, n, p) for n, p in ((40, 6), (400, 10))}


if __name__ == "__main__":
    sys.exit(main("ladder", SLOW))
