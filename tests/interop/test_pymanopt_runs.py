"""pymanopt's optimizers on our manifolds: what they find, and what `run` reports of them."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pymanopt
import pytest
from pymanopt.optimizers import (
    ConjugateGradient,
    NelderMead,
    ParticleSwarm,
    SteepestDescent,
    TrustRegions,
)
from pymanopt.optimizers.line_search import AdaptiveLineSearcher, BackTrackingLineSearcher

import genorth as go
from genorth.interop.pymanopt import PymanoptManifold, from_pymanopt, run, to_pymanopt
from support.known_minima import known_minima
from support.norms import Matrix
from support.problems import spd, trace

OPTIMIZERS = [SteepestDescent, ConjugateGradient, TrustRegions]
KNOWN = known_minima()


def _weighted(n: int = 20, p: int = 3) -> go.Problem:
    """tr(X^T A X N) on the Stiefel manifold; its minimum is a single point up to signs."""
    return trace(go.Stiefel(n, p), spd(n, 50, 0), np.arange(1.0, p + 1), fused=False)


@pytest.mark.parametrize("kind", ["cayley", "polar", "exp"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", KNOWN)
def test_every_optimizer_reaches_the_known_minimum_on_every_manifold(name, optimizer, kind):
    problem, best = KNOWN[name]
    result = run(optimizer, problem, rng=1, tol=1e-5, retraction=kind)
    assert result.success, result
    assert result.fun == pytest.approx(best, rel=1e-6)
    assert result.gradient_norm <= 1e-5 and result.feasibility <= 1e-12 * problem.manifold.scale(
        result.x
    )


def test_trust_regions_end_superlinearly():
    """Only a right Hessian gives quadratic convergence, |g_k+1| <= c |g_k|^2.

    A wrong one ends linearly at best.
    """
    for name, (problem, _) in KNOWN.items():
        result = run(TrustRegions, problem, rng=2, tol=1e-9)
        assert result.success, (name, result)
        g = np.array([value for value in dict.fromkeys(result.trace.gradient_norm) if value < 0.05])
        orders = np.log(g[1:]) / np.log(g[:-1])
        assert orders.size == 0 or orders.max() >= 1.5, (name, g)


def test_the_pieces_of_a_product_are_solved_together():
    """Two different manifolds, and a cost that is the sum of theirs."""
    parts = [KNOWN["symplectic"], KNOWN["hyperbolic"]]
    problems = [problem for problem, _ in parts]
    product = pymanopt.manifolds.Product(
        [PymanoptManifold(problem.manifold, rng=1) for problem in problems]
    )
    function = pymanopt.function.numpy(product)

    def cost(X: Matrix, Y: Matrix) -> float:
        return problems[0].cost(X) + problems[1].cost(Y)

    def gradient(X: Matrix, Y: Matrix) -> list[Matrix]:
        return [problem.euclidean_gradient(Z) for problem, Z in zip(problems, (X, Y), strict=True)]

    def hessian(X: Matrix, Y: Matrix, U: Matrix, V: Matrix) -> list[Matrix]:
        return [problems[0].euclidean_hessian(X, U), problems[1].euclidean_hessian(Y, V)]

    problem = pymanopt.Problem(
        product,
        function(cost),
        euclidean_gradient=function(gradient),
        euclidean_hessian=function(hessian),
    )
    for optimizer in OPTIMIZERS:
        end = optimizer(verbosity=0, min_gradient_norm=1e-5, max_iterations=5000).run(problem)
        assert end.cost == pytest.approx(sum(best for _, best in parts), rel=1e-6), optimizer


def _points(optimizer: Any, problem: pymanopt.Problem, x0: Matrix) -> list[Matrix]:
    """The points at which the optimizer asked for the gradient: its iterates."""
    seen: list[Matrix] = []
    gradient = problem.riemannian_gradient

    def watched(point: Matrix) -> Matrix:
        seen.append(point.copy())
        return gradient(point)

    problem._riemannian_gradient = watched
    optimizer.run(problem, initial_point=x0)
    return seen


@pytest.mark.parametrize("ours", ["to_pymanopt", "wrapper"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_iterates_are_those_on_pymanopts_stiefel_manifold(optimizer, ours):
    """Same retraction, same problem, same start.

    Rounding is all that differs, over a dozen iterations.
    """
    problem = _weighted()
    x0 = problem.manifold.random_point(5)
    settings = {"verbosity": 0, "max_iterations": 12}

    def on(manifold: Any) -> pymanopt.Problem:
        function = pymanopt.function.numpy(manifold)
        return pymanopt.Problem(
            manifold,
            function(problem.cost),
            euclidean_gradient=function(problem.euclidean_gradient),
            euclidean_hessian=function(problem.euclidean_hessian),
        )

    theirs = _points(
        optimizer(**settings), on(pymanopt.manifolds.Stiefel(20, 3, retraction="polar")), x0
    )
    side = (
        to_pymanopt(problem, "polar")
        if ours == "to_pymanopt"
        else on(PymanoptManifold(problem.manifold, "polar"))
    )
    mine = _points(optimizer(**settings), side, x0)
    assert len(mine) == len(theirs) >= 5
    for X, Y in zip(mine, theirs, strict=True):
        # steps of SteepestDescent are quotients of differences of costs
        assert np.linalg.norm(X - Y) <= 1e-8


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_run_takes_the_steps_that_the_optimizer_takes_by_itself(optimizer):
    problem = _weighted()
    x0 = problem.manifold.random_point(5)
    alone = _points(optimizer(verbosity=0, max_iterations=12), to_pymanopt(problem), x0)
    result = run(optimizer, problem, x0, max_iterations=len(alone) - 1, keep_points=True, tol=0.0)
    assert result.status is go.Status.ITERATION_LIMIT
    assert result.trace.points is not None
    kept = [
        X
        for k, X in enumerate(result.trace.points)
        if k == 0 or not np.array_equal(X, result.trace.points[k - 1])
    ]
    assert len(kept) >= 5
    for X, Y in zip(kept, alone, strict=False):
        np.testing.assert_array_equal(X, Y)


class Counted:
    """The callables of a problem, with a counter of their own and the points they saw."""

    def __init__(self, problem: go.Problem) -> None:
        self.calls: Counter[str] = Counter()
        self.points: dict[str, list[bytes]] = {"cost": [], "gradient": []}
        self._problem = problem
        self.problem = go.Problem(problem.manifold, self.cost, self.gradient, self.hessian)

    def cost(self, X: Matrix) -> float:
        self.calls["cost"] += 1
        self.points["cost"].append(X.tobytes())
        return self._problem.evaluate_cost(X)

    def gradient(self, X: Matrix) -> Matrix:
        self.calls["gradient"] += 1
        self.points["gradient"].append(X.tobytes())
        return self._problem.evaluate_gradient(X)

    def hessian(self, X: Matrix, Z: Matrix) -> Matrix:
        self.calls["hessian"] += 1
        return self._problem.euclidean_hessian(X, Z)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_counts_are_those_of_an_independent_counter_and_nothing_is_evaluated_twice(optimizer):
    counted = Counted(_weighted())
    # counts of a run begin at the run
    counted.problem.cost(counted.problem.manifold.random_point(9))
    counted.calls.clear()
    result = run(optimizer, counted.problem, rng=0, tol=1e-5)
    assert result.success
    calls = counted.calls
    assert (result.nfev, result.njev, result.nhev) == (
        calls["cost"],
        calls["gradient"],
        calls["hessian"],
    )
    for points in counted.points.values():
        assert len(points) == len(set(points))


def test_no_gradient_is_evaluated_twice_where_trust_regions_reject():
    counted = Counted(_weighted())
    optimizer = TrustRegions(verbosity=0)
    optimizer.run(to_pymanopt(counted.problem, rng=0), Delta0=60.0, Delta_bar=500.0)
    points, costs = counted.points["gradient"], counted.points["cost"]
    assert len(costs) > len(points), "the test needs rejected steps"
    assert len(points) == len(set(points))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_figures_belong_to_the_returned_point(optimizer):
    """Pymanopt reports the gradient norm of the iterate before the last."""
    problem = _weighted()
    manifold = problem.manifold
    for budget in ({"max_iterations": 4}, {"max_evaluations": 9}, {"tol": 1e-4}):
        result = run(optimizer, problem, rng=0, **budget)
        x = result.x
        assert result.fun == problem.evaluate_cost(x)
        gradient = manifold.gradient(x, problem.evaluate_gradient(x))
        assert result.gradient_norm == pytest.approx(np.linalg.norm(gradient), rel=1e-10)
        assert result.feasibility == manifold.feasibility(x)
        assert result.stopping_measure == result.gradient_norm == result.trace.gradient_norm[-1]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_trace_is_complete(optimizer):
    problem = _weighted()
    result = run(optimizer, problem, rng=0, tol=1e-4, keep_points=True)
    trace, points = result.trace, result.trace.points
    assert points is not None
    assert len(trace) == len(points) == result.nit + 1 >= 4
    np.testing.assert_array_equal(points[0], problem.manifold.random_point(0))
    np.testing.assert_array_equal(points[-1], result.x)
    for X, cost, feasibility in zip(points, trace.cost, trace.feasibility, strict=True):
        assert cost == problem.evaluate_cost(X) and feasibility == problem.manifold.feasibility(X)
    assert sorted(trace.time) == trace.time and sorted(trace.evaluations) == trace.evaluations
    assert trace.evaluations[-1] == result.evaluations and trace.time[-1] <= result.time
    assert trace.cost == sorted(trace.cost, reverse=True)  # all three are monotone


def test_rejected_steps_of_trust_regions_are_iterations():
    problem = _weighted()
    x0 = problem.manifold.random_point(0)
    radii = {"Delta0": 60.0, "Delta_bar": 500.0}
    alone = TrustRegions(verbosity=0).run(to_pymanopt(problem), initial_point=x0, **radii)
    result = run(TrustRegions, problem, x0, keep_points=True, **radii)
    points = result.trace.points
    assert points is not None and result.success
    repeated = sum(np.array_equal(X, Y) for X, Y in zip(points[1:], points[:-1], strict=True))
    assert repeated > 0
    assert result.nit == alone.iterations == result.njev - 1 + repeated
    np.testing.assert_array_equal(result.x, alone.point)


@pytest.mark.parametrize("tol", [1e-6, 0.0])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_start_at_a_critical_point_returns_it(optimizer, tol):
    """Pymanopt's SteepestDescent divides by the norm of the gradient and returns NaN."""
    manifold = go.Stiefel(5, 2)
    x0 = np.eye(5, 2)
    D = np.diag([1.0, 2.0, 3.0, 4.0, 5.0])
    result = run(optimizer, trace(manifold, D), x0, tol=tol)
    assert result.success and result.nit == 0 and result.fun == 3.0 and result.gradient_norm == 0
    np.testing.assert_array_equal(result.x, x0)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_budget_of_evaluations_is_kept_inside_line_searches_and_inner_iterations(optimizer):
    for budget in (1, 2, 5, 11):
        result = run(optimizer, _weighted(), rng=0, max_evaluations=budget)
        checked = len(result.trace) == 0  # the start that is returned is evaluated then
        assert result.status is go.Status.EVALUATION_LIMIT
        assert result.evaluations == budget + checked


