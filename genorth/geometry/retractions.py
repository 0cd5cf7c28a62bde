"""Retractions from phi alone, each O(n p^2 + p^3), as curves t -> R_X(t Z).

With the form <<U, V>> = phi(U)^T V every one of them is a classical formula of the unitary
case. A `Ray` is made from the place of X and Z, computes once what does not depend on t, and gives
the point c(t) and the velocity c'(t), which is what the derivative of a cost along the step needs.
`manifold.ray` and `manifold.retract` find them by name in `RETRACTIONS`.

Cayley and exp first replace A = <<X, Z>> by its skew part (A - A*)/2, A* = psi(A)^T. For a tangent
Z this only removes rounding errors, so that they never lead off M. For any other Z it amounts to
the step DA(X)[Z], the oblique projection.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np
from scipy.linalg.lapack import dgesv

from genorth.geometry.newton import NewtonStep, to_manifold
from genorth.geometry.place import Place
from genorth.linalg.arrays import (
    Array,
    ct,
    eps,
    eye_like,
    inner,
    is_lazy,
    mul,
    namespace,
    norm,
    number,
    plus,
)
from genorth.linalg.compiled import compiled, compiles
from genorth.linalg.functions import condition, expm, inverse, inverse_sqrt, require_condition
from genorth.linalg.once import once

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold

_TRUSTED = 1e3  # condition numbers up to here cost fewer digits than are looked at
# Units of roundoff that a step may lead from M without a check: a few are below all tolerances.
# It is relative to p, which on M is tr(X^T phi(X)) <= |X||phi(X)|, what feasibility is relative to.
_UNSEEN = 45.0


class Ray(ABC):
    """The curve c(t) = R_X(t Z) on M, c(0) = X and c'(0) = Z for tangent Z.

    Args:
        place: The place of X.
        Z: A tangent vector.
    """

    #: The name of the retraction.
    kind: ClassVar[str]
    #: Whether the last point is on M to rounding, so that it need not be checked.
    trusted: bool = False
    #: Whether slopes cost next to nothing once the point and its gradient are known.
    cheap_slopes: bool = False
    #: Whether velocities are expected, so that what only they need is kept. It saves time only.
    velocities = True

    def __init__(self, place: Place, Z: Array) -> None:
        self.manifold, self.place, self.X, self.Z = place.manifold, place, place.X, Z

    @abstractmethod
    def point(self, t: float) -> Array:
        """The point c(t).

        Args:
            t: The step length.

        Returns:
            c(t), a point of M.

        Raises:
            OutsideDomainError: If t Z is too long for the formula.
        """

    @abstractmethod
    def velocity(self, t: float) -> Array:
        """The velocity c'(t).

        Args:
            t: The step length.

        Returns:
            c'(t), a tangent vector at c(t).

        Raises:
            OutsideDomainError: If t Z is too long for the formula.
        """

    def slope(self, t: float, G: Array) -> float:
        """<G, c'(t)>, the derivative of a cost with gradient G at c(t).

        Args:
            t: The step length.
            G: The Euclidean gradient of the cost at c(t).

        Returns:
            The slope.
        """
        return number(inner(G, self.velocity(t)))

    def first(self, t: float) -> Ray:  # noqa: ARG002
        """The ray of a search whose first trial is t: this one; "auto" chooses by it."""
        return self

    def _star(self, T: Array) -> Array:
        """T* = psi(T)^T."""
        return ct(self.manifold.psi(T))


#: H = Z - X A, or Z and A where a program makes H, S = (A - A*)/2 and <<H, H>>, A = <<X, Z>>.
#: None and 0.0 for a square X, where A = X^-1 Z.
_Parts: TypeAlias = tuple[Any, Array, Array]
_FORMULA = "I - A/2 + <<H,H>>/4 of the Cayley retraction"


@final
class Cayley(Ray):
    """The Cayley retraction, from A = <<X, Z>> and H = Z - X A.

        c(t) = (2X + t H) B^-1 - X, B = I - t S/2 + t^2 <<H,H>>/4, S = (A - A*)/2

    Only one product of size n x p x p depends on t.
    """

    kind = "cayley"

    def __init__(self, place: Place, Z: Array) -> None:
        super().__init__(place, Z)
        A, self._rounding = place.paired(Z)
        self._parts: _Parts = (
            ((Z, A), *_compiled_parts(self.manifold, self.X, Z, A))
            if compiles(Z) and A.shape != Z.shape
            else _cayley_parts(place, Z, A)
        )
        self._last: tuple[float, Array] | None = None

    def point(self, t: float) -> Array:
        """c(t)."""
        R, inv, B = _cayley_point(self.manifold, self.X, *self._parts, t)
        self._last = t, inv
        if not is_lazy(R):
            s, h = self._sizes
            self.trusted = abs(t) * self._rounding <= _UNSEEN * eps(inv)
            if not abs(t) * s / 2 + t * t * h / 4 <= 0.5:  # else |B|_2 |B^-1|_2 <= 3
                size = condition(B, inv)
                require_condition(size, inv, _FORMULA)
                self.trusted &= size <= _TRUSTED
        return R

    @once
    def _sizes(self) -> tuple[float, float]:
        """|S| and |<<H,H>>|."""
        _, S, HH = self._parts
        return number(norm(S)), number(norm(HH)) if self._parts[0] is not None else HH

    def _inverse(self, t: float) -> Array:
        """B^-1."""
        if self._last is None or self._last[0] is not t:
            self.point(t)
        assert self._last is not None
        return self._last[1]

    def velocity(self, t: float) -> Array:
        """c'(t) = 2 X E' + H (E + t E'), E = B^-1, E' = -E B' E."""
        return _cayley_velocity(self.manifold, self.X, *self._parts, self._inverse(t), t)

    def slope(self, t: float, G: Array) -> float:
        """<X^T G, ...> + <H^T G, ...> with the p x p factors of c'(t), which itself is not made."""
        inv = self._inverse(t)
        return number(_cayley_slope(self.manifold, self.X, *self._parts, inv, t, G))

    def bend(self) -> Array:
        """c''(0) = H S + X (S^2 - <<H,H>>) = Z S - X <<H,H>>, as A = S for a tangent Z."""
        _, S, HH = self._parts
        return _bend(self.manifold, self.X, self.Z, S, HH)

    def sideways(self, t: float = 1.0) -> float:
        """The tangential part of the step beyond t Z, relative to t |Z|, or an upper bound of it.

            t |P_X c''(0)| / (2 |Z|)

        A bound, where that is at most `BEND`: by Frobenius norms, then by nearly the spectral norms
        of the two p x p factors, both without a product of size n x p x p.
        On the Stiefel manifold X <<H,H>> is normal, and only Z S counts.

        Args:
            t: The step.

        Returns:
            The figure; the Cayley retraction is as good as any where it is small.
        """
        _, S, HH = self._parts
        s, h = self._sizes
        share, length = abs(t) / 2, 0.0
        if not self.manifold.isometric:
            length = self.place.length / (number(norm(self.Z)) or 1.0)
        most = s + length * h
        if share * most > BEND:
            most = spectral_bound(S) + (length * spectral_bound(HH) if h else 0.0)
        if share * most > BEND:
            bend = self.place.project(self.bend())
            most = number(norm(bend)) / (number(norm(self.Z)) or 1.0)
        return share * most


def _cayley_parts(place: Place, Z: Array, A: Array) -> _Parts:
    S = (A - ct(place.manifold.psi(A))) / 2
    if A.shape == Z.shape:
        return None, S, 0.0
    H = plus(mul(place.X, -A), Z)
    return H, S, place.form(mul(ct(place.image(H)), H))


@compiled
def _compiled_parts(manifold: GenOrthManifold, X: Array, Z: Array, A: Array) -> tuple[Array, Array]:
    return _cayley_parts(manifold.place(X), Z, A)[1:]


def _made(X: Array, H: Any) -> Array:
    """H, which a program makes anew: an array less is kept while the cost is evaluated."""
    return plus(X @ -H[1], H[0]) if isinstance(H, tuple) else H


@compiled
def _cayley_point(
    manifold: GenOrthManifold,  # noqa: ARG001
    X: Array,
    H: Any,
    S: Array,
    HH: Array,
    t: float,
) -> tuple[Array, Array, Array]:
    """c(t), B^-1 and B."""
    B = eye_like(S) - (t / 2) * S + (t * t / 4) * HH
    inv = _small_inverse(B)
    R = mul(X if H is None else plus((t / 2) * _made(X, H), X), inv + inv)
    R -= X
    return R, inv, B


@compiled
def _cayley_velocity(
    manifold: GenOrthManifold,  # noqa: ARG001
    X: Array,
    H: Any,
    S: Array,
    HH: Array,
    inv: Array,
    t: float,
) -> Array:
    """c'(t), from B^-1."""
    turned = mul(mul(inv, S - t * HH), inv)
    along = mul(X, turned)
    return along if H is None else plus(along, mul(_made(X, H), inv + (t / 2) * turned))


@compiled
def _cayley_slope(
    manifold: GenOrthManifold,  # noqa: ARG001
    X: Array,
    H: Any,
    S: Array,
    HH: Array,
    inv: Array,
    t: float,
    G: Array,
) -> Array:
    """<G, c'(t)>, from B^-1."""
    turned = mul(mul(inv, S - t * HH), inv)
    along = inner(mul(ct(X), G), turned)
    if H is None:
        return along
    return along + inner(mul(ct(_made(X, H)), G), inv + (t / 2) * turned)


@compiled
def _bend(manifold: GenOrthManifold, X: Array, Z: Array, S: Array, HH: Array) -> Array:  # noqa: ARG001
    return Z @ S if np.ndim(HH) == 0 else plus(X @ -HH, Z @ S)


def _small_inverse(B: Array) -> Array:
    """B^-1 of a small matrix; LAPACK's gesv takes a third of the time of NumPy's inverse.

    The caller looks at the condition number.
    """
    if type(B) is np.ndarray and B.ndim == 2 and B.dtype == np.float64:
        _, _, inv, singular = dgesv(B.T, eye_like(B))  # B^-T by columns is B^-1 by rows
        if not singular:
            return inv.T
    return inverse(B, _FORMULA)


@final
class Polar(Ray):
    """c = Y <<Y, Y>>^(-1/2), Y = X + t Z; for tangent Z <<Y, Y>> = I + t^2 <<Z, Z>>."""

    kind = "polar"

    def __init__(self, place: Place, Z: Array) -> None:
        super().__init__(place, Z)
        self.PZ = self.manifold.phi(Z)

    def point(self, t: float) -> Array:
        """Y <<Y, Y>>^(-1/2)."""
        return _polar(self.manifold, *self._at(t))

    def _at(self, t: float) -> tuple[Array, Array]:
        """Y and phi(Y)."""
        return plus(t * self.Z, self.X), plus(t * self.PZ, self.place.P)

    def velocity(self, t: float) -> Array:
        """Z W + Y W', W = M^(-1/2), W' its derivative in the direction M' = <<Y, Z>> + <<Z, Y>>.

        The inverse square root of [[M, M'], [0, M]] is [[W, W'], [0, W]]. M' is scaled to be small,
        as W' is linear in it.
        """
        Y, PY = self._at(t)
        M, R = ct(PY) @ Y, ct(PY) @ self.Z
        slope = R + self._star(R)
        scale = 1.0 if is_lazy(slope) else 0.1 / (number(norm(slope)) or 1.0)
        xp, p = namespace(M), M.shape[-1]
        zero = xp.zeros_like(M)

        def star(T: Array) -> Array:
            a, b = self._star(T[..., :p, :p]), self._star(T[..., :p, p:])
            return _blocks(a, b, zero, a)

        root = inverse_sqrt(_blocks(M, scale * slope, zero, M), star=star)
        return self.Z @ root[..., :p, :p] + Y @ (root[..., :p, p:] / scale)


@final
class Exponential(Ray):
    """c = exp(t Omega) X, Omega(V) = G <<X, V>> - X <<G, V>>, G = Z - X A/2.

    Omega maps [G, -X] to [G, -X] E, E = [[A/2, -I], [<<G, G>>, A/2]], so exp(tE) of size 2p does
    it: c = X e22 - G e12. With G/s for G, s = |<<G, G>>|^(1/2), a short step has a small E.
    """

    kind = "exp"

    def __init__(self, place: Place, Z: Array) -> None:
        super().__init__(place, Z)
        A = ct(place.P) @ Z
        half = (A - self._star(A)) / 4
        self.G = plus(self.X @ (half - A), Z)
        GG = ct(self.manifold.phi(self.G)) @ self.G
        # traced: the root has no derivative at zero
        self.s = s = 1.0 if is_lazy(GG) else number(norm(GG)) ** 0.5 or 1.0
        minus = -s * eye_like(A) + namespace(A).zeros_like(A)  # broadcast over the blocks
        self.E = _blocks(half, minus, GG / s, half)

    def _combined(self, E: Array) -> Array:
        """X e22 - G e12/s."""
        p = self.X.shape[-1]
        R = self.X @ E[..., p:, p:]
        R -= self.G @ (E[..., :p, p:] / self.s)
        return R

    def point(self, t: float) -> Array:
        """exp(t Omega) X."""
        return self._combined(expm(t * self.E))

    def velocity(self, t: float) -> Array:
        """Omega exp(t Omega) X."""
        return self._combined(self.E @ expm(t * self.E))


@final
class Normal(Ray):
    """c = lim A_n^k(X + t Z), A_n Newton's map: X + t Z and a normal part, to second order.

    On Stiefel this is the polar retraction, the nearest point.
    """

    kind, trusted = "normal", True

    def __init__(self, place: Place, Z: Array) -> None:
        super().__init__(place, Z)
        # t, the end, and the steps of Newton that led there, where they are kept
        self._last: tuple[float, Place, list[NewtonStep]] | None = None

    @cached_property
    def _PZ(self) -> Array:
        """phi(Z), made by the first velocity; from then on phi(X + t Z) is a sum."""
        return self.manifold.phi(self.Z)

    def _path(self, t: float) -> tuple[Place, list[NewtonStep]]:
        """The end, and the steps of Newton that led there."""
        if self._last is None or is_lazy(t) or self._last[0] != t:
            Y = plus(t * self.Z, self.X)
            PY = plus(t * self._PZ, self.place.P) if "_PZ" in vars(self) else None
            if self.manifold.isometric and not self.velocities:
                Y, PY = polar_factor(self.manifold, Y), None  # where the steps lead, to rounding
            end, steps = to_manifold(self.manifold, Y, PY, keep=self.velocities)
            self._last = t, end, steps if self.velocities else []
        return self._last[1:]

    def point(self, t: float) -> Array:
        """The end of Newton's iteration."""
        return self._path(t)[0].X

    def velocity(self, t: float) -> Array:
        """V <- V - DD(X_k)[V] along the steps X_k, from Z; then P_c(V), as DA_n = P_c on M."""
        if not self.velocities:
            self.velocities, self._last = True, None  # the steps were not kept
        end, steps = self._path(t)
        V, PV = self.Z, self._PZ
        for step in steps:
            V, PV = V - step.derivative(V, PV), None
        return end.project(V)


def _blocks(a: Array, b: Array, c: Array, d: Array) -> Array:
    """[[a, b], [c, d]]."""
    xp = namespace(a)
    rows = xp.concat([a, b], axis=-1), xp.concat([c, d], axis=-1)
    return xp.concat(list(rows), axis=-2)


def polar_factor(manifold: GenOrthManifold, Y: Array) -> Array:
    """The polar factor of Y for the form, the limit of repeated A (F6).

        Y <<Y, Y>>^(-1/2)

    Args:
        manifold: The manifold.
        Y: An element of F.

    Returns:
        A point of M.

    Raises:
        OutsideDomainError: If the inverse square root does not exist.
    """
    return _polar(manifold, Y, manifold.phi(Y))


def _polar(manifold: GenOrthManifold, Y: Array, PY: Array) -> Array:
    """Y <<Y, Y>>^(-1/2), from phi(Y)."""
    companion = manifold.companion
    hermitian = companion is not None and companion.trivial
    return Y @ inverse_sqrt(ct(PY) @ Y, hermitian, lambda T: ct(manifold.psi(T)))


@final
class Auto(Ray):
    """Cayley while its curve bends little to the side at the first trial, else normal.

        t |P_X c''(0)| / (2 |Z|) <= 1/2

    Traced by JAX or PyTorch, where values cannot be looked at, both are computed.
    """

    kind = "auto"

    def __init__(self, place: Place, Z: Array) -> None:
        super().__init__(place, Z)
        self.chosen: Ray | None = None

    def first(self, t: float) -> Ray:
        """The ray that was chosen at the first t."""
        if self.chosen is None:
            self.chosen = ray = Cayley(self.place, self.Z)
            if ray.sideways(t) > BEND:
                self.chosen = Normal(self.place, self.Z)
        return self.chosen

    def point(self, t: float) -> Array:
        """c(t) of the retraction chosen at the first t."""
        if is_lazy(self.Z):
            return self._traced(t)[0]
        ray = self.first(t)
        X = ray.point(t)
        self.trusted = ray.trusted
        return X

    def velocity(self, t: float) -> Array:
        """c'(t) of the retraction chosen at the first t."""
        return self._traced(t)[1] if is_lazy(self.Z) else self.first(t).velocity(t)

    def slope(self, t: float, G: Array) -> float:
        """<G, c'(t)>."""
        return self.first(t).slope(t, G)

    def _traced(self, t: float) -> tuple[Array, Array]:
        """c(t) and c'(t), by the norm of c''(0) that has no test on the way."""
        cayley, normal, xp = (
            Cayley(self.place, self.Z),
            Normal(self.place, self.Z),
            namespace(self.Z),
        )
        bent = t * norm(self.place.project(cayley.bend())) > 2 * BEND * norm(self.Z)
        point = xp.where(bent, normal.point(t), cayley.point(t))
        return point, xp.where(bent, normal.velocity(t), cayley.velocity(t))


@final
class Line(Ray):
    """The straight line c = X + t Z, the retraction of F itself."""

    kind, trusted, cheap_slopes = "line", True, True

    def point(self, t: float) -> Array:
        """X + t Z."""
        return plus(t * self.Z, self.X)

    def velocity(self, t: float) -> Array:  # noqa: ARG002
        """Z."""
        return self.Z


#: The tangential part of a step beyond t Z, relative to t |Z|, up to which "auto" takes Cayley.
BEND = 0.5


def spectral_bound(T: Array) -> float:
    """A bound of |T|_2 by products: Schatten's norm of order 16, at most p^(1/16) times larger."""
    size = number(norm(T))
    if not 0 < size < math.inf:
        return size
    T = T / size
    T = ct(T) @ T
    for _ in range(2):
        T = T @ T
    return size * number(norm(T)) ** 0.125


def step_size(manifold: GenOrthManifold, X: Array, Z: Array) -> float:
    """The length of a step on M: the size of the exponent of `exponential`.

        |A|/2 + |<<G, G>>|^(1/2)

    M is curved on the scale of phi and not on that of the entries, so that |Z| alone does not tell
    how far a step goes.

    Args:
        manifold: The manifold.
        X: A point of M.
        Z: A tangent vector at X.

    Returns:
        The length.
    """
    A = ct(manifold.phi(X)) @ Z
    G = Z - X @ (A / 2)
    return float(norm(A)) / 2 + float(norm(ct(manifold.phi(G)) @ G)) ** 0.5


#: The retractions by name.
RETRACTIONS: dict[str, type[Ray]] = {
    "cayley": Cayley,
    "polar": Polar,
    "exp": Exponential,
    "normal": Normal,
    "auto": Auto,
}
