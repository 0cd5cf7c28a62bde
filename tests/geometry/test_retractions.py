"""The curves t -> R_X(t Z): velocities, exact slopes, and the choice of "auto"."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.geometry.field import shortened
from genorth.geometry.retractions import (
    BEND,
    RETRACTIONS,
    Cayley,
    Normal,
    spectral_bound,
    step_size,
)
from genorth.linalg.arrays import ct, norm


@pytest.mark.statement("F19")
@given(data=st.data(), manifold=gt.manifolds(max_condition=1e3), seed=gt.seeds())
@pytest.mark.parametrize("kind", RETRACTIONS)
def test_the_slope_is_that_of_the_velocity(kind, data, manifold, seed):
    """<G, c'(t)>; the contract has F19, by which c' is the derivative of c."""
    X = data.draw(gt.points(manifold))
    Z = np.asarray(manifold.random_tangent(X, seed))
    length = step_size(manifold, X, Z)
    if not manifold.dim or not length > 0:
        return
    ray = manifold.ray(X, Z / length, kind)
    V, G = ray.velocity(0.05), np.asarray(manifold.random_ambient(seed + 1))
    unit = np.finfo(float).eps * np.sqrt(X.size) * float(manifold.scale(X))
    size = float(np.linalg.norm(G)) * (1 + float(np.linalg.norm(V)))
    assert abs(ray.slope(0.05, G) - np.vdot(G, V).real) <= 1e4 * unit * size


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


@pytest.mark.parametrize(
    "manifold",
    [
        go.Stiefel(5, 5, complex),
        go.SymplecticStiefel(6, 6),
        go.IndefiniteStiefel(np.array([3.0, 1.0, -2.0, -1.0]), np.array([1.0, 1.0, -1.0, -1.0])),
        go.TensorStiefel(4, 4, 3),
    ],
    ids=str,
)
def test_a_square_point_needs_no_complement(manifold):
    """Z = X A for square X: c(t) = 2 X B^-1 - X, the formula with H = 0; no product with H."""
    X = manifold.random_point(0)
    Z = manifold.random_tangent(X, 1) / 10
    ray, t = Cayley(manifold.place(X), Z), 0.3
    A = ct(manifold.phi(X)) @ Z
    H, one = Z - X @ A, np.eye(X.shape[-1])
    B = one - t * A / 2 + t * t * (ct(manifold.phi(H)) @ H) / 4
    expected = (2 * X + t * H) @ np.linalg.inv(B) - X
    rounding = 1e-13 * float(manifold.scale(X))
    assert ray._parts[0] is None and norm(H) <= rounding
    assert norm(ray.point(t) - expected) <= rounding
    E = np.linalg.inv(one - t * A / 2)
    assert norm(ray.velocity(t) - X @ (E @ A @ E)) <= rounding
    assert norm(ray.bend() - Z @ A) <= rounding


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


@pytest.mark.parametrize("kind", ["cayley", "exp"])
@given(manifold=gt.manifolds(max_condition=1e3), seed=gt.seeds())
def test_a_step_that_is_not_tangent_is_taken_to_one_that_is(kind, manifold, seed):
    """F7: R(Z) = R(DA(X)[Z]), which is on M."""
    rng = np.random.default_rng(seed)
    X, Z = manifold.random_point(rng), manifold.random_ambient(rng)
    steepness = np.linalg.norm(X) * np.linalg.norm(manifold.phi(Z)) + np.linalg.norm(
        manifold.phi(X)
    ) * np.linalg.norm(Z)
    Z = Z * (0.3 / float(steepness))
    R = manifold.retract(X, Z, kind=kind)
    unit = 1e4 * np.sqrt(X.size) * np.finfo(float).eps * float(manifold.scale(X)) ** 2
    assert manifold.feasibility(R) <= unit
    assert (
        np.linalg.norm(R - manifold.retract(X, manifold.dissolve_differential(X, Z), kind=kind))
        <= unit
    )


def test_step_size_is_that_of_the_exponent():
    """|A|/2 + |<<G,G>>|^(1/2), A = phi(X)^T Z, G = Z - X A/2."""
    manifold = gt.Recipe("bilinear-symmetric", 6, 3, 10.0, 1).build()
    X, Z = manifold.random_point(0), manifold.random_ambient(1)
    A = manifold.phi(X).T @ Z
    G = Z - X @ A / 2
    expected = np.linalg.norm(A) / 2 + np.sqrt(np.linalg.norm(manifold.phi(G).T @ G))
    assert step_size(manifold, X, Z) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_the_bend_of_the_cayley_curve(family):
    """c''(0), against differences of c'."""
    manifold = gt.Recipe(family, 6, 2, 3.0, 1).build()
    X = manifold.random_point(0)
    ray = manifold.ray(X, np.asarray(manifold.random_tangent(X, 1)), "cayley")
    t = 1e-5
    difference = (ray.velocity(t) - ray.velocity(-t)) / (2 * t)
    size = 1 + np.linalg.norm(difference)
    assert np.linalg.norm(ray.bend() - difference) <= 1e-7 * size**2


@pytest.mark.parametrize("t", [0.01, 0.1, 0.3])
def test_the_velocity_of_the_normal_curve_is_tangent_to_rounding(t):
    manifold = gt.Recipe("bilinear-symmetric", 7, 3, 10.0, 1).build()
    X = manifold.random_point(0)
    Z = np.asarray(manifold.random_tangent(X, 1))
    ray = manifold.ray(X, Z / np.linalg.norm(Z), "normal")
    c, V = ray.point(t), ray.velocity(t)
    bound = 1e-13 * np.linalg.norm(manifold.phi(c)) * np.linalg.norm(V) * manifold.scale(c)
    assert manifold.tangency(c, V) <= bound


@given(
    manifold=gt.manifolds(),
    seed=st.integers(0, 2**20),
    step=st.floats(1e-3, 1e3),
    distance=st.sampled_from([0.0, 1e-3, 0.1]),
)
def test_it_is_the_longest_half_that_stays_in_the_tube(manifold, seed, step, distance):
    """By the definition of C, at X - t D and at twice the step."""
    rng = np.random.default_rng(seed)
    X = manifold.random_point(rng)
    X = X + distance * float(norm(X)) * manifold.random_ambient(rng) / X.size
    D = manifold.random_ambient(rng)
    C, L = manifold.constraint(X), manifold.constraint_differential(X, D)
    tube = 0.5
    steps = shortened(step, C, L, ct(D) @ manifold.phi(D), tube)
    assert steps.shape == (*C.shape[:-2], 1, 1)
    for index in np.ndindex(C.shape[:-2]):
        t = float(steps[index].item())
        wall = max(tube, float(norm(C[index])))
        slack = 1e-9 * (1 + float(manifold.scale(X)))
        assert float(norm(manifold.constraint(X - t * D)[index])) <= wall + slack
        if t < step:
            assert float(norm(manifold.constraint(X - 2 * t * D)[index])) >= wall - slack
