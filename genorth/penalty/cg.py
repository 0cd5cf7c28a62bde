"""Lean conjugate gradients: one evaluation of h an iteration, mostly, and a strong Wolfe search.

SciPy's CG asks its line search for a slope of 0.4 and begins each search from a guess by the costs;
near a solution it takes many evaluations for each step. And this one takes arrays of JAX and
PyTorch.
"""

from __future__ import annotations

from genorth.linalg.arrays import Array, eps, inner, kept, norm, number
from genorth.penalty.lbfgs import along, first_trial
from genorth.penalty.objective import Objective
from genorth.solve.descent import NoStep, sato
from genorth.solve.wolfe import strong_wolfe


def lean_cg(objective: Objective, start: Array, curvature: float = 0.0) -> None:
    """Conjugate gradients with Sato's beta, as `baselines.rcg`; from -grad h where a search fails.

    The first step is 1/curvature times the gradient; of length one where it is not known. The first
    trial of each later search is the last step times the ratio of the slopes, at most as long as v.
    """
    v = kept(start)
    value, g = objective.value_and_gradient(v)
    squared = number(inner(g, g))
    d, slope, t = -g, -squared, first_trial(squared, curvature)
    while True:
        try:
            found, t = strong_wolfe(along(objective, v, d), value, slope, t, unit=eps(v))
        except NoStep:
            if slope == -squared:
                return  # d is the negative gradient already
            d, slope, t = -g, -squared, first_trial(squared, curvature)
            continue
        v, value, g, end = found
        objective.iteration(v)
        before, old, squared = slope, squared, number(inner(g, g))
        d = sato(squared, old, end - before) * d - g
        slope = number(inner(g, d))
        if not slope < 0:
            d, slope = -g, -squared
        t = min(t * before / slope, number(norm(v)) / number(norm(d)))
