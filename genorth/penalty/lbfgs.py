"""A lean L-BFGS: few passes over the memory, and a strong Wolfe search.

SciPy's L-BFGS-B carries the work for bounds along, in a BLAS of its own; this one uses NumPy's
alone. And it takes arrays of JAX and PyTorch, which stay where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from genorth.linalg.arrays import Array, eps, inner, kept, number
from genorth.penalty.objective import Objective
from genorth.solve.descent import NoStep
from genorth.solve.pairs import Pairs
from genorth.solve.wolfe import strong_wolfe


def lean_lbfgs(objective: Objective, start: Array, curvature: float = 0.0) -> None:
    """L-BFGS with ten pairs; from steepest descent again where a line search finds no step.

    The first step is 1/curvature times the gradient; of length one where it is not known.
    """
    pairs = Pairs()
    v = kept(start)
    value, g = objective.value_and_gradient(v)
    while True:
        d = -pairs.inverse(g)
        slope = number(inner(g, d))
        if not slope < 0:
            pairs.clear()
            d, slope = -g, -number(inner(g, g))
        first = 1.0 if len(pairs) else first_trial(-slope, curvature)
        try:
            found, _ = strong_wolfe(along(objective, v, d), value, slope, first, unit=eps(v))
        except NoStep:
            if not len(pairs):
                return
            pairs.clear()
            continue
        trial, value, gradient, _ = found
        pairs.add(trial, v, gradient, g)
        v, g = trial, gradient
        objective.iteration(v)


def first_trial(squared: float, curvature: float) -> float:
    """The first trial along a gradient g with <g, g> = squared, where the curvature may be 0."""
    return 1 / (curvature or math.sqrt(squared))


def along(
    objective: Objective, v: Array, d: Array
) -> Callable[[float], tuple[float, float, tuple[Array, float, Array, float]]]:
    """t -> h(v + t d), its slope, and (v + t d, value, gradient, slope)."""

    def curve(t: float) -> tuple[float, float, tuple[Array, float, Array, float]]:
        trial = v + t * d
        value, gradient = objective.value_and_gradient(trial)
        slope = number(inner(gradient, d))
        return value, slope, (trial, value, gradient, slope)

    return curve
