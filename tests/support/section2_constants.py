"""The constants of Section 2.2 of the paper at a point X of M, by the definitions that hold.

Two of the printed definitions are impossible: delta_{C,X} over all of F is zero where dim M > 0
(tangent Z), and no rho_X > 0 keeps |DC(Y)[Z]| >= delta_{C,X} |Z|, not even for normal Z: DC is
linear in Y, so that it is (1 - t) DC(X) at Y = (1 - t) X. Here delta_{C,X} ranges over the normal
space and rho_X keeps half of it. Suprema over balls are bounded from above, not sampled.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import attrs
import numpy as np

import genorth as go
from genorth.geometry.bases import realvec, symmetric_basis
from support.norms import Matrix


def ambient_basis(manifold: go.GenOrthManifold) -> Matrix:
    """An orthonormal basis of F over the reals, stacked on axis 0."""
    entry = np.zeros(manifold.shape, manifold.dtype)
    units = np.eye(realvec(entry).size).view(manifold.dtype).reshape(-1, *manifold.shape)
    if manifold.ambient_projector is None:
        return np.asarray(units)
    values, vectors = np.linalg.eigh(matrix_of(manifold.ambient, units))
    kept = np.ascontiguousarray(vectors[:, values > 0.5].T)
    return np.asarray(kept.view(manifold.dtype).reshape(-1, *manifold.shape))


def matrix_of(linear: Callable[[Matrix], Any], basis: Matrix) -> Matrix:
    """The real matrix of a linear map; column j is the image of element j of the basis."""
    return np.stack([realvec(np.asarray(linear(E))) for E in basis], axis=1)


def operator_norm(linear: Callable[[Matrix], Any], basis: Matrix) -> float:
    """Max |linear(Z)| / |Z| over the span of an orthonormal basis."""
    return float(np.linalg.norm(matrix_of(linear, basis), 2))


def constraint_singular_values(manifold: go.GenOrthManifold, Y: Matrix) -> Matrix:
    """The singular values of DC(Y)* on S1, largest first.

    At Y on M the last one is min |DC(Y)[Z]| / |Z| over normal Z.
    """
    adjoint = matrix_of(lambda T: manifold.constraint_adjoint(Y, T), symmetric_basis(manifold))
    return np.asarray(np.linalg.svd(adjoint, compute_uv=False))


@attrs.frozen(slots=False)
class Constants:
    """The constants at X on M: `L_phi`, `delta` are measured, the others follow by formulas."""

    manifold: go.GenOrthManifold
    X: Matrix

    @cached_property
    def basis(self) -> Matrix:
        """An orthonormal basis of F."""
        return ambient_basis(self.manifold)

    @cached_property
    def L_phi(self) -> float:
        """Sup |phi(Y1) - phi(Y2)| / |Y1 - Y2| over F: the norm of the linear map phi."""
        return operator_norm(self.manifold.phi, self.basis)

    @cached_property
    def delta_printed(self) -> float:
        """Min |DC(X)[Z]| / |Z| over Z in F, as printed: zero where dim M > 0."""
        values = np.linalg.svd(
            matrix_of(lambda Z: self.manifold.constraint_differential(self.X, Z), self.basis)
        )[1]
        return float(values[-1]) if len(values) == len(self.basis) else 0.0

    @cached_property
    def delta(self) -> float:
        """delta_{C,X} = min |DC(X)[Z]| / |Z| over normal Z (R2): positive, as DC(X) is onto S1."""
        return float(constraint_singular_values(self.manifold, self.X)[-1])

    @cached_property
    def rho(self) -> float:
        """rho_X = min(1, delta / (4 L_phi)): |DC(Y)[Z]| >= delta/2 |Z| for Z in range DC(Y)*.

        For |Y - X| <= rho singular values move by |DC(Y) - DC(X)| <= 2 L_phi rho <= delta/2.
        """
        return min(1.0, self.delta / (4 * self.L_phi))

    @property
    def radius(self) -> float:
        """Sup |Y| over Delta_X = {|Y - X| <= rho}: |X| + rho."""
        return float(np.linalg.norm(self.X)) + self.rho

    @property
    def alpha_A(self) -> float:
        """3 sup |Y| over Delta_X: in the proof of lem:DA, 3/2 (|Y1| + |Y2|) <= alpha_A."""
        return 3 * self.radius

    @property
    def alpha_CA(self) -> float:
        """9/4 + 9 s + 15/4 s^2, s = L_phi sup |Y|^2 >= |Y^T phi(Y)|.

        By the proof of the lemma, r = sup |Y|: T1 = DC(Y)[Z] has size 2 L_phi r |Z| and Lipschitz
        constant 2 L_phi |Z|, S = Y^T phi(Y) has size s and constant 2 L_phi r. So T2 = T1 S + S T1
        has 6 s times the constant of T1, and T3 = T1 SS + S T1 S + SS T1 has 15 s^2 times that.
        """
        s = self.L_phi * self.radius**2
        return 9 / 4 + 9 * s + 15 / 4 * s**2

    @property
    def epsilon_terms(self) -> tuple[float, float, float, float]:
        """rho/2, d/(4L), d/(2 a^2 L^2 + 6 L), 3 d^2/(32 a b L^2), a = alpha_A, b = alpha_CA."""
        L, d, a, b = self.L_phi, self.delta, self.alpha_A, self.alpha_CA
        return (
            self.rho / 2,
            d / (4 * L),
            d / (2 * a**2 * L**2 + 6 * L),
            3 * d**2 / (32 * a * b * L**2),
        )

    @property
    def epsilon(self) -> float:
        """epsilon_X, the radius of Omega_X: the least of the four terms."""
        return min(self.epsilon_terms)

    @property
    def dissolved_lipschitz(self) -> float:
        """3/2 + 1/6 alpha_A^2 L_phi >= |DA(Y)| on Delta_X (eq:DA-bound)."""
        return 3 / 2 + self.alpha_A**2 * self.L_phi / 6

    def gradient_bound(self, egrad_at_X: Matrix, L_g: float) -> float:
        """An upper bound of M_{X,f} = sup |grad f(A(Y))| over Delta_X.

        |grad f(A(Y))| <= |grad f(X)| + L_g |A(Y) - A(X)|; `L_g` bounds |hess f| between X and
        A(Delta_X), which for a quadratic f is its norm.
        """
        return float(np.linalg.norm(egrad_at_X)) + L_g * self.dissolved_lipschitz * self.rho

    def beta_terms(self, M: float) -> tuple[float, float, float]:
        """The three quotients of which the printed threshold is the largest, M = M_{X,f}.

        The third has a negative denominator where alpha_CA > 1, and here alpha_CA >= 9/4 (R6).
        """
        L, d2, a, b = self.L_phi, self.delta**2, self.alpha_A, self.alpha_CA
        return (
            (2 * a**3 * L**2 * M + 30 * a * L * M) / (3 * d2),
            16 * a * b * L * M / (3 * d2),
            (18 * a * L * M + 3 * a**2 * L**2 * M + 2 * a**3 * L**2 * M + 1)
            / (9 * d2 - 9 * d2 * b),
        )

    def near(self, rng: np.random.Generator, radius: float) -> Matrix:
        """A random element of F at most `radius` from X, at the boundary half of the time."""
        E = self.manifold.random_ambient(rng)
        share = 1.0 if rng.random() < 0.5 else float(rng.random())
        return self.X + E * (share * radius / float(np.linalg.norm(E)))


def quadratic(constants: Constants, seed: int) -> tuple[go.Problem, float]:
    """f(X) = <B, X> + <X, H X>/2, B in F and H symmetric of about unit size; and |hess f|."""
    manifold, rng = constants.manifold, np.random.default_rng([5, seed])
    B = manifold.random_ambient(rng)
    n = manifold.shape[-2]
    K = rng.standard_normal((n, n))
    H = ((K + K.T) / (2 * np.sqrt(n))).astype(manifold.dtype)
    B = B / float(np.linalg.norm(B))

    def hessian(X: Matrix, Z: Matrix) -> Matrix:
        return np.asarray(manifold.ambient(H @ Z))

    def cost(X: Matrix) -> float:
        return float(np.vdot(B, X).real + np.vdot(X, H @ X).real / 2)

    problem = go.Problem(manifold, cost, lambda X: B + hessian(X, X), hessian, name="quadratic")
    return problem, operator_norm(lambda Z: hessian(Z, Z), constants.basis)
