"""Sections 2.3 to 3.1 of the paper.

M as a manifold, its spaces, gradient and Hessian, stationarity; A dissolves C.
"""

import numpy as np
import pytest
from hypothesis import given

import genorth as go
import genorth.testing as gt
from genorth.checks.report import fit_slope
from genorth.geometry.bases import algebra_basis, realvec, symmetric_basis
from genorth.linalg.arrays import ct
from genorth.testing.contract import Sample
from support.draws import drawn
from support.norms import EPS, Matrix, norm
from support.problems import stationary
from support.section2_constants import Constants, ambient_basis, matrix_of, quadratic

SMALL = gt.manifolds(max_n=4)  # operators on F are formed as matrices


@pytest.mark.statement("R1", "lemma:C-in-S1")
@drawn(manifold=gt.manifolds(), seed=gt.seeds())
def test_C_is_in_S1(manifold, seed):
    """C(X) = Phi((phi(X)^T X - I)/2) on F; the printed T = phi(X)^T X/2 gives C(X) + I."""
    s = Sample(manifold, seed)
    for X in (s.X, s.Y, s.ambient(norm(s.X))):
        T = np.asarray(ct(manifold.phi(X)) @ X) / 2
        eye = np.eye(T.shape[-1]) + np.zeros_like(T)
        C, bound = np.asarray(manifold.constraint(X)), 10 * s.u * s.q * s.g
        assert norm(manifold.symmetrize(T - eye / 2) - C) <= bound
        assert norm(manifold.symmetrize(T) - C - eye) <= bound


@pytest.mark.statement("prop:submanifold")
@drawn(manifold=SMALL, seed=gt.seeds())
def test_DC_is_onto_S1_and_gives_the_dimension(manifold, seed):
    """DC(X)[XT] = Phi(T), so DC(X) has rank dim S1 and dim M = dim F + dim S2 - dim G."""
    s, basis = Sample(manifold, seed), ambient_basis(manifold)
    T = s.algebra()
    image = manifold.constraint_differential(s.X, s.X @ T)
    assert norm(image - manifold.symmetrize(T)) <= 10 * s.q * (s.c + s.u * s.g)
    G = algebra_basis(manifold)
    rank_Phi = np.linalg.matrix_rank(matrix_of(manifold.symmetrize, G), tol=1e-8 * s.q)
    dim_S2 = len(G) - int(rank_Phi)
    assert manifold.dim == len(basis) + dim_S2 - len(G)
    DC = matrix_of(lambda Z: manifold.constraint_differential(s.X, Z), basis)
    values = np.linalg.svd(DC, compute_uv=False)
    least = Constants(manifold, s.X).delta
    assert values[rank_Phi - 1] == pytest.approx(least, abs=1e3 * s.u * s.q * float(values[0]))
    assert np.all(values[rank_Phi:] <= 1e3 * s.u * s.q * float(values[0]))


@pytest.mark.statement("prop:submanifold")
@given(manifold=gt.manifolds(max_n=6), seed=gt.seeds())
def test_M_is_closed(manifold, seed):
    """If X_k on M tends to X, X is on M: |C(X)| <= 2 L_phi r |X - X_k|, r = max |.|."""
    s = Sample(manifold, seed)
    Z = s.tangent()
    for k in range(1, 5):
        X_k = np.asarray(manifold.retract(s.X, Z / 2**k, kind="exp"))
        r, rest = max(norm(X_k), norm(s.X)), 100 * (s.u * s.g * s.q + s.c)
        assert norm(manifold.constraint(s.X)) <= 2 * s.L * r * norm(s.X - X_k) + rest
        assert float(manifold.feasibility(X_k)) <= rest


def _spaces(manifold: go.GenOrthManifold, X: Matrix) -> tuple[Matrix, Matrix]:
    """Orthonormal coordinates (columns) of ker DC(X) in F, and of the span of phi(X) Phi(T)."""
    basis = ambient_basis(manifold)
    rows = np.stack([realvec(E) for E in basis])
    S1 = symmetric_basis(manifold)
    Vt = np.linalg.svd(matrix_of(lambda Z: manifold.constraint_differential(X, Z), basis))[2]
    P = np.asarray(manifold.phi(X))
    return rows.T @ Vt[len(S1) :].T, np.linalg.qr(matrix_of(lambda S: P @ S, S1))[0]


