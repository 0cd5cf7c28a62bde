"""`takes_metric`: any inner product W for any solver, by the substitution X = T Y.

In Y, with W = (T T^T)^-1, the metric is the Euclidean one: the solver runs there without a line of
its own, and its Result comes back in X. `in_blocks` does the same for points of a natural shape.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.geometry.product import Blockwise, Euclidean
from genorth.linalg.arrays import inner, norm, number
from genorth.problem.measure import Measure
from genorth.problem.problem import Problem
from genorth.solve.options import Common, Options
from genorth.solve.result import Interrupted, Result, Status, joined

_SPREAD = 100.0  # of the curvatures of factors: below it, weights gain nothing (docs/products.md)
_ROUNDS = 4  # until the Euclidean gradient norm is small too
_AT_LEAST = 20  # a further round takes at most four times the iterations so far, or as these
_F = TypeVar("_F", bound=Callable[..., Result])


def takes_metric(solve: _F) -> _F:
    """Give a solver the argument `metric`.

    Args:
        solve: `solve(problem, x0, **arguments)`.

    Returns:
        The solver, with metric=None: as before; or W, as for `GenOrthManifold.metric`. Then the
        Result is in the variables of the problem: `gradient_norm` is that of the Euclidean metric
        at x, and `metric_gradient_norm` that of W. The run stops by the latter; where the former,
        by which a success is judged, is larger, it goes on with a smaller tol.
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
    T = inside.manifold.T
    start = T.solve(problem.start(x0, arguments.get("rng")))
    shown, before = _shown(arguments, T.apply), None
    options = Options(**{k: v for k, v in arguments.items() if k in Common.__annotations__})
    tol = options.tol
    problem.first_size = None if options.rtol else 0.0  # asked for, as a run without a metric does
    try:
        found = solve(inside, start, **shown)
        tol = max(tol, options.rtol * (problem.first_size or 0.0))
        at, claimed = Measure.at(problem, np.asarray(T.apply(found.x))), found.success
        for _ in range(_ROUNDS):
            more = _go_on(options, tol, found, at)
            if not (found.success and more):
                break
            before = found
            found = joined(before, solve(inside, before.x, **shown | more))
            there = Measure.at(problem, np.asarray(T.apply(found.x)))
            if not there.stationarity < at.stationarity:  # rounding
                found = attrs.evolve(found, x=before.x, gradient_norm=before.gradient_norm)
                break
            at = there
        fails = at.fails(tol, options.feasibility_tol) if claimed else None
        return _brought_back(found, at, T, fails)
    except Interrupted as stop:
        at = Measure.at(problem, np.asarray(T.apply(stop.result.x)))
        stop.result = _brought_back(joined(before, stop.result), at, T, None)
        raise


def _go_on(options: Options, tol: float, found: Result, at: Measure) -> dict[str, Any]:
    """The tol and the budgets of the next round, so that the Euclidean norm is small too.

    Empty where it is small already, or no budget is left.
    """
    rest, few = options.left(found), 4 * max(found.nit, _AT_LEAST)
    if rest is None or at.stationary(tol):
        return {}
    tol = found.gradient_norm * tol / at.stationarity / 2
    iterations = min(rest.get("max_iterations", few), few)
    return rest | {"max_iterations": iterations, "tol": tol, "rtol": 0.0} if tol > 0 else {}


def _brought_back(result: Result, at: Measure, T: Any, fails: str | None) -> Result:
    """The Result in X = T Y, with the status that X bears out; None where it was no success."""
    _kept(result, lambda Y: np.asarray(T.apply(Y)))
    found = attrs.evolve(
        result,
        x=at.X,
        metric_gradient_norm=result.gradient_norm,
        **at.figures,
    )
    if fails is None:
        return found
    status = Status[fails or "CONVERGED"]
    says = (
        f"The gradient norm is {result.gradient_norm:.2g} in the metric and {at.stationarity:.2g} "
        "in the Euclidean one, by which a success is judged: raise tol."
    )
    message = f"{status.message()} {says if fails == 'NOT_STATIONARY' else ''}".rstrip()
    return attrs.evolve(found, success=not fails, status=status, message=message)


def in_blocks(
    solve: Callable[..., Result],
    problem: Problem,
    x0: Any,
    arguments: dict[str, Any],
    on_device: bool,
) -> Result:
    """Solve in the blocks of a `Shaped` manifold, and bring the Result to its natural shape."""
    inward, outward = problem.manifold.inward, problem.manifold.outward
    start = None if x0 is None else inward(problem.start(x0, on_device=on_device))
    before, metric = problem.counts, arguments.get("metric")
    if metric is not None and isinstance(problem.manifold.blocks, Blockwise):
        if isinstance(metric, str) and metric == "auto":
            start = inward(problem.start(None, arguments.get("rng"))) if start is None else start
            arguments = arguments | {"metric": weights(problem.in_blocks, start)}
        else:
            arguments = arguments | {"metric": problem.manifold.metrics(metric)}
    spent = problem.counts - before
    given = arguments.get("preconditioner")
    if callable(given):
        arguments = arguments | {"preconditioner": problem.manifold.mapped(given)}
    try:
        found = _outside(solve(problem.in_blocks, start, **_shown(arguments, outward)), outward)
        sums = {name: getattr(found, name) + count for name, count in spent.calls.items()}
        return attrs.evolve(found, **sums)
    except Interrupted as stop:
        stop.result = _outside(stop.result, outward)
        raise


def weights(problem: Problem, X: Any) -> list[Any] | None:
    """A weight for each factor of a product, the curvature of f along its gradient at X.

        c_i = |<g_i, H g_i>|/|g_i|^2

    divided by the largest; g_i is the part of the Riemannian gradient in factor i, and H the
    Riemannian Hessian. One Hessian product for each factor.

    Args:
        problem: A problem on the flat vectors of a product.
        X: A point.

    Returns:
        The metric of each factor; None if no two weights differ by more than a factor of 100, where
        weights make no difference.
    """
    product, place = problem.manifold, problem.manifold.at(X).general
    tangent, normal = place.split(problem.euclidean_gradient(X))
    hessian, parts = place.curvature(normal), product.points.split(tangent)
    found = []
    for i, part in enumerate(parts):
        Z = product.points.join([g if j == i else 0 * g for j, g in enumerate(parts)])
        along = number(inner(hessian(problem.euclidean_hessian(X, Z), Z), Z))
        found.append(abs(along) / max(number(norm(part)) ** 2, np.finfo(float).tiny))
    known = [c for c in found if 0 < c < math.inf]
    if not known or max(known) <= _SPREAD * min(known):
        return None
    scaled = [c / max(known) if c in known else 1.0 for c in found]
    return [
        c if isinstance(M, Euclidean) else np.full(M.shape[-2], c)
        for M, c in zip(product.factors, scaled, strict=True)
    ]


def _outside(result: Result, outward: Callable[[Any], Any]) -> Result:
    """The Result in the natural shape."""
    _kept(result, outward)
    return attrs.evolve(result, x=outward(result.x))


def _shown(arguments: dict[str, Any], apply: Callable[[Any], Any]) -> dict[str, Any]:
    """The arguments, with a callback that sees apply(Y)."""
    callback = arguments.get("callback")
    if not callable(callback):
        return arguments
    return arguments | {"callback": lambda p: callback(attrs.evolve(p, x=apply(p.x)))}


def _kept(result: Result, apply: Callable[[Any], Any]) -> None:
    """The points of the trace, in the variables of the problem."""
    if result.trace.points is not None:
        result.trace.points = [apply(Y) for Y in result.trace.points]
