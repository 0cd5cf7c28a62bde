"""The geometry as the paper ran it: a Lyapunov solver for Theta, n x n Cayley transforms, (t-)QR.

The retraction is what the literature uses on the manifold: QR with a positive diagonal of R on the
Stiefel manifold and, block by block, on the tensor one; Cholesky-QR where X^T B X = I with a
definite B; everywhere else the Cayley transform with an n x n solve.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any, final

import numpy as np
import scipy.linalg

from genorth.errors import OutsideDomainError
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.place import Place
from genorth.geometry.product import Blockwise
from genorth.geometry.retractions import Ray
from genorth.linalg.arrays import Array, ct

_LARGEST = 4e9  # bytes of an n x n matrix


def unsupported(manifold: GenOrthManifold | Blockwise) -> str | None:
    """Why this geometry cannot run on the manifold; None where it can."""
    if not isinstance(manifold, GenOrthManifold):
        return "the paper's geometry is that of one variable, and this is a product"
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


def dense_phi(manifold: GenOrthManifold) -> Callable[[Array], Array]:
    """phi(X) = A X Q^-1 with A as an n x n array, where the paper forms it."""
    form, companion = manifold.form, manifold.companion
    if manifold.isometric or _compact(manifold) or form is None or companion is None:
        return manifold.phi
    A = form.matrix()
    return lambda X: companion.Qinv.right(A @ X)


@final
class PaperPlace(Place):
    """Theta by `scipy.linalg.solve_continuous_lyapunov`, in the frame N = phi(X) Q.

    Args:
        manifold: The manifold.
        X: A point of M.
        phi: phi, as the paper computes it.
    """

    name = "Lyapunov solver"

    def __init__(self, manifold: GenOrthManifold, X: Array, phi: Callable[[Array], Array]) -> None:
        super().__init__(manifold, X)
        assert manifold.companion is not None
        self.phi, self._Q = phi, manifold.companion

    @cached_property
    def P(self) -> Array:
        """phi(X)."""
        return self.phi(self.X)

    @cached_property
    def N(self) -> Array:
        """phi(X) Q."""
        return self._Q.Q.right(self.P)

    def image(self, Z: Array) -> Array:
        """phi(Z) Q."""
        return self._Q.Q.right(self.phi(Z))

    def theta_of(self, T: Array) -> Array:
        """Theta = Q Y."""
        return self._Q.Q.left(T)

    def form(self, R: Array) -> Array:
        """phi(X)^T Z = e Q^-1 N^T Z."""
        return self._Q.sign * self._Q.Qinv.left(R)

    def coefficients(self, R: Array) -> Array:
        """(R + R^T)/2 where that is it, else Y, K Y + Y K = R + e R^T."""
        if self.manifold.isometric:
            return (R + ct(R)) / 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # K may be singular to rounding
            return scipy.linalg.solve_continuous_lyapunov(self.K, R + self._Q.sign * ct(R))

    def solve(self, T: Array, size: Any = None) -> Array:
        """Not needed: the paper has no Newton step."""
        raise NotImplementedError


@final
class PaperRay(Ray):
    """QR, Cholesky-QR or the dense Cayley transform, each step anew.

    The paper carries directions by projection, which stands for the velocity.
    """

    kind = "paper"
    #: The place at the end of the last step.
    end: Place | None = None

    def __init__(self, place: PaperPlace, Z: Array) -> None:
        super().__init__(place, Z)
        self._phi, self._P = place.phi, place.P
        self.trusted = self.manifold.isometric or _compact(self.manifold)

    def point(self, t: float) -> Array:
        """The retraction of the literature."""
        if self.manifold.isometric:
            return qr_retraction(self.X, t * self.Z)
        if _compact(self.manifold):
            return cholesky_qr(self._phi, self.X, t * self.Z)
        return dense_cayley(self._phi, self.X, self._P, t * self.Z)

    def velocity(self, t: float) -> Array:  # noqa: ARG002
        """Z, projected at the end of the step."""
        assert self.end is not None
        return self.end.project(self.Z)


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