@pytest.mark.statement("prop:tangent")
@drawn(manifold=SMALL, seed=gt.seeds())
def test_both_expressions_of_the_tangent_space(manifold, seed):
    """{Z : X^T phi(Z) + Z^T phi(X) = 0} is the complement of phi(X) Phi(G) in F."""
    s = Sample(manifold, seed)
    tangent, _ = _spaces(manifold, s.X)
    assert tangent.shape[1] == manifold.dim
    T = s.algebra()
    functional = realvec(s.P @ np.asarray(manifold.symmetrize(T)))
    assert np.linalg.norm(functional @ tangent) <= 1e3 * s.u * s.q * s.kappa**0.5 * norm(s.P)
    Z = np.asarray(manifold.project(s.X, s.ambient()))
    residual = ct(s.X) @ manifold.phi(Z) + ct(Z) @ manifold.phi(s.X)
    assert norm(residual) <= 1e3 * s.q * (norm(s.P) * (s.u * s.kappa + s.c) + s.u * s.L * norm(s.X))
    assert norm(realvec(Z) - tangent @ (tangent.T @ realvec(Z))) <= 1e3 * s.u * s.q * s.kappa


@pytest.mark.statement("prop:normal")
@drawn(manifold=SMALL, seed=gt.seeds())
def test_normal_space_is_the_complement_of_the_tangent_space(manifold, seed):
    """{phi(X) Phi(T)} has dimension dim S1, is orthogonal to T_X M, and both together fill F."""
    s = Sample(manifold, seed)
    tangent, normal = _spaces(manifold, s.X)
    assert tangent.shape[1] + normal.shape[1] == manifold.dimensions()[0]
    assert np.linalg.norm(tangent.T @ normal) <= 1e3 * s.u * s.q * s.kappa**0.5
    D = realvec(s.ambient())
    rest = D - tangent @ (tangent.T @ D) - normal @ (normal.T @ D)
    assert np.linalg.norm(rest) <= 1e3 * s.u * s.q * s.kappa**0.5


@pytest.mark.statement("prop:projection")
@drawn(manifold=SMALL, seed=gt.seeds())
def test_projection_is_onto_the_kernel_of_DC(manifold, seed):
    """P_X(D) against the orthogonal projector onto ker DC(X), computed from its definition."""
    s = Sample(manifold, seed)
    tangent, _ = _spaces(manifold, s.X)
    D = s.ambient()
    expected = tangent @ (tangent.T @ realvec(D))
    assert np.linalg.norm(realvec(manifold.project(s.X, D)) - expected) <= 1e3 * s.q * (
        s.u * s.kappa + s.c
    )


@pytest.mark.statement("pro:rg")
@drawn(manifold=gt.manifolds(max_n=6), seed=gt.seeds())
def test_gradient_and_hessian_as_printed(manifold, seed):
    """eq:rg: grad f = G - phi(X) Theta, hess f[Z] = P_X(H - phi(Z) Theta)."""
    s = Sample(manifold, seed)
    G, H, Z = s.ambient(), s.ambient(), s.tangent()
    Theta = np.asarray(manifold.theta(s.X, G))
    rest = 100 * (s.u * s.kappa + s.c)
    assert norm(manifold.gradient(s.X, G) - (G - s.P @ Theta)) <= rest
    inside = H - np.asarray(manifold.phi(Z)) @ Theta
    expected = inside - s.P @ np.asarray(manifold.theta(s.X, inside))
    assert norm(manifold.hessian(s.X, G, H, Z) - expected) <= rest * (1 + norm(inside))


