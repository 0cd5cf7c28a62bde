"""Line searches: descent with Barzilai-Borwein steps, and the strong Wolfe conditions."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genorth.errors import StepTooLong
from genorth.solve.descent import (
    NoStep,
    Settings,
    _barzilai_borwein,
    _search,
    averaged,
    descend,
)
from genorth.solve.wolfe import (
    Conditions,
    _between,
    _beyond,
    _End,
    difference,
    parabola_slope,
    strong_wolfe,
)
from support.problems import Matrix

EPS = float(np.finfo(float).eps)


def test_descent_halves_steps_outside_the_domain():
    """A step function that refuses long steps is asked for shorter ones."""
    asked: list[float] = []

    class Point:
        def __init__(self, X: Matrix) -> None:
            self.X, self.value, self.gradient = X, float(X @ X) / 2, X
            self.decrease = float(X @ X)

    class Done(Exception):
        pass

    def line(point: Point) -> Callable[[float], Point]:
        def step(t: float) -> Point:
            asked.append(-t)
            if -t * np.linalg.norm(point.gradient) > 0.5:
                raise StepTooLong
            return Point(point.X + t * point.gradient)

        return step

    def accept(point: Point) -> None:
        if np.linalg.norm(point.X) < 1e-10:
            raise Done

    with pytest.raises(Done):
        descend(Point(np.array([3.0, 4.0])), line, accept, Settings(first_step=1.0))
    assert asked[:5] == [1.0, 0.5, 0.25, 0.125, 0.0625]


@pytest.mark.parametrize(
    ("values", "accepted"),
    [
        ([0.95, 0.98], 0.1),  # below the average by a tenth of t |g|^2
        ([2.0, 2.0, 1.019], 0.01),  # from the last trial on a rise of up to 2 t |g|^2
        ([2.0, 2.0, math.inf, 1.0009], 0.001),
        ([3e26, 3e26, 3e26, 1.01, 1.00019], 1e-4),
    ],
)
def test_a_trial_is_accepted_below_the_average_or_late_with_a_small_rise(
    values: list[float], accepted: float
) -> None:
    trials = iter(values)

    def step(t: float) -> Any:
        return SimpleNamespace(value=next(trials))

    _, t, _ = _search(step, 1.0, 1.0, Settings(sufficient=0.1, trials=3), 1.0, EPS)
    assert t == pytest.approx(accepted)


def test_a_blind_search_takes_any_rise_that_is_finite() -> None:
    trials = iter([2.0, 2.0, math.inf, 1e6])
    settings = Settings(sufficient=0.1, trials=3, blind=True)
    found, t, enough = _search(
        lambda t: SimpleNamespace(value=next(trials)),  # type: ignore[arg-type,return-value]
        1.0,
        1.0,
        settings,
        1.0,
        EPS,
    )
    assert (found.value, t, enough) == (1e6, pytest.approx(1e-3), False)


def test_the_average_has_geometric_weights() -> None:
    values, average, weight = [3.0, -1.0, 4.0], 2.0, 1.0
    for value in values:
        average, weight = averaged(average, weight, value, 0.85)
    shares = 0.85 ** np.arange(3, -1, -1)
    assert average == pytest.approx(np.dot(shares, [2.0, *values]) / shares.sum())


@given(st.floats(0.2, 0.8), st.floats(1.0, 10.0))
def test_trials_inside_a_bracket_are_minimisers_of_the_cubic(least, bend) -> None:
    """f' = bend (t - least)(t - 3) has its minimum at `least` and falls again beyond 3."""

    def end(t: float) -> _End:
        value = -bend * (t**3 / 3 - (least + 3) * t**2 / 2 + 3 * least * t)
        return _End(t, value, -bend * (t - least) * (t - 3))

    low, high = end(0.0), end(3.5)
    assert high.slope < 0 < end(2.0).slope
    assert _between(low, high, EPS) == pytest.approx(least)


@pytest.mark.parametrize(
    ("slopes", "t"), [((-1.0, -0.9), 10.0), ((-2.0, -0.1), 2.0), ((-1.0, -0.75), 4.0)]
)
def test_trials_beyond_are_two_to_ten_times_the_last(slopes, t) -> None:
    """The secant of the slopes vanishes at 10, 1.05 and 4; more than 10 where they fall."""
    previous, low = _End(0.0, 0.0, slopes[0]), _End(1.0, -1.0, slopes[1])
    assert _beyond(previous, low) == pytest.approx(t)
    assert _beyond(low, _End(1.0, -1.0, -2.0)) == 10.0


def test_steps_are_kept_within_their_bounds() -> None:
    settings = Settings(shortest=1e-3, longest=1e3)
    for over, under, t in ((2.0, -4.0, 0.5), (1.0, 1e-9, 1e3), (1e-9, 1.0, 1e-3), (1.0, 0.0, 1e3)):
        assert _barzilai_borwein(np.array(over), np.array(under), settings) == t


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
def test_a_narrow_valley_is_found_from_any_first_trial(first, c2):
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
def test_the_search_ends_with_the_wolfe_conditions(t, wave, curvature, shift):
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


def test_the_search_goes_on_where_costs_are_rounding():
    """f = 1 + 1e-18 (t - 1)^2: the costs are all 1, the slopes tell where the minimum is."""
    found, _ = _searched(lambda t: 1.0, lambda t: 2e-18 * (t - 1), 64.0, Conditions(curvature=0.1))
    assert abs(found - 1) <= 0.1


def test_the_search_turns_back_at_the_edge_of_the_domain_and_gives_up_uphill():
    found, _ = _searched(lambda t: -t, lambda t: -1.0, 8.0, Conditions(), edge=2.0)
    assert 1 < found < 2
    inside = Conditions(curvature=0.1)
    found, _ = _searched(lambda t: (t - 0.2) ** 2, lambda t: 2 * (t - 0.2), 5.0, inside, edge=0.3)
    assert abs(2 * (found - 0.2)) <= 0.04
    with pytest.raises(NoStep):
        _searched(lambda t: t, lambda t: -1.0, 1.0, Conditions())


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_too_long_a_step(bad):
    found, _ = _searched(lambda t: bad if t > 0.5 else -t, lambda t: -1.0, 4.0, Conditions())
    assert 0 < found <= 0.5


@given(
    value=st.floats(-5, 5), slope=st.floats(-5, -0.1), bend=st.floats(-5, 5), t=st.floats(0.01, 10)
)
def test_the_slope_of_a_parabola_is_exact_on_parabolas(value, slope, bend, t):
    """f(t) = f(0) + s(0) t + b t^2/2 has s(t) = s(0) + b t."""
    other = value + slope * t + bend * t * t / 2
    size = (abs(value) + abs(other)) / t + abs(slope) + abs(bend) * t
    found = parabola_slope(value, slope, t, other)
    assert found == pytest.approx(slope + bend * t, rel=0, abs=16 * np.finfo(float).eps * size)


def test_differences_of_costs_come_from_the_slopes_only_in_rounding():
    assert difference(1.0, 1.0 + 1e-15, -2e-16, -4e-16) == pytest.approx(-3e-16, rel=1e-12, abs=0)
    assert difference(1.0, 1.5, -2e-16, -4e-16) == 0.5
