"""Budgets and the guard: what is checked before an evaluation, and what after."""

import math

import numpy as np
import pytest

import genorth as go
from genorth.errors import StepTooLong
from genorth.solve.ending import end_at
from genorth.solve.monitor import Guard, Monitor, Stop
from genorth.solve.options import Options
from support.problems import spd, trace

M = go.Stiefel(6, 2)
X = M.random_point(0)


def _returning(value, gradient):
    return go.Problem(M, lambda _: value, lambda _: gradient)


def test_a_budget_ends_a_run_on_the_spot():
    problem = trace(M, spd(6, 10, 0))
    assert go.minimize(problem, X, method="rgd", max_iterations=3).nit == 3
    for kind in ("monitor", "guard", "cost"):
        monitor = Monitor(problem, Options(max_evaluations=1))
        guard = Guard(monitor)
        evaluate = {
            "monitor": monitor.evaluate,
            "guard": guard.evaluate,
            "cost": guard.evaluate_cost,
        }[kind]
        evaluate(X)
        with pytest.raises(Stop) as stopped:
            evaluate(X)
        assert stopped.value.status is go.Status.EVALUATION_LIMIT
        assert monitor.evaluations == 1


def test_a_gradient_that_is_not_finite_ends_a_run():
    with pytest.raises(Stop) as stopped:
        Monitor(_returning(1.0, np.full_like(X, math.nan))).evaluate(X)
    assert stopped.value.status is go.Status.NOT_FINITE


def test_an_infinite_cost_ends_a_run_at_its_start_and_shortens_later_steps():
    guard = Guard(Monitor(_returning(math.inf, X)))
    with pytest.raises(Stop):
        guard.evaluate(X)
    with pytest.raises(StepTooLong):
        guard.evaluate(X)


def test_figures_known_elsewhere_are_not_those_of_a_restored_point():
    problem = trace(M, spd(6, 10, 0))
    end = end_at(Monitor(problem), 1.01 * X, X, (-1.0, X))
    assert end.at.cost == pytest.approx(problem.cost(end.x))
