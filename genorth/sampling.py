"""Random points of M, from phi and Q alone.

Definite forms: a Gaussian Y, made orthonormal for the form by its polar factor. All others: by F13,
phi(X) Q = A X with one n x n matrix A, symmetric or skew as Q is. A random subspace Y of about twice
the dimension is drawn, the small matrix Y^T A Y and Q are both brought to canonical form, and the best
directions of Y are mixed by a random element of the compact group; as M is then unbounded, a
random step of the exponential retraction moves the point along the unbounded directions too.
No n x n array is formed, unless n <= 2p, where it is of the size of X.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from genorth._array import ct
from genorth.errors import EmptyManifoldError, OutsideDomainError
from genorth.operators import extreme_eigenpairs, refuse_signature
from genorth.retraction import polar_factor, step_size

if TYPE_CHECKING:
    from genorth.companion import Companion
    from genorth.manifold import GenOrthManifold

_Matrix = np.ndarray[Any, Any]
_DRAWS = 50  # of Gaussian matrices, before a form of unknown structure is said to have no point


def random_point(manifold: GenOrthManifold, rng: np.random.Generator) -> _Matrix:
    """A point of M that spreads over M; raises `EmptyManifoldError` where M has none."""
    companion = manifold.companion
    if manifold.definite or companion is None or manifold.ambient_projector is not None:
        X = _by_polar_factor(manifold, rng)
    else:
        X = _by_canonical_form(manifold, companion, rng)
    if not manifold.definite:
        X = random_walk(manifold, X, rng)
    return np.asarray(manifold.restore(X))


def random_walk(manifold: GenOrthManifold, X: _Matrix, rng: np.random.Generator) -> _Matrix:
    """A random step of the exponential retraction; the size of the exponent is normally distributed."""
    Z = np.asarray(manifold.random_tangent(X, rng))
    size = step_size(manifold, X, Z)
    return np.asarray(manifold.retract(X, Z * (rng.standard_normal() / size), kind="exp")) if size > 0 else X


def _by_polar_factor(manifold: GenOrthManifold, rng: np.random.Generator) -> _Matrix:
    reason: Exception | None = None
    for _ in range(_DRAWS):
        try:
            return np.asarray(polar_factor(manifold, manifold.random_ambient(rng)))
        except OutsideDomainError as error:
            reason = error
    raise EmptyManifoldError(
        f"{manifold}: no X with X^T phi(X) = I was found in {_DRAWS} random draws; the last one failed with: {reason} "
        "Is phi positive definite? If M is not empty, pass point= to from_maps."
    )


def _by_canonical_form(manifold: GenOrthManifold, companion: Companion, rng: np.random.Generator) -> _Matrix:
    *batch, n, p = manifold.shape
    right, plus, minus = _canonical(_matrix(companion, tuple(batch)), companion.sign)
    right = _mix(right, plus, minus, companion.sign, rng)
    m = min(n, 2 * p)
    Y = np.linalg.qr(_gaussian((*batch, n, m), manifold.dtype, rng))[0]
    for last in (m == n, True):
        G = ct(Y) @ _columns(manifold, companion, Y)
        left = _select(G, plus, minus, companion.sign)
        if left is not None:
            return Y @ (left @ right)
        if not last:
            Y = _with_extreme_directions(manifold, companion, Y, plus, minus, rng)
    values = np.linalg.eigvalsh(G if companion.sign > 0 else 1j * G)
    refuse_signature("A", "Q of X^T A X = Q", (int((values > 0).sum(-1).min()), int((values < 0).sum(-1).min())), (plus, minus))


def _matrix(companion: Companion, batch: tuple[int, ...]) -> _Matrix:
    eye = np.eye(companion.Q.size, dtype=companion.Q.dtype)
    return np.broadcast_to(np.asarray(companion.Q.left(eye)), (*batch, *eye.shape))


def _gaussian(shape: tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> _Matrix:
    G = rng.standard_normal(shape)
    return (G + 1j * rng.standard_normal(shape) if dtype.kind == "c" else G).astype(dtype)


def _columns(manifold: GenOrthManifold, companion: Companion, Y: _Matrix) -> _Matrix:
    """A Y = phi(Y) Q for any number of columns, p at a time."""
    p = manifold.shape[-1]
    pieces = []
    for start in range(0, Y.shape[-1], p):
        piece = Y[..., start : start + p]
        width = piece.shape[-1]
        if width < p:
            piece = np.concatenate([piece, np.zeros((*Y.shape[:-1], p - width), Y.dtype)], axis=-1)
        pieces.append(np.asarray(companion.Q.right(manifold.phi(piece)))[..., :width])
    return np.concatenate(pieces, axis=-1)


def _eigh(K: _Matrix, sign: int) -> tuple[_Matrix, _Matrix]:
    return np.linalg.eigh((K + ct(K)) / 2 if sign > 0 else 0.5j * (K - ct(K)))


def _canonical(Q: _Matrix, sign: int) -> tuple[_Matrix, int, int]:
    """R and the counts (plus, minus), with Q = R^T S R, S = diag(I, -I) or (skew Q) S = J."""
    values, V = _eigh(Q, sign)
    plus = int((values > 0).sum(-1).flat[0])
    minus = Q.shape[-1] - plus
    order = np.concatenate([np.arange(minus, plus + minus), np.arange(minus)])  # positive first
    values, V = np.sqrt(np.abs(values[..., order])), V[..., order]
    if sign < 0:
        V, values = _real_pairs(V[..., :plus]), np.concatenate([values[..., :plus]] * 2, axis=-1)
    return values[..., :, None] * ct(V), plus, minus


def _real_pairs(V: _Matrix) -> _Matrix:
    """[b, a] for eigenvectors (a + ib)/sqrt(2) of iK with eigenvalue s > 0: [b, a]^T K [b, a] = s J."""
    return np.sqrt(2) * np.concatenate([V.imag, V.real], axis=-1)


def _select(G: _Matrix, plus: int, minus: int, sign: int) -> _Matrix | None:
    """L with L^T G L = S from the `plus` largest and `minus` smallest eigenvalues, if they have these signs."""
    values, W = _eigh(G, sign)
    m = G.shape[-1]
    top = np.arange(m - 1, m - 1 - plus, -1)
    order = top if sign < 0 else np.concatenate([top, np.arange(minus)])
    signs = np.ones(plus) if sign < 0 else np.concatenate([np.ones(plus), -np.ones(minus)])
    chosen, bound = values[..., order] * signs, m * np.finfo(G.dtype).eps * np.abs(values).max()
    if not np.all(chosen > bound):
        return None
    W, root = W[..., order], 1 / np.sqrt(chosen)
    if sign < 0:
        W, root = _real_pairs(W), np.concatenate([root, root], axis=-1)
    return W * root[..., None, :]


def _mix(right: _Matrix, plus: int, minus: int, sign: int, rng: np.random.Generator) -> _Matrix:
    """B R with a random B of the compact group of S: O(plus) x O(minus), or (skew) U(plus)."""
    batch, kind = right.shape[:-2], np.dtype(complex) if sign < 0 else right.dtype
    parts = [np.linalg.qr(_gaussian((*batch, k, k), kind, rng))[0] for k in ((plus,) if sign < 0 else (plus, minus))]
    if sign < 0:
        c, s = parts[0].real, parts[0].imag
        return np.concatenate([np.concatenate([c, s], -1), np.concatenate([-s, c], -1)], -2) @ right
    return np.concatenate([parts[0] @ right[..., :plus, :], parts[1] @ right[..., plus:, :]], axis=-2)


def _with_extreme_directions(
    manifold: GenOrthManifold, companion: Companion, Y: _Matrix, plus: int, minus: int, rng: np.random.Generator
) -> _Matrix:
    """The subspace Y, enlarged by Ritz vectors of the wanted signs (symmetric A, one block)."""
    *batch, n, p = manifold.shape
    if companion.sign < 0 or batch:
        return np.linalg.qr(_gaussian((*batch, n, min(n, 4 * p)), manifold.dtype, rng))[0]
    parts = [Y]
    for k, which in ((plus, "LA"), (minus, "SA")):
        if k:
            parts.append(
                extreme_eigenpairs(
                    lambda v: _columns(manifold, companion, v.reshape(n, 1))[:, 0], n, manifold.dtype, min(k, n - 2), which, rng
                )[1]
            )
    return np.linalg.qr(np.concatenate(parts, axis=1))[0]
