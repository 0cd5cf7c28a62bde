"""Problems with a nonsmooth term: sparse PCA, compressed modes, sparse symplectic and other bases.

No truth is known for them but by many starts and, where they are small, by enumeration of supports:
so they are functions, not instances of the gallery.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

import genorth as go
from genorth.linalg.arrays import Array


def sparse_pca(A: Array, p: int, mu: Any) -> go.Problem:
    """Sparse principal components of the data A [chen2020proximal].

        min -|A X|^2 + mu |X|_1, X^T X = I

    Args:
        A: The data, one column for each variable.
        p: The number of components.
        mu: The weight of the sparse term.

    Returns:
        The problem.
    """

    def cost_and_gradient(X: Array) -> tuple[float, Array]:
        AX = A @ X
        return -float(np.vdot(AX, AX)), -2 * (A.T @ AX)

    return go.Problem(
        go.Stiefel(A.shape[1], p),
        cost_and_gradient=cost_and_gradient,
        euclidean_hessian=lambda _, Z: -2 * (A.T @ (A @ Z)),
        nonsmooth=go.L1(mu),
        name="sparse PCA",
    )


def random_data(n: int, rng: Any = None, rows: int = 50) -> Array:
    """Gaussian data as in [chen2020proximal]: columns of mean zero and length one."""
    A = np.random.default_rng(rng).standard_normal((rows, n))
    A -= A.mean(axis=0)
    return A / np.linalg.norm(A, axis=0)


def _quadratic(manifold: Any, H: Any, mu: float, name: str) -> go.Problem:
    """Minimise tr(X^T H X) + mu |X|_1."""

    def cost_and_gradient(X: Array) -> tuple[float, Array]:
        HX = H @ X
        return float(np.vdot(X, HX)), 2 * HX

    return go.Problem(
        manifold,
        cost_and_gradient=cost_and_gradient,
        euclidean_hessian=lambda _, Z: 2 * (H @ Z),
        nonsmooth=go.L1(mu),
        name=name,
    )


def compressed_modes(n: int, p: int, mu: float, length: float = 50.0) -> go.Problem:
    """Compressed modes of the free electron on a circle [ozolins2013compressed].

        min tr(X^T H X) + mu |X|_1, X^T X = I

    H is -1/2 d^2/dx^2, by second differences.

    Args:
        n: The number of grid points.
        p: The number of modes.
        mu: The weight of the sparse term.
        length: The length of the circle.

    Returns:
        The problem; its solutions have compact support.
    """
    ones = np.ones(n)
    ring = scipy.sparse.diags_array([-ones[1:], 2 * ones, -ones[1:]], offsets=[-1, 0, 1]).tolil()
    ring[0, n - 1] = ring[n - 1, 0] = -1.0
    H = scipy.sparse.csr_array(ring) * (n / length) ** 2 / 2
    return _quadratic(go.Stiefel(n, p), H, mu, "compressed modes")


def sparse_symplectic_basis(n: int, p: int, mu: float) -> go.Problem:
    """A sparse symplectic basis for the snapshots S of a wave on a string.

        min |S - V V^+ S|^2/|S|^2 + mu |V|_1, V^T J V = J

    Args:
        n: The size of the state, positions and momenta: even.
        p: The number of basis vectors: even.
        mu: The weight of the sparse term.

    Returns:
        The problem.
    """
    points, modes = n // 2, np.arange(1, 9)
    x, times = np.arange(1, points + 1) / (points + 1), np.linspace(0, 1, 40)
    shapes = np.sin(np.pi * np.outer(x, modes)) / modes**2
    phases = np.pi * np.outer(modes, times)
    S = np.vstack([shapes @ np.cos(phases), -(shapes * np.pi * modes) @ np.sin(phases)])
    S /= np.linalg.norm(S)
    manifold = go.SymplecticStiefel(n, p)
    phi = manifold.phi

    def cost_and_gradient(V: Array) -> tuple[float, Array]:
        P = phi(V)
        E = S - V @ (P.T @ S)
        return float(np.vdot(E, E)), -2 * (E @ (S.T @ P) + phi(S @ (E.T @ V)))

    return go.Problem(
        manifold, cost_and_gradient=cost_and_gradient, nonsmooth=go.L1(mu), name="symplectic basis"
    )


def sparse_indefinite(n: int, p: int, mu: float, rng: Any = None) -> go.Problem:
    """Sparse directions of least energy in a space of signature (n/2, n/2).

        min tr(X^T H X) + mu |X|_1, X^T A X = J

    H is positive definite, A diagonal and J = diag(+-1).

    Args:
        n: The number of variables, even.
        p: The number of directions.
        mu: The weight of the sparse term.
        rng: A seed or a Generator, for H and A.

    Returns:
        The problem.
    """
    rng = np.random.default_rng(rng)
    B = rng.standard_normal((n, 20))
    signs = np.repeat([1.0, -1.0], n // 2) * rng.uniform(1, 5, n)
    manifold = go.IndefiniteStiefel(signs, np.where(np.arange(p) < p // 2, 1.0, -1.0))
    return _quadratic(manifold, B @ B.T / 20 + np.eye(n), mu, "indefinite directions")
