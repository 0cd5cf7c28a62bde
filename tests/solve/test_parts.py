"""What every solver shares: descent, line search, L-BFGS memory, cache, ending."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
from genorth.errors import StepTooLong
from genorth.linalg.cache import ContentCache
from genorth.optional import optional
from genorth.solve.descent import NoStep, Settings, descend
from genorth.solve.ending import ON_MANIFOLD, end_at, result
from genorth.solve.monitor import Monitor
from genorth.solve.options import Options
from genorth.solve.pairs import Pairs
from genorth.solve.solver import FAMILIES
from genorth.solve.wolfe import Conditions, difference, parabola_slope, strong_wolfe
from genorth.testing import conditioned_symmetric, seeds
from support.problems import Matrix, spd, trace

EPS = float(np.finfo(float).eps)


def test_descent_halves_steps_outside_the_domain() -> None:
    """A step function that refuses long steps is asked for shorter ones.

    BB steps then find the minimum.
    """
    asked: list[float] = []

    class Point:
        def __init__(self, X: Matrix) -> None:
            self.X, self.value, self.gradient = X, float(X @ X) / 2, X
            self.decrease = float(X @ X)

    class Done(Exception):
        pass

    def step(point: Point, t: float) -> Point:
        asked.append(t)
        if t * np.linalg.norm(point.gradient) > 0.5:
            raise StepTooLong
        return Point(point.X - t * point.gradient)

    def accept(point: Point) -> None:
        if np.linalg.norm(point.X) < 1e-10:
            raise Done

    with pytest.raises(Done):
        descend(Point(np.array([3.0, 4.0])), step, accept, Settings(first_step=1.0))
    assert asked[:5] == [1.0, 0.5, 0.25, 0.125, 0.0625]


# ---------------------------------------------------------------------- the line search


def _searched(
    f: Any, df: Any, t: float, conditions: Conditions, edge: float = math.inf
) -> tuple[float, int]:
    """The step, and how many trials it took; what is returned is what the curve gave there."""
    trials = 0

    def curve(t: float) -> tuple[float, float, float]:
        nonlocal trials
        trials += 1
        if t >= edge:
            raise StepTooLong
        return f(t), df(t), 2 * t

    given, found = strong_wolfe(curve, f(0.0), df(0.0), t, conditions)
    assert given == 2 * found
    return found, trials


@pytest.mark.parametrize("first", [1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("c2", [0.9, 0.1, 1e-3])
def test_a_narrow_valley_is_found_from_any_first_trial(first: float, c2: float) -> None:
    """f = -t/(t^2 + 2)."""

    def f(t: float) -> float:
        return -t / (t * t + 2)

    def df(t: float) -> float:
        return (t * t - 2) / (t * t + 2) ** 2

    t, trials = _searched(f, df, first, Conditions(curvature=c2))
    assert f(t) <= f(0) + 1e-4 * t * df(0) and abs(df(t)) <= c2 * abs(df(0))
    assert trials <= 20


@given(
    t=st.floats(-6, 6).map(lambda x: 10.0**x),
    wave=st.floats(0, 0.2),
    curvature=st.sampled_from([0.1, 0.5, 0.9]),
    shift=st.sampled_from([0.0, 1e3, -1e6]),
)
def test_the_search_ends_with_the_wolfe_conditions(
    t: float, wave: float, curvature: float, shift: float
) -> None:
    """f = (t - 1)^2/2 + wave sin(5t)/5 + shift: for large shifts values are rounding at the end."""

    def f(t: float) -> float:
        return (t - 1) ** 2 / 2 + wave * math.sin(5 * t) / 5 + shift

    def df(t: float) -> float:
        return t - 1 + wave * math.cos(5 * t)

    conditions = Conditions(curvature=curvature)
    found, trials = _searched(f, df, t, conditions)
    assert f(found) - f(0) <= conditions.sufficient * found * df(0) + 4 * EPS * abs(shift)
    assert abs(df(found)) <= curvature * abs(df(0))
    assert trials <= 30


def test_the_search_goes_on_where_costs_are_rounding() -> None:
    """f = 1 + 1e-18 (t - 1)^2: the costs are all 1, the slopes tell where the minimum is."""
    found, _ = _searched(lambda t: 1.0, lambda t: 2e-18 * (t - 1), 64.0, Conditions(curvature=0.1))
    assert abs(found - 1) <= 0.1


def test_the_search_turns_back_at_the_edge_of_the_domain_and_gives_up_uphill() -> None:
    found, _ = _searched(lambda t: -t, lambda t: -1.0, 8.0, Conditions(), edge=2.0)
    assert 1 < found < 2
    inside = Conditions(curvature=0.1)
    found, _ = _searched(lambda t: (t - 0.2) ** 2, lambda t: 2 * (t - 0.2), 5.0, inside, edge=0.3)
    assert abs(2 * (found - 0.2)) <= 0.04
    with pytest.raises(NoStep):
        _searched(lambda t: t, lambda t: -1.0, 1.0, Conditions())


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_too_long_a_step(bad: float) -> None:
    found, _ = _searched(lambda t: bad if t > 0.5 else -t, lambda t: -1.0, 4.0, Conditions())
    assert 0 < found <= 0.5


@given(
    value=st.floats(-5, 5), slope=st.floats(-5, -0.1), bend=st.floats(-5, 5), t=st.floats(0.01, 10)
)
def test_the_slope_of_a_parabola_is_exact_on_parabolas(
    value: float, slope: float, bend: float, t: float
) -> None:
    """f(t) = f(0) + s(0) t + b t^2/2 has s(t) = s(0) + b t."""
    other = value + slope * t + bend * t * t / 2
    size = (abs(value) + abs(other)) / t + abs(slope) + abs(bend) * t
    found = parabola_slope(value, slope, t, other)
    assert found == pytest.approx(slope + bend * t, rel=0, abs=16 * np.finfo(float).eps * size)


def test_differences_of_costs_come_from_the_slopes_only_in_rounding() -> None:
    assert difference(1.0, 1.0 + 1e-15, -2e-16, -4e-16) == pytest.approx(-3e-16, rel=1e-12, abs=0)
    assert difference(1.0, 1.5, -2e-16, -4e-16) == 0.5


# ---------------------------------------------------------------------- the memory of L-BFGS


@given(
    seed=seeds(), count=st.integers(1, 6), memory=st.integers(1, 4), preconditioned=st.booleans()
)
def test_the_two_loops_are_the_bfgs_matrix(
    seed: int, count: int, memory: int, preconditioned: bool
) -> None:
    """H <- (I - s y^T/sy) H (I - y s^T/sy) + s s^T/sy over the last pairs, from a multiple of P."""
    rng, n = np.random.default_rng(seed), 5
    A, P = conditioned_symmetric(n, 10.0, rng), conditioned_symmetric(n, 10.0, rng)
    pairs = Pairs(memory)
    used = []
    for _ in range(count):
        s = rng.standard_normal(n)
        pairs.add(2 * s, s, 2 * (A @ s), A @ s, 1e-8)
        used = [*used, (s, A @ s)][-memory:]
    if not preconditioned:
        P = np.eye(n)
    s, y = used[-1]
    H = (s @ y) / (y @ P @ y) * P
    for s, y in used:
        V = np.eye(n) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    w = rng.standard_normal(n)
    kept = w.copy()
    found = pairs.inverse(w, (lambda v: P @ v) if preconditioned else None)
    assert np.linalg.norm(found - H @ w) <= 1e4 * EPS * np.linalg.norm(H) * np.linalg.norm(w)
    assert np.array_equal(w, kept)
    before = len(pairs)
    pairs.add(s, 0 * s, -y, 0 * y, 1e-8)  # negative curvature is not stored
    pairs.add(s, 0 * s, y, y)
    assert len(pairs) == before
    pairs.clear()
    assert np.array_equal(pairs.inverse(w), w)


# ---------------------------------------------------------------------- the cache, and the guard


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_the_last_arrays_are_remembered_by_their_entries(keep: int) -> None:
    cache, built = ContentCache(keep), []
    arrays = [np.full(3, float(k)) for k in range(keep + 1)]

    def ask(array: Matrix) -> Any:
        return cache.get(array, lambda own: built.append(own[0]) or object())

    first = [ask(array) for array in arrays[:keep]]
    assert [ask(array.copy()) for array in arrays[:keep]] == first and len(built) == keep
    ask(arrays[0])  # used last: the next new one replaces another
    ask(arrays[keep])
    assert cache.holds(arrays[keep]) and cache.holds(arrays[0]) == (keep > 1)
    changed = arrays[keep]
    changed[1] = 9
    assert not cache.holds(changed)


def test_a_missing_package_is_named_with_its_extra() -> None:
    assert optional("math", "report", "This test").pi == math.pi
    with pytest.raises(ImportError, match=r"^This test needs not_there: pip install 'genorth\[rep"):
        optional("not_there.inside", "report", "This test")


# ---------------------------------------------------------------------- the ending


EASY = trace(go.Stiefel(6, 2), spd(6, 20, 1), fused=False)
SOLUTION = np.linalg.eigh(spd(6, 20, 1))[1][:, :2]


def _ended(X: Matrix, status: go.Status = go.Status.CONVERGED, **options: Any) -> go.Result:
    monitor = Monitor(EASY, Options(**options))
    end = end_at(monitor, X, SOLUTION)
    return result(monitor, status, end, family="Riemannian", method="test")


def test_a_success_is_borne_out_by_x() -> None:
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


def test_no_tolerance_makes_a_success_of_a_point_off_the_manifold() -> None:
    """|C(x)| <= 1e-6 in any case: x is restored so far, whatever feasibility_tol."""
    ended = _ended(SOLUTION * (1 + 1e-4), feasibility_tol=1.0)
    assert ended.success and ended.feasibility <= ON_MANIFOLD
    scaled = attrs.evolve(end_at(Monitor(EASY), SOLUTION, SOLUTION), feasible=False)
    assert not result(
        Monitor(EASY), go.Status.CONVERGED, scaled, family="penalty", method="test"
    ).success


def test_the_clock_stands_while_x_is_measured() -> None:
    monitor = Monitor(EASY)
    before = monitor.elapsed
    with monitor.paused():
        for _ in range(200):
            EASY.evaluate(SOLUTION)
    assert monitor.counts.nfev == 200 and monitor.seconds_in_cost <= 0.1 * monitor.counts.seconds
    assert monitor.elapsed - before < monitor.counts.seconds


@pytest.mark.parametrize("family", FAMILIES)
def test_a_message_tells_what_to_do_next(family: str) -> None:
    """beta is named to penalty methods only."""
    for status in go.Status:
        message = status.message(family)
        assert message.startswith(status.value) and message.endswith(".")
        assert ("beta" in message) == (
            family == "penalty" and status in (go.Status.DIVERGED, go.Status.NOT_STATIONARY)
        )
        stopped = status in (go.Status.CONVERGED, go.Status.CALLBACK)
        assert (message == status.value) == stopped


def test_evaluations_are_counted_alike_everywhere() -> None:
    ended = attrs.evolve(_ended(SOLUTION), nfev=3, njev=5, nhev=7)
    assert ended.evaluations == go.Counts(3, 5, 7).evaluations == 12
