"""Section 2.2 of the paper: the constants as repaired exist, and the bounds with them hold."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry.bases import realvec, symmetric_basis
from genorth.linalg.arrays import ct
from genorth.testing.contract import Sample
from support.draws import drawn
from support.norms import EPS, Matrix, norm, spectral
from support.problems import smooth
from support.section2_constants import (
    Constants,
    ambient_basis,
    constraint_singular_values,
    matrix_of,
    operator_norm,
    quadratic,
)

MANIFOLDS = gt.manifolds(max_n=4)  # operators on F are formed as matrices


def _constants(manifold: go.GenOrthManifold, seed: int) -> tuple[Constants, np.random.Generator]:
    return Constants(manifold, manifold.random_point(seed)), np.random.default_rng([9, seed])


@pytest.mark.statement("ass_2", "const:L_phi")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_phi_is_lipschitz_with_its_norm(manifold, seed):
    """|phi(U) - phi(V)| <= L_phi |U - V|, with equality along the leading singular vector."""
    c, s = Constants(manifold, manifold.random_point(seed)), Sample(manifold, seed)
    U, V = s.ambient(), s.ambient(3.0)
    assert norm(manifold.phi(U) - manifold.phi(V)) <= c.L_phi * norm(U - V) * (1 + s.u)
    weights = np.linalg.svd(matrix_of(manifold.phi, c.basis))[2][0]
    E = np.tensordot(weights, c.basis, axes=1)
    assert norm(manifold.phi(U + E) - manifold.phi(U)) == pytest.approx(c.L_phi, rel=1e3 * s.u)


@pytest.mark.statement("const:L_phi")
@given(recipe=gt.recipes(("generalized", "hyperbolic", "symplectic", "stiefel"), max_n=6))
def test_L_phi_is_the_spectral_norm_of_the_form(recipe):
    """phi(X) = AX: L_phi = |A|_2, which is one by construction."""
    c = Constants(recipe.build(), recipe.build().random_point(0))
    largest = (
        1.0
        if recipe.n > 1 or recipe.family in ("stiefel", "symplectic")
        else norm(c.manifold.phi(np.eye(1)))
    )
    assert c.L_phi == pytest.approx(largest, rel=1e3 * c.X.size * EPS)


@pytest.mark.statement("ass_2", "const:L_g", "const:M")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_constants_of_a_quadratic(manifold, seed):
    """|grad f(Y1) - grad f(Y2)| <= L_g |Y1 - Y2| and |grad f(A(Y))| <= M on Delta_X."""
    c, rng = _constants(manifold, seed)
    problem, L_g = quadratic(c, seed)
    M = c.gradient_bound(np.asarray(problem.euclidean_gradient(c.X)), L_g)
    assert norm(problem.euclidean_gradient(c.X)) <= M
    for _ in range(5):
        Y1, Y2 = c.near(rng, c.rho), c.near(rng, c.rho)
        difference = problem.euclidean_gradient(Y1) - problem.euclidean_gradient(Y2)
        rounding = 100 * c.X.size * EPS * (1 + c.radius)
        assert norm(difference) <= L_g * norm(Y1 - Y2) + rounding
        A = np.asarray(manifold.dissolve(Y1))
        assert norm(problem.euclidean_gradient(A)) <= M + rounding * c.dissolved_lipschitz


@pytest.mark.statement("ass_2")
@given(manifold=gt.manifolds(max_n=4, max_condition=1e2), seed=gt.seeds())
def test_a_smooth_f_is_lipschitz_on_the_ball(manifold, seed):
    """|f(Y1) - f(Y2)| <= max |grad f| |Y1 - Y2| along the segment, for any smooth f."""
    c, rng = _constants(manifold, seed)
    problem = smooth(manifold, seed)
    Y1, Y2 = c.near(rng, c.rho), c.near(rng, c.rho)
    segment = [Y1 + t * (Y2 - Y1) for t in np.linspace(0, 1, 33)]
    slopes = [norm(manifold.ambient(problem.euclidean_gradient(Y))) for Y in segment]
    # of the slope, from node to node
    growth = [norm(problem.euclidean_hessian(Y, Y2 - Y1)) / 32 for Y in segment]
    rounding = 100 * EPS * Y1.size * (abs(problem.cost(Y1)) + max(slopes) * norm(Y1))
    bound = (max(slopes) + 2 * max(growth)) * norm(Y1 - Y2) * (1 + 1e-9)
    assert abs(problem.cost(Y1) - problem.cost(Y2)) <= bound + rounding


@pytest.mark.statement("const:delta", "R2")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_delta_over_all_of_F_is_zero(manifold, seed):
    """As printed: DC(X)[Z] = 0 for tangent Z, so delta = 0 where dim M > 0."""
    c, _ = _constants(manifold, seed)
    s = Sample(manifold, seed)
    if manifold.dim == 0:
        assert c.delta_printed > 0
        return
    assert c.delta_printed <= 1e3 * s.u * s.q * c.L_phi * norm(c.X)
    assert c.delta_printed <= 1e-6 * c.delta


@pytest.mark.statement("R2", "const:delta")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_delta_over_the_normal_space(manifold, seed):
    """delta = min |DC(X)[Z]|/|Z| over normal Z = phi(X) S, at least 2/|X|_2."""
    c, _ = _constants(manifold, seed)
    P = np.asarray(manifold.phi(c.X))
    normal = np.linalg.qr(matrix_of(lambda S: P @ S, symmetric_basis(manifold)))[0].T
    basis = np.ascontiguousarray(normal).view(manifold.dtype).reshape(-1, *manifold.shape)
    values = np.linalg.svd(
        matrix_of(lambda Z: manifold.constraint_differential(c.X, Z), basis), compute_uv=False
    )
    s = Sample(manifold, seed)
    assert values[-1] == pytest.approx(
        c.delta, abs=1e3 * s.u * s.q * float(values[0]) * s.kappa**0.5
    )
    rest = 100 * s.q**2 * (s.u * s.kappa + s.c) * norm(s.P)
    assert c.delta >= max(0.0, 2 / spectral(c.X) - rest)


@pytest.mark.statement("const:delta")
@given(recipe=gt.recipes(("stiefel", "stiefel-complex", "tensor-dct", "tensor-dft"), max_n=4))
def test_delta_is_two_on_stiefel_manifolds(recipe):
    """DC(X)[XS] = 2S for symmetric S, |XS| = |S|."""
    M = recipe.build()
    assert Constants(M, M.random_point(recipe.seed)).delta == pytest.approx(
        2.0, rel=1e3 * np.prod(M.shape) * EPS
    )


@pytest.mark.statement("R11", "const:rho")
@drawn(manifold=MANIFOLDS, seed=gt.seeds(), t=st.floats(1e-6, 0.5))
def test_no_radius_keeps_the_whole_of_delta(manifold, seed, t):
    """As printed, rho_X = 0: at Y = (1 - t) X the least singular value is (1 - t) delta."""
    c, _ = _constants(manifold, seed)
    least = float(constraint_singular_values(manifold, (1 - t) * c.X)[-1])
    assert least == pytest.approx((1 - t) * c.delta, rel=1e-7)
    assert least < c.delta


@pytest.mark.statement("R11", "const:rho")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_rho_keeps_half_of_delta(manifold, seed):
    """|DC(Y)*[S]| >= delta/2 |S| for |Y - X| <= rho = min(1, delta/(4 L_phi))."""
    c, rng = _constants(manifold, seed)
    assert 0 < c.rho <= 1
    for Y in [c.near(rng, c.rho) for _ in range(3)] + [_worst(c)]:
        values = constraint_singular_values(manifold, Y)
        assert float(values[-1]) >= c.delta / 2 - 1e3 * c.X.size * EPS * float(values[0])


def _worst(c: Constants) -> Matrix:
    """The step of length rho that takes most off the least singular value of DC(.)*."""
    M, basis = c.manifold, symmetric_basis(c.manifold)
    adjoint = matrix_of(lambda T: M.constraint_adjoint(c.X, T), basis)
    S = np.tensordot(np.linalg.svd(adjoint)[2][-1], basis, axes=1)
    Z = np.asarray(M.constraint_adjoint(c.X, S)) / c.delta
    # Y -> <DC(Y)*[S], Z> = <phi(Y) Phi(S), Z> is linear, with this gradient.
    step = np.asarray(M.phi(Z @ ct(M.symmetrize(S))))
    return c.X - step * (c.rho / norm(step))


def _size(c: Constants, power: int) -> float:
    """L_phi sup |Y|^power, the size of the terms."""
    return c.L_phi * c.radius**power * Sample(c.manifold).q


@pytest.mark.statement("lemma:DC-lipschitz", "lem:DA", "lemma:DCA-lipschitz")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_the_differentials_are_lipschitz(manifold, seed):
    """In the operator norm, with 2 L_phi for DC, alpha_A L_phi for DA and its adjoint.

    alpha_A = 3 sup |Y|; and with 2 alpha_CA L_phi for D(C o A).
    """
    c, rng = _constants(manifold, seed)
    Y1, Y2, u = c.near(rng, c.rho), c.near(rng, c.rho), 100 * c.X.size * EPS

    def composed(Y: Matrix, Z: Matrix) -> Any:
        """DC(A(Y))[DA(Y)[Z]]."""
        return manifold.constraint_differential(
            manifold.dissolve(Y), manifold.dissolve_differential(Y, Z)
        )

    for differential, alpha, size in (
        (manifold.constraint_differential, 2, _size(c, 1)),
        (manifold.dissolve_differential, c.alpha_A, 1 + _size(c, 2)),
        (manifold.dissolve_adjoint, c.alpha_A, 1 + _size(c, 2)),
        (composed, 2 * c.alpha_CA, 10 * _size(c, 1) * (1 + _size(c, 2)) ** 2),
    ):
        change = operator_norm(lambda Z, D=differential: D(Y1, Z) - D(Y2, Z), c.basis)
        assert change <= alpha * c.L_phi * norm(Y1 - Y2) + u * size


@pytest.mark.statement("eq:DA-bound")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_DA_is_bounded_on_the_ball(manifold, seed):
    """|Y| <= alpha_A/3, attained at X (1 + rho/|X|), and |DA(Y)| <= 3/2 + alpha_A^2 L_phi/6."""
    c, rng = _constants(manifold, seed)
    edge = c.X * (1 + c.rho / norm(c.X))
    assert norm(edge) == pytest.approx(c.alpha_A / 3, rel=100 * c.X.size * EPS)
    for Y in (c.near(rng, c.rho), edge):
        assert norm(Y) <= c.alpha_A / 3 * (1 + 10 * EPS)
        size = operator_norm(lambda Z, Y=Y: manifold.dissolve_differential(Y, Z), c.basis)
        assert size <= 3 / 2 + c.alpha_A**2 * c.L_phi / 6 + 100 * c.X.size * EPS * (1 + _size(c, 2))


@pytest.mark.statement("lemma:DCA-lipschitz")
def test_the_largest_eigenvalue_does_not_bound_the_norm():
    """As the proof has it: Y^T phi(Y) is not symmetric where psi != id, and its norm larger."""
    M = go.IndefiniteStiefel(np.diag([1.0, -1.0]), np.array([1.0, -1.0]))
    X, E = np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])
    assert M.feasibility(X) == 0
    Y = X + 0.1 * (E + np.array([[0.0, 1.0], [-1.0, 0.0]]))
    S = Y.T @ np.asarray(M.phi(Y))
    assert np.abs(np.linalg.eigvals(S)).max() < np.linalg.norm(S, 2)


@pytest.mark.statement("const:epsilon")
@drawn(manifold=MANIFOLDS, seed=gt.seeds())
def test_what_each_term_of_epsilon_is_for(manifold, seed):
    """On Omega_X: Delta_X is not left, DC(Y) keeps delta/2, and two products are small.

    What is as close to Y as Y is to X stays in Delta_X. (alpha_A^2 L^2 + 3 L) epsilon <= delta/2 is
    for the:first, 8 alpha_CA L/delta^2 |C(Y)| <= 1/2 for prop:decrease.
    """
    c, rng = _constants(manifold, seed)
    L, d, a, b, e = c.L_phi, c.delta, c.alpha_A, c.alpha_CA, c.epsilon
    assert 0 < e <= min(c.epsilon_terms)
    assert 2 * e <= c.rho
    assert (a**2 * L**2 + 3 * L) * e <= d / 2 * (1 + 4 * EPS)
    Y = c.near(rng, e)
    values = constraint_singular_values(manifold, Y)
    assert float(values[-1]) >= d / 2
    rounding = 1e-12 * float(manifold.scale(Y))  # of the point X itself
    assert 8 * b * L / d**2 * max(0.0, float(manifold.feasibility(Y)) - rounding) <= 0.5


def test_the_basis_of_F_is_orthonormal_and_spans_F():
    """All norms above rest on it; for some families F is a subspace of the arrays."""
    for family in ("tensor-dft", "from-maps-subspace", "stiefel-complex", "symplectic"):
        manifold = gt.Recipe(family, 4, 2, 10.0, 3).build()
        rows = np.stack([realvec(E) for E in ambient_basis(manifold)])
        assert len(rows) == manifold.dimensions()[0]
        assert np.linalg.norm(rows @ rows.T - np.eye(len(rows))) <= 100 * len(rows) * EPS
        Y = realvec(manifold.random_ambient(0))
        assert np.linalg.norm(rows.T @ (rows @ Y) - Y) <= 100 * len(rows) * EPS * np.linalg.norm(Y)
