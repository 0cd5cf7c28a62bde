"""`Place`: what a Riemannian solver needs at a point, in any geometry; and the rays of its steps.

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
from typing import TypeAlias, final

import numpy as np
import scipy.linalg.lapack

from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.retractions import RETRACTIONS, sideways_sizes, sideways_within
from genorth.geometry.tangent import TangentSpace
from genorth.linalg.arrays import Array, ct, eps, eye_like, inner, norm, number
from genorth.linalg.compiled import compiled
from genorth.linalg.functions import inverse, require_condition

_TRUSTED = 1e3  # condition numbers up to here cost fewer digits than are looked at
# Units of roundoff that a step may lead from M without a check: a few are below all tolerances.
# It is relative to p, which on M is tr(X^T phi(X)) <= |X||phi(X)|, what feasibility is relative to.
_UNSEEN = 45.0


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
        """The retraction of the geometry along the tangent vector Z."""

    @final
    def manifold_ray(self, Z: Array, kind: str, slopes: bool = True) -> Ray:
        """The retraction of that name along Z; `slopes`: whether velocities are asked for."""
        return ManifoldRay(TangentSpace(self.manifold, self.X, self.kept), Z, kind, slopes)

    @property
    def kept(self) -> Array | None:
        """phi(X) where it is kept, or None where it is made again as fast as it is read."""
        return self.P

    @final
    @cached_property
    def constraint(self) -> Array:
        """C(X); phi(X) is known here."""
        return _constraint(self.manifold, self.X, self.kept)

    @final
    @cached_property
    def feasibility(self) -> float:
        """|C(X)|."""
        return number(norm(self.constraint))

    @final
    def scale(self) -> float:
        """max(1, |X| |phi(X)|), what the feasibility is relative to."""
        return max(1.0, number(_scale(self.manifold, self.X, self.kept)))

    @final
    def dissolved(self) -> Array:
        """A(X) = X (I - C(X)^T/2): the violation is squared."""
        return _dissolved(self.manifold, self.X, self.constraint)


@compiled
def _constraint(manifold: GenOrthManifold, X: Array, P: Array | None) -> Array:
    S = ct(X) @ (manifold.phi(X) if P is None else P)
    return S - eye_like(S)


@compiled
def _scale(manifold: GenOrthManifold, X: Array, P: Array | None) -> Array:
    return norm(X) * norm(manifold.phi(X) if P is None else P)


@compiled
def _dissolved(manifold: GenOrthManifold, X: Array, C: Array) -> Array:  # noqa: ARG001
    return X - X @ (ct(C) / 2)


class Ray(ABC):
    """The curve c(t) = R_X(t Z) of one line search.

    What does not depend on t is computed once. A step that is too long raises `OutsideDomainError`.
    """

    #: The name of the retraction.
    kind: str

    @abstractmethod
    def point(self, t: float) -> tuple[Array, bool]:
        """c(t), and whether it is on M to rounding without a check."""

    def velocity(self, t: float) -> Array | None:  # noqa: ARG002
        """c'(t), or None where it is not known."""
        return None

    def slope(self, t: float, G: Array) -> float | None:
        """<G, c'(t)>, the derivative of a cost with gradient G at c(t) (F19); None as above."""
        V = self.velocity(t)
        return None if V is None else number(inner(G, V))


@final
class CayleyRay(Ray):
    """The Cayley retraction of F9, from A = <<X,Z>> and <<Z,Z>>.

        c(t) = X ((2I - tA) B^-1 - I) + t Z B^-1, B = I - t S/2 + t^2 <<H,H>>/4, S = (A - A*)/2

    With H = Z - XA, <<H,H>> = <<Z,Z>> - A*A: only two products of size n x p x p depend on t.

    Args:
        manifold: The manifold.
        X: A point of M.
        Z: A tangent vector.
        parts: What does not depend on t, see `cayley_parts`.
        rounding: The rounding of A, beyond that of its product; a step is trusted while t times
            it is small.
    """

    kind = "cayley"

    def __init__(
        self,
        manifold: GenOrthManifold,
        X: Array,
        Z: Array,
        parts: CayleyParts,
        rounding: float = 0,
    ) -> None:
        self.manifold, self.X, self.Z, self._rounding = manifold, X, Z, rounding
        *self._parts, self._sizes = parts
        self._last: tuple[float, Array] | None = None

    def _inverse(self, t: float) -> Array:
        """B^-1."""
        if self._last is None or self._last[0] != t:
            self.point(t)
        assert self._last is not None
        return self._last[1]

    def point(self, t: float) -> tuple[Array, bool]:
        """c(t)."""
        R, inv, condition = _cayley_point(self.manifold, self.X, self.Z, *self._parts, t)
        size = number(condition)
        require_condition(size, inv, _FORMULA)
        self._last = t, inv
        trusted = size <= _TRUSTED * inv.shape[-1] and abs(t) * self._rounding <= _UNSEEN * eps(inv)
        return R, trusted

    def velocity(self, t: float) -> Array:
        """c'(t) = X (2 E' - A E - t A E') + Z (E + t E'), E = B^-1, E' = -E B' E (F19)."""
        inv = self._inverse(t)
        return _cayley_velocity(self.manifold, self.X, self.Z, *self._parts, inv, t)

    def slope(self, t: float, G: Array) -> float:
        """<X^T G, ...> + <Z^T G, ...> with the p x p factors of c'(t), which itself is not made."""
        inv = self._inverse(t)
        return number(_cayley_slope(self.manifold, self.X, self.Z, *self._parts, inv, t, G))

    def sideways(self, t: float, project: Callable[[Array], Array]) -> float:
        """The tangential part of the step beyond t Z, relative to it (F18)."""
        return sideways_within(t, self.X, self.Z, *self._parts, self._sizes, project)


