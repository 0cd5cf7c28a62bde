"""Algorithm 1: known minima on every manifold, counts, budgets, statuses, beta, bad input."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from baselines import SOLVERS
from paper_repro.problems import Matching
from support.known_minima import known_minima
from support.problems import Matrix, nearest, smooth, spd, spoiled, trace

OURS = ("cdf-gd", "cdf-cg", "cdf-lbfgs", "cdf-tr")
OBLIQUE = (*OURS, *(f"{name}-scipy" for name in OURS[1:]))
METHODS = (*OBLIQUE, *(name.replace("cdf", "odf") for name in OBLIQUE))
KNOWN = known_minima()
EVERY = (*METHODS, "rgd", "rcg", "rlbfgs", "rtr", "rgd-paper", "rcg-paper")
INFEASIBLE = [name for name, solver in SOLVERS.items() if solver.family == "infeasible"]
EASY = trace(go.Stiefel(12, 3), spd(12, 20, 1), fused=False)
BAD = (math.inf, -math.inf, math.nan)


@settings(max_examples=2 * settings().max_examples)
@given(manifold=gt.manifolds(max_n=7, max_condition=10), seed=gt.seeds())
def test_a_projection_problem_succeeds_on_every_manifold(manifold, seed):
    """min |X - B|^2, B near M, which has a minimiser also where M is not compact."""
    X = manifold.random_point(seed)
    E = manifold.random_ambient(seed + 1)
    B = X + 0.2 * E / float(np.linalg.norm(E))
    problem = nearest(manifold, B)
    result = go.minimize(problem, X, tol=1e-6, max_iterations=3000)
    assert result.success, result
    assert result.fun <= problem.cost(X) * (1 + 1e-12)
    gradient = float(np.linalg.norm(2 * manifold.project(result.x, result.x - B)))
    assert gradient == pytest.approx(result.gradient_norm, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_accuracy_near_rounding(method):
    """1e-9 is reached though f is 1e3: within rounding, costs are compared through gradients."""
    problem = trace(go.Stiefel(12, 3), 1e3 * (np.eye(12) + spd(12, 20, 1)))
    result = go.minimize(problem, method=method, rng=0, tol=1e-9)
    assert result.success and result.gradient_norm <= 2e-9, result  # a success is within 2 tol


@pytest.mark.parametrize("method", METHODS)
def test_a_run_ends_where_f_is_known(method):
    """At Y(X), whose violation is of the order of |C(X)|^2: f is not evaluated again.

    On the symplectic manifold A(X) - X is oblique, and to end elsewhere would cost another round.
    """
    M = go.SymplecticStiefel(20, 4)
    problem = nearest(M, M.random_point(1) + 0.1 * M.random_ambient(2))
    result = go.minimize(problem, M.random_point(3), method=method, tol=1e-7, certify=False)
    assert result.success, result
    assert result.evaluations == result.trace.evaluations[-1]
    assert result.feasibility_before == result.trace.feasibility[-1] > 0
    assert result.fun == result.trace.cost[-1]


@pytest.mark.parametrize("method", METHODS)
def test_trace_has_a_line_per_iteration(method):
    result = go.minimize(EASY, method=method, rng=0, keep_points=True)
    t = result.trace
    assert len(t) == result.nit + 1 == len(t.points or ())
    columns = t.as_arrays()
    assert all(len(column) == len(t) and np.isfinite(column).all() for column in columns.values())
    assert (np.diff(columns["time"]) >= 0).all() and (np.diff(columns["evaluations"]) >= 0).all()
    assert columns["time"][-1] <= result.time
    assert t.gradient_norm[-1] == result.stopping_measure <= 1e-6
    oblique = method in OBLIQUE
    kind = go.ConstraintDissolving if oblique else go.OrthogonalDissolving
    h = kind(EASY, result.beta or math.nan)
    assert oblique or result.beta_raised == 0, "one h for the whole trace"
    for k in (0, len(t) // 2, len(t) - 1):
        point = (t.points or [])[k]
        assert t.cost[k] == pytest.approx(h.cost(point), rel=1e-12)
        assert t.feasibility[k] == pytest.approx(float(h.feasibility(point)), abs=1e-14)
        assert t.gradient_norm[k] == pytest.approx(
            float(np.linalg.norm(h.gradient(point))), rel=1e-6
        )
    assert go.minimize(EASY, method=method, rng=0).trace.points is None


@pytest.mark.parametrize("method", ["cdf-lbfgs", "odf-lbfgs"])
@pytest.mark.parametrize("size", [0.8, 1.5])
def test_a_penalty_method_may_start_off_M(size, method):
    manifold = EASY.manifold
    result = go.minimize(EASY, size * manifold.random_point(0), method=method, beta=2.0)
    assert result.success and result.fun == pytest.approx(
        np.linalg.eigvalsh(spd(12, 20, 1))[:3].sum(), rel=1e-8
    )
    assert result.trace.feasibility[0] > 0.1


SHAPES = {
    "zeros": lambda m: np.zeros(m.shape),
    "ones": lambda m: np.ones(m.shape),
    "equal columns": lambda m: np.broadcast_to(m.random_ambient(0)[..., :1], m.shape).copy(),
    "eye": lambda m: np.eye(*m.shape),
}


@pytest.mark.parametrize("method", ["cdf-lbfgs", "odf-lbfgs", "cdf-gd", "odf-gd"])
@pytest.mark.parametrize("start", SHAPES)
@pytest.mark.parametrize("name", ["stiefel", "symplectic"])
def test_a_start_of_no_use_is_replaced_and_the_message_says_so(name, start, method):
    """phi(X) has no full rank there, or h is stationary: A and Newton's map lead nowhere."""
    problem, best = KNOWN[name]
    m = problem.manifold
    result = go.minimize(problem, SHAPES[start](m), method=method, tol=1e-7)
    assert result.success, result
    assert result.fun == pytest.approx(best, rel=1e-7)
    assert ("No map leads from x0 to M" in result.message) is (start != "eye")
    assert result.beta is not None and 1e-3 < result.beta < 1e3, "of the size of the problem"


