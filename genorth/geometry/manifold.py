"""`GenOrthManifold`: the geometry of {X in F : X^T phi(X) = I}, derived from phi and psi alone.

A concrete manifold gives data: phi, psi, its shape, and what is known of its structure. It
overrides nothing that is derived. What one point X needs (phi(X), the factorisation for
Theta_X) lives in a `TangentSpace`, made by `manifold.at(X)` and reused for every further
right-hand side at the same X.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from inspect import getattr_static, isfunction
from typing import Any, TypeVar, final

import numpy as np

from genorth.errors import NotRestorableError, refuse
from genorth.geometry import multiplier, sampling
from genorth.geometry.companion import Companion, read_companion
from genorth.geometry.retractions import RETRACTIONS
from genorth.geometry.tangent import TangentSpace
from genorth.geometry.user_maps import user_map
from genorth.linalg import arrays
from genorth.linalg.arrays import (
    Array,
    all_finite,
    ct,
    eye_like,
    is_array,
    is_complex,
    is_floating,
    is_lazy,
    namespace,
    number,
)
from genorth.linalg.cache import ContentCache
from genorth.linalg.inputs import as_generator
from genorth.linalg.operators import Operator

_T = TypeVar("_T")
_RESTORE_STEPS = 60


class GenOrthManifold(ABC):
    """M = {X in F : X^T phi(X) = I}, for a linear self-adjoint phi with phi(XT) = phi(X) psi(T).

    To define one, give `phi`, `psi` and `shape` (and `dtype`, if complex). The other facts below
    may be given where they are known; they make things faster, never different.
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
        """phi(X), linear and self-adjoint. May return X itself: do not write into the result."""

    @abstractmethod
    def psi(self, T: Array) -> Array:
        """psi(T), the companion: phi(XT) = phi(X) psi(T). May return T itself."""

    @cached_property
    def companion(self) -> Companion | None:
        """Q and e with psi(T) = Q T Q^-1, Q^T = e Q (F5); by default read off psi."""
        if self.ambient_projector is not None:
            return None
        *batch, _, p = self.shape
        return read_companion(self.psi, (*batch, p, p), self.dtype)

    def dimensions(self) -> tuple[int, int, int]:
        """Dim F, dim G, and the trace of T -> psi(T^T) on G, as real vector spaces."""
        *batch, n, p = self.shape
        blocks, real = math.prod(batch), 1 if self.dtype.kind == "f" else 2
        if self.ambient_projector is None and self.companion is not None:
            trace = blocks * p * self.companion.sign if real == 1 else 0
            return real * blocks * n * p, real * blocks * p * p, trace
        basis = multiplier.algebra_basis(self)
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
        name, entries = (
            getattr(self, "name", type(self).__name__),
            "complex" if self.dtype.kind == "c" else "real",
        )
        return f"<{name}: {' x '.join(map(str, self.shape))}, {entries}>"

    # ------------------------------------------------------------------ derived, never overridden

    @final
    @cached_property
    def theta_solver(self) -> type[multiplier.ThetaSolver]:
        """How Theta_X is solved, chosen from the structure facts; `.name` says it in words."""
        return multiplier.choose(self)

    @final
    @cached_property
    def dim(self) -> int:
        """Dim M = dim F - dim S1, dim S1 = (dim G + trace of T -> psi(T^T))/2 (F10)."""
        F, G, trace = self.dimensions()
        return F - (G + trace) // 2

    @final
    @cached_property
    def _memo(self) -> ContentCache:
        return ContentCache()

    @final
    def at(self, X: Array) -> TangentSpace:
        """What X needs, made once; the last NumPy X is remembered, so `project(X, .)` reuses it too."""
        self._check(X=X)
        return self._memo.get(X, self._tangent_space)

    def _tangent_space(self, X: Array) -> TangentSpace:
        return TangentSpace(self, X)

    @final
    def _at_once(self, X: Array) -> TangentSpace:
        """What X needs for one use; with a closed form nothing is worth remembering, not even a copy of X."""
        if not self.isometric:
            return self.at(X)
        self._check(X=X)
        return TangentSpace(self, X)

    @final
    def _check(self, **arrays: Array) -> None:
        """Shapes and dtypes, where an array enters."""
        for name, X in arrays.items():
            if not is_array(X):
                refuse(name, f"an array of shape {self.shape}", f"a {type(X).__name__}")
            if tuple(X.shape) != self.shape:
                refuse(name, f"an array of shape {self.shape}", f"shape {tuple(X.shape)}")
            if not is_floating(X):
                refuse(
                    name, "floating-point entries of single or double precision", f"dtype {X.dtype}"
                )
            if self.dtype.kind == "f" and is_complex(X):
                refuse(name, "real entries (the manifold is real)", f"dtype {X.dtype}")

    @final
    def _checked(self, result: _T, **arrays: Array) -> _T:
        """The result, or an error that says which input is NaN or infinite.

        Of a p x p result all is looked at. Of an n x p one a row is enough: it is the product with
        a p x p matrix in which sums over the rows of all inputs stand. So the check is free.
        """
        small = result.shape[-2] == result.shape[-1]  # type: ignore[attr-defined]
        if not all_finite(result if small else result[..., :1, :]):  # type: ignore[index]
            self._require_finite(**arrays)
            self._require_finite_maps(**arrays)
        return result

    @final
    def _require_finite(self, **arrays: Array) -> None:
        for name, X in arrays.items():
            if not all_finite(X):
                xp = namespace(X)
                bad = int(xp.sum(xp.astype(~xp.isfinite(X), xp.int64)))
                refuse(
                    name,
                    "finite entries",
                    f"{bad} of {math.prod(X.shape)} entries NaN or infinite",
                    0,
                )

    @final
    def _require_finite_maps(self, **arrays: Array) -> None:
        """Refuse phi or psi that is NaN or infinite at arguments in which nothing can overflow."""
        for name, X in arrays.items():
            if tuple(X.shape) == self.shape and number(self.norm(X)) < 1e6:
                self._require_finite(**{f"phi({name})": self.phi(X)})
                self._require_finite(**{f"psi({name}^T {name})": self.psi(ct(X) @ X)})

    @final
    def inner(self, U: Array, V: Array) -> Any:
        """<U, V> = Re tr(U^T V)."""
        return arrays.inner(U, V)

    @final
    def norm(self, U: Array) -> Any:
        """|U| = <U, U>^(1/2)."""
        return arrays.norm(U)

    @final
    def ambient(self, Y: Array) -> Array:
        """The orthogonal projection of Y onto F."""
        return Y if self.ambient_projector is None else self.ambient_projector(Y)

    @final
    def gram(self, X: Array, Y: Array | None = None) -> Array:
        """X^T phi(Y), with Y = X by default."""
        Y = X if Y is None else Y
        self._check(X=X, Y=Y)
        return self._checked(ct(X) @ self.phi(Y), X=X, Y=Y)

    @final
    def symmetrize(self, T: Array) -> Array:
        """Phi(T) = T^T + psi(T)."""
        return ct(T) + self.psi(T)

    @final
    def constraint(self, X: Array) -> Array:
        """C(X) = X^T phi(X) - I."""
        S = self.gram(X)
        return S - eye_like(S)

    @final
    def feasibility(self, X: Array) -> Any:
        """|C(X)|."""
        return self.norm(self.constraint(X))

    @final
    def scale(self, X: Array) -> Any:
        """max(1, |X| |phi(X)|): every tolerance on the feasibility is relative to it."""
        self._check(X=X)
        size = self.norm(X) * self.norm(self.phi(X))
        return (
            namespace(X).maximum(size, namespace(X).ones_like(size))
            if is_lazy(X)
            else max(1.0, number(size))
        )

    @final
    def constraint_differential(self, X: Array, Z: Array) -> Array:
        """DC(X)[Z] = X^T phi(Z) + Z^T phi(X) = Phi(phi(X)^T Z), by F1."""
        self._check(X=X, Z=Z)
        return self._checked(self.symmetrize(ct(self.phi(X)) @ Z), X=X, Z=Z)

    @final
    def tangency(self, X: Array, Z: Array) -> Any:
        """|DC(X)[Z]|, zero exactly for tangent Z."""
        return self.norm(self.constraint_differential(X, Z))

    @final
    def constraint_adjoint(self, X: Array, T: Array) -> Array:
        """DC(X)*[T] = phi(X) Phi(T)."""
        self._check(X=X)
        small = (*self.shape[:-2], self.shape[-1], self.shape[-1])
        if tuple(np.shape(T)) != small:
            refuse("T", f"an array of shape {small}", f"shape {tuple(np.shape(T))}")
        self._require_finite(X=X, T=T)
        return self.phi(X) @ self.symmetrize(T)

    @final
    def _dissolving_factor(self, X: Array, P: Array) -> Array:
        """W = (3 I - phi(X)^T X)/2, so that A(X) = X W."""
        S = self._checked(ct(P) @ X, X=X)
        return 1.5 * eye_like(S) - 0.5 * S

    @final
    def dissolve(self, X: Array) -> Array:
        """A(X) = 3/2 X - 1/2 X phi(X)^T X."""
        self._check(X=X)
        return X @ self._dissolving_factor(X, self.phi(X))

    @final
    def dissolve_differential(self, X: Array, Z: Array) -> Array:
        """DA(X)[Z] = Z (3 I - phi(X)^T X)/2 - X (phi(Z)^T X + phi(X)^T Z)/2."""
        self._check(X=X, Z=Z)
        P = self.phi(X)
        T = self._checked(ct(P) @ Z, Z=Z)
        return Z @ self._dissolving_factor(X, P) - X @ ((T + ct(self.psi(T))) / 2)

    @final
    def dissolve_adjoint(self, X: Array, T: Array) -> Array:
        """DA(X)*[T] = T (3 I - X^T phi(X))/2 - phi(X) Phi(T^T X)/2."""
        self._check(X=X, T=T)
        P = self.phi(X)
        R = self._checked(ct(T) @ X, T=T)
        return T @ ct(self._dissolving_factor(X, P)) - P @ (self.symmetrize(R) / 2)

    @final
    def dissolve_second_adjoint(self, X: Array, Z: Array, T: Array) -> Array:
        """D^2 A(X)*[Z, T] = -(T Phi(phi(Z)^T X) + phi(X) Phi(T^T Z) + phi(Z) Phi(T^T X))/2.

        The derivative of X -> DA(X)*[T] in the direction Z; Phi(phi(Z)^T X) = DC(X)[Z].
        """
        self._check(X=X, Z=Z, T=T)
        P, PZ, Phi = self.phi(X), self.phi(Z), self.symmetrize
        PtZ = self._checked(ct(P) @ Z, X=X, Z=Z)
        TtZ = self._checked(ct(T) @ Z, T=T)
        return -(T @ Phi(PtZ) + P @ Phi(TtZ) + PZ @ Phi(ct(T) @ X)) / 2

    @final
    def theta(self, X: Array, D: Array) -> Array:
        """Theta_X(D) = argmin over S in S1 of |phi(X) S - D|, for X on M."""
        self._check(D=D)
        return self._checked(self._at_once(X).theta(D), X=X, D=D)

    @final
    def project(self, X: Array, D: Array) -> Array:
        """P_X(D) = D - phi(X) Theta_X(D), the orthogonal projection onto T_X M."""
        self._check(D=D)
        return self._checked(self._at_once(X).project(D), X=X, D=D)

    @final
    def gradient(self, X: Array, egrad: Array) -> Array:
        """Grad f(X) = P_X(egrad), from the Euclidean gradient."""
        self._check(egrad=egrad)
        return self._checked(self._at_once(X).gradient(egrad), X=X, egrad=egrad)

    @final
    def hessian(self, X: Array, egrad: Array, ehess: Array, Z: Array) -> Array:
        """Hess f(X)[Z] = P_X(ehess - phi(Z) Theta_X(egrad)).

        Ehess is the Euclidean Hessian applied to Z.
        """
        self._check(egrad=egrad, ehess=ehess, Z=Z)
        result = self.at(X).hessian(egrad, ehess, Z)
        return self._checked(result, X=X, egrad=egrad, ehess=ehess, Z=Z)

    @final
    def retract(self, X: Array, Z: Array, kind: str = "cayley") -> Array:
        """A point of M near X + Z, exact to first order: "cayley", "polar" or "exp" (F9).

        Raises `OutsideDomainError` where the step is too long for the formula; halve it.
        """
        if not isinstance(kind, str) or kind not in RETRACTIONS:
            refuse("kind", f"one of {', '.join(map(repr, RETRACTIONS))}", repr(kind))
        self._check(X=X, Z=Z)
        try:
            return self._checked(RETRACTIONS[kind](self, self._at_once(X), Z), X=X, Z=Z)
        except Exception:
            self._require_finite(X=X, Z=Z)
            raise

    @final
    def transport(self, X: Array, Y: Array, Z: Array) -> Array:
        """The tangent vector Z of X, carried to Y by the projection P_Y(Z)."""
        self._check(X=X, Y=Y, Z=Z)
        self._require_finite(Y=Y, Z=Z)
        return self.project(Y, Z)

    @final
    def restore(self, X: Array, tol: float | None = None) -> Array:
        """Steps 3 to 5 of Algorithm 1: X <- A(X) until |C(X)| <= tol max(1, |X| |phi(X)|).

        Converges quadratically from near M (F6). `tol` is 4500 units of roundoff by default (1e-12
        in double precision); it is not undercut below rounding. Raises `NotRestorableError` from
        too far away.
        """
        self._check(X=X)
        if is_lazy(X):
            raise NotImplementedError(
                "restore looks at values and cannot run under JAX; iterate dissolve instead"
            )
        if tol is not None and not tol >= 0:
            refuse("tol", "a number >= 0", tol)
        unit = arrays.eps(X)
        tol = 4500 * unit if tol is None else max(float(tol), 10 * unit)
        violations: list[float] = []
        for _ in range(_RESTORE_STEPS):
            P = self.phi(X)
            S = self._checked(ct(P) @ X, X=X)
            eye = eye_like(S)
            violations.append(number(self.norm(S - eye)))
            if violations[-1] <= tol * max(1.0, number(self.norm(X) * self.norm(P))):
                return X
            if not violations[-1] <= 10 * violations[0] + 10:
                break
            X = X @ (1.5 * eye - 0.5 * S)
        refuse(
            "X",
            "a point near M: |C(X)| = |X^T phi(X) - I|, all eigenvalues of phi(X)^T X in (0, 3)",
            violations[0],
            tol,
            f"After {len(violations) - 1} steps of A it is {violations[-1]:.3g}.",
            NotRestorableError,
        )

    @final
    def random_ambient(self, rng: Any = None) -> np.ndarray[Any, Any]:
        """A Gaussian element of F."""
        rng = as_generator(rng)
        Y = rng.standard_normal(self.shape)
        if self.dtype.kind == "c":
            Y = Y + 1j * rng.standard_normal(self.shape)
        return np.asarray(self.ambient(Y.astype(self.dtype)))

    @final
    def random_point(self, rng: Any = None) -> np.ndarray[Any, Any]:
        """A random point of M (NumPy), spread over M; see `genorth.geometry.sampling`."""
        return self._sampler.draw(as_generator(rng))

    @final
    @cached_property
    def _sampler(self) -> sampling.Sampler:
        return sampling.Sampler(self)

    @final
    def random_tangent(self, X: Array, rng: Any = None) -> Array:
        """A Gaussian element of T_X M: the projection of a Gaussian element of F."""
        return self.project(X, arrays.as_like(self.random_ambient(rng), X))
