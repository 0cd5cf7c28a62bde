"""`landing_newton`: a Newton step in the level set of C plus a normal step to M."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Unpack

import attrs
import numpy as np

from baselines.infeasible.run import Point, Run, march, merit, positive
from genorth.errors import StepTooLong, require, require_known
from genorth.geometry.bases import realvec
from genorth.geometry.field import Field, field_of
from genorth.geometry.place import Place
from genorth.linalg.arrays import Array, inner, norm
from genorth.problem.problem import Problem
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result
from genorth.solve.tr import Step, forcing, truncated_cg

#: The normal steps: A(X) - X, and Newton's -D(X).
NORMAL: dict[str, Callable[[Place], Array]] = {
    "A": lambda at: at.dissolved() - at.X,
    "newton": lambda at: -at.manifold.newton_step(at.X),
}


@attrs.frozen
class Settings:
    """The constants of the method; the first three are the authors', for "published"."""

    #: The residual of the tangent equation is at most min(forcing, |b|^exponent) |b|.
    forcing: float = 1e-2
    exponent: float = 1.0
    #: How much of the whole step is taken.
    eta: float = 1.0
    #: The same for "cg": this part of |b|, or less, see `genorth.solve.tr.forcing`.
    accuracy: float = 0.5
    #: A step is taken if the merit decreases by this share of what the model says.
    accept: float = 0.1
    #: The first and the largest tangent step, relative to |X|.
    first_radius: float = 0.25
    largest_radius: float = 1.0


_NOISE = 1e3 * 2.0**-52  # a decrease below this, relative to the merit, is rounding
_POOR = 0.75  # share of the predicted decrease
_SHORTEST = 2.0**-52  # relative to |X|: below, a step is rounding


