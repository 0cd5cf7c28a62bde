"""Hessian products by differences of gradients: exact to the root of roundoff, one G each."""

import numpy as np
import pytest
from hypothesis import given

import genorth as go
import genorth.testing as gt
from genorth.linalg.arrays import eps, norm
from genorth.problem.differences import Differences
from support.problems import smooth


def _without(problem: go.Problem, **arguments) -> go.Problem:
    """The problem without its Hessian product."""
    return go.Problem(
        problem.manifold, cost_and_gradient=problem.evaluate, name=problem.name, **arguments
    )


@pytest.mark.statement("F26")
@given(manifold=gt.manifolds(max_condition=100), seed=gt.seeds())
def test_a_product_is_exact_to_the_root_of_roundoff(manifold, seed):
    """|(G(X + sZ) - G(X))/s - H[Z]| <= s |D^3 f| |Z|^2 + eps |G|/s, for any length of Z."""
    problem, rng = smooth(manifold, seed), np.random.default_rng(seed)
    X = manifold.random_point(rng)
    for length in (1e-8, 1.0, 1e6):
        Z = manifold.random_ambient(rng)
        Z *= length / norm(Z)
        H, found = problem.euclidean_hessian(X, Z), _without(problem).euclidean_hessian(X, Z)
        size = max(1.0, float(norm(X))) ** 3 * (1 + float(np.abs(X).max())) ** 2
        scale = length * (size + float(norm(problem.euclidean_gradient(X)) + norm(H) / length))
        assert norm(found - H) <= 1e3 * eps(X) ** 0.5 * scale
    assert norm(_without(problem).euclidean_hessian(X, 0 * X)) == 0


def test_a_product_costs_one_gradient_where_that_at_X_is_known():
    problem = _without(smooth(go.Stiefel(6, 2), 0))
    X, Z = problem.manifold.random_point(0), problem.manifold.random_ambient(1)
    problem.evaluate(X)
    problem.euclidean_hessian(X, Z)  # nothing is kept before the first product is asked for
    assert problem.counts.njev == 3
    Y = problem.manifold.random_point(1)
    problem.evaluate(Y)
    for k in range(3):
        problem.euclidean_hessian(Y, Z)
        assert problem.counts.njev == 5 + k and problem.counts.nhev == 0
    problem.euclidean_hessian(X, Z)  # the iterate before the trial is known too
    assert problem.counts.njev == 8
    assert problem.fresh().counts.njev == 0


def test_differences_can_be_asked_for():
    M = go.Stiefel(5, 2)
    problem = go.Problem(
        M, lambda X: 0.0, lambda X: X, lambda X, Z: np.full_like(Z, 7.0), hessian="differences"
    )
    X, Z = M.random_point(0), M.random_point(1)
    np.testing.assert_allclose(problem.euclidean_hessian(X, Z), Z, atol=1e-6)
    assert not problem.has_hessian
    with pytest.raises(ValueError, match=r"^hessian: need 'auto' or 'differences'; got 'none'"):
        go.Problem(M, lambda X: 0.0, hessian="none")


@pytest.mark.statement("F26")
@pytest.mark.parametrize("method", ["rtr", "odf-tr", "cdf-tr", "landing-newton", "pymanopt-tr"])
def test_trust_regions_take_them_and_need_about_as_many_products(method):
    problem = smooth(go.Stiefel(8, 3), 3)
    X = problem.manifold.random_point(2)
    exact = go.minimize(problem.fresh(), X, method=method, tol=1e-6)
    found = go.minimize(_without(problem), X, method=method, tol=1e-6)
    assert exact.success and found.success and found.nhev == 0
    assert abs(found.fun - exact.fun) <= 1e-9 * (1 + abs(exact.fun))
    assert found.njev <= 1.5 * (exact.njev + exact.nhev) + 10


def test_complex_entries_and_jax_arrays():
    problem = smooth(go.Stiefel(5, 2, complex), 1)
    X, Z = problem.manifold.random_point(0), problem.manifold.random_ambient(1)
    H = problem.euclidean_hessian(X, Z)
    assert norm(_without(problem).euclidean_hessian(X, Z) - H) <= 1e-5 * norm(H)
    jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    with jax.enable_x64(True):
        A = jax.numpy.asarray(np.diag(np.arange(1.0, 7)))
        on_device = go.Problem(
            go.Stiefel(6, 2), cost_and_gradient=lambda X: ((X * (A @ X)).sum() / 2, A @ X)
        )
        start = jax.numpy.asarray(on_device.manifold.random_point(0))
        result = go.minimize(on_device, start, method="rtr")
    assert result.success and abs(result.fun - 1.5) <= 1e-9


def test_the_step_is_of_the_size_of_X_and_the_gradient_that_at_X():
    """|s Z| = 10 eps^(1/2) max(1, |X|), whatever the length of Z."""
    asked = []

    def gradient(X):
        asked.append(X)
        return X**2

    differences = Differences(gradient)
    for size in (0.1, 1e4):
        X, Y = np.full((3, 1), size), np.full((3, 1), -2 * size)
        for Z in (np.ones((3, 1)), np.full((3, 1), 1e-6)):
            np.testing.assert_allclose(differences.product(X, Z), 2 * X * Z, rtol=1e-5)
            wanted = 10 * eps(X) ** 0.5 * max(1.0, norm(X))
            assert norm(asked[-1] - X) == pytest.approx(wanted, rel=1e-6)
            differences.remember(Y, Y**2)  # of another point
