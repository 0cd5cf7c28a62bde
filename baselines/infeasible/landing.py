"""`landing`: a tangent step that lowers f plus a normal step towards M, by products alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Unpack

import attrs
import numpy as np

from baselines.infeasible.run import (
    TUBE,
    Point,
    Run,
    Steps,
    march,
    merit,
    or_word,
    positive,
)
from genorth.errors import StepTooLong
from genorth.geometry.field import Direction, field_of, moved
from genorth.geometry.place import Place
from genorth.linalg.arrays import Array, inner, norm
from genorth.problem.problem import Problem
from genorth.solve.descent import Settings
from genorth.solve.metric import takes_metric
from genorth.solve.options import Common
from genorth.solve.result import Result

_FAR = 1e3  # relative to |X|: no step is longer


@takes_metric
def landing(
    problem: Problem,
    x0: Any = None,
    *,
    lam: float | str = 1.0,
    eta: float | str = "bb",
    tube: float = TUBE,
    **common: Unpack[Common],
) -> Result:
    """Minimise f over M by the landing method [ablin2022fast], [ablin2024infeasible].

        X <- X - eta (F(X) + lam grad N(X)),  N = |C|^2/4,  grad N = phi(X) Phi(C)/2

    F is tangent to the level set of C through X: (G X^T X - X G^T X)/2 on the Stiefel manifold, and
    the field of [vary2024optimization] on the generalized one; `Field` has it for every phi and
    psi. One phi and at most five products n x p x p for each iteration.

    Args:
        problem: The problem.
        x0: Start, with |C(x0)| <= tube. Default: a random point of M.
        lam: The weight of the normal step, in the unit of f; or "auto", |G|/(2 |X|) at the start,
            which makes it as fast as the tangent one.
        eta: The step size, or "bb": Barzilai and Borwein's, with a nonmonotone line search on the
            merit function f - <Theta^T, C>/2 + mu/4 |C|^2 of the papers. A fixed step is shortened
            where the papers' bound on the Stiefel manifold says so.
        tube: The largest |C| of an iterate; a step that would leave the tube ends at its wall.
        metric: Inner product to use (default: Euclidean), as for `GenOrthManifold.metric`.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If x0 is outside of the tube, or lam, eta or tube is not positive.
    """
    positive(lam=or_word(lam, "auto"), tube=tube, eta=or_word(eta, "bb"))
    run = Run(problem, x0, "landing", tube, on_device=True, **common)
    return run.solve(lambda run: follow(run, lam, eta, lambda at: at))


@attrs.frozen(eq=False, slots=False)
class Iterate:
    """A point with its merit, as `descend` wants it; its direction is made where a step is taken.

    A line search that rejects the point does without the direction, two products of the five.
    """

    field: Any
    lam: float
    point: Point
    #: phi(X)^T G, where it is known.
    R: Any = None
    value: float = math.nan
    mu: float = math.nan

    @property
    def X(self) -> Array:
        """Where it is."""
        return self.point.X

    @cached_property
    def direction(self) -> Direction:
        """The landing direction."""
        return self.field.direction(self.point.at, self.point.G, self.lam, self.R)

    @property
    def gradient(self) -> Array:
        """The direction D."""
        return self.direction.D

    @cached_property
    def decrease(self) -> float:
        """The slope of the merit along -D, at least."""
        return self.direction.slope + self.lam * self.mu * self.direction.attraction

    def moved(self, t: float, tube: float) -> Place:
        """X - t D, or where that is outside of the tube the point at which the ray leaves it.

        C(X - t D) = C - t L + t^2 E exactly, with E = D^T phi(D). So E is known from the point
        outside, and no further phi is needed.
        """
        X, P, S, manifold = self.X, self.point.at.P, self.point.at.S, self.field.manifold
        t = min(t, _FAR * self.point.at.length / max(self.direction.size, 1e-300))
        end = moved(manifold, X, self.gradient, t)
        if end.feasibility <= tube:
            return end
        L = self.direction.L
        E = (end.S - S + t * L) / t**2
        wall = leaves(self.point.at.constraint, L, E, tube)
        Y = X + wall / t * (end.X - X)
        if P is X:  # the Gram matrix makes the field here, and rounding in it would grow
            return manifold.anywhere(Y)
        return manifold.anywhere(Y, P + wall / t * (end.P - P), S - wall * L + wall**2 * E)


def leaves(C: Array, L: Array, E: Array, tube: float) -> float:
    """The first t > 0 at which |C - t L + t^2 E| grows beyond the tube."""
    CC, CL, CE, LL, LE, EE = (
        float(inner(U, V)) for U, V in ((C, C), (C, L), (C, E), (L, L), (L, E), (E, E))
    )
    powers = np.array([EE, -2 * LE, LL + 2 * CE, -2 * CL, CC - tube**2])
    roots = np.roots(powers)
    real = roots.real[np.abs(roots.imag) <= 1e-9 * np.abs(roots)]
    outward = [t for t in real if t > 0 and np.polyval(np.polyder(powers), t) > 0]
    if not outward:
        raise StepTooLong("no step along this direction stays in the tube")
    return float(min(outward))


def follow(
    run: Run, weight: float | str, eta: float | str, after: Callable[[Place], Place]
) -> None:
    """Steps X <- after(X - t D), D = F + weight grad N, with a fixed t or Barzilai-Borwein's.

    A step that would leave the tube ends at its wall.
    """
    field, mu, start = field_of(run.manifold), math.nan, run.start()
    auto = float(norm(start.G)) / start.at.length / 2
    lam = max(auto, 1e-300) if isinstance(weight, str) else float(weight)

    def iterate(point: Point) -> Iterate:
        nonlocal mu
        if not isinstance(eta, str):
            return Iterate(field, lam, point)
        R = field.pair(point.at, point.G)
        dual = field.dual(point.at, R)
        if math.isnan(mu):
            mu = 2 * max(lam, float(norm(dual)))
        return Iterate(field, lam, point, R, merit(point.f, dual, point.at.constraint, mu), mu)

    def step(at: Iterate, t: float) -> Iterate:
        end = after(at.moved(t, run.tube))
        try:
            return iterate(run.evaluate(end.X, end))
        except np.linalg.LinAlgError as error:
            raise StepTooLong("phi(X) has lost its rank there") from error

    first = iterate(start)
    short = 0.1 * start.at.length / max(first.direction.size, 1e-300)
    steps: Steps[Iterate] = (
        Settings(first_step=min(Settings().first_step, short))
        if isinstance(eta, str)
        else lambda at: min(float(eta), safe_step(run, at, lam))
    )
    march(first, step, lambda at: run.accept(at.point), steps)


def safe_step(run: Run, at: Iterate, lam: float) -> float:
    """A step that stays in the tube, where phi(X) = X [ablin2024infeasible].

    |C(X - t D)| <= d - 2 t lam d (1 - d) + t^2 |D|^2 <= tube, d = |C(X)|, and t <= 1/(2 lam). It is
    never longer than the way to the wall. Infinite for other phi.
    """
    if not run.manifold.isometric:
        return math.inf
    d, square = at.point.at.feasibility, at.direction.size**2
    b = lam * d * (1 - d)
    room = max(b * b + square * (run.tube - d), 0.0)
    longest = (b + math.sqrt(room)) / max(square, 1e-300)
    return min(longest, 1 / (2 * lam)) if lam > 0 else longest
