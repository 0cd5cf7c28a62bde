"""`run`: every solver on every problem, from the same starts, to every tolerance."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import Any

import attrs

from genorth.compare.render.terminal import chosen
from genorth.compare.runs.bench import Bench
from genorth.compare.runs.record import About, Records
from genorth.compare.runs.schedule import Here, Schedule, begun
from genorth.compare.runs.spec import Place, Setup, Task, as_cases, as_solvers
from genorth.compare.runs.store import FORMAT, Store, folder_of
from genorth.errors import require
from genorth.machine import cores, threadpoolctl

_LONGEST = 1e7  # seconds: 115 days; alarms and waits of the system do not take much more


def run(
    problems: Any,
    solvers: Any,
    *,
    starts: int | Iterable[int] = 1,
    tolerances: float | Iterable[float] = (1e-6,),
    max_time: float = 60.0,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    executor: Any = None,
    threads: int = 1,
    max_iterations: int | None = None,
    give_up: int | None = None,
    retry: bool = False,
    grace: float | None = None,
    preparation_limit: float = 600.0,
    progress: Any = "auto",
) -> Records:
    """Compare solvers on problems.

    All solvers start at the same point, with the same number of BLAS threads, and are called as
    `solver(problem, x0, tol=..., max_time=..., max_iterations=...)`, with `rng=seed` where they
    take one and with the options of the `Case`. The time of a record is measured around this
    call, without the library's own measuring; f, gradient norm and feasibility are computed anew at
    x, and a success that fails this check, or comes after the time limit, is recorded as a failure.

    A solver that raises, hangs or cannot run on the problem, and a problem that cannot be made,
    leave a record that says so; the comparison goes on. After a run that ended at the time limit,
    tighter tolerances are not tried: the record is carried over. An exception that does end the
    comparison, such as Ctrl-C, has the finished records in its attribute `records`.

    Args:
        problems: A `Problem`, a list of Problems or `Case`s, or a mapping of names to Problems,
            Cases or functions seed -> Problem.
        solvers: A list of registered names ("cdf-lbfgs") and of solvers, or a mapping of names to
            these. A solver is a `genorth.Solver`, or a callable as above that returns x, a
            `Result`, SciPy's or pymanopt's result; its family is "other". It gets those of the
            keywords that it takes.
        starts: How many seeds (0, 1, ...), or the seeds.
        tolerances: Tolerances on the gradient norm.
        max_time: Seconds of each run.
        out: A folder to which each record is written when it is finished. The same call makes the
            runs that are missing, also with more seeds, solvers, problems or tolerances. Records
            that were made of something else (options, cost, time limit, version) are refused.
        jobs: Worker processes; no more are started than there are cores and runs. They compete for
            memory and cache: compare their times only among themselves.
        executor: Runs are made by `executor.submit`, on this machine or on others: an executor of
            `concurrent.futures` or loky, `client.get_executor()` of dask, an executor of submitit.
            One task is one problem and start with all solvers and tolerances, so that these are
            compared on one host, which the records name. None: `jobs` processes of our own.
        threads: BLAS threads of each run.
        max_iterations: A limit for all solvers; None for their own.
        give_up: A solver that ran out of time from so many starts of a row is not run from the
            others; their records say so and count as failures. None: every solver from every start.
            An executor sends all starts at once, so that only earlier calls count there.
        retry: Make runs again that raised or hung, or whose record was made of something else.
        grace: A solver that ignores its time limit is interrupted this many seconds later, of its
            own clock; by default as many again, at least 10. In this process (jobs=1) that reaches
            Python code in the main thread of a POSIX system; with jobs > 1 or an executor its
            process is killed, everywhere.
        preparation_limit: Seconds in which a problem and its start must be made.
        progress: "auto" (a bar and a table of winners on a terminal, else lines), "brief" (the bar
            alone, else nothing), None, or an object with the methods of `genorth.compare.Observer`.

    Returns:
        The records, in the order problem, seed, solver, tolerance (loose to tight).

    Raises:
        ValueError: If an argument is not valid, `out` holds records of another comparison, or the
            executor's workers lack the code of a problem or a solver.
    """
    check(
        max_time=max_time,
        preparation_limit=preparation_limit,
        grace=grace,
        jobs=jobs,
        threads=threads,
        max_iterations=max_iterations,
        give_up=give_up,
        retry=retry,
    )
    if executor is not None:
        submits = not isinstance(executor, type) and callable(getattr(executor, "submit", None))
        need = "None, or an object with submit() that returns futures"
        require(submits, "executor", need, repr(executor))
        require(jobs == 1, "jobs", "1 with an executor, which has its own workers", repr(jobs))
    seeds, levels, given = seeds_of(starts), _tolerances(tolerances), as_solvers(solvers)
    setup = Setup(
        maker=Bench,
        cases=tuple(as_cases(problems)),
        solvers=given,
        about={name: About.of(name, solver) for name, solver in given.items()},
        max_time=float(max_time),
        patience=max_time + (max(10.0, max_time) if grace is None else grace),
        preparation=float(preparation_limit),
        threads=threads,
        processes=min(jobs, cores()),
        budget={"max_iterations": max_iterations},
    )
    tasks = [
        Task(case, seed, solver, tolerance)
        for case in range(len(setup.cases))
        for seed in seeds
        for solver in given
        for tolerance in levels
    ]
    how = {"executor": executor, "give_up": give_up, "retry": retry, "progress": progress}
    return compared(setup, tasks, out=out, jobs=jobs, **how)


def compared(
    setup: Setup,
    tasks: list[Task],
    *,
    out: Any,
    jobs: int,
    executor: Any = None,
    give_up: int | None = None,
    retry: bool = False,
    progress: Any = None,
) -> Records:
    """Make the runs of a setup that are missing in a folder, and return the records of all."""
    settings, kind = {"format": FORMAT, **setup.budgets}, setup.maker.kind
    shown = chosen(progress)
    with ExitStack() as stack:
        store = None if out is None else stack.enter_context(closing(Store(folder_of(out), kind)))
        maker = stack.enter_context(_maker(setup, store, jobs, executor))
        stack.callback(shown.close)
        setup, unprepared = _sized(setup, tasks[0].seed, maker)
        schedule = Schedule(kind, begun(setup, tasks), store, shown, give_up)
        schedule.unprepared |= unprepared
        schedule.resume(maker, retry)
        if store is not None:
            store.keep(settings)
        shown.start(len(schedule.missing))
        try:
            maker.make(schedule)
        except BaseException as error:
            with suppress(Exception):
                error.add_note(schedule.note())
                error.records = schedule.records(settings)  # type: ignore[attr-defined]
            raise
        return schedule.records(settings)


def _maker(setup: Setup, store: Store | None, jobs: int, executor: Any) -> Any:
    if executor is None and jobs == 1:
        return Here(setup, None if store is None else store.folder)
    from genorth.compare.runs.workers import Futures, Workers  # these load multiprocessing

    return Workers(setup) if executor is None else closing(Futures(setup, executor))


def _sized(setup: Setup, seed: int, executor: Any) -> tuple[Setup, dict[Place, str]]:
    """The setup with the sizes of all problems, and the places whose problem cannot be made.

    A function in a mapping tells the size of its problem when it is called.
    """
    unknown = [(n, seed) for n, each in enumerate(setup.cases) if each.size is None]
    made = executor.prepare(unknown)
    sizes = {place[0]: prepared.size or "?" for place, prepared in made.items()}
    cases = tuple(
        attrs.evolve(each, size=sizes.get(n, each.size)) for n, each in enumerate(setup.cases)
    )
    reasons = {place: prepared.reason for place, prepared in made.items() if prepared.reason}
    return attrs.evolve(setup, cases=cases), reasons


# ---------------------------------------------------------------------- arguments


def check(**values: Any) -> None:
    """Refuse arguments that are out of range, and say so where a package is missing."""
    threadpoolctl()  # an error now rather than after the first problem is made
    for name, value in values.items():
        need, *bounds = _RULES[name]
        holds = (value is None and need.startswith("None")) or _within(value, *bounds)
        require(holds, name, need, repr(value))


def _within(value: Any, kind: Any, least: float, most: float = sys.float_info.max) -> bool:
    good = isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    return good and least <= value <= most


_LEAST = math.ulp(0.0)  # above 0
_SECONDS = f"in seconds, at most {_LONGEST:g}"
#: What an argument must be: in words ("None, or" where it may be left open), its type and bounds.
_RULES: dict[str, tuple[Any, ...]] = {
    "max_time": (f"max_time > 0, {_SECONDS}", int | float, _LEAST, _LONGEST),
    "preparation_limit": (f"preparation_limit > 0, {_SECONDS}", int | float, _LEAST, _LONGEST),
    "grace": (f"None, or grace >= 0, {_SECONDS}", int | float, 0, _LONGEST),
    "jobs": ("a whole number of processes >= 1", int, 1),
    "threads": ("a whole number of threads >= 1", int, 1),
    "max_iterations": ("None, or a whole number >= 1", int, 1),
    "give_up": ("None, or a whole number of starts >= 1", int, 1),
    "tuning": ("None, or a whole number of seeds >= 1", int, 1),
    "epochs": ("a whole number >= 1", int, 1),
    "feasibility_tol": ("0 < feasibility_tol < inf", int | float, _LEAST),
    "retry": ("True or False", bool, 0),
}


def seeds_of(starts: Any) -> list[int]:
    """The seeds of so many starts, or those given."""
    need = "how many, at least 1, or the seeds, whole numbers >= 0, each once"
    seeds = list(range(starts)) if _within(starts, int, 1) else starts
    return each_once("starts", seeds, need, lambda seed: _within(seed, int, 0))


def _tolerances(given: Any) -> list[float]:
    need = "tolerances > 0, finite, at least one, each once"
    levels = [given] if isinstance(given, int | float) else given
    holds = partial(_within, kind=int | float, least=_LEAST)
    return sorted(map(float, each_once("tolerances", levels, need, holds)), reverse=True)


def each_once(argument: str, given: Any, need: str, holds: Callable[[Any], bool]) -> list[Any]:
    """Return what is given as a list, or refuse it: one at least, each good, and each once."""
    found = list(given) if isinstance(given, Iterable) else []
    good = found and all(map(holds, found)) and len(set(found)) == len(found)
    require(good, argument, need, repr(given))
    return found
