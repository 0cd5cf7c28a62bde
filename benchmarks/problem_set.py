"""The problems on which the automatic beta and the methods are measured.

Every manifold, easy and hard multipliers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import genorth as go

Matrix = np.ndarray[Any, Any]


def _spd(n: int, condition: float, rng: np.random.Generator) -> Matrix:
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return np.asarray((U * np.logspace(0, -np.log10(condition), n)) @ U.T)


def quadratic(
    manifold: go.GenOrthManifold,
    name: str,
    A: Matrix,
    N: Matrix | None = None,
    B: Matrix | None = None,
) -> go.Problem:
    """f(X) = Re tr(X^T A X N) + 2 Re tr(B^T X)."""
    weights = np.eye(manifold.shape[-1]) if N is None else N

    def both(X: Matrix) -> tuple[float, Matrix]:
        G = A @ X @ weights
        f = float(np.vdot(X, G).real)
        if B is None:
            return f, 2 * G
        return f + 2 * float(np.vdot(B, X).real), 2 * (G + B)

    return go.Problem(manifold, None, None, lambda X, Z: 2 * (A @ Z @ weights), both, name=name)


def nearest(manifold: go.GenOrthManifold, name: str, B: Matrix) -> go.Problem:
    """f(X) = |X - B|^2."""
    return go.Problem(
        manifold,
        lambda X: float(np.sum(np.abs(X - B) ** 2)),
        lambda X: 2 * (X - B),
        lambda X, Z: 2 * Z,
        name=name,
    )


def problem_set(seed: int = 7) -> list[go.Problem]:
    """Thirteen problems of 150 to 600 real variables.

    The constants of beta="auto" were chosen with seed 7.
    """
    rng = np.random.default_rng(seed)
    n, p = 60, 5
    stiefel, symplectic = go.Stiefel(n, p), go.SymplecticStiefel(40, 6)
    S = rng.standard_normal((n, n))
    S = (S + S.T) / 2
    H = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    signs = np.r_[np.ones(30), -np.ones(20)]
    indefinite = go.IndefiniteStiefel(signs, np.array([1.0, 1.0, -1.0]))
    decaying = np.diag(0.1 * np.exp(-np.arange(6) / 3))
    return [
        quadratic(stiefel, "smallest eigenvalues, indefinite A", S),
        quadratic(stiefel, "largest eigenvalues", -_spd(n, 100, rng)),
        quadratic(stiefel, "smallest eigenvalues, A > 0", _spd(n, 100, rng)),
        quadratic(stiefel, "Brockett", S, np.diag(np.arange(1.0, p + 1))),
        quadratic(
            stiefel, "quadratic and linear", _spd(n, 50, rng), None, rng.standard_normal((n, p))
        ),
        quadratic(go.Stiefel(n, p, complex), "complex eigenvalues", H + H.conj().T),
        quadratic(go.GeneralizedStiefel(_spd(n, 50, rng), p), "generalized eigenvalues", S),
        quadratic(symplectic, "symplectic eigenvalues", _spd(40, 100, rng)),
        quadratic(symplectic, "symplectic matching", _spd(40, 20, rng) / 40, decaying),
        quadratic(go.HyperbolicStiefel(signs, 4), "hyperbolic eigenvalues", _spd(50, 30, rng)),
        nearest(indefinite, "nearest point, on M", indefinite.random_point([5, seed])),
        nearest(indefinite, "nearest point, far away", indefinite.random_ambient([6, seed])),
        quadratic(
            go.TensorStiefel(20, 3, 4),
            "tensor eigenvalues",
            np.stack([_spd(20, 30, rng) for _ in range(4)]),
        ),
    ]
