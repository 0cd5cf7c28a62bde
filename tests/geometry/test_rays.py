"""The curves t -> R_X(t Z): velocities, exact slopes, and the choice of "auto"."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry.retractions import (
    BEND,
    RETRACTIONS,
    Cayley,
    Normal,
    spectral_bound,
    step_size,
)


@given(data=st.data(), manifold=gt.manifolds(max_condition=1e3), seed=gt.seeds())
@pytest.mark.parametrize("kind", RETRACTIONS)
def test_a_ray_knows_its_velocity(kind, data, manifold, seed):
    """c'(t) of F19: tangent at c(t), and the derivative of c by Richardson's differences."""
    X = data.draw(gt.points(manifold))
    Z = np.asarray(manifold.random_tangent(X, seed))
    length = step_size(manifold, X, Z)
    if not manifold.dim or not length > 0:
        return
    Z = Z / length
    ray = manifold.ray(X, Z, kind)
    t, h = 0.05, 1e-3
    V = ray.velocity(t)
    c = {k: np.asarray(ray.point(t + k * h)) for k in (-2, -1, 1, 2)}
    differences = (8 * (c[1] - c[-1]) - (c[2] - c[-2])) / (12 * h)
    unit = np.finfo(float).eps * np.sqrt(X.size) * float(manifold.scale(X))
    # of the fourth order in h, in units of the step; and the rounding of c over h
    bound = (1e3 * h**4 + 1e4 * unit / h) * (np.linalg.norm(X) + np.linalg.norm(Z))
    assert np.linalg.norm(V - differences) <= bound
    at = ray.point(t)
    rounding = 1e5 * unit * float(np.linalg.norm(manifold.phi(at))) * (1 + np.linalg.norm(V))
    assert float(manifold.tangency(at, V)) <= rounding * (1 + np.linalg.norm(X))
    G = np.asarray(manifold.random_ambient(seed + 1))
    slope, size = ray.slope(t, G), float(np.linalg.norm(G)) * (1 + float(np.linalg.norm(V)))
    assert abs(slope - np.vdot(G, V).real) <= 1e4 * unit * size


def test_velocities_that_were_not_expected_are_the_same():
    """The steps of Newton are made again, and kept from then on."""
    manifold = go.HyperbolicStiefel(gt.conditioned_symmetric(40, 30.0, 1, negative=20), 6)
    X = manifold.random_point(0)
    Z = manifold.random_tangent(X, 1)
    kept, fresh = (Normal(manifold.place(X), Z) for _ in range(2))
    fresh.velocities = False
    for t in (0.1, 0.2):
        np.testing.assert_array_equal(kept.point(t), fresh.point(t))
        np.testing.assert_array_equal(kept.velocity(t), fresh.velocity(t))


@given(data=st.data(), manifold=gt.manifolds(max_condition=1e3), seed=gt.seeds())
def test_the_sideways_part_of_cayley(data, manifold, seed):
    """|P_X c''(0)| t/(2 |Z|), or an upper bound of it that is at most BEND."""
    X = data.draw(gt.points(manifold))
    Z = np.asarray(manifold.random_tangent(X, seed))
    if not manifold.dim or not np.linalg.norm(Z) > 0:
        return
    ray = Cayley(manifold.place(X), Z)
    bend = manifold.project(X, ray.bend())
    exact = float(np.linalg.norm(bend)) / (2 * float(np.linalg.norm(Z)))
    for t in (1e-6 / (1 + exact), 1.0, 1e3):
        value = ray.sideways(t)
        slack = 1e-6 * (1 + t * float(manifold.scale(X)) * float(np.linalg.norm(Z)))
        assert value >= t * exact - slack
        assert value <= max(BEND, t * exact + slack)


@given(seed=gt.seeds(), p=st.integers(1, 8), scale=st.integers(-140, 140))
def test_a_bound_of_the_spectral_norm(seed, p, scale):
    """|T|_2 <= bound <= p^(1/16) |T|_2, at every scale."""
    T = np.random.default_rng(seed).standard_normal((p, p)) * 10.0**scale
    exact = float(np.linalg.norm(T, 2))
    rounding = 100 * p * np.finfo(float).eps
    assert (1 - rounding) * exact <= spectral_bound(T) <= (1 + rounding) * p ** (1 / 16) * exact
    assert spectral_bound(0 * T) == 0


def _step(manifold: go.GenOrthManifold, X: np.ndarray, data: st.DataObject) -> np.ndarray:
    """A tangent vector inside the domain of every retraction: short on the scale of the form."""
    Z = data.draw(gt.tangent_vectors(manifold, X))
    norm, phi = manifold.norm, manifold.phi
    size = float(norm(Z) * norm(phi(X))) + float(norm(phi(Z)) * norm(Z)) ** 0.5
    return Z * (0.5 / max(size, 0.5))  # never longer: where dim M = 0 all of Z is rounding


@pytest.mark.parametrize("kind", RETRACTIONS)
@given(data=st.data(), t=st.floats(-1, 1))
def test_a_ray_is_the_retraction_along_it(kind, data, t):
    """c(t) with what does not depend on t computed once; a point that is trusted is on M."""
    manifold = data.draw(gt.manifolds(max_condition=1e3))
    X = data.draw(gt.points(manifold))
    Z = _step(manifold, X, data)
    ray = manifold.ray(X, Z, kind)
    ray.point(0.3 * t)
    c = ray.point(t)
    unit = 100 * np.finfo(float).eps * X.shape[-2] * float(manifold.scale(X)) ** 2
    assert manifold.norm(c - manifold.retract(X, t * Z, kind)) <= unit * manifold.norm(X)
    if ray.trusted:
        assert manifold.feasibility(c) <= unit
    assert ray.trusted or kind in ("polar", "exp")


@given(data=st.data(), scale=st.floats(-3, 3))
def test_auto_is_cayley_where_its_curve_bends_little_and_normal_elsewhere(data, scale):
    manifold = data.draw(gt.manifolds(max_condition=1e2))
    X = data.draw(gt.points(manifold))
    Z = _step(manifold, X, data)
    ray = manifold.ray(X, Z, "auto")
    assert ray.chosen is None
    t = 10**scale
    expected = "cayley" if Cayley(manifold.place(X), Z).sideways(t) <= BEND else "normal"
    try:
        c = ray.point(t)
    except go.OutsideDomainError:
        c = None
    assert ray.first(t).kind == expected
    if c is not None:
        np.testing.assert_array_equal(c, manifold.ray(X, Z, expected).point(t))


@pytest.mark.parametrize("kind", ["cayley", "auto"])
def test_a_step_to_the_edge_of_the_domain_is_refused(kind):
    """On x^2 - y^2 = 1 the Cayley transform along (0, 1) from (1, 0) has a pole at t = 2."""
    M = go.HyperbolicStiefel([1.0, -1.0], 1)
    ray = M.ray(np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]]), kind)
    assert M.feasibility(ray.point(1.0)) <= 100 * np.finfo(float).eps
    with pytest.raises(go.OutsideDomainError):
        ray.point(2.0)
