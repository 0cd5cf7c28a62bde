"""Sections 2.3 to 3.1 of the paper.

M as a manifold, its spaces, gradient and Hessian, stationarity; A dissolves C.
"""

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from genorth.checks.report import fit_slope
from genorth.geometry.bases import realvec, symmetric_basis
from genorth.linalg.arrays import ct
from genorth.testing.contract import Sample
from support.draws import drawn
from support.norms import Matrix, norm
from support.problems import stationary
from support.section2_constants import ambient_basis, matrix_of

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


def _spaces(manifold: go.GenOrthManifold, X: Matrix) -> tuple[Matrix, Matrix]:
    """Orthonormal coordinates (columns) of ker DC(X) in F, and of the span of phi(X) Phi(T)."""
    basis = ambient_basis(manifold)
    rows = np.stack([realvec(E) for E in basis])
    S1 = symmetric_basis(manifold)
    Vt = np.linalg.svd(matrix_of(lambda Z: manifold.constraint_differential(X, Z), basis))[2]
    P = np.asarray(manifold.phi(X))
    return rows.T @ Vt[len(S1) :].T, np.linalg.qr(matrix_of(lambda S: P @ S, S1))[0]


@pytest.mark.statement("prop:tangent", "prop:normal", "prop:projection")
@drawn(manifold=SMALL, seed=gt.seeds())
def test_the_normal_space_is_the_complement_of_the_kernel_of_DC(manifold, seed):
    """ker DC(X) and {phi(X) Phi(T)} are orthogonal and fill F, and P_X projects onto the first."""
    s = Sample(manifold, seed)
    tangent, normal = _spaces(manifold, s.X)
    assert tangent.shape[1] == manifold.dim
    assert tangent.shape[1] + normal.shape[1] == manifold.dimensions()[0]
    assert np.linalg.norm(tangent.T @ normal) <= 1e3 * s.u * s.q * s.kappa**0.5
    D = s.ambient()
    expected = tangent @ (tangent.T @ realvec(D))
    bound = 1e3 * s.q * (s.u * s.kappa + s.c)
    assert np.linalg.norm(realvec(manifold.project(s.X, D)) - expected) <= bound


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


@pytest.mark.statement("ass2", "def:second-order")
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