def test_the_first_steps_of_odf_count_and_end_with_the_budget():
    """They are iterations and evaluations like the others, and a callback may stop them."""
    result = go.minimize(EASY, method="odf-lbfgs", rng=0, max_iterations=2, keep_points=True)
    assert result.status is go.Status.ITERATION_LIMIT and result.nit == 2
    on_M = [float(EASY.manifold.feasibility(x)) for x in result.trace.points or ()]
    assert max(on_M) <= 1e-13 and result.fun < result.trace.cost[0]


def test_odf_raises_beta_from_a_far_too_small_one(monkeypatch):
    """The threshold is looked at during the run, from what the gradient of h_n has computed."""
    monkeypatch.setattr(go.OrthogonalDissolving, "estimate", lambda h, here: 1e-4)
    problem, best = KNOWN["procrustes"]
    result = go.minimize(problem, method="odf-lbfgs", rng=0)
    assert result.success and result.beta_raised >= 1 and result.fun == pytest.approx(best)
    assert result.margin is not None and result.margin >= 1 - 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_budget_of_evaluations_may_end_where_beta_changes(method):
    """From this start every method that uses h changes beta; the estimate may take a gradient.

    The one evaluation at the returned x is measuring.
    """
    problem, _ = KNOWN["symplectic"]
    x = problem.manifold.random_point(0)
    for limit in range(3, 40):
        result = go.minimize(problem, x, method=method, tol=0, max_evaluations=limit)
        assert result.status is go.Status.EVALUATION_LIMIT and not result.success
        assert result.evaluations <= limit + 1


@pytest.mark.parametrize("method", METHODS)
def test_budget_of_time_holds_within_a_line_search(method):
    def slow(X: Matrix) -> tuple[float, Matrix]:
        time.sleep(0.02)
        return EASY.evaluate(X)

    problem = go.Problem(EASY.manifold, None, None, EASY.euclidean_hessian, slow)
    result = go.minimize(problem, method=method, rng=0, max_time=0.1)
    assert result.status is go.Status.TIME_LIMIT and not result.success
    assert result.nfev <= 8


