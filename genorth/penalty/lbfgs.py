"""A lean L-BFGS: few passes over the memory, and a strong Wolfe search.

SciPy's L-BFGS-B carries the work for bounds along, in a BLAS of its own; this one uses NumPy's
alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from genorth.penalty.objective import Objective
from genorth.solve.descent import NoStep
from genorth.solve.pairs import Pairs
from genorth.solve.wolfe import strong_wolfe

_Vector = np.ndarray[Any, Any]


def lean_lbfgs(objective: Objective, start: _Vector, curvature: float = 0.0) -> None:
    """L-BFGS with ten pairs; from steepest descent again where a line search finds no step.

    The first step is 1/curvature times the gradient; of length one where it is not known.
    """
    pairs = Pairs()
    v = np.array(start)
    value, g = objective.value_and_gradient(v)
    while True:
        d = -pairs.inverse(g)
        slope = float(np.dot(g, d))
        if not slope < 0:
            pairs.clear()
            d, slope = -g, -float(np.dot(g, g))
        first = 1.0 if len(pairs) else 1 / (curvature or math.sqrt(-slope))

        def curve(
            t: float, v: _Vector = v, d: _Vector = d
        ) -> tuple[float, float, tuple[_Vector, float, _Vector]]:
            trial = v + t * d
            value, gradient = objective.value_and_gradient(trial)
            return value, float(np.dot(gradient, d)), (trial, value, gradient)

        try:
            (trial, value, gradient), _ = strong_wolfe(curve, value, slope, first)
        except NoStep:
            if not len(pairs):
                return
            pairs.clear()
            continue
        pairs.add(trial - v, gradient - g)
        v, g = trial, gradient
        objective.iteration(v)
