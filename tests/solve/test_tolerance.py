"""tol is absolute, rtol relative to the gradient at the start, and so is the default."""

import math

import numpy as np
import pytest

import genorth as go
from support.problems import Matrix, smooth, spd, trace

OURS = [
    "auto",
    *(m for m in ("rgd", "rcg", "rlbfgs", "rtr")),
    *(f"{h}-{loop}" for h in ("odf", "cdf") for loop in ("gd", "cg", "lbfgs", "tr")),
]
A = spd(12, 20, 0)
MANIFOLDS = (go.Stiefel(12, 3), go.SymplecticStiefel(12, 4))


@pytest.mark.parametrize("method", OURS)
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_the_scale_of_f_does_not_matter(method: str, manifold: go.GenOrthManifold) -> None:
    start = manifold.random_point(0)
    size = float(np.linalg.norm(2 * A @ start))
    expected = go.minimize(trace(manifold, A), start).fun
    for c in (1e-12, 1e-10, 1.0, 1e12):
        result = go.minimize(trace(manifold, c * A), start, method=method)
        assert result.success, (c, result)
        assert result.fun / c == pytest.approx(expected, rel=1e-10)
        assert result.gradient_norm <= 2.01 * math.sqrt(np.finfo(float).eps) * c * size


def test_tol_is_absolute_rtol_relative_and_the_larger_one_holds() -> None:
    problem, start = trace(MANIFOLDS[0], A), MANIFOLDS[0].random_point(0)
    size = float(np.linalg.norm(problem.euclidean_gradient(start)))
    for options, bound in (
        ({"tol": 1e-3}, 1e-3),
        ({"rtol": 1e-3}, 1e-3 * size),
        ({"tol": 1e-9, "rtol": 1e-3}, 1e-3 * size),
        ({"tol": 1e-2, "rtol": 1e-9}, 1e-2),
    ):
        result = go.minimize(problem, start, method="rgd", **options)
        norms = result.trace.gradient_norm
        assert result.success and norms[-1] <= bound < norms[-2]
    for direct in (go.SOLVERS["rgd"](problem, start), go.SOLVERS["rgd"](problem, start, tol=1e-6)):
        assert direct.trace.gradient_norm[-1] <= 1e-6, "comparisons keep an absolute tol"


def test_a_good_start_needs_no_iteration() -> None:
    problem = smooth(MANIFOLDS[0], 0)
    first = go.minimize(problem, rng=0)
    again = go.minimize(problem, first.x)
    assert first.success and again.success and again.nit <= 1


@pytest.mark.parametrize("value", [-1.0, 1.0, math.nan, "1e-3", True])
def test_a_wrong_rtol_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"^rtol: need 0 <= rtol < 1"):
        go.minimize(trace(MANIFOLDS[0], A), rtol=value)  # type: ignore[arg-type]


def test_gradient_descent_does_not_accept_a_cost_that_explodes() -> None:
    """f = |X|^8 on a manifold that is not compact."""
    manifold = go.SymplecticStiefel(6, 2)

    def both(X: Matrix) -> tuple[float, Matrix]:
        square = float(np.vdot(X, X))
        return square**4, 8 * square**3 * X

    problem = go.Problem(manifold, cost_and_gradient=both)
    for seed in range(10):
        trace = go.minimize(problem, method="rgd", rng=seed, check=False).trace
        assert max(trace.cost) <= 10 * trace.cost[0]
