"""`Maker`: makes runs one place at a time, and says what is known of those that fail.

`Bench` runs solvers; `genorth.training` has a maker of its own. `Watched` counts and traces what a
solver evaluates. What it returns is measured anew at x, off the clock and not counted.
"""

from __future__ import annotations

import inspect
import math
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from genorth.compare.runs.definition import fingerprint
from genorth.compare.runs.record import TRACED, Outcome, Record
from genorth.compare.runs.spec import Place, Setup, Task, copied, size_of
from genorth.compare.runs.store import structured, thinned
from genorth.errors import refuse
from genorth.linalg.arrays import Array, norm, number
from genorth.linalg.cache import same_entries
from genorth.machine import PastLimitError, contained, environment, interrupted, pinned
from genorth.manifolds.product import Product
from genorth.problem.measure import SLACK, VIOLATION, Measure, allowed
from genorth.problem.problem import Counts, Problem
from genorth.riemannian.certify import examine
from genorth.solve.clock import Clock
from genorth.solve.result import Result, Status, Trace


@attrs.frozen
class Prepared:
    """A problem that was made, or the reason why not."""

    size: str | None = None
    fingerprint: dict[str, Any] | None = None
    reason: str = ""


class Maker(ABC):
    """Makes the runs of a setup, with what it holds of one place at a time.

    Args:
        setup: What all runs share.
        passed_on: Exceptions that end the comparison.
    """

    def __init__(self, setup: Setup, passed_on: tuple[type[BaseException], ...] = ()) -> None:
        self._setup, self._passed_on = setup, passed_on
        self.at: Place | None = None
        self._prepared = Prepared()

    # ------------------------------------------------------------------ what a maker gives

    #: What a run leaves behind.
    kind: ClassVar[type[Outcome]]

    @abstractmethod
    def _making(self, place: Place) -> Iterator[Prepared]:
        """Make what a place needs, step by step; what is there when the time is over is taken."""

    @abstractmethod
    def _run(
        self,
        task: Task,
        fields: dict[str, Any],
        begin: Callable[[], None],
        clock: Clock,
        fresh: Any,
    ) -> Outcome:
        """Make the run, on the clock and with a fresh problem; may raise anything."""

    #: The problem of the place, where it counts evaluations.
    _problem: Problem | None = None

    # ------------------------------------------------------------------ what follows

    def prepare(self, place: Place) -> Prepared:
        """Make what a place needs; reuses what is there if it is of this place."""
        if self.at == place:
            return self._prepared
        self.at, limit = None, self._setup.preparation
        self._prepared = Prepared(reason=f"It took longer than {limit:g} s.")
        with pinned(self._setup.threads), contained():
            try:
                with interrupted(limit):
                    for prepared in self._making(place):
                        self._prepared = prepared
            except PastLimitError:
                pass  # a cost that hangs does so again in the runs, whose records say it
            except self._passed_on:
                raise
            except BaseException as error:
                self._prepared = Prepared(reason=told(error))
        self.at = place
        return self._prepared

    def record(self, task: Task, begin: Callable[[], None]) -> Outcome:
        """Run a task.

        Args:
            task: The task.
            begin: Called when the solver is loaded and begins.
        """
        made, setup = self.prepare(task.place), self._setup
        fields = task.fields | {"environment": self._environment}
        fields["definition"] = fields["definition"] | {"problem": made.fingerprint}
        if made.reason:
            return self.kind.failed("UNPREPARED", made.reason, fields)
        problem = None if self._problem is None else Watched.of(self._problem)
        clock = Clock(problem) if problem is None else problem.clock
        with contained():
            try:
                with interrupted(setup.preparation):
                    # what it imports, before the threads of all that is loaded are fixed
                    if hasattr(solver := setup.solvers[task.solver], "load"):
                        solver.load()
                with pinned(setup.threads):
                    return self._run(task, fields, begin, clock, problem)
            except PastLimitError:
                ending, message = "HUNG", f"max_time was {setup.max_time:g} s."
            except self._passed_on:
                raise
            except BaseException as error:
                ending, message = "RAISED", told(error)
            if problem is not None:
                counts = attrs.asdict(problem.tally.counts)
                spent = counts.pop("seconds")
                fields |= counts | ({"seconds": {"cost": spent}} if spent else {})
            return self.kind.failed(ending, message, fields, clock.seconds)

    @cached_property
    def _environment(self) -> dict[str, str]:
        with pinned(self._setup.threads):
            return environment(self._setup.processes)


