"""A lean L-BFGS: the two-loop recursion with BLAS on vectors that are kept in place, and a strong Wolfe search.

SciPy's L-BFGS-B carries the work for bounds along; without bounds this one spends a third of its time outside f.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas

from genorth._solvers.objective import Objective
from genorth.linesearch import NoStep
from genorth.wolfe import strong_wolfe

_Vector = np.ndarray[Any, Any]
_MEMORY = 10


class _Memory:
    """The last steps s and changes of gradient y, each written over the oldest."""

    def __init__(self, size: int) -> None:
        self._s, self._y = np.empty((_MEMORY, size)), np.empty((_MEMORY, size))
        self._rho = [0.0] * _MEMORY
        self._order: list[int] = []  # oldest first
        self._scale = 1.0

    def __bool__(self) -> bool:
        return bool(self._order)

    def clear(self) -> None:
        """Forget all."""
        self._order.clear()

    def direction(self, g: _Vector) -> _Vector:
        """-H g by the two-loop recursion."""
        d = -g
        weights = {}
        for i in reversed(self._order):
            weights[i] = self._rho[i] * blas.ddot(self._s[i], d)
            blas.daxpy(self._y[i], d, a=-weights[i])
        d *= self._scale
        for i in self._order:
            blas.daxpy(self._s[i], d, a=weights[i] - self._rho[i] * blas.ddot(self._y[i], d))
        return d

    def update(self, v: _Vector, v0: _Vector, g: _Vector, g0: _Vector) -> None:
        """Add s = v - v0 and y = g - g0, if their curvature is positive."""
        free = len(self._order) if len(self._order) < _MEMORY else self._order[0]
        s, y = np.subtract(v, v0, out=self._s[free]), np.subtract(g, g0, out=self._y[free])
        self._order = [i for i in self._order if i != free]
        sy, yy = blas.ddot(s, y), blas.ddot(y, y)
        if sy > np.finfo(float).eps * yy:
            self._rho[free], self._scale = 1 / sy, sy / yy
            self._order.append(free)
        else:
            self.clear()


def lean_lbfgs(objective: Objective, start: _Vector) -> None:
    """L-BFGS with ten pairs; from steepest descent again where a line search finds no step."""
    memory = _Memory(start.size)
    v = np.array(start)
    value, g = objective.value_and_gradient(v)
    while True:
        d = memory.direction(g)
        slope = blas.ddot(g, d)
        if not slope < 0:
            memory.clear()
            d, slope = -g, -blas.ddot(g, g)
        first = 1.0 if memory else 1.0 / blas.dnrm2(g)
        last: list[Any] = []

        def curve(t: float, v: _Vector = v, d: _Vector = d, last: list[Any] = last) -> tuple[float, float]:
            trial = v + t * d
            last[:] = [trial, *objective.value_and_gradient(trial)]
            return last[1], blas.ddot(last[2], d)

        try:
            strong_wolfe(curve, value, slope, first)
        except NoStep:
            if not memory:
                return
            memory.clear()
            continue
        trial, value, gradient = last
        memory.update(trial, v, gradient, g)
        v, g = trial, gradient
        objective.iteration(v)
