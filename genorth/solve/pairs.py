"""`Pairs`: the memory of L-BFGS and the matrix that it makes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg.lapack

from genorth.linalg.arrays import Array, inner, inners, number, plus
from genorth.linalg.compiled import Owner, compiled
from genorth.linalg.stack import Stack

_Small = np.ndarray[Any, Any]


class Pairs:
    """The last pairs (s, y) of arrays, and the BFGS matrix H that they make.

    The pairs are arrays 2i and 2i + 1 of one `Stack` B, over the oldest. The two-loop recursion
    [nocedal1980updating] forms H g as a combination of them and of g, and needs inner products
    only: those of the arrays are kept, those with g are B g. So B is passed over three times for
    each step, and not once per vector. Each loop is a triangular system with the matrix R of the
    <s_i, y_j>, i <= j, oldest first [byrd1994representations]:

        R a = S g,  q = H_0 (g - Y^T a),  R^T d = diag(R) a - Y q,  H g = q + S^T d

    Args:
        memory: How many pairs are kept.
    """

    def __init__(self, memory: int = 10) -> None:
        self._memory = memory
        self._B: Stack | None = None
        # <s_i, y_j> for i <= j and <y_i, y_j>, oldest first
        self._SY, self._YY = np.zeros((memory, memory), order="F"), np.zeros((memory, memory))
        self._order: list[int] = []  # of the pairs, oldest first

    def __len__(self) -> int:
        return len(self._order)

    def clear(self) -> None:
        """Forget all."""
        self._order.clear()

    def add(self, x: Array, x0: Array, g: Array, g0: Array, caution: float = 2.0**-52) -> None:
        """Store the pair s = x - x0, y = g - g0, if <s,y> > caution |s||y|."""
        sy, ss, yy = map(number, _curvature(_OWNER, x, x0, g, g0))
        if not sy > caution * math.sqrt(ss) * math.sqrt(yy):
            return
        if self._B is None:
            self._B = Stack.like(2 * self._memory, x)
        order, i = self._order, len(self._order)
        if i == self._memory:
            i = order.pop(0)
            for products in (self._SY, self._YY):
                products[:-1, :-1] = products[1:, 1:].copy()
        order.append(i)
        self._B.put(2 * i, x, x0)
        self._B.put(2 * i + 1, g, g0)
        m, s = len(order), 2 * np.array(order)
        self._places = np.concatenate((s, s + 1))
        column = self._B.products(2 * m, 2 * i + 1, 2 * i + 2)[self._places, 0]
        self._SY[:m, m - 1] = column[:m]
        self._YY[:m, m - 1] = self._YY[m - 1, :m] = column[m:]

    def inverse(self, g: Array, first: Callable[[Array], Array] | None = None) -> Array:
        """H g, where H starts from a multiple of the identity or of `first`.

        The factor is <s,y>/<y, first(y)> of the newest pair.

        Args:
            g: An array.
            first: A symmetric positive definite map, the preconditioner.

        Returns:
            H g, a new array.
        """
        if not self._order:
            return 1.0 * (g if first is None else first(g))
        assert self._B is not None
        m, places, B = len(self._order), self._places, self._B
        R, YY = self._SY[:m, :m], self._YY[:m, :m]
        Bg, c = B.against(2 * m, g)[places], np.zeros(2 * m)
        a = _triangular(R, Bg[:m])
        if first is None:
            scale = float(R[-1, -1] / YY[-1, -1])
            c[places[m:]] = -scale * a
            q, Yq = scale * g, scale * (Bg[m:] - YY.dot(a))
        else:
            c[places[m:]] = -a
            q, newest = first(g + B.combined(c)), B.combined(np.eye(2 * m)[places[-1]])
            q = q * (R[-1, -1] / number(inner(newest, first(newest))))
            Yq, c[places[m:]] = B.against(2 * m, q)[places[m:]], 0
        c[places[:m]] = _triangular(R, R.diagonal() * a - Yq, transposed=True)
        return plus(q, B.combined(c))


def _triangular(R: _Small, b: _Small, transposed: bool = False) -> _Small:
    """R^-1 b, or R^-T b, of the upper triangle of a small R."""
    x: _Small = scipy.linalg.lapack.dtrtrs(R, b, trans=transposed)[0]
    return x


_OWNER = Owner()


@compiled
def _curvature(owner: Owner, x: Array, x0: Array, g: Array, g0: Array) -> tuple[Array, ...]:  # noqa: ARG001
    """<s,y>, <s,s>, <y,y>."""
    s, y = x - x0, g - g0
    return inners((s, y), (s, s), (y, y))
