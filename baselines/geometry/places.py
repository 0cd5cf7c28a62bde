"""`Place`: what a Riemannian solver needs at a point; and two geometries, "fast" and "products".

A `Place` is a point X with what was computed there. Solvers are written against it alone, so that
the same loop runs in each geometry:

- `gradient(G)` gives the differential of f at X as a covector w, with df(Z) = <w, Z> for tangent Z,
  and the gradient
  d, the tangent vector that stands for w in the metric of the geometry. |w|^2 = <w, d> is the
  square of its length
  in that metric.
- `transport(V)` is the tangent vector at X for any V of the ambient space: P_X(V), or DA(X)[V]; d =
  transport(w).

"fast" and "faithful" have the metric <U, V> of the ambient space, w = d = grad f. "products" has
the metric of F12, in which w = DA(X)*[G] and d = DA(X)[w], and no equation is solved. As DA(X) is a
projector onto the tangent space, <DA(X)*[G], grad f> = |grad f|^2, so that |w| >= |grad f|: what
stops a run in "products" is never smaller than the measure of the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import final

import numpy as np
import scipy.linalg.lapack

from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.tangent import TangentSpace
from genorth.linalg.arrays import Array, ct, eps, eye_like, norm
from genorth.linalg.functions import inverse

#: t -> the point at the end of the step t Z, and whether it is on M to rounding without a look at
#: it.
Ray = Callable[[float], tuple[Array, bool]]

_TRUSTED = 1e3  # condition numbers up to here cost fewer digits than are looked at


class Place(ABC):
    """A point X of M with what was computed there."""

    def __init__(self, manifold: GenOrthManifold, X: Array) -> None:
        self.manifold, self.X = manifold, X

    @property
    @abstractmethod
    def P(self) -> Array:
        """phi(X), made once."""

    @abstractmethod
    def gradient(self, G: Array) -> tuple[Array, Array]:
        """The covector w of df and the gradient d, from the Euclidean gradient G."""

    @abstractmethod
    def transport(self, V: Array) -> Array:
        """V, projected onto T_X M."""

    @abstractmethod
    def ray(self, Z: Array) -> Ray:
        """The retraction along the tangent vector Z.

        It raises `OutsideDomainError` where a step is too long.

        What does not depend on the length of the step is computed once: a line search tries
        several.
        """

    @final
    @cached_property
    def constraint(self) -> Array:
        """C(X); phi(X) is known here."""
        S = ct(self.X) @ self.P
        return S - eye_like(S)

    @final
    @cached_property
    def feasibility(self) -> float:
        """|C(X)|."""
        return float(norm(self.constraint))

    @final
    def scale(self) -> float:
        """max(1, |X| |phi(X)|), what the feasibility is relative to."""
        return max(1.0, float(norm(self.X)) * float(norm(self.P)))

    @final
    def dissolved(self) -> Array:
        """A(X) = X (I - C(X)^T/2): the violation is squared."""
        return self.X - self.X @ (ct(self.constraint) / 2)


@final
class Fast(Place):
    """Theta by one symmetric eigendecomposition (F5), the Cayley transform by a p x p inverse (F9).

    For any phi and psi; where phi(X) = A X Q^-1 with a known A, `FastForm` does the same with fewer
    passes over X.
    """

    def __init__(self, manifold: GenOrthManifold, X: Array) -> None:
        super().__init__(manifold, X)
        self._space = TangentSpace(manifold, X)

    @property
    def P(self) -> Array:
        """phi(X)."""
        return self._space.P

    def gradient(self, G: Array) -> tuple[Array, Array]:
        """P_X(G), twice."""
        d = self._space.project(G)
        return d, d

    def transport(self, V: Array) -> Array:
        """P_X(V)."""
        return self._space.project(V)

    def theta(self, D: Array) -> Array:
        """Theta_X(D)."""
        return self._space.theta(D)

    def ray(self, Z: Array) -> Ray:
        """Cayley."""
        return cayley_ray(self.manifold, self.X, self.P, Z)


@final
class Products(Place):
    """The metric of F12: DA(X) projects onto the tangent space by products alone."""

    @cached_property
    def P(self) -> Array:
        """phi(X)."""
        return self.manifold.phi(self.X)

    def gradient(self, G: Array) -> tuple[Array, Array]:
        """W = DA(X)*[G] = G - P Phi(G^T X)/2 and d = DA(X)[w], on M."""
        w = G - self.P @ (self.manifold.symmetrize(ct(G) @ self.X) / 2)
        return w, self.transport(w)

    def transport(self, V: Array) -> Array:
        """DA(X)[V] = V - X (T + psi(T)^T)/2, T = P^T V, on M."""
        T = ct(self.P) @ V
        return V - self.X @ ((T + ct(self.manifold.psi(T))) / 2)

    def ray(self, Z: Array) -> Ray:
        """Cayley: products and one p x p inverse."""
        return cayley_ray(self.manifold, self.X, self.P, Z)


def cayley_ray(manifold: GenOrthManifold, X: Array, P: Array, Z: Array) -> Ray:
    """T -> R_X(tZ), the Cayley transform, from A = <<X,Z>> = P^T Z and <<Z,Z>>."""
    return ray(manifold, X, Z, ct(P) @ Z, ct(manifold.phi(Z)) @ Z)


def ray(manifold: GenOrthManifold, X: Array, Z: Array, A: Array, ZZ: Array) -> Ray:
    """T -> R_X(tZ) = X ((2I - tA) B^-1 - I) + t Z B^-1, B = I - t skew(A)/2 + t^2 <<H,H>>/4.

    This is the Cayley transform of F9: A = <<X,Z>>, H = Z - XA, skew(A) = (A - A*)/2. As <<H,H>> =
    <<Z,Z>> - A*A, no product of size n x p x p is left that depends on t, but for the last two.
    """
    star = ct(manifold.psi(A))
    skew, HH, eye = (A - star) / 2, ZZ - star @ A, eye_like(A)

    def at(t: float) -> tuple[Array, bool]:
        B = eye - (t / 2) * skew + (t * t / 4) * HH
        inv = _inverse(B)
        R = X @ (2 * inv - t * (A @ inv) - eye)
        R += Z @ (t * inv)
        return R, bool(norm(B) * norm(inv) <= _TRUSTED * A.shape[-1])

    return at


def _inverse(B: Array) -> Array:
    """B^-1 of a small matrix; of a single real one by LAPACK's getri, in 0.6 of the time of NumPy's inverse."""
    if B.ndim == 2 and B.dtype == np.float64:
        lu, pivots, singular = scipy.linalg.lapack.dgetrf(B)
        inv = None if singular else scipy.linalg.lapack.dgetri(lu, pivots, overwrite_lu=True)[0]
        if inv is not None and norm(B) * norm(inv) < 1 / (100 * B.shape[-1] * eps(B)):
            return inv
    return inverse(
        B, "I - A/2 + <<H,H>>/4 of the Cayley retraction"
    )  # also where it is refused, with the reason
