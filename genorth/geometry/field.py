"""`Field`: a direction that is tangent to the level set of C through any X, from products alone.

For all U, V in F the map W -> U <<V,W>> - V <<U,W>>, <<V,W>> = phi(V)^T W, is skew for the form, so
that its value at X is tangent: DC(X)[U <<V,X>> - V <<U,X>>] = 0. docs/infeasible.md has the proof.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs
import numpy as np

from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.place import Place
from genorth.geometry.product import BlockPlace, Blockwise, Euclidean, FreePlace
from genorth.linalg.arrays import (
    Array,
    as_like,
    ct,
    inner,
    is_complex,
    namespace,
    norm,
    plus,
    untraced,
)
from genorth.linalg.compiled import compiled, compiles

_HALVINGS = 40  # of a step, before it is as good as none
_SAME = 1e-8  # psi(psi(T)) = T, relative: rounding is far below, another psi far above


def moved(manifold: GenOrthManifold, X: Array, D: Array, t: float) -> Place:
    """The place X - t D."""
    return manifold.anywhere(_moved(manifold, X, D, t))


@compiled
def _moved(manifold: GenOrthManifold, X: Array, D: Array, t: float) -> Array:  # noqa: ARG001
    return plus(D * -t, X)


class Field:
    """The tangent field of landing methods, for every phi and psi.

    F(X) = (G K - e N G^T N)/2 with N = phi(X) Q and K = N^T N, where psi(T) = Q T Q^-1. Where
    psi(psi(T)) = T this is (G <<P,X>> - P <<G,X>>)/2 with P = phi(X), and needs no Q. Elsewhere,
    and without a Q, it is L L*[G] with L[U] = U <<X,X>> - X <<U,X>>. In all three cases F is
    tangent, <G, F> >= 0, and on M it is zero exactly at stationary points.

    Args:
        manifold: The manifold.
    """

    def __init__(self, manifold: GenOrthManifold) -> None:
        self.manifold = manifold
        T = manifold._random_small(0)
        twice = manifold.psi(manifold.psi(T))
        self.involutive = float(norm(twice - T)) <= _SAME * float(norm(T))
        self._companion = None if self.involutive else manifold.companion
        self._work: Array | None = None

    @property
    def by_products(self) -> bool:
        """Whether F = (G K - P M)/2 with p x p matrices K and M."""
        return self.involutive or self._companion is not None

    def star(self, T: Array) -> Array:
        """T* = psi(T)^T: <<U, X>> = (phi(X)^T U)*."""
        return ct(self.manifold.psi(T))

    def pair(self, at: Place, G: Array) -> Array:
        """R = phi(X)^T G."""
        return ct(at.P) @ G

    def dual(self, at: Place, R: Array) -> Array:
        """Theta^T of a multiplier Theta in S1, exact at stationary points of M.

        G = phi(X) Theta there, so that R = phi(X)^T G = K Theta, K = phi(X)^T phi(X). Where K = I
        on M, Theta is Phi(R^T)/2, as in the papers; else Phi((K^-1 R)^T)/2.
        """
        T = R if self.manifold.isometric else namespace(at.K).linalg.solve(at.K, R)
        return ct(self.manifold.symmetrize(ct(T)) / 2)

    def factors(self, K: Array, R: Array) -> tuple[Array, Array]:
        """K and M of F = (G K - P M)/2, from phi(X)^T phi(X) and R = phi(X)^T G."""
        if self.involutive:
            return self.star(K), self.star(R)
        assert self._companion is not None
        Q, e = self._companion.Q, self._companion.sign
        return e * Q.right(Q.left(K)), e * Q.right(Q.left(ct(R)))

    def direction(self, at: Place, G: Array, weight: float, R: Array | None = None) -> Direction:
        """F(X) + weight grad N(X), N = |C|^2/4: five products at most, and no phi.

        R = phi(X)^T G may be known.
        """
        if compiles(G):
            made = _direction(self.manifold, at.X, at.kept, at.S, G, weight, R)
        else:
            made = self._direction(at, G, weight, R)
        D, K, R, normal = made
        return SingleDirection(D, G, self.manifold, K, R, normal, weight)

    def _direction(
        self, at: Place, G: Array, weight: float, R: Array | None
    ) -> tuple[Array, Array, Array, Array]:
        """D and the small matrices of `Direction`."""
        C, K, R = at.constraint, at.K, ct(at.P) @ G if R is None else R
        normal = self.manifold.symmetrize(C) / 2  # grad N = phi(X) Phi(C)/2
        if self.by_products:
            left, right = self.factors(K, R)
            D = G @ (left / 2)
            D += self._product(at.P, weight * normal - right / 2, D)
        else:
            U = G @ at.S - at.P @ self.manifold.psi(ct(G) @ at.X)
            D = U @ ct(at.S) - at.X @ self.star(ct(at.P) @ U) + at.P @ (weight * normal)
        return D, K, R, normal

    def _product(self, P: Array, T: Array, like: Array) -> Array:
        """P T, over the last one: a new large array costs as much as the product."""
        if type(like) is not np.ndarray:
            return P @ T
        if self._work is None or self._work.dtype != like.dtype:
            self._work = np.empty_like(like)
        return np.matmul(P, T, out=self._work)

    def linearised(self, at: Place, G: Array, V: Array, H: Array) -> Array:
        """The derivative of 2 F at X along V, without the term that vanishes where F does.

        H is the Euclidean Hessian of f applied to V. Where psi(psi(T)) = T only.
        """
        P, PV = at.P, self.manifold.phi(V)
        first = H @ self.star(at.K) - P @ self.star(ct(P) @ H)
        return first + G @ self.star(ct(P) @ PV) - PV @ self.star(ct(P) @ G)


@compiled
def _direction(
    manifold: GenOrthManifold,
    X: Array,
    P: Array | None,
    S: Array,
    G: Array,
    weight: float,
    R: Array | None,
) -> tuple[Array, Array, Array, Array]:
    with untraced():
        field = Field(manifold)
    return field._direction(manifold.anywhere(X, P, S), G, weight, R)


@attrs.frozen(eq=False, slots=False)
class Direction:
    """A landing direction D at a free variable: G itself. Elsewhere D = F + weight grad N."""

    D: Array
    G: Array

    @cached_property
    def size(self) -> float:
        """|D|."""
        return float(norm(self.D))

    @property
    def L(self) -> Array:
        """DC(X)[D]: that of the normal part, as F is tangent."""
        return namespace(self.D).reshape(self.D, (-1,))[:0]

    @property
    def slope(self) -> float:
        """<G, F>."""
        return float(inner(self.G, self.D))

    @property
    def attraction(self) -> float:
        """|grad N|^2."""
        return 0.0


@attrs.frozen(eq=False, slots=False)
class SingleDirection(Direction):
    """A landing direction on one manifold, and the small matrices that it was made from."""

    manifold: GenOrthManifold
    #: phi(X)^T phi(X) and phi(X)^T G.
    K: Array
    R: Array
    #: Phi(C)/2: grad N = phi(X) normal.
    normal: Array
    weight: float

    @cached_property
    def _pull(self) -> Array:
        return self.K @ self.normal

    @property
    def L(self) -> Array:
        """DC(X)[D]: that of the normal part, as F is tangent."""
        return self.weight * self.manifold.symmetrize(self._pull)

    @property
    def slope(self) -> float:
        """<G, F>."""
        whole = float(inner(self.G, self.D))
        return max(whole - self.weight * float(inner(self.R, self.normal)), 0.0)

    @property
    def attraction(self) -> float:
        """|grad N|^2."""
        return float(inner(self.normal, self._pull))


@attrs.frozen(eq=False, slots=False)
class JoinedDirection(Direction):
    """A landing direction on a product: those of the factors."""

    manifold: Blockwise
    parts: list[Direction]

    @property
    def L(self) -> Array:
        """DC(X)[D], a flat vector."""
        return self.manifold.matrices.join([part.L for part in self.parts])

    @property
    def slope(self) -> float:
        """<G, F>."""
        return sum(part.slope for part in self.parts)

    @property
    def attraction(self) -> float:
        """|grad N|^2."""
        return sum(part.attraction for part in self.parts)


class FreeField:
    """The field of a free variable: the gradient."""

    involutive = True

    def pair(self, at: FreePlace, G: Array) -> None:
        """Nothing."""

    def dual(self, at: FreePlace, R: None) -> Array:  # noqa: ARG002
        """No entries."""
        return at.constraint

    def direction(self, at: FreePlace, G: Array, weight: float, R: None = None) -> Direction:  # noqa: ARG002
        """G."""
        return Direction(G, G)


class JoinedField:
    """The field of a product: those of the factors."""

    def __init__(self, manifold: Blockwise) -> None:
        self.manifold, self.fields = manifold, [field_of(M) for M in manifold.factors]
        self.involutive = all(field.involutive for field in self.fields)

    def pair(self, at: BlockPlace, G: Array) -> list[Any]:
        """R of each factor."""
        return at.each(lambda place, field, g: field.pair(place, g), self.fields, G)

    def dual(self, at: BlockPlace, R: list[Any]) -> Array:
        """Theta^T of all factors, a flat vector."""
        return at.matrices(lambda place, field, r: field.dual(place, r), self.fields, R)

    def direction(
        self, at: BlockPlace, G: Array, weight: float, R: list[Any] | None = None
    ) -> JoinedDirection:
        """F(X) + weight grad N(X), factor by factor."""
        parts = at.each(
            lambda place, field, g, r: field.direction(place, g, weight, r), self.fields, G, R
        )
        D = self.manifold.points.join([part.D for part in parts])
        return JoinedDirection(D, G, self.manifold, parts)


def field_of(manifold: Any) -> Any:
    """The field of a manifold, a product or a free variable."""
    if isinstance(manifold, Blockwise):
        return JoinedField(manifold)
    return FreeField() if isinstance(manifold, Euclidean) else Field(manifold)


def shortened(step: float, C: Array, L: Array | None, E: Array, tube: float) -> Array:
    """The longest t <= step whose end is in the tube, for each block.

        |C(X - t D)| = |C - t L + t^2 E| <= max(tube, |C|), L = DC(X)[D], E = D^T phi(D)

    From p x p matrices alone, and without a look at values, so that it can be traced. Where L is
    not zero, the longest of step, step/2, step/4, ... that stays in the tube.

    Args:
        step: The longest step.
        C: C(X).
        L: DC(X)[D]; None where D is tangent.
        E: D^T phi(D).
        tube: The largest violation.

    Returns:
        The steps, of shape (..., 1, 1).
    """
    xp = namespace(C)

    def inners(*pairs: tuple[Array, Array]) -> list[Array]:
        return [_real(xp.sum(xp.conj(U) * V, axis=(-2, -1), keepdims=True)) for U, V in pairs]

    CC, CE, EE = inners((C, C), (C, E), (E, E))
    wall = xp.maximum(CC, tube**2 + 0 * CC)
    if L is None:  # CC + 2 CE s + EE s^2 <= wall for s = t^2 up to this over EE
        most = (CE * CE + EE * (wall - CC)) ** 0.5 - CE
        longer = most < step**2 * EE
        return xp.where(longer, (most / xp.where(longer, EE, 1 + 0 * EE)) ** 0.5, step + 0 * EE)
    CL, LL, LE = inners((C, L), (L, L), (L, E))
    t = xp.reshape(step * as_like(0.5 ** np.arange(_HALVINGS), _real(C)), (-1,) + (1,) * C.ndim)
    ends = CC - t * (2 * CL - t * (LL + 2 * CE - t * (2 * LE - t * EE)))
    return xp.max(xp.where(ends <= wall, t, 0.0 * t), axis=0)


def _real(X: Array) -> Array:
    """The real part."""
    return namespace(X).real(X) if is_complex(X) else X