@pytest.mark.parametrize("method", EVERY)
def test_callback_sees_every_iterate_and_stops(method):
    seen: list[go.Progress] = []
    last: list[Matrix] = []

    def callback(progress: go.Progress) -> None:
        seen.append(progress)
        last.append(progress.x.copy())
        progress.x[:] = 0  # a copy: the run does not notice
        if progress.nit == 4:
            raise StopIteration

    result = go.minimize(EASY, method=method, rng=0, callback=callback)
    assert [p.nit for p in seen] == [0, 1, 2, 3, 4]
    assert result.status is go.Status.CALLBACK and not result.success and result.nit == 4
    assert [p.gradient_norm for p in seen] == result.trace.gradient_norm
    assert seen[-1].fun < seen[0].fun
    assert np.array_equal(last[-1], result.x) or method in METHODS, "which restore it"


def test_the_callback_is_not_on_the_clock():
    begin = time.perf_counter()
    result = go.minimize(EASY, rng=0, max_iterations=5, callback=lambda progress: time.sleep(0.02))
    assert result.time <= time.perf_counter() - begin - result.nit * 0.02


def test_an_exception_of_the_callback_is_passed_on():
    def callback(progress: go.Progress) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        go.minimize(EASY, rng=0, callback=callback)


# ---------------------------------------------------------------------- objectives that misbehave


@pytest.mark.parametrize(
    "error", [{"cost": v} for v in BAD[1:]] + [{"gradient": v} for v in BAD], ids=str
)
@pytest.mark.parametrize("method", EVERY)
def test_not_finite_ends_with_the_best_iterate(method, error):
    inner = EASY.fresh()
    X = inner.manifold.random_point(0)
    start = inner.cost(X)
    result = go.minimize(spoiled(inner, 8, **error), X, method=method)
    assert result.status is go.Status.NOT_FINITE and not result.success
    assert np.isfinite(result.x).all() and np.isfinite(result.trace.gradient_norm).all()
    assert inner.counts.nfev <= 13
    assert inner.cost(result.x) < start
    if method not in METHODS:  # those restore x, and find that f is not finite there
        assert math.isfinite(result.gradient_norm) and result.fun == min(result.trace.cost)
        assert result.fun == pytest.approx(inner.cost(result.x), rel=1e-12)
    assert result.feasibility <= 1e-12 * inner.manifold.scale(result.x)


@pytest.mark.parametrize("where", ["cost", "gradient"])
@pytest.mark.parametrize("method", [*EVERY, *INFEASIBLE])
def test_one_value_that_is_not_finite_is_enough(method, where):
    """Whichever call it is, also while beta is estimated: a step is not shortened for it."""
    for last in range(6):
        inner = EASY.fresh()
        x = inner.manifold.random_point(0)
        result = go.minimize(
            spoiled(inner, last, **{where: math.nan}), x, method=method, check=False
        )
        assert result.status is go.Status.NOT_FINITE
        assert inner.counts.nfev <= last + 2, "the other call is at the x that is returned"


def test_an_estimate_of_beta_that_overflows_is_not_used():
    """x -> c/2 x_2^2 next to its minimum: the gradient is 1e106, c |x|^2/16 is infinite."""
    c = 1e306
    problem = go.Problem(
        go.GeneralizedStiefel(np.full(3, 1e-4), 1),
        euclidean_hessian=lambda X, Z: c * Z * [[0], [1], [0]],
        cost_and_gradient=lambda X: (float(c / 2 * X[1, 0] ** 2), c * X * [[0], [1], [0]]),
    )
    x = np.array([[1e2], [1e-200], [0.0]])
    for method in ("cdf-lbfgs", "odf-lbfgs"):
        beta = go.minimize(problem, x, method=method).beta
        assert beta is not None and 0 < beta < math.inf


def test_a_beta_below_the_threshold_is_raised_from_a_warm_start(monkeypatch):
    """The estimate is replaced by one far too small: the check at the end finds it."""
    problem = trace(go.SymplecticStiefel(12, 4), spd(12, 20, 1))
    best = go.minimize(problem, rng=0).fun
    monkeypatch.setattr(go.ConstraintDissolving, "estimate", lambda h, here: 1e-4)
    result = go.minimize(problem, rng=0, method="cdf-lbfgs", max_iterations=20_000)
    assert result.success and result.beta_raised >= 1
    assert result.fun == pytest.approx(best, rel=1e-8)
    assert result.beta is not None and result.beta > 1e-4


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_towards_a_point_away_from_M_is_ended_long_before_it_gets_there(seed):
    """beta is raised where |grad h| is far below beta |C| while |C| is about one, not at tol."""
    instance = Matching.generate(40, 6, [seed, 1])
    start = instance.start([seed, 2])
    result = go.minimize(instance.problem(), start, method="cdf-gd", tol=1e-9, max_iterations=1500)
    assert result.stopping_measure > 1e-9 and result.feasibility_before is not None
    assert result.feasibility_before < 1e-3 and result.margin is not None and result.margin > 1


