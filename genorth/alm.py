"""Further constraints by an augmented Lagrangian, minimised on M or by a penalty method.

    L(X) = f(X) + rho/2 |u - [u]|^2,  u = c(X) + y/rho

[u] is the nearest vector with lower <= [u] <= upper. Then y <- rho (u - [u]), which is zero where
a bound is not active and has the sign of the bound that is. The inner problem is smooth, on the
same manifold, so that every solver can minimise it. With a penalty method the constraints are
taken at Y(X), where f is: the run ends there.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Unpack

import attrs
import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

import genorth.auto  # noqa: F401  whose solvers are registered before
from genorth.errors import refuse
from genorth.geometry.bases import realvec
from genorth.geometry.newton import anywhere
from genorth.linalg.arrays import Array, norm
from genorth.problem.kkt import KKT
from genorth.problem.problem import Problem
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Result, Status, joined
from genorth.solve.solver import PENALTY, RIEMANNIAN, SOLVERS, Solver

_ROUNDS = 60
_FIRST = 1e-2  # the tolerance of the first round, relative to |G| at the start
_TIGHTER = 0.1  # of the next one
_FALL = 0.25  # by which the violation has to fall, else rho grows
_GROWTH = 10.0
_STUCK, _FLAT = 0.9, 1e-3  # a violation that does not fall, and whose slope on M is no slope
_MOST = 1e8  # |y|, a safeguard
_POLISH, _EXACT = 6, 1e-14  # steps of Newton's map, and where they end, relative
_ENDS = (
    Status.ITERATION_LIMIT,
    Status.EVALUATION_LIMIT,
    Status.TIME_LIMIT,
    Status.CALLBACK,
    Status.INTERRUPTED,
    Status.NOT_FINITE,
    Status.UNBOUNDED,
)


@takes_metric
def alm(
    problem: Problem,
    x0: Any = None,
    *,
    inner: str = "rtr",
    constraint_tol: float = 1e-6,
    polish: bool = True,
    preconditioner: Any = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M under further constraints, by an augmented Lagrangian [liu2020simple].

    Args:
        problem: The problem, with `constraints`.
        x0: Start, as the inner solver takes it.
        inner: The solver of the inner problems.
        constraint_tol: On the largest violation of a constraint, and on complementarity.
        polish: Whether the last point is moved to the active bounds by Newton's map, so that they
            hold to rounding.
        preconditioner: For the inner solver, if it takes one.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `kkt` has the multipliers, the violation and the complementarity.

    Raises:
        ValueError: If the problem has no constraints, or an argument is wrong.
    """
    require(problem, "an augmented Lagrangian")
    if problem.constraints is None:
        refuse("problem", "constraints", "none", None, "Every other solver is for such problems.")
    if not (isinstance(constraint_tol, float | int) and 0 < constraint_tol < 1):
        refuse("constraint_tol", "0 < constraint_tol < 1", repr(constraint_tol))
    given = {} if preconditioner is None else {"preconditioner": preconditioner}
    run = _Rounds(problem, SOLVERS[inner], float(constraint_tol), Options(**common), given)
    run.polish = polish
    return run.solve(problem.start(x0, run.options.rng))


def polished(problem: Problem, x: Array, y: Array) -> Array:
    """x on M and on the active constraints: the smallest D with DC(x)[D] = C(x), J D = c - bound.

    Steps of Newton's map for both, X <- X - D, each by least squares without a matrix.

    Args:
        problem: The problem, with constraints.
        x: A point near both.
        y: The multipliers; a constraint is active where its multiplier is not zero.

    Returns:
        The point.
    """
    constraint: Any = problem.constraints
    active = np.flatnonzero((y != 0) | (constraint.lower == constraint.upper))
    for _ in range(_POLISH):
        place = anywhere(problem.manifold, x)
        c, C = constraint.value(x), realvec(np.asarray(place.constraint))
        missed = np.concatenate([C, (c - constraint.nearest(c + y))[active]])
        if float(norm(missed)) <= _EXACT * max(1.0, place.size):
            break

        def across(v: Array, place: Any = place, x: Array = x) -> Array:
            D = np.ascontiguousarray(v).view(x.dtype).reshape(x.shape)
            C = realvec(np.asarray(place.differential(D)))
            return np.concatenate([C, constraint.push(x, D)[active]])

        def back(w: Array, place: Any = place, x: Array = x) -> Array:
            T = w[: w.size - active.size].view(place.constraint.dtype)
            full = np.zeros_like(y)
            full[active] = w[w.size - active.size :]
            normal = place.normal(T.reshape(place.constraint.shape))
            return realvec(np.asarray(normal + constraint.pull(x, full)))

        size = realvec(x).size
        operator = LinearOperator((missed.size, size), across, back, dtype=float)
        found = lsmr(operator, missed, atol=1e-14, btol=1e-14, maxiter=10 * size)[0]
        x = x - found.view(x.dtype).reshape(x.shape)
    return x


