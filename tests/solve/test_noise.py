"""Costs with noise: searches find it and go on by slopes, or say how far it lets them go."""

import numpy as np
import pytest

import genorth as go
from genorth.linalg.matrices import conditioned_symmetric

NOISE = 1e-8
OURS = ("rgd", "rcg", "rlbfgs", "rtr", "odf-cg", "odf-lbfgs", "odf-tr")


def noisy_problem(seed, gradient_noise=0.0):
    """Nearest points and traces, with noise in the cost that no seed repeats."""
    M = go.Stiefel(7, 2) if seed % 2 else go.SymplecticStiefel(8, 2)
    rng = np.random.default_rng(seed)
    A, T = conditioned_symmetric(M.shape[0], 100.0, seed), rng.standard_normal(M.shape)

    def gradient(X):
        return A @ X + X - T + gradient_noise * rng.standard_normal(X.shape)

    def cost(X):
        exact = np.vdot(X, A @ X) / 2 + np.linalg.norm(X - T) ** 2 / 2
        return float(exact + NOISE * rng.standard_normal())

    return go.Problem(M, cost, gradient, lambda X, Z: A @ Z + Z)


@pytest.mark.parametrize("name", OURS)
def test_noise_in_the_cost_alone_does_not_stop_a_solver(name):
    runs = [go.minimize(noisy_problem(s), rng=s, method=name, check=False) for s in range(8)]
    assert all(run.success for run in runs), [run.status.name for run in runs]


@pytest.mark.parametrize("name", ["rcg", "rlbfgs", "rtr"])
def test_noise_in_the_gradient_ends_a_run_with_the_figure(name):
    problem = noisy_problem(1, 1e-5)
    found = go.minimize(problem, rng=0, method=name, check=False, tol=1e-9, max_iterations=500)
    assert not found.success
    figure = float(found.message.split("noise of about ")[1].split(",")[0])
    assert NOISE / 10 <= figure <= 10 * NOISE
    assert found.gradient_norm <= 1e-2


@pytest.mark.parametrize("condition", [1e6, 1e8])
@pytest.mark.parametrize("name", ["rlbfgs", "odf-lbfgs"])
def test_cancellation_in_the_cost_is_noise_too(name, condition):
    """f is near 1 and its terms near the condition number: rounding is not relative to f."""
    for seed in range(5):
        A = conditioned_symmetric(6, condition, seed)
        A *= condition / np.linalg.norm(A, 2)
        problem = go.Problem(
            go.Stiefel(6, 2), lambda X, A=A: float(np.vdot(X, A @ X)) / 2, lambda X, A=A: A @ X
        )
        found = go.minimize(problem, rng=seed, method=name)
        assert found.success, found


def test_wrong_derivatives_are_not_taken_for_noise():
    problem = noisy_problem(0)
    wrong = go.Problem(
        problem.manifold, lambda X: float(np.sum(X**2)), lambda X: -2 * X + np.ones_like(X)
    )
    found = go.minimize(wrong, rng=0, method="rlbfgs", check=False)
    assert not found.success
    assert "noise" not in found.message
