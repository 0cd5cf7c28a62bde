"""Retractions: steps that are not tangent, their size, and the curves that they draw."""

import numpy as np
import pytest
from hypothesis import given

import genorth.testing as gt
from genorth.geometry.retractions import step_size


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
