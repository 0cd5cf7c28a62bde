"""Runs of rgd, rcg, rlbfgs and rtr: steps on M, what ends a run, bad input."""

import math
from typing import Any

import numpy as np
import pytest

import genorth as go
from baselines import rcg_paper, rgd_paper
from genorth.geometry.retractions import Cayley, Normal, Ray
from genorth.riemannian import rcg, rgd, rlbfgs, rtr
from genorth.solve.descent import Settings as DescentSettings
from genorth.solve.tr import Settings as RegionSettings
from paper_repro.problems import Matching
from support.known_minima import KNOWN

OURS = (rgd, rcg, rlbfgs, rtr)
RIEMANNIAN = (*OURS, rgd_paper, rcg_paper)
every_solver = pytest.mark.parametrize("solver", RIEMANNIAN, ids=lambda solver: solver.__name__)
ours = pytest.mark.parametrize("solver", OURS, ids=lambda solver: solver.__name__)


@every_solver
def test_a_step_outside_the_domain_is_shortened(solver):
    """(y + 1)^2/2 on x^2 - y^2 = 1 from (1, 0), gradient (0, 1): t = 2 is a pole of the ray."""
    M = go.HyperbolicStiefel([1.0, -1.0], 1)
    problem = go.Problem(
        M,
        lambda X: float((X[1, 0] + 1) ** 2 / 2),
        lambda X: np.array([[0.0], [X[1, 0] + 1]]),
        lambda X, Z: np.array([[0.0], [Z[1, 0]]]),
    )
    options: dict[str, Any] = {}
    if solver in (rgd, rgd_paper):
        options["settings"] = DescentSettings(first_step=2.0)
    if solver is rtr:
        options["settings"] = RegionSettings(first_radius=2.0, largest_radius=2.0)
    result = solver(problem, np.array([[1.0], [0.0]]), tol=1e-8, **options)
    assert result.success
    assert result.x[1, 0] == pytest.approx(-1.0, abs=1e-7)


@pytest.mark.parametrize("trusted", [True, False])
@ours
def test_what_leads_away_from_the_manifold_is_led_back(solver, trusted, monkeypatch):
    """Each step off M by 1e-7: led back at once where the ray says so, else every 16 iterations."""
    exact = Cayley.point

    def inexact(ray: Cayley, t: float) -> Any:
        X = exact(ray, t) * (1 + 1e-7)
        ray.trusted = trusted
        return X

    monkeypatch.setattr(Cayley, "point", inexact)
    problem = Matching.generate(20, 4, 2).problem()
    start = problem.manifold.random_point(1)
    options = {"max_iterations": 40, "retraction": "cayley", "keep_points": True}
    result = solver(problem, start, tol=1e-12, **options)
    off = np.array([problem.manifold.feasibility(X) for X in result.trace.points]) > 1e-9
    assert not off.any() if not trusted else not off[1::16].any() and off.any()
    assert result.feasibility <= 1e-12 * problem.manifold.scale(result.x)


@every_solver
def test_every_direction_is_tangent(solver, monkeypatch):
    made, seen = Ray.__init__, []

    def watched(ray: Ray, place: Any, Z: Any) -> None:
        seen.append(
            float(place.manifold.tangency(place.X, Z) / place.manifold.norm(Z) / place.size)
        )
        made(ray, place, Z)

    monkeypatch.setattr(Ray, "__init__", watched)
    known = KNOWN["symplectic"]()
    solver(known.problem(), known.manifold.random_point(1), max_iterations=5)
    assert len(seen) >= 5  # later the gradient is small, and so is what it is relative to
    assert max(seen) <= 1e-12


def test_a_thousand_halvings_are_a_stall_and_no_crash(monkeypatch):
    def never(*arguments: Any) -> Any:
        raise go.OutsideDomainError("never")

    monkeypatch.setattr(Cayley, "point", never)
    monkeypatch.setattr(Normal, "point", never)
    known = KNOWN["symplectic"]()
    for solver in OURS:
        result = solver(known.problem(), known.manifold.random_point(0))
        assert result.status is go.Status.STALLED
        assert result.nfev == 1


@every_solver
def test_the_stopping_measure_is_the_riemannian_gradient(solver):
    known = KNOWN["indefinite"]()
    result = solver(known.problem(), known.manifold.random_point(1), tol=1e-6)
    assert result.stopping_measure <= 1e-6
    assert result.gradient_norm == pytest.approx(result.stopping_measure, rel=1e-6)


@every_solver
def test_time_is_recorded_by_phase(solver):
    known = KNOWN["symplectic"]()
    result = solver(known.problem(), known.manifold.random_point(1))
    seconds = result.seconds
    assert set(seconds) == {"cost", "gradient", "projection", "retraction"}
    used = {"cost", "gradient", "retraction"} | {rlbfgs: {"projection"}, rtr: {"projection"}}.get(
        solver, set()
    )
    assert {phase for phase, value in seconds.items() if value > 0} == used
    assert sum(seconds.values()) <= result.time


def test_the_best_iterate_need_not_be_the_last_one():
    """Costs 5, 3, 4, NaN, all of them accepted by a search of one trial."""
    costs = iter([5.0, 3.0, 4.0, math.nan])
    problem = go.Problem(go.Stiefel(5, 2), lambda X: next(costs), lambda X: np.ones_like(X))
    options = {"settings": DescentSettings(trials=1), "keep_points": True}
    result = rgd(problem, problem.manifold.random_point(0), **options)
    assert result.status is go.Status.NOT_FINITE
    assert result.trace.cost == [5.0, 3.0, 4.0]
    assert result.fun == 3.0
    assert result.trace.points is not None
    assert np.array_equal(result.x, result.trace.points[1])


def test_a_hessian_that_is_not_finite_ends_the_run():
    M = go.Stiefel(5, 2)
    nan = go.Problem(M, lambda X: X.sum(), np.ones_like, lambda X, Z: np.full_like(Z, math.nan))
    result = rtr(nan, M.random_point(0))
    assert result.status is go.Status.NOT_FINITE and result.nfev == 1


@every_solver
def test_a_start_near_the_manifold_is_restored_and_another_refused(solver):
    known = KNOWN["symplectic"]()
    X = known.manifold.random_point(0)
    result = solver(known.problem(), X + 1e-3, max_iterations=1, keep_points=True)
    assert result.trace.points is not None
    assert known.manifold.feasibility(result.trace.points[0]) <= 1e-12 * known.manifold.scale(X)
    with pytest.raises(go.NotRestorableError, match="x0: need a point near M"):
        solver(known.problem(), 0 * X)


def test_the_solvers_of_the_paper_take_single_matrices_only():
    blocks = go.from_maps((3, 4, 2), lambda X: np.arange(1.0, 5)[:, None] * X, lambda T: T)
    with pytest.raises(ValueError, match="single matrices"):
        rgd_paper(go.Problem(blocks, lambda X: 0.0, lambda X: 0 * X))
