"""`alm`: the textbook augmented Lagrangian, minimised by our L-BFGS."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Unpack

import numpy as np

from baselines.infeasible.run import Point, Run, positive
from genorth.geometry.multiplier import realvec
from genorth.linalg.arrays import Array, inner, norm
from genorth.penalty.lbfgs import lean_lbfgs
from genorth.problem.problem import Problem
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result

_Vector = np.ndarray[Any, Any]
_GROWTH = 100.0  # of sigma
_ROUNDS = 40
_AWAY = 10.0  # |C|, above what the round began with: the round is lost, and sigma too small


@takes_metric
def alm(
    problem: Problem, x0: Any = None, *, sigma: float = 10.0, **common: Unpack[Common]
) -> Result:
    """Minimise f over M by the augmented Lagrangian method [nocedal2006numerical].

        min over X of f(X) + <Y, C(X)> + sigma/2 |C(X)|^2,  then  Y <- Y + sigma C(X)

    Algorithm 17.4 of the book with its constants: each round runs L-BFGS until the gradient is
    below a tolerance that falls with the rounds, then updates Y where |C| has fallen as asked, and
    multiplies sigma by 100 where it has not.

    Args:
        problem: The problem.
        x0: Start, any point of F. Default: a random point of M.
        sigma: The first penalty parameter.
        metric: A metric of one's own, as for `GenOrthManifold.metric` (F20).
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If sigma is not positive.
    """
    positive(sigma=sigma)
    run = Run(problem, x0, "alm", **common)
    return run.solve(lambda run: _solve(run, float(sigma)))


class _RoundDone(Exception):
    """The gradient is small enough for this round."""


class _Lagrangian:
    """f + <Y, C> + sigma/2 |C|^2 of a real vector, as `lean_lbfgs` wants it."""

    def __init__(self, run: Run, point: Point, Y: Array, sigma: float, goal: float) -> None:
        self.run, self.Y, self.sigma, self.goal = run, Y, sigma, goal
        self.point = self._trial = point
        self._limit = point.violation + _AWAY
        self.lost = False

    def value_and_gradient(self, v: _Vector) -> tuple[float, _Vector]:
        """The function and its gradient G + phi(X) Phi(Y + sigma C)."""
        X = np.ascontiguousarray(v).view(self.point.X.dtype).reshape(self.point.X.shape)
        self._trial = point = self.point if X is self.point.X else self.run.evaluate(X)
        value = (
            point.f
            + float(inner(self.Y, point.C))
            + self.sigma / 2 * float(inner(point.C, point.C))
        )
        return value, realvec(self.gradient(point))

    def gradient(self, point: Point) -> Array:
        """Also that of the Lagrangian with the next Y."""
        return point.G + point.P @ self.run.manifold.symmetrize(self.Y + self.sigma * point.C)

    def iteration(self, v: _Vector) -> None:  # noqa: ARG002
        """The last trial is the next iterate."""
        self.point = self._trial
        size = float(norm(self.gradient(self.point)))
        self.run.accept(self.point, size)
        self.lost = self.point.violation > self._limit
        if size <= self.goal or self.lost:
            raise _RoundDone


def _solve(run: Run, sigma: float) -> None:
    point = run.start()
    Y, first = np.zeros_like(point.C), True
    for _ in range(_ROUNDS):
        if first:
            goal, allowed, first = 1 / sigma, sigma**-0.1, False
        lagrangian = _Lagrangian(run, point, Y, sigma, max(goal, run.monitor.tol / 2))
        with suppress(_RoundDone):
            lean_lbfgs(lagrangian, realvec(point.X))  # type: ignore[arg-type]
        if lagrangian.lost:
            sigma, first = _GROWTH * sigma, True
            continue
        point = lagrangian.point
        if point.violation <= max(allowed, math.ulp(1.0)):
            Y = Y + sigma * point.C
            allowed, goal = allowed / sigma**0.9, goal / sigma
        else:
            sigma, first = _GROWTH * sigma, True
