"""The rule for the beta of h_n: the first estimate, looks at the threshold, runs that leave M."""

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import genorth as go
from genorth.linalg.arrays import inner
from genorth.penalty import odf
from genorth.penalty.algorithm import _Algorithm
from genorth.penalty.base import Local, NewBeta
from genorth.penalty.run import OnSpace
from genorth.problem.measure import Measure
from genorth.solve.ending import End
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.options import Options
from support.problems import Matrix, nearest, smooth, spd, trace

STIEFEL = go.Stiefel(9, 3)
DOWNWARD = trace(STIEFEL, -spd(9, 10, 0))  # its threshold is positive everywhere


def _watched(
    problem: go.Problem = DOWNWARD, beta: float = 1.0, auto: bool = True, scale: float = 0.0
) -> go.OrthogonalDissolving:
    """h_n at the beginning of a run."""
    h = go.OrthogonalDissolving(problem, beta)
    h.watched(Monitor(problem, Options(keep_points=True)), auto)
    h.scale = scale
    return h


def _point(h: go.OrthogonalDissolving, X: Matrix) -> Any:
    return h.complete(h.at(X))


def _at(x: Matrix, Theta: Matrix) -> Any:
    return SimpleNamespace(x=x, Theta=Theta)


def test_the_estimate():
    """max(c, 1.1 beta_n* + 0.3 c)."""
    x = STIEFEL.random_point(0)
    Theta = np.asarray(STIEFEL.theta(x, DOWNWARD.euclidean_gradient(x)))
    threshold = go.OrthogonalDissolving.threshold(STIEFEL, x, Theta)
    assert threshold > 0
    for c in (0.1 * threshold, 10 * threshold):
        expected = max(c, 1.1 * threshold + 0.3 * c)
        assert _watched(scale=c).estimate(_at(x, Theta)) == pytest.approx(expected, rel=1e-6)
    assert _watched().estimate(_at(x, 0 * Theta)) == 1.0, "where nothing is known"


def test_the_estimate_where_every_beta_is_exact():
    """<V, V Theta> >= b |V|^2 on the Stiefel manifold, b the smallest eigenvalue of Theta."""
    x, Theta = STIEFEL.random_point(0), np.diag([2.0, 3.0, 5.0])
    assert go.OrthogonalDissolving.threshold(STIEFEL, x, Theta) == 0
    for c, expected in ((10.0, 8.0), (2.1, 0.21), (1.0, 0.1)):
        assert _watched(scale=c).estimate(_at(x, Theta)) == pytest.approx(expected, rel=1e-6)


def _nonlinear_eigenvalues(n: int, p: int) -> go.Problem:
    """tr(X^T L X)/2 + r^T L^-1 r/4, r = diag(X X^T), L the second difference."""
    L = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    inverse = np.linalg.inv(L)

    def both(X: Matrix) -> tuple[float, Matrix]:
        density = (X * X).sum(axis=1)
        potential, LX = inverse @ density, L @ X
        f = float(np.vdot(X, LX)) / 2 + float(density @ potential) / 4
        return f, LX + potential[:, None] * X

    return go.Problem(go.Stiefel(n, p), cost_and_gradient=both)


def test_a_curvature_that_falls_on_the_way_is_not_held_against_beta():
    """At a random start f is a hundred times as curved as at its minimum."""
    problem = _nonlinear_eigenvalues(300, 5)
    for seed in range(2):
        start = problem.manifold.random_point(seed)
        best = min(
            go.minimize(problem, start, method="odf-lbfgs", beta=beta, tol=1e-5).evaluations
            for beta in (1.0, 10.0)
        )
        result = go.minimize(problem, start, method="odf-lbfgs", tol=1e-5)
        assert result.success and result.evaluations <= 1.6 * best
        assert "every beta > 0 is exact at x" in repr(result) and "inf" not in repr(result)


