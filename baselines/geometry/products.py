"""The geometry "products": the metric of F12, in which no equation is solved."""

from __future__ import annotations

from functools import cached_property
from typing import final

from baselines.geometry.base import CayleyRay, Place, cayley_ray
from genorth.linalg.arrays import Array, ct


@final
class Products(Place):
    """The metric of F12: DA(X) projects onto the tangent space by products alone."""

    @cached_property
    def P(self) -> Array:
        """phi(X)."""
        return self.manifold.phi(self.X)

    def gradient(self, G: Array) -> tuple[Array, Array]:
        """w = DA(X)*[G] = G - P Phi(G^T X)/2 and d = DA(X)[w], on M."""
        w = G - self.P @ (self.manifold.symmetrize(ct(G) @ self.X) / 2)
        return w, self.transport(w)

    def transport(self, V: Array) -> Array:
        """DA(X)[V] = V - X (T + psi(T)^T)/2, T = P^T V, on M."""
        T = ct(self.P) @ V
        return V - self.X @ ((T + ct(self.manifold.psi(T))) / 2)

    def ray(self, Z: Array) -> CayleyRay:
        """Cayley: products and one p x p inverse."""
        return cayley_ray(self.manifold, self.X, self.P, Z)
