"""The ellipse of docs/errata.md, linear costs, and norms.

What the tests of facts and errata share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import genorth as go

Matrix = np.ndarray[Any, Any]
EPS = float(np.finfo(float).eps)

#: X^T B X = 1 in the plane: an ellipse with the point X = (3/5, 2/5), where phi(X) = (3/5, 8/5) and
#: (8, -3) is tangent.
ELLIPSE = go.GeneralizedStiefel(np.array([1.0, 4.0]), 1)
POINT, NORMAL, TANGENT = (
    np.array([[0.6], [0.4]]),
    np.array([[0.6], [1.6]]),
    np.array([[8.0], [-3.0]]),
)


def norm(T: Any) -> float:
    """|T|."""
    return float(np.linalg.norm(T))


def spectral(T: Matrix) -> float:
    """|T|_2, the largest singular value of all blocks."""
    return float(np.linalg.norm(T, ord=2, axis=(-2, -1)).max())


def linear(manifold: go.GenOrthManifold, B: Matrix) -> go.Problem:
    """f(X) = <B, X>."""
    return go.Problem(
        manifold,
        lambda X: float(np.vdot(B, X).real),
        lambda X: B,
        lambda X, Z: np.zeros_like(Z),
        name="linear",
    )
