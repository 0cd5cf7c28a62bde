"""`Pairs`: the memory of L-BFGS and the matrix that it makes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

_Vector = np.ndarray[Any, Any]


class Pairs:
    """The last pairs (s, y) of real vectors, and the BFGS matrix H that they make.

    The pairs are rows 2i and 2i + 1 of one matrix B, over the oldest. The two-loop recursion
    [nocedal1980updating] forms H g as a combination of the rows and of g, and needs inner products
    only: those of the rows are in K = B B^T, those with g are B g. So B is passed over three times
    for each step, and not once per vector.

    Args:
        memory: How many pairs are kept.
    """

    def __init__(self, memory: int = 10) -> None:
        self._memory = memory
        self._B = np.empty((0, 0))
        self._K = np.zeros((2 * memory, 2 * memory))
        self._order: list[int] = []  # of the pairs, oldest first

    def __len__(self) -> int:
        return len(self._order)

    def clear(self) -> None:
        """Forget all."""
        self._order.clear()

    def add(self, s: _Vector, y: _Vector, caution: float = 2.0**-52) -> None:
        """Store a pair, if its curvature is positive: <s,y> > caution |s||y|."""
        sy, ss, yy = float(np.dot(s, y)), float(np.dot(s, s)), float(np.dot(y, y))
        if not sy > caution * math.sqrt(ss) * math.sqrt(yy):
            return
        if not self._B.size:
            self._B = np.empty((2 * self._memory, s.size))
        full = len(self._order) == self._memory
        i = self._order.pop(0) if full else len(self._order)
        pair, rows = slice(2 * i, 2 * i + 2), 2 * max([i, *self._order]) + 2
        self._B[2 * i], self._B[2 * i + 1] = s, y
        products = self._B[:rows] @ self._B[pair].T
        self._K[:rows, pair], self._K[pair, :rows] = products, products.T
        self._order.append(i)

    def inverse(self, g: _Vector, first: Callable[[_Vector], _Vector] | None = None) -> _Vector:
        """H g, where H starts from a multiple of the identity or of `first`.

        The factor is <s,y>/<y, first(y)> of the newest pair.

        Args:
            g: A vector.
            first: A symmetric positive definite map, the preconditioner.

        Returns:
            H g, a new vector.
        """
        if not self._order:
            return np.array(g if first is None else first(g))
        rows = 2 * len(self._order)
        B, K = self._B[:rows], self._K[:rows, :rows]
        Bg, c, weights = B @ g, np.zeros(rows), {}  # q = g + c B
        for i in reversed(self._order):
            s, y = 2 * i, 2 * i + 1
            weights[i] = float(Bg[s] + K[s] @ c) / K[s, y]
            c[y] -= weights[i]
        s = 2 * self._order[-1]
        y = s + 1
        if first is None:
            scale = float(K[s, y] / K[y, y])
            c *= scale
            Bg *= scale
            q = scale * g
        else:
            q = first(g + c @ B)
            q = q * (K[s, y] / float(np.dot(B[y], first(B[y]))))
            Bg, c = B @ q, np.zeros(rows)
        for i in self._order:
            s, y = 2 * i, 2 * i + 1
            c[s] += weights[i] - float(Bg[y] + K[y] @ c) / K[s, y]
        q += c @ B
        return q
