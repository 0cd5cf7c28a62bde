"""The geometry "fast": Theta by one symmetric eigendecomposition, Cayley by a p x p inverse.

`Fast` is for any phi and psi. `FastForm` is for phi(X) = A X Q^-1 with a known A, which F13 makes
the common case: the same numbers up to rounding, with fewer passes over arrays of the size of X.
With N = A X = phi(X) Q and Q^T = e Q, <<X, Z>> = phi(X)^T Z = e Q^-1 N^T Z, so that phi itself is
needed nowhere. And a projected D = V - N Y, such as the gradient, has N^T D = N^T V - K Y,
K = N^T N, where all is p x p: its retraction needs no product of X with D.

What JAX compiles are the functions below the classes. There, a form that only scales or exchanges
rows is applied again where it is needed, which costs less than to keep A X.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TypeAlias, final
from weakref import ReferenceType, ref

from baselines.geometry.base import CayleyParts, CayleyRay, Place, cayley_parts, cayley_ray
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.tangent import TangentSpace
from genorth.linalg.arrays import Array, ct, eps, norm, number
from genorth.linalg.compiled import compiled, compiles
from genorth.linalg.functions import eigh


def places(manifold: GenOrthManifold) -> Callable[[Array], Place]:
    """X -> its `FastForm` where A and Q of phi(X) = A X Q^-1 are known, else its `Fast`.

    `Fast` also where Theta is explicit.
    """
    form, companion = manifold.form, manifold.companion
    if manifold.isometric or form is None or companion is None or len(manifold.shape) > 2:
        return partial(Fast, manifold)
    return partial(FastForm, manifold)


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
        d = self.transport(G)
        return d, d

    def transport(self, V: Array) -> Array:
        """P_X(V)."""
        if compiles(V):
            return _projected(self.manifold, self.X, V)
        return self._space.project(V)

    def theta(self, D: Array) -> Array:
        """Theta_X(D)."""
        return self._space.theta(D)

    def ray(self, Z: Array) -> CayleyRay:
        """Cayley."""
        return cayley_ray(self.manifold, self.X, self.P, Z)


@compiled
def _projected(manifold: GenOrthManifold, X: Array, V: Array) -> Array:
    return TangentSpace(manifold, X).project(V)


#: K = N^T N, its eigenvectors U, U^T, and the sums l_i + l_j of its eigenvalues.
_Spectrum: TypeAlias = tuple[Array, Array, Array, Array]


@final
class FastForm(Place):
    """For phi(X) = A X Q^-1: Theta by F5, the Cayley retraction by F9."""

    def __init__(self, manifold: GenOrthManifold, X: Array) -> None:
        super().__init__(manifold, X)
        self._spectrum: _Spectrum | None = None
        # the last D = V - N Y, with N^T V and Y: its ray needs no product of N with it
        self._projected: tuple[ReferenceType[Array], Array, Array] | None = None

    @cached_property
    def N(self) -> Array | None:
        """A X; None where it is made again."""
        form = self.manifold.form
        assert form is not None
        return None if compiles(self.X) and form.by_entries else form.left(self.X)

    @cached_property
    def P(self) -> Array:
        """phi(X) = N Q^-1."""
        companion = self.manifold.companion
        assert companion is not None
        return self.manifold.phi(self.X) if self.N is None else companion.Qinv.right(self.N)

    @property
    def kept(self) -> Array | None:
        """phi(X), or None where it is made again."""
        return None if self.N is None else self.P

    def gradient(self, G: Array) -> tuple[Array, Array]:
        """d = G - N Y, twice."""
        d, R, Y, self._spectrum = _gradient(self.manifold, self.X, self.N, G)
        self._projected = ref(d), R, Y
        return d, d

    def transport(self, V: Array) -> Array:
        """P_X(V) = V - N Y."""
        D, R, Y = _transported(self.manifold, self.X, self.N, self._known_spectrum, V)
        self._projected = ref(D), R, Y
        return D

    def theta(self, D: Array) -> Array:
        """Theta_X(D) = Q Y."""
        return _theta(self.manifold, self.X, self.N, self._known_spectrum, D)

    @property
    def _known_spectrum(self) -> _Spectrum:
        if self._spectrum is None:
            self._spectrum = _spectrum_at(self.manifold, self.X, self.N)
        return self._spectrum

    def ray(self, Z: Array) -> CayleyRay:
        """Cayley."""
        NZ, rounding, last = None, 0.0, self._projected
        if last is not None and Z is last[0]():
            # N^T Z = N^T V - K Y is a difference of what may be much larger
            NZ = last[1] - self._known_spectrum[0] @ last[2]
            rounding = 2 * eps(Z) * number(norm(last[1])) / self.X.shape[-1]
        return CayleyRay(
            self.manifold, self.X, Z, _ray(self.manifold, self.X, self.N, Z, NZ), rounding
        )


def _applied(manifold: GenOrthManifold, X: Array, N: Array | None) -> Array:
    """N = A X."""
    assert manifold.form is not None
    return manifold.form.left(X) if N is None else N


def _spectrum(K: Array) -> _Spectrum:
    values, U = eigh(K)
    return K, U, ct(U), values[:, None] + values[None, :]


def _half(manifold: GenOrthManifold, spectrum: _Spectrum, R: Array) -> Array:
    """Y with K Y + Y K = R + e R^T, for R = N^T D."""
    assert manifold.companion is not None
    _, U, Ut, sums = spectrum
    rotated = Ut @ (R + ct(R) if manifold.companion.sign > 0 else R - ct(R)) @ U
    rotated /= sums
    return U @ rotated @ Ut


def _without(manifold: GenOrthManifold, V: Array, X: Array, N: Array | None, Y: Array) -> Array:
    """V - A X Y, by N = A X where it is kept: else N may be gone, and its memory is used again."""
    D = _applied(manifold, X @ -Y, None) if N is None else N @ -Y
    D += V
    return D


@compiled
def _spectrum_at(manifold: GenOrthManifold, X: Array, N: Array | None) -> _Spectrum:
    N = _applied(manifold, X, N)
    return _spectrum(ct(N) @ N)


@compiled
def _gradient(
    manifold: GenOrthManifold, X: Array, N: Array | None, G: Array
) -> tuple[Array, Array, Array, _Spectrum]:
    """d = G - N Y, N^T G, Y, and the spectrum of K."""
    AX = _applied(manifold, X, N)
    K, R = ct(AX) @ AX, ct(AX) @ G
    spectrum = _spectrum(K)
    Y = _half(manifold, spectrum, R)
    return _without(manifold, G, X, N, Y), R, Y, spectrum


@compiled
def _transported(
    manifold: GenOrthManifold, X: Array, N: Array | None, spectrum: _Spectrum, V: Array
) -> tuple[Array, Array, Array]:
    """V - N Y, N^T V and Y."""
    R = ct(_applied(manifold, X, N)) @ V
    Y = _half(manifold, spectrum, R)
    return _without(manifold, V, X, N, Y), R, Y


@compiled
def _theta(
    manifold: GenOrthManifold, X: Array, N: Array | None, spectrum: _Spectrum, D: Array
) -> Array:
    assert manifold.companion is not None
    N = _applied(manifold, X, N)
    return manifold.companion.Q.left(_half(manifold, spectrum, ct(N) @ D))


@compiled
def _ray(
    manifold: GenOrthManifold, X: Array, N: Array | None, Z: Array, NZ: Array | None
) -> CayleyParts:
    """<<X, Z>> = e Q^-1 N^T Z and <<Z, Z>>, and what follows from them."""
    assert manifold.form is not None and manifold.companion is not None
    Qinv, sign = manifold.companion.Qinv, manifold.companion.sign
    if NZ is None:
        NZ = ct(_applied(manifold, X, N)) @ Z
    A, ZZ = Qinv.left(NZ), Qinv.left(ct(manifold.form.left(Z)) @ Z)
    return cayley_parts(manifold, X, Z, *((A, ZZ) if sign > 0 else (-A, -ZZ)))
