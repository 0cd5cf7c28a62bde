"""The contract: one list of named properties that every manifold of the theory has.

Each property measures a violation and compares it with a bound made of norms, the unit roundoff,
the size, and the condition of what is solved; `check` raises an AssertionError that shows all of
them. C, A and DA* are polynomials, so their differences are exact and no step length is chosen.
Only gradients and Hessians are checked by slopes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from genorth.checks.report import fit_slope
from genorth.geometry.bases import dense_theta, realvec, symmetric_basis
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.newton import NewtonStep
from genorth.geometry.place import ConjugateGradients
from genorth.geometry.retractions import RETRACTIONS, polar_factor
from genorth.linalg.arrays import Array, ct, eps, inner, norm

_Matrix = np.ndarray[Any, Any]
#: A measured violation and its bound, with the formula that was measured.
Measured = tuple[str, float, float]
_SMALL = 400  # real dimension of F up to which bases are formed


class DoesNotApply(Exception):
    """A statement says nothing about this manifold."""


class Sample:
    """Random elements of one manifold, and the constants that bounds are made of.

    Args:
        manifold: The manifold.
        rng: A seed or a NumPy Generator.
    """

    def __init__(self, manifold: GenOrthManifold, rng: Any = 0) -> None:
        self.M = manifold
        self.rng = np.random.default_rng(rng)
        self.u = 100 * float(np.sqrt(np.prod(manifold.shape))) * eps(manifold.dtype)

    def ambient(self, size: float = 1.0) -> _Matrix:
        """A random element of F.

        Args:
            size: Its norm.

        Returns:
            The element.
        """
        Y = self.M.random_ambient(self.rng)
        return Y * (size / float(norm(Y)))

    def algebra(self) -> _Matrix:
        """A random element of G of norm one."""
        T = ct(self.ambient()) @ self.ambient()
        return np.asarray(T / norm(T))

    def symmetric(self) -> _Matrix:
        """A random element of S1 of norm one (zero if S1 is zero)."""
        S = np.asarray(self.M.symmetrize(self.algebra()))
        return S / max(float(norm(S)), 1e-3)

    @cached_property
    def X(self) -> _Matrix:
        """A point of M."""
        return self.M.random_point(self.rng)

    @cached_property
    def Y(self) -> _Matrix:
        """A point off M, close enough for A to lead back."""
        return self.X + self.ambient(0.1 / self.steepness)

    @cached_property
    def steepness(self) -> float:
        """A step E changes <<X, X>> by about 2 steepness |E|, to first and to second order."""
        return max(float(norm(self.P)), self.L**0.5)

    def tangent(self) -> _Matrix:
        """A random tangent vector at X, of a length at which second-order terms are about one."""
        Z = np.asarray(self.M.random_tangent(self.X, self.rng))
        if self.M.dim == 0:
            return np.zeros_like(Z)
        return Z * (0.5 / (self.steepness * float(norm(Z))))

    def within_newton(self, Z: _Matrix) -> _Matrix:
        """Z, shortened so that Newton's method from X + Z contracts."""
        longest = 0.5 * float(self.singular[0]) / (self.L * self.q)
        return Z * min(1.0, longest / max(float(norm(Z)), 1e-300))

    @cached_property
    def P(self) -> _Matrix:
        """The image phi(X)."""
        return np.asarray(self.M.phi(self.X))

    def star(self, T: Array) -> Array:
        """T* = psi(T)^T."""
        return ct(self.M.psi(T))

    def form(self, U: Array, V: Array) -> Array:
        """<<U, V>> = phi(U)^T V."""
        return ct(self.M.phi(U)) @ V

    @cached_property
    def c(self) -> float:
        """The violation |C(X)|, the rounding of the point itself."""
        return float(self.M.feasibility(self.X))

    @cached_property
    def L(self) -> float:
        """The norm of phi, by the power method."""
        return _operator_norm(self.M.phi, self.ambient())

    @cached_property
    def q(self) -> float:
        """The norm of psi, at least one."""
        return max(1.0, _operator_norm(self.M.psi, self.algebra()))

    @cached_property
    def g(self) -> float:
        """max(1, |phi| |X|^2): how much larger than C(X) its terms are."""
        return max(1.0, self.L * float(norm(self.X)) ** 2)

    @cached_property
    def singular(self) -> _Matrix:
        """The singular values of phi(X), of all blocks."""
        return np.sort(np.linalg.svd(self.P, compute_uv=False).ravel())

    @cached_property
    def kappa(self) -> float:
        """A bound of the condition number of the equation for Theta_X."""
        return float(self.singular[-1] / self.singular[0]) ** 2 * self.q**2

    def close(self, formula: str, A: Array, B: Array, *sizes: float) -> Measured:
        """The distance |A - B| and its bound.

        Args:
            formula: The formula A = B.
            A: The left-hand side.
            B: The right-hand side.
            sizes: Bounds, which are summed.

        Returns:
            The formula, the distance and the bound.
        """
        return formula, float(norm(np.asarray(A) - np.asarray(B))), sum(sizes)

    def small(self) -> None:
        """Leave if bases would be too large to form."""
        if realvec(self.X).size > _SMALL:
            raise DoesNotApply(f"a basis of F is formed up to real dimension {_SMALL} only")


