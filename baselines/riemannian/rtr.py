"""`rtr`: Riemannian trust regions, the model minimised by truncated conjugate gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Unpack

import attrs

from baselines.geometry.faithful import Faithful
from baselines.geometry.fast import Fast, FastForm
from baselines.riemannian.run import Iterate, Preconditioner, Run
from genorth.errors import StepTooLong, refuse
from genorth.linalg.arrays import Array, eps, inner, kept, norm, plus
from genorth.problem.problem import Problem
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result
from genorth.solve.wolfe import difference, in_noise


@attrs.frozen
class Settings:
    """The constants of the method.

    Args:
        accept: A step is taken if the cost decreases by this share of what the model says.
        accuracy: The model is minimised until its residual is this part of the gradient, or less:
            see `forcing`.
        first_radius: The first radius, relative to |X|.
        largest_radius: The largest radius, relative to |X|.
    """

    accept: float = 0.1
    accuracy: float = 0.5
    first_radius: float = 0.5
    largest_radius: float = 1.0


_ROUNDING = 4.0  # of the difference of two costs, in units of roundoff
_EXACT = 1e-5  # relative error of the predicted decrease up to which the model is as good as f
_GAIN, _ORDER = 0.9, (1 + math.sqrt(5)) / 2  # of the second choice of Eisenstat and Walker


@takes_metric
def rtr(
    problem: Problem,
    x0: Any = None,
    *,
    geometry: str = "fast",
    retraction: str = "auto",
    preconditioner: Preconditioner | None = None,
    settings: Settings | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by Riemannian trust regions [absil2007trust]; needs a Hessian product.

    The model <g, Z> + <Z, hess f(X)[Z]>/2 is minimised over |Z| <= radius by conjugate gradients
    [steihaug1983conjugate], which stop at the boundary, at negative curvature, or where the
    residual is half of the gradient (or a tenth of tol). Once the model predicts the cost to five
    digits they go on, so that convergence is superlinear (`forcing`): to solve for more from the
    start took more Hessian products on the paper's problems. Theta_X(grad f) is computed once for
    each X. The decrease of the cost is taken from the gradients where it is
    rounding, as in the line search. A step outside the domain of the retraction is rejected like
    one that does not decrease the cost: the radius becomes a quarter of its length. Each iteration
    of the trace is one such step, taken or rejected.

    Args:
        problem: The problem, with a Hessian product.
        x0: Start near M, which is restored. Default: a random point of M.
        geometry: "fast" or "faithful"; in the metric of "products" the Hessian is another one.
        retraction: A kind of `GenOrthManifold.retract`, or "auto", which chooses step by step
            between "cayley" and "normal" (F18).
        preconditioner: `preconditioner(X, V)`, an approximation of the inverse Hessian applied to
            V; the radius is then measured in its norm.
        settings: The constants of the method.
        metric: A metric of one's own, as for `GenOrthManifold.metric`: the solver runs in Y,
            X = T Y (F20).
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem has no gradient or Hessian product, or an argument is wrong.
    """
    run = Run(
        problem,
        x0,
        "rtr",
        geometry,
        retraction=retraction,
        second_order=True,
        precondition=preconditioner,
        **common,
    )
    if geometry == "products":
        hint = "The Hessian is that of the ambient metric."
        refuse("geometry", "'fast' or 'faithful'", "'products'", None, hint)
    chosen = Settings() if settings is None else settings
    return run.solve(lambda run: _solve(run, chosen))


def _solve(run: Run, settings: Settings) -> None:
    point = run.start()
    size = float(norm(point.X))
    model = _Model(run, point)
    shortest, radius, largest = (
        share * size * model.stretch()
        for share in (eps(point.X), settings.first_radius, settings.largest_radius)
    )
    accuracy = settings.accuracy
    while True:
        goal = max(accuracy * math.sqrt(point.decrease), 0.1 * run.monitor.tol)
        step = truncated_cg(
            model.hessian, model.precondition, point.gradient, radius, goal, run.manifold.dim
        )
        trial, ratio, error = _tried(run, point, step)
        accuracy = settings.accuracy
        if ratio < 0.25:
            radius = 0.25 * step.length
        elif ratio > 0.75 and step.boundary:
            radius = min(2 * radius, largest)
        if trial is not None and ratio > settings.accept:
            if not step.boundary:
                accuracy = forcing(accuracy, error, math.sqrt(trial.decrease / point.decrease))
            point = trial
            run.accept(point)
            model = _Model(run, point)
        else:
            if radius < shortest:
                return
            run.accept(point)


