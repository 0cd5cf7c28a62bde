"""Further constraints: what they become, known minima under them, and what is refused."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

import genorth as go
from genorth.alm import _Lagrangian
from genorth.problem.constraints import as_constraint
from genorth.problem.kkt import KKT
from genorth.problem.measure import Measure

_Matrix = np.ndarray[Any, Any]
METHODS = ("ralm", "odf-alm", "cdf-alm")


def _quadratic(manifold: Any, A: _Matrix, constraints: Any) -> go.Problem:
    """-tr(X^T A X)."""
    return go.Problem(
        manifold,
        lambda X: -float(np.vdot(X, A @ X)),
        lambda X: -2 * (A @ X),
        lambda X, Z: -2 * (A @ Z),
        constraints=constraints,
    )


def _cap(bound: float) -> go.Problem:
    """The highest point of the sphere with x_0 <= bound, in the direction (1, 1, 0)."""
    return go.Problem(
        go.Sphere(3),
        lambda x: -x[0] - x[1],
        lambda x: -np.array([1.0, 1.0, 0.0]),
        lambda x, z: 0 * z,
        constraints=LinearConstraint([[1.0, 0.0, 0.0]], -np.inf, bound),
    )


def _norm_of_rows() -> NonlinearConstraint:
    """|first row|^2 = 1/4, and the product of two entries at most 0.1."""

    def jacobian(X: _Matrix) -> _Matrix:
        J = np.zeros((2, *X.shape))
        J[0, 0] = 2 * X[0]
        J[1, 1, 0], J[1, 2, 1] = X[2, 1], X[1, 0]
        return J

    return NonlinearConstraint(
        lambda X: np.array([X[0] @ X[0], X[1, 0] * X[2, 1]]), [0.25, -np.inf], [0.25, 0.1], jacobian
    )


# ---------------------------------------------------------------------- the maps


@given(seed=st.integers(0, 1000))
def test_the_maps_are_the_derivatives_of_c(seed):
    """J Z, J^T y and the derivative of J^T y along Z, of all kinds together."""
    rng = np.random.default_rng(seed)
    manifold = go.Stiefel(5, 2)
    low = np.where(rng.random((5, 2)) < 0.5, np.nan, -0.3)
    kinds = [
        Bounds(low, np.inf),
        LinearConstraint(scipy.sparse.csr_array(rng.standard_normal((3, 10))), -1, 1),
        _norm_of_rows(),
    ]
    c = as_constraint(kinds, manifold)
    X, Z = rng.standard_normal((2, 5, 2))
    y, t = rng.standard_normal(c.lower.size), 1e-5
    assert np.allclose((c.value(X + t * Z) - c.value(X - t * Z)) / (2 * t), c.push(X, Z), atol=1e-8)
    assert float(y @ c.push(X, Z)) == pytest.approx(float(np.vdot(c.pull(X, y), Z)), abs=1e-10)
    second = (c.pull(X + t * Z, y) - c.pull(X - t * Z, y)) / (2 * t)
    assert c.second is not None
    assert np.allclose(c.second(X, Z, y), second, atol=1e-5)


def test_nan_is_no_bound():
    c = as_constraint(Bounds([np.nan, 0.0, np.nan], [0.5, np.nan, np.nan]), go.Sphere(3))
    assert c.value(np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 2.0]
    assert c.nearest(np.array([-9.0, 9.0])).tolist() == [-9.0, 9.0]
    assert c.violation(np.array([0.7, -0.1])) == pytest.approx(0.2)


@given(seed=st.integers(0, 1000), rho=st.floats(0.1, 100))
def test_the_augmented_lagrangian_has_these_derivatives(seed, rho):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((5, 5))
    problem = _quadratic(go.Stiefel(5, 2), A + A.T, [Bounds(-0.2, 0.4), _norm_of_rows()])
    y = rng.standard_normal(problem.constraints.lower.size)
    inner = _Lagrangian(problem, y, rho)
    X, Z = rng.standard_normal((2, 5, 2))
    t = 1e-6
    (above, G), (below, H) = (inner.value_and_gradient(X + s * t * Z) for s in (1, -1))
    _, G0 = inner.value_and_gradient(X)
    size = (1 + rho) * 100
    assert (above - below) / (2 * t) == pytest.approx(float(np.vdot(G0, Z)), abs=1e-6 * size)
    if np.array_equal(inner.excess(X + t * Z) != 0, inner.excess(X - t * Z) != 0):
        assert np.allclose((G - H) / (2 * t), inner.hessian(X, Z), atol=1e-5 * size)


# ---------------------------------------------------------------------- known minima


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bound", [0.3, 0.9])
def test_a_cap_of_the_sphere(method, bound):
    """Active at 0.3, where x = (0.3, sqrt(1 - 0.09), 0); not at 0.9."""
    result = go.minimize(_cap(bound), method=method, rng=1, tol=1e-7)
    best = bound + np.sqrt(1 - bound**2) if bound < np.sqrt(0.5) else np.sqrt(2)
    assert result.success and -result.fun == pytest.approx(best, abs=1e-6), result
    assert (abs(result.kkt.multipliers[0]) > 0.1) == (bound < np.sqrt(0.5))


@pytest.mark.parametrize("method", METHODS)
def test_nonnegative_orthogonal_factors_find_the_clusters(method):
    """Rows of X >= 0 with X^T X = I have one entry each: the cluster."""
    rng, k, n = np.random.default_rng(0), 3, 24
    labels = np.repeat(np.arange(k), n // k)
    Y = np.eye(k)[labels] / np.sqrt(n // k)
    A = Y @ np.diag([3.0, 2.5, 2.0]) @ Y.T + 0.05 * rng.standard_normal((n, n))
    problem = _quadratic(go.Stiefel(n, k), A + A.T, Bounds(0, np.inf))
    start = problem.manifold.restore(np.abs(problem.manifold.random_point(1)) + 0.3 * Y)
    result = go.minimize(problem, start, method=method, tol=1e-6)
    assert result.success and result.kkt.violation <= 1e-6, result
    found = np.argmax(result.x, axis=1)
    assert len({(a, b) for a, b in zip(found, labels, strict=True)}) == k


@pytest.mark.parametrize("method", METHODS)
def test_a_fixed_support_is_the_smaller_problem(method):
    """X_ij = 0 in some rows, against elimination of these rows."""
    A = np.diag(np.arange(6.0)) + 0.1 * np.ones((6, 6))
    free = np.array([True, True, False, True, True, False])
    zero = np.where(free[:, None], np.nan, 0.0) * np.ones((6, 2))
    result = go.minimize(_quadratic(go.Stiefel(6, 2), A, Bounds(zero, zero)), method=method, rng=0)
    assert result.success, result
    assert -result.fun == pytest.approx(np.linalg.eigvalsh(A[free][:, free])[-2:].sum(), abs=1e-6)


def test_a_constraint_on_one_factor_of_a_product():
    """max a.x + t - t^2/2 with t <= 1/2 free and x on the sphere."""
    product = go.Product(x=go.Sphere(3), t=go.Euclidean(1))
    a = np.array([1.0, 2.0, 2.0])
    problem = go.Problem(
        product,
        lambda x, t: -float(a @ x + t[0] - t[0] ** 2 / 2),
        lambda x, t: (-a, -1 + t),
        constraints={"t": Bounds(-np.inf, 0.5)},
    )
    result = go.minimize(problem, rng=0, tol=1e-7)
    assert result.success and result.method == "ralm"
    assert -result.fun == pytest.approx(3 + 0.5 - 0.125, abs=1e-6)
    assert result.x.t[0] == pytest.approx(0.5, abs=1e-6)


def test_on_another_manifold_with_an_equation():
    """The trace on the symplectic manifold with one entry fixed; agreement of both families."""
    A = np.diag(np.linspace(1, 3, 6))
    fixed = LinearConstraint(np.eye(1, 12), 0.4, 0.4)
    problem = _quadratic(go.SymplecticStiefel(6, 2), -A, fixed)
    values = [go.minimize(problem, rng=0, method=m, tol=1e-7) for m in METHODS]
    assert all(r.success and abs(r.x[0, 0] - 0.4) <= 1e-6 for r in values)
    assert max(r.fun for r in values) - min(r.fun for r in values) <= 1e-6


def test_constraints_that_exclude_the_manifold_are_found_out():
    problem = go.Problem(
        go.Sphere(3),
        lambda x: -x[1],
        lambda x: -np.array([0.0, 1.0, 0.0]),
        constraints=LinearConstraint([[1.0, 0.0, 0.0]], 2, 3),
    )
    result = go.minimize(problem, rng=1)
    assert result.status is go.Status.INFEASIBLE and not result.success
    assert result.kkt.violation == pytest.approx(1.0, abs=1e-3), "the least on the sphere"
    assert "entry 0 of constraints (linear)" in result.message


@pytest.mark.parametrize("method", METHODS)
def test_active_bounds_hold_to_rounding_at_the_end(method):
    """By Newton's map for both; without it to constraint_tol."""
    rng = np.random.default_rng(2)
    A = rng.standard_normal((8, 8))
    problem = _quadratic(go.Stiefel(8, 1), A + A.T, Bounds(0, np.inf))
    result = go.minimize(problem, rng=0, method=method, tol=1e-6)
    assert result.success and result.kkt.violation <= 1e-12 and result.feasibility <= 1e-12
    assert np.sum(np.abs(result.x) <= 1e-12) >= 1, "some bound is active"
    rough = go.minimize(problem, rng=0, method=method, tol=1e-6, polish=False)
    assert rough.success and rough.fun == pytest.approx(result.fun, abs=1e-5)


