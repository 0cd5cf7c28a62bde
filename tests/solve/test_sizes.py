"""Costs and starts of zero, subnormal and huge sizes: a Result or an error that says why."""

import math
import re
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings

import genorth as go
import genorth.testing as gt
from baselines.registry import RECORDS
from genorth.riemannian.run import OnManifold

SIZES = [0.0, 5e-324, 1e-310, 1e-160, 1e-20, 1.0, 1e20, 1e155, 1e300]
_REFUSED = r"(phi\()?(x0|X|euclidean_gradient|W|preconditioner)\)?: need"
FAMILIES = ["stiefel", "generalized", "symplectic", "indefinite-dense", "hyperbolic"]


def _problem(family, kind, size, seed):
    """size tr(X^T A X)/2 or size tr(B^T X), with derivatives written out."""
    M = gt.Recipe(family, 4, 2, 10.0, seed).build()
    rng = np.random.default_rng(seed)
    A = gt.conditioned_symmetric(len(M.random_point(0)), 10.0, seed)
    B = rng.standard_normal(M.random_point(0).shape)
    if kind == "linear":
        terms = (lambda X: size * np.vdot(B, X), lambda X: size * B, lambda X, Z: 0 * Z)
    else:
        terms = (
            lambda X: size * (np.vdot(X, A @ X) / 2),
            lambda X: size * (A @ X),
            lambda X, Z: size * (A @ Z),
        )
    cost, gradient, hessian = (_quiet(term) for term in terms)
    return go.Problem(M, cost, gradient, hessian)


def _quiet(term):
    """The cost may overflow: what NumPy says of that is the cost's."""

    def quiet(*arrays):
        with np.errstate(all="ignore"):
            return term(*arrays)

    return quiet


@pytest.mark.parametrize("solver", [name for name in go.SOLVERS if not name.startswith("cdopt")])
@settings(max_examples=6, deadline=None)
@given(
    st.sampled_from(FAMILIES),
    st.sampled_from(["linear", "quadratic"]),
    st.sampled_from(SIZES),
    st.sampled_from(SIZES),
    st.integers(0, 5),
)
@example("stiefel", "linear", 1e-160, 1e-20, 4)  # the square of the gradient is zero
def test_every_solver_ends_with_a_result_or_a_reason(solver, family, kind, size, start, seed):
    _ends(solver, _problem(family, kind, size, seed), start, seed)


@pytest.mark.parametrize("solver", sorted({*go.SOLVERS} - {record.name for record in RECORDS}))
@settings(max_examples=6, deadline=None)
@given(st.sampled_from(FAMILIES), st.sampled_from(SIZES), st.sampled_from(SIZES), st.booleans())
@example("symplectic", 1e-20, 1e155, False)  # steps of length zero
@example("generalized", 1e-310, 1e-310, False)  # digits of the preconditioner's squares are lost
@example("symplectic", 1e-160, 1e-310, True)  # so small is phi in the metric
def test_metrics_and_preconditioners_of_every_size(solver, family, start, size, metric):
    problem, how = _problem(family, "quadratic", 1.0, 5), {}
    if metric:
        how["metric"] = size * np.linspace(1.0, 2.0, len(problem.manifold.random_point(0)))
    else:
        how["preconditioner"] = _quiet(lambda X, V: size * V)
    if all(map(go.SOLVERS[solver].takes, how)):
        _ends(solver, problem, start, 5, **how)


def _ends(solver, problem, start, seed, **how):
    if go.SOLVERS[solver].why_not(problem):
        return
    x0 = start * problem.manifold.random_point(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = go.minimize(problem, x0, method=solver, max_iterations=20, max_time=5.0, **how)
        except ValueError as error:
            assert re.match(_REFUSED, str(error)), error  # noqa: PT017
            return
    assert math.isfinite(result.feasibility) or not result.success
    if result.success:
        assert np.isfinite(result.x).all()


def test_a_step_to_where_no_digit_of_C_is_left_is_shortened():
    """|C| and the bound of its rounding are both infinite at 1e158 X."""
    M = go.HyperbolicStiefel([1.0, -1.0], 1)
    run = OnManifold(go.Problem(M, lambda X: 0.0, lambda X: 0 * X), np.array([[1.0], [0.0]]), "rgd")

    class Far:
        trusted = False

    with np.errstate(all="ignore"), pytest.raises(go.OutsideDomainError, match="too long"):
        run.arrive(Far(), np.array([[1e158], [1e150]]))