def forcing(accuracy: float, error: float, gain: float) -> float:
    """How small the residual of the next model has to be, relative to its gradient.

        min(accuracy, 0.9 gain^1.618)

    This is the second choice of Eisenstat and Walker [eisenstat1996choosing], by which convergence
    is superlinear. It is made only where the last model was as good as f.

    Args:
        accuracy: The largest value, and the one where the model is not that good.
        error: Of the decrease of f in the last step that its model predicted, relative.
        gain: The norm of the gradient after the last step over the one before.

    Returns:
        The accuracy of the next model.
    """
    return min(accuracy, _GAIN * gain**_ORDER) if error <= _EXACT else accuracy


def _tried(run: Run, point: Iterate, step: Step) -> tuple[Iterate | None, float, float]:
    """The end of the step, its decrease of the cost relative to that of the model, and the error.

    The error of the model is what is left of |ratio - 1| beyond the rounding of the costs.
    """
    before = point.slope(step.Z)
    predicted = before + float(inner(step.Z, step.HZ)) / 2
    if not predicted < 0:
        return None, -math.inf, math.inf
    try:
        trial = run.line(point, step.Z)(1.0)
    except StepTooLong:
        return None, -math.inf, math.inf
    unit = eps(point.X)
    after = trial.end_slope if in_noise(point.value, trial.value, unit) else math.nan
    ratio = difference(point.value, trial.value, before, after, unit) / predicted
    rounding = _ROUNDING * unit * abs(point.value) / -predicted
    return trial, ratio, max(abs(ratio - 1) - rounding, 0.0)


class _Model:
    """The Hessian and the preconditioner at one point; Theta_X(grad f) is computed once."""

    def __init__(self, run: Run, point: Iterate) -> None:
        self._run, self._point, self._preconditioner = run, point, run.preconditioner
        self._place = point.place
        assert isinstance(self._place, Fast | FastForm | Faithful)
        with run.phases.projection:
            self._multiplier = -self._place.theta(point.G)

    def hessian(self, Z: Array) -> Array:
        """Hess f(X)[Z] = P_X(H - phi(Z) Theta_X(G))."""
        H = self._run.guard.hessian(self._point.X, Z)
        with self._run.phases.projection:
            return self._place.transport(plus(self._run.manifold.phi(Z) @ self._multiplier, H))

    def precondition(self, V: Array) -> Array:
        """The preconditioner, between two projections."""
        if self._preconditioner is None:
            return V
        W = self._preconditioner(self._point.X, V)
        with self._run.phases.projection:
            return self._place.transport(W)

    def stretch(self) -> float:
        """The length of V = preconditioner(g) in the norm of the preconditioner, over |V|."""
        if self._preconditioner is None:
            return 1.0
        V = self.precondition(self._point.gradient)
        return math.sqrt(max(float(inner(V, self._point.gradient)), 0.0)) / float(norm(V))


@attrs.frozen(eq=False)
class Step:
    """Z, hess[Z], the length of Z in the preconditioner's norm, and whether that is the radius."""

    Z: Array
    HZ: Array
    length: float
    boundary: bool


def truncated_cg(
    hessian: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    gradient: Array,
    radius: float,
    goal: float,
    limit: int,
) -> Step:
    """Conjugate gradients for hess[Z] = -gradient, until |residual| <= goal or |Z| = radius.

    Args:
        hessian: The Hessian, a symmetric map of the tangent space.
        precondition: The preconditioner, symmetric and positive definite.
        gradient: The gradient.
        radius: The largest length of Z, in the norm of the preconditioner.
        goal: The size of the residual that is small enough.
        limit: The largest number of Hessian products.

    Returns:
        The step.
    """
    Z, HZ = 0 * gradient, 0 * gradient
    residual = kept(gradient)
    V = precondition(residual)
    D = -V
    rv = float(inner(residual, V))
    # <Z,Z>, <Z,D>, <D,D> in the norm of the preconditioner, whose inverse is never applied
    zz, zd, dd = 0.0, 0.0, rv
    for _ in range(limit):
        HD = hessian(D)
        curvature = float(inner(D, HD))
        t = rv / curvature if curvature > 0 else math.inf
        if not zz + 2 * t * zd + t * t * dd < radius**2:
            t = (math.sqrt(zd * zd + dd * (radius**2 - zz)) - zd) / dd
            return Step(Z + t * D, HZ + t * HD, radius, True)
        Z += t * D
        HD *= t
        HZ += HD
        residual += HD
        zz = zz + 2 * t * zd + t * t * dd
        V = precondition(residual)
        before, rv = rv, float(inner(residual, V))
        if (math.sqrt(rv) if V is residual else float(norm(residual))) <= goal:
            break
        D *= rv / before
        D -= V
        zd, dd = (rv / before) * (zd + t * dd), rv + (rv / before) ** 2 * dd
    return Step(Z, HZ, math.sqrt(zz), False)
