"""`landing`: a tangent step that lowers f plus a normal step towards M, by products alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Unpack

import attrs

from baselines.infeasible.field import Direction, Field
from baselines.infeasible.run import (
    TUBE,
    Point,
    Run,
    Steps,
    march,
    merit,
    multiplier,
    or_word,
    positive,
)
from genorth.linalg.arrays import Array, norm
from genorth.problem.problem import Problem
from genorth.solve.descent import Settings
from genorth.solve.options import Common
from genorth.solve.result import Result


def landing(
    problem: Problem,
    x0: Any = None,
    *,
    lam: float = 1.0,
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
        lam: The weight of the normal step.
        eta: The step size, or "bb": Barzilai and Borwein's, with a nonmonotone line search on the
            merit function f - <Theta^T, C>/2 + mu/4 |C|^2 of the papers. A fixed step is shortened
            where the papers' bound on the Stiefel manifold says so.
        tube: The largest |C| of an iterate; a step that leaves the tube is halved.
        **common: The arguments of every solver, see `genorth.minimize`.

    Returns:
        The result; `x` is on M.

    Raises:
        ValueError: If x0 is outside of the tube, or lam, eta or tube is not positive.
    """
    positive(lam=lam, tube=tube, eta=or_word(eta, "bb"))
    run = Run(problem, x0, "landing", tube, **common)
    return run.solve(lambda run: follow(run, lam, eta, lambda X: X))


@attrs.frozen(eq=False)
class Iterate:
    """A point with its landing direction and its merit, as `descend` wants it."""

    point: Point
    direction: Direction
    value: float
    decrease: float

    @property
    def X(self) -> Array:
        """Where it is."""
        return self.point.X

    @property
    def gradient(self) -> Array:
        """The direction."""
        return self.direction.D


def follow(run: Run, lam: float, eta: float | str, after: Callable[[Array], Array]) -> None:
    """Steps X <- after(X - eta D), D = F + lam grad N, with a fixed step or Barzilai-Borwein's."""
    field, mu = Field(run.manifold), math.nan

    def iterate(point: Point) -> Iterate:
        nonlocal mu
        direction = field.direction(point, point.G, lam)
        Theta = multiplier(run.manifold, direction.K, direction.R)
        if math.isnan(mu):
            mu = 2 * max(lam, float(norm(Theta)))
        decrease = direction.slope + lam * mu * direction.attraction
        return Iterate(point, direction, merit(point.f, Theta, point.C, mu), decrease)

    def step(at: Iterate, t: float) -> Iterate:
        return iterate(run.evaluate(after(at.X - t * at.gradient)))

    first = iterate(run.start())
    short = 0.1 * float(norm(first.X)) / max(float(norm(first.gradient)), 1e-300)
    steps: Steps[Iterate] = (
        Settings(first_step=min(Settings().first_step, short))
        if isinstance(eta, str)
        else lambda at: min(float(eta), safe_step(run, at, lam))
    )
    march(first, step, lambda at: run.accept(at.point), steps)


def safe_step(run: Run, at: Iterate, lam: float) -> float:
    """The longest step that stays in the tube, where phi(X) = X [ablin2024infeasible].

    |C(X - t D)| <= d - 2 t lam d (1 - d) + t^2 |D|^2 <= tube, d = |C(X)|, and t <= 1/(2 lam).
    Infinite for other phi: there |C| is looked at after the step.
    """
    if not run.manifold.isometric or not math.isfinite(run.tube):
        return math.inf
    d, square = float(norm(at.point.C)), float(norm(at.gradient)) ** 2
    b = lam * d * (1 - d)
    room = max(b * b + square * (run.tube - d), 0.0)
    longest = (b + math.sqrt(room)) / max(square, 1e-300)
    return min(longest, 1 / (2 * lam)) if lam > 0 else longest
