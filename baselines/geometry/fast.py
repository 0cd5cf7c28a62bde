"""The geometry "fast": Theta by one symmetric eigendecomposition, Cayley by a p x p inverse.

`Fast` is for any phi and psi. `FastForm` is for phi(X) = A X Q^-1 with a known A, which F13 makes
the common case: the same numbers up to rounding, with fewer passes over arrays of the size of X.
With N = A X = phi(X) Q and Q^T = e Q, <<X, Z>> = phi(X)^T Z = e Q^-1 N^T Z, so that phi itself is
needed nowhere. And the gradient d = G - N Y has N^T d = N^T G - K Y, K = N^T N, where all is p x p:
its retraction needs no product of X with d.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import final

from baselines.geometry.base import CayleyRay, Place, cayley_ray
from genorth.geometry.companion import Companion
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.tangent import TangentSpace
from genorth.linalg.arrays import Array, ct, eps, norm
from genorth.linalg.functions import eigh
from genorth.linalg.operators import Operator


def places(manifold: GenOrthManifold) -> Callable[[Array], Place]:
    """X -> its `FastForm` where A and Q of phi(X) = A X Q^-1 are known, else its `Fast`.

    `Fast` also where Theta is explicit.
    """
    form, companion = manifold.form, manifold.companion
    if manifold.isometric or form is None or companion is None or len(manifold.shape) > 2:
        return partial(Fast, manifold)
    return lambda X: FastForm(manifold, X, form, companion)


@final
class Fast(Place):
    """For any phi and psi: Theta by F5, the Cayley retraction by F9."""

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

    def ray(self, Z: Array) -> CayleyRay:
        """Cayley."""
        return cayley_ray(self.manifold, self.X, self.P, Z)


@final
class FastForm(Place):
    """For phi(X) = A X Q^-1: Theta by F5, the Cayley retraction by F9."""

    def __init__(
        self, manifold: GenOrthManifold, X: Array, form: Operator, companion: Companion
    ) -> None:
        super().__init__(manifold, X)
        self._form, self._companion = form, companion
        # d, N^T d, and the rounding in the latter
        self._gradient: tuple[Array, Array, float] | None = None

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
        values, U = eigh(self._gram)
        return U, ct(U), values[:, None] + values[None, :]

    def _half(self, R: Array) -> Array:
        """Y with K Y + Y K = R + e R^T, for R = N^T D."""
        U, Ut, sums = self._spectrum
        rotated = Ut @ (R + ct(R) if self._companion.sign > 0 else R - ct(R)) @ U
        rotated /= sums
        return U @ rotated @ Ut

    def gradient(self, G: Array) -> tuple[Array, Array]:
        """d = G - N Y, twice."""
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

    def ray(self, Z: Array) -> CayleyRay:
        """Cayley."""
        NZ, rounding, known = None, 0.0, self._gradient
        if known is not None and Z is known[0]:
            _, NZ, rounding = known  # N^T d is a difference of what may be much larger
        A = self._form_of(ct(self.N) @ Z if NZ is None else NZ)
        ZZ = self._form_of(ct(self._form.left(Z)) @ Z)
        return CayleyRay(self.manifold, self.X, Z, A, ZZ, rounding)

    def _form_of(self, NZ: Array) -> Array:
        """<<X, Z>> = e Q^-1 N^T Z."""
        T = self._companion.Qinv.left(NZ)
        return T if self._companion.sign > 0 else -T
