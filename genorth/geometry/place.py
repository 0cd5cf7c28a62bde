"""`Place`: what a solver needs at one point X, each computed once and reused.

A place gives the multiplier Theta_X(D) = argmin over S in S1 of |phi(X) S - D|, the projection onto
the tangent space, the Riemannian Hessian, the constraint and the curves along which solvers move.
How the equation for Theta_X is solved depends on the structure of the manifold (`choose`):

- `ClosedForm`            phi(X)^T phi(X) = I on M and psi = id (Stiefel, tensors): (R + R^T)/2.
- `Eigendecomposition`    psi(T) = Q T Q^-1: one symmetric eigendecomposition, p x p.
- `FormEigendecomposition`  the same where A of phi(X) Q = A X is known, with fewer passes over X.
- `ConjugateGradients`    nothing known but phi and psi: iteration on Phi(K Phi(U)) = Phi(R).

The normal vectors at X are N T, with the frame N = phi(X) (or A X) and p x p coefficients T.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final
from weakref import ReferenceType, ref

import numpy as np

from genorth.linalg.arrays import (
    Array,
    all_finite,
    constant,
    ct,
    eps,
    eye_like,
    is_differentiated,
    is_lazy,
    mul,
    namespace,
    norm,
    number,
    plus,
)
from genorth.linalg.cache import ContentCache
from genorth.linalg.compiled import compiled, compiles
from genorth.linalg.functions import eigh
from genorth.linalg.krylov import conjugate_gradients
from genorth.linalg.once import once

if TYPE_CHECKING:
    from genorth.geometry.manifold import GenOrthManifold

_DERIVATIVES = 2  # of Theta_X and of Newton's map, by automatic differentiation: Hessians need two


class Place(ABC):
    """A point X with what was computed there. Made by `manifold.at(X)`.

    Args:
        manifold: The manifold.
        X: A point of M. Where `general` is the place itself, any point of F.
        P: phi(X), where it is known.
    """

    #: What the user reads in `manifold.theta_solver.name`.
    name: ClassVar[str]
    # The last projection D = V - N T, with N^T V and T: a ray along D needs no product with N.
    _last: tuple[ReferenceType[Array], Array, Array] | None = None

    def __init__(self, manifold: GenOrthManifold, X: Array, P: Array | None = None) -> None:
        self.manifold, self.X = manifold, X
        if P is not None:
            self.P = self.N = P

    @once
    def P(self) -> Array:
        """The image phi(X)."""
        return self.N

    # ------------------------------------------------------------------ the frame of normal vectors

    @once
    def N(self) -> Array:
        """The frame of the normal space: phi(X), or A X = phi(X) Q."""
        return self.image(self.X)

    def image(self, Z: Array) -> Array:
        """The frame at Z: phi(Z), or A Z."""
        return self.manifold.phi(Z)

    def form(self, R: Array) -> Array:
        """<<U, V>> = phi(U)^T V from R = image(U)^T V."""
        return R

    def theta_of(self, T: Array) -> Array:
        """Theta in S1 from its coefficients: phi(X) Theta = N T."""
        return T

    @property
    def kept(self) -> Array | None:
        """The frame, or None if it is cheaper to apply phi again than to keep the result."""
        form = self.manifold.form
        again = form is not None and form.by_entries and compiles(self.X)
        return None if again else self.N

    # ------------------------------------------------------------------ what a structure gives

    @abstractmethod
    def coefficients(self, R: Array) -> Array:
        """T with P_X(D) = D - N T, from R = N^T D.

        Args:
            R: A p x p matrix.

        Returns:
            T, a p x p matrix.
        """

    @abstractmethod
    def solve(self, T: Array, size: Any = None) -> Array:
        """The S in S1 with Phi(K S) = T, K = phi(X)^T phi(X), for T in S1. Holds off M too.

        Args:
            T: A p x p matrix in S1.
            size: The size of what T was computed from, for its rounding. Default: |T|.

        Returns:
            S.
        """

    @property
    def general(self) -> Place:
        """A place at X whose projection holds off M too."""
        return self

    @once
    def K(self) -> Array:
        """N^T N."""
        N = self.N
        return self.S if N is self.X else mul(ct(N), N)

    @property
    def regularity(self) -> float:
        """The smallest singular value of phi(X) relative to the largest, of the worst block."""
        return _least_ratio(namespace(self.P).linalg.svdvals(self.P))

    # ------------------------------------------------------------------ derived

    @final
    def split(self, V: Array) -> tuple[Array, Array]:
        """The projection of V onto the tangent space, and T of its normal part N T.

        Args:
            V: An element of F.

        Returns:
            P_X(V) = V - N T, and T.
        """
        D, R, T = self._parts(V)
        if "K" in self.__dict__:
            self._last = ref(D), R, T
        return D, T

    def _parts(self, V: Array) -> tuple[Array, Array, Array]:
        """P_X(V) = V - N T, N^T V and T."""
        if type(V) is not np.ndarray and compiles(V) and type(self) is self.manifold.theta_solver:
            D, R, T, known = _split(self.manifold, self.X, self.kept, self._known, V)
            vars(self).update(known)
            return D, R, T
        N = self.N
        R = mul(ct(N), V)
        T = self.coefficients(R)
        return plus(mul(N, -T), V), R, T

    @property
    def _known(self) -> dict[str, Any]:
        """What a compiled function need not compute again."""
        return {name: vars(self)[name] for name in ("K", "spectrum") if name in vars(self)}

    @final
    def project(self, D: Array) -> Array:
        """The orthogonal projection onto T_X M.

            P_X(D) = D - phi(X) Theta_X(D)

        Args:
            D: An element of F.

        Returns:
            P_X(D), a tangent vector.
        """
        return self._parts(D)[0]

    def projection(self) -> Callable[[Array], Array]:
        """`project`, for many vectors."""
        return self.project

    @final
    def gradient(self, egrad: Array) -> Array:
        """The Riemannian gradient.

            grad f(X) = egrad - phi(X) Theta_X(egrad)

        Args:
            egrad: The Euclidean gradient of f at X.

        Returns:
            grad f(X), a tangent vector.
        """
        return self.split(egrad)[0]

    @final
    def theta(self, D: Array) -> Array:
        """The least-squares multiplier.

            Theta_X(D) = argmin over S in S1 of |phi(X) S - D|

        Args:
            D: An element of F.

        Returns:
            Theta_X(D), a p x p matrix in S1.
        """
        return self.theta_of(self.coefficients(ct(self.N) @ D))

    @final
    def hessian(self, egrad: Array, ehess: Array, Z: Array) -> Array:
        """The Riemannian Hessian, applied to a tangent vector; keeps Theta_X(egrad) for the next Z.

            hess f(X)[Z] = P_X(ehess - phi(Z) Theta_X(egrad))

        Args:
            egrad: The Euclidean gradient of f at X.
            ehess: The Euclidean Hessian of f at X, applied to Z.
            Z: A tangent vector.

        Returns:
            hess f(X)[Z], a tangent vector.
        """
        T = self._multipliers.get(egrad, lambda G: self.coefficients(ct(self.N) @ G))
        return self.project(plus(mul(self.image(Z), -T), ehess))

    @once
    def _multipliers(self) -> ContentCache:
        return ContentCache()

    @final
    def curvature(self, T: Array) -> Callable[[Array, Array], Array]:
        """(ehess, Z) -> hess f(X)[Z] for many Z, from the coefficients T of G."""
        image, project, minus = self.image, self.projection(), -T

        def hessian(ehess: Array, Z: Array) -> Array:
            return project(plus(mul(image(Z), minus), ehess))

        return hessian

    @final
    def lagrangian(self, T: Array, ehess: Array, Z: Array) -> Array:
        """The Hessian of the Lagrangian, ehess - phi(Z) Theta, before it is projected."""
        return plus(mul(self.image(Z), -T), ehess)

    @final
    def normal(self, T: Array) -> Array:
        """The normal vector DC(X)*[T] = phi(X) Phi(T)."""
        return mul(self.P, self.manifold.symmetrize(T))

    @final
    def differential(self, D: Array) -> Array:
        """DC(X)[D] = Phi(phi(X)^T D)."""
        return self.manifold.symmetrize(mul(ct(self.P), D))

    @final
    def dual(self, T: Array) -> Array:
        """Theta^T, which multiplies C in the Lagrangian, from the coefficients T."""
        return ct(self.theta_of(T))

    @final
    def paired(self, Z: Array) -> tuple[Array, float]:
        """<<X, Z>>, and the rounding in it beyond that of a product, relative to p.

        For the last projection Z = V - N T it is N^T V - K T, a difference of p x p matrices, where
        K is known.
        """
        if self._last is None or Z is not self._last[0]():
            return self.form(mul(ct(self.N), Z)), 0.0
        _, R, T = self._last
        rounding = 2 * eps(Z) * number(norm(R)) / self.X.shape[-1]
        return self.form(R - mul(self.K, T)), rounding

    @once
    def S(self) -> Array:
        """X^T phi(X)."""
        if self.kept is None:
            return _gram(self.manifold, self.X)
        return ct(self.form(ct(self.N) @ self.X))

    @once
    def constraint(self) -> Array:
        """C(X)."""
        return self.S - eye_like(self.S)

    @once
    def feasibility(self) -> float:
        """|C(X)|, infinite where X^T phi(X) overflows: some kernels of BLAS then give inf - inf."""
        violation = number(norm(self.constraint))
        return math.inf if math.isnan(violation) else violation

    @once
    def length(self) -> float:
        """|X|."""
        return number(norm(self.X))

    @once
    def size(self) -> float:
        """max(1, |X| |phi(X)|), what |C(X)| is relative to."""
        P = self.manifold.phi(self.X) if self.kept is None else self.P
        return max(1.0, self.length * number(norm(P)))

    @final
    def dissolved(self) -> Array:
        """A(X) = X (I - C(X)^T/2): the violation is squared."""
        return dissolved(self.manifold, self.X, self.constraint)


@compiled
def _gram(manifold: GenOrthManifold, X: Array) -> Array:
    return ct(X) @ manifold.phi(X)


@compiled
def dissolved(manifold: GenOrthManifold, X: Array, C: Array) -> Array:  # noqa: ARG001
    """A(X) = X (I - C(X)^T/2), from C(X)."""
    return X @ (eye_like(C) - ct(C) / 2)


@compiled
def _split(
    manifold: GenOrthManifold, X: Array, N: Array | None, known: dict[str, Any], V: Array
) -> tuple[Array, Array, Array, dict[str, Any]]:
    """P_X(V), N^T V, T, and what was found on the way."""
    place = manifold.theta_solver(manifold, X)
    vars(place).update(known)
    frame = place.N if N is None else N
    if not known:
        place.K = ct(frame) @ frame
    R = ct(frame) @ V
    T = place.coefficients(R)
    # Without a frame to keep, X @ -T is mapped: its memory is used again.
    D = plus(place.image(X @ -T) if N is None else N @ -T, V)
    return D, R, T, place._known


@final
class ClosedForm(Place):
    """The closed form on M, for psi = id and phi(X)^T phi(X) = I.

    Theta = (R + R^T)/2, R = phi(X)^T D
    """

    name = "closed form"

    @once
    def general(self) -> Place:
        """By the equation, as off M there is no closed form."""
        return choose(self.manifold, on_manifold=False)(self.manifold, self.X, self.P)

    def coefficients(self, R: Array) -> Array:
        return 0.5 * (R + ct(R))

    def solve(self, T: Array, size: Any = None) -> Array:
        return self.general.solve(T, size)


#: L and U^T, e (l_i + l_j) for the eigenvalues l of (phi(X) Q)^T phi(X) Q = U diag(l) U^T.
_Spectrum: TypeAlias = tuple[Array, Array, Array]


class Eigendecomposition(Place):
    """The solution by a symmetric eigendecomposition of (phi(X) Q)^T phi(X) Q = U diag(l) U^T.

        K Y + Y K = N^T D + e D^T N, N = phi(X) Q, Theta = Q Y, Y^T = e Y

    In the eigenbasis, entry (i, j) of the right-hand side is divided by l_i + l_j.
    """

    name = "eigendecomposition"

    def __init__(self, manifold: GenOrthManifold, X: Array, P: Array | None = None) -> None:
        super().__init__(manifold, X, P)
        companion = manifold.companion
        assert companion is not None
        self.Q, self.sign = companion.Q, companion.sign

    @property
    def gram(self) -> Array:
        """(phi(X) Q)^T phi(X) Q = e Q K Q: only p x p matrices are multiplied by Q."""
        gram = self.Q.right(self.Q.left(self.K))
        return self.manifold._checked(gram if self.sign > 0 else -gram, X=self.X)

    def _left(self, U: Array) -> Array:
        """L of the solution T = L (...) U^T, in the coefficients of the frame."""
        return self.Q.left(U)

    @once
    def _factored(self) -> tuple[_Spectrum, float]:
        """The spectrum, and its smallest / largest value.

        From the singular values of phi(X) Q where their squares have lost the smallest to rounding.
        """
        xp, gram = namespace(self.X), constant(self.gram)
        values, U = eigh(gram)
        ratio = 1.0 if is_lazy(gram) else _least_ratio(values)  # traced: taken as regular
        if ratio <= gram.shape[-1] * eps(gram) and all_finite(self.P):
            _, s, Vt = xp.linalg.svd(constant(self.Q.right(self.P)), full_matrices=False)
            values, U, ratio = s * s, ct(Vt), _least_ratio(s) ** 2
        sums = values[..., :, None] + values[..., None, :]
        return (self._left(U), ct(U), sums if self.sign > 0 else -sums), ratio

    @once
    def spectrum(self) -> _Spectrum:
        """L, U^T and e (l_i + l_j)."""
        return self._factored[0]

    @property
    def regularity(self) -> float:
        return math.sqrt(self._factored[1])

    def coefficients(self, R: Array) -> Array:
        """Without psi: U^T (e Phi(R) Q) U = W + e W^T, W = L^T R U."""
        if is_differentiated(R) or is_differentiated(self.X):
            return self._differentiable(R)
        L, Ut, sums = self.spectrum
        W = mul(mul(ct(L), R), ct(Ut))
        W = (ct(W) + W if self.sign > 0 else ct(W) - W) / sums
        return mul(mul(L, W), Ut)

    def projection(self) -> Callable[[Array], Array]:
        """With the frame N L each projection takes two p x p products in place of four."""
        L, Ut, sums = self.spectrum
        frame, U = mul(self.N, L), ct(Ut)
        adjoint, sums, sign = ct(frame), -sums, self.sign

        def project(D: Array) -> Array:
            W = mul(mul(adjoint, D), U)
            W = (ct(W) + W if sign > 0 else ct(W) - W) / sums
            return plus(mul(frame, mul(W, Ut)), D)

        return self.project if compiles(self.X) else project

    def _differentiable(self, R: Array) -> Array:
        return self.solve(self.manifold.symmetrize(R), norm(R))

    def solve(self, T: Array, size: Any = None) -> Array:  # noqa: ARG002
        """Q Y, K Y + Y K = e T Q.

        For automatic differentiation the eigenvectors are constants, as they have no derivative
        where eigenvalues meet. Each refinement makes one more derivative of Y exact.
        """
        QU, Ut, sums = self.spectrum
        S = mul(mul(QU, mul(mul(Ut, T), QU) / sums), Ut)
        followed = is_differentiated(T) or is_differentiated(self.K)
        for _ in range(_DERIVATIVES if followed else 0):
            residual = T - self.manifold.symmetrize(self.K @ S)
            S = S + QU @ ((Ut @ residual @ QU) / sums) @ Ut
        return S


@final
class FormEigendecomposition(Eigendecomposition):
    """For phi(X) = A X Q^-1 with a known A: the frame is A X, and phi is needed nowhere.

    <<X, Z>> = phi(X)^T Z = e Q^-1 (A X)^T Z
    """

    def __init__(self, manifold: GenOrthManifold, X: Array) -> None:
        super().__init__(manifold, X)
        assert manifold.companion is not None and manifold.form is not None
        self.Qinv, self.A = manifold.companion.Qinv, manifold.form

    def image(self, Z: Array) -> Array:
        return self.A.left(Z)

    @once
    def K(self) -> Array:
        """N^T N, which for A = I is not X^T phi(X) = X^T X Q^-1."""
        return mul(ct(self.N), self.N)

    @once
    def P(self) -> Array:
        """phi(X) = A X Q^-1."""
        return self.manifold.phi(self.X) if self.kept is None else self.Qinv.right(self.N)

    def form(self, R: Array) -> Array:
        A = self.Qinv.left(R)
        return A if self.sign > 0 else -A

    def theta_of(self, T: Array) -> Array:
        return self.Q.left(T)

    @once
    def general(self) -> Place:
        """In the frame phi(X), as Newton's map needs it; with the same factorisation."""
        general = Eigendecomposition(self.manifold, self.X, self.P)
        (U, Ut, sums), ratio = self._factored
        vars(general)["_factored"] = (self.Q.left(U), Ut, sums), ratio
        return general

    @property
    def gram(self) -> Array:
        return self.manifold._checked(self.K, X=self.X)

    def _left(self, U: Array) -> Array:
        return U

    def _differentiable(self, R: Array) -> Array:
        return self.Qinv.left(self.general.coefficients(self.form(R)))

    def solve(self, T: Array, size: Any = None) -> Array:
        return self.general.solve(T, size)