def told(error: BaseException) -> str:
    """Type, message and place of an exception, in one line; its message may raise."""
    try:
        text = " ".join(str(error).split())
    except BaseException as second:
        text = f"(its message raised {type(second).__name__})"
    message = f"{type(error).__name__}: {text}" if text else type(error).__name__
    for last in traceback.extract_tb(error.__traceback__)[-1:]:
        message += f" ({Path(last.filename).name}, line {last.lineno}, in {last.name})"
    return message


# ---------------------------------------------------------------------- what a solver evaluates


class Tally:
    """Counts the calls of a problem's functions; a solver may reset the problem's own counts."""

    def __init__(self) -> None:
        self._calls: dict[str, Any] = {"nfev": 0, "njev": 0, "nhev": 0, "seconds": 0.0}
        #: Those of further constraints, which count themselves.
        self.further: Counter[str] = Counter()

    @property
    def counts(self) -> Counts:
        """The counts so far."""
        values, products = self.further["nfev"], self.further["njev"]
        return Counts(**self._calls, constr_nfev=values, constr_njev=products)

    def counting(self, function: Any, *names: str) -> Any:
        """The function, of which each call adds to these counts."""
        if function is None:
            return None

        def counted(*arguments: Any) -> Any:
            begin = time.perf_counter()
            value = function(*arguments)
            self._calls["seconds"] += max(time.perf_counter() - begin, 0.0)
            for name in names:
                self._calls[name] += 1
            return value

        return counted


class Watched(Problem):
    """A problem of which each evaluation is a line of a trace, measured with the clock stopped.

    A line has the last known cost and gradient norm where an evaluation gives only one of them.
    While a monitor of ours keeps the trace, this one rests. `fresh()` of it goes on with the same
    trace and tally.
    """

    clock: Clock
    trace: Trace
    tally: Tally
    _last: Array | None = None

    @classmethod
    def of(cls, problem: Problem) -> Watched:
        """The same problem, fresh."""
        made: Any = problem.fresh()
        made.__class__ = cls
        made.tally = tally = Tally()
        made._cost = tally.counting(made._cost, "nfev")
        made._gradient = tally.counting(made._gradient, "njev")
        made._hessian = tally.counting(made._hessian, "nhev")
        made._fused = tally.counting(made._fused, "nfev", "njev")
        if made.constraints is not None:
            tally.further = made.constraints.calls
        made.trace, made.clock = Trace(), Clock(tally)
        return made

    def evaluate_cost(self, X: Array) -> float:
        """As `Problem.evaluate_cost`."""
        f = super().evaluate_cost(X)
        self._note(X, f, None)
        return f

    def evaluate_gradient(self, X: Array) -> Array:
        """As `Problem.evaluate_gradient`."""
        G = super().evaluate_gradient(X)
        self._note(X, None, G)
        return G

    def evaluate(self, X: Array) -> tuple[float, Array]:
        """As `Problem.evaluate`."""
        f, G = super().evaluate(X)
        self._note(X, f, G)
        return f, G

    def _note(self, X: Array, f: float | None, G: Array | None) -> None:
        if self.clock.kept(None) is not None:
            return
        begin, trace, manifold = Clock.begin(), self.trace, self.manifold
        if self._last is None or not same_entries(self._last, np.asarray(X)):
            self._last = np.array(X)
            known = (trace.cost[-1], trace.gradient_norm[-1]) if len(trace) else (math.nan,) * 2
            away = number(manifold.feasibility(X))
            trace.append(self.clock.elapsed()[0], *known, away, 0)
        trace.evaluations[-1] = self.tally.counts.evaluations
        if f is not None:
            trace.cost[-1] = f
        if G is not None and np.all(np.isfinite(G)):
            trace.gradient_norm[-1] = number(norm(manifold.place(X).project(G)))
        Clock.measured(begin)


def as_result(returned: Any, problem: Watched) -> Result:
    """The result of what a solver returned, to be checked at its x.

    Args:
        returned: x, SciPy's OptimizeResult, pymanopt's result, or a `Result`.
        problem: The problem that the solver had.

    Returns:
        The result; its `nit` is the number of evaluations where the solver does not say.

    Raises:
        ValueError: If `returned` is something else, or x has another size.
    """
    if isinstance(returned, Result):
        return returned
    x = getattr(returned, "x", getattr(returned, "point", returned))
    if isinstance(problem.manifold, Product) and isinstance(x, list | tuple):
        x = problem.manifold.inward(x, "solver")
    if isinstance(x, list | tuple) or np.asarray(x).dtype.kind not in "fciu":
        need = "a solver that returns x, a SciPy OptimizeResult, a pymanopt result or a Result"
        refuse("solver", need, type(returned).__name__)
    product = isinstance(problem.manifold, Product)
    shape = problem.manifold.blocks.shape if product else problem.manifold.shape
    if np.size(x) != math.prod(shape):
        refuse("solver", f"x of shape {shape}, or as many entries", f"shape {np.shape(x)}")
    counts = problem.tally.counts
    iterations = getattr(returned, "nit", getattr(returned, "iterations", counts.evaluations))
    return Result(
        x=copied(problem, np.reshape(np.asarray(x), shape) * 1.0),
        fun=math.nan,
        gradient_norm=math.nan,
        feasibility=math.nan,
        success=True,
        status=Status.CONVERGED,
        message=Status.CONVERGED.value,
        method="",
        nit=int(iterations),
        **counts.calls,
        time=problem.clock.seconds[0],
        trace=problem.trace,
    )


