"""The rule for the beta of h_n: the first estimate, looks at the threshold, runs that leave M."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import genorth as go
from genorth.linalg.arrays import inner
from genorth.penalty import beta as beta_module
from genorth.penalty.beta import NewBeta, Orthogonal, _Local
from genorth.penalty.threshold import orthogonal_threshold
from genorth.solve.ending import End
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.options import Options
from support.problems import Matrix, smooth, spd, trace

STIEFEL = go.Stiefel(9, 3)
DOWNWARD = trace(STIEFEL, -spd(9, 10, 0))  # its threshold is positive everywhere


def _rule(problem: go.Problem = DOWNWARD, auto: bool = True, scale: float = 0.0) -> Orthogonal:
    rule = Orthogonal(Monitor(problem, Options(keep_points=True)), auto=auto)
    rule.scale = scale
    return rule


def _point(h: go.OrthogonalDissolving, X: Matrix) -> Any:
    return h.complete(h.at(X))


def test_the_estimate() -> None:
    """max(c, 1.1 beta_n* + 0.3 c)."""
    x = STIEFEL.random_point(0)
    Theta = np.asarray(STIEFEL.theta(x, DOWNWARD.euclidean_gradient(x)))
    threshold = orthogonal_threshold(STIEFEL, x, Theta)
    assert threshold > 0
    for c in (0.1 * threshold, 10 * threshold):
        expected = max(c, 1.1 * threshold + 0.3 * c)
        assert _rule(scale=c)._estimate(x, Theta) == pytest.approx(expected, rel=1e-6)
    assert _rule()._estimate(x, 0 * Theta) == 1.0, "where nothing is known"


@pytest.mark.parametrize("manifold", [STIEFEL, go.SymplecticStiefel(8, 4)], ids=repr)
def test_a_look_at_the_threshold_needs_no_evaluation(
    manifold: go.GenOrthManifold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Theta = beta S - T is Theta_X(G), G at X - D: off M, from what the gradient has computed."""
    seen: list[Matrix] = []

    def spy(manifold: Any, X: Matrix, Theta: Matrix, accuracy: float) -> float:
        seen.append(Theta)
        return 0.0

    monkeypatch.setattr(beta_module, "orthogonal_threshold", spy)
    problem = smooth(manifold, 0)
    rule, h = _rule(problem), go.OrthogonalDissolving(problem, 3.0)
    X = 1.1 * manifold.random_point(0)
    point = _point(h, X)
    rule.begin(point)
    counts = problem.counts
    for _ in range(9):
        rule.watch(h, point, 1.0)
    assert problem.counts == counts
    assert len(seen) == 3, "at iterations 2, 4 and 8"
    expected = manifold.at(X).equation.theta(
        problem.euclidean_gradient(X - manifold.newton_step(X))
    )
    for Theta in seen:
        np.testing.assert_allclose(Theta, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_beta_is_raised_where_the_threshold_is_above_it() -> None:
    x = STIEFEL.random_point(0)
    threshold = go.exactness_threshold(DOWNWARD, x, "orthogonal")
    for factor, auto, raised in (
        (0.9, True, True),
        (1.15, True, True),
        (0.9, False, False),
        (1.3, True, False),
    ):
        rule = _rule(scale=threshold, auto=auto)
        h = go.OrthogonalDissolving(DOWNWARD, factor * threshold)
        point = _point(h, x)
        rule.begin(point)
        rule.watch(h, point, 1.0)
        if not raised:
            rule.watch(h, point, 1.0)
            continue
        with pytest.raises(NewBeta) as signal:
            rule.watch(h, point, 1.0)
        beta = max(1.4, 1.25 * factor) * threshold
        assert signal.value.beta == pytest.approx(beta, rel=1e-6)
        assert signal.value.X is point.X


def test_a_beta_far_too_large_is_lowered_once() -> None:
    """From more than 2.5 to 1.5 times the estimate, where |D| <= 0.01 |X|."""
    x = STIEFEL.random_point(0)
    threshold = go.exactness_threshold(DOWNWARD, x, "orthogonal")
    wanted = 1.4 * threshold  # c is the threshold
    for factor, size, lowered in ((2.4, 1.0, False), (2.6, 1.02, False), (2.6, 1.001, True)):
        rule = _rule(scale=threshold)
        h = go.OrthogonalDissolving(DOWNWARD, factor * wanted)
        point = _point(h, size * x)  # |D| is about (size - 1) |X|
        rule.begin(point)
        rule.watch(h, point, 1.0)
        if lowered:
            with pytest.raises(NewBeta) as signal:
                rule.watch(h, point, 1.0)
            assert signal.value.beta == pytest.approx(1.5 * wanted, rel=0.02)
            assert signal.value.X is point.X
            rule.begin(point)
        for _ in range(9):
            rule.watch(h, point, 1.0)


@pytest.mark.parametrize("auto", [True, False])
def test_a_run_that_stays_far_from_M_ends(auto: bool) -> None:
    """|D| > 0.3 |X| for five iterations; with "auto" it goes on from the last point near M."""
    rule, h = _rule(auto=auto), go.OrthogonalDissolving(DOWNWARD, 100.0)
    x = STIEFEL.random_point(0)
    near, far = _point(h, 1.05 * x), _point(h, 0.6 * x)  # |D| = 0.89 |X|, |C| is below |I|
    rule.begin(near)
    for point in (near, far, far, far, far, near, far, far, far, far):
        rule.watch(h, point, 1.0)
    with pytest.raises(NewBeta if auto else Stop) as signal:
        rule.watch(h, far, 1.0)
    if auto:
        assert signal.value.beta == 300.0
        np.testing.assert_array_equal(signal.value.X, near.X)
    else:
        assert signal.value.status is go.Status.DIVERGED


def test_a_large_violation_is_far_even_where_D_is_short() -> None:
    """phi(x) = 1e6 x: D = (x - 1e-6/x)/2, and on an indefinite M |D| may be much shorter still."""
    manifold = go.IndefiniteStiefel(np.array([1e4, 1.0, -1.0]), np.array([1.0]))
    problem = go.Problem(manifold, lambda X: float(X.sum()), np.ones_like)
    X = np.array([[0.1], [0.0], [40.0]])
    h = go.OrthogonalDissolving(problem, 1.0)
    point = _point(h, X)
    assert np.sqrt(point.penalty) <= 0.3 * np.linalg.norm(X) and point.violation > 1e4
    rule = _rule(problem, auto=False)
    rule.begin(_point(h, manifold.random_point(0)))
    for _ in range(4):
        rule.watch(h, point, 1.0)
    with pytest.raises(Stop):
        rule.watch(h, point, 1.0)


def test_trials_far_from_M_are_turned_back() -> None:
    h, x = go.OrthogonalDissolving(DOWNWARD, 1.0), STIEFEL.random_point(0)
    rule = _rule()
    rule.begin(h.at(x))
    assert rule.admits(h.at(1.5 * x))
    assert not rule.admits(h.at(0.2 * x)), "|D| = 2.4 |x|"
    assert not rule.admits(h.at(9 * x)), "|D| < |X|, |C| = 80 |I|"
    assert not rule.admits(h.at(0 * x)), "h_n is infinite"


def test_the_next_beta() -> None:
    x = STIEFEL.random_point(0)
    end = End(x, 0.0, x, 1.0, 0.0, True, 1.0, True)
    rule = _rule(scale=10.0)
    assert rule.next(1.0, 2.0, go.Status.DIVERGED, end) == 5.0, "threshold + 0.3 c"
    assert rule.next(4.0, 2.0, go.Status.DIVERGED, end) == 12.0, "three times"


def test_the_first_steps_descend_on_M_and_see_the_curvature() -> None:
    """c is at least |<s, y>|/|s|^2 of every step; f falls; all points are on M."""
    problem = trace(STIEFEL, spd(9, 1000, 3))
    x = STIEFEL.random_point(1)
    rule = _rule(problem)
    beta, end = rule.first(x, x)
    points = [*(rule.monitor.trace.points or []), end]
    assert len(points) == rule._STEPS + 1 and beta >= rule.scale
    costs = [problem.cost(X) for X in points]
    assert all(after < before for before, after in itertools.pairwise(costs))
    curvatures = [_Local(problem, x).curvature()]
    for X, Y in itertools.pairwise(points):
        here, there = _Local(problem, X), _Local(problem, Y)
        s = Y - X
        y = there.gradient - STIEFEL.project(Y, here.gradient)
        curvatures.append(abs(float(inner(s, y))) / float(inner(s, s)))
        assert STIEFEL.feasibility(Y) <= 1e-13
    assert max(curvatures[1:]) > 1.01 * curvatures[0], "or the test shows nothing"
    assert rule.scale == pytest.approx(max(curvatures), rel=1e-9)


def test_a_first_step_that_is_too_long_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curvature at the start is mistaken for a tiny one; f falls all the same."""
    monkeypatch.setattr(_Local, "curvature", lambda local: 1e-6)
    x = STIEFEL.random_point(0)
    B = x + 0.02 * STIEFEL.random_tangent(x, 1) / 5
    problem = go.Problem(
        STIEFEL, lambda X: float(np.sum((X - B) ** 2)) / 2, lambda X: X - B, lambda X, Z: Z
    )
    rule = _rule(problem)
    _, end = rule.first(x, x)
    costs = rule.monitor.trace.cost
    assert problem.cost(end) < 0.9 * problem.cost(x)
    assert all(after <= before for before, after in itertools.pairwise(costs))
