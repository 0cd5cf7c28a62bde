"""`OrthogonalDissolving`: h_n(X) = f(X - D(X)) + beta/2 |D(X)|^2, D Newton's map (F15 to F17)."""

from __future__ import annotations

import math
from typing import Any, cast, final

import attrs

from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.multiplier import Eigendecomposition, ThetaSolver, choose
from genorth.linalg.arrays import Array, ct, eps, eye_like, inner, is_lazy, namespace, number
from genorth.linalg.compiled import compiled, compiles
from genorth.penalty.dissolving import Dissolving, Point


@attrs.define(eq=False, kw_only=True)
class _Point(Point):
    """P = phi(X), the equation Phi(P^T P S) = T, its solution S for T = C, and D = P S; V and T."""

    P: Array
    equation: ThetaSolver
    S: Array
    D: Array
    V: Any = None
    T: Any = None


@final
class OrthogonalDissolving(Dissolving[_Point]):
    """The orthogonal dissolving function, with D(X) the smallest D for which DC(X)[D] = C(X).

        h_n(X) = f(X - D(X)) + beta/2 |D(X)|^2

    On M its gradient is the Riemannian gradient. At a stationary point X of f its Hessian is
    hess f(X) on the tangent space and beta |V|^2 + <V, phi(V) Theta> on normal V, without cross
    terms (F16). So h_n is as well conditioned as f on M, for every beta of the size of the
    eigenvalues of hess f. `exactness_threshold(problem, X, dissolving="orthogonal")` is the
    smallest beta. Where phi(X) does not have full rank h_n is infinite.

    With P = phi(X), S in S1 with Phi(P^T P S) = C(X), D = P S, and (f, G) at X - D (F17):

        grad h_n = G + P T + phi(V S^T - P (T S^T + S T^T)), V = beta D - G, T = Theta_X(V)

    Two phi, seven n x p x p products, one p x p eigendecomposition, f and its gradient once.

    Args:
        problem: f on a manifold, with its gradient.
        beta: Penalty parameter, beta > 0.
        keep: Number of points whose results are kept; a trust region uses two.

    Raises:
        ValueError: If `beta` is not positive and finite.
    """

    def _dissolved(self, X: Array) -> _Point:
        if self._compiles(X):
            made, known, ratio = _dissolved(self.manifold, X)
            if number(ratio) > X.shape[-1] * eps(X):  # else singular values tell more, see below
                return _Point(X=X, equation=_equation(self.manifold, X, made["P"], known), **made)
        P = self.manifold.phi(X)
        C = ct(X) @ P
        C = C - eye_like(C)
        square = inner(C, C)
        equation = choose(self.manifold, on_manifold=False)(self.manifold, X, P)
        if _regular(square, equation):
            S = equation.solve(C)
            D = P @ S
            Y, penalty = X - D, inner(D, D)
        else:
            S, D, Y, penalty = C, X, X, math.inf
        return _Point(
            X=X, Y=Y, C=C, violation=square, penalty=penalty, P=P, equation=equation, S=S, D=D
        )

    def _compiles(self, X: Array) -> bool:
        """Whether programs of JAX do it: with a Q nothing is looked at, see `ThetaSolver`."""
        return compiles(X) and self.manifold.companion is not None

    def _assemble(self, point: _Point) -> None:
        X, P, S, D = point.X, point.P, point.S, point.D
        if self._compiles(X):
            equation = cast(Eigendecomposition, point.equation)
            known = (equation.K, *equation.spectrum[:3])
            made = _gradient(self.manifold, X, P, S, D, known, point.G, self.beta)
        else:
            made = _assembled(point.equation, S, D, point.G, self.beta)
        point.gradient, point.V, point.T = made

    def _derivative(self, point: _Point, Z: Array) -> Array:
        """Two phi, one Hessian product of f, twelve products, two equations with the same P.

        If Phi(K S) = R then Phi(K dS) = dR - Phi(dK S), K = P^T P. So
        dS for R = C and dT for R = Phi(P^T V) follow from dC = Phi(P^T Z), and all else from them.
        """
        P, S, T, V = point.P, point.S, point.T, point.V
        phi, Phi, solve = self.manifold.phi, self.manifold.symmetrize, point.equation.solve
        PZ = phi(Z)
        dK = ct(P) @ PZ
        dK = dK + ct(dK)
        dS = solve(Phi(ct(P) @ Z - dK @ S))
        dD = PZ @ S
        dD += P @ dS
        dG = self.problem.euclidean_hessian(point.Y, Z - dD)
        dD *= self.beta
        dD -= dG
        dV = dD
        dT = solve(Phi(ct(PZ) @ V + ct(P) @ dV - dK @ T))
        B, dB = T @ ct(S), dT @ ct(S) + T @ ct(dS)
        inside = dV @ ct(S)
        inside += V @ ct(dS)
        inside -= PZ @ (B + ct(B))
        inside -= P @ (dB + ct(dB))
        result = phi(inside) + dG
        result += PZ @ T
        result += P @ dT
        return result


def _assembled(
    equation: ThetaSolver, S: Array, D: Array, G: Array, beta: float
) -> tuple[Array, Array, Array]:
    """The gradient of h_n, V and T."""
    P, St = equation.P, ct(S)
    V = beta * D
    V -= G
    T = equation.theta(V)
    B = T @ St
    inside = V @ St
    inside -= P @ (B + ct(B))
    gradient = equation.manifold.phi(inside) + G
    gradient += P @ T
    return gradient, V, T


def _equation(
    manifold: GenOrthManifold, X: Array, P: Array, known: tuple[Array, ...]
) -> Eigendecomposition:
    """The equation, with K = P^T P and its spectrum."""
    equation = Eigendecomposition(manifold, X, P)
    vars(equation).update(K=known[0], spectrum=(*known[1:], math.nan))
    return equation


@compiled
def _dissolved(
    manifold: GenOrthManifold, X: Array
) -> tuple[dict[str, Array], tuple[Array, ...], Array]:
    """The fields of the point, K and its spectrum, and smallest / largest of that."""
    P = manifold.phi(X)
    C = ct(X) @ P
    C = C - eye_like(C)
    equation, xp = Eigendecomposition(manifold, X, P), namespace(X)
    S = equation.solve(C)
    D = P @ S
    QU, Ut, sums, _ = equation.spectrum
    ratio = xp.min(abs(sums)) / xp.max(abs(sums))
    sizes = {"violation": inner(C, C), "penalty": inner(D, D)}
    return {"Y": X - D, "C": C, "P": P, "S": S, "D": D, **sizes}, (equation.K, QU, Ut, sums), ratio


@compiled
def _gradient(
    manifold: GenOrthManifold,
    X: Array,
    P: Array,
    S: Array,
    D: Array,
    known: tuple[Array, ...],
    G: Array,
    beta: float,
) -> tuple[Array, Array, Array]:
    return _assembled(_equation(manifold, X, P, known), S, D, G, beta)


def _regular(square: Any, equation: ThetaSolver) -> bool:
    """Whether nothing has overflowed and phi(X) has full rank; unknown, so yes, under JAX."""
    if is_lazy(equation.P):
        return True
    return math.isfinite(square) and equation.regularity > equation.P.shape[-1] * eps(equation.P)