def _operator_norm(function: Callable[[Array], Array], X: _Matrix) -> float:
    value = 0.0
    for _ in range(30):
        image = np.asarray(function(X))
        size = float(norm(image))
        value = max(value, size / float(norm(X)))
        if size == 0:
            break
        X = image / size
    return 1.1 * value


@attrs.frozen
class Property:
    """One statement of the contract."""

    name: str
    statement: str
    measure: Callable[[Sample], Iterator[Measured]] = attrs.field(repr=False)

    def __str__(self) -> str:
        return self.name

    def check(self, manifold: GenOrthManifold, rng: Any = 0) -> str | None:
        """Measure on random elements and compare with the bounds.

        Args:
            manifold: The manifold.
            rng: A seed or a Generator, from which the random elements are drawn.

        Returns:
            None, or why the statement does not apply to this manifold.

        Raises:
            AssertionError: If it fails.
        """
        try:
            for formula, value, bound in self.measure(Sample(manifold, rng)):
                if not value <= bound:
                    raise AssertionError(
                        f"{self.name}: {formula} fails on {manifold}: measured {value:.3g}, "
                        f"bound {bound:.3g} (rng={rng!r})"
                    )
        except DoesNotApply as reason:
            return str(reason)
        return None


#: The contract, in the order of the theory.
PROPERTIES: list[Property] = []


def _property(
    name: str, statement: str
) -> Callable[[Callable[[Sample], Iterator[Measured]]], Property]:
    def register(measure: Callable[[Sample], Iterator[Measured]]) -> Property:
        PROPERTIES.append(Property(name, statement, measure))
        return PROPERTIES[-1]

    return register


# ---------------------------------------------------------------- Assumption 1 and the algebra


@_property(
    "assumption-1",
    "XT in F; phi self-adjoint; phi(XT) = phi(X) psi(T); psi(phi(X)^T X) = X^T phi(X)",
)
def _assumption(s: Sample) -> Iterator[Measured]:
    M, U, V, T = s.M, s.ambient(), s.ambient(), s.algebra()
    yield s.close("XT in F", U @ T, M.ambient(U @ T), s.u)
    yield s.close("phi(X) in F", M.phi(U), M.ambient(M.phi(U)), s.u * s.L)
    yield s.close("<phi(U), V> = <U, phi(V)>", inner(M.phi(U), V), inner(U, M.phi(V)), s.u * s.L)
    yield s.close("phi(XT) = phi(X) psi(T)", M.phi(U @ T), M.phi(U) @ M.psi(T), s.u * s.L * s.q)
    yield s.close(
        "psi(phi(X)^T X) = X^T phi(X)", M.psi(ct(M.phi(U)) @ U), ct(U) @ M.phi(U), s.u * s.L * s.q
    )


@_property("F1", "psi(phi(U)^T V) = U^T phi(V)")
def _f1(s: Sample) -> Iterator[Measured]:
    U, V = s.ambient(), s.ambient()
    yield s.close(
        "psi(phi(U)^T V) = U^T phi(V)", s.M.psi(ct(s.M.phi(U)) @ V), s.M.gram(U, V), s.u * s.L * s.q
    )


@_property("F2", "psi(ST) = psi(S) psi(T), psi(I) = I, psi self-adjoint, psi^-1(T) = psi(T^T)^T")
def _f2(s: Sample) -> Iterator[Measured]:
    psi, S, T = s.M.psi, s.algebra(), s.algebra()
    eye = np.eye(S.shape[-1]) + np.zeros_like(S)
    yield s.close("psi(ST) = psi(S) psi(T)", psi(S @ T), psi(S) @ psi(T), s.u * s.q**2)
    yield s.close("psi(I) = I", psi(eye), eye, s.u * s.q * float(norm(eye)))
    yield s.close("<psi(S), T> = <S, psi(T)>", inner(psi(S), T), inner(S, psi(T)), s.u * s.q)
    yield s.close("psi(psi(T^T)^T) = T", psi(ct(psi(ct(T)))), T, s.u * s.q**2)