@pytest.mark.statement("def:first-order")
@drawn(manifold=gt.manifolds(max_n=6, max_condition=1e6), seed=gt.seeds())
def test_first_order_stationary_points(manifold, seed):
    """Grad f(X) = 0 iff the gradient of f is normal, iff <grad f, Z> = 0 along every tangent Z."""
    s = Sample(manifold, seed)
    problem, Theta = stationary(manifold, s.X, seed)
    G = np.asarray(problem.euclidean_gradient(s.X))
    size = (1 + norm(s.X)) ** 3  # of the terms of which G is made
    rest = 100 * (s.u * s.kappa + s.c) * (size + norm(G))
    assert norm(manifold.gradient(s.X, G)) <= rest
    Z = s.tangent()
    assert abs(np.vdot(G, Z).real) <= rest * norm(Z) + norm(G) * s.u * s.kappa
    assert norm(G - s.P @ Theta) <= rest
    # no longer normal: its tangent part is the gradient
    bent = G + s.tangent() / max(s.steepness, 1.0)
    tangent = bent - G
    assert norm(manifold.gradient(s.X, bent) - tangent) <= rest * (1 + norm(tangent))


_TIMES = np.logspace(-3, 0, 13)


@pytest.mark.statement("def:second-order")
@drawn(manifold=gt.manifolds(max_n=6, max_condition=1e6), seed=gt.seeds())
def test_second_order_form_is_the_second_derivative_along_curves(manifold, seed):
    """eq:2or: f(R(tZ)) = f(X) + t^2/2 <Z, hess f(X)[Z]> + O(t^3) at a stationary X."""
    s = Sample(manifold, seed)
    problem, _ = stationary(manifold, s.X, seed)
    Z = s.tangent()
    G = problem.euclidean_gradient(s.X)
    curvature = float(
        np.vdot(Z, manifold.hessian(s.X, G, problem.euclidean_hessian(s.X, Z), Z)).real
    )
    f = problem.cost(s.X)

    def error(t: float) -> float:
        ends = [
            problem.cost(np.asarray(manifold.retract(s.X, sign * t * Z, kind="exp")))
            for sign in (1, -1)
        ]
        return abs(sum(ends) / 2 - f - t**2 / 2 * curvature)

    size = (1 + norm(G)) * (1 + norm(s.X)) ** 4
    floor = 100 * (s.u * s.g + s.u * s.kappa + s.c) * size
    assert fit_slope(_TIMES, np.asarray([error(t) for t in _TIMES]), floor) >= 2.5


@pytest.mark.statement("ass2")
@given(manifold=SMALL, seed=gt.seeds())
def test_second_derivatives_of_f(manifold, seed):
    """The Hessian is the derivative of the gradient, and symmetric (f is quadratic)."""
    c = Constants(manifold, manifold.random_point(seed))
    problem, L_g = quadratic(c, seed)
    rng = np.random.default_rng(seed)
    Z, V = (manifold.random_ambient(rng) for _ in range(2))
    HZ, HV = problem.euclidean_hessian(c.X, Z), problem.euclidean_hessian(c.X, V)
    difference = problem.euclidean_gradient(c.X + Z) - problem.euclidean_gradient(c.X - Z)
    rounding = 100 * c.X.size * EPS * (1 + L_g) * (1 + norm(c.X) + norm(Z)) * (1 + norm(V))
    assert norm(difference - 2 * HZ) <= rounding
    assert abs(np.vdot(HZ, V).real - np.vdot(Z, HV).real) <= rounding


@pytest.mark.statement("Th:cdm")
@drawn(manifold=gt.manifolds(), seed=gt.seeds())
def test_near_M_the_violation_after_A_is_quadratic_in_the_step(manifold, seed):
    """C(A(X + tZ)) = O(t^2), while C(X + tZ) is of order t for Z off T_X M."""
    s = Sample(manifold, seed)
    Z = s.X / (4 * norm(s.X) * s.steepness) if norm(s.X) else s.ambient()
    before = np.asarray([float(manifold.feasibility(s.X + t * Z)) for t in _TIMES])
    after = np.asarray(
        [float(manifold.feasibility(manifold.dissolve(s.X + t * Z))) for t in _TIMES]
    )
    floor = 100 * (s.u * s.g + s.c)
    assert fit_slope(_TIMES, after, floor) >= 1.8
    resolved = before > floor
    assert np.all(after[resolved] <= before[resolved] ** 2 + floor)
