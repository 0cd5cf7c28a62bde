"""metric=W in every solver (F20): the same minimum, in the variables of the problem."""

import numpy as np
import pymanopt
import pytest
import scipy.linalg
import scipy.sparse

import genorth as go
from genorth.interop.pymanopt import PymanoptManifold, run
from genorth.problem.measure import Measure
from genorth.riemannian import rgd, rlbfgs, rtr
from genorth.solve.tr import Settings
from genorth.testing import conditioned_symmetric
from support.problems import linear, spd, trace

N, P = 30, 3
B = spd(N, 1e4, 1)
A = np.diag(np.linspace(-1.0, 2.0, N))
METHODS = ("cdf-gd", "cdf-lbfgs", "cdf-tr", "odf-lbfgs", "odf-tr", "rgd", "rcg")
METHODS = (*METHODS, "rlbfgs", "rtr", "pymanopt-tr", "pymanopt-cg")


def problem() -> go.Problem:
    """The P smallest generalized eigenvalues of (A, B)."""
    return trace(go.GeneralizedStiefel(B, P), A)


MINIMUM = float(scipy.linalg.eigh(A, B, eigvals_only=True)[:P].sum())
ROOT = np.linalg.inv(np.linalg.cholesky(B)).T  # T with (T T^T)^-1 = B


@pytest.mark.parametrize("method", METHODS)
def test_every_solver_takes_a_metric(method):
    tol = 1e-3 if method == "pymanopt-cg" else 1e-5  # its line search ends in rounding
    result = go.minimize(problem(), method=method, metric="B", rng=0, tol=tol)
    assert result.success, result.message
    assert result.fun == pytest.approx(MINIMUM, rel=1e-6)
    x, M = result.x, problem().manifold
    assert result.fun == pytest.approx(problem().cost(x), rel=1e-12)
    assert result.feasibility == pytest.approx(float(M.feasibility(x)), abs=1e-15)
    gradient = M.gradient(x, 2 * A @ x)
    assert result.gradient_norm == pytest.approx(float(M.norm(gradient)), rel=1e-6, abs=1e-12)
    assert result.metric_gradient_norm is not None and result.metric_gradient_norm <= 2 * tol
    assert result.evaluations > 0 and result.method == method


@pytest.mark.parametrize(
    "metric", [B, scipy.sparse.csr_array(B), np.diag(B), (ROOT, np.linalg.inv(ROOT)), "B"], ids=str
)
def test_a_metric_may_be_given_in_every_form(metric):
    result = rlbfgs(problem(), rng=0, metric=metric, tol=1e-5, max_iterations=20_000)
    assert result.fun == pytest.approx(MINIMUM, rel=1e-5)


@pytest.mark.statement("F20")
def test_the_metric_of_the_form_takes_the_condition_number_out():
    """F20: with W = B it is the Stiefel manifold, whatever the condition number of B is."""
    counts = []
    for condition in (10.0, 1e5):
        form = spd(N, condition, 1)
        root = scipy.linalg.sqrtm(form).real  # so that both have the same spectrum
        easy = trace(go.GeneralizedStiefel(form, P), root @ A @ root)
        result = rlbfgs(easy, rng=0, metric="B")
        assert result.success
        counts.append(result.evaluations)
    assert counts[1] <= 2 * counts[0]


def _smooth() -> go.Problem:
    return go.Problem(
        go.GeneralizedStiefel(spd(N, 100, 1), P),
        lambda X: float(np.vdot(X, A @ X)) + float(np.sum(X**4)),
        lambda X: 2 * A @ X + 4 * X**3,
        lambda X, Z: 2 * A @ Z + 12 * X**2 * Z,
    )


METRICS = {"B": "B", "diagonal": np.linspace(1.0, 3.0, N)}


@pytest.mark.parametrize("metric", METRICS)
def test_trust_regions_keep_superlinear_convergence_in_a_metric(metric):
    """The Hessian is that of the metric: a model solved for tightly gains digits at once."""
    settings = Settings(accuracy=1e-6)
    result = rtr(_smooth(), rng=0, metric=METRICS[metric], tol=1e-7, settings=settings)
    norms = np.array(result.trace.gradient_norm)
    assert result.success
    assert np.max(norms[:-1] / norms[1:]) >= 100


