"""Points of Omega_X off M with the constants at X, for the inequalities of Sections 3 and 4.

An `Arena` is a manifold with a point X of M and its constants, in double precision (every family,
modest condition numbers) or in decimals (the real families with F = R^{n x p}, condition numbers up
to 1e8). The tests are written once, with integer coefficients, and run in both.
"""

from decimal import Decimal
from functools import cached_property
from typing import Any

import attrs
import hypothesis
import numpy as np
from hypothesis import strategies as st

import genorth.testing as gt
from genorth.geometry.bases import realvec
from genorth.linalg.arrays import ct
from support.decimal_manifold import DIGITS, ExactManifold, exactly, floats, solve
from support.decimal_manifold import FAMILIES as EXACT_FAMILIES
from support.norms import Matrix
from support.penalty_formulas import Objective
from support.section2_constants import Constants, ambient_basis, matrix_of

Number = Any  # float or Decimal
_MARGIN = 1e-6  # of the constants, which are measured in double precision
_CONDITION = 4.0  # up to it double precision resolves Omega_X on most draws
_EPS = float(np.finfo(float).eps)


@attrs.frozen(slots=False, repr=False)
class Arena:
    """A manifold M, X on M, the constants there, and a generator for the points around X."""

    M: Any
    X: Matrix
    constants: Constants
    rng: np.random.Generator

    def __repr__(self) -> str:
        return f"<Arena on {self.constants.manifold!r}, {'decimals' if self.exact else 'floats'}>"

    @property
    def exact(self) -> bool:
        """True in decimal arithmetic."""
        return isinstance(self.M, ExactManifold)

    def number(self, x: float) -> Number:
        """X as a number of this arithmetic."""
        return Decimal(float(x)) if self.exact else float(x)

    @cached_property
    def L(self) -> Number:
        """L_phi."""
        return self.number(self.constants.L_phi * (1 + _MARGIN))

    @cached_property
    def delta(self) -> Number:
        """delta_{C,X}."""
        return self.number(self.constants.delta * (1 - _MARGIN))

    @cached_property
    def a(self) -> Number:
        """alpha_A."""
        return self.number(self.constants.alpha_A)

    @cached_property
    def b(self) -> Number:
        """alpha_{C,A}."""
        return self.number(self.constants.alpha_CA)

    @cached_property
    def epsilon(self) -> Number:
        """epsilon_X."""
        return self.number(self.constants.epsilon)

    @cached_property
    def q(self) -> Number:
        """alpha_A^2 L_phi, at least 9 p: 3/2 + q/6 bounds |DA(Y)| on Delta_X."""
        return self.a * self.a * self.L

    @property
    def s(self) -> Number:
        """L_phi sup |Y|^2 over Delta_X, a bound of |Y^T phi(Y)| and at least 1."""
        return self.q / 9

    def M_f(self, f: Objective) -> Number:
        """A bound of |grad f| on a ball that holds A(Delta_X)."""
        egrad = np.asarray(f.gradient(self.X), dtype=self.constants.X.dtype)
        return self.number(self.constants.gradient_bound(egrad, abs(float(f.w))) * (1 + _MARGIN))

    def quotients(self, M_f: Number) -> tuple[Number, Number]:
        """The first two of the three quotients of which the threshold is the largest (R6)."""
        first, second, _ = self.constants.beta_terms(1.0)
        return self.number(first) * M_f, self.number(second) * M_f

    def threshold(self, M_f: Number) -> Number:
        """The threshold that holds: the larger of the two."""
        return max(self.quotients(M_f))

    @cached_property
    def unit(self) -> Number:
        """Relative rounding of a few products of this size."""
        return self.number(10 * self.X.size * (10.0 ** (5 - DIGITS) if self.exact else _EPS))

    @cached_property
    def noise(self) -> Number:
        """Rounding of C(Y) near X and of its normal direction, entry for entry of Y^T phi(Y)."""
        norm = self.M.norm
        return self.unit * (1 + norm(self.X) * norm(self.M.phi(self.X)) + self.s)

    def direction(self) -> Matrix:
        """A random element of F."""
        E = self.constants.manifold.random_ambient(self.rng)
        return exactly(E) if self.exact else E

    def symmetric(self) -> Matrix:
        """A random unit element of S1."""
        S = self.M.symmetrize(np.asarray(ct(self.direction()) @ self.direction()))
        return np.asarray(S / self.M.norm(S))

    def tangent(self, X: Matrix | None = None) -> Matrix:
        """A random unit tangent vector at X, by DA(X); zero where dim M = 0."""
        X = self.X if X is None else X
        if self.constants.manifold.dim == 0:
            return X * 0
        Z = self.M.dissolve_differential(X, self.direction())
        return np.asarray(Z / self.M.norm(Z))

    def normal(self, X: Matrix) -> Matrix:
        """A random unit vector phi(X) S, S in S1, of the normal space at X on M."""
        N = self.M.phi(X) @ self.symmetric()
        return np.asarray(N / self.M.norm(N))

    def violation(self, Y: Matrix) -> Number:
        """|C(Y)|."""
        return self.M.norm(self.M.constraint(Y))

    def moved(self) -> Matrix:
        """Another point of M, at most about epsilon_X / 2 from X."""
        share = self.number(self.rng.uniform(0, 0.5))
        restored = self.M.restore(self.X + self.tangent() * (share * self.epsilon))
        return np.asarray(self.M.dissolve(restored))  # the library's stops at 1e-12

    def offset(self) -> tuple[Matrix, Number]:
        """Y in Omega_X and its distance to M.

        Y = X' + N, X' another point of M, N normal there: |N| is the distance of Y to M, as |N| <=
        epsilon_X is below sigma/(2 L_phi), sigma the least singular value of DC(X') on the normal
        space. For V = X'' - X', X'' on M, 0 = DC(X')[V] + V^T phi(V), so that <N, V> <= |N|/sigma
        L_phi |V|^2 and |Y - X''|^2 >= |N|^2.
        """
        Xp = self.moved()
        room = self.epsilon - self.M.norm(Xp - self.X)
        assert room > 0
        distance = self.number(self.rng.uniform(0.1, 1)) * room
        return np.asarray(Xp + self.normal(Xp) * distance), distance

    def objective(self) -> Objective:
        """A random f, linear half of the time."""
        return Objective(
            self.direction(), self.number(self.rng.choice([0.0, 1.0]) * self.rng.standard_normal())
        )

    def stationary_on_M(self, X: Matrix) -> tuple[Objective, Matrix]:
        """A random f with grad f(X) = phi(X) Theta at X on M, Theta in S1; and Theta."""
        Theta, w = self.symmetric(), self.number(self.rng.standard_normal())
        return Objective(np.asarray(self.M.phi(X) @ Theta - w * X), w), Theta

    def stationary_off_M(self, Y: Matrix) -> Objective:
        """The linear f with grad h(Y) = 0 for beta = 1; off M, DA(Y)* is regular."""
        M, target = self.M, -self.M.constraint_adjoint(Y, self.M.constraint(Y))
        units = ambient_basis(self.constants.manifold)
        if not self.exact:
            matrix = matrix_of(lambda E: M.dissolve_adjoint(Y, E), units)
            weights = np.linalg.lstsq(matrix, realvec(target), rcond=None)[0]
            return Objective(np.asarray(np.tensordot(weights, units, axes=1)), 0.0)
        columns = [M.dissolve_adjoint(Y, exactly(E)).reshape(-1, 1) for E in units]
        return Objective(
            solve(np.concatenate(columns, axis=1), target.reshape(-1, 1)).reshape(M.shape),
            Decimal(0),
        )


