"""What a solver says of its end, held against x itself.

f, gradient norm and feasibility are computed anew.

Off the clock, and not counted. A success that x does not bear out is taken back.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from genorth.compare.record import Record
from genorth.linalg.arrays import norm
from genorth.problem.problem import Problem
from genorth.solve.result import Status

_SLACK = 2.0  # as in the solvers' own last check: x is restored after the measure has met tol


@attrs.frozen
class Figures:
    """f, the Riemannian gradient norm, |C| and its scale max(1, |x| |phi(x)|) at a point.

    NaN where there is none.
    """

    fun: float = math.nan
    gradient_norm: float = math.nan
    feasibility: float = math.nan
    scale: float = 1.0

    @classmethod
    def at(cls, problem: Problem, x: Any) -> Figures:
        """Those of x; what the user's callables return at the last point of a solver is known already."""
        manifold, x = problem.manifold, np.asarray(x)
        if x.shape != manifold.shape or x.dtype.kind not in "fc" or not np.all(np.isfinite(x)):
            return cls()
        feasibility, scale = float(manifold.feasibility(x)), float(manifold.scale(x))
        if not problem.has_gradient:
            return cls(problem.cost(x), math.nan, feasibility, scale)
        fun, G = problem.cost_and_gradient(x)
        finite = bool(np.all(np.isfinite(G)))
        return cls(
            fun, float(norm(manifold.gradient(x, G))) if finite else math.nan, feasibility, scale
        )


def verified(record: Record, figures: Figures, feasibility_tol: float) -> Record:
    """The record with these figures, and its success taken back where they contradict it."""
    record = attrs.evolve(
        record,
        fun=figures.fun,
        gradient_norm=figures.gradient_norm,
        feasibility=figures.feasibility,
        success=record.success and record.status == Status.CONVERGED.name,
    )
    if not record.success:
        return record
    status, reason = _contradiction(
        figures, _SLACK * record.tolerance, _SLACK * feasibility_tol * figures.scale
    )
    if status is None:
        return record
    return attrs.evolve(
        record,
        success=False,
        status=status.name,
        message=f"The solver reports success, but at its x {reason}.",
    )


def _contradiction(
    figures: Figures, tol: float, feasibility_tol: float
) -> tuple[Status | None, str]:
    named = {
        "|C|": figures.feasibility,
        "the cost": figures.fun,
        "the Riemannian gradient norm": figures.gradient_norm,
    }
    for name, value in named.items():
        if not math.isfinite(value):
            return Status.NOT_FINITE, f"{name} is {value}"
    if figures.gradient_norm > tol:
        return (
            Status.NOT_STATIONARY,
            f"the norm of the Riemannian gradient is {figures.gradient_norm:.3g}, not {tol:.3g}",
        )
    if figures.feasibility > feasibility_tol:
        return Status.NOT_FEASIBLE, f"|C| is {figures.feasibility:.3g}, not {feasibility_tol:.3g}"
    return None, ""
