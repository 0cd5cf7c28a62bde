"""`rcg`: Riemannian conjugate gradients with Sato's combination of Fletcher-Reeves and Dai-Yuan."""

from __future__ import annotations

import math
from typing import Any, Unpack

from baselines.riemannian.run import Iterate, Run
from baselines.riemannian.wolfe import Conditions, search
from genorth.linalg.arrays import Array, norm
from genorth.problem.problem import Problem
from genorth.solve.descent import NoStep
from genorth.solve.options import Common
from genorth.solve.result import Result


def rcg(
    problem: Problem,
    x0: Any = None,
    *,
    geometry: str = "fast",
    conditions: Conditions | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by Riemannian conjugate gradients [Sato 2022].

    Z <- -g + beta T(Z), g the gradient at the new point and T the transport by projection, with

        beta = min(beta_FR, beta_DY),  beta_FR = |g|^2/|g_old|^2,  beta_DY = |g|^2/(<g, T(Z)> -
        <g_old, Z>).

    The line search (`baselines.riemannian.wolfe`) ends with |<g, T(Z)>| <= curvature |<g_old, Z>|,
    so that the last denominator is at least (1 - curvature)|<g_old, Z>| > 0; where it could not
    reach that and the denominator is not positive, beta = 0. Z is replaced by -g where it is not a
    direction of descent, and where no step along it can be found. The first trial of each search is
    the last step times the ratio of the slopes.

    geometry: "fast", "products" or "faithful". The other arguments are those of
    `genorth.minimize`; x0 must be near M.
    """
    run = Run(problem, x0, "rcg", geometry, **common)
    chosen = Conditions() if conditions is None else conditions
    return run.solve(lambda run: _solve(run, chosen))


def _solve(run: Run, conditions: Conditions) -> None:
    point = run.start()
    Z, slope, t = _steepest(point)
    while True:
        try:
            trial, t = search(point, Z, slope, t, run.line(point, Z), conditions)
        except NoStep:
            if slope == -point.decrease:
                return  # Z is the negative gradient already
            Z, slope, t = _steepest(point)
            continue
        run.accept(trial)
        carried = run.transport(trial, Z)
        beta = sato(
            trial.decrease, point.decrease, trial.slope(Z) - slope
        )  # <g, T(Z)> = <g, Z>, as g is tangent
        point, before = trial, slope
        Z = beta * carried - point.gradient
        slope = point.slope(Z)
        if not slope < 0:
            Z, slope = -point.gradient, -point.decrease
        t *= before / slope


def sato(squared: float, squared_old: float, growth: float) -> float:
    """min(beta_FR, beta_DY) from |g|^2, |g_old|^2 and <g, T(Z)> - <g_old, Z>.

    Zero where the latter is not positive.
    """
    return squared / max(squared_old, growth) if growth > 0 else 0.0


def _steepest(point: Iterate) -> tuple[Array, float, float]:
    """The negative gradient, its slope, and a first step of a hundredth of |X|."""
    length = float(norm(point.gradient))
    return (
        -point.gradient,
        -point.decrease,
        0.01 * float(norm(point.X)) / (length if length > 0 else math.inf),
    )
