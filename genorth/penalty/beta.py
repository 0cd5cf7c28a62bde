"""The penalty parameter: a first estimate at the start, and how it is raised.

At a stationary point the curvature of h along X S^T, S in S1, is (F8)

    (4 beta |S|^2 - 3 Re tr(S^2 Theta)) / |X S^T|^2.

It must be positive, and h is best conditioned where it is not larger than the curvature of f along
M. Hence the estimate w beta*(x0) + c |x0|^2/(16 p), with c the curvature of f along its gradient on
M. The weight w is 1.2 where x0 is nearly stationary; elsewhere Theta at x0 says less of Theta at
the solution, and w falls to 0.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from genorth.linalg.arrays import norm
from genorth.penalty.threshold import multiplier_threshold
from genorth.problem.problem import Problem

_Matrix = np.ndarray[Any, Any]
_SHARE = 1 / 16  # normal curvature = a quarter of that along M
# weight of the threshold at a stationary point, and where the gradient is all tangent
_NEAR, _FAR = 1.2, 0.4
_GROWTH = 4.0
#: |C| at a stationary point of h: on M it is of the size of tol, elsewhere of the size of one.
AWAY = 0.1


def initial_beta(problem: Problem, X: _Matrix) -> float:
    """w beta*(X) + c |X|^2/(16 p), for one gradient and one Hessian product or one more gradient.

    Args:
        problem: The problem.
        X: A point of M.

    Returns:
        The estimate; 1 where the derivatives are not finite.
    """
    manifold = problem.manifold
    G = problem.euclidean_gradient(X)
    if not np.all(np.isfinite(G)):
        return 1.0  # the run itself says what is wrong
    space = manifold.at(X)
    Theta = np.asarray(space.theta(G))
    threshold = multiplier_threshold(manifold, Theta)
    columns = math.prod(manifold.shape[:-2]) * manifold.shape[-1]
    gradient = np.asarray(G - space.P @ Theta)
    distance = float(norm(gradient) / norm(G)) if float(norm(G)) > 0 else 0.0
    curvature = abs(_curvature(problem, X, G, Theta, gradient))
    weight = _NEAR - (_NEAR - _FAR) * distance
    beta = weight * threshold + _SHARE * curvature * float(norm(X)) ** 2 / columns
    return beta if 0 < beta < math.inf else 1.0


def _curvature(
    problem: Problem, X: _Matrix, G: _Matrix, Theta: _Matrix, gradient: _Matrix
) -> float:
    """<d, hess f(X)[d]> along M, d the normalised Riemannian gradient; zero where there is none."""
    size = float(norm(gradient))
    if not size > 0:
        return 0.0
    d = gradient / size
    if problem.has_hessian:
        H = problem.euclidean_hessian(X, d)
    else:
        t = 1e-6 * float(norm(X))  # a curvature to six digits is more than is needed
        H = (problem.evaluate_gradient(X + t * d) - G) / t
    value = float(np.vdot(d, H - problem.manifold.phi(d) @ Theta).real)
    return value if math.isfinite(value) else 0.0


def raised_beta(beta: float, times: int) -> float:
    """beta, raised a number of times."""
    return beta * _GROWTH**times