@pytest.mark.parametrize("method", ["odf-lbfgs", "odf-cg", "odf-tr"])
def test_beta_suits_a_preconditioner(method):
    """The smallest eigenvalues of a stiff matrix, with its inverse; condition 1.6e4."""
    n, p = 200, 4
    A = (n + 1) ** 2 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    inverse, N = np.linalg.inv(A), np.arange(4.0, 0.0, -1.0)
    problem = trace(go.Stiefel(n, p), A / 2, N)

    def runs(**options):
        return go.minimize(
            problem,
            problem.manifold.random_point(0),
            method=method,
            tol=1e-4,
            preconditioner=lambda X, V: inverse @ V,
            **options,
        )

    best = min(runs(beta=beta).evaluations for beta in (10.0, 100.0, 1000.0))
    result = runs()
    assert result.success and result.evaluations <= 2 * best


@pytest.mark.parametrize("beta", [3.0, 1e14])
@pytest.mark.parametrize("manifold", [STIEFEL, go.SymplecticStiefel(8, 4)], ids=repr)
def test_a_look_at_the_threshold_needs_no_evaluation(manifold, beta, monkeypatch):
    """Theta_X(G), G at X - D: off M, from what the gradient has computed.

    Its rounding does not grow with beta, which would grow with it without end.
    """
    seen: list[Matrix] = []

    def spy(manifold: Any, X: Matrix, Theta: Matrix, accuracy: float) -> float:
        seen.append(Theta)
        return 0.0

    monkeypatch.setattr(odf, "lowest_form", spy)
    problem = smooth(manifold, 0)
    h = _watched(problem, beta)
    X = 1.1 * manifold.random_point(0)
    point = _point(h, X)
    h.begin(point)
    counts = problem.counts
    for _ in range(9):
        h.watch(point, 1.0)
    assert problem.counts == counts
    assert len(seen) == 3, "at iterations 2, 4 and 8"
    expected = manifold.at(X).general.theta(problem.euclidean_gradient(X - manifold.newton_step(X)))
    for Theta in seen:
        np.testing.assert_allclose(Theta, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_beta_is_raised_where_the_threshold_is_above_it():
    x = STIEFEL.random_point(0)
    threshold = go.exactness_threshold(DOWNWARD, x, "orthogonal")
    cases = (0.9, True, True), (1.15, True, True), (0.9, False, False), (1.3, True, False)
    for factor, auto, raised in cases:
        h = _watched(beta=factor * threshold, auto=auto, scale=threshold)
        point = _point(h, x)
        h.begin(point)
        h.watch(point, 1.0)
        if not raised:
            h.watch(point, 1.0)
            continue
        with pytest.raises(NewBeta) as signal:
            h.watch(point, 1.0)
        beta = max(1.4, 1.25 * factor) * threshold
        assert signal.value.beta == pytest.approx(beta, rel=1e-6)
        assert signal.value.X is point.X


def test_a_beta_far_too_large_is_lowered_once():
    """From more than 2.5 to 1.5 times the estimate, where |D| <= 0.01 |X|."""
    x = STIEFEL.random_point(0)
    threshold = go.exactness_threshold(DOWNWARD, x, "orthogonal")
    wanted = 1.4 * threshold  # c is the threshold
    for factor, size, lowered in ((2.4, 1.0, False), (2.6, 1.02, False), (2.6, 1.001, True)):
        h = _watched(beta=factor * wanted, scale=threshold)
        point = _point(h, size * x)  # |D| is about (size - 1) |X|
        h.begin(point)
        h.watch(point, 1.0)
        if lowered:
            with pytest.raises(NewBeta) as signal:
                h.watch(point, 1.0)
            assert signal.value.beta == pytest.approx(1.5 * wanted, rel=0.02)
            assert signal.value.X is point.X
            h.begin(point)
        for _ in range(9):
            h.watch(point, 1.0)


@pytest.mark.parametrize("auto", [True, False])
def test_a_run_that_stays_far_from_M_ends(auto):
    """|D| > 0.3 |X| for five iterations; with "auto" it goes on from the last point near M."""
    h = _watched(beta=100.0, auto=auto)
    x = STIEFEL.random_point(0)
    near, far = _point(h, 1.05 * x), _point(h, 0.6 * x)  # |D| = 0.89 |X|, |C| is below |I|
    h.begin(near)
    for point in (near, far, far, far, far, near, far, far, far, far):
        h.watch(point, 1.0)
    with pytest.raises(NewBeta if auto else Stop) as signal:
        h.watch(far, 1.0)
    if auto:
        assert signal.value.beta == 300.0
        np.testing.assert_array_equal(signal.value.X, near.X)
    else:
        assert signal.value.status is go.Status.DIVERGED


def test_a_large_violation_is_far_even_where_D_is_short():
    """phi(x) = 1e6 x: D = (x - 1e-6/x)/2, and on an indefinite M |D| may be much shorter still."""
    manifold = go.IndefiniteStiefel(np.array([1e4, 1.0, -1.0]), np.array([1.0]))
    problem = go.Problem(manifold, lambda X: float(X.sum()), np.ones_like)
    X = np.array([[0.1], [0.0], [40.0]])
    h = _watched(problem, auto=False)
    point = _point(h, X)
    assert np.sqrt(point.penalty) <= 0.3 * np.linalg.norm(X) and point.violation > 1e4
    h.begin(_point(h, manifold.random_point(0)))
    for _ in range(4):
        h.watch(point, 1.0)
    with pytest.raises(Stop):
        h.watch(point, 1.0)


def test_trials_far_from_M_are_turned_back():
    h, x = _watched(), STIEFEL.random_point(0)
    h.begin(h.at(x))
    assert h.admits(h.at(1.5 * x))
    assert not h.admits(h.at(0.2 * x)), "|D| = 2.4 |x|"
    assert not h.admits(h.at(9 * x)), "|D| < |X|, |C| = 80 |I|"
    assert not h.admits(h.at(0 * x)), "h_n is infinite"


def test_the_next_beta():
    x = STIEFEL.random_point(0)
    end = End(Measure(x, 0.0, x, 1.0, 0.0, 1.0), 1.0, True)
    for beta, expected in ((1.0, 5.0), (4.0, 12.0)):  # threshold + 0.3 c, three times beta
        h = _watched(beta=beta, scale=10.0)
        assert h.next(2.0, go.Status.DIVERGED, end) == expected


def test_another_beta_goes_on_from_where_it_was_asked_for() -> None:
    """And only one that is larger counts as raised."""
    h, x, y = _watched(beta=10.0), STIEFEL.random_point(0), STIEFEL.random_point(1)
    starts: list[Matrix] = []

    def loop(run: OnSpace) -> None:
        starts.append(run.first)
        if len(starts) <= 2:
            raise NewBeta(*((30.0, y), (20.0, x))[len(starts) - 1])

    algorithm = _Algorithm(h, loop)
    algorithm._round(x)
    assert [start is x for start in starts] == [True, False, True] and starts[1] is y
    assert h.beta == 20.0 and algorithm.raised == 1


def test_the_first_steps_descend_on_M_and_see_the_curvature() -> None:
    """c is the largest |<s, y>|/|s|^2 of the last three steps; f falls; all points are on M."""
    problem = trace(STIEFEL, spd(9, 1000, 3))
    x = STIEFEL.random_point(1)
    h = _watched(problem)
    beta, end = h.first(x, x)
    points = [*(h.monitor.trace.points or []), end]
    assert len(points) == h._STEPS + 1 and beta >= h._SHARE * h.scale
    costs = [problem.cost(X) for X in points]
    assert all(after < before for before, after in itertools.pairwise(costs))
    curvatures = [Local(problem, x).curvature()]
    for X, Y in itertools.pairwise(points):
        here, there = Local(problem, X), Local(problem, Y)
        s = Y - X
        y = there.gradient - STIEFEL.project(Y, here.gradient)
        curvatures.append(abs(float(inner(s, y))) / float(inner(s, s)))
        assert STIEFEL.feasibility(Y) <= 1e-13
    assert max(curvatures) > 1.01 * max(curvatures[-3:]), "or the test shows nothing"
    assert h.scale == pytest.approx(max(curvatures[-3:]), rel=1e-9)


def test_a_first_step_that_is_too_long_is_shortened(monkeypatch):
    """The curvature at the start is mistaken for a tiny one; f falls all the same."""
    monkeypatch.setattr(Local, "curvature", lambda local: 1e-6)
    x = STIEFEL.random_point(0)
    B = x + 0.02 * STIEFEL.random_tangent(x, 1) / 5
    problem = nearest(STIEFEL, B)
    h = _watched(problem)
    _, end = h.first(x, x)
    costs = h.monitor.trace.cost
    assert problem.cost(end) < 0.9 * problem.cost(x)
    assert all(after <= before for before, after in itertools.pairwise(costs))
