"""`auto`, the default: what it chooses, what it says, and that nothing beats it by far."""

import numpy as np
import pytest

import genorth as go
from genorth.auto import choose
from support.known_minima import KNOWN
from support.problems import smooth


def _first_order(problem: go.Problem) -> go.Problem:
    return go.Problem(problem.manifold, cost_and_gradient=problem.evaluate)


@pytest.mark.parametrize("family", KNOWN)
def test_the_default_reaches_the_known_minimum_with_and_without_a_hessian(family):
    known = KNOWN[family]()
    for problem in (known.problem(), _first_order(known.problem())):
        result = go.minimize(problem, rng=0)
        assert result.success and result.method == "rtr" and "auto took 'rtr'" in result.message
        assert abs(result.fun - known.minimum) <= 1e-9 * abs(known.minimum)


def test_the_choice_is_made_from_structure_and_visible():
    problem = smooth(go.Stiefel(6, 2), 0)
    assert choose(problem).method == choose(_first_order(problem)).method == "rtr"
    assert "differences" in choose(_first_order(problem)).why
    assert choose(problem, expensive=True).method == "rlbfgs"
    result = go.minimize(problem, rng=0, expensive=True)
    assert result.method == "rlbfgs" and "fewest evaluations" in result.message
    with pytest.raises(ValueError, match=r"^expensive: need True or False"):
        go.minimize(problem, expensive=1)


def test_a_start_that_cannot_be_restored_goes_by_a_penalty_method():
    problem = smooth(go.Stiefel(6, 2), 0)
    result = go.minimize(problem, np.zeros((6, 2)))
    assert result.success and result.method == "rtr"
    assert "took 'odf-lbfgs' to reach M" in result.message
    counts = problem.counts
    assert result.nfev <= counts.nfev and len(result.trace) > result.nit
    assert list(result.trace.time) == sorted(result.trace.time)
    assert list(result.trace.evaluations) == sorted(result.trace.evaluations)
    assert go.minimize(problem, np.zeros((6, 2)), rtol=0.5).method == "odf-lbfgs"


def test_the_two_runs_are_those_of_the_two_solvers():
    """The penalty method ends at a gradient norm of 1e4 tol, and trust regions begin there."""
    problem, start = smooth(go.Stiefel(6, 2), 0), np.zeros((6, 2))
    first = go.minimize(problem.fresh(), start, method="odf-lbfgs", tol=1e-2, certify=False)
    second = go.minimize(problem.fresh(), first.x, method="rtr", tol=1e-6, certify=False)
    both = go.minimize(problem.fresh(), start, tol=1e-6, certify=False)
    for name in ("nit", "nfev", "njev", "nhev"):
        assert getattr(both, name) == getattr(first, name) + getattr(second, name)
    assert list(both.trace.cost) == [*first.trace.cost, *second.trace.cost]
    assert both.fun == second.fun


def test_beta_asks_for_a_penalty_method():
    assert go.minimize(smooth(go.Stiefel(6, 2), 0), beta=50.0, rng=0).method == "odf-lbfgs"


def test_a_metric_reaches_the_solver():
    B = np.diag(np.logspace(0, 4, 8))
    problem = smooth(go.GeneralizedStiefel(B, 2), 1)
    assert go.minimize(problem, rng=0, metric="B").metric_gradient_norm is not None
