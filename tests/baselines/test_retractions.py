"""The rays of the solvers: velocities, exact slopes, and the choice between Cayley and normal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from baselines import rcg, rgd, rlbfgs, rtr
from baselines.geometry import GEOMETRIES
from baselines.geometry.base import CayleyRay
from genorth.geometry.retractions import BEND, RETRACTIONS, spectral_bound, step_size

SOLVERS = {solver.__name__: solver for solver in (rgd, rcg, rlbfgs, rtr)}


def nearest(condition: float, seed: int = 1) -> go.Problem:
    """The point of X^T H X = I next to a Gaussian point, H indefinite."""
    H = gt.conditioned_symmetric(40, condition, seed, negative=20)
    B = np.random.default_rng(seed).standard_normal((40, 6))
    return go.Problem(
        go.HyperbolicStiefel(H, 6),
        lambda X: float(np.sum((X - B) ** 2)),
        lambda X: 2 * (X - B),
        lambda X, Z: 2 * Z,
    )


@given(data=st.data(), manifold=gt.manifolds(max_condition=1e3), seed=gt.seeds())
@pytest.mark.parametrize("kind", ["own", *RETRACTIONS])
def test_a_ray_knows_its_velocity(
    kind: str, data: st.DataObject, manifold: go.GenOrthManifold, seed: int
) -> None:
    """c'(t) of F19: tangent at c(t), and the derivative of c by Richardson's differences."""
    X = data.draw(gt.points(manifold))
    Z = np.asarray(manifold.random_tangent(X, seed))
    length = step_size(manifold, X, Z)
    if not manifold.dim or not length > 0:
        return
    Z = Z / length
    place = GEOMETRIES["fast"].places(manifold)(X)
    ray = place.ray(Z) if kind == "own" else place.manifold_ray(Z, kind)
    t, h = 0.05, 1e-3
    V = ray.velocity(t)
    c = {k: np.asarray(ray.point(t + k * h)[0]) for k in (-2, -1, 1, 2)}
    differences = (8 * (c[1] - c[-1]) - (c[2] - c[-2])) / (12 * h)
    unit = np.finfo(float).eps * np.sqrt(X.size) * float(manifold.scale(X))
    # of the fourth order in h, in units of the step; and the rounding of c over h
    bound = (1e3 * h**4 + 1e4 * unit / h) * (np.linalg.norm(X) + np.linalg.norm(Z))
    assert np.linalg.norm(V - differences) <= bound
    G = np.random.default_rng(seed).standard_normal(X.shape).astype(X.dtype)
    slope, exact = ray.slope(t, G), float(np.vdot(G, V).real)
    assert slope == pytest.approx(
        exact, abs=1e4 * unit * float(np.linalg.norm(G) * (np.linalg.norm(X) + np.linalg.norm(Z)))
    )
    at = ray.point(t)[0]
    rounding = 1e5 * unit * float(np.linalg.norm(manifold.phi(at))) * (1 + np.linalg.norm(V))
    assert float(manifold.tangency(at, V)) <= rounding * (1 + np.linalg.norm(X))
    G = np.asarray(manifold.random_ambient(seed + 1))
    slope, size = ray.slope(t, G), float(np.linalg.norm(G)) * (1 + float(np.linalg.norm(V)))
    assert slope is not None and abs(slope - np.vdot(G, V).real) <= 1e4 * unit * size


def test_velocities_that_were_not_expected_are_the_same() -> None:
    """The steps of Newton are made again, and kept from then on."""
    manifold = nearest(30.0).manifold
    X = manifold.random_point(0)
    place = GEOMETRIES["fast"].places(manifold)(X)
    Z = manifold.random_tangent(X, 1)
    kept, fresh = (place.manifold_ray(Z, "normal", slopes) for slopes in (True, False))
    for t in (0.1, 0.2):
        np.testing.assert_array_equal(kept.point(t)[0], fresh.point(t)[0])
        np.testing.assert_array_equal(kept.velocity(t), fresh.velocity(t))


@given(data=st.data(), manifold=gt.manifolds(max_condition=1e3), seed=gt.seeds())
def test_the_sideways_part_of_cayley(
    data: st.DataObject, manifold: go.GenOrthManifold, seed: int
) -> None:
    """|P_X c''(0)| t/(2 |Z|), or an upper bound of it that is at most BEND."""
    X = data.draw(gt.points(manifold))
    Z = np.asarray(manifold.random_tangent(X, seed))
    if not manifold.dim or not np.linalg.norm(Z) > 0:
        return
    place = GEOMETRIES["fast"].places(manifold)(X)
    ray = place.ray(Z)
    assert isinstance(ray, CayleyRay)
    bend = manifold.project(X, manifold.ray(X, Z).bend())
    exact = float(np.linalg.norm(bend)) / (2 * float(np.linalg.norm(Z)))
    for t in (1e-6 / (1 + exact), 1.0, 1e3):
        value = ray.sideways(t, place.transport)
        assert value == pytest.approx(manifold.ray(X, Z).sideways(t), rel=1e-6, abs=1e-9)
        slack = 1e-6 * (1 + t * float(manifold.scale(X)) * float(np.linalg.norm(Z)))
        assert value >= t * exact - slack
        assert value <= max(BEND, t * exact + slack)


@given(seed=gt.seeds(), p=st.integers(1, 8), scale=st.integers(-140, 140))
def test_a_bound_of_the_spectral_norm(seed: int, p: int, scale: int) -> None:
    """|T|_2 <= bound <= p^(1/16) |T|_2, at every scale."""
    T = np.random.default_rng(seed).standard_normal((p, p)) * 10.0**scale
    exact = float(np.linalg.norm(T, 2))
    rounding = 100 * p * np.finfo(float).eps
    assert (1 - rounding) * exact <= spectral_bound(T) <= (1 + rounding) * p ** (1 / 16) * exact
    assert spectral_bound(0 * T) == 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("condition", [1.0, 30.0, 1000.0])
def test_the_nearest_point_is_found_at_every_condition(solver: str, condition: float) -> None:
    """DESIGN 2.3: with Cayley alone these runs were not done after 1500 iterations."""
    problem = nearest(condition)
    start = problem.manifold.random_point(0)
    result = SOLVERS[solver](problem, start, max_iterations=200)
    assert result.success, result.message
    assert result.nfev <= 3 * result.nit + 3
    assert sum(result.retractions.values()) >= 1
    assert set(result.retractions) <= {"cayley", "normal"}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", RETRACTIONS)
def test_the_retraction_that_was_asked_for_is_used(solver: str, kind: str) -> None:
    problem = nearest(1.0)
    start = problem.manifold.random_point(0)
    result = SOLVERS[solver](problem, start, retraction=kind, max_iterations=20)
    assert set(result.retractions) == {kind}


def test_products_solves_no_equation_unless_it_is_asked_to() -> None:
    problem = nearest(30.0)
    start = problem.manifold.random_point(0)
    result = rgd(problem, start, geometry="products", max_iterations=5)
    assert set(result.retractions) == {"cayley"}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"retraction": "qr"}, r"retraction: need one of 'auto', 'cayley', 'polar'"),
        ({"retraction": None}, r"retraction: need one of"),
        ({"retraction": "normal", "geometry": "faithful"}, r"retraction: need 'auto'; .*faithful"),
    ],
)
def test_unknown_retractions_are_refused(
    solver: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SOLVERS[solver](nearest(1.0), **arguments)
