"""`lean_cg`: its directions, its first trials, and when it gives up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import genorth as go
from genorth.penalty.cg import lean_cg
from support.problems import trace


class _Done(Exception):
    pass


class _Quadratic:
    """<v, D v>/2 with eigenvalues 1 to 100; keeps trials and iterates."""

    def __init__(self, n: int, iterations: int) -> None:
        self.D, self.last = np.linspace(1.0, 100.0, n), iterations
        self.iterates: list[Any] = []
        self.trials = 0

    def value_and_gradient(self, v: Any) -> tuple[float, Any]:
        self.trials += 1
        return float(v @ (self.D * v)) / 2, self.D * v

    def iteration(self, v: Any) -> None:
        self.iterates.append(v)
        if len(self.iterates) >= self.last:
            raise _Done


def _run(n: int = 30, iterations: int = 40) -> tuple[_Quadratic, list[Any]]:
    quadratic = _Quadratic(n, iterations)
    start = np.random.default_rng(0).standard_normal(n)
    with pytest.raises(_Done):
        lean_cg(quadratic, start, 100.0)  # type: ignore[arg-type]
    return quadratic, [start, *quadratic.iterates]


def test_directions_are_those_of_sato() -> None:
    """Each step is along -g + beta d, beta = min(|g|^2/|g_old|^2, |g|^2/<g - g_old, d>)."""
    quadratic, points = _run()
    d = -quadratic.D * points[0]
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        old, g = quadratic.D * before, quadratic.D * here
        beta = min((g @ g) / (old @ old), (g @ g) / ((g - old) @ d))
        d = beta * d - g
        step = after - here
        along = step @ d / np.linalg.norm(step) / np.linalg.norm(d)
        assert along == pytest.approx(1.0, abs=1e-10)


def test_the_first_step_is_one_over_the_curvature() -> None:
    quadratic, points = _run(iterations=1)
    assert points[1] == pytest.approx(points[0] - quadratic.D * points[0] / 100.0)
    assert quadratic.trials == 2


def test_most_steps_take_one_evaluation() -> None:
    """Each search begins with the last step times the ratio of the slopes."""
    quadratic, points = _run(iterations=60)
    assert quadratic.trials <= 1.35 * len(points)
    assert np.linalg.norm(points[-1]) < 1e-3 * np.linalg.norm(points[0])


@pytest.mark.parametrize("method", ["cdf-cg-lean", "odf-cg-lean"])
def test_fewer_evaluations_than_scipys(method: str) -> None:
    d = np.linspace(1.0, 300.0, 40)
    problem = trace(go.SymplecticStiefel(40, 6), np.diag(d))
    start = problem.manifold.random_point(0)
    ours = go.minimize(problem, start, method=method, tol=1e-8)
    theirs = go.minimize(problem, start, method=method.removesuffix("-lean"), tol=1e-8)
    assert ours.success and ours.evaluations < theirs.evaluations
    assert ours.fun == pytest.approx(theirs.fun, rel=1e-10)