@_property(
    "F3", "T* = psi(T)^T is an involution, <<U,V>> = phi(U)^T V a Hermitian form, M = {<<X,X>> = I}"
)
def _f3(s: Sample) -> Iterator[Measured]:
    S, T, U, V, star, form = s.algebra(), s.algebra(), s.ambient(), s.ambient(), s.star, s.form
    yield s.close("(ST)* = T*S*", star(S @ T), star(T) @ star(S), s.u * s.q**2)
    yield s.close("T** = T", star(star(T)), T, s.u * s.q**2)
    yield s.close("<<V,U>> = <<U,V>>*", form(V, U), star(form(U, V)), s.u * s.q * s.L)
    yield s.close("<<U,VT>> = <<U,V>>T", form(U, V @ T), form(U, V) @ T, s.u * s.L)
    yield s.close("<<X,X>> = I", form(s.X, s.X), np.eye(T.shape[-1]), s.u * s.g, s.c)


@_property(
    "F4",
    "Phi self-adjoint; S1 = {psi(S^T) = S}; Phi(S^T) = 2S on S1; C(X) in S1; "
    "Phi(C) = 2C^T if psi^2 = id",
)
def _f4(s: Sample) -> Iterator[Measured]:
    Phi, psi, A, T, S = s.M.symmetrize, s.M.psi, s.algebra(), s.algebra(), s.symmetric()
    C = s.M.constraint(s.Y)
    yield s.close("Phi(T) = T^T + psi(T)", Phi(T), ct(T) + psi(T), s.u * s.q)
    yield s.close("<Phi(A), T> = <A, Phi(T)>", inner(Phi(A), T), inner(A, Phi(T)), s.u * s.q)
    yield s.close("psi(S^T) = S on S1", psi(ct(S)), S, 1e3 * s.u * s.q**2)
    yield s.close("Phi(S^T) = 2S on S1", Phi(ct(S)), 2 * S, 1e3 * s.u * s.q**2)
    yield s.close("C(Y) in S1", psi(ct(C)), C, s.u * s.q * s.g)
    if float(norm(psi(psi(T)) - T)) <= s.u * s.q**2:
        yield s.close("Phi(C) = 2 C^T", Phi(C), 2 * ct(C), s.u * s.q**2 * s.g)


# ---------------------------------------------------------------- C, A and their derivatives, on
# and off M


@_property(
    "constraint",
    "C(X) = X^T phi(X) - I, DC(X)[Z] = X^T phi(Z) + Z^T phi(X), DC(X)*[T] = phi(X) Phi(T)",
)
def _constraint(s: Sample) -> Iterator[Measured]:
    M, Y, T = s.M, s.Y, s.algebra()
    Z = s.ambient(float(norm(Y)))
    bound = 4 * s.u * s.q * s.g
    eye = np.eye(T.shape[-1])
    yield s.close("C(Y) = Y^T phi(Y) - I", M.constraint(Y), ct(Y) @ M.phi(Y) - eye, bound)
    yield s.close("|C(Y)|", M.feasibility(Y), norm(ct(Y) @ M.phi(Y) - eye), bound)
    differential = M.constraint_differential(Y, Z)
    yield s.close(
        "DC(Y)[Z] = Y^T phi(Z) + Z^T phi(Y)", differential, M.gram(Y, Z) + M.gram(Z, Y), bound
    )
    difference = M.constraint(Y + Z) - M.constraint(Y - Z)
    yield s.close("C(Y+Z) - C(Y-Z) = 2 DC(Y)[Z]", difference, 2 * differential, 4 * bound)
    yield s.close("|DC(Y)[Z]|", M.tangency(Y, Z), norm(differential), bound)
    adjoint = M.constraint_adjoint(Y, T)
    yield s.close(
        "<DC(Y)[Z], T> = <Z, DC(Y)*[T]>", inner(differential, T), inner(Z, adjoint), bound
    )
    yield s.close(
        "DC(Y)*[T] = phi(Y) Phi(T)",
        adjoint,
        M.phi(Y) @ M.symmetrize(T),
        s.u * s.q * s.L * float(norm(Y)),
    )


