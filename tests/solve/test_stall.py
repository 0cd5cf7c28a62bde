"""What a message says of noise, kinks, wrong derivatives, and an ill-conditioned B."""

from typing import Any

import attrs
import numpy as np
import pytest

import genorth as go
from genorth.linalg.matrices import conditioned_symmetric
from genorth.solve.stall import explain, laborious
from support.problems import spd

M = go.Stiefel(20, 3)
A = spd(20, 100, 0)


def _cost(X: Any) -> float:
    return float(np.vdot(X, A @ X))


@pytest.mark.parametrize("method", ["auto", "rlbfgs", "rcg", "odf-lbfgs"])
def test_a_kink_is_named(method: str) -> None:
    problem = go.Problem(
        M, lambda X: float(np.abs(X).sum()) + _cost(X), lambda X: np.sign(X) + 2 * A @ X
    )
    for seed in range(4):
        result = go.minimize(problem, rng=seed, method=method, max_iterations=400)
        assert not result.success and "kink beside x" in result.message


def test_derivatives_that_do_not_fit_are_named() -> None:
    problem = go.Problem(M, _cost, lambda X: -2 * A @ X)
    result = go.minimize(problem, rng=1, method="rlbfgs", check=False)
    counts = problem.counts
    assert "derivatives do not fit" in explain(problem, result)
    assert problem.counts == counts


def test_nothing_is_said_of_good_runs() -> None:
    problem = go.Problem(M, _cost, lambda X: 2 * A @ X)
    for method in ("auto", "rgd", "odf-lbfgs"):
        result = go.minimize(problem, rng=1, method=method)
        assert explain(problem, result) == "" and not laborious(result)


def test_twenty_iterations_of_more_than_ten_evaluations_are_laborious() -> None:
    problem = go.Problem(M, _cost, lambda X: 2 * A @ X)
    result = go.minimize(problem, rng=1, method="rlbfgs", certify=False)
    for each, count, expected in ((11, 20, True), (10, 40, False), (11, 19, False)):
        result.trace.evaluations[:] = list(range(0, each * (count + 1), each))
        assert laborious(result) is expected


@pytest.mark.parametrize(("condition", "told"), [(1e3, False), (1e8, True)])
@pytest.mark.parametrize("metric", ["B", "|H|"])
def test_an_ill_conditioned_form_points_to_its_metric(
    metric: str, condition: float, told: bool
) -> None:
    if metric == "B":
        manifold: Any = go.GeneralizedStiefel(spd(20, condition, 1), 3)
    else:
        manifold = go.HyperbolicStiefel(conditioned_symmetric(20, condition, 1, 4), 3)
    problem = go.Problem(manifold, _cost, lambda X: 2 * A @ X)
    for method in ("auto", "rgd"):
        result = go.minimize(problem, rng=0, method=method, max_iterations=5)
        assert (f"metric={metric!r}" in result.message) is told
    assert go.minimize(problem, rng=0, metric=metric).success


@pytest.mark.parametrize("sign", [1, -1])
def test_a_gradient_along_the_random_direction_is_no_zero_direction(sign: int) -> None:
    """With one variable the gradient is the random direction or its negative."""
    problem = go.Problem(go.Stiefel(1, 1), lambda X: float(sign * X[0, 0]), lambda X: 0 * X + sign)
    result = go.minimize(problem, np.ones((1, 1)))
    assert not explain(problem, attrs.evolve(result, status=go.Status.STALLED))