def test_a_budget_ends_the_run_between_and_within_rounds():
    result = go.minimize(_cap(0.3), rng=1, max_evaluations=4, check=False)
    assert result.status is go.Status.EVALUATION_LIMIT and not result.success
    assert result.evaluations <= 6


# ---------------------------------------------------------------------- the conditions


def test_the_conditions_are_measured_anew():
    """With the multipliers that fit best, of the sign of the bound that is active."""
    problem = _cap(0.3).in_blocks
    x = np.array([0.3, np.sqrt(1 - 0.09), 0.0]).reshape(3, 1)
    kkt = KKT.estimate(problem, x)
    assert kkt.holds(1e-8, 1e-8)
    assert kkt.multipliers[0] == pytest.approx(1 - 0.3 / np.sqrt(0.91))
    assert Measure.at(problem, x).stationary(1e-8)
    inside = np.array([0.2, np.sqrt(0.96), 0.0]).reshape(3, 1)
    assert KKT.estimate(problem, inside).multipliers[0] == 0.0
    assert not Measure.at(problem, inside).stationary(1e-3)
    outside = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0]).reshape(3, 1)
    assert KKT.estimate(problem, outside).stationarity <= 1e-8, "a maximum without the bound"
    assert not Measure.at(problem, outside).stationary(1e-3), "but it violates it"


