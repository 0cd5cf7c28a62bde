"""`tr`: trust regions, the model minimised by truncated conjugate gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import attrs

from genorth.errors import StepTooLong
from genorth.linalg.arrays import Array, eps, inner, kept, norm
from genorth.solve.monitor import Stop
from genorth.solve.result import Status
from genorth.solve.run import Iterate, Run
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
_POOR = 18  # poor steps more than good ones: the radius is 1e-11 of what it was, without avail
_DOUBT = 4  # poor steps more than good ones, after which the cost is looked at for noise
_GAIN, _ORDER = 0.9, (1 + math.sqrt(5)) / 2  # of the second choice of Eisenstat and Walker


def tr(run: Run, settings: Settings | None = None) -> None:
    """Trust regions on the places of a run [absil2007trust].

    The model <g, Z> + <Z, hess f(X)[Z]>/2 is minimised over |Z| <= radius by conjugate gradients
    [steihaug1983conjugate], which stop at the boundary, at negative curvature, or where the
    residual is half of the gradient (or a tenth of tol). Once the model predicts the cost to five
    digits they go on, so that convergence is superlinear (`forcing`): to solve for more from the
    start took more Hessian products on the paper's problems. The decrease of the cost is taken from
    the gradients where it is rounding, as in the line search. A step outside the domain of the
    retraction is rejected like one that does not decrease the cost: the radius becomes a quarter of
    its length. Each iteration of the trace is one such step, taken or rejected.

    Args:
        run: The run.
        settings: The constants of the method.
    """
    chosen = Settings() if settings is None else settings
    point = run.start()
    model = _Model(run, point)
    size = float(norm(point.X)) * model.stretch()
    shortest, radius, largest = (
        share * size for share in (eps(point.X), chosen.first_radius, chosen.largest_radius)
    )
    accuracy, poor = chosen.accuracy, 0
    while True:
        goal = max(accuracy * math.sqrt(point.decrease), 0.1 * run.monitor.tol)
        step = truncated_cg(
            model.hessian, model.precondition, model.gradient, radius, goal, run.dimension
        )
        trial, ratio, error = _tried(run, point, step)
        accuracy = chosen.accuracy
        poor = poor + 1 if ratio < 0.25 else max(poor - 1, 0)
        if poor > _POOR:
            return
        if ratio < 0.25:
            radius = 0.25 * step.length
        elif ratio > 0.75 and step.boundary:
            radius = min(2 * radius, largest)
        if trial is not None and ratio > chosen.accept:
            if not step.boundary:
                accuracy = forcing(accuracy, error, math.sqrt(trial.decrease / point.decrease))
            point = trial
            run.accept(point)
            model = _Model(run, point)
        else:
            if poor % _DOUBT == 0 and run.is_noisy(point, step.Z):
                radius, poor = radius * 4.0**_DOUBT, 0
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
        trial = run.step(point, step.Z)
    except StepTooLong:
        return None, -math.inf, math.inf
    unit = run.unit(point)
    after = trial.end_slope if in_noise(point.value, trial.value, unit) else math.nan
    ratio = difference(point.value, trial.value, before, after, unit) / predicted
    rounding = _ROUNDING * unit * abs(point.value) / -predicted
    return trial, ratio, max(abs(ratio - 1) - rounding, 0.0)


class _Model:
    """The gradient, the Hessian and the preconditioner at one point."""

    def __init__(self, run: Run, point: Iterate) -> None:
        self.gradient, self.hessian = run.model(point)
        self.precondition = run.precondition(point)

    def stretch(self) -> float:
        """The length of V = preconditioner(g) in the norm of the preconditioner, over |V|."""
        if self.precondition is None:
            return 1.0
        V = self.precondition(self.gradient)
        length = float(norm(V))
        slope = max(float(inner(V, self.gradient)), 0.0)
        return math.sqrt(slope) / length if length > 0 else 1.0


class Step(NamedTuple):
    """Z, hess[Z], the length of Z in the preconditioner's norm, and whether that is the radius."""

    Z: Array
    HZ: Array
    length: float
    boundary: bool


def truncated_cg(
    hessian: Callable[[Array], Array],
    precondition: Callable[[Array], Array] | None,
    gradient: Array,
    radius: float,
    goal: float,
    limit: int,
) -> Step:
    """Conjugate gradients for hess[Z] = -gradient, until |residual| <= goal or |Z| = radius.

    Args:
        hessian: The Hessian, a symmetric map of the tangent space.
        precondition: The preconditioner, symmetric and positive definite, or None.
        gradient: The gradient.
        radius: The largest length of Z, in the norm of the preconditioner.
        goal: The size of the residual that is small enough.
        limit: The largest number of Hessian products.

    Returns:
        The step.
    """
    Z, residual = 0 * gradient, kept(gradient)  # which is gradient + hess[Z]
    V = residual if precondition is None else precondition(residual)
    rv = float(inner(residual, V))
    if rv <= 0:  # rounding in the preconditioner
        precondition, V, rv = None, residual, float(inner(residual, residual))
    if rv == 0:  # the square of the gradient underflows
        return Step(Z, Z, 0.0, False)
    D = -V
    # <Z,Z>, <Z,D>, <D,D> in the norm of the preconditioner, whose inverse is never applied
    zz, zd, dd = 0.0, 0.0, rv
    for _ in range(limit):
        HD = hessian(D)
        curvature = float(inner(D, HD))
        if not math.isfinite(curvature):
            raise Stop(Status.NOT_FINITE)
        t = rv / curvature if curvature > 0 else math.inf
        if not zz + 2 * t * zd + t * t * dd < radius**2:
            t = (math.sqrt(zd * zd + dd * (radius**2 - zz)) - zd) / dd
            return Step(Z + t * D, residual - gradient + t * HD, radius, True)
        Z += t * D
        HD *= t
        residual += HD
        zz = zz + 2 * t * zd + t * t * dd
        V = residual if precondition is None else precondition(residual)
        before, rv = rv, float(inner(residual, V))
        if rv <= 0 or (math.sqrt(rv) if V is residual else float(norm(residual))) <= goal:
            break
        D *= rv / before
        D -= V
        zd, dd = (rv / before) * (zd + t * dd), rv + (rv / before) ** 2 * dd
    return Step(Z, residual - gradient, math.sqrt(zz), False)
