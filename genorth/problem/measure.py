"""`Measure`: the figures of one point, and what a success is. Nothing else knows either.

The rule, for every solver, in a metric or not, and in a comparison: at x, in the variables of the
problem, the norm of the Riemannian gradient is at most 2 tol in the Euclidean metric, and x is on M
(`Measure.feasible`). What a solver compares with tol while it runs is its own business.

Solvers stop by a measure of their own; what a run returns is measured here, for every solver, with
the clock stopped: at the end of a run, in a metric, and by a comparison.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs

from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.newton import rounding
from genorth.geometry.shaped import in_blocks
from genorth.linalg.arrays import Array, all_finite, eps, norm, number
from genorth.problem.kkt import KKT, tangent_norm
from genorth.problem.proximal import natural_step, proximal_step

if TYPE_CHECKING:
    from genorth.problem.problem import Problem

#: |C(x)| of a success in any case; feasibility_tol is relative to |x| |phi(x)|, which may be large.
ON_MANIFOLD = 1e-6
#: The gradient norm of a success, relative to tol: restoring moves x.
SLACK = 2.0
#: The largest violation of a further constraint in a success.
VIOLATION = 1e-6
#: A unit roundoff above this is that of single precision.
SINGLE = 2.0**-40
_SMALL = 1e-13  # |C(X)|/scale below which nobody asks for rounding
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
        outside: |X - P(X)|, the distance from F; zero where F is the whole space.
        rounding: What rounding in phi(X) leaves in |C(X)|; zero where |C(X)| is smaller anyway.
        kkt: With further constraints, their figures; then `stationarity` is that of the Lagrangian.
    """

    X: Array = attrs.field(repr=False)
    cost: float
    G: Array = attrs.field(repr=False)
    stationarity: float
    feasibility: float
    scale: float
    outside: float = 0.0
    rounding: float = 0.0
    kkt: KKT | None = None

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
        feasibility, scale = number(manifold.feasibility(X)), number(manifold.scale(X))
        bound = 0.0
        if feasibility > _SMALL * scale and isinstance(manifold, GenOrthManifold):
            bound = rounding(manifold, X)
        kkt = KKT.estimate(problem, X) if finite and problem.constraints is not None else None
        stationarity = generalised_gradient_norm(problem, X, G) if finite else math.nan
        return cls(
            X,
            cost,
            G,
            stationarity if kkt is None else kkt.stationarity,
            feasibility,
            scale,
            distance(manifold, X),
            bound,
            kkt,
        )

    @property
    def figures(self) -> dict[str, Any]:
        """The figures by the names that a Result has for them."""
        return {
            "fun": self.cost,
            "gradient_norm": self.stationarity,
            "feasibility": self.feasibility,
            "outside": self.outside,
        }

    def stationary(self, tol: float) -> bool:
        """Whether the gradient norm is that of a success."""
        kept = self.kkt is None or self.kkt.feasible(VIOLATION)
        return kept and self.stationarity <= SLACK * tol

    def fails(self, tol: float, feasibility_tol: float) -> str:
        """The name of the `Status` of a run that took X for a success; empty where it is one."""
        if not self.stationary(tol):
            return "NOT_STATIONARY"
        return "" if self.feasible(feasibility_tol) else "NOT_FEASIBLE"

    def feasible(self, feasibility_tol: float) -> bool:
        """Whether X is on M: in F, and with X^T phi(X) = I."""
        relative = allowed(self.X, self.scale, feasibility_tol)
        inside = self.outside <= relative * number(norm(self.X))
        near = max(relative * self.scale, min(self.rounding, ON_MANIFOLD))
        return inside and self.feasibility <= near


def distance(manifold: GenOrthManifold, X: Array) -> float:
    """|X - P(X)|, P the projector onto F; zero where F is the whole space."""
    return 0.0 if manifold.ambient_projector is None else number(norm(X - manifold.ambient(X)))


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
        return tangent_norm(problem.manifold.gradient(X, G), G)
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
