"""The least-squares multiplier Theta_X(D) = argmin over S in S1 of |phi(X) S - D| (F5).

Three solvers, chosen by structure in `choose`, and an oracle for tests:

- `ClosedForm`: phi(X)^T phi(X) = I on M and psi = id (Stiefel, tensors). Theta = (R + R^T)/2.
- `Eigendecomposition`: psi(T) = Q T Q^-1. One symmetric eigendecomposition of N^T N, N = phi(X) Q.
- `ConjugateGradients`: nothing known but phi and psi. Iterates on Phi(K Phi(T)) = Phi(R).
- `DenseLeastSquares`: the oracle. Forms a basis of S1 and solves, in O(n p^5).

Each is made once per X, which is the factorisation, and used for many right-hand sides.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from genorth.linalg.arrays import Array, ct, eps, inner, is_lazy, namespace, norm, plus

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold


class ThetaSolver(ABC):
    """The factorisation for Theta_X, made from the manifold, X and P = phi(X)."""

    #: What the user reads in `manifold.theta_solver.name`.
    name: ClassVar[str]

    def __init__(self, manifold: GenOrthManifold, X: Array, P: Array) -> None:
        self.manifold, self.X, self.P = manifold, X, P

    @abstractmethod
    def theta(self, D: Array) -> Array:
        """The multiplier Theta_X(D).

        Args:
            D: An element of F.

        Returns:
            Theta_X(D), a p x p matrix in S1.
        """

    def project(self, D: Array) -> Array:
        """The projection D - phi(X) Theta_X(D), which removes the normal part of D.

        Args:
            D: An element of F.

        Returns:
            A tangent vector.
        """
        return plus(self.P @ -self.theta(D), D)


@final
class ClosedForm(ThetaSolver):
    """The closed form, for psi = id.

        Theta = (R + R^T)/2, R = phi(X)^T D

    It needs phi(X)^T phi(X) = I, and so an X on M.
    """

    name = "closed form"

    def theta(self, D: Array) -> Array:
        R = ct(self.P) @ D
        return (R + ct(R)) / 2


@final
class Eigendecomposition(ThetaSolver):
    """The solution by a symmetric eigendecomposition of K = N^T N, N = phi(X) Q.

        K Y + Y K = N^T D + e D^T N, Theta = Q Y, Y^T = e Y

    In the eigenbasis, K = U diag(l) U^T, entry (i, j) of the right-hand side is divided by l_i +
    l_j.
    """

    name = "eigendecomposition"

    def __init__(self, manifold: GenOrthManifold, X: Array, P: Array) -> None:
        super().__init__(manifold, X, P)
        companion = manifold.companion
        assert companion is not None
        self.Q, self.sign = companion.Q, companion.sign
        self.N = self.Q.right(P)

    @cached_property
    def spectrum(self) -> tuple[Array, Array, Array]:
        """U, U^T and the sums l_i + l_j of the eigenvalues of N^T N."""
        K = self.manifold._checked(ct(self.N) @ self.N, X=self.X)
        values, U = namespace(K).linalg.eigh(K)
        return U, ct(U), values[..., :, None] + values[..., None, :]

    def _half(self, D: Array) -> Array:
        U, Ut, sums = self.spectrum
        R = ct(self.N) @ D
        rotated = Ut @ (R + ct(R) if self.sign > 0 else R - ct(R)) @ U
        return U @ (rotated / sums) @ Ut

    def theta(self, D: Array) -> Array:
        return self.Q.left(self._half(D))

    def project(self, D: Array) -> Array:
        return plus(self.N @ -self._half(D), D)


@final
class ConjugateGradients(ThetaSolver):
    """The solution S = Phi(T) by conjugate gradients; the operator is positive semidefinite on G.

        Phi(K Phi(T)) = Phi(R), K = phi(X)^T phi(X), R = phi(X)^T D

    The equation is consistent. Started from zero, the iterates stay in the range of the operator
    and end at the unique S in S1.
    """

    name = "conjugate gradients"

    @cached_property
    def gram(self) -> Array:
        """The Gram matrix K = phi(X)^T phi(X)."""
        return ct(self.P) @ self.P

    def theta(self, D: Array) -> Array:
        if is_lazy(D):
            raise NotImplementedError(
                "Theta_X by conjugate gradients looks at values and cannot run under JAX; "
                "pass companion= (Q with psi(T) = Q T Q^-1) to from_maps"
            )
        Phi, R = self.manifold.symmetrize, ct(self.P) @ D
        residual = direction = Phi(R)
        T, rho, unit = namespace(R).zeros_like(R), float(inner(residual, residual)), eps(R)
        if not math.isfinite(rho):
            return R * math.nan  # as in the other ways, what is not finite reaches the result
        # Phi cancels what of R is in its kernel, so the residual means nothing below the rounding
        # of R.
        goal, flat = float(inner(R, R)) * (4 * unit) ** 2, 10 * unit * float(norm(self.gram))
        for _ in range(4 * math.prod(R.shape)):
            if not rho > goal:
                break
            image = Phi(self.gram @ Phi(direction))
            curvature = float(inner(direction, image))
            if not curvature > flat * float(inner(direction, direction)):
                break  # rounding has turned the direction into the kernel of Phi
            step = rho / curvature
            T = T + step * direction
            residual = residual - step * image
            before, rho = rho, float(inner(residual, residual))
            direction = residual + (rho / before) * direction
        return Phi(T)


@final
class DenseLeastSquares(ThetaSolver):
    """The definition itself, over an orthonormal basis of S1; for tests and small p (NumPy)."""

    name = "dense least squares"

    def theta(self, D: Array) -> Array:
        basis = symmetric_basis(self.manifold)
        images = np.stack([realvec(self.P @ S) for S in basis], axis=1)
        weights = np.linalg.lstsq(images, realvec(D), rcond=None)[0]
        return np.tensordot(weights, basis, axes=1)


def choose(manifold: GenOrthManifold) -> type[ThetaSolver]:
    """The cheapest solver that the structure of the manifold allows.

    Args:
        manifold: The manifold.

    Returns:
        The class of the solver.
    """
    if manifold.isometric:
        return ClosedForm
    return ConjugateGradients if manifold.companion is None else Eigendecomposition


def realvec(X: Array) -> np.ndarray[Any, Any]:
    """The entries of X as a real vector with the same inner product.

    Args:
        X: An array.

    Returns:
        A real vector.
    """
    X = np.ascontiguousarray(X).ravel()
    return X.view(X.real.dtype) if X.dtype.kind == "c" else X


def _range_basis(samples: list[Array]) -> np.ndarray[Any, Any]:
    """An orthonormal basis (over the reals) of the span of the samples, stacked on axis 0."""
    shape, dtype = samples[0].shape, samples[0].dtype
    _, s, Vt = np.linalg.svd(np.stack([realvec(S) for S in samples]), full_matrices=False)
    rank = int((s > 1e-10 * s[0]).sum()) if s[0] > 0 else 0
    rows = np.ascontiguousarray(Vt[:rank])
    return (rows.view(dtype) if np.dtype(dtype).kind == "c" else rows).reshape(rank, *shape)


def algebra_basis(manifold: GenOrthManifold) -> np.ndarray[Any, Any]:
    """An orthonormal basis of G = span of X1^T X2, found from random products; for small p.

    Args:
        manifold: The manifold.

    Returns:
        The basis, stacked on axis 0.
    """
    rng = np.random.default_rng(0)
    shape = (*manifold.shape[:-2], manifold.shape[-1], manifold.shape[-1])
    most = math.prod(shape) * (2 if manifold.dtype.kind == "c" else 1)
    draw = manifold.random_ambient
    return _range_basis([ct(draw(rng)) @ draw(rng) for _ in range(most + 5)])


def symmetric_basis(manifold: GenOrthManifold) -> np.ndarray[Any, Any]:
    """An orthonormal basis of S1, the range of Phi on G; for small p.

    Args:
        manifold: The manifold.

    Returns:
        The basis, stacked on axis 0.
    """
    return _range_basis([np.asarray(manifold.symmetrize(T)) for T in algebra_basis(manifold)])
