"""The figures of the default of `go.minimize`, and of trust regions on a penalty.

Time of "auto" over the best solver of the row, to 1e-6, with the Hessian products of the problem
and without: the ladder, the problem set and the paper's problems at small sizes, two starts each.
A solver that does not solve a row has an infinite time there.

Run as `python benchmarks/auto.py`.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from _timing import Figure, main
from problem_set import problem_set

import genorth as go
from baselines import SOLVERS
from paper_repro import experiments
from paper_repro.ladder import rungs
from paper_repro.problems import ExtrinsicMean, JointDiagonalisation, Matching

RIVALS = ("rgd", "rcg", "rlbfgs", "rtr", "odf-lbfgs", "odf-cg", "odf-tr", "landing-newton")
STARTS, REPEATS = 2, 2
BUDGET = {"tol": 1e-6, "max_iterations": 5000, "max_time": 10.0, "certify": False}


def rows() -> Iterator[tuple[go.Problem, Any]]:
    """Problems with a start each."""
    instances = (
        Matching.generate(100, 10, 0),
        Matching.generate(1000, 20, 0),
        ExtrinsicMean.generate(200, 10, 0),
        JointDiagonalisation.generate(50, 5, 5, 10, 0),
    )
    problems = [*problem_set(), *(rung.problem() for rung in rungs([(40, 6)]))]
    for seed in range(STARTS):
        for problem in problems:
            yield problem, problem.manifold.random_point(seed)
        for instance in instances:
            yield instance.problem(), instance.start(seed)


def without_hessian(problem: go.Problem) -> go.Problem:
    """The problem without its Hessian product."""
    return go.Problem(problem.manifold, cost_and_gradient=problem.evaluate, name=problem.name)


def seconds(problem: go.Problem, start: Any, method: str) -> float:
    """The least processor time of a run; infinite if it does not succeed."""
    best = math.inf
    for _ in range(REPEATS):
        begin = time.process_time()
        result = go.minimize(problem.fresh(), start, method=method, **BUDGET)
        if not result.success:
            return math.inf
        best = min(best, time.process_time() - begin)
    return best


def against_the_best(hessian: bool) -> list[Figure]:
    """The default over the best of its rivals."""
    ratios, unsolved = [], 0
    for problem, start in rows():
        problem = problem if hessian else without_hessian(problem)
        best = min(seconds(problem, start, method) for method in RIVALS)
        ours = seconds(problem, start, "auto")
        if math.isinf(best):
            continue  # nothing solves it
        unsolved += math.isinf(ours)
        ratios.append(ours / best)
    what = "auto over the best, " + ("Hessian products given" if hessian else "by differences")
    return [
        Figure(f"{what}: median of {len(ratios)} runs", statistics.median(ratios), 1.15),
        Figure(f"{what}: 90 %", float(np.quantile(ratios, 0.9)), 2.0),
        Figure(f"{what}: unsolved that another solves", unsolved, 0, unit=""),
    ]


def on_a_penalty() -> list[Figure]:
    """odf-tr over rtr on the ladder, time."""
    ratios = []
    for rung in rungs([(40, 6)]):
        for seed in range(STARTS):
            start = rung.problem().manifold.random_point(seed)
            times = [seconds(rung.problem(), start, method) for method in ("odf-tr", "rtr")]
            if all(map(math.isfinite, times)):
                ratios.append(times[0] / times[1])
    return [Figure("odf-tr over rtr, ladder (40,6): median", statistics.median(ratios), 1.5)]


def square() -> list[Figure]:
    """rgd over RGD as the paper ran it, Table 4 at (1000,1000), to 1e-9; and what bounds it.

    At p = n a gradient takes ten and a half products of two n x n matrices, an eigendecomposition
    counted as the four that it lasts, and a Cayley step four.
    """
    size = next(size for size in experiments.table(4).sizes if size.numbers == (1000, 1000))
    instance = size.evolve(samples=20).generated()
    start, spent = instance.table_start([0, 4, 1]), dict[str, list[float]]()
    for method in ("rgd", "rgd-paper", "rgd", "rgd-paper"):
        begin = time.process_time()
        result = SOLVERS[method](instance.problem(), start, tol=1e-9)
        spent.setdefault(method, []).append((time.process_time() - begin) / result.evaluations)
    K = start.T @ start
    parts = [(np.linalg.eigh, 1.0), (lambda K: K @ start, 6.5 + 4.0)]
    bound = sum(
        count * statistics.median(_processor(part, K) for _ in range(5)) for part, count in parts
    )
    ours, paper = (min(spent[method]) for method in ("rgd", "rgd-paper"))
    return [
        Figure(
            "Table 4 (1000,1000): RGD of the paper over rgd, each evaluation",
            paper / ours,
            3.0,
            True,
        ),
        Figure("... and over the bare products and the eigendecomposition", paper / bound),
    ]


def _processor(call: Callable[[Any], Any], K: Any) -> float:
    begin = time.process_time()
    call(K)
    return time.process_time() - begin


#: Each gives its figures.
FIGURES = {
    "Hessian products": partial(against_the_best, True),
    "differences": partial(against_the_best, False),
    "odf-tr": on_a_penalty,
    "Table 4": square,
}

if __name__ == "__main__":
    sys.exit(main("auto", FIGURES))
