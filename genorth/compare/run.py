"""`run`: every solver on every problem, from the same starts, to every tolerance.

One record each.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import Any

from genorth.compare.book import Book
from genorth.compare.execute import Bench, Setup, Task
from genorth.compare.instance import as_instances
from genorth.compare.limits import threadpoolctl
from genorth.compare.progress import chosen
from genorth.compare.record import Records
from genorth.compare.solvers import as_solvers
from genorth.compare.store import Store, described
from genorth.errors import refuse


def run(
    problems: Any,
    solvers: Any,
    *,
    starts: int | Iterable[int] = 1,
    tolerances: float | Iterable[float] = (1e-6,),
    time_limit: float = 60.0,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    threads: int = 1,
    max_iterations: int | None = None,
    retry: bool = False,
    grace: float | None = None,
    progress: Any = "auto",
) -> Records:
    """Compare solvers on problems.

    The records come in the order problem, seed, solver, tolerance (loose to tight).

    problems: a Problem, a list of Problems or Instances, or a mapping of names to Problems or to
    functions seed -> Problem. solvers: a mapping of names to callables (`baselines.SOLVERS`, or a
    part of it), or a list of methods of `genorth.penalty.minimize` and of callables with a name. A
    solver is called as `solver(problem, x0, tol=..., max_time=..., max_iterations=...)`, with
    rng=seed where it takes one and with the options of the Instance, and returns a Result. Before
    that, where it has them, `solver.supports(problem)` says why it cannot run (None where it can),
    and `solver.load()` imports what should not be on the clock. starts: how many seeds (0, 1, ...),
    or the seeds.

    All solvers start at the same point, with `threads` BLAS threads. The time of a record is that
    of the Result, without measuring; f, gradient norm and feasibility are computed anew at x, and a
    success that they do not bear out is taken back. A solver that raises, or cannot run on the
    problem, leaves a record that says so.

    time_limit: seconds of each run. grace: a solver that does not look at the clock is interrupted
    this many seconds later (by default as many again, at least 10, as measuring is not on the
    clock). In this process (jobs=1) that reaches Python code in the main thread of a POSIX system;
    with jobs > 1 the worker process is killed, everywhere. After a run that ended by the time
    limit, tighter tolerances are not tried: the record is carried over.

    out: a folder to which each record is written when it is finished. The same call again makes the
    runs that are missing (with retry=True also those that had raised or hung), after Ctrl-C, a
    crash, or with more seeds, solvers, problems or tolerances. jobs: worker processes; they compete
    for memory and cache, so that times are fair among themselves only. progress: "auto", None, or
    an object as `genorth.compare.progress.Progress`.
    """
    threadpoolctl()  # an error now rather than after the first problem is made
    seeds = _seeds(starts)
    _check(time_limit, jobs, threads, max_iterations, grace)
    limit = float(time_limit)
    setup = Setup(
        tuple(as_instances(problems, seeds[0])),
        as_solvers(solvers),
        limit,
        limit + (max(10.0, limit) if grace is None else float(grace)),
        threads,
        max_iterations,
        jobs,
    )
    tasks = _tasks(setup, seeds, _tolerances(tolerances))
    settings = _settings(setup, tasks)
    store = None if out is None else Store(out, settings)
    shown = chosen(progress)
    book = Book(setup, tasks, store, shown, retry)
    shown.start(len(book.missing))
    try:
        if jobs == 1:
            _make(setup, book)
        else:
            from genorth.compare.workers import make_in_workers  # loads multiprocessing

            make_in_workers(setup, book)
    except KeyboardInterrupt as interrupt:
        interrupt.add_note(book.note(out))
        interrupt.records = book.records(settings)  # type: ignore[attr-defined]
        raise
    finally:
        shown.close()
    return book.records(settings)


def _make(setup: Setup, book: Book) -> None:
    """Make the missing runs, one after the other in this process."""
    bench = Bench(setup)
    for task in book.missing:
        if (record := book.carried(task)) is None:
            bench.prepare(task)
            book.begin(task)
            record = bench.record(task)
        book.finish(record)


def _tasks(setup: Setup, seeds: list[int], tolerances: list[float]) -> list[Task]:
    return [
        Task(instance, seed, solver, tolerance)
        for instance in range(len(setup.instances))
        for seed in seeds
        for solver in setup.solvers
        for tolerance in tolerances
    ]


def _settings(setup: Setup, tasks: list[Task]) -> dict[str, Any]:
    import genorth

    return {
        "genorth": genorth.__version__,
        "problems": [
            {
                "problem": instance.problem,
                "size": instance.size,
                "options": described(instance.options),
            }
            for instance in setup.instances
        ],
        "solvers": list(setup.solvers),
        "seeds": list(dict.fromkeys(task.seed for task in tasks)),
        "tolerances": list(dict.fromkeys(task.tolerance for task in tasks)),
        "time_limit": setup.time_limit,
        "threads": setup.threads,
        "max_iterations": setup.max_iterations,
    }


# ---------------------------------------------------------------------- arguments


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _seeds(starts: Any) -> list[int]:
    seeds = (
        list(range(starts))
        if _whole(starts)
        else list(starts)
        if isinstance(starts, Iterable)
        else []
    )
    if (
        not seeds
        or not all(_whole(seed) and seed >= 0 for seed in seeds)
        or len(set(seeds)) < len(seeds)
    ):
        refuse(
            "starts",
            "how many, at least 1, or the seeds, whole numbers >= 0, each once",
            repr(starts),
        )
    return seeds


def _tolerances(tolerances: Any) -> list[float]:
    given = (
        [tolerances]
        if _number(tolerances)
        else list(tolerances)
        if isinstance(tolerances, Iterable)
        else []
    )
    for tolerance in given:
        if not _number(tolerance) or not 0 < tolerance < math.inf:
            refuse("tolerances", "tolerances > 0, finite", repr(tolerance))
    if not given or len(set(given)) < len(given):
        refuse("tolerances", "at least one tolerance, each once", repr(tolerances))
    return sorted(map(float, given), reverse=True)


def _check(time_limit: Any, jobs: Any, threads: Any, max_iterations: Any, grace: Any) -> None:
    rules: list[tuple[str, Any, str, Callable[[Any], bool]]] = [
        (
            "time_limit",
            time_limit,
            "time_limit > 0, in seconds, finite",
            lambda v: _number(v) and 0 < v < math.inf,
        ),
        ("jobs", jobs, "a whole number of processes >= 1", lambda v: _whole(v) and v >= 1),
        ("threads", threads, "a whole number of threads >= 1", lambda v: _whole(v) and v >= 1),
        (
            "max_iterations",
            max_iterations,
            "None or whole and >= 1",
            lambda v: v is None or (_whole(v) and v >= 1),
        ),
        (
            "grace",
            grace,
            "None or seconds >= 0, finite",
            lambda v: v is None or (_number(v) and 0 <= v < math.inf),
        ),
    ]
    for name, value, need, holds in rules:
        if not holds(value):
            refuse(name, need, repr(value))
