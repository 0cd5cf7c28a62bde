"""`TangentSpace`: what the geometry needs at one X, made once."""

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
    """What is needed at one X: P = phi(X) and the factorisation for Theta_X, each made once."""

    def __init__(self, manifold: GenOrthManifold, X: Array, P: Array | None = None) -> None:
        self.manifold, self.X = manifold, X
        self._multiplier = ContentCache()
        if P is not None:
            self.P = P

    @cached_property
    def P(self) -> Array:
        """phi(X)."""
        return self.manifold.phi(self.X)

    @cached_property
    def solver(self) -> ThetaSolver:
        """The factorisation for Theta_X."""
        return self.manifold.theta_solver(self.manifold, self.X, self.P)

    @cached_property
    def equation(self) -> ThetaSolver:
        """The factorisation of S -> Phi(K S) on S1, for any X; that for Theta_X where it is the same."""
        general = multiplier.choose(self.manifold, on_manifold=False)
        if general is self.manifold.theta_solver:
            return self.solver
        return general(self.manifold, self.X, self.P)

    @property
    def size(self) -> float:
        """max(1, |X| |phi(X)|), what |C(X)| is relative to."""
        return max(1.0, number(norm(self.X) * norm(self.P)))

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
        theta = self._multiplier.get(egrad, self.theta)
        return self.project(plus(self.manifold.phi(Z) @ -theta, ehess))
