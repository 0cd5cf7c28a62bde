"""`Options`: the tolerances, budgets and reporting of a run, checked once for every solver."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, TypedDict

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.geometry.shaped import Front
from genorth.problem.problem import Problem
from genorth.solve.progress import Reporter, reporter
from genorth.solve.result import Progress, Status


class Common(TypedDict, total=False):
    """The keyword arguments that every solver takes; `Options` says what they mean."""

    tol: float
    rtol: float
    feasibility_tol: float
    max_iterations: int | None
    max_evaluations: int | None
    max_time: float | None
    callback: Callable[[Progress], Any] | None
    keep_points: bool
    progress: Any
    rng: Any


def _is_real(value: Any) -> bool:
    """A number, and not a truth value; NaN fails every comparison that follows."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_real(value) and isinstance(value, int | np.integer) and bool(value > 0)


def _is_seed(value: Any) -> bool:
    try:
        return value is None or bool(np.random.default_rng(value))  # None would read entropy
    except (TypeError, ValueError):
        return False


def _field(default: Any, test: Callable[[Any], bool], need: str) -> Any:
    """An option, which is refused where it fails the test."""

    def check(options: Any, field: Any, value: Any) -> None:  # noqa: ARG001
        if not test(value):
            refuse(field.name, need.format(field.name), repr(value))

    return attrs.field(default=default, validator=check)


_COUNT = "{} > 0, an integer, or None for no limit"


#: The budgets, and how a run ends that has used one up.
_BUDGETS = {
    "max_iterations": Status.ITERATION_LIMIT,
    "max_evaluations": Status.EVALUATION_LIMIT,
    "max_time": Status.TIME_LIMIT,
}


@attrs.frozen(kw_only=True)
class Options:
    """What every solver takes, with one meaning.

    Args:
        tol: On the stopping measure: |grad h| of a penalty method, else the norm of the Riemannian
            gradient. At the returned x the latter is at most 2 tol.
        rtol: The same relative to |G|, G the Euclidean gradient at the start: the larger one holds.
        feasibility_tol: On |C(x)|, relative to max(1, |x| |phi(x)|).
        max_iterations: None for no limit, as for the other budgets.
        max_evaluations: A cost with its gradient is one, a Hessian product is one. The check of x
            at the end may be one more.
        max_time: Seconds, without the time spent in the callback, and without the first half second
            spent on measuring.
        callback: `callback(progress)` sees each iterate; it stops the run by returning True or
            raising StopIteration.
        keep_points: Whether the trace keeps the iterates.
        progress: None for silence, True for one line that is drawn anew, k for each k-th iteration,
            or the name of a logger, see `genorth.solve.progress`.
        rng: A seed or a Generator, for random starts and randomised solvers.

    Raises:
        ValueError: For a value of the wrong type or size.
    """

    tol: float = _field(1e-6, lambda v: _is_real(v) and 0 <= v < math.inf, "{} >= 0, finite")
    rtol: float = _field(0.0, lambda v: _is_real(v) and 0 <= v < 1, "0 <= {} < 1")
    feasibility_tol: float = _field(
        1e-12, lambda v: _is_real(v) and 0 < v < math.inf, "{} > 0, finite"
    )
    max_iterations: int | None = _field(10_000, lambda v: v is None or _is_count(v), _COUNT)
    max_evaluations: int | None = _field(None, lambda v: v is None or _is_count(v), _COUNT)
    max_time: float | None = _field(
        None, lambda v: v is None or (_is_real(v) and v > 0), "{} > 0, or None for no limit"
    )
    callback: Callable[[Progress], Any] | None = _field(
        None, lambda v: v is None or callable(v), "a callable, {}(progress)"
    )
    keep_points: bool = _field(False, lambda v: isinstance(v, bool), "True or False")
    progress: Reporter | None = attrs.field(default=None, converter=reporter)
    rng: Any = _field(None, _is_seed, "a seed or a numpy.random.Generator")

    def left(self, done: Any = None) -> dict[str, Any] | None:
        """The budgets that are left after a run; None where one is used up.

        Args:
            done: The `Result` of what ran so far, or None.
        """
        rest = self._rest(done)
        return rest if all(value > 0 for value in rest.values()) else None

    def spent(self, done: Any) -> Status | None:
        """How a run ends that a used-up budget ends; None where some of each is left."""
        return next((_BUDGETS[name] for name, rest in self._rest(done).items() if rest <= 0), None)

    def _rest(self, done: Any) -> dict[str, Any]:
        used = (0, 0, 0.0) if done is None else (done.nit, done.evaluations, done.time)
        budgets = ((name, getattr(self, name)) for name in _BUDGETS)
        pairs = zip(budgets, used, strict=True)
        return {name: budget - spent for (name, budget), spent in pairs if budget is not None}

    def changed(self) -> dict[str, Any]:
        """Those that differ from the default."""
        values = {f.name: (getattr(self, f.name), f.default) for f in attrs.fields(Options)}
        return {
            name: value
            for name, (value, default) in values.items()
            if (value is not None if default is None else value != default)
        }


def refuse_retired(arguments: Mapping[str, Any]) -> None:
    """Refuse an argument that solvers no longer have, and say what to do instead."""
    if "geometry" in arguments:
        refuse(
            "geometry",
            "no such argument: the geometry is chosen by the structure of the manifold",
            repr(arguments["geometry"]),
            None,
            "The geometry of the paper is that of 'rgd-paper' and 'rcg-paper'.",
        )


def require(problem: Any, solver: str, nonsmooth: bool = False) -> None:
    """Refuse a problem that the solver cannot use; `nonsmooth`: whether it takes such a term.

    Raises:
        ValueError: If it is no Problem, or has no gradient, or a nonsmooth term too many.
    """
    if not isinstance(problem, Problem):
        refuse("problem", "a genorth.Problem or a pymanopt.Problem", type(problem).__name__)
    if isinstance(problem.manifold, Front):
        hint = "Call it by go.minimize(problem, method=...), or pass problem.in_blocks."
        refuse("problem", "points of the shape of the blocks", repr(problem.manifold), None, hint)
    if not problem.has_gradient:
        hint = "Pass euclidean_gradient or cost_and_gradient, or autodiff='jax' or 'torch'."
        refuse("problem", f"a gradient, which {solver} uses", "none", None, hint)
    if not nonsmooth:
        problem.require_smooth(solver)
