"""Three retractions from phi alone (F9), each O(n p^2 + p^3).

With the form <<U, V>> = phi(U)^T V every one of them is a classical formula of the unitary
case. `manifold.retract` finds them by name in `RETRACTIONS`.

Cayley and exp first take A = <<X, Z>> to its skew part (A - A*)/2, A* = psi(A)^T, at the cost of p
x p additions. For a tangent Z this changes rounding only, so that rounding in Z never leads off M;
for any other Z it amounts to the step DA(X)[Z], the oblique projection of F7.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from genorth.linalg.arrays import Array, ct, eye_like, is_lazy, namespace, norm, number, plus
from genorth.linalg.functions import expm, inverse, inverse_sqrt

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold
    from genorth.geometry.tangent import TangentSpace


def _skew(manifold: GenOrthManifold, A: Array) -> Array:
    """(A - A*)/2, A* = psi(A)^T."""
    return (A - ct(manifold.psi(A))) / 2


def cayley(manifold: GenOrthManifold, T: TangentSpace, Z: Array) -> Array:
    """R = -X + (H + 2X)(I - A/2 + <<H, H>>/4)^-1, A = <<X, Z>>, H = Z - X A."""
    A = ct(T.P) @ Z
    H = plus(T.X @ -A, Z)
    B = eye_like(A) - _skew(manifold, A) / 2 + (ct(manifold.phi(H)) @ H) / 4
    R = plus(H + T.X, T.X) @ inverse(B, "I - A/2 + <<H,H>>/4 of the Cayley retraction")
    R -= T.X
    return R


def polar(manifold: GenOrthManifold, T: TangentSpace, Z: Array) -> Array:
    """R = Y <<Y, Y>>^(-1/2), Y = X + Z; for tangent Z <<Y, Y>> = I + <<Z, Z>>."""
    return polar_factor(manifold, T.X + Z)


def polar_factor(manifold: GenOrthManifold, Y: Array) -> Array:
    """Y <<Y, Y>>^(-1/2), on M where the inverse square root exists.

    The limit of repeated A (F6).
    """
    companion = manifold.companion
    hermitian = companion is not None and companion.trivial
    return Y @ inverse_sqrt(ct(manifold.phi(Y)) @ Y, hermitian, lambda T: ct(manifold.psi(T)))


def exponential(manifold: GenOrthManifold, T: TangentSpace, Z: Array) -> Array:
    """R = exp(Omega) X, Omega(V) = G <<X, V>> - X <<G, V>>, G = Z - X A/2.

    Omega maps [G, -X] to [G, -X] E, E = [[A/2, -I], [<<G, G>>, A/2]], so exp(E) of size 2p does it:
    R = X e22 - G e12. Defined for every Z, as long as exp(E) does not overflow. With G/s for G, s =
    |<<G, G>>|^(1/2), a short step has a small E.
    """
    A = ct(T.P) @ Z
    half = _skew(manifold, A) / 2
    G = plus(T.X @ (half - A), Z)
    GG = ct(manifold.phi(G)) @ G
    s = (
        1.0 if is_lazy(GG) else number(norm(GG)) ** 0.5 or 1.0
    )  # traced: the root has no derivative at zero
    xp, p = namespace(A), A.shape[-1]
    minus = -s * eye_like(A) + xp.zeros_like(A)  # broadcast over the blocks
    E = expm(
        xp.concat([xp.concat([half, minus], axis=-1), xp.concat([GG / s, half], axis=-1)], axis=-2)
    )
    R = T.X @ E[..., p:, p:]
    R -= G @ (E[..., :p, p:] / s)
    return R


def step_size(manifold: GenOrthManifold, X: Array, Z: Array) -> float:
    """|A|/2 + |<<G,G>>|^(1/2), the size of the exponent above.

    The length in which a step on M is measured.

    M is curved on the scale of phi and not on that of the entries, so |Z| alone does not tell how
    far a step goes.
    """
    A = ct(manifold.phi(X)) @ Z
    G = Z - X @ (A / 2)
    return float(norm(A)) / 2 + float(norm(ct(manifold.phi(G)) @ G)) ** 0.5


#: The retractions by name.
RETRACTIONS: dict[str, Callable[[GenOrthManifold, TangentSpace, Array], Array]] = {
    "cayley": cayley,
    "polar": polar,
    "exp": exponential,
}
