"""`FastForm`: the geometry "fast" where phi(X) = A X Q^-1 with a known A, which F13 makes the common case.

The same numbers as `places.Fast` up to rounding, with fewer passes over arrays of the size of X. With N = A X =
phi(X) Q and Q^T = e Q: <<X, Z>> = phi(X)^T Z = e Q^-1 N^T Z, so that phi itself is needed nowhere. And the gradient d
= G - N Y has N^T d = N^T G - K Y, K = N^T N, where all is p x p: its retraction needs no product of X with d.
"""

from __future__ import annotations

from functools import cached_property
from typing import final

from baselines.geometry.places import Place, Ray, ray
from genorth.geometry.companion import Companion
from genorth.geometry.manifold import GenOrthManifold
from genorth.linalg.arrays import Array, ct, eps, namespace, norm
from genorth.linalg.operators import Operator

# So far from M a step may lead without a look at it: a few of them are still below all tolerances.
# It is relative to p, which on M is tr(X^T phi(X)) <= |X||phi(X)|, what feasibility is relative to.
_UNSEEN = 1e-14


@final
class FastForm(Place):
    """Theta by one symmetric eigendecomposition, the Cayley transform by a p x p inverse."""

    def __init__(
        self, manifold: GenOrthManifold, X: Array, form: Operator, companion: Companion
    ) -> None:
        super().__init__(manifold, X)
        self._form, self._companion = form, companion
        self._gradient: tuple[Array, Array, float] | None = (
            None  # d, N^T d, and the rounding in the latter
        )

    @cached_property
    def N(self) -> Array:
        """A X."""
        return self._form.left(self.X)

    @cached_property
    def P(self) -> Array:
        """phi(X) = N Q^-1."""
        return self._companion.Qinv.right(self.N)

    @cached_property
    def _gram(self) -> Array:
        """K = N^T N."""
        return ct(self.N) @ self.N

    @cached_property
    def _spectrum(self) -> tuple[Array, Array, Array]:
        """U, U^T and the sums l_i + l_j of the eigenvalues of K."""
        values, U = namespace(self.X).linalg.eigh(self._gram)
        return U, ct(U), values[:, None] + values[None, :]

    def _half(self, R: Array) -> Array:
        """Y with K Y + Y K = R + e R^T, for R = N^T D."""
        U, Ut, sums = self._spectrum
        rotated = Ut @ (R + ct(R) if self._companion.sign > 0 else R - ct(R)) @ U
        rotated /= sums
        return U @ rotated @ Ut

    def gradient(self, G: Array) -> tuple[Array, Array]:
        """D = G - N Y, twice."""
        R = ct(self.N) @ G
        Y = self._half(R)
        d = self._without(G, Y)
        self._gradient = d, R - self._gram @ Y, 2 * eps(R) * float(norm(R)) / self.X.shape[-1]
        return d, d

    def transport(self, V: Array) -> Array:
        """P_X(V) = V - N Y."""
        return self._without(V, self._half(ct(self.N) @ V))

    def _without(self, V: Array, Y: Array) -> Array:
        """V - N Y."""
        D = self.N @ -Y
        D += V
        return D

    def theta(self, D: Array) -> Array:
        """Theta_X(D) = Q Y."""
        return self._companion.Q.left(self._half(ct(self.N) @ D))

    def ray(self, Z: Array) -> Ray:
        """Cayley."""
        known = self._gradient
        if known is None or Z is not known[0]:
            return self._ray(Z, ct(self.N) @ Z)
        along, rounding = self._ray(Z, known[1]), known[2]

        def at(t: float) -> tuple[Array, bool]:
            R, trusted = along(t)
            return R, trusted and abs(
                t
            ) * rounding <= _UNSEEN  # N^T d is a difference of what may be much larger

        return at

    def _ray(self, Z: Array, NZ: Array) -> Ray:
        return ray(
            self.manifold, self.X, Z, self._form_of(NZ), self._form_of(ct(self._form.left(Z)) @ Z)
        )

    def _form_of(self, NZ: Array) -> Array:
        """<<X, Z>> = e Q^-1 N^T Z."""
        T = self._companion.Qinv.left(NZ)
        return T if self._companion.sign > 0 else -T
