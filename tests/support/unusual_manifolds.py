"""Manifolds that are not of the form X^T A X = Q: what the classification (F13) has besides."""

from typing import Any

import numpy as np

import genorth as go
from support.norms import Matrix


def complex_bilinear(
    n: int, p: int, seed: Any, *, skew: bool = False
) -> tuple[go.GenOrthManifold, Matrix]:
    """{X : X^t A X = conj(Q)} with X^t the plain transpose, A and Q both symmetric or skew; and Q.

    phi(X) = conj(A X) Q^-1 and psi(T) = Q conj(T) Q^-1 are linear over the reals only. Skew
    matrices have even size: for them n and p are doubled.
    """
    if skew:
        n, p = 2 * n, 2 * p
    rng = np.random.default_rng(seed)
    A, Q = _complex_form(n, rng, skew), _complex_form(p, rng, skew)
    Qinv = np.linalg.inv(Q)
    return go.from_maps(
        (n, p),
        lambda X: np.conj(A @ X) @ Qinv,
        lambda T: Q @ np.conj(T) @ Qinv,
        dtype=complex,
        name="complex bilinear",
    ), Q


def _complex_form(n: int, rng: np.random.Generator, skew: bool) -> Matrix:
    """U^t D U, U unitary, D = I or blocks [[0, 1], [-1, 0]], times numbers between 1 and 2."""
    G = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    U = np.linalg.qr(G)[0]
    D = (
        np.kron(np.diag(rng.uniform(1, 2, n // 2)), [[0, 1], [-1, 0]])
        if skew
        else np.diag(rng.uniform(1, 2, n))
    )
    A = U.T @ D @ U
    return np.asarray((A - A.T) / 2 if skew else (A + A.T) / 2)


def pairs(n: int, p: int) -> go.GenOrthManifold:
    """{(X1, X2) : X1^T X2 = I}: two blocks, which phi and psi swap."""
    return go.from_maps((2, n, p), lambda X: X[::-1], lambda T: T[::-1], name=f"pairs({n},{p})")


def quaternionic(n: int, p: int) -> go.GenOrthManifold:
    """Quaternionic n x p matrices with X^T X = I: complex 2n x 2p with J conj(X) J^-1 = X."""

    def unit(k: int) -> Matrix:
        return np.kron(np.eye(k), np.array([[0.0, 1.0], [-1.0, 0.0]]))

    def onto(X: Matrix) -> Matrix:
        return (X + unit(X.shape[-2] // 2) @ X.conj() @ unit(X.shape[-1] // 2).T) / 2

    return go.from_maps(
        (2 * n, 2 * p),
        lambda X: X,
        lambda T: T,
        dtype=complex,
        ambient=onto,
        definite=True,
        name=f"quaternionic({n},{p})",
    )
