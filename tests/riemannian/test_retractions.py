"""The retraction of a run: "auto" solves what Cayley alone does not; another one can be chosen."""

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from genorth.geometry.retractions import RETRACTIONS
from genorth.riemannian import rcg, rgd, rlbfgs, rtr
from support.problems import nearest

SOLVERS = {solver.__name__: solver for solver in (rgd, rcg, rlbfgs, rtr)}


def indefinite(condition: float, seed: int = 1) -> go.Problem:
    """The point of X^T H X = I next to a Gaussian point, H indefinite."""
    H = gt.conditioned_symmetric(40, condition, seed, negative=20)
    B = np.random.default_rng(seed).standard_normal((40, 6))
    return nearest(go.HyperbolicStiefel(H, 6), B)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("condition", [1.0, 30.0, 1000.0])
def test_the_nearest_point_is_found_at_every_condition(solver, condition):
    """DESIGN 2.3: with Cayley alone these runs were not done after 1500 iterations."""
    problem = indefinite(condition)
    start = problem.manifold.random_point(0)
    result = SOLVERS[solver](problem, start, max_iterations=200)
    assert result.success, result.message
    assert result.nfev <= 3 * result.nit + 3
    assert sum(result.retractions.values()) >= 1
    assert set(result.retractions) <= {"cayley", "normal"}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [kind for kind in RETRACTIONS if kind != "auto"])
def test_the_retraction_that_was_asked_for_is_used(solver, kind):
    problem = indefinite(1.0)
    start = problem.manifold.random_point(0)
    result = SOLVERS[solver](problem, start, retraction=kind, max_iterations=20)
    assert set(result.retractions) == {kind}
