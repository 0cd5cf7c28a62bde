"""Weighted traces, whose minimum is a sum of eigenvalues: shared by several sources."""

from __future__ import annotations

from typing import Any

import numpy as np

import genorth as go
from genorth.linalg.arrays import Array


def trace_problem(
    A: Any, manifold: go.GenOrthManifold, weights: Any = 1.0, constant: float = 0.0
) -> go.Problem:
    """Minimise tr(X^T A X N)/2 + c, A and N symmetric.

        f(X) = tr(X^T A X N)/2 + c, G = A X N

    Args:
        A: What multiplies X from the left by @.
        manifold: The manifold.
        weights: N, or its diagonal. Equal weights leave the columns of X open up to a rotation.
        constant: c.

    Returns:
        The problem, with gradient and Hessian product.
    """
    N = np.asarray(weights)

    def times(X: Array) -> Array:
        return (A @ X) @ N if N.ndim == 2 else (A @ X) * N

    def cost_and_gradient(X: Array) -> tuple[float, Array]:
        G = times(X)
        return float(np.vdot(X, G).real) / 2 + constant, G

    return go.Problem(
        manifold, cost_and_gradient=cost_and_gradient, euclidean_hessian=lambda _, Z: times(Z)
    )


def least_trace(A: Array, B: Array | None, weights: Any) -> float:
    """The minimum of tr(X^T A X N)/2 over X^T B X = I, by the eigenvalues of (A, B).

    Weights are positive and descend: the largest goes with the smallest eigenvalue
    [fan1949theorem].
    """
    import scipy.linalg

    values = scipy.linalg.eigh(A, B, eigvals_only=True)
    return float(values[: len(weights)] @ np.asarray(weights, float)) / 2
