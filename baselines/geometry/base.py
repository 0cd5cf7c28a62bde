"""`Place`: what a Riemannian solver needs at a point, in any geometry; and the Cayley retraction.

Solvers are written against `Place` alone, so that the same loop runs in each geometry. "fast" and
"faithful" have the metric <U, V> of the ambient space. "products" has the metric of F12, and no
equation is solved. As DA(X) is a projector onto the tangent space, <DA(X)*[G], grad f> =
|grad f|^2, so that |w| >= |grad f|: what stops a run in "products" is never smaller than the
measure of the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import final

import numpy as np
import scipy.linalg.lapack

from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array, ct, eps, eye_like, norm
from genorth.linalg.functions import inverse

#: t -> the point at the end of the step t Z, and whether it is on M to rounding without a check.
Ray = Callable[[float], tuple[Array, bool]]

_TRUSTED = 1e3  # condition numbers up to here cost fewer digits than are looked at


class Place(ABC):
    """A point X of M with what was computed there.

    Args:
        manifold: The manifold.
        X: The point.
    """

    def __init__(self, manifold: GenOrthManifold, X: Array) -> None:
        self.manifold, self.X = manifold, X

    @property
    @abstractmethod
    def P(self) -> Array:
        """phi(X), made once."""

    @abstractmethod
    def gradient(self, G: Array) -> tuple[Array, Array]:
        """The differential of f at X, and the gradient.

        Args:
            G: The Euclidean gradient.

        Returns:
            The covector w, with df(Z) = <w, Z> for tangent Z, and d = transport(w), the tangent
            vector that stands for w in the metric of the geometry: |w|^2 = <w, d> is the square of
            its length there.
        """

    @abstractmethod
    def transport(self, V: Array) -> Array:
        """V of the ambient space, projected onto T_X M: P_X(V), or DA(X)[V]."""

    @abstractmethod
    def ray(self, Z: Array) -> Ray:
        """The retraction along the tangent vector Z.

        What does not depend on the length of the step is computed once: a line search tries
        several. A step that is too long raises `OutsideDomainError`.
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


def cayley_ray(manifold: GenOrthManifold, X: Array, P: Array, Z: Array) -> Ray:
    """t -> R_X(tZ), the Cayley retraction, from A = <<X,Z>> = P^T Z and <<Z,Z>>."""
    return ray(manifold, X, Z, ct(P) @ Z, ct(manifold.phi(Z)) @ Z)


def ray(manifold: GenOrthManifold, X: Array, Z: Array, A: Array, ZZ: Array) -> Ray:
    """t -> R_X(tZ) = X ((2I - tA) B^-1 - I) + t Z B^-1, B = I - t skew(A)/2 + t^2 <<H,H>>/4.

    This is the Cayley retraction of F9: A = <<X,Z>>, H = Z - XA, skew(A) = (A - A*)/2. As <<H,H>> =
    <<Z,Z>> - A*A, only the last two products of size n x p x p depend on t.

    Args:
        manifold: The manifold.
        X: A point of M.
        Z: A tangent vector.
        A: <<X,Z>>.
        ZZ: <<Z,Z>>.

    Returns:
        The ray.
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
    """B^-1 of a small matrix; LAPACK's getri takes 0.6 of the time of NumPy's inverse."""
    if B.ndim == 2 and B.dtype == np.float64:
        lu, pivots, singular = scipy.linalg.lapack.dgetrf(B)
        inv = None if singular else scipy.linalg.lapack.dgetri(lu, pivots, overwrite_lu=True)[0]
        if inv is not None and norm(B) * norm(inv) < 1 / (100 * B.shape[-1] * eps(B)):
            return inv
    # also where it is refused, with the reason
    return inverse(B, "I - A/2 + <<H,H>>/4 of the Cayley retraction")