@_property(
    "dissolving", "A(X) = X (3I - phi(X)^T X)/2, its differential, adjoint and second adjoint"
)
def _dissolving(s: Sample) -> Iterator[Measured]:
    M, Y, T = s.M, s.Y, s.ambient()
    size = float(norm(Y))
    Z, V = s.ambient(size), s.ambient(size)
    bound = 20 * s.u * s.q * s.g
    yield s.close(
        "A(Y) = 3/2 Y - 1/2 Y phi(Y)^T Y",
        M.dissolve(Y),
        1.5 * Y - 0.5 * Y @ ct(M.phi(Y)) @ Y,
        bound * size,
    )
    D = M.dissolve_differential(Y, Z)
    difference = M.dissolve(Y + Z) - M.dissolve(Y - Z)
    yield s.close(
        "A(Y+Z) - A(Y-Z) = 2 DA(Y)[Z] - Z phi(Z)^T Z",
        difference,
        2 * D - Z @ ct(M.phi(Z)) @ Z,
        bound * size,
    )
    yield s.close(
        "<DA(Y)[Z], T> = <Z, DA(Y)*[T]>",
        inner(D, T),
        inner(Z, M.dissolve_adjoint(Y, T)),
        bound * size,
    )
    second = M.dissolve_second_adjoint(Y, Z, T)
    difference = M.dissolve_adjoint(Y + Z, T) - M.dissolve_adjoint(Y - Z, T)
    yield s.close("DA(Y+Z)*[T] - DA(Y-Z)*[T] = 2 D2A(Y)*[Z, T]", difference, 2 * second, bound)
    symmetric = inner(M.dissolve_second_adjoint(Y, V, T), Z)
    yield s.close(
        "<D2A(Y)*[Z, T], V> = <D2A(Y)*[V, T], Z>", inner(second, V), symmetric, bound * size
    )


@_property("composition", "D(C o A)(X)[Z] as in the paper's lemma, equal to DC(A(X))[DA(X)[Z]]")
def _composition(s: Sample) -> Iterator[Measured]:
    M, Y = s.M, s.Y
    Z = s.ambient()
    chain = M.constraint_differential(M.dissolve(Y), M.dissolve_differential(Y, Z))
    size = s.L * float(norm(Y))
    yield s.close(
        "D(C o A)(Y)[Z] = DC(A(Y))[DA(Y)[Z]]",
        _composed(M, Y, Z),
        chain,
        20 * s.u * s.q**2 * s.g * size,
    )


def _composed(M: GenOrthManifold, Y: Array, Z: Array) -> Array:
    """D(C o A)(Y)[Z] by the lemma: 9/4 D - 3/2 (DS + SD) + 1/4 (DSS + SDS + SSD)."""
    D, S = M.constraint_differential(Y, Z), M.gram(Y)
    return 2.25 * D - 1.5 * (D @ S + S @ D) + 0.25 * (D @ S @ S + S @ D @ S + S @ S @ D)


@_property(
    "F6", "C(A(X)) = -3/4 C^2 + 1/4 C^3; repeated A ends at the polar factor X <<X,X>>^(-1/2)"
)
def _f6(s: Sample) -> Iterator[Measured]:
    M, C = s.M, s.M.constraint(s.Y)
    S = M.gram(s.Y)
    bound = 20 * s.u * s.g * (1 + float(norm(S))) ** 2
    after = M.constraint(M.dissolve(s.Y))
    yield s.close("C(A(Y)) = -3/4 C^2 + 1/4 C^3", after, -0.75 * C @ C + 0.25 * C @ C @ C, bound)
    polynomial = 2.25 * S - 1.5 * S @ S + 0.25 * S @ S @ S - np.eye(S.shape[-1])
    yield s.close("C(A(Y)) = 9/4 S - 3/2 S^2 + 1/4 S^3 - I", after, polynomial, bound)
    restored, size = M.restore(s.Y), float(norm(s.Y))
    feasible = 4500 * eps(M.dtype) * float(M.scale(restored))
    yield "|C(restore(Y))|", float(M.feasibility(restored)), feasible
    yield s.close(
        "restore(Y) = Y <<Y,Y>>^(-1/2)", restored, polar_factor(M, s.Y), size * (bound + feasible)
    )


# ---------------------------------------------------------------- on M


@_property("constraint-dissolving", "A(X) = X and D(C o A)(X) = 0 on M")
def _cdm(s: Sample) -> Iterator[Measured]:
    Z, rest = s.ambient(), s.u * s.g + 5 * s.c
    size = float(norm(s.X))
    yield s.close("A(X) = X", s.M.dissolve(s.X), s.X, size * rest)
    composed = _composed(s.M, s.X, Z)
    yield s.close(
        "D(C o A)(X)[Z] = 0", composed, np.zeros_like(composed), 20 * s.q * s.L * size * rest
    )
    chain = s.M.constraint_differential(s.M.dissolve(s.X), s.M.dissolve_differential(s.X, Z))
    yield s.close(
        "DC(A(X))[DA(X)[Z]] = 0", chain, np.zeros_like(chain), 20 * s.q**2 * s.L * size * rest
    )


