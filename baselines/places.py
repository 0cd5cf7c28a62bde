"""`Place`: what a Riemannian solver needs at a point; and two geometries, "fast" and "products".

A `Place` is a point X with what was computed there. Solvers are written against it alone, so that the same loop runs
in each geometry:

- `gradient(G)` gives the differential of f at X as a covector w, with df(Z) = <w, Z> for tangent Z, and the gradient
  d, the tangent vector that stands for w in the metric of the geometry. |w|^2 = <w, d> is the square of its length
  in that metric.
- `transport(V)` is the tangent vector at X for any V of the ambient space: P_X(V), or DA(X)[V]; d = transport(w).

"fast" and "faithful" have the metric <U, V> of the ambient space, w = d = grad f. "products" has the metric of F12,
in which w = DA(X)*[G] and d = DA(X)[w], and no equation is solved. As DA(X) is a projector onto the tangent space,
<DA(X)*[G], grad f> = |grad f|^2, so that |w| >= |grad f|: what stops a run in "products" is never smaller than the
measure of the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import final

from genorth._array import Array, ct, eye_like, norm
from genorth.manifold import GenOrthManifold, TangentSpace
from genorth.retraction import cayley


class Place(ABC):
    """A point X of M with what was computed there."""

    def __init__(self, manifold: GenOrthManifold, X: Array) -> None:
        self.manifold, self.X = manifold, X
        #: P = phi(X), made once, and the factorisation for Theta_X.
        self.space = TangentSpace(manifold, X)

    @staticmethod
    @abstractmethod
    def unsupported(manifold: GenOrthManifold) -> str | None:
        """Why this geometry cannot run on the manifold; None where it can."""

    @abstractmethod
    def gradient(self, G: Array) -> tuple[Array, Array]:
        """The covector w of df and the gradient d, from the Euclidean gradient G."""

    @abstractmethod
    def transport(self, Z: Array) -> Array:
        """The tangent vector Z of another point, projected onto T_X M."""

    @abstractmethod
    def retract(self, Z: Array) -> Array:
        """The point of M for the step Z; raises `OutsideDomainError` where the step is too long."""

    @final
    @cached_property
    def constraint(self) -> Array:
        """C(X); phi(X) is known here."""
        S = ct(self.X) @ self.space.P
        return S - eye_like(S)

    @final
    @cached_property
    def feasibility(self) -> float:
        """|C(X)|."""
        return float(norm(self.constraint))

    @final
    def scale(self) -> float:
        """max(1, |X| |phi(X)|), what the feasibility is relative to."""
        return max(1.0, float(norm(self.X)) * float(norm(self.space.P)))

    @final
    def dissolved(self) -> Array:
        """A(X) = X (I - C(X)^T/2): the violation is squared."""
        return self.X - self.X @ (ct(self.constraint) / 2)


@final
class Fast(Place):
    """Theta by one symmetric eigendecomposition (F5), the Cayley transform by a p x p inverse (F9)."""

    @staticmethod
    def unsupported(manifold: GenOrthManifold) -> str | None:  # noqa: ARG004
        """None: it needs phi and psi alone."""
        return None

    def gradient(self, G: Array) -> tuple[Array, Array]:
        """P_X(G), twice."""
        d = self.space.project(G)
        return d, d

    def transport(self, Z: Array) -> Array:
        """P_X(Z)."""
        return self.space.project(Z)

    def theta(self, D: Array) -> Array:
        """Theta_X(D)."""
        return self.space.theta(D)

    def retract(self, Z: Array) -> Array:
        """Cayley."""
        return cayley(self.manifold, self.space, Z)


@final
class Products(Place):
    """The metric of F12: DA(X) projects onto the tangent space by products alone."""

    @staticmethod
    def unsupported(manifold: GenOrthManifold) -> str | None:  # noqa: ARG004
        """None: it needs phi and psi alone."""
        return None

    def gradient(self, G: Array) -> tuple[Array, Array]:
        """DA(X)*[G] and DA(X)[DA(X)*[G]]."""
        w = self._adjoint(G)
        return w, self.transport(w)

    def transport(self, Z: Array) -> Array:
        """DA(X)[Z] = Z - X (T + psi(T)^T)/2, T = P^T Z, on M."""
        T = ct(self.space.P) @ Z
        return Z - self.X @ ((T + ct(self.manifold.psi(T))) / 2)

    def _adjoint(self, G: Array) -> Array:
        """DA(X)*[G] = G - P Phi(G^T X)/2, on M."""
        return G - self.space.P @ (self.manifold.symmetrize(ct(G) @ self.X) / 2)

    def retract(self, Z: Array) -> Array:
        """Cayley: products and one p x p inverse."""
        return cayley(self.manifold, self.space, Z)