# ---------------------------------------------------------------------- what is refused

_SPHERE = go.Sphere(3)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (3, "constraints: need Bounds, LinearConstraint .* got int"),
        (Bounds(np.zeros(4), 1), r"constraints: need bounds of shape \(3,\)"),
        (Bounds([0, 0, 2], 1), "lower <= upper; got 2 > 1 at entry 2"),
        (LinearConstraint(np.eye(2), 0, 1), "a matrix with 3 columns; got shape"),
        (NonlinearConstraint(lambda x: x @ x, 0, 1), "with its Jacobian"),
    ],
)
def test_a_wrong_constraint_is_refused(constraints, message):
    with pytest.raises(ValueError, match=message):
        go.Problem(_SPHERE, lambda x: 0.0, lambda x: 0 * x, constraints=constraints)


def test_a_jacobian_of_wrong_shape_bounds_of_complex_entries_and_unknown_factors_are_refused():
    wrong = NonlinearConstraint(lambda x: x @ x, 0, 1, jac=lambda x: np.ones((2, 3)))
    problem = go.Problem(_SPHERE, lambda x: 0.0, lambda x: 0 * x, constraints=wrong)
    with pytest.raises(ValueError, match=r"a Jacobian of shape \(1, 3\)"):
        go.minimize(problem, rng=0)
    with pytest.raises(ValueError, match="real entries, which bounds are for"):
        go.Problem(go.Stiefel(3, 1, complex), lambda X: 0.0, constraints=Bounds(0, 1))
    product = go.Product(x=_SPHERE, t=go.Euclidean(1))
    with pytest.raises(ValueError, match="names of x, t; got 'y'"):
        go.Problem(product, lambda x, t: 0.0, constraints={"y": Bounds(0, 1)})


def test_a_wrong_jacobian_is_refused_by_the_check_at_the_start():
    wrong = NonlinearConstraint(lambda x: x @ x, 0, 1, jac=lambda x: x[None])  # half of it
    problem = go.Problem(_SPHERE, lambda x: x[0], lambda x: np.eye(3)[0], constraints=wrong)
    with pytest.raises(ValueError, match="constraints: need jac to be the derivative of fun"):
        go.minimize(problem, rng=0)


def test_a_solver_without_constraints_names_those_that_take_them():
    with pytest.raises(
        ValueError, match=r"'rtr' takes no constraints .*'ralm', 'odf-alm', 'cdf-alm'"
    ):
        go.minimize(_cap(0.3), method="rtr")
    with pytest.raises(ValueError, match="need constraints; got none"):
        go.minimize(go.Problem(_SPHERE, lambda x: 0.0, lambda x: 0 * x), method="ralm")