def test_a_budget_of_time_is_kept():
    problem = _weighted()

    def slow(X: Matrix) -> float:
        import time

        time.sleep(0.02)
        return problem.evaluate_cost(X)

    slowed = go.Problem(
        problem.manifold, slow, problem.evaluate_gradient, problem.euclidean_hessian
    )
    for optimizer in OPTIMIZERS:
        result = run(optimizer, slowed, rng=0, max_time=0.1)
        assert result.status is go.Status.TIME_LIMIT and result.time >= 0.1
        assert result.nfev <= 6


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_limits_of_an_instance_hold_unless_others_are_given(optimizer):
    def instance() -> Any:
        return optimizer(max_iterations=3, min_gradient_norm=1e-3, verbosity=0)

    problem = _weighted()
    result = run(instance(), problem, rng=0)
    assert result.status is go.Status.ITERATION_LIMIT and result.nit == 3
    assert run(instance(), problem, rng=0, max_iterations=4).nit == 4
    loose = run(instance(), problem, rng=0, max_iterations=None)
    assert loose.success and 1e-9 < loose.gradient_norm <= 1e-3
    given = instance()
    run(given, problem, rng=0, max_iterations=None, tol=1e-2)
    assert given._max_iterations == 3 and given._min_gradient_norm == 1e-3, (
        "the user's object is left alone"
    )


