"""`rcg`: Riemannian conjugate gradients with Sato's combination of Fletcher-Reeves and Dai-Yuan."""

from __future__ import annotations

import math
from typing import Any, Unpack

from baselines.riemannian.run import Iterate, Run
from genorth.linalg.arrays import Array, norm, number
from genorth.problem.problem import Problem
from genorth.solve.descent import NoStep, sato
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result
from genorth.solve.wolfe import Conditions

_LONGEST = 1.0  # the first trial of a search, relative to |X|: beyond, steps bend and end outside


@takes_metric
def rcg(
    problem: Problem,
    x0: Any = None,
    *,
    geometry: str = "fast",
    retraction: str = "auto",
    conditions: Conditions | None = None,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by Riemannian conjugate gradients [sato2022riemannian].

    Z <- -g + beta T(Z), g the gradient at the new point and T(Z) the velocity of the step at its
    end, scaled so that it is not longer than Z [ring2012optimization, sato2015new], with

        beta = min(beta_FR, beta_DY),
        beta_FR = |g|^2/|g_old|^2,  beta_DY = |g|^2/(<g, T(Z)> - <g_old, Z>).

    The line search uses the derivative of f along the curve and ends with |<g, T(Z)>| <= curvature
    |<g_old, Z>|, so that the last denominator is at least (1 - curvature)|<g_old, Z>| > 0; where it
    could not reach that and the denominator is not positive, beta = 0. In the geometry "faithful"
    T is the projection. Z is replaced by -g where it is not a direction of descent, and where no
    step along it can be found. The first trial of each search is the last step times the ratio of
    the slopes, and not longer than X.

    Args:
        problem: The problem.
        x0: Start near M, which is restored. Default: a random point of M.
        geometry: "fast", "products" or "faithful".
        retraction: A kind of `GenOrthManifold.retract`, or "auto", which chooses step by step
            between "cayley" and "normal" (F18).
        conditions: The constants of the line search.
        metric: A metric of one's own, as for `GenOrthManifold.metric`: the solver runs in Y,
            X = T Y (F20).
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If the problem has no gradient, or an argument is wrong.
    """
    run = Run(problem, x0, "rcg", geometry, retraction=retraction, **common)
    chosen = Conditions() if conditions is None else conditions
    return run.solve(lambda run: _solve(run, chosen))


def _solve(run: Run, conditions: Conditions) -> None:
    point = run.start()
    Z, slope, t = _steepest(point)
    while True:
        try:
            trial, t = run.search(point, Z, slope, t, conditions, carries=True)
        except NoStep:
            if slope == -point.decrease:
                return  # Z is the negative gradient already
            Z, slope, t = _steepest(point)
            continue
        run.accept(trial)
        carried, end = run.carried(trial, Z)
        beta = sato(trial.decrease, point.decrease, end - slope)
        point, before = trial, slope
        Z = beta * carried - point.gradient
        slope = point.slope(Z)
        if not slope < 0:
            Z, slope = -point.gradient, -point.decrease
        t = min(t * before / slope, _LONGEST * number(norm(point.X)) / number(norm(Z)))


def _steepest(point: Iterate) -> tuple[Array, float, float]:
    """The negative gradient, its slope, and a first step of a hundredth of |X|."""
    length = float(norm(point.gradient)) or math.inf
    return -point.gradient, -point.decrease, 0.01 * float(norm(point.X)) / length
