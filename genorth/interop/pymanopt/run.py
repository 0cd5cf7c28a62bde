"""`run`: one of pymanopt's optimizers, with our budgets, trace, counts and Result.

pymanopt is told where to stop by an exception, raised from inside the callables that it is given.
So every budget holds, and the optimizer's own tests, of which some look at the wrong iterate and
some are never made, are switched off.
"""

from __future__ import annotations

import copy
import inspect
import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pymanopt
from pymanopt.optimizers.optimizer import Optimizer
from pymanopt.optimizers.trust_regions import TrustRegions

from genorth.errors import StepTooLong, did_you_mean, refuse
from genorth.interop.pymanopt.manifold import PymanoptManifold
from genorth.interop.pymanopt.problem import Shared, from_pymanopt, own_options
from genorth.linalg.arrays import Array, norm
from genorth.linalg.cache import same_entries
from genorth.problem.measure import Measure
from genorth.problem.problem import Problem
from genorth.solve.ending import end_at, outcome, result
from genorth.solve.metric import in_metric
from genorth.solve.monitor import Guard, Monitor, Stop
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, Status
from genorth.solve.solver import RIEMANNIAN

_NEVER = 10**9


def run(
    optimizer: Any,
    problem: Any,
    x0: Any = None,
    *,
    retraction: str | None = None,
    preconditioner: Callable[[Array, Array], Array] | None = None,
    metric: Any = None,
    **arguments: Any,
) -> Result:
    """Run a pymanopt optimizer on a problem, and return what `genorth.minimize` returns.

    The trace has one line for each iteration, also for the steps that TrustRegions rejects. Where
    the optimizer's line search finds no step, it is started again from there, as long as that
    helps.

    Args:
        optimizer: SteepestDescent, ConjugateGradient or TrustRegions: the class, or an instance
            with its own settings.
        problem: A genorth Problem, or a pymanopt Problem on a `PymanoptManifold`.
        x0: Start near M, which is restored. Default: a random point of M.
        retraction: As for `PymanoptManifold`. Default: that of a pymanopt Problem, else "auto".
        preconditioner: `preconditioner(point, tangent_vector)`. Default: that of a pymanopt
            Problem.
        metric: Inner product to use. Default: that of a pymanopt Problem, else Euclidean.
        **arguments: The arguments of every solver, see `genorth.minimize`, and those of the
            optimizer's own `run`. An instance keeps its tolerance, its iterations and its time
            where others are not given. Its max_cost_evaluations, which pymanopt does not look at,
            holds too.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem lacks a derivative, or an argument is wrong or unknown.
    """
    if not isinstance(problem, Problem):
        theirs, problem = problem, from_pymanopt(problem)
        own = own_options(theirs)
        retraction = retraction or own.get("retraction")
        preconditioner = preconditioner or own.get("preconditioner")
        metric = own.get("metric") if metric is None else metric
    if metric is not None:
        given = {"retraction": retraction, "preconditioner": preconditioner}
        return in_metric(partial(run, optimizer), problem, x0, metric, given | arguments)
    common = {name: arguments.pop(name) for name in Common.__annotations__ if name in arguments}
    watched, limits, max_costs = _prepared(optimizer)
    manifold = PymanoptManifold(problem.manifold, retraction or "auto")
    _check(problem, watched, arguments)
    options = Options(**limits | common)
    start = np.asarray(problem.manifold.restore(problem.start(x0, options.rng)))
    monitor = Monitor(problem, options)
    watch = _Watch(monitor, manifold, max_costs, isinstance(watched, TrustRegions))
    watch.attach(watched)
    stop = outcome(watch.drive, watched, start, preconditioner, arguments)
    last = watch.last
    X, known = (start, None) if last is None else (last.X, (last.cost, last.G))
    end = end_at(watch.monitor, X, start, known)
    method = f"pymanopt.{watched}"
    return result(
        watch.monitor, stop.status, end, family=RIEMANNIAN, method=method, detail=stop.detail
    )


def _prepared(optimizer: Any) -> tuple[Optimizer, dict[str, Any], float]:
    """A copy of the optimizer that does not stop by itself, and its limits, which hold instead."""
    if isinstance(optimizer, type) and issubclass(optimizer, Optimizer):
        # A step of length zero is repeated for ever; any other may go on.
        chosen = optimizer(verbosity=0, min_step_size=sys.float_info.min, max_cost_evaluations=None)
        limits = {}
    elif isinstance(optimizer, Optimizer):
        chosen = copy.copy(optimizer)
        limits = {
            "tol": chosen._min_gradient_norm,
            "max_iterations": chosen._max_iterations,
            "max_time": chosen._max_time,
        }
    else:
        refuse("optimizer", "a pymanopt optimizer, as a class or an instance", repr(optimizer))
    costs = math.inf if chosen._max_cost_evaluations is None else chosen._max_cost_evaluations
    chosen._min_gradient_norm, chosen._max_iterations = 0.0, _NEVER
    chosen._max_time = chosen._max_cost_evaluations = math.inf
    return chosen, limits, costs