#: A, S = (A - A*)/2, <<H,H>>, and the sizes that bound how far the curve bends to the side.
CayleyParts: TypeAlias = tuple[Array, Array, Array, tuple[Array, Array]]
_FORMULA = "I - A/2 + <<H,H>>/4 of the Cayley retraction"


def cayley_parts(manifold: GenOrthManifold, X: Array, Z: Array, A: Array, ZZ: Array) -> CayleyParts:
    """What the Cayley retraction along Z needs besides t, from A = <<X,Z>> and <<Z,Z>>."""
    star = ct(manifold.psi(A))
    S, HH = (A - star) / 2, ZZ - star @ A
    return A, S, HH, sideways_sizes(X, Z, A, S, HH)


@compiled
def _cayley_point(
    manifold: GenOrthManifold,  # noqa: ARG001
    X: Array,
    Z: Array,
    A: Array,
    S: Array,
    HH: Array,
    t: float,
) -> tuple[Array, Array, Array]:
    """c(t), B^-1 and |B| |B^-1|."""
    eye = eye_like(A)
    B = eye - (t / 2) * S + (t * t / 4) * HH
    inv = _inverse(B)
    R = X @ (2 * inv - t * (A @ inv) - eye)
    R += Z @ (t * inv)
    return R, inv, norm(B) * norm(inv)


@compiled
def _cayley_velocity(
    manifold: GenOrthManifold,  # noqa: ARG001
    X: Array,
    Z: Array,
    A: Array,
    S: Array,
    HH: Array,
    inv: Array,
    t: float,
) -> Array:
    """c'(t), from B^-1."""
    factor, along = _velocity_factors(A, S, HH, inv, t)
    V = X @ factor
    V += Z @ along
    return V


@compiled
def _cayley_slope(
    manifold: GenOrthManifold,  # noqa: ARG001
    X: Array,
    Z: Array,
    A: Array,
    S: Array,
    HH: Array,
    inv: Array,
    t: float,
    G: Array,
) -> Array:
    """<G, c'(t)>, from B^-1."""
    factor, along = _velocity_factors(A, S, HH, inv, t)
    return inner(ct(X) @ G, factor) + inner(ct(Z) @ G, along)


def _velocity_factors(A: Array, S: Array, HH: Array, inv: Array, t: float) -> tuple[Array, Array]:
    """What X and Z are multiplied by in c'(t)."""
    turned = inv @ ((S - t * HH) / 2) @ inv
    along = inv + t * turned
    return 2 * turned - A @ along, along


@final
class ManifoldRay(Ray):
    """A retraction of the manifold, by name."""

    def __init__(self, space: TangentSpace, Z: Array, kind: str, slopes: bool) -> None:
        self.kind, self._ray = kind, RETRACTIONS[kind](space, Z)
        self._ray.velocities = slopes

    def point(self, t: float) -> tuple[Array, bool]:
        """c(t)."""
        return self._ray.point(t), self.kind == "normal"

    def velocity(self, t: float) -> Array:
        """c'(t)."""
        return self._ray.velocity(t)


def cayley_ray(manifold: GenOrthManifold, X: Array, P: Array, Z: Array) -> CayleyRay:
    """The Cayley retraction along Z, P = phi(X)."""
    return CayleyRay(manifold, X, Z, _parts(manifold, X, P, Z))


@compiled
def _parts(manifold: GenOrthManifold, X: Array, P: Array, Z: Array) -> CayleyParts:
    return cayley_parts(manifold, X, Z, ct(P) @ Z, ct(manifold.phi(Z)) @ Z)


def _inverse(B: Array) -> Array:
    """B^-1 of a small matrix; LAPACK's getri takes 0.6 of the time of NumPy's inverse.

    The caller looks at the condition number.
    """
    if type(B) is np.ndarray and B.ndim == 2 and B.dtype == np.float64:
        lu, pivots, singular = scipy.linalg.lapack.dgetrf(B)
        if not singular:
            return scipy.linalg.lapack.dgetri(lu, pivots, overwrite_lu=True)[0]
    return inverse(B, _FORMULA)
