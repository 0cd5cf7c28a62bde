"""Parts of the geometry by themselves: the form behind phi, Newton's steps, curves on M."""

from __future__ import annotations

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from genorth.geometry.form import forms
from genorth.geometry.newton import scaled, step_length, to_manifold

BILINEAR = {
    "symmetric": (gt.conditioned_symmetric(6, 4.0, 0, 2), gt.conditioned_symmetric(2, 3.0, 1, 1)),
    "skew": (gt.conditioned_skew(6, 4.0, 0), gt.conditioned_skew(2, 1.0, 1)),
    "hermitian": (
        gt.conditioned_symmetric(6, 4.0, 0, 2, complex),
        gt.conditioned_symmetric(2, 3.0, 1, 1, complex),
    ),
}


@pytest.mark.parametrize("name", BILINEAR)
def test_the_form_that_is_read_off_phi(name: str) -> None:
    """F13: A Y = phi(Y) Q, for the Q that is read off psi."""
    A, R = BILINEAR[name]
    inverse = np.linalg.inv(R)
    manifold = go.from_maps(
        (6, 2), lambda X: A @ X @ inverse, lambda T: R @ T @ inverse, dtype=A.dtype
    )
    ((form, Q),) = forms(manifold)
    X = manifold.random_ambient(2)
    np.testing.assert_allclose(form.left(X), manifold.phi(X) @ Q, atol=1e-12)
    factor = np.vdot(R, Q) / np.vdot(R, R)
    np.testing.assert_allclose(form.left(np.eye(6, dtype=A.dtype)), factor * A, atol=1e-12)


def test_a_step_of_newton_that_increases_the_violation_is_refused() -> None:
    """From X/10 on the Stiefel manifold the first step leads to 5 X."""
    manifold = go.Stiefel(6, 2)
    X = manifold.random_point(0)
    end, steps = to_manifold(manifold, 1.5 * X)
    assert manifold.feasibility(end.X) <= 1e-14 and steps
    with pytest.raises(go.OutsideDomainError, match="decrease"):
        to_manifold(manifold, 0.1 * X)


@pytest.mark.parametrize("length", [0.01, 100.0])
def test_a_long_or_short_point_is_scaled_to_the_smallest_violation(length: float) -> None:
    manifold = go.SymplecticStiefel(8, 4)
    X = length * (manifold.random_point(0) + 0.1 * manifold.random_ambient(1))
    best = scaled(manifold, X)
    least = float(manifold.feasibility(best))
    for factor in (0.9, 0.99, 1.01, 1.1):
        assert least < float(manifold.feasibility(factor * best))


@pytest.mark.parametrize("seed", range(6))
def test_the_step_length_minimises_the_violation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    C, E = rng.standard_normal((2, 3, 3))
    s = step_length(C, E)
    trials = np.linspace(1e-3, 1, 1000)
    sizes = [np.linalg.norm((1 - t) * C + t * t * E) for t in trials]
    assert 0 < s <= 1
    assert np.linalg.norm((1 - s) * C + s * s * E) <= min(sizes) + 1e-12
    assert step_length(C, 0.1 * C) == 1.0


def test_a_tolerance_of_zero_means_rounding() -> None:
    manifold = go.GeneralizedStiefel(gt.conditioned_symmetric(7, 10.0, 0), 3)
    x = manifold.restore(1.1 * manifold.random_point(0), tol=0.0)
    assert manifold.feasibility(x) <= 1e-14 * manifold.scale(x)


@pytest.mark.parametrize("family", sorted(gt.FAMILIES))
def test_the_bend_of_the_cayley_curve(family: str) -> None:
    """c''(0), against differences of c'."""
    manifold = gt.Recipe(family, 6, 2, 3.0, 1).build()
    X = manifold.random_point(0)
    ray = manifold.ray(X, np.asarray(manifold.random_tangent(X, 1)), "cayley")
    t = 1e-5
    difference = (ray.velocity(t) - ray.velocity(-t)) / (2 * t)
    size = 1 + np.linalg.norm(difference)
    assert np.linalg.norm(ray.bend() - difference) <= 1e-7 * size**2


@pytest.mark.parametrize("t", [0.01, 0.1, 0.3])
def test_the_velocity_of_the_normal_curve_is_tangent_to_rounding(t: float) -> None:
    manifold = gt.Recipe("bilinear-symmetric", 7, 3, 10.0, 1).build()
    X = manifold.random_point(0)
    Z = np.asarray(manifold.random_tangent(X, 1))
    ray = manifold.ray(X, Z / np.linalg.norm(Z), "normal")
    c, V = ray.point(t), ray.velocity(t)
    bound = 1e-13 * np.linalg.norm(manifold.phi(c)) * np.linalg.norm(V) * manifold.scale(c)
    assert manifold.tangency(c, V) <= bound
