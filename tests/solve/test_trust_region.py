"""`tr`: radius, accuracy and stopping of the inner iteration, seen from its calls."""

import numpy as np
import pytest

import genorth as go
from genorth.solve import tr as module
from genorth.solve.tr import truncated_cg
from support.problems import spd, trace


@pytest.fixture
def asked(monkeypatch):
    """(radius, goal, |gradient|, step) of each call of `truncated_cg`."""
    calls = []

    def spy(hessian, precondition, gradient, radius, goal, limit):
        step = truncated_cg(hessian, precondition, gradient, radius, goal, limit)
        calls.append((radius, goal, float(np.linalg.norm(gradient)), step))
        return step

    monkeypatch.setattr(module, "truncated_cg", spy)
    return calls


def test_the_radius_grows_to_its_bound_and_no_farther(asked):
    problem, X = trace(go.Stiefel(30, 2), spd(30, 100, 0)), go.Stiefel(30, 2).random_point(3)
    settings = module.Settings(first_radius=0.05, largest_radius=0.15)
    assert go.minimize(problem, X, method="rtr", settings=settings).success
    radii = np.array([radius for radius, *_ in asked])
    assert radii[0] == pytest.approx(0.05 * np.linalg.norm(X))
    assert radii[1] == pytest.approx(2 * radii[0])
    assert max(radii) == pytest.approx(0.15 * np.linalg.norm(X))


def test_the_model_is_minimised_to_half_of_the_gradient_at_first(asked):
    problem = trace(go.Stiefel(30, 2), 1e3 * spd(30, 100, 0))
    go.minimize(problem, method="rtr", rng=0, max_iterations=1)
    _, goal, size, _ = asked[0]
    assert goal == pytest.approx(0.5 * size)


def test_a_preconditioner_sets_the_unit_of_the_radius(asked):
    """V = c g has length |V|_M = |V|/c^(1/2)."""
    problem, X = trace(go.Stiefel(30, 2), spd(30, 100, 0)), go.Stiefel(30, 2).random_point(3)
    options = {"preconditioner": lambda _, Z: Z / 100.0, "max_iterations": 1}
    go.minimize(problem, X, method="rtr", **options)
    assert asked[0][0] == pytest.approx(10.0 * 0.5 * np.linalg.norm(X))


def test_the_residual_that_ends_the_iteration_is_measured_without_the_preconditioner():
    d, g = np.linspace(1.0, 100.0, 40), np.ones(40)
    step = truncated_cg(lambda Z: d * Z, lambda R: 1e-8 * R / d**0.5, g, 1e9, 1e-3, 40)
    assert np.linalg.norm(g + step.HZ) <= 1e-3
    assert not step.boundary


def test_a_preconditioner_that_rounding_makes_indefinite_is_left_out():
    d, g = np.linspace(1.0, 100.0, 40), np.ones(40)
    step = truncated_cg(lambda Z: d * Z, lambda R: -R, g, 1e9, 1e-3, 40)
    assert np.linalg.norm(g + step.HZ) <= 1e-3
    later = iter([1.0, 1.0, -1.0])
    step = truncated_cg(lambda Z: d * Z, lambda R: next(later) * R, g, 1e9, 1e-3, 40)
    assert np.allclose(step.HZ, d * step.Z)
    assert np.linalg.norm(g + step.HZ) < np.linalg.norm(g)


def test_rounding_of_the_cost_is_no_error_of_the_model():
    """A constant of 1e9 leaves seven digits of f, and the inner accuracy still becomes fine."""
    A = spd(30, 100, 0)
    shifted = go.Problem(
        go.Stiefel(30, 2),
        lambda X: float(np.vdot(X, A @ X)) / 2 + 1e9,
        lambda X: A @ X,
        lambda X, Z: A @ Z,
    )
    counts = [
        go.minimize(problem, method="rtr", rng=0, tol=1e-6).nit
        for problem in (trace(go.Stiefel(30, 2), A), shifted)
    ]
    assert counts[1] <= counts[0] + 2
