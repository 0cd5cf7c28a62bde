"""The least-squares multiplier Theta_X(D) = argmin over S in S1 of |phi(X) S - D| (F5).

Three solvers, chosen by structure in `choose`, and an oracle for tests:

- `ClosedForm`            phi(X)^T phi(X) = I on M and psi = id (Stiefel, tensors): (R + R^T)/2.
- `Eigendecomposition`    psi(T) = Q T Q^-1: one symmetric eigendecomposition of N^T N, N = phi(X)
  Q.
- `ConjugateGradients`    nothing known but phi and psi: iteration on Phi(K Phi(U)) = Phi(R).
- `DenseLeastSquares`     a basis of S1, formed and solved: O(n p^5), the oracle.

Each is made once per X, which is the factorisation, and used for many right-hand sides.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from genorth.linalg.arrays import (
    Array,
    constant,
    ct,
    eps,
    inner,
    is_differentiated,
    is_lazy,
    namespace,
    norm,
    number,
    plus,
)
from genorth.linalg.functions import eigh

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold

_DERIVATIVES = 2  # of Theta_X and of Newton's map, by automatic differentiation: Hessians need two


class ThetaSolver(ABC):
    """The factorisation for Theta_X, made from the manifold, X and P = phi(X)."""

    #: What the user reads in `manifold.theta_solver.name`.
    name: ClassVar[str]

    def __init__(self, manifold: GenOrthManifold, X: Array, P: Array) -> None:
        self.manifold, self.X, self.P = manifold, X, P

    @abstractmethod
    def solve(self, T: Array, size: Any = None) -> Array:
        """The S in S1 with Phi(K S) = T, K = phi(X)^T phi(X), for T in S1.

        `size`: what T was made from is this large, so that its rounding is known (|T| by default).
        """

    def theta(self, D: Array) -> Array:
        """Theta_X(D): Phi(K S) = Phi(phi(X)^T D)."""
        R = ct(self.P) @ D
        return self.solve(self.manifold.symmetrize(R), norm(R))

    @cached_property
    def K(self) -> Array:
        """phi(X)^T phi(X)."""
        return ct(self.P) @ self.P

    @property
    def regularity(self) -> float:
        """The smallest singular value of phi(X) relative to the largest, of the worst block."""
        return _least_ratio(namespace(self.P).linalg.svdvals(self.P))

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

    def solve(self, T: Array, size: Any = None) -> Array:  # noqa: ARG002
        return T / 2


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

    @property
    def gram(self) -> Array:
        """N^T N = e Q K Q: only p x p matrices are multiplied by Q."""
        gram = self.Q.right(self.Q.left(self.K))
        return self.manifold._checked(gram if self.sign > 0 else -gram, X=self.X)

    @cached_property
    def spectrum(self) -> tuple[Array, Array, Array, float]:
        """Q U, U^T, e (l_i + l_j) for the eigenvalues l of N^T N, and smallest / largest of them.

        From the singular values of N where their squares have lost the smallest to rounding.
        """
        xp, gram = namespace(self.P), constant(self.gram)
        values, U = eigh(gram)
        ratio = math.nan if is_lazy(gram) else _least_ratio(values)
        if ratio <= gram.shape[-1] * eps(gram):
            _, s, Vt = xp.linalg.svd(constant(self.Q.right(self.P)), full_matrices=False)
            values, U, ratio = s * s, ct(Vt), _least_ratio(s) ** 2
        sums = values[..., :, None] + values[..., None, :]
        return self.Q.left(U), ct(U), sums if self.sign > 0 else -sums, ratio

    @property
    def regularity(self) -> float:
        return math.sqrt(self.spectrum[3])

    def solve(self, T: Array, size: Any = None) -> Array:  # noqa: ARG002
        """Q Y, K Y + Y K = e T Q.

        For automatic differentiation the eigenvectors are constants, as they have no derivative
        where eigenvalues meet. Each refinement makes one more derivative of Y exact.
        """
        QU, Ut, sums, _ = self.spectrum
        S = QU @ ((Ut @ T @ QU) / sums) @ Ut
        followed = is_differentiated(T) or is_differentiated(self.K)
        for _ in range(_DERIVATIVES if followed else 0):
            residual = T - self.manifold.symmetrize(self.K @ S)
            S = S + QU @ ((Ut @ residual @ QU) / sums) @ Ut
        return S

    def theta(self, D: Array) -> Array:
        """Without psi: U^T (e Phi(R) Q) U = W + e W^T, W = (Q U)^T R U, R = phi(X)^T D."""
        if is_differentiated(D) or is_differentiated(self.P):
            return super().theta(D)
        QU, Ut, sums, _ = self.spectrum
        W = ct(QU) @ (ct(self.P) @ D) @ ct(Ut)
        return QU @ ((ct(W) + W if self.sign > 0 else ct(W) - W) / sums) @ Ut


@final
class ConjugateGradients(ThetaSolver):
    """S = Phi(U) with Phi(K Phi(U)) = T: consistent, self-adjoint, positive semidefinite on G.

        Phi(K Phi(T)) = Phi(R), K = phi(X)^T phi(X), R = phi(X)^T D

    The equation is consistent. Started from zero, the iterates stay in the range of the operator
    and end at the unique S in S1.
    """

    name = "conjugate gradients"

    def solve(self, T: Array, size: Any = None) -> Array:
        if is_lazy(T):
            raise NotImplementedError(
                "Theta_X by conjugate gradients looks at values and cannot run under JAX; "
                "pass companion= (Q with psi(T) = Q T Q^-1) to from_maps"
            )
        Phi = self.manifold.symmetrize
        T = Phi(ct(T)) / 2  # without rounding in T that is outside of S1, the range of Phi
        residual = direction = T
        U, rho, unit = namespace(T).zeros_like(T), float(inner(T, T)), eps(T)
        if not math.isfinite(rho):
            return T * math.nan  # as in the other ways, what is not finite reaches the result
        # T = Phi(R) cancels what of R is in the kernel of Phi, so the residual means nothing below
        # the rounding of R.
        goal = (4 * unit * (math.sqrt(rho) if size is None else float(size))) ** 2
        flat = 10 * unit * float(norm(self.K))
        for _ in range(4 * math.prod(T.shape)):
            if not rho > goal:
                break
            image = Phi(self.K @ Phi(direction))
            curvature = float(inner(direction, image))
            if not curvature > flat * float(inner(direction, direction)):
                break  # rounding has turned the direction into the kernel of Phi
            step = rho / curvature
            U = U + step * direction
            residual = residual - step * image
            before, rho = rho, float(inner(residual, residual))
            direction = residual + (rho / before) * direction
        return Phi(U)


@final
class DenseLeastSquares(ThetaSolver):
    """The definition itself, over an orthonormal basis of S1; for tests and small p (NumPy)."""

    name = "dense least squares"

    def theta(self, D: Array) -> Array:
        basis = symmetric_basis(self.manifold)
        images = np.stack([realvec(self.P @ S) for S in basis], axis=1)
        weights = np.linalg.lstsq(images, realvec(D), rcond=None)[0]
        return np.tensordot(weights, basis, axes=1)

    def solve(self, T: Array, size: Any = None) -> Array:  # noqa: ARG002
        """By the same least squares: |phi(X) S - D| is smallest where D = phi(X) K^-1 T^T/2."""
        return self.theta(self.P @ np.linalg.solve(self.K, ct(T) / 2))


def choose(manifold: GenOrthManifold, on_manifold: bool = True) -> type[ThetaSolver]:
    """The cheapest way that the structure facts allow, for points of M or for any X."""
    if manifold.isometric and on_manifold:
        return ClosedForm
    return ConjugateGradients if manifold.companion is None else Eigendecomposition


def _least_ratio(values: Array) -> float:
    """The smallest of sorted values relative to the largest, of the worst block."""
    if values.ndim > 1:
        xp, ends = namespace(values), (values[..., 0], values[..., -1])
        least, most = xp.minimum(*ends), xp.maximum(*ends)
        positive = most > 0
        return number(xp.min(xp.where(positive, least / xp.where(positive, most, 1.0), 0.0)))
    ends = number(values[0]), number(values[-1])
    return min(ends) / max(ends) if max(ends) > 0 else 0.0


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
