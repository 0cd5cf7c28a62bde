"""The largest eigenvalue of a form on S1, which is what the exactness thresholds are.

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

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from genorth.geometry.bases import symmetric_basis
from genorth.geometry.companion import Companion
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import ct

_Matrix = np.ndarray[Any, Any]
_DENSE = 12  # up to this p all p^2 products are formed at once
_ENTRIES = 2_000_000  # of the matrices of several blocks at once


def matrix_of(companion: Companion, like: _Matrix) -> _Matrix:
    """Q as a matrix, one for each block."""
    Q = np.asarray(companion.Q.left(np.eye(like.shape[-1], dtype=like.dtype)))
    return np.broadcast_to(Q, like.shape)


def over_basis(
    manifold: GenOrthManifold, image: Callable[[_Matrix], _Matrix], K: _Matrix | None = None
) -> float:
    """The largest eigenvalue of S -> image(S) on S1, in the metric <S, K S>.

    As dense matrices over an orthonormal basis of S1: for algebras G of unknown structure.
    """
    basis = symmetric_basis(manifold)
    rows = _realrows(basis)
    form = rows @ _realrows(image(basis)).T
    metric = None if K is None else rows @ _realrows(K @ basis).T
    try:
        values = scipy.linalg.eigh((form + form.T) / 2, metric, eigvals_only=True)
    except (ValueError, np.linalg.LinAlgError):
        return math.nan  # so far out on M that K overflows, or has no rank in rounding
    return float(values.max())


def over_blocks(K: _Matrix, M: _Matrix, R: _Matrix, e: int, accuracy: float) -> float:
    """The largest eigenvalue over all blocks of Y -> M Y R on {Y^T = e Y}, metric K."""
    p = K.shape[-1]
    K, M, R = (np.broadcast_to(part, K.shape).reshape(-1, 1, p, p) for part in (K, M, R))
    together = max(1, _ENTRIES // p**4) if p <= _DENSE else 1
    pieces = (slice(i, i + together) for i in range(0, len(K), together))
    return max(_over_symmetric(K[i], M[i], R[i], e, accuracy) for i in pieces)


def _over_symmetric(K: _Matrix, M: _Matrix, R: _Matrix, e: int, accuracy: float) -> float:
    """The largest eigenvalue on {Y^T = e Y}, scaled by ((k_i + k_j)/2)^(-1/2) in the basis of K.

    Blocks are stacked on the first axis, the matrices that a form is applied to on the second.
    """
    if not all(np.isfinite(T).all() for T in (K, M, R)):
        return math.nan  # so far out on M that K overflows
    k, U = np.linalg.eigh(K)
    k = np.maximum(k, np.finfo(k.dtype).eps * k[..., -1:])  # zero or less in rounding
    scale = 1 / np.sqrt((k[..., :, None] + k[..., None, :]) / 2)
    M, R = ct(U) @ M @ U, ct(U) @ R @ U

    def scaled(Z: _Matrix) -> _Matrix:
        L = M @ (scale * (Z + e * ct(Z)) / 2) @ R
        return np.asarray(scale * (L + e * ct(L)) / 2)

    return _largest_eigenvalue(scaled, K.shape[-1], K.dtype, e, accuracy)


def _largest_eigenvalue(
    form: Callable[[_Matrix], _Matrix], p: int, dtype: np.dtype[Any], e: int, accuracy: float
) -> float:
    """The largest eigenvalue on {Y^T = e Y} of self-adjoint maps of matrices, one a block.

    They are real-linear, and zero on the other matrices.
    """
    units = 2 if dtype.kind == "c" else 1
    size = units * p * p

    def dense() -> float:
        basis = np.eye(size).view(dtype).reshape(size, p, p)
        images = form(basis)
        images = images - np.linalg.norm(images) * (basis - e * ct(basis))  # below all others
        if not np.isfinite(images).all():
            return math.nan  # products of large entries have overflowed
        return float(np.linalg.eigvalsh(_realrows(images).reshape(-1, size, size)).max())

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
