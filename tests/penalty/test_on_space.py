"""The run on all of F: how many variables there are, and where it ends."""

import numpy as np
import pytest

import genorth as go
from genorth.errors import StepTooLong
from genorth.geometry.retractions import Line
from genorth.penalty.run import Flat, OnSpace
from genorth.solve.monitor import Monitor
from support.known_minima import KNOWN
from support.problems import smooth, trace


@pytest.mark.parametrize("dtype", [float, complex])
def test_complex_entries_are_two_variables(dtype: type) -> None:
    h = go.ConstraintDissolving(smooth(go.Stiefel(5, 2, dtype), 0), 1.0)
    run = OnSpace(h, Monitor(h.problem), h.manifold.random_point(0))
    assert run.dimension == (20 if dtype is complex else 10)


def test_a_trial_far_from_M_is_outside_and_f_is_not_called() -> None:
    problem = smooth(go.Stiefel(5, 2), 0)
    h, X = go.OrthogonalDissolving(problem, 1.0), problem.manifold.random_point(0)
    h.watched(Monitor(problem), auto=False)
    h.begin(h.point(X))
    run, ray = OnSpace(h, h.monitor, X), Line(Flat(h, h.point(X)), X)
    assert np.array_equal(run.arrive(ray, 1.1 * X).X, 1.1 * X) and not run.turned_back
    with pytest.raises(go.OutsideDomainError):
        run.arrive(ray, 20 * X)
    assert run.turned_back and problem.counts.nfev == 0


@pytest.mark.parametrize("family", ["stiefel", "symplectic", "hyperbolic"])
def test_a_step_of_a_model_is_led_back_to_M(family: str) -> None:
    """It ends at Y(X + Z), where |D| is the square of what it was, and h is smaller."""
    known = KNOWN[family]()
    problem, X = known.problem(), known.manifold.random_point(0)
    h = go.OrthogonalDissolving(problem, 100.0)
    h.watched(Monitor(problem), auto=False)
    h.begin(h.point(X))
    run = OnSpace(h, h.monitor, X)
    point = run.start()
    gradient, _ = run.model(point)
    for length in (0.3, 0.1):
        Z = gradient * (-length / np.linalg.norm(gradient))
        straight, trial = h.point(X + Z), run.step(point, Z)
        assert straight.penalty > (1e-3 * length) ** 2
        np.testing.assert_array_equal(trial.X, straight.Y)
        assert trial.place.point.penalty <= 0.1 * straight.penalty
        assert trial.value < h.value(X + Z)
    Z = gradient * (-1e-7 / np.linalg.norm(gradient))
    np.testing.assert_array_equal(run.step(point, Z).X, X + Z)  # as near to M as can be


def test_a_step_of_a_model_too_far_from_M_is_too_long() -> None:
    problem = smooth(go.Stiefel(5, 2), 0)
    h, X = go.OrthogonalDissolving(problem, 1.0), problem.manifold.random_point(0)
    h.watched(Monitor(problem), auto=False)
    h.begin(h.point(X))
    run = OnSpace(h, h.monitor, X)
    with pytest.raises(StepTooLong):
        run.step(run.start(), 20 * X)


@pytest.mark.parametrize("seed", range(10))
def test_the_gradient_of_a_model_is_downhill_where_the_projection_is_oblique(seed: int) -> None:
    """Off M, beside a minimum, little of grad h is tangent: of 200 such X, 140 turned it."""
    A = np.diag(np.arange(1.0, 21.0))
    problem = trace(go.Stiefel(20, 3), A, 0.5)
    h = go.OrthogonalDissolving(problem, 500.0)
    V = np.random.default_rng(seed).standard_normal((20, 3))
    point = h.complete(h.point(np.eye(20, 3) + 0.3 * V / np.linalg.norm(V)))
    gradient, _ = h.model(point)
    assert 2 * np.vdot(gradient, point.gradient) >= (1 - 1e-9) * np.vdot(gradient, gradient)