def record(name: str, left: Number, right: Number) -> None:
    """The ratio of two sides of an inequality, which Hypothesis brings up and reports."""
    if hypothesis.currently_in_test_context() and right > 0:
        hypothesis.target(float(left / right), label=name)


def run_on(family: str, test: Any, **others: Any) -> None:
    """Runs a test of arenas, with its other arguments, on one manifold of the family.

    It has p = 4 (2 pairs, 4 signs), a size where psi matters; so no family is left to chance.
    """
    test.hypothesis.inner_test(arena=build(gt.Recipe(family, 5, 4, 2.0, 11), exact=False), **others)


def build(recipe: gt.Recipe, exact: bool) -> Arena:
    """The arena of a recipe: X is drawn from its seed."""
    manifold, rng = recipe.build(), np.random.default_rng([7, recipe.seed])
    X = manifold.random_point(rng)
    if not exact:
        return Arena(manifold, X, Constants(manifold, X), rng)
    M = ExactManifold(manifold)
    point = M.restore(exactly(X))
    return Arena(M, point, Constants(manifold, floats(point)), rng)


@st.composite
def arenas(draw: st.DrawFn) -> Arena:
    """In decimals with condition numbers up to 1e8, or in double precision on any family."""
    exact = draw(st.booleans())
    recipe = draw(
        gt.recipes(EXACT_FAMILIES, max_n=4, max_condition=1e8)
        if exact
        else gt.recipes(max_n=5, max_condition=_CONDITION)
    )
    hypothesis.note(f"arena = build({recipe}, exact={exact})")
    return build(recipe, exact)