def test_steps_outside_the_domain_are_no_crash():
    """Long first steps on unbounded manifolds, with the retraction that ends soonest.

    Which of the four runs has such a step is up to rounding; that the runs end well is not.
    """
    outside = 0
    for name in ("hyperbolic", "indefinite", "bilinear", "symplectic"):
        problem, best = KNOWN[name]
        theirs = to_pymanopt(problem, "polar", rng=1)
        searcher = BackTrackingLineSearcher(initial_step_size=100)
        end = SteepestDescent(
            searcher, verbosity=0, min_gradient_norm=1e-5, max_iterations=5000
        ).run(theirs)
        outside += theirs.manifold.outside
        assert end.cost == pytest.approx(best, rel=1e-6), name
        result = run(
            SteepestDescent(searcher, verbosity=0), theirs, rng=1, tol=1e-5, max_iterations=5000
        )
        assert result.success and result.fun == pytest.approx(best, rel=1e-6), name
        wide = TrustRegions(verbosity=0).run(theirs, Delta0=100.0, Delta_bar=1e3)
        assert wide.cost == pytest.approx(best, rel=1e-6), name
    assert outside > 0


def test_a_callback_stops_the_run():
    seen: list[go.Progress] = []

    def callback(progress: go.Progress) -> None:
        seen.append(progress)
        if progress.nit == 3:
            raise StopIteration

    for optimizer in OPTIMIZERS:
        seen.clear()
        result = run(optimizer, _weighted(), rng=0, callback=callback)
        assert result.status is go.Status.CALLBACK and result.nit == 3 and len(seen) == 4
        np.testing.assert_array_equal(seen[-1].x, result.x)
        assert seen[-1].fun == result.fun


