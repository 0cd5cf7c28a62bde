"""h, h_n and their derivatives at zero, subnormal and huge points: no warning."""

import warnings

import numpy as np
import pytest

import genorth as go
import genorth.testing as gt

SIZES = [0.0, 5e-324, 1e-310, 1e-200, 1e-100, 1e-20, 1e20, 1e60, 1e100, 1e155, 1e300]
FAMILIES = [family for family in gt.FAMILIES if family not in ("from-maps-blocks", "weighted")]


@pytest.mark.parametrize("penalty", [go.ConstraintDissolving, go.OrthogonalDissolving])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_penalty_is_a_number_or_overflows_in_silence(penalty, family):
    M = gt.Recipe(family, 6, 2, 10.0, 1).build()
    X, Z = M.random_point(0), M.random_point(1)
    problem = go.Problem(M, lambda X: float(np.vdot(X, X).real) / 2, lambda X: X, lambda X, Z: Z)
    h = penalty(problem, 1.0)
    lowest = 0.0 if penalty is go.ConstraintDissolving else 1e-20  # A_n has a pole at 0
    for size in SIZES:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            value, gradient = h.value_and_gradient(size * X)
            product = h.hessian_product(size * X, size * Z)
        assert not value < 0, size  # both terms are squares: infinite at worst
        if lowest <= size <= 1e20:
            assert np.isfinite(value), size
            assert np.isfinite(gradient).all(), size
            assert np.isfinite(product).all(), size
