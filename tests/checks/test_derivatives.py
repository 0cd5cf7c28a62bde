"""check_gradient and check_hessian: right derivatives pass on every family, errors are named."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genorth as go
import genorth.testing as gt
from genorth.checks import slopes
from support.problems import Matrix, smooth, spd, trace

M = go.GeneralizedStiefel(spd(7, 5, 0), 3)
GOOD = smooth(M, 1)


@given(manifold=gt.manifolds(max_condition=1e2), seed=gt.seeds())
def test_right_derivatives_pass(manifold, seed):
    problem = smooth(manifold, seed)
    for report in (go.check_gradient(problem, rng=seed), go.check_hessian(problem, rng=seed)):
        assert report.passed, str(report)


def test_quadratic_and_linear_costs_are_exact():
    problem = trace(M, spd(7, 10, 1))
    assert go.check_gradient(problem, rng=0).passed
    report = go.check_hessian(problem, rng=0)
    assert report.passed and report["value"].value == np.inf and report["gradient"].value == np.inf


SQUARE = ("stiefel", "stiefel-complex", "generalized", "hyperbolic", "symplectic", "tensor-dct")


@given(recipe=gt.recipes(SQUARE, max_n=6, max_condition=1e2), seed=gt.seeds())
def test_a_cost_that_is_constant_on_M_passes(recipe, seed):
    """f = <X, phi(X)> is p on M: Riemannian gradient and Hessian are rounding, and no failure."""
    M = recipe.build()
    problem = go.Problem(
        M, lambda X: float(M.inner(X, M.phi(X))), lambda X: 2 * M.phi(X), lambda X, Z: 2 * M.phi(Z)
    )
    for report in (go.check_gradient(problem, rng=seed), go.check_hessian(problem, rng=seed)):
        assert report.passed, str(report)


@given(n=st.integers(1, 8), seed=gt.seeds())
def test_a_trace_is_constant_on_square_matrices(n, seed):
    """tr(X^T A X) on the orthogonal group."""
    problem = trace(go.Stiefel(n, n), spd(n, 100, seed))
    for report in (go.check_gradient(problem, rng=seed), go.check_hessian(problem, rng=seed)):
        assert report.passed, str(report)


def test_an_error_of_the_cost_is_not_taken_for_a_long_step():
    def cost(X: Matrix) -> float:
        if problem.counts.nfev > 30:
            raise go.OutsideDomainError("the user's own")
        return float(np.vdot(X, X))

    problem = go.Problem(M, cost, lambda X: 2 * X)
    with pytest.raises(go.OutsideDomainError, match="the user's own"):
        go.check_gradient(problem, rng=0)


def _wrong(cost: Any = None, gradient: Any = None, hessian: Any = None) -> go.Problem:
    """GOOD with another cost, gradient or Hessian."""
    return go.Problem(
        M, cost or GOOD._cost, gradient or GOOD._gradient, hessian or GOOD._hessian, name="f"
    )


@pytest.mark.parametrize(
    "wrong",
    [lambda G, X: -G, lambda G, X: 1.01 * G, lambda G, X: G + 1e-3, lambda G, X: G[::-1]],
    ids=["sign", "factor", "shift", "order"],
)
def test_a_wrong_gradient_fails(wrong):
    report = go.check_gradient(
        _wrong(gradient=lambda X: wrong(GOOD.evaluate_gradient(X), X)), rng=0
    )
    assert not report["Euclidean"].passed and not report["on M"].passed, str(report)
    assert report["Euclidean"].value == pytest.approx(1, abs=0.1)


def test_an_error_across_M_only_is_seen_off_M():
    """Grad f + phi(X) S has the same Riemannian gradient: right on M, wrong for the penalty."""
    report = go.check_gradient(
        _wrong(gradient=lambda X: GOOD.evaluate_gradient(X) + M.phi(X)), rng=0
    )
    assert report["on M"].passed and not report["Euclidean"].passed


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda H, X, Z: 1.01 * H, {"gradient", "value"}),
        (lambda H, X, Z: -H, {"gradient", "value"}),
        (lambda H, X, Z: H + 0.1 * np.roll(Z, 1, axis=0), {"gradient", "symmetry"}),
        (lambda H, X, Z: H + 0.1 * np.abs(Z), {"gradient", "linearity"}),
    ],
    ids=["factor", "sign", "not symmetric", "not linear"],
)
def test_a_wrong_hessian_fails(wrong, named):
    report = go.check_hessian(
        _wrong(hessian=lambda X, Z: wrong(GOOD.euclidean_hessian(X, Z), X, Z)), rng=0
    )
    assert named <= {finding.name for finding in report.failures}, str(report)
    assert report["tangency"].passed


@pytest.mark.parametrize("check", [go.check_gradient, go.check_hessian])
def test_derivatives_are_checked_at_the_point_given(check):
    X, seen = M.random_point(5), []

    def gradient(Y: np.ndarray) -> np.ndarray:
        seen.append(np.array(Y))
        return GOOD._gradient(Y)

    check(_wrong(gradient=gradient), X, rng=0)
    np.testing.assert_array_equal(seen[0], X)


@pytest.mark.parametrize(
    ("check", "method", "wrong"),
    [
        (go.check_gradient, "gradient", lambda self, X, G: G),
        (go.check_hessian, "hessian", lambda self, X, G, H, Z: H),
    ],
)
def test_what_is_not_tangent_is_found(monkeypatch, check, method, wrong):
    assert check(GOOD, rng=0)["tangency"].passed
    monkeypatch.setattr(go.GenOrthManifold, method, wrong)
    assert not check(GOOD, rng=0)["tangency"].passed


def test_a_small_asymmetry_and_a_small_nonlinearity_of_the_hessian_are_found():
    def wrong(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        return GOOD._hessian(X, Z) + 1e-8 * np.roll(Z, 1, axis=0) + 1e-8 * np.abs(Z)

    report = go.check_hessian(_wrong(hessian=wrong), rng=0)
    assert not report["symmetry"].passed and not report["linearity"].passed, str(report)
    assert not report["Riemannian symmetry"].passed


@pytest.mark.parametrize("factor", [1e-10, 1e10])
def test_derivatives_of_a_scaled_cost_pass(factor):
    scaled = _wrong(
        lambda X: factor * GOOD._cost(X),
        lambda X: factor * GOOD._gradient(X),
        lambda X, Z: factor * GOOD._hessian(X, Z),
    )
    for check in (go.check_gradient, go.check_hessian):
        report = check(scaled, rng=0)
        assert report.passed, str(report)


def test_steps_at_which_the_cost_is_not_finite_are_left_out():
    X = M.random_point(0)

    def cost(Y: np.ndarray) -> float:
        return GOOD._cost(Y) if np.linalg.norm(Y - X) < 0.1 else np.nan

    report = go.check_gradient(_wrong(cost), X, rng=0)
    assert report.passed and len(report.curves[0].steps) < len(slopes._STEPS)


@pytest.mark.parametrize(
    ("wrong", "note"),
    [
        (lambda G: G / 2, "G is half of the gradient"),
        (lambda G: 2 * G, "G is twice the gradient"),
        (lambda G: -G, "G is minus the gradient"),
        (lambda G: G.conj(), "G is the conjugate of the gradient"),
        (
            lambda G: G.conj() / 2,
            "G is half of the conjugate (a Wirtinger derivative) of the gradient",
        ),
        (lambda G: G**2, ""),
    ],
)
def test_a_mistaken_gradient_is_named(wrong, note):
    H = np.diag(np.arange(1.0, 6)) + 1j * np.triu(np.ones((5, 5)), 1)
    H = H + H.conj().T
    problem = go.Problem(
        go.Stiefel(5, 2, complex),
        lambda X: float(np.vdot(X, H @ X).real),
        lambda X: wrong(2 * H @ X),
    )
    finding = go.check_gradient(problem, rng=0)["Euclidean"]
    assert not finding.passed and finding.note == note
