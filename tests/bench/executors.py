"""What an executor adds to a sweep: per run of one second, and once for each worker.

Run as `python tests/bench/executors.py`; `pytest tests/bench` asserts the same figures. Executors
that are not installed (extra `sweeps`) are left out.
"""

from __future__ import annotations

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

from _timing import Figure, show

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

    with tempfile.TemporaryDirectory() as folder:
        yield submitit.LocalExecutor(folder)


def _make(seed: int) -> Any:
    return Matching.generate(*_SIZE, seed).problem()


def _sweep(executor: Any, places: int, iterations: int) -> tuple[float, float]:
    """The wall time of a sweep on one worker, and that of its solvers."""
    instance = compare.Instance("matching", f"({_SIZE[0]},{_SIZE[1]})", _make)
    begin = time.perf_counter()
    records = compare.run(
        [instance],
        {f"rgd {number}": SOLVERS["rgd-fast"] for number in range(_RUNS)},
        starts=places,
        tolerances=_NEVER,
        max_iterations=iterations,
        executor=executor,
        progress=None,
    )
    wall = time.perf_counter() - begin
    assert {record.status for record in records} == {"ITERATION_LIMIT"}, records[0].message
    return wall, sum(record.time for record in records)


def overhead(name: str, start: Callable[[], Any], bound: float | None, times: int = 3) -> Any:
    """Of a further place of four runs of one second, and of the first one.

    The first place has the start of a process on the worker besides.
    """
    begin = time.process_time()
    result = SOLVERS["rgd-fast"](_make(0), tol=_NEVER, max_iterations=50)
    iterations = round(_SECONDS * result.nit / (time.process_time() - begin))
    further, first = [], []
    with start() as executor:
        _sweep(executor, 1, 1)  # starts the worker itself
        for _ in range(times):
            (wall, solvers), (more, more_solvers) = (
                _sweep(executor, places, iterations) for places in (1, 2)
            )
            first.append(wall - solvers)
            further.append((more - wall - (more_solvers - solvers)) / (more_solvers - solvers))
    what = f"compare.run(executor={name}), runs of 1 s, {_RUNS} a place: overhead"
    return [
        Figure(what, 100 * statistics.median(further), bound, unit="%"),
        Figure("    once for each worker and sweep", statistics.median(first), unit="s"),
    ]


_EXECUTORS: dict[str, tuple[str, Callable[[], Any], float | None]] = {
    "ProcessPoolExecutor": ("concurrent", _processes, 2.0),
    "ThreadPoolExecutor": ("concurrent", _threads, 2.0),
    "loky": ("loky", _loky, 2.0),
    "dask": ("distributed", _dask, 2.0),
    # each place is a job of the queue, with an interpreter of its own: no bound can hold
    "submitit": ("submitit", _submitit, None),
}
#: Each gives its figures.
FIGURES: dict[str, Callable[[], list[Figure]]] = {
    f"overhead of {name}": partial(overhead, name, start, bound)
    for name, (package, start, bound) in _EXECUTORS.items()
    if find_spec(package) is not None
}


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for jobs of submitit
    wanted = sys.argv[1:]
    chosen = {n: f for n, f in FIGURES.items() if not wanted or n.split()[-1] in wanted}
    sys.exit(show(chosen.values()))
