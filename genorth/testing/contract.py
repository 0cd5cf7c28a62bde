"""The contract: one list of named properties that every manifold of the theory has.

Each property measures a violation and compares it with a bound made of norms, the unit roundoff,
the size, and the condition of what is solved; `check` raises an AssertionError that shows all of
them. C, A and DA* are polynomials, so their differences are exact and no step length is chosen.
Only gradients and Hessians are checked by slopes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from genorth.checks.assumptions import check_assumptions
from genorth.checks.report import fit_slope
from genorth.geometry.bases import dense_theta, realvec, symmetric_basis
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.newton import NewtonStep
from genorth.geometry.place import ConjugateGradients
from genorth.geometry.product import Euclidean
from genorth.geometry.retractions import RETRACTIONS, Ray, polar_factor
from genorth.linalg.arrays import Array, ct, eps, inner, norm
from genorth.linalg.functions import operator_norm
from genorth.manifolds.product import Product

_Matrix = np.ndarray[Any, Any]
#: A measured violation and its bound, with the formula that was measured.
Measured = tuple[str, float, float]
Equations = list[Measured]
_SMALL = 400  # real dimension of F up to which bases are formed
_TOO_LARGE = f"a basis of F is formed up to real dimension {_SMALL} only"
_TIMES = np.logspace(-3, 0, 13)


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
        return 1.1 * operator_norm(self.M.phi, self.ambient())

    @cached_property
    def q(self) -> float:
        """The norm of psi, at least one."""
        return max(1.0, 1.1 * operator_norm(self.M.psi, self.algebra()))

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

    @property
    def is_large(self) -> bool:
        """Whether bases would be too large to form."""
        return realvec(self.X).size > _SMALL

    @property
    def dissolving_norm(self) -> float:
        """A bound of |DA(X)|."""
        return 1 + self.q * float(norm(self.X) * norm(self.P))

    @property
    def dissolving_rest(self) -> float:
        """The rounding in DA(X)[D] and DA(X)*[D], |D| = 1."""
        return 20 * self.q**2 * (self.u * self.g + self.c)


def _order(error: str, function: Callable[[float], Array], order: float, floor: float) -> Measured:
    """The slope of |function(t)| over t, which has to be at least the order above the floor."""
    errors = np.asarray([float(norm(np.asarray(function(t)))) for t in _TIMES])
    return f"slope of {error} >= {order}", -fit_slope(_TIMES, errors, floor), -order


@attrs.frozen
class Property:
    """One statement of the contract."""

    name: str
    statement: str
    measure: Callable[[Sample], Equations | str] = attrs.field(repr=False)

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
        measured = self.measure(Sample(manifold, rng))
        if isinstance(measured, str):
            return measured
        for formula, value, bound in measured:
            if not value <= bound:
                raise AssertionError(
                    f"{self.name}: {formula} fails on {manifold}: measured {value:.3g}, "
                    f"bound {bound:.3g} (rng={rng!r})"
                )
        return None


#: The contract, in the order of the theory.
PROPERTIES: list[Property] = []


def _property(
    name: str, statement: str
) -> Callable[[Callable[[Sample], Equations | str]], Property]:
    def register(measure: Callable[[Sample], Equations | str]) -> Property:
        PROPERTIES.append(Property(name, statement, measure))
        return PROPERTIES[-1]

    return register


# ---------------------------------------------------------------- Assumption 1 and the algebra


@_property("assumption-1", "Assumption 1, F1 and F2, and what the manifold states about itself")
def _assumption(s: Sample) -> Equations:
    return [
        (each.formula, *((-each.value, -each.bound) if each.at_least else (each.value, each.bound)))
        for each in check_assumptions(s.M, s.rng).findings
    ]


@_property(
    "F3", "T* = psi(T)^T is an involution, <<U,V>> = phi(U)^T V a Hermitian form, M = {<<X,X>> = I}"
)
def _f3(s: Sample) -> Equations:
    S, T, U, V, star, form = s.algebra(), s.algebra(), s.ambient(), s.ambient(), s.star, s.form
    return [
        s.close("(ST)* = T*S*", star(S @ T), star(T) @ star(S), s.u * s.q**2),
        s.close("T** = T", star(star(T)), T, s.u * s.q**2),
        s.close("<<V,U>> = <<U,V>>*", form(V, U), star(form(U, V)), s.u * s.q * s.L),
        s.close("<<U,VT>> = <<U,V>>T", form(U, V @ T), form(U, V) @ T, s.u * s.L),
        s.close("<<X,X>> = I", form(s.X, s.X), np.eye(T.shape[-1]), s.u * s.g, s.c),
    ]


@_property(
    "F4",
    "Phi self-adjoint; S1 = {psi(S^T) = S}; Phi(S^T) = 2S on S1; C(X) in S1; "
    "Phi(C) = 2C^T if psi^2 = id",
)
def _f4(s: Sample) -> Equations:
    Phi, psi, A, T, S = s.M.symmetrize, s.M.psi, s.algebra(), s.algebra(), s.symmetric()
    C, rest = s.M.constraint(s.Y), s.u * s.q**2
    involutive = float(norm(psi(psi(T)) - T)) <= rest
    return [
        s.close("Phi(T) = T^T + psi(T)", Phi(T), ct(T) + psi(T), s.u * s.q),
        s.close("<Phi(A), T> = <A, Phi(T)>", inner(Phi(A), T), inner(A, Phi(T)), s.u * s.q),
        s.close("psi(S^T) = S on S1", psi(ct(S)), S, 1e3 * rest),
        s.close("Phi(S^T) = 2S on S1", Phi(ct(S)), 2 * S, 1e3 * rest),
        s.close("C(Y) in S1", psi(ct(C)), C, s.u * s.q * s.g),
        *([s.close("Phi(C) = 2 C^T", Phi(C), 2 * ct(C), rest * s.g)] if involutive else []),
    ]


# ---------------------------------------------------------------- C, A and their derivatives, on
# and off M


@_property(
    "constraint",
    "C(X) = X^T phi(X) - I, DC(X)[Z] = X^T phi(Z) + Z^T phi(X), DC(X)*[T] = phi(X) Phi(T)",
)
def _constraint(s: Sample) -> Equations:
    M, Y, T = s.M, s.Y, s.algebra()
    Z, P = s.ambient(float(norm(Y))), M.phi(Y)
    rest, C = 4 * s.u * s.q * s.g, ct(Y) @ P - np.eye(T.shape[-1])
    DC, adjoint = M.constraint_differential(Y, Z), M.constraint_adjoint(Y, T)
    difference = M.constraint(Y + Z) - M.constraint(Y - Z)
    size = s.u * s.q * s.L * float(norm(Y))
    return [
        s.close("C(Y) = Y^T phi(Y) - I", M.constraint(Y), C, rest),
        s.close("|C(Y)|", M.feasibility(Y), norm(C), rest),
        s.close("DC(Y)[Z] = Y^T phi(Z) + Z^T phi(Y)", DC, M.gram(Y, Z) + M.gram(Z, Y), rest),
        s.close("C(Y+Z) - C(Y-Z) = 2 DC(Y)[Z]", difference, 2 * DC, 4 * rest),
        s.close("|DC(Y)[Z]|", M.tangency(Y, Z), norm(DC), rest),
        s.close("<DC(Y)[Z], T> = <Z, DC(Y)*[T]>", inner(DC, T), inner(Z, adjoint), rest),
        s.close("DC(Y)*[T] = phi(Y) Phi(T)", adjoint, P @ M.symmetrize(T), size),
    ]


@_property(
    "dissolving", "A(X) = X (3I - phi(X)^T X)/2, its differential, adjoint and second adjoint"
)
def _dissolving(s: Sample) -> Equations:
    M, Y, T = s.M, s.Y, s.ambient()
    size = float(norm(Y))
    Z, V, rest = s.ambient(size), s.ambient(size), 20 * s.u * s.q * s.g
    D, adjoint = M.dissolve_differential(Y, Z), M.dissolve_adjoint(Y, T)
    second, other = M.dissolve_second_adjoint(Y, Z, T), M.dissolve_second_adjoint(Y, V, T)
    return [
        s.close(
            "A(Y) = 3/2 Y - 1/2 Y phi(Y)^T Y",
            M.dissolve(Y),
            1.5 * Y - 0.5 * Y @ ct(M.phi(Y)) @ Y,
            rest * size,
        ),
        s.close(
            "A(Y+Z) - A(Y-Z) = 2 DA(Y)[Z] - Z phi(Z)^T Z",
            M.dissolve(Y + Z) - M.dissolve(Y - Z),
            2 * D - Z @ ct(M.phi(Z)) @ Z,
            rest * size,
        ),
        s.close("<DA(Y)[Z], T> = <Z, DA(Y)*[T]>", inner(D, T), inner(Z, adjoint), rest * size),
        s.close(
            "DA(Y+Z)*[T] - DA(Y-Z)*[T] = 2 D2A(Y)*[Z, T]",
            M.dissolve_adjoint(Y + Z, T) - M.dissolve_adjoint(Y - Z, T),
            2 * second,
            rest,
        ),
        s.close(
            "<D2A(Y)*[Z, T], V> = <D2A(Y)*[V, T], Z>",
            inner(second, V),
            inner(other, Z),
            rest * size,
        ),
    ]


def _composed(s: Sample, Y: Array) -> tuple[Array, Array]:
    """D(C o A)(Y)[Z] for a random Z: by the chain rule, and by the paper's lemma.

    9/4 D - 3/2 (DS + SD) + 1/4 (DSS + SDS + SSD), D = DC(Y)[Z], S = Y^T phi(Y)
    """
    M, Z = s.M, s.ambient()
    D, S = M.constraint_differential(Y, Z), M.gram(Y)
    chain = M.constraint_differential(M.dissolve(Y), M.dissolve_differential(Y, Z))
    lemma = 2.25 * D - 1.5 * (D @ S + S @ D) + 0.25 * (D @ S @ S + S @ D @ S + S @ S @ D)
    return chain, lemma


@_property("composition", "D(C o A)(X)[Z] as in the paper's lemma, equal to DC(A(X))[DA(X)[Z]]")
def _composition(s: Sample) -> Equations:
    chain, lemma = _composed(s, s.Y)
    rest = 20 * s.u * s.q**2 * s.g * s.L * float(norm(s.Y))
    return [s.close("D(C o A)(Y)[Z] = DC(A(Y))[DA(Y)[Z]]", lemma, chain, rest)]


@_property(
    "F6", "C(A(X)) = -3/4 C^2 + 1/4 C^3; repeated A ends at the polar factor X <<X,X>>^(-1/2)"
)
def _f6(s: Sample) -> Equations:
    M, C, S, eye = s.M, s.M.constraint(s.Y), s.M.gram(s.Y), np.eye(s.M.shape[-1])
    rest = 20 * s.u * s.g * (1 + float(norm(S))) ** 2
    after, restored = M.constraint(M.dissolve(s.Y)), M.restore(s.Y)
    feasible = 4500 * eps(M.dtype) * float(M.scale(restored))
    polynomial = 2.25 * S - 1.5 * S @ S + 0.25 * S @ S @ S - eye
    size = float(norm(s.Y)) * (rest + feasible)
    return [
        s.close("C(A(Y)) = -3/4 C^2 + 1/4 C^3", after, -0.75 * C @ C + 0.25 * C @ C @ C, rest),
        s.close("C(A(Y)) = 9/4 S - 3/2 S^2 + 1/4 S^3 - I", after, polynomial, rest),
        ("|C(restore(Y))|", float(M.feasibility(restored)), feasible),
        s.close("restore(Y) = Y <<Y,Y>>^(-1/2)", restored, polar_factor(M, s.Y), size),
    ]


# ---------------------------------------------------------------- on M


@_property("constraint-dissolving", "A(X) = X and D(C o A)(X) = 0 on M")
def _cdm(s: Sample) -> Equations:
    rest = float(norm(s.X)) * (s.u * s.g + 5 * s.c)
    chain, lemma = _composed(s, s.X)
    return [
        s.close("A(X) = X", s.M.dissolve(s.X), s.X, rest),
        s.close("D(C o A)(X)[Z] = 0", lemma, 0 * lemma, 20 * s.q * s.L * rest),
        s.close("DC(A(X))[DA(X)[Z]] = 0", chain, 0 * chain, 20 * s.q**2 * s.L * rest),
    ]


@_property(
    "F7", "DA(X) is the projector onto T_X M along {X S^T : S in S1}; DA and DA* are idempotent"
)
def _f7(s: Sample) -> Equations:
    M, X, D, S, Z = s.M, s.X, s.ambient(), s.symmetric(), s.tangent()
    image, adjoint = M.dissolve_differential(X, D), M.dissolve_adjoint(X, D)
    killed, kept = M.dissolve_differential(X, X @ ct(S)), M.dissolve_differential(X, Z)
    rest, size = s.dissolving_rest, float(norm(X))
    drift = float(M.tangency(X, Z)) * size
    a, P = s.dissolving_norm * rest, float(norm(s.P))
    return [
        s.close("DA(X)[DA(X)[D]] = DA(X)[D]", M.dissolve_differential(X, image), image, a),
        s.close("DA(X)*[DA(X)*[D]] = DA(X)*[D]", M.dissolve_adjoint(X, adjoint), adjoint, a),
        ("DC(X)[DA(X)[D]] = 0", float(M.tangency(X, image)), a * P),
        s.close("DA(X)[Z] = Z for tangent Z", kept, Z, rest * float(norm(Z)), drift),
        s.close("DA(X)[X S^T] = 0", killed, 0 * killed, 1e3 * size * rest),
    ]


@_property(
    "projection",
    "P_X D = D - phi(X) Theta_X(D) is tangent, idempotent, self-adjoint, nearest; "
    "normal space phi(X) S1",
)
def _projection(s: Sample) -> Equations:
    M, X, D, E, T = s.M, s.X, s.ambient(), s.ambient(), s.algebra()
    PD, PE, normal = M.project(X, D), M.project(X, E), s.P @ M.symmetrize(T)
    rest = 10 * (s.u * s.kappa + s.c)
    wide = 2 * s.q * float(norm(s.P)) * rest
    return [
        ("DC(X)[P_X D] = 0", float(M.tangency(X, PD)), wide),
        s.close("P_X D = D - phi(X) Theta_X(D)", PD, D - s.P @ M.theta(X, D), rest),
        s.close("P_X P_X = P_X", M.project(X, PD), PD, rest),
        s.close("<P_X D, E> = <D, P_X E>", inner(PD, E), inner(D, PE), rest),
        s.close("<D - P_X D, P_X E> = 0", inner(D - PD, PE), 0.0, rest),
        s.close("<P_X D, phi(X) Phi(T)> = 0", inner(PD, normal), 0.0, wide),
        s.close("P_X(phi(X) Phi(T)) = 0", M.project(X, normal), 0 * X, wide),
        s.close("gradient = P_X(egrad)", M.gradient(X, D), PD, rest),
    ]


@_property(
    "theta",
    "Theta_X(D) in S1 is the least-squares solution: every way equals the dense oracle (F5)",
)
def _theta(s: Sample) -> Equations | str:
    if s.is_large:
        return _TOO_LARGE
    M, X, D = s.M, s.X, s.ambient()
    Theta, oracle = M.theta(X, D), dense_theta(M, s.P, D)
    iterated = ConjugateGradients(M, X, s.P).theta(D)
    rest = 20 * (s.u * s.kappa + s.c) * s.q / float(s.singular[0])
    return [
        s.close("Theta = argmin |phi(X) S - D| over S1", Theta, oracle, rest),
        s.close("psi(Theta^T) = Theta", M.psi(ct(Theta)), Theta, s.q * rest),
        s.close("conjugate gradients = oracle", iterated, oracle, 10 * s.q**2 * rest),
    ]


@_property("F10", "dim M = dim F - dim S1, the rank of the projector onto the tangent space")
def _f10(s: Sample) -> Equations | str:
    if s.is_large:
        return _TOO_LARGE
    M, S1 = s.M, len(symmetric_basis(s.M))
    F, G, trace = M.dimensions()
    units = np.eye(realvec(s.X).size, dtype=s.X.real.dtype).view(s.X.dtype)
    rank = sum(float(inner(E, M.project(s.X, M.ambient(E)))) for E in units.reshape(-1, *s.X.shape))
    return [
        s.close("dim S1 = (dim G + trace of T -> psi(T^T))/2", (G + trace) / 2, S1, 0),
        s.close("dim M = trace of P_X on F", M.dim, rank, 0.4),
        s.close("dim M = dim F - dim S1", M.dim, F - S1, 0),
    ]


@_property(
    "F12",
    "DA DA*[D] is tangent, vanishes exactly for normal D, and "
    "<D, DA DA*[D]> = |DA*[D]|^2 >= |P_X D|^2",
)
def _f12(s: Sample) -> Equations:
    M, X, D, T = s.M, s.X, s.ambient(), s.algebra()
    a, P = s.dissolving_norm, float(norm(s.P))
    rest, adjoint = s.dissolving_rest, M.dissolve_adjoint(X, D)
    G, killed = M.dissolve_differential(X, adjoint), M.constraint_adjoint(X, T)
    less = float(norm(M.project(X, D)) - norm(adjoint))
    gone = float(norm(M.dissolve_adjoint(X, killed)))
    return [
        ("DC(X)[DA DA*[D]] = 0", float(M.tangency(X, G)), a**2 * rest * P),
        s.close("<D, DA DA*[D]> = |DA*[D]|^2", inner(D, G), inner(adjoint, adjoint), a**2 * rest),
        ("|P_X D| <= |DA*[D]|", less, a * rest + 10 * s.u * s.kappa),
        ("DA*[phi(X) Phi(T)] = 0", gone, a * rest * 2 * s.q * P),
    ]


@_property("F13", "phi(X) Q = A X with one n x n matrix A, symmetric or skew as Q is")
def _f13(s: Sample) -> Equations | str:
    M, companion = s.M, s.M.companion
    if companion is None or M.ambient_projector is not None:
        return "F is not the whole space, or psi(T) is not Q T Q^-1"
    Q, first = companion.Q, np.arange(M.shape[-1]) == 0
    U, V, w = s.ambient(), s.ambient(), s.algebra()[..., :1, :]
    # A v for the first columns v of U and V, from phi(v e_1^T) Q
    AU, AV = (np.asarray(Q.right(M.phi(Y * first)))[..., :1] for Y in (U, V))
    u, v = U[..., :1], V[..., :1]
    rest = s.u * s.L * s.q * max(1.0, float(norm(Q.left(np.eye(M.shape[-1])))))
    return [
        s.close("phi(v w^T) Q = (A v) w^T", Q.right(M.phi(u @ w)), AU @ w, rest),
        s.close("A^T = e A", ct(v) @ AU, companion.sign * (ct(AV) @ u), rest),
    ]


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


@_property("gradient", "f(R(tZ)) = f(X) + t <grad f(X), Z> + O(t^2)")
def _gradient(s: Sample) -> Equations:
    M, X, f, Z = s.M, s.X, _function(s), s.tangent()
    slope = float(inner(M.gradient(X, f.gradient(X)), Z))
    floor = 100 * (s.u * s.g + s.u * s.kappa + s.c)

    def error(t: float) -> float:
        return f.value(M.retract(X, t * Z, kind="exp")) - f.value(X) - t * slope

    return [
        _order("the first-order error", error, 1.5, floor),
        s.close("<grad f, Z> = <egrad, Z>", slope, inner(f.gradient(X), Z), floor),
    ]


@_property(
    "hessian",
    "P_X(grad f(R(tZ)) - grad f(R(-tZ))) = 2t hess f(X)[Z] + O(t^3); symmetric and tangent",
)
def _hessian(s: Sample) -> Equations:
    M, X, f, Z, V = s.M, s.X, _function(s), s.tangent(), s.tangent()
    G = f.gradient(X)
    HZ, HV = (M.hessian(X, G, f.hessian(W), W) for W in (Z, V))

    def grad(t: float) -> Array:
        R = M.retract(X, t * Z, kind="exp")
        return M.gradient(R, f.gradient(R))

    def error(t: float) -> Array:
        return M.project(X, grad(t) - grad(-t)) - 2 * t * HZ

    size = 1.0 + s.L * float(norm(G)) / float(s.singular[0])
    rest = 100 * (s.u * s.kappa + s.u * s.g + s.c) * size
    wide = 2 * s.q * float(norm(s.P) * norm(Z)) * rest
    symmetric = rest * float(norm(Z) * norm(V))
    return [
        _order("the second-order error", error, 2.5, rest),
        s.close("<hess[Z], V> = <Z, hess[V]>", inner(HZ, V), inner(Z, HV), symmetric),
        ("hess[Z] tangent", float(M.tangency(X, HZ)), wide),
    ]


# ---------------------------------------------------------------- retractions, transport, points


@_property("retractions", "R(tZ) is on M, R(0) = X, R(tZ) = X + tZ + O(t^2), for every kind")
def _retractions(s: Sample) -> Equations:
    M, X, Z = s.M, s.X, s.tangent()
    equations, rest, size = [], 100 * (s.u * s.g * s.q + s.c), float(norm(X))
    for kind in RETRACTIONS:
        Z = s.within_newton(Z) if kind == "normal" else Z
        end, still = M.retract(X, Z, kind=kind), M.retract(X, 0 * Z, kind=kind)
        equations += [
            (f"|C(R(Z))|, {kind}", float(M.feasibility(end)), rest),
            s.close(f"R(0) = X, {kind}", still, X, size * rest),
            _order(f"|R(tZ) - X - tZ|, {kind}", _bend(s, Z, kind), 1.5, size * rest),
        ]
    return equations


def _bend(s: Sample, Z: Array, kind: str) -> Callable[[float], Array]:
    """R_X(tZ) - X - tZ."""
    return lambda t: s.M.retract(s.X, t * Z, kind=kind) - s.X - t * Z


@_property(
    "F9",
    "Cayley and exp of Omega(V) = G<<X,V>> - X<<G,V>>, skew for the form; "
    "polar: <<R,Y>>^2 = <<Y,Y>>",
)
def _f9(s: Sample) -> Equations:
    M, X, Z, U, V, form = s.M, s.X, s.tangent(), s.ambient(), s.ambient(), s.form
    G, Y = Z - X @ form(X, Z) / 2, X + Z

    def omega(W: Array) -> Array:
        return G @ form(X, W) - X @ form(G, W)

    cayley, exp, polar = (M.retract(X, Z, kind=kind) for kind in ("cayley", "exp", "polar"))
    series = term = X
    for k in range(1, 40):
        term = omega(term) / k
        series = series + term
    YY, H = form(Y, Y), form(polar, Y)
    rest = 100 * s.q * (s.u * s.g + s.c + float(M.tangency(X, Z)))
    w = float(norm(G) * norm(s.P) + norm(X) * norm(M.phi(G)))  # bounds |Omega|
    skew, size = (s.u * s.q * s.L + rest) * w, rest * float(norm(X))
    left, right = cayley - omega(cayley) / 2, X + omega(X) / 2
    return [
        s.close("<<Omega U, V>> = -<<U, Omega V>>", form(omega(U), V), -form(U, omega(V)), skew),
        s.close("Omega(X) = Z", omega(X), Z, size),
        s.close("(I - Omega/2) R = (I + Omega/2) X", left, right, size),
        s.close("R = exp(Omega) X", exp, series, size),
        s.close("<<X+Z, X+Z>> = I + <<Z,Z>>", YY, np.eye(YY.shape[-1]) + form(Z, Z), rest),
        s.close("<<R,Y>>^2 = <<Y,Y>>", H @ H, YY, rest),
        s.close("<<R,Y>>* = <<R,Y>>", s.star(H), H, rest),
    ]


@_property(
    "F15",
    "D(X) is the smallest D with DC(X)[D] = C(X); C(X - D) = D^T phi(D); D(X - D(X)) = P_X on M",
)
def _f15(s: Sample) -> Equations:
    M, X, Y = s.M, s.X, s.Y
    P, C, D = np.asarray(M.phi(Y)), M.constraint(Y), M.newton_step(Y)
    kappa = (float(np.linalg.cond(P).max()) * s.q) ** 2
    rest = 20 * s.q * s.u * (kappa * float(norm(C)) + s.g)
    wide, long = 10 * s.u * s.L * float(norm(D)) ** 2, 100 * s.u * kappa * float(norm(D))
    E = s.within_newton(s.ambient() / s.steepness)
    normal, near = E - M.project(X, E), 100 * (s.u * s.kappa + s.c)
    slope, size = NewtonStep(M.at(X)).derivative(E), float(norm(E))
    floor = near * (size + s.g / float(s.singular[0]))
    S = None if s.is_large else dense_theta(M, P, D)
    return [
        s.close("DC(Y)[D] = C(Y)", M.constraint_differential(Y, D), C, rest),
        s.close("C(Y - D) = D^T phi(D)", M.constraint(Y - D), M.gram(D), rest, wide),
        *([] if S is None else [s.close("D = phi(Y) S, S in S1", P @ S, D, long)]),
        s.close("DD(X)[E] = E - P_X E on M", slope, normal, near * size),
        _order(
            "|D(X + tE) - t (E - P_X E)|",
            lambda t: t * normal - M.newton_step(X + t * E),
            1.5,
            floor,
        ),
    ]


@_property("F18", "normal: P_X(R(tZ) - X - tZ) = O(t^3), and R(Z) = lim A_n^k(X + Z)")
def _f18(s: Sample) -> Equations:
    M, X, Z = s.M, s.X, s.within_newton(s.tangent())
    floor = 100 * (s.u * s.kappa + s.c) * (float(norm(Z)) + s.g / float(s.singular[0]))
    bend, Y = _bend(s, Z, "normal"), X + Z
    for _ in range(6):
        Y = Y - M.newton_step(Y)
    return [
        _order("|P_X(R(tZ) - X - tZ)|", lambda t: M.project(X, bend(t)), 2.5, floor),
        s.close("R(Z) = lim A_n^k(X + Z)", M.retract(X, Z, kind="normal"), Y, floor),
    ]


@_property("F19", "c'(t) of R(tZ): c'(0) = Z, tangent, the limit of differences, for every kind")
def _f19(s: Sample) -> Equations:
    equations, rest = [], 100 * s.q * (s.u * s.g * s.kappa + s.c)
    M, X, Z = s.M, s.X, s.tangent()
    for kind in RETRACTIONS:
        Z = s.within_newton(Z) if kind == "normal" else Z
        ray, size = M.ray(X, Z, kind), float(norm(Z))
        c, V = ray.point(0.5), ray.velocity(0.5)
        floor = rest * (float(norm(X)) / s.kappa + size)
        wide = 20 * s.q * float(norm(M.phi(c))) * rest * size
        equations += [
            s.close(f"c'(0) = Z, {kind}", ray.velocity(0.0), Z, rest * size),
            (f"DC(c)[c'] = 0, {kind}", float(M.tangency(c, V)), wide),
            _order(f"|c(t+h) - c(t-h) - 2h c'(t)|, {kind}", _central(ray, V), 2.5, floor),
        ]
    return equations


def _central(ray: Ray, V: Array) -> Callable[[float], Array]:
    """c(1/2 + h) - c(1/2 - h) - 2h V, with h = t/4."""
    return lambda t: ray.point(0.5 + t / 4) - ray.point(0.5 - t / 4) - t / 2 * V


@_property("transport", "Z at X is carried to P_Y(Z) at Y")
def _transport(s: Sample) -> Equations:
    M, X, Z = s.M, s.X, s.tangent()
    Y = M.retract(X, Z, kind="exp")
    moved, P = M.transport(X, Y, Z), M.phi(Y)
    rest = s.u * (float(np.linalg.cond(P).max()) * s.q) ** 2 + s.c
    wide = 20 * s.q * float(norm(P) * norm(Z)) * rest
    return [
        s.close("transport = P_Y(Z)", moved, M.project(Y, Z), s.u * float(norm(Z))),
        ("tangent at Y", float(M.tangency(Y, moved)), wide),
    ]


@_property("F25", "the maps of a product are those of its factors; equal factors are one batch")
def _f25(s: Sample) -> Equations:
    M, w = s.M, s.rng.standard_normal(2)
    product = Product(M, M, Euclidean(2))
    rest = 100 * s.q * (s.u * s.g * s.kappa + s.c)
    equations = []
    for name, X, others in (
        ("project", s.X, (s.ambient(),)),
        ("theta", s.X, (s.ambient(),)),
        ("dissolve", s.Y, ()),
        ("newton_step", s.Y, ()),
        ("dissolve_adjoint", s.Y, (s.ambient(),)),
    ):
        # C(-X) = C(X): another point, whose maps are known too
        ours = getattr(product, name)((X, -X, w), *((D, D, w) for D in others))
        for part, Y in zip(ours, (X, -X), strict=False):
            theirs = getattr(M, name)(Y, *others)
            size = max(float(norm(theirs)), float(norm(Y)), 1.0)
            equations.append(s.close(f"{name} of a product", part, theirs, rest * size))
    return equations


@_property(
    "random-point",
    "random points are on M to 1e-12 times max(1, |X| |phi(X)|), and differ from one another",
)
def _random_point(s: Sample) -> Equations:
    M, X = s.M, s.X
    tolerance = max(1e-12, 4500 * eps(M.dtype)) * float(M.scale(X))
    farthest = max(float(norm(M.random_point(s.rng) - X)) for _ in range(10 if M.dim else 1))
    apart = -float(norm(X)) / 10 if M.dim else 0.0
    return [
        ("|C(X)|", float(M.feasibility(X)), tolerance),
        ("largest |X' - X| >= |X|/10", -farthest, apart),
    ]