@pytest.mark.parametrize("metric", METRICS)
def test_pymanopts_trust_regions_keep_it_too(metric):
    """Only with the right Hessian |g_k+1| <= c |g_k|^2."""
    optimizer = pymanopt.optimizers.TrustRegions
    result = run(optimizer, _smooth(), rng=2, metric=METRICS[metric], tol=1e-8)
    norms = [value for value in dict.fromkeys(result.trace.gradient_norm) if value < 0.05]
    assert result.success
    assert np.max(np.log(norms[1:]) / np.log(norms[:-1])) >= 1.5


def test_points_and_callbacks_are_in_the_variables_of_the_problem():
    seen = []
    M = problem().manifold
    start = M.random_point(0)
    options = {"metric": "B", "max_iterations": 5, "keep_points": True}
    result = rgd(problem(), start, **options, callback=lambda progress: seen.append(progress.x))
    assert np.allclose(seen[0], start) and np.allclose(result.trace.points[0], start)
    assert all(float(M.feasibility(X)) <= 1e-8 for X in (*seen, *result.trace.points))
    inside = problem().substitute(M.metric("B"))
    Y = inside.manifold.T.solve(result.x)
    gradient = inside.manifold.gradient(Y, inside.euclidean_gradient(Y))
    assert result.metric_gradient_norm == pytest.approx(float(M.norm(gradient)), rel=1e-8)


def test_a_pymanopt_manifold_takes_a_metric():
    """Gradient, Hessian, projection and inner product in W; pymanopt's own solver and ours."""
    space = PymanoptManifold(go.GeneralizedStiefel(B, P), rng=0, metric="B")
    X = space.random_point()
    U, V = space.random_tangent_vector(X), space.random_tangent_vector(X)
    W = space.manifold.form.left(U)
    assert space.inner_product(X, U, V) == pytest.approx(float(np.vdot(W, V)), rel=1e-8)
    assert space.norm(X, U) == pytest.approx(1.0)
    D = np.random.default_rng(1).standard_normal((N, P))
    tangent = space.projection(X, D)
    assert space.inner_product(X, D - tangent, U) == pytest.approx(0.0, abs=1e-8)
    assert float(space.manifold.tangency(X, tangent)) <= 1e-8
    G = 2 * A @ X
    slope = space.inner_product(X, space.euclidean_to_riemannian_gradient(X, G), U)
    assert slope == pytest.approx(float(np.vdot(G, U)), rel=1e-8, abs=1e-10)
    H = [space.euclidean_to_riemannian_hessian(X, G, 2 * A @ Z, Z) for Z in (U, V)]
    mixed = space.inner_product(X, H[0], V)
    assert mixed == pytest.approx(space.inner_product(X, H[1], U), rel=1e-6, abs=1e-8)
    cost = pymanopt.function.numpy(space)(lambda X: float(np.vdot(X, A @ X)))
    gradient = pymanopt.function.numpy(space)(lambda X: 2 * A @ X)
    hessian = pymanopt.function.numpy(space)(lambda X, Z: 2 * A @ Z)
    theirs = pymanopt.Problem(space, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
    solved = pymanopt.optimizers.TrustRegions(verbosity=0).run(theirs, initial_point=X)
    assert solved.cost == pytest.approx(MINIMUM, rel=1e-6)
    for result in (
        run(pymanopt.optimizers.TrustRegions, theirs, X),
        go.minimize(theirs, X, method="rlbfgs"),
    ):
        assert result.fun == pytest.approx(MINIMUM, rel=1e-6)
        assert result.metric_gradient_norm is not None


@pytest.mark.parametrize("method", ["rlbfgs", "odf-lbfgs", "pymanopt-cg"])
@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (np.triu(B), r"W: need W\^T = W"),
        (-B, "W: need W positive definite"),
        (B[:-1, :-1], "W: need size n = 30"),
        (np.r_[np.zeros(1), np.ones(N - 1)], "W: "),
        ("C", "metric: need|W: need"),
        ((ROOT,), "T: need|W: need"),
    ],
)
def test_what_is_no_metric_is_refused(method, metric, message):
    with pytest.raises(ValueError, match=message):
        go.minimize(problem(), method=method, metric=metric, rng=0)


