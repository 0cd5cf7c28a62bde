"""Feasibility, and the way back to M from points near it."""

from __future__ import annotations

import numpy as np
import pytest

import genorth as go


def test_scale_is_that_of_the_terms_of_the_constraint() -> None:
    """scale(X) = max(1, |X| |phi(X)|)."""
    manifold = go.GeneralizedStiefel(np.array([4.0, 9.0, 16.0]), 1)
    X = np.array([[1.0], [2.0], [0.0]])
    assert manifold.scale(X) == pytest.approx(np.sqrt(5) * np.sqrt(4**2 + 18**2), rel=1e-15)
    assert manifold.scale(1e-3 * X) == 1.0


def test_restore_is_quadratic() -> None:
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
