"""`exactness_threshold`: the smallest beta for which h is an exact penalty at X (F8).

beta*(X) = 3/4 max over S in S1, |S| = 1, of Re tr(S^2 Theta), Theta = Theta_X(grad f): an
eigenvalue problem on S1.

With psi(T) = Q T Q^-1 and S = Q Y, Y^T = e Y: Re tr(S^2 Theta) = <Y, L(Y)>, L(Y) = e/2 (B Y Q + Q Y
B), B = Theta Q, and |S|^2 = tr(Y^T K Y), K = Q^T Q. In the eigenbasis of K this metric is the
diagonal (k_i + k_j)/2, and scaling the entries by its root leaves a standard symmetric eigenvalue
problem with p x p products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg

from genorth.geometry.companion import Companion
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.multiplier import symmetric_basis
from genorth.linalg.arrays import Array, ct
from genorth.problem.problem import Problem

_Matrix = np.ndarray[Any, Any]
_DENSE = 12  # up to this p all p^2 products are formed at once
_ACCURACY = 1e-8  # of the largest eigenvalue, relative; a penalty parameter needs no more


def exactness_threshold(problem: Problem, X: Array) -> float:
    """beta*(X) = 3/4 max(0, max over S in S1, |S| = 1, of Re tr(S^2 Theta_X(grad f))).

    At a stationary X on M, hess h(X) is positive semidefinite exactly if hess f(X) is so on T_X M
    and beta >= beta*(X). It costs one gradient where X is not the last point of the problem.

    Args:
        problem: The problem.
        X: A point near M, which is restored.

    Returns:
        beta*(X).

    Raises:
        NotRestorableError: If X is too far from M.
    """
    manifold = problem.manifold
    X = np.asarray(manifold.restore(np.asarray(X)))
    return multiplier_threshold(
        manifold, np.asarray(manifold.theta(X, problem.euclidean_gradient(X)))
    )


def multiplier_threshold(manifold: GenOrthManifold, Theta: Array) -> float:
    """3/4 max(0, max over S in S1, |S| = 1, of Re tr(S^2 Theta)), for Theta in S1."""
    return 0.75 * max(0.0, largest_form(manifold, np.asarray(Theta)))


def largest_form(manifold: GenOrthManifold, Theta: _Matrix) -> float:
    """max over S in S1, |S| = 1, of Re tr(S^2 Theta)."""
    companion = manifold.companion
    if companion is None:
        return _over_basis(manifold, Theta)
    if companion.trivial:
        return float(np.linalg.eigvalsh((Theta + ct(Theta)) / 2).max())
    Q = np.asarray(companion.Q.left(np.eye(Theta.shape[-1], dtype=Theta.dtype)))
    blocks = Theta.reshape(-1, *Theta.shape[-2:])
    Qs = np.broadcast_to(Q, Theta.shape).reshape(blocks.shape)
    return max(_over_symmetric(q, block, companion) for q, block in zip(Qs, blocks, strict=True))


def _over_basis(manifold: GenOrthManifold, Theta: _Matrix) -> float:
    """The form as a dense matrix over an orthonormal basis of S1, for any algebra G."""
    basis = symmetric_basis(manifold)
    flat = basis.reshape(len(basis), -1)
    # Re tr(T S Theta) = <T, (S Theta)^T> for real-linear spaces
    images = ct(basis @ Theta).reshape(len(basis), -1)
    form = (flat @ images.conj().T).real
    return float(np.linalg.eigvalsh((form + form.T) / 2).max())


def _over_symmetric(Q: _Matrix, Theta: _Matrix, companion: Companion) -> float:
    """The form over {Y : Y^T = e Y}, in the eigenbasis of K, scaled by ((k_i + k_j)/2)^(-1/2)."""
    k, U = np.linalg.eigh(ct(Q) @ Q)
    Q, B, e = ct(U) @ Q @ U, ct(U) @ (Theta @ Q) @ U, companion.sign
    scale = 1 / np.sqrt((k[:, None] + k[None, :]) / 2)

    def form(Z: _Matrix) -> _Matrix:
        Z = (Z + e * ct(Z)) / 2
        L = B @ (scale * Z) @ Q
        return np.asarray(scale * (e * L + ct(L)) / 2)

    return _largest_eigenvalue(form, Theta.shape[-1], Theta.dtype, e)


def _largest_eigenvalue(
    form: Callable[[_Matrix], _Matrix], p: int, dtype: np.dtype[Any], e: int
) -> float:
    """max(0, largest eigenvalue) of a self-adjoint map of matrices that is 0 off {Y^T = e Y}."""
    units = 2 if dtype.kind == "c" else 1
    size = units * p * p

    def dense() -> float:
        basis = np.eye(size).view(dtype).reshape(size, p, p)
        return float(np.linalg.eigvalsh(_realrows(form(basis))).max())

    def product(v: _Matrix) -> _Matrix:
        return np.asarray(_realrows(form(np.ascontiguousarray(v).view(dtype).reshape(1, p, p)))[0])

    if p <= _DENSE:
        return dense()
    start = np.random.default_rng(0).standard_normal((p, units * p)).view(dtype)
    v0 = _realrows((start + e * ct(start))[None])[0]
    operator = scipy.sparse.linalg.LinearOperator((size, size), matvec=product, dtype=float)
    try:
        values = scipy.sparse.linalg.eigsh(
            operator, k=1, which="LA", v0=v0, tol=_ACCURACY, return_eigenvectors=False
        )
    except scipy.sparse.linalg.ArpackNoConvergence:
        return dense()
    return float(values[0])


def _realrows(Y: _Matrix) -> _Matrix:
    """A stack of matrices as rows of real numbers."""
    Y = np.ascontiguousarray(Y)
    return Y.reshape(len(Y), -1).view(Y.real.dtype)