@pytest.mark.parametrize(
    ("method", "name"), [("cdf-lbfgs", "symplectic"), ("odf-lbfgs", "procrustes")]
)
def test_a_given_beta_below_the_threshold_is_reported(method, name):
    """h has no minimum at the solution: no success, and the message names both numbers."""
    problem, best = KNOWN[name]
    threshold = go.minimize(problem, method=method, rng=0).threshold
    assert threshold is not None and threshold > 0
    beta = threshold / 10
    result = go.minimize(problem, method=method, rng=0, beta=beta, max_iterations=3000)
    assert f"beta = {threshold / 10:.3g} is below the exactness threshold" in result.message
    assert result.beta_raised == 0
    if result.success:  # x is stationary nevertheless: it was reached by restoring
        assert result.fun == pytest.approx(best, rel=1e-6)


def test_an_objective_that_is_unbounded_off_M():
    """f(A(X)) falls like -|X|^6 far from M: line searches must turn back, with every cdf method."""
    problem = trace(go.Stiefel(12, 3), -1e3 * spd(12, 5, 1))
    best = float(np.sort(np.linalg.eigvalsh(-1e3 * spd(12, 5, 1)))[:3].sum())
    for method in OBLIQUE:
        result = go.minimize(problem, rng=1, method=method, beta=1e-3, tol=1e-4)
        assert result.success and result.fun == pytest.approx(best, rel=1e-9), result


# ---------------------------------------------------------------------- Result and arguments


def test_feasibility_that_rounding_forbids_is_no_success():
    result = go.minimize(EASY, rng=0, feasibility_tol=1e-18)
    assert not result.success and result.status is go.Status.NOT_FEASIBLE


@given(data=st.data(), seed=gt.seeds())
def test_value_never_worse_than_the_start(data, seed):
    """On compact manifolds: x of a run that is cut off anywhere is not above the start."""
    manifold = data.draw(
        gt.manifolds(("stiefel", "stiefel-complex", "tensor-dct", "tensor-dft"), max_n=6)
    )
    problem, X = smooth(manifold, seed), manifold.random_point(seed)
    result = go.minimize(problem, X, max_iterations=data.draw(st.integers(1, 30)))
    assert result.fun <= problem.cost(X) + 1e-9 * (1 + abs(problem.cost(X)))


def test_ctrl_c_returns_the_best_iterate_of_a_nonmonotone_search():
    """h may rise in gradient descent: x is where it was least."""
    problem, seen = trace(go.Stiefel(12, 3), spd(12, 1e4, 0)), []

    def interrupt(progress):
        seen.append(progress.fun)
        if len(seen) > 5 and progress.fun > 1.001 * min(seen):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        go.minimize(problem, method="odf-gd", beta=1.0, rng=3, tol=1e-12, callback=interrupt)
    assert caught.value.result.fun < 1.0005 * min(seen) < seen[-1]


@pytest.mark.parametrize("method", ["odf-lbfgs", "cdf-lbfgs", "auto"])
def test_a_run_that_leaves_its_component_is_no_success(method):
    """The nearest orthogonal matrix to one of determinant -1, asked for among rotations."""
    target = np.diag([1.0, 1.0, -1.0])
    M = go.Rotations(3)
    for seed in range(5):
        result = go.minimize(nearest(M, target), method=method, rng=seed)
        if result.success:
            assert np.linalg.det(result.x) > 0
        else:
            assert method != "auto"


@pytest.mark.parametrize("method", METHODS)
def test_a_product_whose_cost_is_not_finite_at_the_start_is_told_so(method):
    product = go.Product(go.Stiefel(4, 2), go.Euclidean(3))
    problem = go.Problem(product, lambda X, y: math.nan, lambda X, y: (X, y))
    result = go.minimize(problem, method=method, rng=0, check=False)
    assert result.status is go.Status.NOT_FINITE
