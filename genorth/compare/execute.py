"""`Bench`: makes the problem and the start of a seed, runs a solver on it, and writes the record of how that ended."""

from __future__ import annotations

import math
import time
import traceback
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from genorth.compare.environment import environment
from genorth.compare.instance import Instance
from genorth.compare.limits import PastLimitError, interrupted, pinned
from genorth.compare.record import ENDINGS, Record
from genorth.compare.solvers import Solver, takes
from genorth.compare.verify import Figures, verified
from genorth.linalg.arrays import Array
from genorth.problem.problem import Counts, Problem
from genorth.solve.result import Result, Trace

# of a trace that are kept: more than a plot shows, and the file stays small and quick to write
_LINES = 1000
_FEASIBILITY_TOL = 1e-12  # the default of all solvers


@attrs.frozen
class Task:
    """One run that is to be made; `instance` is its place in the list of instances."""

    instance: int
    seed: int
    solver: str
    tolerance: float

    @property
    def chain(self) -> tuple[int, int, str]:
        """What all tolerances of a run have in common."""
        return self.instance, self.seed, self.solver


@attrs.frozen
class Setup:
    """What all runs of a comparison share."""

    instances: tuple[Instance, ...]
    solvers: dict[str, Solver]
    time_limit: float
    #: Wall time after which a solver that does not look at the clock is interrupted.
    patience: float
    threads: int
    max_iterations: int | None
    jobs: int = 1

    def key(self, task: Task) -> tuple[str, str, int, str, float]:
        """The key of the record that the task will leave."""
        instance = self.instances[task.instance]
        return instance.problem, instance.size, task.seed, task.solver, task.tolerance

    def fields(self, task: Task) -> dict[str, Any]:
        """The same by name, as a Record takes it."""
        return dict(
            zip(("problem", "size", "seed", "solver", "tolerance"), self.key(task), strict=True)
        )

    def environment(self) -> dict[str, str]:
        """What the figures depend on beyond the code, with the threads that the solvers have."""
        with pinned(self.threads):
            return environment() | {"processes": str(self.jobs)}


class Bench:
    """Holds one problem at a time, with the start that all solvers share."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._at: tuple[int, int] | None = None
        self._problem: Problem
        self._start: Array

    def prepare(self, task: Task) -> None:
        """Make the problem and the start of the task, unless they are there.

        The ones before are released first.
        """
        if load := getattr(self._setup.solvers[task.solver], "load", None):
            with suppress(Exception):  # it is raised again in the run, whose record says so
                load()
        at = task.instance, task.seed
        if self._at == at:
            return
        self._at = None
        self._problem = self._start = None  # type: ignore[assignment]
        with pinned(self._setup.threads):
            self._problem, self._start = self._setup.instances[task.instance].made(task.seed)
            _warm_up(self._problem, self._start, self._setup.patience)
        self._at = at

    def record(self, task: Task) -> Record:
        """Run the task, which `prepare` has seen."""
        setup, problem = self._setup, self._problem
        solver, instance = setup.solvers[task.solver], setup.instances[task.instance]
        fields = setup.fields(task) | {"environment": self._environment}
        options = dict(instance.options.get(task.solver, {}))
        arguments = {
            "tol": task.tolerance,
            "max_time": setup.time_limit,
            "max_iterations": setup.max_iterations,
        }
        if takes(solver, "rng"):
            arguments["rng"] = task.seed  # of a solver that draws: the same in every run
        before, begin = problem.counts, time.perf_counter()
        try:
            if reason := _unsupported(solver, problem):
                return failed("UNSUPPORTED", f"{reason[0].upper()}{reason[1:]}.", fields)
            with pinned(setup.threads), interrupted(setup.patience):
                begin = time.perf_counter()
                result = solver(problem, self._start.copy(), **arguments | options)
                wall, counts = time.perf_counter() - begin, problem.counts - before
                if not isinstance(result, Result):
                    raise TypeError(
                        f"the solver returned {type(result).__name__}, not a genorth.Result"
                    )
                record = _succeeded(result, counts, wall, fields)
                return verified(
                    record,
                    Figures.at(problem, result.x),
                    options.get("feasibility_tol", _FEASIBILITY_TOL),
                )
        except PastLimitError:
            message = f"max_time was {setup.time_limit:g} s."
            return failed(
                "HUNG", message, fields, problem.counts - before, time.perf_counter() - begin
            )
        except (Exception, SystemExit) as error:
            counts, wall = problem.counts - before, time.perf_counter() - begin
            return failed("RAISED", _told(error), fields, counts, wall)

    @cached_property
    def _environment(self) -> dict[str, str]:
        return self._setup.environment()


def _warm_up(problem: Problem, start: Array, patience: float) -> None:
    """Evaluate at -start, which no solver sees.

    What is made once per problem is not on the clock of the first solver.

    -X is on M with X, as C(-X) = C(X). A cost that raises or hangs does so again in the runs, whose
    records say it.
    """
    if not problem.has_gradient:
        return
    with suppress(Exception, PastLimitError), interrupted(patience):
        problem.manifold.gradient(-start, problem.euclidean_gradient(-start))


def _unsupported(solver: Any, problem: Problem) -> str | None:
    why_not = getattr(solver, "why_not", None) or getattr(solver, "supports", None)
    return None if why_not is None else why_not(problem)


def _succeeded(result: Result, counts: Counts, wall: float, fields: dict[str, Any]) -> Record:
    """The record of a Result, in plain Python numbers, with the counts that the problem has measured."""
    record = Record.of(result, **fields)
    return attrs.evolve(
        record,
        success=bool(record.success),
        nit=int(record.nit),
        time=float(record.time) if 0 <= record.time <= wall else wall,
        seconds={phase: float(seconds) for phase, seconds in record.seconds.items()},
        beta=None if record.beta is None else float(record.beta),
        threshold=None if record.threshold is None else float(record.threshold),
        trace=thinned(record.trace),
        nfev=_count(result.nfev, counts.nfev),
        njev=_count(result.njev, counts.njev),
        nhev=_count(result.nhev, counts.nhev),
    )


def _count(reported: int, measured: int) -> int:
    """What the problem has measured.

    A solver may leave out the one evaluation at its end, which is measuring.
    """
    return int(reported) if measured - 1 <= reported <= measured else measured


def thinned(trace: Trace, lines: int = _LINES) -> Trace:
    """At most so many lines and the last one, evenly spread; without points."""
    length = len(trace)
    chosen = (
        range(length) if length <= lines else [i * (length - 1) // lines for i in range(lines + 1)]
    )

    def column(values: list[Any], kind: type[Any]) -> list[Any]:
        return [kind(values[i]) for i in chosen]

    return Trace(
        column(trace.time, float),
        column(trace.cost, float),
        column(trace.gradient_norm, float),
        column(trace.feasibility, float),
        column(trace.evaluations, int),
    )


def failed(
    status: str,
    message: str,
    fields: dict[str, Any],
    counts: Counts | None = None,
    seconds: float = math.nan,
) -> Record:
    """The record of a run that gave no Result."""
    counts = counts or Counts()
    return Record(
        status=status,
        message=f"{ENDINGS[status]} {message}",
        success=False,
        time=seconds,
        nfev=counts.nfev,
        njev=counts.njev,
        nhev=counts.nhev,
        seconds={"cost": counts.seconds} if counts.seconds else {},
        **fields,
    )


def _told(error: BaseException) -> str:
    """Type, message and place of an exception, in one line."""
    text = " ".join(str(error).split())
    message = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    return f"{message} ({Path(last.filename).name}, line {last.lineno}, in {last.name})"