@_property(
    "F7", "DA(X) is the projector onto T_X M along {X S^T : S in S1}; DA and DA* are idempotent"
)
def _f7(s: Sample) -> Iterator[Measured]:
    M, X, D, S, Z = s.M, s.X, s.ambient(), s.symmetric(), s.tangent()
    rest, size = 20 * s.q**2 * (s.u * s.g + s.c), float(norm(X))
    a = 1 + s.q * size * float(norm(s.P))  # bounds |DA(X)|
    image, adjoint = M.dissolve_differential(X, D), M.dissolve_adjoint(X, D)
    yield s.close("DA(X)[DA(X)[D]] = DA(X)[D]", M.dissolve_differential(X, image), image, a * rest)
    yield s.close(
        "DA(X)*[DA(X)*[D]] = DA(X)*[D]", M.dissolve_adjoint(X, adjoint), adjoint, a * rest
    )
    tangency = M.constraint_differential(X, image)
    yield s.close(
        "DC(X)[DA(X)[D]] = 0", tangency, np.zeros_like(tangency), a * rest * float(norm(s.P))
    )
    drift = float(M.tangency(X, Z)) * size
    yield s.close(
        "DA(X)[Z] = Z for tangent Z", M.dissolve_differential(X, Z), Z, rest * float(norm(Z)), drift
    )
    killed = M.dissolve_differential(X, X @ ct(S))
    yield s.close("DA(X)[X S^T] = 0", killed, np.zeros_like(killed), 1e3 * size * rest)


@_property(
    "projection",
    "P_X D = D - phi(X) Theta_X(D) is tangent, idempotent, self-adjoint, nearest; "
    "normal space phi(X) S1",
)
def _projection(s: Sample) -> Iterator[Measured]:
    M, X, D, E, T = s.M, s.X, s.ambient(), s.ambient(), s.algebra()
    rest = 10 * (s.u * s.kappa + s.c)
    PD, PE, size = M.project(X, D), M.project(X, E), float(norm(s.P))
    yield "DC(X)[P_X D] = 0", float(M.tangency(X, PD)), 2 * s.q * size * rest
    yield s.close("P_X D = D - phi(X) Theta_X(D)", PD, D - s.P @ M.theta(X, D), rest)
    yield s.close("P_X P_X = P_X", M.project(X, PD), PD, rest)
    yield s.close("<P_X D, E> = <D, P_X E>", inner(PD, E), inner(D, PE), rest)
    yield s.close("<D - P_X D, P_X E> = 0", inner(D - PD, PE), 0.0, rest)
    normal = s.P @ M.symmetrize(T)
    yield s.close("<P_X D, phi(X) Phi(T)> = 0", inner(PD, normal), 0.0, 2 * s.q * size * rest)
    yield s.close(
        "P_X(phi(X) Phi(T)) = 0", M.project(X, normal), np.zeros_like(X), 2 * s.q * size * rest
    )
    yield s.close("gradient = P_X(egrad)", M.gradient(X, D), PD, rest)


@_property(
    "theta",
    "Theta_X(D) in S1 is the least-squares solution: every way equals the dense oracle (F5)",
)
def _theta(s: Sample) -> Iterator[Measured]:
    s.small()
    M, X, D = s.M, s.X, s.ambient()
    Theta = M.theta(X, D)
    oracle = dense_theta(M, s.P, D)
    rest = 20 * (s.u * s.kappa + s.c) * s.q / float(s.singular[0])
    yield s.close("Theta = argmin |phi(X) S - D| over S1", Theta, oracle, rest)
    yield s.close("psi(Theta^T) = Theta", M.psi(ct(Theta)), Theta, s.q * rest)
    iterated = ConjugateGradients(M, X, s.P).theta(D)
    yield s.close("conjugate gradients = oracle", iterated, oracle, 10 * s.q**2 * rest)


@_property("F10", "dim M = dim F - dim S1, the rank of the projector onto the tangent space")
def _f10(s: Sample) -> Iterator[Measured]:
    s.small()
    M = s.M
    dim_F, dim_G, trace = M.dimensions()
    yield s.close(
        "dim S1 = (dim G + trace of T -> psi(T^T))/2",
        (dim_G + trace) / 2,
        len(symmetric_basis(M)),
        0,
    )
    count = realvec(s.X).size
    units = np.eye(count, dtype=s.X.real.dtype).view(s.X.dtype).reshape(-1, *s.X.shape)
    rank = sum(float(inner(E, M.project(s.X, M.ambient(E)))) for E in units)
    yield s.close("dim M = trace of P_X on F", M.dim, rank, 0.4)
    yield s.close("dim M = dim F - dim S1", M.dim, dim_F - len(symmetric_basis(M)), 0)


