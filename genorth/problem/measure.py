"""`Measure`: the figures of one point, and what a success is. Nothing else knows either.

Solvers stop by a measure of their own; what a run returns is measured here, for every solver, with
the clock stopped: at the end of a run, in a metric, and by a comparison.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from genorth.geometry.shaped import in_blocks
from genorth.linalg.arrays import Array, all_finite, eps, norm, number
from genorth.problem.proximal import natural_step, proximal_step

if TYPE_CHECKING:
    from genorth.problem.problem import Problem

#: |C(x)| of a success in any case; feasibility_tol is relative to |x| |phi(x)|, which may be large.
ON_MANIFOLD = 1e-6
#: The gradient norm of a success, relative to tol: restoring moves x.
SLACK = 2.0
#: A unit roundoff above this is that of single precision.
SINGLE = 2.0**-40
_ROUNDING = 100.0  # units of roundoff that single precision leaves in |C(x)|, relative


@attrs.frozen(eq=False)
class Measure:
    """The figures of a point X.

    Attributes:
        cost: f(X), plus r(X) where the problem has a nonsmooth term.
        G: The Euclidean gradient of f.
        stationarity: The norm of the Riemannian gradient, NaN where G is not finite; with a
            nonsmooth term that of the generalised gradient, |Z|/t.
        feasibility: |C(X)|.
        scale: max(1, |X| |phi(X)|), what the feasibility is relative to.
    """

    X: Array = attrs.field(repr=False)
    cost: float
    G: Array = attrs.field(repr=False)
    stationarity: float
    feasibility: float
    scale: float

    @classmethod
    def at(cls, problem: Problem, X: Array, known: tuple[float, Array] | None = None) -> Measure:
        """Measure a point.

        Args:
            problem: The problem, with a gradient.
            X: A point on M or near it.
            known: The cost and the Euclidean gradient of f at X, where they are known.

        Returns:
            The figures.
        """
        manifold = problem.manifold
        cost, G = problem.cost_and_gradient(X) if known is None else known
        if known is None and problem.term is not None:
            cost = problem.objective(X)
        finite = all_finite(G)
        return cls(
            X,
            cost,
            G,
            generalised_gradient_norm(problem, X, G) if finite else math.nan,
            number(manifold.feasibility(X)),
            number(manifold.scale(X)),
        )

    def stationary(self, tol: float) -> bool:
        """Whether the gradient norm is that of a success."""
        return self.stationarity <= SLACK * tol

    def feasible(self, feasibility_tol: float) -> bool:
        """Whether X is on M."""
        return self.feasibility <= self.scale * allowed(self.X, self.scale, feasibility_tol)


def generalised_gradient_norm(problem: Problem, X: Array, G: Array) -> float:
    """|Z|/t, Z the proximal step on the tangent space; without a nonsmooth term |grad f(X)|.

    t = |X|^2/(|X| |G| + |r(X)|) does not depend on how X was found.

    Args:
        problem: The problem.
        X: A point of M.
        G: The Euclidean gradient of f.

    Returns:
        The norm, zero exactly at stationary points of f + r.
    """
    if problem.term is None:
        return number(norm(problem.manifold.gradient(X, G)))
    inside = problem.in_blocks
    manifold, x, g = in_blocks(problem.manifold, X, G)
    t = natural_step(x, g, inside.term(x))
    return proximal_step(manifold.place(x), inside.term, g, t).length / t


def allowed(X: Array, scale: float, feasibility_tol: float) -> float:
    """The largest |C(X)|/scale of a success: what was asked for, and at most 1e-6 in |C|.

    Args:
        X: The point, for its precision.
        scale: max(1, |X| |phi(X)|).
        feasibility_tol: What was asked for, relative.

    Returns:
        The relative tolerance; in single precision not below its rounding.
    """
    relative = min(feasibility_tol, ON_MANIFOLD / scale)
    unit = eps(X)
    return max(relative, _ROUNDING * unit) if unit > SINGLE else relative