@pytest.mark.parametrize(
    ("what", "bad"),
    [
        ("cost", math.nan),
        *((what, bad) for what in ("gradient", "hessian") for bad in (math.nan, math.inf)),
    ],
)
def test_a_value_that_is_not_finite_ends_the_run_with_the_best_iterate(what, bad):
    problem = _weighted()
    calls = Counter[str]()

    def after(name: str, value: Any) -> Any:
        calls[name] += 1
        return value * bad if name == what and calls[name] >= 4 else value

    broken = go.Problem(
        problem.manifold,
        lambda X: after("cost", problem.evaluate_cost(X)),
        lambda X: after("gradient", problem.evaluate_gradient(X)),
        lambda X, Z: after("hessian", problem.euclidean_hessian(X, Z)),
    )
    for optimizer in OPTIMIZERS if what != "hessian" else [TrustRegions]:
        calls.clear()
        result = run(optimizer, broken, rng=0)
        assert result.status is go.Status.NOT_FINITE and not result.success
        assert result.fun == problem.evaluate_cost(result.x) == min(result.trace.cost)


def test_a_start_that_is_not_finite_for_the_cost_is_returned():
    problem = go.Problem(go.Stiefel(4, 2), lambda X: math.nan, lambda X: X)
    x0 = problem.manifold.random_point(0)
    result = run(SteepestDescent, problem, x0)
    assert result.status is go.Status.NOT_FINITE and math.isnan(result.fun) and result.nit == 0
    np.testing.assert_array_equal(result.x, x0)


