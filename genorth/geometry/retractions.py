"""Retractions from phi alone (F9, F18), each O(n p^2 + p^3), as curves t -> R_X(t Z).

With the form <<U, V>> = phi(U)^T V every one of them is a classical formula of the unitary
case. A `Ray` is made from X and Z, computes once what does not depend on t, and gives the point
c(t) and the velocity c'(t) (F19), which is what the derivative of a cost along the step needs.
`manifold.ray` and `manifold.retract` find them by name in `RETRACTIONS`.

Cayley and exp first replace A = <<X, Z>> by its skew part (A - A*)/2, A* = psi(A)^T. For a tangent
Z this only removes rounding errors, so that they never lead off M. For any other Z it amounts to
the step DA(X)[Z], the oblique projection of F7.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, final

from genorth.geometry.newton import NewtonStep, to_manifold
from genorth.geometry.tangent import TangentSpace
from genorth.linalg.arrays import Array, ct, eye_like, is_lazy, namespace, norm, number, plus
from genorth.linalg.compiled import Owner, compiled
from genorth.linalg.functions import expm, inverse, inverse_sqrt

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold


class Ray(ABC):
    """The curve c(t) = R_X(t Z) on M, c(0) = X and c'(0) = Z for tangent Z."""

    #: Whether velocities are expected, so that what only they need is kept. It saves time only.
    velocities = True

    def __init__(self, space: TangentSpace, Z: Array) -> None:
        self.manifold, self.space, self.X, self.Z = space.manifold, space, space.X, Z

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

    def _form(self, U: Array, V: Array) -> Array:
        """<<U, V>>."""
        return ct(self.manifold.phi(U)) @ V

    def _star(self, T: Array) -> Array:
        """T* = psi(T)^T."""
        return ct(self.manifold.psi(T))

    def _skew_part(self) -> tuple[Array, Array]:
        """A = <<X, Z>> and (A - A*)/2."""
        A = ct(self.space.P) @ self.Z
        return A, (A - self._star(A)) / 2


@final
class Cayley(Ray):
    """c = -X + (2X + t H) B^-1, B = I - t A/2 + t^2 <<H, H>>/4, A = <<X, Z>>, H = Z - X A."""

    def __init__(self, space: TangentSpace, Z: Array) -> None:
        super().__init__(space, Z)
        A, self.skew = self._skew_part()
        self.H = plus(self.X @ -A, Z)
        self.HH = self._form(self.H, self.H)

    def _parts(self, t: float) -> tuple[Array, Array]:
        """(2X + t H) B^-1 and B^-1."""
        B = eye_like(self.skew) - (t / 2) * self.skew + (t * t / 4) * self.HH
        inv = inverse(B, "I - A/2 + <<H,H>>/4 of the Cayley retraction")
        return plus(t * self.H, 2 * self.X) @ inv, inv

    def point(self, t: float) -> Array:
        """-X + (2X + t H) B^-1."""
        R, _ = self._parts(t)
        R -= self.X
        return R

    def velocity(self, t: float) -> Array:
        """(H - (2X + t H) B^-1 B') B^-1, B' = -A/2 + t <<H, H>>/2."""
        V, inv = self._parts(t)
        slope = (t / 2) * self.HH - self.skew / 2
        return plus(V @ -slope, self.H) @ inv

    def bend(self) -> Array:
        """c''(0) = H S + X (S^2 - <<H, H>>), S the skew part of A."""
        return self.H @ self.skew + self.X @ (self.skew @ self.skew - self.HH)

    def sideways(self, t: float = 1.0) -> float:
        """t |P_X c''(0)|/(2 |Z|), or a bound of it; see `sideways`."""
        A = ct(self.space.P) @ self.Z
        return sideways(t, self.X, self.Z, A, self.skew, self.HH, self.space.project)


