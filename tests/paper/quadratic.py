"""A quadratic f on any manifold, whose Lipschitz constant of the gradient is known exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from constants import Constants, operator_norm

import genorth as go

Matrix = np.ndarray[Any, Any]


def quadratic(constants: Constants, seed: int) -> tuple[go.Problem, float]:
    """f(X) = <B, X> + <X, H X>/2 with B in F, H symmetric, both of about unit size.

    And L_g = |hess f| on F.
    """
    manifold, rng = constants.manifold, np.random.default_rng([5, seed])
    B = manifold.random_ambient(rng)
    n = manifold.shape[-2]
    K = rng.standard_normal((n, n))
    H = ((K + K.T) / (2 * np.sqrt(n))).astype(manifold.dtype)
    B = B / float(np.linalg.norm(B))

    def hessian(X: Matrix, Z: Matrix) -> Matrix:
        return np.asarray(manifold.ambient(H @ Z))

    def cost(X: Matrix) -> float:
        return float(np.vdot(B, X).real + np.vdot(X, H @ X).real / 2)

    problem = go.Problem(manifold, cost, lambda X: B + hessian(X, X), hessian, name="quadratic")
    return problem, operator_norm(lambda Z: hessian(Z, Z), constants.basis)
