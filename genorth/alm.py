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
from scipy.sparse.linalg import LinearOperator, cg, lsmr

import genorth.auto  # noqa: F401  whose solvers are registered before
from genorth.errors import OutsideDomainError, StepTooLong, refuse
from genorth.geometry.bases import realvec
from genorth.linalg.arrays import Array, norm
from genorth.linalg.cache import ContentCache
from genorth.problem.kkt import KKT, Cone
from genorth.problem.measure import Measure
from genorth.problem.problem import Problem
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common, Options, require
from genorth.solve.result import Interrupted, Result, Status, joined
from genorth.solve.solver import PENALTY, RIEMANNIAN, SOLVERS, Solver
from genorth.splitting import ENDS, Rounds, Split

_ROUNDS = 60
_FIRST = 1e-2  # the tolerance of the first round, relative to |G| at the start
_TIGHTER = 0.1  # of the next one
_FALL = 0.25  # by which the violation has to fall, else rho grows
_GROWTH = 4.0
# rho of the first round, relative to the curvature of f, of affine constraints and others
_STIFFNESS = {"equation": 100.0, "inequality": 3.0, "curved": 1.0}
_SOLVED, _STEPS, _STIFFEST = 1e-12, 100, 1e-6  # of the preconditioner
_STUCK, _FLAT = 0.9, 1e-3  # a violation that does not fall, and whose slope on M is no slope
_MOST = 1e8  # |y|, a safeguard
_MORE = 4  # rounds after the first success, until the active constraints hold exactly
_NEAR = 0.3  # a violation, relative to |x|, from which the active constraints are tried
_ROUGH, _SLOW = 0.03, 0.5  # Newton's equations are solved to, and where it is given up
_POLISH, _EXACT = 6, 1e-14  # steps of Newton's map, and where they end, relative


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

    With a nonsmooth term r in their place it is that of `genorth.splitting`, in which the prox of
    r stands for the projection onto the bounds [zhou2023semismooth].

    Args:
        problem: The problem, with `constraints` or a nonsmooth term.
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
        ValueError: If the problem has neither, or an argument is wrong.
    """
    require(problem, "an augmented Lagrangian", nonsmooth=True)
    if lacks(problem):
        refuse("problem", "constraints or a nonsmooth term", lacks(problem))
    if not (isinstance(constraint_tol, float | int) and 0 < constraint_tol < 1):
        refuse("constraint_tol", "0 < constraint_tol < 1", repr(constraint_tol))
    given = {} if preconditioner is None else {"preconditioner": preconditioner}
    if problem.term is not None:
        split = Split(True, problem, SOLVERS[inner], Options(**common), given)
        return split.solve(problem.start(x0, split.options.rng))
    run = _Rounds(problem, float(constraint_tol), SOLVERS[inner], Options(**common), given)
    run.polish = polish
    return run.solve(problem.start(x0, run.options.rng))


def lacks(problem: Problem) -> str | None:
    """Why there is no augmented Lagrangian; None where there is one."""
    rough = problem.constraints is not None or problem.term is not None
    return None if rough else "the problem has no constraints and no nonsmooth term"


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
        place = problem.manifold.anywhere(x)
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
    """f + sum rho_i/2 (u_i - [u_i])^2 - y_i^2/(2 rho_i); y and rho change from round to round.

    Args:
        problem: The problem, with constraints.
        y: The multipliers.
        rho: The weights of the squares.
        sigma: The size of the curvature of f, for the preconditioner.
    """

    def __init__(self, problem: Problem, y: Array, rho: Any, sigma: float = 1.0) -> None:
        assert problem.constraints is not None
        self.problem, self.constraint = problem, problem.constraints
        self.y, self.rho, self.sigma = y, rho * np.ones_like(y), sigma
        self._values = ContentCache()

    def excess(self, X: Array) -> Array:
        """rho (u - [u]), the next y."""
        u = self._values.get(X, self.constraint.value) + self.y / self.rho
        return self.rho * (u - self.constraint.nearest(u))

    def value_and_gradient(self, X: Array) -> tuple[float, Array]:
        """L and its gradient."""
        f, G = self.problem.cost_and_gradient(X)
        y = self.excess(X)
        more = float(np.sum((y**2 - self.y**2) / (2 * self.rho)))
        return f + more, G + self.constraint.pull(X, y)

    def hessian(self, X: Array, Z: Array) -> Array:
        """The derivative of the gradient along Z, where no bound becomes active."""
        H, y = self.problem.euclidean_hessian(X, Z), self.excess(X)
        change = np.where(y != 0, self.rho * self.constraint.push(X, Z), 0.0)
        return H + self.constraint.pull(X, change) + self.constraint.second(X, Z, y)

    def preconditioner(self, X: Array, V: Array) -> Array:
        """(sigma I + J^T diag(rho) J)^-1 V, J of the active affine constraints.

            (I + J^T W J)^-1 = I - J^T (W^-1 + J J^T)^-1 J

        with W = diag(rho)/sigma, by conjugate gradients: one step for bounds, where J J^T = I.
        """
        active = self.constraint.affine & (self.excess(X) != 0)
        JV = np.where(active, self.constraint.push(X, V), 0.0)
        if not JV.any():
            return V / self.sigma
        inverse = np.maximum(self.sigma / self.rho, _STIFFEST)

        def times(z: Array) -> Array:
            JJz = self.constraint.push(X, self.constraint.pull(X, np.where(active, z, 0.0)))
            return np.asarray(inverse * z + np.where(active, JJz, 0.0))

        operator = LinearOperator((JV.size, JV.size), times, dtype=float)
        z = cg(operator, JV, rtol=_SOLVED, maxiter=_STEPS)[0]
        W = V - self.constraint.pull(X, np.where(active, z, 0.0))
        # rounding, where the rows of J are nearly dependent
        return (W if float(np.vdot(V, W).real) > 0 else V) / self.sigma

    def smooth(self) -> Problem:
        """The inner problem."""
        hessian = self.hessian if self.problem.has_hessian else None
        own = self.preconditioner if np.any(self.constraint.affine) else None
        return Problem(
            self.problem.manifold,
            None,
            None,
            hessian,
            self.value_and_gradient,
            preconditioner=self.problem.preconditioner or own,
            name=self.problem.name,
        )


class _Rounds(Rounds):
    """The outer iteration."""

    polish = True
    _active: Any = None

    def __init__(self, problem: Problem, constraint_tol: float, *fields: Any) -> None:
        assert problem.constraints is not None
        super().__init__(problem, *fields)
        self.constraint, self.tol = problem.constraints, constraint_tol

    def _solved(self, x: Array) -> Result:
        near = self.near(x)
        c = self.constraint.value(near)
        _, G = self.problem.cost_and_gradient(near)
        scale = float(norm(G))
        tol = max(self.options.tol, self.options.rtol * scale)
        goal, y = max(tol, _FIRST * max(scale, 1e-300)), np.zeros_like(c)
        sigma = scale / (float(norm(near)) or 1.0) or 1.0  # of the size of the curvature of f
        lagrangian = _Lagrangian(self.problem, y, sigma * self._stiffness(near), sigma)
        more, on_M = _MORE if self.polish else 1, self.options.feasibility_tol
        done: Any = None
        before, excluded, best = math.inf, False, None
        for count in range(1, _ROUNDS + 1):
            rest = self.rest(done, tol)
            try:
                result = self.solver(lagrangian.smooth(), x, tol=goal, **rest, **self.given)
            except Interrupted as stop:
                kkt = attrs.evolve(KKT.at(self.problem, stop.result.x, y), rounds=count)
                stop.result = self._result(joined(done, stop.result), kkt, Status.INTERRUPTED)
                raise
            done, x = joined(done, result), result.x
            lagrangian.y = y = np.clip(lagrangian.excess(x), -_MOST, _MOST)
            kkt = attrs.evolve(KKT.at(self.problem, x, y), rounds=count)
            if result.status in ENDS:
                break
            exact = self._exact(x, y, kkt, tol)
            if kkt.holds(tol, self.tol):
                best = best or (Measure.at(self.problem, x).feasible(on_M) and (x, kkt))
                more -= 1
            if exact or not more:
                best = exact or best
                break
            if self.options.left(done) is None:
                break
            miss = max(kkt.violation, kkt.complementarity)
            fallen = miss <= _FALL * before
            if not fallen:
                lagrangian.rho = _GROWTH * lagrangian.rho
            excluded = kkt.violation > max(self.tol, _STUCK * before) and self._excluded(x)
            if excluded:
                break
            before, goal = miss, max(tol, _TIGHTER * goal) if fallen else goal
        if not best:
            status = Status.INFEASIBLE if excluded else self.ended(done, result.status)
            return self._result(done, kkt, status)
        x, kkt = best
        feasibility = float(self.problem.manifold.feasibility(x))
        return self._result(attrs.evolve(done, x=x, feasibility=feasibility), kkt, Status.CONVERGED)

    def _stiffness(self, x: Array) -> Array:
        """The first rho/sigma of each constraint; of affine ones relative to the size of J^T J."""
        constraint, affine = self.constraint, self.constraint.affine
        signs = np.random.default_rng(0).choice([-1.0, 1.0], constraint.lower.size)
        JTs = constraint.pull(x, np.where(affine, signs, 0.0))
        size = float(norm(JTs)) ** 2 / max(1, int(np.sum(affine * np.ones_like(signs)))) or 1.0
        equations = constraint.lower == constraint.upper
        flat = np.where(equations, _STIFFNESS["equation"], _STIFFNESS["inequality"]) / size
        return np.where(affine, flat, _STIFFNESS["curved"])

    def _exact(self, x: Array, y: Array, kkt: KKT, tol: float) -> tuple[Array, KKT] | None:
        """A success on the active constraints, by Newton's method there; None where it fails.

        It is tried after the first round, and where the active constraints are those of the round
        before.
        """
        before, self._active = self._active, y != 0
        settled = before is None or np.array_equal(before, self._active)
        settled |= kkt.holds(tol, self.tol)
        near = kkt.violation <= _NEAR * max(1.0, float(norm(x)))
        if not (self.polish and settled and near):
            return None
        x, M = polished(self.problem, x, y), self.problem.manifold
        found, last = KKT.estimate(self.problem, x), math.inf
        while not (good := found.holds(tol, self.tol)) and found.stationarity <= _SLOW * last:
            last, y = found.stationarity, found.multipliers
            try:
                x = M.retract(x, Cone(self.problem, x, y).newton(_ROUGH, _STEPS))
            except (StepTooLong, OutsideDomainError):
                break
            x = polished(self.problem, x, y)
            found = KKT.estimate(self.problem, x)
        on_M = Measure.at(self.problem, x).feasible(self.options.feasibility_tol)
        return (x, attrs.evolve(found, rounds=kkt.rounds)) if good and on_M else None

    def _excluded(self, x: Array) -> bool:
        """Whether the violation is stationary on M: no point near x violates less."""
        c = self.constraint.value(x)
        missed = c - self.constraint.nearest(c)
        V, all_up = (self.constraint.pull(x, e) for e in (missed, np.abs(missed)))
        slope = float(norm(self.problem.manifold.gradient(x, V)))
        return slope <= _FLAT * max(float(norm(V)), float(norm(all_up)))  # V of a conflict is zero

    def _result(self, done: Result, kkt: KKT, status: Status) -> Result:
        success = status is Status.CONVERGED
        counts = self.problem.counts - self.before
        worst = f" The worst is {kkt.worst}." if kkt.violation > self.tol else ""
        return attrs.evolve(
            done,
            fun=kkt.cost,
            gradient_norm=kkt.stationarity,
            **counts.calls,
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
            reason=lacks,
            constrained=True,
            nonsmooth=True,
        )
        for name, family, inner, cites in (
            ("ralm", RIEMANNIAN, "rtr", ("absil2007trust",)),
            ("odf-alm", PENALTY, "odf-lbfgs", ("zhang-improved",)),
            ("cdf-alm", PENALTY, "cdf-lbfgs", ("zhang-improved",)),
        )
    )
)
