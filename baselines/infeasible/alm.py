"""`alm`: the textbook augmented Lagrangian, minimised by our L-BFGS."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Unpack

import numpy as np

from baselines.infeasible.run import Point, Run, positive
from genorth.geometry.retractions import Line, Ray
from genorth.linalg.arrays import Array, inner
from genorth.penalty.run import Flat
from genorth.problem.problem import Problem
from genorth.solve import run as go_run
from genorth.solve.lbfgs import lbfgs
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result

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
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
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


class _Lagrangian(go_run.Run):
    """A round: f + <Y, C> + sigma/2 |C|^2 is minimised over F from a point."""

    def __init__(self, run: Run, point: Point, Y: Array, sigma: float, goal: float) -> None:
        super().__init__(run.monitor)
        self.run, self.Y, self.sigma, self.goal = run, Y, sigma, goal
        self.point, self._limit, self.lost = point, point.at.feasibility + _AWAY, False

    def start(self) -> go_run.Iterate:
        """The point with which the round begins, in the trace already."""
        return self.evaluate(Flat(self.run, self.point))

    def ray(self, place: Any, Z: Array) -> Line:
        """The straight line."""
        return Line(place, Z)

    def arrive(self, ray: Ray, X: Array) -> Flat:  # noqa: ARG002
        """Any point of F."""
        return Flat(self.run, self.run.evaluate(X))

    def evaluate(self, place: Flat, ray: Ray | None = None, t: float = 0.0) -> go_run.Iterate:
        """The function and its gradient, from f and G that are known."""
        point = place.point
        C = point.at.constraint
        value = point.f + float(inner(self.Y, C)) + self.sigma / 2 * float(inner(C, C))
        return go_run.Iterate(self, place, value, self.gradient(point), ray, t)

    def gradient(self, point: Point) -> Array:
        """G + phi(X) Phi(Y + sigma C), also that of the Lagrangian with the next Y."""
        return point.G + point.at.normal(self.Y + self.sigma * point.at.constraint)

    def accept(self, point: go_run.Iterate) -> None:
        """The next iterate; ends the round where its gradient is small or it has left M."""
        assert isinstance(point.place, Flat)
        self.point = point.place.point
        size = math.sqrt(point.decrease)
        self.run.accept(self.point, size)
        self.lost = self.point.at.feasibility > self._limit
        if size <= self.goal or self.lost:
            raise _RoundDone

    def model(self, point: go_run.Iterate) -> Any:
        """Not used by L-BFGS."""
        raise NotImplementedError


def _solve(run: Run, sigma: float) -> None:
    point = run.start()
    Y, first = np.zeros_like(point.at.constraint), True
    for _ in range(_ROUNDS):
        if first:
            goal, allowed, first = 1 / sigma, sigma**-0.1, False
        lagrangian = _Lagrangian(run, point, Y, sigma, max(goal, run.monitor.tol / 2))
        with suppress(_RoundDone):
            lbfgs(lagrangian)
        if lagrangian.lost:
            sigma, first = _GROWTH * sigma, True
            continue
        point = lagrangian.point
        if point.at.feasibility <= max(allowed, math.ulp(1.0)):
            Y = Y + sigma * point.at.constraint
            allowed, goal = allowed / sigma**0.9, goal / sigma
        else:
            sigma, first = _GROWTH * sigma, True
