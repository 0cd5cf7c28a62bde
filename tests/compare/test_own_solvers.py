"""Solvers of a user's own: any callable that returns a point, measured by genorth."""

import time
from typing import Any

import numpy as np
import pymanopt
import pytest
import scipy.optimize

import genorth as go
from genorth import compare
from genorth.compare.render import summary
from genorth.compare.runs.bench import Watched, _count, _phases
from genorth.interop.pymanopt import to_pymanopt
from genorth.problem.problem import Counts
from support.compare_cases import procrustes


def descend(problem: go.Problem, x0: Any, *, tol: float) -> Any:
    """Gradient descent with a fixed step; it evaluates gradients only."""
    M, X = problem.manifold, x0
    for _ in range(2000):
        Z = M.gradient(X, problem.euclidean_gradient(X))
        if M.norm(Z) <= tol:
            break
        X = M.retract(X, -0.1 * Z)
    return X


def by_pymanopt(problem: go.Problem, x0: Any, *, tol: float, max_time: float) -> Any:
    optimizer = pymanopt.optimizers.ConjugateGradient(
        verbosity=0, min_gradient_norm=tol, max_time=max_time
    )
    return optimizer.run(to_pymanopt(problem), initial_point=x0)


def apart() -> go.Problem:
    """A problem whose cost and gradient are two functions."""
    both = procrustes(0)
    return go.Problem(both.manifold, both.cost, both.euclidean_gradient)


def only(solver: Any, problem: Any = None, **how: Any) -> Any:
    (record,) = compare.run(problem or procrustes(0), {"mine": solver}, progress=None, **how)
    return record


@pytest.mark.parametrize("solver", [descend, by_pymanopt])
def test_whatever_returns_a_point_is_measured_by_us(solver: Any) -> None:
    record, ours = compare.run(procrustes(0), {"mine": solver, "rtr": "rtr"}, progress=None)
    assert record.success, record.message
    assert record.fun == pytest.approx(ours.fun, rel=1e-8)
    assert record.nit > 0 and record.evaluations > 0 and 0 < record.time < 60
    assert record.traced_by == "genorth"


def test_each_evaluation_is_a_line_of_the_trace() -> None:
    record = only(descend)
    trace = record.trace
    # a line for each gradient, and the last one at x
    assert len(trace) == trace.evaluations[-1] + 1 == record.njev + 1
    assert trace.cost[-1] == record.fun
    assert trace.evaluations == sorted(trace.evaluations)
    assert trace.time == sorted(trace.time) and trace.time[-1] <= record.time
    assert trace.gradient_norm[-1] == record.gradient_norm
    # a cost is a line of its own only if the gradient there is known
    for problem, sign in ((procrustes(0), 1), (apart(), -1)):
        both = only(
            lambda p, x0, tol, s=sign: (p.cost(s * x0), descend(p, x0, tol=tol))[1], problem
        ).trace
        assert len(both) == both.evaluations[-1] + 1
        assert both.gradient_norm[0] > 1e3 * both.gradient_norm[-1]


@pytest.mark.parametrize("together", [True, False])
def test_measuring_the_trace_is_off_the_clock_and_not_counted(together: bool) -> None:
    plain = procrustes(0) if together else apart()
    X = plain.manifold.random_point(0)
    watched = Watched.of(plain)
    with watched.clock:
        assert watched.cost(X) == plain.cost(X)
        assert (watched.euclidean_gradient(X) == plain.euclidean_gradient(X)).all()
        assert watched.cost_and_gradient(-X)[0] == plain.cost(-X)
    assert (watched.counts.nfev, watched.counts.njev) == (2, 2)
    assert watched.trace.evaluations == [1, 2], "a line for each point"
    assert watched.trace.cost == [plain.cost(X), plain.cost(-X)]
    G = plain.euclidean_gradient(X)
    expected = plain.manifold.norm(plain.manifold.gradient(X, G))
    assert watched.trace.gradient_norm[0] == pytest.approx(float(expected), rel=1e-12)


def test_a_solver_may_leave_out_the_evaluation_of_its_last_check_and_no_more() -> None:
    assert [_count(reported, 5) for reported in (3, 4, 5, 6)] == [5, 4, 5, 5]
    measured = Counts(1, 1, 0, seconds=0.5)
    for reported, seconds in ({"cost": 0.1}, 0.1), ({"cost": 1.0}, 0.5), ({}, 0.5):
        assert _phases({**reported, "own": -1.0}, measured) == {"cost": seconds, "own": 0.0}


@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "reset_counts"])
def test_no_solver_hides_its_evaluations(fresh: bool) -> None:
    def hiding(problem: go.Problem, x0: Any, *, tol: float) -> Any:
        x = descend(problem.fresh() if fresh else problem, x0, tol=tol)
        problem.reset_counts()
        return x

    hidden, honest = only(hiding), only(descend)
    assert hidden.success and hidden.evaluations == honest.evaluations > 0
    assert hidden.trace.evaluations == honest.trace.evaluations


def test_a_point_of_scipy_off_the_manifold_is_a_record_with_the_reason() -> None:
    record = only(lambda problem, x0: scipy.optimize.OptimizeResult(x=1.1 * x0.ravel(), nit=3))
    assert (record.success, record.nit) == (False, 3)
    assert record.message.startswith("The solver returned, but")


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        ([1.0, 2.0], "got list"),
        (np.zeros(5), "got shape (5,)"),
        (scipy.optimize.OptimizeResult(fun=1.0), "got OptimizeResult"),
    ],
    ids=["list", "size", "no x"],
)
def test_what_is_no_point_is_a_record_with_the_reason(returned: Any, named: str) -> None:
    record = only(lambda problem, x0: returned)
    assert record.status == "RAISED" and not record.success
    assert named in record.message


def test_a_solver_that_ends_late_ran_out_of_time() -> None:
    late = only(lambda problem, x0, max_time: (time.sleep(max_time + 0.05), x0)[1], max_time=0.1)
    assert late.status == "TIME_LIMIT"


def test_runs_that_end_at_a_saddle_are_counted():
    """A solver that stays at a stationary start is a success; the record says what it found."""
    A = np.diag(np.arange(1.0, 7.0))
    problem = go.Problem(
        go.Stiefel(6, 2), lambda X: float(np.vdot(X, A @ X)) / 2, lambda X: A @ X, name="trace"
    )
    starts = {"stays": np.eye(6)[:, [0, 3]], "goes": np.eye(6)[:, :2]}
    solvers = {name: (lambda problem, x0, x=x, **_: x) for name, x in starts.items()}
    records = compare.run(problem, solvers, progress=None)
    assert [r.certificate for r in records] == ["saddle", "minimum"]
    assert all(r.success for r in records)
    assert "1 run ended at a saddle: stays 1." in " ".join(summary.sentences(records))
    assert "certificate" in records.to_frame().columns
