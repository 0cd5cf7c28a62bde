"""What an executor adds to a sweep: per run of one second, and once for each worker.

Run as `python benchmarks/executors.py`; `pytest benchmarks` asserts the same figures. Executors
that are not installed (extra `sweeps`) are left out.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

import attrs
from _timing import Figure, main

import genorth as go
from baselines import SOLVERS
from genorth import compare
from paper_repro.problems import Matching

_SECONDS, _RUNS = 1.0, 4  # of a run; of a place
_NEVER = 1e-300  # a tolerance that no run reaches: each makes all its iterations
_SIZE = 100, 10


@contextmanager
def _processes() -> Iterator[Any]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


@contextmanager
def _threads() -> Iterator[Any]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@contextmanager
def _loky() -> Iterator[Any]:
    import loky

    pool = loky.ProcessPoolExecutor(1)
    try:
        yield pool
    finally:
        pool.shutdown()


@contextmanager
def _dask() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    one = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**one) as cluster, Client(cluster) as client:
        yield client.get_executor()


@contextmanager
def _submitit() -> Iterator[Any]:
    import submitit

    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # its jobs begin anew
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield submitit.LocalExecutor(folder)
    finally:
        os.environ["PYTHONPATH"] = before


def _clocked(problem: go.Problem, x0: Any, **arguments: Any) -> go.Result:
    """The solver, with the wall time of the call: that of a record is without our measuring."""
    begin = time.perf_counter()
    result = SOLVERS["rgd"](problem, x0, **arguments)
    return attrs.evolve(result, seconds={"call": time.perf_counter() - begin})


def _make(seed: int) -> Any:
    return Matching.generate(*_SIZE, seed).problem()


class _Noting:
    """Takes down when each run is told to be finished."""

    def __init__(self) -> None:
        self.ends: list[tuple[float, float]] = []

    def start(self, total: int) -> None: ...

    def begin(self, *key: Any) -> None: ...

    def finish(self, record: compare.Record) -> None:
        assert record.status == "ITERATION_LIMIT", record.message
        self.ends.append((time.perf_counter(), record.seconds["call"]))

    def close(self) -> None: ...


def _sweep(executor: Any, places: int, iterations: int) -> tuple[float, float]:
    """What one worker adds to the first place, in seconds, and to the runs of the others, in %."""
    instance = compare.Case("matching", f"({_SIZE[0]},{_SIZE[1]})", _make)
    noting, begin = _Noting(), time.perf_counter()
    compare.run(
        [instance],
        {f"rgd {number}": _clocked for number in range(_RUNS)},
        starts=places,
        tolerances=_NEVER,
        max_iterations=iterations,
        executor=executor,
        progress=noting,
    )
    first = noting.ends[_RUNS - 1][0]
    calls = [seconds for _, seconds in noting.ends]
    rest = sum(calls[_RUNS:])
    further = 100 * (noting.ends[-1][0] - first - rest) / rest if rest else math.nan
    return first - begin - sum(calls[:_RUNS]), further


def overhead(name: str, start: Callable[[], Any], places: int, times: int = 3) -> list[Figure]:
    """Of places of four runs of one second, on one worker.

    The first place has the start of a process on the worker besides.
    """
    begin = time.process_time()
    result = SOLVERS["rgd"](_make(0), tol=_NEVER, max_iterations=50)
    iterations = round(_SECONDS * result.nit / (time.process_time() - begin))
    with start() as executor:
        _sweep(executor, 1, 1)  # starts the worker itself
        first, further = zip(
            *(_sweep(executor, places, iterations) for _ in range(times)), strict=True
        )
    what = f"compare.run(executor={name}), runs of 1 s, {_RUNS} a task"
    once = Figure(f"{what}: once", statistics.median(first), unit="s")
    if places == 1:
        return [once]
    return [Figure(f"{what}: overhead", statistics.median(further), 2.0, unit="%"), once]


_EXECUTORS: dict[str, tuple[str, Callable[[], Any], int]] = {
    "ProcessPoolExecutor": ("concurrent", _processes, 3),
    "ThreadPoolExecutor": ("concurrent", _threads, 3),
    "loky": ("loky", _loky, 3),
    "dask": ("distributed", _dask, 3),
    # each task is a job, with an interpreter of its own: what it adds, it adds to every task
    "submitit": ("submitit", _submitit, 1),
}
#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    f"overhead of {name}": partial(overhead, name, start, places)
    for name, (package, start, places) in _EXECUTORS.items()
    if find_spec(package) is not None
}


if __name__ == "__main__":
    sys.exit(main("executors", FIGURES))