# ---------------------------------------------------------------------- solvers


# of a trace that are kept: more than a plot shows, and the file stays small and quick to write
_LINES = 1000
_FEASIBILITY_TOL = 1e-12  # the default of all solvers


class Bench(Maker):
    """Holds one problem at a time, with the start that all solvers share."""

    kind = Record
    _start: Any = None

    def _making(self, place: Place) -> Iterator[Prepared]:
        """Problem and start, then their fingerprint."""
        self._problem = self._start = None
        case, seed = place
        self._problem, self._start = self._setup.cases[case].made(seed)
        prepared = Prepared(size_of(self._problem))
        yield prepared
        yield attrs.evolve(prepared, fingerprint=fingerprint(self._problem, self._start))

    def _run(
        self,
        task: Task,
        fields: dict[str, Any],
        begin: Callable[[], None],
        clock: Clock,
        fresh: Any,
    ) -> Record:
        setup, problem, solver = self._setup, fresh, self._setup.solvers[task.solver]
        assert self._problem is not None and self._start is not None
        start = copied(self._problem, self._start)
        with interrupted(setup.preparation):
            reason = solver.why_not(problem) if hasattr(solver, "why_not") else None
            if reason is not None:
                said = str(reason) or "no reason given"
                return Record.failed("UNSUPPORTED", f"{said[0].upper()}{said[1:]}.", fields)
            # the seed of a solver that draws: the same each time
            given: dict[str, Any] = {
                "tol": task.tolerance,
                "max_time": setup.max_time,
                "rng": task.seed,
            }
            given |= setup.budget
            options = {name: value for name, value in given.items() if _takes(solver, name)}
        options |= setup.cases[task.case].options.get(task.solver, {})
        begin()
        with clock, interrupted(setup.patience, clock):
            returned = solver(problem, start, **options)
        with interrupted(setup.patience):
            result = as_result(returned, problem)
            at = measured(self._problem, result.x)
            record = _reported(result, problem, at, fields)
            claimed = bool(result.success) and result.status is Status.CONVERGED
            near = float(options.get("feasibility_tol") or _FEASIBILITY_TOL)
            says = "reports success" if isinstance(returned, Result) else "returned"
            record = verified(record, at, claimed, near, setup.max_time, says)
            return self._certified(record, at.X)

    def _certified(self, record: Record, x: Array) -> Record:
        """The record of a success, which says whether x is a minimum or a saddle."""
        if record.success and self._problem is not None:
            with suppress(Exception):  # a Hessian product that the solver did not need may fail
                tol, limit = SLACK * record.tolerance, self._setup.max_time
                found = examine(self._problem, x, tol, rng=record.seed, max_time=limit)[0]
                return attrs.evolve(record, certificate=found.verdict)
        return record


# ---------------------------------------------------------------------- what a solver says


def _takes(solver: Any, argument: str) -> bool:
    """True if the solver can be called with the keyword argument, as far as its signature says."""
    try:
        parameters = inspect.signature(solver).parameters
    except (TypeError, ValueError):
        return False
    return argument in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _reported(result: Result, problem: Watched, at: Measure, fields: dict[str, Any]) -> Record:
    """The record of a Result: its words in plain types, with our clock, counts and trace."""
    (wall, cpu), counts = problem.clock.seconds, problem.tally.counts
    kept = problem.clock.kept(result.trace)
    if kept is None:
        # from the first line on whose gradient norm is known; the cost may be NaN
        norms, columns = enumerate(problem.trace.gradient_norm), problem.trace.as_arrays().values()
        first = next((n for n, value in norms if not math.isnan(value)), len(problem.trace))
        own = Trace(*(column[first:].tolist() for column in columns))
        own.append(wall, at.cost, at.stationarity, at.feasibility, counts.evaluations)
        kept = own, 0.0, 0
    whole, seconds, evaluations = kept
    trace = thinned(whole, _LINES)
    trace.time = [min(seconds + value, wall) for value in trace.time]
    trace.evaluations = [evaluations + value for value in trace.evaluations]
    return structured(
        fields
        | dict(zip(("beta", "threshold"), _penalty(result), strict=True))
        | {
            "message": result.message,
            "nit": result.nit,
            "status": result.status.name,
            "success": False,
            "time": wall,
            "cpu": cpu,
            **{name: _count(getattr(result, name), n) for name, n in counts.calls.items()},
            "constr_nfev": counts.constr_nfev,
            "constr_njev": counts.constr_njev,
            "seconds": _phases(result.seconds, counts),
            "trace": {name: getattr(trace, name) for name in TRACED},
        },
        Record,
    )


