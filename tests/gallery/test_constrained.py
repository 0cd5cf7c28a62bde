"""Problems of the gallery with further constraints: what their formulas say."""

import numpy as np
import pytest
from scipy.linalg import block_diag, solve_continuous_lyapunov

import genorth as go
from genorth.gallery.constrained import NAMES, h2_reduction, problems, rod


@pytest.mark.parametrize("r", [1, 2])
def test_the_h2_error_is_that_of_the_error_system(r):
    """|G - G_r|^2 = c^T P c, A P + P A^T + b b^T = 0, for the difference of both systems."""
    a, b = rod(8)
    problem = h2_reduction(a, b, r, 0.1)
    X = problem.manifold.random_point(0)

    def squared(A, b, c):
        return float(c @ solve_continuous_lyapunov(A, -np.outer(b, b)) @ c)

    A = block_diag(np.diag(a), X.T @ (a[:, None] * X))
    error = squared(A, np.append(b, X.T @ b), np.append(b, -X.T @ b))
    whole = squared(np.diag(a), b, b)
    assert problem.cost(X) == pytest.approx(error / whole - 1, abs=1e-12)
    assert go.check_gradient(problem, rng=0).passed and go.check_hessian(problem, rng=0).passed
    slowest = np.linalg.eigvalsh(X.T @ (a[:, None] * X))[-1]
    assert problem.constraints.value(X) == pytest.approx([slowest])


def test_two_poles_are_the_same_by_both_families():
    """The slower one is at the margin, within which it would not stay."""
    a, b = rod(30)
    problem = h2_reduction(a, b, 2, 0.5)
    start = np.eye(30)[:, :2]
    ends = [go.minimize(problem, start, method=m, tol=1e-7) for m in ("ralm", "odf-alm")]
    assert all(end.success for end in ends), ends
    assert ends[0].fun == pytest.approx(ends[1].fun, abs=1e-8)
    assert problem.constraints.value(ends[0].x) == pytest.approx([-0.5], abs=1e-10)
    free = go.Problem(problem.manifold, problem.cost, problem.euclidean_gradient)
    assert problem.constraints.value(go.minimize(free, start).x)[0] > -0.5


def test_the_starts_are_points_of_the_manifolds():
    for name, problem, start in problems():
        assert name in NAMES and problem.constraints is not None
        x = start(1)
        parts = x if isinstance(x, tuple) else (x,)
        assert all(np.all(np.isfinite(part)) for part in parts)
        assert float(problem.manifold.feasibility(x)) <= 1e-10
