"""The problems with nonsmooth terms: derivatives, and minima on which two families agree."""

import numpy as np
import pytest

import genorth as go
from genorth.gallery import sparse

pytest.importorskip("sklearn")
PROBLEMS = {p.name: p for p in sparse.problems(20) if p.name != "symplectic basis"}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_minimum_of_the_penalty_family_is_one_for_manpg(name):
    """Zeros, stationarity by |Z|/t, and no step of another method that leads further down."""
    problem = PROBLEMS[name]
    x = problem.manifold.random_point(0)
    assert go.check_gradient(problem, x, rng=0).passed
    assert go.check_hessian(problem, x, rng=0).passed
    result = go.minimize(problem, x, method="odf-alm", tol=1e-6)
    assert result.success and result.sparsity > 0.1, result
    assert result.fun < problem.objective(x)
    again = go.minimize(problem, result.x, method="manpg", tol=1e-6)
    assert again.success and again.nit <= 1
    assert again.fun == pytest.approx(result.fun, rel=1e-9)


def test_genes_of_a_group_go_together():
    """Correlations within a group are large, those with the rest are noise."""
    A = sparse.gene_data(100, 0, rows=4000, groups=2)
    assert np.allclose(A.mean(axis=0), 0) and np.allclose(np.linalg.norm(A, axis=0), 1)
    R = np.abs(A.T @ A) - np.eye(100)
    partners = np.sum(R > 0.3, axis=0)
    assert np.sum(partners == 4) == 10 and np.sum(partners == 0) == 90


def test_rows_of_the_other_variables_vanish():
    """Of joint diagonalisation: the matrices live on the first quarter."""
    problem = sparse.joint_diagonalisation(sparse.random_spectra(40, 4, 1), 2, 1.0)
    x = go.minimize(problem, rng=0).x
    assert not np.any(x[10:]) and np.any(x[:10])


def test_a_component_of_the_digits_leaves_pixels_out():
    x = go.minimize(sparse.sparse_pca(sparse.digits_data(), 2, 0.5), rng=0).x
    assert x.shape == (61, 2) and np.sum(np.all(x == 0, axis=1)) > 5
