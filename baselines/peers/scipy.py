"""`slsqp` and `trust_constr`: SciPy's solvers with equality constraints, for small problems.

They want real vectors, and C as independent equations.
C(X) lies in S1, so that its entries repeat themselves; c_i(X) = <B_i, C(X)> with an orthonormal
basis B_i of S1 has dim S1 equations, and its Jacobian the rows phi(X) Phi(B_i).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Unpack

import numpy as np

from baselines.infeasible.run import Point, Run
from genorth.errors import StepTooLong, refuse
from genorth.geometry.bases import realvec, symmetric_basis
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.place import Place
from genorth.geometry.product import Blockwise, Euclidean
from genorth.linalg.arrays import Array, all_finite
from genorth.linalg.cache import ContentCache
from genorth.problem.problem import Problem
from genorth.solve.metric import takes_metric
from genorth.solve.monitor import Stop
from genorth.solve.options import Common
from genorth.solve.result import Result, Status

_Vector = np.ndarray[Any, Any]
_NEVER = 2**31 - 1
_MOST_UNKNOWNS = 1000  # half a second for a step of SLSQP
_MOST_ENTRIES = 2_000_000  # of the Jacobian of C; half a second for a step of trust-constr


def unknowns(manifold: GenOrthManifold) -> int:
    """Real unknowns of a point."""
    return int(np.prod(manifold.shape)) * (2 if manifold.dtype.kind == "c" else 1)


def slsqp_reason(problem: Problem) -> str | None:
    """Why SLSQP cannot run on the problem; None where it can."""
    size = unknowns(problem.manifold)
    if size > _MOST_UNKNOWNS:
        return _too_large("matrix of that order", size, _MOST_UNKNOWNS)
    return _dependent(problem)


def trust_constr_reason(problem: Problem) -> str | None:
    """Why trust-constr cannot run on the problem; None where it can."""
    manifold = problem.manifold
    size = unknowns(manifold) * (unknowns(manifold) - manifold.dim)
    return (
        _too_large("Jacobian of C", size, _MOST_ENTRIES)
        if size > _MOST_ENTRIES
        else _dependent(problem)
    )


def _dependent(problem: Problem) -> str | None:
    """Why there are too many equations, whose gradients are dependent; None where they are few."""
    further = problem.constraints
    count = 0 if further is None else int(np.sum(further.lower == further.upper))
    dim = problem.manifold.dim
    return f"it takes at most dim M = {dim} further equations: {count}" if count > dim else None


def _too_large(what: str, size: int, limit: int) -> str:
    return f"it factors a dense {what} in every step: {size} > {limit}"


@takes_metric
def slsqp(problem: Problem, x0: Any = None, **common: Unpack[Common]) -> Result:
    """Minimise f over M by SciPy's SLSQP [virtanen2020scipy], with C and its Jacobian given.

    Args:
        problem: The problem, with at most 1000 unknowns.
        x0: Start, any point of F. Default: a random point of M.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem is too large.
    """
    return _solved("slsqp", problem, x0, slsqp_reason, _slsqp, common)


@takes_metric
def trust_constr(problem: Problem, x0: Any = None, **common: Unpack[Common]) -> Result:
    """Minimise f over M by SciPy's trust-constr [virtanen2020scipy], with C and DC given.

    Byrd and Omojokun's method. The Hessian of C is given too, and that of f where the problem has
    one; else SciPy's BFGS stands for it.

    Args:
        problem: The problem, with at most 2e6 entries in the Jacobian of C.
        x0: Start, any point of F. Default: a random point of M.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem is too large.
    """
    return _solved("trust-constr", problem, x0, trust_constr_reason, _trust_constr, common)


def _solved(
    name: str,
    problem: Problem,
    x0: Any,
    reason: Callable[[Problem], str | None],
    solver: Callable[[Run], None],
    common: Common,
) -> Result:
    if isinstance(problem, Problem) and (why := reason(problem)):
        refuse("problem", "a small problem", f"one that {name} cannot solve, as {why}")
    return Run(problem, x0, name, **common).solve(solver)


def _slsqp(run: Run) -> None:
    vectors, start = Vectors(run), run.start()
    equations = {"type": "eq", "fun": vectors.constraint, "jac": vectors.jacobian}
    options = {"ftol": 0.0, "maxiter": _NEVER}
    others = vectors.sided()
    vectors.minimize(start, "SLSQP", constraints=[equations, *others], options=options)


def _trust_constr(run: Run) -> None:
    from scipy.optimize import BFGS, NonlinearConstraint
    from scipy.sparse.linalg import LinearOperator

    vectors, start, size = Vectors(run), run.start(), unknowns(run.manifold)

    def second(v: Any, y: Any) -> LinearOperator:  # noqa: ARG001
        return LinearOperator((size, size), partial(vectors.constraint_hessian, y))

    exact, further = run.problem.has_hessian, run.problem.constraints
    on_M = NonlinearConstraint(vectors.constraint, 0.0, 0.0, jac=vectors.jacobian, hess=second)
    others = []
    if further is not None and further.lower.size:
        value, jacobian = vectors.further, vectors.further_jacobian
        others = [NonlinearConstraint(value, further.lower, further.upper, jac=jacobian)]
    vectors.minimize(
        start,
        "trust-constr",
        constraints=[on_M, *others],
        options={"gtol": 0.0, "xtol": 0.0, "maxiter": _NEVER},
        **{"hessp": vectors.hessian_product} if exact else {"hess": BFGS()},
    )


def _basis(manifold: Any) -> _Vector:
    """An orthonormal basis of S1; of a product, those of the factors one after the other."""
    if isinstance(manifold, Euclidean):
        return np.zeros((0, 0))
    if not isinstance(manifold, Blockwise):
        return symmetric_basis(manifold)
    bases, layout = [_basis(M) for M in manifold.factors], manifold.matrices
    zeros = layout.split(np.zeros(layout.size, layout.dtype))
    return np.stack(
        [
            layout.join([B if j == i else zero for j, zero in enumerate(zeros)])
            for i, basis in enumerate(bases)
            for B in basis
        ]
    )


class Vectors:
    """f, C and their derivatives of a real vector; f counts, and keeps the budgets."""

    def __init__(self, run: Run) -> None:
        self.run, self.manifold = run, run.manifold
        self.basis = _basis(run.manifold)
        self._rows = np.stack([realvec(B) for B in self.basis])
        self._dtype = np.dtype(complex if run.manifold.dtype.kind == "c" else float)
        self._places, self._points = ContentCache(), ContentCache()

    def matrix(self, v: _Vector) -> Array:
        """The point of F that a real vector stands for."""
        X = np.array(v, float).view(self._dtype).reshape(self.manifold.shape)
        return np.asarray(self.manifold.ambient(X))

    def at(self, v: _Vector) -> Place:
        """phi(X) and C(X), kept for the last v."""
        return self._places.get(v, lambda v: self.manifold.anywhere(self.matrix(v)))

    def point(self, v: _Vector) -> Point:
        """f and its gradient too, kept for the last v."""
        if not all_finite(v):
            raise Stop(Status.STALLED)  # the solver has broken down
        return self._points.get(v, lambda v: self.run.evaluate(self.matrix(v)))

    def cost(self, v: _Vector) -> float:
        """f; infinite outside its domain."""
        try:
            return self.point(v).f
        except StepTooLong:
            return math.inf

    def gradient(self, v: _Vector) -> _Vector:
        """The gradient of f; zero outside its domain, where no solver stays."""
        try:
            return realvec(self.point(v).G)
        except StepTooLong:
            return np.zeros(v.size)

    def hessian_product(self, v: _Vector, w: _Vector) -> _Vector:
        """The Hessian of f times w."""
        if w.dtype.kind != "f":
            return np.zeros(w.shape)  # SciPy asks for the type of a result, not for a product
        self.run.monitor.check()
        H = self.run.problem.euclidean_hessian(self.matrix(v), self.matrix(w))
        return realvec(np.asarray(H, self._dtype))

    def constraint(self, v: _Vector) -> _Vector:
        """c(X)."""
        return self._rows @ realvec(np.asarray(self.at(v).constraint, self._dtype))

    def jacobian(self, v: _Vector) -> _Vector:
        """The rows phi(X) Phi(B_i)."""
        normal = self.at(v).normal
        return np.stack([realvec(np.asarray(normal(B), self._dtype)) for B in self.basis])

    def constraint_hessian(self, y: _Vector, w: _Vector) -> _Vector:
        """The Hessian of sum y_i c_i times w: phi(W) Phi(sum y_i B_i)."""
        T = np.tensordot(y, self.basis, axes=1)
        return realvec(np.asarray(self.manifold.anywhere(self.matrix(w)).normal(T), self._dtype))

    def further(self, v: _Vector) -> _Vector:
        """c(X) of the further constraints of the problem."""
        further: Any = self.run.problem.constraints
        return further.value(self.matrix(v))

    def further_jacobian(self, v: _Vector) -> _Vector:
        """Its rows."""
        constraint: Any = self.run.problem.constraints
        X, units = self.matrix(v), np.eye(constraint.lower.size)
        return np.reshape([realvec(constraint.pull(X, e)) for e in units], (len(units), v.size))

    def sided(self) -> list[dict[str, Any]]:
        """The further constraints as SLSQP wants them: equations, and values >= 0."""
        constraint = self.run.problem.constraints
        if constraint is None:
            return []
        low, high = constraint.lower, constraint.upper
        equal = low == high
        kinds = (
            ("eq", equal, 1.0, low),
            ("ineq", np.isfinite(low) & ~equal, 1.0, low),
            ("ineq", np.isfinite(high) & ~equal, -1.0, high),
        )
        return [
            {
                "type": kind,
                "fun": lambda v, k=rows, s=sign, b=bound: s * (self.further(v) - b)[k],
                "jac": lambda v, k=rows, s=sign: s * self.further_jacobian(v)[k],
            }
            for kind, rows, sign, bound in kinds
            if rows.any()
        ]

    def minimize(self, start: Point, method: str, **arguments: Any) -> None:
        """SciPy's minimiser from the start; its own tests are switched off where they can be."""
        import scipy.optimize

        def callback(v: _Vector, *state: Any) -> None:  # noqa: ARG001
            if math.isfinite(self.cost(v)):
                self.run.accept(self.point(v))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scipy.optimize.minimize(
                self.cost,
                realvec(start.X),
                method=method,
                jac=self.gradient,
                callback=callback,
                **arguments,
            )