class _Lagrangian:
    """f + rho/2 |u - [u]|^2 for one y and rho."""

    def __init__(self, problem: Problem, y: Array, rho: float) -> None:
        assert problem.constraints is not None
        self.problem, self.constraint, self.y, self.rho = problem, problem.constraints, y, rho

    def excess(self, X: Array) -> Array:
        """rho (u - [u]), the next y."""
        u = self.constraint.value(X) + self.y / self.rho
        return self.rho * (u - self.constraint.nearest(u))

    def value_and_gradient(self, X: Array) -> tuple[float, Array]:
        """L and its gradient."""
        f, G = self.problem.evaluate(X)
        y = self.excess(X)
        return f + float(y @ y) / (2 * self.rho), G + self.constraint.pull(X, y)

    def hessian(self, X: Array, Z: Array) -> Array:
        """The derivative of the gradient along Z, where no bound becomes active."""
        H, y = self.problem.euclidean_hessian(X, Z), self.excess(X)
        change = np.where(y != 0, self.rho * self.constraint.push(X, Z), 0.0)
        H = H + self.constraint.pull(X, change)
        second = self.constraint.second
        return H if second is None else H + second(X, Z, y)

    def smooth(self) -> Problem:
        """The inner problem."""
        hessian = self.hessian if self.problem.has_hessian else None
        return Problem(
            self.problem.manifold,
            None,
            None,
            hessian,
            self.value_and_gradient,
            preconditioner=self.problem.preconditioner,
            name=self.problem.name,
        )


class _Rounds:
    """The outer iteration."""

    polish = True

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        constraint_tol: float,
        options: Options,
        given: dict[str, Any],
    ) -> None:
        assert problem.constraints is not None
        self.problem, self.constraint = problem, problem.constraints
        self.solver, self.tol, self.options, self.given = solver, constraint_tol, options, given

    def solve(self, x: Array) -> Result:
        """Rounds until the conditions of Karush, Kuhn and Tucker hold, or a budget ends the run."""
        c = self.constraint.value(x)
        _, G = self.problem.cost_and_gradient(x)
        scale = float(norm(G))
        tol = max(self.options.tol, self.options.rtol * scale)
        goal, y = max(tol, _FIRST * max(scale, 1e-300)), np.zeros_like(c)
        rho = scale / float(norm(x)) or 1.0  # of the size of the curvature of f
        done: Any = None
        before, excluded = math.inf, False
        for count in range(1, _ROUNDS + 1):
            lagrangian = _Lagrangian(self.problem, y, rho)
            rest = self._rest(done)
            result = self.solver(lagrangian.smooth(), x, tol=goal, **rest, **self.given)
            done, x = joined(done, result), result.x
            y = np.clip(lagrangian.excess(x), -_MOST, _MOST)
            kkt = attrs.evolve(KKT.at(self.problem, x, y), rounds=count)
            if result.status in _ENDS or self._rest(done) is None:
                return self._result(done, kkt, result.status)
            if kkt.holds(tol, self.tol):
                break
            miss = max(kkt.violation, kkt.complementarity)
            fallen = miss <= _FALL * before
            if not fallen:
                rho *= _GROWTH
            excluded = kkt.violation > max(self.tol, _STUCK * before) and self._excluded(x)
            if excluded:
                break
            before, goal = miss, max(tol, _TIGHTER * goal) if fallen else goal
        status = Status.CONVERGED if kkt.holds(tol, self.tol) else Status.STALLED
        if excluded:
            status = Status.INFEASIBLE
        if status is Status.CONVERGED and self.polish:
            x = polished(self.problem, x, y)
            exact = KKT.estimate(self.problem, x)
            if exact.holds(tol, self.tol) and exact.violation <= kkt.violation:
                feasibility = float(self.problem.manifold.feasibility(x))
                done = attrs.evolve(done, x=x, feasibility=feasibility)
                kkt = attrs.evolve(exact, rounds=count)
        return self._result(done, kkt, status)

    def _rest(self, done: Result | None) -> Any:
        """The arguments of the next round; None where a budget is used up."""
        rest = self.options.left(done)
        if rest is None:
            return None
        callback = self.options.callback
        own = {
            "feasibility_tol": self.options.feasibility_tol,
            "keep_points": self.options.keep_points,
        }
        return rest | own | ({} if callback is None else {"callback": callback})

    def _excluded(self, x: Array) -> bool:
        """Whether the violation is stationary on M: no point near x violates less."""
        c = self.constraint.value(x)
        V = self.constraint.pull(x, c - self.constraint.nearest(c))
        slope = float(norm(self.problem.manifold.gradient(x, V)))
        return slope <= _FLAT * float(norm(V))

    def _result(self, done: Result, kkt: KKT, status: Status) -> Result:
        success = status is Status.CONVERGED
        worst = f" The worst is {kkt.worst}." if kkt.violation > self.tol else ""
        return attrs.evolve(
            done,
            fun=kkt.cost,
            gradient_norm=kkt.stationarity,
            success=success,
            status=status,
            kkt=kkt,
            stopping_measure=kkt.stationarity,
            message=f"{status.message(self.solver.family)} {kkt}.{worst}",
        )


SOLVERS.register(
    *(
        Solver(
            name=name,
            family=family,
            run=partial(alm, inner=inner),
            algorithm="alm",
            variant=name.partition("-")[0] if family == PENALTY else "",
            cites=("liu2020simple", *cites),
            reason=lambda problem: (
                None if problem.constraints is not None else "the problem has no constraints"
            ),
            constrained=True,
        )
        for name, family, inner, cites in (
            ("ralm", RIEMANNIAN, "rtr", ("absil2007trust",)),
            ("odf-alm", PENALTY, "odf-lbfgs", ("zhang-improved",)),
            ("cdf-alm", PENALTY, "cdf-lbfgs", ("zhang-improved",)),
        )
    )
)
