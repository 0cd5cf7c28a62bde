"""`GenOrthManifold`: the geometry of {X in F : X^T phi(X) = I}, derived from phi and psi alone.

A concrete manifold gives data: phi, psi, its shape and known structure. It overrides nothing
that is derived. `manifold.at(X)` returns the `Place` of X, which holds phi(X) and the factorisation
for Theta_X and reuses them for every right-hand side at the same X.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from inspect import getattr_static, isfunction
from typing import Any, SupportsFloat, TypeVar, final

import numpy as np

from genorth.errors import NotRestorableError, refuse, require_known
from genorth.geometry import bases, between, gauge, sampling, substitution
from genorth.geometry import components as component_tests
from genorth.geometry.companion import Companion, read_companion, read_companion_on
from genorth.geometry.newton import NewtonStep, Restoration
from genorth.geometry.newton import restore as restore_by_maps
from genorth.geometry.place import ConjugateGradients, Place, choose
from genorth.geometry.retractions import RETRACTIONS, Ray
from genorth.geometry.user_maps import user_map
from genorth.linalg import arrays
from genorth.linalg.arrays import (
    Array,
    all_finite,
    ct,
    eye_like,
    is_array,
    is_lazy,
    namespace,
    number,
)
from genorth.linalg.cache import ContentCache
from genorth.linalg.inputs import as_generator, check_array, require_finite
from genorth.linalg.matrices import gaussian
from genorth.linalg.operators import Operator

_T = TypeVar("_T")


class GenOrthManifold(ABC):
    """The manifold of a linear self-adjoint phi with companion psi, phi(X T) = phi(X) psi(T).

        M = {X in F : X^T phi(X) = I}

    To define one, give `phi`, `psi` and `shape` (and `dtype`, if complex). The other facts below
    are optional: they make the computation faster and leave its results unchanged.

    Every method checks its arrays. A wrong type, shape or dtype, NaN or infinity raises a
    `ValueError` that names the argument.
    """

    #: Shape of a point: (n, p), or (l, n, p) for l blocks.
    shape: tuple[int, ...]
    #: Type of the entries.
    dtype: np.dtype[Any] = np.dtype(float)
    #: True where phi(X)^T phi(X) = I on M and psi = id: Theta_X has a closed form.
    isometric: bool = False
    #: True where <X, phi(X)> > 0 for all X != 0: M is compact.
    definite: bool = False
    #: A of phi(X) Q = A X (F13), where it is known as an operator: random points are drawn from it.
    form: Operator | None = None
    #: The orthogonal projector of R^shape (C^shape) onto F; None where F is the whole space.
    ambient_projector: Callable[[Array], Array] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a class that overrides what is derived; check what its phi and psi return."""
        super().__init_subclass__(**kwargs)
        for name, derived in vars(GenOrthManifold).items():
            if getattr(derived, "__final__", False) and getattr_static(cls, name) is not derived:
                raise TypeError(
                    f"{cls.__name__}.{name}: need a manifold that gives phi, psi and its shape; "
                    f"{name} is derived from them and cannot be overridden"
                )
        for name in ("phi", "psi"):
            given = vars(cls).get(name)
            ours = cls.__module__.startswith("genorth.") or hasattr(given, "_is_user_map")
            if isfunction(given) and not ours:
                setattr(cls, name, user_map(given))

    @abstractmethod
    def phi(self, X: Array) -> Array:
        """The map phi, linear and self-adjoint. The result may be X itself: do not write into it.

        Args:
            X: An element of F.

        Returns:
            phi(X), of the shape of X.
        """

    @abstractmethod
    def psi(self, T: Array) -> Array:
        """The companion of phi. The result may be T itself: do not write into it.

            phi(X T) = phi(X) psi(T)

        Args:
            T: A p x p matrix, or a batch of them.

        Returns:
            psi(T), of the shape of T.
        """

    @cached_property
    def companion(self) -> Companion | None:
        """The matrix Q of psi and its sign e (F5).

            psi(T) = Q T Q^-1, Q^T = e Q

        Read off psi by default, on G where F is not the whole space; None if psi is not of this
        form.
        """
        if self.ambient_projector is not None:
            return read_companion_on(self.psi, self._random_small)
        return read_companion(self.psi, self._random_small(0))

    def _random_small(self, seed: int) -> np.ndarray[Any, Any]:
        """A random element of G, the span of the products X1^T X2."""
        rng = np.random.default_rng(seed)
        if self.ambient_projector is None:
            *batch, _, p = self.shape
            return gaussian((*batch, p, p), self.dtype, rng)
        terms = (ct(self.random_ambient(rng)) @ self.random_ambient(rng) for _ in range(2))
        return np.asarray(sum(terms))

    @property
    def components(self) -> int | None:
        """The number of connected components of M; None where the structure is not known.

        Two for each block and sign in which A has only the eigenvalues that Q needs, else one.
        """
        tests = self._component_tests
        return None if tests is None else 2 ** sum(map(len, tests))

    def to_component(self, X: Array) -> Array:
        """The point of the component of M that is meant which a symmetry of M takes X to.

        Args:
            X: A point of M, or of F.

        Returns:
            X itself where it is in that component. By default all of M is meant.
        """
        return X

    def dimensions(self) -> tuple[int, int, int]:
        """The real dimensions of F and G, and the trace of T -> psi(T^T) on G.

        Returns:
            dim F, dim G and the trace; `dim` follows from them.
        """
        *batch, n, p = self.shape
        blocks, real = math.prod(batch), 1 if self.dtype.kind == "f" else 2
        if self.ambient_projector is None and self.companion is not None:
            trace = blocks * p * self.companion.sign if real == 1 else 0
            return real * blocks * n * p, real * blocks * p * p, trace
        basis = bases.algebra_basis(self)
        total = sum(float(self.inner(T, self.psi(ct(T)))) for T in basis)
        return self._ambient_dimension(), len(basis), round(total)

    def _ambient_dimension(self) -> int:
        """The trace of the projector onto F, summed over the unit elements."""
        units = (1.0,) if self.dtype.kind == "f" else (1.0, 1.0j)
        if self.ambient_projector is None:
            return len(units) * math.prod(self.shape)
        total, E = 0.0, np.zeros(self.shape, self.dtype)
        for index in np.ndindex(*self.shape):
            for unit in units:
                E[index] = unit
                total += float(self.inner(E, self.ambient_projector(E.copy())))
            E[index] = 0
        return round(total)

    def __repr__(self) -> str:
        name = getattr(self, "name", type(self).__name__)
        entries = "complex" if self.dtype.kind == "c" else "real"
        if vars(self).get("theta_solver") is ConjugateGradients:  # no psi is called for it
            entries += ", Theta_X by conjugate gradients"
        return f"<{name}: {' x '.join(map(str, self.shape))}, {entries}>"

    # ------------------------------------------------------------------ derived, never overridden

    @final
    @cached_property
    def theta_solver(self) -> type[Place]:
        """The kind of place on M, chosen by structure; its `name` says how Theta_X is computed."""
        return choose(self)

    @final
    @cached_property
    def dim(self) -> int:
        """The dimension of M (F10).

            dim M = dim F - dim S1, dim S1 = (dim G + tr(T -> psi(T^T)))/2

        S1 is the range of Phi, and G the span of the products X1^T X2.
        """
        F, G, trace = self.dimensions()
        return F - (G + trace) // 2

    @final
    @cached_property
    def _memo(self) -> ContentCache:
        return ContentCache()

    @final
    def at(self, X: Array) -> Place:
        """The place of X: its tangent space, with what X needs computed once.

        The last NumPy X is remembered, so that `project(X, D)` reuses it too.

        Args:
            X: A point of M.

        Returns:
            The place of X.
        """
        self._check(X=X)
        return self._memo.get(X, self.place)

    @final
    def place(self, X: Array) -> Place:
        """As `at`, without a check and without a memory: for solvers, which keep their places."""
        return self.theta_solver(self, X)

    @final
    def anywhere(self, X: Array, P: Array | None = None, S: Array | None = None) -> Place:
        """As `place`, for any X of F: with phi(X) and X^T phi(X) where they are known."""
        place = choose(self, on_manifold=False)(self, X, P)
        if S is not None:
            vars(place)["S"] = S
        return place

    @final
    def _at_once(self, X: Array) -> Place:
        """The place for one use; with a closed form, not even a copy of X is kept."""
        if not self.isometric:
            return self.at(X)
        self._check(X=X)
        return self.place(X)

    @final
    def _check(self, **arrays: Array) -> None:
        """Check types, shapes and dtypes where arrays enter."""
        for name, X in arrays.items():
            check_array(name, X, self.shape, self.dtype.kind == "f")

    @final
    def _check_small(self, T: Array) -> None:
        """The shape of T, an element of G."""
        *batch, _, p = self.shape
        check_array("T", T, (*batch, p, p), self.dtype.kind == "f")

    @final
    def _checked(self, result: _T, **arrays: Array) -> _T:
        """The result, or an error that names the input with NaN or infinity.

        p x p results are checked in full. One row of an n x p result is enough: the result is a
        product with a p x p matrix that sums over the rows of all inputs. So the check costs
        nothing.
        """
        small = result.shape[-2] == result.shape[-1]  # type: ignore[attr-defined]
        if not all_finite(result if small else result[..., :1, :]):  # type: ignore[index]
            self._require_finite(**arrays)
            self._require_finite_maps(**arrays)
        return result

    @final
    def _require_finite(self, **arrays: Array) -> None:
        for name, X in arrays.items():
            require_finite(name, X)

    @final
    def _require_finite_maps(self, **arrays: Array) -> None:
        """Refuse phi or psi that is NaN or infinite at arguments in which nothing can overflow."""
        for name, X in arrays.items():
            if tuple(X.shape) == self.shape and number(self.norm(X)) < 1e6:
                self._require_finite(**{f"phi({name})": self.phi(X)})
                self._require_finite(**{f"psi({name}^T {name})": self.psi(ct(X) @ X)})

    @final
    def inner(self, U: Array, V: Array) -> Any:
        """The inner product of two arrays.

            <U, V> = Re tr(U^T V)

        Args:
            U: An array.
            V: An array of the same shape.

        Returns:
            <U, V>, a real scalar.
        """
        for name, array in (("U", U), ("V", V)):
            if not is_array(array):
                refuse(name, "an array", f"a {type(array).__name__}")
        if U.shape != V.shape:
            refuse("V", f"the shape of U, {tuple(U.shape)}", f"shape {tuple(V.shape)}")
        return arrays.inner(U, V)

    @final
    def norm(self, U: Array) -> Any:
        """The Frobenius norm.

            |U| = <U, U>^(1/2)

        Args:
            U: An array.

        Returns:
            |U|, a real scalar.
        """
        if not is_array(U):
            refuse("U", "an array", f"a {type(U).__name__}")
        return arrays.norm(U)

    @final
    def ambient(self, Y: Array) -> Array:
        """The orthogonal projection onto F.

        Args:
            Y: An array of the shape of a point.

        Returns:
            The element of F nearest to Y.
        """
        return Y if self.ambient_projector is None else self.ambient_projector(Y)

    @final
    def gram(self, X: Array, Y: Array | None = None) -> Array:
        """The Gram matrix X^T phi(Y).

        Args:
            X: An element of F.
            Y: An element of F. Default: X.

        Returns:
            X^T phi(Y), a p x p matrix.
        """
        Y = X if Y is None else Y
        self._check(X=X, Y=Y)
        return self._checked(ct(X) @ self.phi(Y), X=X, Y=Y)

    @final
    def symmetrize(self, T: Array) -> Array:
        """The symmetrizer Phi, whose range is S1.

            Phi(T) = T^T + psi(T)

        Args:
            T: A p x p matrix.

        Returns:
            Phi(T).
        """
        try:
            return ct(T) + self.psi(T)
        except Exception:
            self._check_small(T=T)
            raise

    @final
    def constraint(self, X: Array) -> Array:
        """The constraint as a matrix, zero exactly on M.

            C(X) = X^T phi(X) - I

        Args:
            X: An element of F.

        Returns:
            C(X), a p x p matrix.
        """
        S = self.gram(X)
        return S - eye_like(S)

    @final
    def feasibility(self, X: Array) -> Any:
        """The violation |C(X)|, zero exactly on M.

        Args:
            X: An element of F.

        Returns:
            |C(X)|; compare it with a tolerance times `scale(X)`.
        """
        return self.norm(self.constraint(X))

    @final
    def scale(self, X: Array) -> Any:
        """The size that every tolerance on the feasibility is relative to.

            max(1, |X| |phi(X)|)

        Args:
            X: An element of F.

        Returns:
            The scale, at least 1.
        """
        self._check(X=X)
        size = self.norm(X) * self.norm(self.phi(X))
        if is_lazy(X):
            return namespace(X).maximum(size, namespace(X).ones_like(size))
        size = number(size)
        if not math.isfinite(size):
            self._require_finite(X=X)
        return max(1.0, size)

    @final
    def constraint_differential(self, X: Array, Z: Array) -> Array:
        """The derivative of the constraint in two forms (F1).

            DC(X)[Z] = X^T phi(Z) + Z^T phi(X) = Phi(phi(X)^T Z)

        Args:
            X: An element of F.
            Z: A direction in F.

        Returns:
            DC(X)[Z], a p x p matrix.
        """
        self._check(X=X, Z=Z)
        return self._checked(self.symmetrize(ct(self.phi(X)) @ Z), X=X, Z=Z)

    @final
    def tangency(self, X: Array, Z: Array) -> Any:
        """The distance of a direction from tangency, |DC(X)[Z]|.

        Args:
            X: An element of F.
            Z: A direction in F.

        Returns:
            |DC(X)[Z]|, zero exactly for tangent Z.
        """
        return self.norm(self.constraint_differential(X, Z))

    @final
    def constraint_adjoint(self, X: Array, T: Array) -> Array:
        """The adjoint of the derivative of the constraint.

            DC(X)*[T] = phi(X) Phi(T)

        Args:
            X: An element of F.
            T: A p x p matrix.

        Returns:
            DC(X)*[T], of the shape of X.
        """
        self._check(X=X)
        self._check_small(T=T)
        self._require_finite(X=X, T=T)
        return self.phi(X) @ self.symmetrize(T)

    @final
    def _dissolving_factor(self, X: Array, P: Array) -> Array:
        """W = (3 I - phi(X)^T X)/2, so that A(X) = X W."""
        S = self._checked(ct(P) @ X, X=X)
        return 1.5 * eye_like(S) - 0.5 * S

    @final
    def dissolve(self, X: Array) -> Array:
        """The constraint dissolving map, which squares the violation (F6).

            A(X) = 3/2 X - 1/2 X phi(X)^T X

        Args:
            X: An element of F.

        Returns:
            A(X), equal to X on M.
        """
        self._check(X=X)
        return X @ self._dissolving_factor(X, self.phi(X))

    @final
    def dissolve_differential(self, X: Array, Z: Array) -> Array:
        """The derivative of A; on M, an oblique projector onto the tangent space (F7).

            DA(X)[Z] = Z (3 I - phi(X)^T X)/2 - X (phi(Z)^T X + phi(X)^T Z)/2

        Args:
            X: An element of F.
            Z: A direction in F.

        Returns:
            DA(X)[Z].
        """
        self._check(X=X, Z=Z)
        P = self.phi(X)
        T = self._checked(ct(P) @ Z, Z=Z)
        return Z @ self._dissolving_factor(X, P) - X @ ((T + ct(self.psi(T))) / 2)

    @final
    def dissolve_adjoint(self, X: Array, T: Array) -> Array:
        """The adjoint of the derivative of A.

            DA(X)*[T] = T (3 I - X^T phi(X))/2 - phi(X) Phi(T^T X)/2

        Args:
            X: An element of F.
            T: An element of F.

        Returns:
            DA(X)*[T].
        """
        self._check(X=X, T=T)
        P = self.phi(X)
        R = self._checked(ct(T) @ X, T=T)
        return T @ ct(self._dissolving_factor(X, P)) - P @ (self.symmetrize(R) / 2)

    @final
    def dissolve_second_adjoint(self, X: Array, Z: Array, T: Array) -> Array:
        """The derivative of X -> DA(X)*[T] in the direction Z.

            D^2 A(X)*[Z, T] = -(T Phi(phi(Z)^T X) + phi(X) Phi(T^T Z) + phi(Z) Phi(T^T X))/2

        Here Phi(phi(Z)^T X) = DC(X)[Z].

        Args:
            X: An element of F.
            Z: A direction in F.
            T: An element of F.

        Returns:
            D^2 A(X)*[Z, T].
        """
        self._check(X=X, Z=Z, T=T)
        P, PZ, Phi = self.phi(X), self.phi(Z), self.symmetrize
        PtZ = self._checked(ct(P) @ Z, X=X, Z=Z)
        TtZ = self._checked(ct(T) @ Z, T=T)
        return -(T @ Phi(PtZ) + P @ Phi(TtZ) + PZ @ Phi(ct(T) @ X)) / 2

    @final
    def theta(self, X: Array, D: Array) -> Array:
        """The least-squares multiplier Theta_X (F5).

            Theta_X(D) = argmin over S in S1 of |phi(X) S - D|

        Args:
            X: A point of M.
            D: An element of F.

        Returns:
            Theta_X(D), a p x p matrix in S1.
        """
        self._check(D=D)
        return self._checked(self._at_once(X).theta(D), X=X, D=D)

    @final
    def project(self, X: Array, D: Array) -> Array:
        """The orthogonal projection onto the tangent space T_X M.

            P_X(D) = D - phi(X) Theta_X(D)

        Args:
            X: A point of M.
            D: An element of F.

        Returns:
            P_X(D), a tangent vector at X.
        """
        self._check(D=D)
        return self._checked(self._at_once(X).project(D), X=X, D=D)

    @final
    def gradient(self, X: Array, egrad: Array) -> Array:
        """The Riemannian gradient.

            grad f(X) = P_X(egrad)

        Args:
            X: A point of M.
            egrad: The Euclidean gradient of f at X.

        Returns:
            grad f(X), a tangent vector at X.
        """
        self._check(egrad=egrad)
        return self._checked(self._at_once(X).gradient(egrad), X=X, egrad=egrad)

    @final
    def hessian(self, X: Array, egrad: Array, ehess: Array, Z: Array) -> Array:
        """The Riemannian Hessian, applied to a tangent vector.

            hess f(X)[Z] = P_X(ehess - phi(Z) Theta_X(egrad))

        Args:
            X: A point of M.
            egrad: The Euclidean gradient of f at X.
            ehess: The Euclidean Hessian of f at X, applied to Z.
            Z: A tangent vector at X.

        Returns:
            hess f(X)[Z], a tangent vector at X.
        """
        self._check(egrad=egrad, ehess=ehess, Z=Z)
        result = self.ambient(self.at(X).hessian(egrad, ehess, Z))
        return self._checked(result, X=X, egrad=egrad, ehess=ehess, Z=Z)

    @final
    def newton_step(self, X: Array) -> Array:
        """D(X), the smallest D with DC(X)[D] = C(X): the step X - D of Newton's method to M (F15).

        D = phi(X) S with S in S1 and Phi(phi(X)^T phi(X) S) = C(X). C(X - D) = D^T phi(D), so that
        the violation is squared. On the Stiefel manifold X - D = (X + X^-T)/2.

        Args:
            X: Any point of F at which phi(X) has full rank, on M or not.

        Returns:
            D, in the normal space {phi(X) S : S in S1}.

        Raises:
            OutsideDomainError: If phi(X) does not have full rank.
        """
        step = NewtonStep(self.at(X))
        self._checked(step.constraint, X=X)
        return step.D

    @final
    def retraction(self, kind: str) -> Callable[[Place, Array], Ray]:
        """The curves of a retraction by its name, for solvers: a function of a place and Z."""
        return RETRACTIONS[kind]

    @final
    def ray(self, X: Array, Z: Array, kind: str = "cayley") -> Ray:
        """The curve t -> R_X(t Z), with its velocity; what does not depend on t is computed once.

        Args:
            X: A point of M.
            Z: A tangent vector at X.
            kind: As in `retract`.

        Returns:
            The ray: `point(t)` is c(t) = R_X(t Z), and `velocity(t)` is c'(t), tangent at c(t).

        Raises:
            ValueError: If `kind` is unknown.
        """
        require_known("kind", kind, RETRACTIONS)
        self._check(X=X, Z=Z)
        return RETRACTIONS[kind](self._at_once(X), Z)

    @final
    def retract(self, X: Array, Z: Array, kind: str = "cayley") -> Array:
        """A point of M near X + Z, exact to first order: R_X(Z) = X + Z + O(|Z|^2).

        "cayley", "polar" and "exp" are formulas. "normal" is Newton's method from X + Z:
        R_X(Z) = X + Z + normal + O(|Z|^3), exact to second order. "auto" is "cayley" while its
        curve bends little to the side, else "normal".

        Args:
            X: A point of M.
            Z: A tangent vector at X.
            kind: "cayley", "polar", "exp", "normal" or "auto".

        Returns:
            The point.

        Raises:
            OutsideDomainError: If the step is too long for the formula; halve it.
            ValueError: If `kind` is unknown.
        """
        try:
            return self._checked(self.ambient(self.ray(X, Z, kind).point(1.0)), X=X, Z=Z)
        except Exception:
            if is_array(X) and is_array(Z):
                self._check(X=X, Z=Z)
                self._require_finite(X=X, Z=Z)
            raise

    @final
    def transport(self, X: Array, Y: Array, Z: Array) -> Array:
        """Transport of a tangent vector by projection.

            P_Y(Z)

        Args:
            X: A point of M.
            Y: A point of M.
            Z: A tangent vector at X.

        Returns:
            P_Y(Z), a tangent vector at Y.
        """
        self._check(X=X, Y=Y, Z=Z)
        self._require_finite(Y=Y, Z=Z)
        return self.project(Y, Z)

    @final
    def inverse_retract(self, X: Array, Y: Array) -> Array:
        """Z with R_X(Z) = Y, the inverse of the Cayley retraction in closed form (F22).

            Z = D B - X (W B + (W B)*)/2, D = Y - X, W = <<X, D>>, B = (I + W/2)^-1

        Here T* = psi(T)^T. It exists where I + <<X, Y>> = 2 (I + W/2) is invertible.

        Args:
            X: A point of M.
            Y: A point of M, in the component of X.

        Returns:
            The tangent vector Z at X.

        Raises:
            OutsideDomainError: If I + <<X, Y>> is singular, or Y is in another component.
        """
        self._check(X=X, Y=Y)
        return self._checked(between.inverse_retract(self, X, Y), X=X, Y=Y)

    @final
    def interpolate(self, X: Array, Y: Array, t: float) -> Array:
        """The curve R_X(t Z) from X to Y, with Z of `inverse_retract` and the Cayley retraction.

        Args:
            X: A point of M, that of t = 0.
            Y: A point of M, that of t = 1.
            t: Where on the curve.

        Returns:
            The point. The curve is no geodesic.

        Raises:
            OutsideDomainError: If Y is outside the domain, or the curve leaves M on the way.
        """
        return self.retract(X, t * self.inverse_retract(X, Y))

    @final
    def distance(self, X: Array, Y: Array) -> float:
        """|Z| of `inverse_retract`: a surrogate for the geodesic distance.

        It agrees with the distance to first order as Y approaches X. It is not symmetric in
        general, and the triangle inequality need not hold.

        Args:
            X: A point of M.
            Y: A point of M.

        Returns:
            |Z|.

        Raises:
            OutsideDomainError: As `inverse_retract`.
        """
        return number(arrays.norm(self.inverse_retract(X, Y)))

    @final
    def mean(self, points: Any, weights: Any = None, tol: float = 1e-11) -> Array:
        """The mean of points by inverse retractions: X with sum_i w_i R_X^-1(Y_i) = 0.

        X <- R_X(t sum_i w_i R_X^-1(Y_i)), from the point with the largest weight; t = 1, shortened
        where the sum does not shrink. It converges linearly, at a rate of the order of the distance
        of the points, so it is meant for points that are near each other. X depends on the
        retraction and is not the Riemannian (Karcher) mean.

        Args:
            points: Points of M, in one component.
            weights: Weights >= 0. Default: equal ones.
            tol: On the norm of the sum, relative to max(1, |X|).

        Returns:
            The mean, a point of M.

        Raises:
            OutsideDomainError: If a point is outside the domain, or the iteration fails.
            ValueError: If there is no point, or the weights do not fit.
        """
        points = list(points)
        for Y in points:
            self._check(points=Y)
            self._require_finite(points=Y)
        return between.mean(self, points, weights, tol)

    @final
    def balance(self, X: Array) -> Array:
        """The representative X T of least norm under the group T*T = I, in closed form (F29).

            T = |Q|^(-1/2) P^(-1/2) |Q|^(1/2), P = K # (J^T K^-1 J)

            K = |Q|^(-1/2) X^T X |Q|^(-1/2), J = |Q|^(-1/2) Q |Q|^(-1/2)

        # is the geometric mean of positive definite matrices. The norm is |X T |Q|^(-1/2)|, that is
        |X T| where Q is orthogonal, as on all manifolds but some bilinear ones. A cost with
        f(X T) = f(X) has the same value there, and solvers need fewer steps. Where the group is
        compact all representatives have the same norm, and the result is X.

        Args:
            X: A point of M.

        Returns:
            X T, a point of M.

        Raises:
            ValueError: If psi is not of the form Q T Q^-1.
        """
        self._check(X=X)
        self._require_finite(X=X)
        return gauge.balance(self, X)

    @final
    def component(self, X: Array) -> int:
        """The component of M that X is in, a number below `components`.

            sum_i 2^i [det((A V_i)^T X U_i) < 0]

        V_i and U_i span the positive (negative) subspaces of A and of Q, where they have the same
        dimension; see `genorth.geometry.components`.

        Args:
            X: A point of M.

        Returns:
            The number; zero where M is connected, or its components are not known.
        """
        self._check(X=X)
        if self.components in (None, 1):
            return 0
        blocks = arrays.on_host(X).reshape(-1, *self.shape[-2:])
        pairs = zip(blocks, self._component_tests or [], strict=True)
        signs = [np.linalg.slogdet(L.T @ x @ U)[0] for x, block in pairs for L, U in block]
        return sum(2**i for i, sign in enumerate(signs) if sign < 0)

    @final
    @cached_property
    def _component_tests(self) -> list[list[component_tests.Test]] | None:
        return component_tests.sign_tests(self)

    @final
    def restore(self, X: Array, tol: float | None = None) -> Array:
        """A point of M from X near M: steps 3 to 5 of Algorithm 1, or Newton's map.

        X <- A(X) until |C(X)| <= tol max(1, |X| |phi(X)|). It converges quadratically from near M
        (F6). Where it does not, X <- X - s D(X) with the step D of `newton_step`, from X again. On
        the Stiefel manifold that restores every X of full rank.

        Args:
            X: Any point of F.
            tol: Relative tolerance; by default 4500 units of roundoff (1e-12 in double precision).
                It is not undercut below rounding, that of phi(X) included, which is large where
                its terms cancel. |C(X)| must be small against 1 as well.

        Returns:
            A point of M; `restoration` also says how it was found.

        Raises:
            NotRestorableError: If neither map leads to M.
        """
        return self.restoration(X, tol).X

    @final
    def restoration(self, X: Array, tol: float | None = None) -> Restoration:
        """As `restore`: the point of M, which map led there, and in how many steps.

        Args:
            X: Any point of F.
            tol: As in `restore`.

        Returns:
            The point `X`, the `map` ("A", "Newton's map", or "none" where X was on M), the `steps`.

        Raises:
            NotRestorableError: If neither map leads to M.
        """
        self._check(X=X)
        if is_lazy(X):
            raise NotImplementedError(
                "restore looks at values and cannot run under JAX; iterate dissolve instead"
            )
        number_like = isinstance(tol, SupportsFloat) and not isinstance(tol, bool)
        if tol is not None and not (number_like and tol >= 0):
            refuse("tol", "a number >= 0", repr(tol))
        unit = arrays.eps(X)
        tol = 4500 * unit if tol is None else max(float(tol), 10 * unit)
        try:
            return restore_by_maps(self, X, tol)
        except NotRestorableError:
            self._require_finite(X=X)
            raise

    @final
    def substitute(self, T: Any) -> Substituted:
        """The manifold in Y, X = T Y, T invertible n x n (F20): phi_T(Y) = T^T phi(T Y).

        Its Euclidean metric is the metric W = (T T^T)^-1 on M.

        Args:
            T: A dense n x n matrix, a diagonal (1-D), a SciPy sparse matrix, a tuple (T, T inverse)
                of matrices or LinearOperators, a tuple of two functions (T and its inverse, T
                symmetric) or of four (T, T^T, T^-1, T^-T), or what `metric` returns.

        Returns:
            The manifold. `result.T.apply(Y)` is X, and `result.T.solve(X)` is Y.

        Raises:
            ValueError: If T is singular, has no inverse or the wrong size, or does not map F to F.
        """
        return Substituted(self, substitution.as_substitution(self, T))

    @final
    def metric(self, W: Any) -> substitution.Substitution:
        """T with W = (T T^T)^-1, for `substitute`: in Y the metric W is the Euclidean one.

        Args:
            W: Symmetric positive definite: a dense matrix, a diagonal (1-D), a SciPy sparse matrix,
                a tuple (T, T inverse) as in `substitute`, or a name: "B" on the generalized Stiefel
                manifold, which makes it the Stiefel manifold; "|A|" or "|H|" on the others.

        Returns:
            The substitution.

        Raises:
            ValueError: If W is not symmetric, not positive definite, singular to rounding, or has
                the wrong size, or if the name is unknown.
        """
        return substitution.metric(self, W)

    @final
    def random_ambient(self, rng: Any = None, device: Any = None) -> Array:
        """A Gaussian element of F.

        Args:
            rng: A seed or a NumPy Generator.
            device: As in `random_point`.

        Returns:
            A NumPy array, or one of JAX on the device.
        """
        rng = as_generator(rng)
        if device is not None:
            return self.ambient(sampling.gaussian_on(device, self.shape, self.dtype, rng))
        return np.asarray(self.ambient(gaussian(self.shape, self.dtype, rng)))

    @final
    def random_point(self, rng: Any = None, device: Any = None) -> Array:
        """A random point of M, spread over M; see `genorth.geometry.sampling`.

        Args:
            rng: A seed or a NumPy Generator; the same in all processes, if there are several.
            device: A device of JAX, or a sharding of rows over devices: rows are then drawn where
                they stay, and are the same for any number of devices. Default: NumPy.

        Returns:
            A NumPy array, or one of JAX on the device.

        Raises:
            EmptyManifoldError: If M has no point, or none was found.
        """
        if device is not None:
            return sampling.draw_on(device, self, as_generator(rng))
        return self._sampler.draw(as_generator(rng))

    @final
    @cached_property
    def _sampler(self) -> sampling.Sampler:
        return sampling.Sampler(self)

    @final
    def random_tangent(self, X: Array, rng: Any = None) -> Array:
        """A Gaussian element of T_X M: the projection of a Gaussian element of F.

        Args:
            X: A point of M.
            rng: A seed or a NumPy Generator.

        Returns:
            A tangent vector at X, an array of the library of X.
        """
        self._check(X=X)
        return self.project(X, arrays.as_like(self.random_ambient(rng), X))


@final
class Substituted(substitution.SubstitutedMaps, GenOrthManifold):  # type: ignore[override]
    """T^-1 M = {Y : T Y on M}, made by `manifold.substitute(T)`."""
