"""`TangentSpace`: what the geometry needs at one X, computed once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from genorth.geometry import multiplier
from genorth.geometry.multiplier import ThetaSolver
from genorth.linalg.arrays import Array, norm, number, plus
from genorth.linalg.cache import ContentCache

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold


class TangentSpace:
    """The tangent space at X: phi(X) and the factorisation for Theta_X, each computed once.

    Made by `manifold.at(X)`.
    """

    def __init__(self, manifold: GenOrthManifold, X: Array, P: Array | None = None) -> None:
        self.manifold, self.X = manifold, X
        self._multiplier = ContentCache()
        if P is not None:
            self.P = P

    @cached_property
    def P(self) -> Array:
        """The image phi(X)."""
        return self.manifold.phi(self.X)

    @cached_property
    def solver(self) -> ThetaSolver:
        """The factorisation for Theta_X."""
        return self.manifold.theta_solver(self.manifold, self.X, self.P)

    @cached_property
    def equation(self) -> ThetaSolver:
        """The factorisation of S -> Phi(K S) on S1, on M and off M."""
        general = multiplier.choose(self.manifold, on_manifold=False)
        if general is self.manifold.theta_solver:
            return self.solver
        return general(self.manifold, self.X, self.P)

    @cached_property
    def size(self) -> float:
        """max(1, |X| |phi(X)|), what |C(X)| is relative to."""
        return max(1.0, number(norm(self.X) * norm(self.P)))

    def theta(self, D: Array) -> Array:
        """The least-squares multiplier.

            Theta_X(D) = argmin over S in S1 of |phi(X) S - D|

        Args:
            D: An element of F.

        Returns:
            Theta_X(D), a p x p matrix in S1.
        """
        return self.solver.theta(D)

    def project(self, D: Array) -> Array:
        """The orthogonal projection onto T_X M.

            P_X(D) = D - phi(X) Theta_X(D)

        Args:
            D: An element of F.

        Returns:
            P_X(D), a tangent vector.
        """
        return self.solver.project(D)

    def gradient(self, egrad: Array) -> Array:
        """The Riemannian gradient.

            grad f(X) = egrad - phi(X) Theta_X(egrad)

        Args:
            egrad: The Euclidean gradient of f at X.

        Returns:
            grad f(X), a tangent vector.
        """
        return self.project(egrad)

    def hessian(self, egrad: Array, ehess: Array, Z: Array) -> Array:
        """The Riemannian Hessian, applied to a tangent vector; keeps Theta_X(egrad) for the next Z.

            hess f(X)[Z] = P_X(ehess - phi(Z) Theta_X(egrad))

        Args:
            egrad: The Euclidean gradient of f at X.
            ehess: The Euclidean Hessian of f at X, applied to Z.
            Z: A tangent vector.

        Returns:
            hess f(X)[Z], a tangent vector.
        """
        theta = self._multiplier.get(egrad, self.theta)
        return self.project(plus(self.manifold.phi(Z) @ -theta, ehess))
