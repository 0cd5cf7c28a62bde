"""Section 2.1 of the paper: Phi, C, A, C o A, all polynomials, and their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import genorth as go
import genorth.testing as gt
from genorth.geometry.bases import algebra_basis, realvec, symmetric_basis
from genorth.linalg.arrays import ct
from genorth.testing.contract import Sample
from support.draws import drawn
from support.norms import Matrix, norm
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


@pytest.mark.statement("eq:C")
@given(manifold=gt.manifolds(), seed=gt.seeds())
def test_M_is_the_zero_set_of_C(manifold, seed):
    """C vanishes at a point of M and not at (1 + t) times it: C((1 + t) X) = (2t + t^2) I there."""
    s = Sample(manifold, seed)
    eye = np.eye(manifold.shape[-1]) + 0 * np.asarray(manifold.constraint(s.X))
    assert norm(manifold.constraint(s.X)) <= 1e-12 * float(manifold.scale(s.X))
    assert norm(manifold.constraint(1.25 * s.X) - 0.5625 * eye) <= 4 * (s.c + s.u * s.g)


@pytest.mark.statement("eq:A", "le2")
@drawn(manifold=gt.manifolds(), seed=gt.seeds())
def test_dissolving_map_its_differential_and_adjoint(manifold, seed):
    """(eq:A), (d3) and the adjoint as printed."""
    M, s = manifold, Sample(manifold, seed)
    Y, Z, T = s.Y, s.ambient(norm(s.Y)), s.ambient()
    P, size = np.asarray(M.phi(Y)), 20 * s.u * s.q * s.g
    d3 = 1.5 * Z - 0.5 * (Z @ ct(P) @ Y + Y @ ct(M.phi(Z)) @ Y + Y @ ct(P) @ Z)
    assert norm(M.dissolve_differential(Y, Z) - d3) <= size * norm(Z)
    eye = np.eye(M.shape[-1])
    adjoint = T @ (1.5 * eye - 0.5 * ct(Y) @ P) - 0.5 * P @ (ct(Y) @ T + M.psi(ct(T) @ Y))
    assert norm(M.dissolve_adjoint(Y, T) - adjoint) <= size
    assert abs(np.vdot(d3, T).real - np.vdot(Z, adjoint).real) <= size * norm(Z)


@pytest.mark.statement("eq:CA")
@drawn(manifold=gt.manifolds(), seed=gt.seeds())
def test_constraint_of_the_dissolved_point(manifold, seed):
    """C(A(Y)) = 9/4 S - 3/2 S^2 + 1/4 S^3 - I, S = Y^T phi(Y), for every Y, also far from M."""
    s = Sample(manifold, seed)
    for Y in (s.Y, s.ambient(norm(s.X))):
        S = np.asarray(ct(Y) @ manifold.phi(Y))
        polynomial = 2.25 * S - 1.5 * S @ S + 0.25 * S @ S @ S - np.eye(S.shape[-1])
        bound = 20 * s.u * s.q * s.g * (1 + norm(S)) ** 2
        assert norm(manifold.constraint(manifold.dissolve(Y)) - polynomial) <= bound


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


def _derivative(function: Callable[[float], Any]) -> Matrix:
    """The derivative at 0 of a polynomial of degree at most 6, by central differences."""
    odd = [np.asarray(function(t)) - np.asarray(function(-t)) for t in (1.0, 2.0, 3.0)]
    return odd[0] * 3 / 4 - odd[1] * 3 / 20 + odd[2] / 60


@pytest.mark.statement("le3")
@drawn(manifold=gt.manifolds(), seed=gt.seeds())
def test_differential_of_the_composition(manifold, seed):
    """d4 is the exact derivative of C o A, a polynomial of degree six."""
    M, s = manifold, Sample(manifold, seed)
    Y, Z = s.Y, s.ambient(0.5 * norm(s.Y) / max(1.0, s.g) ** 0.5)
    D, S = ct(Y) @ M.phi(Z) + ct(Z) @ M.phi(Y), ct(Y) @ M.phi(Y)
    d4 = 2.25 * D - 1.5 * (D @ S + S @ D) + 0.25 * (D @ S @ S + S @ D @ S + S @ S @ D)
    exact = _derivative(lambda t: M.constraint(M.dissolve(Y + t * Z)))
    largest = s.L * (norm(Y) + 3 * norm(Z)) ** 2
    assert norm(exact - d4) <= 100 * s.u * s.q * largest * (1 + largest) ** 2
