"""`exactness_threshold`: the smallest beta for which a penalty function is exact at X (F8, F16).

With Theta = Theta_X(grad f), the curvature of the penalty functions normal to M at a stationary X:

    oblique      4 beta |S|^2 - 3 Re tr(S^2 Theta)     along X S^T, S in S1
    orthogonal   beta |V|^2 + <V, phi(V) Theta>        along V = phi(X) S, S in S1

So each threshold is the largest eigenvalue of a form on S1. With psi(T) = Q T Q^-1 and S = Q Y,
Y^T = e Y, the forms are <Y, e/2 (B Y Q + Q Y B)>, B = Theta Q, in the metric tr(Y^T K Y) with
K = Q^T Q, and -<Y, L Y Q^-1 Theta>, L = N^T A N, N = phi(X) Q = A X, with K = N^T N. Both are
<Y, M Y R> with two p x p matrices. In the eigenbasis of K the metric is the diagonal
(k_i + k_j)/2; scaling the entries by its root leaves a standard symmetric eigenvalue problem of two
p x p products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from genorth.errors import refuse
from genorth.geometry.companion import Companion
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.multiplier import symmetric_basis
from genorth.linalg.arrays import Array, ct, on_host
from genorth.problem.problem import Problem

_Matrix = np.ndarray[Any, Any]
_DENSE = 12  # up to this p all p^2 products are formed at once
_ACCURACY = 1e-8  # of the largest eigenvalue, relative; a penalty parameter needs no more


def exactness_threshold(problem: Problem, X: Array, dissolving: str = "oblique") -> float:
    """The exactness threshold at X.

        oblique: beta*(X) = 3/4 max(0, max over S in S1, |S| = 1, of Re tr(S^2 Theta))
        orthogonal: beta_n*(X) = max(0, -min over normal V, |V| = 1, of <V, phi(V) Theta>)

    At a stationary X on M, the Hessian of the penalty function is positive semidefinite exactly if
    hess f(X) is so on T_X M and beta is at least the threshold. It costs one gradient where X is
    not the last point of the problem.

    Args:
        problem: The problem, with a gradient.
        X: A point on M or near it; it is restored first.
        dissolving: "oblique" for `ConstraintDissolving`, "orthogonal" for `OrthogonalDissolving`.

    Returns:
        The smallest exact beta; zero where every beta > 0 is exact.

    Raises:
        ValueError: If `dissolving` is unknown.
        NotRestorableError: If X is too far from M.
    """
    if dissolving not in ("oblique", "orthogonal"):
        refuse("dissolving", "'oblique' or 'orthogonal'", repr(dissolving))
    if not isinstance(problem, Problem):
        refuse("problem", "a genorth.Problem", f"a {type(problem).__name__}")
    manifold = problem.manifold
    manifold._check(X=X)
    X = np.asarray(manifold.restore(np.asarray(X)))
    Theta = np.asarray(manifold.theta(X, problem.euclidean_gradient(X)))
    if dissolving == "orthogonal":
        return orthogonal_threshold(manifold, X, Theta)
    return multiplier_threshold(manifold, Theta)


def multiplier_threshold(manifold: GenOrthManifold, Theta: Array) -> float:
    """The oblique threshold for Theta in S1: 3/4 max(0, largest_form)."""
    return 0.75 * max(0.0, largest_form(manifold, on_host(Theta)))


def largest_form(manifold: GenOrthManifold, Theta: _Matrix) -> float:
    """max over S in S1, |S| = 1, of Re tr(S^2 Theta)."""
    companion = manifold.companion
    if companion is None:
        # Re tr(T S Theta) = <T, (S Theta)^T> for real-linear spaces
        return _over_basis(manifold, lambda basis: ct(basis @ Theta))
    if companion.trivial:
        return float(np.linalg.eigvalsh((Theta + ct(Theta)) / 2).max())
    Q, e = _matrix(companion, Theta), companion.sign
    return _over_blocks(ct(Q) @ Q, e * Theta @ Q, Q, e)


def orthogonal_threshold(
    manifold: GenOrthManifold, X: Array, Theta: Array, accuracy: float = _ACCURACY
) -> float:
    """max(0, -min over V = phi(X) S, S in S1, |V| = 1, of <V, phi(V) Theta>)."""
    companion, P = manifold.companion, manifold.phi(X)
    if companion is None:
        Theta, P = on_host(Theta), on_host(P)

        def image(basis: _Matrix) -> _Matrix:
            normal = np.stack([np.asarray(manifold.phi(P @ S)) for S in basis])
            return -ct(P) @ normal @ Theta

        return max(0.0, _over_basis(manifold, image, ct(P) @ P))
    N = companion.Q.right(P)
    L, K = on_host(ct(N) @ companion.Q.right(manifold.phi(N))), on_host(ct(N) @ N)
    R = on_host(companion.Qinv.left(Theta))
    return max(0.0, _over_blocks(K, -L, R, companion.sign, accuracy))


def _matrix(companion: Companion, like: _Matrix) -> _Matrix:
    """Q as a matrix, one for each block."""
    Q = np.asarray(companion.Q.left(np.eye(like.shape[-1], dtype=like.dtype)))
    return np.broadcast_to(Q, like.shape)


def _over_basis(
    manifold: GenOrthManifold, image: Callable[[_Matrix], _Matrix], K: _Matrix | None = None
) -> float:
    """The largest eigenvalue of S -> image(S) on S1, in the metric <S, K S>.

    As dense matrices over an orthonormal basis of S1: for algebras G of unknown structure.
    """
    basis = symmetric_basis(manifold)
    rows = _realrows(basis)
    form = rows @ _realrows(image(basis)).T
    metric = None if K is None else rows @ _realrows(K @ basis).T
    values = scipy.linalg.eigh((form + form.T) / 2, metric, eigvals_only=True)
    return float(values.max())


def _over_blocks(K: _Matrix, M: _Matrix, R: _Matrix, e: int, accuracy: float = _ACCURACY) -> float:
    """The largest eigenvalue over all blocks of Y -> M Y R on {Y^T = e Y}, metric K."""
    p = K.shape[-1]
    parts = (np.broadcast_to(part, K.shape).reshape(-1, p, p) for part in (K, M, R))
    return max(_over_symmetric(k, m, r, e, accuracy) for k, m, r in zip(*parts, strict=True))


def _over_symmetric(K: _Matrix, M: _Matrix, R: _Matrix, e: int, accuracy: float) -> float:
    """The largest eigenvalue on {Y^T = e Y}, scaled by ((k_i + k_j)/2)^(-1/2) in the basis of K."""
    k, U = np.linalg.eigh(K)
    scale = 1 / np.sqrt((k[:, None] + k[None, :]) / 2)
    M, R = ct(U) @ M @ U, ct(U) @ R @ U

    def scaled(Z: _Matrix) -> _Matrix:
        L = M @ (scale * (Z + e * ct(Z)) / 2) @ R
        return np.asarray(scale * (L + e * ct(L)) / 2)

    return _largest_eigenvalue(scaled, K.shape[-1], K.dtype, e, accuracy)


def _largest_eigenvalue(
    form: Callable[[_Matrix], _Matrix], p: int, dtype: np.dtype[Any], e: int, accuracy: float
) -> float:
    """max(0, largest eigenvalue) of a self-adjoint map of matrices, real-linear.

    Zero off {Y^T = e Y}.
    """
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
            operator, k=1, which="LA", v0=v0, tol=accuracy, return_eigenvectors=False
        )
    except scipy.sparse.linalg.ArpackNoConvergence:
        return dense()
    return float(values[0])


def _realrows(Y: _Matrix) -> _Matrix:
    """A stack of matrices as rows of real numbers."""
    Y = np.ascontiguousarray(Y)
    return Y.reshape(len(Y), -1).view(Y.real.dtype)
