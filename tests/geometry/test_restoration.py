"""Feasibility, and the way back to M from points near it."""

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt
from genorth.geometry.newton import to_manifold


def test_scale_is_that_of_the_terms_of_the_constraint():
    """scale(X) = max(1, |X| |phi(X)|)."""
    manifold = go.GeneralizedStiefel(np.array([4.0, 9.0, 16.0]), 1)
    X = np.array([[1.0], [2.0], [0.0]])
    assert manifold.scale(X) == pytest.approx(np.sqrt(5) * np.sqrt(4**2 + 18**2), rel=1e-15)
    assert manifold.scale(1e-3 * X) == 1.0


def test_restore_is_quadratic():
    """F6: |C(A(X))| <= 3/4 |C|^2 + 1/4 |C|^3, so that six steps from |C| = 0.44 reach rounding."""
    calls = []
    manifold = go.from_maps((7, 3), lambda X: calls.append(1) or X, lambda T: T)
    X = manifold.random_point(0)
    X = X + 0.2 * X[:, :1] @ np.eye(1, 3)
    violation, bound, steps = float(manifold.feasibility(X)), 1e-15, 0
    while violation > bound:
        violation, steps = violation**2 * (3 + violation) / 4, steps + 1
    calls.clear()
    manifold.restore(X, 10 * np.finfo(float).eps)
    assert (
        len(calls) <= steps + 2
    )  # one phi in each step; the last one sees that it is done, the other is for rounding


def test_a_step_of_newton_that_increases_the_violation_is_refused():
    """From X/10 on the Stiefel manifold the first step leads to 5 X."""
    manifold = go.Stiefel(6, 2)
    X = manifold.random_point(0)
    end, steps = to_manifold(manifold, 1.5 * X)
    assert manifold.feasibility(end.X) <= 1e-14 and steps
    with pytest.raises(go.OutsideDomainError, match="decrease"):
        to_manifold(manifold, 0.1 * X)


def test_a_tolerance_of_zero_means_rounding():
    manifold = go.GeneralizedStiefel(gt.conditioned_symmetric(7, 10.0, 0), 3)
    x = manifold.restore(1.1 * manifold.random_point(0), tol=0.0)
    assert manifold.feasibility(x) <= 1e-14 * manifold.scale(x)