def test_where_rounding_ends_the_line_search_the_run_is_stalled():
    for optimizer in (SteepestDescent, ConjugateGradient):
        result = run(optimizer, _weighted(), rng=0, tol=1e-15, max_iterations=100_000)
        assert result.status is go.Status.STALLED and not result.success
        assert result.gradient_norm <= 1e-4


@pytest.mark.parametrize("optimizer", [SteepestDescent, ConjugateGradient])
def test_an_optimizer_that_finds_no_step_is_started_again_from_there(optimizer):
    calls = Counter[str]()

    class Failing(AdaptiveLineSearcher):
        """Gives up at every fifth search, as pymanopt's does after too few reductions."""

        def search(self, objective: Any, manifold: Any, x: Any, *others: Any) -> Any:
            calls["searches"] += 1
            return (
                (0, x)
                if calls["searches"] % 5 == 0
                else super().search(objective, manifold, x, *others)
            )

    problem, best = KNOWN["generalized"]
    alone = optimizer(line_searcher=Failing(), verbosity=0)
    stopped = alone.run(to_pymanopt(problem, rng=3))
    assert "min step_size" in stopped.stopping_criterion and calls["searches"] == 5
    result = run(alone, problem, rng=3, tol=1e-5, keep_points=True)
    assert result.success and result.fun == pytest.approx(best, rel=1e-6)
    points = result.trace.points
    assert (
        points is not None and len({X.tobytes() for X in points}) == len(points) == result.nit + 1
    )


def test_an_optimizer_that_never_finds_a_step_ends():
    class Failing(AdaptiveLineSearcher):
        def search(self, objective: Any, manifold: Any, x: Any, *others: Any) -> Any:
            calls["searches"] += 1
            assert calls["searches"] <= 2, "it must not go on"
            return 0, x

    for optimizer in (SteepestDescent, ConjugateGradient):
        calls = Counter[str]()
        result = run(
            optimizer(line_searcher=Failing(), min_step_size=0, verbosity=0), _weighted(), rng=0
        )
        assert result.status is go.Status.STALLED and result.nit == 0


def test_the_step_size_at_which_an_instance_ends():
    """The last point is one that SteepestDescent has not looked at.

    It is returned, with its own figures.
    """
    problem, optimizer = _weighted(), SteepestDescent(min_step_size=0.05, verbosity=0)
    x0 = problem.manifold.random_point(0)
    alone = optimizer.run(to_pymanopt(problem), initial_point=x0)
    result = run(optimizer, problem, x0)
    assert result.status is go.Status.STALLED and "min step_size reached" in result.message
    assert result.nit == alone.iterations and result.fun == alone.cost
    np.testing.assert_array_equal(result.x, alone.point)


def test_a_start_near_the_manifold_is_restored_and_one_far_away_refused():
    problem, best = KNOWN["symplectic"]
    X = problem.manifold.random_point(0)
    near = run(TrustRegions, problem, X * (1 + 1e-3))
    assert (
        near.success
        and near.fun == pytest.approx(best, rel=1e-8)
        and near.trace.feasibility[0] <= 1e-10
    )
    with pytest.raises(go.NotRestorableError, match="X: need a point near M"):
        run(TrustRegions, problem, 0 * X)


def test_a_run_that_drifted_is_restored(monkeypatch):
    """A retraction that leaves M by 1e-9: x is on M all the same, and the figures are its own."""
    retraction = PymanoptManifold.retraction
    monkeypatch.setattr(
        PymanoptManifold, "retraction", lambda *arguments: retraction(*arguments) * (1 + 1e-9)
    )
    problem = _weighted()
    result = run(TrustRegions, problem, rng=0, tol=1e-5)
    assert result.success and result.feasibility <= 1e-12 * problem.manifold.scale(result.x)
    assert result.trace.feasibility[-1] >= 1e-10 and result.fun == problem.evaluate_cost(result.x)