@_property(
    "F12",
    "DA DA*[D] is tangent, vanishes exactly for normal D, and "
    "<D, DA DA*[D]> = |DA*[D]|^2 >= |P_X D|^2",
)
def _f12(s: Sample) -> Iterator[Measured]:
    M, X, D, T = s.M, s.X, s.ambient(), s.algebra()
    rest, size = 20 * s.q**2 * (s.u * s.g + s.c), float(norm(X))
    a = 1 + s.q * size * float(norm(s.P))
    adjoint = M.dissolve_adjoint(X, D)
    G = M.dissolve_differential(X, adjoint)
    yield "DC(X)[DA DA*[D]] = 0", float(M.tangency(X, G)), a**2 * rest * float(norm(s.P))
    yield s.close("<D, DA DA*[D]> = |DA*[D]|^2", inner(D, G), inner(adjoint, adjoint), a**2 * rest)
    projected = float(norm(M.project(X, D)))
    yield "|P_X D| <= |DA*[D]|", projected - float(norm(adjoint)), a * rest + 10 * s.u * s.kappa
    normal = s.P @ M.symmetrize(T)
    yield (
        "DA*[phi(X) Phi(T)] = 0",
        float(norm(M.dissolve_adjoint(X, normal))),
        a * rest * 2 * s.q * float(norm(s.P)),
    )


@_property("F13", "phi(X) Q = A X with one n x n matrix A, symmetric or skew as Q is")
def _f13(s: Sample) -> Iterator[Measured]:
    M, companion = s.M, s.M.companion
    if companion is None or M.ambient_projector is not None:
        raise DoesNotApply("F is not the whole space, or psi(T) is not Q T Q^-1")
    p = M.shape[-1]
    U, V, w = s.ambient(), s.ambient(), s.algebra()[..., :1, :]
    bound = s.u * s.L * s.q * max(1.0, float(norm(companion.Q.left(np.eye(p)))))

    def column(Y: _Matrix) -> _Matrix:
        """A v for the first column v of Y, from phi(v e_1^T) Q."""
        first = np.zeros_like(Y)
        first[..., :1] = Y[..., :1]
        return np.asarray(companion.Q.right(M.phi(first)))[..., :1]

    outer = companion.Q.right(M.phi(U[..., :1] @ w))
    yield s.close("phi(v w^T) Q = (A v) w^T", outer, column(U) @ w, bound)
    left, right = ct(V[..., :1]) @ column(U), ct(column(V)) @ U[..., :1]
    yield s.close("A^T = e A", left, companion.sign * right, bound)


# ---------------------------------------------------------------- functions on M, by slopes


@attrs.frozen
class _Quadratic:
    """f(X) = <B, X> + <X, HX>/2 on F, with its derivatives in F."""

    manifold: GenOrthManifold
    B: _Matrix
    H: _Matrix

    def value(self, X: Array) -> float:
        return float(inner(self.B, X) + inner(X, self.H @ X) / 2)

    def gradient(self, X: Array) -> Array:
        return self.manifold.ambient(self.B + self.hessian(X))

    def hessian(self, Z: Array) -> Array:
        return self.manifold.ambient(self.H @ Z)


def _function(s: Sample) -> _Quadratic:
    n = s.M.shape[-2]
    H = s.rng.standard_normal((n, n)).astype(s.M.dtype)
    size = max(float(norm(s.X)), 1.0)
    return _Quadratic(s.M, s.ambient(1 / size), (H + H.T) / (2 * n * size**2))


_TIMES = np.logspace(-3, 0, 13)


@_property("gradient", "f(R(tZ)) = f(X) + t <grad f(X), Z> + O(t^2)")
def _gradient(s: Sample) -> Iterator[Measured]:
    M, X, f, Z = s.M, s.X, _function(s), s.tangent()
    slope = float(inner(M.gradient(X, f.gradient(X)), Z))
    errors = [
        abs(f.value(M.retract(X, t * Z, kind="exp")) - f.value(X) - t * slope) for t in _TIMES
    ]
    floor = 100 * (s.u * s.g + s.u * s.kappa + s.c)
    yield (
        "slope of the first-order error >= 1.5",
        -fit_slope(_TIMES, np.asarray(errors), floor),
        -1.5,
    )
    yield s.close("<grad f, Z> = <egrad, Z>", slope, inner(f.gradient(X), Z), floor)