@takes_metric
def landing_newton(
    problem: Problem,
    x0: Any = None,
    *,
    normal: str = "A",
    tangent: str = "cg",
    tube: float = 0.75,
    settings: Settings | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by second-order landing [xiong2026second]. Needs a Hessian product.

        X <- X + n + T,  P_X(H[T]) = -P_X(G + H[n]),  H[V] = hess f(X)[V] - phi(V) Theta_X(G)

    n leads to M: A(X) - X, as the authors take it, or Newton's step -D(X), the smallest. T is
    tangent to the level set of C through X, P_X the projector onto its tangent space. The term H[n]
    makes the convergence quadratic; with n = -D the step is that of SQP [goyens2026riemannian].

    "cg" solves for T by conjugate gradients within a trust region, on the merit function of
    `landing`, so that it converges from afar. "published" solves the authors' equation
    DF(X)[T] = -F(X) - DF(X)[n] with their BiCGSTAB and takes the full step, shortened where it
    leaves the tube: near a solution, and where psi(psi(T)) = T, only.

    Args:
        problem: The problem.
        x0: Start, with |C(x0)| <= tube. Default: a random point of M.
        normal: "A" or "newton".
        tangent: "cg" or "published".
        tube: The largest |C| of an iterate; the default is the authors'.
        settings: The constants.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If x0 is outside of the tube, an argument is unknown or there is no Hessian.
    """
    for name, value, known in (
        ("normal", normal, tuple(NORMAL)),
        ("tangent", tangent, ("cg", "published")),
    ):
        require_known(name, value, known)
    positive(tube=tube)
    chosen = Settings() if settings is None else settings
    run = Run(problem, x0, "landing-newton", tube, **common)
    field = field_of(problem.manifold)
    fits = tangent == "cg" or (isinstance(field, Field) and field.involutive)
    require(fits, "tangent", "'cg' on products, and where psi(psi(T)) != T", "'published'")
    method = _trust_region if tangent == "cg" else _published
    return run.solve(lambda run: method(run, NORMAL[normal], chosen))


class _Model:
    """The level set at one point: Theta, the normal step, and the Hessian of the Lagrangian."""

    def __init__(self, run: Run, point: Point, normal: Callable[[Place], Array]):
        self.run, self.point = run, point
        # P_X G is the stopping measure too
        self.residual, self._coefficients = point.at.split(point.G)
        self.dual = point.at.dual(self._coefficients)
        self._normal = normal

    def lagrangian(self, V: Array) -> Array:
        """hess f(X)[V] - phi(V) Theta."""
        self.run.monitor.check()
        H = self.run.problem.euclidean_hessian(self.point.X, V)
        return self.point.at.lagrangian(self._coefficients, H, V)

    def hessian(self, V: Array) -> Array:
        """The same, projected onto the level set."""
        return self.point.at.project(self.lagrangian(V))

    def complete(self) -> None:
        """The normal step, and the right-hand side of the tangent equation."""
        self.n = self._normal(self.point.at)
        self.Hn = self.lagrangian(self.n)
        self.rhs = self.point.at.project(self.point.G + self.Hn)


def _trust_region(run: Run, normal: Callable[[Place], Array], settings: Settings) -> None:
    model = _Model(run, run.start(), normal)
    size = float(norm(model.point.X))
    radius, mu = settings.first_radius * size, 2 * float(norm(model.dual))
    accuracy = settings.accuracy
    model.complete()
    while True:
        step = _tangent_step(run, model, radius, accuracy)
        accuracy = settings.accuracy
        # what the quadratic model says of f - <Theta^T, C>/2, and of |C|^2, which n removes
        C, n = model.point.at.constraint, model.n
        change = float(
            inner(model.residual, n)
            + inner(n, model.Hn) / 2
            + inner(model.rhs, step.Z)
            + inner(step.Z, step.HZ) / 2
        )
        square = float(inner(C, C))
        if change > mu / 8 * square:
            mu = 8 * change / square if square > 0 else mu
        predicted = mu / 4 * square - change
        end = model.point.X + n + step.Z
        trial, ratio = _tried(run, model, end, predicted, mu, normal)
        if ratio < _POOR:  # a second-order correction: |C| of the step alone may outweigh its gain
            end = end + normal(run.manifold.anywhere(end))
            corrected, better = _tried(run, model, end, predicted, mu, normal)
            if better > ratio:
                trial, ratio = corrected, better
        if ratio < 0.25:
            radius = 0.25 * min(step.length, radius)
        elif ratio > 0.75 and step.boundary:
            radius = min(2 * radius, settings.largest_radius * size)
        if trial is not None and ratio > settings.accept:
            before, model = float(norm(model.rhs)), trial
            run.accept(model.point, float(norm(model.residual)))
            model.complete()
            if not step.boundary and before > 0:
                accuracy = forcing(accuracy, abs(ratio - 1), float(norm(model.rhs)) / before)
        elif radius < _SHORTEST * size:
            return
        else:
            run.accept(model.point, float(norm(model.residual)))


def _tangent_step(run: Run, model: _Model, radius: float, accuracy: float) -> Step:
    size = float(norm(model.rhs))
    if not size > 0:
        return Step(0 * model.rhs, 0 * model.rhs, 0.0, False)
    goal = max(accuracy * size, 0.1 * run.monitor.tol)
    return truncated_cg(model.hessian, None, model.rhs, radius, goal, run.manifold.dim)


def _tried(
    run: Run,
    model: _Model,
    X: Array,
    predicted: float,
    mu: float,
    normal: Callable[[Place], Array],
) -> tuple[_Model | None, float]:
    """The end of the step, and the decrease of the merit relative to that of the model."""
    try:
        trial = _Model(run, run.evaluate(X), normal)
    except StepTooLong:
        return None, -math.inf
    before, after = (merit(m.point.f, m.dual, m.point.at.constraint, mu) for m in (model, trial))
    if abs(predicted) <= _NOISE * max(abs(before), abs(after)):
        return trial, 1.0
    return trial, (before - after) / predicted


def _published(run: Run, normal: Callable[[Place], Array], settings: Settings) -> None:
    """Steps of one length, with the tangent equation (4.11) of the authors solved by BiCGSTAB."""
    from scipy.sparse.linalg import LinearOperator, bicgstab

    field = Field(run.manifold)

    @lru_cache(maxsize=1)
    def whole(at: Point) -> Array:
        """The whole step n + T of the authors."""
        n, project = normal(at.at), at.at.project

        def image(V: Array) -> Array:
            # tangent but for rounding, which BiCGSTAB would blow up: the equation has no such part
            run.monitor.check()
            H = run.problem.euclidean_hessian(at.X, V)
            return project(field.linearised(at.at, at.G, V, H))

        def matrix(v: Any) -> Array:
            return np.ascontiguousarray(v).view(at.X.dtype).reshape(at.X.shape)

        b = realvec(-2 * project(field.direction(at.at, at.G, 0.0).D) - image(n))
        operator = LinearOperator(
            (b.size, b.size), matvec=lambda v: realvec(image(matrix(v))), dtype=float
        )
        rtol = min(settings.forcing, float(np.linalg.norm(b)) ** settings.exponent)
        # b is a difference of products of this size: below its rounding nothing can be solved
        atol = 8 * math.ulp(1.0) * float(norm(at.G) * norm(at.at.K))
        T, _ = bicgstab(operator, b, rtol=rtol, atol=atol, maxiter=200)
        return n + matrix(T)

    def step(at: Point, t: float) -> Point:
        return run.evaluate(at.X + t * whole(at))

    march(run.start(), step, run.accept, lambda at: _length(run, at, whole(at), settings.eta))


def _length(run: Run, point: Point, step: Array, eta: float) -> float:
    """Eta, or where that leaves the tube the authors' safe step (Lemma 5.1), where phi(X) = X."""
    if not run.manifold.isometric:
        return eta
    if run.manifold.anywhere(point.X + eta * step).feasibility <= run.tube:
        return eta
    d, square = point.at.feasibility, float(norm(step)) ** 2
    b = d * (1 - d) / 2
    return min((math.sqrt(b * b + square * (run.tube - d)) - b) / square, 1.0)