@final
class Polar(Ray):
    """c = Y <<Y, Y>>^(-1/2), Y = X + t Z; for tangent Z <<Y, Y>> = I + t^2 <<Z, Z>>."""

    def __init__(self, space: TangentSpace, Z: Array) -> None:
        super().__init__(space, Z)
        self.PZ = self.manifold.phi(Z)

    def point(self, t: float) -> Array:
        """Y <<Y, Y>>^(-1/2)."""
        return _polar(self.manifold, *self._at(t))

    def _at(self, t: float) -> tuple[Array, Array]:
        """Y and phi(Y)."""
        return plus(t * self.Z, self.X), plus(t * self.PZ, self.space.P)

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

    def __init__(self, space: TangentSpace, Z: Array) -> None:
        super().__init__(space, Z)
        A, skew = self._skew_part()
        half = skew / 2
        self.G = plus(self.X @ (half - A), Z)
        GG = self._form(self.G, self.G)
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
    """c = lim A_n^k(X + t Z), A_n Newton's map: X + t Z and a normal part, to second order (F18).

    On Stiefel this is the polar retraction, the nearest point.
    """

    def __init__(self, space: TangentSpace, Z: Array) -> None:
        super().__init__(space, Z)
        # t, the end, and the steps of Newton that led there, where they are kept
        self._last: tuple[float, TangentSpace, list[NewtonStep]] | None = None

    @cached_property
    def _PZ(self) -> Array:
        """phi(Z), made by the first velocity; from then on phi(X + t Z) is a sum."""
        return self.manifold.phi(self.Z)

    def _path(self, t: float) -> tuple[TangentSpace, list[NewtonStep]]:
        """The end, and the steps of Newton that led there."""
        if self._last is None or is_lazy(t) or self._last[0] != t:
            Y = plus(t * self.Z, self.X)
            PY = plus(t * self._PZ, self.space.P) if "_PZ" in vars(self) else None
            end, steps = to_manifold(TangentSpace(self.manifold, Y, PY), keep=self.velocities)
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


#: The tangential part of a step beyond t Z, relative to t |Z|, up to which "auto" takes Cayley.
BEND = 0.5


def sideways(
    t: float,
    X: Array,
    Z: Array,
    A: Array,
    S: Array,
    HH: Array,
    project: Callable[[Array], Array],
) -> float:
    """t |P_X c''(0)|/(2 |Z|) of the Cayley curve: its tangential part beyond t Z, relative (F18).

        c''(0) = H S + X (S^2 - <<H, H>>) = Z S + X (S^2 - <<H, H>> - A S)

    An upper bound, where that is at most `BEND`: by Frobenius norms, then by nearly the spectral
    norms of the two p x p factors, both without a product of size n x p x p, then |c''(0)| itself.

    Args:
        t: The step.
        X: A point of M.
        Z: A tangent vector.
        A: <<X, Z>>.
        S: The skew part of A.
        HH: <<H, H>>, H = Z - X A.
        project: P_X.

    Returns:
        The figure; the Cayley retraction is as good as any where it is small.
    """
    return sideways_within(t, X, Z, A, S, HH, sideways_sizes(X, Z, A, S, HH), project)


def sideways_sizes(X: Array, Z: Array, A: Array, S: Array, HH: Array) -> tuple[Array, Array]:
    """|Z|, and |Z| |S| + |X| |S^2 - <<H, H>> - A S| >= |c''(0)|."""
    size = norm(Z)
    return size, size * norm(S) + norm(X) * norm(_turn(A, S, HH))


def sideways_within(
    t: float,
    X: Array,
    Z: Array,
    A: Array,
    S: Array,
    HH: Array,
    sizes: tuple[Array, Array],
    project: Callable[[Array], Array],
) -> float:
    """As `sideways`, with the `sideways_sizes` that are known."""
    size, most = map(number, sizes)
    share = abs(t) / (2 * size) if size > 0 else 0.0
    if share * most <= BEND:
        return share * most
    factor = _turn(A, S, HH)
    most = size * spectral_bound(S) + number(norm(X)) * spectral_bound(factor)
    if share * most <= BEND:
        return share * most
    bend = _bend(_OWNER, X, Z, S, factor)
    most = number(norm(bend))
    return share * (most if share * most <= BEND else number(norm(project(bend))))


_OWNER = Owner()


@compiled
def _bend(owner: Owner, X: Array, Z: Array, S: Array, factor: Array) -> Array:  # noqa: ARG001
    """c''(0) of the Cayley curve."""
    return plus(X @ factor, Z @ S)


def _turn(A: Array, S: Array, HH: Array) -> Array:
    """S^2 - <<H, H>> - A S."""
    return (S - A) @ S - HH


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
}
