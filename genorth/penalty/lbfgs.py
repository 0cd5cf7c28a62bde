"""A lean L-BFGS: the two-loop recursion in few passes over the memory, and a strong Wolfe search.

SciPy's L-BFGS-B carries the work for bounds along, in a BLAS of its own; this one uses NumPy's
alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from genorth.penalty.objective import Objective
from genorth.solve.descent import NoStep
from genorth.solve.wolfe import strong_wolfe

_Vector = np.ndarray[Any, Any]
_PAIRS = 10


class _Memory:
    """The last steps s and changes of gradient y, rows 2i and 2i + 1 of one matrix B, over the oldest; K = B B^T.

    The two-loop recursion [Nocedal 1980] forms -H g as a combination of the rows and of g, and needs inner products
    only: those of the rows are in K, those with g are B g. So B is passed over three times, and not once per vector.
    """

    def __init__(self, size: int) -> None:
        self._B, self._K = np.empty((2 * _PAIRS, size)), np.zeros((2 * _PAIRS, 2 * _PAIRS))
        self._order: list[int] = []  # of the pairs, oldest first

    def __bool__(self) -> bool:
        return bool(self._order)

    def clear(self) -> None:
        """Forget all."""
        self._order.clear()

    def direction(self, g: _Vector) -> tuple[_Vector, float]:
        """D = -H g, and <g, d>."""
        square = float(g @ g)
        if not self._order:
            return -g, -square
        rows = 2 * len(self._order)
        B, K = self._B[:rows], self._K[:rows, :rows]
        Bg, c, weights = B @ g, np.zeros(rows), {}  # d = c B - g, and later c B - scale g
        for i in reversed(self._order):
            s, y = 2 * i, 2 * i + 1
            weights[i] = float(K[s] @ c - Bg[s]) / K[s, y]
            c[y] -= weights[i]
        newest = 2 * self._order[-1]
        scale = float(K[newest, newest + 1] / K[newest + 1, newest + 1])
        c *= scale
        for i in self._order:
            s, y = 2 * i, 2 * i + 1
            c[s] += weights[i] - float(K[y] @ c - scale * Bg[y]) / K[s, y]
        d = c @ B
        d -= scale * g
        return d, float(c @ Bg) - scale * square

    def update(self, v: _Vector, v0: _Vector, g: _Vector, g0: _Vector) -> None:
        """Add s = v - v0 and y = g - g0, if their curvature is positive; else forget all."""
        i = len(self._order) if len(self._order) < _PAIRS else self._order.pop(0)
        pair, rows = slice(2 * i, 2 * i + 2), 2 * max([i, *self._order]) + 2
        np.subtract(v, v0, out=self._B[2 * i])
        np.subtract(g, g0, out=self._B[2 * i + 1])
        products = self._B[:rows] @ self._B[pair].T
        self._K[:rows, pair], self._K[pair, :rows] = products, products.T
        if self._K[2 * i, 2 * i + 1] > np.finfo(float).eps * self._K[2 * i + 1, 2 * i + 1]:
            self._order.append(i)
        else:
            self.clear()


def lean_lbfgs(objective: Objective, start: _Vector) -> None:
    """L-BFGS with ten pairs; from steepest descent again where a line search finds no step."""
    memory = _Memory(start.size)
    v = np.array(start)
    value, g = objective.value_and_gradient(v)
    while True:
        d, slope = memory.direction(g)
        if not slope < 0:
            memory.clear()
            d, slope = memory.direction(g)
        first = 1.0 if memory else 1.0 / math.sqrt(-slope)
        last: list[Any] = []

        def curve(
            t: float, v: _Vector = v, d: _Vector = d, last: list[Any] = last
        ) -> tuple[float, float]:
            trial = v + t * d
            last[:] = [trial, *objective.value_and_gradient(trial)]
            return last[1], float(last[2] @ d)

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
