"""`takes_metric`: any inner product W for any solver, by the substitution X = T Y.

In Y, with W = (T T^T)^-1, the metric is the Euclidean one: the solver runs there without a line of
its own, and its Result comes back in X.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.problem.measure import Measure
from genorth.problem.problem import Problem
from genorth.solve.result import Interrupted, Result

_F = TypeVar("_F", bound=Callable[..., Result])


def takes_metric(solve: _F) -> _F:
    """Give a solver the argument `metric`.

    Args:
        solve: `solve(problem, x0, **arguments)`.

    Returns:
        The solver, with metric=None: as before; or W, as for `GenOrthManifold.metric`. Then the
        Result is in the variables of the problem: `gradient_norm` is that of the Euclidean metric
        at x, and `metric_gradient_norm`, what is compared with tol, that of W.
    """

    @functools.wraps(solve)
    def solver(problem: Any, x0: Any = None, *, metric: Any = None, **arguments: Any) -> Result:
        if metric is None:
            return solve(problem, x0, **arguments)
        return in_metric(solve, problem, x0, metric, arguments)

    signature = inspect.signature(solve, eval_str=True)
    *others, last = signature.parameters.values()
    added = inspect.Parameter("metric", inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters = [*others, added, last] if last.kind is last.VAR_KEYWORD else [*others, last, added]
    cast(Any, solver).__signature__ = signature.replace(parameters=parameters)
    return cast(_F, solver)


def in_metric(
    solve: Callable[..., Result], problem: Any, x0: Any, metric: Any, arguments: dict[str, Any]
) -> Result:
    """Solve in Y, X = T Y, and bring the Result back; see `takes_metric`."""
    if not isinstance(problem, Problem):
        refuse("problem", "a genorth.Problem", type(problem).__name__)
    if arguments.get("preconditioner") is not None:
        refuse(
            "metric",
            "a metric or a preconditioner, not both",
            "both",
            None,
            "A metric W is a preconditioner already: it acts as its inverse.",
        )
    inside = problem.substitute(problem.manifold.metric(metric))
    T = inside.manifold.T  # type: ignore[attr-defined]
    start = T.solve(problem.start(x0, arguments.get("rng")))
    callback = arguments.get("callback")
    if callable(callback):
        arguments = arguments | {"callback": lambda p: callback(attrs.evolve(p, x=T.apply(p.x)))}
    try:
        return _brought_back(solve(inside, start, **arguments), problem, T)
    except Interrupted as stop:
        stop.result = _brought_back(stop.result, problem, T)
        raise


def _brought_back(result: Result, problem: Problem, T: Any) -> Result:
    """The Result in X = T Y."""
    x = np.asarray(T.apply(result.x))
    trace = result.trace
    if trace.points is not None:
        trace.points = [np.asarray(T.apply(Y)) for Y in trace.points]
    at = Measure.at(problem, x)
    return attrs.evolve(
        result,
        x=x,
        feasibility=at.feasibility,
        gradient_norm=at.stationarity,
        metric_gradient_norm=result.gradient_norm,
    )
