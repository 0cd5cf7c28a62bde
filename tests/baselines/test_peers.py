"""What is particular to other packages: CDOpt's random state, what SciPy's solvers see."""

import importlib.util

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from baselines import SOLVERS, slsqp, trust_constr
from baselines.infeasible.run import Run
from baselines.peers.scipy import Vectors
from support.known_minima import KNOWN
from support.problems import linear


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_vectors_have_the_derivatives_that_they_say(family):
    manifold, rng = gt.Recipe(family, 7, 3, 10.0, 5).build(), np.random.default_rng(0)
    X = manifold.random_point(rng) + 0.01 * manifold.random_ambient(rng)
    vectors = Vectors(Run(linear(manifold, manifold.random_ambient(rng)), X, "test"))
    v = X.reshape(-1).view(float)
    w = manifold.random_ambient(rng).reshape(-1).view(float)
    t = 1e-5
    jacobian = vectors.jacobian(v)
    F, _, _ = manifold.dimensions()
    assert len(jacobian) == F - manifold.dim
    slope = (vectors.constraint(v + t * w) - vectors.constraint(v - t * w)) / (2 * t)
    size = float(manifold.norm(manifold.phi(X)) * np.linalg.norm(w) * manifold.scale(X))
    assert np.linalg.norm(slope - jacobian @ w) <= 1e-8 * size
    y = rng.standard_normal(len(jacobian))
    turned = vectors.jacobian(v + t * w).T @ y - vectors.jacobian(v - t * w).T @ y
    second = vectors.constraint_hessian(y, w)
    assert np.linalg.norm(turned / (2 * t) - second) <= 1e-6 * size * np.linalg.norm(y)


@pytest.mark.parametrize(("name", "method"), [("slsqp", slsqp), ("trust-constr", trust_constr)])
def test_scipys_solvers_give_a_reason_where_the_problem_is_too_large(name, method):
    M = go.Stiefel(1000, 50)
    problem = go.Problem(M, lambda X: float(np.sum(X)), lambda X: np.ones_like(X))
    reason = SOLVERS[name].why_not(problem)
    assert reason is not None and " > " in reason
    with pytest.raises(ValueError, match=r"^problem: need a small problem; .*factors"):
        method(problem)
    assert problem.counts.evaluations == 0


def test_cdopt_leaves_the_global_random_state_as_it_was():
    if importlib.util.find_spec("cdopt") is None:
        pytest.skip("the extra `peers` is not installed")
    SOLVERS["cdopt-lbfgs"].load()  # the import of CDOpt draws random numbers
    known = KNOWN["symplectic"]()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one, two = (
        SOLVERS["cdopt-lbfgs"](known.problem(), known.manifold.random_point(0), rng=3)
        for _ in range(2)
    )
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert one.beta == two.beta
    assert (
        one.beta
        != SOLVERS["cdopt-lbfgs"](known.problem(), known.manifold.random_point(0), rng=4).beta
    )


@pytest.mark.parametrize("name", ["cdopt-cg", "cdopt-lbfgs"])
def test_cdopt_diverges_where_the_cost_has_no_value_far_off_M(name):
    if importlib.util.find_spec("cdopt") is None:
        pytest.skip("the extra `peers` is not installed")
    M = go.SymplecticStiefel(6, 2)

    def cost(X):
        return -1e6 * float(np.vdot(X, X)) if M.feasibility(X) <= 2 else np.nan

    problem = go.Problem(M, cost, lambda X: -2e6 * X)
    result = SOLVERS[name](problem, M.random_point(0), rng=0, max_iterations=50)
    assert result.status is go.Status.DIVERGED