@_property(
    "hessian",
    "P_X(grad f(R(tZ)) - grad f(R(-tZ))) = 2t hess f(X)[Z] + O(t^3); symmetric and tangent",
)
def _hessian(s: Sample) -> Iterator[Measured]:
    M, X, f, Z, V = s.M, s.X, _function(s), s.tangent(), s.tangent()
    G = f.gradient(X)

    def hess(W: Array) -> Array:
        return M.hessian(X, G, f.hessian(W), W)

    def grad(t: float) -> Array:
        R = M.retract(X, t * Z, kind="exp")
        return M.gradient(R, f.gradient(R))

    HZ, size = hess(Z), 1.0 + s.L * float(norm(G)) / float(s.singular[0])
    errors = [float(norm(M.project(X, grad(t) - grad(-t)) - 2 * t * HZ)) for t in _TIMES]
    rest = 100 * (s.u * s.kappa + s.u * s.g + s.c) * size
    yield (
        "slope of the second-order error >= 2.5",
        -fit_slope(_TIMES, np.asarray(errors), rest),
        -2.5,
    )
    lengths = float(norm(Z) * norm(V))
    yield s.close("<hess[Z], V> = <Z, hess[V]>", inner(HZ, V), inner(Z, hess(V)), rest * lengths)
    yield (
        "hess[Z] tangent",
        float(M.tangency(X, HZ)),
        2 * s.q * float(norm(s.P)) * rest * float(norm(Z)),
    )


# ---------------------------------------------------------------- retractions, transport, points


@_property("retractions", "R(tZ) is on M, R(0) = X, R(tZ) = X + tZ + O(t^2), for every kind")
def _retractions(s: Sample) -> Iterator[Measured]:
    M, X, Z = s.M, s.X, s.tangent()
    rest, size = 100 * (s.u * s.g * s.q + s.c), float(norm(X))
    for kind in RETRACTIONS:
        Z = s.within_newton(Z) if kind == "normal" else Z
        R = M.retract(X, Z, kind=kind)
        yield f"|C(R(Z))|, {kind}", float(M.feasibility(R)), rest
        yield s.close(f"R(0) = X, {kind}", M.retract(X, 0 * Z, kind=kind), X, size * rest)
        errors = [float(norm(M.retract(X, t * Z, kind=kind) - X - t * Z)) for t in _TIMES]
        yield (
            f"slope of |R(tZ) - X - tZ| >= 1.5, {kind}",
            -fit_slope(_TIMES, np.asarray(errors), size * rest),
            -1.5,
        )


@_property(
    "F9",
    "Cayley and exp of Omega(V) = G<<X,V>> - X<<G,V>>, skew for the form; "
    "polar: <<R,Y>>^2 = <<Y,Y>>",
)
def _f9(s: Sample) -> Iterator[Measured]:
    M, X, Z, U, V, form = s.M, s.X, s.tangent(), s.ambient(), s.ambient(), s.form
    G = Z - X @ form(X, Z) / 2

    def omega(W: Array) -> Array:
        return G @ form(X, W) - X @ form(G, W)

    size = float(norm(X))
    rest = 100 * s.q * (s.u * s.g + s.c + float(M.tangency(X, Z)))
    w = float(norm(G) * norm(s.P) + norm(X) * norm(M.phi(G)))  # bounds |Omega|
    skew = (s.u * s.q * s.L + rest) * w
    yield s.close("<<Omega U, V>> = -<<U, Omega V>>", form(omega(U), V), -form(U, omega(V)), skew)
    yield s.close("Omega(X) = Z", omega(X), Z, rest * size)
    R = M.retract(X, Z, kind="cayley")
    yield s.close(
        "(I - Omega/2) R = (I + Omega/2) X", R - omega(R) / 2, X + omega(X) / 2, rest * size
    )
    series = term = X
    for k in range(1, 40):
        term = omega(term) / k
        series = series + term
    yield s.close("R = exp(Omega) X", M.retract(X, Z, kind="exp"), series, rest * size)
    Y = X + Z
    R, YY = M.retract(X, Z, kind="polar"), form(Y, Y)
    H = form(R, Y)
    yield s.close("<<X+Z, X+Z>> = I + <<Z,Z>>", YY, np.eye(YY.shape[-1]) + form(Z, Z), rest)
    yield s.close("<<R,Y>>^2 = <<Y,Y>>", H @ H, YY, rest)
    yield s.close("<<R,Y>>* = <<R,Y>>", s.star(H), H, rest)


