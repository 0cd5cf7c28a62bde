"""How a run ends: x is restored and measured, the status says what to do next."""

import math
import time
from typing import Any

import attrs
import numpy as np
import pytest

import genorth as go
from genorth.errors import StepTooLong
from genorth.problem.measure import ON_MANIFOLD, Measure
from genorth.solve.ending import end_at, result
from genorth.solve.monitor import Monitor, Stop, check_value
from genorth.solve.options import Options
from genorth.solve.solver import FAMILIES
from support.problems import Matrix, linear, spd, trace

EASY = trace(go.Stiefel(6, 2), spd(6, 20, 1), fused=False)


SOLUTION = np.linalg.eigh(spd(6, 20, 1))[1][:, :2]


def _ended(X: Matrix, status: go.Status = go.Status.CONVERGED, **options: Any) -> go.Result:
    monitor = Monitor(EASY, Options(**options))
    end = end_at(monitor, X, SOLUTION)
    return result(monitor, status, end, family="Riemannian", method="test")


def test_a_success_is_borne_out_by_x():
    """Stationary and on M; away from it the point is restored, and measured there."""
    assert _ended(SOLUTION).success
    near = _ended(SOLUTION * (1 + 1e-4))
    assert near.success and near.feasibility <= 1e-12 and (near.feasibility_before or 0) > 1e-4
    assert near.fun == pytest.approx(EASY.cost(near.x), rel=1e-14)
    other = _ended(EASY.manifold.random_point(0))
    assert other.status is go.Status.NOT_STATIONARY and not other.success
    assert other.gradient_norm > 2e-6 and other.feasibility <= 1e-12
    far = _ended(0 * SOLUTION)  # rank-deficient: nothing leads back to M
    assert far.status is go.Status.DIVERGED and np.array_equal(far.x, SOLUTION)
    assert _ended(0 * SOLUTION, go.Status.NOT_FINITE).status is go.Status.NOT_FINITE
    assert _ended(SOLUTION, go.Status.STALLED).status is go.Status.STALLED


def test_no_tolerance_makes_a_success_of_a_point_off_the_manifold():
    """|C(x)| <= 1e-6 in any case: x is restored so far, whatever feasibility_tol."""
    ended = _ended(SOLUTION * (1 + 1e-4), feasibility_tol=1.0)
    assert ended.success and ended.feasibility <= ON_MANIFOLD
    end = end_at(Monitor(EASY), SOLUTION, SOLUTION)
    scaled = attrs.evolve(end, at=attrs.evolve(end.at, feasibility=2 * ON_MANIFOLD, scale=1e9))
    assert not result(
        Monitor(EASY), go.Status.CONVERGED, scaled, family="penalty", method="test"
    ).success


def test_the_clock_stands_while_x_is_measured():
    monitor, begin = Monitor(EASY), time.perf_counter()
    before = monitor.elapsed
    with monitor.paused():
        for _ in range(200):
            EASY.evaluate(SOLUTION)
    assert monitor.counts.nfev == 200 and monitor.seconds_in_cost <= 0.1 * monitor.counts.seconds
    assert monitor.elapsed - before <= time.perf_counter() - begin - monitor.counts.seconds


@pytest.mark.parametrize("family", FAMILIES)
def test_a_message_tells_what_to_do_next(family):
    """beta is named to penalty methods only."""
    for status in go.Status:
        message = status.message(family)
        assert message.startswith(status.value) and message.endswith(".")
        assert ("beta" in message) == (
            family == "penalty" and status in (go.Status.DIVERGED, go.Status.NOT_STATIONARY)
        )
        stopped = status in (go.Status.CONVERGED, go.Status.CALLBACK)
        assert (message == status.value) == stopped


def test_what_the_stopping_rule_and_a_success_allow() -> None:
    """A measure of tol stops the run, and twice that is a success, as restoring moves x."""
    monitor = Monitor(EASY, Options(tol=1e-3))
    with pytest.raises(Stop) as stop:
        monitor.iteration(SOLUTION, 0.0, 1e-3, 0.0)
    assert stop.value.status is go.Status.CONVERGED
    at = Measure(SOLUTION, 0.0, SOLUTION, 1.99e-3, 0.0, 1.0)
    assert at.stationary(1e-3) and not at.stationary(0.99e-3)


def test_only_plus_infinity_at_a_trial_is_outside_the_domain() -> None:
    assert check_value(2.0) == 2.0
    with pytest.raises(StepTooLong):
        check_value(math.inf)
    for value, first in ((math.inf, True), (-math.inf, False), (math.nan, False)):
        with pytest.raises(Stop) as stop:
            check_value(value, first)
        assert stop.value.status is go.Status.NOT_FINITE


def test_a_point_on_M_that_rounding_keeps_from_the_tolerance_is_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def restore(*arguments: Any) -> None:
        raise go.NotRestorableError("rounding")

    monkeypatch.setattr(go.GenOrthManifold, "restore", restore)
    monitor = Monitor(EASY, Options(feasibility_tol=1e-12))
    for X, near in ((SOLUTION * (1 + 1e-8), True), (SOLUTION * 1.1, False)):
        end = end_at(monitor, X, SOLUTION)
        assert end.restored is near and end.x is (X if near else SOLUTION)


def test_a_success_is_in_the_component_that_is_meant() -> None:
    """Both are stationary for <T, X> on O(3); one has determinant -1."""
    T = np.diag([3.0, 2.0, 1.0])
    problem = linear(go.Rotations(3), T)
    for signs, status in (((-1, -1, 1), "CONVERGED"), ((-1, -1, -1), "OTHER_COMPONENT")):
        monitor, X = Monitor(problem, Options()), np.diag(np.array(signs, float))
        end = end_at(monitor, X, X)
        found = result(monitor, go.Status.CONVERGED, end, family="penalty", method="test")
        assert found.status.name == status and found.success == (status == "CONVERGED")
