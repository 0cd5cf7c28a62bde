"""`TangentSpace`: what the geometry needs at one X, made once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from genorth.geometry.multiplier import ThetaSolver
from genorth.linalg.arrays import Array, plus
from genorth.linalg.cache import ContentCache

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold


class TangentSpace:
    """What is needed at one X: P = phi(X) and the factorisation for Theta_X, each made once."""

    def __init__(self, manifold: GenOrthManifold, X: Array) -> None:
        self.manifold, self.X = manifold, X
        self._multiplier = ContentCache()

    @cached_property
    def P(self) -> Array:
        """phi(X)."""
        return self.manifold.phi(self.X)

    @cached_property
    def solver(self) -> ThetaSolver:
        """The factorisation for Theta_X."""
        return self.manifold.theta_solver(self.manifold, self.X, self.P)

    def theta(self, D: Array) -> Array:
        """Theta_X(D) = argmin over S in S1 of |phi(X) S - D|."""
        return self.solver.theta(D)

    def project(self, D: Array) -> Array:
        """D - phi(X) Theta_X(D)."""
        return self.solver.project(D)

    def gradient(self, egrad: Array) -> Array:
        """Grad f(X) = egrad - phi(X) Theta_X(egrad)."""
        return self.project(egrad)

    def hessian(self, egrad: Array, ehess: Array, Z: Array) -> Array:
        """Hess f(X)[Z] = P_X(ehess - phi(Z) Theta_X(egrad)).

        Theta_X(egrad) is kept for the next Z.
        """
        multiplier = self._multiplier.get(egrad, self.theta)
        return self.project(plus(self.manifold.phi(Z) @ -multiplier, ehess))