@_property(
    "F15",
    "D(X) is the smallest D with DC(X)[D] = C(X); C(X - D) = D^T phi(D); D(X - D(X)) = P_X on M",
)
def _f15(s: Sample) -> Iterator[Measured]:
    M, X, Y, E = s.M, s.X, s.Y, s.ambient()
    P = np.asarray(M.phi(Y))
    singular = np.linalg.svd(P, compute_uv=False)
    kappa = (float(singular.max() / singular.min()) * s.q) ** 2
    C, D = M.constraint(Y), M.newton_step(Y)
    rest = 20 * s.q * s.u * (kappa * float(norm(C)) + s.g)
    yield s.close("DC(Y)[D] = C(Y)", M.constraint_differential(Y, D), C, rest)
    wide = 10 * s.u * s.L * float(norm(D)) ** 2
    yield s.close("C(Y - D) = D^T phi(D)", M.constraint(Y - D), M.gram(D), rest, wide)
    if realvec(X).size <= _SMALL:
        S = dense_theta(M, P, D)
        yield s.close("D = phi(Y) S, S in S1", P @ S, D, 100 * s.u * kappa * float(norm(D)))
    E = s.within_newton(E / s.steepness)
    PE, size = M.project(X, E), float(norm(E))
    rest = 100 * (s.u * s.kappa + s.c)
    slope = NewtonStep(M.at(X)).derivative(E)
    yield s.close("DD(X)[E] = E - P_X E on M", slope, E - PE, rest * size)
    errors = [float(norm(t * (E - PE) - M.newton_step(X + t * E))) for t in _TIMES]
    floor = rest * (size + s.g / float(s.singular[0]))
    yield (
        "slope of |D(X + tE) - t (E - P_X E)| >= 1.5",
        -fit_slope(_TIMES, np.asarray(errors), floor),
        -1.5,
    )


@_property("F18", "normal: P_X(R(tZ) - X - tZ) = O(t^3), and R(Z) = lim A_n^k(X + Z)")
def _f18(s: Sample) -> Iterator[Measured]:
    M, X = s.M, s.X
    Z = s.within_newton(s.tangent())
    floor = 100 * (s.u * s.kappa + s.c) * (float(norm(Z)) + s.g / float(s.singular[0]))
    errors = [
        float(norm(M.project(X, M.retract(X, t * Z, kind="normal") - X - t * Z))) for t in _TIMES
    ]
    yield (
        "slope of |P_X(R(tZ) - X - tZ)| >= 2.5",
        -fit_slope(_TIMES, np.asarray(errors), floor),
        -2.5,
    )
    Y = X + Z
    for _ in range(6):
        Y = Y - M.newton_step(Y)
    yield s.close("R(Z) = lim A_n^k(X + Z)", M.retract(X, Z, kind="normal"), Y, floor)


@_property("F19", "c'(t) of R(tZ): c'(0) = Z, tangent, the limit of differences, for every kind")
def _f19(s: Sample) -> Iterator[Measured]:
    M, X, Z, t = s.M, s.X, s.tangent(), 0.5
    for kind in RETRACTIONS:
        Z = s.within_newton(Z) if kind == "normal" else Z
        ray, size = M.ray(X, Z, kind), float(norm(Z))
        rest = 100 * s.q * (s.u * s.g * s.kappa + s.c)
        yield s.close(f"c'(0) = Z, {kind}", ray.velocity(0.0), Z, rest * size)
        c, V = ray.point(t), ray.velocity(t)
        bound = 20 * s.q * float(norm(M.phi(c))) * rest * size
        yield f"DC(c)[c'] = 0, {kind}", float(M.tangency(c, V)), bound
        errors = [float(norm(ray.point(t + h) - ray.point(t - h) - 2 * h * V)) for h in _TIMES / 4]
        floor = rest * (float(norm(X)) / s.kappa + size)
        yield (
            f"slope of |c(t+h) - c(t-h) - 2h c'(t)| >= 2.5, {kind}",
            -fit_slope(_TIMES, np.asarray(errors), floor),
            -2.5,
        )


@_property("transport", "Z at X is carried to P_Y(Z) at Y")
def _transport(s: Sample) -> Iterator[Measured]:
    M, X, Z = s.M, s.X, s.tangent()
    Y = M.retract(X, Z, kind="exp")
    moved = M.transport(X, Y, Z)
    yield s.close("transport = P_Y(Z)", moved, M.project(Y, Z), s.u * float(norm(Z)))
    P = M.phi(Y)
    condition = (float(np.linalg.cond(P).max()) * s.q) ** 2
    yield (
        "tangent at Y",
        float(M.tangency(Y, moved)),
        20 * s.q * float(norm(P) * norm(Z)) * (s.u * condition + s.c),
    )


@_property(
    "random-point",
    "random points are on M to 1e-12 times max(1, |X| |phi(X)|), and differ from one another",
)
def _random_point(s: Sample) -> Iterator[Measured]:
    M, X = s.M, s.X
    tolerance = max(1e-12, 4500 * eps(M.dtype))
    yield "|C(X)|", float(M.feasibility(X)), tolerance * float(M.scale(X))
    if M.dim:
        others = [float(norm(M.random_point(s.rng) - X)) for _ in range(10)]
        yield "largest |X' - X| >= |X|/10", -max(others), -float(norm(X)) / 10