def test_a_feasibility_below_rounding_is_told():
    for name, (problem, best) in KNOWN.items():
        result = run(TrustRegions, problem, rng=1, feasibility_tol=1e-18)
        assert result.status is go.Status.NOT_FEASIBLE and not result.success, name
        assert result.fun == pytest.approx(best, rel=1e-8) and result.gradient_norm <= 1e-6, name


def test_pymanopts_problem_keeps_its_retraction_and_its_preconditioner():
    problem, calls = _weighted(), Counter[str]()

    def preconditioner(point: Matrix, tangent_vector: Matrix) -> Matrix:
        calls["theirs"] += 1
        return tangent_vector

    theirs = to_pymanopt(problem, "polar", preconditioner=preconditioner)
    x0 = problem.manifold.random_point(0)
    result = run(ConjugateGradient, theirs, x0, max_iterations=3)
    assert calls["theirs"] == 3  # at the start and at two more; the last iterate ends the run
    np.testing.assert_array_equal(
        result.x, run(ConjugateGradient, problem, x0, max_iterations=3, retraction="polar").x
    )
    other = run(ConjugateGradient, theirs, x0, max_iterations=3, retraction="exp")
    assert not np.array_equal(result.x, other.x)


@pytest.mark.parametrize("optimizer", [NelderMead, ParticleSwarm])
def test_solvers_that_need_a_logarithm_take_the_inverse_retraction(optimizer):
    theirs = to_pymanopt(_weighted(4, 1), rng=0)
    value = optimizer(verbosity=0, max_iterations=60).run(theirs).cost
    assert value < theirs.cost(theirs.manifold.random_point())


@pytest.mark.parametrize(
    ("message", "optimizer", "problem"),
    [
        ("optimizer: need a pymanopt optimizer, as a class or an instance; got 'cg'", "cg", None),
        ("problem: need a gradient", SteepestDescent, go.Problem(go.Stiefel(4, 2), abs)),
        ("problem: need a pymanopt.Problem or a genorth.Problem; got str", SteepestDescent, "f"),
    ],
)
def test_an_optimizer_and_a_problem_are_needed(message, optimizer, problem):
    with pytest.raises(ValueError, match=message):
        run(optimizer, problem or _weighted())


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("tol: need tol >= 0", {"tol": -1.0}),
        ("feasibility_tol: need feasibility_tol > 0", {"feasibility_tol": 0}),
        ("max_iterations: need max_iterations > 0", {"max_iterations": 0}),
        (
            "retraction: need one of 'cayley', 'polar', 'exp', 'normal', 'auto'",
            {"retraction": "qr"},
        ),
        ("x0: need an array of shape", {"x0": np.ones((3, 3))}),
    ],
)
def test_bad_options_of_a_run(message, options):
    with pytest.raises(ValueError, match=message):
        run(SteepestDescent, _weighted(), **options)


def test_a_run_on_a_problem_of_pymanopt_counts_too():
    W = PymanoptManifold(go.Stiefel(6, 2))
    function, calls = pymanopt.function.numpy(W), Counter[str]()

    def cost(X: Matrix) -> float:
        calls["cost"] += 1
        return float(X[0, 0] + 2 * X[1, 1])

    gradient = function(lambda X: np.eye(6, 2) * [1.0, 2.0])
    theirs = pymanopt.Problem(W, function(cost), euclidean_gradient=gradient)
    result = run(ConjugateGradient, theirs, rng=0)
    assert result.success and result.fun == pytest.approx(-3) and result.nfev == calls["cost"]
    assert from_pymanopt(theirs).counts.nfev == 0


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_budget_of_costs_is_that_of_the_run(optimizer):
    """max_cost_evaluations=7 allows seven in the second run too."""
    problem = _weighted()
    start = problem.manifold.random_point(0)
    first, second = (
        run(optimizer(max_cost_evaluations=7, verbosity=0), problem, start) for _ in range(2)
    )
    for result in (first, second):
        assert result.status is go.Status.EVALUATION_LIMIT and not result.success
        assert result.nfev == 7 and "max_cost_evaluations" in result.message
    np.testing.assert_array_equal(first.x, second.x)