@final
class ConjugateGradients(Place):
    """S = Phi(U) with Phi(K Phi(U)) = T: consistent, self-adjoint, positive semidefinite on G.

        Phi(K Phi(T)) = Phi(R), K = phi(X)^T phi(X), R = phi(X)^T D

    The equation is consistent. Started from zero, the iterates stay in the range of the operator
    and end at the unique S in S1.
    """

    name = "conjugate gradients"

    def coefficients(self, R: Array) -> Array:
        return self.solve(self.manifold.symmetrize(R), norm(R))

    def solve(self, T: Array, size: Any = None) -> Array:
        if is_lazy(T):
            raise NotImplementedError(
                "Theta_X by conjugate gradients looks at values and cannot run under JAX; "
                "pass companion= (Q with psi(T) = Q T Q^-1) to from_maps"
            )
        Phi = self.manifold.symmetrize
        T = Phi(ct(T)) / 2  # without rounding in T that is outside of S1, the range of Phi
        length, unit = number(norm(T)), eps(T)
        if not math.isfinite(length):
            return T * math.nan  # as in the other ways, what is not finite reaches the result
        # T = Phi(R) cancels what of R is in the kernel of Phi, so the residual means nothing below
        # the rounding of R; and rounding may turn a direction into the kernel.
        goal = 4 * unit * (length if size is None else float(size))
        flat = 10 * unit * float(norm(self.K))
        steps = 4 * math.prod(T.shape)
        return Phi(conjugate_gradients(lambda U: Phi(self.K @ Phi(U)), T, goal, steps, flat)[0])


def choose(manifold: GenOrthManifold, on_manifold: bool = True) -> type[Place]:
    """The place that the structure of the manifold allows.

    Args:
        manifold: The manifold.
        on_manifold: Whether it is for points of M only.

    Returns:
        The cheapest class.
    """
    if manifold.isometric and on_manifold:
        return ClosedForm
    if manifold.companion is None:
        return ConjugateGradients
    by_form = on_manifold and manifold.form is not None and len(manifold.shape) == 2
    return FormEigendecomposition if by_form else Eigendecomposition


def _least_ratio(values: Array) -> float:
    """The smallest of sorted values relative to the largest, of the worst block."""
    if values.ndim > 1:
        xp, ends = namespace(values), (values[..., 0], values[..., -1])
        least, most = xp.minimum(*ends), xp.maximum(*ends)
        positive = most > 0
        return number(xp.min(xp.where(positive, least / xp.where(positive, most, 1.0), 0.0)))
    ends = number(values[0]), number(values[-1])
    return min(ends) / max(ends) if max(ends) > 0 else 0.0
