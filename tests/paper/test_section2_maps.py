"""Section 2.1 of the paper: Phi, C, A, C o A, all polynomials, and their derivatives."""

import numpy as np
import pytest
from hypothesis import given

import genorth as go
import genorth.testing as gt
from genorth.geometry.bases import algebra_basis, realvec, symmetric_basis
from genorth.linalg.arrays import ct
from genorth.testing.contract import Sample
from support.draws import drawn
from support.norms import norm
from support.problems import smooth
from support.section2_constants import matrix_of


@pytest.mark.statement("def:Phi")
@drawn(manifold=gt.manifolds(max_n=6))
def test_range_and_kernel_of_the_symmetrisation(manifold):
    """Phi(T) = T^T + psi(T) has rank dim S1 on G, and its kernel S2 is orthogonal to S1."""
    s, basis = Sample(manifold), algebra_basis(manifold)
    T = s.algebra()
    assert norm(manifold.symmetrize(T) - (ct(T) + manifold.psi(T))) <= s.u * s.q
    rows = np.stack([realvec(T) for T in basis])
    images = matrix_of(manifold.symmetrize, basis)
    assert np.linalg.norm(rows.T @ (rows @ images) - images) <= 1e3 * s.u * s.q  # Phi maps G to G
    Phi, S1 = rows @ images, symmetric_basis(manifold)
    values, vectors = np.linalg.eigh((Phi + Phi.T) / 2)
    kernel = vectors[:, np.abs(values) <= 1e-8 * s.q]
    assert kernel.shape[1] + len(S1) == len(basis)
    inside = rows @ np.stack([realvec(S) for S in S1], axis=1)
    assert np.linalg.norm(kernel.T @ inside) <= 1e4 * len(basis) * s.u * s.q


@pytest.mark.statement("def:g")
@given(manifold=gt.manifolds(max_condition=1e4), seed=gt.seeds())
def test_g_and_G_are_f_and_its_gradient_at_the_dissolved_point(manifold, seed):
    problem, s = smooth(manifold, seed), Sample(manifold, seed)
    h = go.ConstraintDissolving(problem, 1.0)
    Y = 1.5 * s.Y - 0.5 * s.Y @ ct(manifold.phi(s.Y)) @ s.Y
    f, size = problem.cost(Y), (1 + norm(Y)) ** 4
    assert abs(float(h.cost(s.Y)) - f) <= 100 * s.u * s.g * size
    G = np.asarray(problem.euclidean_gradient(np.asarray(manifold.dissolve(s.Y))))
    assert norm(G - problem.euclidean_gradient(Y)) <= 100 * s.u * s.g * size
