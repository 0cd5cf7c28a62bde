"""The figure of the comparison framework: what `compare.run` adds to runs of one second.

Run as `python benchmarks/compare.py`; `pytest benchmarks` asserts the same figure.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from _timing import Figure, main

import genorth as go
from baselines import SOLVERS
from genorth import compare
from paper_repro.problems import Matching

_SECONDS = 1.0
_NEVER = 1e-300  # a tolerance that no run reaches: each makes all its iterations


class _Clocked:
    """The solver, with the wall time of all its calls."""

    def __init__(self, name: str) -> None:
        self._solver, self.seconds = SOLVERS[name], 0.0

    def __call__(self, problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
        begin = time.perf_counter()
        result = self._solver(problem, x0, **arguments)
        self.seconds += time.perf_counter() - begin
        return result


def _iterations(problem: go.Problem, start: Any, solver: str) -> int:
    """How many take one second of a processor.

    A run of so many is disturbed by other work as much as `run` is.
    """
    begin = time.process_time()
    result = SOLVERS[solver](problem, start, tol=_NEVER, max_iterations=50)
    return round(_SECONDS * result.nit / (time.process_time() - begin))


def _share(instance: compare.Case, solver: str, iterations: int, runs: int) -> float:
    """(wall time of `run` with a folder) - (wall time of the solver), in percent of the latter."""
    clocked = _Clocked(solver)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        records = compare.run(
            [instance],
            {f"{solver} {i}": clocked for i in range(runs)},
            tolerances=_NEVER,
            max_iterations=iterations,
            out=folder,
            progress=None,
        )
        wall = time.perf_counter() - begin
    assert {record.status for record in records} == {"ITERATION_LIMIT"}, records[0].message
    return 100 * (wall - clocked.seconds) / clocked.seconds


def overhead(n: int, p: int, solver: str, times: int = 3) -> list[Figure]:
    """Of a comparison of four runs of one second, and of one such run.

    The one run bears alone what is done once for all runs. The problem and the start are made
    before: they are needed with or without `run`.
    """
    matching = Matching.generate(n, p, 0)
    problem, start = matching.problem(), matching.start(0)
    instance = compare.Case(
        "matching", f"({n},{p})", lambda seed: problem, lambda problem, seed: start
    )
    iterations = _iterations(problem, start, solver)
    _share(instance, solver, iterations, 1)  # loads what is loaded once
    one, four = (
        statistics.median(_share(instance, solver, iterations, runs) for _ in range(times))
        for runs in (1, 4)
    )
    what = f"compare.run, {solver} on matching ({n},{p}), runs of 1 s: overhead"
    return [
        Figure(f"{what}, 4 of them", four, 2.0, unit="%"),
        Figure("    a single one", one, unit="%"),
    ]


#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    "overhead, (100,10)": partial(overhead, 100, 10, "rgd"),
    "overhead, (1000,100)": partial(overhead, 1000, 100, "rgd"),
}


if __name__ == "__main__":
    sys.exit(main("compare", FIGURES))