def test_a_metric_and_a_preconditioner_are_refused():
    with pytest.raises(ValueError, match="metric: need a metric or a preconditioner, not both"):
        rlbfgs(problem(), rng=0, metric="B", preconditioner=lambda X, V: V)


def _trace(condition):
    """The largest tr(X^T A X) over X^T B X = I, eigenvalues of B from 1 to the condition number."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    B = (U * np.logspace(0, np.log10(condition), 12)) @ U.T
    A = rng.standard_normal((12, 12))
    A = A @ A.T / 12
    return trace(go.GeneralizedStiefel((B + B.T) / 2, 2), -A)


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e8, 1e12])
@pytest.mark.parametrize("name", ["rlbfgs", "rtr", "odf-lbfgs"])
def test_one_verdict_on_one_run(name, condition):
    """A success in a metric is one in the Euclidean norm at x, as a comparison sees it."""
    problem = _trace(condition)
    found = go.minimize(problem, method=name, metric="B", rng=0, tol=1e-6)
    at = Measure.at(problem, found.x)
    assert found.gradient_norm == pytest.approx(at.stationarity, rel=1e-6)
    if found.success:
        assert at.fails(1e-6, 1e-12) == ""
    else:
        assert found.status in (go.Status.NOT_STATIONARY, go.Status.NOT_FEASIBLE), found
    assert found.success or condition > 1e8
    assert found.evaluations < 2000


def test_a_further_round_is_in_the_counts():
    problem = _trace(1e8)
    common = {"keep_points": True, "check": False, "tol": 1e-6}
    found = go.minimize(problem, method="rlbfgs", metric="B", rng=0, **common)
    assert found.metric_gradient_norm < 1e-7  # the first round ended below 1e-6
    assert found.trace.evaluations == sorted(found.trace.evaluations)
    assert len(found.trace.points) == len(found.trace)
    assert problem.counts.nfev - 2 <= found.nfev <= problem.counts.nfev


def test_budgets_hold_over_all_rounds():
    limits = {"tol": 1e-6, "max_evaluations": 30}
    found = go.minimize(_trace(1e8), method="rlbfgs", metric="B", rng=0, **limits)
    assert found.evaluations <= 31


@pytest.mark.parametrize("seed", range(14, 26))
def test_fun_is_the_cost_at_x(seed):
    """Also where a further round was in vain; the noise tells one point from another."""
    rng = np.random.default_rng(seed)
    T, weights = rng.standard_normal((4, 4)), 10 ** rng.uniform(-2, 2, 4)
    noisy = go.Problem(
        go.Stiefel(4, 4),
        lambda X: float(-np.vdot(T, X) + 3e-8 * np.sin(1e9 * np.abs(X).sum())),
        lambda X: -T + 0 * X,
    )
    common = {"tol": 1e-6, "max_evaluations": 400, "check": False}
    found = go.minimize(noisy, method="rgd", metric=weights, rng=rng, **common)
    assert found.fun == noisy.cost(found.x)


def test_a_straight_step_leaves_M_by_B():
    """C(X + Z) = Z^T B Z for tangent Z; with metric B no obstacle, also for p = n."""
    rng = np.random.default_rng(0)
    matrix, N = conditioned_symmetric(6, 1e8, rng), rng.standard_normal((6, 6))
    M = go.GeneralizedStiefel(matrix, 6)
    X = M.random_point(rng)
    Z = M.random_tangent(X, rng)
    left = M.constraint(X + Z) - Z.T @ matrix @ Z
    rounding = 2.0**-52 * np.linalg.norm(matrix) * np.linalg.norm(X + Z) ** 2
    assert np.linalg.norm(left) <= 100 * rounding < 1e-2 * np.linalg.norm(Z.T @ matrix @ Z)
    found = go.minimize(
        linear(M, N), X, method="odf-lbfgs", metric="B", tol=1e-6, max_iterations=1000
    )
    assert found.success