def _penalty(result: Result) -> tuple[float | None, float | None]:
    """beta and its threshold; on a product those of the factor that is closest to its threshold."""
    beta, threshold = result.beta, result.threshold
    if not isinstance(beta, tuple):
        return beta, threshold
    pairs = [(b, None) for b in beta] if threshold is None else zip(beta, threshold, strict=True)
    return min(pairs, key=lambda pair: pair[0] / max(pair[1] or 0.0, 1e-300))


def _count(reported: int, measured: int) -> int:
    """What the problem has measured; a solver may leave out the evaluation of its last check."""
    return reported if measured - 1 <= reported <= measured else measured


def _phases(reported: Mapping[str, Any], counts: Counts) -> dict[str, Any]:
    """The seconds by phase; those in the user's functions are at most what the problem measured."""
    found = {**reported, "cost": min(reported.get("cost", math.inf), counts.seconds)}
    return {name: 0.0 if value < 0 else value for name, value in found.items()}


# ---------------------------------------------------------------------- verification


def measured(problem: Problem, x: Any) -> Measure:
    """The figures of what a solver returned; NaN where x is no point of F, or has no gradient."""
    if isinstance(problem.manifold, Product):
        x, problem = _flat(problem.manifold, x), problem.in_blocks
    X = np.asarray(x)
    if X.shape != problem.manifold.shape or X.dtype.kind not in "fc" or not np.isfinite(X).all():
        return Measure(X, math.nan, X, math.nan, math.nan, 1.0)
    with np.errstate(all="ignore"):
        if problem.has_gradient:
            return Measure.at(problem, X)
        return Measure.at(problem, X, (problem.cost(X), np.full_like(X, math.nan)))


def _flat(product: Product, x: Any) -> Any:
    """The flat vector of a point of the product; NaN where it is none."""
    try:
        return product.inward(x)
    except ValueError:
        return math.nan


def verified(
    record: Record,
    at: Measure,
    claimed: bool,
    feasibility_tol: float,
    limit: float,
    says: str = "reports success",
) -> Record:
    """The record with these figures; a success that fails the check is recorded as a failure."""
    found = _contradiction(record, at, feasibility_tol, limit) if claimed else None
    changed: dict[str, Any] = {
        "fun": at.cost,
        "gradient_norm": at.stationarity,
        "feasibility": at.feasibility,
        "success": claimed and found is None,
    }
    if at.kkt is not None:
        changed |= {"violation": at.kkt.violation, "complementarity": at.kkt.complementarity}
    if found is not None:
        status, reason = found
        changed |= {"status": status.name, "message": f"The solver {says}, but {reason}."}
    return attrs.evolve(record, **changed)


def _contradiction(
    record: Record, at: Measure, feasibility_tol: float, limit: float
) -> tuple[Status, str] | None:
    """What is wrong with a success, by the rule of the solvers' own last check; None if nothing."""
    if record.time > limit:
        return Status.TIME_LIMIT, f"it took {record.time:.3g} s, past its limit of {limit:g} s"
    for name, value in (
        ("|C|", at.feasibility),
        ("the cost", at.cost),
        ("the Riemannian gradient norm", at.stationarity),
    ):
        if not math.isfinite(value):
            return Status.NOT_FINITE, f"{name} is {value} at its x"
    if at.kkt is not None and not at.kkt.feasible(VIOLATION):
        return Status.NOT_FEASIBLE, f"at its x, {str(at.kkt)[0].lower()}{str(at.kkt)[1:]}"
    if not at.stationary(record.tolerance):
        got = f"{at.stationarity:.3g} at x, not {SLACK * record.tolerance:.3g}"
        return Status.NOT_STATIONARY, f"the Riemannian gradient norm is {got}"
    if not at.feasible(feasibility_tol):
        need = at.scale * allowed(at.X, at.scale, feasibility_tol)
        if at.feasibility <= need:
            return Status.NOT_FEASIBLE, f"its x is off F by {at.outside:.3g}"
        return Status.NOT_FEASIBLE, f"|C| is {at.feasibility:.3g} at its x, not {need:.3g}"
    return None
