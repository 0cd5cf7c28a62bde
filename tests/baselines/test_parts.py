"""What the solvers are made of.

Sato's beta, the line search, the BFGS matrix, truncated conjugate gradients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_minima import KNOWN

import genorth as go
from baselines import rgd, rlbfgs, rtr
from baselines.riemannian.rcg import sato
from baselines.riemannian.rlbfgs import Pairs
from baselines.riemannian.rtr import truncated_cg
from baselines.riemannian.wolfe import Conditions, difference, search
from genorth.errors import StepTooLong
from genorth.solve.descent import NoStep
from genorth.solve.descent import Settings as BBSettings
from genorth.testing import conditioned_symmetric, seeds

EPS = float(np.finfo(float).eps)


@given(data=st.data())
def test_sato_takes_the_smaller_quotient(data: st.DataObject) -> None:
    """Beta = min(|g|^2/|g_old|^2, |g|^2/growth), and 0 for growth <= 0."""
    squared, old = data.draw(st.floats(1e-6, 1e6)), data.draw(st.floats(1e-6, 1e6))
    growth = data.draw(st.floats(-1e6, 1e6))
    beta = sato(squared, old, growth)
    assert beta == (0.0 if growth <= 0 else pytest.approx(min(squared / old, squared / growth)))


class _Curve:
    """f along a line, as the search sees an iterate."""

    def __init__(self, value: float, derivative: float) -> None:
        self.value, self._derivative = value, derivative

    def slope(self, Z: Any) -> float:
        return self._derivative


def _searched(
    f: Any, df: Any, t: float, conditions: Conditions, edge: float = math.inf
) -> tuple[float, int]:
    trials = 0

    def step(t: float) -> Any:
        nonlocal trials
        trials += 1
        if t >= edge:
            raise StepTooLong
        return _Curve(f(t), df(t))

    point: Any = _Curve(f(0.0), df(0.0))
    return search(point, None, df(0.0), t, step, conditions)[1], trials


@given(
    t=st.floats(-6, 6).map(lambda x: 10.0**x),
    wave=st.floats(0, 0.2),
    curvature=st.sampled_from([0.1, 0.5, 0.9]),
    shift=st.sampled_from([0.0, 1e3, -1e6]),
)
def test_the_search_ends_with_the_wolfe_conditions(
    t: float, wave: float, curvature: float, shift: float
) -> None:
    """On f = (t - 1)^2/2 + wave sin(5t)/5 + shift, whose values are rounding near the minimum for large shifts."""

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
    """F = 1 + 1e-18 (t - 1)^2: the costs are all 1, the slopes tell where the minimum is."""
    found, _ = _searched(lambda t: 1.0, lambda t: 2e-18 * (t - 1), 64.0, Conditions(curvature=0.1))
    assert abs(found - 1) <= 0.1


def test_the_search_turns_back_at_the_edge_of_the_domain_and_gives_up_uphill() -> None:
    found, _ = _searched(lambda t: -t, lambda t: -1.0, 8.0, Conditions(), edge=2.0)
    assert 1 < found < 2
    with pytest.raises(NoStep):
        _searched(lambda t: t, lambda t: -1.0, 1.0, Conditions())


def test_differences_of_costs_come_from_the_slopes_only_in_rounding() -> None:
    near: Any = (_Curve(1.0, 0.0), _Curve(1.0 + 1e-15, 0.0))
    far: Any = (_Curve(1.0, 0.0), _Curve(1.5, 0.0))
    assert difference(*near, -2e-16, -4e-16) == pytest.approx(-3e-16, rel=1e-12, abs=0)
    assert difference(*far, -2e-16, -4e-16) == 0.5


@given(seed=seeds(), count=st.integers(1, 6), memory=st.integers(1, 4))
def test_the_two_loops_are_the_bfgs_matrix(seed: int, count: int, memory: int) -> None:
    """H <- (I - s y^T/sy) H (I - y s^T/sy) + s s^T/sy over the last pairs, from a multiple of P."""
    rng, n = np.random.default_rng(seed), 5
    A, P = conditioned_symmetric(n, 10.0, rng), conditioned_symmetric(n, 10.0, rng)
    pairs = Pairs(memory)
    used = []
    for _ in range(count):
        s = rng.standard_normal(n)
        pairs.add(s, A @ s, 1e-8)
        used = [*used, (s, A @ s)][-memory:]
    s, y = used[-1]
    H = (s @ y) / (y @ P @ y) * P
    for s, y in used:
        V = np.eye(n) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    w = rng.standard_normal(n)
    error = np.linalg.norm(pairs.inverse(w, lambda v: P @ v) - H @ w)
    assert error <= 1e4 * EPS * np.linalg.norm(H) * np.linalg.norm(w)
    before = len(pairs)
    pairs.add(s, -y, 1e-8)  # negative curvature is not stored
    assert len(pairs) == before


@given(
    seed=seeds(),
    radius=st.floats(0.01, 10),
    negative=st.integers(0, 2),
    preconditioned=st.booleans(),
)
def test_truncated_cg_minimises_inside_and_stops_at_the_boundary(
    seed: int, radius: float, negative: int, preconditioned: bool
) -> None:
    """Inside, hess Z = -g; else |Z| = radius in the norm of the preconditioner.

    Never above the Cauchy step.
    """
    rng, n = np.random.default_rng(seed), 6
    H, P = conditioned_symmetric(n, 10.0, rng, negative), conditioned_symmetric(n, 5.0, rng)
    if not preconditioned:
        P = np.eye(n)
    g = rng.standard_normal((n, 1))
    step = truncated_cg(lambda Z: H @ Z, lambda V: P @ V, g, radius, 1e-10, 4 * n)

    def form(A: Any, Z: Any) -> float:
        return float(np.vdot(Z, A @ Z))

    length = math.sqrt(form(np.linalg.inv(P), step.Z))
    assert np.allclose(step.HZ, H @ step.Z, rtol=1e-10)
    assert length == pytest.approx(step.length, rel=1e-6)
    if step.boundary:
        assert length == pytest.approx(radius, rel=1e-6)
    else:
        assert np.linalg.norm(H @ step.Z + g) <= 1e-8
        assert length < radius
    if negative == 0:
        assert step.boundary == (form(np.linalg.inv(H @ P @ H), g) >= radius**2)
    slope, curvature = form(P, g), form(H, P @ g)
    t = min(radius / math.sqrt(slope), slope / curvature if curvature > 0 else math.inf)

    def model(Z: Any) -> float:
        return float(np.vdot(g, Z)) + form(H, Z) / 2

    assert model(step.Z) <= model(-t * P @ g) + 1e-12


@pytest.mark.parametrize("solver", [rlbfgs, rtr], ids=lambda solver: solver.__name__)
def test_a_preconditioner_saves_work(solver: Any) -> None:
    """Min tr(X^T A X)/2 with condition number 1e6.

    (A + 1)^-1 is close to the inverse Hessian on the tangent space.
    """
    n, p = 60, 2
    d = np.geomspace(1.0, 1e6, n)
    M = go.Stiefel(n, p)
    problem = go.Problem(
        M,
        lambda X: float(np.vdot(X, d[:, None] * X)) / 2,
        lambda X: d[:, None] * X,
        lambda X, Z: d[:, None] * Z,
    )
    start = M.random_point(0)
    plain = solver(problem, start, tol=1e-6, max_evaluations=20_000)
    helped = solver(problem, start, tol=1e-6, preconditioner=lambda X, V: V / (d[:, None] + 1))
    assert helped.success
    assert helped.fun == pytest.approx((d[0] + d[1]) / 2, rel=1e-9)
    assert helped.evaluations < plain.evaluations / 3


def test_the_constants_of_the_descent_are_those_of_optm() -> None:
    assert BBSettings() == BBSettings(1e-3, 1e-4, 0.1, 5, 0.85, 1e-20, 1e20)


def test_rgd_steps_are_barzilai_and_borwein() -> None:
    """The steps, recovered from the iterates by the inverse of the Cayley transform, against the quotients."""
    known = KNOWN["stiefel"]()
    M = known.manifold
    result = rgd(known.problem(), M.random_point(2), tol=0, max_iterations=6, keep_points=True)
    X = result.trace.points
    assert X is not None
    g = [M.gradient(Y, 2 * known.M @ Y) for Y in X]
    assert M.norm(M.retract(X[0], -1e-3 * g[0]) - X[1]) <= 1e-12
    for k in range(1, 6):
        S, Y = X[k] - X[k - 1], g[k] - g[k - 1]
        sy = abs(float(M.inner(S, Y)))
        t = float(M.inner(S, S)) / sy if k % 2 == 0 else sy / float(M.inner(Y, Y))
        trials = [float(M.norm(M.retract(X[k], -t * 0.1**j * g[k]) - X[k + 1])) for j in range(5)]
        assert min(trials) <= 1e-10