def _check(problem: Problem, optimizer: Optimizer, options: dict[str, Any]) -> None:
    require(problem, f"pymanopt's {optimizer}")
    known = set(inspect.signature(optimizer.run).parameters) - {"problem", "initial_point"}
    for name, value in options.items():
        if name not in known:
            takes = ", ".join([*Common.__annotations__, "retraction", "preconditioner", *known])
            need = f"an argument of pymanopt's {optimizer}, which takes {takes}"
            refuse(
                name, need, repr(value), None, did_you_mean(name, {"x0", *Common.__annotations__})
            )


def _set_first_step(optimizer: Optimizer, length: float) -> None:
    """The length of the first step, by the name that it has in pymanopt's two line searches."""
    if (searcher := getattr(optimizer, "_line_searcher", None)) is not None:
        optimizer._line_searcher = copy.copy(searcher)  # the user's own is left alone
        for name in {"initial_step_size", "_initial_step_size"} & vars(searcher).keys():
            setattr(optimizer._line_searcher, name, length)


class _NoStep(Exception):
    """The optimizer came back to the iterate where it was."""


class _Watch:
    """Stands between one optimizer and one problem; tells the monitor of every new iterate."""

    def __init__(
        self, monitor: Monitor, manifold: PymanoptManifold, max_costs: float, rejects: bool
    ) -> None:
        self.problem, self.manifold, self.monitor = monitor.problem, manifold, monitor
        self._guard = Guard(monitor, max_costs)
        self._shared = Shared(self.problem, self._guard)
        self._rejects = rejects
        self._starting, self._last_step = True, 1.0
        self.last: Measure | None = None

    def attach(self, optimizer: Optimizer) -> None:
        """Hear of each iteration: TrustRegions rejects steps without asking for a gradient."""
        own = optimizer._check_stopping_criterion

        def end_of_iteration(**figures: Any) -> Any:
            rejected = self._rejects and len(self.monitor.trace) == figures["iteration"]
            if rejected and self.last is not None:
                self._report(self.last)
            return own(**figures)

        optimizer._check_stopping_criterion = end_of_iteration

    def drive(self, optimizer: Optimizer, start: Array, preconditioner: Any, options: Any) -> None:
        """Run the optimizer until something ends it; again from where it found no step.

        pymanopt's line searches give up after a few reductions of the step, and then repeat a step
        of length zero. A new start follows the gradient, with a first step as long as the last one
        that was made.
        """
        theirs = self._their_problem(preconditioner)
        if self._rejects:  # pymanopt's default, dim M, may be zero, which it cannot take
            options = {"maxinner": max(self.manifold.dim, 1)} | options
        while True:
            before = math.inf if self.last is None else self.last.cost
            self._starting = True
            try:
                end = optimizer.run(theirs, initial_point=start, **options)
            except _NoStep:
                pass
            else:
                if not self._is_last(end.point):
                    # SteepestDescent ends before it looks at the gradient there
                    self.gradient(end.point)
                    raise Stop(Status.STALLED, f"pymanopt: {end.stopping_criterion}")
            assert self.last is not None
            # trust regions have no line search to start again
            if self._rejects or not self.last.cost < before:
                return
            start = self.last.X
            _set_first_step(optimizer, self._last_step)

    def _their_problem(self, preconditioner: Any) -> pymanopt.Problem:
        function = pymanopt.function.numpy(self.manifold)
        return pymanopt.Problem(
            self.manifold,
            function(self.cost),
            riemannian_gradient=function(self.gradient),
            riemannian_hessian=function(self.hessian),
            preconditioner=preconditioner,
        )

    def cost(self, X: Array) -> float:
        """f(X); pymanopt rejects a step to +infinity, which is outside the domain of f."""
        try:
            return self._shared.cost(X)
        except StepTooLong:
            return math.inf

    def gradient(self, X: Array) -> Array:
        """The Riemannian gradient; the optimizers ask for it once at each new iterate only."""
        known = self._is_last(X)
        if known and not self._starting:
            raise _NoStep
        self._starting = False
        G = self._shared.gradient(X)
        if not known:
            cost = self._shared.cost(X)
            with self.monitor.paused():
                self._last_step = 1.0 if self.last is None else float(norm(X - self.last.X))
                self.last = Measure.at(self.problem, X, (cost, G))
            self._report(self.last)
        return self.problem.manifold.gradient(X, G)

    def hessian(self, X: Array, Z: Array) -> Array:
        """The Riemannian Hessian applied to Z."""
        G = self._shared.gradient(X)
        return self.problem.manifold.hessian(X, G, self._guard.hessian(X, Z), Z)

    def _is_last(self, X: Array) -> bool:
        return self.last is not None and same_entries(self.last.X, X)

    def _report(self, here: Measure) -> None:
        self.monitor.iteration(here.X, here.cost, here.stationarity, here.feasibility)
