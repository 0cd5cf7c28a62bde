"""The geometry as the paper ran it: a Lyapunov solver for Theta, n x n Cayley transforms, (t-)QR.

The retraction is what the literature uses on the manifold: QR with a positive diagonal of R on the
Stiefel manifold and, block by block, on the tensor one; Cholesky-QR where X^T B X = I with a
definite B; everywhere else the Cayley transform with an n x n solve.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import final

import numpy as np
import scipy.linalg

from baselines.geometry.base import Place, Ray
from genorth.errors import OutsideDomainError
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array, ct

_LARGEST = 4e9  # bytes of an n x n matrix


def unsupported(manifold: GenOrthManifold) -> str | None:
    """Why this geometry cannot run on the manifold; None where it can."""
    companion = manifold.companion
    if manifold.isometric:
        return None
    if companion is None:
        return "psi is not known to be T -> Q T Q^-1: there is no Lyapunov equation for Theta"
    if len(manifold.shape) > 2:
        return "solve_continuous_lyapunov takes single matrices, and points here are blocks"
    size = manifold.dtype.itemsize * manifold.shape[0] ** 2
    if not _compact(manifold) and size > _LARGEST:
        return f"its Cayley transform forms an n x n matrix, of {size / 1e9:.3g} GB here"
    return None


def places(manifold: GenOrthManifold) -> Callable[[Array], Place]:
    """X -> the Place of X; phi(X) = A X Q^-1 with A as an n x n array, where the paper forms it."""
    phi, form, companion = manifold.phi, manifold.form, manifold.companion
    dense = not manifold.isometric and not _compact(manifold)
    if dense and form is not None and companion is not None:
        A = np.asarray(form.left(np.eye(form.size, dtype=form.dtype)))

        def phi(X: Array) -> Array:
            return companion.Qinv.right(A @ X)

    return lambda X: Faithful(manifold, X, phi)


@final
class Faithful(Place):
    """Theta by `scipy.linalg.solve_continuous_lyapunov`; QR, Cholesky-QR or dense Cayley."""

    def __init__(self, manifold: GenOrthManifold, X: Array, phi: Callable[[Array], Array]) -> None:
        super().__init__(manifold, X)
        self._phi = phi

    @cached_property
    def P(self) -> Array:
        """phi(X)."""
        return self._phi(self.X)

    def gradient(self, G: Array) -> tuple[Array, Array]:
        """P_X(G), twice."""
        d = self.transport(G)
        return d, d

    def transport(self, V: Array) -> Array:
        """P_X(V) = V - phi(X) Theta_X(V)."""
        return V - self.P @ self.theta(V)

    def theta(self, D: Array) -> Array:
        """(X^T D + D^T X)/2 where that is it, else Q Y, K Y + Y K = N^T D + e D^T N, K = N^T N."""
        if self.manifold.isometric:
            R = ct(self.X) @ D
            return (R + ct(R)) / 2
        companion = self.manifold.companion
        assert companion is not None
        N = companion.Q.right(self.P)
        R = ct(N) @ D
        Y = scipy.linalg.solve_continuous_lyapunov(ct(N) @ N, R + companion.sign * ct(R))
        return companion.Q.left(Y)

    def ray(self, Z: Array) -> Ray:
        """By QR, Cholesky-QR or the dense Cayley transform, each step anew."""
        X = self.X
        if self.manifold.isometric:
            return _PaperRay(lambda t: qr_retraction(X, t * Z), True)
        if _compact(self.manifold):
            return _PaperRay(lambda t: cholesky_qr(self._phi, X, t * Z), True)
        return _PaperRay(lambda t: dense_cayley(self._phi, X, self.P, t * Z), False)


@final
class _PaperRay(Ray):
    """A retraction of the literature; its velocity is not used."""

    kind = "faithful"

    def __init__(self, step: Callable[[float], Array], trusted: bool) -> None:
        self._step, self._trusted = step, trusted

    def point(self, t: float) -> tuple[Array, bool]:
        """c(t)."""
        return self._step(t), self._trusted


def _compact(manifold: GenOrthManifold) -> bool:
    """X^T B X = I with B positive definite."""
    return manifold.definite and manifold.companion is not None and manifold.companion.trivial


def qr_retraction(X: Array, Z: Array) -> Array:
    """The factor Q of X + Z = Q R with a positive diagonal of R, in every block."""
    Q, R = np.linalg.qr(X + Z)
    diagonal = np.einsum("...ii->...i", R)
    size = np.abs(diagonal)
    if not np.all(size > 0):
        raise OutsideDomainError("X + Z has dependent columns: its QR gives no point of M")
    return np.asarray(Q * (diagonal / size)[..., None, :])


def cholesky_qr(phi: Callable[[Array], Array], X: Array, Z: Array) -> Array:
    """Y R^-1, Y = X + Z, with the Cholesky factor Y^T B Y = R^T R."""
    Y = X + Z
    try:
        R = np.linalg.cholesky(ct(Y) @ phi(Y), upper=True)
    except np.linalg.LinAlgError:
        message = "X + Z has dependent columns: Y^T B Y has no Cholesky factor"
        raise OutsideDomainError(message) from None
    return np.asarray(scipy.linalg.solve_triangular(R, ct(Y), trans="C", lower=False).conj().T)


def dense_cayley(phi: Callable[[Array], Array], X: Array, P: Array, Z: Array) -> Array:
    """(I - Omega/2)^-1 (I + Omega/2) X, Omega = G P^T - X phi(G)^T of size n x n, P = phi(X).

    G = Z - X P^T Z/2. As the formula stands, but with NumPy's solver: that of SciPy first looks for
    structure that is not there.
    """
    G = Z - X @ (ct(P) @ Z) / 2
    half = (G @ ct(P) - X @ ct(phi(G))) / 2
    eye = np.eye(X.shape[0])
    try:
        return np.linalg.solve(eye - half, (eye + half) @ X)
    except np.linalg.LinAlgError:
        raise OutsideDomainError("I - Omega/2 of the Cayley transform is singular") from None
