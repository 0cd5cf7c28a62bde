"""Hessian products by differences of gradients, one gradient each.

    H[Z] = (G(X + s Z) - G(X))/s,  s = 10 eps^(1/2) max(1, |X|)/|Z|

The truncation error is s |D^3 f| |Z|^2/2, the rounding error about eps |G|/s. Their sum is least
for s of the order of eps^(1/2), where each is about eps^(1/2) relative: seven digits in double
precision, which is more than trust regions use, and three in single precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from genorth.linalg.arrays import Array, eps, norm, number

_UNITS = 10.0  # of the root of the unit roundoff: 1.5e-7 in double precision
_KEPT = 2  # the iterate and the trial
_NEAR, _POINTS = 1e-6, 7  # how far from X, relative to |X|, noise is read off, and where


class Differences:
    """The Euclidean Hessian of a problem, by differences of its gradients.

    Args:
        gradient: X -> G, counted.
    """

    def __init__(self, gradient: Callable[[Array], Array]) -> None:
        self._gradient, self._asked = gradient, False
        self._known: list[tuple[Array, Array]] = []

    def remember(self, X: Array, G: Array) -> None:
        """G is the gradient at X. Nothing is kept before the first product is asked for."""
        if self._asked:
            self._known.insert(0, (X, G))
            del self._known[_KEPT:]

    def product(self, X: Array, Z: Array) -> Array:
        """The derivative of G at X in the direction Z.

        Args:
            X: An element of F.
            Z: A direction in F.

        Returns:
            The difference quotient; zero for Z = 0.
        """
        length = number(norm(Z))
        if not length > 0:
            return 0 * Z
        here = self._at(X)
        s = _UNITS * max(eps(Z), eps(here)) ** 0.5 * max(1.0, number(norm(X))) / length
        self._asked = False  # what is beside X is not asked for again
        beside = self._gradient(X + s * Z)
        self._asked = True
        return (beside - here) / s

    def _at(self, X: Array) -> Array:
        """The gradient at X, which is mostly known."""
        for known, G in self._known:
            if known is X:
                return G
        self._asked = False
        G = self._gradient(X)
        self._asked = True
        self.remember(X, G)
        return G


def noise_beside(problem: Any, X: Array, E: Array) -> float:
    """The noise of the cost: what a parabola leaves of it at seven points X + t E.

    The points are not equally spaced, so that no period of f hides it.

    Args:
        problem: The problem.
        X: A point.
        E: A direction of length one.

    Returns:
        The standard deviation of f about a smooth function.
    """
    t = np.linspace(0.0, 1.0, _POINTS) ** 1.5
    values = [problem.evaluate_cost(X + _NEAR * number(norm(X)) * s * E) for s in t]
    Q = np.linalg.qr(np.vander(t, 3))[0]
    with np.errstate(all="ignore"):  # NaN where f is not finite
        left = values - Q @ (Q.T @ values)
        return float(np.linalg.norm(left)) / (_POINTS - 3) ** 0.5
