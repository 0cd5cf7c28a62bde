"""h as the solvers see it: differences to the last iterate, and a limit on |C|."""

import numpy as np

import genorth as go
from baselines.paper.objective import Objective
from genorth.checks.report import fit_slope
from genorth.penalty.run import OnSpace
from genorth.solve.monitor import Monitor
from support.problems import smooth


def _objective(
    limit: float, constant: float
) -> tuple[Objective, go.ConstraintDissolving, np.ndarray]:
    """H of a cost with a constant added, begun at a point off M; and h without the constant."""
    manifold = go.SymplecticStiefel(6, 2)
    plain = smooth(manifold, 0)
    shifted = go.Problem(manifold, lambda X: plain.cost(X) + constant, plain.euclidean_gradient)
    h, X = go.ConstraintDissolving(shifted, 0.5), 1.02 * manifold.random_point(3)
    h.watched(Monitor(shifted), auto=False)
    h.begin(h.point(X))
    h._limit = limit
    objective = Objective(OnSpace(h, h.monitor, X))
    start = objective.vector(X)
    objective.begin(start)
    return objective, go.ConstraintDissolving(plain, 0.5), start


def test_differences_within_rounding_are_taken_from_the_gradients():
    """h(v) - h(v0) = (g + g0)/2 .

    (v - v0) + O(|v - v0|^3), where the values of h have no digit of it.
    """
    objective, h, start = _objective(1e3, 1e13)
    direction = np.random.default_rng(4).standard_normal(start.size)
    steps = np.logspace(-3, -1, 7)
    before = h.value(objective.matrix(start))
    errors = []
    for t in steps:
        v = start + t * direction
        errors.append(
            abs(objective.value_and_gradient(v)[0] - (h.value(objective.matrix(v)) - before))
        )
    assert fit_slope(steps, np.array(errors), 1e-14 * abs(before)) >= 2.5


def test_a_step_beyond_the_limit_is_turned_back():
    """There the value is higher and the slope points upward, away from the last iterate.

    f is not called.
    """
    objective, h, start = _objective(2.0, 0.0)
    calls = objective.h.problem.counts.nfev
    value, slope = objective.value_and_gradient(3 * start)
    assert h.feasibility(objective.matrix(3 * start)) > 2.0
    assert value > 0.0  # values are differences to the start
    assert slope @ (3 * start - start) > 0
    assert objective.h.problem.counts.nfev == calls


def test_a_start_beyond_the_limit_keeps_its_own_value_and_gradient():
    """No direction leads away from it: it is not divided by its length."""
    objective, h, start = _objective(1e3, 0.0)
    objective.h._limit = 1e-9
    assert h.feasibility(objective.matrix(start)) > 1e-9
    value, slope = objective.value_and_gradient(start)
    exact = h.gradient(objective.matrix(start)).ravel()
    assert value == 0.0 and np.allclose(slope, exact, rtol=1e-12, atol=0)
