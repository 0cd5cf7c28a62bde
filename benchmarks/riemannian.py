"""The figures of the Riemannian solvers.

rgd against rgd_paper, the same in the geometry as the paper ran it.

Run as `python benchmarks/riemannian.py`; `pytest benchmarks` asserts the same figures.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from _timing import Figure, main

from baselines import rgd_paper
from genorth.riemannian import rgd
from genorth.solve.result import Result
from paper_repro.problems import ExtrinsicMean, Matching

Instance = Matching | ExtrinsicMean


def _steps(
    instance: Instance, start: Any, solver: Callable[..., Result], iterations: int
) -> Result:
    """The first iterations of rgd.

    As long as rounding has not grown, both make the same ones.
    """
    return solver(instance.problem(), start, tol=0, max_iterations=iterations)


def per_iteration(
    name: str, make: Callable[[], Instance], bound: float, iterations: int = 30, runs: int = 3
) -> list[Figure]:
    """Rgd against rgd_paper: time per iteration, the sides in alternation."""
    instance = make()
    start = instance.start(1)
    times: dict[Callable[..., Result], list[float]] = {rgd_paper: [], rgd: []}
    for _ in range(runs):
        counts = set()
        for solver, seconds in times.items():
            result = _steps(instance, start, solver, iterations)
            seconds.append(result.time / result.nit)
            counts.add((result.nit, result.nfev))
        assert len(counts) == 1, f"the two took other steps: {counts}"
    paper, ours = (statistics.median(seconds) for seconds in times.values())
    return [
        Figure(
            f"rgd, {name}: times faster per iteration than rgd-paper",
            paper / ours,
            bound,
            at_least=True,
        ),
        Figure(f"rgd-paper, {name}: per iteration", 1e3 * paper, unit="ms"),
        Figure(f"rgd, {name}: per iteration", 1e3 * ours, unit="ms"),
    ]


def outside_cost(n: int, p: int, bound: float, iterations: int = 30, runs: int = 5) -> list[Figure]:
    """Time per iteration of rgd outside cost and gradient.

    The unit is one cost and gradient.
    """
    instance = Matching.generate(n, p, 0)
    start = instance.start(1)
    shares: list[float] = []
    phases: dict[str, list[float]] = {}
    for _ in range(runs):
        result = _steps(instance, start, rgd, iterations)
        cost = result.seconds["cost"] / result.nfev
        shares.append((result.time - result.seconds["cost"]) / result.nit / cost)
        for phase, seconds in result.seconds.items():
            phases.setdefault(phase, []).append(seconds / result.nit / cost)
    what = f"rgd, matching ({n},{p}): outside cost and gradient, per iteration"
    return [
        Figure(what, statistics.median(shares), bound),
        *(
            Figure(f"    of it {phase}", statistics.median(parts))
            for phase, parts in phases.items()
            if parts[0] > 0
        ),
    ]


def _matching(n: int, p: int) -> Matching:
    return Matching.generate(n, p, 0)


def _mean() -> ExtrinsicMean:
    return ExtrinsicMean.generate(1000, 20, 0)


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "rgd, matching (1000,10)": partial(
        per_iteration, "matching (1000,10)", partial(_matching, 1000, 10), 20.0
    ),
    "rgd, matching (1000,100)": partial(
        per_iteration, "matching (1000,100)", partial(_matching, 1000, 100), 8.0
    ),
    "rgd, mean (1000,20)": partial(per_iteration, "mean (1000,20)", _mean, 30.0, 6),
    "outside cost (1000,100)": partial(outside_cost, 1000, 100, 1.5),
}


if __name__ == "__main__":
    sys.exit(main("riemannian", FIGURES))
