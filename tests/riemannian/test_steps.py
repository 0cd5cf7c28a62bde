"""Steps of the Riemannian solvers: Sato's beta, truncated CG, preconditioners, BB steps."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import genorth as go
from genorth.linalg.arrays import inner, norm
from genorth.riemannian import rgd, rlbfgs
from genorth.riemannian.run import OnManifold
from genorth.solve.cg import sato
from genorth.solve.descent import NoStep, Settings
from genorth.solve.run import largest_step
from genorth.solve.tr import _tried, forcing, truncated_cg
from genorth.testing import conditioned_symmetric, manifolds, seeds
from support.known_minima import KNOWN
from support.problems import smooth, trace


@given(data=st.data())
def test_sato_takes_the_smaller_quotient(data):
    """Beta = min(|g|^2/|g_old|^2, |g|^2/growth), and 0 for growth <= 0."""
    squared, old = data.draw(st.floats(1e-6, 1e6)), data.draw(st.floats(1e-6, 1e6))
    growth = data.draw(st.floats(-1e6, 1e6))
    beta = sato(squared, old, growth)
    assert beta == (0.0 if growth <= 0 else pytest.approx(min(squared / old, squared / growth)))


@example(accuracy=0.5, exponent=-8, gain=0.1)
@given(accuracy=st.floats(1e-3, 0.9), exponent=st.floats(-12, 0), gain=st.floats(0, 2))
def test_the_forcing_term(accuracy, exponent, gain):
    """Superlinear where the model is as good as f, and never more than what was asked for."""
    term, exact = forcing(accuracy, 10**exponent, gain), 10**exponent <= 1e-5
    assert term == pytest.approx(min(accuracy, 0.9 * gain**1.618034) if exact else accuracy)


@given(
    seed=seeds(),
    radius=st.floats(0.01, 10),
    negative=st.integers(0, 2),
    preconditioned=st.booleans(),
)
def test_truncated_cg_minimises_inside_and_stops_at_the_boundary(
    seed, radius, negative, preconditioned
):
    """hess Z = -g inside, or |Z| = radius in the norm of P; never above the Cauchy step."""
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


def test_the_decrease_is_compared_with_that_of_the_model() -> None:
    """<g, Z> + <Z, hess[Z]>/2; and the first and longest step along Z are relative to |X|."""
    known = KNOWN["stiefel"]()
    run = OnManifold(known.problem(), known.manifold.random_point(0), "rtr")
    point = run.evaluate(run.place(run._start))
    step = truncated_cg(run.model(point)[1], None, point.gradient, 0.5, 1e-3, 5)
    model = float(inner(point.gradient, step.Z)) + float(inner(step.Z, step.HZ)) / 2
    trial, ratio, error = _tried(run, point, step)
    assert trial is not None and ratio == pytest.approx((trial.value - point.value) / model)
    assert error == pytest.approx(abs(ratio - 1), abs=1e-9)
    share = norm(point.X) / norm(step.Z)
    assert run.first_step(point, step.Z) == pytest.approx(0.01 * share)
    assert largest_step(point, norm(step.Z)) == pytest.approx(share)


@given(manifold=manifolds(max_condition=100), seed=seeds())
def test_the_hessian_of_a_run_is_that_of_the_manifold(
    manifold: go.GenOrthManifold, seed: int
) -> None:
    """Trust regions converge with a wrong Hessian too, only slowly."""
    problem = smooth(manifold, seed)
    run = OnManifold(problem, manifold.random_point(seed), "rtr")
    point = run.evaluate(run.place(manifold.random_point(seed)))
    X, Z = point.X, manifold.random_tangent(point.X, seed + 1)
    H = problem.euclidean_hessian(X, Z)
    wanted = manifold.hessian(X, point.G, H, Z)
    scale = norm(H) + norm(manifold.phi(Z)) * norm(manifold.theta(X, point.G))
    assert norm(run.model(point)[1](Z) - wanted) <= 1e-9 * float(manifold.scale(X)) * scale


@given(family=st.sampled_from(sorted(KNOWN)), seed=seeds(), t=st.floats(0.01, 0.3))
def test_a_direction_is_carried_by_the_velocity_and_not_longer(
    family: str, seed: int, t: float
) -> None:
    """T(Z) = c'(t) min(1, |Z|/|c'(t)|), and its slope is <grad f, T(Z)>."""
    known = KNOWN[family]()
    run = OnManifold(known.problem(), known.manifold.random_point(seed), "rcg", tol=0)
    point = run.start()
    Z = -point.gradient * (norm(point.X) / norm(point.gradient))
    trial = run.line(point, Z, slopes=True)(t)
    V, (scale, slope) = trial.velocity, run.carried(trial, norm(Z))
    carried = scale * V
    assert scale == pytest.approx(min(1.0, norm(Z) / norm(V)))
    assert norm(trial.place.project(V) - V) <= 1e-8 * norm(V)
    assert abs(slope - float(inner(trial.gradient, carried))) <= 1e-8 * norm(trial.G) * norm(Z)


def test_rlbfgs_forgets_its_pairs_where_no_step_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on from the same point, along the negative gradient."""
    searches: list[tuple[Any, Any]] = []
    search = OnManifold.search

    def failing_once(run: OnManifold, point: Any, Z: Any, *rest: Any, **options: Any) -> Any:
        searches.append((point, Z))
        if len(searches) == 5:
            raise NoStep
        return search(run, point, Z, *rest, **options)

    monkeypatch.setattr(OnManifold, "search", failing_once)
    known = KNOWN["stiefel"]()
    assert rlbfgs(known.problem(), known.manifold.random_point(0)).success
    (failed, _), (point, Z) = searches[4:6]
    assert point is failed and norm(Z + point.gradient) <= 1e-14 * norm(Z)


def test_the_constants_of_the_descent_are_those_of_optm() -> None:
    assert Settings() == Settings(1e-3, 1e-4, 0.1, 0.5, 5, 0.85, 1e-20, 1e20)


def test_rgd_steps_are_barzilai_and_borwein():
    """The steps, recovered from the iterates, against the quotients."""
    known = KNOWN["stiefel"]()
    M = known.manifold
    result = rgd(known.problem(), M.random_point(2), tol=0, max_iterations=6, keep_points=True)
    X = result.trace.points
    assert X is not None
    g = [M.gradient(Y, 2 * known.M @ Y) for Y in X]
    first = 0.01 * float(M.norm(X[0]) / M.norm(g[0]))
    assert M.norm(M.retract(X[0], -first * g[0]) - X[1]) <= 1e-12
    for k in range(1, 6):
        S, Y = X[k] - X[k - 1], g[k] - g[k - 1]
        sy = abs(float(M.inner(S, Y)))
        t = float(M.inner(S, S)) / sy if k % 2 == 0 else sy / float(M.inner(Y, Y))
        trials = [float(M.norm(M.retract(X[k], -t * 0.1**j * g[k]) - X[k + 1])) for j in range(5)]
        assert min(trials) <= 1e-10


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e6])
def test_the_first_step_of_rgd_is_a_hundredth_of_X(scale: float) -> None:
    """Whatever the scale of f."""
    known = KNOWN["stiefel"]()
    start, problem = known.manifold.random_point(2), trace(known.manifold, scale * known.M)
    result = rgd(problem, start, tol=0, max_iterations=1, keep_points=True)
    start, end = result.trace.points or []
    assert result.trace.evaluations[1] == 2
    assert norm(end - start) == pytest.approx(0.01 * norm(start), rel=0.05)
